//! From values to the events of causal profiling.

use super::chunk::Chunk;
use super::slot::slot;
use headway_model::event::Experiment;
use headway_model::DurationNs;

impl Chunk {
    pub(super) fn experiment(&self) -> Experiment {
        let number = |slot| self.values.get(slot);
        Experiment {
            start: self.start(),
            end: self.end(),
            number: number(slot!("experiment")),
            speedup: self.values.float(slot!("speedup")),
            delay: DurationNs(number(slot!("delay"))),
            stopped: DurationNs(number(slot!("stopped"))),
            selected_samples: number(slot!("selected")),
            samples: number(slot!("samples")),
            period: DurationNs(number(slot!("period"))),
            cpus: u32::try_from(number(slot!("cpus"))).unwrap_or(0),
            off_cpu: number(slot!("offCpu")),
            interpreted: number(slot!("interpreted")),
            wakes: number(slot!("wakes")),
            run_queue: DurationNs(number(slot!("runQueue"))),
            in_flight: self.values.float(slot!("inFlight")),
            visits: number(slot!("visits")),
            kind: self.values.text(slot!("kind")),
            target: self.values.text(slot!("experimentTarget")),
            point: self.values.text(slot!("progressPoint")),
        }
    }
}
