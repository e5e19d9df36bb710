//! Contentions and their slices: what a replay hands over.

use super::owners::{Owner, OwnerId, OwnersById};
use crate::aggregate::Range;
use crate::park::{ParkWait, Synchronizer};
use crate::steal::ThreadInterval;
use headway_model::event::SampleState;
use headway_model::{ChainId, DurationNs, LockId, ThreadId, TimeNs};
use serde::Serialize;

/// What a thread was blocked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A monitor (`synchronized`).
    #[default]
    Monitor,
    /// Mutual exclusion of `java.util.concurrent`, whose waiters park.
    Juc,
    /// Waiting for work, a latch, a future: shown apart, never as contention.
    Conditional,
}

impl Kind {
    /// The value of the aspect `kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Monitor => "monitor",
            Kind::Juc => "juc",
            Kind::Conditional => "conditional",
        }
    }
}

/// How it is known who held the lock during a slice, or why it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Basis {
    /// The owner's own exit ended it: thread and chain are exact.
    Exit,
    /// Readers held the lock together, and this one left last: its own exit is
    /// known, how long of the slice it was among them is not.
    LastReader,
    /// The owner was seen to have the lock at both ends. Thread only.
    Held,
    /// The lock's owner was read when the contention began, and nothing recorded
    /// says that it changed. Thread only.
    SeenAtEnter,
    /// The recording names the thread that released the lock last. Thread only.
    PreviousOwner,
    /// Unknown: released, not yet acquired by the next one.
    HandOver,
    /// Unknown: released for the last time, the blocked thread not yet running.
    WakeUp,
    /// Unknown: one thread held it at the beginning, another at the end; the
    /// first one's exit was not recorded.
    ExitMissed,
    /// Unknown: events of this lock are missing here.
    Gap,
    /// Unknown: nothing recorded about the owner.
    NoMark,
}

impl Basis {
    /// True for time between a release and the next thread's running.
    pub const fn is_hand_off(self) -> bool {
        matches!(self, Basis::HandOver | Basis::WakeUp)
    }

    /// True if the slice's owner thread is known.
    pub const fn is_known(self) -> bool {
        matches!(self, Basis::Exit | Basis::LastReader | Basis::Held | Basis::SeenAtEnter | Basis::PreviousOwner)
    }
}

/// A part of a contention during which one thread, or nobody known, had
/// the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it began.
    pub start: TimeNs,
    /// How long it lasted.
    pub duration: DurationNs,
    /// Part of `duration` in which the whole VM was paused.
    pub stop_the_world: DurationNs,
    /// Who had the lock; [`OwnerId::UNKNOWN`] if not known.
    pub owner: OwnerId,
    /// How that is known, or why not.
    pub basis: Basis,
    /// True if the owner may itself have been blocked meanwhile.
    pub owner_blocked: bool,
    /// Slices that it stands for. More than 1 if it was drawn: its owner then had the lock at an instant of it.
    pub stands_for: u16,
}

impl Slice {
    /// Who had the lock.
    pub const fn owner_id(&self) -> OwnerId {
        self.owner
    }

    /// A slice of this owner, no part of which is known to be paused.
    pub(super) fn of(start: TimeNs, duration: DurationNs, owner: OwnerId, basis: Basis) -> Slice {
        let owner_blocked = owner.is_known();
        Slice { start, duration, stop_the_world: DurationNs::ZERO, owner, basis, owner_blocked, stands_for: 1 }
    }

    /// True if it stands for others: what its owner did all the time is not known.
    pub const fn is_drawn(&self) -> bool {
        self.stands_for > 1
    }

    /// Says who had it.
    pub(super) fn give_to(&mut self, owner: OwnerId, basis: Basis) {
        (self.owner, self.basis) = (owner, basis);
    }
}

/// Slices that are the same for all who were blocked on a lock meanwhile: one
/// after the other in a list that the lock has. None of them was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Which list of the lock.
    pub list: List,
    /// Number of the first one in that list.
    pub first: u64,
    /// Those with lower numbers are in no contention to come.
    pub kept_from: u64,
    /// Place of the first one among the contention's slices.
    pub start: usize,
    /// Place behind the last one.
    pub end: usize,
}

