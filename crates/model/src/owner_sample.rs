//! What a thread does while others wait for what it has or makes.

use crate::event::Sample;
use crate::id::{ChainId, LockId};
use crate::time::DurationNs;

/// See [`Event::OwnerSample`](crate::Event::OwnerSample).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OwnerSample {
    /// The owner's stack; weighted by the time it stands for, once whoever waits.
    pub sample: Sample,
    /// What somebody waits for: a lock, or what others park or wait on.
    pub lock: LockId,
    /// The stack of one of those who wait.
    pub waiter_chain: ChainId,
    /// How many wait for it.
    pub waiters: u32,
}

impl OwnerSample {
    /// Samples are taken only while somebody has waited for longer: what is done in shorter waits is not seen.
    pub const AFTER: DurationNs = DurationNs(4_000_000);
}
