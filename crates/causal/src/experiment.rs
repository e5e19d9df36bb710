//! What one window of a run measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Everything on the stack below a method.
    Method,
    /// A source line, and everything that it calls.
    Line,
    /// A method where it was called from a given one.
    Call,
}

impl TargetKind {
    /// Its word in recordings and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TargetKind::Method => "method",
            TargetKind::Line => "line",
            TargetKind::Call => "call",
        }
    }

    /// The kind with this word.
    pub fn from_name(name: &str) -> Option<TargetKind> {
        [TargetKind::Method, TargetKind::Line, TargetKind::Call].into_iter().find(|kind| kind.name() == name)
    }
}

/// What is sped up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// What it is.
    pub kind: TargetKind,
    /// `pkg.Class.method`, `File.java:42`.
    pub name: String,
}

/// One window: an experiment, or one without delays beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Place in the order of all windows of the run. Windows next to each other
    /// have numbers next to each other.
    pub number: u64,
    /// When it began, ns on the recording's clock.
    pub start_ns: u64,
    /// How long it lasted, stop-the-world time left out.
    pub duration_ns: u64,
    /// Delay that every thread was to have had within it.
    pub delay_ns: u64,
    /// What was sped up.
    pub target: Target,
    /// By how much, 0 to 1.
    pub speedup: f64,
    /// Samples in the target.
    pub selected_samples: u64,
    /// Samples in all.
    pub samples: u64,
    /// CPU time between two samples of a thread; 0 if unknown.
    pub period_ns: u64,
    /// CPUs that the program may use; 0 if unknown.
    pub cpus: u32,
    /// Visits of each progress point.
    pub visits: BTreeMap<String, u64>,
}

impl Experiment {
    /// How long it would have lasted had the target really been faster.
    pub fn effective_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.delay_ns)
    }

    /// Threads that ran at a time, on average; `None` where it is not known.
    pub fn running(&self) -> Option<f64> {
        let known = self.period_ns > 0 && self.duration_ns > 0;
        known.then(|| self.samples as f64 * self.period_ns as f64 / self.duration_ns as f64)
    }

    /// True for a window without delays.
    pub fn is_baseline(&self) -> bool {
        self.speedup == 0.0
    }
}
