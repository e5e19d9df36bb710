//! The memory of all event buffers: chunks, the free ones, the full ones.
//!
//! # Protocol
//!
//! A chunk is, at any time, in exactly one hand:
//!
//! 1. free, on `free`;
//! 2. the owner's: popped by a thread (`ThreadBuffer`), which appends to it;
//! 3. full, on `full`: pushed by that thread, or taken from an idle one by the
//!    collector;
//! 4. the collector's, which drains it and makes it free again.
//!
//! * Only the collector makes chunks free. Hence a chunk that the collector has
//!   seen in an owner's hand cannot be handed to anybody else before the
//!   collector itself lets it.
//! * `full` is a stack that is only ever taken as a whole (one swap), so pushes
//!   need no tag. Turned over, the taken stack has the chunks of one thread in
//!   the order in which the thread pushed them.
//! * Within a chunk the owner alone writes data and `WRITTEN`; the collector
//!   alone writes `READ` and `GENERATION`. `WRITTEN` is stored with release
//!   after the words it covers and loaded with acquire before they are read, so
//!   the collector sees whole records even while the owner goes on appending.
//! * A chunk is popped only after `free_count` was lowered and found above what is
//!   kept back, so no more are in use than [`Pool::allow`] says, however many
//!   threads ask at once. What is kept back changes between recordings only.
//! * Nobody waits. A push tries again only if another push succeeded meanwhile.
//!
//! Chunks differ in size (8 to 24 KB by default), so that threads
//! that do the same thing at the same pace do not submit at the same moment.
//! What describes a chunk lies apart from its data, so that memory which no
//! thread has used yet is never touched.

use crate::collector::Collector;
use crate::free_list::FreeList;
use crate::region::{self, Region};
use crate::sync::{Apart, AtomicU64, Ordering};

/// How large chunks are, in words.
#[derive(Clone, Copy, Debug)]
pub struct ChunkSizes {
    /// Smallest chunk.
    pub min_words: u32,
    /// Largest chunk.
    pub max_words: u32,
    /// Sizes are multiples of this.
    pub step_words: u32,
}

impl ChunkSizes {
    /// 8 to 24 KB in steps of 512 bytes.
    pub const DEFAULT: ChunkSizes = ChunkSizes { min_words: 1024, max_words: 3072, step_words: 64 };
}

/// The longest record of any pool, in words; a pool with smaller chunks takes
/// only what fits its smallest.
pub const MAX_RECORD_WORDS: usize = if cfg!(loom) { 16 } else { 1024 };

/// The part of a record's first word that holds its length in words.
pub const LENGTH_MASK: u64 = 0xFFFF;

/// See the file's head.
pub struct Pool {
    free: Apart<FreeList>,
    /// Index + 1 of the chunk pushed last, 0 if none.
    full: Apart<AtomicU64>,
    /// How many chunks are on `free`; lower by those in between.
    free_count: Apart<AtomicU64>,
    /// How many free chunks are kept back.
    kept_back: core::sync::atomic::AtomicU64,
    /// 1 while a [`Collector`] exists.
    pub(crate) collecting: AtomicU64,
    chunk_count: u32,
    max_record: usize,
    table: Region,
    data: Region,
}

/// Words that describe a chunk.
#[derive(Clone, Copy)]
pub(crate) enum Field {
    /// Link of `free` or `full`, by hand.
    Next = 0,
    /// First word of the data << 32 | words.
    Extent = 1,
    /// Whose events these are; the owner's choice.
    Tag = 2,
    /// The owner's chunk before this one: index + 1 | low generation << 32.
    Previous = 3,
    /// Goes up whenever the collector makes the chunk free.
    Generation = 4,
    /// Words that the owner has written.
    Written = 5,
    /// Words that the collector has read.
    Read = 6,
}

/// Words per chunk in the table: a cache line.
const FIELDS: usize = 8;

impl Pool {
    /// A pool over `region`, with chunks of 8 to 24 KB. `seed` varies the
    /// sizes from process to process.
    pub fn new(region: Region, seed: u64) -> Pool {
        Pool::with_sizes(region, seed, ChunkSizes::DEFAULT)
    }

    /// A pool with other chunk sizes. A region too small for one chunk makes
    /// an empty pool, in which every append is refused.
    pub fn with_sizes(region: Region, seed: u64, sizes: ChunkSizes) -> Pool {
        let min = (sizes.min_words as usize).clamp(2, LENGTH_MASK as usize);
        let sizes = ChunkSizes {
            min_words: min as u32,
            max_words: sizes.max_words.max(min as u32),
            step_words: sizes.step_words.max(1),
        };
        // Offsets are kept in 32 bits.
        let words = region.len().min(u32::MAX as usize);
        let most = words / (min + FIELDS);
        let (table, data) = region::split(region, most * FIELDS).unwrap_or((region, &[]));
        let mut pool = Pool {
            free: Apart(FreeList::default()),
            full: Apart(AtomicU64::new(0)),
            free_count: Apart(AtomicU64::new(0)),
            kept_back: core::sync::atomic::AtomicU64::new(0),
            collecting: AtomicU64::new(0),
            chunk_count: 0,
            max_record: min.min(MAX_RECORD_WORDS),
            table,
            data,
        };
        pool.chunk_count = pool.carve(words - most * FIELDS, seed, sizes);
        for chunk in (0..pool.chunk_count).rev() {
            pool.put_free(chunk);
        }
        pool
    }

