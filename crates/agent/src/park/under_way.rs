//! Platform threads that are parked already when a recording begins. Their parks
//! begin with the recording: the VM says that they are parked, `Thread` on what,
//! and JVMTI where. Their ends are not reported, because they lie in the VM's own
//! functions; so the first of these ends such a park:
//!
//! * its thread parks again or ends;
//! * the draining thread sees that the VM does not block the thread any more, or
//!   that it names no blocker any more: ten times a second where the blocker has
//!   an owner, else once.
//!
//! It ended when somebody gave the permit, if that was seen, else when the thread
//! was last seen parked, which may be too early by as long as nobody looked.
//!
//! Virtual threads are not found: the VM lists none of them.

use super::capture;
use super::parks;
use crate::agent::Agent;
use crate::clock;
use crate::jni::{Jni, Ref};
use crate::raw::Record;
use crate::state::{PARKED, WITH_TIMEOUT};
use crate::threads::Slot;
use headway_hotspot::thread;
use headway_model::event::{Park, ParkBegin, ParkLimit, ParkOutcome};
use headway_model::{Event, Seq, ThreadId, TimeNs};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// See the module.
#[derive(Default)]
pub struct UnderWay {
    /// Held while threads are looked at, never while the VM is called.
    threads: Mutex<Vec<&'static Slot>>,
    /// When those whose blocker has an owner were looked at, and when all were.
    seen: [AtomicU64; 2],
}

impl UnderWay {
    /// A recording begins.
    pub fn clear(&self) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.seen.iter().for_each(|seen| seen.store(0, Ordering::Relaxed));
    }

    /// When the thread was last seen parked, at least.
    fn seen(&self, begin: &ParkBegin) -> TimeNs {
        let [owned, all] = self.seen.each_ref().map(|seen| seen.load(Ordering::Relaxed));
        let seen = if begin.owner.is_some() { owned.max(all) } else { all };
        begin.time.max(TimeNs(seen))
    }

    /// On the draining thread: reports the ends of parks that are over. Looks at
    /// `all`, or at those whose blocker has an owner.
    pub fn look(&self, agent: &Agent, all: bool, take: &mut impl FnMut(Event)) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_empty() {
            return;
        }
        let now = clock::now();
        threads.retain(|slot| {
            let Some((seq, begin)) = of(slot) else { return false };
            let is_parked = || agent.vm_memory.pass(|| is_parked(agent, slot, &begin)).unwrap_or(true);
            if !(all || begin.owner.is_some()) || is_parked() {
                return true;
            }
            end(agent, slot, seq).into_iter().for_each(|park| take(Event::Park(park)));
            false
        });
        let looked_at = if all { &self.seen[..] } else { &self.seen[..1] };
        looked_at.iter().for_each(|seen| seen.store(now.0, Ordering::Relaxed));
    }
}

/// The park of a thread that was found parked, if nobody saw it end.
fn of(slot: &Slot) -> Option<(Seq, ParkBegin)> {
    let seq = Seq(slot.parks.found.load(Ordering::Acquire));
    slot.parks.park.peek().filter(|begin| seq.is_some() && begin.seq == seq).map(|begin| (seq, begin))
}

/// Where the VM cannot be asked only the thread's own events end its park.
fn is_parked(agent: &Agent, slot: &Slot, begin: &ParkBegin) -> bool {
    let Some(known) = agent.hotspot.known() else { return true };
    if !thread::is_blocked(&known.layout, &known.memory, slot.vm_thread()) {
        return false;
    }
    let names_blocker = agent.heap.pauses.calm(|_| {
        let fields = agent.heap.fields()?;
        Some(fields.blocker(known, fields.thread_object(known, slot.vm_thread(), false)?)? != 0)
    });
    begin.blocker.is_none() || names_blocker.unwrap_or(true)
}

