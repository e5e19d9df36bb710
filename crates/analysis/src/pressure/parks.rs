//! Parks by blocker, for the picture of now. It shows the most expensive; programs that
//! make a blocker for each park (the future of a request) have any number of
//! others, which are added up.

use super::live::{lock_names, LivePark};
use headway_model::event::{Park, ParkBegin, Spent, SpentOn};
use headway_model::{Dictionary, Event, LockId, ThreadId};
use rustc_hash::FxHashMap;

/// Blockers followed at most.
const MOST_BLOCKERS: usize = 4096;
/// Blockers in a picture at most.
const MOST_SHOWN: usize = 50;

/// Parks on one blocker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Those that made room.
    others: Totals,
    /// Parks on blockers for which no room could be made.
    pub folded: u64,
}

impl Parks {
    pub fn feed(&mut self, event: &Event) {
        match event {
            Event::ParkBegin(e) => self.begins(e),
            Event::Park(e) => self.ends(e),
            Event::Spent(e) if matches!(e.on, SpentOn::Park | SpentOn::OwnedPark) => self.adds(e),
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
            self.make_room();
            if self.blockers.len() >= MOST_BLOCKERS {
                self.folded += 1;
                return None;
            }
        }
        Some(self.blockers.entry(blocker).or_default())
    }

    /// Adds up the lightest half of the blockers on which nobody is parked.
    #[cold]
    fn make_room(&mut self) {
        let idle = self.blockers.iter().filter(|(_, totals)| totals.now == 0);
        let mut idle: Vec<(u64, LockId)> = idle.map(|(lock, totals)| (totals.thread_time_ns, *lock)).collect();
        idle.sort_unstable();
        for (_, lock) in idle.iter().take(idle.len().div_ceil(2)) {
            if let Some(totals) = self.blockers.remove(lock) {
                self.others.times += totals.times;
                self.others.thread_time_ns += totals.thread_time_ns;
                self.others.peak = self.others.peak.max(totals.peak);
            }
        }
    }

    pub fn pictures(&self, dictionary: &Dictionary) -> Vec<LivePark> {
        let mut blockers: Vec<(&LockId, &Totals)> = self.blockers.iter().collect();
        blockers.sort_by_key(|(lock, totals)| (std::cmp::Reverse((totals.thread_time_ns, totals.now)), **lock));
        let shown = blockers.into_iter().take(MOST_SHOWN);
        let mut shown: Vec<LivePark> = shown.map(|(lock, totals)| picture(*lock, totals, dictionary)).collect();
        if self.others != Totals::default() {
            shown.push(row("(lighter blockers)".to_owned(), String::new(), &self.others));
        }
        shown
    }
}

fn picture(blocker: LockId, totals: &Totals, dictionary: &Dictionary) -> LivePark {
    let (name, class) = match blocker.is_none() {
        true => ("(no blocker)".to_owned(), String::new()),
        false => lock_names(blocker, dictionary),
    };
    row(name, class, totals)
}

fn row(name: String, class: String, totals: &Totals) -> LivePark {
    LivePark {
        name,
        class,
        times_parked: totals.times + totals.now,
        parked_now: totals.now,
        peak_parked: totals.peak,
        thread_time_ns: totals.thread_time_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::TimeNs;

    fn park(parks: &mut Parks, thread: u64, blocker: u64, length: u64) {
        let (thread, blocker) = (ThreadId(thread), LockId(blocker));
        parks.feed(&Event::ParkBegin(ParkBegin { thread, blocker, time: TimeNs(100), ..ParkBegin::default() }));
        let (start, time) = (TimeNs(100), TimeNs(100 + length));
        parks.feed(&Event::Park(Park { thread, blocker, start, time, ..Park::default() }));
    }

    #[test]
    fn blockers_of_one_park_each_are_added_up_and_a_dear_one_that_comes_late_is_shown() {
        let mut parks = Parks::default();
        park(&mut parks, 1, 7, 1_000_000);
        for blocker in 0..100_000 {
            park(&mut parks, 1 + blocker % 8, 10 + blocker, 10);
        }
        park(&mut parks, 1, 8, 2_000_000);
        assert!(parks.blockers.len() <= MOST_BLOCKERS && parks.folded == 0);
        let shown = parks.pictures(&Dictionary::default());
        assert_eq!((shown[0].thread_time_ns, shown[1].thread_time_ns), (2_000_000, 1_000_000));
        let kept: u64 = parks.blockers.values().map(|totals| totals.times).sum();
        assert_eq!(kept + parks.others.times, 100_002, "no park is lost");
        assert_eq!(
            shown.last().map(|row| (&*row.name, row.times_parked)),
            Some(("(lighter blockers)", parks.others.times))
        );
    }

    #[test]
    fn a_blocker_that_is_parked_on_stays() {
        let mut parks = Parks::default();
        let begin = |parks: &mut Parks, id| {
            let (thread, blocker) = (ThreadId(id), LockId(id));
            parks.feed(&Event::ParkBegin(ParkBegin { thread, blocker, ..ParkBegin::default() }));
        };
        (1..=MOST_BLOCKERS as u64 + 1).for_each(|id| begin(&mut parks, id));
        assert_eq!((parks.blockers.len(), parks.folded), (MOST_BLOCKERS, 1));
    }
}
