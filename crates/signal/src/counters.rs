//! Losses by cause.
//!
//! # Protocol
//!
//! Any thread adds, any thread reads; nobody waits, an addition is one
//! instruction. Relaxed throughout: a count says how many, never that
//! something else has become visible. Each counter has cache lines of its own,
//! because under overload every thread adds to the same few.

use crate::sync::{Apart, AtomicU64, Ordering};

/// `N` counters, addressed by index (`model::Loss as usize`).
pub struct Counters<const N: usize> {
    counts: [Apart<AtomicU64>; N],
}

impl<const N: usize> Counters<N> {
    /// All counters at zero.
    #[cfg(not(loom))]
    pub const fn new() -> Counters<N> {
        Counters { counts: [const { Apart(AtomicU64::new(0)) }; N] }
    }

    /// All counters at zero.
    #[cfg(loom)]
    pub fn new() -> Counters<N> {
        Counters { counts: core::array::from_fn(|_| Apart(AtomicU64::new(0))) }
    }

    /// Adds `n` to counter `index`; an index out of range changes nothing.
    #[inline]
    pub fn add(&self, index: usize, n: u64) {
        if let Some(Apart(count)) = self.counts.get(index) {
            count.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// The count so far; 0 for an index out of range.
    pub fn get(&self, index: usize) -> u64 {
        self.counts.get(index).map_or(0, |Apart(count)| count.load(Ordering::Relaxed))
    }

    /// Takes the count and sets it back to zero, in one step.
    pub fn take(&self, index: usize) -> u64 {
        self.counts.get(index).map_or(0, |Apart(count)| count.swap(0, Ordering::Relaxed))
    }
}

impl<const N: usize> Default for Counters<N> {
    fn default() -> Self {
        Self::new()
    }
}
