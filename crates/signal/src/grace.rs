//! Grace periods: when memory that readers may still look at can be used again.
//!
//! # Protocol
//!
//! Readers stand inside one of two counts, that of the current epoch's parity;
//! the collector moves the epoch on when the other count is empty. What was made
//! unreachable during epoch `e` can be used again in epoch `e + 2`:
//!
//! * a reader that can still see it entered in epoch `e` or before,
//! * moving on to `e + 1` required that nobody was left from `e - 1`,
//! * moving on to `e + 2` required that nobody was left from `e`.
//!
//! Nobody waits. A reader enters again only if the epoch moved on while it
//! entered, which takes a collector's step each time. The collector's step
//! fails while a reader is inside (it may have been preempted there for long);
//! the memory then stays out of use until a later try.
//!
//! Entering is: count up, then look whether the epoch is still the same.
//! Moving on is: look at the counts, after the epoch was set. These are two
//! words in opposite order (Dekker), so all four operations are sequentially
//! consistent: either the collector sees the reader's count, or the reader
//! sees the collector's epoch and takes its count back without having looked at
//! anything. (Full fences in their place would make the second look at the epoch
//! unnecessary, and cost more; loom only knows fences, so its models do not
//! show what that look is for.) Leaving releases what the reader read; the collector's look at the
//! counts acquires it. The epoch is released by the collector and acquired by
//! readers, so a reader of epoch `e + 1` sees what was unlinked before it.
//!
//! Counts are spread over lanes, so that threads on different processors do not
//! share a cache line. A reader that is interrupted by a signal handler which
//! enters, too, simply counts twice.

use crate::sync::{between_seq_cst, const_fn, Apart, AtomicU64, Ordering};

/// Lanes of counts.
const LANES: usize = if cfg!(loom) { 1 } else { 32 };

/// See the file's head.
pub struct Gate {
    epoch: AtomicU64,
    /// 1 while a thread is in [`Gate::advance`].
    advancing: AtomicU64,
    lanes: [Apart<Lane>; LANES],
}

struct Lane {
    /// Readers inside, by parity of the epoch in which they entered.
    inside: [AtomicU64; 2],
}

impl Lane {
    const_fn! {
        fn new() -> Lane {
            Lane { inside: [AtomicU64::new(0), AtomicU64::new(0)] }
        }
    }

    #[inline]
    fn of(&self, epoch: u64) -> &AtomicU64 {
        let [even, odd] = &self.inside;
        if epoch & 1 == 0 {
            even
        } else {
            odd
        }
    }
}

/// A reader inside a [`Gate`]; leaves when dropped.
pub struct Inside<'g> {
    count: &'g AtomicU64,
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Release);
    }
}

impl Gate {
    /// A gate with nobody inside.
    #[cfg(not(loom))]
    pub const fn new() -> Gate {
        Gate { epoch: AtomicU64::new(0), advancing: AtomicU64::new(0), lanes: [const { Apart(Lane::new()) }; LANES] }
    }

    /// A gate with nobody inside.
    #[cfg(loom)]
    pub fn new() -> Gate {
        Gate {
            epoch: AtomicU64::new(0),
            advancing: AtomicU64::new(0),
            lanes: core::array::from_fn(|_| Apart(Lane::new())),
        }
    }

    /// Enters. `lane` is any number that differs from thread to thread.
    #[inline]
    pub fn enter(&self, lane: usize) -> Inside<'_> {
        let Apart(lane) = self.lane(lane);
        loop {
            let epoch = self.epoch.load(Ordering::Relaxed);
            let count = lane.of(epoch);
            count.fetch_add(1, Ordering::SeqCst);
            between_seq_cst();
            if self.epoch.load(Ordering::SeqCst) == epoch {
                return Inside { count };
            }
            count.fetch_sub(1, Ordering::Release);
        }
    }

    #[inline]
    fn lane(&self, lane: usize) -> &Apart<Lane> {
        let [first, ..] = &self.lanes;
        self.lanes.get(lane % LANES).unwrap_or(first)
    }

    /// The current epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Moves on to the next epoch if no reader is left from the one before.
    /// False if one is, or if another thread is doing this.
    pub fn advance(&self) -> bool {
        if self.advancing.swap(1, Ordering::Acquire) != 0 {
            return false;
        }
        let epoch = self.epoch.load(Ordering::SeqCst);
        let empty = self.nobody_inside(epoch.wrapping_add(1));
        if empty {
            self.epoch.store(epoch.wrapping_add(1), Ordering::SeqCst);
        }
        self.advancing.store(0, Ordering::Release);
        empty
    }

    fn nobody_inside(&self, epoch: u64) -> bool {
        between_seq_cst();
        self.lanes.iter().all(|Apart(lane)| lane.of(epoch).load(Ordering::SeqCst) == 0)
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
