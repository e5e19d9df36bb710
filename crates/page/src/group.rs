//! Totals along a sequence of aspects.

use crate::contract::{Aspect, Groups};
use crate::names::Mentioned;
use crate::recording::Recording;
use crate::scope::{is_of_totals, Selection};
use crate::table::{Row, RowSum, CONTINUES, STACKS, SUMMED, TOTALS};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Groups that are kept at most while adding up; beyond it new ones are not
/// distinguished any more, but the totals stay right.
const MOST: usize = 1 << 21;
/// Places of children that are looked up without a hash.
const MOST_PLACES: usize = 1 << 22;
const NO_BLOCK: u32 = u32::MAX;
/// Threads that add up together, and rows that are worth one.
const MOST_THREADS: usize = 8;
const LEAST_ROWS: usize = 1 << 15;
/// So many intervals are added to one by one as quickly.
const FEW: usize = 4;

#[derive(Clone, Debug, Default)]
struct Node {
    parent: u32,
    value: u32,
    level: u8,
    total: u64,
    count: u64,
    max: u64,
    stopped: u64,
    approximate: u64,
    /// The entry counted last, and its time so far.
    entry: u64,
    in_entry: u64,
}

/// A part of a row.
#[derive(Clone, Copy)]
struct Part {
    total: u64,
    stopped: u64,
    counts: Counts,
    max: u64,
    approximate: bool,
    summed: bool,
}

/// How many contentions a sum stands for, which depends on what is kept apart.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// In the range.
    all: u64,
    /// In one interval of it.
    in_interval: u64,
    /// Blocked by one owner, if that is known.
    of_owner: Option<u64>,
}

/// What of the levels of groups a row counts for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// All.
    All,
    /// The first ones, which totals of short contentions have.
    Totals,
    /// Those below them.
    Stacks,
}

struct Adding<'a> {
    recording: &'a Recording,
    by: &'a [Aspect],
    intervals: u32,
    /// Levels that the totals of short contentions have.
    of_totals: usize,
    /// The first level that is about owners, and that of time.
    owner_level: usize,
    time_level: usize,
    /// Time at the edges of the range of which it is unknown on which side it lies.
    at_edges: u64,
    /// The first node stands for everything.
    nodes: Vec<Node>,
    /// Where the places of a node's children begin, if they have any of their own.
    blocks: Vec<u32>,
    places: Vec<u32>,
    ids: FxHashMap<(u32, u32), u32>,
    /// Of rows that fill many intervals: by parent of the intervals' nodes, how many
    /// more (or less) rows fill an interval than the one before.
    spans: FxHashMap<u32, Vec<i64>>,
}

/// The groups of what `selection` takes.
pub(crate) fn group(
    recording: &Recording,
    selection: &Selection<'_>,
    by: &[Aspect],
    intervals: u32,
    limit: usize,
) -> Groups {
    let rows = recording.table().rows();
    let parts = in_parts(rows);
    let add = |part: Range<usize>| {
        let mut adding = Adding::new(recording, by, intervals.max(1));
        adding.rows(part, selection);
        adding
    };
    let mut parts = std::thread::scope(|scope| {
        let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(|| add(part))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>().into_iter()
    });
    let mut all = parts.next().unwrap_or_else(|| Adding::new(recording, by, intervals.max(1)));
    parts.for_each(|part| all.merge(&part));
    let unknown = selection.unknown.clone();
    Groups { unknown, ..all.groups(limit) }
}

/// Cuts the rows between entries into parts, one for each processor.
fn in_parts(rows: &[Row]) -> Vec<Range<usize>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let length = (rows.len() / processors).max(LEAST_ROWS);
    let mut parts = Vec::new();
    let mut from = 0;
    while from < rows.len() {
        let mut to = (from + length).min(rows.len());
        while rows.get(to).is_some_and(|row| row.flags & CONTINUES != 0) {
            to += 1;
        }
        parts.push(from..to);
        from = to;
    }
    parts
}

/// Intervals of a range, as even as whole base intervals allow: what is in each is then
/// exact. The page cuts in the same way (`web/src/data/intervals.ts`).
struct Edges {
    from: u64,
    to: u64,
    length: f64,
    intervals: u32,
    /// Length of a base interval; 1 if nothing was added up.
    base: u64,
}

impl Edges {
    fn of(from: u64, to: u64, intervals: u32, base: u64) -> Edges {
        // The last base interval of a recording may be short.
        let length = ((to - from).div_ceil(base) * base) as f64 / f64::from(intervals);
        Edges { from, to, length, intervals, base }
    }

