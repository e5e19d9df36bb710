//! Numbers that look random and are the same for the same seed.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). Good enough to
/// draw samples, not to keep secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Between the seeds of neighbours in a sequence.
    pub const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The seed of the rest of the sequence.
    pub const fn seed(&self) -> u64 {
        self.0
    }

    /// The next number.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end.max(1)
    }

    /// A place in something of this length; 0 if it is empty.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number from 0 up to, but not including, 1.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in `percent` of all cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the authors' own program prints them.
    #[test]
    fn the_sequence_is_that_of_the_paper() {
        let mut random = Random::new(1_234_567);
        let first: [u64; 3] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!(Random::new(random.seed()).next_u64(), random.next_u64());
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7);
        for _ in 0..1_000 {
            assert!(random.below(3) < 3 && random.index(5) < 5 && (0.0..1.0).contains(&random.uniform()));
        }
        assert_eq!((random.below(0), random.index(0)), (0, 0));
    }
}
