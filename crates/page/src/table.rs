//! Everything that has a begin and a length, as columns.
//!
//! One row is a slice of a contention, a wait, a park, a sample, a thread's
//! life or a pause. The rows of one entry stand together, in time order; all
//! but its first carry [`CONTINUES`]. Where a recording has more rows than may
//! be kept, short contentions are added up in two projections (`projection.rs`): such
//! a row has [`SUMMED`] and [`TOTALS`] or [`STACKS`], its `span` is the interval and
//! [`RowSum`] its content. Both projections hold the same time, so a question is
//! answered from one of them.

use crate::contract::{How, Kind};
use crate::projection::{Projection, StandIns};
use headway_analysis::monitor;
use std::ops::Range;

/// The row belongs to the entry of the row before.
pub const CONTINUES: u8 = 1;
/// The owner's frame is only approximately known.
pub const APPROXIMATE: u8 = 2;
/// A re-acquisition after `Object.wait`.
pub const AFTER_WAIT: u8 = 4;
/// The entry had not ended when the recording did.
pub const UNFINISHED: u8 = 8;
/// The row stands for several entries.
pub const SUMMED: u8 = 16;
/// The owner was probably ready, but not running, for most of the slice.
pub const NO_CPU: u8 = 32;
/// A sum by interval, thread, lock and kind.
pub const TOTALS: u8 = 64;
/// A sum by interval, lock, kind, call chains and owner.
pub const STACKS: u8 = 128;

/// A row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Begin, nanoseconds since the recording's start.
    pub start: u64,
    /// Length.
    pub span: u64,
    /// Part of it in which the whole VM was stopped.
    pub stopped: u64,
    /// The thread; 0 for pauses.
    pub thread: u32,
    /// Its chain.
    pub chain: u32,
    /// The lock or blocker.
    pub lock: u32,
    /// The owner, or who ended the wait.
    pub owner: u32,
    /// The owner's chain.
    pub owner_chain: u32,
    /// What the owner was executing; for [`Kind::Inside`] only.
    pub inside: u32,
    /// Place of what it stands for, for rows with [`SUMMED`].
    pub(crate) sum: u32,
    /// [`Kind`], by its number.
    pub kind: u8,
    /// [`How`], by its number.
    pub how: u8,
    /// What the constants of this module say.
    pub flags: u8,
}

/// What a summed row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSum {
    /// Time.
    pub total: u64,
    /// Contentions that begin in it.
    pub count: u64,
    /// Contentions that began before it and go on in it.
    pub going: u64,
    /// Of contentions that several owners blocked in turn, those that this row's owner
    /// blocked; else as many as `count`.
    pub apart: u64,
    /// The longest that begins in it, as a whole.
    pub max: u64,
}

impl RowSum {
    /// So many of the same length.
    pub fn of(total: u64, count: u64, max: u64) -> RowSum {
        RowSum { total, count, going: 0, apart: count, max }
    }
}

/// How often the length is raised from which on contentions are kept one by one,
/// each time that there are too many rows.
const MOST_ROUNDS: u32 = 3;
/// Rows that come before the short ones among them are added up.
const MOST_NEW: usize = 1 << 14;
/// No table is smaller.
const LEAST_ROWS: usize = 64;

/// The rows of a recording.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    sums: Vec<RowSum>,
    /// Rows that were looked at already and stay, and sums of such; what follows them is new.
    looked_at: (usize, usize),
    /// What short entries come to, while more of them come.
    totals: Projection,
    stacks: Projection,
    /// Entries up to this length are added up.
    short: Option<u64>,
    bound: usize,
    /// Rows that are never added up, and do not count.
    context: usize,
    summed: u64,
    /// Rows looked at to make room, each time counted.
    visits: u64,
}

