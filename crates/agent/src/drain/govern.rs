//! The governor: keeps what a recording costs within its budget.
//!
//! Once a second it compares the agent's CPU time, its hooks on application threads
//! included, with what the budget allows. While that is enough, everything is recorded.
//! Where it is not, contentions and parks are sampled from then on, in windows just as long as the
//! budget needs; where everything would fit again, everything is recorded again.

use super::self_cost::Spent;
use super::Drain;
use crate::own_cost::ONE_IN;
use crate::thread_entry::unnamed_virtual;
use headway_model::event::{Sampling, ThreadDef};
use headway_model::{DurationNs, Event, ThreadId, TimeNs};
use std::collections::VecDeque;

/// A process that idles pays so much, as a part of one CPU, whatever its own CPU time.
const FLOOR: f64 = 0.001;
/// The shortest and the longest window, in ns.
const WINDOWS_NS: (u64, u64) = (1_000_000, 200_000_000);
/// The first window's length.
const FIRST_NS: u64 = 5_000_000;
/// By so many times fewer looks at the owners of locks are taken, at the most.
const SLOWEST: u64 = 16;
/// Seconds that are looked at together.
const SECONDS: usize = 3;
/// Fewer calls say nothing about what one costs.
const FEW_CALLS: f64 = 20.0 * ONE_IN as f64;
/// The shortest time between two looks at the budget.
const PAUSE: DurationNs = DurationNs(900_000_000);
/// The part of the budget that is aimed at.
const AIM: f64 = 0.8;
/// Everything is recorded again where that is expected to cost less than this part.
const FITS: f64 = 0.6;
/// A change is for a moment to come: threads that have read the clock still follow the old schedule.
const AHEAD: DurationNs = DurationNs(20_000_000);

/// What was spent in an interval, in ns; and how many calls of hooks there were.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    length: f64,
    process: f64,
    own: f64,
    /// How far the interval of 95 % around `own` reaches to each side.
    error: f64,
    calls: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Governor {
    /// Part of the process's CPU time; `None` if everything is recorded, whatever it costs.
    budget: Option<f64>,
    /// Length of a window in ns; 0 while everything is recorded.
    window_ns: u64,
    intervals: VecDeque<Interval>,
    /// What a call costs while everything is recorded, the draining thread's part included.
    exact_call_ns: f64,
    /// True once it was said that the budget cannot be kept.
    has_complained: bool,
}

impl Governor {
    /// Nothing was measured yet.
    pub fn new(budget: Option<f64>, window_ns: Option<u64>) -> Governor {
        Governor { budget, window_ns: window_ns.unwrap_or(0), ..Governor::default() }
    }

    /// The length of windows from now on, if it changes.
    fn decide(&mut self, latest: Interval) -> Option<u64> {
        let budget = self.budget?;
        self.intervals.push_back(latest);
        if self.intervals.len() > SECONDS {
            self.intervals.pop_front();
        }
        let sum = |part: fn(&Interval) -> f64| self.intervals.iter().map(part).sum::<f64>();
        let (own, calls) = (sum(|i| i.own), sum(|i| i.calls));
        let allowed = (budget * sum(|i| i.process)).max(FLOOR * sum(|i| i.length)).max(1.0);
        // One slow call among those that are timed stands for a thousand: what is certain is over.
        let least = own - self.intervals.iter().map(|i| i.error * i.error).sum::<f64>().sqrt();
        let (ratio, least) = (own / allowed, least / allowed);
        let is_sure = self.intervals.len() > 1;
        let window = match self.window_ns {
            0 => {
                self.learn(latest);
                let is_over = least > 2.0 || is_sure && least > 1.0;
                if is_over {
                    FIRST_NS
                } else {
                    0
                }
            }
            now if least > 1.0 || is_sure && ratio > 1.0 => longer(now, ratio),
            now if !is_sure || ratio > FITS => now,
            _ if calls * self.exact_call_ns < FITS * allowed => 0,
            now => (now / 2).max(WINDOWS_NS.0),
        };
        let changes = window != self.window_ns;
        if changes {
            self.window_ns = window;
            self.intervals.clear();
        }
        changes.then_some(window)
    }

    /// What a call costs while everything is recorded: a mean that forgets slowly.
    fn learn(&mut self, latest: Interval) {
        if latest.calls >= FEW_CALLS {
            let now = latest.own / latest.calls;
            let before = if self.exact_call_ns > 0.0 { self.exact_call_ns } else { now };
            self.exact_call_ns = 0.8 * before + 0.2 * now;
        }
    }

    /// True, once, if the longest windows still cost more than the budget.
    fn complains(&mut self, latest: Interval) -> bool {
        let Some(budget) = self.budget else { return false };
        let is_over = latest.own > 1.5 * (budget * latest.process).max(FLOOR * latest.length);
        let complains = is_over && self.window_ns == WINDOWS_NS.1 && !self.has_complained;
        self.has_complained |= complains;
        complains
    }
}

fn longer(now: u64, ratio: f64) -> u64 {
    let factor = (ratio / AIM).clamp(1.25, 4.0);
    ((now as f64 * factor) as u64).clamp(WINDOWS_NS.0, WINDOWS_NS.1)
}

