//! What is known of the parks on one blocker.

use headway_model::event::{ParkStatistics, ShortParks};
use headway_model::{ChainId, DurationNs, LockId, ThreadId, TimeNs};
use serde::{Deserialize, Serialize};

/// The parks on one blocker, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockerParks {
    /// The blocker.
    pub blocker: LockId,
    /// Thread whose park reached the collection threshold; `NONE` before.
    pub thread: ThreadId,
    /// Its call chain.
    pub chain: ChainId,
    /// Parks, those before the threshold included.
    pub times_parked: u64,
    /// Threads parked now.
    pub parked_now: u32,
    /// Most threads parked at once, since the threshold.
    pub peak_parked: u32,
    /// Sum of all threads' parked time, since the threshold.
    pub thread_time: DurationNs,
    /// Time in which at least one thread was parked, since the threshold.
    pub real_time: DurationNs,
    /// The first park that was measured.
    pub first_parked: TimeNs,
    /// The last park or return from one that was measured.
    pub last_event: TimeNs,
    /// Time of parks of which only the sum is known: when they were is not known.
    pub summed: DurationNs,
    /// When the first of those began at the latest, and when the last of them ended.
    pub summed_span: Option<(TimeNs, TimeNs)>,
    /// The first thread that parked.
    pub first: ThreadId,
    /// True if others parked, too.
    pub by_several: bool,
    /// When the object was found to be collected.
    pub collected: Option<TimeNs>,
}

impl BlockerParks {
    /// True once the collection threshold was reached.
    pub const fn is_measured(&self) -> bool {
        self.thread.is_some()
    }

    /// Time in which at least one thread was parked; `None` where that is not known: several threads parked,
    /// and of some parks only the sum is known. Parks of one thread do not overlap.
    pub fn known_real_time(&self) -> Option<DurationNs> {
        let overlap_unknown = self.summed > DurationNs::ZERO && self.by_several;
        (!overlap_unknown).then_some(self.real_time + self.summed)
    }

    /// From the first park to the last event on it.
    pub fn life(&self) -> DurationNs {
        let from = self.summed_span.map_or(self.first_parked, |(from, _)| self.first_parked.min(from));
        self.last_alive().since(from)
    }

    /// The last park or return from one, those among them of which only the sum is known.
    fn last_alive(&self) -> TimeNs {
        self.summed_span.map_or(self.last_event, |(_, to)| self.last_event.max(to))
    }

    /// Takes note of who parked.
    fn parked_by(&mut self, thread: ThreadId) {
        if self.first.is_none() {
            self.first = thread;
        }
        self.by_several |= thread != self.first || thread == ThreadId::SOME_VIRTUAL;
    }

    /// A thread parks.
    pub(super) fn park(&mut self, time: TimeNs, thread: ThreadId, chain: ChainId, threshold: u64) {
        self.pass(time);
        self.parked_by(thread);
        self.times_parked += 1;
        self.parked_now += 1;
        if !self.is_measured() && self.times_parked >= threshold {
            self.thread = thread;
            self.chain = chain;
            self.first_parked = time;
            self.last_event = time;
        }
        if self.is_measured() {
            self.first_parked = self.first_parked.min(time);
            self.peak_parked = self.peak_parked.max(self.parked_now);
        }
    }

    /// A parked thread comes back.
    pub(super) fn unpark(&mut self, time: TimeNs) {
        self.pass(time);
        self.parked_now = self.parked_now.saturating_sub(1);
    }

    /// A park of which it becomes known only now that it began at `start`.
    pub(super) fn park_late(&mut self, start: TimeNs, thread: ThreadId, chain: ChainId, threshold: u64) {
        let now = self.last_event.max(start);
        self.park(now, thread, chain, threshold);
        self.thread_time += now.since(start);
        self.first_parked = self.first_parked.min(start);
    }

    /// Parks that were reported together.
    pub(super) fn short_parks(&mut self, e: &ShortParks, threshold: u64) {
        let begun = TimeNs(e.time.0.saturating_sub(e.total.0));
        self.times_parked += e.count;
        if !self.is_measured() && self.times_parked >= threshold {
            self.thread = e.thread;
            self.chain = e.chain;
            self.first_parked = begun;
            // Parks of this time that were recorded one by one may still come.
            self.last_event = if self.parked_now > 0 { e.time } else { TimeNs(0) };
        }
        self.thread_time += e.total;
        self.summed += e.total;
        self.parked_by(e.thread);
        let (from, to) = self.summed_span.unwrap_or((begun, e.time));
        self.summed_span = Some((from.min(begun), to.max(e.time)));
    }

    /// Time goes by until `time`.
    fn pass(&mut self, time: TimeNs) {
        if !self.is_measured() || time <= self.last_event {
            return;
        }
        let length = time.since(self.last_event).0;
        self.thread_time += DurationNs(length.saturating_mul(u64::from(self.parked_now)));
        self.real_time += DurationNs(length * u64::from(self.parked_now.min(1)));
        self.last_event = time;
    }

    /// The state at `time`: parks that go on count until then.
    pub fn at(mut self, time: TimeNs) -> BlockerParks {
        if self.parked_now > 0 {
            self.pass(time);
        }
        self
    }

    /// The same as an event.
    pub fn event(&self, time: TimeNs) -> ParkStatistics {
        ParkStatistics {
            time,
            blocker: self.blocker,
            thread: self.thread,
            chain: self.chain,
            times_parked: self.times_parked,
            parked_now: self.parked_now,
            peak_parked: self.peak_parked,
            thread_time: self.thread_time,
            real_time: self.real_time,
            first_parked: self.first_parked,
            last_alive: self.last_alive(),
        }
    }
}

impl From<&ParkStatistics> for BlockerParks {
    fn from(e: &ParkStatistics) -> BlockerParks {
        BlockerParks {
            blocker: e.blocker,
            thread: e.thread,
            chain: e.chain,
            times_parked: e.times_parked,
            parked_now: e.parked_now,
            peak_parked: e.peak_parked,
            thread_time: e.thread_time,
            real_time: e.real_time,
            first_parked: e.first_parked,
            last_event: e.last_alive,
            ..BlockerParks::default()
        }
    }
}

/// Blockers that a memory bound did not let us keep apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FoldedParks {
    /// How many.
    pub blockers: u64,
    /// Parks on them.
    pub times_parked: u64,
    /// Parked time of all threads on them.
    pub thread_time_ns: u64,
}
