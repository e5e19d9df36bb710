//! Everything that has a begin and a length, as columns.
//!
//! One row is a slice of a blocked stretch, a wait, a park, a sample, a thread's
//! life or a pause. The rows of one stretch stand together, in time order; all
//! but its first carry [`CONTINUES`]. Where a recording has more rows than may
//! be kept, short stretches are added up per interval, thread, lock and chains:
//! such a row has [`SUMMED`], its `span` is the interval and [`Sum`] its content.

use crate::contract::{How, Kind};
use rustc_hash::FxHashMap;

/// The row belongs to the stretch of the row before.
pub const CONTINUES: u8 = 1;
/// The owner's frame is only approximately known.
pub const APPROXIMATE: u8 = 2;
/// A re-acquisition after `Object.wait`.
pub const AFTER_WAIT: u8 = 4;
/// The stretch had not ended when the recording did.
pub const UNFINISHED: u8 = 8;
/// The row stands for several stretches.
pub const SUMMED: u8 = 16;
/// The holder was probably ready, but not running, for most of the slice.
pub const DESCHEDULED: u8 = 32;

/// A row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Begin, nanoseconds since the recording's start.
    pub start: u64,
    /// Length.
    pub span: u64,
    /// Part of it in which the whole VM stood still.
    pub stopped: u64,
    /// The thread; 0 for pauses.
    pub thread: u32,
    /// Its chain.
    pub chain: u32,
    /// The lock or blocker.
    pub lock: u32,
    /// The holder, or who ended the wait.
    pub owner: u32,
    /// The holder's chain.
    pub owner_chain: u32,
    /// What the holder was executing; for [`Kind::Inside`] only.
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
pub struct Sum {
    /// Time.
    pub total: u64,
    /// Stretches.
    pub count: u64,
    /// The longest.
    pub max: u64,
}

/// Times that adding up is tried again at once, more coarsely.
const MOST_STEPS: u32 = 4;
/// Intervals in which short stretches are added up, at most twice as many.
const INTERVALS: u64 = 1024;
/// Rows that come before the short ones among them are added up.
const MOST_NEW: usize = 1 << 14;

/// The rows of a recording.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    sums: Vec<Sum>,
    /// Rows that were looked at already and stay; what follows them is new.
    looked_at: usize,
    /// What short stretches come to, while more of them come.
    cells: FxHashMap<Cell, Total>,
    /// Stretches up to this length are added up.
    short: u64,
    bound: usize,
    /// Length of the intervals in which short stretches are added up; 0 while
    /// none were.
    interval: u64,
    /// How often adding up gained too little.
    coarseness: u32,
    /// The coarseness of what was added up.
    told_as: u32,
    /// No more of it: the last step gained nothing.
    coarsest: bool,
    summed: u64,
    /// Rows and sums looked at to make room, each time counted.
    visits: u64,
}

/// What must be equal for stretches to be added up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    sum: Sum,
    stopped: u64,
}

impl Total {
    fn add(&mut self, sum: Sum, stopped: u64) {
        self.sum.total += sum.total;
        self.sum.count += sum.count;
        self.sum.max = self.sum.max.max(sum.max);
        self.stopped += stopped;
    }
}

impl Table {
    /// A table that keeps about `bound` rows.
    pub fn new(bound: usize) -> Table {
        Table {
            rows: Vec::new(),
            sums: Vec::new(),
            looked_at: 0,
            cells: FxHashMap::default(),
            short: 0,
            bound: bound.max(1024),
            interval: 0,
            coarseness: 0,
            told_as: 0,
            coarsest: false,
            summed: 0,
            visits: 0,
        }
    }

    /// Takes in the rows of one stretch, in time order.
    pub fn add(&mut self, stretch: impl Iterator<Item = Row>) {
        for (place, mut row) in stretch.enumerate() {
            if place > 0 {
                row.flags |= CONTINUES;
            }
            self.rows.push(row);
        }
    }

    /// Takes in a row that stands for more than its span.
    pub fn add_sum(&mut self, row: Row, sum: Sum) {
        let place = self.sums.len() as u32;
        self.sums.push(sum);
        self.rows.push(Row { flags: row.flags | SUMMED, sum: place, ..row });
    }

    /// Makes room if there are too many rows. Not to be called within a stretch.
    ///
    /// The shorter three quarters of all stretches are added up, and from then
    /// on all that are as short, as they come. Where adding up gains little,
    /// short stretches lose what they differ in: first the owner's thread, then
    /// their own, for which `together` gives what stands for the thread's group;
    /// then the intervals become longer.
    #[inline]
    pub fn make_room(&mut self, together: &mut dyn FnMut(u32) -> u32) {
        let new = self.rows.len() - self.looked_at;
        let many = self.short > 0 && new > MOST_NEW.min(self.bound / 8);
        if many || self.rows.len() + self.cells.len() > self.bound {
            self.look_at_new(together);
        }
    }

