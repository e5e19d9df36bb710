//! Platform threads that are in `Object.wait` already when a recording begins: their waits begin with the recording.
//! JVMTI says that they wait, where and whether with a timeout, but not with which one, nor on which object; that object
//! is known when the wait ends.

use crate::agent::Agent;
use crate::clock;
use crate::jni::{Jni, Ref};
use crate::monitor;
use crate::state::{Begun, IN_OBJECT_WAIT, WITH_TIMEOUT};
use crate::threads::Slot;
use headway_hotspot::thread;
use headway_model::event::UNKNOWN_TIMEOUT;
use headway_model::{DurationNs, TimeNs};

/// A thread that was in `Object.wait`.
#[derive(Clone, Copy)]
pub struct Waiting {
    slot: &'static Slot,
    start: TimeNs,
}

/// Takes note of a thread of this JVMTI state, before anything is recorded. Asks the VM where it waits.
pub fn find(agent: &'static Agent, jni: Jni, slot: &'static Slot, thread: Ref, state: i32) -> Option<Waiting> {
    if state & IN_OBJECT_WAIT == 0 || slot.is_left_out() {
        return None;
    }
    let chain = agent.chains.of_other(agent, jni, slot, thread);
    // It may have gone on meanwhile, and may be in another wait.
    let timeout = timeout_of([state, agent.jvmti.thread_state(thread).unwrap_or(0)])?;
    let start = clock::now();
    slot.wait.begin(Begun { start, chain, argument: timeout.0, ..Begun::default() });
    Some(Waiting { slot, start })
}

/// What the JVMTI states of a thread before and after it was asked where it waits say of the timeout there: none only
/// where both say so. `None` if it does not wait any more.
fn timeout_of(states: [i32; 2]) -> Option<DurationNs> {
    let has_limit = states.iter().any(|state| state & WITH_TIMEOUT != 0);
    let waits = states.iter().all(|state| state & IN_OBJECT_WAIT != 0);
    waits.then_some(if has_limit { UNKNOWN_TIMEOUT } else { DurationNs::ZERO })
}

/// Reports those that still wait: the recording is under way, and the end of such a wait is seen from now on. Of one that
/// ended in between nothing is known.
pub fn report(agent: &Agent, found: Vec<Waiting>) {
    for Waiting { slot, start } in found {
        let is_same = || slot.wait.peek().is_some_and(|begun| begun.start == start);
        if !is_same() {
            continue;
        }
        if !agent.vm_memory.pass(|| is_blocked(agent, slot)).unwrap_or(false) {
            slot.wait.finish();
        } else if let Some(begun) = slot.wait.report(TimeNs(start.0 + 1)) {
            agent.definitions.found_under_way(monitor::wait_of(slot.thread(), begun));
        }
    }
}

fn is_blocked(agent: &Agent, slot: &Slot) -> bool {
    let known = agent.hotspot.known();
    known.is_some_and(|known| thread::is_blocked(&known.layout, &known.memory, slot.vm_thread()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_under_way_has_a_timeout_where_its_state_says_so() {
        // Alive, waiting, in `Object.wait`: indefinitely, and with a timeout.
        let (ever, timed) = (0x1 | 0x80 | 0x10 | IN_OBJECT_WAIT, 0x1 | 0x80 | 0x20 | IN_OBJECT_WAIT);
        assert_eq!(timeout_of([ever, ever]), Some(DurationNs::ZERO));
        assert_eq!(timeout_of([timed, timed]), Some(UNKNOWN_TIMEOUT));
        // It left one wait for another: where it was asked in between, it was in either.
        assert_eq!(timeout_of([ever, timed]), Some(UNKNOWN_TIMEOUT));
        assert_eq!(timeout_of([timed, ever]), Some(UNKNOWN_TIMEOUT));
        assert_eq!((timeout_of([timed, 0x1 | 0x4]), timeout_of([ever, 0])), (None, None), "it runs, or has ended");
    }
}
