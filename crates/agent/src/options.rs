//! The option string of the agent: `COMMAND[,key=value]...`, described in
//! `docs/agent-protocol.md`.

mod wishes;

use headway_analysis::pressure::PressureOptions;
use headway_jfr::IfTaken;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
pub use wishes::{Announce, PrintTo, Terms, Wishes, SAMPLE_INTERVALS_NS, STEAL_INTERVALS_NS};

/// What the agent is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Command {
    /// Begin a recording.
    #[default]
    Start,
    /// End it and finish the file.
    Stop,
    /// Copy the last minutes to a file.
    Dump,
    /// Say what is active.
    Status,
    /// Put a picture of now into a file, interval after interval.
    Live,
    /// Give the park statistics so far; count parks from now on, if need be.
    Parks,
    /// Stop and take every hook out.
    Detach,
}

impl Command {
    /// The word in option strings and replies.
    pub const fn name(self) -> &'static str {
        match self {
            Command::Start => "start",
            Command::Stop => "stop",
            Command::Dump => "dump",
            Command::Status => "status",
            Command::Live => "live",
            Command::Parks => "parks",
            Command::Detach => "detach",
        }
    }
}

/// How stacks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// The agent's own walker, JVMTI where it does not check out; samples by
    /// perf_event, by signals where it is denied.
    #[default]
    Auto,
    /// Samples by perf_event.
    Perf,
    /// Samples by signals that copy stacks.
    Signal,
    /// JVMTI: `GetStackTrace` at events, `GetThreadListStackTraces` for samples.
    Jvmti,
    /// Samples by the VM's `AsyncGetCallTrace` in a signal handler.
    Agct,
    /// Samples by JVMTI, one running thread at a time.
    Handshake,
}

impl Engine {
    const ALL: [(&'static str, Engine); 6] = [
        ("auto", Engine::Auto),
        ("perf", Engine::Perf),
        ("signal", Engine::Signal),
        ("jvmti", Engine::Jvmti),
        ("agct", Engine::Agct),
        ("handshake", Engine::Handshake),
    ];
}

/// A mechanism that `disable=` can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The detour of the contended exit.
    ExitDetour,
    /// The detours of notify and of the re-acquisition after a wait.
    ReenterDetour,
    /// The detours of a virtual thread's coming to a carrier and leaving it.
    CarrierDetour,
    /// The agent's own stack walker.
    Walker,
    /// The probe-based fallback for the contended exit.
    Usdt,
    /// The fallback for that: the VM's imports of condition variables.
    Condvar,
    /// Sampling by the kernel.
    Perf,
    /// Samples of threads that others wait for.
    Owners,
    /// The bound natives of `Unsafe.park` and `unpark`.
    ParkNatives,
    /// The fallback for them: `LockSupport`'s calls.
    ParkLockSupport,
    /// The redirected calls that park virtual threads.
    ParkRedirect,
    /// Everything that reads the VM's structures.
    VmStructs,
    /// Call chains at lock and park events.
    Chains,
}

