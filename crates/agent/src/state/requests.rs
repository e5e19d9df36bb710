//! Which locks' call chains are worth taking.
//!
//! The draining thread asks, the next thread at such a lock takes its chain and
//! the request is gone: one walk per request. A lock is a bit by its id's low
//! part; two locks of the same bit take each other's requests now and then,
//! and the draining thread asks again in the next interval.
//!
//! All accesses are relaxed: a request seen late costs one event's chain.

use super::{FoundThreads, Grid};
use headway_model::LockId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WORDS: usize = 64;

/// A bit for each lock, shared where there are more locks than bits.
struct Bits([AtomicU64; WORDS]);

impl Bits {
    fn new() -> Bits {
        Bits(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn place(&self, lock: LockId) -> Option<(&AtomicU64, u64)> {
        let word = (lock.0 / 64) as usize % WORDS;
        self.0.get(word).map(|word| (word, 1 << (lock.0 % 64)))
    }

    /// True if it was not set before.
    fn set(&self, lock: LockId) -> bool {
        self.place(lock).is_some_and(|(word, bit)| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }

    /// Takes back what is set; how many were.
    fn clear(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.swap(0, Ordering::Relaxed).count_ones())).sum()
    }

    /// True, once, after it was set.
    #[inline]
    fn take(&self, lock: LockId) -> bool {
        self.place(lock).is_some_and(|(word, bit)| {
            word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
        })
    }

    fn fill(&self, word_value: u64) {
        for word in &self.0 {
            word.store(word_value, Ordering::Relaxed);
        }
    }
}

/// See the module.
pub struct Requests {
    /// True if chains are taken on request only.
    sparing: AtomicBool,
    contenders: Bits,
    owners: Bits,
    /// How many owners are asked for: at most how many bits are set.
    owners_asked: AtomicU64,
    /// Where intervals begin, for threads that add up what they spend.
    pub grid: Grid,
    /// Threads that wait already when a recording begins.
    pub found: FoundThreads,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            sparing: AtomicBool::new(false),
            contenders: Bits::new(),
            owners: Bits::new(),
            owners_asked: AtomicU64::new(0),
            grid: Grid::default(),
            found: FoundThreads::default(),
        }
    }
}

impl Requests {
    /// A recording begins. If it is `sparing`, chains are taken on request only;
    /// each lock's first contender counts as asked for, since it names the lock.
    pub fn begin(&self, sparing: bool) {
        self.found.begin();
        self.contenders.fill(u64::MAX);
        self.forget_owners();
        self.sparing.store(sparing, Ordering::Relaxed);
    }

    /// True if chains are taken on request only.
    #[inline]
    pub fn is_sparing(&self) -> bool {
        self.sparing.load(Ordering::Relaxed)
    }

    /// Asks for one chain on each side.
    pub fn ask(&self, lock: LockId) {
        self.contenders.set(lock);
        if self.owners.set(lock) {
            self.owners_asked.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Asks for no owner any more: a lock that nobody leaves would have every
    /// exit looked at for ever.
    pub fn forget_owners(&self) {
        let asked = self.owners.clear();
        self.owners_asked.fetch_sub(asked, Ordering::Relaxed);
    }

    /// True if nobody asks who leaves a lock: nothing is to be known of exits.
    #[inline]
    pub fn spares_owners(&self) -> bool {
        self.is_sparing() && self.owners_asked.load(Ordering::Relaxed) == 0
    }

    /// True if the thread that is about to block on the lock takes its chain.
    #[inline]
    pub fn wants_contender(&self, lock: LockId) -> bool {
        !self.is_sparing() || self.contenders.take(lock)
    }

    /// True if the thread that releases the lock takes its chain.
    #[inline]
    pub fn wants_owner(&self, lock: LockId) -> bool {
        if !self.is_sparing() {
            return true;
        }
        let is_asked = self.owners.take(lock);
        if is_asked {
            self.owners_asked.fetch_sub(1, Ordering::Relaxed);
        }
        is_asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_served_once_on_each_side() {
        let requests = Requests::default();
        assert!(requests.wants_contender(LockId(7)) && requests.wants_contender(LockId(7)));
        requests.begin(true);
        assert!(requests.wants_contender(LockId(7)), "the first one names the lock");
        assert!(!requests.wants_contender(LockId(7)) && !requests.wants_owner(LockId(7)));
        requests.ask(LockId(7));
        assert!(!requests.wants_owner(LockId(8)));
        assert!(requests.wants_contender(LockId(7)) && requests.wants_owner(LockId(7)));
        assert!(!requests.wants_contender(LockId(7)) && !requests.wants_owner(LockId(7)));
    }

    #[test]
    fn exits_are_of_interest_only_while_somebody_asks() {
        let requests = Requests::default();
        assert!(!requests.spares_owners());
        requests.begin(true);
        assert!(requests.spares_owners());
        // Two locks of one bit: asked for twice, taken once.
        requests.ask(LockId(7));
        requests.ask(LockId(7 + 64 * 64));
        assert!(!requests.spares_owners() && requests.wants_owner(LockId(7)) && requests.spares_owners());
        requests.ask(LockId(8));
        requests.forget_owners();
        assert!(requests.spares_owners() && !requests.wants_owner(LockId(8)));
    }
}
