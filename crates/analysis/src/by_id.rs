//! Maps by ids of threads and locks, which are small numbers mostly.
//!
//! Every event asks for its thread and its lock a dozen times. Up to [`SMALL`]
//! that is an index; beyond, and for ids that are no count (threads without a
//! Java identity), a hash.

use headway_model::near::NearMap;
use headway_model::{LockId, ThreadId};
use std::hash::Hash;

/// Ids below this are looked up without a hash.
const SMALL: u64 = 1 << 16;
/// Stands for no place.
const NOWHERE: u32 = u32::MAX;

/// An id that is a number.
pub(crate) trait Id: Copy + Eq + Hash {
    fn number(self) -> u64;
}

impl Id for ThreadId {
    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}

impl Id for LockId {
    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}

/// Places in a list, by id.
#[derive(Clone, Debug)]
pub(crate) struct Places<K> {
    small: Vec<u32>,
    large: NearMap<K, u32>,
}

impl<K> Default for Places<K> {
    fn default() -> Places<K> {
        Places { small: Vec::new(), large: NearMap::default() }
    }
}

impl<K: Id> Places<K> {
    /// The place of an id.
    #[inline]
    pub fn get(&self, key: K) -> Option<u32> {
        match key.number() {
            small @ ..SMALL => self.small.get(small as usize).copied().filter(|place| *place != NOWHERE),
            _ => self.large.get(&key).copied(),
        }
    }

    /// Sets the place of an id.
    pub fn insert(&mut self, key: K, place: u32) {
        let number = key.number();
        if number >= SMALL {
            self.large.insert(key, place);
            return;
        }
        let at = number as usize;
        if self.small.len() <= at {
            self.small.resize(at + 1, NOWHERE);
        }
        if let Some(known) = self.small.get_mut(at) {
            *known = place;
        }
    }

    /// Forgets an id.
    pub fn remove(&mut self, key: K) {
        match key.number() {
            small @ ..SMALL => {
                if let Some(known) = self.small.get_mut(small as usize) {
                    *known = NOWHERE;
                }
            }
            _ => {
                self.large.remove(&key);
            }
        }
    }

    /// Forgets all; the ids' places are now those in this list.
    pub fn renew(&mut self, keys: impl Iterator<Item = K>) {
        self.small.clear();
        self.large.clear();
        for (place, key) in (0..).zip(keys) {
            self.insert(key, place);
        }
    }
}

/// A map by ids. Goes through its entries in the order in which they came, as
/// long as none is removed.
#[derive(Clone, Debug)]
pub(crate) struct ById<K, V> {
    places: Places<K>,
    entries: Vec<(K, V)>,
}

impl<K, V> Default for ById<K, V> {
    fn default() -> ById<K, V> {
        ById { places: Places::default(), entries: Vec::new() }
    }
}

impl<K: Id, V> ById<K, V> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The value of an id.
    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        let place = self.places.get(key)?;
        self.entries.get(place as usize).map(|(_, value)| value)
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let place = self.places.get(key)?;
        self.entries.get_mut(place as usize).map(|(_, value)| value)
    }

    /// The value of an id, made if there is none; `None` if there is none and
    /// so many are kept already.
    #[inline]
    pub fn get_or_add(&mut self, key: K, most: usize, value: impl FnOnce() -> V) -> Option<&mut V> {
        let place = match self.places.get(key) {
            Some(place) => place,
            None if self.entries.len() >= most => return None,
            None => {
                let place = self.entries.len() as u32;
                self.places.insert(key, place);
                self.entries.push((key, value()));
                place
            }
        };
        self.entries.get_mut(place as usize).map(|(_, value)| value)
    }

    /// Keeps what `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut V) -> bool) {
        let before = self.entries.len();
        self.entries.retain_mut(|(key, value)| keep(*key, value));
        if self.entries.len() < before {
            self.places.renew(self.entries.iter().map(|(key, _)| *key));
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.places.renew(std::iter::empty());
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [u64; 6] = [0, 7, SMALL - 1, SMALL, ThreadId::NATIVE | 9, u64::MAX];

    #[test]
    fn ids_of_any_size_are_found_and_others_are_not() {
        let mut map = ById::default();
        for key in KEYS {
            assert_eq!(map.get_or_add(ThreadId(key), 6, || key ^ 1), Some(&mut (key ^ 1)));
        }
        assert_eq!(map.get_or_add(ThreadId(8), 6, || 8), None, "there is no room");
        assert_eq!(map.get_or_add(ThreadId(7), 6, || 9), Some(&mut 6), "it is there already");
        assert_eq!([1, 6, SMALL - 2, SMALL + 1].map(|key| map.get(ThreadId(key))), [None; 4]);
        assert_eq!(map.values().copied().collect::<Vec<_>>(), KEYS.map(|key| key ^ 1));
    }

    #[test]
    fn what_is_left_is_found_after_others_went() {
        let mut map = ById::default();
        for key in KEYS {
            map.get_or_add(LockId(key), usize::MAX, || key);
        }
        map.retain(|key, _| key.0 % 2 == 1);
        let kept: Vec<u64> = KEYS.into_iter().filter(|key| key % 2 == 1).collect();
        assert_eq!(map.values().copied().collect::<Vec<_>>(), kept);
        assert_eq!(map.get(LockId(0)), None);
        assert!(kept.iter().all(|key| map.get(LockId(*key)) == Some(key)));
        map.clear();
        assert_eq!((map.len(), map.get(LockId(7))), (0, None));
    }
}
