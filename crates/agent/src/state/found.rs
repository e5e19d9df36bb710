//! Threads that wait already when a recording begins: no event says so.
//!
//! Most threads of a server do: idle pools park for hours. Taken for running,
//! they would make every lock look harmless. Each thread's state is asked of the
//! VM once, while the recording begins; afterwards its events say, and where the
//! end of such a wait has none, the VM's own word for the thread.

use headway_model::{ThreadId, TimeNs};
use std::sync::{Mutex, PoisonError};

/// A bit of `JVMTI_THREAD_STATE`: in `Object.wait`.
pub const IN_OBJECT_WAIT: i32 = 0x100;
/// Another one: parked.
pub const PARKED: i32 = 0x200;
/// Another one: the wait or park has a limit, of which JVMTI says no more.
pub const WITH_TIMEOUT: i32 = 0x20;

/// Threads that are asked about at most: as many as the agent follows.
const MOST: usize = super::MOST_THREADS;

/// A thread that was waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The thread.
    pub thread: ThreadId,
    /// Address of the VM's thread object.
    pub vm_thread: u64,
    /// True for `Object.wait`, false for a park.
    pub in_monitor: bool,
    /// When the VM said so.
    pub at: TimeNs,
}

/// What was found, until the draining thread takes it.
#[derive(Default)]
pub struct FoundThreads(Mutex<Vec<Found>>);

impl FoundThreads {
    /// A recording begins.
    pub fn begin(&self) {
        drop(self.take());
    }

    /// Takes note of a thread's state as the VM says it is.
    pub fn note(&self, thread: ThreadId, vm_thread: u64, state: i32, at: TimeNs) {
        if state & (IN_OBJECT_WAIT | PARKED) == 0 {
            return;
        }
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < MOST {
            found.push(Found { thread, vm_thread, in_monitor: state & IN_OBJECT_WAIT != 0, at });
        }
    }

    /// Everything since the recording began.
    pub fn take(&self) -> Vec<Found> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waiting_threads_are_found() {
        let found = FoundThreads::default();
        // Alive and in a timed wait; parked; asleep; runnable.
        for (thread, state) in
            [(1, 0x1 | 0x80 | 0x20 | 0x100), (2, 0x1 | 0x80 | 0x10 | 0x200), (3, 0x1 | 0x40), (4, 0x5)]
        {
            found.note(ThreadId(thread), 0x1000 * thread, state, TimeNs(9));
        }
        let threads: Vec<_> = found.take().iter().map(|found| (found.thread.0, found.in_monitor)).collect();
        assert_eq!(threads, [(1, true), (2, false)]);
        assert!(found.take().is_empty());
    }
}