impl Mechanism {
    const ALL: [(&'static str, Mechanism); 13] = [
        ("exit-detour", Mechanism::ExitDetour),
        ("reenter-detour", Mechanism::ReenterDetour),
        ("carrier-detour", Mechanism::CarrierDetour),
        ("walker", Mechanism::Walker),
        ("usdt", Mechanism::Usdt),
        ("condvar", Mechanism::Condvar),
        ("perf", Mechanism::Perf),
        ("owners", Mechanism::Owners),
        ("park-natives", Mechanism::ParkNatives),
        ("park-locksupport", Mechanism::ParkLockSupport),
        ("park-redirect", Mechanism::ParkRedirect),
        ("vmstructs", Mechanism::VmStructs),
        ("chains", Mechanism::Chains),
    ];
}

/// Everything an option string can say.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Options {
    /// What to do.
    pub command: Command,
    /// Where to write the reply.
    pub reply: Option<PathBuf>,
    /// Recording, with `%p` and `%t` still in it.
    pub file: Option<String>,
    /// What becomes of a file that is there already.
    pub if_taken: IfTaken,
    /// Features, by their word; empty means the default set.
    pub events: Vec<String>,
    /// CPU time between samples in ns.
    pub interval_ns: Option<u64>,
    /// Parks that end sooner are summed up, in ns; 0 or none: each is recorded.
    pub park_floor_ns: Option<u64>,
    /// Contended enters and parks that end sooner are summed up, in ns; 0 or none:
    /// each is recorded.
    pub min_duration_ns: Option<u64>,
    /// How much of the process's CPU time the recording may cost, 0 to 1; beyond it
    /// contentions and parks are sampled. None: everything is recorded.
    pub budget: Option<f64>,
    /// Bytes by which the recording may grow in a second, on average of ten; beyond it
    /// contentions and parks are sampled.
    pub max_rate: Option<u64>,
    /// Length of the windows with which sampling begins, in ns.
    pub sampling_window_ns: Option<u64>,
    /// True if parks are thinned out in these windows from the start.
    pub thin_parks: bool,
    /// Time between samples of stolen time in ns.
    pub steal_interval_ns: Option<u64>,
    /// How stacks are taken.
    pub engine: Engine,
    /// Bound on the recording's size in bytes; see [`Options::size_limit`].
    pub max_size: Option<u64>,
    /// Bound on the recording's age in ns.
    pub max_age_ns: Option<u64>,
    /// Bound on event buffers in bytes.
    pub memory: Option<u64>,
    /// Record only threads whose name matches.
    pub threads: Option<String>,
    /// Length of an interval of critical section pressure in ns.
    pub pressure_interval_ns: Option<u64>,
    /// Register the management bean.
    pub jmx: bool,
    /// How long the end of the recording may take.
    pub stop_within: Option<Duration>,
    /// How long the recording goes on at most.
    pub terms: Terms,
    /// Pressure from which on an interval belongs to a phase, 0 to 1.
    pub phase_threshold: Option<f64>,
    /// What is done when a phase begins or ends.
    pub on_phase: Option<Announce>,
    /// Where the park statistics are printed; nowhere by default.
    pub parks_to: Option<PrintTo>,
    /// Print them as JSON even where the file's name does not ask for it.
    pub parks_json: bool,
    /// Parks on a blocker from which on it is measured.
    pub park_threshold: Option<u64>,
    /// Blockers with fewer parks are not shown.
    pub park_print_threshold: Option<u64>,
    /// Forget collected blockers once they were shown.
    pub park_free_on_print: bool,
    /// What experiments are to find out.
    pub causal: Wishes,
    /// Stop counting afterwards, if nothing is recorded.
    pub end: bool,
    /// Speak for the recording that has ended, and end none.
    pub last: bool,
    /// Have code compiled again whose inlined owners are not known.
    pub recompile: bool,
    /// JVMTI alone.
    pub safe: bool,
    /// Degraded mechanisms fail the start.
    pub strict: bool,
    /// Leave out command lines and thread names.
    pub redact: bool,
    /// Mechanisms switched off.
    pub disable: Vec<Mechanism>,
}

/// What is wrong with an option string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The first word is no command.
    UnknownCommand(String),
    /// No such key.
    UnknownKey(String),
    /// The value does not fit the key.
    BadValue {
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// What would fit.
        expected: &'static str,
    },
    /// A `%` is not followed by two hexadecimal digits.
    BadEscape(String),
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::UnknownCommand(word) => {
                write!(f, "unknown agent command '{word}' (known: start, stop, dump, status, live, parks, detach)")
            }
            OptionError::UnknownKey(key) => write!(f, "unknown agent option '{key}'"),
            OptionError::BadValue { key, value, expected } => {
                write!(f, "agent option {key}={value} is not {expected}")
            }
            OptionError::BadEscape(text) => {
                write!(f, "agent option '{text}' has a % that is not followed by two hex digits")
            }
        }
    }
}

impl std::error::Error for OptionError {}

/// Lengths that windows of sampling may have.
const SHORTEST_WINDOW_NS: u64 = 100_000;
const LONGEST_WINDOW_NS: u64 = 1_000_000_000;

/// Features that can be asked for, by their word.
pub const FEATURES: &[&str] = &["monitor", "park", "cpu", "wall", "pressure", "steal", "mounts", "causal"];

/// Those that are recorded where none is named.
pub const DEFAULT_FEATURES: &[&str] = &["monitor", "park", "steal"];

