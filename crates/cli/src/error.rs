//! Every way a command can fail: one sentence that says what was wrong with
//! which value and what to do, and the exit code that goes with it.

use crate::agent::reply::Reply;
use crate::render::numbers;
use crate::terminal::{self, Screen};
use headway_model::printable;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Done; there may have been warnings.
pub const DONE: u8 = 0;
/// Something did not work out.
pub const FAILURE: u8 = 1;
/// What was typed cannot be understood.
pub const USAGE: u8 = 2;
/// The target process cannot be profiled.
pub const TARGET_UNSUITABLE: u8 = 3;
/// The recording is damaged; its readable part was shown.
pub const DAMAGED_RECORDING: u8 = 4;
/// `run`: the command exists but cannot be executed, as `env` says it.
pub const NOT_EXECUTABLE: u8 = 126;
/// `run`: there is no such command, as `env` says it.
pub const NOT_FOUND: u8 = 127;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line does not parse; the sentence says why.
    #[error("{0}")]
    Usage(String),
    /// The command line does not parse; clap has the words for it.
    #[error(transparent)]
    Clap(#[from] clap::Error),

    /// What carries out the command is not installed.
    #[error(
        "`headway {command}` needs headway-fleet, which is neither in the directory of headway nor on the PATH: install \
         headway-fleet-VERSION-linux-x86_64.tar.gz with install.sh, or build it with `cargo build --release` in fleet/"
    )]
    NoFleet {
        /// The command.
        command: &'static str,
    },
    /// The pid is not in use.
    #[error("there is no process {pid}: it has ended, or the pid is wrong; `headway list` shows the running JVMs")]
    NoSuchProcess {
        /// The pid as typed.
        pid: u32,
    },
    /// No JVM's main class, jar or command matches.
    #[error("no running JVM matches \"{name}\"{hint}; `headway list` shows the running JVMs")]
    NoJvmNamed {
        /// The name as typed.
        name: String,
        /// `; did you mean ...`, or empty.
        hint: String,
    },
    /// Several JVMs match.
    #[error("\"{name}\" matches {} JVMs ({}): give the pid", .candidates.len(), .candidates.join(", "))]
    AmbiguousName {
        /// The name as typed.
        name: String,
        /// `123 com.acme.Main`, one per JVM.
        candidates: Vec<String>,
    },
    /// The process maps no JVM library.
    #[error(
        "process {pid} ({command}) is not a JVM: it has no libjvm.so loaded; `headway list` shows the running JVMs"
    )]
    NotAJvm {
        /// The process.
        pid: u32,
        /// What runs in it.
        command: String,
    },
    /// Eclipse OpenJ9 or another VM that is not HotSpot.
    #[error("process {pid} runs on Eclipse OpenJ9, but Headway works on HotSpot only: start it with an OpenJDK build such as Temurin, version 17 or later")]
    NotHotSpot {
        /// The process.
        pid: u32,
    },
    /// Below the oldest supported version.
    #[error("process {pid} runs Java {version}, but Headway needs 17 or later (17, 21 and 25 are tested)")]
    TooOld {
        /// The process.
        pid: u32,
        /// Its version as the JDK calls it.
        version: String,
    },
    /// The process belongs to someone else and we have no privileges.
    #[error(
        "process {pid} belongs to user {owner}, and user {me} may not attach to it: run headway as {}",
        if owner == "root" { "root".to_owned() } else { format!("{owner} or as root") }
    )]
    OtherUser {
        /// The process.
        pid: u32,
        /// Whose it is.
        owner: String,
        /// Who we are.
        me: String,
    },
    /// The process has privileges beyond ours, though its user is ours.
    #[error(
        "process {pid} may not be inspected by user {me}, because the process has more privileges: run headway {}with \
         CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)",
        if me == "root" { "" } else { "as root and " }
    )]
    NotInspectable {
        /// The process.
        pid: u32,
        /// Who we are.
        me: String,
    },
    /// The process was started with `-XX:+DisableAttachMechanism`.
    #[error("process {pid} refuses attaching (-XX:+DisableAttachMechanism): restart it without that flag, or start it with `headway run`")]
    AttachDisabled {
        /// The process.
        pid: u32,
    },
    /// The process would die of the signal that starts the attach mechanism.
    #[error("process {pid} does not handle SIGQUIT (it is still starting, or runs with -Xrs), so asking it to attach would kill it: try again in a moment, or start it with `headway run`")]
    QuitNotHandled {
        /// The process.
        pid: u32,
    },
    /// Attaching creates threads, and a JVM that cannot create one may end.
    #[error(
        "process {pid} can create only {left} more threads because of {limit}, and attaching needs {needed}: nothing was \
         done, because the JVM would end if it could not create a thread; raise that limit"
    )]
    NoRoomForThreads {
        /// The process.
        pid: u32,
        /// How many threads it can create.
        left: u64,
        /// What limits it.
        limit: &'static str,
        /// How many are needed.
        needed: u64,
    },
    /// The kernel would kill the process.
    #[error(
        "the control group of process {pid} has a limit of memory (memory.max) that leaves {}, and a recording may need {}: \
         none was begun, because the kernel kills a process that needs more; raise that limit",
        numbers::bytes(*left), numbers::bytes(*needed)
    )]
    NoRoomForMemory {
        /// The process.
        pid: u32,
        /// What is left, in bytes.
        left: u64,
        /// What may be needed, in bytes.
        needed: u64,
    },
    /// The process is stopped and can answer nothing.
    #[error(
        "process {pid} is stopped (state {state}) and cannot answer: {}",
        match tracer {
            0 => format!("continue it first, for example with `kill -CONT {pid}`"),
            tracer => format!("process {tracer}, a debugger or tracer, holds it; continue it there first"),
        }
    )]
    Stopped {
        /// The process.
        pid: u32,
        /// `T` or `t`.
        state: char,
        /// The process that traces it, 0 if none does.
        tracer: u32,
    },
    /// The attach mechanism did not come up.
    #[error("process {pid} did not open its attach socket within {seconds} s: it may be starting, stuck in a long pause, or unable to write to its /tmp")]
    AttachTimeout {
        /// The process.
        pid: u32,
        /// How long we waited.
        seconds: u64,
    },
    /// The socket is there, but something is wrong with it.
    #[error("cannot talk to process {pid} through its attach socket: {problem}")]
    AttachSocket {
        /// The process.
        pid: u32,
        /// What happened.
        problem: String,
    },
    /// The JVM understood, and refused.
    #[error("process {pid} refused to load the agent: {problem}")]
    LoadRefused {
        /// The process.
        pid: u32,
        /// The JVM's words.
        problem: String,
    },
    /// The process was started with `-XX:-EnableDynamicAgentLoading`.
    #[error("process {pid} does not allow agents to be loaded while it runs (-XX:-EnableDynamicAgentLoading): restart it without that flag, or start it with `headway run`")]
    DynamicLoadingDisabled {
        /// The process.
        pid: u32,
    },
    /// The process cannot be given a file.
    #[error("there is no place from which process {pid} could load the agent ({tried}): give it a writable /tmp that is not mounted noexec, or start it with `headway run`")]
    NoPlaceForAgent {
        /// The process.
        pid: u32,
        /// Each place with the reason against it.
        tried: String,
    },
    /// Nothing is loaded in the process that could carry out the command.
    #[error("Headway is not loaded in process {pid}, so there is nothing to {command}: `headway start {pid}` begins a recording")]
    NotLoaded {
        /// The process.
        pid: u32,
        /// `stop`, `dump`.
        command: &'static str,
    },
    /// The agent carried out the command, or not, and said nothing.
    #[error("the agent in process {pid} gave no usable answer: {problem}")]
    NoReply {
        /// The process.
        pid: u32,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The agent's own sentence and exit code.
    #[error("{message}")]
    Agent {
        /// The sentence.
        message: String,
        /// The code that the agent asked for.
        exit_code: u8,
    },
    /// The recording has ended, but the end of its file is not written yet: the agent's own sentence.
    #[error("{message}")]
    StillWriting {
        /// The sentence.
        message: String,
        /// The answer, as of then.
        reply: Box<Reply>,
    },
    /// A signal ended the command before it was done.
    #[error("interrupted before it was done; the process runs on")]
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// The process ended while we worked with it.
    #[error("process {pid} ended {when}{kept}")]
    TargetEnded {
        /// The process.
        pid: u32,
        /// `while it was being recorded`.
        when: &'static str,
        /// What became of the recording, or empty.
        kept: String,
    },
    /// No `libheadway.so`.
    #[error("cannot find libheadway.so (looked at {}): set HEADWAY_AGENT to its path", .looked_at.join(", "))]
    AgentMissing {
        /// Every place that was looked at.
        looked_at: Vec<String>,
    },
    /// The `libheadway.so` that is there would harm a JVM, or be of no use.
    #[error("{} is not the complete agent library of headway {} ({problem}): unpack the archive again", .path.display(), env!("CARGO_PKG_VERSION"))]
    AgentDamaged {
        /// The library.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },

    /// The recording or export could not be written.
    #[error("cannot write {}: {problem}", .path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        problem: String,
    },
    /// The recording cannot be opened.
    #[error("cannot read {}: {problem}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The recording has nothing that can be shown.
    #[error("{} {problem}", .path.display())]
    UselessRecording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Somebody ended the recording that a command watched or made.
    #[error("another command ended the recording of process {pid}")]
    WatchedRecordingEnded {
        /// The target.
        pid: u32,
    },
    /// The recording that was copied cannot be written, so its latest events are in no file.
    #[error(
        "{} lacks the latest events, because the recording itself cannot be written: make room for it, then dump again",
        .path.display()
    )]
    IncompleteCopy {
        /// The copy.
        path: PathBuf,
    },
    /// The recording is sound, but has nothing of what is asked for.
    #[error("{} {problem}", .path.display())]
    NothingToShow {
        /// The file.
        path: PathBuf,
        /// What is missing, and what to do.
        problem: String,
    },
    /// The readable part was shown already, together with the problem.
    #[error("{} is damaged: {problem}; what is shown above is its readable part{}", .path.display(), while_recorded(.path))]
    DamagedRecording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
    },
    /// `run`: the command could not be started.
    #[error("cannot run {command}: {problem}")]
    CommandNotRun {
        /// The command as typed.
        command: String,
        /// Why.
        problem: String,
        /// [`NOT_FOUND`] or [`NOT_EXECUTABLE`].
        exit_code: u8,
    },
    /// Something that the operating system refused.
    #[error("{doing}: {source}")]
    System {
        /// What we were doing.
        doing: String,
        /// Its answer.
        source: io::Error,
    },
}

