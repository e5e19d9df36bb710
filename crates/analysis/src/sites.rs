//! Execution samples and parks: what recordings of other makers mostly hold.

use crate::aggregate::{share, Range};
use crate::names::{NameId, Names};
use crate::report::{ParkSite, SampleReport, SampledMethod};
use headway_model::event::{Park, Sample, SampleState};
use headway_model::{ChainId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Counts of samples by chain.
#[derive(Debug)]
pub(crate) struct Samples {
    running: FxHashMap<ChainId, u64>,
    count: u64,
    bound: usize,
    pub folded: u64,
}

impl Samples {
    pub fn new(bound: usize) -> Samples {
        Samples { running: FxHashMap::default(), count: 0, bound, folded: 0 }
    }

    pub fn add(&mut self, sample: &Sample) {
        self.count += 1;
        if sample.state == SampleState::Waiting {
            return;
        }
        let mut chain = sample.chain;
        if self.running.len() >= self.bound && !self.running.contains_key(&chain) {
            self.folded += 1;
            chain = ChainId::NONE;
        }
        *self.running.entry(chain).or_default() += 1;
    }

    /// Methods by self samples; `None` if there was no sample.
    pub fn report(&self, names: &mut Names) -> Option<SampleReport> {
        if self.count == 0 {
            return None;
        }
        let mut methods: FxHashMap<NameId, (u64, u64)> = FxHashMap::default();
        for (chain, count) in &self.running {
            let Some(path) = names.path(*chain, 0) else { continue };
            let mut on_stack = FxHashSet::default();
            for (depth, frame) in names.frames(path).iter().enumerate() {
                let method = methods.entry(frame.name).or_default();
                if depth == 0 {
                    method.0 += count;
                }
                if on_stack.insert(frame.name) {
                    method.1 += count;
                }
            }
        }
        let running: u64 = self.running.values().sum();
        let mut methods: Vec<SampledMethod> = methods
            .into_iter()
            .map(|(name, (own, total))| SampledMethod {
                method: names.method_name(name).map_or_else(String::new, |name| name.full.clone()),
                self_samples: own,
                total_samples: total,
                self_share: share(own, running),
                total_share: share(total, running),
            })
            .collect();
        methods.sort_by(|a, b| {
            let key = |m: &SampledMethod| std::cmp::Reverse((m.self_samples, m.total_samples));
            key(a).cmp(&key(b)).then_with(|| a.method.cmp(&b.method))
        });
        Some(SampleReport { count: self.count, running, methods })
    }
}

/// Parks by blocker class.
#[derive(Debug)]
pub(crate) struct Parks {
    classes: FxHashMap<Arc<str>, ParkTotals>,
    bound: usize,
    pub folded: u64,
}

#[derive(Debug, Default)]
struct ParkTotals {
    total_ns: u64,
    count: u64,
    max_ns: u64,
    threads: FxHashSet<ThreadId>,
}

impl Parks {
    pub fn new(bound: usize) -> Parks {
        Parks { classes: FxHashMap::default(), bound, folded: 0 }
    }

    /// Adds a park; returns how long it was conditional waiting in the range.
    pub fn add(&mut self, park: &Park, range: Range) -> u64 {
        let Some((from, to)) = range.clip(park.start, park.time) else { return 0 };
        let ns = to.since(from).0;
        let mut class = park.blocker_class.clone();
        if self.classes.len() >= self.bound && !self.classes.contains_key(&class) {
            self.folded += 1;
            class = Arc::from("(other)");
        }
        let is_lock = is_lock(&class);
        let totals = self.classes.entry(class).or_default();
        totals.total_ns += ns;
        totals.count += 1;
        totals.max_ns = totals.max_ns.max(ns);
        if totals.threads.len() < self.bound {
            totals.threads.insert(park.thread);
        }
        if is_lock {
            0
        } else {
            ns
        }
    }

    pub fn report(&self) -> Vec<ParkSite> {
        let mut sites: Vec<ParkSite> = self
            .classes
            .iter()
            .map(|(class, totals)| ParkSite {
                blocker_class: if class.is_empty() { "(none)".to_owned() } else { class.to_string() },
                is_lock: is_lock(class),
                total_ns: totals.total_ns,
                count: totals.count,
                max_ns: totals.max_ns,
                threads: totals.threads.len() as u64,
            })
            .collect();
        sites.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.blocker_class.cmp(&b.blocker_class)));
        sites
    }
}

/// True if parking on such a blocker means waiting for a lock. Conditions,
/// latches, queues and futures are waiting for something to happen.
pub(crate) fn is_lock(class: &str) -> bool {
    let Some(class) = class.strip_prefix("java.util.concurrent.locks.") else { return false };
    ["ReentrantLock$", "ReentrantReadWriteLock$", "StampedLock"].iter().any(|lock| class.starts_with(lock))
}

#[cfg(test)]
mod tests {
    use super::is_lock;

    #[test]
    fn only_locks_are_locks() {
        let prefix = "java.util.concurrent.locks.";
        assert!(is_lock(&format!("{prefix}ReentrantLock$NonfairSync")));
        assert!(is_lock(&format!("{prefix}ReentrantReadWriteLock$FairSync")));
        assert!(!is_lock(&format!("{prefix}AbstractQueuedSynchronizer$ConditionObject")));
        assert!(!is_lock("java.util.concurrent.CountDownLatch$Sync"));
        assert!(!is_lock(""));
    }
}
