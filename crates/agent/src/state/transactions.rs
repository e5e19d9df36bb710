//! Names of transactions and their numbers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds that are distinguished. What comes beyond is one kind more.
const MAX_KINDS: usize = 1_024;

/// The kind of what is beyond the bound.
const OTHER: &str = "(other)";

/// Names of kinds, and the number of the next transaction.
#[derive(Default)]
pub struct Transactions {
    next: AtomicU64,
    kinds: Mutex<Kinds>,
}

#[derive(Default)]
struct Kinds {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Transactions {
    /// The number of the next one, never 0.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of a kind, never 0. Once per name and class, not per
    /// transaction.
    pub fn kind(&self, name: &str) -> u32 {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if kinds.names.len() < MAX_KINDS { name } else { OTHER };
        if let Some(number) = kinds.numbers.get(name) {
            return *number;
        }
        let name: Arc<str> = name.into();
        kinds.names.push(name.clone());
        let number = u32::try_from(kinds.names.len()).unwrap_or(u32::MAX);
        kinds.numbers.insert(name, number);
        number
    }

    /// The name of a kind.
    pub fn name(&self, number: u32) -> Arc<str> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(number).unwrap_or(0).checked_sub(1);
        index.and_then(|index| kinds.names.get(index)).cloned().unwrap_or_else(|| OTHER.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_by_name_up_to_a_bound() {
        let transactions = Transactions::default();
        let (a, b) = (transactions.kind("a"), transactions.kind("b"));
        assert!(a != 0 && b != a && transactions.kind("a") == a);
        assert_eq!((&*transactions.name(a), &*transactions.name(b)), ("a", "b"));
        let last = (0..2 * MAX_KINDS as u32).map(|n| transactions.kind(&n.to_string())).last().unwrap();
        assert_eq!(&*transactions.name(last), OTHER);
        assert_eq!(transactions.kind("one more"), last);
        assert_eq!(&*transactions.name(0), OTHER);
    }
}
