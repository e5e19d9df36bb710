//! Numbers of values, found by value.
//!
//! The values themselves are in a list of whoever asks, by number. A map by value would
//! have each of them once more: with a million locks that is most of the memory.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hash};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    /// Each number, and what its value is found by: a table that grows need not read the values.
    table: HashTable<(u32, u32)>,
}

impl Numbering {
    /// The number of a value; `is` compares it with the one that has this number.
    #[inline]
    pub fn find<V: Hash + ?Sized>(&self, value: &V, is: impl Fn(u32) -> bool) -> Option<u32> {
        let key = key(value);
        let found = self.table.find(spread(key), |(number, known)| *known == key && is(*number));
        found.map(|(number, _)| *number)
    }

    /// Gives a value a number. It has none yet.
    pub fn add<V: Hash + ?Sized>(&mut self, value: &V, number: u32) {
        let key = key(value);
        self.table.insert_unique(spread(key), (number, key), |(_, key)| spread(*key));
    }
}

/// Half of a value's hash.
#[inline]
fn key<V: Hash + ?Sized>(value: &V) -> u32 {
    let hash = FxBuildHasher.hash_one(value);
    (hash ^ (hash >> 32)) as u32
}

/// A hash of this key: tables read its upper and its lower bits.
#[inline]
fn spread(key: u32) -> u64 {
    u64::from(key) << 32 | u64::from(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_keeps_its_number_while_the_table_grows() {
        let values: Vec<String> = (0..1_000).map(|number| format!("value {number}")).collect();
        let mut numbers = Numbering::default();
        let find = |numbers: &Numbering, value: &String| numbers.find(value, |known| values[known as usize] == *value);
        for (number, value) in values.iter().enumerate() {
            assert_eq!(find(&numbers, value), None);
            numbers.add(value, number as u32);
        }
        for (number, value) in values.iter().enumerate() {
            assert_eq!(find(&numbers, value), Some(number as u32));
        }
    }

    #[test]
    fn values_with_the_same_hash_have_different_numbers() {
        /// Hashes like any other of its kind.
        struct Alike;
        impl Hash for Alike {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                0_u32.hash(state);
            }
        }
        let mut numbers = Numbering::default();
        for number in 0..100 {
            numbers.add(&Alike, number);
        }
        assert!((0..100).all(|number| numbers.find(&Alike, |known| known == number) == Some(number)));
        assert_eq!(numbers.find(&Alike, |known| known == 100), None);
    }
}
