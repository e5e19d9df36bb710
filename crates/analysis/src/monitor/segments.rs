//! Who held a lock, worked out once for all who were blocked on it.

use super::slicing::{Former, Mark, Slicer};
use super::stretch::{Kind, List, Shared, Slice};
use headway_model::{ThreadId, TimeNs};
use std::collections::VecDeque;

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
    /// Gives the position of that exit, its time, and which slices they were.
    /// `None` if there is none, or if the time of the first exit is not `cursor`
    /// for everybody.
    pub fn shared(
        &self,
        marks: &VecDeque<Mark>,
        (from, until): (usize, usize),
        cursor: TimeNs,
        end: TimeNs,
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
        let start = out.len();
        let (front, back) = self.slices.as_slices();
        let (from, until) = (begin - self.forgotten, finish - self.forgotten);
        let edge = front.len();
        out.extend_from_slice(front.get(from.min(edge)..until.min(edge)).unwrap_or_default());
        out.extend_from_slice(back.get(from.max(edge) - edge..until.max(edge) - edge).unwrap_or_default());
        let (first, kept_from) = (begin as u64, self.forgotten as u64);
        Some((to, time, Shared { list: self.list, first, kept_from, start, end: out.len() }))
    }

    /// The mark at this position is not what it was: begins anew.
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
