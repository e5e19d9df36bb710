//! What each thread used and did not get, interval by interval, for asking about any
//! period afterwards.

use headway_model::{LockId, ThreadId, TimeNs};
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

impl Estimate {
    /// The same for a part of the time.
    pub fn times(self, part: f64) -> Estimate {
        Estimate {
            cpu: self.cpu * part,
            cpu_least: self.cpu_least * part,
            asleep_least: self.asleep_least * part,
            off_cpu: self.off_cpu * part,
            off_cpu_least: self.off_cpu_least * part,
            off_cpu_most: self.off_cpu_most * part,
            measured: self.measured * part,
        }
    }

    /// Adds another span's.
    pub fn add(&mut self, other: &Estimate) {
        self.cpu += other.cpu;
        self.cpu_least += other.cpu_least;
        self.asleep_least += other.asleep_least;
        self.off_cpu += other.off_cpu;
        self.off_cpu_least += other.off_cpu_least;
        self.off_cpu_most += other.off_cpu_most;
        self.measured += other.measured;
    }
}

#[derive(Clone, Copy, Debug)]
struct Part {
    start: TimeNs,
    end: TimeNs,
    spent: Spent,
    /// Time in which the thread was blocked or waited, as its events say.
    away: u64,
    /// Time in which it had a lock that others were blocked on, and was not blocked itself.
    held: u64,
    /// Which lock that was.
    had: Had,
}

/// What locks that others were blocked on a thread had in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Had {
    #[default]
    None,
    One(LockId),
    Several,
}

impl Had {
    fn and(self, lock: LockId) -> Had {
        match self {
            Had::None => Had::One(lock),
            Had::One(one) if one == lock => self,
            _ => Had::Several,
        }
    }
}

/// What a thread probably did in a span, in ns. Estimates: times within an interval
/// are not known, so that each is spread over that part of the interval in which
/// the thread was neither blocked nor waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Executed.
    pub cpu: f64,
    /// Executed for no less than this, even if all else that it did in the interval was
    /// done while it had the lock.
    pub cpu_least: f64,
    /// Slept for no less than this, even if it was on a CPU or runnable only while it had the
    /// lock.
    pub asleep_least: f64,
    /// Ready, but without a CPU.
    pub off_cpu: f64,
    /// No less than this of the span without a CPU, whatever it did when.
    pub off_cpu_least: f64,
    /// No more than this.
    pub off_cpu_most: f64,
    /// Length of the span that lies in measured intervals.
    pub measured: f64,
}

impl Estimate {
    /// So many times as much of each.
    pub fn scaled(self, times: f64) -> Estimate {
        Estimate {
            cpu: self.cpu * times,
            cpu_least: self.cpu_least * times,
            asleep_least: self.asleep_least * times,
            off_cpu: self.off_cpu * times,
            off_cpu_least: self.off_cpu_least * times,
            off_cpu_most: self.off_cpu_most * times,
            measured: self.measured * times,
        }
    }
}

/// See the module. Bounded: the oldest parts go first.
#[derive(Debug)]
pub(crate) struct History {
    threads: FxHashMap<ThreadId, VecDeque<Part>>,
    order: VecDeque<ThreadId>,
    bound: usize,
    /// True where CPU times contain steal.
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
        self.threads.entry(thread).or_default().push_back(Part { start, end, spent, away: 0, held: 0, had: Had::None });
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

    /// What the thread did not get between two moments in which it used `cpu_ns`:
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

    /// The thread was blocked or waited in this span.
    pub fn away(&mut self, thread: ThreadId, from: TimeNs, to: TimeNs) {
        self.each_part(thread, from, to, |part, overlap| part.away += overlap);
    }

    /// The thread had this lock that others were blocked on in this span, and was not blocked
    /// itself. No moment may be in two spans.
    pub fn held(&mut self, thread: ThreadId, lock: LockId, from: TimeNs, to: TimeNs) {
        self.each_part(thread, from, to, |part, overlap| {
            part.held += overlap;
            part.had = part.had.and(lock);
        });
    }

