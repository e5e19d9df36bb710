//! The governor: keeps what a recording costs and how fast its file grows within bounds.
//!
//! Once a second it compares the agent's CPU time, its hooks on application threads
//! included, with what the budget allows, and the growth of the file with the rate that is
//! allowed. While that is enough, everything is recorded. Where it is not, contentions and
//! parks are sampled from then on, in windows just as long as the bound that is exceeded
//! more needs; where everything would fit again, everything is recorded again.

use super::self_cost::Spent;
use super::Drain;
use crate::clock;
use crate::options::Options;
use crate::own_cost::ONE_IN;
use crate::thread_entry::unnamed_virtual;
use headway_jfr::RecordingWriter;
use headway_model::event::{Sampling, SamplingBound, ThreadDef};
use headway_model::{quantity, DurationNs, Event, ThreadId, TimeNs};
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
/// Seconds over which a file must not grow faster than it may.
const FILE_SECONDS: usize = 10;
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

/// What was spent in an interval, in ns, and written, in bytes; and how many calls of hooks
/// there were.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    length: f64,
    process: f64,
    own: f64,
    /// How far the interval of 95 % around `own` reaches to each side.
    error: f64,
    bytes: f64,
    calls: f64,
}

/// What a recording must not exceed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// Part of the process's CPU time.
    budget: Option<f64>,
    /// Bytes of recording in a second.
    max_rate: Option<f64>,
}

impl Bounds {
    /// Those that were asked for.
    pub fn of(options: &Options) -> Bounds {
        Bounds { budget: options.budget, max_rate: options.max_rate.map(|bytes| bytes as f64) }
    }
}

/// How far a bound is used up: 1 if wholly.
#[derive(Clone, Copy, Debug)]
struct Load {
    bound: SamplingBound,
    now: f64,
    /// What is certain of it.
    least: f64,
    /// What it would be if everything were recorded.
    exact: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Governor {
    /// If there are none, everything is recorded, whatever it costs.
    bounds: Bounds,
    /// Length of a window in ns; 0 while everything is recorded.
    window_ns: u64,
    /// What decided that.
    bound: SamplingBound,
    intervals: VecDeque<Interval>,
    /// Lengths of the latest intervals, and what was written in them.
    written: VecDeque<(f64, f64)>,
    /// What a call costs while everything is recorded, the draining thread's part included.
    exact_call_ns: f64,
    /// What it writes then.
    exact_call_bytes: f64,
    /// True once it was said that a bound cannot be kept.
    has_complained: bool,
}

impl Governor {
    /// Nothing was measured yet.
    pub fn new(bounds: Bounds, window_ns: Option<u64>) -> Governor {
        Governor { bounds, window_ns: window_ns.unwrap_or(0), ..Governor::default() }
    }

    /// The length of windows from now on, if it changes.
    fn decide(&mut self, latest: Interval) -> Option<u64> {
        self.keep(latest);
        if self.window_ns == 0 {
            self.learn(latest);
        }
        let loads = self.loads();
        let worst = loads.iter().copied().max_by(|a, b| a.now.total_cmp(&b.now))?;
        let is_sure = self.intervals.len() > 1;
        let is_over = loads.iter().any(|load| load.least > 1.0 && (is_sure || load.least > 2.0));
        // One slow call among those that are timed stands for a thousand: what is certain is over.
        let is_too_much = is_sure && worst.now > 1.0 || worst.least > 1.0;
        let window = match self.window_ns {
            0 if is_over => FIRST_NS,
            0 => 0,
            now if is_too_much => longer(now, worst.now),
            now if !is_sure || worst.now > FITS || self.file_load() > FITS => now,
            _ if loads.iter().all(|load| load.exact < FITS) => 0,
            now => (now / 2).max(WINDOWS_NS.0),
        };
        let changes = window != self.window_ns;
        if changes {
            self.window_ns = window;
            self.bound = worst.bound;
            self.intervals.clear();
        }
        changes.then_some(window)
    }

