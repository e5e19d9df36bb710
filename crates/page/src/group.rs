//! Totals along a sequence of dimensions.

use crate::contract::{Dimension, Groups};
use crate::names::Mentioned;
use crate::recording::Recording;
use crate::scope::Selection;
use crate::table::{Row, CONTINUES, SUMMED};
use rustc_hash::FxHashMap;

/// Groups that are kept at most while adding up; beyond it new ones are not
/// told apart any more, but the totals stay right.
const MOST: usize = 1 << 21;

#[derive(Clone, Debug, Default)]
struct Node {
    parent: u32,
    value: u32,
    total: u64,
    count: u64,
    max: u64,
    stopped: u64,
    approximate: u64,
    /// The stretch counted last, and its time so far.
    stretch: u64,
    in_stretch: u64,
}

/// A part of a row.
#[derive(Clone, Copy)]
struct Part {
    total: u64,
    stopped: u64,
    count: u64,
    max: u64,
    approximate: bool,
    summed: bool,
}

struct Adding<'a> {
    recording: &'a Recording,
    by: &'a [Dimension],
    /// The first node stands for everything.
    nodes: Vec<Node>,
    ids: FxHashMap<(u32, u32), u32>,
}

/// The groups of what `selection` takes.
pub(crate) fn group(
    recording: &Recording,
    selection: &Selection<'_>,
    by: &[Dimension],
    intervals: u32,
    limit: usize,
) -> Groups {
    let by_time = by.contains(&Dimension::Time);
    let length = (selection.to - selection.from) as f64 / f64::from(intervals.max(1));
    let mut adding = Adding { recording, by, nodes: vec![Node::default()], ids: FxHashMap::default() };
    let mut stretch = 0;
    for (place, row) in recording.table().rows().iter().enumerate() {
        stretch += u64::from(row.flags & CONTINUES == 0);
        if !selection.takes(row) {
            continue;
        }
        if !by_time {
            if let Some(part) = part(recording, place, row, selection.from, selection.to) {
                adding.add(row, 0, stretch, part);
            }
            continue;
        }
        let first = interval_of(row.start.max(selection.from), selection.from, length, intervals);
        for number in first..intervals.max(1) {
            let from = selection.from + (f64::from(number) * length) as u64;
            let to = if number + 1 == intervals {
                selection.to
            } else {
                selection.from + (f64::from(number + 1) * length) as u64
            };
            if from >= row.start + row.span {
                break;
            }
            if let Some(part) = part(recording, place, row, from, to) {
                adding.add(row, number, stretch, part);
            }
        }
    }
    adding.groups(limit)
}

fn interval_of(at: u64, from: u64, length: f64, intervals: u32) -> u32 {
    let number = ((at - from) as f64 / length) as u32;
    // One too early costs nothing; floating point may be one too late.
    number.saturating_sub(1).min(intervals)
}

fn part(recording: &Recording, place: usize, row: &Row, from: u64, to: u64) -> Option<Part> {
    let sum = recording.table().sum(place);
    let (total, stopped) = row.clip(sum, from, to);
    let summed = row.flags & SUMMED != 0;
    let approximate = row.flags & crate::table::APPROXIMATE != 0;
    (total > 0).then_some(Part { total, stopped, count: sum.count, max: sum.max.min(total), approximate, summed })
}

impl Adding<'_> {
    fn add(&mut self, row: &Row, interval: u32, stretch: u64, part: Part) {
        self.nodes[0].add(stretch, part);
        let mut node = 0;
        for level in 0..self.by.len() {
            let value = match self.by[level] {
                Dimension::Time => interval,
                by => self.recording.value(by, row),
            };
            let Some(next) = self.node(node, value) else { return };
            node = next;
            self.nodes[node as usize].add(stretch, part);
        }
    }

    fn node(&mut self, parent: u32, value: u32) -> Option<u32> {
        if let Some(id) = self.ids.get(&(parent, value)) {
            return Some(*id);
        }
        if self.nodes.len() >= MOST {
            return None;
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { parent, value, ..Node::default() });
        self.ids.insert((parent, value), id);
        Some(id)
    }

    /// The largest of each parent, level by level.
    fn groups(self, limit: usize) -> Groups {
        let mut children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (id, node) in self.nodes.iter().enumerate().skip(1) {
            children.entry(node.parent).or_default().push(id as u32);
        }
        let mut groups = Groups { total_ns: self.nodes[0].total, count: self.nodes[0].count, ..Groups::default() };
        let mut told = Mentioned::of(self.recording.names());
        let mut level = vec![(0_u32, -1_i32)];
        for by in self.by {
            let mut next = Vec::new();
            for (parent, place) in level {
                let Some(mut below) = children.remove(&parent) else { continue };
                below.sort_by_key(|id| {
                    let node = &self.nodes[*id as usize];
                    (std::cmp::Reverse(node.total), node.value)
                });
                if *by != Dimension::Time {
                    groups.left_out += if place < 0 { below.len().saturating_sub(limit) as u64 } else { 0 };
                    below.truncate(limit);
                }
                for id in below {
                    let node = &self.nodes[id as usize];
                    next.push((id, groups.value.len() as i32));
                    node.tell(place, &mut groups);
                    mention(*by, node.value, &mut told);
                }
            }
            level = next;
        }
        groups.names = told.told();
        groups
    }
}

impl Node {
    #[inline]
    fn add(&mut self, stretch: u64, part: Part) {
        self.total += part.total;
        self.stopped += part.stopped;
        self.approximate += if part.approximate { part.total } else { 0 };
        if part.summed {
            self.count += part.count;
            self.max = self.max.max(part.max);
            return;
        }
        if self.stretch != stretch {
            self.stretch = stretch;
            self.in_stretch = 0;
            self.count += 1;
        }
        self.in_stretch += part.total;
        self.max = self.max.max(self.in_stretch);
    }

    fn tell(&self, parent: i32, groups: &mut Groups) {
        groups.parent.push(parent);
        groups.value.push(self.value);
        groups.total.push(self.total);
        groups.stretches.push(self.count);
        groups.max.push(self.max);
        groups.stopped.push(self.stopped);
        groups.approximate.push(self.approximate);
    }
}

fn mention(by: Dimension, value: u32, told: &mut Mentioned<'_>) {
    match by {
        Dimension::Kind | Dimension::Time | Dimension::How | Dimension::ThreadKind => {}
        Dimension::Lock => told.lock(value),
        Dimension::ContenderThread | Dimension::OwnerThread => told.thread(value),
        Dimension::ContenderChain | Dimension::OwnerChain => told.chain(value),
        Dimension::LockClass
        | Dimension::LockName
        | Dimension::ContenderGroup
        | Dimension::ContenderMethod
        | Dimension::OwnerGroup
        | Dimension::OwnerMethod => told.text(value),
    }
}