    /// Where an interval begins, and the one before it ends.
    fn at(&self, number: u32) -> u64 {
        match number >= self.intervals {
            true => self.to,
            false => self.from + (f64::from(number) * self.length / self.base as f64) as u64 * self.base,
        }
    }

    /// The interval of a moment, or the one before it.
    fn number_of(&self, at: u64) -> u32 {
        let number = ((at - self.from) as f64 / self.length) as u32;
        // One too early costs nothing; floating point may be one too late.
        number.saturating_sub(1).min(self.intervals)
    }

    /// The intervals that lie whole between two moments.
    fn whole(&self, start: u64, end: u64) -> Range<u32> {
        let (mut first, mut beyond) = (self.number_of(start), self.number_of(end));
        while first < self.intervals && self.at(first) < start {
            first += 1;
        }
        while beyond < self.intervals && self.at(beyond + 1) <= end {
            beyond += 1;
        }
        first..beyond.max(first)
    }
}

/// A part of a row in an interval of the range, or in all of it.
fn part_of(sum: RowSum, row: &Row, range_from: u64, from: u64, to: u64) -> Option<Part> {
    let (total, stopped) = row.clip(sum, from, to);
    let summed = row.flags & SUMMED != 0;
    let approximate = row.flags & crate::table::APPROXIMATE != 0;
    // What goes on from before counts where nothing before is looked at.
    let going = |from: u64| if row.start <= from { sum.going } else { 0 };
    let is_cut = row.flags & (TOTALS | STACKS) != 0;
    let counts = match summed && !is_cut && total > 0 {
        // Above the level of time what goes on in the next interval counts once.
        true => {
            let at = row.start.max(from);
            let (count, going) = row.counts(sum, at, (row.start + row.span).min(to));
            let all = if at > row.start.max(range_from) { count - going } else { count };
            Counts { all, in_interval: count, of_owner: None }
        }
        false => {
            let of_owner = is_cut.then_some(sum.apart);
            Counts { all: sum.count + going(range_from), in_interval: sum.count + going(from), of_owner }
        }
    };
    let max = if is_cut { sum.max.min(to - row.start.min(to)) } else { sum.max.min(total) };
    (total > 0).then_some(Part { total, stopped, counts, max, approximate, summed })
}

