//! What hooks and the sampler say, on the threads that they run on.

use super::experiments::{self, ExperimentsHandle};
use super::targets::{Matcher, Seen};
use super::{counted, nearby, pay, points, Causal, UNBLOCKER};
use crate::agent::{Agent, Observer, Sampled};
use crate::clock;
use crate::definitions::Definitions;
use crate::ending::Deadline;
use crate::jni::{Jni, Ref};
use crate::jvmti::Jvmti;
use crate::options::Options;
use crate::reply::InPlace;
use crate::threads::Slot;
use headway_hook::Image;
use headway_model::{ChainId, Frame, LockId, TimeNs};
use std::sync::atomic::Ordering;
use std::sync::Arc;

impl Observer for Causal {
    type Matcher = Matcher;
    type Seen = Seen;
    type Running = ExperimentsHandle;

    fn will_change(&self, options: &Options) -> Vec<String> {
        let is_changed = options.causal.points().iter().any(|name| counted::is_in_bytecode(name));
        let points = is_changed.then(|| "the bytecode of classes with progress points".to_owned());
        let always = [
            "the native functions of java.lang.Thread.start0 and of Thread.sleep",
            "the handler of SIGURG, a signal that delays threads (the handler stays)",
            "calls of libnio to functions such as read and poll, when the JVM has loaded libnio",
        ];
        points.into_iter().chain(always.map(str::to_owned)).collect()
    }