    /// The thread had this lock, too, in a span in which it had another one.
    pub fn held_too(&mut self, thread: ThreadId, lock: LockId, from: TimeNs, to: TimeNs) {
        self.each_part(thread, from, to, |part, _| part.had = part.had.and(lock));
    }

    fn each_part(&mut self, thread: ThreadId, from: TimeNs, to: TimeNs, change: impl Fn(&mut Part, u64)) {
        let Some(parts) = self.threads.get_mut(&thread) else { return };
        let first = parts.partition_point(|part| part.end <= from);
        for part in parts.range_mut(first..).take_while(|part| part.start < to) {
            let overlap = part.end.min(to).since(part.start.max(from)).0;
            change(part, overlap);
        }
    }

    /// What the thread probably did between two moments, in which it had this lock and was neither
    /// blocked nor waiting. A thread that slept for most of an interval was without
    /// a CPU for no more of the span than for the rest of the interval.
    ///
    /// `each` gets each part of the span for some of which it had no CPU, and for how long.
    pub fn estimate(
        &self,
        thread: ThreadId,
        lock: LockId,
        from: TimeNs,
        to: TimeNs,
        mut each: impl FnMut(TimeNs, TimeNs, f64),
    ) -> Estimate {
        let mut sum = Estimate::default();
        for (part, overlap) in self.overlapping(thread, from, to) {
            let counted_twice = if self.included { part.spent.stolen } else { 0.0 };
            let lost = part.spent.lost();
            let cpu = (part.spent.cpu - counted_twice).max(0.0);
            let length = part.end.since(part.start).0 as f64;
            // Clocks differ: what was measured has happened.
            let busy = cpu + lost;
            let present = (length - part.away as f64).max(busy).max(overlap).max(1.0);
            // What it did is known of the interval only, not of the part with the lock. Nor is
            // it there while it is blocked elsewhere, with the lock or without.
            let there = (length - part.away as f64).max(busy);
            // Of several locks it is not known with which one it did what: the bound is that of
            // this span alone.
            let held = if part.had == Had::One(lock) { part.held as f64 } else { overlap };
            let held = held.max(overlap).max(1.0);
            sum.cpu_least += overlap * (cpu - (there - held).max(0.0)).max(0.0) / held;
            sum.asleep_least += overlap * (there.min(held) - busy).max(0.0) / held;
            sum.cpu += overlap * cpu / present;
            let off_cpu = overlap * lost / present;
            if off_cpu > 0.0 {
                each(part.start.max(from), part.end.min(to), off_cpu);
            }
            sum.off_cpu += off_cpu;
            sum.off_cpu_least += (lost - (present - overlap)).clamp(0.0, overlap);
            sum.off_cpu_most += lost.min(overlap);
            sum.measured += overlap;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(1);
    const L: LockId = LockId(7);

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
    fn a_thread_lacks_a_cpu_for_the_same_part_of_every_moment_it_is_there() {
        let history = history(9);
        let off = |from, to| history.estimate(T, L, TimeNs(from), TimeNs(to), |_, _, _| {});
        // 30 of 100 units were stolen, 50 computed; the other 20 it slept.
        assert!((off(0, 40).off_cpu - 12.0).abs() < 1e-9 && (off(0, 40).cpu - 20.0).abs() < 1e-9);
        assert_eq!((off(0, 40).off_cpu_least, off(0, 40).off_cpu_most), (0.0, 30.0));
        assert_eq!((off(0, 90).off_cpu_least, off(0, 90).off_cpu_most), (20.0, 30.0));
        assert!((off(0, 100).off_cpu - 30.0).abs() < 1e-9);
        // The larger of throttling and run queue: 40 of 100.
        assert!((off(390, 410).off_cpu - 4.0).abs() < 1e-9);
        assert_eq!(off(200, 300), Estimate::default(), "not measured");
    }

    #[test]
    fn a_blocked_thread_lacks_no_cpu() {
        let mut history = history(9);
        history.away(T, TimeNs(20), TimeNs(40));
        history.away(ThreadId(9), TimeNs(20), TimeNs(40));
        // 30 of the 80 units in which it was not blocked.
        assert!((history.estimate(T, L, TimeNs(0), TimeNs(8), |_, _, _| {}).off_cpu - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_thread_that_sleeps_for_most_of_an_interval_need_not_sleep_while_it_has_a_lock() {
        let mut history = History::new(9);
        // It executes for 20 of 100 units and has the lock for 10, then 90 of them.
        history.add(T, TimeNs(0), TimeNs(100), spent(20.0, 0.0, 0.0, 0.0));
        history.held(T, L, TimeNs(0), TimeNs(10));
        let short = history.estimate(T, L, TimeNs(0), TimeNs(10), |_, _, _| {});
        assert_eq!((short.asleep_least, short.cpu_least), (0.0, 0.0));
        assert!((short.cpu - 2.0).abs() < 1e-9);
        history.held(T, L, TimeNs(10), TimeNs(90));
        let long = history.estimate(T, L, TimeNs(0), TimeNs(90), |_, _, _| {});
        assert!((long.asleep_least - 70.0).abs() < 1e-9 && (long.cpu_least - 10.0).abs() < 1e-9, "{long:?}");
        // Blocked otherwise: there was no other time to sleep in.
        history.add(T, TimeNs(100), TimeNs(200), spent(2.0, 0.0, 0.0, 0.0));
        history.away(T, TimeNs(110), TimeNs(200));
        history.held(T, L, TimeNs(100), TimeNs(110));
        assert!((history.estimate(T, L, TimeNs(100), TimeNs(110), |_, _, _| {}).asleep_least - 8.0).abs() < 1e-9);
        // Blocked all the time, and with the lock for a part of that.
        history.add(T, TimeNs(200), TimeNs(300), spent(2.0, 0.0, 0.0, 0.0));
        history.away(T, TimeNs(200), TimeNs(298));
        history.held(T, L, TimeNs(240), TimeNs(290));
        assert!(history.estimate(T, L, TimeNs(240), TimeNs(290), |_, _, _| {}).asleep_least < 1e-9);
    }

    #[test]
    fn what_was_done_with_one_of_two_locks_is_not_said_of_the_other() {
        const OTHER: LockId = LockId(8);
        let mut history = History::new(9);
        // It executes for all of 10 units with the lock, and sleeps for nearly all of 900 with the other.
        history.add(T, TimeNs(0), TimeNs(1_000), spent(100.0, 0.0, 0.0, 0.0));
        history.held(T, L, TimeNs(0), TimeNs(10));
        history.held(T, OTHER, TimeNs(10), TimeNs(910));
        let short = history.estimate(T, L, TimeNs(0), TimeNs(10), |_, _, _| {});
        assert_eq!((short.asleep_least, short.cpu_least), (0.0, 0.0));
        // Slept for no less than 800, whatever it did otherwise.
        let long = history.estimate(T, OTHER, TimeNs(10), TimeNs(910), |_, _, _| {});
        assert!((long.asleep_least - 800.0).abs() < 1e-9, "{long:?}");
        history.add(T, TimeNs(1_000), TimeNs(2_000), spent(100.0, 0.0, 0.0, 0.0));
        history.held(T, L, TimeNs(1_000), TimeNs(1_900));
        history.held_too(T, OTHER, TimeNs(1_000), TimeNs(1_010));
        assert_eq!(history.estimate(T, OTHER, TimeNs(1_000), TimeNs(1_010), |_, _, _| {}).asleep_least, 0.0);
    }

    #[test]
    fn the_oldest_go_first() {
        let history = history(2);
        assert_eq!(history.folded, 1);
        assert_eq!(history.lost_with(T, TimeNs(0), TimeNs(100), 50.0), Spent::default());
        assert_eq!(history.lost_with(T, TimeNs(100), TimeNs(200), 80.0).cpu, 80.0);
    }
}
