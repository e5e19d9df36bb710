//! Adds up blocked stretches by contender and owner.
//!
//! The finest totals are *leaves*: one for each combination of contender side
//! (lock, thread, chain) and holder. All of a leaf's time has the same value
//! of every aspect, so the tree that was asked for is updated through a path
//! computed once per leaf. What findings need is added up from the leaves at
//! the end.

mod tree;

pub(crate) use tree::{share, Part};

use crate::monitor::{Basis, Holder, HolderId, Holders, Kind, Slice, Stretch};
use crate::names::Names;
use crate::report::{BlockedTime, Row};
use crate::{aspect::Aspect, options::Options};
use headway_model::{ChainId, DurationNs, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use tree::Tree;

/// The contender's side of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Side {
    pub kind: Kind,
    pub lock: LockId,
    pub thread: ThreadId,
    pub chain: ChainId,
    /// True if a memory bound folded several into this one.
    pub folded: bool,
}

/// Totals of one combination of contender side and holder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub side: u32,
    pub holder: HolderId,
    /// Number of the interval, 0 unless the breakdown is by time; `None` if
    /// a memory bound folded several.
    pub interval: Option<u32>,
    pub total: u64,
    pub hand_over: u64,
}

/// Totals of one lock, in ns and stretches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LockTotals {
    pub lock: LockId,
    pub total: u64,
    pub count: u64,
    pub max: u64,
    pub hand_over: u64,
    pub unknown: u64,
    pub after_wait: u64,
    pub in_virtual: u64,
}

/// The part of time that counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub from: TimeNs,
    pub to: TimeNs,
}

