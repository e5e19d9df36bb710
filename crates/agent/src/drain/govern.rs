//! The governor: keeps what a recording costs and how fast its file grows within bounds.
//!
//! Once a second it compares the agent's CPU time, its hooks on application threads
//! included, with what the budget allows, and the growth of the file with the rate that is
//! allowed; sooner if a whole second's allowance is spent before the second is over, as it is
//! within milliseconds where the load grows a thousandfold. While that is enough, everything is
//! recorded. Where it is not, CPU and wall-clock samples are taken less often if they have most of
//! the cost. Else owners of locks are looked at less often first, which loses only detail. If that
//! is not enough, contentions and waits are sampled from then on, in windows just as long as the
//! bound that is exceeded more needs. Where that is asked for and even counting what is not
//! recorded costs too much, parks of threads that park often are thinned out: only next to random instants
//! are they looked at.
//! Where everything would fit again, everything is recorded again, but not before the last 10 s
//! together leave room for it.

use super::self_cost::Spent;
use super::Drain;
use crate::clock;
use crate::options::{Engine, Options, CAUSAL, MOUNTS};
use crate::own_cost::ONE_IN;
use crate::park;
use crate::sample::plan;
use crate::thread_entry::unnamed_virtual;
use headway_jfr::RecordingWriter;
use headway_model::event::{Sampling, SamplingBound, ThreadDef};
use headway_model::{quantity, DurationNs, Event, ThreadId, TimeNs};
use std::collections::VecDeque;

/// A process that uses fewer CPUs has the budget of this many: what a recording costs whatever is
/// recorded is more than a part of next to nothing.
const LEAST_CPUS: f64 = 1.0;
/// The shortest and the longest window, in ns.
const WINDOWS_NS: (u64, u64) = (1_000_000, 200_000_000);
/// The first window's length.
const FIRST_NS: u64 = 5_000_000;
/// Where parks are thinned out, windows are at least this long: next to each instant hooks do as much
/// as without thinning. A fifth is long enough to know that not the details cost too much.
const THINNED_NS: u64 = 100_000_000;
/// By so many times fewer looks at the owners of locks are taken, at the most, and while everything
/// else is recorded.
const SLOWEST: u64 = 16;
const SLOWER: u64 = 4;
/// Looks are as frequent again where less than this part of the bounds is used up: were it all
/// for looks, more of them would still fit.
const AMPLE: f64 = 0.8 / SLOWER as f64;
/// Threads are sampled this many times less often than was asked for, at the most, and never less often than this.
const SPARSEST: u64 = 64;
const LONGEST_INTERVAL_NS: u64 = 1_000_000_000;
/// Samples are taken less often where they cost this part of all.
const MOST_OF_COST: f64 = 0.5;
/// Contentions are sampled at once where the bounds are exceeded by more than this factor.
const BY_FAR: f64 = 2.0;
/// Seconds that are looked at together.
const SECONDS: usize = 3;
/// The time over which the bounds have to hold, in ns.
const HELD_NS: f64 = 10e9;
/// Fewer calls say nothing about what one costs.
const FEW_CALLS: f64 = 20.0 * ONE_IN as f64;
/// The shortest time between two looks at the budget, while it is not exceeded.
const PAUSE: DurationNs = DurationNs(900_000_000);
/// The shortest time between two looks whether it is.
const WATCH: DurationNs = DurationNs(10_000_000);
/// The time whose allowance is not to be spent sooner.
const SECOND: DurationNs = DurationNs(1_000_000_000);
const HALF_A_SECOND: DurationNs = DurationNs(500_000_000);
/// The part of the budget that is aimed at.
const AIM: f64 = 0.8;
/// The part of a bound that is aimed at after a burst that used up all of it, at the least.
const LEAST_ROOM: f64 = 0.05;
/// Everything is recorded again where that is expected to cost less than this part.
const FITS: f64 = 0.6;
/// A change is for a moment to come: threads that have read the clock still follow the old schedule.
const AHEAD: DurationNs = DurationNs(20_000_000);

/// What was spent in an interval, in ns, and written, in bytes; and how many calls of hooks
/// there were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Interval {
    length: f64,
    process: f64,
    own: f64,
    /// What of it is the sampling thread's.
    sampling: f64,
    /// How far the interval of 95 % around `own` reaches to each side.
    error: f64,
    bytes: f64,
    calls: f64,
}

