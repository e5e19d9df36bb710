//! Random draws of hosts and blocks of time.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
/// a few lines in any language, so that another engine can draw the same numbers.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`: the upper half of a product, whose bias is below `n / 2^64`.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// How often each unit is drawn, of each class of `n` units in `n - 1` draws with replacement. `classes`
    /// has the class of every unit.
    pub fn counts(&mut self, classes: &[Vec<usize>], units: usize) -> Vec<f64> {
        let mut counts = vec![0.0; units];
        for members in classes.iter().filter(|members| !members.is_empty()) {
            // Classes keep their weights: n - 1 draws count like n.
            let draws = members.len().saturating_sub(1).max(1);
            let weight = members.len() as f64 / draws as f64;
            for _ in 0..draws {
                counts[members[self.below(members.len())]] += weight;
            }
        }
        counts
    }

    /// The same for both versions: one draw for units that are the same in both, else one for each.
    pub fn counts_of_both(&mut self, classes: [&[Vec<usize>]; 2], sizes: [usize; 2], is_shared: bool) -> [Vec<f64>; 2] {
        let old = self.counts(classes[0], sizes[0]);
        let new = if is_shared { old.clone() } else { self.counts(classes[1], sizes[1]) };
        [old, new]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // From the reference implementation with seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn draws_have_the_variance_of_a_sample() {
        let mut random = Random::new(7);
        let classes = [vec![0, 2, 4, 6], vec![1, 3], vec![5]];
        let (mut sum, mut squares) = (vec![0.0; 7], vec![0.0; 7]);
        let count = 40_000;
        for _ in 0..count {
            let counts = random.counts(&classes, 7);
            for class in &classes {
                let of_class: f64 = class.iter().map(|unit| counts[*unit]).sum();
                assert!((of_class - class.len() as f64).abs() < 1e-9, "{counts:?}");
            }
            for unit in 0..7 {
                sum[unit] += counts[unit];
                squares[unit] += (counts[unit] - 1.0) * (counts[unit] - 1.0);
            }
        }
        // The sum of n values has n / (n - 1) times the squares of their deviations as its variance, if a count has
        // the variance 1.
        for (unit, variance) in [(0, 1.0), (1, 1.0), (5, 0.0)] {
            let (mean, found) = (sum[unit] / count as f64, squares[unit] / count as f64);
            assert!((mean - 1.0).abs() < 0.02 && (found - variance).abs() < 0.03, "{unit}: {mean} {found}");
        }
    }
}
