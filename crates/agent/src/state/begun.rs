//! What a thread began and has not ended.

use headway_model::{ChainId, LockId, Seq, TimeNs};
use std::sync::atomic::{AtomicU64, Ordering};

/// Set in the start of a [`Pending`] whose begin the draining thread recorded.
const REPORTED: u64 = 1 << 63;

/// Which frame of a chain holds the lock that a wait releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerFrame {
    /// Index into the chain.
    pub frame: u16,
    /// True where more than one frame could be it.
    pub approximate: bool,
}

impl OwnerFrame {
    /// Any frame could be it; the leaf is named.
    pub const UNKNOWN: OwnerFrame = OwnerFrame { frame: 0, approximate: true };
}

/// Something that began and has not ended: where and when.
#[derive(Default)]
pub struct Pending {
    start: AtomicU64,
    lock: AtomicU64,
    chain: AtomicU64,
    seq: AtomicU64,
    pin: AtomicU64,
    argument: AtomicU64,
}

/// The values of a [`Pending`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// When it began.
    pub start: TimeNs,
    /// The lock.
    pub lock: LockId,
    /// The call chain.
    pub chain: ChainId,
    /// Number of the begin in the lock's order.
    pub seq: Seq,
    /// Pin on the monitor's address, 0 if there is none.
    pub pin: u64,
    /// A wait: its timeout in ns. A re-acquisition: who notified the waiter.
    pub argument: u64,
    /// A virtual thread's wait: the frame that holds the lock.
    pub owner_frame: OwnerFrame,
    /// True once the draining thread recorded the begin.
    pub is_reported: bool,
}

impl Pending {
    /// Remembers the begin.
    #[inline]
    pub fn begin(&self, begun: Begun) {
        self.lock.store(begun.lock.0, Ordering::Relaxed);
        self.chain.store(begun.chain.0, Ordering::Relaxed);
        self.seq.store(begun.seq.0, Ordering::Relaxed);
        self.pin.store(begun.pin, Ordering::Relaxed);
        self.argument.store(begun.argument, Ordering::Relaxed);
        self.start.store(begun.start.0, Ordering::Release);
    }

    /// What began, without ending it.
    #[inline]
    pub fn peek(&self) -> Option<Begun> {
        let start = self.start.load(Ordering::Acquire);
        (start != 0).then(|| Begun {
            start: TimeNs(start & !REPORTED),
            lock: LockId(self.lock.load(Ordering::Relaxed)),
            chain: ChainId(self.chain.load(Ordering::Relaxed)),
            seq: Seq(self.seq.load(Ordering::Relaxed)),
            pin: self.pin.load(Ordering::Relaxed),
            argument: self.argument.load(Ordering::Relaxed),
            owner_frame: OwnerFrame::default(),
            is_reported: start & REPORTED != 0,
        })
    }

    /// True if its lock is not known: it began before the recording.
    #[inline]
    pub fn is_without_lock(&self) -> bool {
        self.lock.load(Ordering::Relaxed) == LockId::NONE.0
    }

    /// Ends it.
    #[inline]
    pub fn end(&self) -> Option<Begun> {
        let begun = self.peek();
        self.start.store(0, Ordering::Release);
        begun
    }

    /// Ends it where the draining thread may record the begin at the same time.
    #[inline]
    pub fn finish(&self) -> Option<Begun> {
        let begun = self.peek()?;
        let start = self.start.swap(0, Ordering::AcqRel);
        Some(Begun { is_reported: start & REPORTED != 0, ..begun })
    }

    /// What began before a moment and goes on, once: the draining thread records it.
    /// If the exchange succeeds, what was read before belongs to this begin.
    pub fn report(&self, before: TimeNs) -> Option<Begun> {
        let begun = self.peek().filter(|begun| begun.start < before)?;
        let (unreported, reported) = (begun.start.0, begun.start.0 | REPORTED);
        self.start.compare_exchange(unreported, reported, Ordering::AcqRel, Ordering::Relaxed).is_ok().then_some(begun)
    }
}
