//! What Headway itself cost the process, in a sentence or two.

use super::numbers::{counted, percent, time};
use crate::agent::reply::Reply;
use headway_analysis::report::{Report, CALLS_FOR_AN_ESTIMATE};
use headway_protocol::State;

/// The time over which the limit has to hold.
const HELD_NS: u64 = 10_000_000_000;

/// `1 %`, `0.5 %`: with the digits that it has.
fn limit(budget: f64) -> String {
    format!("{} %", (budget * 1e6).round() / 1e4)
}

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
    /// How long the recording lasted.
    duration_ns: u64,
    /// What it may cost, as a part of the process's CPU time, or of one CPU if it used less.
    budget: Option<f64>,
    /// True if the recording says that there was no limit.
    has_no_limit: bool,
    /// True if a part of the recording cost more than that by far.
    is_exceeded: bool,
    /// CPU time of beginning the recording.
    attach_cpu_ns: u64,
    /// How long that held up the application.
    attach_pause_ns: u64,
    /// True if the kernel's interrupts that take CPU samples come on top.
    has_interrupts: bool,
}

impl From<&Report> for OwnCost {
    fn from(report: &Report) -> OwnCost {
        let recording = &report.recording;
        let setting =
            |name: &str| recording.settings.iter().find(|(setting, _)| setting == name).map(|(_, value)| value);
        let percent = setting("budget").and_then(|value| value.strip_suffix(" %")?.parse::<f64>().ok());
        OwnCost {
            own_cpu_ns: recording.own_cpu_ns,
            hook_cpu_ns: recording.hook_cpu_ns,
            hook_cpu_error_ns: recording.hook_cpu_error_ns,
            timed_calls: recording.timed_calls,
            process_cpu_ns: recording.process_cpu_ns,
            duration_ns: recording.duration_ns,
            budget: percent.map(|percent| percent / 100.0),
            has_no_limit: setting("budget").is_some_and(|value| value == "none"),
            is_exceeded: report.degraded.iter().any(|degraded| degraded.mechanism == "budget"),
            attach_cpu_ns: recording.attach_cpu_ns,
            attach_pause_ns: recording.attach_pause_ns,
            has_interrupts: setting("engine").is_some(),
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
            duration_ns: reply.duration_ns.unwrap_or(0),
            budget: reply.budget,
            // Older agents do not say whether there is one.
            has_no_limit: false,
            is_exceeded: reply.notes.iter().any(|note| note.starts_with("budget: exceeded")),
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
                .then(|| format!("Headway's own cost: its threads used {} of CPU time.", time(self.own_cpu_ns)));
        }
        let interrupts = if self.has_interrupts { ", interrupts that take CPU samples not included" } else { "" };
        let own = self.own_cpu_ns;
        if self.timed_calls < CALLS_FOR_AN_ESTIMATE {
            return Some(format!(
                "Headway's own cost: its threads used {} of CPU time, {}{interrupts}. Headway's work on application threads \
                 is not included: too few of its calls were timed for an estimate.",
                time(own),
                // What is not included may be over the limit.
                self.shares(own, (own, u64::MAX)),
            ));
        }
        let hooks = (
            self.hook_cpu_ns.saturating_sub(self.hook_cpu_error_ns),
            self.hook_cpu_ns.saturating_add(self.hook_cpu_error_ns),
        );
        let range = (own.saturating_add(hooks.0), own.saturating_add(hooks.1));
        let all = own + self.hook_cpu_ns;
        Some(format!(
            "Headway's own cost since the start of the recording: about {} of CPU time ({} to {}), {}{interrupts}. Own \
             threads used {}, work on application threads {} (estimated from {}, 95 % confidence interval {} to {}).",
            time(all),
            time(range.0),
            time(range.1),
            self.shares(all, range),
            time(own),
            time(self.hook_cpu_ns),
            counted(self.timed_calls, "timed call", "timed calls"),
            time(hooks.0),
            time(hooks.1),
        ))
    }

    /// `0.8 % of one CPU (limit 1 %: kept) or 1.6 % of the process's 4.82 s`: what the limit is a part of comes first.
    fn shares(&self, ns: u64, range: (u64, u64)) -> String {
        let of_process = format!(
            "{} of the process's {}",
            percent(ns as f64 / self.process_cpu_ns as f64),
            time(self.process_cpu_ns)
        );
        let Some(budget) = self.budget else {
            return if self.has_no_limit {
                format!("{of_process} (no limit for the cost was set)")
            } else {
                of_process
            };
        };
        let limit = format!("(limit {}{})", limit(budget), self.is_kept(budget, range));
        match self.process_cpu_ns < self.duration_ns {
            true => {
                let of_cpu = percent(ns as f64 / self.duration_ns as f64);
                format!("{of_cpu} of one CPU {limit} or {of_process}")
            }
            false => format!("{of_process} {limit}"),
        }
    }

