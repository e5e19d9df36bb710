//! Hands contentions over: sliced, their stop-the-world time marked, and
//! checked to add up.

use super::contention::{Basis, Contention, ContentionSink, Kind, Slice};
use super::going::{Going, ReadOwners};
use super::lock::{Blocked, LockReplay};
use super::owners::{OwnerId, OwnersById};
use super::segments::Most;
use crate::options::Bounds;
use crate::pauses::Pauses;
use crate::sampled::Schedules;
use headway_model::event::MonitorEntered;
use headway_model::{DurationNs, LockId, ThreadId, TimeNs};

/// What is needed to hand a contention over.
#[derive(Debug)]
pub(crate) struct HandOver {
    pub pauses: Pauses,
    /// When what was sampled.
    pub schedules: Schedules,
    /// Kept for its memory.
    slices: Vec<Slice>,
    /// Slices that a contention shares with others.
    most: Most,
    /// Slices of which it was checked that they add up.
    pub checked: u64,
    /// Contentions whose slices did not.
    pub wrong: u64,
}

/// A contention reported by a single event, without an order.
#[derive(Debug)]
pub(crate) struct Told {
    pub kind: Kind,
    pub event: MonitorEntered,
    pub owner: OwnerId,
    pub basis: Basis,
    pub after_wait: bool,
    pub bound: bool,
}

impl HandOver {
    /// Remembers as many pauses, and gives as many slices, as these bounds say.
    pub fn new(bounds: &Bounds) -> HandOver {
        HandOver {
            pauses: Pauses::new(bounds.pauses),
            schedules: Schedules::default(),
            slices: Vec::new(),
            most: Most::new(bounds.slices_per_contention),
            checked: 0,
            wrong: 0,
        }
    }

    /// Contentions whose slices were too many.
    pub fn drawn(&self) -> u64 {
        self.most.exceeded
    }

    /// Who owns the lock at the end of what was handed over last, which has not ended; since when that is known, and
    /// until when it is sure. `at_begin` is the owner at its begin. Where contentions are sampled, the owner at an instant
    /// may have let go since, and if nothing was recorded, that at the begin is all that is known.
    pub fn last_owner(&self, owners: &OwnersById, at_begin: (ThreadId, TimeNs)) -> (ThreadId, TimeNs, TimeNs) {
        let unknown = (ThreadId::NONE, TimeNs(0), TimeNs(0));
        let last = self.slices.last().map(|slice| (owners.get(slice.owner).thread, slice));
        let known = last.filter(|(thread, _)| thread.is_some());
        if !self.schedules.any_samples() {
            return known.map_or(unknown, |(thread, slice)| (thread, slice.start, TimeNs(u64::MAX)));
        }
        match known {
            Some((_, slice)) if matches!(slice.basis, Basis::Exit | Basis::LastReader) => unknown,
            Some((thread, slice)) => (thread, slice.start, slice.start),
            None if self.slices.iter().all(|slice| slice.basis == Basis::NoMark) => {
                (at_begin.0, at_begin.1, at_begin.1)
            }
            None => unknown,
        }
    }

    /// Hands over a contention of a lock that was replayed.
    pub fn give(
        &mut self,
        lock: LockId,
        replay: &mut LockReplay,
        blocked: Blocked,
        owners: &OwnersById,
        sink: &mut impl ContentionSink,
    ) {
        self.slice(lock, replay, blocked, None, owners, sink);
    }

    /// The same for one that has not ended; `read` has the owners that were read.
    pub fn give_open(
        &mut self,
        lock: LockId,
        replay: &mut LockReplay,
        blocked: Blocked,
        read: &ReadOwners,
        owners: &mut OwnersById,
        sink: &mut impl ContentionSink,
    ) {
        let going = Going::of(lock, &blocked, read, owners);
        self.slice(lock, replay, blocked, Some(going), owners, sink);
    }

    fn slice(
        &mut self,
        lock: LockId,
        replay: &mut LockReplay,
        blocked: Blocked,
        going: Option<Going>,
        owners: &OwnersById,
        sink: &mut impl ContentionSink,
    ) {
        let in_flight = going.is_some();
        let mut slices = std::mem::take(&mut self.slices);
        slices.clear();
        let contention = Contention {
            kind: replay.kind,
            start: blocked.start,
            duration: blocked.end.since(blocked.start),
            thread: blocked.thread,
            chain: blocked.chain,
            lock,
            after_wait: blocked.origin.after_wait(),
            bound: blocked.bound,
            in_flight,
            slices: &[],
            shared: None,
            owners,
        };
        let shared = match self.schedules.sampling(blocked.start, blocked.end) {
            Some(schedule) => {
                replay.slice_by_instants(&blocked, schedule, &mut slices);
                None
            }
            None => replay.slice(blocked, in_flight, &mut self.most, &mut slices),
        };
        if let Some(going) = going {
            going.attribute(&mut slices, owners);
        }
        self.finish(Contention { shared, ..contention }, &mut slices, sink);
        self.slices = slices;
    }

    /// Hands over a contention reported by a single event.
    pub fn give_told(&mut self, told: &Told, owners: &OwnersById, sink: &mut impl ContentionSink) {
        let event = &told.event;
        let duration = event.time.since(event.start);
        let whole = Slice {
            start: event.start,
            duration,
            stop_the_world: DurationNs::ZERO,
            owner: told.owner,
            basis: told.basis,
            // A previous owner held it for a part of the time only.
            owner_blocked: told.basis == Basis::SeenAtEnter,
            stands_for: 1,
        };
        let contention = Contention {
            kind: told.kind,
            start: event.start,
            duration,
            thread: event.thread,
            chain: event.chain,
            lock: event.lock,
            after_wait: told.after_wait,
            bound: told.bound,
            in_flight: false,
            slices: &[],
            shared: None,
            owners,
        };
        let slices = if duration > DurationNs::ZERO { &mut [whole][..] } else { &mut [] };
        self.finish(contention, slices, sink);
    }

    /// Hands over a contention with these slices.
    pub fn finish(&mut self, mut contention: Contention<'_>, slices: &mut [Slice], sink: &mut impl ContentionSink) {
        if !self.pauses.none_in(contention.start, contention.start + contention.duration) {
            for slice in &mut *slices {
                let end = slice.start + slice.duration;
                slice.stop_the_world = self.pauses.within(slice.start, end);
            }
            contention.shared = None;
        }
        self.check(&contention, slices);
        sink.contention(&Contention { slices, ..contention });
    }

    /// The promise that everything else rests on: slices lie end to end and
    /// add up to their contention.
    fn check(&mut self, contention: &Contention<'_>, slices: &[Slice]) {
        let mut at = contention.start;
        let mut sound = true;
        for slice in slices {
            sound &= slice.start == at && slice.stop_the_world <= slice.duration;
            at = slice.start + slice.duration;
        }
        sound &= at == contention.start + contention.duration;
        self.checked += slices.len() as u64;
        self.wrong += u64::from(!sound);
    }
}
