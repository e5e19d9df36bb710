//! The set of call chains seen so far.
//!
//! # Protocol
//!
//! The region is two halves, each a hash table of slots and an arena of entries
//! that only grows. One half is in use. An entry is written completely, then
//! published by one exchange of its slot from 0 (release); lookups load slots
//! with acquire and compare the complete key, so a hash alone never decides.
//!
//! * Any thread looks up and inserts. Nothing waits: a thread whose exchange
//!   fails has found another entry there, compares its key, and either uses that
//!   entry (its own room in the arena is then wasted until the next clear) or goes
//!   on to the next slot. The number of slots tried is bounded.
//! * An entry is published before its finder resolves what the chain means, so
//!   that a second finder gets the same id at once. The entry's user word is
//!   theirs to agree on who resolves it and whether that is done.
//! * Ids come from a counter that nothing sets back.
//! * `clear` switches to the other half, if that is wiped; one thread at a time,
//!   others get a no. The half that went out of use may still have readers:
//!   it is wiped two epochs of the [`Gate`] later, by whoever calls `maintain`
//!   (the collector) or `clear`. While a preempted reader holds that up, the set
//!   cannot be cleared again and new chains are refused once it is full.
//! * `active` is released by the switch and acquired by lookups, so a half that
//!   comes into use is seen wiped.
//!
//! Between an unloading of code and the `clear` that follows, a lookup can find
//! a chain of the unloaded code. Where the same words could mean another chain
//! by then, put a count of unloadings into the key.

use crate::grace::{Gate, Inside};
use crate::region::{self, Region};
use crate::sync::{Apart, AtomicU64, Ordering};

/// What became of a lookup.
#[derive(Clone, Copy)]
pub enum Lookup<'r> {
    /// The chain was there.
    Found(Entry<'r>),
    /// The chain was inserted by this call.
    New(Entry<'r>),
    /// The chain was not there, and there is no room for it.
    Full,
}

/// A chain in the set.
#[derive(Clone, Copy)]
pub struct Entry<'r> {
    /// Unique for ever, counted up from 1.
    pub id: u64,
    /// The caller's word about this entry, 0 at first.
    pub user: &'r AtomicU64,
}

/// A thread that looks at the set; entries cannot go away meanwhile.
pub struct Reader<'s> {
    set: &'s ChainSet,
    half: &'s Half,
    _inside: Inside<'s>,
}

/// See the file's head.
pub struct ChainSet {
    wipe: Option<Wipe>,
    /// Goes up with every clear; its parity says which half is in use.
    active: Apart<AtomicU64>,
    next_id: Apart<AtomicU64>,
    gate: Gate,
    halves: [Half; 2],
    /// 1 while a thread clears or wipes.
    maintaining: AtomicU64,
    /// 1 + the epoch in which the half out of use went out of use; 0 if wiped.
    retired: AtomicU64,
}

struct Half {
    slots: Region,
    arena: Region,
    /// Words of the arena in use; may exceed its size.
    used: Apart<AtomicU64>,
}

/// Makes a region zero again, or gives its memory back, after which it reads as zero.
pub type Wipe = fn(Region);

/// Words of an entry before its key: id, user word, length.
const HEAD: usize = 3;

/// Slots that a lookup tries.
const PROBES: usize = 32;

/// Words of arena per slot, at least: with chains of ten frames and more the
/// arena is full before the slots are crowded.
const ARENA_WORDS_PER_SLOT: usize = 8;

impl ChainSet {
    /// A set over `region`, half of which is in use at a time.
    pub fn new(region: Region) -> ChainSet {
        ChainSet::wiped_by(region, None)
    }

    /// The same; memory that is out of use is handed to `wipe`, whole.
    pub fn wiped_by(region: Region, wipe: Option<Wipe>) -> ChainSet {
        let (first, second) = region::split(region, region.len() / 2).unwrap_or((region, &[]));
        ChainSet {
            wipe,
            active: Apart(AtomicU64::new(0)),
            next_id: Apart(AtomicU64::new(1)),
            gate: Gate::new(),
            halves: [Half::new(first), Half::new(second)],
            maintaining: AtomicU64::new(0),
            retired: AtomicU64::new(0),
        }
    }

