//! Whom others wait for: what a thread took and gave, so that it can be looked for
//! once somebody waits for the like.
//!
//! A lock has an owner to be read. A permit, a pooled object or a result has none;
//! but who waited for one and got it has it until it gives one to somebody else, and
//! who only ever gives is the one who makes it.
//!
//! A wait that is sampled has no call chain before it is over. The thread that looks for
//! owners finds the chains of long ones, and leaves them here.
//!
//! # Protocol
//! The thread itself notes what it got and gave; where a waiter is woken by another,
//! each writes its own slot only. A word is written whole, and anybody may read it at
//! any time: an entry that is replaced just then is missed, nothing else. Nobody waits.
//! [`Seen`] is written by the sampling thread alone; its `since` is cleared first and
//! written last.

use headway_model::{ChainId, LockId, TimeNs};
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Things remembered of each thread.
const REMEMBERED: usize = 8;
/// Set in the word of a stack, which stands for what is waited for there: each
/// result is another object.
const CHAIN: u64 = 1 << 61;
/// The thread got one, ever.
const GOT: u64 = 1 << 62;
/// It has given one since.
const GAVE: u64 = 1 << 63;
const FLAGS: u64 = GOT | GAVE;
/// Who gives so soon after it got one passes a wake-up on, as the next one that may
/// acquire a permit does from within the acquisition; or had it too shortly to be seen.
const PASSES_ON_NS: u64 = 50_000;

/// What a thread took and gave last. All-zero memory is a thread that did neither.
#[derive(Debug, Default)]
pub struct Exchanged {
    words: [AtomicU64; REMEMBERED],
    got_at: AtomicU64,
    /// Where the thread was seen waiting.
    pub seen: Seen,
}

/// The call chain with which a thread was seen waiting, and since when it waited.
#[derive(Debug, Default)]
pub struct Seen {
    since: AtomicU64,
    chain: AtomicU64,
    generation: AtomicU64,
}

/// A wait of a thread: for what, with which call chain and since when.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    /// The object.
    pub lock: LockId,
    /// `NONE` if the chain was not walked.
    pub chain: ChainId,
    /// When the wait began.
    pub since: TimeNs,
}

/// What is waited for: the object, or the stack with which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(u64);

impl Key {
    /// What a thread waits on.
    pub const fn of_lock(lock: LockId) -> Option<Key> {
        if lock.0 == 0 {
            return None;
        }
        Some(Key(lock.0 & !(FLAGS | CHAIN)))
    }

    /// Where it waits.
    pub const fn of_chain(chain: ChainId) -> Option<Key> {
        if chain.0 == 0 {
            return None;
        }
        Some(Key(chain.0 & !(FLAGS | CHAIN) | CHAIN))
    }
}

impl Seen {
    /// On the sampling thread: it waits since then, with this chain of a generation of chains.
    pub fn waits(&self, since: TimeNs, chain: ChainId, generation: u64) {
        self.since.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.chain.store(chain.0, Ordering::Relaxed);
        self.generation.store(generation, Ordering::Relaxed);
        self.since.store(since.0, Ordering::Release);
    }

    /// The chain of the wait that began then; `NONE` if it was not seen.
    #[inline]
    pub fn chain(&self, since: TimeNs) -> ChainId {
        if since.0 == 0 || self.since.load(Ordering::Acquire) != since.0 {
            return ChainId::NONE;
        }
        let chain = self.chain.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        // Another wait was seen meanwhile.
        match self.since.load(Ordering::Relaxed) == since.0 {
            true => ChainId(chain),
            false => ChainId::NONE,
        }
    }

    /// On the sampling thread: what was found when it was looked at this wait, `NONE` if no chain; `None` if it
    /// was not, or if what chains mean has changed since.
    pub fn found(&self, since: TimeNs, generation: u64) -> Option<ChainId> {
        let was_looked_at = self.since.load(Ordering::Relaxed) == since.0 && since.0 != 0;
        let is_valid = self.generation.load(Ordering::Relaxed) == generation;
        (was_looked_at && is_valid).then(|| self.chain(since))
    }
}

impl Awaited {
    /// Its chain, or where its thread was seen waiting.
    #[inline]
    fn chain(&self, waiter: Option<&Exchanged>) -> ChainId {
        match (self.chain, waiter) {
            (ChainId::NONE, Some(waiter)) => waiter.seen.chain(self.since),
            (chain, _) => chain,
        }
    }
}

impl Exchanged {
    /// On the thread: it waited for this, and got it.
    #[inline]
    pub fn got(&self, awaited: Awaited, time: TimeNs) {
        self.got_at.store(time.0, Ordering::Relaxed);
        let chain = awaited.chain(Some(self));
        for key in [Key::of_lock(awaited.lock), Key::of_chain(chain)].into_iter().flatten() {
            self.note(key, |_| GOT);
        }
    }

    /// On the thread: it ended the wait of another, `waiter` if that is a platform thread.
    #[inline]
    pub fn gave(&self, awaited: Awaited, waiter: Option<&Exchanged>, time: TimeNs) {
        // It did not wait.
        if awaited.since == TimeNs(0) {
            return;
        }
        let passes_on = time.since(TimeNs(self.got_at.load(Ordering::Relaxed))).0 < PASSES_ON_NS;
        let chain = awaited.chain(waiter);
        for key in [Key::of_lock(awaited.lock), Key::of_chain(chain)].into_iter().flatten() {
            self.note(key, |flags| if passes_on && flags == GOT { GOT } else { flags | GAVE });
        }
        if chain == ChainId::NONE && !passes_on {
            self.gave_something(awaited.lock);
        }
    }

