//! Which locks' call chains are worth taking.
//!
//! The draining thread asks, the next thread at such a lock takes its chain and
//! the request is gone: one walk per request. A lock is a bit by its id's low
//! part; two locks of the same bit take each other's requests now and then,
//! and the draining thread asks again in the next interval.
//!
//! All accesses are relaxed: a request seen late costs one event's chain.

use super::beans::Beans;
use super::found::FoundThreads;
use headway_model::LockId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WORDS: usize = 64;

/// A bit for each lock, as far as bits go.
struct Bits([AtomicU64; WORDS]);

impl Bits {
    fn new() -> Bits {
        Bits(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn place(&self, lock: LockId) -> Option<(&AtomicU64, u64)> {
        let word = (lock.0 / 64) as usize % WORDS;
        self.0.get(word).map(|word| (word, 1 << (lock.0 % 64)))
    }

    fn set(&self, lock: LockId) {
        if let Some((word, bit)) = self.place(lock) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
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
    /// Threads that wait already when a recording begins.
    pub found: FoundThreads,
    /// The picture of now for JMX.
    pub beans: Beans,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            sparing: AtomicBool::new(false),
            contenders: Bits::new(),
            owners: Bits::new(),
            found: FoundThreads::default(),
            beans: Beans::default(),
        }
    }
}

impl Requests {
    /// A recording begins. If it is `sparing`, chains are taken on request only;
    /// each lock's first contender counts as asked for, since it names the lock.
    pub fn begin(&self, sparing: bool) {
        self.found.begin();
        self.contenders.fill(u64::MAX);
        self.owners.fill(0);
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
        self.owners.set(lock);
    }

    /// True if the thread that is about to block on the lock takes its chain.
    #[inline]
    pub fn wants_contender(&self, lock: LockId) -> bool {
        !self.is_sparing() || self.contenders.take(lock)
    }

    /// True if the thread that releases the lock takes its chain.
    #[inline]
    pub fn wants_owner(&self, lock: LockId) -> bool {
        !self.is_sparing() || self.owners.take(lock)
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
}
