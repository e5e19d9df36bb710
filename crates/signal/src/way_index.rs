//! Other ways to a place than its own key: from a thread's id, or from an address on its
//! stack, to the place of its slot.
//!
//! # Protocol
//!
//! Each way is one word: what is looked up (the way) and the place. A way can lead to several
//! places, and a place can have several ways.
//!
//! * `add` and `remove` are called under a lock of the caller's, so there is one writer.
//! * Any thread looks up, without waiting: it reads at most [`PROBES`] words, from where the
//!   way's search begins up to the first empty word.
//! * A word is stored with release and read with acquire: who finds a way finds what was
//!   written before it was added.
//! * A removed word stays as [`REMOVED`], so that searches go on behind it. It becomes empty
//!   only where the word behind it is empty: then no search that passes it finds anything later.
//!   The last words of a row are therefore emptied from its end towards its front. A search
//!   wraps around, and so does this.
//! * What is found may be older than a change: the caller looks whether the place still has what
//!   it searched for.
//! * A way without room is not added: `is_whole` is false until it is removed again, and the
//!   caller, who finds nothing, has to search otherwise.

use crate::region::Region;
use crate::sync::{AtomicU64, Ordering};

/// Most words read to find a way.
const PROBES: usize = if cfg!(loom) { 4 } else { 64 };

const EMPTY: u64 = 0;
const REMOVED: u64 = u64::MAX;

/// Bits of a place in a word, which has its number plus 1.
const PLACE_BITS: u32 = 14;

/// See the file's head.
pub struct WayIndex {
    words: Region,
    without_room: AtomicU64,
}

impl WayIndex {
    /// Most places there can be.
    pub const MAX_PLACES: usize = (1 << PLACE_BITS) - 2;
    /// Bits of a way.
    pub const WAY_BITS: u32 = u64::BITS - PLACE_BITS;

    /// An index in `region`, all of it zero, with room for as many ways as words; it works best
    /// at most half full.
    pub fn new(region: Region) -> WayIndex {
        WayIndex { words: region, without_room: AtomicU64::new(0) }
    }

    /// The words among which a way is, from where its search begins.
    fn probe(&self, way: u64) -> impl Iterator<Item = (usize, &AtomicU64)> {
        let from = way.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
        (0..PROBES.min(self.words.len())).filter_map(move |step| {
            let at = (from as usize).wrapping_add(step) % self.words.len();
            Some((at, self.words.get(at)?))
        })
    }

    fn word(way: u64, place: usize) -> u64 {
        way << PLACE_BITS | (place as u64 + 1)
    }

    /// Adds a way to a place, once. Not for several callers at a time.
    pub fn add(&self, way: u64, place: usize) {
        let word = Self::word(way, place);
        let mut free = None;
        for (_, found) in self.probe(way) {
            match found.load(Ordering::Relaxed) {
                same if same == word => return,
                EMPTY => {
                    free = free.or(Some(found));
                    break;
                }
                REMOVED => free = free.or(Some(found)),
                _ => {}
            }
        }
        match free {
            Some(free) => free.store(word, Ordering::Release),
            None => self.without_room.store(self.without_room.load(Ordering::Relaxed) + 1, Ordering::Release),
        }
    }

    /// Removes a way that was added. Not for several callers at a time.
    pub fn remove(&self, way: u64, place: usize) {
        let word = Self::word(way, place);
        let mut in_use = self.probe(way).take_while(|(_, found)| found.load(Ordering::Relaxed) != EMPTY);
        let Some((at, found)) = in_use.find(|(_, found)| found.load(Ordering::Relaxed) == word) else {
            let others = self.without_room.load(Ordering::Relaxed).saturating_sub(1);
            self.without_room.store(others, Ordering::Release);
            return;
        };
        found.store(REMOVED, Ordering::Relaxed);
        self.empty_before(at + 1);
    }

    /// Empties the removed words before an empty one, at most [`PROBES`] of them.
    fn empty_before(&self, end: usize) {
        let count = self.words.len();
        if self.words.get(end % count).is_none_or(|word| word.load(Ordering::Relaxed) != EMPTY) {
            return;
        }
        for back in 1..=PROBES.min(count) {
            let Some(word) = self.words.get((end + count - back) % count) else { return };
            if word.load(Ordering::Relaxed) != REMOVED {
                return;
            }
            word.store(EMPTY, Ordering::Relaxed);
        }
    }

    /// The places to which a way leads, or led a moment ago.
    #[inline]
    pub fn places(&self, way: u64) -> impl Iterator<Item = usize> + '_ {
        let words = self.probe(way).map(|(_, word)| word.load(Ordering::Acquire));
        let words = words.take_while(|word| *word != EMPTY);
        words.filter_map(move |word| {
            let place = word & ((1 << PLACE_BITS) - 1);
            (word >> PLACE_BITS == way && word != REMOVED).then(|| (place as usize).saturating_sub(1))
        })
    }

    /// False if some way had no room.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.without_room.load(Ordering::Acquire) == 0
    }
}
