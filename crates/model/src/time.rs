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

/// Prints as a person would say it, three significant digits: `812 ns`,
/// `4.21 us`, `38.0 ms`, `12.4 s`.
impl fmt::Display for DurationNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..=999 => return write!(f, "{} ns", self.0),
            1_000..=999_999 => (self.0 as f64 / 1e3, "us"),
            1_000_000..=999_999_999 => (self.0 as f64 / 1e6, "ms"),
            _ => (self.0 as f64 / 1e9, "s"),
        };
        let decimals = match value {
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_with_three_significant_digits() {
        let shown: Vec<String> =
            [0, 812, 4_210, 38_000_000, 999_600, 12_440_000_000].iter().map(|ns| DurationNs(*ns).to_string()).collect();
        assert_eq!(shown, ["0 ns", "812 ns", "4.21 us", "38.0 ms", "1000 us", "12.4 s"]);
    }

    #[test]
    fn a_clock_that_ran_backwards_gives_zero() {
        assert_eq!(TimeNs(5).since(TimeNs(9)), DurationNs::ZERO);
    }
}
