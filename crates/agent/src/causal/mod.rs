//! Causal profiling: experiments that slow everything else down while a target
//! runs, so that the target is virtually faster.
//!
//! * `points`, `inject`, `counted`: what counts as progress.
//! * `targets`: what samples lie in, and which targets are worth a try.
//! * `pay`: how a thread is kept from running for a while, and where it may be.
//! * `experiments`: the thread that makes one experiment after another.
//! * This file: what hooks and the sampler tell, on the threads that they run on.
//!
//! The accounts themselves are `headway_causal::accounting`, which is tested in
//! a simulator.

mod counted;
mod experiments;
pub mod inject;
mod pay;
pub mod points;
mod targets;

pub use experiments::{spawn, ExperimentsHandle, Wishes};
pub use targets::{Matcher, Seen};

use crate::agent::Agent;
use crate::clock;
use crate::jni::Jni;
use crate::options::Options;
use crate::threads::Slot;
use counted::Counted;
use headway_causal::accounting::Ledger;
use headway_hook::Image;
use pay::Payment;
use points::Points;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use targets::Targets;

/// See the module.
#[derive(Default)]
pub struct Causal {
    /// True from the recording's begin to its end.
    wanted: AtomicBool,
    /// True while threads are delayed, or might be.
    on: AtomicBool,
    /// How much a hit in the target delays the others; 0 outside experiments.
    delay_ns: AtomicU64,
    ledger: Ledger,
    /// Stop-the-world time so far.
    stopped_ns: AtomicU64,
    /// Progress points.
    pub points: Points,
    /// Methods that count.
    pub counted: Counted,
    targets: Targets,
    payment: Payment,
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
        self.counted.install(agent, jni, &options.causal.progress)?;
        self.set_wanted(true);
        Ok(())
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// A new thread owes nothing. What its parent owes it does not get: nobody
    /// says who that is, and threads pay within a sample's time.
    pub fn started(&self, slot: &Slot) {
        slot.delays.settle(&self.ledger);
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
        }
    }

    /// It came back by itself.
    #[inline]
    pub fn returned(&self, slot: &Slot) {
        if self.is_on() {
            slot.delays.returned();
        }
    }

    /// The thread is about to wake another one or to end: what it owes it pays
    /// before, or the other would have been woken too early. Only where the VM
    /// does not wait for the thread: in a native method or a callback of JVMTI.
    #[inline]
    pub fn before_wake(&self, slot: &Slot) {
        if self.is_on() {
            pay::here(self, slot);
        }
    }

    /// The same in a function of the VM that releases a monitor. It is called
    /// from compiled code too, as a leaf, and then the VM waits for the thread.
    #[inline]
    pub fn before_release(&self, agent: &Agent, slot: &Slot) {
        if self.is_on() {
            pay::in_leaf(self, agent, slot);
        }
    }

    /// All application threads stood still.
    pub fn stopped(&self, ns: u64) {
        self.stopped_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// A sample of a thread, which the matcher looked at.
    pub fn sampled(&self, agent: &Agent, vm_thread: u64, seen: &Seen, ticks: u64) {
        self.targets.count(seen, ticks);
        let delay = self.delay_ns.load(Ordering::Relaxed);
        if !seen.is_hit || delay == 0 {
            return;
        }
        if let Some(slot) = agent.threads.find(vm_thread) {
            slot.delays.hit(&self.ledger, delay.saturating_mul(ticks));
            // The others stand still from now on, not only once all samples
            // are looked at.
            pay::remind_all(self, agent);
        }
    }

    /// Has threads that owe and run Java code pay. After every round of samples.
    pub fn collect(&self, agent: &Agent) {
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