impl Options {
    /// Reads an option string.
    pub fn parse(text: &str) -> Result<Options, OptionError> {
        let mut options = Options::default();
        let mut parts = text.split(',').filter(|part| !part.is_empty());
        let Some(command) = parts.next() else {
            return Ok(options);
        };
        options.command = match command {
            "start" => Command::Start,
            "stop" => Command::Stop,
            "dump" => Command::Dump,
            "status" => Command::Status,
            "live" => Command::Live,
            "parks" => Command::Parks,
            "detach" => Command::Detach,
            other => return Err(OptionError::UnknownCommand(other.to_owned())),
        };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, "true"));
            options.set(key, unescape(value)?)?;
        }
        // A minimum is one for parks, too; `None` is less than any.
        options.park_floor_ns = options.park_floor_ns.max(options.min_duration_ns);
        Ok(options)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), OptionError> {
        match key {
            "reply" => self.reply = Some(PathBuf::from(value)),
            "file" => self.file = Some(value),
            "force" if flag("force", value.clone())? => self.if_taken = IfTaken::Replace,
            "numbered" if flag("numbered", value.clone())? => self.if_taken = IfTaken::Number,
            "force" | "numbered" => {}
            "events" => self.events = features(&value)?,
            "engine" => self.engine = engine(value)?,
            "interval" => self.interval_ns = Some(interval(value)?),
            "park_floor" => self.park_floor_ns = Some(number("park_floor", value)?),
            "min_duration" => self.min_duration_ns = Some(number("min_duration", value)?),
            "budget" => self.budget = Some(fraction("budget", value)?),
            "max_rate" => self.max_rate = Some(positive("max_rate", value)?),
            "sampling_window" => self.sampling_window_ns = Some(window(value)?),
            "thin_parks" => self.thin_parks = flag("thin_parks", value)?,
            "steal_interval" => self.steal_interval_ns = Some(steal_interval(value)?),
            "max_size" => self.max_size = Some(number("max_size", value)?),
            "max_age" => self.max_age_ns = Some(number("max_age", value)?),
            "memory" => self.memory = Some(number("memory", value)?),
            "threads" => self.threads = Some(value),
            "pressure_interval" => self.pressure_interval_ns = Some(pressure_interval(value)?),
            "jmx" => self.jmx = flag("jmx", value)?,
            "stop_within" => self.stop_within = Some(Duration::from_nanos(number("stop_within", value)?)),
            "lease" => self.terms.file = Some(PathBuf::from(value)),
            "duration" => self.terms.duration = Some(Duration::from_nanos(number("duration", value)?)),
            "ephemeral" => self.terms.is_ephemeral = flag("ephemeral", value)?,
            "phase_threshold" => self.phase_threshold = Some(fraction("phase_threshold", value)?),
            "on_phase" => self.on_phase = Some(Announce::parse(&value)),
            "parks" => self.parks_to = Some(PrintTo::parse(value)),
            "parks_json" => self.parks_json = flag("parks_json", value)?,
            "park_threshold" => self.park_threshold = Some(number("park_threshold", value)?),
            "park_print_threshold" => self.park_print_threshold = Some(number("park_print_threshold", value)?),
            "park_free_on_print" => self.park_free_on_print = flag("park_free_on_print", value)?,
            "progress" => self.causal.progress = names(&value),
            "target" => self.causal.targets = names(&value),
            "scope" => self.causal.scope = names(&value),
            "speedups" => self.causal.speedups = speedups(&value)?,
            "latency" => self.causal.latency = latency(&value)?,
            "end_to_end" => self.causal.end_to_end = flag("end_to_end", value)?,
            "await" => self.causal.awaits = flag("await", value)?,
            "end" => self.end = flag("end", value)?,
            "last" => self.last = flag("last", value)?,
            "recompile" => self.recompile = flag("recompile", value)?,
            "safe" => self.safe = flag("safe", value)?,
            "strict" => self.strict = flag("strict", value)?,
            "redact" => self.redact = flag("redact", value)?,
            "disable" => self.disable = mechanisms(&value)?,
            other => return Err(OptionError::UnknownKey(other.to_owned())),
        }
        Ok(())
    }

    /// How large the recording may become.
    pub fn size_limit(&self) -> Option<u64> {
        Some(self.max_size.unwrap_or(DEFAULT_MAX_SIZE)).filter(|limit| *limit > 0)
    }

    /// True if the feature was asked for, or nothing was and it is cheap enough
    /// to be left on.
    pub fn wants(&self, feature: &str) -> bool {
        match self.events.is_empty() {
            true => DEFAULT_FEATURES.contains(&feature),
            false => self.events.iter().any(|word| match word.as_str() {
                word if word == feature => true,
                // Pressure is computed from the events of both kinds of lock.
                PRESSURE => matches!(feature, "monitor" | "park"),
                // Experiments hang on samples, and give credit to who was woken.
                CAUSAL => matches!(feature, "monitor" | "park" | "cpu"),
                // They are ends of parks.
                MOUNTS => feature == "park",
                _ => false,
            }),
        }
    }

    /// True if parks are added up by blocker.
    pub fn counts_parks(&self) -> bool {
        self.wants("park") && !self.is_pressure_alone()
    }

    /// True if nothing but windows and phases is to be recorded.
    pub fn is_pressure_alone(&self) -> bool {
        !self.events.is_empty() && self.events.iter().all(|word| word == PRESSURE)
    }

    /// True if lock and park events come with call chains.
    pub fn takes_chains(&self) -> bool {
        !self.disable.contains(&Mechanism::Chains)
    }

    /// True if the mechanism may be used.
    pub fn allows(&self, mechanism: Mechanism) -> bool {
        !self.safe && !self.disable.contains(&mechanism)
    }
}

