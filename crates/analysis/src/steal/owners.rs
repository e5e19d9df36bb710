//! Contentions whose owner was not running: the lock looks contended, but what
//! it waits for is a CPU.

use super::history::{Estimate, History};
use super::steal_report::HeldOff;
use crate::ledger::LockSplit;
use crate::monitor::{Contention, ContentionSink, Kind, Slice};
use crate::names::Names;
use headway_model::{LockId, ThreadId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Part of a slice from which on its owner counts as not running.
const MOSTLY: f64 = 0.5;

/// A thread, and from when to when.
type Span = (ThreadId, TimeNs, TimeNs);

#[derive(Clone, Copy, Debug)]
struct Held {
    lock: LockId,
    owner: ThreadId,
    start: TimeNs,
    end: TimeNs,
    /// Part of it in which the VM was not paused.
    running: f64,
    /// Its rows of the breakdown.
    path: Option<u32>,
}

/// What the owners of one lock did while others were blocked on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfLock {
    /// Blocked time whose owner is known.
    pub blocked: f64,
    /// What its owners did, as far as they were measured.
    pub did: Estimate,
    slices: u64,
    slices_no_cpu: u64,
}

impl OfLock {
    /// So many times as much of all times.
    pub fn scaled(self, times: f64) -> OfLock {
        OfLock { blocked: self.blocked * times, did: self.did.scaled(times), ..self }
    }
}

/// Room that is the same each time.
#[derive(Debug, Default)]
struct Room {
    spans: Vec<(ThreadId, TimeNs, TimeNs, LockId)>,
    away: Vec<Span>,
    /// Up to when an owner's spans are added up, where one that is pending may begin earlier.
    counted: FxHashMap<ThreadId, TimeNs>,
}

/// See the module. A slice waits here until the intervals in which it lay are
/// known.
#[derive(Debug)]
pub(crate) struct OwnersOffCpu {
    pending: VecDeque<Held>,
    /// Spans in which threads were blocked or waited.
    away: VecDeque<Span>,
    locks: FxHashMap<LockId, OfLock>,
    room: Room,
    /// Time without a CPU by rows of the breakdown, and by lock.
    by_path: FxHashMap<(u32, LockId), f64>,
    bound: usize,
    pub folded: u64,
}

impl OwnersOffCpu {
    pub fn new(bound: usize) -> OwnersOffCpu {
        OwnersOffCpu {
            pending: VecDeque::new(),
            away: VecDeque::new(),
            locks: FxHashMap::default(),
            room: Room::default(),
            by_path: FxHashMap::default(),
            bound,
            folded: 0,
        }
    }

    /// Takes in a contention with its slices, whose rows are in `path`.
    pub fn contention(
        &mut self,
        contention: &Contention<'_>,
        from: TimeNs,
        to: TimeNs,
        path: impl Fn(&Slice) -> Option<u32>,
    ) {
        self.away(contention.thread, contention.start, contention.start + contention.duration);
        if contention.kind == Kind::Conditional {
            return;
        }
        for slice in contention.slices.iter().filter(|slice| slice.basis.is_known() && !slice.is_drawn()) {
            let owner = contention.owners.get(slice.owner).thread;
            let (start, end) = (slice.start.max(from), (slice.start + slice.duration).min(to));
            if owner.is_none() || end <= start {
                continue;
            }
            // Nobody has a CPU while the VM is paused, which is separate.
            let paused = slice.stop_the_world.0 as f64 / slice.duration.0.max(1) as f64;
            match self.pending.len() < self.bound {
                true => {
                    let lock = contention.lock;
                    self.pending.push_back(Held { lock, owner, start, end, running: 1.0 - paused, path: path(slice) });
                }
                false => self.folded += 1,
            }
        }
    }

    /// The thread was blocked or waited.
    pub fn away(&mut self, thread: ThreadId, start: TimeNs, end: TimeNs) {
        match self.away.len() < self.bound {
            true => self.away.push_back((thread, start, end)),
            false => self.folded += 1,
        }
    }

