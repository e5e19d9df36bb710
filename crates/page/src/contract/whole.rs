//! What only an analysis of the whole recording can say; it follows neither the
//! page's range nor its filter.

use super::Aspect;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use ts_rs::TS;

/// What the analyses of the whole recording say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Whole {
    /// Critical section pressure.
    pub pressure: Pressure,
    /// Park statistics.
    pub parks: ParkStatistics,
    /// What the environment took; `None` if the recording does not say.
    pub steal: Option<Steal>,
    /// How far blocked time by owner and call stack may be off.
    #[serde(default)]
    pub estimates: Box<Estimates>,
}

/// Rows of the breakdown of blocked time by `by`, those with most time, of a recording that samples
/// contentions; none where everything is exact. A row comes after the one that it is a part of.
/// Columns have one entry per row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Estimates {
    /// What the levels are values of.
    pub by: Vec<Aspect>,
    /// The row that it is a part of; -1 on the first level.
    pub parent: Vec<i32>,
    /// Value of the level's aspect.
    pub value: Vec<u32>,
    /// Blocked time without pauses of the VM.
    pub total: Vec<u64>,
    /// Lower end of its interval of 95 %.
    pub low: Vec<u64>,
    /// Its upper end.
    pub high: Vec<u64>,
    /// Random instants at which it was seen; 0 where the time is exact.
    pub instants: Vec<u64>,
    /// Rows with less time than these.
    pub left_out: u64,
}

/// Critical section pressure: time spent acquiring a lock over the running time
/// of all threads, interval by interval. Fractions, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Pressure {
    /// Length of an interval.
    pub interval_ns: u64,
    /// Pressure from which on an interval belongs to a phase.
    pub threshold: f64,
    /// Where each interval begins, and the pressure of all locks together.
    pub windows: Vec<(u64, f64)>,
    /// Running time in each interval: what the mean of several intervals weighs them by.
    #[serde(default)]
    pub running: Vec<u64>,
    /// Locks, highest mean first.
    pub locks: Vec<LockPressure>,
}

/// Pressure of one lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct LockPressure {
    /// The lock.
    pub lock: u32,
    /// Of the whole recording.
    pub mean: f64,
    /// Of the worst interval.
    pub peak: f64,
    /// Intervals in which it was acquired with blocking: where each begins, and
    /// the pressure.
    pub windows: Vec<(u64, f64)>,
    /// Consecutive intervals above the threshold.
    pub phases: Vec<Phase>,
}

/// A phase of contention.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Phase {
    /// When its first interval begins.
    pub from: u64,
    /// When its last interval ends.
    pub to: u64,
    /// Pressure over all of it.
    pub mean: f64,
    /// Pressure of the worst interval.
    pub peak: f64,
    /// The method that spent most time acquiring the lock; empty if unknown.
    pub acquiring: String,
    /// The method that held it for most of that time; empty if unknown.
    pub owner: String,
}

/// Park statistics: how much threads parked on each blocker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ParkStatistics {
    /// How long parks were watched: what utilisations are parts of.
    pub execution_ns: u64,
    /// The blockers, most parked thread time first.
    pub blockers: Vec<Blocker>,
    /// Blockers beyond those.
    pub left_out: u64,
}

/// The parks on one blocker object. Utilisations are fractions of a time: 1 is
/// one thread parked all the time, 63 are 63.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// The blocker.
    pub lock: u32,
    /// Its identity hash code, in hexadecimal; `0` if unknown.
    pub hash: String,
    /// The thread that was seen first to park on it.
    pub thread: u32,
    /// Its call chain then.
    pub chain: u32,
    /// True if this is the call stack of a worker that waits for work in its pool.
    pub idle: bool,
    /// How often threads parked on it.
    pub times: u64,
    /// How many are parked at the recording's end.
    pub now: u32,
    /// How many were parked at once at most.
    pub peak: u32,
    /// Parked time of all threads added up.
    pub thread_time: u64,
    /// Time in which at least one thread was parked; `None` if that is not known, as it is of parks of
    /// several threads of which some are only known as a sum.
    pub real_time: Option<u64>,
    /// Thread time over times.
    pub average_park: u64,
    /// Real time over the parks that ended.
    pub average_hold: Option<u64>,
    /// Real time over the execution time.
    pub real_use: Option<f64>,
    /// Thread time over the execution time.
    pub thread_use: f64,
    /// Real time over the time from the first to the last event on it.
    pub real_life_use: Option<f64>,
    /// Thread time over the time from the first to the last event on it.
    pub thread_life_use: f64,
}

