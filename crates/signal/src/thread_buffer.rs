//! A thread's own end of the event buffers.
//!
//! # Protocol
//!
//! `state` says in whose hand the thread's chunk is: 0 nobody's (there is
//! none), `index + 1` at rest, [`BUSY`] while the owner appends.
//!
//! * The owner begins with `swap(BUSY)` and ends with a store. If the swap finds
//!   `BUSY`, this is a signal handler on top of an append of the same thread: it
//!   is refused and counted, and since the swap changed nothing the interrupted
//!   append goes on undisturbed.
//! * The collector takes an idle thread's chunk with one exchange of
//!   `index + 1` for 0. It fails if the owner is appending; it never holds
//!   `state`, so the owner never finds it taken and never has to wait.
//! * `current` is what the collector reads to find the chunk of a thread that
//!   is alive: set (release) after the chunk's description is written, cleared
//!   before the chunk is pushed to the full ones, and by the collector when it
//!   has taken the chunk (one exchange, so that it cannot clear a newer one; the
//!   owner sets it by a swap, so that the two are in one order). What the
//!   collector sees in it may be outdated, never wrong: a chunk becomes free
//!   only by the collector.
//! * Orderings: the swap acquires what the collector's exchange released; the
//!   closing store releases what the owner wrote, so that a collector whose
//!   exchange succeeds sees all of it. `at`, `end` and `last` belong to the
//!   owner alone and are relaxed.
//!
//! All-zero memory is the buffer of a thread that has not appended yet.

use crate::pool::{Field, Pool, LENGTH_MASK};
use crate::sync::{const_fn, AtomicU64, Ordering};
use core::sync::atomic::compiler_fence;

/// Why a record was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The pool's memory is used up.
    Full,
    /// The thread was interrupted while it appended another record.
    Reentered,
    /// The record is empty or longer than the pool allows.
    BadLength,
}

/// What a buffer refused since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refusals {
    /// Because the pool's memory was used up.
    pub full: u64,
    /// Because the thread was already appending.
    pub reentered: u64,
    /// Because of the record's length.
    pub bad_length: u64,
}

impl Refusals {
    /// All of them.
    pub fn total(self) -> u64 {
        self.full + self.reentered + self.bad_length
    }
}

/// The owner appends.
pub(crate) const BUSY: u64 = u64::MAX;

/// See the file's head.
#[derive(Default)]
#[repr(C, align(64))]
pub struct ThreadBuffer {
    pub(crate) state: AtomicU64,
    /// Where in the pool's data the next record goes.
    at: AtomicU64,
    /// Where the chunk ends.
    end: AtomicU64,
    /// The chunk taken last, as [`Field::Previous`] wants it.
    last: AtomicU64,
    /// Written into each chunk taken from now on.
    tag: AtomicU64,
    /// Index + 1 of the chunk in hand, for the collector; 0 if none.
    pub(crate) current: AtomicU64,
    /// Collector only: `Written` of the chunk at its last visit.
    pub(crate) seen: AtomicU64,
    /// Collector only: visits since something new was seen.
    pub(crate) idle_visits: AtomicU64,
    refused_full: AtomicU64,
    refused_reentered: AtomicU64,
    refused_length: AtomicU64,
}

impl ThreadBuffer {
    const_fn! {
        /// The buffer of a thread that has not appended yet; the same as
        /// all-zero memory.
        pub fn new() -> ThreadBuffer {
            ThreadBuffer {
                state: AtomicU64::new(0),
                at: AtomicU64::new(0),
                end: AtomicU64::new(0),
                last: AtomicU64::new(0),
                tag: AtomicU64::new(0),
                current: AtomicU64::new(0),
                seen: AtomicU64::new(0),
                idle_visits: AtomicU64::new(0),
                refused_full: AtomicU64::new(0),
                refused_reentered: AtomicU64::new(0),
                refused_length: AtomicU64::new(0),
            }
        }
    }

    /// Says whose events follow; the collector's sink gets `tag` with each.
    /// Owner only, before the first append and after [`Self::release`].
    pub fn open(&self, tag: u64) {
        self.tag.store(tag, Ordering::Relaxed);
    }

    /// Appends a record. Owner only (also from its signal handlers). The low 16
    /// bits of the first word become the record's length; its other bits and
    /// all other words arrive as they are.
    #[inline]
    pub fn append(&self, pool: &Pool, record: &[u64]) -> Result<(), Refused> {
        let held = self.state.swap(BUSY, Ordering::Acquire);
        if held == BUSY {
            self.refused_reentered.fetch_add(1, Ordering::Relaxed);
            return Err(Refused::Reentered);
        }
        compiler_fence(Ordering::SeqCst);
        let (held, outcome) = self.append_alone(pool, held, record);
        self.state.store(held, Ordering::Release);
        outcome
    }

