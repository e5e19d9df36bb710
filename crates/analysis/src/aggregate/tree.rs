//! A tree of totals along a sequence of aspects.

use crate::aspect::Aspect;
use crate::lock_groups::LockGroups;
use crate::monitor::{Kind, Owner, OwnerId};
use crate::names::{NameId, Names, PathId, TextId};
use crate::numbering::Numbering;
use crate::report::{self, Row, FOLDED, MOST_TOLD, PAUSED, UNKNOWN};
use crate::sampled::{PartOf, Strata};
use headway_model::{DurationNs, LockId, ThreadId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

use super::Side;

/// A value of an aspect, small enough to be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum NodeValue {
    Kind(Kind),
    Text(TextId),
    Lock(LockId),
    Thread(ThreadId),
    Method(NameId),
    Path(PathId),
    /// Number of the interval.
    Time(u32),
    Unknown,
    Folded,
    /// The VM was paused, whoever owned the lock.
    Paused,
    /// Locks of one name, by the place of their group. Only in tables.
    Group(usize),
}

/// The value of an aspect that is about the contender and its lock.
pub(crate) fn contender_value(aspect: Aspect, side: &Side, names: &mut Names) -> NodeValue {
    match aspect {
        Aspect::Kind => NodeValue::Kind(side.kind),
        _ if side.folded => NodeValue::Folded,
        Aspect::LockClass => NodeValue::Text(names.lock_class(side.lock)),
        Aspect::Lock | Aspect::LockName => NodeValue::Lock(side.lock),
        Aspect::ContenderThread => NodeValue::Thread(side.thread),
        Aspect::ContenderGroup => NodeValue::Text(names.group(side.thread)),
        Aspect::ContenderMethod => names
            .path(side.chain, 0)
            .and_then(|path| names.acting_method(path))
            .map_or(NodeValue::Unknown, NodeValue::Method),
        Aspect::ContenderChain => names.path(side.chain, 0).map_or(NodeValue::Unknown, NodeValue::Path),
        _ => NodeValue::Unknown,
    }
}

/// The value of an aspect that is about who held the lock.
pub(crate) fn owner_value(aspect: Aspect, id: OwnerId, owner: &Owner, names: &mut Names) -> NodeValue {
    if id.is_folded() {
        return NodeValue::Folded;
    }
    if owner.thread.is_none() {
        return NodeValue::Unknown;
    }
    match aspect {
        Aspect::OwnerThread => NodeValue::Thread(owner.thread),
        Aspect::OwnerGroup => NodeValue::Text(names.group(owner.thread)),
        Aspect::OwnerMethod => names
            .owner_path(owner.chain, owner.frame)
            .and_then(|path| names.acting_method(path))
            .map_or(NodeValue::Unknown, NodeValue::Method),
        _ => names.owner_chain(owner.chain, owner.frame).map_or(NodeValue::Unknown, NodeValue::Path),
    }
}

/// A node of the tree.
#[derive(Clone, Debug)]
struct Node {
    level: u16,
    /// The node of the level above.
    parent: u32,
    /// The child that came last, and the sibling that came before this node: a
    /// list of children for each node would be an allocation for each.
    last_child: u32,
    previous: u32,
    value: NodeValue,
    total: u64,
    paused: u64,
    approximate: u64,
    /// Time in which the owner probably did not run.
    off_cpu: f64,
    count: u64,
    max: u64,
    /// The contention counted last, and its time so far.
    contention: u64,
    in_contention: u64,
}

impl Node {
    /// What it is found by.
    fn key(&self) -> (u32, NodeValue) {
        (self.parent, self.value)
    }
}

/// Totals along a sequence of aspects, with exact counts of contentions.
#[derive(Debug)]
pub(crate) struct Tree {
    by: Vec<Aspect>,
    nodes: Vec<Node>,
    last_root: u32,
    ids: Numbering,
}

/// Stands for no node.
const NO_NODE: u32 = u32::MAX;

impl Tree {
    pub fn new(by: &[Aspect]) -> Tree {
        Tree { by: by.to_vec(), nodes: Vec::new(), last_root: NO_NODE, ids: Numbering::default() }
    }

    pub fn by(&self) -> &[Aspect] {
        &self.by
    }

    /// The node under `parent` (the node of the level above) with this value.
    pub fn node(&mut self, parent: Option<u32>, level: usize, value: NodeValue) -> u32 {
        let key = (parent.unwrap_or(NO_NODE), value);
        if let Some(id) = self.ids.find(&key, |id| self.nodes.get(id as usize).is_some_and(|node| node.key() == key)) {
            return id;
        }
        let id = self.nodes.len() as u32;
        let last = match parent {
            Some(parent) => &mut self.nodes[parent as usize].last_child,
            None => &mut self.last_root,
        };
        let previous = std::mem::replace(last, id);
        self.nodes.push(Node {
            level: level as u16,
            parent: key.0,
            last_child: NO_NODE,
            previous,
            value,
            total: 0,
            paused: 0,
            approximate: 0,
            off_cpu: 0.0,
            count: 0,
            max: 0,
            contention: 0,
            in_contention: 0,
        });
        self.ids.add(&key, id);
        id
    }