impl<'a> Adding<'a> {
    fn new(recording: &'a Recording, by: &'a [Aspect], intervals: u32) -> Adding<'a> {
        let first = |is: &dyn Fn(Aspect) -> bool| by.iter().position(|by| is(*by)).unwrap_or(by.len());
        Adding {
            recording,
            by,
            intervals,
            of_totals: first(&|by| !is_of_totals(by)),
            owner_level: first(&|by| by.is_of_owner()),
            time_level: first(&|by| by == Aspect::Time),
            at_edges: 0,
            nodes: vec![Node::default()],
            blocks: vec![NO_BLOCK],
            places: Vec::new(),
            ids: FxHashMap::default(),
            spans: FxHashMap::default(),
        }
    }

    fn rows(&mut self, part: Range<usize>, selection: &Selection<'_>) {
        let by_time = self.by.contains(&Aspect::Time);
        // Numbers of entries only have to differ within a part.
        let mut entry = 0;
        let first = part.start;
        for (at, row) in self.recording.table().rows()[part].iter().enumerate() {
            entry += u64::from(row.flags & CONTINUES == 0);
            let Some(depth) = self.depth(row, selection).filter(|_| selection.takes(row)) else { continue };
            if row.flags & STACKS != 0 {
                self.stacks(first + at, row, depth, selection);
            } else if by_time {
                self.over_time(first + at, row, entry, depth, selection);
            } else {
                let sum = self.recording.table().sum(first + at);
                let part = part_of(sum, row, selection.from, selection.from, selection.to);
                part.into_iter().for_each(|part| self.add(row, 0, entry, part, depth));
            }
        }
        self.tell_spans(selection);
    }

    /// What a row counts for; `None` if for nothing.
    #[inline]
    fn depth(&self, row: &Row, selection: &Selection<'_>) -> Option<Depth> {
        match row.flags & (TOTALS | STACKS) {
            TOTALS if selection.by_stack => None,
            TOTALS => Some(Depth::Totals),
            STACKS if selection.by_stack => Some(Depth::All),
            STACKS if self.of_totals == self.by.len() => None,
            STACKS => Some(Depth::Stacks),
            _ => Some(Depth::All),
        }
    }

    /// Adds stacks of short contentions if they lie whole in the range and in one of
    /// its intervals: it is unknown how much of the time lies on either side of an edge.
    fn stacks(&mut self, place: usize, row: &Row, depth: Depth, selection: &Selection<'_>) {
        let (sum, end) = (self.recording.table().sum(place), row.start + row.span);
        let mut number = 0;
        let mut is_whole = row.start >= selection.from && end <= selection.to;
        let mut from = selection.from;
        if is_whole && self.time_level < self.by.len() {
            let edges = self.edges(selection);
            number = edges.number_of(row.start);
            while number + 1 < self.intervals && edges.at(number + 1) <= row.start {
                number += 1;
            }
            from = edges.at(number);
            is_whole = end <= edges.at(number + 1);
        }
        match is_whole {
            true => {
                let part = part_of(sum, row, selection.from, from, selection.to);
                part.into_iter().for_each(|part| self.add(row, number, 0, part, depth));
            }
            false if depth == Depth::All => self.at_edges += row.clip(sum, selection.from, selection.to).0,
            false => {}
        }
    }

    fn over_time(&mut self, place: usize, row: &Row, entry: u64, depth: Depth, selection: &Selection<'_>) {
        let (sum, edges) = (self.recording.table().sum(place), self.edges(selection));
        let add = |adding: &mut Self, number: u32| {
            let part = part_of(sum, row, selection.from, edges.at(number), edges.at(number + 1));
            part.into_iter().for_each(|part| adding.add(row, number, entry, part, depth));
        };
        let (start, end) = (row.start.max(selection.from), (row.start + row.span).min(selection.to));
        let mut first = edges.number_of(start);
        let whole = if self.may_span(row) { edges.whole(start, end) } else { 0..0 };
        if whole.len() > FEW {
            (first..whole.start).for_each(|number| add(self, number));
            first = whole.end;
            self.span(row, entry, whole, &edges);
        }
        for number in first..self.intervals {
            if edges.at(number) >= end {
                break;
            }
            add(self, number);
        }
    }

    fn edges(&self, selection: &Selection<'_>) -> Edges {
        Edges::of(selection.from, selection.to, self.intervals, self.recording.facts().base_ns.max(1))
    }

    /// True if the row has in each whole interval exactly the interval's length, and
    /// nothing else.
    fn may_span(&self, row: &Row) -> bool {
        let plain = row.flags & (SUMMED | crate::table::APPROXIMATE | crate::table::NO_CPU) == 0;
        plain && row.stopped == 0 && self.by.last() == Some(&Aspect::Time)
    }

    /// Adds a row to intervals that it fills, with work that does not depend on how
    /// many they are: a hundred thousand threads live through all of a recording.
    fn span(&mut self, row: &Row, entry: u64, whole: Range<u32>, edges: &Edges) {
        let total = edges.at(whole.end) - edges.at(whole.start);
        let part = Part { total, stopped: 0, counts: Counts::default(), max: total, approximate: false, summed: false };
        let levels = self.by.len() - 1;
        let Some(node) = self.add_to(row, 0, entry, part, 0..levels) else { return };
        let changes = self.spans.entry(node).or_insert_with(|| vec![0; self.intervals as usize + 1]);
        changes[whole.start as usize] += 1;
        changes[whole.end as usize] -= 1;
    }

    /// Adds up what fills intervals.
    fn tell_spans(&mut self, selection: &Selection<'_>) {
        let edges = self.edges(selection);
        let level = self.by.len().saturating_sub(1) as u8;
        for (parent, changes) in std::mem::take(&mut self.spans) {
            let mut filling = 0;
            for (number, change) in (0..self.intervals).zip(changes) {
                filling += change;
                if filling == 0 {
                    continue;
                }
                let Some(node) = self.node(parent, number, level) else { break };
                let (length, count) = (edges.at(number + 1) - edges.at(number), filling.unsigned_abs());
                let node = &mut self.nodes[node as usize];
                node.total += length * count;
                node.count += count;
                node.max = node.max.max(length);
            }
        }
    }

    /// Adds what another part of the rows came to.
    fn merge(&mut self, other: &Adding<'_>) {
        self.at_edges += other.at_edges;
        let mut own: Vec<Option<u32>> = Vec::with_capacity(other.nodes.len());
        for (id, node) in other.nodes.iter().enumerate() {
            let place = match id {
                0 => Some(0),
                _ => own[node.parent as usize].and_then(|parent| self.node(parent, node.value, node.level)),
            };
            if let Some(place) = place {
                self.nodes[place as usize].merge(node);
            }
            own.push(place);
        }
    }

    fn add(&mut self, row: &Row, interval: u32, entry: u64, part: Part, depth: Depth) {
        let levels = match depth {
            Depth::All => 0..self.by.len(),
            Depth::Totals => 0..self.of_totals,
            Depth::Stacks => self.of_totals + 1..self.by.len(),
        };
        self.add_to(row, interval, entry, part, levels);
    }

    /// Adds to the nodes of some levels, of which 0 is also everything; the node of the
    /// last of them, if it has a place.
    #[inline]
    fn add_to(&mut self, row: &Row, interval: u32, entry: u64, part: Part, levels: Range<usize>) -> Option<u32> {
        // Levels count from below everything; stacks are only known below totals.
        let (first, last) = (levels.start, levels.end);
        let adds = |level: usize| first == 0 || level + 1 >= first;
        let time_level = self.time_level;
        let in_time = |level: usize| match level >= time_level {
            true => part.counts.in_interval,
            false => part.counts.all,
        };
        match first {
            0 => self.nodes[0].add(entry, part, part.counts.all),
            _ => self.nodes[0].mark(part),
        }
        let mut node = 0;
        for level in 0..last {
            let value = match self.by[level] {
                Aspect::Time => interval,
                by => self.recording.value(by, row),
            };
            node = self.node(node, value, level as u8)?;
            let count = match level {
                level if level >= self.owner_level => part.counts.of_owner.unwrap_or(in_time(level)),
                level => in_time(level),
            };
            match adds(level) {
                true => self.nodes[node as usize].add(entry, part, count),
                false => self.nodes[node as usize].mark(part),
            }
        }
        Some(node)
    }

    /// The group of a value below another one; `None` if there are too many.
    fn node(&mut self, parent: u32, value: u32, level: u8) -> Option<u32> {
        let block = self.block(parent, level);
        let known = match block {
            NO_BLOCK => self.ids.get(&(parent, value)).copied(),
            block => self.places.get((block + value) as usize).copied().filter(|id| *id > 0),
        };
        if known.is_some() || self.nodes.len() >= MOST {
            return known;
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { parent, value, level, ..Node::default() });
        self.blocks.push(NO_BLOCK);
        match self.places.get_mut((block.saturating_add(value)) as usize).filter(|_| block != NO_BLOCK) {
            Some(place) => *place = id,
            None => {
                self.ids.insert((parent, value), id);
            }
        }
        Some(id)
    }

    /// Where the places of a node's children begin. Looking a child up by its
    /// value is several times faster than by a hash, but takes room for those
    /// that do not exist.
    #[inline]
    fn block(&mut self, parent: u32, level: u8) -> u32 {
        let known = self.blocks[parent as usize];
        if known != NO_BLOCK {
            return known;
        }
        let width = match self.by[usize::from(level)] {
            Aspect::Time => self.intervals as usize,
            Aspect::Kind | Aspect::How | Aspect::ThreadKind => 16,
            _ if level == 0 => MOST_PLACES / 2,
            _ => return NO_BLOCK,
        };
        let width = if level == 0 { width.min(self.recording.values_of(self.by[0])) } else { width };
        if self.places.len() + width > MOST_PLACES {
            return NO_BLOCK;
        }
        let block = self.places.len() as u32;
        self.places.resize(self.places.len() + width, 0);
        self.blocks[parent as usize] = block;
        block
    }

    /// The largest of each parent, level by level.
    fn groups(self, limit: usize) -> Groups {
        let mut children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut below: Vec<u64> = vec![0; self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate().skip(1).filter(|(_, node)| node.total > 0) {
            below[node.parent as usize] += node.total;
            children.entry(node.parent).or_default().push(id as u32);
        }
        // Only below the totals there may be less than in them.
        let rest = |id: u32, levels: usize| match levels == self.of_totals && levels < self.by.len() {
            true => self.nodes[id as usize].total.saturating_sub(below[id as usize]),
            false => 0,
        };
        let everything = &self.nodes[0];
        let rest_ns = self.at_edges + rest(0, 0);
        let mut groups = Groups { total_ns: everything.total, count: everything.count, rest_ns, ..Groups::default() };
        let mut mentioned = Mentioned::of(self.recording.names());
        let mut level = vec![(0_u32, -1_i32)];
        for (depth, by) in self.by.iter().enumerate() {
            let mut next = Vec::new();
            for (parent, place) in level {
                let Some(mut below) = children.remove(&parent) else { continue };
                below.sort_by_key(|id| {
                    let node = &self.nodes[*id as usize];
                    (std::cmp::Reverse(node.total), node.value)
                });
                if *by != Aspect::Time {
                    groups.left_out += if place < 0 { below.len().saturating_sub(limit) as u64 } else { 0 };
                    below.truncate(limit);
                }
                for id in below {
                    let node = &self.nodes[id as usize];
                    next.push((id, groups.value.len() as i32));
                    node.push_to(place, &mut groups);
                    groups.rest.push(rest(id, depth + 1));
                    mention(*by, node.value, &mut mentioned);
                }
            }
            level = next;
        }
        groups.names = mentioned.into_names();
        groups
    }
}

