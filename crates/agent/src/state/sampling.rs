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
//!
//! # Thinning
//! Where even counting costs too much ([`Sampling::thins`]), a thread that has parked in this step of
//! the coarse clock already leaves a park out unless a random instant lies in it, and only looks
//! closely where one is near: up to three steps before it, so that a time of the coarse clock, which is up
//! to two steps too early, cannot be on the wrong side of it, and up to one behind it, to see who
//! wakes those that were parked then (unless the hypervisor takes the CPU that ticks for
//! longer than that: then a few parks are decided by a time that is too early). Whether an instant is near is asked of one
//! word, which holds the last calm period that somebody found; whoever finds it outdated works it out.

use crate::clock;
use headway_model::event::{Sampling as Change, SamplingBound};
use headway_model::schedule::Schedule;
use headway_model::{DurationNs, LockId, TimeNs};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

/// Schedules of which a thread may still read one.
const PLACES: usize = 8;
/// Locks of which it is remembered up to which instant it is known who had them. Two locks of one
/// place record more than necessary.
const LOCKS: usize = 1 << 14;
/// Bits of a lock's word that say up to which random instant: the lowest bits of its time, which
/// are only compared for being the same.
const INSTANT_BITS: u32 = 40;
const INSTANT: u64 = (1 << INSTANT_BITS) - 1;

/// A random instant is near from so many steps of the coarse clock before it up to so many behind it.
const NEAR_STEPS: (u64, u64) = (3, 1);
/// Times of a calm period are in units of this many ns, as a power of two.
const CALM_BITS: u32 = 20;
/// Bits of a calm period's length, and of the number of its schedule; its begin has the others.
const CALM_LENGTH_BITS: u32 = 24;
const CALM_NUMBER_BITS: u32 = 8;

#[derive(Default)]
struct Place {
    from: AtomicU64,
    window: AtomicU64,
    seed: AtomicU64,
    thins: AtomicBool,
}

/// A time without a random instant nearby, under the schedule of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calm {
    number: u64,
    /// In units, as is the length.
    from: u64,
    length: u64,
}

impl Calm {
    fn of_word(word: u64) -> Calm {
        let from = word >> (CALM_LENGTH_BITS + CALM_NUMBER_BITS);
        let length = word >> CALM_NUMBER_BITS & ((1 << CALM_LENGTH_BITS) - 1);
        Calm { number: word & ((1 << CALM_NUMBER_BITS) - 1), from, length }
    }

    fn to_word(self) -> u64 {
        self.from << (CALM_LENGTH_BITS + CALM_NUMBER_BITS) | self.length << CALM_NUMBER_BITS | self.number
    }

    /// When it began, if it has and goes on.
    #[inline]
    fn begun(self, changes: usize, now: TimeNs) -> Option<TimeNs> {
        let unit = now.0 >> CALM_BITS;
        let since = (unit as u32).wrapping_sub(self.from as u32);
        let is_in = u64::from(since) < self.length && self.number == changes as u64 & ((1 << CALM_NUMBER_BITS) - 1);
        is_in.then(|| TimeNs((unit - u64::from(since)) << CALM_BITS))
    }
}

impl Place {
    fn schedule(&self) -> Schedule {
        Schedule::new(Change {
            time: TimeNs(self.from.load(Ordering::Relaxed)),
            window: DurationNs(self.window.load(Ordering::Relaxed)),
            seed: self.seed.load(Ordering::Relaxed),
            // Threads need not know why.
            bound: SamplingBound::default(),
            thins: self.thins.load(Ordering::Relaxed),
        })
    }
}

