//! When the owners of locks had no CPU: sums by lock and interval.

use rustc_hash::{FxHashMap, FxHashSet};

/// Length of the intervals at first.
const SHORTEST_NS: u64 = 50_000_000;

/// See the module. Bounded: where there are too many sums, intervals become longer.
#[derive(Debug)]
pub(crate) struct HeldOff {
    /// By lock and number of the interval.
    sums: FxHashMap<(u32, u64), f64>,
    length_ns: u64,
    bound: usize,
}

impl HeldOff {
    pub fn new(bound: usize) -> HeldOff {
        HeldOff { sums: FxHashMap::default(), length_ns: SHORTEST_NS, bound: bound.max(2) }
    }

    /// Length of the intervals.
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// The owner of `lock` had no CPU for `ns` of the time between two moments, spread over it evenly.
    pub fn add(&mut self, lock: u32, from: u64, to: u64, ns: f64) {
        let to = to.max(from.saturating_add(1));
        let length = to - from;
        while length / self.length_ns > self.bound as u64 {
            self.lengthen();
        }
        let (first, last) = (from / self.length_ns, to.saturating_sub(1) / self.length_ns);
        for number in first..=last {
            let start = number * self.length_ns;
            let end = start.saturating_add(self.length_ns);
            let overlap = end.min(to) - start.max(from);
            *self.sums.entry((lock, number)).or_default() += ns * overlap as f64 / length as f64;
        }
        while self.sums.len() > self.bound {
            self.make_room();
        }
    }

    /// Makes intervals longer until there are fewer sums; where that would leave each lock about one sum, allows more.
    fn make_room(&mut self) {
        let before = self.sums.len();
        let locks: FxHashSet<u32> = self.sums.keys().map(|(lock, _)| *lock).collect();
        if before < 2 * locks.len() {
            self.bound = self.bound.max(2 * before);
            return;
        }
        while self.sums.len() == before {
            self.lengthen();
        }
    }

    fn lengthen(&mut self) {
        self.length_ns = self.length_ns.saturating_mul(2);
        for ((lock, number), ns) in std::mem::take(&mut self.sums) {
            *self.sums.entry((lock, number / 2)).or_default() += ns;
        }
    }

    /// Time in each interval of what has the same `name`, by that: where the interval begins, and the time.
    pub fn by(&self, name: impl Fn(u32) -> u32) -> FxHashMap<u32, Vec<(u64, f64)>> {
        let mut sums: FxHashMap<(u32, u64), f64> = FxHashMap::default();
        for ((lock, number), ns) in &self.sums {
            *sums.entry((name(*lock), number * self.length_ns)).or_default() += ns;
        }
        let mut by: FxHashMap<u32, Vec<(u64, f64)>> = FxHashMap::default();
        for ((name, start), ns) in sums {
            by.entry(name).or_default().push((start, ns));
        }
        by
    }
}

/// The parts of `total_ns` that lie in each interval, in time order, in proportion to what was added. Their sum is
/// `total_ns` if anything was added: each part ends where the rounded sum up to there does.
pub(crate) fn divide(total_ns: u64, by: &[(u64, f64)]) -> Vec<(u64, u64)> {
    let mut by = by.to_vec();
    by.sort_unstable_by_key(|(start, _)| *start);
    let all: f64 = by.iter().map(|(_, ns)| ns).sum();
    let part = if all > 0.0 { total_ns as f64 / all } else { 0.0 };
    let (mut sum, mut before) = (0.0, 0);
    let mut found = Vec::new();
    for (start, ns) in by {
        sum += ns;
        let until = (sum * part).round() as u64;
        found.push((start, until - before));
        before = until;
    }
    found.retain(|(_, ns)| *ns > 0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_spread_over_the_span_and_adds_up_to_the_total_of_the_analysis() {
        let mut held_off = HeldOff::new(100);
        held_off.add(7, SHORTEST_NS / 2, 2 * SHORTEST_NS, 30.0);
        held_off.add(8, 0, SHORTEST_NS, 1.0);
        // The analysis says twice as much: what was not recorded one by one counts, too.
        let by = held_off.by(|lock| lock);
        assert_eq!(divide(60, &by[&7]), [(0, 20), (SHORTEST_NS, 40)]);
        assert_eq!(divide(60, &by[&8]), [(0, 60)]);
        assert_eq!(divide(60, &held_off.by(|_| 1)[&1]), [(0, 21), (SHORTEST_NS, 39)]);
        assert_eq!(divide(60, &[]), []);
    }

    #[test]
    fn too_many_intervals_become_longer_and_no_time_is_left_out() {
        let mut held_off = HeldOff::new(8);
        for number in 0..64 {
            held_off.add(1, number * SHORTEST_NS, (number + 1) * SHORTEST_NS, 5.0);
        }
        let found = divide(320, &held_off.by(|lock| lock)[&1]);
        assert!(found.len() <= 8, "{found:?}");
        assert_eq!(found.iter().map(|(_, ns)| ns).sum::<u64>(), 320);
        let mut many = HeldOff::new(2);
        (0..10).for_each(|lock| many.add(lock, 0, 1, 1.0));
        assert_eq!(divide(10, &many.by(|_| 1)[&1]), [(0, 10)]);
    }

    #[test]
    fn intervals_far_apart_become_longer_until_there_are_fewer() {
        let mut held_off = HeldOff::new(8);
        for number in 0..64 {
            held_off.add(1, 8 * number * SHORTEST_NS, (8 * number + 1) * SHORTEST_NS, 5.0);
        }
        let found = divide(320, &held_off.by(|lock| lock)[&1]);
        assert!(found.len() <= 8, "{found:?}");
        assert_eq!(found.iter().map(|(_, ns)| ns).sum::<u64>(), 320);
    }

    #[test]
    fn a_span_without_end_takes_no_more_intervals_than_there_may_be() {
        let mut held_off = HeldOff::new(8);
        held_off.add(1, 0, SHORTEST_NS, 1.0);
        held_off.add(1, 0, u64::MAX, 99.0);
        assert_eq!(divide(100, &held_off.by(|lock| lock)[&1]).iter().map(|(_, ns)| ns).sum::<u64>(), 100);
    }

    #[test]
    fn parts_too_small_for_a_number_add_up_all_the_same() {
        let equal: Vec<(u64, f64)> = (0..20).rev().map(|start| (start, 1.0)).collect();
        let found = divide(10, &equal);
        assert_eq!((found.len(), found.iter().map(|(_, ns)| ns).sum::<u64>()), (10, 10));
        assert!(found.is_sorted());
    }
}
