//! Whom others wait for: what a thread took and gave, so that it can be looked for
//! once somebody waits for the like.
//!
//! A lock has an owner to be read. A permit, a pooled object or a result has none;
//! but who waited for one and got it has it until it gives one to somebody else, and
//! who only ever gives is the one who makes it.
//!
//! # Protocol
//! The thread itself notes what it got and gave; where a waiter is woken by another,
//! each writes its own slot only. A word is written whole, and anybody may read it at
//! any time: an entry that is replaced just then is missed, nothing else. Nobody waits.

use headway_model::{ChainId, LockId, TimeNs};
use std::sync::atomic::{AtomicU64, Ordering};

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

impl Exchanged {
    /// On the thread: it waited for this, and got it.
    #[inline]
    pub fn got(&self, lock: LockId, chain: ChainId, time: TimeNs) {
        self.got_at.store(time.0, Ordering::Relaxed);
        for key in [Key::of_lock(lock), Key::of_chain(chain)].into_iter().flatten() {
            self.note(key, |_| GOT);
        }
    }

    /// On the thread: it ended the wait of another.
    #[inline]
    pub fn gave(&self, lock: LockId, chain: ChainId, time: TimeNs) {
        let passes_on = time.since(TimeNs(self.got_at.load(Ordering::Relaxed))).0 < PASSES_ON_NS;
        for key in [Key::of_lock(lock), Key::of_chain(chain)].into_iter().flatten() {
            self.note(key, |flags| if passes_on && flags == GOT { GOT } else { flags | GAVE });
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(id: u64) -> Key {
        Key::of_lock(LockId(id)).unwrap()
    }

    #[test]
    fn who_got_a_permit_has_it_until_it_gives_one_and_who_only_gives_makes_them() {
        let (taker, maker) = (Exchanged::default(), Exchanged::default());
        assert!(!taker.is_waited_for(lock(7)));
        for round in 0..2 {
            let time = TimeNs(1_000_000 * (round + 1));
            taker.got(LockId(7), ChainId::NONE, time);
            taker.gave(LockId(7), ChainId::NONE, TimeNs(time.0 + PASSES_ON_NS / 2));
            assert!(taker.is_waited_for(lock(7)) && !taker.is_waited_for(lock(8)));
            taker.gave(LockId(7), ChainId::NONE, TimeNs(time.0 + PASSES_ON_NS));
            assert!(!taker.is_waited_for(lock(7)));
        }
        maker.gave(LockId(9), ChainId(7), TimeNs(1));
        let place = Key::of_chain(ChainId(7)).unwrap();
        assert!(maker.is_waited_for(place) && maker.is_waited_for(lock(9)) && !maker.is_waited_for(lock(7)));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_forgotten() {
        let exchanged = Exchanged::default();
        (1..1_000).for_each(|id| exchanged.gave(LockId(id), ChainId(id), TimeNs(1)));
        assert!((1..1_000).filter(|id| exchanged.is_waited_for(lock(*id))).count() <= REMEMBERED);
        exchanged.gave(LockId(1_000), ChainId::NONE, TimeNs(1));
        assert!(exchanged.is_waited_for(lock(1_000)));
        exchanged.clear();
        assert!(!exchanged.is_waited_for(lock(1_000)));
    }
}
