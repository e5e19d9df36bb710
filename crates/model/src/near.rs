//! Maps by id in which neighbouring ids are neighbours in memory.
//!
//! Ids are handed out one after the other, and what is new is looked up next. A hash
//! that scatters them costs two cache misses for each, once a map is larger than the
//! caches. Here 16 ids in a row stay together; the rows are scattered.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by id. Only for ids, which hash as one word.
pub type NearMap<K, V> = HashMap<K, V, BuildHasherDefault<NearHasher>>;

/// Ids in a row: as many as a map looks at together.
const ROW: u64 = 16;
/// An odd number without a pattern (the golden ratio's digits).
const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct NearHasher(u64);

impl Hasher for NearHasher {
    #[inline]
    fn write_u64(&mut self, id: u64) {
        let (row, place) = (id / ROW, id % ROW);
        // Twice, so that rows at regular distances are spread, too.
        let scattered = row.wrapping_mul(SCATTER);
        let scattered = (scattered ^ scattered >> 32).wrapping_mul(SCATTER);
        // The low bits choose the place, the high ones distinguish those of a row.
        let row = (scattered ^ scattered >> 32) & !(ROW - 1);
        self.0 = (row | place) ^ place << 60;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 ^ u64::from(*byte));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockId;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    fn hash(id: u64) -> u64 {
        BuildHasherDefault::<NearHasher>::default().hash_one(LockId(id))
    }

    #[test]
    fn neighbours_stay_together_and_have_different_tags() {
        for row in [0, 1, 7_000, 1 << 40] {
            let hashes: Vec<u64> = (16 * row..16 * row + 16).map(hash).collect();
            let low = |hash: u64| hash & 0xFFFF_FFFF;
            assert!(hashes.windows(2).all(|pair| low(pair[1]) == low(pair[0]) + 1), "{hashes:x?}");
            let tags: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
            assert!(tags.len() >= 8, "{tags:?}");
        }
    }

    #[test]
    fn ids_at_regular_distances_are_spread() {
        for distance in [1, 8, 16, 64, 4096, 1 << 22, 1 << 32] {
            let rows: HashSet<u64> = (1..=4096).map(|i| hash(i * distance) >> 4 & 0xFFF).collect();
            let wanted = if distance < 16 { 4096 * distance as usize / 16 / 2 } else { 2048 };
            assert!(rows.len() >= wanted, "{} of 4096 at a distance of {distance}", rows.len());
        }
    }
}
