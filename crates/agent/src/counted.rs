//! How many events of each kind were recorded, for `status`.

use headway_model::event::SampleState;
use headway_model::Event;
use std::collections::BTreeMap;

/// The words for the kinds, each at the place that [`place`] gives.
const WORDS: [&str; 23] = [
    "monitor_enter",
    "monitor_entered",
    "monitor_exit",
    "monitor_wait",
    "monitor_notify",
    "monitor_waited",
    "monitor_reentered",
    "park_begin",
    "park",
    "unpark",
    "short_parks",
    "thread_start",
    "thread_end",
    "stop_the_world",
    "steal",
    "thread_time",
    "throttling",
    "transaction",
    "experiment",
    "pressure_window",
    "pressure_phase",
    "cpu_sample",
    "wall_sample",
];

/// Events by kind: an addition for each, however many there are.
#[derive(Clone, Debug, Default)]
pub struct Counted([u64; WORDS.len()]);

impl Counted {
    /// Counts an event; definitions are none.
    #[inline]
    pub fn add(&mut self, event: &Event) {
        if let Some(count) = place(event).and_then(|place| self.0.get_mut(place)) {
            *count += 1;
        }
    }

    /// The kinds that came, by their words.
    pub fn by_word(&self) -> BTreeMap<String, u64> {
        let counts = WORDS.iter().zip(self.0).filter(|(_, count)| *count > 0);
        counts.map(|(word, count)| ((*word).to_owned(), count)).collect()
    }
}

/// The place of an event's word; `None` for what is no event.
#[inline]
fn place(event: &Event) -> Option<usize> {
    Some(match event {
        Event::MonitorEnter(_) => 0,
        Event::MonitorEntered(_) => 1,
        Event::MonitorExit(_) => 2,
        Event::MonitorWait(_) => 3,
        Event::MonitorNotify(_) => 4,
        Event::MonitorWaited(_) => 5,
        Event::MonitorReentered(_) => 6,
        Event::ParkBegin(_) => 7,
        Event::Park(_) => 8,
        Event::Unpark(_) => 9,
        Event::ShortParks(_) => 10,
        Event::ThreadStart(_) => 11,
        Event::ThreadEnd(_) => 12,
        Event::StopTheWorld(_) => 13,
        Event::MachineTime(_) => 14,
        Event::ThreadTime(_) => 15,
        Event::Throttling(_) => 16,
        Event::Transaction(_) => 17,
        Event::Experiment(_) => 18,
        Event::PressureWindow(_) => 19,
        Event::PressurePhase(_) => 20,
        Event::Sample(sample) => match sample.state {
            SampleState::Java | SampleState::Native => 21,
            SampleState::Waiting | SampleState::Runnable => 22,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{MonitorEnter, Park, PressurePhase, Sample, Unpark};

    #[test]
    fn events_are_counted_under_their_words() {
        let mut counted = Counted::default();
        let sample = |state| Event::Sample(Sample { state, ..Sample::default() });
        let events = [
            Event::MonitorEnter(MonitorEnter::default()),
            Event::Park(Park::default()),
            Event::Park(Park::default()),
            Event::Unpark(Unpark::default()),
            Event::PressurePhase(PressurePhase::default()),
            sample(SampleState::Native),
            sample(SampleState::Runnable),
            Event::Watermark(headway_model::TimeNs(1)),
        ];
        events.iter().for_each(|event| counted.add(event));
        let told = counted.by_word();
        let told: Vec<(&str, u64)> = told.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        let expected = [
            ("cpu_sample", 1),
            ("monitor_enter", 1),
            ("park", 2),
            ("pressure_phase", 1),
            ("unpark", 1),
            ("wall_sample", 1),
        ];
        assert_eq!(told, expected);
    }
}