impl Node {
    #[inline]
    fn add(&mut self, entry: u64, part: Part, count: u64) {
        self.total += part.total;
        self.stopped += part.stopped;
        self.mark(part);
        if part.summed {
            self.count += count;
            self.max = self.max.max(part.max);
            return;
        }
        if self.entry != entry {
            self.entry = entry;
            self.in_entry = 0;
            self.count += 1;
        }
        self.in_entry += part.total;
        self.max = self.max.max(self.in_entry);
    }

    /// What is only known of owners.
    #[inline]
    fn mark(&mut self, part: Part) {
        self.approximate += if part.approximate { part.total } else { 0 };
    }

    fn merge(&mut self, other: &Node) {
        self.total += other.total;
        self.count += other.count;
        self.max = self.max.max(other.max);
        self.stopped += other.stopped;
        self.approximate += other.approximate;
    }

    fn push_to(&self, parent: i32, groups: &mut Groups) {
        groups.parent.push(parent);
        groups.value.push(self.value);
        groups.total.push(self.total);
        groups.entries.push(self.count);
        groups.max.push(self.max);
        groups.stopped.push(self.stopped);
        groups.approximate.push(self.approximate);
    }
}

fn mention(by: Aspect, value: u32, mentioned: &mut Mentioned<'_>) {
    match by {
        Aspect::Kind | Aspect::Time | Aspect::How | Aspect::ThreadKind => {}
        Aspect::Lock => mentioned.lock(value),
        Aspect::ContenderThread | Aspect::OwnerThread => mentioned.thread(value),
        Aspect::ContenderChain | Aspect::OwnerChain | Aspect::Inside => mentioned.chain(value),
        Aspect::LockClass
        | Aspect::LockName
        | Aspect::ContenderGroup
        | Aspect::ContenderMethod
        | Aspect::OwnerGroup
        | Aspect::OwnerMethod => mentioned.text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_whole_base_intervals_and_end_with_the_range() {
        for (from, to, intervals, base) in [(20, 1250, 50, 10), (0, 25, 3, 10), (100, 995, 300, 10)] {
            let edges = Edges::of(from, to, intervals, base);
            let at: Vec<u64> = (0..=intervals).map(|number| edges.at(number)).collect();
            assert_eq!((at[0], at[intervals as usize]), (from, to));
            assert!(at[..intervals as usize].iter().all(|edge| (edge - from) % base == 0), "{at:?}");
            assert!(at.windows(2).all(|pair| pair[0] <= pair[1]), "{at:?}");
        }
    }

    #[test]
    fn whole_intervals_are_those_that_single_ones_would_fill() {
        for (from, to, intervals, base) in [
            (0, 1000, 7, 1),
            (3, 1003, 300, 1),
            (0, 10, 40, 1),
            (123_456_789, 987_654_321, 77, 1),
            (20, 1250, 50, 10),
            (0, 95, 30, 10),
        ] {
            let edges = Edges::of(from, to, intervals, base);
            let span = to - from;
            for (start, end) in [(from, to), (from + span / 3, to - span / 7), (from + 1, from + 2), (to - 1, to)] {
                let fills = |number: &u32| edges.at(*number) >= start && edges.at(*number + 1) <= end;
                let filled: Vec<u32> = (0..intervals).filter(fills).collect();
                let whole = edges.whole(start, end);
                // Of no length are those at the edges; they add nothing.
                let adds = |number: &u32| edges.at(*number) < edges.at(*number + 1);
                let added: Vec<u32> = whole.filter(adds).collect();
                assert_eq!(added, filled.into_iter().filter(adds).collect::<Vec<_>>(), "{from} {to} {start} {end}");
            }
        }
    }
}