    /// Slices and spans that wait for their intervals.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.pending.len() + self.away.len()
    }

    /// The intervals up to `time` are known.
    pub fn known_to(&mut self, time: TimeNs, history: &mut History, also: &mut dyn ContentionSink) {
        self.held_to(time, history);
        self.away.retain(|(thread, start, end)| {
            let is_known = *end <= time;
            if is_known {
                history.away(*thread, *start, *end);
            }
            !is_known
        });
        let (locks, by_path) = (&mut self.locks, &mut self.by_path);
        self.pending.retain(|held| {
            if held.end > time {
                return true;
            }
            let blocked = held.end.since(held.start).0 as f64 * held.running;
            let did = history.estimate(held.owner, held.lock, held.start, held.end, |from, to, off_cpu| {
                also.owner_no_cpu(held.lock, (from, to), off_cpu * held.running);
            });
            let did = did.times(held.running);
            if let Some(path) = held.path.filter(|_| did.off_cpu > 0.0) {
                *by_path.entry((path, held.lock)).or_default() += did.off_cpu;
            }
            let lock = locks.entry(held.lock).or_default();
            lock.blocked += blocked;
            lock.did.add(&did);
            lock.slices += 1;
            lock.slices_no_cpu += u64::from(did.off_cpu >= blocked * MOSTLY);
            false
        });
    }

    /// Adds up for how long each owner had locks and was not blocked itself, however many
    /// threads were blocked on them.
    fn held_to(&mut self, time: TimeNs, history: &mut History) {
        let Room { spans, away, counted } = &mut self.room;
        spans.clear();
        let known = self.pending.iter().filter(|held| held.end <= time);
        spans.extend(known.map(|held| (held.owner, held.start, held.end, held.lock)));
        spans.sort_unstable();
        away.clear();
        away.extend(self.away.iter().filter(|(.., end)| *end <= time));
        away.sort_unstable();
        let mut away = away.iter().peekable();
        for &(owner, start, end, lock) in spans.iter() {
            let last = counted.entry(owner).or_default();
            let mut from = start.max(*last);
            history.held_too(owner, lock, start, from.min(end));
            while let Some((thread, gone, back)) =
                away.peek().filter(|(thread, gone, _)| (*thread, *gone) < (owner, end))
            {
                if *thread == owner && *gone > from {
                    history.held(owner, lock, from, *gone);
                }
                if *thread == owner {
                    from = from.max(*back);
                }
                if (*thread, *back) > (owner, end) {
                    break;
                }
                away.next();
            }
            if end > from {
                history.held(owner, lock, from, end);
            }
            *last = end.max(from);
        }
        let pending = self.pending.iter().filter(|held| held.end > time);
        let open: FxHashSet<ThreadId> = pending.map(|held| held.owner).collect();
        counted.retain(|owner, _| open.contains(owner));
    }

    /// What the owners of a lock did.
    pub fn of_lock(&self, lock: LockId) -> OfLock {
        self.locks.get(&lock).copied().unwrap_or_default()
    }

    /// Time in which owners had no CPU, by rows of the breakdown. `active` says for
    /// which part of its owners' time a lock had an owner that was not blocked
    /// itself.
    pub fn by_path(&self, active: impl Fn(LockId) -> f64) -> FxHashMap<u32, f64> {
        let mut rows: FxHashMap<u32, f64> = FxHashMap::default();
        for ((path, lock), ns) in &self.by_path {
            *rows.entry(*path).or_default() += ns * active(*lock);
        }
        rows
    }

    /// Locks whose owners had no CPU, from the parts of their blocked time (`split`), as everywhere else.
    pub fn report(&self, names: &Names, split: impl Fn(LockId) -> LockSplit) -> Vec<HeldOff> {
        let row = |(id, lock): (&LockId, &OfLock)| {
            let split = split(*id);
            let blocked_ns = split.total();
            HeldOff {
                id: *id,
                lock: names.lock_text(*id),
                blocked_ns,
                owner_no_cpu_ns: split.no_cpu,
                least_ns: split.no_cpu_least,
                most_ns: split.no_cpu_most,
                share: split.no_cpu as f64 / blocked_ns.max(1) as f64,
                slices: lock.slices,
                slices_no_cpu: lock.slices_no_cpu,
            }
        };
        let mut rows: Vec<HeldOff> = self.locks.iter().map(row).filter(|row| row.owner_no_cpu_ns > 0).collect();
        rows.sort_by(|a, b| b.owner_no_cpu_ns.cmp(&a.owner_no_cpu_ns).then_with(|| a.lock.cmp(&b.lock)));
        rows
    }
}
