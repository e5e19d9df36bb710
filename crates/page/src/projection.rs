//! Sums of contentions, waits and samples that are too many to be kept one by one.
//!
//! Each is cut at the edges of intervals and added to two projections: *totals* by
//! interval, thread, lock and kind, without call stacks, and *stacks* by interval,
//! lock, kind, both call chains and the owner. Their totals are the same and exact.
//! A projection has a bound. Beyond it intervals become longer, of stacks also
//! threads give way to their groups and locks to their names; of the totals those of
//! the threads with the least time are put together, by group, and if that is not enough
//! also those of the locks with the least time, by name. Time is never moved
//! from one interval to another one.

use crate::table::{Row, RowSum, APPROXIMATE, CONTINUES, STACKS, SUMMED, TOTALS};
use rustc_hash::{FxHashMap, FxHashSet};

/// The first length of intervals. Longer ones are 2, 10, 20, 100, ... times as long:
/// each contains whole shorter ones, and whole seconds contain whole intervals.
const SHORTEST_NS: u64 = 1_000_000;
/// As many intervals are kept if there is any other way to save room.
const ENOUGH_INTERVALS: u64 = 512;
/// Threads that are always kept apart.
const LEAST_THREADS: usize = 64;
/// Locks that are always kept apart: as many as a report has.
const LEAST_LOCKS: usize = 10_000;
/// A step that leaves more than this part of the cells is not worth what it loses.
const WORTH: f64 = 0.8;

/// What stands for several threads or locks.
pub trait StandIns {
    /// For all threads of a thread's group.
    fn group(&mut self, thread: u32) -> u32;
    /// For those threads of a thread's group that are not kept apart.
    fn rest_of_group(&mut self, thread: u32) -> u32;
    /// For all locks of a lock's name.
    fn lock_name(&mut self, lock: u32) -> u32;
    /// For those locks of a lock's name that are not kept apart.
    fn rest_of_name(&mut self, lock: u32) -> u32;
}

/// What must be equal to be added up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Cell {
    interval: u64,
    thread: u32,
    chain: u32,
    lock: u32,
    owner: u32,
    owner_chain: u32,
    inside: u32,
    kind: u8,
    how: u8,
    flags: u8,
}

#[derive(Clone, Copy, Default, Debug)]
struct Total {
    sum: RowSum,
    stopped: u64,
}

impl Total {
    /// `first` if this is the first part of a longer interval.
    fn add(&mut self, sum: RowSum, stopped: u64, first: bool) {
        self.sum.total += sum.total;
        self.sum.count += sum.count;
        self.sum.apart += sum.apart;
        self.sum.going += if first { sum.going } else { 0 };
        self.sum.max = self.sum.max.max(sum.max);
        self.stopped += stopped;
    }
}

/// What cells of stacks do not keep apart any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Coarse {
    threads: bool,
    locks: bool,
    owners: bool,
}

/// Sums by interval and more.
#[derive(Debug)]
pub(crate) struct Projection {
    /// True if call stacks are kept.
    stacks: bool,
    cells: FxHashMap<Cell, Total>,
    interval: u64,
    coarse: Coarse,
    /// Steps of [`Coarse`] that were tried.
    tried: usize,
    /// Threads that another one stands for.
    folded: FxHashMap<u32, u32>,
    /// Locks that another one stands for.
    folded_locks: FxHashMap<u32, u32>,
    /// No step gains anything.
    coarsest: bool,
    /// End of the last interval that has a cell.
    end: u64,
    /// Cells added to, or looked at to save room, each time counted.
    pub visits: u64,
}