impl Table {
    /// A table that keeps about `bound` rows.
    pub fn new(bound: usize) -> Table {
        Table {
            rows: Vec::new(),
            sums: Vec::new(),
            looked_at: (0, 0),
            totals: Projection::new(false),
            stacks: Projection::new(true),
            short: None,
            bound: bound.max(LEAST_ROWS),
            context: 0,
            summed: 0,
            visits: 0,
        }
    }

    /// Takes in the rows of one entry, in time order.
    pub fn add(&mut self, entry: impl Iterator<Item = Row>) {
        for (place, mut row) in entry.enumerate() {
            if place > 0 {
                row.flags |= CONTINUES;
            }
            self.context += usize::from(is_context(&row));
            self.rows.push(row);
        }
    }

    /// Takes in a row that stands for more than its span.
    pub fn add_sum(&mut self, row: Row, sum: RowSum) {
        let place = self.sums.len() as u32;
        self.sums.push(sum);
        self.context += usize::from(is_context(&row));
        self.rows.push(Row { flags: row.flags | SUMMED, sum: place, ..row });
    }

    /// Makes room if there are too many rows. Not to be called within an entry.
    ///
    /// The shorter three quarters of all entries are added up, and from then
    /// on all that are as short, as they come.
    #[inline]
    pub fn make_room(&mut self, stand_ins: &mut dyn StandIns) {
        let new = self.rows.len() - self.looked_at.0;
        let many = self.short.is_some() && new > MOST_NEW.min(self.bound / 8);
        if many || self.len() > self.bound {
            self.look_at_new(stand_ins);
        }
    }

    fn len(&self) -> usize {
        self.rows.len() - self.context + self.totals.len() + self.stacks.len()
    }

    #[cold]
    fn look_at_new(&mut self, stand_ins: &mut dyn StandIns) {
        if self.short.is_some() {
            self.sum_up(self.looked_at, stand_ins);
        }
        self.looked_at = (self.rows.len(), self.sums.len());
        if self.len() > self.bound {
            self.squeeze(stand_ins);
        }
    }

    fn squeeze(&mut self, stand_ins: &mut dyn StandIns) {
        let enough = self.bound / 5 * 4;
        for round in 0..MOST_ROUNDS {
            if round > 0 || self.short.is_none() {
                self.short = self.short.max(self.third_quartile());
            }
            self.sum_up((0, 0), stand_ins);
            self.totals.fit(self.bound / 4, stand_ins);
            self.stacks.fit(self.bound / 4, stand_ins);
            if self.len() <= enough {
                return;
            }
        }
        // Where nothing is alike adding up saves nothing; once more for every event
        // it would take for ever.
        self.bound = self.bound.max(self.len() / 3 * 4);
    }

    /// Adds up the short contentions among the rows from `first` on, of which the sums begin with
    /// `first_sum`. Sums lie in the order of their rows.
    fn sum_up(&mut self, (first, first_sum): (usize, usize), stand_ins: &mut dyn StandIns) {
        let (mut at, mut kept, mut kept_sums) = (first, first, first_sum);
        self.visits += (self.rows.len() - first) as u64;
        while at < self.rows.len() {
            let length = entry_at(&self.rows, at).len();
            let entry = &self.rows[at..at + length];
            let is_sum = entry[0].flags & SUMMED != 0;
            let is_short = self.short.is_some_and(|short| span_of(entry) <= short);
            if is_context(&entry[0]) || !is_sum && !is_short {
                self.rows.copy_within(at..at + length, kept);
                if is_sum {
                    self.sums.swap(kept_sums, self.rows[kept].sum as usize);
                    self.rows[kept].sum = kept_sums as u32;
                    kept_sums += 1;
                }
                kept += length;
            } else {
                self.add_up(at..at + length, stand_ins);
            }
            at += length;
        }
        self.rows.truncate(kept);
        self.sums.truncate(kept_sums);
        self.looked_at = (kept, kept_sums);
    }

