//! The collector's end of the event buffers: one background thread.
//!
//! # Protocol
//!
//! There is one collector per pool ([`Pool::collector`]). It waits for nobody
//! and nobody waits for it:
//!
//! * `drain` takes all full chunks at once and reads each to its end.
//! * `visit` reads what a living thread's chunk holds so far. The thread may
//!   append or submit meanwhile: the chunk stays what it is until this same
//!   collector makes it free.
//! * A thread's records keep their order over chunks. Each chunk names the
//!   hand-out of the chunk before it; `visit` reads a chunk only if that one
//!   has been drained, that is, if its generation has moved on. If not, it is
//!   among the full ones (it was pushed before the newer chunk was shown), and
//!   `visit` reads nothing: the thread has filled a chunk since the last `drain`.
//! * So `drain`, `visit` of every thread, `drain` reads all that was appended
//!   before, and at most twice what the pool holds besides one chunk a thread,
//!   however fast the threads append: their chunks of then are drained before,
//!   visited, or full at the second drain.
//! * A chunk of a thread that wrote nothing for some visits is taken back with
//!   one exchange, which fails if the thread is just appending.
//!
//! Orderings: see `pool` and `thread_buffer`; what only the collector touches
//! is relaxed.

use crate::pool::{Field, Pool, LENGTH_MASK, MAX_RECORD_WORDS};
use crate::sync::{AtomicU64, Ordering};
use crate::thread_buffer::{hand_out, ThreadBuffer};

/// Visits without anything new after which a thread's chunk is taken back, if
/// there are chunks enough.
const IDLE_VISITS: u64 = if cfg!(loom) { 1 } else { 8 };

/// How often is drained for the chunk that a thread holds at its end.
const CLOSE_TRIES: usize = 3;

/// See the file's head.
pub struct Collector<'p> {
    pool: &'p Pool,
    record: [u64; MAX_RECORD_WORDS],
    broken: u64,
}

