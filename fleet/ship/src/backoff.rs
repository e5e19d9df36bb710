//! How long to wait after a failure: longer each time, and no two machines the same.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// Failures in a row.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// After the first failure `first`, at most `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { first, longest, failures: 0 }
    }

    /// It worked.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// It failed: wait so long. Twice as long each time, of which at random at least half: machines whose
    /// store failed at the same moment do not all come back at the same moment.
    pub fn failed(&mut self) -> Duration {
        let whole = self.first.saturating_mul(1 << self.failures.min(30)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        let random = RandomState::new().hash_one(self.failures) >> 32;
        whole.mul_f64(0.5 + 0.5 * random as f64 / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_waits_longer_up_to_a_bound() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, 300 * second);
        for whole in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let waited = backoff.failed();
            assert!(waited >= whole * second / 2 && waited <= whole * second, "{waited:?} of {whole} s");
        }
        (0..100).for_each(|_| assert!(backoff.failed() <= 300 * second));
        backoff.reset();
        assert!(backoff.failed() <= second);
    }
}