impl Projection {
    pub fn new(stacks: bool) -> Projection {
        Projection {
            stacks,
            cells: FxHashMap::default(),
            interval: SHORTEST_NS,
            coarse: Coarse::default(),
            tried: 0,
            folded: FxHashMap::default(),
            folded_locks: FxHashMap::default(),
            coarsest: false,
            end: 0,
            visits: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Length of the intervals.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Threads that were put together.
    pub fn folded(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.folded.iter().map(|(thread, rest)| (*thread, *rest))
    }

    /// Locks that were put together.
    pub fn folded_locks(&self) -> usize {
        self.folded_locks.len()
    }

    /// True if stacks are kept by groups of threads.
    pub fn by_group(&self) -> bool {
        self.coarse.threads || self.coarse.owners
    }

    /// Adds the rows of a contention, in time order; `sum` is what a row stands for
    /// that already stands for several. Where its rows alone would fill more than `most` cells,
    /// intervals become longer before.
    pub fn add(&mut self, rows: &[Row], sum: Option<RowSum>, most: usize, stand_ins: &mut dyn StandIns) {
        let length: u64 = rows.iter().map(|row| row.span).sum();
        while length / self.interval > most as u64 {
            self.widen();
        }
        // Interval of the latest part.
        let mut latest: Option<u64> = None;
        for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.span > 0) {
            let cell = self.cell_of(row, stand_ins);
            let is_new = !rows[..place].iter().any(|other| other.span > 0 && (!self.stacks || same(other, row)));
            let mut at = row.start;
            loop {
                let interval = at / self.interval;
                let end = (row.start + row.span).min((interval + 1) * self.interval);
                let share = |all: u64| share_of(all, at - row.start, end - row.start, row.span);
                let begins = latest.is_none();
                let single = || RowSum {
                    total: share(row.span),
                    count: u64::from(begins),
                    apart: u64::from(is_new && at == row.start),
                    going: u64::from(latest.is_some_and(|latest| latest != interval)),
                    max: if begins { length } else { 0 },
                };
                let several = |sum: RowSum| {
                    let (count, going) = row.counts(sum, at, end);
                    let begun = count - going;
                    RowSum { total: share(sum.total), count: begun, apart: begun, going, max: sum.max }
                };
                let part = sum.map_or_else(single, several);
                self.cells.entry(Cell { interval, ..cell }).or_default().add(part, share(row.stopped), true);
                self.visits += 1;
                self.end = self.end.max((interval + 1) * self.interval);
                latest = Some(interval);
                at = end;
                if at >= row.start + row.span {
                    break;
                }
            }
        }
    }

    fn cell_of(&self, row: &Row, stand_ins: &mut dyn StandIns) -> Cell {
        let thread = self.folded.get(&row.thread).copied().unwrap_or(row.thread);
        let lock = self.folded_locks.get(&row.lock).copied().unwrap_or(row.lock);
        let plain = Cell { thread, lock, kind: row.kind, ..Cell::default() };
        if !self.stacks {
            return plain;
        }
        let cell = Cell {
            chain: row.chain,
            owner: row.owner,
            owner_chain: row.owner_chain,
            inside: row.inside,
            how: row.how,
            flags: row.flags & APPROXIMATE,
            ..plain
        };
        coarser(cell, self.coarse, stand_ins)
    }

    /// Saves room until there are no more than so many cells, or until no step saves
    /// any.
    pub fn fit(&mut self, goal: usize, stand_ins: &mut dyn StandIns) {
        while self.cells.len() > goal {
            let many = self.end / self.interval > ENOUGH_INTERVALS;
            if self.coarsest && !many {
                return;
            }
            if many || !self.coarsen(goal, stand_ins) {
                self.coarsest = self.end <= self.interval;
                let before = self.cells.len();
                self.widen();
                self.coarsest |= !many && self.cells.len() as f64 > before as f64 * 0.95;
            }
        }
    }

    /// The next length: 1, 2, 10, 20, 100, ... of the shortest.
    fn widen(&mut self) {
        let mut power = self.interval / SHORTEST_NS;
        while power % 10 == 0 {
            power /= 10;
        }
        let times = if power == 1 { 2 } else { 5 };
        self.visits += self.cells.len() as u64;
        self.interval *= times;
        self.end = self.end.next_multiple_of(self.interval);
        for (cell, total) in std::mem::take(&mut self.cells) {
            let wider = Cell { interval: cell.interval / times, ..cell };
            let first = cell.interval % times == 0;
            self.cells.entry(wider).or_default().add(total.sum, total.stopped, first);
        }
    }

    /// Takes a step that makes cells fewer without longer intervals; false if there
    /// is none.
    fn coarsen(&mut self, goal: usize, stand_ins: &mut dyn StandIns) -> bool {
        if !self.stacks {
            return self.fold(goal, stand_ins);
        }
        // Where each thread uses many locks once, neither step alone saves anything.
        let steps = [
            Coarse { threads: true, ..self.coarse },
            Coarse { locks: true, ..self.coarse },
            Coarse { threads: true, locks: true, ..self.coarse },
            Coarse { owners: true, ..self.coarse },
        ];
        let Some(coarse) = steps.get(self.tried).copied() else { return false };
        self.tried += 1;
        if coarse != self.coarse && self.is_worth(&mut |cell| coarser(cell, coarse, stand_ins)) {
            self.coarse = coarse;
            self.rekey(&mut |cell| coarser(cell, coarse, stand_ins));
        }
        true
    }

    /// Puts together the threads with the least time; if that saves nothing, also the locks with the least time.
    fn fold(&mut self, goal: usize, stand_ins: &mut dyn StandIns) -> bool {
        let rests = self.folded.values().copied().collect();
        let threads = self.with_least(goal, LEAST_THREADS, &rests, |cell| cell.thread);
        let threads: FxHashMap<u32, u32> =
            threads.into_iter().map(|thread| (thread, stand_ins.rest_of_group(thread))).collect();
        if self.fold_into(threads.clone(), FxHashMap::default()) {
            return true;
        }
        let rests = self.folded_locks.values().copied().collect();
        let locks = self.with_least(goal, LEAST_LOCKS, &rests, |cell| cell.lock);
        let locks = locks.into_iter().map(|lock| (lock, stand_ins.rest_of_name(lock))).collect();
        self.fold_into(threads, locks)
    }

    /// All but those with the most time; `rests` stand for several already.
    fn with_least(&self, goal: usize, least: usize, rests: &FxHashSet<u32>, of: fn(&Cell) -> u32) -> Vec<u32> {
        let mut times: FxHashMap<u32, u64> = FxHashMap::default();
        for (cell, total) in self.cells.iter().filter(|(cell, _)| !rests.contains(&of(cell))) {
            *times.entry(of(cell)).or_default() += total.sum.total;
        }
        let mut all: Vec<(u32, u64)> = times.into_iter().filter(|(id, _)| *id > 0).collect();
        all.sort_unstable_by_key(|(id, time)| (std::cmp::Reverse(*time), *id));
        let kept = (all.len() * goal / self.cells.len().max(1) / 2).max(least);
        all.into_iter().skip(kept).map(|(id, _)| id).collect()
    }

    /// Lets each of these threads and locks be represented by what it is mapped to, if that saves room.
    fn fold_into(&mut self, threads: FxHashMap<u32, u32>, locks: FxHashMap<u32, u32>) -> bool {
        if threads.is_empty() && locks.is_empty() {
            return false;
        }
        let of = |map: &FxHashMap<u32, u32>, id: u32| map.get(&id).copied().unwrap_or(id);
        let fold = |cell: Cell| Cell { thread: of(&threads, cell.thread), lock: of(&locks, cell.lock), ..cell };
        let is_worth = self.is_worth(&mut { fold });
        if is_worth {
            self.rekey(&mut { fold });
            self.folded.extend(threads);
            self.folded_locks.extend(locks);
        }
        is_worth
    }

    fn is_worth(&mut self, change: &mut dyn FnMut(Cell) -> Cell) -> bool {
        self.visits += self.cells.len() as u64;
        let most = (self.cells.len() as f64 * WORTH) as usize;
        let mut found = FxHashSet::default();
        self.cells.keys().all(|cell| {
            found.insert(change(*cell));
            found.len() <= most
        })
    }

    fn rekey(&mut self, change: &mut dyn FnMut(Cell) -> Cell) {
        self.visits += self.cells.len() as u64;
        for (cell, total) in std::mem::take(&mut self.cells) {
            self.cells.entry(change(cell)).or_default().add(total.sum, total.stopped, true);
        }
    }

    /// Takes the cells out as rows, in a stable order. None reaches beyond `end`.
    pub fn take_rows(&mut self, end: u64) -> Vec<(Row, RowSum)> {
        let flag = if self.stacks { STACKS } else { TOTALS };
        let mut cells: Vec<(Cell, Total)> = std::mem::take(&mut self.cells).into_iter().collect();
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        let row = |(cell, total): (Cell, Total)| {
            let start = cell.interval * self.interval;
            let row = Row {
                start,
                span: self.interval.min(end.saturating_sub(start)).max(1),
                stopped: total.stopped,
                thread: cell.thread,
                chain: cell.chain,
                lock: cell.lock,
                owner: cell.owner,
                owner_chain: cell.owner_chain,
                inside: cell.inside,
                kind: cell.kind,
                how: cell.how,
                flags: cell.flags | SUMMED | flag,
                sum: 0,
            };
            (row, total.sum)
        };
        cells.into_iter().map(row).collect()
    }
}

/// True if two slices of a contention are added to the same cells.
fn same(one: &Row, other: &Row) -> bool {
    let key = |row: &Row| (row.owner, row.owner_chain, row.inside, row.how, row.flags & !CONTINUES);
    key(one) == key(other)
}

/// The part of `all` between two places of a span, so that the parts add up to it.
fn share_of(all: u64, from: u64, to: u64, span: u64) -> u64 {
    if all == 0 || to - from == span {
        return all;
    }
    if all == span {
        return to - from;
    }
    let up_to = |place: u64| (u128::from(all) * u128::from(place) / u128::from(span)) as u64;
    up_to(to) - up_to(from)
}

fn coarser(cell: Cell, coarse: Coarse, stand_ins: &mut dyn StandIns) -> Cell {
    Cell {
        thread: if coarse.threads { stand_ins.group(cell.thread) } else { cell.thread },
        lock: if coarse.locks { stand_ins.lock_name(cell.lock) } else { cell.lock },
        owner: if coarse.owners { stand_ins.group(cell.owner) } else { cell.owner },
        ..cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tens;

    impl StandIns for Tens {
        fn group(&mut self, thread: u32) -> u32 {
            thread / 1000 * 1000
        }

        fn rest_of_group(&mut self, thread: u32) -> u32 {
            thread / 1000 * 1000 + 1
        }

        fn lock_name(&mut self, lock: u32) -> u32 {
            lock / 10 * 10
        }

        fn rest_of_name(&mut self, _: u32) -> u32 {
            2_000_000
        }
    }

    const MS: u64 = 1_000_000;

    fn row(start: u64, span: u64, thread: u32) -> Row {
        Row { start, span, thread, ..Row::default() }
    }

    fn lines(projection: &mut Projection) -> Vec<String> {
        let line = |(row, sum): (Row, RowSum)| {
            format!(
                "{}+{} t{} o{}: {} in {} ({} go on, longest {})",
                row.start / MS,
                row.span / MS,
                row.thread,
                row.owner,
                sum.total / 1000,
                sum.count,
                sum.going,
                sum.max / 1000
            )
        };
        projection.take_rows(u64::MAX).into_iter().map(line).collect()
    }

    #[test]
    fn a_contention_is_cut_at_the_edges_of_intervals() {
        let mut totals = Projection::new(false);
        // T7:  ms 0 |  ....OO | 1 OOOOOOOO | 2 PP..
        let slices = [row(500_000, 1_500_000, 7), Row { owner: 2, ..row(2 * MS, 250_000, 7) }];
        totals.add(&slices, None, usize::MAX, &mut Tens);
        totals.add(&[row(2 * MS, 100_000, 7)], None, usize::MAX, &mut Tens);
        assert_eq!(
            lines(&mut totals),
            [
                "0+1 t7 o0: 500 in 1 (0 go on, longest 1750)",
                "1+1 t7 o0: 1000 in 0 (1 go on, longest 0)",
                "2+1 t7 o0: 350 in 1 (1 go on, longest 100)",
            ]
        );
    }

    #[test]
    fn what_is_a_sum_already_counts_where_its_contentions_can_have_been() {
        let mut totals = Projection::new(false);
        // Four of 0.5 ms each, side by side from 0.75 ms on.
        totals.add(&[row(750_000, 2 * MS, 7)], Some(RowSum::of(2 * MS, 4, MS / 2)), usize::MAX, &mut Tens);
        assert_eq!(
            lines(&mut totals),
            [
                "0+1 t7 o0: 250 in 1 (0 go on, longest 500)",
                "1+1 t7 o0: 1000 in 2 (1 go on, longest 500)",
                "2+1 t7 o0: 750 in 1 (1 go on, longest 500)",
            ]
        );
    }

    #[test]
    fn longer_intervals_hold_the_same_as_if_they_had_been_so_from_the_start() {
        let contentions: Vec<Row> = (0..400_u32).map(|n| row(u64::from(n) * 70_000, 65_000, n % 3)).collect();
        let mut late = Projection::new(false);
        contentions.iter().for_each(|row| late.add(&[*row], None, usize::MAX, &mut Tens));
        late.widen();
        late.widen();
        let mut early = Projection::new(false);
        early.widen();
        early.widen();
        contentions.iter().for_each(|row| early.add(&[*row], None, usize::MAX, &mut Tens));
        assert_eq!(early.interval(), 10 * MS);
        assert_eq!(lines(&mut late), lines(&mut early));
    }

    #[test]
    fn stacks_keep_owners_apart_and_totals_do_not() {
        let slices = [
            Row { owner: 1, ..row(0, 300_000, 7) },
            Row { owner: 2, flags: CONTINUES, ..row(300_000, 100_000, 7) },
            Row { owner: 1, flags: CONTINUES, ..row(400_000, 100_000, 7) },
        ];
        let mut stacks = Projection::new(true);
        stacks.add(&slices, None, usize::MAX, &mut Tens);
        let apart: Vec<(u32, u64, u64, u64)> = stacks
            .take_rows(u64::MAX)
            .into_iter()
            .map(|(row, sum)| (row.owner, sum.total / 1000, sum.count, sum.apart))
            .collect();
        assert_eq!(apart, [(1, 400, 1, 1), (2, 100, 0, 1)]);
    }

    #[test]
    fn threads_with_little_time_are_put_together_and_no_time_is_dropped() {
        let mut totals = Projection::new(false);
        for n in 0..20_000_u32 {
            let thread = 1000 + n % 500;
            let length = if thread < 1010 { 90_000 } else { 1000 };
            totals.add(&[row(u64::from(n) * 20_000, length, thread)], None, usize::MAX, &mut Tens);
        }
        let all = |totals: &Projection| totals.cells.values().map(|total| total.sum.total).sum::<u64>();
        let (time, cells) = (all(&totals), totals.len());
        totals.fit(cells / 4, &mut Tens);
        assert_eq!(all(&totals), time);
        assert!(totals.len() <= cells / 4);
        let folded: Vec<u32> = totals.folded().map(|(thread, _)| thread).collect();
        assert!(folded.len() > 300 && folded.iter().all(|thread| *thread >= 1010), "{} folded", folded.len());
    }

    #[test]
    fn locks_with_little_time_are_put_together_if_threads_alone_save_nothing() {
        let (mut totals, mut stacks) = (Projection::new(false), Projection::new(true));
        for n in 1..=100_000_u32 {
            let length = if n % 10 == 0 { 50_000 } else { 1000 };
            let row = Row { lock: n, ..row(u64::from(n) * 10_000, length, 1000 + n % 10_000) };
            totals.add(&[row], None, usize::MAX, &mut Tens);
            stacks.add(&[row], None, usize::MAX, &mut Tens);
        }
        let all = |projection: &Projection| projection.cells.values().map(|total| total.sum.total).sum::<u64>();
        let time = 10_000 * 50_000 + 90_000 * 1000;
        for projection in [&mut totals, &mut stacks] {
            projection.fit(40_000, &mut Tens);
            assert_eq!(all(projection), time);
            assert!(projection.len() <= 40_000, "{} cells", projection.len());
            assert!(projection.interval() < 10 * MS, "intervals of {} ns", projection.interval());
        }
        // Those with the most time are still there one by one.
        let of = |lock: u32| totals.cells.iter().filter(move |(cell, _)| cell.lock == lock);
        assert!((1..=10_000).all(|n| of(n * 10).map(|(_, total)| total.sum.total).sum::<u64>() == 50_000));
        assert!(totals.folded_locks() >= 80_000, "{} folded", totals.folded_locks());
    }

    #[test]
    fn a_length_without_remainder_is_shared_without_remainder() {
        for span in [1_u64, 3, 7, 1000] {
            let parts: u64 = (0..span).map(|at| share_of(1_000_003, at, at + 1, span)).sum();
            assert_eq!(parts, 1_000_003);
        }
    }
}
