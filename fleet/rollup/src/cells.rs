//! Sums by key while a recording is read: bounded, and settled into rows at its end.

use crate::histogram::Histogram;
use crate::minute::Minute;
use crate::names::{Names, FOLDED};
use crate::rows::{LockMinute, WaitMinute};
use headway_analysis::monitor::Kind;
use headway_analysis::park::Synchronizer;
use headway_model::LockId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Different keys of one table; beyond, rows do without stacks and locks.
const MOST_CELLS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LockKey {
    pub minute: Minute,
    pub lock: LockId,
    pub kind: Kind,
    pub waiter: Option<i64>,
    pub owner: Option<i64>,
    pub is_virtual: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WaitKey {
    pub minute: Minute,
    pub lock: LockId,
    pub synchronizer: Synchronizer,
    pub stack: Option<i64>,
    pub is_virtual: bool,
}

/// What both kinds of rows count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub count: u64,
    pub ns: u64,
    pub handoff_ns: u64,
    pub unknown_ns: u64,
    pub pause_ns: u64,
    pub max_ns: u64,
    pub histogram: Histogram,
}

impl Cell {
    /// Counts contentions or waits that took so long each.
    pub fn count(&mut self, ns: u64, times: u64) {
        self.count += times;
        self.max_ns = self.max_ns.max(ns);
        self.histogram.add(ns, times);
    }

    fn merge(&mut self, other: &Cell) {
        self.count += other.count;
        self.ns += other.ns;
        self.handoff_ns += other.handoff_ns;
        self.unknown_ns += other.unknown_ns;
        self.pause_ns += other.pause_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.histogram.merge(&other.histogram);
    }
}

/// A key that can do with less detail.
pub(crate) trait Foldable: Copy + Eq + Hash {
    /// The key of everything of its minute.
    fn folded(self) -> Self;
}

impl Foldable for LockKey {
    fn folded(self) -> LockKey {
        LockKey { lock: FOLDED, waiter: None, owner: None, ..self }
    }
}

impl Foldable for WaitKey {
    fn folded(self) -> WaitKey {
        WaitKey { lock: FOLDED, stack: None, synchronizer: Synchronizer::Other, ..self }
    }
}

/// Sums by key.
#[derive(Debug)]
pub(crate) struct Cells<K> {
    cells: FxHashMap<K, Cell>,
    pub folded: u64,
}

impl<K> Default for Cells<K> {
    fn default() -> Cells<K> {
        Cells { cells: FxHashMap::default(), folded: 0 }
    }
}

impl<K: Foldable> Cells<K> {
    /// The sums of a key.
    pub fn of(&mut self, key: K) -> &mut Cell {
        let key = match self.cells.len() < MOST_CELLS || self.cells.contains_key(&key) {
            true => key,
            false => {
                self.folded += 1;
                key.folded()
            }
        };
        self.cells.entry(key).or_default()
    }
}

/// The stack that was blocked on a lock longest: where the lock is acquired.
fn acquired<'a>(
    cells: impl Iterator<Item = (LockId, Option<i64>, &'a Cell)>,
    names: &Names,
) -> FxHashMap<LockId, Option<i64>> {
    let mut by_stack: FxHashMap<LockId, BTreeMap<Option<i64>, u64>> = FxHashMap::default();
    for (lock, stack, cell) in cells {
        if lock.is_none() || names.says_nothing(lock) {
            *by_stack.entry(lock).or_default().entry(stack).or_default() += cell.ns;
        }
    }
    let longest = |stacks: BTreeMap<Option<i64>, u64>| {
        stacks.into_iter().filter(|(stack, _)| stack.is_some()).max_by_key(|(_, ns)| *ns).and_then(|(stack, _)| stack)
    };
    by_stack.into_iter().map(|(lock, stacks)| (lock, longest(stacks))).collect()
}

impl Cells<LockKey> {
    /// The rows, in order: by minute, site and stacks.
    pub fn into_rows(self, names: &mut Names) -> Vec<LockMinute> {
        let acquired = acquired(self.cells.iter().map(|(key, cell)| (key.lock, key.waiter, cell)), names);
        let mut rows: BTreeMap<_, Cell> = BTreeMap::new();
        for (key, cell) in &self.cells {
            let kind = key.kind.name();
            let site = names.site(key.lock, kind, acquired.get(&key.lock).copied().flatten());
            let key = (key.minute, site, kind, key.waiter, key.owner, key.is_virtual);
            rows.entry(key).or_default().merge(cell);
        }
        let row = |((minute, site, kind, waiter_stack, owner_stack, is_virtual), cell): (_, Cell)| LockMinute {
            minute,
            site,
            kind,
            waiter_stack,
            owner_stack,
            is_virtual,
            contentions: cell.count,
            blocked_ns: cell.ns,
            handoff_ns: cell.handoff_ns,
            unknown_ns: cell.unknown_ns,
            pause_ns: cell.pause_ns,
            max_ns: cell.max_ns,
            histogram: cell.histogram,
        };
        rows.into_iter().map(row).collect()
    }

    /// The site of a lock that a phase is about.
    pub fn sites(&self, names: &mut Names) -> FxHashMap<LockId, i64> {
        let acquired = acquired(self.cells.iter().map(|(key, cell)| (key.lock, key.waiter, cell)), names);
        let mut sites = FxHashMap::default();
        for key in self.cells.keys() {
            let stack = acquired.get(&key.lock).copied().flatten();
            let site = names.site(key.lock, key.kind.name(), stack);
            sites.entry(key.lock).or_insert(site);
        }
        sites
    }
}

impl Cells<WaitKey> {
    /// The rows, in order: by minute, site and stack.
    pub fn into_rows(self, names: &mut Names) -> Vec<WaitMinute> {
        let acquired = acquired(self.cells.iter().map(|(key, cell)| (key.lock, key.stack, cell)), names);
        let mut rows: BTreeMap<_, Cell> = BTreeMap::new();
        for (key, cell) in &self.cells {
            // Who parks need not name anything: all such waits are on one "lock".
            let stack = if key.lock.is_none() { key.stack } else { acquired.get(&key.lock).copied().flatten() };
            let site = names.site(key.lock, Kind::Conditional.name(), stack);
            let key = (key.minute, site, key.synchronizer.words(), key.stack, key.is_virtual);
            rows.entry(key).or_default().merge(cell);
        }
        let row = |((minute, site, synchronizer, stack, is_virtual), cell): (_, Cell)| WaitMinute {
            minute,
            site,
            synchronizer,
            stack,
            is_virtual,
            waits: cell.count,
            waited_ns: cell.ns,
            max_ns: cell.max_ns,
            histogram: cell.histogram,
        };
        rows.into_iter().map(row).collect()
    }
}