    /// Adds a part of the contention with this number (counted from 1).
    #[inline]
    pub fn add(&mut self, node: u32, contention: u64, part: Part) {
        let node = &mut self.nodes[node as usize];
        node.total += part.duration;
        node.paused += part.paused;
        node.approximate += part.approximate;
        if node.contention != contention {
            node.contention = contention;
            node.in_contention = 0;
            node.count += 1;
        }
        node.in_contention += part.duration;
        node.max = node.max.max(node.in_contention);
    }

    /// Adds so many contentions of which only the sum is known. The longest of them
    /// was no shorter than their mean.
    pub fn add_sum(&mut self, node: u32, count: u64, ns: u64, mean_ns: u64) {
        let node = &mut self.nodes[node as usize];
        node.total += ns;
        node.count += count;
        node.max = node.max.max(mean_ns.min(ns));
    }

    /// Nothing is known of owners that did not run.
    pub fn clear_off_cpu(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.off_cpu = 0.0);
    }

    /// Adds time in which an owner probably did not run.
    pub fn add_off_cpu(&mut self, node: u32, ns: f64) {
        self.nodes[node as usize].off_cpu += ns;
    }

    /// The nodes up to this sibling, in the order in which they came.
    fn siblings(&self, last: u32) -> Vec<u32> {
        let known = |id: u32| (id != NO_NODE).then_some(id);
        let before = |id: &u32| known(self.nodes[*id as usize].previous);
        let mut ids: Vec<u32> = std::iter::successors(known(last), before).collect();
        ids.reverse();
        ids
    }

    /// The rows, sorted by total (intervals of time by time).
    pub fn rows(&self, names: &Names, groups: &LockGroups, whole: Whole<'_>) -> Vec<Row> {
        let rendering = Rendering { tree: self, names, groups, whole, most: MOST_TOLD };
        rendering.rows(&self.siblings(self.last_root))
    }
}

/// A part of a contention. All in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    pub duration: u64,
    pub paused: u64,
    pub approximate: u64,
}

impl Part {
    /// So much time without a pause.
    pub fn running(duration: u64) -> Part {
        Part { duration, ..Part::default() }
    }

    /// What is the owner's, and what was a pause.
    pub fn split(self, approximate: bool) -> (Part, Part) {
        let duration = self.duration - self.paused;
        let running = Part { duration, paused: 0, approximate: if approximate { duration } else { 0 } };
        (running, Part { duration: self.paused, paused: self.paused, approximate: 0 })
    }

    pub fn add(&mut self, other: Part) {
        self.duration += other.duration;
        self.paused += other.paused;
        self.approximate += other.approximate;
    }
}

/// What the rows are parts of.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'a> {
    /// All blocked time.
    pub ns: u64,
    /// Length of the intervals of [`Aspect::Time`].
    pub interval: DurationNs,
    /// What intervals of estimated rows are computed from.
    pub strata: Option<&'a Strata<'a>>,
}

#[derive(Clone, Copy)]
struct Rendering<'a> {
    tree: &'a Tree,
    names: &'a Names,
    groups: &'a LockGroups,
    whole: Whole<'a>,
    /// Rows of one level below one row.
    most: usize,
}

/// Nodes that are one row.
struct Merged {
    node: Node,
    ids: Vec<u32>,
}