    fn keep(&mut self, latest: Interval) {
        self.intervals.push_back(latest);
        if self.intervals.len() > SECONDS {
            self.intervals.pop_front();
        }
        self.written.push_back((latest.length, latest.bytes));
        if self.written.len() > FILE_SECONDS {
            self.written.pop_front();
        }
    }

    /// How far each bound is used up.
    fn loads(&self) -> Vec<Load> {
        let sum = |part: fn(&Interval) -> f64| self.intervals.iter().map(part).sum::<f64>();
        let (length, calls) = (sum(|i| i.length), sum(|i| i.calls));
        let cpu = self.bounds.budget.map(|budget| {
            let allowed = (budget * sum(|i| i.process)).max(FLOOR * length).max(1.0);
            let error = self.intervals.iter().map(|i| i.error * i.error).sum::<f64>().sqrt();
            let own = sum(|i| i.own);
            let exact = calls * self.exact_call_ns / allowed;
            Load { bound: SamplingBound::Cpu, now: own / allowed, least: (own - error) / allowed, exact }
        });
        let file = self.bounds.max_rate.map(|rate| {
            let allowed = (rate * length / 1e9).max(1.0);
            let now = sum(|i| i.bytes) / allowed;
            Load { bound: SamplingBound::FileRate, now, least: now, exact: calls * self.exact_call_bytes / allowed }
        });
        cpu.into_iter().chain(file).collect()
    }

    /// How far the growth of the file is used up over the seconds for which it is bounded.
    fn file_load(&self) -> f64 {
        let Some(rate) = self.bounds.max_rate else { return 0.0 };
        let (length, bytes) = self.written.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        bytes / (rate * length / 1e9).max(1.0)
    }

    /// What a call costs and writes while everything is recorded: means that forget slowly.
    fn learn(&mut self, latest: Interval) {
        if latest.calls >= FEW_CALLS {
            let mean = |before: f64, now: f64| if before > 0.0 { 0.8 * before + 0.2 * now } else { now };
            self.exact_call_ns = mean(self.exact_call_ns, latest.own / latest.calls);
            self.exact_call_bytes = mean(self.exact_call_bytes, latest.bytes / latest.calls);
        }
    }

    /// The bound, once, that the longest windows still exceed.
    fn complains(&mut self) -> Option<SamplingBound> {
        let is_longest = self.window_ns == WINDOWS_NS.1 && !self.has_complained;
        let over = self.loads().into_iter().find(|load| is_longest && load.least > 1.5)?;
        self.has_complained = true;
        Some(over.bound)
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
            self.sample_from(start, self.governor.window_ns, SamplingBound::Window);
        }
    }

    /// Sees to the budget, with what was spent since the last time.
    pub(super) fn govern(&mut self, now: TimeNs) {
        if now.since(self.governed.2) >= PAUSE {
            self.decide(now);
        }
        // Again each time: the beginning of the recording may be removed.
        if let Some(sampling) = self.sampling {
            self.take_event(&Event::Sampling(sampling));
        }
    }

    fn decide(&mut self, now: TimeNs) {
        let (spent, bytes) = (Spent::so_far(self.agent), self.writer.as_ref().map_or(0, RecordingWriter::bytes));
        let (before, bytes_before, since) = std::mem::replace(&mut self.governed, (spent, bytes, now));
        let interval = Interval {
            length: now.since(since).0 as f64,
            process: (spent.process - before.process).0 as f64,
            own: (spent.of_agent() - before.of_agent()).0 as f64,
            error: spent.error_since(before).0 as f64,
            // The file is shorter where its oldest part was removed.
            bytes: bytes.saturating_sub(bytes_before) as f64,
            calls: spent.calls_since(before),
        };
        if let Some(window_ns) = self.governor.decide(interval) {
            self.sample_from(now + AHEAD, window_ns, self.governor.bound);
        }
        let reason = match self.governor.complains() {
            Some(SamplingBound::Cpu) => format!(
                "the budget is exceeded: Headway takes {:.1} % of the CPU time although it samples as little as it \
                 can; raise --budget, or record less (-e monitor; no samples)",
                100.0 * interval.own / interval.process.max(1.0)
            ),
            Some(_) => format!(
                "--max-rate is exceeded: the recording grows by {} a second although it samples as little as it can; \
                 raise --max-rate, or record less (-e monitor; no samples)",
                quantity::bytes((interval.bytes * 1e9 / interval.length.max(1.0)) as u64)
            ),
            None => return,
        };
        self.agent.definitions.degraded("budget", &reason);
    }

