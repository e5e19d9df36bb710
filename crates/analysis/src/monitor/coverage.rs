//! Counts how many contentions each shared slice is part of, so that what depends
//! on the slice alone is worked out once for all of them.

use super::contention::{List, Shared, Slice};
use std::collections::VecDeque;

/// The shared slices of one lock that contentions to come may have, too.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    list: List,
    /// Number of the first one kept.
    first: u64,
    kept: VecDeque<Counted>,
    /// By how many fewer contentions have what comes behind the last one.
    behind: i64,
    /// Slices with lower numbers are not needed any more.
    needed_from: u64,
    /// True if contentions were counted that have not been handed over.
    pub waiting: bool,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    slice: Slice,
    /// How many more contentions have it than have the one before.
    change: i64,
}

/// Whether what is kept can take shared slices in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It can.
    Yes,
    /// Once it was settled and emptied.
    Anew,
    /// Some are not kept any more.
    TooEarly,
}

impl Coverage {
    /// Whether these slices can be taken in.
    pub fn fit(&self, shared: &Shared) -> Fit {
        let end = self.first + self.kept.len() as u64;
        if self.list != shared.list || self.kept.is_empty() || shared.first > end {
            return Fit::Anew;
        }
        if shared.first < self.first {
            return Fit::TooEarly;
        }
        Fit::Yes
    }

    /// Forgets all, to begin with these slices. What waits must be settled.
    pub fn begin(&mut self, shared: &Shared) {
        let (list, first) = (shared.list, shared.first);
        *self = Coverage { list, first, needed_from: shared.kept_from, ..Coverage::default() };
    }

    /// Counts one more contention with these slices, which fit. `new` gets those
    /// that were not known. Gives their places.
    pub fn add(&mut self, shared: &Shared, slices: &[Slice], mut new: impl FnMut(&Slice)) -> (usize, usize) {
        let from = (shared.first - self.first) as usize;
        let to = from + slices.len();
        let known = self.kept.len().saturating_sub(from).min(slices.len());
        for slice in &slices[known..] {
            self.kept.push_back(Counted { slice: *slice, change: std::mem::take(&mut self.behind) });
            new(slice);
        }
        if let Some(first) = self.kept.get_mut(from) {
            first.change += 1;
        }
        match self.kept.get_mut(to) {
            Some(next) => next.change -= 1,
            None => self.behind -= 1,
        }
        self.needed_from = self.needed_from.max(shared.kept_from);
        self.waiting = true;
        (from, to)
    }

    /// Hands over each slice and how many contentions have it that were not handed over yet,
    /// and forgets slices that are not needed any more. Gives how many.
    pub fn settle(&mut self, mut told: impl FnMut(&Slice, u64)) -> usize {
        let mut times = 0;
        for counted in &mut self.kept {
            times += std::mem::take(&mut counted.change);
            if times > 0 {
                told(&counted.slice, times.unsigned_abs());
            }
        }
        self.behind = 0;
        self.waiting = false;
        let unneeded = (self.needed_from.saturating_sub(self.first) as usize).min(self.kept.len());
        self.kept.drain(..unneeded);
        self.first += unneeded as u64;
        unneeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::{Basis, OwnerId};
    use headway_model::{DurationNs, TimeNs};

    fn slices(count: u64) -> Vec<Slice> {
        let slice = |n: u64| Slice {
            start: TimeNs(10 * n),
            duration: DurationNs(10),
            stop_the_world: DurationNs::ZERO,
            owner: OwnerId::UNKNOWN,
            basis: Basis::Exit,
            owner_blocked: false,
            stands_for: 1,
        };
        (0..count).map(slice).collect()
    }

    fn shared(first: u64, count: u64, kept_from: u64) -> Shared {
        Shared { list: List::default(), first, kept_from, start: 0, end: count as usize }
    }

    /// How often each slice was handed over, by its number.
    fn told(coverage: &mut Coverage) -> Vec<(u64, u64)> {
        let mut told = Vec::new();
        coverage.settle(|slice, times| told.push((slice.start.0 / 10, times)));
        told
    }

    #[test]
    fn each_slice_counts_once_for_each_contention() {
        let all = slices(6);
        let mut coverage = Coverage::default();
        assert_eq!(coverage.fit(&shared(0, 3, 0)), Fit::Anew);
        coverage.begin(&shared(0, 3, 0));
        let mut new = 0;
        coverage.add(&shared(0, 3, 0), &all[..3], |_| new += 1);
        assert_eq!(coverage.add(&shared(1, 4, 0), &all[1..5], |_| new += 1), (1, 5));
        coverage.add(&shared(4, 1, 0), &all[4..5], |_| new += 1);
        assert_eq!(new, 5);
        assert_eq!(told(&mut coverage), [(0, 1), (1, 2), (2, 2), (3, 1), (4, 2)]);
        assert_eq!(told(&mut coverage), []);
        coverage.add(&shared(3, 3, 3), &all[3..6], |_| new += 1);
        assert_eq!((new, told(&mut coverage)), (6, vec![(3, 1), (4, 1), (5, 1)]));
        assert_eq!(coverage.fit(&shared(2, 1, 3)), Fit::TooEarly);
        assert_eq!(coverage.fit(&shared(3, 1, 3)), Fit::Yes);
        assert_eq!(coverage.fit(&shared(7, 1, 3)), Fit::Anew);
        let other = List { before: 1, ..List::default() };
        assert_eq!(coverage.fit(&Shared { list: other, ..shared(3, 1, 3) }), Fit::Anew);
    }
}