impl Interval {
    /// Both together; what timed calls may be off by is independent.
    fn and(self, other: &Interval) -> Interval {
        Interval {
            length: self.length + other.length,
            process: self.process + other.process,
            own: self.own + other.own,
            sampling: self.sampling + other.sampling,
            error: self.error.hypot(other.error),
            bytes: self.bytes + other.bytes,
            calls: self.calls + other.calls,
        }
    }
}

fn together<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Interval {
    intervals.into_iter().fold(Interval::default(), Interval::and)
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
    /// True if everything may be recorded, whatever it costs.
    fn are_none(&self) -> bool {
        self.budget.is_none() && self.max_rate.is_none()
    }

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
    /// What it would be if everything were counted.
    counted: f64,
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
    /// True while parks are thinned out.
    thins: bool,
    /// True if parks may be thinned out: where that is asked for, and nobody follows each of them.
    can_thin: bool,
    /// True while owners are looked at less often, whether anything is sampled or not.
    looks_slower: bool,
    /// So many times less often than asked for threads are sampled.
    sparser: u64,
    /// The most that this may be; 1 where no samples are taken but of owners, or experiments hang on them.
    sparsest: u64,
    intervals: VecDeque<Interval>,
    /// Intervals of the time over which the bounds have to hold.
    held: VecDeque<Interval>,
    /// What a call costs while everything is recorded, the draining thread's part included.
    exact_call_ns: f64,
    /// What it writes then.
    exact_call_bytes: f64,
    /// What a call costs while parks are counted and sampled.
    counted_call_ns: f64,
    /// False in the first second of the recording, when the agent's own threads name classes and threads.
    has_begun: bool,
    /// What was said, once, about a bound that cannot be kept.
    complaint: Option<String>,
    /// True once the recording says that samples are taken less often.
    has_said_sparser: bool,
    /// What to record instead, for that sentence.
    less: String,
    /// Since when something is sampled, if it is.
    sampled_since: Option<TimeNs>,
}

impl Governor {
    /// Nothing was measured yet.
    pub fn new(options: &Options) -> Governor {
        // Only where it is asked for: that it makes programs faster is not shown. Mounts and experiments
        // follow each park.
        let can_thin =
            options.thin_parks && options.wants(park::FEATURE) && !options.wants(MOUNTS) && !options.wants(CAUSAL);
        Governor {
            bounds: Bounds::of(options),
            window_ns: options.sampling_window_ns.unwrap_or(0),
            thins: options.thin_parks && options.sampling_window_ns.is_some() && can_thin,
            can_thin,
            sparser: 1,
            sparsest: sparsest(options),
            less: to_record_less(options),
            ..Governor::default()
        }
    }

    /// The length of windows from now on, if it changes. `is_alarm` if a whole second's allowance
    /// was spent in less than that.
    fn decide(&mut self, latest: Interval, is_alarm: bool) -> Option<u64> {
        if is_alarm {
            // What was before says nothing of the load that there is now.
            self.intervals.clear();
        }
        self.keep(latest);
        self.learn(latest);
        let loads = self.loads();
        let worst = loads.iter().copied().max_by(|a, b| a.now.total_cmp(&b.now))?;
        let (held, room) = (self.held_load(), self.room());
        let is_sure = self.intervals.len() > 1;
        // The CPU time that beginning the recording takes is no load that goes on.
        let begins = |load: &Load| self.held.len() < 2 && load.bound == SamplingBound::Cpu;
        let is_certain = |load: &Load| is_sure || load.least > BY_FAR && !begins(load);
        let is_over = is_alarm || loads.iter().any(|load| load.least > 1.0 && is_certain(load));
        // One slow call among those that are timed stands for a thousand: what is certain is over.
        let is_too_much = is_sure && worst.now > room || worst.least > 1.0;
        if let Some(sparser) = self.change_of_samples(is_over, is_sure, held) {
            self.sparser = sparser;
            self.intervals.clear();
            return None;
        }
        let is_by_far = is_alarm || worst.least > BY_FAR;
        let (window, thins) = match self.window_ns {
            0 if is_over && !is_by_far && !self.looks_slower => {
                self.look_slower(true);
                (0, false)
            }
            0 if is_over => (FIRST_NS, false),
            0 if self.looks_slower && is_sure && worst.now.max(held) < AMPLE => {
                self.look_slower(false);
                (0, false)
            }
            0 => (0, false),
            now if is_too_much && self.thinning_helps(&loads, room) => (now.max(THINNED_NS), true),
            now if is_too_much => (longer(now, worst.now / room), self.thins),
            now if !is_sure || worst.now > FITS * room || held > FITS => (now, self.thins),
            _ if loads.iter().all(|load| load.exact < FITS) => (0, false),
            now if self.thins && loads.iter().all(|load| load.counted < FITS) => (now, false),
            now if self.thins => ((now / 2).max(THINNED_NS).min(now), true),
            now => ((now / 2).max(WINDOWS_NS.0), false),
        };
        let changes = (window, thins) != (self.window_ns, self.thins);
        if changes {
            self.window_ns = window;
            self.thins = thins;
            self.bound = worst.bound;
            self.intervals.clear();
        }
        changes.then_some(window)
    }

