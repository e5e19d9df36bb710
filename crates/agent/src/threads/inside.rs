//! Marks that a thread is inside a hook.

use super::Slot;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Marks a slot as being inside an event, from before the event's time is
/// taken until it is in the buffer, so that the collector can say up to which
/// time everything has been collected.
pub struct InEvent<'a>(&'a Slot);

impl<'a> InEvent<'a> {
    /// Begins. `epoch` is the collector's last published time: a lower bound
    /// of any time taken after this call. The fence orders the mark before
    /// the clock, as the collector publishes the epoch before it reads marks.
    #[inline]
    pub fn begin(slot: &'a Slot, epoch: &AtomicU64) -> InEvent<'a> {
        slot.busy_since.store(epoch.load(Ordering::Relaxed).max(1), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        slot.timed.begin();
        InEvent(slot)
    }

    /// What follows, up to [`Self::resume`], is the VM's work and no cost of the agent.
    #[inline]
    pub fn pause(&self) {
        self.0.timed.pause();
    }

    /// See [`Self::pause`].
    #[inline]
    pub fn resume(&self) {
        self.0.timed.resume();
    }
}

impl Drop for InEvent<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.timed.end();
        self.0.busy_since.store(0, Ordering::Release);
    }
}

/// A call of a hook that records nothing: what it costs is measured as of one inside an event, but
/// nobody who collects events need wait for it.
pub struct InCall<'a>(&'a Slot);

impl<'a> InCall<'a> {
    /// Begins.
    #[inline]
    pub fn begin(slot: &'a Slot) -> InCall<'a> {
        slot.timed.begin();
        InCall(slot)
    }
}

impl Drop for InCall<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.timed.end();
    }
}
