//! The rows. A row belongs to the JVM of its [`Rolled`]; where rows are kept, the JVM's id,
//! service and version stand in each.

use crate::histogram::Histogram;
use crate::minute::Minute;
use headway_jfr::ClockJump;

/// What a recording comes to. Rows of each kind are in order and no two have the same key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rolled {
    /// Whose it is.
    pub jvm: Jvm,
    /// Locks and what is waited for that rows mention.
    pub sites: Vec<Site>,
    /// Call stacks, likewise.
    pub stacks: Vec<Stack>,
    /// Contentions.
    pub locks: Vec<LockMinute>,
    /// Waits.
    pub waits: Vec<WaitMinute>,
    /// Load: a row for every minute that the recording covers, whatever happened in it.
    pub load: Vec<LoadMinute>,
    /// Phases of high critical section pressure.
    pub phases: Vec<Phase>,
    /// CPU samples.
    pub cpu: Vec<CpuMinute>,
    /// Where the wall clock was set while the recording was made.
    pub clock_jumps: Vec<ClockJump>,
    /// Where the recording is kept: a path on the host; `None` if it is not kept.
    pub recording: Option<String>,
    /// How often a bound was reached: totals are right, stacks or locks are missing.
    pub folded: u64,
    /// What of the recording could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// A JVM: one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jvm {
    /// See [`crate::identity::jvm`].
    pub id: i64,
    /// The machine, container or pod.
    pub host: String,
    /// What it is an instance of.
    pub service: String,
    /// Which version of that.
    pub version: String,
    /// `production`, `staging`; empty if nobody said.
    pub environment: String,
    /// `name=value`, sorted.
    pub labels: Vec<String>,
    /// `21.0.4+7`.
    pub jdk: String,
    /// Process id.
    pub pid: u32,
    /// CPUs of the machine; `None` if nobody said.
    pub cpus: Option<u32>,
    /// When the process started; when the recording did, if that is not known.
    pub started_ns: u64,
    /// First moment that the rows cover, nanoseconds since the Unix epoch.
    pub start_ns: u64,
    /// Their last moment.
    pub end_ns: u64,
}

/// A lock, or what is waited for, by name: all objects that a developer calls the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// See [`crate::identity::site`].
    pub id: i64,
    /// Class of the object.
    pub class: String,
    /// `Inventory.lock`; of a class that serves as lock of anything, where it was acquired:
    /// `at com.acme.Inventory.find`; empty where nothing but the class is known.
    pub member: String,
    /// `monitor`, `juc`; of waits `conditional`.
    pub kind: String,
}

/// A call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// See [`crate::identity::stack`].
    pub id: i64,
    /// Methods, leaf first, without lines.
    pub frames: Vec<String>,
}

/// Contentions on a site in a minute, by both stacks. Times lie in the minute; `contentions`,
/// `max_ns` and `histogram` are of whole contentions that began in it, in the row of the
/// owner that blocked them longest there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockMinute {
    /// The minute.
    pub minute: Minute,
    /// The lock.
    pub site: i64,
    /// `monitor` or `juc`.
    pub kind: &'static str,
    /// The blocked threads' stack; `None` if not known.
    pub waiter_stack: Option<i64>,
    /// The owner's, from the frame on that owned the lock; `None` if not known.
    pub owner_stack: Option<i64>,
    /// True if virtual threads were blocked.
    pub is_virtual: bool,
    /// Contentions.
    pub contentions: u64,
    /// Blocked time, the following three included.
    pub blocked_ns: u64,
    /// Hand-off: the lock was free and the next thread had not run yet.
    pub handoff_ns: u64,
    /// The owner is unknown.
    pub unknown_ns: u64,
    /// The VM was paused, whoever owned the lock.
    pub pause_ns: u64,
    /// The longest contention.
    pub max_ns: u64,
    /// How long contentions were. Those that the recording has as a sum count with their mean.
    pub histogram: Histogram,
}

/// Waits in a minute; counts as in [`LockMinute`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitMinute {
    /// The minute.
    pub minute: Minute,
    /// What was waited for.
    pub site: i64,
    /// What kind of thing that is: `Object.wait`, `a permit`, ...
    pub synchronizer: &'static str,
    /// The waiters' stack; `None` if not known.
    pub stack: Option<i64>,
    /// True if virtual threads waited.
    pub is_virtual: bool,
    /// Waits.
    pub waits: u64,
    /// Time waited.
    pub waited_ns: u64,
    /// The longest wait.
    pub max_ns: u64,
    /// How long waits were.
    pub histogram: Histogram,
}

/// A JVM's minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadMinute {
    /// The minute.
    pub minute: Minute,
    /// How much of it the recording covers.
    pub covered_ns: u64,
    /// Running time of the application's platform threads: their life without waits. 0 if the
    /// recording, another tool's, does not say when threads lived.
    pub running_ns: u64,
    /// CPU time of the process; `None` if not recorded.
    pub cpu_ns: Option<u64>,
    /// Steal time of the process, an estimate; `None` if not recorded.
    pub steal_ns: Option<u64>,
    /// Transactions that ended.
    pub operations: u64,
    /// What is missing: dropped events and all other losses.
    pub dropped: u64,
}

/// Consecutive intervals in which a lock's critical section pressure was high.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// When it began, nanoseconds since the Unix epoch.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The lock.
    pub site: i64,
    /// Acquiring time over running time.
    pub mean: f64,
    /// The same in the worst interval.
    pub peak: f64,
    /// Time that threads spent acquiring the lock.
    pub acquiring_ns: u64,
    /// The stack that spent most time acquiring it; `None` if not known.
    pub waiter_stack: Option<i64>,
    /// The stack that owned it for most of that time; `None` if not known.
    pub owner_stack: Option<i64>,
}

/// CPU samples in a minute, by stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMinute {
    /// The minute.
    pub minute: Minute,
    /// The stack; `None` if not known.
    pub stack: Option<i64>,
    /// `java` or `native`.
    pub state: &'static str,
    /// Samples.
    pub samples: u64,
    /// Time that they stand for; 0 where the recording does not say.
    pub cpu_ns: u64,
}