/// What may explain a recording that lacks its end: it grew within the last seconds, so a
/// JVM may be writing it.
fn while_recorded(path: &Path) -> &'static str {
    const SECONDS: u64 = 10;
    let age = path.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
    match age.is_some_and(|age| age.as_secs() < SECONDS) {
        true => "; it was written to just now: if it is still being recorded, `headway dump PID` gives a whole copy",
        false => "",
    }
}

impl Failure {
    /// The exit code that goes with the failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::NoJvmNamed { .. } | Failure::AmbiguousName { .. } => USAGE,
            Failure::Clap(e) => u8::try_from(e.exit_code()).unwrap_or(USAGE),
            Failure::NoSuchProcess { .. }
            | Failure::NotAJvm { .. }
            | Failure::NotHotSpot { .. }
            | Failure::TooOld { .. }
            | Failure::OtherUser { .. }
            | Failure::NotInspectable { .. }
            | Failure::AttachDisabled { .. }
            | Failure::QuitNotHandled { .. }
            | Failure::Stopped { .. }
            | Failure::NoRoomForThreads { .. }
            | Failure::NoRoomForMemory { .. }
            | Failure::AttachTimeout { .. }
            | Failure::AttachSocket { .. }
            | Failure::LoadRefused { .. }
            | Failure::DynamicLoadingDisabled { .. }
            | Failure::NoPlaceForAgent { .. } => TARGET_UNSUITABLE,
            Failure::Agent { exit_code, .. } => (*exit_code).max(FAILURE),
            Failure::CommandNotRun { exit_code, .. } => *exit_code,
            // As shells have it.
            Failure::Interrupted { signal } => u8::try_from(128 + signal).unwrap_or(FAILURE),
            Failure::DamagedRecording { .. } | Failure::UselessRecording { .. } => DAMAGED_RECORDING,
            Failure::NotLoaded { .. }
            | Failure::StillWriting { .. }
            | Failure::NoReply { .. }
            | Failure::TargetEnded { .. }
            | Failure::AgentMissing { .. }
            | Failure::AgentDamaged { .. }
            | Failure::Unwritable { .. }
            | Failure::Unreadable { .. }
            | Failure::NothingToShow { .. }
            | Failure::IncompleteCopy { .. }
            | Failure::WatchedRecordingEnded { .. }
            | Failure::NoFleet { .. }
            | Failure::System { .. } => FAILURE,
        }
    }

    /// Turns an I/O error into a failure that says what was being done.
    pub fn doing(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let doing = doing.into();
        move |source| Failure::System { doing, source }
    }
}

/// Reports the failure, if there is one, and gives the exit code.
pub fn exit_code_of(outcome: Result<u8, Failure>) -> u8 {
    match outcome {
        Ok(code) => code,
        Err(Failure::Clap(e)) => {
            let _ = e.print();
            Failure::Clap(e).exit_code()
        }
        Err(failure) => {
            let screen = Screen::stderr();
            terminal::note(&format!("{} {}", screen.alarm("headway:"), printable(&failure.to_string())));
            failure.exit_code()
        }
    }
}
