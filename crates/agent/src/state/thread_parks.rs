//! What is kept about the parks of a platform thread.

use super::in_progress::InProgress;
use super::permit::Permit;
use super::remembered::Remembered;
use super::short::Sums;
use headway_model::{ThreadId, TimeNs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;

/// What the agent keeps about the parks of a platform thread.
#[derive(Default)]
pub struct ThreadParks {
    /// The park in progress.
    pub park: InProgress,
    /// The permit to go on that waits for it.
    pub permit: Permit,
    /// What it parked on last.
    pub remembered: Remembered,
    /// True once a park was seen to end in this recording.
    pub known: AtomicBool,
    /// Number of a park that was under way when the recording began, 0 if there
    /// is none that nobody saw end.
    pub found: AtomicU64,
    /// Of a carrier: when it last came back from a park, that is from being idle.
    pub ready_ns: AtomicU64,
    /// Of a carrier: the virtual thread that parked last without leaving it.
    pub pinned: AtomicU64,
    /// When that began, 0 if it is over.
    pub pinned_since_ns: AtomicU64,
    /// When that ended last.
    pub pinned_until_ns: AtomicU64,
    /// Steps of the coarse clock, where parks are thinned out.
    pub steps: Steps,
    /// Used where parks are added up.
    pub short: OnceLock<Box<Sums>>,
}

/// Steps of the coarse clock in which a thread did something last. Each is written once per step at most, so that others
/// may read it as often as they like without taking it from the thread's CPU: nothing else shares its cache line.
#[derive(Default)]
#[repr(align(128))]
pub struct Steps {
    /// A park on the thread began; a virtual thread's is one of its carrier here.
    pub parked: AtomicU64,
    /// It gave a permit.
    pub woke: AtomicU64,
}

impl ThreadParks {
    /// Forgets all: another thread, or another recording.
    pub fn reset(&self) {
        self.park.end();
        self.permit.clear();
        self.known.store(false, Ordering::Relaxed);
        self.found.store(0, Ordering::Relaxed);
        for number in [&self.ready_ns, &self.pinned, &self.pinned_since_ns, &self.pinned_until_ns] {
            number.store(0, Ordering::Relaxed);
        }
    }

    /// True if this virtual thread was on this carrier, and kept it, from `start` on.
    pub fn kept_by(&self, thread: ThreadId, start: TimeNs) -> bool {
        let by_it = self.pinned.load(Ordering::Relaxed) == thread.0;
        by_it && self.pinned_until_ns.load(Ordering::Relaxed) >= start.0
    }

    /// The sums of short parks, if there are any.
    pub fn short(&self) -> Option<&Sums> {
        self.short.get().map(|sums| &**sums)
    }
}