    /// What `status` says of it.
    pub(super) fn note_sampling(&mut self) {
        let sampling = self.sampling.filter(|sampling| sampling.window > DurationNs::ZERO && self.writer.is_some());
        self.recorded.notes.extend(sampling.map(|Sampling { time, window, bound, .. }| {
            let since = match clock::now().since(time) {
                DurationNs::ZERO => "from now on".to_owned(),
                since => format!("for {since}"),
            };
            format!("Contentions and parks are sampled in windows of {window} (--{}), {since}.", bound.name())
        }));
    }

    fn sample_from(&mut self, time: TimeNs, window_ns: u64, bound: SamplingBound) {
        let sampling = Sampling { time, window: DurationNs(window_ns), seed: time.0, bound };
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
        Interval { length: 1e9, process: 1e9, own: share * 1e9, error: 0.0, bytes: share * 1e8, calls: exact * 1e6 }
    }

    fn governor(budget: f64) -> Governor {
        Governor::new(Bounds { budget: Some(budget), max_rate: None }, None)
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
        let mut governor = governor(0.01);
        assert!(play(&mut governor, [0.0, 0.002, 0.009, 0.009, 0.0]).iter().all(|(window, _)| *window == 0));
        let mut exact = Governor::new(Bounds::default(), None);
        assert!(play(&mut exact, [0.5; 20]).iter().all(|(window, _)| *window == 0));
    }

    #[test]
    fn a_load_that_grows_a_thousandfold_is_sampled_within_two_seconds_and_stays_within_the_budget() {
        let mut governor = governor(0.01);
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
        let mut governor = governor(0.01);
        let seconds = play(&mut governor, [0.9; 30]);
        assert_eq!(seconds.last().unwrap().0, WINDOWS_NS.1);
        assert_eq!([governor.complains(), governor.complains()], [Some(SamplingBound::Cpu), None]);
    }

    #[test]
    fn an_idle_process_may_pay_a_little() {
        let mut governor = governor(0.01);
        let idle = Interval { length: 1e9, process: 5e6, own: 0.9e6, calls: 100.0, ..Interval::default() };
        (0..20).for_each(|_| assert_eq!(governor.decide(idle), None));
    }

    /// A megabyte a second may be written, and a tenth of a CPU would write ten.
    #[test]
    fn a_file_that_grows_too_fast_is_sampled_and_stays_below_its_rate_over_ten_seconds() {
        let bounds = Bounds { budget: Some(0.5), max_rate: Some(1e6) };
        let mut governor = Governor::new(bounds, None);
        play(&mut governor, [0.001; 10]);
        assert_eq!(governor.window_ns, 0);
        let seconds = play(&mut governor, [0.1; 60]);
        assert!(seconds[1].0 > 0 && governor.bound == SamplingBound::FileRate, "{seconds:?}");
        // The first second was over before it was seen: it counts in the ten that contain it.
        let rates: Vec<f64> =
            seconds[5..].windows(10).map(|ten| ten.iter().map(|(_, own)| own * 1e8 / 10.0).sum()).collect();
        assert!(rates.iter().all(|bytes| *bytes <= 1e6), "{rates:?}");
        let again = play(&mut governor, [0.001; 40]);
        assert_eq!(again.last().unwrap().0, 0, "{again:?}");
    }

    #[test]
    fn the_bound_that_is_exceeded_more_decides() {
        for (budget, max_rate, bound) in [(0.01, 5e6, SamplingBound::Cpu), (0.05, 1e6, SamplingBound::FileRate)] {
            let mut governor = Governor::new(Bounds { budget: Some(budget), max_rate: Some(max_rate) }, None);
            play(&mut governor, [0.2; 3]);
            assert_eq!(governor.bound, bound);
        }
    }
}
