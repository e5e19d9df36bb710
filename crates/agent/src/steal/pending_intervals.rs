//! Intervals whose threads are known and whose machine is not looked at yet. When
//! it is, what it did since is divided among them by time.

use super::sampler::Interval;
use headway_host::machine::CpuTime;
use headway_host::Machine;
use headway_model::event::{MachineTime, StealAccounting};
use headway_model::{DurationNs, Event};

/// Events that may wait.
const MOST: usize = 4_096;

/// See the module.
#[derive(Default)]
pub(super) struct PendingIntervals {
    intervals: Vec<(Interval, Vec<Event>)>,
    events: usize,
}

impl PendingIntervals {
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// True if no more should be added.
    pub fn is_full(&self) -> bool {
        self.events >= MOST
    }

    /// Adds an interval with its events.
    pub fn add(&mut self, interval: Interval, events: Vec<Event>) {
        self.events += events.len();
        self.intervals.push((interval, events));
    }

    /// Reports all. The machine, if it could be looked at, comes last in each
    /// interval: it ends it.
    pub fn tell(&mut self, machine: Option<&Machine>, accounting: StealAccounting, out: &mut Vec<Event>) {
        let of = self.intervals.iter().map(|(interval, _)| interval.duration.0).sum::<u64>().max(1);
        let mut from = 0;
        self.events = 0;
        for (interval, events) in std::mem::take(&mut self.intervals) {
            let to = from + interval.duration.0;
            out.extend(events);
            if let Some(machine) = machine {
                tell_machine(machine, Part { from, to, of }, (interval, accounting), out);
            }
            from = to;
        }
    }
}

/// Single CPUs only matter where something was stolen.
fn tell_machine(machine: &Machine, part: Part, when: (Interval, StealAccounting), out: &mut Vec<Event>) {
    let (Interval { start, duration }, accounting) = when;
    let event = |cpu, time: CpuTime| {
        let (busy, stolen, idle) = (part.take(time.busy_ns), part.take(time.stolen_ns), part.take(time.idle_ns));
        Event::MachineTime(MachineTime { start, duration, cpu, busy, stolen, idle, accounting })
    };
    if machine.all.stolen_ns > 0 {
        out.extend(machine.cpus.iter().map(|(number, time)| event(Some(*number), *time)));
    }
    out.push(event(None, machine.all));
}

/// A part of the time since the machine was last looked at. Parts that follow
/// each other add up to the whole.
#[derive(Clone, Copy)]
struct Part {
    from: u64,
    to: u64,
    of: u64,
}

impl Part {
    fn take(self, ns: u64) -> DurationNs {
        let until = |at: u64| u128::from(ns) * u128::from(at) / u128::from(self.of);
        DurationNs(u64::try_from(until(self.to) - until(self.from)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::TimeNs;

    #[test]
    fn intervals_get_their_part_and_together_all() {
        let mut pending = PendingIntervals::default();
        for (start, duration) in [(0, 1), (1, 1), (2, 5)] {
            pending.add(Interval { start: TimeNs(start), duration: DurationNs(duration) }, Vec::new());
        }
        let machine = Machine { all: CpuTime { busy_ns: 100, stolen_ns: 0, idle_ns: 70 }, cpus: Vec::new() };
        let mut out = Vec::new();
        pending.tell(Some(&machine), StealAccounting::LeftOut, &mut out);
        let parts = out.iter().map(|event| match event {
            Event::MachineTime(e) => (e.start.0, e.busy.0, e.idle.0),
            other => panic!("{other:?}"),
        });
        assert_eq!(parts.collect::<Vec<_>>(), [(0, 14, 10), (1, 14, 10), (2, 72, 50)]);
        assert!(pending.is_empty() && !pending.is_full());
    }
}
