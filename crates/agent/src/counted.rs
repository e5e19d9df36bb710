//! How many events of each kind were recorded, for `status`.

use headway_model::event::SampleState;
use headway_model::Event;
use std::collections::BTreeMap;

/// The word for samples of threads that wait. Those of running ones have the word of samples.
const WALL_SAMPLE: &str = "wall_sample";
/// Its place, behind those of all kinds.
const OF_WALL_SAMPLES: usize = Event::WORDS.len();

/// Events by kind: an addition for each, however many there are.
#[derive(Clone, Debug)]
pub struct Counted([u64; OF_WALL_SAMPLES + 1]);

impl Default for Counted {
    fn default() -> Counted {
        Counted([0; OF_WALL_SAMPLES + 1])
    }
}

impl Counted {
    /// Counts an event; definitions have no word.
    #[inline]
    pub fn add(&mut self, event: &Event) {
        let place = match event {
            Event::Sample(sample) if matches!(sample.state, SampleState::Waiting | SampleState::Runnable) => {
                OF_WALL_SAMPLES
            }
            _ => event.kind(),
        };
        if let Some(count) = self.0.get_mut(place) {
            *count += 1;
        }
    }

    /// The kinds that came, by their words.
    pub fn by_word(&self) -> BTreeMap<String, u64> {
        let words = Event::WORDS.iter().copied().chain([Some(WALL_SAMPLE)]);
        let counts = words.zip(self.0).filter(|(_, count)| *count > 0);
        counts.filter_map(|(word, count)| Some((word?.to_owned(), count))).collect()
    }
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
