//! Transactions, as application threads begin and end them.
//!
//! A begin and an end are each a few words in the thread's own buffer; what
//! belongs together is found on the draining thread. The application's side
//! keeps nothing but the number that the begin returned.

use super::clocks;
use crate::agent::Agent;
use crate::clock;
use crate::jni::{Jni, Ref};
use crate::monitor::enter_late;
use crate::raw::Record;
use crate::thread_events;
use crate::threads::InEvent;
use headway_model::event::TransactionPoint;
use headway_model::{DurationNs, ThreadId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds that are told apart. What comes beyond is one kind more.
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

/// A thread of the application as it calls us.
#[derive(Clone, Copy)]
pub struct Caller {
    /// Its environment.
    pub jni: Jni,
    /// Its object.
    pub object: Ref,
    /// Its Java id.
    pub id: ThreadId,
}

/// A transaction of this kind begins; its number, 0 if it is not recorded.
pub fn begin(agent: &'static Agent, caller: Caller, kind: u32) -> u64 {
    let id = agent.steal.transactions.next.fetch_add(1, Ordering::Relaxed) + 1;
    match point(agent, caller, id, kind, false) {
        true => id,
        false => 0,
    }
}

/// The transaction of this number ends.
pub fn end(agent: &'static Agent, caller: Caller, id: u64) {
    point(agent, caller, id, 0, true);
}

/// Appends a begin or an end. Between the two clocks nothing is done, so that
/// what this costs is outside of the transaction as far as it can be.
fn point(agent: &'static Agent, caller: Caller, id: u64, kind: u32, is_end: bool) -> bool {
    let entered = clock::now();
    let vm_thread = agent.java.current_vm_thread(caller.jni);
    let slot = match agent.threads.find(vm_thread) {
        Some(slot) => slot,
        None if agent.threads.has_left(vm_thread) => return false,
        None => match enter_late(agent, caller.jni, vm_thread, caller.object) {
            Some(slot) => slot,
            None => return false,
        },
    };
    let _event = InEvent::begin(slot, agent.threads.epoch());
    let is_carrier = slot.is_carrier.load(Ordering::Relaxed);
    if !agent.is_recording() || (slot.is_filtered.load(Ordering::Relaxed) && !is_carrier) {
        return false;
    }
    let is_virtual = is_carrier && slot.thread() != caller.id;
    if is_virtual && agent.virtuals.is_name_due(caller.id, entered) {
        thread_events::define_virtual(agent, caller.jni, caller.id, caller.object);
    }
    let thread = if is_virtual { caller.id } else { slot.thread() };
    let cpu = match (is_virtual, is_end) {
        (false, _) => Some(DurationNs(clocks::own_ns())),
        (true, false) => agent.steal.mounted.begin(thread, id, clocks::own_ns()),
        (true, true) => agent.steal.mounted.end(thread, id, clocks::own_ns()),
    };
    // Times of a thread's events must not run backwards, nor lie before its mark.
    let time = clock::now();
    agent.append(slot, &Record::transaction(&TransactionPoint { time, thread, id, kind, cpu, is_end }));
    true
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