    /// Begins to look at the set. `lane` is any number that differs from thread
    /// to thread. Entries found stay valid until the reader is dropped; until
    /// then no half can be wiped, so do not keep it for ever.
    #[inline]
    pub fn enter(&self, lane: usize) -> Reader<'_> {
        let inside = self.gate.enter(lane);
        let active = self.active.0.load(Ordering::Acquire);
        Reader { set: self, half: self.half(active), _inside: inside }
    }

    #[inline]
    fn half(&self, generation: u64) -> &Half {
        let [even, odd] = &self.halves;
        if generation & 1 == 0 {
            even
        } else {
            odd
        }
    }

    /// How often the set has been cleared. An id that was found in an earlier
    /// generation is not found again.
    pub fn generation(&self) -> u64 {
        self.active.0.load(Ordering::Acquire)
    }

    /// Words of the arena in use and its size.
    pub fn fill(&self) -> (u64, u64) {
        let half = self.half(self.generation());
        let size = half.arena.len() as u64;
        (half.used.0.load(Ordering::Relaxed).min(size), size)
    }

    /// Forgets all chains. False, with nothing done, if readers still hold up
    /// the wiping of the half that was in use before, or if another thread is
    /// at it: try again later.
    pub fn clear(&self) -> bool {
        self.alone(|| {
            if !self.wipe_retired() {
                return false;
            }
            let active = self.active.0.load(Ordering::Relaxed);
            self.active.0.store(active.wrapping_add(1), Ordering::Release);
            self.retired.store(self.gate.epoch() + 1, Ordering::Relaxed);
            true
        })
    }

    /// Wipes the half that is out of use if no reader can see it any more.
    /// Called by the collector now and then, so that [`Self::clear`] finds it
    /// wiped. True if it is.
    pub fn maintain(&self) -> bool {
        self.alone(|| self.wipe_retired())
    }

    /// Runs `work` unless another thread is in here.
    fn alone(&self, work: impl FnOnce() -> bool) -> bool {
        if self.maintaining.swap(1, Ordering::Acquire) != 0 {
            return false;
        }
        let done = work();
        self.maintaining.store(0, Ordering::Release);
        done
    }

    fn wipe_retired(&self) -> bool {
        let Some(epoch) = self.retired.load(Ordering::Relaxed).checked_sub(1) else {
            return true;
        };
        while self.gate.epoch() < epoch + 2 {
            if !self.gate.advance() {
                return false;
            }
        }
        let out_of_use = self.active.0.load(Ordering::Relaxed).wrapping_add(1);
        self.half(out_of_use).wipe(self.wipe);
        self.retired.store(0, Ordering::Relaxed);
        true
    }
}

impl Reader<'_> {
    /// Finds `key` or inserts it. An empty key is never found nor inserted.
    #[inline]
    pub fn lookup_or_insert(&self, key: &[u64]) -> Lookup<'_> {
        self.lookup_or_insert_hashed(hash(key), key)
    }

    /// The same for a caller that has [`hash`]ed the key already.
    #[inline]
    pub fn lookup_or_insert_hashed(&self, hash: u64, key: &[u64]) -> Lookup<'_> {
        self.half.lookup_or_insert(hash, key, &self.set.next_id.0).unwrap_or(Lookup::Full)
    }
}

impl Half {
    fn new(region: Region) -> Half {
        let most = region.len() / (ARENA_WORDS_PER_SLOT + 1);
        // The largest power of two that is not above `most`.
        let slots = most.checked_ilog2().map_or(0, |bits| 1usize << bits);
        let (slots, arena) = region::split(region, slots).unwrap_or((&[], region));
        // Places in the arena are kept in 32 bits.
        let arena = match arena.get(..u32::MAX as usize) {
            Some(first) => first,
            None => arena,
        };
        Half { slots, arena, used: Apart(AtomicU64::new(0)) }
    }

