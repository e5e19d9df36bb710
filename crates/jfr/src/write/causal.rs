//! Events of causal profiling as bytes.

use super::events::Context;
use crate::encode::Encoder;
use crate::schema::id;
use headway_model::event::Experiment;

impl Context<'_> {
    pub(super) fn experiment(&self, e: &Experiment, out: &mut Encoder) {
        out.event(|o| {
            self.span(id::EXPERIMENT, e.start, e.end, o);
            o.varint(e.number);
            o.float(e.speedup);
            o.varint(e.delay.0);
            o.varint(e.stopped.0);
            o.varint(e.selected_samples);
            o.varint(e.samples);
            o.varint(e.period.0);
            o.int(i32::try_from(e.cpus).unwrap_or(i32::MAX));
            o.varint(e.off_cpu);
            o.varint(e.interpreted);
            o.varint(e.wakes);
            o.varint(e.run_queue.0);
            o.float(e.in_flight);
            o.varint(e.visits);
            o.string(&e.kind);
            o.string(&e.target);
            o.string(&e.point);
        });
    }
}