    #[cold]
    fn look_at_new(&mut self, together: &mut dyn FnMut(u32) -> u32) {
        if self.short > 0 {
            self.sum_up(self.looked_at, together);
        }
        self.looked_at = self.rows.len();
        if self.is_too_much(self.bound) {
            self.squeeze(together);
        }
    }

    fn is_too_much(&self, bound: usize) -> bool {
        self.rows.len() + self.cells.len() > bound
    }

    fn squeeze(&mut self, together: &mut dyn FnMut(u32) -> u32) {
        let enough = self.bound / 5 * 3;
        self.widen(together);
        self.short = self.short.max(self.third_quartile());
        self.sum_up(0, together);
        for _ in 0..MOST_STEPS {
            if !self.is_too_much(enough) || self.coarsest {
                break;
            }
            let before = self.cells.len();
            self.coarseness += 1;
            self.widen(together);
            // The third step is the first that makes intervals longer.
            self.coarsest = self.coarseness > 2 && self.cells.len() > before / 10 * 9;
        }
        if self.is_too_much(enough) {
            self.short = self.short.max(self.third_quartile());
            self.sum_up(0, together);
        }
        // Where nothing is alike adding up is in vain; once more for every event
        // it would take for ever.
        self.bound = self.bound.max((self.rows.len() + self.cells.len()) / 3 * 4);
    }

    /// Adds up the short stretches among the rows from `first` on.
    fn sum_up(&mut self, first: usize, together: &mut dyn FnMut(u32) -> u32) {
        let (mut at, mut kept) = (first, first);
        self.visits += (self.rows.len() - first) as u64;
        while at < self.rows.len() {
            let length = stretch_at(&self.rows, at).len();
            let stretch = &self.rows[at..at + length];
            let is_sum = stretch[0].flags & SUMMED != 0;
            if is_context(&stretch[0]) || !is_sum && span_of(stretch) > self.short {
                self.rows.copy_within(at..at + length, kept);
                kept += length;
            } else {
                self.summed += u64::from(!is_sum);
                for place in at..at + length {
                    let row = self.rows[place];
                    let sum = sum_of(&row, &self.sums, place == at);
                    let cell = self.cell(&row, together);
                    self.cells.entry(cell).or_default().add(sum, row.stopped);
                }
            }
            at += length;
        }
        self.rows.truncate(kept);
        self.looked_at = kept;
    }

    /// Sees to it that the intervals are long enough, and that what was added up
    /// is told as coarsely as it has to be. Intervals double, so that each lies
    /// within one of the longer ones.
    fn widen(&mut self, together: &mut dyn FnMut(u32) -> u32) {
        let of_rows = self.rows.iter().map(|row| row.start + row.span).max().unwrap_or(0);
        let of_cells = self.cells.keys().map(|cell| (cell.interval + 1) * self.interval).max().unwrap_or(0);
        let least = (of_rows.max(of_cells) / INTERVALS).max(1) << self.coarseness.saturating_sub(2).min(20);
        let former = self.interval;
        if self.interval <= 1 {
            self.interval = least;
        }
        while self.interval < least {
            self.interval *= 2;
        }
        if (self.interval, self.coarseness) == (former, self.told_as) {
            return;
        }
        self.told_as = self.coarseness;
        self.visits += self.cells.len() as u64;
        for (cell, total) in std::mem::take(&mut self.cells) {
            let row = Row { start: cell.interval * former, ..self.row(&cell, 0) };
            let wider = self.cell(&row, together);
            self.cells.entry(wider).or_default().add(total.sum, total.stopped);
        }
    }

    /// The length that three quarters of the stretches do not exceed, of those
    /// that are there one by one.
    fn third_quartile(&self) -> u64 {
        let single = |rows: &[Row]| rows[0].flags & SUMMED == 0 && !is_context(&rows[0]);
        let mut spans: Vec<u64> =
            self.stretches().filter(|(_, rows)| single(rows)).map(|(_, rows)| span_of(rows)).collect();
        match spans.len() / 4 * 3 {
            0 => 0,
            place => *spans.select_nth_unstable(place).1,
        }
    }

