//! CPU time and off-CPU time of each thread, interval by interval, as rows; and which
//! owners of locks were probably not running.

use crate::contract::{How, Kind};
use crate::table::{Row, RowSum, Table, NO_CPU};
use rustc_hash::FxHashMap;

/// Part of a slice from which on its owner counts as not running.
const MOSTLY: f64 = 0.5;

/// An interval of one thread. Times count from the recording's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    pub start: u64,
    pub end: u64,
    /// CPU time without steal.
    pub ran: u64,
    pub steal: u64,
    pub throttled: u64,
    pub queued: u64,
}

impl Interval {
    /// Steal and the larger of the other two: most kernels count what the
    /// quota held back as waiting for a CPU, too.
    fn off_cpu(&self) -> u64 {
        self.steal + self.throttled.max(self.queued)
    }

    fn join(&mut self, next: &Interval) {
        self.end = self.end.max(next.end);
        self.ran += next.ran;
        self.steal += next.steal;
        self.throttled += next.throttled;
        self.queued += next.queued;
    }
}

/// See the module. Bounded: where there are too many intervals, neighbours of
/// one thread are put together.
#[derive(Debug)]
pub(crate) struct Measured {
    threads: FxHashMap<u32, Vec<Interval>>,
    /// How many measured intervals make one that is kept.
    joined: usize,
    /// How many are in the last one of each thread.
    open: FxHashMap<u32, usize>,
    kept: usize,
    bound: usize,
}

impl Measured {
    pub fn new(bound: usize) -> Measured {
        Measured { threads: FxHashMap::default(), joined: 1, open: FxHashMap::default(), kept: 0, bound: bound.max(2) }
    }

    /// Adds an interval of a thread; a thread's come in time order.
    pub fn add(&mut self, thread: u32, interval: Interval) {
        let intervals = self.threads.entry(thread).or_default();
        let open = self.open.entry(thread).or_default();
        match intervals.last_mut().filter(|_| *open < self.joined && *open > 0) {
            Some(last) => last.join(&interval),
            None => {
                *open = 0;
                intervals.push(interval);
                self.kept += 1;
            }
        }
        *open += 1;
        if self.kept > self.bound {
            self.halve();
        }
    }

    fn halve(&mut self) {
        // Threads with one interval each cannot be made fewer.
        self.bound = self.bound.max(2 * self.threads.len());
        self.joined *= 2;
        self.open.clear();
        for intervals in self.threads.values_mut() {
            *intervals = intervals.chunks(2).filter_map(joined).collect();
        }
        self.kept = self.threads.values().map(Vec::len).sum();
    }

    /// Adds a row for each time of each interval.
    pub fn rows(&self, table: &mut Table) {
        let mut threads: Vec<u32> = self.threads.keys().copied().collect();
        threads.sort_unstable();
        for thread in threads {
            for interval in self.threads.get(&thread).into_iter().flatten() {
                let times = [
                    (Kind::Ran, interval.ran),
                    (Kind::Steal, interval.steal),
                    (Kind::Throttled, interval.throttled),
                    (Kind::Queued, interval.queued),
                ];
                for (kind, total) in times.into_iter().filter(|(_, total)| *total > 0) {
                    let span = interval.end.saturating_sub(interval.start).max(1);
                    let row = Row { start: interval.start, span, thread, kind: kind as u8, ..Row::default() };
                    table.add_sum(row, RowSum::of(total, 1, total));
                }
            }
        }
    }

    /// Marks slices for most of which the owner was probably not running.
    pub fn mark(&self, table: &mut Table) {
        if self.threads.is_empty() {
            return;
        }
        for row in table.rows_mut() {
            let known = matches!(row.how(), How::Exit | How::Seen | How::Previous);
            if row.kind <= Kind::Juc as u8 && known && row.owner > 0 && self.off_cpu(row) >= row.span as f64 * MOSTLY {
                row.flags |= NO_CPU;
            }
        }
    }

    /// How long the owner was probably ready but not running: in each interval
    /// the part of its ready time that was off-CPU, but no more than that.
    fn off_cpu(&self, row: &Row) -> f64 {
        let Some(intervals) = self.threads.get(&row.owner) else { return 0.0 };
        let (from, to) = (row.start, row.start + row.span.max(1));
        let first = intervals.partition_point(|interval| interval.end <= from);
        let during = intervals.iter().skip(first).take_while(|interval| interval.start < to);
        during
            .map(|interval| {
                let overlap = (interval.end.min(to) - interval.start.max(from)) as f64;
                let off_cpu = interval.off_cpu() as f64;
                let ready = interval.ran as f64 + off_cpu;
                if ready > 0.0 {
                    (overlap * off_cpu / ready).min(off_cpu)
                } else {
                    0.0
                }
            })
            .sum()
    }
}

fn joined(intervals: &[Interval]) -> Option<Interval> {
    let (first, rest) = intervals.split_first()?;
    let mut joined = *first;
    rest.iter().for_each(|next| joined.join(next));
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(second: u64, ran: u64, queued: u64) -> Interval {
        Interval { start: second * 100, end: second * 100 + 100, ran, queued, ..Interval::default() }
    }

    fn slice(start: u64, span: u64, owner: u32) -> Row {
        Row { start, span, thread: 9, owner, how: How::Exit as u8, ..Row::default() }
    }

    #[test]
    fn an_owner_that_did_not_run_is_marked() {
        let mut measured = Measured::new(100);
        measured.add(1, interval(0, 80, 10));
        measured.add(1, interval(1, 20, 80));
        let mut table = Table::new(1024);
        // Mostly running, mostly waiting for a CPU, half of each, nobody measured.
        for row in [slice(10, 50, 1), slice(120, 50, 1), slice(50, 100, 1), slice(120, 50, 2)] {
            table.add(std::iter::once(row));
        }
        measured.mark(&mut table);
        let marked: Vec<bool> = table.rows().iter().map(|row| row.flags & NO_CPU != 0).collect();
        assert_eq!(marked, [false, true, false, false]);
    }

    #[test]
    fn too_many_intervals_are_put_together_and_no_time_is_dropped() {
        let mut measured = Measured::new(10);
        for second in 0..100 {
            measured.add(1, interval(second, 30, 5));
            measured.add(2, interval(second, 10, 0));
        }
        let mut table = Table::new(1024);
        measured.rows(&mut table);
        let total = |kind: Kind, thread: u32| {
            let rows = table.rows().iter().enumerate();
            let rows = rows.filter(|(_, row)| row.kind == kind as u8 && row.thread == thread);
            rows.map(|(place, _)| table.sum(place).total).sum::<u64>()
        };
        assert_eq!((total(Kind::Ran, 1), total(Kind::Ran, 2), total(Kind::Queued, 1)), (3000, 1000, 500));
        assert!(table.rows().len() <= 15, "{} rows", table.rows().len());
        let last = table.rows().iter().map(|row| row.start + row.span).max();
        assert_eq!(last, Some(10_000));
    }
}
