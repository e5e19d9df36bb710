//! Spans of time cut at the edges of intervals, and added up.

use super::tally::Tally;
use super::OwnerChain;
use crate::monitor::Slice;
use crate::options::Bounds;
use headway_model::{ChainId, DurationNs, LockId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What happened on one lock in one interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Time that threads spent acquiring it.
    pub acquiring: u64,
    /// Who spent it.
    pub acquirers: Tally<ChainId>,
    /// Who held it meanwhile.
    pub owners: Tally<OwnerChain>,
    /// How the time divides; all 0 where that is not kept.
    pub parts: Parts,
}

/// How time spent acquiring a lock divides, of contentions that were recorded one by one. In ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// An owner is known.
    pub owned: u64,
    /// Nobody had the lock: the next thread did not run yet.
    pub hand_off: u64,
    /// The whole VM was paused.
    pub paused: u64,
    /// Nothing is known.
    pub unknown: u64,
}

impl Parts {
    /// Adds another interval's, or another lock's.
    pub fn merge(&mut self, other: Parts) {
        self.owned += other.owned;
        self.hand_off += other.hand_off;
        self.paused += other.paused;
        self.unknown += other.unknown;
    }

    /// `ns` of a slice lie here.
    #[inline]
    fn add(&mut self, slice: &Slice, ns: u64) {
        let paused = match slice.stop_the_world {
            DurationNs::ZERO => 0,
            all => (u128::from(all.0) * u128::from(ns) / u128::from(slice.duration.0.max(1))) as u64,
        }
        .min(ns);
        self.paused += paused;
        *match slice.basis {
            basis if basis.is_hand_off() => &mut self.hand_off,
            basis if basis.is_known() => &mut self.owned,
            _ => &mut self.unknown,
        } += ns - paused;
    }
}

impl Cell {
    /// Adds another lock's, or another interval's.
    pub fn merge(&mut self, other: &Cell) {
        self.acquiring += other.acquiring;
        self.acquirers.merge(&other.acquirers);
        self.owners.merge(&other.owners);
        self.parts.merge(other.parts);
    }
}

/// One interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Condition waiting of threads whose lives count.
    pub waiting: u64,
    /// Acquiring time of threads whose lives do not count.
    pub beyond_lives: u64,
    /// Acquiring time of all locks.
    pub acquiring: u64,
    /// Locks on which time was spent.
    pub cells: FxHashMap<LockId, Cell>,
}

impl Window {
    /// Running time, given how long threads lived.
    pub fn running(&self, lives: u64) -> u64 {
        (lives + self.beyond_lives).saturating_sub(self.waiting).max(self.acquiring)
    }

    fn merge(&mut self, other: Window) {
        self.waiting += other.waiting;
        self.beyond_lives += other.beyond_lives;
        self.acquiring += other.acquiring;
        for (lock, cell) in other.cells {
            self.cells.entry(lock).or_default().merge(&cell);
        }
    }
}

/// The interval asked for last, by number and begin: most spans are in the same
/// one as the span before, and need no division.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    number: u64,
    begin: u64,
}

/// The intervals not closed yet, in order.
#[derive(Debug)]
pub(crate) struct Windows {
    interval: u64,
    from: TimeNs,
    to: TimeNs,
    /// Number of the first interval kept.
    first: u64,
    windows: VecDeque<Window>,
    latest: Latest,
    /// Up to here everything is accounted for.
    settled: TimeNs,
    cells: usize,
    most_cells: usize,
    most_windows: usize,
    pub folded: u64,
}

impl Windows {
    pub fn new(interval: DurationNs, bounds: Bounds) -> Windows {
        Windows {
            interval: interval.0,
            from: TimeNs(0),
            to: TimeNs(u64::MAX),
            first: 0,
            windows: VecDeque::new(),
            latest: Latest::default(),
            settled: TimeNs(0),
            cells: 0,
            most_cells: bounds.pressure_cells,
            most_windows: bounds.pressure_windows.max(2),
            folded: 0,
        }
    }

    pub fn set_range(&mut self, from: TimeNs, to: TimeNs) {
        (self.from, self.to) = (from, to);
        self.settled = from;
        self.latest = Latest::default();
    }

    /// Length of an interval: what was asked for, or longer where that would
    /// have been too many.
    pub fn interval(&self) -> DurationNs {
        DurationNs(self.interval)
    }

