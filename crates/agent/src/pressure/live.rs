//! Windows, phases and the picture of now, on the draining thread.

use super::announce::Announcer;
use super::beans::BEANS;
use super::publish::Publisher;
use crate::agent::Agent;
use crate::options::Options;
use crate::state::Found;
use headway_analysis::pressure::online::{Closed, OnlinePressure};
use headway_analysis::pressure::PressureOptions;
use headway_analysis::Bounds;
use headway_hotspot::thread;
use headway_model::{Dictionary, DurationNs, Event, LockId, Loss, TimeNs};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;

/// See the module.
pub struct LivePressure {
    agent: &'static Agent,
    /// `None` once it has failed: the recording goes on without it.
    online: Option<Box<OnlinePressure>>,
    announcer: Announcer,
    publisher: Publisher,
    /// True if nothing else is recorded.
    alone: bool,
    /// Threads that wait since before the recording.
    found: Vec<Found>,
    folded: u64,
    /// What the agent's threads had used before.
    own_before: DurationNs,
}

impl LivePressure {
    /// Begins with a recording.
    pub fn new(agent: &'static Agent, options: &Options, start: TimeNs) -> LivePressure {
        let measure = PressureOptions::default();
        let measure = PressureOptions {
            interval: options.pressure_interval_ns.map_or(measure.interval, DurationNs),
            threshold: options.phase_threshold.unwrap_or(measure.threshold),
        };
        let alone = options.is_pressure_alone();
        agent.pressure.grid.set(start, measure.interval);
        agent.pressure.begin(alone);
        LivePressure {
            agent,
            online: Some(Box::new(OnlinePressure::new(measure, Bounds::online(), start, !alone))),
            announcer: Announcer::new(options.on_phase.clone()),
            publisher: Publisher::default(),
            alone,
            found: Vec::new(),
            folded: 0,
            own_before: agent.own_cost.of_threads(),
        }
    }

    /// True if nothing but windows and phases is recorded.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Takes in an event. `names` has the definitions that it refers to.
    pub fn feed(&mut self, event: &Event, names: &Dictionary) {
        self.guarded(|online| online.feed(event, names));
    }

    /// A lock's object died, and all its events were fed.
    pub fn forget_lock(&mut self, lock: LockId) {
        self.guarded(|online| online.forget_lock(lock));
    }

    /// All events before `watermark` were fed: what is to be recorded.
    pub fn advance(&mut self, watermark: TimeNs, dictionary: &Dictionary) -> Vec<Event> {
        self.announcer.reap();
        self.take_found(watermark);
        let closed = self.guarded(|online| {
            let closed = online.advance(watermark);
            if !closed.is_empty() {
                online.name_counters(dictionary);
            }
            closed
        });
        let closed = closed.unwrap_or_default();
        let any = !closed.is_empty();
        let events = self.tell(closed, dictionary);
        if any {
            self.publish(dictionary);
            self.count_folded();
        }
        events
    }

    /// Threads that wait since before the recording, and those of them that do so
    /// no more.
    fn take_found(&mut self, watermark: TimeNs) {
        let mut found = std::mem::take(&mut self.found);
        for new in self.agent.pressure.found.take() {
            let waits = self.guarded(|online| online.found_waiting(new.thread, new.at, new.in_monitor));
            found.extend(waits.unwrap_or(false).then_some(new));
        }
        found.retain(|found| {
            let is_waiting = self.is_blocked(found.vm_thread);
            self.guarded(|online| {
                if !is_waiting {
                    online.resumes(found.thread, watermark);
                }
                online.is_found_waiting(found.thread)
            })
            .unwrap_or(false)
        });
        self.found = found;
    }

    /// True if the VM says that the thread is blocked; also where it cannot be
    /// asked.
    fn is_blocked(&self, vm_thread: u64) -> bool {
        let Some(known) = self.agent.hotspot.known() else { return true };
        let look = || thread::is_blocked(&known.layout, &known.memory, vm_thread);
        self.agent.vm_memory.pass(look).unwrap_or(true)
    }

    /// The recording ends: what is still to be recorded.
    pub fn finish(&mut self, end: TimeNs, dictionary: &Dictionary) -> Vec<Event> {
        let closed = self.guarded(|online| online.finish(end)).unwrap_or_default();
        self.count_folded();
        self.publisher.end();
        BEANS.show(None);
        self.agent.pressure.begin(false);
        self.tell(closed, dictionary)
    }

    /// From now on the picture of now goes into this file, too.
    pub fn publish_to(&mut self, file: PathBuf, dictionary: &Dictionary) {
        self.publisher.add(file);
        self.publish(dictionary);
    }

    fn tell(&mut self, closed: Vec<Closed>, dictionary: &Dictionary) -> Vec<Event> {
        let mut events = Vec::new();
        if !closed.is_empty() {
            self.agent.pressure.forget_owners();
        }
        for closed in closed {
            for lock in closed.wanted {
                self.agent.pressure.ask(lock);
            }
            for phase in &closed.ended {
                self.announcer.ended(phase, dictionary);
                events.push(phase.event());
            }
            for phase in &closed.begun {
                self.announcer.begins(phase, dictionary);
            }
            events.extend(closed.windows.into_iter().map(Event::PressureWindow));
        }
        events
    }

    fn count_folded(&mut self) {
        let folded = self.online.as_ref().map_or(0, |online| online.folded());
        let more = folded.saturating_sub(std::mem::replace(&mut self.folded, folded));
        if more > 0 {
            self.agent.losses.add(Loss::AnalysisFull, more);
        }
    }

    fn publish(&mut self, dictionary: &Dictionary) {
        let for_beans = BEANS.are_read();
        if self.publisher.is_idle() && !for_beans {
            return;
        }
        let Some(mut picture) = self.guarded(|online| online.picture(dictionary)) else { return };
        let sleeping = self.sleeping().min(picture.threads.running);
        picture.threads.sleeping = sleeping;
        picture.threads.running -= sleeping;
        // Acquisitions that were under way when the recording began are no loss
        // that anybody can do something about.
        let losses = self.agent.losses.all().filter(|(loss, _)| *loss != Loss::UnpairedEntered);
        picture.dropped = losses.map(|(_, count)| count).sum();
        picture.counters.own_cpu_ns = (self.agent.own_cost.of_threads() - self.own_before).0;
        if let Ok(text) = serde_json::to_vec(&picture) {
            self.publisher.publish(&text);
        }
        if for_beans {
            BEANS.show(Some(picture));
        }
    }

    /// Threads that the VM says are blocked, while their events say nothing of
    /// a lock, a wait or a park.
    fn sleeping(&self) -> u64 {
        let (Some(known), Some(online)) = (self.agent.hotspot.known(), &self.online) else { return 0 };
        let look = |vm_thread| thread::is_blocked(&known.layout, &known.memory, vm_thread);
        let is_blocked = |vm_thread| self.agent.vm_memory.pass(|| look(vm_thread)).unwrap_or(false);
        let slots = self.agent.threads.iter();
        slots.filter(|slot| online.is_running(slot.thread()) && is_blocked(slot.vm_thread())).count() as u64
    }

    fn guarded<T>(&mut self, work: impl FnOnce(&mut OnlinePressure) -> T) -> Option<T> {
        let online = self.online.as_deref_mut()?;
        let done = catch_unwind(AssertUnwindSafe(|| work(online)));
        if done.is_err() {
            self.online = None;
            self.agent.losses.add(Loss::Panic, 1);
        }
        done.ok()
    }
}
