//! What Headway itself cost the process, in a sentence or two.

use super::numbers::{counted, percent, time};
use crate::agent::reply::Reply;
use headway_analysis::report::{RecordingSummary, CALLS_FOR_AN_ESTIMATE};
use headway_protocol::State;

/// What the agent measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnCost {
    /// CPU time of its threads.
    own_cpu_ns: u64,
    /// Estimated CPU time of its hooks on application threads.
    hook_cpu_ns: u64,
    /// How far the interval around it reaches to each side.
    hook_cpu_error_ns: u64,
    /// Calls that were timed for the estimate.
    timed_calls: u64,
    /// CPU time of the process; 0 in recordings of version 0.1.
    process_cpu_ns: u64,
    /// CPU time of beginning the recording.
    attach_cpu_ns: u64,
    /// How long that held up the application.
    attach_pause_ns: u64,
    /// True if the kernel's interrupts that take CPU samples come on top.
    has_interrupts: bool,
}

impl From<&RecordingSummary> for OwnCost {
    fn from(recording: &RecordingSummary) -> OwnCost {
        OwnCost {
            own_cpu_ns: recording.own_cpu_ns,
            hook_cpu_ns: recording.hook_cpu_ns,
            hook_cpu_error_ns: recording.hook_cpu_error_ns,
            timed_calls: recording.timed_calls,
            process_cpu_ns: recording.process_cpu_ns,
            attach_cpu_ns: recording.attach_cpu_ns,
            attach_pause_ns: recording.attach_pause_ns,
            has_interrupts: recording.settings.iter().any(|(name, _)| name == "engine"),
        }
    }
}

impl From<&Reply> for OwnCost {
    fn from(reply: &Reply) -> OwnCost {
        let cpu = reply.mechanisms.iter().find(|mechanism| mechanism.name == "cpu");
        OwnCost {
            own_cpu_ns: reply.own_cpu_ns.unwrap_or(0),
            hook_cpu_ns: reply.hook_cpu_ns.unwrap_or(0),
            hook_cpu_error_ns: reply.hook_cpu_error_ns.unwrap_or(0),
            timed_calls: reply.timed_calls.unwrap_or(0),
            process_cpu_ns: reply.process_cpu_ns.unwrap_or(0),
            attach_cpu_ns: reply.attach_cpu_ns.unwrap_or(0),
            attach_pause_ns: reply.attach_pause_ns.unwrap_or(0),
            has_interrupts: cpu.is_some_and(|mechanism| mechanism.state != State::Off),
        }
    }
}

impl OwnCost {
    /// For a person; `None` if nothing was measured.
    pub fn sentences(&self) -> Option<String> {
        let sentences: Vec<String> = self.running().into_iter().chain(self.starting()).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// What recording cost: as time, since a share of an idle process says little, and as that share.
    fn running(&self) -> Option<String> {
        if self.process_cpu_ns == 0 {
            return (self.own_cpu_ns > 0)
                .then(|| format!("Headway's own threads used {} of CPU time.", time(self.own_cpu_ns)));
        }
        let share = |ns: u64| percent(ns as f64 / self.process_cpu_ns as f64);
        let of_all =
            |ns: u64| format!("{} of CPU time, {} of the process's {}", time(ns), share(ns), time(self.process_cpu_ns));
        let interrupts = if self.has_interrupts { ", interrupts that take CPU samples not included" } else { "" };
        if self.timed_calls < CALLS_FOR_AN_ESTIMATE {
            return Some(format!(
                "Headway's own threads used {}{interrupts}; its work on application threads was too rare for an estimate.",
                of_all(self.own_cpu_ns)
            ));
        }
        Some(format!(
            "Headway's own cost since the start of the recording: {}{interrupts}: own threads {}, work on application threads {} \
             (estimated from {}, 95 % confidence interval {} to {}).",
            of_all(self.own_cpu_ns + self.hook_cpu_ns),
            share(self.own_cpu_ns),
            share(self.hook_cpu_ns),
            counted(self.timed_calls, "timed call", "timed calls"),
            share(self.hook_cpu_ns.saturating_sub(self.hook_cpu_error_ns)),
            share(self.hook_cpu_ns.saturating_add(self.hook_cpu_error_ns)),
        ))
    }

    /// What it cost to begin.
    pub fn starting(&self) -> Option<String> {
        let cpu = (self.attach_cpu_ns > 0).then(|| format!("took {} of CPU time", time(self.attach_cpu_ns)));
        let pause =
            (self.attach_pause_ns > 0).then(|| format!("paused the process for {}", time(self.attach_pause_ns)));
        let costs: Vec<String> = cpu.into_iter().chain(pause).collect();
        (!costs.is_empty()).then(|| format!("Starting the recording {}.", costs.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn said(cost: OwnCost) -> String {
        cost.sentences().unwrap_or_default()
    }

    #[test]
    fn the_cost_is_a_share_and_says_how_it_was_found() {
        let cost = OwnCost {
            own_cpu_ns: 5 * MS,
            hook_cpu_ns: 3 * MS,
            hook_cpu_error_ns: MS,
            timed_calls: 2140,
            process_cpu_ns: 1000 * MS,
            attach_cpu_ns: 31 * MS,
            attach_pause_ns: 2 * MS,
            has_interrupts: true,
        };
        assert_eq!(
            said(cost),
            "Headway's own cost since the start of the recording: 8.00 ms of CPU time, 0.8 % of the process's 1.00 s, interrupts that take CPU \
             samples not included: own threads 0.5 %, work on application threads 0.3 % (estimated from 2,140 timed calls, \
             95 % confidence interval 0.2 % to 0.4 %). Starting the recording took 31.0 ms of CPU time and paused the process for 2.00 ms."
        );
        // A few calls may seem to cost more than the process used.
        for (timed_calls, hook_cpu_ns) in [(0, 0), (9, 1700 * MS)] {
            let few = OwnCost { timed_calls, hook_cpu_ns, attach_cpu_ns: 0, attach_pause_ns: 0, ..cost };
            assert_eq!(
                said(OwnCost { has_interrupts: false, ..few }),
                "Headway's own threads used 5.00 ms of CPU time, 0.5 % of the process's 1.00 s; its work on \
                 application threads was too rare for an estimate."
            );
        }
    }

    #[test]
    fn a_recording_without_the_measurement_says_what_it_knows() {
        let old = OwnCost { own_cpu_ns: 3 * MS, attach_pause_ns: 2 * MS, ..OwnCost::default() };
        assert_eq!(
            said(old),
            "Headway's own threads used 3.00 ms of CPU time. Starting the recording paused the process for 2.00 ms."
        );
        assert_eq!(OwnCost::default().sentences(), None);
    }
}