impl Rendering<'_> {
    /// The rows of nodes of one level, those of the same name merged.
    fn merged_rows(&self, ids: &[u32]) -> Vec<Row> {
        let mut places: FxHashMap<NodeValue, usize> = FxHashMap::default();
        let mut merged: Vec<Merged> = Vec::new();
        for id in ids {
            let node = &self.tree.nodes[*id as usize];
            let value = self.value(node);
            let place = *places.entry(value).or_insert_with(|| {
                let empty = Node { total: 0, paused: 0, approximate: 0, off_cpu: 0.0, count: 0, max: 0, ..*node };
                merged.push(Merged { node: Node { value, ..empty }, ids: Vec::new() });
                merged.len() - 1
            });
            merged[place].add(node, *id);
        }
        let mut rest = Vec::new();
        if merged.len() > self.most {
            merged.sort_by_key(|merged| (Reverse(merged.node.total), merged.node.value));
            rest = merged.split_off(self.most).into_iter().map(|merged| merged.node).collect();
        }
        let nodes: Vec<&Node> = merged.iter().map(|merged| &merged.node).collect();
        let texts = self.texts(&nodes);
        let mut keyed: Vec<(&Merged, report::Value)> = merged.iter().zip(texts).collect();
        keyed.sort_by(|(a, a_text), (b, b_text)| rank(&a.node).cmp(&rank(&b.node)).then_with(|| a_text.cmp(b_text)));
        let mut rows: Vec<Row> = keyed
            .into_iter()
            .map(|(merged, value)| {
                let last_child = |id: &u32| self.tree.nodes[*id as usize].last_child;
                let children: Vec<u32> = merged.ids.iter().flat_map(|id| self.tree.siblings(last_child(id))).collect();
                Row { children: self.merged_rows(&children), ..self.row_of(&merged.node, &merged.ids, value) }
            })
            .collect();
        if !rest.is_empty() {
            rows.push(self.others(&rest.iter().collect::<Vec<_>>()));
        }
        rows
    }

    /// What distinguishes a row from its neighbours.
    fn value(&self, node: &Node) -> NodeValue {
        let by_name = self.tree.by[node.level as usize] == Aspect::LockName;
        match node.value {
            NodeValue::Lock(lock) if by_name => self.groups.place(lock).map_or(node.value, NodeValue::Group),
            value => value,
        }
    }

    fn rows(&self, ids: &[u32]) -> Vec<Row> {
        let level = ids.first().map_or(0, |id| self.tree.nodes[*id as usize].level as usize);
        if self.tree.by.get(level) == Some(&Aspect::LockName) {
            return self.merged_rows(ids);
        }
        if ids.len() <= self.most {
            return self.told(ids);
        }
        let mut ids = ids.to_vec();
        let node = |id: &u32| &self.tree.nodes[*id as usize];
        ids.select_nth_unstable_by_key(self.most, |id| (Reverse(node(id).total), node(id).value));
        let others = ids.split_off(self.most);
        let mut rows = self.told(&ids);
        rows.push(self.others(&others.iter().map(node).collect::<Vec<_>>()));
        rows
    }

    /// One row for all of these; never for none.
    fn others(&self, others: &[&Node]) -> Row {
        let nodes = || others.iter().copied();
        let sum = |of: fn(&Node) -> u64| nodes().map(of).sum::<u64>();
        let total_ns = sum(|node| node.total);
        Row {
            aspect: self.tree.by[nodes().next().map_or(0, |node| node.level as usize)],
            value: report::Value::Text(format!("({} others)", others.len())),
            total_ns,
            count: sum(|node| node.count),
            max_ns: nodes().map(|node| node.max).max().unwrap_or(0),
            share: share(total_ns, self.whole.ns),
            interval: None,
            pause_ns: sum(|node| node.paused),
            approximate_ns: sum(|node| node.approximate),
            owner_no_cpu_ns: sum(|node| node.off_cpu.round() as u64).min(total_ns),
            others: others.len() as u64,
            children: Vec::new(),
        }
    }

    fn told(&self, ids: &[u32]) -> Vec<Row> {
        let nodes: Vec<&Node> = ids.iter().map(|id| &self.tree.nodes[*id as usize]).collect();
        let texts = self.texts(&nodes);
        let mut keyed: Vec<((u32, &Node), report::Value)> = ids.iter().copied().zip(nodes).zip(texts).collect();
        keyed.sort_by(|((_, a), a_text), ((_, b), b_text)| rank(a).cmp(&rank(b)).then_with(|| a_text.cmp(b_text)));
        keyed.into_iter().map(|((id, node), value)| self.row(id, node, value)).collect()
    }

    fn row(&self, id: u32, node: &Node, value: report::Value) -> Row {
        Row { children: self.rows(&self.tree.siblings(node.last_child)), ..self.row_of(node, &[id], value) }
    }

    /// The row of what these nodes come to, without children.
    fn row_of(&self, node: &Node, ids: &[u32], value: report::Value) -> Row {
        let parts = ids.iter().map(|id| PartOf::Node(*id));
        Row {
            aspect: self.tree.by[node.level as usize],
            value,
            total_ns: node.total,
            count: node.count,
            max_ns: node.max,
            share: share(node.total, self.whole.ns),
            interval: self.whole.strata.and_then(|strata| strata.interval(parts, node.total)),
            pause_ns: node.paused,
            approximate_ns: node.approximate,
            // A slice counts whole in the interval in which it began.
            owner_no_cpu_ns: (node.off_cpu.round() as u64).min(node.total),
            others: 0,
            children: Vec::new(),
        }
    }

    /// What the nodes are called. Different threads of the same name, next to
    /// each other, get their ids added.
    fn texts(&self, nodes: &[&Node]) -> Vec<report::Value> {
        let mut uses: FxHashMap<String, u32> = FxHashMap::default();
        for node in nodes {
            if let NodeValue::Thread(id) = node.value {
                *uses.entry(self.names.thread_text(id)).or_default() += 1;
            }
        }
        let text = |node: &&Node| match node.value {
            NodeValue::Thread(id) => {
                let name = self.names.thread_text(id);
                match uses.get(&name) {
                    Some(1) | None => name,
                    Some(_) => format!("{name} (#{})", id.0),
                }
            }
            NodeValue::Kind(kind) => kind.name().to_owned(),
            NodeValue::Text(id) => self.names.text(id).to_owned(),
            NodeValue::Lock(id) => self.names.lock_text(id),
            NodeValue::Group(place) => self.groups.text(place, self.names),
            NodeValue::Method(id) => self.names.method_name(id).map_or_else(String::new, |name| name.full.clone()),
            NodeValue::Time(number) => interval_text(number, self.whole.interval),
            NodeValue::Folded => FOLDED.to_owned(),
            NodeValue::Paused => PAUSED.to_owned(),
            NodeValue::Unknown | NodeValue::Path(_) => UNKNOWN.to_owned(),
        };
        nodes
            .iter()
            .map(|node| match node.value {
                NodeValue::Path(id) => report::Value::Chain(self.names.path_text(id)),
                _ => report::Value::Text(text(node)),
            })
            .collect()
    }
}