/// A list of shared slices: a lock begins a new one where an old one is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub kind: Kind,
    /// How many the lock had before.
    pub before: u32,
    /// Place in the lock's order of the first event that it is made of.
    pub begin: u64,
}

/// Slices that a contention shares, and which they are.
pub(crate) type SharedSlices<'a> = (Shared, &'a [Slice]);

impl<'a> Contention<'a> {
    /// Who had the lock during a slice of it; all `NONE` if that is not known.
    pub fn owner(&self, slice: &Slice) -> Owner {
        self.owners.get(slice.owner)
    }

    /// The slices that it shares, if any, and the others: before and behind them.
    pub(crate) fn split(&self) -> (Option<SharedSlices<'a>>, [&'a [Slice]; 2]) {
        let parts = self.shared.and_then(|shared| {
            let middle = self.slices.get(shared.start..shared.end)?;
            Some(((shared, middle), [self.slices.get(..shared.start)?, self.slices.get(shared.end..)?]))
        });
        match parts {
            Some((middle, others)) => (Some(middle), others),
            None => (None, [self.slices, &[]]),
        }
    }
}

/// One contention of one thread. Its slices lie end to end and add up to it.
#[derive(Clone, Copy, Debug)]
pub struct Contention<'a> {
    /// What the thread was blocked by.
    pub kind: Kind,
    /// When it began.
    pub start: TimeNs,
    /// How long it lasted.
    pub duration: DurationNs,
    /// The blocked thread.
    pub thread: ThreadId,
    /// Its chain.
    pub chain: ChainId,
    /// The lock.
    pub lock: LockId,
    /// True for a re-acquisition after `Object.wait`.
    pub after_wait: bool,
    /// True where the end was not observed and is only a bound.
    pub bound: bool,
    /// True if it had not ended when the recording did.
    pub in_flight: bool,
    /// The slices, in time order.
    pub slices: &'a [Slice],
    /// Which of them it shares with others.
    pub(crate) shared: Option<Shared>,
    /// Who the slices' owners are.
    pub owners: &'a OwnersById,
}

/// Takes in contentions as a replay finds them.
pub trait ContentionSink {
    /// Called once for each contention, when everything about it is known.
    fn contention(&mut self, contention: &Contention<'_>);

    /// Called once for each park that was no lock acquisition. By default
    /// nothing is done with it.
    fn park_wait(&mut self, wait: &ParkWait) {
        let _ = wait;
    }

    /// Called once for each wait that the report counts, `Object.wait` and parks
    /// alike: the part that lies in the range. By default nothing is done with it.
    fn waited(&mut self, wait: &Waited) {
        let _ = wait;
    }

    /// Called once for each sum of contentions or waits that were not recorded one by
    /// one; `owners` says who its owner is. By default nothing is done with it.
    fn summed(&mut self, sum: &Sum, owners: &OwnersById) {
        let _ = (sum, owners);
    }

    /// Called once for each sum of waits that the report counts as waits like `wait`. By default
    /// nothing is done with it.
    fn waited_sum(&mut self, wait: &ParkWait, sum: &Sum) {
        let _ = (wait, sum);
    }

    /// Called once for each sample of a thread that held a lock for which
    /// `contention` was blocked meanwhile. By default nothing is done with it.
    fn owner_sample(&mut self, contention: &Contention<'_>, slice: &Slice, sample: &OwnerSample) {
        let _ = (contention, slice, sample);
    }

    /// Called once for each measured interval of each thread. By default
    /// nothing is done with it.
    fn thread_interval(&mut self, interval: &ThreadInterval) {
        let _ = interval;
    }

    /// Called where the owner of a lock probably had no CPU for so many ns of a span in which it blocked a
    /// thread. An estimate from what was recorded one by one. By default nothing is done with it.
    fn owner_no_cpu(&mut self, lock: LockId, span: (TimeNs, TimeNs), ns: f64) {
        let _ = (lock, span, ns);
    }
}

/// What the owner of a contended lock was doing at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerSample {
    /// The end of the time that it stands for.
    pub time: TimeNs,
    /// How much time that is; 0 if the recording does not say.
    pub weight: DurationNs,
    /// The owner's stack.
    pub chain: ChainId,
    /// Frames at its leaf that lie within the one that held the lock, that one
    /// included; `None` if that frame is not on the stack.
    pub within: Option<u16>,
    /// What the sampler saw.
    pub state: SampleState,
}

