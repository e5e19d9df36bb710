//! Causal profiling: experiments that slow everything else down while a target
//! runs, so that the target is virtually faster.
//!
//! * `points`, `inject`, `counted`: what counts as progress.
//! * `nearby`: whether what is asked for is there, and what is near if it is not.
//! * `targets`: what samples lie in.
//! * `choosing`, `allocation`: which targets are worth a try, and how many experiments.
//! * `target_locks`: locks as targets: who holds which.
//! * `off_cpu`, `thread_natives`: threads that sleep, and threads that are started.
//! * `io`, `streams`: threads that wait for pipes and sockets, and who wakes them.
//! * `run_queue`: how long threads wait for a CPU.
//! * `pay`: how a thread is kept from running for a while, and where it may be.
//! * `experiments`, `window`: the thread that makes one experiment after another,
//!   and what it measures.
//! * `observer`: what hooks and the sampler say, on the threads that they run on. Nothing
//!   else of this folder is known to the rest of the agent.
//!
//! The accounts themselves are `headway_causal::accounting`, which is tested in
//! a simulator.

mod allocation;
mod choosing;
mod counted;
mod experiments;
pub mod inject;
mod insert;
mod io;
mod nearby;
mod observer;
mod off_cpu;
mod pay;
mod points;
mod run_queue;
mod streams;
mod target_locks;
mod targets;
mod thread_natives;
mod window;

use crate::agent::{Agent, Sampled};
use crate::clock;
use crate::jni::Jni;
use crate::threads::Slot;
use counted::Counted;
use headway_causal::accounting::Ledger;
use headway_causal::experiment::Target;
use headway_model::TimeNs;
use io::Io;
use off_cpu::OffCpu;
use pay::{Living, Payment};
use points::Points;
use run_queue::RunQueue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::LazyLock;
use target_locks::TargetLocks;
use targets::Targets;
use thread_natives::ThreadNatives;

/// The thread that resumes virtual threads that waited for monitors (JDK 24 and later).
const UNBLOCKER: &str = "VirtualThread-unblocker";

/// See the module.
#[derive(Default)]
pub struct Causal {
    /// True from the recording's begin to its end.
    wanted: AtomicBool,
    /// True while threads are delayed, or might be.
    on: AtomicBool,
    /// CPU time between two samples of a thread.
    period_ns: AtomicU64,
    ledger: Ledger,
    /// Stop-the-world time so far.
    stopped_ns: AtomicU64,
    /// Progress points.
    pub points: Points,
    /// Methods that count.
    pub counted: Counted,
    targets: Targets,
    payment: Payment,
    living: Living,
    /// Locks as targets.
    pub target_locks: TargetLocks,
    run_queue: RunQueue,
    off_cpu: OffCpu,
    thread_natives: ThreadNatives,
    io: Io,
    /// Speedup of the experiment under way in percent, 0 outside; and since when.
    speedup: AtomicU64,
    since: AtomicU64,
}

/// The feature's own. Made before the agent is known.
static CAUSAL: LazyLock<Box<Causal>> = LazyLock::new(Box::default);

/// What the feature keeps, of the whole process.
#[inline]
pub fn causal() -> &'static Causal {
    &CAUSAL
}

impl Causal {
    /// Says whether a recording makes experiments.
    pub fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::SeqCst);
    }

    /// The program may load the JDK's library for sockets at any time: before
    /// each window it is looked whether it has.
    fn watch_streams(&self, agent: &Agent) {
        if let Err(reason) = self.io.install_if_loaded() {
            let lost = "threads that others wake by pipes and sockets get no credit";
            agent.definitions.degraded("causal", &format!("{lost}: {reason}"));
        }
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    fn stopped_ns(&self) -> u64 {
        self.stopped_ns.load(Ordering::Relaxed)
    }

    /// Times that any thread was woken by another one.
    fn wakes(&self, agent: &Agent) -> u64 {
        agent.threads.iter().map(|slot| slot.observed.woken.load(Ordering::Relaxed)).sum()
    }

    /// What counts as a hit from now on.
    fn aim(&self, target: Option<Target>) {
        self.target_locks.aim(target.as_ref());
        self.targets.aim(target);
    }

    /// From now on hits delay the others.
    fn begin_window(&self, period_ns: u64, speedup: u32) {
        self.since.store(clock::now().0, Ordering::SeqCst);
        self.period_ns.store(period_ns, Ordering::SeqCst);
        self.speedup.store(u64::from(speedup), Ordering::SeqCst);
    }

    /// Nobody is delayed any more.
    fn end_window(&self) {
        self.speedup.store(0, Ordering::SeqCst);
    }

    /// A thread is back from a sleep, or from the world outside. A part of what
    /// it waited in the target is taken away virtually: it is ahead by that.
    /// What it owes it pays now. In a native method only.
    pub fn waited_outside(&'static self, agent: &'static Agent, jni: Jni, slot: &'static Slot, start: TimeNs) {
        let now = clock::now();
        slot.observed.resumed.fetch_add(1, Ordering::Relaxed);
        let seen = self.off_cpu.seen(agent, jni, slot);
        let here = Sampled { vm_thread: slot.vm_thread(), thread: slot.thread(), time: now, ticks: 1 };
        let is_hit = seen.hit.is_some() || self.target_locks.holds(agent, slot, &here);
        let period = self.period_ns.load(Ordering::Relaxed).max(1);
        self.targets.count_off_cpu(&seen, is_hit, off_cpu::ticks(now.since(start).0, period));
        let speedup = self.speedup.load(Ordering::Relaxed);
        if is_hit && speedup > 0 {
            let begun = start.0.max(self.since.load(Ordering::Relaxed));
            slot.observed.delays.hit(&self.ledger, now.0.saturating_sub(begun).saturating_mul(speedup) / 100);
            pay::remind_all(self, agent);
        }
        pay::here(self, slot);
    }

    /// Forgives everything that anybody owes.
    fn settle(&self, agent: &Agent) {
        for slot in agent.threads.iter() {
            slot.observed.delays.settle(&self.ledger);
        }
    }
}
