//! Feature `steal`: what the environment takes from the program's threads.
//!
//! * [`sampler`]: on the draining thread, once an interval, reads what the
//!   kernel says of machine, threads and control group.
//! * `pending_intervals`: intervals that wait until the machine is looked at.
//! * `tracked`: which threads are worth a look.
//! * [`clocks`]: the kernel's clocks of threads and of the process.
//! * [`transaction`]: units of work that the application names, as its threads
//!   begin and end them.
//! * [`migrating`], [`pairing`]: put them together, on the draining thread.
//! * [`api`]: what the Java class `io.headway.Headway` calls.

pub mod api;
pub mod clocks;
pub mod migrating;
pub mod pairing;
mod pending_intervals;
pub mod sampler;
mod tracked;
pub mod transaction;

use crate::agent::Agent;
use crate::clock;
use crate::options::Options;
use crate::state::Ended;
use crate::threads::Slot;
use clocks::KernelClocks;
use headway_host::Root;
use headway_hotspot::Memory;
use headway_model::event::ThreadDef;
use headway_model::{Dictionary, Event, ThreadId, TimeNs};
use migrating::Migrating;
use pairing::Pairing;
use sampler::{Found, Sampler};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The first JDK with virtual threads.
pub const VIRTUAL_SINCE: u32 = 21;

/// The virtual thread behind a reference has come to the current thread's CPU.
/// The VM holds off collections here.
pub fn on_mount(agent: &Agent, reference: u64) {
    if let Some(thread) = followed(agent, reference) {
        agent.steal.mounted.mounts(thread, || clock::thread_cpu().0);
    }
}

/// It begins to leave it.
pub fn on_unmount(agent: &Agent, reference: u64) {
    if let Some(thread) = followed(agent, reference) {
        agent.steal.mounted.unmounts(thread, || clock::thread_cpu().0);
    }
}

/// The thread behind a reference, if any is followed.
#[inline]
fn followed(agent: &Agent, reference: u64) -> Option<ThreadId> {
    if !agent.steal.mounted.is_any() {
        return None;
    }
    let known = agent.hotspot.known()?;
    let object = known.memory.read_u64(reference).filter(|object| *object != 0)?;
    known.memory.read_u64(object + known.layout.thread.tid_in_object?).map(ThreadId)
}

/// JVMTI `ThreadEnd`, on the ending thread: its last reading.
pub fn on_thread_end(agent: &Agent, slot: &Slot) {
    if agent.steal.ended.is_wanted() && !slot.is_filtered.load(Ordering::Relaxed) {
        agent.steal.ended.add(Ended::current(slot.thread()));
    }
}

/// The draining thread's part of the feature.
pub struct Drained {
    agent: &'static Agent,
    sampler: Option<Sampler<KernelClocks>>,
    /// The state of the table of threads when Java's were last listed.
    listed: Option<u64>,
    migrating: Migrating,
    pairing: Pairing,
}

impl Drained {
    /// Begins with a recording; samples only if the options want it.
    pub fn new(agent: &'static Agent, options: &Options) -> Drained {
        let wanted = options.wants("steal");
        agent.steal.ended.set_wanted(wanted);
        let interval = Duration::from_nanos(options.steal_interval_ns.unwrap_or(sampler::DEFAULT_INTERVAL_NS));
        let sampler = wanted.then(|| Sampler::new(Root::default(), KernelClocks, interval));
        Drained { agent, sampler, listed: None, migrating: Migrating::default(), pairing: Pairing::default() }
    }

    /// How long the draining thread may sleep until the next sample is due.
    pub fn patience(&self, at_most: Duration) -> Duration {
        self.sampler.as_ref().map_or(at_most, |sampler| sampler.patience(clock::now(), at_most))
    }

    /// Takes a sample if it is due, or `at_end` of the recording.
    pub fn sample(&mut self, at_end: bool) -> Vec<Event> {
        let now = clock::now();
        let Some(sampler) = self.sampler.as_mut().filter(|sampler| at_end || sampler.is_due(now)) else {
            return Vec::new();
        };
        let threads = &self.agent.threads;
        // Read before the threads are: a change meanwhile is seen the next time.
        let changes = threads.changes();
        let java = (self.listed != Some(changes)).then(|| {
            let slots = threads.iter().filter(|slot| !slot.is_filtered.load(Ordering::Relaxed));
            slots.map(|slot| Found { thread: slot.thread(), os_id: slot.os_id.load(Ordering::Relaxed) }).collect()
        });
        self.listed = Some(changes);
        let mut events = Vec::new();
        // After the list: a thread that is missing in it has left its last reading.
        sampler.sample(now, java, self.agent.steal.ended.take(), at_end, &mut events);
        events
    }

    /// Takes in what application threads recorded; gives transactions that are
    /// complete to `sink`.
    pub fn feed(&mut self, event: &Event, dictionary: &Dictionary, sink: &mut dyn FnMut(Event)) {
        match self.migrating.keeps(event, dictionary) {
            false => self.feed_now(event, dictionary, sink),
            true if self.migrating.is_full() => self.settle(TimeNs(u64::MAX), dictionary, sink),
            true => {}
        }
    }

    /// Everything before `until` was taken in.
    pub fn settle(&mut self, until: TimeNs, dictionary: &Dictionary, sink: &mut dyn FnMut(Event)) {
        for event in self.migrating.before(until) {
            self.feed_now(&event, dictionary, sink);
        }
    }

    fn feed_now(&mut self, event: &Event, dictionary: &Dictionary, sink: &mut dyn FnMut(Event)) {
        match event {
            Event::TransactionPoint(point) => {
                let kind = self.agent.steal.transactions.name(point.kind);
                self.pairing.point(point, kind, sink);
            }
            _ => self.pairing.feed(event, dictionary, sink),
        }
    }

    /// Says what was held back: once a flush.
    pub fn flush(&mut self, sink: &mut dyn FnMut(Event)) {
        self.pairing.flush(sink);
        self.count_losses();
    }

    /// The recording ends: what is still open is reported as far as it got.
    pub fn finish(&mut self, now: TimeNs, sink: &mut dyn FnMut(Event)) {
        self.agent.steal.ended.set_wanted(false);
        self.pairing.finish(now, sink);
        self.count_losses();
    }

    fn count_losses(&mut self) {
        for (loss, count) in self.pairing.take_losses() {
            if count > 0 {
                self.agent.losses.add(loss, count);
            }
        }
    }
}

/// The definition of a thread that only the kernel knows.
fn native_definition(os_id: u32, name: String) -> ThreadDef {
    let id = headway_model::ThreadId::native(os_id);
    ThreadDef { id, os_id, name: name.into(), group: "".into(), is_virtual: false, is_service: true }
}
