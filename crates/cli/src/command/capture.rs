//! What is recorded and how: the options of `run`, `record` and `start`.

use crate::agent::options::AgentOptions;
use crate::command::causal::Experiments;
use crate::command::park_statistics::ParkStatistics;
use crate::command::pressure;
use crate::quantity::{self, Span};
use crate::render::numbers;
use crate::suggest;
use clap::Args;
use headway_jfr::IfTaken;
use headway_protocol::MECHANISMS;
use regex::Regex;
use std::path::{Path, PathBuf};

use crate::error::Failure;
use crate::recording::file_name::{Pattern, DEFAULT_PATTERN};

/// What `-e` takes, one a line.
const EVENTS_HELP: &str = "\
What to record, separated by commas, instead of the default: lock,steal

- monitor:  threads blocked on `synchronized`, and waits in Object.wait
- park:     threads blocked or waiting in java.util.concurrent (locks, queues, pools)
- lock:     monitor and park
- pressure: time blocked, only as sums by lock and interval, at the lowest
            cost. Use it alone: with another event, Headway records lock
            instead, which costs more (`-e pressure,cpu` is `-e lock,cpu`)
- cpu:      samples of running threads
- wall:     samples of all threads, also of those that do not run (blocked, waiting,
            asleep, in I/O)
- steal:    time in which threads were ready to run but had no CPU: run-queue
            wait, throttling (by a CPU quota) and steal (by the hypervisor).
            Headway shows it by thread, and by unit of work that the program
            marks with Headway.transaction
- mounts:   how long a virtual thread that was ready to continue waited for a
            carrier (the platform thread that runs it) or for a CPU. `mounts`
            includes `park`, and adds an event for each park of a virtual thread";

/// What a command of `--on-phase` knows, one a line.
const ON_PHASE_HELP: &str = "\
Run this shell command when a lock's phase begins or ends. The JVM starts it, as
the JVM's user. `log` writes a line to the JVM's standard error instead.
Environment variables of the command:

- HEADWAY_PHASE: begin or end
- HEADWAY_LOCK, HEADWAY_LOCK_CLASS: the lock and its class
- HEADWAY_PRESSURE_PERCENT: the pressure of the lock
- HEADWAY_DURATION_MS: the length of the phase so far
- HEADWAY_OWNER, HEADWAY_CONTENDER: methods; empty if not known
- HEADWAY_SKIPPED: how many commands were left out before this one, because one
                   was still running";

/// What is recorded and how.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What to record")]
pub struct Capture {
    /// What to record, separated by commas: monitor, park, lock (both), pressure, cpu, wall,
    /// steal, mounts; default: lock,steal
    #[arg(short, long, value_name = "EVENT", value_delimiter = ',', value_parser = event, long_help = EVENTS_HELP)]
    pub events: Vec<Feature>,

    /// With -e cpu or wall: time between two samples of a thread (with a unit: 0.1ms to 1s); default: 10ms.
    /// Running threads are sampled by CPU time; with wall, threads that do not run are sampled by elapsed time.
    /// -i switches the default --budget off
    #[arg(short, long, value_name = "TIME", value_parser = interval)]
    pub interval: Option<Span>,

    /// With -e steal: time between two measurements (10ms to 4s); default: 1s
    #[arg(long, value_name = "TIME", value_parser = steal_interval, hide_short_help = true)]
    pub steal_interval: Option<Span>,

