//! How a recording samples: what was asked for, what this machine allows.

use super::agct;
use crate::agent::Agent;
use crate::jni::Jni;
use crate::options::{Engine, Mechanism, Options};
use crate::reply::{MechanismState, State};
use crate::vm::SWITCHED_OFF;
use headway_sample::perf::{Config, Ring, PAGE};
use headway_sample::task;
use headway_sample::timer::AsyncGetCallTrace;
use std::io;

/// CPU time between samples by default: 10 ms cost 0.2 to 0.5 % of a
/// thread's time.
pub const DEFAULT_INTERVAL_NS: u64 = 10_000_000;
/// Bytes of stack copied; a ring has room for as many of them as ticks.
pub const STACK_BYTES: u32 = 16 << 10;
/// The same of threads whose stack was found to be deeper, and where no sample may
/// be cut off: nearly the longest record that the kernel writes.
pub const DEEP_STACK_BYTES: u32 = 60 << 10;
/// Ring of a Java thread: what it copies in 31 ticks.
pub const RING_BYTES: usize = 512 << 10;
/// The same of a thread with a deep stack: in 16 ticks.
pub const DEEP_RING_BYTES: usize = 1 << 20;
/// From this interval on half of it lasts longer than the decoder is ever late:
/// 75 ms of the thread's CPU time.
pub const SPARSE_NS: u64 = 5_000_000;
/// Smallest ring, and that of the VM's own threads.
pub const SMALL_RING_BYTES: usize = 128 << 10;
/// Memory for all rings of threads.
pub const ALL_RINGS_BYTES: usize = 48 << 20;
/// Ring of a processor: what is copied there in 127 ticks, 34 of deep stacks.
pub const CPU_RING_BYTES: usize = 2 << 20;
/// Memory for the rings of all processors.
pub const CPU_RINGS_BYTES: usize = 32 << 20;

/// How running threads are sampled.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// By the kernel; `kernel` says whether also inside the kernel.
    Perf {
        /// Samples of the time spent in the kernel are allowed.
        kernel: bool,
    },
    /// By signals of CPU timers.
    Timer,
    /// By such signals whose handler asks the VM.
    CallTrace(AsyncGetCallTrace),
    /// Not at all.
    Nothing,
    /// By asking the VM for all threads that are due, at a safepoint.
    Safepoint,
    /// By asking it for one after the other, by handshakes.
    Handshake,
}

impl Source {
    /// The engine's name.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Perf { .. } => "perf",
            Source::Timer => "signal",
            Source::Nothing => "none",
            Source::CallTrace(_) => "agct",
            Source::Safepoint => "jvmti",
            Source::Handshake => "handshake",
        }
    }

    /// True if the kernel copies.
    pub const fn is_perf(self) -> bool {
        matches!(self, Source::Perf { .. })
    }

    /// True if the VM is asked, by a thread that is one of Java's.
    pub const fn asks(self) -> bool {
        matches!(self, Source::Safepoint | Source::Handshake)
    }
}

/// What a recording samples, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where copies come from.
    pub source: Source,
    /// CPU time between two.
    pub interval_ns: u64,
    /// Sample waiting threads too.
    pub wall: bool,
    /// Sample threads that others wait for, while they do.
    pub owners: bool,
    /// Sample no others: `source` is for those of them that run.
    pub only_owners: bool,
    /// Look at each sample at once: experiments hang on it.
    pub eager: bool,
}

/// CPU time between samples where experiments hang on them.
pub const EAGER_INTERVAL_NS: u64 = 1_000_000;

