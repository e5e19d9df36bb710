//! Causal profiling: experiments that slow everything else down while a target
//! runs, so that the target is virtually faster.
//!
//! * `points`, `inject`, `counted`: what counts as progress.
//! * `targets`: what samples lie in.
//! * `choosing`, `allocation`: which targets are worth a try, and how many experiments.
//! * `held`: locks as targets: who holds which.
//! * `off_cpu`, `thread_natives`: threads that sleep, and threads that are started.
//! * `io`, `streams`: threads that wait for pipes and sockets, and who wakes them.
//! * `run_queue`: how long threads wait for a CPU.
//! * `pay`: how a thread is kept from running for a while, and where it may be.
//! * `experiments`, `window`: the thread that makes one experiment after another,
//!   and what it measures.
//! * This file: what hooks and the sampler tell, on the threads that they run on.
//!
//! The accounts themselves are `headway_causal::accounting`, which is tested in
//! a simulator.

mod allocation;
mod choosing;
pub mod counted;
mod experiments;
pub mod held;
pub mod inject;
mod insert;
mod io;
mod off_cpu;
mod pay;
pub mod points;
mod run_queue;
mod streams;
mod targets;
pub mod thread_natives;
mod window;

pub use experiments::{spawn, ExperimentsHandle};
pub use targets::{Matcher, Seen};

use crate::agent::Agent;
use crate::clock;
use crate::jni::Jni;
use crate::options::Options;
use crate::reply::InPlace;
use crate::threads::Slot;
use counted::Counted;
use headway_causal::accounting::Ledger;
use headway_causal::experiment::Target;
use headway_hook::Image;
use headway_model::{LockId, ThreadId, TimeNs};
use held::Held;
use io::Io;
use off_cpu::OffCpu;
use pay::{Living, Payment};
use points::Points;
use run_queue::RunQueue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use targets::Targets;
use thread_natives::ThreadNatives;

/// The thread that resumes virtual threads that waited for monitors (JDK 24 and later).
const UNBLOCKER: &str = "VirtualThread-unblocker";

/// A sample as experiments see it.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// The VM's thread.
    pub vm_thread: u64,
    /// Who ran: of a carrier the virtual thread.
    pub thread: ThreadId,
    /// When.
    pub time: TimeNs,
    /// Periods that it stands for.
    pub ticks: u64,
}

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
    pub held: Held,
    run_queue: RunQueue,
    off_cpu: OffCpu,
    thread_natives: ThreadNatives,
    io: Io,
    /// Speedup of the experiment under way in percent, 0 outside; and since when.
    speedup: AtomicU64,
    since: AtomicU64,
}

