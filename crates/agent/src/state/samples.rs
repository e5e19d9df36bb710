//! Samples on their way to the draining thread.

use super::lasting::Lasting;
use crate::exchanged::{Awaited, Exchanged};
use headway_model::{Event, ThreadId, TimeNs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most samples that wait to be drained.
const MAX_WAITING: usize = 1 << 18;
/// Most threads that started and wait to be sampled.
const MAX_STARTED: usize = 1 << 14;

/// A thread that started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Kernel id.
    pub os_id: u32,
    /// The VM's object.
    pub vm_thread: u64,
    /// Java's id.
    pub thread: ThreadId,
}

/// Samples on their way to the draining thread, and threads on their way to the
/// sampler. The locks are held for a push or a take, never while anything is
/// called.
pub struct Samples {
    events: Mutex<Vec<Event>>,
    started: Mutex<Vec<Started>>,
    on: AtomicBool,
    /// True while those are sampled that others wait for.
    owners: AtomicBool,
    /// How many times longer the sampler waits between two looks at owners.
    slower: AtomicU64,
    /// How many times longer than asked for the time between two samples of a thread is.
    sparser: AtomicU64,
    settled: AtomicU64,
    /// What outlives a recording.
    pub lasting: Lasting,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            events: Mutex::default(),
            started: Mutex::default(),
            on: AtomicBool::new(false),
            owners: AtomicBool::new(false),
            slower: AtomicU64::new(1),
            sparser: AtomicU64::new(1),
            settled: AtomicU64::new(u64::MAX),
            lasting: Lasting::default(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A push or a take leaves what is inside whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Samples {
    /// Hands samples over; returns how many found no room.
    pub fn push(&self, batch: &mut Vec<Event>) -> u64 {
        let mut events = lock(&self.events);
        let room = MAX_WAITING.saturating_sub(events.len());
        let refused = batch.len().saturating_sub(room);
        batch.truncate(room);
        events.append(batch);
        refused as u64
    }

    /// Owners are looked at this many times less often.
    pub fn look_slower(&self, times: u64) {
        self.slower.store(times.max(1), Ordering::Relaxed);
    }

    /// See [`Self::look_slower`].
    pub fn slower(&self) -> u64 {
        self.slower.load(Ordering::Relaxed)
    }

    /// Threads are sampled this many times less often than was asked for.
    pub fn sample_sparser(&self, times: u64) {
        self.sparser.store(times.max(1), Ordering::Relaxed);
    }

    /// See [`Self::sample_sparser`].
    pub fn sparser(&self) -> u64 {
        self.sparser.load(Ordering::Relaxed)
    }

    /// Takes what was handed over since the last call.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.events))
    }

    /// A thread started. False if it found no room and will not be sampled.
    #[must_use]
    pub fn thread_started(&self, thread: Started) -> bool {
        if !self.on.load(Ordering::Relaxed) {
            return true;
        }
        let mut started = lock(&self.started);
        let has_room = started.len() < MAX_STARTED;
        if has_room {
            started.push(thread);
        }
        has_room
    }

    /// On a thread: it waited for this, and got it.
    #[inline]
    pub fn got(&self, exchanged: &Exchanged, awaited: Awaited, time: TimeNs) {
        if self.owners.load(Ordering::Relaxed) {
            exchanged.got(awaited, time);
        }
    }

    /// On a thread: it ended the wait of another, `waiter` if that is a platform thread.
    #[inline]
    pub fn gave(&self, exchanged: &Exchanged, awaited: Awaited, waiter: Option<&Exchanged>, time: TimeNs) {
        if self.owners.load(Ordering::Relaxed) {
            exchanged.gave(awaited, waiter, time);
        }
    }

    /// Takes the threads that started since the last call.
    pub fn take_started(&self) -> Vec<Started> {
        std::mem::take(&mut *lock(&self.started))
    }

    /// Every sample taken before this time has been handed over.
    pub fn settled(&self) -> TimeNs {
        TimeNs(self.settled.load(Ordering::Acquire))
    }

    /// See [`Self::settled`].
    pub fn set_settled(&self, time: TimeNs) {
        self.settled.store(time.0, Ordering::Release);
    }

    /// Gives back what was kept for the next recording.
    pub fn release(&self) {
        self.lasting.release();
    }

    /// A recording begins, in which `owners` are sampled or not.
    pub fn begin(&self, now: TimeNs, owners: bool) {
        lock(&self.events).clear();
        lock(&self.started).clear();
        self.set_settled(now);
        self.owners.store(owners, Ordering::Relaxed);
        self.on.store(true, Ordering::SeqCst);
    }

    /// It ends.
    pub fn end(&self) {
        self.on.store(false, Ordering::SeqCst);
        self.owners.store(false, Ordering::Relaxed);
        self.set_settled(TimeNs(u64::MAX));
        lock(&self.started).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_bounded_and_threads_are_taken_only_while_somebody_samples() {
        let samples = Samples::default();
        let mut batch = vec![Event::Watermark(TimeNs(1)); MAX_WAITING + 3];
        assert_eq!(samples.push(&mut batch), 3);
        assert_eq!(samples.take().len(), MAX_WAITING);
        let thread = Started { os_id: 1, vm_thread: 2, thread: ThreadId(3) };
        assert!(samples.thread_started(thread) && samples.take_started().is_empty());
        samples.begin(TimeNs(5), false);
        assert!(samples.thread_started(thread));
        assert_eq!((samples.take_started(), samples.settled()), (vec![thread], TimeNs(5)));
        assert!((0..MAX_STARTED).all(|_| samples.thread_started(thread)));
        assert!(!samples.thread_started(thread), "one more is refused, and the caller knows");
        assert_eq!(samples.take_started().len(), MAX_STARTED);
        samples.end();
        assert_eq!(samples.settled(), TimeNs(u64::MAX));
    }
}