/// Decides, and says so. `None` if nothing is to be sampled, or cannot be.
pub fn choose(agent: &Agent, jni: Jni, options: &Options) -> (Option<Plan>, Vec<MechanismState>) {
    let owners = samples_owners(options);
    if !samples_all(options) {
        return if owners { of_owners(agent, options) } else { (None, Vec::new()) };
    }
    let state = |state, detail: String| MechanismState { name: "cpu".to_owned(), state, detail };
    if options.safe {
        return (None, vec![state(State::Degraded, NOT_SAFE.to_owned())]);
    }
    if let Some(reason) = agent.hotspot.failure() {
        return (None, vec![state(State::Degraded, format!("no samples: {reason}"))]);
    }
    let eager = options.wants("causal");
    let interval_ns = options.interval_ns.unwrap_or(if eager { EAGER_INTERVAL_NS } else { DEFAULT_INTERVAL_NS });
    let wall = options.wants("wall");
    let (source, said) = match engine(options) {
        Engine::Auto | Engine::Perf => by_the_kernel(options, interval_ns),
        Engine::Signal => (Source::Timer, (State::On, format!("as asked, {BY_SIGNALS}"))),
        Engine::Agct => by_call_traces(agent, jni, options, interval_ns),
        Engine::Jvmti => (Source::Safepoint, (State::On, BY_SAFEPOINTS.to_owned())),
        Engine::Handshake => (Source::Handshake, (State::On, BY_HANDSHAKES.to_owned())),
    };
    let detail = format!("engine {}: {}", source.name(), said.1);
    let owners = owners && !eager;
    let plan = Plan { source, interval_ns, wall, owners, only_owners: false, eager };
    (Some(plan), vec![state(said.0, detail)])
}

/// What sampling changes in the process. Whether the kernel allows perf_event is not tried here.
pub fn will_change(options: &Options) -> Option<String> {
    if !options.allows(Mechanism::VmStructs) {
        return None;
    }
    let perf = options.allows(Mechanism::Perf);
    if !samples_all(options) {
        let owners = samples_owners(options) && options.allows(Mechanism::Owners) && perf;
        return owners.then(|| OPENED_FOR_OWNERS.to_owned());
    }
    let changed = match engine(options) {
        Engine::Auto | Engine::Perf if perf => OPENED_OR_TIMERS,
        Engine::Auto | Engine::Perf | Engine::Signal | Engine::Agct => TIMERS,
        Engine::Jvmti | Engine::Handshake => return None,
    };
    Some(changed.to_owned())
}

const OPENED_FOR_OWNERS: &str = "open file descriptors of perf_event (the kernel's sampling), where it is allowed";
const OPENED_OR_TIMERS: &str =
    "open file descriptors of perf_event (the kernel's sampling); where it is denied, timers and a \
                                handler of SIGPROF";
const TIMERS: &str = "timers and a handler of SIGPROF";

fn samples_all(options: &Options) -> bool {
    options.wants("cpu") || options.wants("wall")
}

fn samples_owners(options: &Options) -> bool {
    let locks = options.wants("monitor") || options.wants("park");
    locks && !options.wants("wall") && !options.is_pressure_alone() && options.parks_to.is_none()
}

/// Experiments hang on samples that come at once.
fn engine(options: &Options) -> Engine {
    match options.wants("causal") {
        true => Engine::Auto,
        false => options.engine,
    }
}

/// Owners are sampled where everything about them is known, and else not: whoever
/// reads the report sees by how much is covered.
fn of_owners(agent: &Agent, options: &Options) -> (Option<Plan>, Vec<MechanismState>) {
    let state =
        |state, detail: &str| vec![MechanismState { name: "owners".to_owned(), state, detail: detail.to_owned() }];
    if options.safe || !options.allows(Mechanism::Owners) || agent.hotspot.failure().is_some() {
        return (None, state(State::Off, NO_OWNERS));
    }
    let by_perf = options.allows(Mechanism::Perf) && try_perf(DEFAULT_INTERVAL_NS).is_ok();
    let (source, said) = match by_perf {
        true => (Source::Perf { kernel: false }, OWNERS),
        false => (Source::Nothing, WAITING_OWNERS),
    };
    let interval_ns = DEFAULT_INTERVAL_NS;
    let plan = Plan { source, interval_ns, wall: false, owners: true, only_owners: true, eager: false };
    (Some(plan), state(State::On, said))
}

const NO_OWNERS: &str = "threads are not sampled while others wait for them";
const OWNERS: &str = "threads are sampled while others wait for them";
const WAITING_OWNERS: &str = "threads are sampled while others wait for them, unless they run: there is no perf_event";

