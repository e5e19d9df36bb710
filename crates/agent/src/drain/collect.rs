//! Takes what application threads have appended, in the order in which the analyses
//! need it.

use super::{Drain, NOT_YET};
use crate::clock;
use crate::definitions::Definition;
use crate::large_blocks;
use crate::monitor;
use crate::naming::suits_class;
use crate::park::parks;
use crate::pressure::capture;
use crate::raw;
use headway_model::{Event, TimeNs};
use std::sync::atomic::Ordering;

/// Events taken in at a time.
const BATCH: usize = 512;

impl Drain {
    /// Takes the buffers that are full.
    pub(super) fn drain_full(&mut self) {
        let mut over = Vec::new();
        parks().under_way.look(self.agent, false, &mut |event| over.push(event));
        over.iter().for_each(|event| self.take_event(event));
        if !self.agent.pool.has_full_chunks() || large_blocks::is_short() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let agent = self.agent;
        if let Some(mut collector) = agent.pool.collector() {
            collector.drain(&mut |_, words| self.take_in(words, &mut batch));
        }
        self.take_batch(&mut batch);
        self.batch = batch;
    }

    /// Takes everything; `is_end` if nothing follows.
    pub(super) fn drain_all(&mut self, is_end: bool) -> TimeNs {
        let agent = self.agent;
        let watermark = agent.threads.settle().min(agent.recording_ended()).min(agent.samples.settled());
        let watermark = if is_end { watermark } else { agent.sampling.settled(watermark).max(self.drained_to) };
        let mut batch = std::mem::take(&mut self.batch);
        batch.append(&mut self.late);
        if self.unread.is_none() && self.is_late() {
            self.unread = Some(0);
        }
        let is_all = capture::sums(agent, &mut |event| batch.push(event));
        // Before what the threads did since.
        parks().under_way.look(agent, true, &mut |event| batch.push(event));
        if let Some(mut collector) = agent.pool.collector() {
            collector.drain(&mut |_, words| self.take_in(words, &mut batch));
            for slot in agent.threads.iter() {
                collector.visit(&slot.buffer, &mut |_, words| self.take_in(words, &mut batch));
                agent.collect_refusals(slot);
                if agent.pressure.is_sparing() {
                    batch.extend(capture::begins(slot, watermark));
                } else if agent.sampling.is_used() {
                    self.late.extend(monitor::report_sampled(agent, slot, watermark));
                }
            }
            if agent.sampling.is_used() {
                monitor::report_sampled_virtual(agent, watermark, &mut |event| self.late.push(event));
            }
            // What was handed over while we went round, by threads that ended.
            collector.drain(&mut |_, words| self.take_in(words, &mut batch));
        }
        let late = &mut self.late;
        parks().collect(agent, watermark, &mut |event| match event {
            Event::ParkBegin(_) if agent.sampling.is_used() => late.push(event),
            event => batch.push(event),
        });
        if is_end {
            batch.append(&mut self.late);
        }
        self.take_batch(&mut batch);
        self.batch = batch;
        if is_all && self.unread.is_none() {
            self.drained_to = watermark;
        }
        self.drained_to
    }

    /// Takes in a record. Batches are small so that an event is still in the
    /// processor's cache when it is looked at.
    #[inline]
    pub(super) fn take_in(&mut self, words: &[u64], batch: &mut Vec<Event>) {
        self.pace.took(words.len());
        if let Some(unread) = &mut self.unread {
            *unread += 1;
            return;
        }
        batch.extend(raw::decode(words));
        if batch.len() >= BATCH {
            self.take_batch(batch);
            // From the first record on that is not read, none is: what the others did
            // meanwhile would make no sense.
            self.unread = self.is_late().then_some(0);
        }
    }

    /// Definitions first: they were queued before the events that use them
    /// were appended, so taking them after the events misses none.
    pub(super) fn take_batch(&mut self, batch: &mut Vec<Event>) {
        batch.extend(self.agent.samples.take());
        for definition in self.agent.definitions.take() {
            match definition {
                Definition::Event(event) => self.take_event(&event),
                Definition::LockName(lock, name) => {
                    if let Some(mut def) = self.dictionary.lock(lock).cloned() {
                        if def.name.is_empty() && suits_class(&name, &def.class) {
                            def.name = name;
                            self.take_event(&Event::Lock(def));
                        }
                    }
                }
            }
        }
        for event in batch.iter() {
            self.pair(event);
            if !matches!(event, Event::TransactionPoint(_)) {
                self.take_event(event);
            }
        }
        batch.clear();
    }

    /// True when there is no time to read any more, or no memory for what is read.
    pub(super) fn is_late(&self) -> bool {
        if large_blocks::is_short() {
            return true;
        }
        let until = self.reads_until.load(Ordering::Relaxed);
        until != NOT_YET && clock::now().0 > until
    }
}
