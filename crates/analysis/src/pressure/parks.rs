//! Parks by blocker, for the picture of now.

use super::live::{lock_names, LivePark};
use headway_model::event::{Park, ParkBegin, Spent, SpentOn};
use headway_model::{Dictionary, Event, LockId, ThreadId};
use rustc_hash::FxHashMap;

/// Blockers followed at most.
const MOST_BLOCKERS: usize = 4096;
/// Blockers in a picture at most.
const MOST_SHOWN: usize = 50;

/// Parks on one blocker.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    times: u64,
    now: u64,
    peak: u64,
    thread_time_ns: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Parks {
    blockers: FxHashMap<LockId, Totals>,
    /// Threads whose park began, and on what.
    parked: FxHashMap<ThreadId, LockId>,
    pub folded: u64,
}

impl Parks {
    pub fn feed(&mut self, event: &Event) {
        match event {
            Event::ParkBegin(e) => self.begins(e),
            Event::Park(e) => self.ends(e),
            Event::Spent(e) if e.on != SpentOn::Monitor => self.adds(e),
            Event::ThreadEnd(e) => self.leaves(e.thread),
            _ => {}
        }
    }

    pub fn forget(&mut self, blocker: LockId) {
        self.blockers.remove(&blocker);
    }

    fn begins(&mut self, e: &ParkBegin) {
        self.leaves(e.thread);
        if let Some(totals) = self.totals(e.blocker) {
            totals.now += 1;
            totals.peak = totals.peak.max(totals.now);
            self.parked.insert(e.thread, e.blocker);
        }
    }

    fn ends(&mut self, e: &Park) {
        self.leaves(e.thread);
        if let Some(totals) = self.totals(e.blocker) {
            totals.times += 1;
            totals.thread_time_ns += e.time.since(e.start).0;
        }
    }

    fn adds(&mut self, e: &Spent) {
        if let Some(totals) = self.totals(e.lock) {
            totals.times += e.count;
            totals.thread_time_ns += e.total.0;
            // At least one of them was parked at some moment.
            totals.peak = totals.peak.max(1);
        }
    }

    fn leaves(&mut self, thread: ThreadId) {
        let blocker = self.parked.remove(&thread);
        if let Some(totals) = blocker.and_then(|blocker| self.blockers.get_mut(&blocker)) {
            totals.now = totals.now.saturating_sub(1);
        }
    }

    fn totals(&mut self, blocker: LockId) -> Option<&mut Totals> {
        if self.blockers.len() >= MOST_BLOCKERS && !self.blockers.contains_key(&blocker) {
            self.folded += 1;
            return None;
        }
        Some(self.blockers.entry(blocker).or_default())
    }

    pub fn pictures(&self, dictionary: &Dictionary) -> Vec<LivePark> {
        let mut blockers: Vec<(&LockId, &Totals)> = self.blockers.iter().collect();
        blockers.sort_by_key(|(lock, totals)| (std::cmp::Reverse((totals.thread_time_ns, totals.now)), **lock));
        let shown = blockers.into_iter().take(MOST_SHOWN);
        shown.map(|(lock, totals)| picture(*lock, totals, dictionary)).collect()
    }
}

fn picture(blocker: LockId, totals: &Totals, dictionary: &Dictionary) -> LivePark {
    let (name, class) = match blocker.is_none() {
        true => ("(no blocker)".to_owned(), String::new()),
        false => lock_names(blocker, dictionary),
    };
    LivePark {
        name,
        class,
        times_parked: totals.times + totals.now,
        parked_now: totals.now,
        peak_parked: totals.peak,
        thread_time_ns: totals.thread_time_ns,
    }
}
