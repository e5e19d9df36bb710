//! The latest parks of virtual threads: what an owner of a lock did while it had no stack to
//! sample.

use headway_model::{ChainId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Parks that are kept. Who takes a lock again and again while others wait for it has many in one
/// contention.
const MOST: usize = 1 << 17;

/// A park of a virtual thread that acquires no lock, until it is known whether its thread held
/// a contended lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub chain: ChainId,
    pub start: TimeNs,
    /// The furthest future while it is under way.
    pub end: TimeNs,
    /// Sleep, or input and output: it waits for nobody.
    pub is_idle: bool,
}

/// The latest parks of virtual threads. What is given up for later ones is missing in the coverage
/// that a report states.
#[derive(Debug, Default)]
pub(super) struct Rests {
    /// Of each thread in the order of time.
    of: FxHashMap<ThreadId, VecDeque<Rest>>,
    kept: usize,
}

impl Rests {
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Takes in a park: when it begins, and once more when it is over, in any order. A virtual
    /// thread's events come from the buffers of several carriers.
    pub fn add(&mut self, thread: ThreadId, rest: Rest) {
        if self.kept >= MOST {
            self.drop_older_half();
        }
        let is_over = rest.end < TimeNs(u64::MAX);
        let of_thread = self.of.entry(thread).or_default();
        let at = of_thread.partition_point(|known| known.start < rest.start);
        let known = of_thread.get_mut(at).filter(|known| known.start == rest.start);
        match known {
            Some(known) if is_over => *known = rest,
            Some(_) => {}
            None => {
                of_thread.insert(at, rest);
                self.kept += 1;
            }
        }
    }

    fn drop_older_half(&mut self) {
        let mut starts: Vec<TimeNs> = self.of.values().flatten().map(|rest| rest.start).collect();
        let half = starts.len() / 2;
        let (_, middle, _) = starts.select_nth_unstable(half);
        self.of.retain(|_, rests| {
            rests.retain(|rest| rest.start > *middle);
            !rests.is_empty()
        });
        self.kept = self.of.values().map(VecDeque::len).sum();
    }

    /// The parts of a thread's parks that lie between `from` and `to`.
    pub fn within(&self, thread: ThreadId, from: TimeNs, to: TimeNs) -> Vec<Rest> {
        let Some(rests) = self.of.get(&thread) else { return Vec::new() };
        let first = rests.partition_point(|rest| rest.start <= from).saturating_sub(1);
        let next = rests.iter().skip(first + 1).map(|next| next.start).chain([TimeNs(u64::MAX)]);
        let during = rests.range(first..).zip(next).take_while(|(rest, _)| rest.start < to);
        let parts = during.map(|(rest, next)| {
            // If its end is not known, it is over when the next one begins.
            let (start, end) = (rest.start.max(from), rest.end.min(next).min(to));
            Rest { start, end, ..*rest }
        });
        parts.filter(|rest| rest.start < rest.end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: u64 = u64::MAX;

    fn rests(parks: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut rests = Rests::default();
        for (start, end) in parks {
            let (start, end) = (TimeNs(*start), TimeNs(*end));
            rests.add(ThreadId(1), Rest { chain: ChainId(1), start, end, is_idle: true });
        }
        let within = rests.within(ThreadId(1), TimeNs(100), TimeNs(200));
        within.iter().map(|rest| (rest.start.0, rest.end.0)).collect()
    }

    #[test]
    fn begins_and_ends_come_in_any_order() {
        let expected = [(100, 120), (130, 140), (150, 200)];
        assert_eq!(rests(&[(90, OPEN), (90, 120), (130, OPEN), (130, 140), (150, OPEN)]), expected);
        assert_eq!(rests(&[(150, OPEN), (130, 140), (130, OPEN), (90, 120), (90, OPEN)]), expected);
        assert_eq!(rests(&[(90, 120), (150, OPEN), (130, 140)]), expected);
    }

    #[test]
    fn one_without_an_end_lasts_until_the_next_one_and_what_lies_outside_is_left_out() {
        assert_eq!(rests(&[(90, OPEN), (130, 140)]), [(100, 130), (130, 140)]);
        assert_eq!(rests(&[(10, 20), (90, 100), (200, 210)]), []);
        assert_eq!(rests(&[]), []);
    }

    #[test]
    fn the_latest_are_kept() {
        let mut rests = Rests::default();
        for start in 0..=MOST as u64 {
            let (chain, start, end) = (ChainId(1), TimeNs(10 * start), TimeNs(10 * start + 5));
            rests.add(ThreadId(start.0 % 7), Rest { chain, start, end, is_idle: true });
        }
        assert!(rests.kept > MOST / 3 && rests.kept <= MOST / 2 + 1);
        let last = 10 * MOST as u64;
        assert_eq!(rests.within(ThreadId(last % 7), TimeNs(last), TimeNs(last + 10)).len(), 1);
    }
}
