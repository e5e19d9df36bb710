//! How much CPU time hooks take on an application thread: each call is timed with a
//! chance of one in [`ONE_IN`], by itself, and stands for that many.
//!
//! Which call that is, is drawn each time: with a fixed step a program that does
//! the same few things in turn would have the same one timed each time. The number of
//! calls up to the next one follows the geometric distribution, so that each call has
//! the same chance, a thread's first one too. A call that is not timed costs a
//! countdown in a line of the cache that it writes anyway.
//!
//! A timed call reads the thread's CPU clock outside and the monotonic one inside, and
//! takes what is less: the monotonic clock is the finer one, and wrong where the thread
//! was off-CPU meanwhile. One reading of it is in the result.
//!
//! # Protocol
//! Only the thread itself writes, others read the sums; a sum that is a call behind
//! the other does no harm.

use crate::clock;
use headway_model::random::Random;
use headway_model::{DurationNs, TimeNs};
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls that a timed one stands for.
pub const ONE_IN: u64 = 1024;

/// Times the standard error that an interval of 95 % reaches to each side.
const INTERVAL_95: f64 = 1.96;

const NOT_TIMED: u64 = 0;
const TIMED: u64 = 1;
const PAUSED: u64 = 2;

/// See the module.
#[derive(Default)]
pub struct TimedCalls {
    /// Calls up to the next one that is timed, with it; 0 if not drawn yet.
    left: AtomicU64,
    state: AtomicU64,
    random: AtomicU64,
    begun_cpu: AtomicU64,
    begun: AtomicU64,
    spent: AtomicU64,
    calls: AtomicU64,
    total: AtomicU64,
    squares: AtomicU64,
}

/// Both clocks, around a timed call.
#[derive(Clone, Copy)]
struct Clocks {
    cpu: DurationNs,
    time: TimeNs,
}

impl Clocks {
    fn before() -> Clocks {
        let cpu = clock::thread_cpu();
        Clocks { cpu, time: clock::now() }
    }

    fn after() -> Clocks {
        let time = clock::now();
        Clocks { cpu: clock::thread_cpu(), time }
    }
}

impl TimedCalls {
    /// A call begins.
    #[inline]
    pub fn begin(&self) {
        let left = self.left.load(Ordering::Relaxed);
        match left > 1 {
            true => self.left.store(left - 1, Ordering::Relaxed),
            false => self.draw(left == 1),
        }
    }

    /// What follows is not the agent's: the VM's own function.
    #[inline]
    pub fn pause(&self) {
        if self.state.load(Ordering::Relaxed) == TIMED {
            self.stop(Clocks::after(), PAUSED);
        }
    }

    /// It is the agent's again.
    #[inline]
    pub fn resume(&self) {
        if self.state.load(Ordering::Relaxed) == PAUSED {
            self.start(Clocks::before());
        }
    }

    /// The call ends.
    #[inline]
    pub fn end(&self) {
        match self.state.load(Ordering::Relaxed) {
            NOT_TIMED => {}
            PAUSED => self.count(),
            _ => {
                self.stop(Clocks::after(), NOT_TIMED);
                self.count();
            }
        }
    }

    /// The thread is another one. What was measured stays.
    pub fn reset(&self) {
        self.state.store(NOT_TIMED, Ordering::Relaxed);
        self.spent.store(0, Ordering::Relaxed);
    }

    /// What was measured so far.
    pub fn cost(&self) -> CallCost {
        CallCost {
            calls: self.calls.load(Ordering::Relaxed),
            total: DurationNs(self.total.load(Ordering::Relaxed)),
            squares: self.squares.load(Ordering::Relaxed),
        }
    }

    /// Draws the next call to be timed. The present one is timed if it `is_due`; a
    /// thread's first one is drawn like the others.
    #[cold]
    fn draw(&self, is_due: bool) {
        let next = self.gap();
        if !is_due && next > 1 {
            return self.left.store(next - 1, Ordering::Relaxed);
        }
        let next = if is_due { next } else { self.gap() };
        self.left.store(next, Ordering::Relaxed);
        self.start(Clocks::before());
    }

    /// A number of calls, 1 or more, of the geometric distribution with mean [`ONE_IN`].
    fn gap(&self) -> u64 {
        let seed = match self.random.load(Ordering::Relaxed) {
            0 => clock::now().0 ^ (std::ptr::from_ref(self) as u64),
            seed => seed,
        };
        let mut random = Random::new(seed);
        // Above 0, at most 1.
        let uniform = 1.0 - random.uniform();
        self.random.store(random.seed(), Ordering::Relaxed);
        1 + (uniform.ln() / (1.0 - 1.0 / ONE_IN as f64).ln()) as u64
    }

    #[cold]
    fn start(&self, clocks: Clocks) {
        self.begun_cpu.store(clocks.cpu.0, Ordering::Relaxed);
        self.begun.store(clocks.time.0, Ordering::Relaxed);
        self.state.store(TIMED, Ordering::Relaxed);
    }

    #[cold]
    fn stop(&self, clocks: Clocks, state: u64) {
        let cpu = clocks.cpu.0.saturating_sub(self.begun_cpu.load(Ordering::Relaxed));
        let time = clocks.time.0.saturating_sub(self.begun.load(Ordering::Relaxed));
        add(&self.spent, cpu.min(time));
        self.state.store(state, Ordering::Relaxed);
    }

