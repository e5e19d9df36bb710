//! What `headway report --pressure` shows: plain data, ready for JSON.

use crate::report::Others;
use headway_model::LockId;
use serde::Serialize;

/// Critical section pressure of a recording's range. Pressures are fractions,
/// 0 to 1; times count from the recording's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PressureReport {
    /// Length of an interval. Longer than asked for where that would have been
    /// too many, or where the recording holds ready-made windows only.
    pub interval_ns: u64,
    /// Where the range begins.
    pub start_ns: u64,
    /// How long it is.
    pub duration_ns: u64,
    /// Pressure from which on an interval belongs to a phase.
    pub threshold: f64,
    /// Running time of all threads.
    pub running_ns: u64,
    /// Time that threads spent acquiring any lock.
    pub acquiring_ns: u64,
    /// Pressure of all locks together, over the range.
    pub csp_mean: f64,
    /// The same in the worst interval.
    pub csp_peak: f64,
    /// The same in every interval: where it begins, and the pressure.
    pub windows: Vec<(u64, f64)>,
    /// Running time in every interval.
    #[serde(skip)]
    pub window_running_ns: Vec<u64>,
    /// Locks that were acquired with blocking, highest mean pressure first; of
    /// very many only the first, and those that have a phase.
    pub locks: Vec<LockPressure>,
    /// The locks that are not among them.
    #[serde(skip_serializing_if = "Others::is_none")]
    pub other_locks: Others,
}

/// One lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockPressure {
    /// The lock.
    #[serde(skip)]
    pub id: LockId,
    /// `Inventory.lock (com.acme.Inventory$1@1a2b3c)`.
    pub lock: String,
    /// Class of the lock object.
    pub class: String,
    /// What a developer calls it; class and hash without package where unknown.
    pub name: String,
    /// Acquiring time over running time of the whole range.
    pub csp_mean: f64,
    /// Pressure of the worst interval.
    pub csp_peak: f64,
    /// Time that threads spent acquiring it.
    pub acquiring_ns: u64,
    /// Every interval in which threads spent time acquiring it: where it
    /// begins, and the pressure.
    pub windows: Vec<(u64, f64)>,
    /// Consecutive intervals above the threshold.
    pub phases: Vec<PhaseReport>,
    /// Metrics of other tools.
    pub other_tools: OlderMetrics,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseReport {
    /// When its first interval begins.
    pub start_ns: u64,
    /// When its last interval ends.
    pub end_ns: u64,
    /// Acquiring time over running time of the whole phase.
    pub csp_mean: f64,
    /// Pressure of its worst interval.
    pub csp_peak: f64,
    /// Time that threads spent acquiring the lock in it.
    pub acquiring_ns: u64,
    /// Of that, time in which a thread is known to have owned the lock. This part and the next
    /// three add up to the time of the contentions that were recorded one by one.
    pub owned_ns: u64,
    /// Of that, time in which the lock was free and the next thread had not run yet.
    pub hand_off_ns: u64,
    /// Of that, time in which the VM was paused.
    pub pause_ns: u64,
    /// Of that, time for which nothing is known.
    pub unknown_ns: u64,
    /// The call stack that spent most time acquiring the lock, leaf first; empty if
    /// none is known.
    pub waiter_stack: Vec<String>,
    /// The call stack that owned the lock for most of that time, from the frame on
    /// that owned it; empty if none is known.
    pub owner_stack: Vec<String>,
    /// The method that acquired the lock there; empty if unknown.
    pub waiter_method: String,
    /// The method that owned the lock; empty if unknown.
    pub owner_method: String,
}

/// Metrics of older tools, for comparison. They mislead:
///
/// * *failed acquisitions / acquisitions* weighs a wait of a microsecond like
///   one of a second, and a lock taken rarely, but for long, looks harmless.
/// * *acquiring time / elapsed time* grows with the number of threads: 100
///   threads of which two fight give the same number as two that fight,
///   although the first program hardly notices.
/// * *critical section time / acquisitions* says how long the lock is held,
///   not whether anybody wanted it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OlderMetrics {
    /// Number of contentions; absent if the recording has windows only (`-e pressure`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_acquisitions: Option<u64>,
    /// All acquisitions. An uncontended one leaves no event, by design, so this
    /// is absent unless the recording has a count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquisitions: Option<u64>,
    /// Acquiring time over elapsed time; may be above 1.
    pub acquiring_per_elapsed: f64,
    /// Mean time that an owner held the lock while a thread waited for it, as
    /// far as proven: what stands for critical section time / acquisitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_section_ns: Option<f64>,
}
