//! From values to the events of causal profiling.

use super::chunk::Chunk;
use super::plan::Slot;
use headway_model::event::Experiment;
use headway_model::DurationNs;

impl Chunk {
    pub(super) fn experiment(&self) -> Experiment {
        let number = |slot| self.values.get(slot);
        Experiment {
            start: self.start(),
            end: self.end(),
            number: number(Slot::Experiment),
            speedup: self.values.float(Slot::Speedup),
            delay: DurationNs(number(Slot::Delay)),
            stopped: DurationNs(number(Slot::Stopped)),
            selected_samples: number(Slot::Selected),
            samples: number(Slot::Samples),
            period: DurationNs(number(Slot::Period)),
            cpus: u32::try_from(number(Slot::Cpus)).unwrap_or(0),
            off_cpu: number(Slot::OffCpu),
            interpreted: number(Slot::Interpreted),
            wakes: number(Slot::Wakes),
            run_queue: DurationNs(number(Slot::RunQueue)),
            in_flight: self.values.float(Slot::InFlight),
            visits: number(Slot::Visits),
            kind: self.values.text(Slot::Kind),
            target: self.values.text(Slot::ExperimentTarget),
            point: self.values.text(Slot::ProgressPoint),
        }
    }
}
