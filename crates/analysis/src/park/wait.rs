//! Conditional waiting by parking, and who ended it.

use super::Synchronizer;
use headway_model::event::ParkOutcome;
use headway_model::{ChainId, LockId, ThreadId, TimeNs};

/// A park that was no lock acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParkWait {
    /// The thread that waited.
    pub thread: ThreadId,
    /// Its chain.
    pub chain: ChainId,
    /// What it parked on; `NONE` if it named nothing.
    pub blocker: LockId,
    /// What it waited for.
    pub synchronizer: Synchronizer,
    /// When it began.
    pub start: TimeNs,
    /// When the thread came back; the end of the recording if it did not.
    pub end: TimeNs,
    /// It ends at some time, whoever unparks the thread.
    pub has_limit: bool,
    /// How it ended; `None` if it did not.
    pub outcome: Option<ParkOutcome>,
    /// A thread that gave up its own wait, and left the queue, woke this one: nobody gave it what it waited for.
    pub woken_for_nothing: bool,
    /// Who ended it; all `NONE` if nobody did or it is not known. A thread that
    /// passed a wake-up on from within its own wait did not: then it is `root`.
    pub waker: Waker,
    /// The first of those who passed the wake-up on to each other: the last
    /// one to arrive at a barrier, where `waker` may be a thread that was
    /// itself woken by it.
    pub root: Waker,
}

impl ParkWait {
    /// True if nobody gave the thread what it waited for: it reached its limit, had not come back when the recording
    /// ended, or was woken for nothing.
    pub fn is_unanswered(&self) -> bool {
        self.woken_for_nothing || matches!(self.outcome, None | Some(ParkOutcome::TimedOut))
    }
}

/// A thread that ended another's wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waker {
    /// The thread.
    pub thread: ThreadId,
    /// Its chain.
    pub chain: ChainId,
    /// When it unparked the waiter.
    pub time: TimeNs,
    /// Place of that unpark in the order of all parks and unparks; 0 if unknown.
    pub seq: u64,
}
