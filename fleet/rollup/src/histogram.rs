//! Histograms of durations that merge exactly.
//!
//! Buckets are log-linear: 16 of equal width between a power of two and the next. A
//! duration below 16 ns has its own bucket; above, the bucket of `v` with its highest
//! bit at `e` (`2^e <= v < 2^(e+1)`) is
//!
//! ```text
//! 16 * (e - 3) + ((v >> (e - 4)) & 15)
//! ```
//!
//! so a bucket is at most 1/16 of its lower bound wide, and 976 buckets hold every 64-bit
//! duration. Bounds never depend on the data: merging is adding counts, in any order, with
//! the same result as one histogram of all durations. Only buckets with a count are kept.

use std::collections::BTreeMap;

/// Buckets between a power of two and the next.
const PER_OCTAVE: u64 = 16;

/// How many durations fell into each bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<u16, u64>,
}

impl Histogram {
    /// Counts a duration `times` times.
    pub fn add(&mut self, ns: u64, times: u64) {
        if times > 0 {
            *self.counts.entry(bucket(ns)).or_default() += times;
        }
    }

    /// Adds another one's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
    }

    /// How many durations there are.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The buckets with a count, lowest first.
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = (u16, u64)> + '_ {
        self.counts.iter().map(|(bucket, count)| (*bucket, *count))
    }
}

/// The bucket of a duration.
pub fn bucket(ns: u64) -> u16 {
    if ns < PER_OCTAVE {
        return ns as u16;
    }
    let exponent = u64::from(63 - ns.leading_zeros());
    (PER_OCTAVE * (exponent - 3) + ((ns >> (exponent - 4)) & (PER_OCTAVE - 1))) as u16
}

/// The shortest duration of a bucket; the longest there is beyond the last one.
pub fn lower_bound(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    let octave = bucket / PER_OCTAVE;
    match octave {
        0 => bucket,
        1..=60 => (PER_OCTAVE + bucket % PER_OCTAVE) << (octave - 1),
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_begin_where_the_last_one_ends() {
        for at in 0..975 {
            let (from, to) = (lower_bound(at), lower_bound(at + 1));
            assert!(from < to, "bucket {at}");
            assert_eq!((bucket(from), bucket(to - 1)), (at, at));
            assert!(at < 16 || (to - from) * 16 <= from, "bucket {at} is {from} to {to}");
        }
        assert_eq!((bucket(u64::MAX), lower_bound(976)), (975, u64::MAX));
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(durations in prop::collection::vec((any::<u64>(), 1u64..9, 0usize..4), 0..200)) {
            let mut whole = Histogram::default();
            let mut parts = vec![Histogram::default(); 4];
            for (ns, times, part) in &durations {
                whole.add(*ns, *times);
                parts[*part].add(*ns, *times);
            }
            let mut forwards = Histogram::default();
            parts.iter().for_each(|part| forwards.merge(part));
            let mut backwards = Histogram::default();
            parts.iter().rev().for_each(|part| backwards.merge(part));
            prop_assert_eq!(&forwards, &whole);
            prop_assert_eq!(&backwards, &whole);
            prop_assert_eq!(whole.count(), durations.iter().map(|(_, times, _)| times).sum::<u64>());
        }
    }
}
