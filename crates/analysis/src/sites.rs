//! Parks: what recordings of other makers mostly hold.

use crate::aggregate::Range;
use crate::names::NO_OBJECT;
use crate::report::ParkSite;
use headway_model::event::{Park, ShortParks};
use headway_model::ThreadId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

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
    is_lock: bool,
    threads: FxHashSet<ThreadId>,
}

impl Parks {
    pub fn new(bound: usize) -> Parks {
        Parks { classes: FxHashMap::default(), bound, folded: 0 }
    }

    /// Adds a park on a blocker of this class.
    pub fn add(&mut self, park: &Park, class: &Arc<str>, acquires: bool, range: Range) {
        let Some((from, to)) = range.clip(park.start, park.time) else { return };
        let ns = to.since(from).0;
        let bound = self.bound;
        let totals = self.totals(class.clone());
        totals.total_ns += ns;
        totals.count += 1;
        totals.max_ns = totals.max_ns.max(ns);
        if totals.threads.len() < bound {
            totals.threads.insert(park.thread);
        }
        totals.is_lock |= acquires;
    }

    /// Adds parks of which only the sum is known. The longest of them was no
    /// shorter than their mean.
    pub fn add_sum(&mut self, parks: &ShortParks, class: &Arc<str>, acquires: bool, range: Range) {
        if parks.count == 0 || parks.time < range.from || parks.time > range.to {
            return;
        }
        let bound = self.bound;
        let totals = self.totals(class.clone());
        totals.total_ns += parks.total.0;
        totals.count += parks.count;
        totals.max_ns = totals.max_ns.max(parks.total.0 / parks.count);
        if totals.threads.len() < bound {
            totals.threads.insert(parks.thread);
        }
        totals.is_lock |= acquires;
    }

    fn totals(&mut self, mut class: Arc<str>) -> &mut ParkTotals {
        if self.classes.len() >= self.bound && !self.classes.contains_key(&class) {
            self.folded += 1;
            class = Arc::from("(other)");
        }
        self.classes.entry(class).or_default()
    }

    pub fn report(&self) -> Vec<ParkSite> {
        let mut sites: Vec<ParkSite> = self
            .classes
            .iter()
            .map(|(class, totals)| ParkSite {
                blocker_class: if class.is_empty() { NO_OBJECT.to_owned() } else { class.to_string() },
                is_lock: totals.is_lock,
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
