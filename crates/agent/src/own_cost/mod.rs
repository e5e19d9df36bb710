//! What the agent costs the process, as it measures it itself: CPU time of its
//! threads, from their clocks; of its hooks on application threads, estimated from
//! calls chosen at random ([`TimedCalls`]); and of beginning a recording, apart.
//!
//! Not in it: what the VM does to call a hook and how the hook finds the thread's
//! slot, mounting and unmounting virtual threads, and what the kernel does for
//! samples: its interrupts, and its work whenever a thread that has an event gets or
//! leaves a CPU (of owners, `sample::armed` bounds that).

mod timed_calls;

pub use timed_calls::{CallCost, TimedCalls, ONE_IN};

use crate::clock;
use headway_model::DurationNs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// CPU time of the agent's threads, and what the beginning of the recording took.
#[derive(Default)]
pub struct OwnCost {
    threads: Mutex<OwnThreads>,
    /// Of the threads' time, that of the sampling thread.
    sampling_ns: AtomicU64,
    attach_ns: AtomicU64,
    attach_pause_ns: AtomicU64,
    pauses_ns: AtomicU64,
}

#[derive(Default)]
struct OwnThreads {
    /// Clocks of those that run: each takes its own out before it ends.
    running: Vec<libc::clockid_t>,
    ended: DurationNs,
}

impl OwnCost {
    fn lock(&self) -> MutexGuard<'_, OwnThreads> {
        // What is inside is whole after every step.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread is the agent's until what is returned is dropped, on it.
    pub fn own_thread(&self) -> OwnThread<'_> {
        let clock = clock::of_this_thread();
        self.lock().running.extend(clock);
        OwnThread { cost: self, clock }
    }

    /// CPU time of the agent's threads so far, in all recordings.
    pub fn of_threads(&self) -> DurationNs {
        let threads = self.lock();
        let running = threads.running.iter().filter_map(|clock| clock::cpu_of(*clock));
        threads.ended + running.sum()
    }

    /// The sampling thread has used so much more CPU time. It is in [`Self::of_threads`], too.
    pub fn sampled(&self, cpu: DurationNs) {
        self.sampling_ns.fetch_add(cpu.0, Ordering::Relaxed);
    }

    /// CPU time of sampling threads so far, in all recordings.
    pub fn of_sampling(&self) -> DurationNs {
        DurationNs(self.sampling_ns.load(Ordering::Relaxed))
    }

    /// Makes a call that has the VM stop all threads, and counts it as a pause. This is
    /// an upper bound of the pause: what the calling thread does and waits for before
    /// and after it is in it.
    pub fn pausing<T>(&self, call: impl FnOnce() -> T) -> T {
        let begun = clock::now();
        let result = call();
        self.pauses_ns.fetch_add(clock::now().since(begun).0, Ordering::Relaxed);
        result
    }

    /// How long [`Self::pausing`] took so far, in all recordings.
    pub fn pauses(&self) -> DurationNs {
        DurationNs(self.pauses_ns.load(Ordering::Relaxed))
    }

    /// How much CPU time it took to begin the recording, on the thread that did, and
    /// for how long the process was paused for it at most.
    pub fn set_attach(&self, cpu: DurationNs, pause: DurationNs) {
        self.attach_ns.store(cpu.0, Ordering::Relaxed);
        self.attach_pause_ns.store(pause.0, Ordering::Relaxed);
    }

    /// See [`Self::set_attach`].
    pub fn attach_pause(&self) -> DurationNs {
        DurationNs(self.attach_pause_ns.load(Ordering::Relaxed))
    }

    /// See [`Self::set_attach`].
    pub fn attach(&self) -> DurationNs {
        DurationNs(self.attach_ns.load(Ordering::Relaxed))
    }
}

/// See [`OwnCost::own_thread`].
pub struct OwnThread<'a> {
    cost: &'a OwnCost,
    clock: Option<libc::clockid_t>,
}

impl Drop for OwnThread<'_> {
    fn drop(&mut self) {
        let Some(clock) = self.clock else { return };
        let mut threads = self.cost.lock();
        if let Some(place) = threads.running.iter().position(|running| *running == clock) {
            threads.running.swap_remove(place);
        }
        threads.ended += clock::thread_cpu();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn(cpu: DurationNs) {
        let until = clock::thread_cpu() + cpu;
        while clock::thread_cpu() < until {}
    }

    #[test]
    fn a_pause_is_no_shorter_than_the_call_that_makes_it() {
        let cost = OwnCost::default();
        let length = std::time::Duration::from_millis(3);
        assert_eq!(cost.pausing(|| 7), 7);
        let before = cost.pauses();
        cost.pausing(|| std::thread::sleep(length));
        let pause = cost.pauses() - before;
        assert!(u128::from(pause.0) >= length.as_nanos(), "{pause}");
        // What is not the start's does not count as the start's.
        assert_eq!(cost.attach_pause(), DurationNs::ZERO);
        cost.set_attach(DurationNs(5), pause);
        assert_eq!((cost.attach(), cost.attach_pause()), (DurationNs(5), pause));
    }

    #[test]
    fn threads_count_while_they_run_and_after_they_ended() {
        let cost = OwnCost::default();
        let burnt = DurationNs(20_000_000);
        std::thread::scope(|scope| {
            let (say, said) = std::sync::mpsc::channel();
            let (release, released) = std::sync::mpsc::channel::<()>();
            let cost = &cost;
            scope.spawn(move || {
                let _own = cost.own_thread();
                burn(burnt);
                say.send(()).unwrap();
                released.recv().unwrap();
                burn(burnt);
            });
            said.recv().unwrap();
            assert!(cost.of_threads() >= burnt, "{}", cost.of_threads());
            // Another thread's time is no part of it.
            let before = cost.of_threads();
            burn(burnt);
            assert!(cost.of_threads() - before < burnt);
            release.send(()).unwrap();
        });
        let all = cost.of_threads();
        assert!(all >= burnt + burnt, "{all}");
        assert!(cost.lock().running.is_empty());
        assert_eq!(cost.of_threads(), all);
    }
}