    /// `None` if there is no room.
    #[inline]
    fn lookup_or_insert(&self, hash: u64, key: &[u64], ids: &AtomicU64) -> Option<Lookup<'_>> {
        let mut mine = None;
        for probe in 0..PROBES.min(self.slots.len()) {
            let index = (hash as usize).wrapping_add(probe) & (self.slots.len() - 1);
            let slot = self.slots.get(index)?;
            let mut seen = slot.load(Ordering::Acquire);
            if seen == 0 {
                let place = match mine {
                    Some(place) => place,
                    None => *mine.insert(self.write(key, ids)?),
                };
                let filled = tag(hash) | (place + 1);
                match slot.compare_exchange(0, filled, Ordering::Release, Ordering::Acquire) {
                    Ok(_) => return self.entry(place).map(Lookup::New),
                    Err(other) => seen = other,
                }
            }
            if tag(seen) == tag(hash) {
                let place = (seen & 0xFFFF_FFFF) - 1;
                if self.has_key(place, key) {
                    return self.entry(place).map(Lookup::Found);
                }
            }
        }
        None
    }

    /// Writes a new entry, not yet published; returns its place.
    #[cold]
    fn write(&self, key: &[u64], ids: &AtomicU64) -> Option<u64> {
        let words = (HEAD + key.len()) as u64;
        let size = self.arena.len() as u64;
        if key.is_empty() || self.used.0.load(Ordering::Relaxed).saturating_add(words) > size {
            return None;
        }
        let place = self.used.0.fetch_add(words, Ordering::Relaxed);
        let room = self.arena.get(place as usize..place.saturating_add(words) as usize)?;
        let (head, body) = room.split_at_checked(HEAD)?;
        let id = ids.fetch_add(1, Ordering::Relaxed);
        for (word, value) in head.iter().zip([id, 0, key.len() as u64]) {
            word.store(value, Ordering::Relaxed);
        }
        for (word, value) in body.iter().zip(key) {
            word.store(*value, Ordering::Relaxed);
        }
        Some(place)
    }

    #[inline]
    fn entry(&self, place: u64) -> Option<Entry<'_>> {
        let place = place as usize;
        Some(Entry { id: self.arena.get(place)?.load(Ordering::Relaxed), user: self.arena.get(place + 1)? })
    }

    #[inline]
    fn has_key(&self, place: u64, key: &[u64]) -> bool {
        let place = place as usize;
        let Some(len) = self.arena.get(place + 2) else {
            return false;
        };
        if len.load(Ordering::Relaxed) != key.len() as u64 {
            return false;
        }
        let start = place + HEAD;
        self.arena.get(start..start + key.len()).is_some_and(|words| same(words, key))
    }

    /// Empties the half; nobody else can see it.
    fn wipe(&self, wipe: Option<Wipe>) {
        match wipe {
            Some(wipe) => [self.slots, self.arena].into_iter().for_each(wipe),
            // What the arena holds is written over before anybody looks at it.
            None => self.slots.iter().for_each(|slot| slot.store(0, Ordering::Relaxed)),
        }
        self.used.0.store(0, Ordering::Relaxed);
    }
}

/// Compares four words at a time: atomic loads keep the compiler from doing so
/// itself, and tags agree almost only where the whole key does.
#[inline]
fn same(words: &[AtomicU64], key: &[u64]) -> bool {
    let differ = |word: &AtomicU64, value: &u64| word.load(Ordering::Relaxed) ^ value;
    let (word_blocks, key_blocks) = (words.chunks_exact(4), key.chunks_exact(4));
    let mut rest = word_blocks.remainder().iter().zip(key_blocks.remainder());
    word_blocks.zip(key_blocks).all(|block| match block {
        ([w0, w1, w2, w3], [k0, k1, k2, k3]) => differ(w0, k0) | differ(w1, k1) | differ(w2, k2) | differ(w3, k3) == 0,
        _ => false,
    }) && rest.all(|(word, value)| differ(word, value) == 0)
}

/// The part of a hash that is kept in the slot.
#[inline]
fn tag(hash: u64) -> u64 {
    hash & 0xFFFF_FFFF_0000_0000
}

/// The hash of a key: each pair of words is multiplied (64 x 64 bits) and
/// folded onto itself, in four lanes that do not wait for each other.
#[inline]
pub fn hash(key: &[u64]) -> u64 {
    const SECRETS: [u64; 4] =
        [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3];
    let [a, b, c, d] = SECRETS;
    // No lane begins as the secret it meets at the end: that would be a factor 0.
    let mut lanes = [b ^ key.len() as u64, c, d, a];
    let mut blocks = key.chunks_exact(8);
    for block in blocks.by_ref() {
        if let [w0, w1, w2, w3, w4, w5, w6, w7] = block {
            let [l0, l1, l2, l3] = lanes;
            lanes = [fold(w0 ^ a, w1 ^ l0), fold(w2 ^ b, w3 ^ l1), fold(w4 ^ c, w5 ^ l2), fold(w6 ^ d, w7 ^ l3)];
        }
    }
    let [mut l0, l1, l2, l3] = lanes;
    for word in blocks.remainder() {
        l0 = fold(word ^ a, l0 ^ b);
    }
    // Twice, so that the low bits (the slot) depend on everything.
    fold(fold(l0 ^ a, l1 ^ b) ^ c, fold(l2 ^ c, l3 ^ d) ^ d)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    (product >> 64) as u64 ^ product as u64
}