/// See the module.
pub struct Sampling {
    places: [Place; PLACES],
    /// Changes so far; 0 if nothing was ever sampled.
    changes: AtomicUsize,
    /// True if the latest schedule thins.
    thins: AtomicBool,
    calm: AtomicU64,
    /// From how long before an instant it is near, and up to how long behind it.
    nearness: OnceLock<(DurationNs, DurationNs)>,
    settled: Box<[AtomicU64]>,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            places: Default::default(),
            changes: AtomicUsize::new(0),
            thins: AtomicBool::new(false),
            calm: AtomicU64::new(0),
            nearness: OnceLock::new(),
            settled: (0..LOCKS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Sampling {
    /// A recording begins: everything is recorded.
    pub fn reset(&self) {
        self.thins.store(false, Ordering::Relaxed);
        self.calm.store(0, Ordering::Relaxed);
        self.changes.store(0, Ordering::Release);
    }

    /// From a moment to come on, windows have another length. Draining thread only.
    pub fn change(&self, change: Change) {
        let changes = self.changes.load(Ordering::Relaxed);
        if let Some(place) = self.places.get(changes % PLACES) {
            place.from.store(change.time.0, Ordering::Relaxed);
            place.window.store(change.window.0, Ordering::Relaxed);
            place.seed.store(change.seed, Ordering::Relaxed);
            place.thins.store(change.thins, Ordering::Relaxed);
        }
        self.changes.store(changes + 1, Ordering::Release);
        self.thins.store(change.thins, Ordering::Relaxed);
    }

    /// True if parks of threads that park often are thinned out: what hooks ask first. The
    /// schedule may begin a moment later.
    #[inline]
    pub fn thins(&self) -> bool {
        self.thins.load(Ordering::Relaxed)
    }

    /// Since when there was no random instant nearby, if there is none at this moment of the coarse
    /// clock; `None` as well where nothing is thinned out.
    #[inline]
    pub fn calm_since(&self, coarse: TimeNs) -> Option<TimeNs> {
        let changes = self.changes.load(Ordering::Acquire);
        let known = Calm::of_word(self.calm.load(Ordering::Relaxed)).begun(changes, coarse);
        known.or_else(|| self.find_calm(changes, coarse))
    }

    fn find_calm(&self, changes: usize, coarse: TimeNs) -> Option<TimeNs> {
        let schedule = self.places.get(changes.checked_sub(1)? % PLACES)?.schedule();
        let (before, behind) = *self.nearness.get_or_init(nearness);
        if !schedule.thins() || !schedule.samples() || coarse < schedule.from() {
            return None;
        }
        let since = schedule.latest(coarse).unwrap_or(schedule.from()) + behind;
        let until = schedule.next(coarse)? - before;
        // Whole units that lie between.
        let (first, end) = ((since.0 >> CALM_BITS) + 1, until.0 >> CALM_BITS);
        let length = end.checked_sub(first)?.min((1 << CALM_LENGTH_BITS) - 1);
        let number = changes as u64 & ((1 << CALM_NUMBER_BITS) - 1);
        let calm = Calm { number, from: first & u64::from(u32::MAX), length };
        let begun = calm.begun(changes, coarse)?;
        self.calm.store(calm.to_word(), Ordering::Relaxed);
        Some(begun)
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

/// From how long before an instant, and up to how long behind it.
fn nearness() -> (DurationNs, DurationNs) {
    let step = clock::coarse_step().0;
    (DurationNs(NEAR_STEPS.0 * step), DurationNs(NEAR_STEPS.1 * step))
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
        Change { time: TimeNs(time), window: DurationNs(window), seed: time, ..Change::default() }
    }

    #[test]
    fn it_is_calm_where_no_instant_is_near_and_only_while_the_schedule_thins() {
        const WINDOW: u64 = 200 * MS;
        let sampling = Sampling::default();
        let (before, behind) = nearness();
        // Far up, where a unit of time does not fit into its bits.
        let begin = (40 << 52) + 12_345;
        let thinned = Change { thins: true, ..change(begin, WINDOW) };
        sampling.change(thinned);
        let schedule = Schedule::new(thinned);
        let (mut calm, mut since_before) = (0, TimeNs(0));
        for n in 0..2_000 {
            let now = TimeNs(begin + WINDOW + n * MS);
            let is_near = schedule.within(now - behind, now + before).next().is_some();
            match sampling.calm_since(now) {
                Some(since) => {
                    assert!(!is_near && since <= now && since >= since_before, "{now:?} {since:?}");
                    assert_eq!(schedule.within(since - behind, now + before).next(), None);
                    (calm, since_before) = (calm + 1, since);
                }
                None => assert!(schedule.within(now - before, now + before + behind).next().is_some(), "{now:?}"),
            }
        }
        assert!(calm > 1_000, "{calm} of 2,000 ms, of which one in twelve is near an instant");
        let at = since_before;
        assert!(sampling.thins() && sampling.calm_since(at).is_some());
        sampling.change(change(at.0 + 20 * MS, WINDOW));
        assert!(!sampling.thins());
        assert_eq!((sampling.calm_since(at), sampling.calm_since(at + DurationNs(30 * MS))), (None, None));
        sampling.change(thinned);
        assert!(sampling.thins());
        sampling.reset();
        assert_eq!((sampling.thins(), sampling.calm_since(at)), (false, None));
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
