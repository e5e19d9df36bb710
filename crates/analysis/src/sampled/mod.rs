//! `sampled`: recordings in which only those contentions and waits stand one by one that
//! a random instant lies in.
//!
//! Of the others a recording has the exact number and time for each thread and lock. By
//! whom, where and behind which owner they were spent is estimated: each contention that
//! was recorded by chance stands for those like it that were not, in proportion to its
//! time and to how improbable it was (Horvitz and Thompson 1952), and the exact sums are
//! shared out in these proportions. Totals are therefore exact, and shares are ratio
//! estimates. Where parks are thinned out (`Schedule::thins`), the agent has estimated their sums already.
//!
//! Sums are shared out once a second, among what was seen of the same lock; where nothing
//! was, among what was seen of locks of the same class; and where nothing was either,
//! later. Parks without an object are alike if they are of the same thread, now or before; those
//! of virtual threads are one sum, and so are alike. What is left at the end has no call stack
//! and no owner. How far shares may be off is in [`draws`].

mod draws;
mod schedules;
mod share_out;

pub(crate) use draws::{Draw, Drawn, Draws, PartOf, Strata, Within};
pub(crate) use schedules::Schedules;

use crate::monitor::{Basis, Contention, Kind, OwnerId, Sum};
use crate::park::{ParkWait, Synchronizer};
use headway_model::event::Sampling;
use headway_model::schedule::Schedule;
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use serde::Serialize;
use share_out::share_out;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a report came by what it says of contentions and waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SamplingReport {
    /// Contentions and waits that were recorded because a random instant lies in them.
    pub recorded: u64,
    /// Contentions and waits of which only number and time were recorded.
    pub added_up: u64,
    /// Their time.
    pub added_up_ns: u64,
    /// The part of it for which nothing recorded says where it was spent.
    pub unknown_ns: u64,
    /// Random instants at which somebody was blocked or waited.
    pub instants: u64,
    /// From when on windows had which length, in nanoseconds since the recording began:
    /// one random instant lies in each window. A length of 0: everything was recorded.
    pub windows: Vec<SamplingWindow>,
}

/// See [`SamplingReport::windows`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SamplingWindow {
    /// When the first window of this length began, since the recording began.
    pub from_ns: u64,
    /// Length of a window; 0 if everything was recorded.
    pub window_ns: u64,
    /// The option that decided it: `budget`, `max-rate` or `sampling-window`.
    pub bound: &'static str,
    /// True if parks of threads that park often were counted near random instants only: number and
    /// time of the parks of these threads are estimates then.
    pub thins: bool,
}

/// So many instants are remembered: those of some seconds, by which what ended comes in order.
const RECENT: usize = 4_096;

/// Classes of which it is remembered how threads waited last, and waits of each.
const WAITED: (usize, usize) = (4_096, 16);

/// Counts windows once each, though what was seen at their instants comes only nearly in order.
#[derive(Debug, Default)]
struct Instants {
    count: u64,
    recent: BTreeSet<u64>,
}

impl Instants {
    fn add(&mut self, window: u64) {
        // One that is long past was counted in its time.
        let is_past = self.recent.len() >= RECENT && self.recent.first().is_some_and(|first| window < *first);
        if is_past || !self.recent.insert(window) {
            return;
        }
        self.count += 1;
        if self.recent.len() > RECENT {
            self.recent.pop_first();
        }
    }
}

/// What was recorded by chance: a part of a contention with one owner, or a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    kind: Kind,
    thread: ThreadId,
    chain: ChainId,
    owner: OwnerId,
    basis: Basis,
    after_wait: bool,
    /// Time not recorded one by one that it stands for, in ns.
    weight: f64,
    /// The wait, if it was one.
    wait: Option<ParkWait>,
    drawn: Drawn,
}

/// A share of a sum, and the wait that it is like if it was one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Where it was spent, estimated.
    pub sum: Sum,
    /// A wait like those of which the sum is.
    pub wait: Option<ParkWait>,
    /// The instants at which that was seen.
    pub drawn: Drawn,
}

/// How a thread was blocked or waited: each is added up apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum How {
    Parked,
    Blocked,
    Waited,
}

impl How {
    fn of(kind: Kind) -> How {
        match kind {
            Kind::Monitor => How::Blocked,
            Kind::Juc | Kind::Conditional => How::Parked,
        }
    }
}

/// What sums are distinguished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    how: How,
    lock: LockId,
    /// Of parks without an object, the thread: nothing else says that two of them are alike. The sums of
    /// virtual threads are one.
    of: ThreadId,
}

