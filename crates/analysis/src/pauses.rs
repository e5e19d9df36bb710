//! Stop-the-world pauses, and how much of a span lies in them.

use crate::report;
use headway_model::{DurationNs, TimeNs};
use std::collections::VecDeque;

/// Pauses in time order, not overlapping.
#[derive(Debug)]
pub(crate) struct Pauses {
    pauses: VecDeque<Pause>,
    bound: usize,
    /// Pauses no longer remembered.
    pub folded: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    start: TimeNs,
    end: TimeNs,
    /// Paused time before `start`, since an arbitrary zero.
    before: u64,
}

impl Pauses {
    pub fn new(bound: usize) -> Pauses {
        Pauses { pauses: VecDeque::new(), bound: bound.max(1), folded: 0 }
    }

    /// Takes in a pause. Overlapping ones become one.
    pub fn add(&mut self, start: TimeNs, duration: DurationNs) {
        let mut new = Pause { start, end: start + duration, before: 0 };
        let mut at = self.pauses.partition_point(|pause| pause.start <= start);
        while at > 0 && self.pauses[at - 1].end >= new.start {
            at -= 1;
            new.start = new.start.min(self.pauses[at].start);
            new.end = new.end.max(self.pauses[at].end);
            self.pauses.remove(at);
        }
        while self.pauses.get(at).is_some_and(|pause| pause.start <= new.end) {
            new.end = new.end.max(self.pauses[at].end);
            self.pauses.remove(at);
        }
        self.pauses.insert(at, new);
        self.renumber(at);
        if self.pauses.len() > self.bound {
            self.pauses.pop_front();
            self.folded += 1;
        }
    }

    fn renumber(&mut self, from: usize) {
        let mut before = match from.checked_sub(1).and_then(|i| self.pauses.get(i)) {
            Some(pause) => pause.before + pause.end.since(pause.start).0,
            None => self.pauses.get(from).map_or(0, |pause| pause.before),
        };
        for pause in self.pauses.range_mut(from..) {
            pause.before = before;
            before += pause.end.since(pause.start).0;
        }
    }

    /// True if no pause lies in the span.
    pub fn none_in(&self, start: TimeNs, end: TimeNs) -> bool {
        match self.pauses.back() {
            None => true,
            Some(last) if last.end <= start => true,
            Some(_) => self.within(start, end) == DurationNs::ZERO,
        }
    }

    /// Paused time between `start` and `end`.
    pub fn within(&self, start: TimeNs, end: TimeNs) -> DurationNs {
        DurationNs(self.before(end).saturating_sub(self.before(start)))
    }

    fn before(&self, time: TimeNs) -> u64 {
        let after = self.pauses.partition_point(|pause| pause.start < time);
        match after.checked_sub(1).and_then(|i| self.pauses.get(i)) {
            Some(pause) => pause.before + pause.end.min(time).since(pause.start).0,
            None => self.pauses.front().map_or(0, |pause| pause.before),
        }
    }

    /// Count, total and longest of the pauses as far as they lie in the range.
    pub fn summary(&self, from: TimeNs, to: TimeNs) -> report::Pauses {
        let mut summary = report::Pauses::default();
        for pause in &self.pauses {
            let length = pause.end.min(to).since(pause.start.max(from)).0;
            if length > 0 {
                summary.count += 1;
                summary.total_ns += length;
                summary.max_ns = summary.max_ns.max(length);
            }
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(list: &[(u64, u64)]) -> Pauses {
        let mut pauses = Pauses::new(100);
        for (start, end) in list {
            pauses.add(TimeNs(*start), DurationNs(end - start));
        }
        pauses
    }

    #[test]
    fn spans_count_what_lies_in_them_in_any_order_of_arrival() {
        for list in [[(10, 20), (30, 40), (50, 60)], [(50, 60), (10, 20), (30, 40)]] {
            let pauses = pauses(&list);
            let within = |a, b| pauses.within(TimeNs(a), TimeNs(b)).0;
            assert_eq!(within(0, 100), 30);
            assert_eq!(within(15, 35), 10);
            assert_eq!(within(20, 30), 0);
            assert_eq!(within(12, 14), 2);
            assert_eq!(within(55, 90), 5);
            assert!(pauses.none_in(TimeNs(41), TimeNs(49)));
        }
    }

    #[test]
    fn overlapping_pauses_count_once() {
        let pauses = pauses(&[(10, 20), (40, 50), (15, 45)]);
        assert_eq!(pauses.within(TimeNs(0), TimeNs(100)).0, 40);
        assert_eq!(pauses.summary(TimeNs(0), TimeNs(30)).total_ns, 20);
    }

    #[test]
    fn beyond_the_bound_the_oldest_are_forgotten_and_counted() {
        let mut pauses = Pauses::new(2);
        for start in [10, 20, 30] {
            pauses.add(TimeNs(start), DurationNs(5));
        }
        assert_eq!(pauses.folded, 1);
        assert_eq!(pauses.within(TimeNs(0), TimeNs(100)).0, 10);
    }
}
