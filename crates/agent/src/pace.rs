//! How long the draining thread may sleep: seldom, so that it costs nothing, but
//! not so long that the buffers fill up meanwhile.

use std::time::{Duration, Instant};

/// How often full buffers are drained if there is room enough.
const SELDOM: Duration = Duration::from_millis(100);
/// The least that the thread sleeps, so that it never spins.
const BRIEF: Duration = Duration::from_millis(1);
/// Part of the room that may fill up until the next time.
const SHARE: f64 = 0.25;

/// What comes through the buffers, and by that how long to sleep.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// What a thread fills before it can be drained, in bytes.
    chunk: u64,
    /// When the thread went to sleep the last time.
    before: Instant,
    /// Bytes drained since.
    taken: u64,
    /// Bytes a second, lately: a few milliseconds in which no chunk became full
    /// say little.
    rate: f64,
}

impl Pace {
    /// Nothing came so far, in buffers made of chunks of so many bytes.
    pub fn new(chunk: u64, now: Instant) -> Pace {
        Pace { chunk: chunk.max(1), before: now, taken: 0, rate: 0.0 }
    }

    /// So many words were drained.
    #[inline]
    pub fn took(&mut self, words: usize) {
        self.taken += 8 * words as u64;
    }

    /// Until when a quarter of the room, `free` bytes, will be full if as much goes on
    /// coming as did; at least until there is a full chunk. Between 1 and 100 ms.
    pub fn patience(&mut self, now: Instant, free: u64) -> Duration {
        let within = now.saturating_duration_since(self.before).max(Duration::from_micros(1)).as_secs_f64();
        self.before = now;
        let taken = std::mem::take(&mut self.taken) as f64;
        // There is nothing to weigh the first against.
        let weight = if self.rate == 0.0 { 1.0 } else { -(-within / SELDOM.as_secs_f64()).exp_m1() };
        self.rate += (taken / within - self.rate) * weight;
        let until = (SHARE * free as f64).max(self.chunk as f64) / self.rate;
        Duration::from_secs_f64(until.min(SELDOM.as_secs_f64())).max(BRIEF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    /// The last of the sleeps, in ms, if so much is found each time that so many ms
    /// have passed, for a second.
    fn patience(taken: u64, every_ms: u64, free: u64) -> u128 {
        let mut now = Instant::now();
        let mut pace = Pace::new(4 * KIB, now);
        let mut last = Duration::ZERO;
        for _ in 0..1000 / every_ms {
            now += Duration::from_millis(every_ms);
            pace.took(taken as usize / 8);
            last = pace.patience(now, free);
        }
        last.as_millis()
    }

    #[test]
    fn a_program_that_says_little_is_seldom_looked_at() {
        assert_eq!(patience(0, 100, 16 * MIB), 100);
        assert_eq!(patience(MIB, 100, 15 * MIB), 100);
        assert_eq!(patience(KIB, 100, 0), 100, "nothing can be had sooner");
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
        assert_eq!(patience(400 * KIB, 100, 0), 1);
        assert_eq!(patience(100 * KIB, 100, 0), 4, "that is when the next chunk is full");
    }

    #[test]
    fn what_comes_first_counts_whole() {
        let start = Instant::now();
        let mut pace = Pace::new(4 * KIB, start);
        assert_eq!(pace.patience(start, 16 * MIB), SELDOM);
        pace.took(8 * MIB as usize / 8);
        assert_eq!(pace.patience(start + Duration::from_millis(100), 16 * MIB).as_millis(), 50);
    }

    #[test]
    fn a_moment_without_a_full_chunk_is_no_end_of_the_flow() {
        let mut now = Instant::now();
        let mut pace = Pace::new(4 * KIB, now);
        for _ in 0..10 {
            now += Duration::from_millis(100);
            pace.took(MIB as usize / 8);
            pace.patience(now, MIB);
        }
        now += Duration::from_millis(1);
        let then = pace.patience(now, MIB);
        assert!((25..27).contains(&then.as_millis()), "{then:?}");
        now += Duration::from_secs(2);
        assert_eq!(pace.patience(now, MIB), SELDOM);
    }
}
