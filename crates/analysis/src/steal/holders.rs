//! Contentions whose holder was not running: the lock looks contended, but what
//! it waits for is a CPU.

use super::history::History;
use super::report::HeldOff;
use crate::monitor::{Kind, Slice, Stretch};
use crate::names::Names;
use headway_model::{LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Part of a slice from which on its holder counts as not running.
const MOSTLY: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
struct Held {
    lock: LockId,
    holder: ThreadId,
    start: TimeNs,
    end: TimeNs,
    /// Its rows of the breakdown.
    path: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfLock {
    blocked: f64,
    off_cpu: f64,
    slices: u64,
    slices_off_cpu: u64,
}

/// See the module. A slice waits here until the intervals in which it lay are
/// known.
#[derive(Debug)]
pub(crate) struct Holders {
    pending: VecDeque<Held>,
    locks: FxHashMap<LockId, OfLock>,
    /// Time off the CPU by rows of the breakdown.
    pub by_path: FxHashMap<u32, f64>,
    bound: usize,
    pub folded: u64,
}

impl Holders {
    pub fn new(bound: usize) -> Holders {
        Holders {
            pending: VecDeque::new(),
            locks: FxHashMap::default(),
            by_path: FxHashMap::default(),
            bound,
            folded: 0,
        }
    }

    /// Takes in a blocked stretch with its slices, whose rows `path` tells.
    pub fn stretch(&mut self, stretch: &Stretch<'_>, from: TimeNs, to: TimeNs, path: impl Fn(&Slice) -> Option<u32>) {
        if stretch.kind == Kind::Conditional {
            return;
        }
        for slice in stretch.slices.iter().filter(|slice| slice.basis.is_known()) {
            let holder = stretch.holders.get(slice.holder).thread;
            let (start, end) = (slice.start.max(from), (slice.start + slice.duration).min(to));
            if holder.is_none() || end <= start {
                continue;
            }
            match self.pending.len() < self.bound {
                true => {
                    self.pending.push_back(Held { lock: stretch.lock, holder, start, end, path: path(slice) });
                }
                false => self.folded += 1,
            }
        }
    }

    /// The intervals up to `time` are known.
    pub fn known_to(&mut self, time: TimeNs, history: &History) {
        let (locks, by_path) = (&mut self.locks, &mut self.by_path);
        self.pending.retain(|held| {
            if held.end > time {
                return true;
            }
            let blocked = held.end.since(held.start).0 as f64;
            let off_cpu = history.off_cpu(held.holder, held.start, held.end);
            if let Some(path) = held.path.filter(|_| off_cpu > 0.0) {
                *by_path.entry(path).or_default() += off_cpu;
            }
            let lock = locks.entry(held.lock).or_default();
            lock.blocked += blocked;
            lock.off_cpu += off_cpu;
            lock.slices += 1;
            lock.slices_off_cpu += u64::from(off_cpu >= blocked * MOSTLY);
            false
        });
    }

    pub fn report(&self, names: &Names) -> Vec<HeldOff> {
        let row = |(id, lock): (&LockId, &OfLock)| HeldOff {
            lock: names.lock_text(*id),
            blocked_ns: lock.blocked.round() as u64,
            holder_off_cpu_ns: lock.off_cpu.round() as u64,
            share: if lock.blocked > 0.0 { lock.off_cpu / lock.blocked } else { 0.0 },
            slices: lock.slices,
            slices_off_cpu: lock.slices_off_cpu,
        };
        let mut rows: Vec<HeldOff> = self.locks.iter().map(row).filter(|row| row.holder_off_cpu_ns > 0).collect();
        rows.sort_by(|a, b| b.holder_off_cpu_ns.cmp(&a.holder_off_cpu_ns).then_with(|| a.lock.cmp(&b.lock)));
        rows
    }
}