    pub fn from(&self) -> TimeNs {
        self.from
    }

    pub fn to(&self) -> TimeNs {
        self.to
    }

    /// The intervals kept.
    pub fn iter(&self) -> impl Iterator<Item = &Window> {
        self.windows.iter()
    }

    /// Everything before `until` is accounted for; what comes of it later was
    /// counted already.
    pub fn settled(&mut self, until: TimeNs) {
        self.settled = self.settled.max(until);
    }

    pub fn add_waiting(&mut self, from: TimeNs, to: TimeNs) {
        self.each(from, to, |window, ns, _| window.waiting += ns);
    }

    pub fn add_acquiring(&mut self, lock: LockId, chain: ChainId, from: TimeNs, to: TimeNs, beyond_lives: bool) {
        self.each(from, to, |window, ns, budget| {
            window.acquiring += ns;
            window.beyond_lives += if beyond_lives { ns } else { 0 };
            if let Some(cell) = cell(window, lock, budget) {
                cell.acquiring += ns;
                if chain.is_some() {
                    cell.acquirers.add(chain, ns);
                }
            }
        });
    }

    /// An owner held the lock while others waited.
    pub fn add_owner(&mut self, lock: LockId, owner: OwnerChain, from: TimeNs, to: TimeNs) {
        let settled = std::mem::replace(&mut self.settled, self.from);
        self.each(from, to, |window, ns, budget| {
            if let Some(cell) = cell(window, lock, budget) {
                cell.owners.add(owner, ns);
            }
        });
        self.settled = settled;
    }

    /// The same for owners that followed each other within a span; `slices` of the contention if its parts are kept.
    pub fn add_owners(
        &mut self,
        lock: LockId,
        (from, to): (TimeNs, TimeNs),
        owners: impl Iterator<Item = (OwnerChain, TimeNs, TimeNs)>,
        slices: &[Slice],
    ) {
        let Some(number) = self.only_window(from, to) else {
            owners.for_each(|(owner, from, to)| self.add_owner(lock, owner, from, to));
            slices.iter().for_each(|slice| self.add_part(lock, slice));
            return;
        };
        let mut budget = Budget { left: self.most_cells.saturating_sub(self.cells), folded: 0 };
        let before = budget.left;
        let mut owners = owners.peekable();
        // An interval has no cell of a lock that nobody is known to have held.
        if owners.peek().is_some() || !slices.is_empty() {
            if let Some(cell) = self.windows.get_mut(number).and_then(|window| cell(window, lock, &mut budget)) {
                owners.for_each(|(owner, from, to)| cell.owners.add(owner, to.since(from).0));
                slices.iter().for_each(|slice| cell.parts.add(slice, slice.duration.0));
            }
        }
        self.cells += before - budget.left;
        self.folded += budget.folded;
    }

    /// A slice of a contention, by whether the lock had an owner then.
    fn add_part(&mut self, lock: LockId, slice: &Slice) {
        self.each(slice.start, slice.start + slice.duration, |window, ns, budget| {
            if let Some(cell) = cell(window, lock, budget) {
                cell.parts.add(slice, ns);
            }
        });
    }

    /// Number of the interval of a moment, and where in the interval it is.
    #[inline]
    fn interval_of(&mut self, time: TimeNs) -> (u64, u64) {
        let since = time.since(self.from).0;
        let within = since.wrapping_sub(self.latest.begin);
        if within < self.interval {
            return (self.latest.number, within);
        }
        let number = since / self.interval;
        self.latest = Latest { number, begin: number * self.interval };
        (number, since - self.latest.begin)
    }

    /// Place of the interval in which a span lies whole; `None` if there is none.
    fn only_window(&mut self, from: TimeNs, to: TimeNs) -> Option<usize> {
        if from < self.from || to > self.to || from >= to {
            return None;
        }
        let (first, rest) = self.interval_of(from);
        if to.since(from).0 > self.interval - rest {
            return None;
        }
        let place = usize::try_from(first.checked_sub(self.first)?).ok()?;
        (place < self.windows.len()).then_some(place)
    }

