//! What an application thread does for each event, after the walk: finding its
//! chain, and appending a record.

use crate::{measured, Done};
use headway_signal::{AtomicU64, ChainSet, Lookup, Pool, Region, ThreadBuffer};
use std::hint::black_box;

const CALLS: usize = 50_000;
const CHAINS: u64 = 1_000;
const CHAIN_WORDS: u64 = 40;
const RECORD_WORDS: usize = 6;

fn region(words: usize) -> Region {
    let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    Box::leak(words.into_boxed_slice())
}

/// Records of six words into a thread's buffer.
pub fn append() -> Done {
    let pool = Pool::new(region(16 << 20 >> 3), 1);
    let buffer = ThreadBuffer::new();
    let record = vec![7u64 << 16; RECORD_WORDS];
    measured(&mut || {
        for _ in 0..CALLS {
            let _ = black_box(buffer.append(&pool, black_box(&record)));
        }
    });
    assert_eq!(buffer.take_refusals().total(), 0, "records were refused: this measures refusing");
    Done { operations: CALLS as u64, bytes: 0 }
}

/// Known chains of forty words.
pub fn look_up() -> Done {
    let set = ChainSet::new(region(1 << 22));
    let word = |chain: u64, word: u64| 0x7f00_0000_0000 + chain * 977 + word * 64;
    let keys: Vec<Vec<u64>> = (0..CHAINS).map(|k| (0..CHAIN_WORDS).map(|w| word(k, w)).collect()).collect();
    for key in &keys {
        assert!(matches!(set.enter(0).lookup_or_insert(key), Lookup::New(_)));
    }
    measured(&mut || {
        for key in keys.iter().cycle().take(CALLS) {
            let _ = black_box(set.enter(0).lookup_or_insert(black_box(key)));
        }
    });
    Done { operations: CALLS as u64, bytes: 0 }
}
