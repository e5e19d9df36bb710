//! Contentions of which a recording has only the sum: they were shorter than the
//! minimum that it was asked for, or no random instant lay in them.

use super::{Aggregate, Part, PathKey, Range, Side};
use crate::aspect::Aspect;
use crate::monitor::{Kind, OwnersById, Slice, Sum, SumPart};
use crate::names::Names;
use crate::sampled::Drawn;
use headway_model::{DurationNs, TimeNs};
use smallvec::{smallvec, SmallVec};

impl Aggregate {
    /// Adds the part of a sum that lies in the range. Nobody is blamed for it but the owner that was
    /// estimated, by the instants of `drawn`. Gives the time that was added.
    pub fn add_sum(
        &mut self,
        sum: &Sum,
        drawn: Option<&Drawn>,
        owners: &OwnersById,
        range: Range,
        names: &mut Names,
    ) -> u64 {
        let Some((from, to)) = range.clip(sum.start, sum.end()) else { return 0 };
        let part = part_of(sum, from, to);
        let Sum { kind, lock, thread, chain, .. } = *sum;
        let side = self.side(Side { kind, lock, thread, chain, folded: false }, names);
        let owner = self.owner_cell(owners, sum.owner, names).tuple;
        let contender = self.sides[side as usize].tuple;
        let by_time = self.tree.by().iter().position(|by| *by == Aspect::Time).unwrap_or(usize::MAX);
        for (interval, from, to) in self.pieces(from, to, range) {
            let piece = part_of(sum, from, to);
            let path = self.path(PathKey { contender, owner, interval }, kind) as usize;
            if let Some(drawn) = drawn {
                self.add_share_drawn(path, side, drawn, piece.ns as f64);
            }
            for (level, node) in self.paths[path..path + self.tree.by().len()].iter().enumerate() {
                // Above the level of time a contention that goes on in the next interval counts once.
                let again = if level < by_time && from > sum.start.max(range.from) { piece.going } else { 0 };
                self.tree.add_sum(*node, piece.count - again, piece.ns, sum.mean_ns);
            }
        }
        self.add_sum_to_lock(sum, part, side, names);
        let slice = Slice {
            start: sum.time,
            duration: DurationNs(part.ns),
            stop_the_world: DurationNs::ZERO,
            owner: sum.owner,
            basis: sum.basis,
            owner_blocked: false,
            stands_for: 1,
        };
        let lock = self.sides[side as usize].lock;
        if sum.basis.is_hand_off() && self.is_service(sum.thread, side, names) {
            self.service.hand_over += part.ns;
        }
        if sum.basis.is_known() {
            self.locks[lock as usize].shared_owned += part.ns;
        }
        if let Some(drawn) = drawn {
            self.add_owner_drawn(lock, &slice, &drawn.owner, part.ns as f64);
        }
        self.account(&slice, lock, Part::running(part.ns), part.count);
        part.ns
    }

    /// A span in the breakdown's intervals, with their numbers; as a whole if it is not by time.
    fn pieces(&self, from: TimeNs, to: TimeNs, range: Range) -> SmallVec<[(u32, TimeNs, TimeNs); 2]> {
        let Some(length) = self.interval else { return smallvec![(0, from, to)] };
        let mut pieces = SmallVec::new();
        let mut at = from;
        while at < to {
            let number = at.since(range.from).0 / length.0;
            let next = range.from + DurationNs((number + 1).saturating_mul(length.0));
            pieces.push((u32::try_from(number).unwrap_or(u32::MAX), at, next.min(to)));
            at = next.min(to);
        }
        pieces
    }

    fn add_sum_to_lock(&mut self, sum: &Sum, SumPart { ns, count, .. }: SumPart, side: u32, names: &Names) {
        let longest = sum.mean_ns.min(ns);
        let in_virtual = match names.is_virtual(sum.thread) {
            true => ns,
            false => 0,
        };
        let cell = &mut self.sides[side as usize];
        cell.total += ns;
        let lock = &mut self.locks[cell.lock as usize];
        lock.total += ns;
        lock.count += count;
        lock.max = lock.max.max(longest);
        lock.in_virtual += in_virtual;
        let after_wait = if sum.after_wait { ns } else { 0 };
        lock.after_wait += after_wait;
        lock.is_juc |= sum.kind == Kind::Juc;
        self.contentions += count;
        self.blocked_ns += ns;
        let blocked = &mut self.blocked;
        blocked.virtual_ns += in_virtual;
        blocked.after_wait_ns += after_wait;
        blocked.juc_ns += if sum.kind == Kind::Juc { ns } else { 0 };
        blocked.max_ns = blocked.max_ns.max(longest);
        if !sum.is_estimated {
            blocked.summed += count;
            blocked.summed_ns += ns;
        }
    }
}

/// The part of a sum between two moments in its span.
fn part_of(sum: &Sum, from: TimeNs, to: TimeNs) -> SumPart {
    let since = |time: TimeNs| time.since(sum.start).0;
    Sum::part(sum.total_ns, sum.count, since(sum.end()), since(from), since(to))
}
