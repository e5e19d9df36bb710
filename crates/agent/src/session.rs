//! A recording under way: beginning it, ending it, and the commands.

mod unfinished;

use crate::agent::{Agent, Observer};
use crate::drain::{self, Drain, DrainHandle, Recorded};
use crate::ending::{Deadline, WITHIN};
use crate::hooks::HOOKS;
use crate::jni::Jni;
use crate::jvmti::table::EventKind;
use crate::large_blocks;
use crate::lease::{Lease, GONE};
use crate::observing::{observer, Observing};
use crate::options::{Command, Mechanism, Options, DEFAULT_FEATURES};
use crate::park::{parks, Counting, Wish};
use crate::pressure::{Commands, BEANS};
use crate::removal::{self, Idle};
use crate::reply::{self, DegradedMechanism, JvmFacts, MechanismState, Reply};
use crate::sample::plan::{self, Plan};
use crate::sample::{self, agct, SamplerHandle};
use crate::steal;
use crate::{clock, found_waiting, process, recompile, thread_events, vm};
use headway_jfr::IfTaken;
use headway_model::event::{Degraded, RecordingInfo};
use headway_model::{Event, Loss, TimeNs};
use headway_sample::task;
use regex_lite::Regex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use unfinished::{answer, finish_last, keep, still_written, unfinished_sentence, Unfinished};

/// The recording under way.
pub struct Session {
    observed: Option<<Observing as Observer>::Running>,
    sampler: Option<SamplerHandle>,
    drain: DrainHandle,
    lease: Option<Lease>,
    /// `None` where parks are only counted.
    path: Option<PathBuf>,
    started: TimeNs,
    /// When nothing more was recorded.
    ended: Option<TimeNs>,
    /// How long its end may take.
    stop_within: Duration,
    /// What it may cost, as a part of the process's CPU time.
    budget: Option<f64>,
    mechanisms: Vec<MechanismState>,
    /// What it changes in the process.
    changes: Vec<String>,
}

/// What the commands keep from one to the next.
struct State {
    /// The recording under way. Held while the VM is called: never take it in
    /// a callback or hook.
    session: Mutex<Option<Session>>,
    /// Held while a recording begins or ends.
    changing: Mutex<()>,
    /// Where the recording goes that is ending just now.
    ending: Mutex<Option<PathBuf>>,
    unfinished: Mutex<Option<Unfinished>>,
    /// What a recording would have answered to `stop` that ended by itself, or whose file was finished after
    /// the answer.
    ended_before: Mutex<Option<Reply>>,
}

/// Not the agent's, which records and knows nothing of commands.
static STATE: State = State {
    session: Mutex::new(None),
    changing: Mutex::new(()),
    ending: Mutex::new(None),
    unfinished: Mutex::new(None),
    ended_before: Mutex::new(None),
};

