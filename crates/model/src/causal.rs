//! Causal profiling: what an experiment measured.

use crate::time::{DurationNs, TimeNs};
use std::sync::Arc;

/// See [`Event::Experiment`](crate::Event::Experiment). Of a window with several
/// progress points there is one for each, all with the same number.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Experiment {
    /// When the window began.
    pub start: TimeNs,
    /// When it ended.
    pub end: TimeNs,
    /// Place in the order of all windows of the recording.
    pub number: u64,
    /// Part of the target's time that was virtually taken away, 0 to 1; 0 for a
    /// window without delays.
    pub speedup: f32,
    /// Delay that every thread was to have had.
    pub delay: DurationNs,
    /// Time within it of pauses of the VM.
    pub stopped: DurationNs,
    /// Samples in the target.
    pub selected_samples: u64,
    /// Samples of application threads.
    pub samples: u64,
    /// CPU time between two samples of a thread.
    pub period: DurationNs,
    /// CPUs that the process may use.
    pub cpus: u32,
    /// Samples' worth of time in the target that was slept or waited for the
    /// world outside; part of `selected_samples`.
    pub off_cpu: u64,
    /// Samples in the target whose own method was not yet compiled.
    pub interpreted: u64,
    /// Times that a thread was woken by another one.
    pub wakes: u64,
    /// Time that application threads waited for a CPU.
    pub run_queue: DurationNs,
    /// Mean number of pieces of work under way, of a latency point; 0 for
    /// others.
    pub in_flight: f32,
    /// Visits of the progress point.
    pub visits: u64,
    /// `method`, `line`, `call` or `lock`; empty for a window without delays.
    pub kind: Arc<str>,
    /// What was sped up; empty for a window without delays.
    pub target: Arc<str>,
    /// The progress point.
    pub point: Arc<str>,
}