    #[inline]
    fn append_alone(&self, pool: &Pool, held: u64, record: &[u64]) -> (u64, Result<(), Refused>) {
        let at = self.at.load(Ordering::Relaxed);
        let room = self.end.load(Ordering::Relaxed).wrapping_sub(at);
        if held != 0 && record.len() as u64 <= room {
            if let Some(written) = write(pool, at as usize, record) {
                return (held, self.publish(pool, held, at, written));
            }
        }
        self.append_to_new_chunk(pool, held, record)
    }

    /// Makes the record visible to the collector.
    #[inline]
    fn publish(&self, pool: &Pool, held: u64, at: u64, words: u64) -> Result<(), Refused> {
        let chunk = held.wrapping_sub(1) as u32;
        let Some(written) = pool.field(chunk, Field::Written) else {
            return Err(Refused::Full);
        };
        self.at.store(at.wrapping_add(words), Ordering::Relaxed);
        let so_far = written.load(Ordering::Relaxed);
        written.store(so_far.wrapping_add(words), Ordering::Release);
        Ok(())
    }

    #[cold]
    fn append_to_new_chunk(&self, pool: &Pool, held: u64, record: &[u64]) -> (u64, Result<(), Refused>) {
        if record.is_empty() || record.len() > pool.max_record_words() {
            self.refused_length.fetch_add(1, Ordering::Relaxed);
            return (held, Err(Refused::BadLength));
        }
        self.submit(pool, held);
        let Some(chunk) = self.take_chunk(pool) else {
            self.refused_full.fetch_add(1, Ordering::Relaxed);
            return (0, Err(Refused::Full));
        };
        let held = u64::from(chunk) + 1;
        let at = self.at.load(Ordering::Relaxed);
        match write(pool, at as usize, record) {
            Some(words) => (held, self.publish(pool, held, at, words)),
            None => (held, Err(Refused::BadLength)),
        }
    }

    /// Hands the chunk in hand, if any, to the collector.
    fn submit(&self, pool: &Pool, held: u64) {
        if let Some(chunk) = held.checked_sub(1) {
            self.current.store(0, Ordering::Relaxed);
            pool.push_full(chunk as u32);
        }
    }

    /// Takes a free chunk and describes it.
    fn take_chunk(&self, pool: &Pool) -> Option<u32> {
        let chunk = pool.take_free()?;
        let (start, len) = pool.extent(chunk);
        let generation = pool.load(chunk, Field::Generation, Ordering::Relaxed);
        let previous = self.last.load(Ordering::Relaxed);
        let tag = self.tag.load(Ordering::Relaxed);
        pool.store(chunk, Field::Previous, previous, Ordering::Relaxed);
        pool.store(chunk, Field::Tag, tag, Ordering::Relaxed);
        self.at.store(start as u64, Ordering::Relaxed);
        self.end.store((start + len) as u64, Ordering::Relaxed);
        self.last.store(hand_out(chunk, generation), Ordering::Relaxed);
        self.current.swap(u64::from(chunk) + 1, Ordering::Release);
        Some(chunk)
    }

    /// The thread ends (or stops recording): hands what it holds to the
    /// collector. Owner only; false, with nothing done, from a signal handler
    /// on top of an append. The buffer can be used again, by another thread
    /// too, after another [`Self::open`].
    pub fn release(&self, pool: &Pool) -> bool {
        let held = self.state.swap(BUSY, Ordering::Acquire);
        if held == BUSY {
            return false;
        }
        self.submit(pool, held);
        self.state.store(0, Ordering::Release);
        true
    }

    /// What was refused since the last call; each refusal counts once.
    pub fn take_refusals(&self) -> Refusals {
        Refusals {
            full: self.refused_full.swap(0, Ordering::Relaxed),
            reentered: self.refused_reentered.swap(0, Ordering::Relaxed),
            bad_length: self.refused_length.swap(0, Ordering::Relaxed),
        }
    }
}

/// Names one hand-out of a chunk: the chunk, and how often it had been free.
pub(crate) fn hand_out(chunk: u32, generation: u64) -> u64 {
    (u64::from(chunk) + 1) | generation << 32
}

/// Writes a record's words; returns how many. `None` if it has none, is too
/// long for a length, or the place does not exist; nothing is written then.
#[inline]
fn write(pool: &Pool, at: usize, record: &[u64]) -> Option<u64> {
    let (first, rest) = record.split_first()?;
    let len = record.len() as u64;
    if len > LENGTH_MASK {
        return None;
    }
    let (head, body) = pool.words(at, record.len())?.split_first()?;
    head.store((first & !LENGTH_MASK) | len, Ordering::Relaxed);
    for (word, value) in body.iter().zip(rest) {
        word.store(*value, Ordering::Relaxed);
    }
    Some(len)
}
