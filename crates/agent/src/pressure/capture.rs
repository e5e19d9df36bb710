//! What platform threads do at monitors and parks where nothing but pressure is
//! recorded. Everything that makes up the order of events is left out: no number
//! is taken, no monitor pinned, no owner read, no event appended, as long as
//! nobody asks who leaves a lock.
//!
//! What goes on when the draining thread comes by it reports itself
//! ([`begins`]), once; the thread then reports the end by an event.

use crate::agent::{Agent, Observer};
use crate::chain::LockEvent;
use crate::jni::{Jni, Ref};
use crate::locks;
use crate::observing::observer;
use crate::raw::Record;
use crate::state::Span;
use crate::threads::{Begun, Slot};
use headway_model::event::{MonitorEnter, MonitorEntered, Spent};
use headway_model::{ChainId, Event, LockId, TimeNs};

/// A platform thread is about to block on a monitor.
#[inline]
pub fn on_contended_enter(agent: &'static Agent, jni: Jni, slot: &'static Slot, object: Ref, now: TimeNs) {
    slot.acts();
    let Some(lock) = lock_of(agent, jni, slot, object) else { return };
    let pin = if agent.pressure.spares_owners() { 0 } else { pin(agent, jni, slot, object) };
    let chain = match agent.pressure.wants_contender(lock) {
        true => chain(agent, jni, slot, lock),
        false => ChainId::NONE,
    };
    slot.enter.begin(Begun { start: now, lock, chain, pin, ..Begun::default() });
}

/// It owns the monitor now. False if it was not seen to block.
#[inline]
pub fn on_contended_entered(agent: &'static Agent, slot: &'static Slot, now: TimeNs) -> bool {
    let Some(begun) = slot.enter.finish() else { return false };
    agent.locks.unpin(begun.pin);
    let Begun { start, lock, chain, is_reported, .. } = begun;
    let thread = slot.thread();
    if is_reported || chain.is_some() {
        let entered = MonitorEntered { time: now, start, thread, lock, chain, ..MonitorEntered::default() };
        agent.append(slot, &Record::entered(&entered));
    } else {
        let on = headway_model::event::SpentOn::Monitor;
        spend(agent, slot, Span { start, end: now, thread, lock, on });
    }
    true
}

/// Adds a contention to what the thread has spent.
#[inline]
pub fn spend(agent: &Agent, slot: &Slot, span: Span) {
    let send = |spent: &Spent| agent.append(slot, &Record::spent(spent));
    slot.spans.get_or_init(Box::default).add(span, &agent.pressure.grid, send);
}

/// The lock that the object is: as the thread remembers, or as the VM says.
#[inline]
fn lock_of(agent: &'static Agent, jni: Jni, slot: &Slot, object: Ref) -> Option<LockId> {
    let address = agent.hotspot.known().and_then(|known| known.object_behind(object));
    let remembered = address.and_then(|address| agent.heap.pauses.calm(|calm| slot.contended.get(address, calm)));
    remembered.map(LockId).or_else(|| lock_by_tag(agent, jni, slot, object))
}

#[cold]
fn lock_by_tag(agent: &'static Agent, jni: Jni, slot: &Slot, object: Ref) -> Option<LockId> {
    let lock = agent.locks.of_object(agent, jni, object)?.id();
    let known = agent.hotspot.known();
    let here = known.and_then(|known| agent.heap.pauses.calm(|calm| Some((known.object_behind(object)?, calm))));
    if let Some((address, calm)) = here {
        slot.contended.set(address, calm, lock.0);
    }
    Some(lock)
}

/// Has the monitor's address stand for the lock, so that who leaves it is seen.
#[cold]
fn pin(agent: &'static Agent, jni: Jni, slot: &Slot, object: Ref) -> u64 {
    let monitor = agent.hotspot.pending_monitor(slot.vm_thread());
    agent.locks.pin(agent, jni, locks::lane(slot.vm_thread()), monitor, object).map_or(0, |pinned| pinned.pin)
}

#[cold]
fn chain(agent: &'static Agent, jni: Jni, slot: &'static Slot, lock: LockId) -> ChainId {
    let Some(lock) = agent.locks.by_id(lock) else { return ChainId::NONE };
    let place = LockEvent { core: agent, jni, slot, lock: &lock };
    let chain = agent.chains.in_callback(place);
    if let Some(name) = agent.chains.name_lock(place, chain) {
        observer().lock_named(lock.id(), &name);
    }
    chain
}

/// Takes the sums of all threads; false if one could not be taken. Before the
/// buffers are collected.
pub fn sums(agent: &Agent, take: &mut impl FnMut(Event)) -> bool {
    let mut all = true;
    for spans in agent.threads.iter().filter_map(|slot| slot.spans.get()) {
        match spans.take() {
            Some(sums) => sums.for_each(|sum| take(Event::Spent(sum))),
            None => all = false,
        }
    }
    all
}

/// Reports the thread that has been blocked since before `watermark`. After its
/// buffer was collected: what it did before is in there.
pub fn begins(slot: &Slot, watermark: TimeNs) -> Option<Event> {
    let Begun { start, lock, chain, .. } = slot.enter.report(watermark)?;
    let enter = MonitorEnter { time: start, thread: slot.thread(), lock, chain, ..MonitorEnter::default() };
    Some(Event::MonitorEnter(enter))
}

/// The thread ends: its sums go where its events are.
pub fn release(agent: &Agent, slot: &Slot) {
    let sums = slot.spans.get().and_then(|spans| spans.take());
    sums.into_iter().flatten().for_each(|sum| agent.append(slot, &Record::spent(&sum)));
}