impl Drain {
    /// Begins with windows of the length that was asked for, if one was. Before threads record.
    pub fn begin_sampling(&mut self, start: TimeNs) {
        if self.governor.window_ns > 0 {
            self.sample_from(start, self.governor.window_ns);
        }
    }

    /// Sees to the budget, with what was spent since the last time.
    pub(super) fn govern(&mut self, now: TimeNs) {
        if now.since(self.governed.1) >= PAUSE {
            self.decide(now);
        }
        // Again each time: the beginning of the recording may be removed.
        if let Some(sampling) = self.sampling {
            self.take_event(&Event::Sampling(sampling));
        }
    }

    fn decide(&mut self, now: TimeNs) {
        let spent = Spent::so_far(self.agent);
        let (before, since) = std::mem::replace(&mut self.governed, (spent, now));
        let interval = Interval {
            length: now.since(since).0 as f64,
            process: (spent.process - before.process).0 as f64,
            own: (spent.of_agent() - before.of_agent()).0 as f64,
            error: spent.error_since(before).0 as f64,
            calls: spent.calls_since(before),
        };
        if let Some(window_ns) = self.governor.decide(interval) {
            self.sample_from(now + AHEAD, window_ns);
        }
        if self.governor.complains(interval) {
            let share = 100.0 * interval.own / interval.process.max(1.0);
            let reason = format!(
                "the budget is exceeded: Headway takes {share:.1} % of the CPU time although it samples as little as it \
                 can; raise --budget, or record less (-e monitor; no samples)"
            );
            self.agent.definitions.degraded("budget", &reason);
        }
    }

    fn sample_from(&mut self, time: TimeNs, window_ns: u64) {
        let sampling = Sampling { time, window: DurationNs(window_ns), seed: time.0 };
        if self.sampling.is_none() {
            self.take_event(&Event::Thread(some_virtual_thread()));
        }
        self.take_event(&Event::Sampling(sampling));
        self.agent.sampling.change(sampling);
        self.agent.samples.look_slower(window_ns.div_ceil(FIRST_NS).clamp(1, SLOWEST));
        self.sampling = Some(sampling);
    }
}

/// What stands for virtual threads whose parks are added up together.
fn some_virtual_thread() -> ThreadDef {
    ThreadDef {
        name: "virtual threads".into(),
        group: "virtual threads".into(),
        ..unnamed_virtual(ThreadId::SOME_VIRTUAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second of a process that uses one CPU, whose locks are used so often that recording
    /// all of it costs `exact` of that, and sampling with a window of 1 ms a fifth of that.
    fn second(exact: f64, window_ns: u64) -> Interval {
        let share = match window_ns {
            0 => exact,
            window => 0.05 * exact + 0.15 * exact * 1e6 / window as f64,
        };
        Interval { length: 1e9, process: 1e9, own: share * 1e9, error: 0.0, calls: exact * 1e6 }
    }

    /// Lengths of windows and what was paid, second by second.
    fn play(governor: &mut Governor, loads: impl IntoIterator<Item = f64>) -> Vec<(u64, f64)> {
        let mut seconds = Vec::new();
        for exact in loads {
            let interval = second(exact, governor.window_ns);
            seconds.push((governor.window_ns, interval.own / 1e9));
            governor.decide(interval);
        }
        seconds
    }

    #[test]
    fn what_fits_is_recorded_whole() {
        let mut governor = Governor::new(Some(0.01), None);
        assert!(play(&mut governor, [0.0, 0.002, 0.009, 0.009, 0.0]).iter().all(|(window, _)| *window == 0));
        let mut exact = Governor::new(None, None);
        assert!(play(&mut exact, [0.5; 20]).iter().all(|(window, _)| *window == 0));
    }

    #[test]
    fn a_load_that_grows_a_thousandfold_is_sampled_within_two_seconds_and_stays_within_the_budget() {
        let mut governor = Governor::new(Some(0.01), None);
        play(&mut governor, [0.0001; 10]);
        let seconds = play(&mut governor, [0.1; 60]);
        assert!(seconds[1].0 > 0, "{seconds:?}");
        let late = &seconds[10..];
        assert!(late.iter().all(|(_, paid)| *paid <= 0.0105), "{late:?}");
        let changes = late.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        assert!(changes <= 3, "{changes} changes: {late:?}");
        let again = play(&mut governor, [0.0001; 20]);
        assert_eq!(again.last().unwrap().0, 0, "{again:?}");
    }

    #[test]
    fn windows_have_bounds_and_what_cannot_be_kept_is_said_once() {
        let mut governor = Governor::new(Some(0.01), None);
        let seconds = play(&mut governor, [0.9; 30]);
        assert_eq!(seconds.last().unwrap().0, WINDOWS_NS.1);
        let interval = second(0.9, WINDOWS_NS.1);
        assert!(governor.complains(interval) && !governor.complains(interval));
    }

    #[test]
    fn an_idle_process_may_pay_a_little() {
        let mut governor = Governor::new(Some(0.01), None);
        let idle = Interval { length: 1e9, process: 5e6, own: 0.9e6, error: 0.0, calls: 100.0 };
        (0..20).for_each(|_| assert_eq!(governor.decide(idle), None));
    }
}