/// The order of rows: most time first, intervals of time by time.
fn rank(node: &Node) -> (u32, Reverse<u64>) {
    match node.value {
        NodeValue::Time(interval) => (interval, Reverse(0)),
        _ => (u32::MAX, Reverse(node.total)),
    }
}

impl Merged {
    fn add(&mut self, node: &Node, id: u32) {
        self.ids.push(id);
        let sum = &mut self.node;
        sum.total += node.total;
        sum.paused += node.paused;
        sum.approximate += node.approximate;
        sum.off_cpu += node.off_cpu;
        // A contention is one of one lock: it counts in one of the merged nodes.
        sum.count += node.count;
        sum.max = sum.max.max(node.max);
    }
}

/// When an interval begins, in seconds since the range's start: `+12.5s`.
fn interval_text(number: u32, interval: DurationNs) -> String {
    let start_ns = u64::from(number) * interval.0;
    let (seconds, rest) = (start_ns / 1_000_000_000, start_ns % 1_000_000_000);
    if rest == 0 {
        return format!("+{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("+{seconds}.{}s", fraction.trim_end_matches('0'))
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_a_bound_the_cheapest_are_one_row_and_the_totals_stay() {
        let mut tree = Tree::new(&[Aspect::Lock, Aspect::OwnerThread]);
        for lock in 1..=5 {
            let node = tree.node(None, 0, NodeValue::Lock(LockId(lock)));
            tree.add(node, lock, Part { duration: lock * 10, paused: lock, approximate: 0 });
            for thread in 1..=4 {
                let owner = tree.node(Some(node), 1, NodeValue::Thread(ThreadId(thread)));
                tree.add(owner, lock, Part { duration: thread, ..Part::default() });
            }
        }
        let names = Names::default();
        let groups = LockGroups::default();
        let whole = Whole { ns: 150, interval: DurationNs(1), strata: None };
        let all = Rendering { tree: &tree, names: &names, groups: &groups, whole, most: 9 };
        let few = Rendering { most: 2, ..all };
        let (all, few) = (all.rows(&tree.siblings(tree.last_root)), few.rows(&tree.siblings(tree.last_root)));
        assert_eq!((all.len(), few.len()), (5, 3));
        assert_eq!(few[0].total_ns, 50);
        let rest = &few[2];
        assert_eq!((rest.others, rest.total_ns, rest.count, rest.max_ns), (3, 60, 3, 30));
        assert_eq!(rest.pause_ns, 6);
        assert_eq!(rest.value.headline(), "(3 others)");
        assert_eq!(
            few[0].children.iter().map(|row| (row.total_ns, row.others)).collect::<Vec<_>>(),
            [(4, 0), (3, 0), (3, 2)]
        );
        let total = |rows: &[Row]| rows.iter().map(|row| row.total_ns).sum::<u64>();
        assert_eq!(total(&all), total(&few));
    }

    #[test]
    fn intervals_are_told_by_their_begin() {
        assert_eq!(interval_text(0, DurationNs(1_000_000_000)), "+0s");
        assert_eq!(interval_text(12, DurationNs(1_000_000_000)), "+12s");
        assert_eq!(interval_text(3, DurationNs(250_000_000)), "+0.75s");
    }
}
