//! How far a file was read, for whoever waits for it.

use super::Reader;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// How far [`Reader::read_ahead`] has come. Copies show the same.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    read: Arc<AtomicU64>,
    len: u64,
}

impl Progress {
    pub(super) fn new(len: u64) -> Progress {
        Progress { read: Arc::default(), len }
    }

    /// Bytes of the file whose events were read. It only says how far, and orders nothing else.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes of the whole file.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for a file without content.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Reader {
    /// Shows how far the file is read by [`Reader::read_ahead`].
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Notes how far the file was read: of a packed chunk the part of its bytes that its events are.
    pub(super) fn note_progress(&self) {
        let (begin, end) = self.span;
        let (read, len) = self.chunk.as_ref().map_or((1, 1), |chunk| chunk.progress());
        let part = u128::from(end.saturating_sub(begin)) * u128::from(read) / u128::from(len.max(1));
        self.progress.read.store((begin + part as u64).min(self.progress.len), Ordering::Relaxed);
    }
}
