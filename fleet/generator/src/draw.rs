//! Random sequences by name, and the few distributions of [`crate::shape`].

use crate::shape;
use headway_rollup::identity::Hash;
use headway_rollup::Histogram;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal, Normal, Pareto, Poisson, Zipf};
use rand_pcg::Pcg64;

/// A random sequence.
pub struct Draw(Pcg64);

/// The sequence of a thing: the seed and its names decide it.
pub fn of(seed: u64, kind: &str, names: &[&str]) -> Draw {
    let hash = names.iter().fold(Hash::of(kind).name(&seed.to_string()), |hash, name| hash.name(name));
    Draw(Pcg64::seed_from_u64(hash.id() as u64))
}

/// `exp(N(0, spread))` of a thing: by how much it differs from others of its kind, always the same.
pub fn factor(seed: u64, kind: &str, names: &[&str], spread: f64) -> f64 {
    of(seed, kind, names).log_normal(1.0, spread)
}

impl Draw {
    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    /// Uniform between two bounds.
    pub fn between(&mut self, (from, to): (f64, f64)) -> f64 {
        self.0.random_range(from..to)
    }

    /// A whole number from `from` to `to`, both included.
    pub fn whole(&mut self, (from, to): (u64, u64)) -> u64 {
        self.0.random_range(from..=to)
    }

    /// One of so many, the earlier ones more often: the square of a uniform number.
    pub fn early(&mut self, count: usize) -> usize {
        let at = self.between((0.0, 1.0));
        ((at * at * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Log-normal.
    pub fn log_normal(&mut self, median: f64, spread: f64) -> f64 {
        LogNormal::new(median.ln(), spread).map_or(median, |law| law.sample(&mut self.0))
    }

    /// Normal.
    pub fn normal(&mut self, mean: f64, spread: f64) -> f64 {
        Normal::new(mean, spread).map_or(mean, |law| law.sample(&mut self.0))
    }

    /// Poisson; 0 where the mean is.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        Poisson::new(mean).map_or(0, |law| law.sample(&mut self.0) as u64)
    }

    /// Pareto from 1 on, cut off.
    pub fn pareto(&mut self, tail: f64, most: f64) -> f64 {
        Pareto::new(1.0, tail).map_or(1.0, |law| law.sample(&mut self.0)).min(most)
    }

    /// 0 to `count - 1` by Zipf's law.
    pub fn zipf(&mut self, count: usize, exponent: f64) -> usize {
        let rank = Zipf::new(count as f64, exponent).map_or(1.0, |law| law.sample(&mut self.0));
        (rank as usize).clamp(1, count.max(1)) - 1
    }

    /// Beta.
    pub fn beta(&mut self, (alpha, beta): (f64, f64)) -> f64 {
        rand_distr::Beta::new(alpha, beta).map_or(0.0, |law| law.sample(&mut self.0))
    }

    /// How many contentions, waits or samples a row has.
    pub fn count(&mut self, median: f64) -> u64 {
        let count = self.log_normal(median, shape::CONTENTIONS_SPREAD);
        count.round().clamp(1.0, shape::CONTENTIONS_MOST) as u64
    }

    /// How long they were.
    pub fn durations(&mut self, count: u64, median_ns: f64, spread: f64) -> Durations {
        let drawn = count.min(shape::DURATIONS);
        let mut all = Durations::default();
        for at in 0..drawn {
            let ns = self.log_normal(median_ns, spread).clamp(1.0, shape::LONGEST_NS) as u64;
            let times = count / drawn + u64::from(at < count % drawn);
            all.sum_ns += ns * times;
            all.max_ns = all.max_ns.max(ns);
            all.histogram.add(ns, times);
        }
        all
    }
}

/// Durations, added up.
#[derive(Default)]
pub struct Durations {
    pub sum_ns: u64,
    pub max_ns: u64,
    pub histogram: Histogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_has_its_sequence_whoever_came_before() {
        let first = |names: &[&str]| of(7, "jvm", names).whole((0, u64::MAX));
        assert_eq!(first(&["a"]), first(&["a"]));
        assert_ne!(first(&["a"]), first(&["b"]));
        assert_ne!(first(&["a", "b"]), first(&["ab"]));
        assert_ne!(first(&["a"]), of(8, "jvm", &["a"]).whole((0, u64::MAX)));
    }

    #[test]
    fn durations_are_the_row_s() {
        let mut draw = of(1, "test", &[]);
        for count in [1, 3, 4, 5, 1_000] {
            let durations = draw.durations(count, 1e5, 1.0);
            assert_eq!(durations.histogram.count(), count);
            assert!(durations.max_ns <= durations.sum_ns && durations.sum_ns <= durations.max_ns * count);
        }
    }
}