    /// Whether the whole recording kept the limit, where that is not open.
    fn is_kept(&self, budget: f64, (low, high): (u64, u64)) -> &'static str {
        let allowed = budget * self.process_cpu_ns.max(self.duration_ns) as f64;
        match () {
            () if self.is_exceeded => ": exceeded",
            () if high as f64 <= allowed => ": kept",
            // It is a limit for the mean of this time.
            () if self.duration_ns < HELD_NS => ", as the mean of 10 s or more",
            () if low as f64 > allowed => ": not kept",
            () => "",
        }
    }

    /// What it cost to begin.
    pub fn starting(&self) -> Option<String> {
        let cpu = (self.attach_cpu_ns > 0).then(|| format!("took {} of CPU time", time(self.attach_cpu_ns)));
        let pause = (self.attach_pause_ns > 0)
            .then(|| format!("paused the process for at most {}", time(self.attach_pause_ns)));
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
            duration_ns: 500 * MS,
            budget: None,
            has_no_limit: false,
            is_exceeded: false,
            attach_cpu_ns: 31 * MS,
            attach_pause_ns: 2 * MS,
            has_interrupts: true,
        };
        assert_eq!(
            said(cost),
            "Headway's own cost since the start of the recording: about 8.00 ms of CPU time (7.00 ms to 9.00 ms), 0.8 % of \
             the process's 1.00 s, interrupts that take CPU samples not included. Own threads used 5.00 ms, work on \
             application threads 3.00 ms (estimated from 2,140 timed calls, 95 % confidence interval 2.00 ms to 4.00 ms). \
             Starting the recording took 31.0 ms of CPU time and paused the process for at most 2.00 ms."
        );
        // A few calls may seem to cost more than the process used.
        for (timed_calls, hook_cpu_ns) in [(0, 0), (9, 1700 * MS)] {
            let few = OwnCost { timed_calls, hook_cpu_ns, attach_cpu_ns: 0, attach_pause_ns: 0, ..cost };
            assert_eq!(
                said(OwnCost { has_interrupts: false, ..few }),
                "Headway's own cost: its threads used 5.00 ms of CPU time, 0.5 % of the process's 1.00 s. Headway's \
                 work on application threads is not included: too few of its calls were timed for an estimate."
            );
        }
    }

    #[test]
    fn the_cost_is_compared_with_the_limit() {
        let cost = OwnCost {
            own_cpu_ns: 79 * MS,
            process_cpu_ns: 4_820 * MS,
            duration_ns: 10_100 * MS,
            budget: Some(0.01),
            ..OwnCost::default()
        };
        let of = |cost: OwnCost, text: &str| assert!(said(cost).contains(text), "{}", said(cost));
        let all = OwnCost { timed_calls: CALLS_FOR_AN_ESTIMATE, ..cost };
        // A process that uses less than one CPU may cost this part of one.
        of(all, ", 0.8 % of one CPU (limit 1 %: kept) or 1.6 % of the process's 4.82 s. ");
        of(OwnCost { is_exceeded: true, ..all }, ", 0.8 % of one CPU (limit 1 %: exceeded) or ");
        of(OwnCost { budget: Some(0.005), ..all }, ", 0.8 % of one CPU (limit 0.5 %: not kept) or ");
        let short = OwnCost { duration_ns: 5_100 * MS, ..all };
        of(short, ", 1.5 % of one CPU (limit 1 %, as the mean of 10 s or more) or ");
        of(OwnCost { process_cpu_ns: 40_000 * MS, ..all }, ", 0.2 % of the process's 40.0 s (limit 1 %: kept). ");
        of(OwnCost { budget: None, ..all }, ", 1.6 % of the process's 4.82 s. ");
        let without = OwnCost { budget: None, has_no_limit: true, ..all };
        of(without, ", 1.6 % of the process's 4.82 s (no limit for the cost was set). ");
        // What is not included may be over the limit, or what is included is already.
        of(cost, ", 0.8 % of one CPU (limit 1 %) or 1.6 % of the process's 4.82 s. ");
        of(OwnCost { budget: Some(0.005), ..cost }, ", 0.8 % of one CPU (limit 0.5 %: not kept) or ");
        // What is estimated may be on both sides of the limit.
        let hooks = OwnCost { hook_cpu_ns: 20 * MS, hook_cpu_error_ns: 10 * MS, timed_calls: 12, ..cost };
        assert!(
            said(hooks).contains("(89.0 ms to 109 ms), 1.0 % of one CPU (limit 1 %) or 2.1 % of"),
            "{}",
            said(hooks)
        );
    }

    #[test]
    fn a_recording_without_the_measurement_says_what_it_knows() {
        let old = OwnCost { own_cpu_ns: 3 * MS, attach_pause_ns: 2 * MS, ..OwnCost::default() };
        assert_eq!(
            said(old),
            "Headway's own cost: its threads used 3.00 ms of CPU time. Starting the recording paused the process for at most 2.00 ms."
        );
        assert_eq!(OwnCost::default().sentences(), None);
    }
}
