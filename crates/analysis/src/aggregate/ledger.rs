//! Who held one lock in the slices that its contenders share, added up from the
//! first slice on: what a contention had of each owner is then a difference of two
//! such sums, however many slices it has.

use super::tree::Part;
use crate::monitor::coverage::{Coverage, Fit};
use crate::monitor::{Shared, Slice};
use std::collections::VecDeque;

/// Owners distinguished at most; where there are more, slices are walked one by one.
const MOST_OWNERS: usize = 32;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    coverage: Coverage,
    /// The owners' tuples.
    owners: Vec<u32>,
    /// For each slice the sums before it: two for each owner, of all its time
    /// and of that with an approximate frame.
    before: VecDeque<u64>,
    /// The sums behind the last one.
    sums: Vec<u64>,
    too_many: bool,
}

impl Ledger {
    /// Whether a contention's shared slices can be added.
    pub fn fit(&self, shared: &Shared) -> Fit {
        match self.too_many {
            true => Fit::TooEarly,
            false => self.coverage.fit(shared),
        }
    }

    /// Empties the ledger for these slices. What waits must be settled.
    pub fn begin(&mut self, shared: &Shared) {
        self.coverage.begin(shared);
        self.owners.clear();
        self.before.clear();
        self.sums.clear();
    }

    /// True if so many slices are better added here than one by one.
    pub fn is_worth(&self, slices: usize) -> bool {
        slices > self.owners.len()
    }

    /// True if there is something to settle.
    pub fn is_waiting(&self) -> bool {
        self.coverage.waiting
    }

    /// Adds slices that fit, and hands out what each owner's tuple has of them.
    /// `owner_of` gives the tuple of a slice's owner, and whether its frame is
    /// approximate.
    pub fn add(
        &mut self,
        shared: &Shared,
        slices: &[Slice],
        mut owner_of: impl FnMut(&Slice) -> (u32, bool),
        mut told: impl FnMut(u32, Part),
    ) {
        let Ledger { coverage, owners, before, sums, .. } = self;
        let (from, to) = coverage.add(shared, slices, |slice| {
            let (owner, approximate) = owner_of(slice);
            let column = column(owner, owners, before, sums);
            before.extend(sums.iter());
            sums[column] += slice.duration.0;
            sums[column + 1] += if approximate { slice.duration.0 } else { 0 };
        });
        let width = self.sums.len();
        for (place, owner) in self.owners.iter().enumerate() {
            let sum = |at: usize, of: usize| match self.before.get(at * width + of) {
                Some(sum) => *sum,
                None => self.sums[of],
            };
            let between = |of: usize| sum(to, of) - sum(from, of);
            let duration = between(2 * place);
            if duration > 0 {
                told(*owner, Part { duration, paused: 0, approximate: between(2 * place + 1) });
            }
        }
        self.too_many = self.owners.len() > MOST_OWNERS;
    }

    /// Hands over each slice and of how many contentions it was a part.
    pub fn settle(&mut self, told: impl FnMut(&Slice, u64)) {
        let forgotten = self.coverage.settle(told);
        self.before.drain(..forgotten * self.sums.len());
    }
}

/// Where an owner's sums are; a new one's begin with zero.
fn column(owner: u32, owners: &mut Vec<u32>, before: &mut VecDeque<u64>, sums: &mut Vec<u64>) -> usize {
    if let Some(place) = owners.iter().position(|known| *known == owner) {
        return 2 * place;
    }
    let (width, wider) = (sums.len(), sums.len() + 2);
    let former = std::mem::take(before);
    let slices = former.len().checked_div(width).unwrap_or(0);
    let widened = (0..slices * wider).map(|at| match (at / wider, at % wider) {
        (slice, of) if of < width => former[slice * width + of],
        _ => 0,
    });
    before.extend(widened);
    owners.push(owner);
    sums.extend([0, 0]);
    width
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::{Basis, List, OwnerId};
    use headway_model::{DurationNs, TimeNs};

    /// Slices of the lengths 1, 2, 3, ... ns.
    fn slices(count: u64) -> Vec<Slice> {
        let slice = |n: u64| Slice {
            start: TimeNs(n),
            duration: DurationNs(n + 1),
            stop_the_world: DurationNs::ZERO,
            owner: OwnerId::UNKNOWN,
            basis: Basis::Exit,
            owner_blocked: false,
            stands_for: 1,
        };
        (0..count).map(slice).collect()
    }

    fn add(ledger: &mut Ledger, all: &[Slice], (from, to): (usize, usize), kept_from: u64) -> Vec<(u32, u64, u64)> {
        let shared = Shared { list: List::default(), first: from as u64, kept_from, start: 0, end: to - from };
        if ledger.fit(&shared) == Fit::Anew {
            ledger.begin(&shared);
        }
        assert_ne!(ledger.fit(&shared), Fit::TooEarly);
        let mut told = Vec::new();
        let owner_of = |slice: &Slice| ((slice.start.0 % 3) as u32 + 10, slice.start.0 % 2 == 1);
        ledger.add(&shared, &all[from..to], owner_of, |owner, part| {
            told.push((owner, part.duration, part.approximate));
        });
        told.sort_unstable();
        told
    }

    /// The same, one slice after the other.
    fn walked(all: &[Slice], (from, to): (usize, usize)) -> Vec<(u32, u64, u64)> {
        let mut sums = std::collections::BTreeMap::<u32, (u64, u64)>::new();
        for slice in &all[from..to] {
            let sum = sums.entry((slice.start.0 % 3) as u32 + 10).or_default();
            sum.0 += slice.duration.0;
            sum.1 += if slice.start.0 % 2 == 1 { slice.duration.0 } else { 0 };
        }
        sums.into_iter().map(|(owner, (all, approximate))| (owner, all, approximate)).collect()
    }

    #[test]
    fn differences_of_sums_are_what_walking_gives() {
        let all = slices(40);
        let mut ledger = Ledger::default();
        for (part, kept_from) in [((5, 6), 5), ((5, 20), 5), ((7, 11), 5), ((9, 33), 7), ((30, 33), 9), ((12, 40), 12)]
        {
            assert_eq!(add(&mut ledger, &all, part, kept_from), walked(&all, part), "{part:?}");
            if part.0 % 2 == 1 {
                let mut times = 0;
                ledger.settle(|_, n| times += n);
                assert!(times > 0);
            }
        }
    }

    #[test]
    fn where_there_are_too_many_owners_it_gives_up() {
        let all = slices(40);
        let mut ledger = Ledger::default();
        let shared = Shared { list: List::default(), first: 0, kept_from: 0, start: 0, end: 40 };
        ledger.begin(&shared);
        let mut total = 0;
        ledger.add(&shared, &all, |slice| (slice.start.0 as u32, false), |_, part| total += part.duration);
        assert_eq!(total, 40 * 41 / 2, "what it had taken in is right");
        assert_eq!(ledger.fit(&shared), Fit::TooEarly);
    }
}