    fn prepare(
        &self,
        agent: &'static Agent,
        jni: Jni,
        options: &Options,
        libjvm: &Result<Image, String>,
    ) -> Result<(), String> {
        nearby::check(agent, jni, &options.causal)?;
        pay::install(self, libjvm.as_ref().map_err(String::clone)?)?;
        self.points.begin();
        self.counted.install(agent, jni, &options.causal.points())?;
        self.target_locks.want(&options.causal.targets);
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

    fn begin(&self, agent: &'static Agent, options: &Options, period_ns: u64) -> Option<ExperimentsHandle> {
        let begun = experiments::spawn(agent, options.causal.clone(), period_ns);
        begun.inspect_err(|error| agent.definitions.degraded("causal", &format!("no experiments: {error}"))).ok()
    }

    fn finish(&self, agent: &'static Agent, mut running: ExperimentsHandle, deadline: Deadline) {
        running.finish(deadline);
        for problem in self.counted.problems() {
            agent.definitions.degraded("causal", &problem);
        }
    }

    fn refusal(&self) -> Option<String> {
        if !self.wanted.load(Ordering::Relaxed) {
            return None;
        }
        self.counted.refusal()
    }

    fn undo(&self, agent: &'static Agent, jni: Jni) -> Vec<InPlace> {
        self.set_wanted(false);
        self.target_locks.want(&[]);
        let mut left = self.io.remove();
        left.extend(self.thread_natives.remove(agent, jni));
        left.extend(self.counted.remove(agent, jni));
        left
    }

    #[inline]
    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    // A new thread owes what its parent owed when it started it. Where nobody said who
    // that was it owes nothing.
    fn thread_started(&self, slot: &Slot) {
        slot.observed.ring.store(0, Ordering::Relaxed);
        slot.observed.delays.settle(&self.ledger);
        if let Some(standing) = self.thread_natives.take_standing(slot.thread()) {
            slot.observed.delays.inherit(standing);
        }
    }

    // One of the JDK's blocks in the VM, where nobody sees it, until virtual threads are
    // notified or given a monitor, and has them go on.
    fn thread_named(&self, slot: &Slot, name: &str) {
        slot.observed.hands_on.store(name == UNBLOCKER, Ordering::Relaxed);
    }

    #[inline]
    fn block(&self, slot: &Slot) {
        if self.is_on() {
            slot.observed.delays.block(&self.ledger, clock::now().0);
        }
    }

    #[inline]
    fn woken(&self, slot: &Slot) {
        if self.is_on() {
            slot.observed.delays.woken(&self.ledger, clock::now().0);
            slot.observed.woken.fetch_add(1, Ordering::Relaxed);
            slot.observed.resumed.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline]
    fn returned(&self, slot: &Slot) {
        if self.is_on() {
            slot.observed.delays.returned();
            slot.observed.resumed.fetch_add(1, Ordering::Relaxed);
        }
    }

    // What it owes it pays before, or the other would have been woken too early.
    #[inline]
    fn before_wake(&self, agent: &Agent, slot: &Slot) {
        if self.is_on() {
            pay::after_own_samples(self, agent, slot);
            match slot.observed.hands_on.load(Ordering::Relaxed) {
                true => slot.observed.delays.settle(&self.ledger),
                false => pay::here(self, slot),
            }
        }
    }

    #[inline]
    fn before_release(&self, agent: &Agent, slot: &Slot) {
        if self.is_on() {
            pay::after_own_samples(self, agent, slot);
            pay::in_leaf(self, agent, slot);
        }
    }

    #[inline]
    fn acquired(&self, slot: &Slot, lock: LockId, time: TimeNs) {
        if self.is_on() && self.target_locks.is_target(lock) {
            slot.observed.acquired.store(time.0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn released(&self, slot: &Slot, lock: LockId, time: TimeNs) {
        if self.is_on() && self.target_locks.is_target(lock) {
            slot.observed.released.store(time.0, Ordering::Relaxed);
        }
    }

    fn contended(&self, agent: &Agent, jni: Jni, lock: LockId, monitor: u64, object: Ref) {
        self.target_locks.contended(agent, jni, lock, monitor, object);
    }

    fn parked_on(&self, agent: &Agent, jni: Jni, lock: LockId, synchronizer: Ref) {
        self.target_locks.parked_on(agent, jni, lock, synchronizer);
    }

    fn lock_named(&self, lock: LockId, name: &Arc<str>) {
        self.target_locks.named(lock, name);
    }

    fn paused(&self, ns: u64) {
        self.stopped_ns.fetch_add(ns, Ordering::Relaxed);
    }

    fn sampled_into(&self, agent: &Agent, vm_thread: u64, ring: u64) {
        if let Some(slot) = agent.threads.find(vm_thread) {
            slot.observed.ring.store(ring, Ordering::Relaxed);
        }
    }

    fn look(
        &self,
        matcher: &mut Matcher,
        definitions: &Definitions,
        chain: ChainId,
        frames: impl FnOnce() -> Vec<Frame>,
    ) -> Seen {
        matcher.look(self, definitions, chain, frames)
    }

    fn forget_chains(&self, matcher: &mut Matcher) {
        matcher.forget();
    }

    fn sampled(&self, agent: &'static Agent, sample: &Sampled, seen: &Seen) {
        let slot = agent.threads.find(sample.vm_thread);
        let waited = slot.map_or(0, |slot| self.run_queue.since_last(slot));
        let is_hit = seen.hit.is_some() || slot.is_some_and(|slot| self.target_locks.holds(agent, slot, sample));
        self.targets.count(seen, is_hit, sample.ticks);
        let speedup = self.speedup.load(Ordering::Relaxed);
        let Some(slot) = slot.filter(|_| is_hit && speedup > 0) else { return };
        let took = sample.ticks.saturating_mul(self.period_ns.load(Ordering::Relaxed)) + waited;
        slot.observed.delays.hit(&self.ledger, took.saturating_mul(speedup) / 100);
        // The others stand still from now on, not only once all samples are
        // looked at.
        pay::remind_all(self, agent);
    }

    // Threads that owe and run Java code pay.
    fn collect(&self, agent: &'static Agent) {
        if self.is_on() {
            pay::remind_all(self, agent);
        }
    }

    fn class_file(&self, jvmti: &Jvmti, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)> {
        self.counted.on_class_file(jvmti, name, bytes)
    }

    fn point(&self, name: &str) -> usize {
        self.points.number(name)
    }

    #[inline]
    fn visit(point: usize) {
        points::visit(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_names_bytecode_only_where_it_is_changed() {
        let changes = |progress: &str| {
            let options = Options::parse(&format!("status,events=causal,progress={progress}")).unwrap();
            crate::causal::causal().will_change(&options)
        };
        let is_changed = |progress| changes(progress).iter().any(|change| change.contains("bytecode"));
        assert!(is_changed("com.acme.Shop.order"));
        assert!(is_changed("Shop.java:42"));
        assert!(!is_changed("order"));
        for word in ["Thread.start0", "SIGURG", "libnio"] {
            assert!(changes("order").iter().any(|change| change.contains(word)), "{word}");
        }
    }
}