    /// Adds an entry to both projections. Long ones fill many short intervals: all of them together
    /// may be many times as many cells as rows, so that room is made meanwhile.
    fn add_up(&mut self, entry: Range<usize>, stand_ins: &mut dyn StandIns) {
        let rows = &self.rows[entry];
        let sum = (rows[0].flags & SUMMED != 0).then(|| sum_of(&rows[0], &self.sums, true));
        self.summed += sum.map_or(1, |sum| sum.count);
        for projection in [&mut self.totals, &mut self.stacks] {
            projection.add(rows, sum, self.bound / 2, stand_ins);
            if projection.len() > self.bound / 2 {
                projection.fit(self.bound / 4, stand_ins);
            }
        }
    }

    /// The length that three quarters of the entries do not exceed, of those
    /// that are there one by one.
    fn third_quartile(&self) -> Option<u64> {
        let single = |rows: &[Row]| rows[0].flags & SUMMED == 0 && !is_context(&rows[0]);
        let mut spans: Vec<u64> =
            self.entries().filter(|(_, rows)| single(rows)).map(|(_, rows)| span_of(rows)).collect();
        match spans.len() / 4 * 3 {
            0 => None,
            place => Some(*spans.select_nth_unstable(place).1),
        }
    }

    /// Brings entries into the order of their begins.
    fn order(&mut self) {
        let mut starts: Vec<(u64, u32, u32)> = Vec::new();
        let mut at = 0;
        while at < self.rows.len() {
            let length = entry_at(&self.rows, at).len();
            starts.push((self.rows[at].start, at as u32, length as u32));
            at += length;
        }
        if starts.is_sorted() {
            return;
        }
        starts.sort_unstable();
        let mut rows = Vec::with_capacity(self.rows.len());
        for (_, at, length) in starts {
            rows.extend_from_slice(&self.rows[at as usize..(at + length) as usize]);
        }
        self.rows = rows;
    }

    /// The table is complete, and nothing in it lies beyond `end`: brings all into
    /// the order in which it is asked.
    pub fn settle(&mut self, end: u64) {
        for projection in [&mut self.totals, &mut self.stacks] {
            for (row, sum) in projection.take_rows(end) {
                let place = self.sums.len() as u32;
                self.sums.push(sum);
                self.rows.push(Row { sum: place, ..row });
            }
        }
        self.order();
        // Sums that lie as their rows do are read without a miss each.
        let former = std::mem::take(&mut self.sums);
        for row in self.rows.iter_mut().filter(|row| row.flags & SUMMED != 0) {
            let sum = sum_of(row, &former, true);
            row.sum = self.sums.len() as u32;
            self.sums.push(sum);
        }
        self.rows.shrink_to_fit();
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows, to be marked.
    pub(crate) fn rows_mut(&mut self) -> &mut [Row] {
        &mut self.rows
    }

    /// What a row stands for.
    pub fn sum(&self, place: usize) -> RowSum {
        sum_of(&self.rows[place], &self.sums, true)
    }

    /// Each entry with the place of its first row.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &[Row])> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rows = (at < self.rows.len()).then(|| entry_at(&self.rows, at))?;
            at += rows.len();
            Some((at - rows.len(), rows))
        })
    }

    /// The entry that a row belongs to, with the place of its first row.
    pub fn entry_of(&self, place: usize) -> Option<(usize, &[Row])> {
        let mut at = place;
        while self.rows.get(at)?.flags & CONTINUES != 0 && at > 0 {
            at -= 1;
        }
        Some((at, entry_at(&self.rows, at)))
    }

    /// Entries that were added up.
    pub fn summed(&self) -> u64 {
        self.summed
    }

    /// Length of the intervals in which time is exact, and of those of call stacks;
    /// 0 where nothing was added up.
    pub fn intervals(&self) -> (u64, u64) {
        match self.summed {
            0 => (0, 0),
            _ => (self.totals.interval(), self.stacks.interval()),
        }
    }

    /// True if the stacks of what was added up are kept by groups of threads.
    pub fn by_group(&self) -> bool {
        self.stacks.by_group()
    }

    /// Threads whose short contentions were put together, with what stands for each.
    pub fn folded(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.totals.folded()
    }

    /// Locks whose short contentions were put together.
    pub fn folded_locks(&self) -> usize {
        self.totals.folded_locks()
    }

    /// Entries of each kind.
    pub fn count_by_kind(&self) -> Vec<u64> {
        let mut counts = vec![0; Kind::ALL.len()];
        for (place, rows) in self.entries().filter(|(_, rows)| rows[0].flags & STACKS == 0) {
            if let Some(count) = counts.get_mut(rows[0].kind as usize) {
                *count += self.sum(place).count;
            }
        }
        counts
    }
}