/// How large a recording becomes unless asked for otherwise: 1 GB.
const DEFAULT_MAX_SIZE: u64 = 1 << 30;

/// The feature that records each mount of a virtual thread after an unpark.
pub const MOUNTS: &str = "mounts";

/// The feature that makes experiments.
pub const CAUSAL: &str = "causal";

/// The feature that records windows and phases.
const PRESSURE: &str = "pressure";

fn pressure_interval(value: String) -> Result<u64, OptionError> {
    let number = value.parse().ok().filter(|ns| *ns >= PressureOptions::SHORTEST.0);
    let expected = "a number of nanoseconds from 10000000 (10 ms) on";
    number.ok_or(OptionError::BadValue { key: "pressure_interval", value, expected })
}

fn fraction(key: &'static str, value: String) -> Result<f64, OptionError> {
    let number = value.parse().ok().filter(|fraction| *fraction > 0.0 && *fraction <= 1.0);
    number.ok_or(OptionError::BadValue { key, value, expected: "a fraction above 0, up to 1" })
}

fn positive(key: &'static str, value: String) -> Result<u64, OptionError> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or(OptionError::BadValue { key, value, expected: "a number above 0" })
}

fn window(value: String) -> Result<u64, OptionError> {
    let number = value.parse().ok().filter(|ns| (SHORTEST_WINDOW_NS..=LONGEST_WINDOW_NS).contains(ns));
    number.ok_or(OptionError::BadValue { key: "sampling_window", value, expected: "from 100 us to 1 s, in ns" })
}

/// `BEGIN>END;BEGIN>END`.
fn latency(value: &str) -> Result<Vec<(String, String)>, OptionError> {
    let pair = |text: &String| text.split_once('>').map(|(begin, end)| (begin.to_owned(), end.to_owned()));
    let bad = || OptionError::BadValue {
        key: "latency",
        value: value.to_owned(),
        expected: "a list of BEGIN>END, separated by semicolons",
    };
    names(value).iter().map(|text| pair(text).ok_or_else(bad)).collect()
}

fn engine(value: String) -> Result<Engine, OptionError> {
    let known = Engine::ALL.iter().find(|(name, _)| *name == value);
    let expected = "auto, perf, signal, jvmti, agct or handshake";
    known.map(|(_, engine)| *engine).ok_or(OptionError::BadValue { key: "engine", value, expected })
}

/// Words of features joined by `+`.
pub fn features(value: &str) -> Result<Vec<String>, OptionError> {
    let words = value.split('+').filter(|word| !word.is_empty());
    words
        .map(|word| match FEATURES.contains(&word) {
            true => Ok(word.to_owned()),
            false => Err(OptionError::BadValue {
                key: "events",
                value: word.to_owned(),
                expected: "a feature of this agent (known: monitor, park, cpu, wall, pressure, steal, mounts, causal)",
            }),
        })
        .collect()
}

