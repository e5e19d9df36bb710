//! Stretches of which a recording has only the sum: they were shorter than the
//! minimum that it was asked for, or no random instant lay in them.

use super::{Aggregate, Part, PathKey, Range, Side};
use crate::monitor::{Holders, Kind, Slice, Sum};
use crate::names::Names;
use headway_model::DurationNs;

impl Aggregate {
    /// Adds a sum whole where the last of its contentions ended in the range. Nobody
    /// is blamed for them but the owner that was estimated. Gives the time that was added.
    pub fn add_sum(&mut self, sum: &Sum, holders: &Holders, range: Range, names: &mut Names) -> u64 {
        if (sum.count, sum.total_ns) == (0, 0) || sum.time < range.from || sum.time > range.to {
            return 0;
        }
        let Sum { kind, lock, thread, chain, .. } = *sum;
        let side = self.side(Side { kind, lock, thread, chain, folded: false }, names);
        let owner = self.holder(holders, sum.owner, names).tuple;
        let since = sum.time.since(range.from).0.saturating_sub(1);
        let number = self.interval.map_or(0, |length| u32::try_from(since / length.0).unwrap_or(u32::MAX));
        let key = PathKey { contender: self.sides[side as usize].tuple, owner, interval: number };
        let path = self.path(key, kind) as usize;
        for node in &self.paths[path..path + self.tree.by().len()] {
            self.tree.add_sum(*node, sum.count, sum.total_ns, sum.longest_ns);
        }
        self.add_sum_to_lock(sum, side, names);
        let slice = Slice {
            start: sum.time,
            duration: DurationNs(sum.total_ns),
            stop_the_world: DurationNs::ZERO,
            holder: sum.owner,
            basis: sum.basis,
            holder_blocked: false,
        };
        let lock = self.sides[side as usize].lock;
        self.account(&slice, lock, Part::running(sum.total_ns), sum.count);
        sum.total_ns
    }

    fn add_sum_to_lock(&mut self, sum: &Sum, side: u32, names: &Names) {
        let (ns, longest) = (sum.total_ns, sum.longest_ns);
        let in_virtual = match names.thread(sum.thread).is_some_and(|def| def.is_virtual) {
            true => ns,
            false => 0,
        };
        let cell = &mut self.sides[side as usize];
        cell.total += ns;
        let lock = &mut self.locks[cell.lock as usize];
        lock.total += ns;
        lock.count += sum.count;
        lock.max = lock.max.max(longest);
        lock.in_virtual += in_virtual;
        lock.is_juc |= sum.kind == Kind::Juc;
        self.stretches += sum.count;
        self.blocked_ns += ns;
        let blocked = &mut self.blocked;
        blocked.virtual_ns += in_virtual;
        blocked.juc_ns += if sum.kind == Kind::Juc { ns } else { 0 };
        blocked.max_ns = blocked.max_ns.max(longest);
        if !sum.is_estimated {
            blocked.summed += sum.count;
            blocked.summed_ns += ns;
        }
    }
}
