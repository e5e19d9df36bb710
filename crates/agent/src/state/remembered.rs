//! The last objects that a thread blocked or parked on, by address, which is true until
//! a collection moves or frees something.

use crate::heap::Calm;
use std::sync::atomic::{AtomicU64, Ordering};

/// Objects that a thread remembers.
const REMEMBERED: usize = 4;

/// The last blockers of a platform thread, or monitors, by address. Only the thread itself
/// looks at it.
#[derive(Debug, Default)]
pub struct Remembered {
    entries: [Entry; REMEMBERED],
}

#[derive(Debug, Default)]
struct Entry {
    object: AtomicU64,
    calm: AtomicU64,
    lock: AtomicU64,
}

impl Remembered {
    #[inline]
    fn entry(&self, object: u64) -> Option<&Entry> {
        // Objects are aligned to 8 bytes, synchronizers mostly 32 apart.
        self.entries.get((object >> 5 ^ object >> 9) as usize % REMEMBERED)
    }

    /// The lock that an object is, if nothing has moved since it was set.
    #[inline]
    pub fn get(&self, object: u64, calm: Calm) -> Option<u64> {
        let entry = self.entry(object)?;
        let same = entry.object.load(Ordering::Relaxed) == object && entry.calm.load(Ordering::Relaxed) == calm.0;
        same.then(|| entry.lock.load(Ordering::Relaxed))
    }

    /// Remembers which lock an object is.
    pub fn set(&self, object: u64, calm: Calm, lock: u64) {
        if let Some(entry) = self.entry(object) {
            entry.object.store(object, Ordering::Relaxed);
            entry.calm.store(calm.0, Ordering::Relaxed);
            entry.lock.store(lock, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_remembered_until_something_moves() {
        let remembered = Remembered::default();
        // Whoever remembers may mark a lock by its upper bits.
        remembered.set(0x1000, Calm(4), 9 | 1 << 62);
        assert_eq!(remembered.get(0x1000, Calm(4)), Some(9 | 1 << 62));
        assert_eq!(remembered.get(0x1000, Calm(5)), None);
        assert_eq!(remembered.get(0x2008, Calm(4)), None);
    }
}
