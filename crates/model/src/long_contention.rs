//! Who owns a lock for which a thread has been blocked for long.

use crate::id::{ChainId, LockId, ThreadId};
use crate::time::TimeNs;

/// See [`Event::LongContention`](crate::Event::LongContention). Comes once for a contention that lasts for a second, and again at the end of the
/// recording if it still lasts then. Not of virtual threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LongContention {
    /// When the owner was looked for.
    pub time: TimeNs,
    /// When the contention began.
    pub start: TimeNs,
    /// The thread that is blocked.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// The call chain of the thread that is blocked, `NONE` if not known.
    pub chain: ChainId,
    /// The owner at `time`; `NONE` if not known.
    pub owner: ThreadId,
    /// True if it began before the recording; `start` is when it was found then.
    pub is_older: bool,
}