impl<'p> Collector<'p> {
    pub(crate) fn new(pool: &'p Pool) -> Collector<'p> {
        Collector { pool, record: [0; MAX_RECORD_WORDS], broken: 0 }
    }

    /// Gives every record of the full chunks to `sink(tag, record)`; the low 16
    /// bits of a record's first word are its length. Returns how many chunks
    /// there were.
    pub fn drain(&mut self, sink: &mut impl FnMut(u64, &[u64])) -> usize {
        let mut next = self.pool.take_full();
        let mut chunks = 0;
        while let Some(chunk) = next.checked_sub(1).map(|chunk| chunk as u32) {
            next = self.pool.load(chunk, Field::Next, Ordering::Relaxed);
            self.finish(chunk, sink);
            chunks += 1;
        }
        chunks
    }

    /// Gives what a thread has appended so far to `sink`; nothing if it has filled a chunk since the last
    /// [`drain`](Self::drain): the next one has it.
    pub fn visit(&mut self, buffer: &ThreadBuffer, sink: &mut impl FnMut(u64, &[u64])) {
        let current = buffer.current.load(Ordering::Acquire);
        let chunk = current.checked_sub(1).map(|chunk| chunk as u32);
        if let Some(chunk) = chunk.filter(|chunk| self.is_next(*chunk)) {
            let written = self.read(chunk, sink);
            if self.is_idle(buffer, chunk, written) {
                self.take_back(buffer, chunk, sink);
            }
        }
    }

    /// Takes what a thread holds although it has not released it: it is known
    /// to be gone, or the recording ends. False if it is just appending.
    pub fn close(&mut self, buffer: &ThreadBuffer, sink: &mut impl FnMut(u64, &[u64])) -> bool {
        self.drain(sink);
        match self.chunk_of(buffer, sink) {
            Some(chunk) => self.take_back(buffer, chunk, sink),
            None => buffer.current.load(Ordering::Relaxed) == 0,
        }
    }

    /// Chunks whose content made no sense, and whose rest was left out. Always
    /// zero unless somebody writes into memory that is not theirs.
    pub fn broken_chunks(&self) -> u64 {
        self.broken
    }

    /// The chunk in a thread's hand, once all earlier ones are drained. `None`
    /// if it has none, or fills chunks faster than they can be looked at.
    fn chunk_of(&mut self, buffer: &ThreadBuffer, sink: &mut impl FnMut(u64, &[u64])) -> Option<u32> {
        for _ in 0..CLOSE_TRIES {
            let current = buffer.current.load(Ordering::Acquire);
            let chunk = current.checked_sub(1)? as u32;
            if self.is_next(chunk) {
                return Some(chunk);
            }
            self.drain(sink);
        }
        None
    }

    /// True if the chunk that its owner had before this one has been drained.
    fn is_next(&self, chunk: u32) -> bool {
        let previous = self.pool.load(chunk, Field::Previous, Ordering::Relaxed);
        let Some(index) = (previous & 0xFFFF_FFFF).checked_sub(1) else {
            return true;
        };
        let index = index as u32;
        let now = self.pool.load(index, Field::Generation, Ordering::Relaxed);
        hand_out(index, now) != previous
    }

    /// Reads what is new in a chunk; returns its `Written`.
    fn read(&mut self, chunk: u32, sink: &mut impl FnMut(u64, &[u64])) -> u64 {
        let written = self.pool.load(chunk, Field::Written, Ordering::Acquire);
        let tag = self.pool.load(chunk, Field::Tag, Ordering::Relaxed);
        let (start, len) = self.pool.extent(chunk);
        let end = (written as usize).min(len);
        let mut at = self.pool.load(chunk, Field::Read, Ordering::Relaxed) as usize;
        while at < end {
            match self.copy_record(start + at, end - at) {
                Some(record) => {
                    at += record.len();
                    sink(tag, record);
                }
                None => {
                    at = end;
                    self.broken += 1;
                }
            }
        }
        self.pool.store(chunk, Field::Read, at as u64, Ordering::Relaxed);
        written
    }

    /// Copies the record at `start` out of the pool. `None` if its length does
    /// not fit the `most` words that are there.
    fn copy_record(&mut self, start: usize, most: usize) -> Option<&[u64]> {
        let first = self.pool.words(start, 1)?.first()?;
        let len = (first.load(Ordering::Relaxed) & LENGTH_MASK) as usize;
        if len == 0 || len > most {
            return None;
        }
        let words = self.pool.words(start, len)?;
        let record = self.record.get_mut(..len)?;
        for (to, from) in record.iter_mut().zip(words) {
            *to = from.load(Ordering::Relaxed);
        }
        Some(record)
    }

    /// Reads a chunk that is in the collector's hand to its end and frees it.
    fn finish(&mut self, chunk: u32, sink: &mut impl FnMut(u64, &[u64])) {
        self.read(chunk, sink);
        let generation = self.pool.load(chunk, Field::Generation, Ordering::Relaxed);
        let next = generation.wrapping_add(1);
        self.pool.store(chunk, Field::Written, 0, Ordering::Relaxed);
        self.pool.store(chunk, Field::Read, 0, Ordering::Relaxed);
        self.pool.store(chunk, Field::Generation, next, Ordering::Relaxed);
        self.pool.put_free(chunk);
    }

    /// Counts visits without news; true if there were enough of them.
    fn is_idle(&self, buffer: &ThreadBuffer, chunk: u32, written: u64) -> bool {
        let seen = (u64::from(chunk) + 1) << 32 | written;
        if buffer.seen.swap(seen, Ordering::Relaxed) != seen {
            buffer.idle_visits.store(0, Ordering::Relaxed);
            return false;
        }
        let idle = buffer.idle_visits.fetch_add(1, Ordering::Relaxed) + 1;
        let scarce = self.pool.free_chunks() < self.pool.chunks() / 4;
        scarce || idle >= IDLE_VISITS
    }

    /// Takes a chunk out of its owner's hand, drains and frees it. False if the
    /// owner is just appending or has submitted the chunk meanwhile.
    fn take_back(&mut self, buffer: &ThreadBuffer, chunk: u32, sink: &mut impl FnMut(u64, &[u64])) -> bool {
        let held = u64::from(chunk) + 1;
        let taken = exchange(&buffer.state, held, 0);
        if taken {
            // The owner may already have shown its next chunk: then leave that.
            exchange(&buffer.current, held, 0);
            self.finish(chunk, sink);
        }
        taken
    }
}

fn exchange(word: &AtomicU64, from: u64, to: u64) -> bool {
    word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

impl Drop for Collector<'_> {
    fn drop(&mut self) {
        self.pool.collecting.store(0, Ordering::Release);
    }
}
