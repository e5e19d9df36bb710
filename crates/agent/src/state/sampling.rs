//! Whether contentions, parks and waits are sampled, and by which random instants; and for each
//! lock, up to when it is known who had it at those instants.
//!
//! # Protocol
//! Only the draining thread changes the schedule, and never to one that begins in the past:
//! it writes the next of a ring of places and then its number (release). A thread reads the
//! number (acquire), then that place, and the one before it if the moment it asks for is
//! earlier. A place is written again only after as many changes as there are places, seconds
//! later; who sleeps that long in between decides about one event by another window. The
//! words of locks are written by whoever has an event of the lock, without order: of two at
//! the same instant both may record it.

use headway_model::event::{Sampling as Change, SamplingBound};
use headway_model::schedule::Schedule;
use headway_model::{DurationNs, LockId, TimeNs};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Schedules of which a thread may still read one.
const PLACES: usize = 8;
/// Locks of which it is remembered up to which instant it is known who had them. Two locks of one
/// place record more than necessary.
const LOCKS: usize = 1 << 14;
/// Bits of a lock's word that say up to which random instant: the lowest bits of its time, which
/// are only compared for being the same.
const INSTANT_BITS: u32 = 40;
const INSTANT: u64 = (1 << INSTANT_BITS) - 1;

#[derive(Default)]
struct Place {
    from: AtomicU64,
    window: AtomicU64,
    seed: AtomicU64,
}

impl Place {
    fn schedule(&self) -> Schedule {
        Schedule::new(Change {
            time: TimeNs(self.from.load(Ordering::Relaxed)),
            window: DurationNs(self.window.load(Ordering::Relaxed)),
            seed: self.seed.load(Ordering::Relaxed),
            // Threads need not know why.
            bound: SamplingBound::default(),
        })
    }
}