    /// Write the recording to this file: %p becomes the process id, %t the time; .jfr,
    /// .jfr.zst and .jfr.lz4 select the format
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_PATTERN)]
    pub output: PathBuf,

    /// Overwrite an existing file if it is empty or a Headway recording; never any other file
    #[arg(long)]
    pub force: bool,

    /// Record only threads whose name contains a match. Owners with other names then have no
    /// call stack, so prefer `report --threads`. In this option, \w, \d and \s match ASCII only
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    pub threads: Option<Regex>,

    /// Keep the recording below this size (at least 256k) by removing its oldest part (k, m, g;
    /// `none` for no limit); default: 1g
    #[arg(long, value_name = "SIZE", value_parser = size_limit)]
    pub max_size: Option<u64>,

    /// Keep only the last TIME of the recording (s, m, h)
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_seconds)]
    pub max_age: Option<Span>,

    /// Record contentions and parks that are shorter than this (ns, us, ms) as sums, without
    /// owners. The totals include them. This option switches the default --budget off, and cannot be
    /// used together with --budget
    #[arg(long, value_name = "TIME", value_parser = quantity::nanoseconds)]
    pub min_duration: Option<Span>,

    /// Like --min-duration, for parks only (ns, us, ms). Also switches the default budget off
    #[arg(long, value_name = "TIME", value_parser = quantity::nanoseconds, hide_short_help = true)]
    pub park_floor: Option<Span>,

    /// Try to keep the cost that Headway can measure below this percentage of the process's CPU
    /// time (of one CPU, if the process uses less than one); default: 1. If recording everything
    /// would cost more, contentions and waits are sampled: their number and time stay exact, shares
    /// by call stack and owner become estimates. If cpu or wall samples cause most of the cost, Headway takes
    /// them less often. If the cost is above 1.5 times this limit even when Headway samples as rarely as it can, the
    /// report, `status` and `stop` say so
    #[arg(long, value_name = "PERCENT", value_parser = pressure::percent, conflicts_with_all = ["min_duration", "park_floor"])]
    pub budget: Option<f64>,

    /// Record each contention and each wait, whatever it costs: there is no budget
    #[arg(long, conflicts_with_all = ["budget", "max_rate", "sampling_window"])]
    pub exact: bool,

    /// Let the recording grow by at most SIZE (k, m, g) a second, averaged over 10 s. If
    /// recording everything would need more, contentions and waits are sampled as with --budget
    #[arg(long, value_name = "SIZE/s", value_parser = rate, conflicts_with_all = ["min_duration", "park_floor"])]
    pub max_rate: Option<u64>,

    /// Sample from the start, whatever it costs: once per interval of this length (us, ms), at a random
    /// instant, record the contentions and waits in progress one by one. Use it for recordings that you want
    /// to compare: all are then sampled in the same way. Switches the default --budget off
    #[arg(long, value_name = "TIME", value_parser = sampling_window, hide_short_help = true, conflicts_with_all = ["min_duration", "park_floor"])]
    pub sampling_window: Option<Span>,

    /// Experimental, with --sampling-window: of threads that park more than about 250 times a second, count only
    /// some parks. Their number and time are then estimates. It is not shown that programs become faster
    #[arg(long, requires = "sampling_window", hide_short_help = true)]
    pub thin_parks: bool,

    /// Limit for the memory of event buffers (at least 1m); default: 16m. If the JVM has loaded Headway
    /// already, the limit cannot be raised
    #[arg(long, value_name = "SIZE", value_parser = memory, hide_short_help = true)]
    pub memory: Option<u64>,

    /// Measure pressure in intervals of this length (at least 10ms); default: 1s. The pressure
    /// of a lock is the time that threads were blocked on it, divided by the time in which threads did not
    /// wait (they were on CPU, ready, blocked, asleep or in I/O)
    #[arg(long, value_name = "TIME", value_parser = pressure::interval)]
    pub pressure_interval: Option<Span>,

    /// A phase of a lock lasts while its pressure is at least this in each interval; default: 5%
    #[arg(long, value_name = "PERCENT", value_parser = pressure::percent)]
    pub phase_threshold: Option<f64>,

    /// Run this shell command when a lock's phase begins or ends. The JVM starts it, as the
    /// JVM's user. `log` writes a line to the JVM's standard error instead
    #[arg(long, value_name = "COMMAND|log", long_help = ON_PHASE_HELP)]
    pub on_phase: Option<String>,

    /// Publish what `headway top` shows as the management bean headway:type=Pressure; JMX clients
    /// can also start, dump and stop recordings through it. Loads the JDK's management
    /// classes into the program
    #[arg(long)]
    pub jmx: bool,

    /// Show the exact method of an owner also in code that was compiled before Headway attached.
    /// Without this option, a method that the compiler inlined sometimes appears as its caller (rarely; marked ~). The
    /// JVM discards the compiled code of the classes with such methods (JDK 17 may discard all compiled code) and
    /// compiles it again, so the program is slower for a while. `run` does not need it
    #[arg(long, hide_short_help = true)]
    pub recompile: bool,

    /// Change no code and no class: use only JVMTI, the JVM's interface for tools. The recording then has no
    /// owners, parks or samples, and no time blocked after Object.wait; its report lists what is missing
    #[arg(long)]
    pub safe: bool,

    /// Fail and record nothing if any part of Headway cannot work (`headway status` lists the
    /// parts), instead of using a fallback or recording less. The exit code is 1 then; `run` does not start the program
    #[arg(long)]
    pub strict: bool,

    /// Leave out command lines, system properties and thread names
    #[arg(long)]
    pub redact: bool,

    /// How threads are sampled. Leave it at auto (the default): perf (perf_event) if the kernel allows it, otherwise
    /// signal (CPU timers with SIGPROF). With signal, running threads are sampled only for -e cpu and -e wall; without
    /// these, the report shows what owners did only while they slept or waited. jvmti, agct (AsyncGetCallTrace) and
    /// handshake are only for testing Headway
    #[arg(long, value_name = "ENGINE", value_parser = engine, hide_short_help = true)]
    pub engine: Option<&'static str>,

    /// Only for testing Headway: switch parts of it off, so that it uses its fallbacks: exit-detour, reenter-detour, carrier-detour, walker, usdt, condvar, perf, owners,
    /// park-natives, park-locksupport, park-redirect, vmstructs, chains
    #[arg(long, value_name = "MECHANISM", value_delimiter = ',', value_parser = mechanism, hide_short_help = true)]
    pub disable: Vec<&'static str>,

    /// Park statistics that the program prints itself.
    #[command(flatten)]
    pub park_statistics: ParkStatistics,

    /// What `headway causal` is to find out.
    #[arg(skip)]
    pub experiments: Option<Experiments>,
}