/// A wait as the report counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The thread that waited.
    pub thread: ThreadId,
    /// What it waited on; `NONE` if it named nothing.
    pub lock: LockId,
    /// Its call stack.
    pub chain: ChainId,
    /// What it waited for.
    pub synchronizer: Synchronizer,
    /// When it began, or the range does.
    pub start: TimeNs,
    /// When it was over, or the range is.
    pub end: TimeNs,
}

/// Contentions or waits of which a recording has only the sum: they were shorter than the
/// minimum that it was asked for, or no random instant lay in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// What kind of contentions they are.
    pub kind: Kind,
    /// The lock.
    pub lock: LockId,
    /// The blocked thread.
    pub thread: ThreadId,
    /// Its call stack.
    pub chain: ChainId,
    /// When they began, as if they had stood side by side.
    pub start: TimeNs,
    /// When the last of them ended.
    pub time: TimeNs,
    /// How many they are.
    pub count: u64,
    /// Their time together.
    pub total_ns: u64,
    /// How long each was on average; of a share, how long each of the whole was. The longest of them
    /// was no shorter.
    pub mean_ns: u64,
    /// Who had the lock meanwhile; [`OwnerId::UNKNOWN`] if not known.
    pub owner: OwnerId,
    /// How that is known, or why not.
    pub basis: Basis,
    /// True if call stack and owner are estimated: the sum is a share of one whose time
    /// and number are exact.
    pub is_estimated: bool,
    /// True if they are like one that acquired the monitor again after `Object.wait`.
    pub after_wait: bool,
}

impl Sum {
    /// A sum of which nobody knows who had the lock.
    pub fn without_owner(
        kind: Kind,
        (lock, thread, chain): (LockId, ThreadId, ChainId),
        (start, time): (TimeNs, TimeNs),
        count: u64,
        total: DurationNs,
    ) -> Sum {
        Sum {
            kind,
            lock,
            thread,
            chain,
            start,
            time,
            count,
            total_ns: total.0,
            mean_ns: total.0 / count.max(1),
            owner: OwnerId::UNKNOWN,
            basis: Basis::NoMark,
            is_estimated: false,
            after_wait: false,
        }
    }
}

/// What a part of a [`Sum`]'s span has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SumPart {
    /// Time.
    pub ns: u64,
    /// Contentions with time in it.
    pub count: u64,
    /// Those of them that began before it.
    pub going: u64,
}

impl Sum {
    /// The part of them that lies in a range.
    pub(crate) fn within(&self, range: Range) -> Option<Sum> {
        let (from, to) = range.clip(self.start, self.end())?;
        let since = |time: TimeNs| time.since(self.start).0;
        let part = Sum::part(self.total_ns, self.count, since(self.end()), since(from), since(to));
        Some(Sum { start: from, time: to, count: part.count, total_ns: part.ns, ..*self })
    }

    /// Where their span ends: it is never empty.
    pub fn end(&self) -> TimeNs {
        self.time.max(self.start + DurationNs(1))
    }

    /// The part of a span of length `span` that lies between two moments, counted from its begin: as if
    /// all of them had been of the same length and had stood side by side, because a thread is blocked
    /// once at a time. Parts of the span, put together, are the whole.
    pub fn part(total_ns: u64, count: u64, span: u64, from: u64, to: u64) -> SumPart {
        let length = to - from;
        let ns = match () {
            () if total_ns == span => length,
            () if length == span => total_ns,
            () => (total_ns as f64 * length as f64 / span as f64) as u64,
        };
        // The page computes the same, in floating point.
        let edge = |at: u64| match at == span {
            true => count as f64,
            false => count as f64 * at as f64 / span as f64,
        };
        let (first, begun, beyond) = (edge(from).floor(), edge(from).ceil(), edge(to).ceil());
        SumPart { ns, count: (beyond - first) as u64, going: (begun - first) as u64 }
    }
}