    /// It is not known with which chain that was waited for: what the thread got with any may be gone, unless
    /// it gave what it did not get.
    fn gave_something(&self, lock: LockId) {
        let is_of = |key: Key| {
            let mut words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
            words.any(|word| word & !FLAGS == key.0 && word & GOT != 0)
        };
        if Key::of_lock(lock).is_some_and(|key| !is_of(key)) {
            return;
        }
        for word in &self.words {
            let known = word.load(Ordering::Relaxed);
            if known & CHAIN != 0 && known & FLAGS == GOT {
                word.store(known | GAVE, Ordering::Relaxed);
            }
        }
    }

    fn note(&self, key: Key, flags: impl Fn(u64) -> u64) {
        for word in &self.words {
            let known = word.load(Ordering::Relaxed);
            if known == 0 || known & !FLAGS == key.0 {
                let flagged = key.0 | flags(known & FLAGS);
                if flagged != known {
                    word.store(flagged, Ordering::Relaxed);
                }
                return;
            }
        }
        // Whatever stood there comes again if it matters.
        let place = (key.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61) as usize;
        if let Some(word) = self.words.get(place) {
            word.store(key.0 | flags(0), Ordering::Relaxed);
        }
    }

    /// True if the thread has one, or makes what is waited for.
    pub fn is_waited_for(&self, key: Key) -> bool {
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        words.filter(|word| word & !FLAGS == key.0).any(|word| word & FLAGS != FLAGS)
    }

    /// Another thread, or another recording.
    pub fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.got_at.store(0, Ordering::Relaxed);
        self.seen.since.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(id: u64) -> Key {
        Key::of_lock(LockId(id)).unwrap()
    }

    fn wait(lock: u64, chain: u64) -> Awaited {
        Awaited { lock: LockId(lock), chain: ChainId(chain), since: TimeNs(3) }
    }

    #[test]
    fn who_got_a_permit_has_it_until_it_gives_one_and_who_only_gives_makes_them() {
        let (taker, maker) = (Exchanged::default(), Exchanged::default());
        assert!(!taker.is_waited_for(lock(7)));
        for round in 0..2 {
            let time = TimeNs(1_000_000 * (round + 1));
            taker.got(wait(7, 0), time);
            taker.gave(wait(7, 0), None, TimeNs(time.0 + PASSES_ON_NS / 2));
            assert!(taker.is_waited_for(lock(7)) && !taker.is_waited_for(lock(8)));
            taker.gave(wait(7, 0), None, TimeNs(time.0 + PASSES_ON_NS));
            assert!(!taker.is_waited_for(lock(7)));
        }
        maker.gave(wait(9, 7), None, TimeNs(1));
        let place = Key::of_chain(ChainId(7)).unwrap();
        assert!(maker.is_waited_for(place) && maker.is_waited_for(lock(9)) && !maker.is_waited_for(lock(7)));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_forgotten() {
        let exchanged = Exchanged::default();
        (1..1_000).for_each(|id| exchanged.gave(wait(id, id), None, TimeNs(1)));
        assert!((1..1_000).filter(|id| exchanged.is_waited_for(lock(*id))).count() <= REMEMBERED);
        exchanged.gave(wait(1_000, 0), None, TimeNs(1));
        assert!(exchanged.is_waited_for(lock(1_000)));
        exchanged.clear();
        assert!(!exchanged.is_waited_for(lock(1_000)));
    }

    #[test]
    fn a_wait_without_a_chain_has_the_one_with_which_it_was_seen() {
        let (taker, maker, waiter) = (Exchanged::default(), Exchanged::default(), Exchanged::default());
        let place = Key::of_chain(ChainId(7)).unwrap();
        let late = TimeNs(2 * PASSES_ON_NS);
        maker.gave(wait(9, 0), Some(&waiter), late);
        assert!(!maker.is_waited_for(place), "not seen");
        for thread in [&waiter, &taker] {
            thread.seen.waits(TimeNs(3), ChainId(7), 1);
        }
        assert_eq!(waiter.seen.chain(TimeNs(4)), ChainId::NONE, "another wait");
        assert_eq!(waiter.seen.found(TimeNs(3), 1), Some(ChainId(7)));
        assert_eq!(waiter.seen.found(TimeNs(3), 2), None, "chains of an earlier generation");
        maker.gave(wait(9, 0), Some(&waiter), late);
        taker.got(wait(5, 0), TimeNs(1));
        assert!(maker.is_waited_for(place) && taker.is_waited_for(place));
        // Whom it wakes does not wait, or waits for what it never got.
        let nothing = Awaited { lock: LockId::NONE, chain: ChainId::NONE, since: TimeNs(0) };
        taker.gave(nothing, Some(&waiter), late);
        taker.gave(wait(6, 0), None, late);
        assert!(taker.is_waited_for(place));
        // With which chain that was waited for is not known: it may be what it had.
        taker.gave(wait(5, 0), None, late);
        maker.gave(wait(5, 0), None, late);
        assert!(!taker.is_waited_for(place) && !taker.is_waited_for(lock(5)) && maker.is_waited_for(place));
        waiter.clear();
        assert_eq!([waiter.seen.chain(TimeNs(3)), waiter.seen.chain(TimeNs(0))], [ChainId::NONE; 2]);
        assert_eq!(waiter.seen.found(TimeNs(0), 1), None);
        waiter.seen.waits(TimeNs(9), ChainId::NONE, 1);
        assert_eq!(waiter.seen.found(TimeNs(9), 1), Some(ChainId::NONE), "it is not looked at it again");
    }
}