/// Names joined by `;`, which is in no name of Java.
fn names(value: &str) -> Vec<String> {
    value.split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn speedups(value: &str) -> Result<Vec<u32>, OptionError> {
    let percent = |word: &str| {
        let number = word.parse().ok().filter(|percent| (1..=100).contains(percent));
        number.ok_or_else(|| OptionError::BadValue {
            key: "speedups",
            value: word.to_owned(),
            expected: "a whole number of percent from 1 to 100",
        })
    };
    value.split('+').map(percent).collect()
}

fn steal_interval(value: String) -> Result<u64, OptionError> {
    match value.parse() {
        Ok(ns) if STEAL_INTERVALS_NS.contains(&ns) => Ok(ns),
        _ => Err(OptionError::BadValue { key: "steal_interval", value, expected: "between 10 ms and 4 s, in ns" }),
    }
}

fn mechanisms(value: &str) -> Result<Vec<Mechanism>, OptionError> {
    let words = value.split('+').filter(|word| !word.is_empty());
    words
        .map(|word| {
            let found = Mechanism::ALL.iter().find(|(name, _)| *name == word);
            found.map(|(_, mechanism)| *mechanism).ok_or_else(|| OptionError::BadValue {
                key: "disable",
                value: word.to_owned(),
                expected: "exit-detour, reenter-detour, carrier-detour, walker, usdt, condvar, perf, park-natives, park-locksupport, park-redirect, vmstructs or chains",
            })
        })
        .collect()
}

fn interval(value: String) -> Result<u64, OptionError> {
    let expected = "a number of nanoseconds from 100000 (0.1 ms) to 1000000000 (1 s)";
    let number = value.parse().ok().filter(|ns| SAMPLE_INTERVALS_NS.contains(ns));
    number.ok_or(OptionError::BadValue { key: "interval", value, expected })
}

fn number(key: &'static str, value: String) -> Result<u64, OptionError> {
    value.parse().map_err(|_| OptionError::BadValue { key, value, expected: "a whole number" })
}

fn flag(key: &'static str, value: String) -> Result<bool, OptionError> {
    value.parse().map_err(|_| OptionError::BadValue { key, value, expected: "true or false" })
}

fn unescape(text: &str) -> Result<String, OptionError> {
    let bad = || OptionError::BadEscape(text.to_owned());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
        rest = rest.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_knows_every_mechanism() {
        assert_eq!(Mechanism::ALL.map(|(name, _)| name), headway_protocol::MECHANISMS);
    }

    #[test]
    fn an_empty_string_starts_with_defaults() {
        assert_eq!(Options::parse("").unwrap(), Options::default());
    }

    #[test]
    fn values_are_unescaped() {
        let options = Options::parse("start,file=/a%2Cb/%25p-%25t.jfr,safe,max_size=10").unwrap();
        assert_eq!(options.file.as_deref(), Some("/a,b/%p-%t.jfr"));
        assert!(options.safe);
        assert_eq!(options.max_size, Some(10));
        assert!(!options.allows(Mechanism::Walker));
    }

    /// Command lines that are installed somewhere talk to newer agents, too (`docs/compatibility.md`).
    #[test]
    fn options_of_every_version_so_far_are_understood() {
        let of_versions = [
            ("0.1.0", include_str!("options/released/0.1.0.txt")),
            ("0.2.0", include_str!("options/released/0.2.0.txt")),
        ];
        assert!(of_versions.iter().any(|(version, _)| *version == env!("CARGO_PKG_VERSION")), "this one, too");
        for (version, lines) in of_versions {
            for line in lines.lines() {
                assert!(Options::parse(line).is_ok(), "{version}: {line}: {:?}", Options::parse(line));
            }
        }
        let (_, lines) = of_versions[1];
        let last = lines.lines().filter_map(|line| Options::parse(line).ok()).next_back();
        assert!(last.is_some_and(|options| options.command == Command::Detach && options.reply.is_some()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_value() {
        let sentence = |text: &str| Options::parse(text).unwrap_err().to_string();
        assert_eq!(
            sentence("halt"),
            "unknown agent command 'halt' (known: start, stop, dump, status, live, parks, detach)"
        );
        assert_eq!(sentence("start,colour=red"), "unknown agent option 'colour'");
        assert_eq!(sentence("start,chunk_size=65536"), "unknown agent option 'chunk_size'");
        assert_eq!(sentence("start,chunk_age=1000"), "unknown agent option 'chunk_age'");
        assert_eq!(sentence("start,max_size=big"), "agent option max_size=big is not a whole number");
        assert_eq!(
            sentence("start,events=monitor+lunch"),
            "agent option events=lunch is not a feature of this agent (known: monitor, park, cpu, wall, pressure, steal, mounts, causal)"
        );
        assert_eq!(sentence("start,file=50%"), "agent option '50%' has a % that is not followed by two hex digits");
    }
}