/// Why a recording could not begin.
#[derive(Debug)]
pub enum StartError {
    /// One is under way.
    AlreadyRecording(PathBuf),
    /// The end of another one is still being written.
    StillWriting(PathBuf),
    /// The recording's file could not be created.
    Output(String),
    /// The VM is not one that the agent knows.
    Unsuitable(String),
    /// The thread filter is no regular expression.
    BadFilter(String),
    /// The process may open so few files more.
    Files(u64),
    /// The buffers cannot be as large as that.
    Memory(String),
    /// There can be no experiments, or not with this progress point.
    Causal(String),
    /// `strict` was asked for, and something is degraded.
    Degraded(Vec<String>),
    /// A JVMTI call that must succeed failed.
    Jvmti(crate::jvmti::JvmtiError),
    /// The draining thread could not be started.
    Thread(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::AlreadyRecording(path) => {
                write!(f, "already recording to {}; stop that recording first", path.display())
            }
            StartError::StillWriting(path) => {
                write!(f, "the end of the last recording is still being written to {}; try again later", path.display())
            }
            StartError::Output(reason) => write!(f, "cannot create the recording: {reason}"),
            StartError::Unsuitable(reason) | StartError::Memory(reason) => f.write_str(reason),
            StartError::Files(spare) => write!(
                f,
                "the process can open only {spare} more files, and a recording needs {LEAST_FILES}: \
                 let it have more open files (ulimit -n), or close some"
            ),
            StartError::BadFilter(reason) => {
                write!(f, "the thread filter is no regular expression: {reason}")
            }
            StartError::Causal(reason) => write!(f, "no experiments: {reason}"),
            StartError::Degraded(reasons) => {
                write!(f, "not everything is available and --strict was asked for: {}", reasons.join("; "))
            }
            StartError::Jvmti(error) => write!(f, "{error}"),
            StartError::Thread(error) => write!(f, "cannot start the draining thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl StartError {
    fn exit_code(&self) -> u8 {
        match self {
            StartError::Unsuitable(_) => 3,
            StartError::BadFilter(_) | StartError::Causal(_) => 2,
            _ => 1,
        }
    }
}

/// Those of them that only monitors need.
const MONITOR_EVENTS: [EventKind; 4] = [
    EventKind::MonitorContendedEnter,
    EventKind::MonitorContendedEntered,
    EventKind::MonitorWait,
    EventKind::MonitorWaited,
];

/// Events that a recording listens to.
const EVENTS: [EventKind; 6] = [
    EventKind::MonitorContendedEnter,
    EventKind::MonitorContendedEntered,
    EventKind::MonitorWait,
    EventKind::MonitorWaited,
    EventKind::GarbageCollectionStart,
    EventKind::GarbageCollectionFinish,
];

/// Events that go on between recordings, so that the tables of threads and
/// locks stay true.
const UPKEEP: [EventKind; 4] =
    [EventKind::ThreadStart, EventKind::ThreadEnd, EventKind::ObjectFree, EventKind::VmDeath];
/// What ends with a detach. Objects stay tagged, so the VM goes on saying when
/// they die, which gives the places of their locks back.
const UNTIL_DETACH: [EventKind; 3] = [EventKind::ThreadStart, EventKind::ThreadEnd, EventKind::VmDeath];

/// Files that a process must be able to open for a recording to begin: for itself and for the program.
const LEAST_FILES: u64 = 40;
/// Share of the time for the end of a recording in which the last samples are awaited.
const AWAITING_SAMPLES: f64 = 0.3;
/// Share of the time for the end of a recording that is used when the VM dies: the
/// rest is for the end of the process, which unmaps what was recorded with.
const AT_DEATH: f64 = 0.75;
/// Share of what is left then in which threads inside an event are awaited.
const AWAITING_EVENTS: f64 = 0.3;

fn current() -> MutexGuard<'static, Option<Session>> {
    lock(&STATE.session)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`removal::WhileIdle`].
fn while_idle(work: &mut dyn FnMut()) -> Idle {
    let session = match STATE.session.try_lock() {
        Ok(session) => session,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Idle::Changing,
    };
    if session.is_some() {
        return Idle::Recording;
    }
    work();
    Idle::Worked
}

/// True if parks are counted without being recorded.
fn only_counts() -> bool {
    current().as_ref().is_some_and(|session| session.path.is_none())
}

/// What the management bean may ask.
const COMMANDS: Commands = Commands { carry_out: command, recording_path };

/// Begins a recording, which counting alone makes way for.
pub fn start(agent: &'static Agent, jni: Jni, options: &Options) -> Result<(), StartError> {
    if only_counts() {
        stop(agent);
    }
    let (path, if_taken) = place(options);
    begin(agent, jni, options, Some((path, if_taken)))?;
    // Somebody may find the bean and ask it for the recording: the session
    // is not locked any more.
    if let Some(Err(reason)) = options.jmx.then(|| BEANS.register(jni, COMMANDS)) {
        agent.definitions.degraded("jmx", &format!("no management bean: {reason}"));
    }
    Ok(())
}

/// Where a recording or a copy goes, and what becomes of a file that is there: where
/// the name is generated it is not replaced, and the new one gets a number.
fn place(options: &Options) -> (PathBuf, IfTaken) {
    let pattern = options.file.as_deref().unwrap_or("headway-%p-%t.jfr");
    let if_taken = match options.if_taken {
        IfTaken::Refuse if process::is_generated(pattern) => IfTaken::Number,
        asked => asked,
    };
    (PathBuf::from(process::expand_file_name(pattern)), if_taken)
}

/// Without a place nothing is written.
fn begin(
    agent: &'static Agent,
    jni: Jni,
    options: &Options,
    place: Option<(PathBuf, IfTaken)>,
) -> Result<(), StartError> {
    let cpu_before = clock::thread_cpu();
    let _changing = lock(&STATE.changing);
    // Until then, another command may pause the process.
    let pauses_before = agent.own_cost.pauses();
    let mut session = current();
    if let Some(session) = session.as_ref() {
        return Err(StartError::AlreadyRecording(session.path.clone().unwrap_or_default()));
    }
    if let Some(path) = still_written(agent) {
        return Err(StartError::StillWriting(path));
    }
    large_blocks::room_for(large_blocks::RECORDING_BYTES).map_err(StartError::Memory)?;
    let spare = task::spare_files();
    if spare < LEAST_FILES {
        return Err(StartError::Files(spare));
    }
    let filter = options.threads.as_deref().map(Regex::new).transpose();
    let filter = filter.map_err(|e| StartError::BadFilter(e.to_string()))?;
    agent.bound_memory(options.memory).map_err(StartError::Memory)?;
    agent.set_filters(options.redact, filter);
    let (plan, mechanisms) = prepare(agent, jni, options)?;
    let info = Arc::new(recording_info(agent, options, plan));
    let started = info.start;
    let drain =
        Drain::create(agent, place, options, (*info).clone(), degraded_events(&mechanisms)).map_err(StartError::Output);
    let mut drain = drain.inspect_err(|_| unprepare(agent))?;
    let path = drain.path().map(Path::to_path_buf);
    vm::rest();

    reset(agent);
    drain.begin_sampling(started);
    agent.locks.begin_parks(options.park_threshold.unwrap_or(0));
    parks().count(match (options.counts_parks(), &path) {
        (false, _) => Counting::No,
        (true, Some(_)) => Counting::Also,
        (true, None) => Counting::Only,
    });
    agent.definitions.set_wanted(true);
    let waiting = thread_events::define_all(agent, jni, options.wants("monitor") && !agent.pressure.is_sparing());
    let drain = drain::spawn(drain).map_err(StartError::Thread);
    let drain = drain.inspect_err(|_| {
        agent.definitions.set_wanted(false);
        unprepare(agent);
    })?;
    agent.set_recording(true);
    agent.definitions.begun();
    found_waiting::report(agent, waiting);
    steal::api::set_active(jni, options.wants("steal") || options.wants("causal"));
    let eager = plan.filter(|plan| plan.eager);
    let sampler = plan.and_then(|plan| {
        let sampler = sample::spawn(agent, plan, info.clone());
        let failed =
            |error: &_| agent.definitions.degraded("cpu", &format!("no samples: no thread to decode them: {error}"));
        sampler.inspect_err(failed).ok()
    });
    let observed = eager.and_then(|plan| observer().begin(agent, options, plan.interval_ns));
    let lease = Lease::begin(agent, options.terms.clone(), options.reply.clone(), started, abandon);
    agent.own_cost.set_attach(clock::thread_cpu() - cpu_before, agent.own_cost.pauses() - pauses_before);
    lock(&STATE.ended_before).take();
    *session = Some(Session {
        observed,
        sampler,
        drain,
        lease,
        path,
        started,
        ended: None,
        stop_within: options.stop_within.unwrap_or(WITHIN),
        budget: options.budget,
        changes: will_change(agent, options),
        mechanisms,
    });
    Ok(())
}

/// Activates the mechanisms; with `strict`, degraded ones are an error.
fn prepare(
    agent: &'static Agent,
    jni: Jni,
    options: &Options,
) -> Result<(Option<Plan>, Vec<MechanismState>), StartError> {
    let libjvm = vm::libjvm();
    agent.hotspot.allow(options.allows(Mechanism::VmStructs), &libjvm);
    let mut mechanisms = agent.chains.choose(agent, options, &libjvm);
    mechanisms.extend(HOOKS.install(agent, options, &libjvm));
    mechanisms.extend(HOOKS.code_writing());
    mechanisms.extend(recompile::prepare(agent, options));
    mechanisms.extend(parks().install(agent, jni, options, &libjvm));
    let (plan, sampling) = plan::choose(agent, jni, options);
    mechanisms.extend(sampling);
    if options.wants("causal") {
        let ready = plan.ok_or("running threads cannot be sampled here".to_owned());
        let ready = ready.and_then(|_| observer().prepare(agent, jni, options, &libjvm));
        if let Err(reason) = ready {
            unprepare(agent);
            return Err(StartError::Causal(reason));
        }
    }
    let mut degraded: Vec<String> = degraded(&mechanisms).into_iter().map(|d| d.reason).collect();
    degraded.dedup();
    if options.strict && !degraded.is_empty() {
        unprepare(agent);
        return Err(StartError::Degraded(degraded));
    }
    let wanted = |event: &EventKind| options.wants("monitor") || !MONITOR_EVENTS.contains(event);
    for event in EVENTS.into_iter().filter(wanted).chain(UPKEEP) {
        if let Err(error) = agent.jvmti.enable_event(event, true) {
            unprepare(agent);
            return Err(StartError::Jvmti(error));
        }
    }
    if options.parks_to.is_some() && agent.jvmti.enable_event(EventKind::DataDumpRequest, true).is_err() {
        agent.definitions.degraded("park-statistics", "printed at the end only: the VM does not tell of thread dumps");
    }
    Ok((plan, mechanisms))
}

fn unprepare(agent: &'static Agent) {
    for event in EVENTS.into_iter().chain([EventKind::DataDumpRequest]) {
        // Nothing can be done about a VM that refuses to switch an event off;
        // its callbacks see that no recording is under way.
        let _ = agent.jvmti.enable_event(event, false);
    }
    agct::unprepare(agent);
    removal::take_out_for_good(agent, while_idle);
}

/// Forgets what an earlier recording left.
fn reset(agent: &Agent) {
    agent.losses.reset();
    agent.sampling.reset();
    agent.samples.look_slower(1);
    agent.samples.sample_sparser(1);
    // A pause that an earlier recording did not see the end of.
    agent.gc_start.store(0, Ordering::SeqCst);
    parks().reset();
    agent.found_blocked.clear();
    agent.virtuals.clear(|pin| agent.locks.unpin(pin));
    for slot in agent.threads.iter() {
        slot.end_pending(|pin| agent.locks.unpin(pin));
        slot.parks.reset();
        slot.exchanged.clear();
    }
}

fn recording_info(agent: &Agent, options: &Options, plan: Option<Plan>) -> RecordingInfo {
    let property = |name| agent.jvmti.system_property(name).unwrap_or_default();
    let visible = |text: String| if options.redact { String::new() } else { text };
    let events = match options.events.is_empty() {
        true => DEFAULT_FEATURES.join(","),
        false => options.events.join(","),
    };
    let mut settings = vec![
        ("events".to_owned(), events),
        ("park_floor".to_owned(), options.park_floor_ns.unwrap_or(0).to_string()),
        ("min_duration".to_owned(), options.min_duration_ns.unwrap_or(0).to_string()),
        ("budget".to_owned(), options.budget.map_or("none".to_owned(), |budget| format!("{} %", budget * 100.0))),
        ("max_rate".to_owned(), options.max_rate.map_or("none".to_owned(), |rate| format!("{rate} bytes/s"))),
        ("safe".to_owned(), options.safe.to_string()),
        ("redact".to_owned(), options.redact.to_string()),
        ("pressure_interval".to_owned(), options.pressure_interval_ns.unwrap_or(1_000_000_000).to_string()),
        ("threads".to_owned(), options.threads.clone().unwrap_or_default()),
    ];
    // Those for which threads queue. A quota does not make threads queue: it stops them.
    if let Ok(cpus) = headway_sample::task::allowed_cpus() {
        settings.push(("cpus".to_owned(), cpus.len().to_string()));
    }
    if let Some(plan) = plan.filter(|plan| !plan.only_owners) {
        settings.push(("engine".to_owned(), plan.source.name().to_owned()));
        settings.push(("interval".to_owned(), format!("{} ns", plan.interval_ns)));
    }
    RecordingInfo {
        start: clock::now(),
        epoch_offset_ns: clock::epoch_offset_ns(),
        producer: format!("headway {}", env!("CARGO_PKG_VERSION")),
        jvm_name: property(c"java.vm.name"),
        jvm_version: property(c"java.vm.version"),
        java_arguments: visible(property(c"sun.java.command")),
        jvm_arguments: visible(process::jvm_arguments()),
        pid: std::process::id(),
        jvm_start: TimeNs(process::started_ns().unwrap_or(0)),
        settings,
    }
}

fn degraded(mechanisms: &[MechanismState]) -> Vec<DegradedMechanism> {
    let degraded = mechanisms.iter().filter(|m| m.state == reply::State::Degraded);
    degraded.map(|m| DegradedMechanism { mechanism: m.name.clone(), reason: m.detail.clone() }).collect()
}

fn degraded_events(mechanisms: &[MechanismState]) -> Vec<Event> {
    let degraded = degraded(mechanisms).into_iter();
    degraded
        .map(|d| Event::Degraded(Degraded { mechanism: Arc::from(d.mechanism), reason: Arc::from(d.reason) }))
        .collect()
}

/// Ends the recording, if one is under way, and finishes its file.
pub fn stop(agent: &'static Agent) -> Option<(Session, Recorded)> {
    let _changing = lock(&STATE.changing);
    let session = take(&mut current())?;
    Some(end_in_living_vm(agent, session))
}

/// Takes a recording that is to end. Until its file is written, `status` says where
/// it goes.
fn take(session: &mut Option<Session>) -> Option<Session> {
    let session = session.take()?;
    lock(&STATE.ending).clone_from(&session.path);
    Some(session)
}

/// The same for one that the caller means.
fn take_if(is_meant: impl FnOnce(&Session) -> bool) -> Option<Session> {
    let mut session = current();
    session.as_ref().filter(|session| is_meant(session))?;
    take(&mut session)
}

fn end_in_living_vm(agent: &'static Agent, session: Session) -> (Session, Recorded) {
    let deadline = Deadline::within(session.stop_within);
    end(agent, session, deadline, |agent| {
        if let Some(jni) = crate::jni::of_current_thread() {
            steal::api::set_active(jni, false);
        }
        unprepare(agent);
    })
}

/// The same in a VM that dies. Events are refused first, since the program's threads
/// still run. It keeps what was changed in it: its collector may
/// have stopped for good already while threads wait for memory, virtual ones in the
/// middle of being mounted, and whoever switches an event off or retransforms a
/// class waits for those.
pub fn stop_at_death(agent: &'static Agent) {
    agent.set_recording(false);
    removal::give_up();
    let begun = Instant::now();
    let deadline = Deadline::within(WITHIN.mul_f64(AT_DEATH));
    // Whoever has one of the locks longer may wait for what a dying VM never does.
    let changing = deadline.lock(&STATE.changing);
    let session = changing.as_ref().and_then(|_| take(&mut *deadline.lock(&STATE.session)?));
    if let Some(session) = session {
        let within = session.stop_within.mul_f64(AT_DEATH).saturating_sub(begun.elapsed());
        end(agent, session, Deadline::within(within), |_| ());
    }
    agent.vm_memory.close();
}

/// Share of the time for the end in which contentions that go on are looked at.
const LOOKING: f64 = 0.1;

fn end(
    agent: &'static Agent,
    mut session: Session,
    deadline: Deadline,
    unprepare: impl FnOnce(&'static Agent),
) -> (Session, Recorded) {
    if let Some(observed) = session.observed.take() {
        observer().finish(agent, observed, deadline.after(AWAITING_SAMPLES));
    }
    // Its last samples are decoded while the VM is as it was for the others.
    if let Some(sampler) = session.sampler.as_mut() {
        sampler.finish(deadline.after(AWAITING_SAMPLES));
    }
    if agent.is_recording() {
        session.drain.look_once_more(&deadline.after(LOOKING));
    }
    agent.set_recording(false);
    session.ended = Some(clock::now());
    let begun = Instant::now();
    unprepare(agent);
    // The VM decides how long that takes.
    let deadline = deadline.later_by(begun.elapsed());
    if !agent.threads.quiesce(deadline.after(AWAITING_EVENTS).left()) {
        // Whoever is still inside an event appends to a buffer that is
        // collected one last time; what comes later is dropped.
        agent.losses.add(Loss::BufferFull, 1);
    }
    let recorded = session.drain.finish(deadline);
    agent.definitions.set_wanted(false);
    if let Some(thread) = session.drain.unfinished() {
        *lock(&STATE.unfinished) =
            Some(Unfinished { path: session.path.clone(), started: session.started, thread, late: None });
    }
    *lock(&STATE.ending) = None;
    (session, recorded)
}

/// Where the recording under way goes; `None` also while one begins or ends.
fn recording_path() -> Option<PathBuf> {
    STATE.session.try_lock().ok()?.as_ref().and_then(|session| session.path.clone())
}

/// Takes the agent out again on behalf of somebody who is gone, if the recording
/// is still that which began at `started`; where its file is, unless parks were only
/// counted. Should they come back to stop it, the reply says why it ended.
fn abandon(agent: &'static Agent, jni: Jni, started: TimeNs, reason: &str) -> Option<Option<PathBuf>> {
    let _changing = lock(&STATE.changing);
    let session = take_if(|session| session.started == started)?;
    let (session, recorded) = end_in_living_vm(agent, session);
    let path = session.path.clone();
    if path.is_some() {
        let note = Some(format!("The agent ended the recording by itself, because {reason}."));
        match recorded.is_finished {
            true => *lock(&STATE.ended_before) = Some(answer(agent, &session, recorded, note)),
            false => keep(agent, session, note),
        }
    }
    // A recording that began before that would lose what is taken out.
    detach(agent, jni);
    Some(path)
}

/// Ends the recording that just began, because nobody learned of it.
pub fn take_back() {
    let Some((agent, jni)) = crate::agent::get().zip(crate::jni::of_current_thread()) else { return };
    let started = lock(&STATE.session).as_ref().map(|session| session.started);
    let taken = started.and_then(|started| abandon(agent, jni, started, GONE));
    if let Some(path) = taken.flatten() {
        let _ = std::fs::remove_file(path);
    }
}

/// Carries out a command on a running VM.
pub fn command(agent: &'static Agent, jni: Jni, options: &Options) -> Reply {
    let mut reply = Reply { jvm: Some(jvm(agent)), ..Reply::of_this_version() };
    match options.command {
        Command::Start => {
            if let Err(error) = start(agent, jni, options) {
                reply.exit_code = error.exit_code();
                reply.error = Some(error.to_string());
            } else {
                describe(agent, options, &mut reply);
            }
        }
        Command::Stop if options.last => drop(finish_last(agent, &mut reply)),
        Command::Stop => finish(agent, &mut reply),
        Command::Status => describe(agent, options, &mut reply),
        Command::Dump => dump(agent, options, &mut reply),
        Command::Live => live(agent, options, &mut reply),
        Command::Parks => count_parks(agent, jni, options, &mut reply),
        Command::Detach if options.last => {
            let _changing = lock(&STATE.changing);
            // Somebody may have begun another recording.
            if current().is_none() {
                detach(agent, jni);
            }
        }
        Command::Detach => {
            if only_counts() {
                stop(agent);
            } else if current().is_some() {
                finish(agent, &mut reply);
            }
            detach(agent, jni);
        }
    }
    if matches!(options.command, Command::Stop | Command::Status | Command::Detach) {
        let session = current();
        if session.is_none() {
            removal::report(agent, jni, &mut reply, while_idle);
        }
    }
    reply
}

/// Leaves nothing running, where nothing is recorded.
fn detach(agent: &'static Agent, jni: Jni) {
    agent.samples.release();
    vm::forget();
    BEANS.unregister(jni);
    for event in UNTIL_DETACH {
        // See `unprepare`.
        let _ = agent.jvmti.enable_event(event, false);
    }
}

fn finish(agent: &'static Agent, reply: &mut Reply) {
    if only_counts() {
        return not_recording(reply);
    }
    match stop(agent) {
        Some((session, recorded)) => {
            let is_finished = recorded.is_finished;
            answer_to_stop(agent, reply, &session, recorded);
            if !is_finished {
                keep(agent, session, None);
            }
        }
        None if !finish_last(agent, reply) => not_recording(reply),
        // Said once; whoever awaits the file's end may ask again.
        None if reply.still_writing.is_none() => *lock(&STATE.ended_before) = None,
        None => {}
    }
}

fn answer_to_stop(agent: &'static Agent, reply: &mut Reply, session: &Session, recorded: Recorded) {
    fill(agent, reply, session, &recorded);
    reply.still_writing = (!recorded.is_finished).then(|| reply.recording.clone().unwrap_or_default());
    reply.error = recorded.error.or_else(|| (!recorded.is_finished).then(|| unfinished_sentence(session)));
    reply.exit_code = u8::from(reply.error.is_some());
}

fn dump(agent: &'static Agent, options: &Options, reply: &mut Reply) {
    let (path, if_taken) = place(options);
    let is_recorded = |session: &&Session| session.path.is_some();
    let begun = current().as_ref().filter(is_recorded).map(|session| session.drain.dump(path, if_taken));
    let Some(dumped) = begun.map(|dumped| dumped()) else { return not_recording(reply) };
    if let Some(session) = current().as_ref().filter(is_recorded) {
        fill(agent, reply, session, &session.drain.recorded());
    }
    match dumped {
        Ok(path) => reply.recording = Some(path.display().to_string()),
        Err(error) => {
            reply.error = Some(error);
            reply.exit_code = 1;
        }
    }
}

fn live(agent: &'static Agent, options: &Options, reply: &mut Reply) {
    let session = current();
    let Some(session) = session.as_ref().filter(|session| session.path.is_some()) else { return not_recording(reply) };
    let Some(file) = &options.file else {
        reply.error = Some("the command live needs a file".to_owned());
        reply.exit_code = 2;
        return;
    };
    fill(agent, reply, session, &session.drain.recorded());
    if let Err(error) = session.drain.publish_to(PathBuf::from(file)) {
        reply.error = Some(error);
        reply.exit_code = 1;
    }
}

fn count_parks(agent: &'static Agent, jni: Jni, options: &Options, reply: &mut Reply) {
    if current().is_none() {
        let counting = Options { events: vec!["park".to_owned()], ..options.clone() };
        if let Err(error) = begin(agent, jni, &counting, None) {
            reply.exit_code = error.exit_code();
            reply.error = Some(error.to_string());
            return;
        }
        reply.parks_began = true;
    }
    let wish = Wish { printing_threshold: options.park_print_threshold, free_on_print: options.park_free_on_print };
    let asked = current().as_ref().map(|session| session.drain.parks(wish));
    match asked.map(|parks| parks()) {
        Some(Ok(report)) => reply.parks = Some(report),
        Some(Err(error)) => {
            reply.error = Some(error);
            reply.exit_code = 1;
        }
        None => not_recording(reply),
    }
    if options.end {
        end_counting(agent, jni);
    }
}

/// Leaves the process as after `detach`, if parks were only counted. A management bean stays:
/// whoever registered it may still use it.
fn end_counting(agent: &'static Agent, jni: Jni) {
    let _changing = lock(&STATE.changing);
    let session = take_if(|session| session.path.is_none());
    if let Some(session) = session {
        end_in_living_vm(agent, session);
        if !BEANS.is_registered() {
            detach(agent, jni);
        }
    }
}

fn not_recording(reply: &mut Reply) {
    reply.error = Some("nothing is being recorded in this process".to_owned());
    reply.exit_code = 1;
}

fn describe(agent: &'static Agent, options: &Options, reply: &mut Reply) {
    let session = current();
    match session.as_ref() {
        Some(session) if session.path.is_none() => {
            reply.will_change = will_change(agent, options);
            reply.notes.push("Parks are being counted, for `headway parks`.".to_owned());
        }
        Some(session) => {
            session.drain.flush();
            fill(agent, reply, session, &session.drain.recorded());
        }
        None => {
            reply.will_change = will_change(agent, options);
            let sentence =
                |path: PathBuf| format!("The end of the last recording is still being written to {}.", path.display());
            let path = lock(&STATE.ending).clone().or_else(|| still_written(agent));
            reply.still_writing = path.as_ref().map(|path| path.display().to_string());
            reply.notes.extend(path.map(sentence));
        }
    }
}

/// What a recording with these options changes in the process.
fn will_change(agent: &Agent, options: &Options) -> Vec<String> {
    let walks = options.takes_chains() && options.allows(Mechanism::Walker) && options.allows(Mechanism::VmStructs);
    let flag = "the VM flag DebugNonSafepoints, for code that the JVM compiles meanwhile".to_owned();
    let (hooks, parks) = (HOOKS.will_change(agent, options), parks().will_change(agent, options));
    let sampling = plan::will_change(options);
    let experiments = options.wants("causal").then(|| observer().will_change(options)).into_iter().flatten();
    let flag = Some(flag).filter(|_| walks);
    hooks.into_iter().chain(parks).chain(flag).chain(sampling).chain(experiments).collect()
}

fn fill(agent: &Agent, reply: &mut Reply, session: &Session, recorded: &Recorded) {
    let path = recorded.moved_to.as_ref().or(session.path.as_ref());
    reply.recording = path.map(|path| path.display().to_string());
    reply.notes.clone_from(&recorded.notes);
    reply.recording_bytes = Some(recorded.bytes);
    reply.duration_ns = Some(session.ended.unwrap_or_else(clock::now).since(session.started).0);
    reply.events = recorded.events.clone();
    let unwritten = Some((Loss::WriteFailed, recorded.unwritten)).filter(|(_, count)| *count > 0);
    let losses = agent.losses.all().chain(unwritten);
    reply.losses = losses.map(|(loss, count)| (loss.name().to_owned(), count)).collect();
    let mut mechanisms = session.mechanisms.clone();
    agent.chains.correct(&mut mechanisms);
    let answers = session.sampler.as_ref().and_then(SamplerHandle::answers);
    let sampling = mechanisms.iter_mut().find(|mechanism| mechanism.name == "cpu");
    if let Some((sampling, answers)) = sampling.zip(answers) {
        sampling.detail = format!("{}; {answers}", sampling.detail);
    }
    reply.degraded = degraded(&mechanisms);
    reply.mechanisms = mechanisms;
    reply.will_change.clone_from(&session.changes);
    reply.attach_pause_ns = Some(agent.own_cost.attach_pause().0);
    // Of a recording that goes on; at its end it is in `recorded`.
    let sampler = session.sampler.as_ref().filter(|_| agent.is_recording());
    let cost = &recorded.cost;
    reply.attach_cpu_ns = Some(agent.own_cost.attach().0);
    reply.own_cpu_ns = Some(cost.own_cpu.0);
    reply.hook_cpu_ns = Some(cost.hook_cpu.0);
    reply.hook_cpu_error_ns = Some(cost.hook_cpu_error.0);
    reply.timed_calls = Some(cost.timed_calls);
    reply.sampling_window_ns = Some(recorded.window.0);
    reply.process_cpu_ns = Some(cost.process_cpu.0);
    reply.budget = session.budget;
    reply.memory_bytes = Some(cost.memory_bytes + sampler.map_or(0, |sampler| sampler.memory_bytes()));
}

/// What a reply says about the JVM.
fn jvm(agent: &Agent) -> JvmFacts {
    JvmFacts {
        name: agent.jvmti.system_property(c"java.vm.name").unwrap_or_default(),
        version: agent.jvmti.system_property(c"java.vm.version").unwrap_or_default(),
        java: agent.java.version,
    }
}