/// What a recording may cost by default, as a part of the process's CPU time.
pub const DEFAULT_BUDGET: f64 = 0.01;

/// The agent's default.
const DEFAULT_MAX_SIZE: u64 = 1 << 30;

/// A recording cannot be kept much smaller: its newest part and its definitions need as much.
const SMALLEST_MAX_SIZE: u64 = 256 << 10;

/// With smaller buffers, most events are dropped.
const SMALLEST_MEMORY: u64 = 1 << 20;

/// What `--engine` takes.
const ENGINES: [&str; 6] = ["auto", "perf", "signal", "jvmti", "agct", "handshake"];

/// A size, 0 for none.
fn size_limit(text: &str) -> Result<u64, String> {
    match text {
        "none" | "0" => Ok(0),
        size => match quantity::bytes(size)? {
            size if size < SMALLEST_MAX_SIZE => Err("must be at least 256k, or `none`".into()),
            size => Ok(size),
        },
    }
}

/// A size of the event buffers.
fn memory(text: &str) -> Result<u64, String> {
    match quantity::bytes(text)? {
        size if size < SMALLEST_MEMORY => Err("must be at least 1m: smaller buffers drop most events".into()),
        size => Ok(size),
    }
}

/// How threads are sampled.
///
/// # Errors
/// A sentence with what there is.
fn engine(word: &str) -> Result<&'static str, String> {
    ENGINES.into_iter().find(|engine| *engine == word).ok_or_else(|| {
        let hint = suggest::did_you_mean(word, ENGINES);
        format!("unknown engine \"{word}\"{hint} (engines: auto, perf, signal, jvmti, agct, handshake)")
    })
}

