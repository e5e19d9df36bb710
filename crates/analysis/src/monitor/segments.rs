//! Who held a lock, worked out once for all who were blocked on it.

use super::contention::{Basis, Kind, List, Shared, Slice};
use super::drawn::{draw, Found};
use super::slicing::{Former, Mark, Slicer};
use super::OwnerId;
use headway_model::random::Random;
use headway_model::{DurationNs, ThreadId, TimeNs};
use std::collections::VecDeque;

/// Slices of a contention that others may have, too, where very many threads wait: each is blocked by all others.
const OF_A_CROWD: usize = 1 << 4;
/// From so many threads on they are a crowd.
const CROWD: u32 = 1 << 10;

/// How many slices a contention may share with others; beyond it they are drawn.
#[derive(Debug)]
pub(crate) struct Most {
    slices: usize,
    /// How often there were more.
    pub exceeded: u64,
}

impl Most {
    /// At most so many; fewer where a crowd waits.
    pub fn new(slices: usize) -> Most {
        Most { slices, exceeded: 0 }
    }

    fn of(&self, waiters: u32) -> usize {
        if waiters > CROWD {
            self.slices.min(OF_A_CROWD)
        } else {
            self.slices
        }
    }
}

/// The slices between a lock's exits. Positions of marks are those in the
/// lock's list of marks, and follow it when marks are dropped at its front.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    slicer: Option<Slicer>,
    slices: VecDeque<Slice>,
    /// Slices that are not kept any more.
    forgotten: usize,
    /// For each mark taken in, the number of slices after it, forgotten ones
    /// included, and up to when they reach.
    cuts: VecDeque<(usize, TimeNs)>,
    list: List,
    scratch: Vec<Slice>,
}

impl Segments {
    /// None yet; `kind` is that of their lock.
    pub fn new(kind: Kind) -> Segments {
        Segments { list: List { kind, ..List::default() }, ..Segments::default() }
    }

    /// Takes in the marks before `until`.
    pub fn advance(&mut self, marks: &VecDeque<Mark>, until: usize) {
        while self.cuts.len() < until {
            let Some(mark) = marks.get(self.cuts.len()) else { return };
            if self.slicer.is_none() {
                self.list.begin = mark.seq;
            }
            let slicer = self
                .slicer
                .get_or_insert_with(|| Slicer::new(ThreadId::NONE, mark.time, None, Former::default(), true));
            slicer.mark(mark, TimeNs(u64::MAX), &mut self.scratch);
            self.slices.extend(self.scratch.drain(..));
            self.cuts.push_back((self.forgotten + self.slices.len(), slicer.cursor()));
        }
    }

    /// From the exit at the first of two positions on, appends what is the same
    /// for all, up to the last exit before the second one and before `end`.
    /// Gives the position of that exit, its time, and which slices they were: where
    /// there are too many, they are drawn, and none is the same for others.
    /// `None` if there is none, or if the time of the first exit is not `cursor`
    /// for everybody.
    // Not inlined, which would cost its caller 1 % more instructions for each event.
    #[inline(never)]
    pub fn shared(
        &self,
        marks: &VecDeque<Mark>,
        (from, until): (usize, usize),
        cursor: TimeNs,
        end: TimeNs,
        (most, waiters): (&mut Most, u32),
        out: &mut Vec<Slice>,
    ) -> Option<(usize, TimeNs, Shared)> {
        let (begin, begin_time) = *self.cuts.get(from)?;
        if begin_time != cursor || begin < self.forgotten {
            return None;
        }
        let usable = |at: &usize| {
            let reaches = self.cuts.get(*at).is_some_and(|(_, time)| *time <= end);
            reaches && marks.get(*at).is_some_and(Mark::is_exit)
        };
        let to = (from + 1..until).rev().find(usable)?;
        let (finish, time) = *self.cuts.get(to)?;
        let mut start = out.len();
        if finish - begin > most.of(waiters) {
            most.exceeded += 1;
            self.draw((cursor, time), most.of(waiters), begin, out);
            start = out.len();
        } else {
            let (front, back) = self.slices.as_slices();
            let (from, until) = (begin - self.forgotten, finish - self.forgotten);
            let edge = front.len();
            out.extend_from_slice(front.get(from.min(edge)..until.min(edge)).unwrap_or_default());
            out.extend_from_slice(back.get(from.max(edge) - edge..until.max(edge) - edge).unwrap_or_default());
        }
        let (first, kept_from) = (begin as u64, self.forgotten as u64);
        Some((to, time, Shared { list: self.list, first, kept_from, start, end: out.len() }))
    }

    /// Appends slices that are drawn. Rare, so not in the way of the others.
    #[cold]
    fn draw(&self, span: (TimeNs, TimeNs), count: usize, begin: usize, out: &mut Vec<Slice>) {
        let mut random = Random::new(span.0 .0 ^ begin as u64);
        draw(span, count, &mut random, |instant| self.owner_at(instant, span.1.since(span.0)), out);
    }

    /// Who had the lock.
    fn owner_at(&self, instant: TimeNs, whole: DurationNs) -> Found {
        let at = self.slices.partition_point(|slice| slice.start + slice.duration <= instant);
        self.slices.get(at).map_or(((OwnerId::UNKNOWN, Basis::NoMark), whole), |slice| {
            ((slice.owner_id(), slice.basis), slice.duration)
        })
    }

    /// The mark at this position is not what it was: begins again.
    pub fn changed(&mut self, at: usize) {
        if at < self.cuts.len() {
            self.begin_anew();
        }
    }

    /// Forgets all; what comes next is worked out from marks.
    pub fn begin_anew(&mut self) {
        let list = List { before: self.list.before.wrapping_add(1), ..self.list };
        *self = Segments { list, ..Segments::default() };
    }

    /// The first `count` marks are dropped.
    pub fn forget(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let Some((reached, _)) = self.cuts.get(count - 1).copied() else {
            return self.begin_anew();
        };
        self.cuts.drain(..count);
        self.slices.drain(..reached - self.forgotten);
        self.forgotten = reached;
    }
}
