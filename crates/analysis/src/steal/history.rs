//! What each thread used and lost, interval by interval, for asking about any
//! stretch of time afterwards.

use headway_model::{ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// CPU time, and time in which a thread was ready and did not run. In ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub cpu: f64,
    pub stolen: f64,
    pub throttled: f64,
    pub run_queue: f64,
}

impl Spent {
    pub fn add(&mut self, other: Spent, factor: f64) {
        self.cpu += other.cpu * factor;
        self.stolen += other.stolen * factor;
        self.throttled += other.throttled * factor;
        self.run_queue += other.run_queue * factor;
    }

    /// Time lost to the environment. Most kernels count throttling as waiting
    /// in the run queue, too, so the larger of the two counts.
    pub fn lost(&self) -> f64 {
        self.stolen + self.throttled.max(self.run_queue)
    }
}

#[derive(Clone, Copy, Debug)]
struct Part {
    start: TimeNs,
    end: TimeNs,
    spent: Spent,
}

/// See the module. Bounded: the oldest parts go first.
#[derive(Debug)]
pub(crate) struct History {
    threads: FxHashMap<ThreadId, VecDeque<Part>>,
    order: VecDeque<ThreadId>,
    bound: usize,
    /// True where CPU times contain stolen time.
    included: bool,
    pub folded: u64,
}

impl History {
    pub fn new(bound: usize) -> History {
        History { threads: FxHashMap::default(), order: VecDeque::new(), bound, included: false, folded: 0 }
    }

    /// Says whether CPU times contain stolen time.
    pub fn set_included(&mut self, included: bool) {
        self.included = included;
    }

    /// Adds an interval of a thread; a thread's come in time order.
    pub fn add(&mut self, thread: ThreadId, start: TimeNs, end: TimeNs, spent: Spent) {
        if self.order.len() >= self.bound {
            self.forget_oldest();
        }
        self.order.push_back(thread);
        self.threads.entry(thread).or_default().push_back(Part { start, end, spent });
    }

    /// True if anything is known of the thread: nothing is of virtual ones.
    pub fn knows(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }

    fn forget_oldest(&mut self) {
        let Some(thread) = self.order.pop_front() else { return };
        if let Some(parts) = self.threads.get_mut(&thread) {
            parts.pop_front();
            if parts.is_empty() {
                self.threads.remove(&thread);
            }
        }
        self.folded += 1;
    }

    fn overlapping(&self, thread: ThreadId, from: TimeNs, to: TimeNs) -> impl Iterator<Item = (&Part, f64)> {
        let parts = self.threads.get(&thread);
        let first = parts.map_or(0, |parts| parts.partition_point(|part| part.end <= from));
        let rest = parts.into_iter().flat_map(move |parts| parts.range(first..));
        rest.take_while(move |part| part.start < to).map(move |part| {
            let overlap = part.end.min(to).since(part.start.max(from)).0;
            (part, overlap as f64)
        })
    }

    /// What the thread lost between two moments in which it used `cpu_ns`:
    /// intervals that lie within count whole; the rest is in proportion to the
    /// CPU time that is left for the intervals at the edges.
    pub fn lost_with(&self, thread: ThreadId, from: TimeNs, to: TimeNs, cpu_ns: f64) -> Spent {
        let (mut inner, mut edge, mut edge_cpu) = (Spent::default(), Spent::default(), 0.0);
        for (part, overlap) in self.overlapping(thread, from, to) {
            let length = part.end.since(part.start).0 as f64;
            if overlap >= length {
                inner.add(part.spent, 1.0);
            } else {
                // Of an edge no more CPU time than there was while it lasted.
                let cpu = part.spent.cpu.min(overlap);
                let factor = if part.spent.cpu > 0.0 { cpu / part.spent.cpu } else { 0.0 };
                edge.add(part.spent, factor);
                edge_cpu += cpu;
            }
        }
        let left = (cpu_ns - inner.cpu).max(0.0);
        if edge_cpu > 0.0 {
            inner.add(edge, (left / edge_cpu).min(1.0));
        }
        inner
    }

    /// How long the thread was probably ready but not running between two
    /// moments in which it had work to do: in each interval the part of its
    /// ready time that was lost, but no more than was lost in all.
    pub fn off_cpu(&self, thread: ThreadId, from: TimeNs, to: TimeNs) -> f64 {
        let parts = self.overlapping(thread, from, to);
        parts
            .map(|(part, overlap)| {
                let lost = part.spent.lost();
                let counted_twice = if self.included { part.spent.stolen } else { 0.0 };
                let ready = part.spent.cpu + lost - counted_twice;
                if ready > 0.0 {
                    (overlap * lost / ready).min(lost)
                } else {
                    0.0
                }
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(1);

    fn spent(cpu: f64, stolen: f64, throttled: f64, run_queue: f64) -> Spent {
        Spent { cpu, stolen, throttled, run_queue }
    }

    fn history(bound: usize) -> History {
        let mut history = History::new(bound);
        history.add(T, TimeNs(0), TimeNs(100), spent(50.0, 10.0, 0.0, 20.0));
        history.add(T, TimeNs(100), TimeNs(200), spent(80.0, 0.0, 0.0, 20.0));
        history.add(T, TimeNs(300), TimeNs(400), spent(10.0, 0.0, 40.0, 30.0));
        history
    }

    #[test]
    fn within_an_interval_losses_follow_cpu_time() {
        // All of the interval's CPU time in a fifth of its time.
        assert_eq!(history(9).lost_with(T, TimeNs(0), TimeNs(50), 50.0), spent(50.0, 10.0, 0.0, 20.0));
        assert_eq!(history(9).lost_with(T, TimeNs(10), TimeNs(60), 25.0), spent(25.0, 5.0, 0.0, 10.0));
        assert_eq!(history(9).lost_with(ThreadId(2), TimeNs(0), TimeNs(50), 50.0), Spent::default());
        assert_eq!(history(9).lost_with(T, TimeNs(200), TimeNs(300), 50.0), Spent::default());
    }

    #[test]
    fn whole_intervals_count_whole() {
        let lost = history(9).lost_with(T, TimeNs(50), TimeNs(310), 80.0 + 25.0);
        // Edges of 50 and 10 CPU time have room for 50 and 10: 25 is five twelfths.
        assert!((lost.stolen - 10.0 * 5.0 / 12.0).abs() < 1e-9, "{lost:?}");
        assert!((lost.run_queue - 20.0 - (20.0 + 30.0) * 5.0 / 12.0).abs() < 1e-9, "{lost:?}");
    }

    #[test]
    fn off_cpu_time_is_bounded_by_what_was_lost() {
        // 30 of 80 ready units were lost.
        assert!((history(9).off_cpu(T, TimeNs(0), TimeNs(40)) - 15.0).abs() < 1e-9);
        assert!((history(9).off_cpu(T, TimeNs(0), TimeNs(100)) - 30.0).abs() < 1e-9);
        // The larger of throttling and run queue: 40 of 50.
        assert!((history(9).off_cpu(T, TimeNs(390), TimeNs(410)) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn the_oldest_go_first() {
        let history = history(2);
        assert_eq!(history.folded, 1);
        assert_eq!(history.lost_with(T, TimeNs(0), TimeNs(100), 50.0), Spent::default());
        assert_eq!(history.lost_with(T, TimeNs(100), TimeNs(200), 80.0).cpu, 80.0);
    }
}
