//! Accounting for contentions that go on, so that the marks of their lock can go.

use super::super::drawn::{draw, thin, Found, Known};
use super::super::slicing::{Former, Slicer};
use super::super::OwnerId;
use super::super::{Basis, Slice};
use super::{new_slicer, Blocked, LockReplay, Settled};
use headway_model::random::Random;
use headway_model::{DurationNs, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

/// So many waiters each walk along all marks; where there are more, that would cost each mark as much as there
/// are waiters.
const FEW_WAITERS: usize = 32;
/// Slices kept for all waiters of one lock together, if each is to have one at least.
const OF_ALL_WAITERS: usize = 1 << 16;

impl LockReplay {
    /// Accounts for all contentions up to now, so that all marks can go.
    /// Beyond `slices` slices each, equal ones become one, or they are drawn; true if so.
    #[cold]
    pub fn settle(&mut self, slices: usize) -> bool {
        match self.blocked.len() <= FEW_WAITERS {
            true => self.settle_each(slices),
            false => self.settle_many(slices),
        }
    }

    fn settle_each(&mut self, slices: usize) -> bool {
        let mut folded = false;
        let last = self.marks.back().map_or(0, |mark| mark.seq);
        for blocked in self.blocked.iter_mut() {
            let mut settled = take_settled(blocked);
            let first = self.marks.partition_point(|mark| mark.seq <= settled.up_to_seq);
            for mark in self.marks.range(first..) {
                settled.slicer.mark(mark, TimeNs(u64::MAX), &mut settled.slices);
            }
            settled.up_to_seq = last.max(settled.up_to_seq);
            if settled.slices.len() > slices {
                merge_equal(&mut settled.slices);
                let mut random = Random::new(settled.slicer.cursor().0);
                thin(&mut settled.slices, slices, &mut random);
                folded = true;
            }
            blocked.settled = Some(settled);
        }
        folded
    }

    /// Who had the lock is worked out once, and drawn from for each waiter: as many slices together as there are
    /// marks, or one for each.
    fn settle_many(&mut self, slices: usize) -> bool {
        let Some((first, last)) = self.marks.front().zip(self.marks.back()) else { return false };
        let waiters = self.blocked.len();
        let of_each = (self.marks.len() / waiters).clamp(1, slices.max(1));
        let kept = (OF_ALL_WAITERS / waiters).clamp(2, slices.max(2));
        let mut random = Random::new(last.seq);
        let mut course = Course::new(first.time);
        self.marks.iter().for_each(|mark| course.slicer.mark(mark, TimeNs(u64::MAX), &mut course.slices));
        for blocked in self.blocked.iter_mut() {
            let mut settled = take_settled(blocked);
            let span = (settled.slicer.cursor(), course.slicer.cursor());
            if span.0 < span.1 {
                // Whoever was noted as an owner meanwhile is not blocked by itself.
                let whole = span.1.since(span.0);
                let own_marks = blocked.own_marks;
                let owner_at = |instant| if own_marks { (UNKNOWN, whole) } else { course.owner_at(instant, whole) };
                draw(span, of_each, &mut random, owner_at, &mut settled.slices);
                thin(&mut settled.slices, kept, &mut random);
                settled.slicer = course.slicer.seen_by(blocked.thread);
            }
            settled.up_to_seq = last.seq.max(settled.up_to_seq);
            blocked.settled = Some(settled);
        }
        true
    }
}

const UNKNOWN: Known = (OwnerId::UNKNOWN, Basis::NoMark);

/// Who had a lock as long as its marks reach back, for whoever has none that differ.
struct Course {
    slicer: Slicer,
    slices: Vec<Slice>,
}

impl Course {
    fn new(begin: TimeNs) -> Course {
        Course { slicer: Slicer::new(ThreadId::NONE, begin, None, Former::default(), true), slices: Vec::new() }
    }

    fn owner_at(&self, instant: TimeNs, whole: DurationNs) -> Found {
        let at = self.slices.partition_point(|slice| slice.start + slice.duration <= instant);
        let slice = self.slices.get(at).filter(|slice| slice.start <= instant);
        slice.map_or((UNKNOWN, whole), |slice| ((slice.owner_id(), slice.basis), slice.duration))
    }
}

fn take_settled(blocked: &mut Blocked) -> Box<Settled> {
    blocked.settled.take().unwrap_or_else(|| {
        Box::new(Settled { slicer: new_slicer(blocked), slices: Vec::new(), up_to_seq: blocked.start_seq })
    })
}

/// One slice for each owner and basis. They still lie end to end and add up,
/// but no longer say when who had the lock.
fn merge_equal(slices: &mut Vec<Slice>) {
    let Some(first) = slices.first().copied() else { return };
    let mut totals: FxHashMap<_, (DurationNs, u16)> = FxHashMap::default();
    for slice in slices.iter() {
        let (duration, number) = totals.entry((slice.owner_id(), slice.basis)).or_default();
        *duration += slice.duration;
        *number = number.saturating_add(slice.stands_for);
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by_key(|(key, _)| *key);
    let mut start = first.start;
    slices.clear();
    for ((owner, basis), (duration, stands_for)) in totals {
        let stop_the_world = first.stop_the_world;
        slices.push(Slice { stop_the_world, stands_for, ..Slice::of(start, duration, owner, basis) });
        start = start + duration;
    }
}
