//! What an analysis is asked to do, and how much memory it may take.

use crate::aspect::Aspect;
use crate::pressure::PressureOptions;
use headway_model::{DurationNs, TimeNs};
use std::fmt;
use std::sync::Arc;

/// What an analysis is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The breakdown of blocked time in `Report::rows`; may be empty.
    pub by: Vec<Aspect>,
    /// Leaves `Report::rows` empty where all of it is exact, and keeps fewer combinations of their values:
    /// for who asks only how far estimates may be off.
    pub only_estimates: bool,
    /// Blocked contentions shorter than this are left out: a true minimum on
    /// the whole contention, before any clipping to the range.
    pub min_duration: DurationNs,
    /// Where the range begins; contentions across it count pro rata.
    pub from: Option<Bound>,
    /// Where the range ends; contentions across it count pro rata.
    pub to: Option<Bound>,
    /// Which blocked or waiting threads count; all if `None`.
    pub threads: Option<ThreadFilter>,
    /// Length of the intervals of [`Aspect::Time`].
    pub time_bucket: DurationNs,
    /// An acquisition or wait still going on at the end that has lasted this
    /// long becomes a finding.
    pub stuck_after: DurationNs,
    /// Critical section pressure; not measured if `None`.
    pub pressure: Option<PressureOptions>,
    /// How much memory may be used.
    pub bounds: Bounds,
}

impl Default for Options {
    /// Everything of a recording, broken down by lock, owner's method and
    /// contender's method.
    fn default() -> Options {
        Options {
            by: vec![Aspect::Lock, Aspect::OwnerMethod, Aspect::ContenderMethod],
            only_estimates: false,
            min_duration: DurationNs::ZERO,
            from: None,
            to: None,
            threads: None,
            time_bucket: DurationNs(1_000_000_000),
            stuck_after: DurationNs(1_000_000_000),
            pressure: Some(PressureOptions::default()),
            bounds: Bounds::offline(),
        }
    }
}

/// A limit of the time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// So long after the recording's start.
    SinceStart(DurationNs),
    /// A point on the recording's clock.
    At(TimeNs),
}

impl Bound {
    /// The point on the recording's clock.
    pub fn resolve(self, recording_start: TimeNs) -> TimeNs {
        match self {
            Bound::SinceStart(offset) => recording_start + offset,
            Bound::At(time) => time,
        }
    }
}

/// Decides by a thread's name whether the thread counts. A closure, so that
/// this crate does not choose the language of patterns.
#[derive(Clone)]
pub struct ThreadFilter {
    pattern: Arc<str>,
    accepts: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl ThreadFilter {
    /// Counts the threads for whose name `accepts` is true, which readers know as `pattern`.
    pub fn new(pattern: &str, accepts: impl Fn(&str) -> bool + Send + Sync + 'static) -> ThreadFilter {
        ThreadFilter { pattern: pattern.into(), accepts: Arc::new(accepts) }
    }

    /// What the names match.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// True if a thread of this name counts.
    pub fn accepts(&self, name: &str) -> bool {
        (self.accepts)(name)
    }
}

impl fmt::Debug for ThreadFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadFilter").field(&self.pattern).finish()
    }
}

/// How much an analysis may keep. Beyond a bound details are folded together
/// and counted as `analysis_full`; totals stay right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Locks followed at a time.
    pub locks: usize,
    /// Threads with a running time of their own.
    pub threads: usize,
    /// Events that wait for an earlier one of their lock.
    pub pending_events: usize,
    /// Owner marks kept for contentions that are still going on.
    pub marks: usize,
    /// Slices kept for one such contention.
    pub slices_per_contention: usize,
    /// Combinations of contender and owner with totals of their own.
    pub leaves: usize,
    /// Different (lock, chain) pairs of `Object.wait`, and of parks and samples.
    pub sites: usize,
    /// Stop-the-world pauses remembered.
    pub pauses: usize,
    /// Pairs of a lock and an interval with pressure of their own.
    pub pressure_cells: usize,
    /// Intervals of pressure; more of them become longer ones.
    pub pressure_windows: usize,
}

impl Bounds {
    /// For a whole recording in the command line: some hundreds of MB.
    pub const fn offline() -> Bounds {
        Bounds {
            locks: 1 << 18,
            threads: 1 << 20,
            pending_events: 1 << 22,
            marks: 1 << 22,
            slices_per_contention: 1 << 16,
            leaves: 1 << 20,
            sites: 1 << 18,
            pauses: 1 << 20,
            pressure_cells: 1 << 20,
            pressure_windows: 1 << 20,
        }
    }

    /// For the agent's draining thread: at most some 20 MB.
    pub const fn online() -> Bounds {
        Bounds {
            locks: 1 << 14,
            threads: 1 << 14,
            pending_events: 1 << 16,
            marks: 1 << 16,
            slices_per_contention: 1 << 8,
            leaves: 1 << 15,
            sites: 1 << 12,
            pauses: 1 << 12,
            pressure_cells: 1 << 14,
            pressure_windows: 1 << 12,
        }
    }
}
