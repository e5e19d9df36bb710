//! How long the draining thread may sleep: seldom, so that it costs nothing, but
//! not so long that the buffers fill up meanwhile.

use std::time::Duration;

/// How often full buffers are drained if there is room enough.
const SELDOM: Duration = Duration::from_millis(100);
/// The least that the thread sleeps, so that it never spins.
const BRIEF: Duration = Duration::from_millis(1);
/// Part of the room that may fill up until the next time.
const SHARE: f64 = 0.25;

/// Bytes as they go through the buffers.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// What was drained.
    pub taken: u64,
    /// In how much time that had come.
    pub within: Duration,
    /// What is free now.
    pub free: u64,
}

impl Flow {
    /// Until when a quarter of the room will be full if as much goes on coming as
    /// did; between 1 and 100 ms.
    pub fn patience(self) -> Duration {
        if self.taken == 0 {
            return SELDOM;
        }
        let until_full = self.within.as_secs_f64() * self.free as f64 / self.taken as f64;
        Duration::from_secs_f64((SHARE * until_full).min(SELDOM.as_secs_f64())).max(BRIEF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn patience(taken: u64, within_ms: u64, free: u64) -> u128 {
        Flow { taken, within: Duration::from_millis(within_ms), free }.patience().as_millis()
    }

    #[test]
    fn a_program_that_says_little_is_seldom_looked_at() {
        assert_eq!(patience(0, 100, 16 * MIB), 100);
        assert_eq!(patience(MIB, 100, 15 * MIB), 100);
        assert_eq!(patience(1, 0, 16 * MIB), 1);
    }

    #[test]
    fn a_quarter_of_the_room_is_left_to_fill() {
        // 8 MiB in 100 ms: 16 MiB would be full after 200.
        assert_eq!(patience(8 * MIB, 100, 16 * MIB), 50);
        assert_eq!(patience(MIB / 8, 100, MIB / 2), 100);
        assert_eq!(patience(MIB / 8, 100, MIB / 8), 25);
    }

    #[test]
    fn without_room_it_hurries_but_does_not_spin() {
        assert_eq!(patience(16 * MIB, 400, 0), 1);
        assert_eq!(patience(u64::MAX, 1, 1), 1);
    }
}