    /// How many times less often threads are to be sampled, if that changes.
    fn change_of_samples(&self, is_over: bool, is_sure: bool, held: f64) -> Option<u64> {
        let measured = together(&self.intervals);
        let cpu = self.loads_of(measured).find(|load| load.bound == SamplingBound::Cpu)?;
        let is_most = measured.sampling >= MOST_OF_COST * measured.own;
        if is_over && cpu.least > 1.0 && is_most && self.sparser < self.sparsest {
            let needed = (cpu.now / AIM).ceil().clamp(2.0, 4.0) as u64;
            return Some((self.sparser * needed).min(self.sparsest));
        }
        // Twice as many samples cost twice as much.
        let twice = cpu.now * (1.0 + measured.sampling / measured.own.max(1.0));
        let fits = self.window_ns == 0 && !is_over && is_sure && twice < FITS && held < FITS;
        (fits && self.sparser > 1).then_some(self.sparser / 2)
    }

    /// True if longer windows would not help as much as counting less.
    fn should_thin(&self, bound: SamplingBound) -> bool {
        self.can_thin && !self.thins && bound == SamplingBound::Cpu && self.window_ns >= THINNED_NS / 5
    }

    /// True if the CPU time is too much, whatever else is, and parks are to be thinned out.
    fn thinning_helps(&self, loads: &[Load], room: f64) -> bool {
        loads.iter().any(|load| load.now > room && self.should_thin(load.bound))
    }

    /// What was measured before says nothing of what is to come.
    fn look_slower(&mut self, slower: bool) {
        self.looks_slower = slower;
        self.intervals.clear();
    }

    /// By how many times fewer looks at the owners of locks are to be taken.
    fn fewer_looks(&self) -> u64 {
        let least = if self.looks_slower { SLOWER } else { 1 };
        self.window_ns.div_ceil(FIRST_NS).clamp(least, SLOWEST)
    }

    /// What is looked at: in the first second, of the CPU time only what hooks cost, since what the
    /// agent's own threads spend on beginning the recording is no load that goes on.
    fn load_that_goes_on(&self, (spent, bytes, time): At) -> At {
        match self.has_begun {
            true => (spent, bytes, time),
            false => (spent.without_own_threads(), bytes, time),
        }
    }

    /// True if more than a second's allowance was spent in the last second, of which `half` is the
    /// last half, at most, and longer windows could help.
    fn is_alarming(&self, second: Interval, half: Interval) -> bool {
        let is_longest = self.window_ns >= WINDOWS_NS.1;
        let can_help = |load: &Load| !is_longest || self.should_thin(load.bound);
        let exceeds = |recent: Interval, factor: f64| {
            let scale = (1e9 / recent.length.max(1.0)).max(1.0);
            let second = Interval { length: recent.length * scale, process: recent.process * scale, ..recent };
            self.loads_of(second).any(|load| load.least > factor && can_help(&load))
        };
        // What is exceeded by less is first met by fewer looks at owners.
        match self.window_ns == 0 && !self.looks_slower {
            true => exceeds(half, 1.0) || exceeds(second, BY_FAR),
            false => exceeds(second, 1.0),
        }
    }

