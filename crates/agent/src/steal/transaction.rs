//! Transactions, as application threads begin and end them.
//!
//! A begin and an end are each a few words in the thread's own buffer; what
//! belongs together is found on the draining thread. The application's side
//! keeps nothing but the number that the begin returned.

use crate::agent::Agent;
use crate::clock;
use crate::jni::{Jni, Ref};
use crate::raw::Record;
use crate::thread_entry::{self, enter_late};
use crate::threads::InEvent;
use headway_model::event::TransactionPoint;
use headway_model::ThreadId;
use std::sync::atomic::Ordering;

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
    let id = agent.steal.transactions.next();
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
        thread_entry::define_virtual(agent, caller.jni, caller.id, caller.object);
    }
    let thread = if is_virtual { caller.id } else { slot.thread() };
    let cpu = match (is_virtual, is_end) {
        (false, _) => Some(clock::thread_cpu()),
        (true, false) => agent.steal.mounted.begin(thread, id, clock::thread_cpu().0),
        (true, true) => agent.steal.mounted.end(thread, id, clock::thread_cpu().0),
    };
    // Times of a thread's events must not run backwards, nor lie before its mark.
    let time = clock::now();
    agent.append(slot, &Record::transaction(&TransactionPoint { time, thread, id, kind, cpu, is_end }));
    true
}