    #[inline]
    fn cell(&self, row: &Row, together: &mut dyn FnMut(u32) -> u32) -> Cell {
        Cell {
            interval: row.start / self.interval.max(1),
            thread: if self.coarseness > 1 { together(row.thread) } else { row.thread },
            chain: row.chain,
            lock: row.lock,
            owner: if self.coarseness > 0 { together(row.owner) } else { row.owner },
            owner_chain: row.owner_chain,
            inside: row.inside,
            kind: row.kind,
            how: row.how,
            flags: row.flags & (APPROXIMATE | AFTER_WAIT),
        }
    }

    fn row(&self, cell: &Cell, stopped: u64) -> Row {
        Row {
            start: cell.interval * self.interval,
            span: self.interval,
            stopped,
            thread: cell.thread,
            chain: cell.chain,
            lock: cell.lock,
            owner: cell.owner,
            owner_chain: cell.owner_chain,
            inside: cell.inside,
            kind: cell.kind,
            how: cell.how,
            flags: cell.flags | SUMMED,
            sum: 0,
        }
    }

    /// What was added up becomes rows.
    fn tell_cells(&mut self) {
        let mut cells: Vec<(Cell, Total)> = std::mem::take(&mut self.cells).into_iter().collect();
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        for (cell, total) in cells {
            self.add_sum(self.row(&cell, total.stopped), total.sum);
        }
    }

    /// Brings stretches into the order of their begins.
    fn order(&mut self) {
        let mut starts: Vec<(u64, u32, u32)> = Vec::new();
        let mut at = 0;
        while at < self.rows.len() {
            let length = stretch_at(&self.rows, at).len();
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

    /// The table is complete: brings all into the order in which it is asked.
    pub fn settle(&mut self) {
        self.tell_cells();
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
    pub fn sum(&self, place: usize) -> Sum {
        sum_of(&self.rows[place], &self.sums, true)
    }

    /// Each stretch with the place of its first row.
    pub fn stretches(&self) -> impl Iterator<Item = (usize, &[Row])> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rows = (at < self.rows.len()).then(|| stretch_at(&self.rows, at))?;
            at += rows.len();
            Some((at - rows.len(), rows))
        })
    }

    /// The stretch that a row belongs to, with the place of its first row.
    pub fn stretch_of(&self, place: usize) -> Option<(usize, &[Row])> {
        let mut at = place;
        while self.rows.get(at)?.flags & CONTINUES != 0 && at > 0 {
            at -= 1;
        }
        Some((at, stretch_at(&self.rows, at)))
    }

    /// Stretches that were added up.
    pub fn summed(&self) -> u64 {
        self.summed
    }

    /// Stretches of each kind.
    pub fn count_by_kind(&self) -> Vec<u64> {
        let mut counts = vec![0; Kind::ALL.len()];
        for (place, rows) in self.stretches() {
            if let Some(count) = counts.get_mut(rows[0].kind as usize) {
                *count += self.sum(place).count;
            }
        }
        counts
    }
}

/// True for rows that say what the others are a part of.
fn is_context(row: &Row) -> bool {
    let kinds = [Kind::Alive, Kind::Paused, Kind::Ran, Kind::Stolen, Kind::Throttled, Kind::Queued];
    kinds.iter().any(|kind| *kind as u8 == row.kind)
}

/// What a row stands for; of a stretch its first row counts.
#[inline]
fn sum_of(row: &Row, sums: &[Sum], first: bool) -> Sum {
    let single = Sum { total: row.span, count: u64::from(first), max: row.span };
    match row.flags & SUMMED {
        0 => single,
        _ => sums.get(row.sum as usize).copied().unwrap_or(single),
    }
}

fn span_of(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.span).sum()
}

fn stretch_at(rows: &[Row], at: usize) -> &[Row] {
    let mut end = at + 1;
    while rows.get(end).is_some_and(|row| row.flags & CONTINUES != 0) {
        end += 1;
    }
    &rows[at..end]
}