/// Said of every engine.
const NOT_SAFE: &str = "no samples: every engine reads the VM's own structures, jvmti and handshake too (which thread \
                        runs, what a method is called), and --safe leaves those alone";
/// What is said of each way.
const BY_SIGNALS: &str =
    "threads are sampled by signals of CPU timers, which fire no finer than the kernel's tick and \
                          are weighted by what they missed; the VM's own threads are left out";
const BY_SAFEPOINTS: &str = "JVMTI GetThreadListStackTraces of the threads that ran, all at one safepoint: places \
                             without a poll are never seen, no native code, no virtual threads";
const BY_HANDSHAKES: &str = "JVMTI GetStackTrace of each running thread by itself, at its next poll (a handshake): \
                             places without a poll are never seen, no native code, no virtual threads";
const BY_CALL_TRACES: &str = "AsyncGetCallTrace in a signal handler on the thread, no finer than the kernel's tick: \
                              frames that the VM cannot walk are lost, no native code";

/// What samples, and what is said of it.
type Choice = (Source, (State, String));

fn by_the_kernel(options: &Options, interval_ns: u64) -> Choice {
    let perf = match options.allows(Mechanism::Perf) {
        true => try_perf(interval_ns),
        false => Err(SWITCHED_OFF.to_owned()),
    };
    let by_perf = "perf_event cpu-clock, the kernel copies stacks;";
    match perf {
        Ok(true) => {
            let said = format!("{by_perf} time in the kernel is included, with the kernel's functions");
            (Source::Perf { kernel: true }, (State::On, said))
        }
        Ok(false) => {
            let said = format!("{by_perf} time in the kernel is not seen (kernel.perf_event_paranoid)");
            (Source::Perf { kernel: false }, (State::On, said))
        }
        Err(reason) => (Source::Timer, (State::Degraded, without_perf(&reason))),
    }
}

fn by_call_traces(agent: &Agent, jni: Jni, options: &Options, interval_ns: u64) -> Choice {
    let ready = agct::find().and_then(|function| agct::prepare(agent, jni).map(|()| function));
    match ready {
        Ok(function) => (Source::CallTrace(function), (State::On, BY_CALL_TRACES.to_owned())),
        Err(reason) => {
            let (source, (_, said)) = by_the_kernel(options, interval_ns);
            (source, (State::Degraded, format!("not by AsyncGetCallTrace ({reason}), but: {said}")))
        }
    }
}

fn without_perf(reason: &str) -> String {
    format!("{BY_SIGNALS}: perf_event {reason}")
}

/// Whether the kernel samples this process, and inside the kernel too.
fn try_perf(interval_ns: u64) -> Result<bool, String> {
    let config = |kernel| Config { interval_ns, stack_bytes: 1024, ring_bytes: 4 * PAGE, kernel, eager: false };
    let open = |kernel| Ring::open(task::current(), &config(kernel));
    match open(true) {
        Ok(_) => return Ok(true),
        Err(error) if !denied(&error) => return Err(format!("fails: {error}")),
        Err(_) => {}
    }
    match open(false) {
        Ok(_) => Ok(false),
        Err(error) => Err(format!("is denied ({error})")),
    }
}

fn denied(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(options: &str) -> String {
        will_change(&Options::parse(&format!("status,{options}")).unwrap()).unwrap_or_default()
    }

    #[test]
    fn a_preview_names_what_samples_need() {
        assert_eq!(changed("events=monitor+park"), OPENED_FOR_OWNERS);
        assert_eq!(changed("events=monitor,disable=owners"), "");
        assert_eq!(changed("events=steal"), "");
        assert_eq!(changed("events=cpu"), OPENED_OR_TIMERS);
        assert_eq!(changed("events=wall,engine=signal"), TIMERS);
        assert_eq!(changed("events=cpu,disable=perf"), TIMERS);
        assert_eq!(changed("events=cpu,engine=handshake"), "");
        assert_eq!(changed("events=cpu,safe"), "");
        // Experiments choose the engine themselves.
        assert_eq!(changed("events=causal,engine=jvmti"), OPENED_OR_TIMERS);
    }
}
