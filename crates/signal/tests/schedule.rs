//! The schedule of random instants: one in each window, uniform, and weights that are
//! unbiased whatever changes.
#![cfg(not(loom))]

use headway_signal::{Hits, Schedule};

/// Scatters a number over all others (splitmix64).
fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Far more than the parts that are remembered.
const MANY: u64 = 40;
/// Time from a change to its begin.
const MARGIN_NS: u64 = 1_000_000;
const START: u64 = 5_000_000_000_000;

fn schedule(length_ns: u64, seed: u64) -> (Schedule, u64) {
    let schedule = Schedule::default();
    let from = schedule.set(START, length_ns, seed);
    (schedule, from)
}

/// Numbers by chance, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % bound
    }
}

#[test]
fn there_is_one_instant_in_each_window_and_it_is_uniform() {
    let (schedule, from) = schedule(1000, 7);
    let mut tenths = [0_u32; 10];
    for window in 0..20_000 {
        let start = from + window * 1000;
        let hit: Vec<u64> =
            (0..10).filter(|n| schedule.hits(start + n * 100, start + n * 100 + 100).instants > 0).collect();
        assert_eq!(hit.len(), 1, "window {window}: {hit:?}");
        tenths[hit[0] as usize] += 1;
    }
    // Chi-squared with 9 degrees of freedom is below 27.9 in 99.9 % of all cases.
    let off = tenths.iter().map(|n| (f64::from(*n) - 2000.0).powi(2) / 2000.0).sum::<f64>();
    assert!(off < 27.9, "{off}: {tenths:?}");
}

#[test]
fn a_time_range_has_the_instants_of_its_parts() {
    let mut random = Random(1);
    for seed in 0..50 {
        let (schedule, from) = schedule(1000, seed);
        let mut now = from;
        for length in [300, 5000, 40, 700] {
            now = schedule.set(now + random.below(20_000), length, 0);
        }
        let end = now + 50_000;
        for _ in 0..200 {
            let begin = from + random.below(end - from);
            let middle = begin + random.below(end - begin + 1);
            let last = middle + random.below(end - middle + 1);
            let (all, first, second) =
                (schedule.hits(begin, last), schedule.hits(begin, middle), schedule.hits(middle, last));
            assert_eq!(all.instants, first.instants + second.instants);
            assert_eq!(all.weight_ns, first.weight_ns + second.weight_ns);
        }
    }
}

#[test]
fn what_lasts_two_windows_is_always_hit_whatever_changes() {
    let mut random = Random(2);
    for seed in 0..300 {
        let (schedule, from) = schedule(1000, seed);
        let edge = schedule.set(from + random.below(10_000), 100 + random.below(900), 0);
        let begin = edge.saturating_sub(random.below(4000)).max(from);
        assert!(schedule.hits(begin, begin + 2000).instants >= 1, "seed {seed}");
    }
}

/// Contentions of all lengths, over changes of T in both directions: what the weights
/// come to is what the contentions last, in the mean over seeds.
#[test]
fn weights_are_unbiased() {
    const SEEDS: u64 = 20_000;
    for (before, after, begin, lasts) in [
        (1000, 1000, 1_234, 10),
        (1000, 1000, 990, 777),
        (1000, 200, 900, 3000),
        (200, 1000, 1_900, 350),
        (1000, 130, 2, 999),
    ] {
        let (mut sum, mut squares) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let (schedule, from) = schedule(before, mix(seed));
            // Where the length stays the same, nothing changes.
            let edge = schedule.set(from, after, 0).max(from + 4000);
            let begin = edge - 2000 + begin;
            let weight = schedule.hits(begin, begin + lasts).weight_ns as f64;
            sum += weight;
            squares += weight * weight;
        }
        let (mean, count) = (sum / SEEDS as f64, SEEDS as f64);
        let error = ((squares / count - mean * mean) / count).sqrt();
        assert!((mean - lasts as f64).abs() < 4.0 * error, "{mean} +- {error} instead of {lasts}");
    }
}

/// A program whose period is T: evenly spaced instants would see it always or never.
#[test]
fn a_program_with_the_same_period_is_seen_in_proportion() {
    let (schedule, from) = schedule(1000, 3);
    let blocked = (0..50_000).map(|n| schedule.hits(from + n * 1000 + 400, from + n * 1000 + 450).weight_ns);
    let share = blocked.sum::<u64>() as f64 / 50_000_000.0;
    // The standard error is 0.1 %.
    assert!((share - 0.05).abs() < 0.004, "{share}");
}

#[test]
fn a_change_waits_for_an_edge_and_the_same_length_is_none() {
    let (schedule, from) = schedule(10_000_000, 1);
    assert_eq!(from, START + MARGIN_NS);
    assert_eq!(schedule.set(from + 5, 10_000_000, 9), from);
    assert_eq!(schedule.set(from + 5, 1000, 9), from + 10_000_000);
    // Within the margin of the edge it is the next one, and before it has begun the one after.
    assert_eq!(schedule.set(from + 9_999_999, 70, 9), from + 10_000_000 + 1_000_000);
    assert_eq!(schedule.set(from, u64::MAX, 9), from + 11_000_000 + 70);
    assert_eq!(schedule.hits(START, from).instants, 0, "before the begin");
    assert_eq!(Schedule::default().hits(0, u64::MAX), Hits::default());
    assert_eq!(schedule.hits(from + 7, from + 7), Hits::default());
}

#[test]
fn what_began_before_all_that_is_remembered_counts_with_its_length() {
    let (schedule, from) = schedule(1000, 4);
    let mut edges = vec![from];
    for length in 1..=MANY {
        let newest = edges[edges.len() - 1];
        edges.push(schedule.set(newest, 1000 + length, 0));
    }
    // The first part is forgotten: it held from the first to the second edge.
    let known = schedule.hits(edges[1], edges[1] + 500).weight_ns;
    assert_eq!(schedule.hits(edges[1] - 321, edges[1] + 500).weight_ns, known + 321);
}
