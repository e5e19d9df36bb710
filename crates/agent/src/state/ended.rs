//! The last readings of threads that end between two samples, left by the
//! ending threads themselves. Bounded; one that finds no room loses what it
//! used since the last sample, which the process's total still has.

use crate::clock;
use headway_host::{task, Root};
use headway_model::ThreadId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Threads that may end between two samples.
const MOST: usize = 16_384;

/// A thread's last reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The thread.
    pub thread: ThreadId,
    /// All its CPU time.
    pub cpu_ns: u64,
    /// All its run-queue wait; `None` where the kernel does not say.
    pub wait_ns: Option<u64>,
}

impl Ended {
    /// The calling thread's reading.
    pub fn current(thread: ThreadId) -> Ended {
        let schedule = task::schedule(&Root::default(), crate::process::current_os_id());
        Ended { thread, cpu_ns: clock::thread_cpu().0, wait_ns: schedule.ok().map(|schedule| schedule.wait_ns) }
    }
}

/// See the module. The lock is held for a push or a swap, never while the VM is
/// called.
#[derive(Default)]
pub struct EndedThreads {
    wanted: AtomicBool,
    queue: Mutex<Vec<Ended>>,
}

impl EndedThreads {
    /// True while threads are sampled.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Says whether threads are sampled; forgets what is there.
    pub fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
        drop(self.take());
    }

    /// Adds a reading.
    pub fn add(&self, ended: Ended) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < MOST {
            queue.push(ended);
        }
    }

    /// Everything since the last call.
    pub fn take(&self) -> Vec<Ended> {
        std::mem::take(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