    /// Calls `add` for every interval that the span touches, with the part of
    /// the span that lies in it.
    fn each(&mut self, from: TimeNs, to: TimeNs, mut add: impl FnMut(&mut Window, u64, &mut Budget)) {
        let (mut at, to) = (from.max(self.settled).max(self.from), to.min(self.to));
        if at >= to {
            return;
        }
        self.make_room(to);
        let mut budget = Budget { left: self.most_cells.saturating_sub(self.cells), folded: 0 };
        let before = budget.left;
        while at < to {
            let (number, within) = self.interval_of(at);
            let next = (at + DurationNs(self.interval - within)).min(to);
            let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
            if let Some(window) = place.and_then(|place| self.windows.get_mut(place)) {
                add(window, next.since(at).0, &mut budget);
            }
            at = next;
        }
        self.cells += before - budget.left;
        self.folded += budget.folded;
    }

    /// Sees to it that there is an interval for the moment before `to`.
    fn make_room(&mut self, to: TimeNs) {
        loop {
            let (last, _) = self.interval_of(to - DurationNs(1));
            let needed = last.saturating_sub(self.first).saturating_add(1);
            if needed <= self.most_windows as u64 {
                let needed = needed as usize;
                if self.windows.len() < needed {
                    self.windows.resize_with(needed, Window::default);
                }
                return;
            }
            self.coarsen();
        }
    }

    /// Twice as long intervals: too many would be needed. Totals stay.
    fn coarsen(&mut self) {
        self.folded += 1;
        let mut kept = std::mem::take(&mut self.windows).into_iter();
        let mut coarse = VecDeque::new();
        if self.first % 2 == 1 {
            coarse.extend(kept.next());
        }
        while let Some(mut window) = kept.next() {
            if let Some(next) = kept.next() {
                window.merge(next);
            }
            coarse.push_back(window);
        }
        self.cells = coarse.iter().map(|window: &Window| window.cells.len()).sum();
        self.windows = coarse;
        self.first /= 2;
        self.interval = self.interval.saturating_mul(2);
        self.latest = Latest::default();
    }

    /// Sees to it that there is an interval for every moment before `end`.
    pub fn extend_to(&mut self, end: TimeNs) {
        let end = end.min(self.to);
        if end > self.from {
            self.make_room(end);
        }
    }

    /// Takes the first interval out.
    pub fn take_first(&mut self) -> Option<Window> {
        let window = self.windows.pop_front()?;
        self.cells -= window.cells.len().min(self.cells);
        self.first += 1;
        Some(window)
    }
}

/// Cells that may still be made.
struct Budget {
    left: usize,
    folded: u64,
}

fn cell<'a>(window: &'a mut Window, lock: LockId, budget: &mut Budget) -> Option<&'a mut Cell> {
    if budget.left == 0 && !window.cells.contains_key(&lock) {
        budget.folded += 1;
        return None;
    }
    Some(window.cells.entry(lock).or_insert_with(|| {
        budget.left -= 1;
        Cell::default()
    }))
}