impl Key {
    /// `is_virtual` is asked only where that matters.
    fn new(how: How, lock: LockId, thread: ThreadId, is_virtual: impl Fn(ThreadId) -> bool) -> Key {
        let of = match () {
            () if !lock.is_none() => ThreadId::NONE,
            () if is_virtual(thread) => ThreadId::SOME_VIRTUAL,
            () => thread,
        };
        Key { how, lock, of }
    }

    /// True for parks of virtual threads without an object, which no platform thread's parks are like.
    fn is_of_virtual(&self) -> bool {
        self.of == ThreadId::SOME_VIRTUAL
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    schedules: Schedules,
    /// What was added up since it was shared out last. In the order of locks, so that the
    /// same recording gives the same report.
    sums: BTreeMap<Key, Vec<Sum>>,
    /// What could not be shared out so far.
    left: BTreeMap<Key, Vec<Sum>>,
    seen: FxHashMap<Key, Vec<Seen>>,
    /// What was seen last of waits by `Object.wait`, by class.
    waited: FxHashMap<Arc<str>, Vec<Seen>>,
    /// The same of parks without an object, by thread.
    parked: FxHashMap<ThreadId, Vec<Seen>>,
    waiting: usize,
    seen_now: usize,
    bound: usize,
    report: SamplingReport,
    instants: Instants,
    /// When the latest contention of all sums so far ended.
    latest_sum: TimeNs,
    /// The same of those that were shared out: the agent takes the sums of all threads at once, so
    /// that what is in later ones began after it.
    since: TimeNs,
}

impl Sampled {
    /// Keeps so many sums at most until they are shared out.
    pub fn new(bound: usize) -> Sampled {
        Sampled { bound, ..Sampled::default() }
    }

    /// Windows have another length from now on.
    pub fn changes(&mut self, sampling: Sampling) {
        self.schedules.add(sampling);
    }

    /// True if anything is or was sampled.
    pub fn is_used(&self) -> bool {
        self.schedules.any_samples()
    }

    /// Keeps a sum of contentions or parks of a thread that was `born` then, until it is known where it
    /// was spent; gives it back if there is no room, or nothing is sampled.
    pub fn keep(&mut self, sum: Sum, born: TimeNs) -> Option<Sum> {
        self.keep_as(How::of(sum.kind), sum, born)
    }

    /// The same of waits by `Object.wait`. What there is no room for has no place.
    pub fn keep_waits(&mut self, sum: Sum, born: TimeNs) {
        self.keep_as(How::Waited, sum, born);
    }

    fn keep_as(&mut self, how: How, mut sum: Sum, born: TimeNs) -> Option<Sum> {
        if !self.is_used() || sum.chain.is_some() || sum.count == 0 {
            return Some(sum);
        }
        self.report.added_up += sum.count;
        self.report.added_up_ns += sum.total_ns;
        if self.waiting >= self.bound {
            self.report.unknown_ns += sum.total_ns;
            return Some(sum);
        }
        self.waiting += 1;
        // Its contentions lie anywhere since those were shared out that came before, and not one behind
        // the other at the end.
        let sampling = self.schedules.all().first().map_or(TimeNs(0), Schedule::from);
        sum.start = self.since.max(sampling).max(born).min(sum.time);
        self.latest_sum = self.latest_sum.max(sum.time);
        let key = Key::new(how, sum.lock, sum.thread, |thread| thread == ThreadId::SOME_VIRTUAL);
        self.sums.entry(key).or_default().push(sum);
        None
    }

    /// Takes note of a contention that is over; `is_virtual` says which threads are virtual.
    pub fn contention(&mut self, contention: &Contention<'_>, is_virtual: impl Fn(ThreadId) -> bool) {
        let end = contention.start + contention.duration;
        if contention.in_flight {
            return;
        }
        let Some((more, schedule, itself)) = self.stands_for(contention.start, end) else { return };
        let key = Key::new(How::of(contention.kind), contention.lock, contention.thread, is_virtual);
        for slice in contention.slices {
            let seen = Seen {
                kind: contention.kind,
                thread: contention.thread,
                chain: contention.chain,
                owner: slice.owner_id(),
                basis: slice.basis,
                after_wait: contention.after_wait,
                weight: more * slice.duration.0 as f64,
                wait: None,
                drawn: Drawn { itself, owner: Draw::last(&schedule, slice.start + slice.duration), any_thread: false },
            };
            self.see(key, seen);
        }
    }