impl Range {
    /// The part of a span that lies in the range.
    pub fn clip(&self, start: TimeNs, end: TimeNs) -> Option<(TimeNs, TimeNs)> {
        let (start, end) = (start.max(self.from), end.min(self.to));
        (start < end).then_some((start, end))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LeafKey {
    side: u32,
    holder: HolderId,
    interval: u32,
}

/// Totals of all stretches.
#[derive(Debug)]
pub(crate) struct Aggregate {
    tree: Tree,
    /// Length of the intervals if the breakdown is by time.
    interval: Option<DurationNs>,
    side_ids: FxHashMap<Side, u32>,
    sides: Vec<(Side, u32)>,
    leaf_ids: FxHashMap<LeafKey, u32>,
    leaves: Vec<Leaf>,
    /// Nodes of the tree from root to leaf, for each leaf.
    paths: Vec<u32>,
    /// For each leaf, whether the holder's frame is approximate.
    approximate: Vec<bool>,
    lock_ids: FxHashMap<LockId, u32>,
    locks: Vec<LockTotals>,
    folded_leaf: Option<u32>,
    stretches: u64,
    bound: usize,
    pub blocked_ns: u64,
    pub blocked: BlockedTime,
    pub folded: u64,
}

impl Aggregate {
    pub fn new(options: &Options) -> Aggregate {
        let by_time = options.by.contains(&Aspect::Time);
        Aggregate {
            tree: Tree::new(&options.by),
            interval: by_time.then_some(options.time_bucket.max(DurationNs(1))),
            side_ids: FxHashMap::default(),
            sides: Vec::new(),
            leaf_ids: FxHashMap::default(),
            leaves: Vec::new(),
            paths: Vec::new(),
            approximate: Vec::new(),
            lock_ids: FxHashMap::default(),
            locks: Vec::new(),
            folded_leaf: None,
            stretches: 0,
            bound: options.bounds.leaves.min(u32::MAX as usize / 2),
            blocked_ns: 0,
            blocked: BlockedTime::default(),
            folded: 0,
        }
    }

    /// Stretches with time in the range.
    pub fn stretches(&self) -> u64 {
        self.stretches
    }

    /// Adds a stretch, as far as it lies in the range.
    pub fn add(&mut self, stretch: &Stretch<'_>, range: Range, names: &mut Names) {
        if range.clip(stretch.start, stretch.start + stretch.duration).is_none() {
            return;
        }
        self.stretches += 1;
        let side = self.side(Side {
            kind: stretch.kind,
            lock: stretch.lock,
            thread: stretch.thread,
            chain: stretch.chain,
            folded: false,
        });
        let mut total = 0;
        for slice in stretch.slices {
            total += self.add_slice(stretch, side, slice, range, names);
        }
        self.add_to_lock(stretch, side, total, names);
    }

    fn add_slice(
        &mut self,
        stretch: &Stretch<'_>,
        side: u32,
        slice: &Slice,
        range: Range,
        names: &mut Names,
    ) -> u64 {
        let slice_end = slice.start + slice.duration;
        let Some((start, end)) = range.clip(slice.start, slice_end) else { return 0 };
        let whole = end.since(start);
        let paused = pro_rata(slice.stop_the_world, whole, slice.duration);
        let Some(interval) = self.interval else {
            let leaf = self.leaf(LeafKey { side, holder: slice.holder, interval: 0 }, stretch, names);
            self.add_part(leaf, slice.basis, whole.0, paused.0);
            self.account(stretch, slice, side, whole.0, paused.0);
            return whole.0;
        };
        let mut at = start;
        while at < end {
            let number = at.since(range.from).0 / interval.0;
            let next = range.from + DurationNs((number + 1).saturating_mul(interval.0));
            let part = next.min(end).since(at);
            let key = LeafKey {
                side,
                holder: slice.holder,
                interval: u32::try_from(number).unwrap_or(u32::MAX),
            };
            let leaf = self.leaf(key, stretch, names);
            self.add_part(leaf, slice.basis, part.0, pro_rata(paused, part, whole).0);
            at = at + part;
        }
        self.account(stretch, slice, side, whole.0, paused.0);
        whole.0
    }

    fn add_part(&mut self, leaf: u32, basis: Basis, duration: u64, paused: u64) {
        let at = leaf as usize;
        let part = Part {
            duration,
            paused,
            approximate: if self.approximate[at] { duration } else { 0 },
        };
        let depth = self.tree.by().len();
        for node in &self.paths[at * depth..(at + 1) * depth] {
            self.tree.add(*node, self.stretches, part);
        }
        let leaf = &mut self.leaves[at];
        leaf.total += duration;
        if basis.is_hand_over() {
            leaf.hand_over += duration;
        }
    }

    /// Notes by what right the slice has its owner.
    fn account(&mut self, stretch: &Stretch<'_>, slice: &Slice, side: u32, ns: u64, paused: u64) {
        self.blocked.stop_the_world_ns += paused;
        let lock = &mut self.locks[self.sides[side as usize].1 as usize];
        if slice.basis.is_known() {
            let has_chain = stretch.holders.get(slice.holder).chain.is_some();
            if has_chain {
                self.blocked.owner_chain_ns += ns;
            } else {
                self.blocked.owner_thread_ns += ns;
            }
        } else if slice.basis.is_hand_over() {
            self.blocked.hand_over_ns += ns;
            lock.hand_over += ns;
        } else {
            self.blocked.unknown_ns += ns;
            lock.unknown += ns;
        }
    }

    fn add_to_lock(&mut self, stretch: &Stretch<'_>, side: u32, total: u64, names: &Names) {
        let is_virtual = names.thread(stretch.thread).is_some_and(|def| def.is_virtual);
        let when = |condition: bool| if condition { total } else { 0 };
        let lock = &mut self.locks[self.sides[side as usize].1 as usize];
        lock.total += total;
        lock.count += 1;
        lock.max = lock.max.max(total);
        lock.after_wait += when(stretch.after_wait);
        lock.in_virtual += when(is_virtual);
        let blocked = &mut self.blocked;
        self.blocked_ns += total;
        blocked.after_wait_ns += when(stretch.after_wait);
        blocked.in_flight_ns += when(stretch.in_flight);
        blocked.bounded_ns += when(stretch.bound);
        blocked.virtual_ns += when(is_virtual);
        blocked.max_ns = blocked.max_ns.max(total);
    }

    fn side(&mut self, side: Side) -> u32 {
        if let Some(id) = self.side_ids.get(&side) {
            return *id;
        }
        if self.sides.len() >= self.bound && !side.folded {
            self.folded += 1;
            return self.side(folded_side(side.kind));
        }
        let lock = self.lock(side.lock);
        let id = self.sides.len() as u32;
        self.sides.push((side, lock));
        self.side_ids.insert(side, id);
        id
    }

    fn lock(&mut self, lock: LockId) -> u32 {
        let locks = &mut self.locks;
        *self.lock_ids.entry(lock).or_insert_with(|| {
            locks.push(LockTotals { lock, ..LockTotals::default() });
            locks.len() as u32 - 1
        })
    }

    fn leaf(&mut self, key: LeafKey, stretch: &Stretch<'_>, names: &mut Names) -> u32 {
        if let Some(id) = self.leaf_ids.get(&key) {
            return *id;
        }
        if self.leaves.len() >= self.bound {
            return self.fold(stretch, names);
        }
        let id = self.add_leaf(key.side, key.holder, Some(key.interval), stretch.holders, names);
        self.leaf_ids.insert(key, id);
        id
    }

    fn fold(&mut self, stretch: &Stretch<'_>, names: &mut Names) -> u32 {
        self.folded += 1;
        if let Some(leaf) = self.folded_leaf {
            return leaf;
        }
        let side = self.side(folded_side(stretch.kind));
        let leaf = self.add_leaf(side, HolderId::FOLDED, None, stretch.holders, names);
        self.folded_leaf = Some(leaf);
        leaf
    }

    fn add_leaf(
        &mut self,
        side: u32,
        holder: HolderId,
        interval: Option<u32>,
        holders: &Holders,
        names: &mut Names,
    ) -> u32 {
        let leaf = Leaf { side, holder, interval, total: 0, hand_over: 0 };
        let side = self.sides[side as usize].0;
        let mut parent = None;
        for level in 0..self.tree.by().len() {
            let aspect = self.tree.by()[level];
            let value = tree::value_of(aspect, &leaf, &side, holders, names);
            let node = self.tree.node(parent, level, value);
            self.paths.push(node);
            parent = Some(node);
        }
        self.approximate.push(is_approximate(holders.get(holder), names));
        self.leaves.push(leaf);
        self.leaves.len() as u32 - 1
    }

    /// The breakdown that was asked for.
    pub fn rows(&self, names: &Names) -> Vec<Row> {
        let interval = self.interval.unwrap_or(DurationNs(1));
        self.tree.rows(names, self.blocked_ns, interval)
    }

    /// The aspects of that breakdown.
    pub fn by(&self) -> &[Aspect] {
        self.tree.by()
    }

    /// Every lock with blocked time, in no particular order.
    pub fn locks(&self) -> &[LockTotals] {
        &self.locks
    }

    /// Every leaf with its contender side.
    pub fn leaves(&self) -> impl Iterator<Item = (&Leaf, &Side)> {
        self.leaves.iter().map(|leaf| (leaf, &self.sides[leaf.side as usize].0))
    }
}

fn folded_side(kind: Kind) -> Side {
    Side {
        kind,
        lock: LockId::NONE,
        thread: ThreadId::NONE,
        chain: ChainId::NONE,
        folded: true,
    }
}

fn is_approximate(holder: Holder, names: &Names) -> bool {
    holder.approximate || names.is_approximate(holder.chain, holder.frame)
}

fn pro_rata(amount: DurationNs, part: DurationNs, whole: DurationNs) -> DurationNs {
    if part == whole || amount == DurationNs::ZERO {
        return amount;
    }
    let share = u128::from(amount.0) * u128::from(part.0) / u128::from(whole.0.max(1));
    DurationNs(share as u64)
}