impl Causal {
    /// True if this recording makes experiments.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Says whether a recording makes experiments.
    pub fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::SeqCst);
    }

    /// Gets ready for a recording's experiments.
    ///
    /// # Errors
    /// Why there can be none.
    pub fn prepare(
        &self,
        agent: &'static Agent,
        jni: Jni,
        options: &Options,
        libjvm: &Result<Image, String>,
    ) -> Result<(), String> {
        pay::install(self, libjvm.as_ref().map_err(String::clone)?)?;
        self.counted.install(agent, jni, &options.causal.points())?;
        self.held.want(&options.causal.targets);
        self.off_cpu.forget();
        let sleeps = self.thread_natives.install(agent, jni, libjvm.as_ref().map_err(String::clone)?);
        if let Err(reason) = sleeps {
            let lost = "sleeping lines are no targets, and new threads do not owe what their parents owe";
            agent.definitions.degraded("causal", &format!("{lost}: {reason}"));
        }
        self.watch_streams(agent);
        self.set_wanted(true);
        Ok(())
    }

    /// The program may load the JDK's library for sockets at any time: before
    /// each window it is looked whether it has.
    fn watch_streams(&self, agent: &Agent) {
        if let Err(reason) = self.io.install_if_loaded() {
            let lost = "threads that others wake by pipes and sockets get no credit";
            agent.definitions.degraded("causal", &format!("{lost}: {reason}"));
        }
    }

    /// Undoes it; what stays.
    pub fn unprepare(&self, agent: &'static Agent, jni: Jni) -> Vec<InPlace> {
        self.set_wanted(false);
        self.held.want(&[]);
        let mut left = self.io.remove();
        left.extend(self.thread_natives.remove(agent, jni));
        left.extend(self.counted.remove(agent, jni));
        left
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// A thread's name is known. One of the JDK's blocks in the VM, where nobody sees
    /// it, until virtual threads are notified or given a monitor, and has them go on.
    pub fn named(&self, slot: &Slot, name: &str) {
        slot.held.hands_on.store(name == UNBLOCKER, Ordering::Relaxed);
    }

    /// A thread's samples come through this ring.
    pub fn sampled_into(&self, agent: &Agent, vm_thread: u64, ring: u64) {
        if let Some(slot) = agent.threads.find(vm_thread) {
            slot.held.ring.store(ring, Ordering::Relaxed);
        }
    }

    /// A new thread owes what its parent owed when it started it. Where nobody
    /// said who that was it owes nothing.
    pub fn started(&self, slot: &Slot) {
        slot.held.ring.store(0, Ordering::Relaxed);
        slot.delays.settle(&self.ledger);
        if let Some(standing) = self.thread_natives.take_standing(slot.thread()) {
            slot.delays.inherit(standing);
        }
    }

    /// The thread is about to block until another one wakes it or time runs out.
    #[inline]
    pub fn block(&self, slot: &Slot) {
        if self.is_on() {
            slot.delays.block(&self.ledger, clock::now().0);
        }
    }

    /// Another thread woke it.
    #[inline]
    pub fn woken(&self, slot: &Slot) {
        if self.is_on() {
            slot.delays.woken(&self.ledger, clock::now().0);
            slot.held.woken.fetch_add(1, Ordering::Relaxed);
            slot.held.resumed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It came back by itself.
    #[inline]
    pub fn returned(&self, slot: &Slot) {
        if self.is_on() {
            slot.delays.returned();
            slot.held.resumed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The thread is about to wake another one or to end: what it owes it pays
    /// before, or the other would have been woken too early. Only where the VM
    /// does not wait for the thread: in a native method or a callback of JVMTI.
    #[inline]
    pub fn before_wake(&self, agent: &Agent, slot: &Slot) {
        if self.is_on() {
            pay::after_own_samples(self, agent, slot);
            match slot.held.hands_on.load(Ordering::Relaxed) {
                true => slot.delays.settle(&self.ledger),
                false => pay::here(self, slot),
            }
        }
    }

    /// The same in a function of the VM that releases a monitor. It is called
    /// from compiled code too, as a leaf, and then the VM waits for the thread.
    #[inline]
    pub fn before_release(&self, agent: &Agent, slot: &Slot) {
        if self.is_on() {
            pay::after_own_samples(self, agent, slot);
            pay::in_leaf(self, agent, slot);
        }
    }

    /// All application threads stood still.
    pub fn stopped(&self, ns: u64) {
        self.stopped_ns.fetch_add(ns, Ordering::Relaxed);
    }

    fn stopped_ns(&self) -> u64 {
        self.stopped_ns.load(Ordering::Relaxed)
    }

    /// Times that any thread was woken by another one.
    fn wakes(&self, agent: &Agent) -> u64 {
        agent.threads.iter().map(|slot| slot.held.woken.load(Ordering::Relaxed)).sum()
    }

    /// What counts as a hit from now on.
    fn aim(&self, target: Option<Target>) {
        self.held.aim(target.as_ref());
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

    /// A sample of a thread, which the matcher looked at.
    pub fn sampled(&self, agent: &'static Agent, sample: &Sampled, seen: &Seen) {
        let slot = agent.threads.find(sample.vm_thread);
        let waited = slot.map_or(0, |slot| self.run_queue.since_last(slot));
        let is_hit = seen.hit.is_some() || slot.is_some_and(|slot| self.held.holds(agent, slot, sample));
        self.targets.count(seen, is_hit, sample.ticks);
        let speedup = self.speedup.load(Ordering::Relaxed);
        let Some(slot) = slot.filter(|_| is_hit && speedup > 0) else { return };
        let took = sample.ticks.saturating_mul(self.period_ns.load(Ordering::Relaxed)) + waited;
        slot.delays.hit(&self.ledger, took.saturating_mul(speedup) / 100);
        // The others stand still from now on, not only once all samples are
        // looked at.
        pay::remind_all(self, agent);
    }

    /// A thread is back from a sleep, or from the world outside. A part of what
    /// it waited in the target is taken away virtually: it is ahead by that.
    /// What it owes it pays now. In a native method only.
    pub fn waited_outside(&'static self, agent: &'static Agent, jni: Jni, slot: &'static Slot, start: TimeNs) {
        let now = clock::now();
        slot.held.resumed.fetch_add(1, Ordering::Relaxed);
        let seen = self.off_cpu.seen(agent, jni, slot);
        let here = Sampled { vm_thread: slot.vm_thread(), thread: slot.thread(), time: now, ticks: 1 };
        let is_hit = seen.hit.is_some() || self.held.holds(agent, slot, &here);
        let period = self.period_ns.load(Ordering::Relaxed).max(1);
        self.targets.count_off_cpu(&seen, is_hit, off_cpu::ticks(now.since(start).0, period));
        let speedup = self.speedup.load(Ordering::Relaxed);
        if is_hit && speedup > 0 {
            let begun = start.0.max(self.since.load(Ordering::Relaxed));
            slot.delays.hit(&self.ledger, now.0.saturating_sub(begun).saturating_mul(speedup) / 100);
            pay::remind_all(self, agent);
        }
        pay::here(self, slot);
    }

    /// A lock was acquired after a wait for it, or is about to be released to
    /// somebody who waits.
    #[inline]
    pub fn acquired(&self, slot: &Slot, lock: LockId, time: TimeNs) {
        if self.is_on() && self.held.is_target(lock) {
            slot.held.acquired.store(time.0, Ordering::Relaxed);
        }
    }

    /// See [`Causal::acquired`].
    #[inline]
    pub fn released(&self, slot: &Slot, lock: LockId, time: TimeNs) {
        if self.is_on() && self.held.is_target(lock) {
            slot.held.released.store(time.0, Ordering::Relaxed);
        }
    }

    /// Has threads that owe and run Java code pay. After every round of samples.
    pub fn collect(&self, agent: &'static Agent) {
        if self.is_on() {
            pay::remind_all(self, agent);
        }
    }

    /// Forgives everything that anybody owes.
    fn settle(&self, agent: &Agent) {
        for slot in agent.threads.iter() {
            slot.delays.settle(&self.ledger);
        }
    }
}