    /// The part of the bounds that may be used up from now on so that no time over which they have
    /// to hold exceeds them: less than 1 after a burst.
    fn room(&self) -> f64 {
        let mut recent = Interval::default();
        let mut room = 1.0_f64;
        for interval in self.held.iter().rev() {
            recent = recent.and(interval);
            let spent = self.loads_of(recent).map(|load| load.now).fold(0.0, f64::max) * recent.length;
            if recent.length < HELD_NS {
                room = room.min((HELD_NS - spent) / (HELD_NS - recent.length));
            }
        }
        room.max(LEAST_ROOM)
    }

    fn keep(&mut self, latest: Interval) {
        self.intervals.push_back(latest);
        if self.intervals.len() > SECONDS {
            self.intervals.pop_front();
        }
        self.held.push_back(latest);
        let mut length: f64 = self.held.iter().map(|interval| interval.length).sum();
        while let Some(first) = self.held.front().filter(|first| length - first.length >= HELD_NS) {
            length -= first.length;
            self.held.pop_front();
        }
    }

    /// How far each bound is used up.
    fn loads(&self) -> Vec<Load> {
        self.loads_of(together(&self.intervals)).collect()
    }

    /// How far the bound is used up that is used up most, over the time for which they have to hold.
    fn held_load(&self) -> f64 {
        self.loads_of(together(&self.held)).map(|load| load.now).fold(0.0, f64::max)
    }

    /// The same of any interval.
    fn loads_of(&self, all: Interval) -> impl Iterator<Item = Load> {
        let cpu = self.bounds.budget.map(|budget| {
            let allowed = (budget * all.process.max(LEAST_CPUS * all.length)).max(1.0);
            let (now, least) = (all.own / allowed, (all.own - all.error) / allowed);
            let at = |call_ns: f64| all.calls * call_ns / allowed;
            Load {
                bound: SamplingBound::Cpu,
                now,
                least,
                exact: at(self.exact_call_ns),
                counted: at(self.counted_call_ns),
            }
        });
        let file = self.bounds.max_rate.map(|rate| {
            let allowed = (rate * all.length / 1e9).max(1.0);
            let now = all.bytes / allowed;
            let exact = all.calls * self.exact_call_bytes / allowed;
            // What is counted is written once a second.
            Load { bound: SamplingBound::FileRate, now, least: now, exact, counted: now }
        });
        cpu.into_iter().chain(file)
    }

    /// What a call costs and writes while everything is recorded, or counted: means that forget slowly.
    fn learn(&mut self, latest: Interval) {
        if latest.calls < FEW_CALLS || self.thins {
            return;
        }
        let mean = |before: f64, now: f64| if before > 0.0 { 0.8 * before + 0.2 * now } else { now };
        let call_ns = latest.own / latest.calls;
        if self.window_ns > 0 {
            self.counted_call_ns = mean(self.counted_call_ns, call_ns);
            return;
        }
        self.exact_call_ns = mean(self.exact_call_ns, call_ns);
        self.exact_call_bytes = mean(self.exact_call_bytes, latest.bytes / latest.calls);
    }

    /// Says once that the longest windows still exceed a bound; `now` is the time since the start.
    fn complains(&mut self, now: DurationNs) -> Option<&str> {
        let is_longest = self.window_ns == WINDOWS_NS.1 && self.complaint.is_none();
        let is_over = |load: &Load| is_longest && load.least > 1.5 && !self.should_thin(load.bound);
        let over = self.loads().into_iter().find(is_over)?;
        let measured = together(&self.intervals);
        let from = DurationNs(now.0.saturating_sub(measured.length as u64));
        let (excess, allowed) = match over.bound {
            SamplingBound::Cpu => cpu_excess(&measured),
            _ => rate_excess(&measured),
        };
        let less = &self.less;
        self.complaint = Some(format!(
            "exceeded: from {from} to {now}, {excess}, although it sampled as rarely as it can. {less}To allow this: {allowed}"
        ));
        self.complaint.as_deref()
    }
}

