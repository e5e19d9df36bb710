//! Hashing for tables keyed by ids and for the contents of call chains.
//!
//! The ids in a file come from outside, so the hash is seeded per process: a
//! file cannot be made to put all its ids into one bucket.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map keyed by ids.
pub(crate) type IdMap<K, V> = HashMap<K, V, SeededFold>;
/// A set of ids.
pub(crate) type IdSet<K> = HashSet<K, SeededFold>;

/// Keys below this are looked up without a hash.
const SMALL: u64 = 1 << 16;

/// A map from the numbers that a chunk gives its constants. Most makers count
/// them from one, and then a look-up is an index.
#[derive(Debug)]
pub(crate) struct IdTable<V> {
    small: Vec<Option<V>>,
    large: IdMap<u64, V>,
}

impl<V> Default for IdTable<V> {
    fn default() -> IdTable<V> {
        IdTable { small: Vec::new(), large: IdMap::default() }
    }
}

impl<V: Copy> IdTable<V> {
    /// The value of a key.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<V> {
        match key < SMALL {
            true => self.small.get(key as usize).copied().flatten(),
            false => self.large.get(&key).copied(),
        }
    }

    /// Takes a key's value away.
    pub(crate) fn remove(&mut self, key: u64) {
        match key < SMALL {
            true => self.small.get_mut(key as usize).into_iter().for_each(|slot| *slot = None),
            false => drop(self.large.remove(&key)),
        }
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: u64, value: V) {
        if key >= SMALL {
            self.large.insert(key, value);
            return;
        }
        let place = key as usize;
        if self.small.len() <= place {
            self.small.resize(place + 1, None);
        }
        if let Some(slot) = self.small.get_mut(place) {
            *slot = Some(value);
        }
    }
}

/// Ids below this have a bit each in an [`IdFlags`].
const FLAGGED: u64 = 1 << 20;

/// A set of ids. Those that the agent gives are counted from one, and then a
/// look-up is a bit.
#[derive(Debug, Default)]
pub(crate) struct IdFlags {
    small: Vec<u64>,
    large: IdSet<u64>,
}

impl IdFlags {
    /// Adds an id; true if it was not there.
    #[inline]
    pub(crate) fn insert(&mut self, id: u64) -> bool {
        if id >= FLAGGED {
            return self.large.insert(id);
        }
        let place = (id / 64) as usize;
        if self.small.len() <= place {
            self.small.resize(place + 1, 0);
        }
        let flag = 1 << (id % 64);
        let Some(word) = self.small.get_mut(place) else { return false };
        let is_new = *word & flag == 0;
        *word |= flag;
        is_new
    }

    /// Takes an id away.
    pub(crate) fn remove(&mut self, id: u64) {
        match id >= FLAGGED {
            true => drop(self.large.remove(&id)),
            false => self.small.get_mut((id / 64) as usize).into_iter().for_each(|word| *word &= !(1 << (id % 64))),
        }
    }
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Builds hashers that fold a 128-bit product, seeded once per process.
#[derive(Clone, Copy)]
pub(crate) struct SeededFold(u64);

impl Default for SeededFold {
    fn default() -> SeededFold {
        static SEED: OnceLock<u64> = OnceLock::new();
        SeededFold(*SEED.get_or_init(|| RandomState::new().hash_one(MULTIPLIER)))
    }
}

impl BuildHasher for SeededFold {
    type Hasher = Fold;
    fn build_hasher(&self) -> Fold {
        Fold(self.0)
    }
}

/// See [`SeededFold`].
pub(crate) struct Fold(u64);

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for Fold {
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = fold(self.0 ^ value, MULTIPLIER | 1).wrapping_add(self.0);
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        fold(self.0, MULTIPLIER)
    }
}

/// A 128-bit digest of a sequence of words, with a seed of its own. Two
/// different contents get the same digest with probability 2^-100 or so, which
/// is why tables may keep the digest instead of the contents.
pub(crate) struct Digest {
    a: u64,
    b: u64,
}

impl Digest {
    /// Starts a digest; digests compare equal only under the same `seeds`.
    pub(crate) fn new(seeds: (u64, u64)) -> Digest {
        Digest { a: seeds.0, b: seeds.1 }
    }

    /// Seeds from the system's randomness.
    pub(crate) fn seeds() -> (u64, u64) {
        let random = RandomState::new();
        (random.hash_one(1u8), random.hash_one(2u8))
    }

    /// Adds a word.
    #[inline]
    pub(crate) fn word(&mut self, value: u64) {
        self.a = fold(self.a ^ value, MULTIPLIER | 1).wrapping_add(self.b);
        self.b = fold(self.b.wrapping_add(value), 0xd6e8_feb8_6659_fd93).rotate_left(29) ^ self.a;
    }

    /// The digest.
    pub(crate) fn finish(self) -> u128 {
        (u128::from(fold(self.a, 0xd6e8_feb8_6659_fd93)) << 64) | u128::from(fold(self.b, MULTIPLIER))
    }
}

#[cfg(test)]
mod tests {
    use super::{IdFlags, IdTable, FLAGGED, SMALL};

    #[test]
    fn an_id_is_new_once_and_again_when_it_was_taken_away() {
        let mut flags = IdFlags::default();
        for id in [0, 63, 64, FLAGGED - 1, FLAGGED, u64::MAX] {
            assert!(flags.insert(id) && !flags.insert(id), "{id}");
        }
        for id in [64, FLAGGED] {
            flags.remove(id);
            flags.remove(id + 1);
            assert!(flags.insert(id) && !flags.insert(id), "{id}");
        }
        assert!(!flags.insert(63));
    }

    #[test]
    fn small_and_large_keys_are_found_and_others_are_not() {
        let mut table = IdTable::default();
        for key in [0, 7, SMALL - 1, SMALL, u64::MAX] {
            table.insert(key, key ^ 1);
            assert_eq!(table.get(key), Some(key ^ 1));
        }
        assert_eq!([6, SMALL - 2, SMALL + 1].map(|key| table.get(key)), [None; 3]);
        table.insert(7, 9);
        assert_eq!(table.get(7), Some(9));
        for key in [7, SMALL, SMALL + 2, 9] {
            table.remove(key);
            assert_eq!(table.get(key), None);
        }
        assert_eq!(table.get(u64::MAX), Some(u64::MAX ^ 1));
    }
}