    /// Takes note of a wait that is over; `is_virtual` says which threads are virtual.
    pub fn wait(&mut self, wait: &ParkWait, is_virtual: impl Fn(ThreadId) -> bool) {
        let stands_for = self.stands_for(wait.start, wait.end).filter(|_| wait.outcome.is_some());
        let Some((more, _, itself)) = stands_for else { return };
        let how = if wait.synchronizer == Synchronizer::Monitor { How::Waited } else { How::Parked };
        let key = Key::new(how, wait.blocker, wait.thread, is_virtual);
        let seen = Seen {
            kind: Kind::Conditional,
            thread: wait.thread,
            chain: wait.chain,
            owner: OwnerId::UNKNOWN,
            basis: Basis::NoMark,
            after_wait: false,
            weight: more * wait.end.since(wait.start).0 as f64,
            wait: Some(*wait),
            drawn: Drawn { itself, owner: itself, any_thread: false },
        };
        self.see(key, seen);
    }

    /// Keeps what was seen, if there is room.
    fn see(&mut self, key: Key, seen: Seen) {
        if self.seen_now < self.bound {
            self.seen_now += 1;
            self.seen.entry(key).or_default().push(seen);
        }
    }

    /// How many more of the same, in time, something recorded by chance stands for, and
    /// when it was seen; `None` if it would have been recorded in any case.
    fn stands_for(&mut self, start: TimeNs, end: TimeNs) -> Option<(f64, Schedule, Draw)> {
        let schedule = *self.schedules.chose(start, end)?;
        let chance = schedule.chance(start, end);
        self.report.recorded += 1;
        for instant in schedule.within(start, end) {
            self.instants.add(Draw::certain(&schedule, instant).window());
        }
        self.report.instants = self.instants.count;
        let more = 1.0 / chance.max(f64::MIN_POSITIVE) - 1.0;
        Some((more, schedule, Draw::by_chance(&schedule, end, chance)))
    }

    /// The schedule at whose instants it is known who had the lock during a contention.
    pub fn owners_drawn_by(&self, contention: &Contention<'_>) -> Option<&Schedule> {
        self.schedules.sampling(contention.start, contention.start + contention.duration)
    }

    /// Shares out what can be of what ended up to `watermark`. `class` says of which class a lock is,
    /// `died` when a thread ended.
    pub fn share_out(
        &mut self,
        watermark: TimeNs,
        died: impl Fn(ThreadId) -> TimeNs,
        class: impl Fn(LockId) -> Arc<str>,
    ) -> Vec<Share> {
        self.since = self.latest_sum.max(watermark);
        self.contention_new(died);
        self.remember_waits(&class);
        self.remember_parks();
        let mut shares = Vec::new();
        let mut left: BTreeMap<Key, Vec<Sum>> = BTreeMap::new();
        for (key, sums) in std::mem::take(&mut self.left) {
            let before = self.parked.get_mut(&key.of).filter(|_| key.how == How::Parked && key.lock.is_none());
            match self.seen.get_mut(&key).or(before) {
                Some(seen) => share_out(sums, seen, &mut shares),
                None => drop(left.insert(key, together(sums))),
            }
        }
        if !left.is_empty() && !self.seen.is_empty() {
            left = self.share_out_by_class(left, class, &mut shares);
        }
        self.waiting = left.values().map(Vec::len).sum();
        self.left = left;
        self.seen.clear();
        self.seen_now = 0;
        shares
    }

    /// New sums cover all the time since those before. A thread with many locks sends some of its sums early.
    /// If each ended with its last contention, the sums would pile up where they begin: there, more threads
    /// would be blocked than are alive.
    fn contention_new(&mut self, died: impl Fn(ThreadId) -> TimeNs) {
        for (key, mut sums) in std::mem::take(&mut self.sums) {
            sums.iter_mut().for_each(|sum| sum.time = self.since.min(died(sum.thread)).max(sum.time));
            self.left.entry(key).or_default().extend(sums);
        }
    }