impl Row {
    /// The part of the row that lies in a range: time, and stopped time.
    #[inline]
    pub fn clip(&self, sum: Sum, from: u64, to: u64) -> (u64, u64) {
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

    fn row(start: u64, span: u64, thread: u32) -> Row {
        Row { start, span, thread, ..Row::default() }
    }

    #[test]
    fn stretches_stand_together_in_the_order_of_their_begins() {
        let mut table = Table::new(1024);
        table.add([row(50, 10, 1), row(60, 5, 1)].into_iter());
        table.add([row(10, 60, 2)].into_iter());
        table.settle();
        let told: Vec<(usize, usize)> = table.stretches().map(|(at, rows)| (at, rows.len())).collect();
        assert_eq!(told, [(0, 1), (1, 2)]);
        assert_eq!(table.stretch_of(2).map(|(at, rows)| (at, rows[1].start)), Some((1, 60)));
        assert_eq!(table.stretch_of(3), None);
    }

    #[test]
    fn what_is_too_much_is_added_up_and_nothing_is_lost() {
        let mut table = Table::new(1024);
        for n in 0..4000_u64 {
            table.add([row(n * 1000, if n % 100 == 0 { 900_000 } else { 500 }, (n % 3) as u32 + 1)].into_iter());
            table.make_room(&mut |thread| thread);
        }
        table.settle();
        let total: u64 = (0..table.rows().len()).map(|place| table.sum(place).total).sum();
        let count: u64 = (0..table.rows().len()).map(|place| table.sum(place).count).sum();
        assert_eq!((total, count), (40 * 900_000 + 3960 * 500, 4000));
        assert!(table.rows().len() < 3500, "{} rows", table.rows().len());
        assert!(table.summed() > 1000);
        let longest = table.rows().iter().filter(|row| row.flags & SUMMED == 0).map(|row| row.span).max();
        assert_eq!(longest, Some(900_000));
    }

    #[test]
    fn what_came_early_and_what_came_late_stay_apart_however_long_it_goes_on() {
        let mut table = Table::new(1024);
        for n in 0..60_000_u64 {
            table.add([row(n * 1000, 400 + n % 200, (n / 30_000) as u32 + 1)].into_iter());
            table.make_room(&mut |thread| thread);
        }
        table.settle();
        let of = |thread: u32| table.rows().iter().filter(move |row| row.thread == thread);
        assert!(table.rows().len() <= 1280, "{} rows", table.rows().len());
        let end = of(1).map(|row| row.start + row.span).max();
        assert!(end.is_some_and(|end| end < 33_000_000), "{end:?}");
        assert!(of(2).all(|row| row.start > 29_000_000 - 2_000_000));
        assert!(of(1).filter(|row| row.flags & SUMMED != 0).count() > 50);
    }

    #[test]
    fn where_nothing_is_alike_there_is_no_end_of_rows_but_one_of_adding_up() {
        let mut table = Table::new(1024);
        for n in 0..20_000_u32 {
            table.add([Row { lock: n, ..row(u64::from(n) * 1000, 500, 1) }].into_iter());
            table.make_room(&mut |thread| thread);
        }
        table.settle();
        let total: u64 = (0..table.rows().len()).map(|place| table.sum(place).total).sum();
        assert_eq!(total, 20_000 * 500);
        assert!(table.summed() > 10_000);
    }

    #[test]
    fn ten_times_as_many_of_which_nothing_is_alike_are_ten_times_the_work() {
        let visits = |count: u32| {
            let mut table = Table::new(1024);
            for n in 0..count {
                table.add([Row { lock: n, ..row(u64::from(n) * 1000, 500, n % 100) }].into_iter());
                table.make_room(&mut |thread| thread);
            }
            table.visits
        };
        let (some, many) = (visits(20_000), visits(200_000));
        assert!(some < 40 * 20_000, "{some}");
        assert!(many < 12 * some, "{many} of ten times {some}");
    }

    #[test]
    fn threads_of_short_stretches_stand_together_before_times_do() {
        let mut table = Table::new(1024);
        for n in 0..20_000_u32 {
            let row = Row { owner: n % 700 + 100, lock: n % 2, ..row(u64::from(n) * 1000, 500, n % 600 + 1000) };
            table.add([row].into_iter());
            table.make_room(&mut |thread| if thread < 1000 { 1 } else { 2 });
        }
        table.settle();
        let summed: Vec<&Row> = table.rows().iter().filter(|row| row.flags & SUMMED != 0).collect();
        assert!(summed.iter().all(|row| row.owner == 1), "owners are told by their group");
        assert!(table.rows().len() < 1400 && summed.len() > 200, "{} of {}", summed.len(), table.rows().len());
        let of_lock = (0..table.rows().len()).filter(|place| table.rows()[*place].lock == 0);
        assert_eq!(of_lock.map(|place| table.sum(place).total).sum::<u64>(), 10_000 * 500);
    }

    #[test]
    fn a_part_of_a_sum_is_pro_rata() {
        let cell = row(1000, 1000, 1);
        let sum = Sum { total: 400, count: 3, max: 200 };
        assert_eq!(cell.clip(sum, 0, 5000), (400, 0));
        assert_eq!(cell.clip(sum, 1500, 5000), (200, 0));
        assert_eq!(cell.clip(sum, 2000, 5000), (0, 0));
    }
}
