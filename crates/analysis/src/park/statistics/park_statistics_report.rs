//! Park statistics for a reader: with names and the derived metrics.

use super::record::{BlockerParks, FoldedParks};
use super::tally::ParkTally;
use crate::names::method;
use crate::wait_class::is_idle_pool;
use headway_model::{ChainId, Dictionary, DurationNs, ThreadId, TimeNs};
use serde::{Deserialize, Serialize};

/// The parks on one blocker object.
///
/// Times are nanoseconds. Utilisations are fractions of a time: 1.0 is one
/// thread parked all the time, 63.0 are 63.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BlockerStatistics {
    /// Name of the thread whose park reached the collection threshold.
    pub thread: String,
    /// Its stack then, leaf first.
    pub stack: Vec<String>,
    /// True if this stack is that of a worker that waits for work in its pool.
    pub idle: bool,
    /// Class of the blocker.
    pub class: String,
    /// Its identity hash code, in hexadecimal; `0` if unknown.
    pub hash: String,
    /// What the code calls it, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How often threads parked on it.
    pub times_parked: u64,
    /// How many are parked.
    pub parked_now: u32,
    /// How many were parked at once at most.
    pub peak_parked: u32,
    /// Parked time of all threads added up.
    pub thread_time_ns: u64,
    /// Time in which at least one thread was parked; `null` if several threads parked and parks were
    /// sampled: then it is not known which of them overlapped.
    pub real_time_ns: Option<u64>,
    /// `thread_time_ns / times_parked`.
    pub avg_park_ns: u64,
    /// `real_time_ns / (times_parked - parked_now)`.
    pub avg_hold_ns: Option<u64>,
    /// `real_time_ns` over the execution time.
    pub real_util: Option<f64>,
    /// `thread_time_ns` over the execution time.
    pub thread_util: f64,
    /// `real_time_ns` over the time from the first to the last event on it.
    pub real_life_util: Option<f64>,
    /// `thread_time_ns` over the time from the first to the last event on it.
    pub thread_life_util: f64,
}

/// The park statistics of a JVM or a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ParkStatisticsReport {
    /// How long parks were watched: what utilisations are parts of.
    pub execution_ns: u64,
    /// Parks on a blocker after which it is measured.
    pub collection_threshold: u64,
    /// Blockers with fewer parks are left out.
    pub printing_threshold: u64,
    /// The blockers, most parked thread time first.
    pub blockers: Vec<BlockerStatistics>,
    /// Blockers below one of the thresholds.
    pub not_shown: u64,
    /// Blockers that a memory bound folded together.
    pub folded: FoldedParks,
    /// Times that more parks were waiting to be put in order than are kept: then
    /// `peak_parked` and real times may be a little off.
    pub out_of_order: u64,
}

impl ParkStatisticsReport {
    /// What was tallied from `start` to `end`, in words of `names`.
    pub fn new(tally: &ParkTally, start: TimeNs, end: TimeNs, names: &Dictionary) -> ParkStatisticsReport {
        let execution = end.since(start);
        let shown = tally.shown(end);
        let not_shown = tally.not_shown(shown.len());
        ParkStatisticsReport {
            execution_ns: execution.0,
            collection_threshold: tally.options().collection_threshold,
            printing_threshold: tally.options().printing_threshold,
            blockers: shown.iter().map(|parks| BlockerStatistics::new(parks, execution, names)).collect(),
            not_shown,
            folded: tally.folded(),
            out_of_order: tally.bounded(),
        }
    }
}

impl BlockerStatistics {
    /// Derives the averages and utilisations.
    pub fn new(parks: &BlockerParks, execution: DurationNs, names: &Dictionary) -> BlockerStatistics {
        let (thread, real) = (parks.thread_time.0, parks.known_real_time().map(|time| time.0));
        let life = parks.life().0;
        let ended = parks.times_parked.saturating_sub(u64::from(parks.parked_now));
        let lock = names.lock(parks.blocker);
        let stack = stack(parks.chain, names);
        BlockerStatistics {
            thread: thread_name(parks.thread, names),
            idle: is_idle_pool(&stack),
            stack,
            class: lock.map_or_else(String::new, |def| def.class.to_string()),
            hash: format!("{:x}", lock.map_or(0, |def| def.identity_hash)),
            name: lock.map_or_else(String::new, |def| def.name.to_string()),
            times_parked: parks.times_parked,
            parked_now: parks.parked_now,
            peak_parked: parks.peak_parked,
            thread_time_ns: thread,
            real_time_ns: real,
            avg_park_ns: thread.checked_div(parks.times_parked).unwrap_or(0),
            avg_hold_ns: real.map(|real| real.checked_div(ended).unwrap_or(0)),
            real_util: real.map(|real| ratio(real, execution.0)),
            thread_util: ratio(thread, execution.0),
            real_life_util: real.map(|real| ratio(real, life)),
            thread_life_util: ratio(thread, life),
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn thread_name(thread: ThreadId, names: &Dictionary) -> String {
    match names.thread(thread) {
        Some(def) if !def.name.is_empty() => def.name.to_string(),
        _ => format!("thread #{}", thread.0),
    }
}

fn stack(chain: ChainId, names: &Dictionary) -> Vec<String> {
    let Some(def) = names.chain(chain) else { return Vec::new() };
    let frame = |frame: &headway_model::Frame| {
        let name = names
            .method(frame.method)
            .map_or_else(|| format!("(unknown method #{})", frame.method.0), |method| method::readable(method).full);
        match frame.line {
            0 => name,
            line => format!("{name}:{line}"),
        }
    };
    def.chain.frames.iter().map(frame).collect()
}
