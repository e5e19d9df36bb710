//! The latest parks of virtual threads: what an owner of a lock did while it had no stack to
//! sample.

use headway_model::{ChainId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Parks of one thread that are kept; and of all of them.
const OF_EACH: usize = 64;
const OF_ALL: usize = 1 << 17;
/// Shorter parks say nothing that anybody would miss.
const SHORTEST_NS: u64 = 100_000;

/// A park of a virtual thread that acquires no lock, until it is known whether its thread held
/// a contended lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub chain: ChainId,
    pub start: TimeNs,
    /// The furthest future while it is under way.
    pub end: TimeNs,
    /// Sleep, or input and output: it waits for nobody.
    pub is_idle: bool,
}

/// The latest parks of virtual threads. What is given up for later ones is missing in the coverage
/// that a report states.
#[derive(Debug, Default)]
pub(super) struct Rests {
    /// Of each thread in the order of time; they do not overlap.
    of: FxHashMap<ThreadId, VecDeque<Rest>>,
    kept: usize,
}

impl Rests {
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Takes in a park: when it begins, and once more when it is over.
    pub fn add(&mut self, thread: ThreadId, rest: Rest) {
        if self.kept >= OF_ALL {
            self.drop_older_half();
        }
        let of_thread = self.of.entry(thread).or_default();
        self.kept -= of_thread.len();
        // Its begin is the last one, mostly.
        while of_thread.back().is_some_and(|last| last.end > rest.start) {
            of_thread.pop_back();
        }
        if rest.end.since(rest.start).0 >= SHORTEST_NS {
            if of_thread.len() >= OF_EACH {
                of_thread.pop_front();
            }
            of_thread.push_back(rest);
        }
        self.kept += of_thread.len();
        if of_thread.is_empty() {
            self.of.remove(&thread);
        }
    }

    fn drop_older_half(&mut self) {
        let mut starts: Vec<TimeNs> = self.of.values().flatten().map(|rest| rest.start).collect();
        let half = starts.len() / 2;
        let (_, middle, _) = starts.select_nth_unstable(half);
        self.of.retain(|_, rests| {
            rests.retain(|rest| rest.start > *middle);
            !rests.is_empty()
        });
        self.kept = self.of.values().map(VecDeque::len).sum();
    }

    /// The parts of a thread's parks that lie between `from` and `to`.
    pub fn within(&self, thread: ThreadId, from: TimeNs, to: TimeNs) -> Vec<Rest> {
        let Some(rests) = self.of.get(&thread) else { return Vec::new() };
        let first = rests.partition_point(|rest| rest.end <= from);
        let during = rests.range(first..).take_while(|rest| rest.start < to);
        during.map(|rest| Rest { start: rest.start.max(from), end: rest.end.min(to), ..*rest }).collect()
    }
}