/// How long threads lived in each of `count` intervals from `from` on.
pub(crate) fn lives(
    lives: impl Iterator<Item = (TimeNs, TimeNs)>,
    from: TimeNs,
    end: TimeNs,
    interval: DurationNs,
    count: usize,
) -> Vec<u64> {
    let mut partial = vec![0u64; count];
    // Threads that live through a whole interval, as changes from the one before.
    let mut change = vec![0i64; count + 1];
    for (start, stop) in lives {
        let (start, stop) = (start.max(from).since(from).0, stop.min(end).since(from).0);
        if start >= stop {
            continue;
        }
        let (first, last) = ((start / interval.0) as usize, ((stop - 1) / interval.0) as usize);
        let edge = |number: usize| (number as u64).saturating_mul(interval.0);
        for number in [first, last] {
            if let Some(partial) = partial.get_mut(number) {
                *partial += stop.min(edge(number + 1)) - start.max(edge(number));
            }
            if first == last {
                break;
            }
        }
        if last > first + 1 && first < count {
            change[first + 1] += 1;
            change[last.min(count)] -= 1;
        }
    }
    let mut alive = 0i64;
    let whole = change.into_iter().map(|change| {
        alive += change;
        alive.unsigned_abs() * interval.0
    });
    partial.into_iter().zip(whole).map(|(partial, whole)| partial + whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(interval: u64) -> Windows {
        let mut windows = Windows::new(DurationNs(interval), Bounds::offline());
        windows.set_range(TimeNs(1000), TimeNs(u64::MAX));
        windows
    }

    #[test]
    fn spans_are_cut_at_edges() {
        let mut windows = windows(100);
        windows.add_acquiring(LockId(1), ChainId(9), TimeNs(1050), TimeNs(1320), false);
        let acquired: Vec<u64> = windows.iter().map(|window| window.cells[&LockId(1)].acquiring).collect();
        assert_eq!(acquired, [50, 100, 100, 20]);
    }

    #[test]
    fn what_is_settled_is_not_counted_again() {
        let mut windows = windows(100);
        windows.settled(TimeNs(1100));
        windows.add_waiting(TimeNs(900), TimeNs(1150));
        assert_eq!(windows.iter().map(|window| window.waiting).collect::<Vec<_>>(), [0, 50]);
        windows.take_first();
        windows.add_waiting(TimeNs(1150), TimeNs(1160));
        assert_eq!(windows.iter().map(|window| window.waiting).collect::<Vec<_>>(), [60]);
    }

    #[test]
    fn too_many_intervals_become_longer_ones() {
        let bounds = Bounds { pressure_windows: 4, ..Bounds::offline() };
        let mut windows = Windows::new(DurationNs(100), bounds);
        windows.set_range(TimeNs(0), TimeNs(u64::MAX));
        for at in [10, 110, 210, 310, 410, 910] {
            windows.add_acquiring(LockId(1), ChainId::NONE, TimeNs(at), TimeNs(at + 10), false);
        }
        assert_eq!(windows.interval(), DurationNs(400));
        assert_eq!(windows.iter().map(|window| window.acquiring).collect::<Vec<_>>(), [40, 10, 10]);
        assert_eq!((windows.folded, windows.cells), (2, 3));
    }

    #[test]
    fn too_many_locks_are_folded_into_the_total() {
        let bounds = Bounds { pressure_cells: 2, ..Bounds::offline() };
        let mut windows = Windows::new(DurationNs(100), bounds);
        for lock in 1..=3 {
            windows.add_acquiring(LockId(lock), ChainId::NONE, TimeNs(0), TimeNs(10), false);
        }
        let window = windows.iter().next().unwrap();
        assert_eq!((window.cells.len(), window.acquiring, windows.folded), (2, 30, 1));
    }

    #[test]
    fn owners_within_a_span_count_as_they_do_one_by_one() {
        let chains = [(ChainId(1), 0), (ChainId(2), 0), (ChainId(1), 1)];
        // Within an interval, up to its edge, over it, before the range.
        for span in [(1010, 1090), (1020, 1100), (1020, 1110), (990, 1010), (1000, 1000)] {
            let (from, to) = (TimeNs(span.0), TimeNs(span.1));
            let middle = TimeNs((span.0 + span.1) / 2);
            let owners = [(chains[0], from, middle), (chains[1], middle, to), (chains[2], middle, to)];
            let (mut together, mut apart) = (windows(100), windows(100));
            for windows in [&mut together, &mut apart] {
                windows.add_waiting(TimeNs(1000), TimeNs(1200));
            }
            together.add_owners(LockId(1), (from, to), owners.iter().copied(), &[]);
            owners.iter().for_each(|(owner, from, to)| apart.add_owner(LockId(1), *owner, *from, *to));
            let told = |windows: &Windows| format!("{:?} {} {}", windows.windows, windows.cells, windows.folded);
            assert_eq!(told(&together), told(&apart), "{span:?}");
        }
    }

    #[test]
    fn lives_are_pro_rated_at_the_edges() {
        let spans = [(0, 1000), (150, 160), (90, 310), (100, 200), (300, 300)];
        let lived =
            lives(spans.into_iter().map(|(a, b)| (TimeNs(a), TimeNs(b))), TimeNs(50), TimeNs(400), DurationNs(100), 4);
        // Intervals: 50-150, 150-250, 250-350, 350-400.
        assert_eq!(lived, [100 + 60 + 50, 100 + 10 + 100 + 50, 100 + 60, 50]);
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let for_ever = (TimeNs(0), TimeNs(u64::MAX));
        assert_eq!(lives([for_ever].into_iter(), TimeNs(50), TimeNs(u64::MAX), DurationNs(100), 2), [100, 100]);
    }
}
