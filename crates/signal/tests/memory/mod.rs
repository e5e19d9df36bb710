//! Memory for tests.

use headway_signal::{AtomicU64, Region};

/// A region on the heap that is never given back.
pub fn region(words: usize) -> Region {
    let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    Box::leak(words.into_boxed_slice())
}
