//! Where an event goes: to the definitions, the analyses and the recording. And what
//! the draining thread itself has to say.

use super::Drain;
use crate::clock;
use crate::long_contentions::Which;
use crate::park;
use crate::process::{self, CpuTimes};
use headway_model::event::ThreadDef;
use headway_model::{Event, Loss, ThreadId, TimeNs};

impl Drain {
    /// The draining thread is a thread of the process like any other.
    pub(super) fn introduce_myself(&mut self) {
        let os_id = process::current_os_id();
        self.take_event(&Event::Thread(ThreadDef {
            id: ThreadId::native(os_id),
            os_id,
            name: "headway-drain".into(),
            group: "".into(),
            is_virtual: false,
            is_service: true,
        }));
    }

    /// Takes in what a thread did for its transactions, and those that it ended.
    pub(super) fn pair(&mut self, event: &Event) {
        let mut events = Vec::new();
        self.steal.feed(event, &self.dictionary, &mut |event| events.push(event));
        for event in events {
            self.take_event(&event);
        }
    }

    pub(super) fn take_event(&mut self, event: &Event) {
        if let Event::Chain(def) = event {
            if let Some(shorter) = park::without_helper(def, &self.dictionary) {
                return self.take_event(&Event::Chain(shorter));
            }
        }
        self.dictionary.feed(event);
        if matches!(event, Event::Lock(_)) {
            self.parks.is_named();
        }
        // Where parks are only counted, nobody asks for more.
        if self.writer.is_some() {
            self.pressure.feed(event, &self.dictionary);
        }
        self.counted.add(event);
        match event {
            Event::ThreadEnd(end) => {
                if let Some(dying) = self.dying.back_mut() {
                    dying.threads.push(end.thread);
                }
            }
            Event::Thread(thread) if thread.is_virtual => self.remember_virtual(thread.id),
            Event::Chain(def) => self.code_seen.chain = self.code_seen.chain.max(def.id),
            Event::MonitorExit(exit) => {
                if let Some(recompilation) = &mut self.recompilation {
                    recompilation.on_exit(exit, &self.dictionary);
                }
            }
            _ => {}
        }
        if self.is_recorded(event) {
            self.write(event);
        }
    }

    /// What the minimum duration held back until now.
    pub(super) fn record_held_back(&mut self, watermark: TimeNs) {
        let events = self.minimum.flush(watermark);
        self.record_derived(events);
    }

    /// Windows and phases are derived: nothing here analyses them again.
    pub(super) fn record_derived(&mut self, events: Vec<Event>) {
        for event in events {
            self.counted.add(&event);
            self.write(&event);
        }
    }

    pub(super) fn write(&mut self, event: &Event) {
        if let Some(writer) = &mut self.writer {
            writer.event(event, &self.dictionary);
        }
    }

    /// CPU and steal time of an interval, if one is over.
    pub(super) fn sample_steal(&mut self, at_end: bool) {
        for event in self.steal.sample(at_end) {
            self.take_event(&event);
        }
    }

    /// Who owns the locks for which threads have been blocked for long.
    pub(super) fn tell_long_contentions(&mut self, which: Which) {
        if !self.monitors || self.agent.pressure.is_sparing() {
            return;
        }
        let mut events = Vec::new();
        self.long.look(self.agent, clock::now(), which, &mut |event| events.push(event));
        for event in events {
            match event {
                // Smaller numbers of its lock may still be on their way.
                Event::MonitorEnter(_) => self.late.push(event),
                event => self.take_event(&event),
            }
        }
    }

    /// Transactions that ended on other carriers than they began on, and those
    /// that were added up; at the end those that are open, too.
    pub(super) fn tell_transactions(&mut self, watermark: TimeNs, is_end: bool) {
        let mut events = Vec::new();
        let settled = if is_end { TimeNs(u64::MAX) } else { watermark };
        self.steal.settle(settled, &self.dictionary, &mut |event| events.push(event));
        match is_end {
            false => self.steal.flush(&mut |event| events.push(event)),
            true => self.steal.finish(watermark, &mut |event| events.push(event)),
        }
        for event in events {
            self.take_event(&event);
        }
    }

    pub(super) fn tell_losses(&mut self) {
        let refused = self.agent.definitions.take_refused();
        if refused > 0 {
            self.agent.losses.add(Loss::MethodUnresolved, refused);
        }
        for (loss, total) in self.agent.losses.all() {
            let recorded = self.recorded_losses.entry(loss).or_default();
            let more = total.saturating_sub(*recorded);
            *recorded = total;
            if more > 0 {
                self.take_event(&Event::Lost(loss, more));
            }
        }
    }

    pub(super) fn tell_load(&mut self, time: TimeNs) {
        let now = CpuTimes::now();
        let before = std::mem::replace(&mut self.cpu_times, now);
        let load = now.zip(before).and_then(|(now, before)| now.load_since(before, time));
        if let Some(load) = load {
            self.take_event(&Event::CpuLoad(load));
        }
    }

    /// True if the event is to be recorded now. What the recording's minimum holds
    /// back comes out of its `flush`.
    fn is_recorded(&mut self, event: &Event) -> bool {
        match self.pressure.is_alone() {
            true => !event.is_of_a_lock(),
            false => self.minimum.records(event),
        }
    }
}
