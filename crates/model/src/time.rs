//! Time. All times are nanoseconds.
//!
//! Inside the agent the clock is `CLOCK_MONOTONIC`; a reader of recordings
//! gives nanoseconds since the Unix epoch. Analyses use differences only, so
//! that the same code serves both.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time, in nanoseconds on the recording's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct TimeNs(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct DurationNs(pub u64);

impl TimeNs {
    /// The time from `earlier` to `self`; zero where the clock ran backwards.
    #[inline]
    pub const fn since(self, earlier: TimeNs) -> DurationNs {
        DurationNs(self.0.saturating_sub(earlier.0))
    }
}

impl DurationNs {
    /// No time at all.
    pub const ZERO: DurationNs = DurationNs(0);
}

impl Add<DurationNs> for TimeNs {
    type Output = TimeNs;
    fn add(self, d: DurationNs) -> TimeNs {
        TimeNs(self.0.saturating_add(d.0))
    }
}

impl Sub<DurationNs> for TimeNs {
    type Output = TimeNs;
    fn sub(self, d: DurationNs) -> TimeNs {
        TimeNs(self.0.saturating_sub(d.0))
    }
}

impl Add for DurationNs {
    type Output = DurationNs;
    fn add(self, d: DurationNs) -> DurationNs {
        DurationNs(self.0.saturating_add(d.0))
    }
}

impl Sub for DurationNs {
    type Output = DurationNs;
    fn sub(self, d: DurationNs) -> DurationNs {
        DurationNs(self.0.saturating_sub(d.0))
    }
}

impl AddAssign for DurationNs {
    fn add_assign(&mut self, d: DurationNs) {
        self.0 = self.0.saturating_add(d.0);
    }
}

impl std::iter::Sum for DurationNs {
    fn sum<I: Iterator<Item = DurationNs>>(iter: I) -> DurationNs {
        iter.fold(DurationNs::ZERO, |a, b| a + b)
    }
}

impl fmt::Debug for TimeNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ns", self.0)
    }
}

impl fmt::Debug for DurationNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_ran_backwards_gives_zero() {
        assert_eq!(TimeNs(5).since(TimeNs(9)), DurationNs::ZERO);
    }
}