/// True for rows that say what the others are a part of.
fn is_context(row: &Row) -> bool {
    let kinds = [Kind::Alive, Kind::Paused, Kind::Ran, Kind::Steal, Kind::Throttled, Kind::Queued];
    kinds.iter().any(|kind| *kind as u8 == row.kind)
}

/// What a row stands for; of an entry its first row counts.
#[inline]
fn sum_of(row: &Row, sums: &[RowSum], first: bool) -> RowSum {
    let single = RowSum::of(row.span, u64::from(first), row.span);
    match row.flags & SUMMED {
        0 => single,
        _ => sums.get(row.sum as usize).copied().unwrap_or(single),
    }
}

fn span_of(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.span).sum()
}

fn entry_at(rows: &[Row], at: usize) -> &[Row] {
    let mut end = at + 1;
    while rows.get(end).is_some_and(|row| row.flags & CONTINUES != 0) {
        end += 1;
    }
    &rows[at..end]
}

impl Row {
    /// The part of the row that lies in a range: time, and stopped time.
    #[inline]
    pub fn clip(&self, sum: RowSum, from: u64, to: u64) -> (u64, u64) {
        let (start, end) = (self.start.max(from), (self.start + self.span).min(to));
        if start >= end {
            return (0, 0);
        }
        let inside = end - start;
        if inside == self.span {
            return (sum.total, self.stopped);
        }
        (part(sum.total, inside, self.span), part(self.stopped, inside, self.span))
    }

    /// Of the contentions that the row stands for, those with time between two moments in its span, and
    /// those of them that began before. Not for what was cut at the edges of intervals.
    pub fn counts(&self, sum: RowSum, from: u64, to: u64) -> (u64, u64) {
        // Transactions that were reported together ran side by side in time.
        if self.kind == Kind::Transaction as u8 {
            return (sum.count, if from > self.start { sum.count } else { 0 });
        }
        let part = monitor::Sum::part(sum.total, sum.count, self.span, from - self.start, to - self.start);
        (part.count, part.going)
    }

    /// Its `how`.
    pub fn how(&self) -> How {
        How::ALL.get(self.how as usize).copied().unwrap_or_default()
    }
}

