//! What the environment took: time in which threads were ready and did not
//! run, and the transactions that paid for it.

use crate::id::ThreadId;
use crate::time::{DurationNs, TimeNs};
use std::sync::Arc;

/// Whether the CPU times that this kernel gives for threads contain the time
/// in which the hypervisor ran something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum StealAccounting {
    /// Unknown.
    #[default]
    Unknown,
    /// Thread times leave steal out already: subtracting it again would
    /// count it twice.
    LeftOut,
    /// Thread times contain steal.
    Included,
}

impl StealAccounting {
    /// Every value, by its number in recordings.
    pub const ALL: [StealAccounting; 3] =
        [StealAccounting::Unknown, StealAccounting::LeftOut, StealAccounting::Included];

    /// The stable name, `left out`.
    pub const fn name(self) -> &'static str {
        match self {
            StealAccounting::Unknown => "unknown",
            StealAccounting::LeftOut => "left out",
            StealAccounting::Included => "included",
        }
    }
}

/// See [`Event::MachineTime`](crate::Event::MachineTime).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MachineTime {
    /// When the interval began.
    pub start: TimeNs,
    /// How long it is.
    pub duration: DurationNs,
    /// Number of the CPU; `None` for all of them together.
    pub cpu: Option<u16>,
    /// Time spent running something, steal left out.
    pub busy: DurationNs,
    /// Time in which the hypervisor ran something else although something here
    /// was ready.
    pub stolen: DurationNs,
    /// Time with nothing to run.
    pub idle: DurationNs,
    /// What the kernel does with steal in thread times.
    pub accounting: StealAccounting,
}

/// See [`Event::ThreadTime`](crate::Event::ThreadTime).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ThreadTime {
    /// When the interval began.
    pub start: TimeNs,
    /// How long it is.
    pub duration: DurationNs,
    /// The thread; `NONE` for the whole process, whatever its threads are.
    pub thread: ThreadId,
    /// CPU time as the kernel gives it.
    pub cpu: DurationNs,
    /// Time runnable but waiting for a CPU that ended in the
    /// interval; `None` where the kernel does not say, and for the process.
    pub run_queue: Option<DurationNs>,
}

/// See [`Event::Throttling`](crate::Event::Throttling).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Throttling {
    /// When the interval began.
    pub start: TimeNs,
    /// How long it is.
    pub duration: DurationNs,
    /// Time for which the quota held threads back, all CPUs added up.
    pub throttled: DurationNs,
    /// Quota periods that began.
    pub periods: u64,
    /// How many of them the quota cut short.
    pub throttled_periods: u64,
    /// CPU time allowed in a period; zero if there is no limit.
    pub quota: DurationNs,
    /// Length of a period.
    pub period: DurationNs,
    /// CPU time of the whole control group; zero where unknown.
    pub used: DurationNs,
}

/// See [`Event::TransactionPoint`](crate::Event::TransactionPoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TransactionPoint {
    /// When.
    pub time: TimeNs,
    /// The thread, platform or virtual.
    pub thread: ThreadId,
    /// Number of the transaction.
    pub id: u64,
    /// Number of its kind; 0 at its end.
    pub kind: u32,
    /// CPU time of the thread so far; `None` for a virtual thread.
    pub cpu: Option<DurationNs>,
    /// True for the end, false for the begin.
    pub is_end: bool,
}

/// See [`Event::Transaction`](crate::Event::Transaction).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Transaction {
    /// When it ended, or was last seen; the end of the last one of several.
    pub time: TimeNs,
    /// When it began; with several, `time` minus the length of each.
    pub start: TimeNs,
    /// The thread on which it began; `NONE` for several.
    pub thread: ThreadId,
    /// What the application calls it.
    pub kind: Arc<str>,
    /// How many are recorded together: 1, or transactions of like length that were
    /// too many to be recorded one by one.
    pub count: u64,
    /// Number of this one, unique in the recording; 0 for several.
    pub id: u64,
    /// Number of the transaction around it; 0 if there is none.
    pub parent: u64,
    /// CPU time; `None` where it is not known (virtual threads, an end on
    /// another thread). With several, of all together, as are all that follow.
    pub cpu: Option<DurationNs>,
    /// Time blocked acquiring monitors and locks of `java.util.concurrent`.
    pub blocked: DurationNs,
    /// Time parked for anything else.
    pub parked: DurationNs,
    /// Time in `Object.wait`.
    pub waited: DurationNs,
    /// True if its end was never seen.
    pub forgotten: bool,
}

impl Transaction {
    /// How long it took, or each of several took.
    pub fn duration(&self) -> DurationNs {
        self.time.since(self.start)
    }
}
