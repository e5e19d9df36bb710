//! What Headway itself costs, as the draining thread adds it up.

use super::Drain;
use crate::agent::Agent;
use crate::clock;
use crate::own_cost::{CallCost, ONE_IN};
use headway_model::event::SelfCost;
use headway_model::{DurationNs, Event, TimeNs};

/// Flushes between two records of the agent's own cost.
const SELF_COST_FLUSHES: u64 = 10;

/// What the process and the agent in it have spent in their lives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub process: DurationNs,
    own_threads: DurationNs,
    /// What of it is the sampling thread's.
    pub sampling: DurationNs,
    calls: CallCost,
}

impl Spent {
    /// Up to now.
    pub(super) fn so_far(agent: &Agent) -> Spent {
        Spent {
            process: clock::process_cpu(),
            own_threads: agent.own_cost.of_threads(),
            sampling: agent.own_cost.of_sampling(),
            calls: agent.threads.call_cost(),
        }
    }

    /// CPU time of the agent's threads and its hooks.
    pub(super) fn of_agent(&self) -> DurationNs {
        self.own_threads + self.calls.of_all()
    }

    /// The same without the agent's own threads.
    pub(super) fn without_own_threads(self) -> Spent {
        Spent { own_threads: DurationNs::ZERO, sampling: DurationNs::ZERO, ..self }
    }

    /// How far the interval of 95 % around what hooks cost since then reaches to each side.
    pub(super) fn error_since(&self, before: Spent) -> DurationNs {
        (self.calls - before.calls).error()
    }

    /// For tests: what hooks cost is certain.
    #[cfg(test)]
    pub(super) fn made_up(process: DurationNs, own_threads: DurationNs, hooks: DurationNs) -> Spent {
        let calls = CallCost { calls: 1_000, total: DurationNs(hooks.0 / ONE_IN), squares: 0 };
        Spent { process, own_threads, sampling: DurationNs::ZERO, calls }
    }

    /// How many calls of hooks there were since then, estimated.
    pub(super) fn calls_since(&self, before: Spent) -> f64 {
        (self.calls - before.calls).calls as f64 * ONE_IN as f64
    }
}

impl Drain {
    pub(super) fn tell_self_cost(&mut self, time: TimeNs) {
        self.measure_self_cost(time);
        if self.flushes % SELF_COST_FLUSHES == 0 {
            self.take_event(&Event::SelfCost(self.recorded.cost));
        }
    }

    pub(super) fn measure_self_cost(&mut self, time: TimeNs) {
        let (agent, before) = (self.agent, self.spent_before);
        let now = Spent::so_far(agent);
        let calls = now.calls - before.calls;
        self.recorded.cost = SelfCost {
            time,
            own_cpu: now.own_threads - before.own_threads,
            attach_pause: agent.own_cost.attach_pause(),
            memory_bytes: agent.memory_bytes(),
            attach_cpu: agent.own_cost.attach(),
            process_cpu: now.process - before.process,
            hook_cpu: calls.of_all(),
            hook_cpu_error: calls.error(),
            timed_calls: calls.calls,
        };
    }
}