/// The cost in the time that was measured, and the budget that would allow it.
fn cpu_excess(measured: &Interval) -> (String, String) {
    let part = |whole: f64| measured.own / whole.max(1.0);
    let (process, cpu) = (quantity::percent(part(measured.process)), quantity::percent(part(measured.length)));
    let allowed = (100.0 * part(measured.process.max(LEAST_CPUS * measured.length))).ceil();
    (format!("Headway took {process} of the process's CPU time ({cpu} of one CPU)"), format!("--budget {allowed:.0}"))
}

/// The growth in the time that was measured, and what would allow it.
fn rate_excess(measured: &Interval) -> (String, String) {
    let rate = quantity::bytes((measured.bytes * 1e9 / measured.length.max(1.0)) as u64);
    (format!("Headway wrote {rate} a second"), "a higher --max-rate".to_owned())
}

/// How many times less often threads may be sampled. Stacks that the VM is asked for are always as often as was asked for.
fn sparsest(options: &Options) -> u64 {
    let are_asked_for = matches!(options.engine, Engine::Jvmti | Engine::Handshake);
    if options.wants(CAUSAL) || are_asked_for || !(options.wants("cpu") || options.wants("wall")) {
        return 1;
    }
    let interval_ns = options.interval_ns.unwrap_or(plan::DEFAULT_INTERVAL_NS).max(1);
    (LONGEST_INTERVAL_NS / interval_ns).clamp(1, SPARSEST)
}

/// What to record instead: no parks and no samples, or only sums. Empty where nothing can be left out.
fn to_record_less(options: &Options) -> String {
    if options.wants(CAUSAL) || options.is_pressure_alone() {
        return String::new();
    }
    if !options.wants("monitor") && !options.wants("park") {
        return "To take fewer samples: a longer -i. ".to_owned();
    }
    let kept: Vec<&str> = ["monitor", "steal"].into_iter().filter(|event| options.wants(event)).collect();
    let has_more = ["park", "cpu", "wall"].into_iter().any(|event| options.wants(event));
    match has_more && options.wants("monitor") {
        true => format!("To record less: -e {}, or only sums: -e pressure. ", kept.join(",")),
        false => "To record only sums: -e pressure. ".to_owned(),
    }
}

fn longer(now: u64, ratio: f64) -> u64 {
    let factor = (ratio / AIM).clamp(1.25, 4.0);
    ((now as f64 * factor) as u64).clamp(WINDOWS_NS.0, WINDOWS_NS.1)
}

/// What had been spent, and written in bytes, at a moment.
pub(super) type At = (Spent, u64, TimeNs);

fn between((before, bytes_before, since): At, (spent, bytes, now): At) -> Interval {
    Interval {
        length: now.since(since).0 as f64,
        process: (spent.process - before.process).0 as f64,
        own: (spent.of_agent() - before.of_agent()).0 as f64,
        sampling: (spent.sampling - before.sampling).0 as f64,
        error: spent.error_since(before).0 as f64,
        // The file is shorter where its oldest part was removed.
        bytes: bytes.saturating_sub(bytes_before) as f64,
        calls: spent.calls_since(before),
    }
}

impl Drain {
    /// Begins with windows of the length that was asked for, if one was. Before threads record.
    pub fn begin_sampling(&mut self, start: TimeNs) {
        if self.governor.window_ns > 0 {
            self.sample_from(start, self.governor.window_ns, self.governor.thins, SamplingBound::Window);
            self.agent.samples.look_slower(self.governor.fewer_looks());
        }
    }

    /// Sees to the budget, with what was spent since the last time.
    pub(super) fn govern(&mut self, now: TimeNs) {
        if now.since(self.governed.2) >= PAUSE {
            self.decide(now, false);
        }
        // Again each time: the beginning of the recording may be removed.
        if let Some(sampling) = self.sampling {
            self.take_event(&Event::Sampling(sampling));
        }
    }

    /// Does not wait for the second to be over where its allowance is spent already.
    pub(super) fn watch_budget(&mut self) {
        let now = clock::now();
        let is_due = self.recent.back().is_none_or(|latest| now.since(latest.2) >= WATCH);
        if self.governor.bounds.are_none() || !is_due {
            return;
        }
        let latest = self.governor.load_that_goes_on(self.spent_by(now));
        self.recent.retain(|before| now.since(before.2) <= SECOND);
        let since =
            |length| self.recent.iter().find(|before| now.since(before.2) <= length).map(|at| between(*at, latest));
        let is_alarm = since(SECOND)
            .is_some_and(|second| self.governor.is_alarming(second, since(HALF_A_SECOND).unwrap_or_default()));
        self.recent.push_back(latest);
        if is_alarm {
            self.decide(now, true);
        }
    }

