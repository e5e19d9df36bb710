//! What a thread is blocked on right now, readable by the collector.
//!
//! # Protocol (a sequence lock)
//!
//! * Only the owner thread writes (`begin`, `end`), and it never waits: it makes
//!   `version` odd, writes, makes it even again. A write that interrupts another
//!   write of the same thread (a signal handler) finds `version` odd and is
//!   refused.
//! * Any thread reads. A read is good if `version` was even and the same before
//!   and after; it tries a fixed number of times, then gives up for this time.
//! * Orderings: the fence after the odd store keeps the data stores behind it;
//!   the even store releases them. A reader's first load acquires; its fence
//!   keeps the data loads before the second load of `version`.
//!
//! All-zero memory is a cell of a thread that is not blocked.

use crate::sync::{const_fn, fence, AtomicU64, Ordering};

/// What a thread is blocked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Blocked {
    /// When the contention began, on the recording's clock.
    pub start_ns: u64,
    /// The lock's id.
    pub lock: u64,
    /// The id of the contender's call chain.
    pub chain: u64,
    /// What kind of contention, never 0; the caller's numbering.
    pub kind: u64,
}

/// See the file's head.
#[derive(Default)]
pub struct BlockedCell {
    version: AtomicU64,
    start_ns: AtomicU64,
    lock: AtomicU64,
    chain: AtomicU64,
    /// 0: not blocked.
    kind: AtomicU64,
}

/// A reader's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The thread is not blocked.
    Running,
    /// The thread is blocked.
    Blocked(Blocked),
    /// The owner wrote during every try; look again later.
    Torn,
}

/// How often a reader tries before it says [`Reading::Torn`].
const READ_TRIES: usize = if cfg!(loom) { 1 } else { 16 };

impl BlockedCell {
    const_fn! {
        /// A cell of a thread that is not blocked.
        pub fn new() -> BlockedCell {
            BlockedCell {
                version: AtomicU64::new(0),
                start_ns: AtomicU64::new(0),
                lock: AtomicU64::new(0),
                chain: AtomicU64::new(0),
                kind: AtomicU64::new(0),
            }
        }
    }

    /// The owner is about to block. False if it was already writing (this is a
    /// signal handler on top of it); nothing changed then.
    #[inline]
    pub fn begin(&self, blocked: Blocked) -> bool {
        self.write(blocked)
    }

    /// The owner is no longer blocked. False as for [`Self::begin`].
    #[inline]
    pub fn end(&self) -> bool {
        self.write(Blocked::default())
    }

    #[inline]
    fn write(&self, new: Blocked) -> bool {
        let version = self.version.load(Ordering::Relaxed);
        if version & 1 != 0 {
            return false;
        }
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.start_ns.store(new.start_ns, Ordering::Relaxed);
        self.lock.store(new.lock, Ordering::Relaxed);
        self.chain.store(new.chain, Ordering::Relaxed);
        self.kind.store(new.kind, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
        true
    }

    /// What the owner is blocked on, by any thread.
    pub fn read(&self) -> Reading {
        for _ in 0..READ_TRIES {
            let before = self.version.load(Ordering::Acquire);
            let seen = Blocked {
                start_ns: self.start_ns.load(Ordering::Relaxed),
                lock: self.lock.load(Ordering::Relaxed),
                chain: self.chain.load(Ordering::Relaxed),
                kind: self.kind.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if before & 1 == 0 && self.version.load(Ordering::Relaxed) == before {
                return match seen.kind {
                    0 => Reading::Running,
                    _ => Reading::Blocked(seen),
                };
            }
        }
        Reading::Torn
    }
}