/// A mechanism of the agent.
fn mechanism(word: &str) -> Result<&'static str, String> {
    MECHANISMS.into_iter().find(|mechanism| *mechanism == word.trim()).ok_or_else(|| {
        let hint = suggest::did_you_mean(word, MECHANISMS);
        format!("unknown mechanism \"{word}\"{hint} (mechanisms: {})", MECHANISMS.join(", "))
    })
}

/// Something that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Contended monitors and `Object.wait`.
    Monitor,
    /// Parked threads: `java.util.concurrent`.
    Park,
    /// Everything about locks.
    Lock,
    /// Critical section pressure.
    Pressure,
    /// Samples of running threads.
    Cpu,
    /// Samples of running and of waiting threads.
    Wall,
    /// What the environment takes: stolen, throttled and run-queue time.
    Steal,
    /// How long virtual threads waited for a carrier or a CPU after an unpark.
    Mounts,
}

impl Feature {
    /// The agent's words for it.
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Feature::Monitor => &["monitor"],
            Feature::Park => &["park"],
            Feature::Lock => &["monitor", "park"],
            Feature::Pressure => &["pressure"],
            Feature::Cpu => &["cpu"],
            Feature::Wall => &["wall"],
            Feature::Steal => &["steal"],
            Feature::Mounts => &["park", "mounts"],
        }
    }
}

/// What `-e` takes; `lock` stands for every feature about locks.
const EVENT_WORDS: [(&str, Feature); 8] = [
    ("pressure", Feature::Pressure),
    ("monitor", Feature::Monitor),
    ("park", Feature::Park),
    ("lock", Feature::Lock),
    ("cpu", Feature::Cpu),
    ("wall", Feature::Wall),
    ("steal", Feature::Steal),
    ("mounts", Feature::Mounts),
];

/// The words that `-e` takes.
pub fn event_names() -> [&'static str; 8] {
    EVENT_WORDS.map(|(name, _)| name)
}

fn event(word: &str) -> Result<Feature, String> {
    let known = EVENT_WORDS.iter().find(|(name, _)| *name == word.trim());
    known.map(|(_, feature)| *feature).ok_or_else(|| {
        let hint = suggest::did_you_mean(word, EVENT_WORDS.map(|(name, _)| name));
        format!("unknown event \"{word}\"{hint} (this version records: monitor, park, lock (both of them), pressure, cpu, wall, steal, mounts)")
    })
}

/// An interval between samples; a bare number means nanoseconds.
///
/// # Errors
/// A sentence with the limits.
pub fn interval(text: &str) -> Result<Span, String> {
    match quantity::nanoseconds(text)? {
        span if (100_000..=1_000_000_000).contains(&span.ns) => Ok(span),
        span if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("{text} without a unit means nanoseconds: give 100us to 1s, for example 1ms (not {span})"))
        }
        span => Err(format!("{span} is not between 100us and 1s")),
    }
}

/// An interval between samples of steal.
///
/// # Errors
/// A sentence with the limits.
fn steal_interval(text: &str) -> Result<Span, String> {
    match quantity::seconds(text)? {
        span if (10_000_000..=4_000_000_000).contains(&span.ns) => Ok(span),
        span => Err(format!("{span} is not between 10ms and 4s")),
    }
}

/// A regular expression for thread names.
///
/// # Errors
/// One line that says what is wrong with it.
pub fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let last = error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("\"{text}\" is not a regular expression: {last}")
    })
}

/// Values as one; `None` if there are none.
fn joined<T: ToString>(values: Option<&Vec<T>>, by: &str) -> Option<String> {
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().map(T::to_string).collect::<Vec<_>>().join(by))
}

impl Capture {
    /// Where the recordings go.
    ///
    /// # Errors
    /// An output name that cannot be.
    pub fn pattern(&self) -> Result<Pattern, Failure> {
        Pattern::parse(&self.output)
    }

    /// What is said about the recording's size before it begins.
    pub fn size_note(&self) -> String {
        match self.max_size.unwrap_or(DEFAULT_MAX_SIZE) {
            0 => "without a limit on its size (--max-size)".to_owned(),
            limit => format!("at most the newest {} of it are kept (--max-size)", numbers::bytes(limit)),
        }
    }