/// What the environment took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Steal {
    /// `left out`, `included` or `unknown`: whether this kernel's thread times
    /// contain steal. Only where they do is it subtracted.
    pub accounting: String,
    /// Intervals measured.
    pub intervals: u64,
    /// Time covered by them.
    pub covered_ns: u64,
    /// Intervals whose steal was divided CPU by CPU.
    pub refined_intervals: u64,
    /// False if the kernel does not say how long threads wait for a CPU.
    pub run_queue_known: bool,
    /// The machine, all processes together.
    pub machine: Machine,
    /// The container's quota, if there is one.
    pub quota: Option<Quota>,
    /// The process: all its threads, those without a name included.
    pub process: Ready,
    /// The same in the course of time.
    pub windows: Vec<StealWindow>,
    /// Kinds of transactions, longest in all first.
    pub transactions: Vec<Transactions>,
    /// Length of the intervals of `lock_names`.
    pub lock_interval_ns: u64,
    /// Locks whose owners had no CPU, by name, most such time first.
    pub lock_names: Vec<NameHeldOff>,
}

/// Some measured intervals that follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StealWindow {
    /// When it begins.
    pub from: u64,
    /// When it ends.
    pub to: u64,
    /// How many intervals.
    pub intervals: u64,
    /// Those whose steal was divided CPU by CPU.
    pub refined: u64,
    /// The machine, all processes together.
    pub machine: Machine,
    /// Periods of the quota.
    pub periods: u64,
    /// How many of them were cut short.
    pub throttled_periods: u64,
    /// For how long the quota held the process back, all CPUs added up.
    pub throttled: u64,
    /// The process: all its threads, those without a name included.
    pub process: Ready,
}

/// CPU time of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Machine {
    /// Time spent running something.
    pub busy: u64,
    /// Steal.
    pub steal: u64,
    /// Idle time.
    pub idle: u64,
}

/// A quota and what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// CPU time allowed in a period; 0 if there is no limit.
    pub quota: u64,
    /// Length of a period.
    pub period: u64,
    /// Periods.
    pub periods: u64,
    /// How many of them were cut short.
    pub throttled_periods: u64,
    /// For how long, all CPUs added up.
    pub throttled: u64,
}

/// Where ready time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// CPU time without steal.
    pub corrected: u64,
    /// Steal.
    pub steal: u64,
    /// Time held back by the quota.
    pub throttled: u64,
    /// Time ready and waiting for a CPU.
    pub queued: u64,
}

/// Transactions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Transactions {
    /// What the application calls them.
    pub name: String,
    /// How many ended.
    pub count: u64,
    /// How many were never seen to end; in no other number.
    pub not_ended: u64,
    /// How many of `count` have no CPU time.
    pub without_cpu: u64,
    /// How long they took.
    pub wall: Spread,
    /// How long each was runnable, but off-CPU.
    pub off_cpu: Spread,
    /// CPU time without steal, of all together.
    pub corrected: u64,
    /// Time blocked acquiring monitors and locks of `java.util.concurrent`.
    pub blocked: u64,
    /// Time parked for anything else.
    pub parked: u64,
    /// Time in `Object.wait`.
    pub waited: u64,
    /// Steal.
    pub steal: u64,
    /// Time held back by the quota.
    pub throttled: u64,
    /// Time waiting for a CPU.
    pub queued: u64,
}

/// Lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Spread {
    /// All together.
    pub total: u64,
    /// Half are no longer than this.
    pub p50: u64,
    /// Nine of ten.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// All locks of a name that looked contended while their owners had no CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct NameHeldOff {
    /// Text of the name.
    pub name: u32,
    /// How much of their blocked time the owner was ready, but had no CPU: an estimate.
    pub off_cpu: u64,
    /// When: begins of intervals, and the time in each. They add up to `off_cpu`.
    pub when: Vec<(u64, u64)>,
}
