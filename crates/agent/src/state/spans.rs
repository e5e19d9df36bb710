//! What a thread spends acquiring locks and parked, added up by the thread
//! itself where nothing but pressure is recorded: a contention then costs a few
//! words of the thread's own, and no event.
//!
//! # Protocol
//! Contentions are added up that lie whole in one interval of pressure, by lock
//! and interval, so that a sum says as much about its interval as they did. The
//! thread adds, the draining thread takes; [`Exclusive`] lets one in at a time. The
//! thread never waits: where it finds the other inside, its contention goes alone.
//! It sends what it has no room for while it is inside, so that the draining
//! thread, which takes the sums before it collects the buffers, finds each
//! contention in one or the other.

use crate::exclusive::Exclusive;
use headway_model::event::{Spent, SpentOn};
use headway_model::{ChainId, DurationNs, LockId, ThreadId, TimeNs};
use std::sync::atomic::{AtomicU64, Ordering};

/// Sums kept at once; one more sends the oldest on its way.
const KEPT: usize = 8;
/// How often the draining thread looks whether a thread has come out again.
const PATIENCE: usize = 100;

/// Where the intervals of pressure begin. Written before a recording begins.
#[derive(Default)]
pub struct Grid {
    from: AtomicU64,
    interval: AtomicU64,
}

impl Grid {
    /// Intervals of this length, one after the other.
    pub fn set(&self, from: TimeNs, interval: DurationNs) {
        self.from.store(from.0, Ordering::Relaxed);
        self.interval.store(interval.0.max(1), Ordering::Relaxed);
    }

    /// Begin and end of the interval in which something ended.
    fn around(&self, end: TimeNs) -> (TimeNs, TimeNs) {
        let (from, interval) = (self.from.load(Ordering::Relaxed), self.interval.load(Ordering::Relaxed).max(1));
        let begin = from + end.0.saturating_sub(from + 1) / interval * interval;
        (TimeNs(begin), TimeNs(begin + interval))
    }
}

/// A contention that is over.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When it began.
    pub start: TimeNs,
    /// When it was over.
    pub end: TimeNs,
    /// Whose it is.
    pub thread: ThreadId,
    /// On which lock.
    pub lock: LockId,
    /// What kind it is.
    pub on: SpentOn,
}

impl Span {
    fn alone(self) -> Spent {
        let Span { start, end, thread, lock, on } = self;
        Spent { time: end, thread, lock, chain: ChainId::NONE, on, count: 1, total: end.since(start) }
    }
}

#[derive(Clone, Copy, Default)]
struct SpanSum {
    /// None if `count` is 0.
    spent: Spent,
    from: TimeNs,
    until: TimeNs,
}

/// The sums of one platform thread.
#[derive(Default)]
pub struct Spans(Exclusive<[SpanSum; KEPT]>);

impl Spans {
    /// Adds a contention. What has no room is handed to `send`, now.
    #[inline]
    pub fn add(&self, span: Span, grid: &Grid, send: impl Fn(&Spent)) {
        if self.0.enter(|sums| add(sums, span, grid, &send)).is_none() {
            send(&span.alone());
        }
    }

    /// Takes everything; `None` if the thread does not come out.
    pub fn take(&self) -> Option<impl Iterator<Item = Spent>> {
        for _ in 0..PATIENCE {
            if let Some(sums) = self.0.enter(std::mem::take) {
                return Some(sums.into_iter().map(|sum| sum.spent).filter(|spent| spent.count > 0));
            }
            std::thread::yield_now();
        }
        None
    }
}

#[inline]
fn add(sums: &mut [SpanSum; KEPT], span: Span, grid: &Grid, send: &impl Fn(&Spent)) {
    let fits = |sum: &&mut SpanSum| {
        let spent = &sum.spent;
        (spent.lock, spent.on, spent.thread) == (span.lock, span.on, span.thread)
            && sum.from <= span.start
            && span.end <= sum.until
    };
    if let Some(sum) = sums.iter_mut().find(fits) {
        sum.spent.time = span.end;
        sum.spent.count += 1;
        sum.spent.total += span.end.since(span.start);
        return;
    }
    let (from, until) = grid.around(span.end);
    // One not in use has been there since ever.
    let oldest = sums.iter_mut().min_by_key(|sum| sum.spent.time).filter(|_| from <= span.start);
    let Some(oldest) = oldest else { return send(&span.alone()) };
    let sent = std::mem::replace(oldest, SpanSum { spent: span.alone(), from, until });
    if sent.spent.count > 0 {
        send(&sent.spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn grid() -> Grid {
        let grid = Grid::default();
        grid.set(TimeNs(1000), DurationNs(100));
        grid
    }

    fn span(start: u64, end: u64, lock: u64) -> Span {
        let (start, end) = (TimeNs(start), TimeNs(end));
        Span { start, end, thread: ThreadId(1), lock: LockId(lock), on: SpentOn::Monitor }
    }

    fn all(spans: &Spans, sent: RefCell<Vec<Spent>>) -> Vec<(u64, u64, u64, u64)> {
        let mut all = sent.into_inner();
        all.extend(spans.take().unwrap());
        all.iter().map(|spent| (spent.lock.0, spent.time.0, spent.count, spent.total.0)).collect()
    }

    #[test]
    fn an_interval_ends_with_its_last_moment() {
        let grid = grid();
        assert_eq!(grid.around(TimeNs(1100)), (TimeNs(1000), TimeNs(1100)));
        assert_eq!(grid.around(TimeNs(1101)), (TimeNs(1100), TimeNs(1200)));
        assert_eq!(grid.around(TimeNs(10)), (TimeNs(1000), TimeNs(1100)));
    }

    #[test]
    fn contentions_of_an_interval_become_one_and_what_reaches_over_its_edge_goes_alone() {
        let (spans, sent) = (Spans::default(), RefCell::<Vec<Spent>>::default());
        for span in [span(1010, 1020, 5), span(1030, 1100, 5), span(1090, 1110, 5), span(1120, 1121, 5)] {
            spans.add(span, &grid(), |spent: &Spent| sent.borrow_mut().push(*spent));
        }
        let mut all = all(&spans, sent);
        all.sort_unstable();
        assert_eq!(all, [(5, 1100, 2, 80), (5, 1110, 1, 20), (5, 1121, 1, 1)]);
    }

    #[test]
    fn nothing_is_lost_however_many_locks_there_are() {
        let (spans, sent) = (Spans::default(), RefCell::<Vec<Spent>>::default());
        for i in 0..5000 {
            spans.add(span(1000 + i, 1001 + i, i % 20), &grid(), |spent: &Spent| sent.borrow_mut().push(*spent));
        }
        let all = all(&spans, sent);
        assert_eq!(all.iter().map(|(_, _, count, _)| count).sum::<u64>(), 5000);
        assert_eq!(all.iter().map(|(.., total)| total).sum::<u64>(), 5000);
        let inside = |(_, time, _, total): &(u64, u64, u64, u64)| (time - 1001) / 100 == (time - total - 1000) / 100;
        assert!(all.iter().all(inside), "{all:?}");
        assert_eq!(spans.take().unwrap().count(), 0);
    }

    #[test]
    fn who_finds_the_sums_taken_does_not_wait() {
        let (spans, sent) = (Spans::default(), RefCell::<Vec<Spent>>::default());
        let inside = spans.0.enter(|_| {
            spans.add(span(1010, 1020, 5), &grid(), |spent: &Spent| sent.borrow_mut().push(*spent));
            assert_eq!(sent.borrow().len(), 1);
            assert!(spans.take().is_none());
        });
        assert!(inside.is_some());
    }
}