    /// What was spent and written by now.
    fn spent_by(&self, now: TimeNs) -> At {
        (Spent::so_far(self.agent), self.writer.as_ref().map_or(0, RecordingWriter::bytes), now)
    }

    fn decide(&mut self, now: TimeNs, is_alarm: bool) {
        let latest = self.spent_by(now);
        let before = std::mem::replace(&mut self.governed, latest);
        let interval = between(self.governor.load_that_goes_on(before), self.governor.load_that_goes_on(latest));
        if !is_alarm && !self.governor.has_begun {
            self.governor.has_begun = true;
            // From now on the agent's own threads count, too.
            self.recent.clear();
        }
        if let Some(window_ns) = self.governor.decide(interval, is_alarm) {
            self.recent.clear();
            self.sample_from(now + AHEAD, window_ns, self.governor.thins, self.governor.bound);
        }
        if self.agent.samples.slower() != self.governor.fewer_looks() {
            // What was spent on looks before says nothing of what they cost now.
            self.recent.clear();
            self.agent.samples.look_slower(self.governor.fewer_looks());
        }
        self.sample_sparser(now);
        if let Some(reason) = self.governor.complains(now.since(self.start)) {
            self.agent.definitions.degraded("budget", reason);
        }
    }

    /// Has threads sampled as often as the budget allows. The recording says so once: how much time each sample stands
    /// for is in it.
    fn sample_sparser(&mut self, now: TimeNs) {
        let sparser = self.governor.sparser;
        if self.agent.samples.sparser() == sparser {
            return;
        }
        self.recent.clear();
        self.agent.samples.sample_sparser(sparser);
        if !self.governor.has_said_sparser {
            self.governor.has_said_sparser = true;
            let since = now.since(self.start);
            let reason = format!(
                "samples were taken less often than asked for, from {since} after the start on, to keep --budget. Each \
                 stands for more time. A thread that used less CPU time than that may have none"
            );
            self.agent.definitions.degraded("cpu", &reason);
        }
    }

    /// What `status` and `stop` say if a bound could not be kept.
    pub(super) fn note_excess(&mut self) {
        self.recorded.notes.extend(self.governor.complaint.as_ref().map(|reason| format!("budget: {reason}.")));
    }

    /// What `status` says of it.
    pub(super) fn note_sampling(&mut self) {
        let sampling = self.sampling.filter(|sampling| sampling.window > DurationNs::ZERO && self.writer.is_some());
        self.recorded.window = sampling.map_or(DurationNs::ZERO, |sampling| sampling.window);
        self.recorded.notes.extend(sampling.map(|Sampling { time, window, bound, thins, .. }| {
            let since = self.governor.sampled_since.unwrap_or(time).since(self.start);
            let often = clock::coarse_step();
            let thinned = match thins {
                true => format!(
                    " Parks of threads that park more often than once in {often} are thinned out: their number and \
                     time are estimates."
                ),
                false => String::new(),
            };
            let name = bound.name();
            format!(
                "Contentions and waits have been sampled since {since} after the start (--{name}), now at one random \
                 instant in each {window}.{thinned}"
            )
        }));
        let sparser = self.agent.samples.sparser();
        if sparser > 1 && self.writer.is_some() {
            self.recorded.notes.push(format!(
                "To keep --budget, CPU and wall-clock samples are now taken {sparser} times less often than asked for."
            ));
        }
        self.note_excess();
    }

    fn sample_from(&mut self, time: TimeNs, window_ns: u64, thins: bool, bound: SamplingBound) {
        let sampling = Sampling { time, window: DurationNs(window_ns), seed: time.0, bound, thins };
        let since = self.governor.sampled_since.get_or_insert(time);
        self.governor.sampled_since = Some(*since).filter(|_| window_ns > 0);
        if self.sampling.is_none() {
            self.take_event(&Event::Thread(some_virtual_thread()));
        }
        self.take_event(&Event::Sampling(sampling));
        self.agent.sampling.change(sampling);
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
mod tests;