    /// What becomes of a file that is there already.
    pub fn if_taken(&self, pattern: &Pattern) -> IfTaken {
        pattern.if_taken(self.force)
    }

    /// The agent's options for beginning a recording in `file`, in which it
    /// expands `%p` and `%t`.
    ///
    /// # Errors
    /// A path that cannot be passed on.
    pub fn start_options(&self, file: &Path, if_taken: IfTaken) -> Result<AgentOptions, Failure> {
        let options = AgentOptions::new("start")
            .with_path("file", file)?
            .if_taken(if_taken)
            .with_some("events", self.event_words())
            .with_some("interval", self.interval.map(|span| span.ns))
            .with_some("steal_interval", self.steal_interval.map(|span| span.ns))
            .with_some("min_duration", self.min_duration.map(|span| span.ns))
            .with_some("park_floor", self.park_floor.map(|span| span.ns))
            .with_some("budget", self.budget())
            .with_some("max_rate", self.max_rate)
            .with_some("sampling_window", self.sampling_window.map(|span| span.ns))
            .with_flag("thin_parks", self.thin_parks)
            .with_some("threads", self.threads.as_ref())
            .with_some("max_size", self.max_size)
            .with_some("max_age", self.max_age.map(|span| span.ns))
            .with_some("memory", self.memory)
            .with_some("engine", self.engine)
            .with_some("pressure_interval", self.pressure_interval.map(|span| span.ns))
            .with_some("phase_threshold", self.phase_threshold)
            .with_some("on_phase", self.on_phase.as_ref())
            .with_some("disable", self.disabled())
            .with_some("progress", joined(self.experiments.as_ref().map(|wishes| &wishes.progress), ";"))
            .with_some("target", joined(self.experiments.as_ref().map(|wishes| &wishes.target), ";"))
            .with_some("scope", joined(self.experiments.as_ref().map(|wishes| &wishes.scope), ";"))
            .with_some("latency", joined(self.experiments.as_ref().map(|wishes| &wishes.latency), ";"))
            .with_flag("end_to_end", self.experiments.as_ref().is_some_and(|wishes| wishes.end_to_end))
            .with_flag("await", self.experiments.as_ref().is_some_and(|wishes| wishes.wait))
            .with_some("speedups", joined(self.experiments.as_ref().map(|wishes| &wishes.speedups), "+"))
            .with_flag("jmx", self.jmx)
            .with_flag("recompile", self.recompile)
            .with_flag("safe", self.safe)
            .with_flag("strict", self.strict)
            .with_flag("redact", self.redact);
        self.park_statistics.add_to(options)
    }

    /// Asks the agent what a recording would change in the process.
    pub fn preview_options(&self) -> AgentOptions {
        AgentOptions::new("status")
            .with_some("events", self.event_words())
            .with_some("disable", self.disabled())
            .with_some("engine", self.engine)
            .with_some("progress", joined(self.experiments.as_ref().map(|wishes| &wishes.progress), ";"))
            .with_some("latency", joined(self.experiments.as_ref().map(|wishes| &wishes.latency), ";"))
            .with_flag("safe", self.safe)
    }

    /// What the recording may cost. Without a wish there is a limit where less can be recorded: not for experiments,
    /// not where short contentions are recorded as sums already, and not where CPU samples are wanted as often as was
    /// asked for.
    fn budget(&self) -> Option<f64> {
        // Beside another event, pressure means locks.
        let is_alone = self.events.iter().all(|feature| *feature == Feature::Pressure);
        let can_be_less = |feature: &Feature| match feature {
            Feature::Pressure => !is_alone,
            _ => feature.words().iter().any(|word| ["monitor", "park", "cpu", "wall"].contains(word)),
        };
        let can_sample = self.events.is_empty() || self.events.iter().any(can_be_less);
        let has_wish = self.exact
            || self.experiments.is_some()
            || self.min_duration.is_some()
            || self.park_floor.is_some()
            || self.sampling_window.is_some()
            || self.interval.is_some();
        self.budget.or((can_sample && !has_wish).then_some(DEFAULT_BUDGET))
    }