/// `total * inside / span`, as the page computes it too: in floating point,
/// rounded down.
fn part(total: u64, inside: u64, span: u64) -> u64 {
    if total == span {
        return inside;
    }
    (total as f64 * inside as f64 / span as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn row(start: u64, span: u64, thread: u32) -> Row {
        Row { start, span, thread, ..Row::default() }
    }

    #[test]
    fn entries_stand_together_in_the_order_of_their_begins() {
        let mut table = Table::new(1024);
        table.add([row(50, 10, 1), row(60, 5, 1)].into_iter());
        table.add([row(10, 60, 2)].into_iter());
        table.settle(u64::MAX);
        let found: Vec<(usize, usize)> = table.entries().map(|(at, rows)| (at, rows.len())).collect();
        assert_eq!(found, [(0, 1), (1, 2)]);
        assert_eq!(table.entry_of(2).map(|(at, rows)| (at, rows[1].start)), Some((1, 60)));
        assert_eq!(table.entry_of(3), None);
    }

    /// Nobody stands for anybody.
    struct Apart;

    impl StandIns for Apart {
        fn group(&mut self, thread: u32) -> u32 {
            thread
        }

        fn rest_of_group(&mut self, thread: u32) -> u32 {
            thread
        }

        fn lock_name(&mut self, lock: u32) -> u32 {
            lock
        }

        fn rest_of_name(&mut self, lock: u32) -> u32 {
            lock
        }
    }

    /// Time and contentions of rows, those of one projection among them.
    fn all(table: &Table, projection: u8) -> (u64, u64) {
        let counts = |row: &Row| row.flags & SUMMED == 0 || row.flags & projection != 0;
        let places = (0..table.rows().len()).filter(|place| counts(&table.rows()[*place]));
        places.map(|place| table.sum(place)).fold((0, 0), |(time, count), sum| (time + sum.total, count + sum.count))
    }

    #[test]
    fn what_is_too_much_is_added_up_and_nothing_is_dropped() {
        let mut table = Table::new(1024);
        for n in 0..4000_u64 {
            table.add(
                [row(n * 1_000_000, if n % 100 == 0 { 900_000_000 } else { 500 }, (n % 3) as u32 + 1)].into_iter(),
            );
            table.make_room(&mut Apart);
        }
        table.settle(u64::MAX);
        let expected = (40 * 900_000_000 + 3960 * 500, 4000);
        assert_eq!((all(&table, TOTALS), all(&table, STACKS)), (expected, expected));
        assert!(table.rows().len() <= 1400, "{} rows", table.rows().len());
        assert!(table.summed() > 1000);
        let longest = table.rows().iter().filter(|row| row.flags & SUMMED == 0).map(|row| row.span).max();
        assert_eq!(longest, Some(900_000_000));
    }

    /// What tables of any size say of each thread, lock and interval.
    fn sums(bound: usize) -> BTreeMap<(u32, u32, u64), (u64, u64)> {
        let mut table = Table::new(bound);
        let mut random = 88_172_645_463_325_252_u64;
        for n in 0..30_000_u64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (thread, lock) = (random as u32 % 7 + 1, (random >> 8) as u32 % 5 + 1);
            let (span, cut) = ((random >> 16) % 3_000_000 + 1, (random >> 40) % 1000);
            let first = Row { lock, owner: (random >> 50) as u32 % 9, ..row(n * 100_000, span * cut / 1000, thread) };
            let second = Row { lock, start: first.start + first.span, span: span - first.span, ..first };
            table.add([first, Row { owner: 99, ..second }].into_iter().filter(|row| row.span > 0));
            table.make_room(&mut Apart);
        }
        table.settle(u64::MAX);
        let mut found: BTreeMap<(u32, u32, u64), (u64, u64)> = BTreeMap::new();
        let edge = 200_000_000;
        for (place, rows) in table.entries().filter(|(_, rows)| rows[0].flags & STACKS == 0) {
            for (at, row) in rows.iter().enumerate() {
                let sum = table.sum(place + at);
                for interval in row.start / edge..=(row.start + row.span) / edge {
                    let (time, _) = row.clip(sum, interval * edge, (interval + 1) * edge);
                    let count = if row.start / edge == interval && row.flags & CONTINUES == 0 { sum.count } else { 0 };
                    let cell = found.entry((row.thread, row.lock, interval)).or_default();
                    *cell = (cell.0 + time, cell.1 + count);
                }
            }
        }
        found.retain(|_, cell| *cell != (0, 0));
        found
    }

    #[test]
    fn sums_by_thread_lock_and_interval_are_those_of_single_contentions() {
        let exact = sums(1_000_000);
        assert!(exact.len() > 500, "{}", exact.len());
        for bound in [20_000, 5000, 2000] {
            assert_eq!(sums(bound), exact, "{bound}");
        }
    }

    #[test]
    fn long_contentions_fill_no_more_cells_than_there_is_room_for() {
        let mut table = Table::new(4096);
        // Each lasts for a second, which has a thousand of the shortest intervals.
        for n in 0..20_000_u64 {
            table.add([row(n * 10_000_000, 1_000_000_000, (n % 50) as u32 + 1)].into_iter());
            table.make_room(&mut Apart);
        }
        // One lasts as long as all.
        table.add([row(0, 200_000_000_000, 51)].into_iter());
        table.short = Some(u64::MAX);
        table.squeeze(&mut Apart);
        let visits = table.visits + table.totals.visits + table.stacks.visits;
        assert!(visits < 20 * 20_000, "{visits}");
        table.settle(u64::MAX);
        let expected = (20_000 * 1_000_000_000 + 200_000_000_000, 20_001);
        assert_eq!((all(&table, TOTALS), all(&table, STACKS)), (expected, expected));
    }

    #[test]
    fn sums_that_were_added_up_are_not_kept() {
        let mut table = Table::new(1024);
        let alive = Row { kind: Kind::Alive as u8, ..row(0, 1, 1) };
        for n in 0..30_000_u64 {
            table.add_sum(row(n * 1_000_000, 500, 1), RowSum::of(n, 2, 500));
            if n % 1000 == 0 {
                table.add_sum(alive, RowSum::of(n, 1, n));
            }
            table.make_room(&mut Apart);
        }
        assert!(table.sums.len() <= 2048, "{} sums", table.sums.len());
        table.settle(u64::MAX);
        let places = (0..table.rows().len()).filter(|place| table.rows()[*place].kind == Kind::Alive as u8);
        let kept: Vec<u64> = places.map(|place| table.sum(place).total).collect();
        assert_eq!(kept, (0..30).map(|n| n * 1000).collect::<Vec<_>>());
    }

    #[test]
    fn what_came_early_and_what_came_late_stay_apart_however_long_it_goes_on() {
        let mut table = Table::new(1024);
        for n in 0..60_000_u64 {
            table.add([row(n * 1_000_000, 400 + n % 200, (n / 30_000) as u32 + 1)].into_iter());
            table.make_room(&mut Apart);
        }
        table.settle(u64::MAX);
        let of = |thread: u32| table.rows().iter().filter(move |row| row.thread == thread);
        assert!(table.rows().len() <= 1280, "{} rows", table.rows().len());
        let edge = 30_000_000_000;
        assert!(of(1).all(|row| row.start + row.span <= edge));
        assert!(of(2).all(|row| row.start >= edge));
        assert!(of(1).filter(|row| row.flags & TOTALS != 0).count() > 50);
    }

    #[test]
    fn where_nothing_is_alike_there_is_no_end_of_rows_but_one_of_adding_up() {
        let mut table = Table::new(1024);
        for n in 0..20_000_u32 {
            table.add([Row { lock: n, ..row(u64::from(n) * 1000, 500, 1) }].into_iter());
            table.make_room(&mut Apart);
        }
        table.settle(u64::MAX);
        assert_eq!(all(&table, TOTALS), (20_000 * 500, 20_000));
        assert!(table.summed() > 10_000);
    }

    #[test]
    fn ten_times_as_many_of_which_nothing_is_alike_are_ten_times_the_work() {
        let visits = |count: u32| {
            let mut table = Table::new(1024);
            for n in 0..count {
                table.add([Row { lock: n, ..row(u64::from(n) * 1000, 500, n % 100) }].into_iter());
                table.make_room(&mut Apart);
            }
            table.visits + table.totals.visits + table.stacks.visits
        };
        let (some, many) = (visits(20_000), visits(200_000));
        assert!(some < 80 * 20_000, "{some}");
        assert!(many < 15 * some, "{many} of ten times {some}");
    }

    #[test]
    fn a_part_of_a_sum_is_pro_rata() {
        let cell = row(1000, 1000, 1);
        let sum = RowSum::of(400, 3, 200);
        assert_eq!(cell.clip(sum, 0, 5000), (400, 0));
        assert_eq!(cell.clip(sum, 1500, 5000), (200, 0));
        assert_eq!(cell.clip(sum, 2000, 5000), (0, 0));
    }
}