/// See the module.
pub struct Sampling {
    places: [Place; PLACES],
    /// Changes so far; 0 if nothing was ever sampled.
    changes: AtomicUsize,
    settled: Box<[AtomicU64]>,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            places: Default::default(),
            changes: AtomicUsize::new(0),
            settled: (0..LOCKS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Sampling {
    /// A recording begins: everything is recorded.
    pub fn reset(&self) {
        self.changes.store(0, Ordering::Release);
    }

    /// From a moment to come on, windows have another length. Draining thread only.
    pub fn change(&self, change: Change) {
        let changes = self.changes.load(Ordering::Relaxed);
        if let Some(place) = self.places.get(changes % PLACES) {
            place.from.store(change.time.0, Ordering::Relaxed);
            place.window.store(change.window.0, Ordering::Relaxed);
            place.seed.store(change.seed, Ordering::Relaxed);
        }
        self.changes.store(changes + 1, Ordering::Release);
    }

    /// True if anything was sampled since the recording began.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.changes.load(Ordering::Relaxed) != 0
    }

    /// What of the past is still to come: nothing that is chosen by chance is known before it
    /// is over, which it is after two windows, or recorded in any case.
    pub fn settled(&self, watermark: TimeNs) -> TimeNs {
        let window = self.at(watermark).map_or(DurationNs::ZERO, |schedule| schedule.window());
        watermark - window - window
    }

    /// The schedule at a moment, which is about now; `None` if everything is recorded.
    #[inline]
    pub fn at(&self, time: TimeNs) -> Option<Schedule> {
        let changes = self.changes.load(Ordering::Acquire);
        match changes {
            0 => None,
            _ => self.latest(changes, time),
        }
    }

    fn latest(&self, changes: usize, time: TimeNs) -> Option<Schedule> {
        let place = |number: usize| self.places.get(number % PLACES).map(Place::schedule);
        let latest = place(changes - 1).filter(|schedule| schedule.from() <= time);
        let schedule = latest.or_else(|| changes.checked_sub(2).and_then(place));
        schedule.filter(|schedule| schedule.samples() && schedule.from() <= time)
    }

    /// True if something that began and is over now is recorded by itself: nothing is
    /// sampled now, or was when it began, or a random instant lies in it.
    #[inline]
    pub fn records(&self, start: TimeNs, end: TimeNs) -> bool {
        self.at(end).is_none_or(|schedule| start < schedule.from() || schedule.hits(start, end))
    }

    /// Somebody begins to wait for the lock: who had it before is of no interest.
    #[inline]
    pub fn awaits(&self, lock: LockId, time: TimeNs) {
        let is_another = |word: &&AtomicU64| word.load(Ordering::Relaxed) & !INSTANT != tag(lock);
        let Some(word) = self.word(lock).filter(is_another) else { return };
        if let Some(schedule) = self.at(time) {
            word.store(settled_word(lock, &schedule, time), Ordering::Relaxed);
        }
    }

    /// Something happened to the lock. True if it is the first since a random instant, and so
    /// says who had the lock then; always where nothing is sampled. Only then is the lock's word
    /// written: it is read at every event, and CPUs would take it from each other.
    #[inline]
    pub fn settles(&self, lock: LockId, time: TimeNs) -> bool {
        let (Some(schedule), Some(word)) = (self.at(time), self.word(lock)) else { return true };
        let now = settled_word(lock, &schedule, time);
        let is_first = word.load(Ordering::Relaxed) != now;
        if is_first {
            word.store(now, Ordering::Relaxed);
        }
        is_first
    }

    fn word(&self, lock: LockId) -> Option<&AtomicU64> {
        self.settled.get(lock.0 as usize % LOCKS)
    }
}

/// What distinguishes locks of one place; never all zero.
fn tag(lock: LockId) -> u64 {
    (lock.0 / LOCKS as u64).wrapping_add(1) << INSTANT_BITS
}

/// The word of a lock of which it is known who had it at the last instant.
#[inline]
fn settled_word(lock: LockId, schedule: &Schedule, time: TimeNs) -> u64 {
    tag(lock) | schedule.latest(time).unwrap_or(schedule.from()).0 & INSTANT
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn change(time: u64, window: u64) -> Change {
        Change { time: TimeNs(time), window: DurationNs(window), seed: time, bound: SamplingBound::Cpu }
    }

    fn sampling() -> Sampling {
        let sampling = Sampling::default();
        sampling.change(change(10 * MS, MS));
        sampling
    }

    #[test]
    fn a_schedule_is_valid_from_its_beginning_on() {
        let sampling = Sampling::default();
        assert!(sampling.at(TimeNs(5)).is_none() && sampling.records(TimeNs(4), TimeNs(5)));
        sampling.change(change(10 * MS, MS));
        assert!(sampling.at(TimeNs(9 * MS)).is_none());
        assert_eq!(sampling.at(TimeNs(11 * MS)).map(|schedule| schedule.window()), Some(DurationNs(MS)));
        sampling.change(change(20 * MS, 2 * MS));
        assert_eq!(sampling.at(TimeNs(11 * MS)).map(|schedule| schedule.window()), Some(DurationNs(MS)));
        assert_eq!(sampling.at(TimeNs(21 * MS)).map(|schedule| schedule.window()), Some(DurationNs(2 * MS)));
        sampling.change(change(30 * MS, 0));
        assert!(sampling.at(TimeNs(31 * MS)).is_none());
        sampling.reset();
        assert!(sampling.at(TimeNs(11 * MS)).is_none());
    }

    #[test]
    fn what_is_long_or_older_than_the_schedule_is_recorded_and_the_rest_by_chance() {
        let sampling = sampling();
        assert!(sampling.records(TimeNs(9 * MS), TimeNs(10 * MS + 1)));
        assert!(sampling.records(TimeNs(50 * MS), TimeNs(52 * MS)));
        let tenths = (100..10_100).filter(|n| sampling.records(TimeNs(n * MS / 10), TimeNs((n + 1) * MS / 10)));
        // 1,000 of 10,000 are expected: one in each window.
        assert_eq!(tenths.count(), 1_000);
    }

    #[test]
    fn the_first_event_of_a_lock_after_an_instant_settles_it() {
        let sampling = sampling();
        let lock = LockId(77);
        sampling.awaits(lock, TimeNs(10 * MS));
        let settled = (1_001..11_001).filter(|n| sampling.settles(lock, TimeNs(n * 10_000))).count();
        // One for each window, and one when the schedule begins.
        assert!((100..=101).contains(&settled), "{settled} of 10,000 events in 100 windows");
        assert!(!sampling.settles(lock, TimeNs(110 * MS + 20)));
        let other = LockId(77 + LOCKS as u64);
        assert!(sampling.settles(other, TimeNs(110 * MS + 30)), "whose last event is not known");
        assert!(sampling.settles(lock, TimeNs(110 * MS + 40)), "another lock has its place");
        sampling.awaits(other, TimeNs(110 * MS + 50));
        assert!(!sampling.settles(other, TimeNs(110 * MS + 60)));
    }
}
