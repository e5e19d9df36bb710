//! A stack of free things, by index, without locks.
//!
//! # Protocol
//!
//! `head` holds a tag in its upper and an index + 1 in its lower half; 0 in
//! the lower half is the empty list. Each thing has a link word that belongs to
//! the list while the thing is free.
//!
//! * `push` and `pop` may be called by any thread. A try that fails means that
//!   another thread's try succeeded meanwhile, so somebody always gets on.
//! * A popper reads the link of a thing that another thread may have popped and
//!   even pushed again since. The tag goes up with every pop, so that its
//!   exchange then fails instead of installing a stale link. (It wraps after
//!   2^32 pops, all of which would have to happen between two instructions of
//!   one thread.)
//! * Orderings: a push releases what its thread wrote to the thing, a pop
//!   acquires it. All changes of `head` are read-modify-write operations, so a
//!   release is seen through later pushes and pops of others. The link itself
//!   is only trusted once the exchange has succeeded, hence relaxed.

use crate::sync::{AtomicU64, Ordering};

/// See the file's head.
#[derive(Default)]
pub(crate) struct FreeList {
    head: AtomicU64,
}

const INDEX: u64 = 0xFFFF_FFFF;
const ONE_TAG: u64 = 1 << 32;

impl FreeList {
    /// Puts `index` on top. `link_of` finds the link word of an index.
    pub(crate) fn push<'a>(&self, index: u32, link_of: impl Fn(u32) -> Option<&'a AtomicU64>) {
        let Some(link) = link_of(index) else { return };
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link.store(head & INDEX, Ordering::Relaxed);
            let new = (head & !INDEX) | (u64::from(index) + 1);
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes the top; `None` if the list is empty.
    pub(crate) fn pop<'a>(&self, link_of: impl Fn(u32) -> Option<&'a AtomicU64>) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let index = u32::try_from((head & INDEX).checked_sub(1)?).ok()?;
            let next = link_of(index)?.load(Ordering::Relaxed) & INDEX;
            let new = (head & !INDEX).wrapping_add(ONE_TAG) | next;
            match self.head.compare_exchange_weak(head, new, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(index),
                Err(now) => head = now,
            }
        }
    }
}