    /// Sums of locks of which nothing was seen: as those of the same class.
    fn share_out_by_class(
        &self,
        left: BTreeMap<Key, Vec<Sum>>,
        class: impl Fn(LockId) -> Arc<str>,
        shares: &mut Vec<Share>,
    ) -> BTreeMap<Key, Vec<Sum>> {
        let mut of_class: FxHashMap<(How, bool, Arc<str>), Vec<Seen>> = FxHashMap::default();
        let mut seen: Vec<_> = self.seen.iter().collect();
        seen.sort_by_key(|(key, _)| **key);
        for (key, seen) in seen {
            of_class.entry((key.how, key.is_of_virtual(), class(key.lock))).or_default().extend(seen);
        }
        let mut sums: BTreeMap<(How, bool, Arc<str>), Vec<Sum>> = BTreeMap::new();
        let mut unmatched = BTreeMap::new();
        for (key, all) in left {
            let name = (key.how, key.is_of_virtual(), class(key.lock));
            match of_class.contains_key(&name) {
                true => sums.entry(name).or_default().extend(all),
                false => drop(unmatched.insert(key, all)),
            }
        }
        for (name, sums) in sums {
            if let Some(seen) = of_class.get_mut(&name) {
                share_out(sums, seen, shares);
            }
        }
        unmatched
    }

    /// What was seen of each lock, or now of another one of its class, takes the place of what was seen before.
    fn remember_waits(&mut self, class: impl Fn(LockId) -> Arc<str>) {
        let mut seen: Vec<_> = self.seen.iter().filter(|(key, _)| key.how == How::Waited).collect();
        seen.sort_by_key(|(key, _)| **key);
        for (key, seen) in seen {
            let name = class(key.lock);
            if self.waited.len() < WAITED.0 || self.waited.contains_key(&name) {
                self.waited.insert(name, seen.iter().rev().take(WAITED.1).copied().collect());
            }
        }
    }

    /// What was seen of a thread's parks without an object takes the place of what was seen before. Where there are too
    /// many threads, most may have ended: all are forgotten.
    fn remember_parks(&mut self) {
        if self.parked.len() >= WAITED.0 {
            self.parked.clear();
        }
        let mut seen: Vec<_> =
            self.seen.iter().filter(|(key, _)| key.how == How::Parked && key.lock.is_none()).collect();
        seen.sort_by_key(|(key, _)| **key);
        for (key, seen) in seen {
            if self.parked.len() < WAITED.0 || self.parked.contains_key(&key.of) {
                self.parked.insert(key.of, seen.iter().rev().take(WAITED.1).copied().collect());
            }
        }
    }

    /// At the end: waits by `Object.wait` of which nothing more was seen were like those of their class before. Others
    /// would have no place, so that their number would be missing.
    pub fn share_out_as_before(&mut self, class: impl Fn(LockId) -> Arc<str>) -> Vec<Share> {
        let (mut shares, mut others) = (Vec::new(), BTreeMap::new());
        for (key, sums) in std::mem::take(&mut self.left) {
            match self.waited.get_mut(&class(key.lock)).filter(|_| key.how == How::Waited) {
                Some(seen) => share_out(sums, seen, &mut shares),
                None => drop(others.insert(key, sums)),
            }
        }
        self.left = others;
        shares
    }

    /// What could not be shared out, at the end.
    pub fn rest(&mut self) -> Vec<Sum> {
        self.waiting = 0;
        let (left, new) = (std::mem::take(&mut self.left), std::mem::take(&mut self.sums));
        let rest: Vec<(Key, Sum)> =
            left.into_iter().chain(new).flat_map(|(key, sums)| sums.into_iter().map(move |sum| (key, sum))).collect();
        self.report.unknown_ns += rest.iter().map(|(_, sum)| sum.total_ns).sum::<u64>();
        // Waits by Object.wait have no place without a call stack.
        rest.into_iter().filter(|(key, _)| key.how != How::Waited).map(|(_, sum)| sum).collect()
    }

    /// What there is to say of it; `None` if everything was recorded. Times are since `start`.
    pub fn report(&self, start: TimeNs) -> Option<SamplingReport> {
        let window = |schedule: &Schedule| SamplingWindow {
            from_ns: schedule.from().since(start).0,
            window_ns: schedule.window().0,
            bound: schedule.bound().name(),
            thins: schedule.thins(),
        };
        let windows = self.schedules.all().iter().map(window);
        self.is_used().then(|| SamplingReport { windows: windows.collect(), ..self.report.clone() })
    }
}

/// Sums of the same thread as one: they may wait for long.
fn together(mut sums: Vec<Sum>) -> Vec<Sum> {
    sums.sort_by_key(|sum| (sum.thread, sum.kind));
    sums.dedup_by(|later, sum| {
        let is_same = (later.thread, later.kind) == (sum.thread, sum.kind);
        if is_same {
            (sum.start, sum.time) = (sum.start.min(later.start), sum.time.max(later.time));
            sum.count += later.count;
            sum.total_ns += later.total_ns;
            sum.mean_ns = sum.total_ns / sum.count.max(1);
        }
        is_same
    });
    sums
}

#[cfg(test)]
mod tests;