/// Takes note of a thread of this JVMTI state, before anything is recorded; true
/// if it is parked.
pub fn find(agent: &'static Agent, jni: Jni, slot: &'static Slot, object: Ref, state: i32) -> bool {
    if state & PARKED == 0 || slot.is_left_out() || !parks().sees_platform() {
        return false;
    }
    let time = clock::now();
    let blocker = parks().blockers.of_thread(agent, jni, object, |_, _, _| ());
    let chain = agent.chains.of_other(agent, jni, slot, object);
    // It may have gone on meanwhile, and may be in another park.
    let Some(limit) = limit_of([state, agent.jvmti.thread_state(object).unwrap_or(0)]) else { return false };
    let seq = if agent.pressure.is_sparing() { Seq(time.0) } else { parks().next_seq() };
    let thread = slot.thread();
    let begin = ParkBegin { time, thread, seq, chain, blocker: blocker.id, owner: blocker.owner, limit };
    capture::count_park(agent, &begin, || chain);
    slot.parks.park.begin(&begin, true);
    slot.parks.found.store(seq.0, Ordering::Release);
    agent.definitions.found_under_way(Event::ParkBegin(begin));
    parks().under_way.threads.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    true
}

/// What the JVMTI states of a parked thread before and after it was asked where it is parked say of the limit there: none
/// only where both say so. `None` if it is not parked any more.
fn limit_of(states: [i32; 2]) -> Option<ParkLimit> {
    let has_limit = states.iter().any(|state| state & WITH_TIMEOUT != 0);
    let are_parked = states.iter().all(|state| state & PARKED != 0);
    are_parked.then_some(if has_limit { ParkLimit::Unknown } else { ParkLimit::None })
}

/// On the thread itself: it parks again, or ends.
#[cold]
pub fn over(agent: &Agent, slot: &Slot) {
    let seq = Seq(slot.parks.found.swap(0, Ordering::Relaxed));
    if let Some(park) = end(agent, slot, seq) {
        agent.append(slot, &Record::park(&park));
    }
}

/// The park as it ended, for the first who asks.
fn end(agent: &Agent, slot: &Slot, seq: Seq) -> Option<Park> {
    let begin = slot.parks.park.end_of(seq)?;
    let ParkBegin { time: start, thread, chain, blocker, owner, limit, .. } = begin;
    let seen = parks().under_way.seen(&begin);
    capture::count_return(agent, &begin, seen);
    let park = Park { time: seen, start, thread, chain, blocker, owner, limit, ..Park::default() };
    if agent.pressure.is_sparing() {
        return Some(park);
    }
    let given_at = slot.parks.permit.given_at();
    let given = slot.parks.permit.take(None);
    Some(Park {
        time: if given.is_some() { seen.max(given_at) } else { seen },
        start_seq: begin.seq,
        seq: parks().next_seq(),
        outcome: if given.is_some() { ParkOutcome::Unparked } else { ParkOutcome::Unknown },
        unpark: given.map_or(Seq::NONE, |given| given.recorded_seq()),
        waker: given.map_or(ThreadId::NONE, |given| given.waker),
        ..park
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_park_under_way_has_a_limit_where_its_state_says_so() {
        // Alive, waiting, parked: indefinitely, and with a timeout.
        let (ever, timed) = (0x1 | 0x80 | 0x10 | PARKED, 0x1 | 0x80 | 0x20 | PARKED);
        assert_eq!(limit_of([ever, ever]), Some(ParkLimit::None));
        assert_eq!(limit_of([timed, timed]), Some(ParkLimit::Unknown));
        // It left one park for another: where it was asked in between, it was in either.
        assert_eq!(limit_of([ever, timed]), Some(ParkLimit::Unknown));
        assert_eq!(limit_of([timed, ever]), Some(ParkLimit::Unknown));
        assert_eq!((limit_of([timed, 0x1 | 0x4]), limit_of([ever, 0])), (None, None), "it runs, or has ended");
    }
}