    fn event_words(&self) -> Option<String> {
        let mut words: Vec<&str> = self.events.iter().flat_map(|feature| feature.words()).copied().collect();
        words.extend(self.experiments.as_ref().map(|_| "causal"));
        words.sort_unstable();
        words.dedup();
        (!words.is_empty()).then(|| words.join("+"))
    }

    fn disabled(&self) -> Option<String> {
        (!self.disable.is_empty()).then(|| self.disable.join("+"))
    }
}

/// `1m` or `1MB/s`: bytes in a second.
fn rate(text: &str) -> Result<u64, String> {
    quantity::bytes(text.strip_suffix("/s").unwrap_or(text))
}

/// A length of the windows of sampling, as the agent takes them.
fn sampling_window(text: &str) -> Result<Span, String> {
    match quantity::nanoseconds(text)? {
        Span { ns } if !(100_000..=1_000_000_000).contains(&ns) => Err("must be from 100us to 1s".into()),
        span => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_stands_for_monitor_and_park() {
        assert_eq!(event("lock").map(Feature::words), Ok(&["monitor", "park"][..]));
        let sentence = event("montor").expect_err("a typo");
        assert!(sentence.starts_with("unknown event \"montor\"; did you mean \"monitor\"?"), "{sentence}");
    }

    #[test]
    fn a_recording_has_a_budget_where_it_can_be_sampled() {
        let percents = |capture: Capture| capture.budget().map(|budget| budget * 100.0);
        let span = Some(Span { ns: 1_000_000 });
        let of = |feature| Capture { events: vec![feature, Feature::Steal], ..Capture::default() };
        for limited in [
            Capture::default(),
            of(Feature::Monitor),
            of(Feature::Lock),
            of(Feature::Mounts),
            of(Feature::Cpu),
            of(Feature::Wall),
            of(Feature::Pressure),
        ] {
            assert_eq!(percents(limited), Some(1.0));
        }
        assert_eq!(percents(Capture { max_rate: Some(1), ..Capture::default() }), Some(1.0));
        assert_eq!(percents(Capture { budget: Some(0.05), interval: span, ..Capture::default() }), Some(5.0));
        for unlimited in [
            Capture { exact: true, ..Capture::default() },
            Capture { min_duration: span, ..Capture::default() },
            Capture { park_floor: span, ..Capture::default() },
            Capture { sampling_window: span, ..Capture::default() },
            Capture { interval: span, ..Capture::default() },
            Capture { events: vec![Feature::Pressure], ..Capture::default() },
            Capture { events: vec![Feature::Steal], ..Capture::default() },
        ] {
            assert_eq!(percents(unlimited), None);
        }
    }

    #[test]
    fn a_recording_may_be_without_a_limit() {
        assert_eq!((size_limit("none"), size_limit("0"), size_limit("512k")), (Ok(0), Ok(0), Ok(512 << 10)));
        assert!(size_limit("much").is_err());
    }

    #[test]
    fn a_rate_may_name_the_second() {
        assert_eq!((rate("2k"), rate("1MB/s"), rate("300/s")), (Ok(2_048), Ok(1 << 20), Ok(300)));
        assert!(rate("0/s").is_err() && rate("1m/h").is_err());
    }

    #[test]
    fn an_interval_has_limits() {
        assert_eq!(interval("1ms").map(|span| span.ns), Ok(1_000_000));
        assert_eq!(interval("10us"), Err("10us is not between 100us and 1s".to_owned()));
        let said = "1 without a unit means nanoseconds: give 100us to 1s, for example 1ms (not 1ns)";
        assert_eq!(interval("1"), Err(said.to_owned()));
        assert!(interval("2s").is_err());
    }

    #[test]
    fn a_bad_regular_expression_is_explained_in_one_line() {
        let sentence = regex("http-(").expect_err("no regex");
        assert_eq!(sentence, "\"http-(\" is not a regular expression: unclosed group");
    }
}