    #[cold]
    fn count(&self) {
        let spent = self.spent.swap(0, Ordering::Relaxed);
        self.state.store(NOT_TIMED, Ordering::Relaxed);
        add(&self.calls, 1);
        add(&self.total, spent);
        add(&self.squares, spent.saturating_mul(spent));
    }
}

/// Only the thread itself writes.
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
}

/// What timed calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    /// Their number.
    pub calls: u64,
    /// Their CPU time.
    pub total: DurationNs,
    /// Sum of the squares of their CPU times in ns.
    pub squares: u64,
}

impl CallCost {
    /// CPU time of all calls, estimated: each timed one stands for [`ONE_IN`]
    /// (Horvitz and Thompson 1952).
    pub fn of_all(self) -> DurationNs {
        DurationNs(self.total.0.saturating_mul(ONE_IN))
    }

    /// How far the interval of 95 % around [`Self::of_all`] reaches to each side. Calls
    /// are chosen independently of each other, so that the variance is the sum of
    /// `(1 - p) / p^2` times the squares, with the chance `p`.
    pub fn error(self) -> DurationNs {
        let variance = self.squares as f64 * ((ONE_IN - 1) * ONE_IN) as f64;
        DurationNs((INTERVAL_95 * variance.sqrt()) as u64)
    }
}

impl Add for CallCost {
    type Output = CallCost;
    fn add(self, other: CallCost) -> CallCost {
        CallCost {
            calls: self.calls.saturating_add(other.calls),
            total: self.total + other.total,
            squares: self.squares.saturating_add(other.squares),
        }
    }
}

impl Sub for CallCost {
    type Output = CallCost;
    fn sub(self, other: CallCost) -> CallCost {
        CallCost {
            calls: self.calls.saturating_sub(other.calls),
            total: self.total - other.total,
            squares: self.squares.saturating_sub(other.squares),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded(seed: u64) -> TimedCalls {
        let calls = TimedCalls::default();
        calls.random.store(seed, Ordering::Relaxed);
        calls
    }

    fn at(cpu: u64, time: u64) -> Clocks {
        Clocks { cpu: DurationNs(cpu), time: TimeNs(time) }
    }

    /// Lets a call take as long as said, without a clock; true if it was timed.
    fn call(calls: &TimedCalls, takes: u64) -> bool {
        calls.begin();
        if calls.state.load(Ordering::Relaxed) == NOT_TIMED {
            return false;
        }
        calls.start(at(0, 0));
        calls.stop(at(takes, takes), NOT_TIMED);
        calls.count();
        true
    }

    /// Calls of a thread that does four things in turn: a step that is a multiple of
    /// four would only see one of them.
    #[test]
    fn the_estimate_is_unbiased_and_its_interval_holds() {
        const TAKES: [u64; 4] = [40, 90, 2_000, 150];
        const CALLS: u64 = 400_000;
        let truth = (TAKES.iter().sum::<u64>() * CALLS / 4) as f64;
        let (mut sum, mut inside) = (0.0, 0);
        for seed in 1..=200 {
            let calls = seeded(seed * 7919);
            for i in 0..CALLS as usize {
                call(&calls, TAKES[i % 4]);
            }
            let (estimate, error) = (calls.cost().of_all().0 as f64, calls.cost().error().0 as f64);
            sum += estimate / 200.0;
            inside += u32::from((estimate - truth).abs() <= error);
        }
        // The standard error of the mean of 200 is 0.6 %.
        assert!((sum / truth - 1.0).abs() < 0.025, "{sum} instead of {truth}");
        assert!((180..=199).contains(&inside), "{inside} of 200 intervals contain the truth");
    }

    #[test]
    fn a_threads_first_calls_have_the_same_chance() {
        let timed = |place: u64| {
            let all = (1..=100_000_u64).filter(|seed| {
                let calls = seeded(seed * 104_729);
                (0..place).for_each(|_| calls.begin());
                calls.reset();
                call(&calls, 1)
            });
            all.count()
        };
        for place in [0, 1, 20] {
            let count = timed(place);
            // 97.7 are expected, with a standard deviation of 9.9.
            assert!((58..=138).contains(&count), "call {place}: {count} of 100,000");
        }
    }

    #[test]
    fn what_the_vm_does_in_between_is_not_counted_and_nor_is_a_lost_cpu() {
        let calls = TimedCalls::default();
        calls.start(at(100, 1_000));
        calls.stop(at(400, 1_200), PAUSED);
        assert_eq!(calls.cost(), CallCost::default());
        calls.start(at(900, 9_000));
        // Off its CPU for 5 ms.
        calls.stop(at(1_250, 5_009_000), NOT_TIMED);
        calls.count();
        let expected = CallCost { calls: 1, total: DurationNs(550), squares: 550 * 550 };
        assert_eq!(calls.cost(), expected);
        calls.end();
        calls.resume();
        assert_eq!(calls.cost(), expected, "nothing is timed");
    }

    #[test]
    fn a_thread_that_ended_in_the_middle_leaves_what_was_measured() {
        let calls = TimedCalls::default();
        calls.start(at(0, 0));
        calls.stop(at(7, 7), NOT_TIMED);
        calls.count();
        calls.start(at(50, 50));
        calls.stop(at(60, 60), PAUSED);
        calls.reset();
        calls.end();
        let kept = CallCost { calls: 1, total: DurationNs(7), squares: 49 };
        assert_eq!(calls.cost(), kept);
        assert_eq!((kept + kept) - kept, kept);
    }
}