    /// Cuts the data into chunks and returns how many.
    fn carve(&self, words: usize, seed: u64, sizes: ChunkSizes) -> u32 {
        let mut random = seed;
        let (mut offset, mut count) = (0usize, 0u32);
        loop {
            let rest = words - offset;
            let mut size = sizes.pick(&mut random) as usize;
            if rest < size + sizes.min_words as usize && rest <= sizes.max_words as usize {
                size = rest; // no scrap too small for a chunk is left over
            }
            if size < sizes.min_words as usize || size > rest {
                return count;
            }
            let Some(extent) = self.field(count, Field::Extent) else {
                return count;
            };
            extent.store((offset as u64) << 32 | size as u64, Ordering::Relaxed);
            offset += size;
            count += 1;
        }
    }

    /// The one collector of this pool; `None` while there is another.
    pub fn collector(&self) -> Option<Collector<'_>> {
        (self.collecting.swap(1, Ordering::Acquire) == 0).then(|| Collector::new(self))
    }

    /// How many chunks there are, those that are kept back too.
    pub fn all_chunks(&self) -> u32 {
        self.chunk_count
    }

    /// Lets at most so many chunks be in use at once; all of them at first.
    pub fn allow(&self, chunks: u32) {
        self.kept_back.store(u64::from(self.chunk_count.saturating_sub(chunks)), Ordering::Relaxed);
    }

    /// How many chunks may be in use at once.
    pub fn chunks(&self) -> u32 {
        self.chunk_count.saturating_sub(self.kept_back.load(Ordering::Relaxed) as u32)
    }

    /// How many chunks can be taken; exact only while nobody takes or frees one.
    pub fn free_chunks(&self) -> u32 {
        let count = self.free_count.0.load(Ordering::Relaxed);
        let kept_back = self.kept_back.load(Ordering::Relaxed);
        // Who finds too few has lowered the count for a moment.
        (count as i64).saturating_sub(kept_back as i64).max(0) as u32
    }

    /// True if a full chunk waits for the collector.
    pub fn has_full_chunks(&self) -> bool {
        self.full.0.load(Ordering::Relaxed) != 0
    }

    /// The longest record that can be appended, in words.
    pub fn max_record_words(&self) -> usize {
        self.max_record
    }

    #[inline]
    pub(crate) fn field(&self, chunk: u32, field: Field) -> Option<&AtomicU64> {
        self.table.get(chunk as usize * FIELDS + field as usize)
    }

    /// A word of a chunk's description; 0 for a chunk that does not exist.
    pub(crate) fn load(&self, chunk: u32, field: Field, order: Ordering) -> u64 {
        self.field(chunk, field).map_or(0, |word| word.load(order))
    }

    pub(crate) fn store(&self, chunk: u32, field: Field, value: u64, order: Ordering) {
        if let Some(word) = self.field(chunk, field) {
            word.store(value, order);
        }
    }

    /// First word and length of a chunk's data.
    pub(crate) fn extent(&self, chunk: u32) -> (usize, usize) {
        let extent = self.load(chunk, Field::Extent, Ordering::Relaxed);
        ((extent >> 32) as usize, (extent & 0xFFFF_FFFF) as usize)
    }

    /// Words `start..start + len` of the data; `None` out of range.
    #[inline]
    pub(crate) fn words(&self, start: usize, len: usize) -> Option<&'static [AtomicU64]> {
        self.data.get(start..start.wrapping_add(len))
    }

    /// Takes a free chunk into the calling thread's hand.
    pub(crate) fn take_free(&self) -> Option<u32> {
        let count = self.free_count.0.fetch_sub(1, Ordering::Relaxed) as i64;
        let is_allowed = count > self.kept_back.load(Ordering::Relaxed) as i64;
        let chunk = is_allowed.then(|| self.free.0.pop(|i| self.field(i, Field::Next))).flatten();
        if chunk.is_none() {
            self.free_count.0.fetch_add(1, Ordering::Relaxed);
        }
        chunk
    }

    /// Makes a drained chunk free; collector only.
    pub(crate) fn put_free(&self, chunk: u32) {
        self.free.0.push(chunk, |i| self.field(i, Field::Next));
        self.free_count.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Hands a chunk to the collector.
    pub(crate) fn push_full(&self, chunk: u32) {
        let Some(next) = self.field(chunk, Field::Next) else {
            return;
        };
        let mut top = self.full.0.load(Ordering::Relaxed);
        loop {
            next.store(top, Ordering::Relaxed);
            match self.full.0.compare_exchange_weak(top, u64::from(chunk) + 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes all full chunks, oldest first, as a list through `Next`: index + 1
    /// of the first, 0 if none. Collector only.
    pub(crate) fn take_full(&self) -> u64 {
        let mut top = self.full.0.swap(0, Ordering::Acquire);
        let mut turned = 0;
        while let Some(next) = top.checked_sub(1).and_then(|chunk| self.field(chunk as u32, Field::Next)) {
            let below = next.load(Ordering::Relaxed);
            next.store(turned, Ordering::Relaxed);
            turned = top;
            top = below;
        }
        turned
    }
}

impl ChunkSizes {
    /// A size by chance (splitmix64).
    fn pick(self, random: &mut u64) -> u32 {
        *random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let steps = u64::from((self.max_words - self.min_words) / self.step_words) + 1;
        self.min_words + (z % steps) as u32 * self.step_words
    }
}
