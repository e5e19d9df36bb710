//! What one window of a run measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a target is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Everything on the stack below a method.
    #[default]
    Method,
    /// A source line, and everything that it calls.
    Line,
    /// A method where it was called from a given one.
    Call,
    /// Everything that is done while holding a lock.
    Lock,
    /// Nothing: all threads are slowed alike, which shows whether work arrives at its own
    /// pace. No target of a user's.
    Everything,
}

impl TargetKind {
    /// Its word in recordings and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TargetKind::Method => "method",
            TargetKind::Line => "line",
            TargetKind::Call => "call",
            TargetKind::Lock => "lock",
            TargetKind::Everything => "everything",
        }
    }

    /// The kind with this word.
    pub fn from_name(name: &str) -> Option<TargetKind> {
        [TargetKind::Method, TargetKind::Line, TargetKind::Call, TargetKind::Lock, TargetKind::Everything]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// What is sped up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// What it is.
    pub kind: TargetKind,
    /// `pkg.Class.method`, `File.java:42`, `pkg.A.called < pkg.B.caller`, the
    /// name or class of a lock.
    pub name: String,
}

/// Before a lock's name, where targets are named in one word.
const LOCK: &str = "lock:";

impl Target {
    /// All threads are slowed alike.
    pub fn everything() -> Target {
        Target { kind: TargetKind::Everything, name: "(all threads slowed)".to_owned() }
    }

    /// What a name of a target means.
    pub fn parse(name: &str) -> Target {
        if let Some(lock) = name.strip_prefix(LOCK) {
            return Target { kind: TargetKind::Lock, name: lock.trim().to_owned() };
        }
        let line = name.rsplit_once(':').map(|(_, line)| line);
        let is_line = line.is_some_and(|line| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()));
        let kind = match (name.contains(" < "), is_line) {
            (true, _) => TargetKind::Call,
            (false, true) => TargetKind::Line,
            (false, false) => TargetKind::Method,
        };
        Target { kind, name: name.to_owned() }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TargetKind::Lock => write!(f, "{LOCK}{}", self.name),
            _ => f.write_str(&self.name),
        }
    }
}

/// The name of the point that a program which just ends is said to visit once.
pub const END_OF_PROGRAM: &str = "end of the program";

/// One window: an experiment, or one without delays beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiment {
    /// Place in the order of all windows of the run. Windows next to each other
    /// have numbers next to each other.
    pub number: u64,
    /// When it began, ns on the recording's clock.
    pub start_ns: u64,
    /// How long it lasted, stop-the-world time left out.
    pub duration_ns: u64,
    /// Stop-the-world time within it.
    pub stopped_ns: u64,
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
    /// Samples' worth of time in the target that was slept or waited for the
    /// world outside; part of `selected_samples`.
    pub off_cpu: u64,
    /// Samples in the target whose own method was not yet compiled.
    pub interpreted: u64,
    /// Times that a thread was woken by another one.
    pub wakes: u64,
    /// Time that application threads waited for a CPU.
    pub run_queue_ns: u64,
    /// Visits of each progress point; of a latency point, how often it ended.
    pub visits: BTreeMap<String, u64>,
    /// Mean number of pieces of work under way, of each latency point.
    pub in_flight: BTreeMap<String, f64>,
}

impl Experiment {
    /// How long it would have lasted had the target really been faster.
    pub fn effective_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.delay_ns)
    }

    /// What of a point is to become less, and how often it came: time, or time
    /// multiplied with the work under way. By Little's law (L = lambda W) the
    /// quotient is the mean latency.
    pub fn measured(&self, point: &str) -> (f64, f64) {
        let under_way = self.in_flight.get(point).copied().unwrap_or(1.0);
        (self.effective_ns() as f64 * under_way, self.visits.get(point).copied().unwrap_or(0) as f64)
    }

    /// Threads that ran at a time, on average; `None` where it is not known.
    pub fn running(&self) -> Option<f64> {
        let known = self.period_ns > 0 && self.duration_ns > 0;
        known.then(|| self.samples as f64 * self.period_ns as f64 / self.duration_ns as f64)
    }

    /// True for a window in which all threads were slowed alike.
    pub fn slows_all(&self) -> bool {
        self.target.kind == TargetKind::Everything
    }

    /// True for an experiment on a target.
    pub fn has_target(&self) -> bool {
        !self.is_baseline() && !self.slows_all()
    }

    /// True for a window without delays.
    pub fn is_baseline(&self) -> bool {
        self.speedup == 0.0
    }
}
