//! The agent's answer to a command: JSON in a file that the command line
//! named. Described in `docs/agent-protocol.md`.

use headway_analysis::park::statistics::ParkStatisticsReport;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// State of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It works as it should.
    #[serde(rename = "active")]
    On,
    /// Not asked for, or not possible.
    #[serde(rename = "disabled")]
    Off,
    /// Replaced by something weaker, or lost.
    Degraded,
}

/// A mechanism and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MechanismState {
    /// `monitor-exit`, `walker`, ...
    pub name: String,
    /// Its state.
    pub state: State,
    /// How it is done, or why it is not.
    pub detail: String,
}

/// A mechanism that is not in force as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DegradedMechanism {
    /// `monitor-exit`, `walker`, ...
    pub mechanism: String,
    /// One sentence: what is lost, why, what is used instead.
    pub reason: String,
}

/// A hook or binding that is in the process although nothing is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InPlace {
    /// `monitor-exit`, `park-platform`, ...
    pub name: String,
    /// `detour of ObjectMonitor::ExitEpilog`.
    pub what: String,
    /// True if it still has an effect; false if it only passes through.
    pub live: bool,
    /// Why it could not be taken out.
    pub reason: String,
}

/// The JVM that the agent lives in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Default)]
pub struct Jvm {
    /// `OpenJDK 64-Bit Server VM`.
    pub name: String,
    /// `17.0.15+6`.
    pub version: String,
    /// 17, 21, 25.
    pub java: u32,
}

/// The answer. Keys that do not apply are left out.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reply {
    /// True if the command was carried out.
    pub ok: bool,
    /// Process id as the JVM sees it.
    pub pid: u32,
    /// Which agent answers: the command line may be of another version.
    pub agent_version: AgentVersion,
    /// The command answered.
    pub command: String,
    /// One sentence if it failed.
    pub error: Option<String>,
    /// Exit code that the command line should end with.
    pub exit_code: u8,
    /// Path of the recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_bytes: Option<u64>,
    /// How long the recording has lasted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Events recorded, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
    /// Losses, by cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub losses: BTreeMap<String, u64>,
    /// Sentences to be shown to whoever gave the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What has been found so far, most costly first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Every mechanism.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mechanisms: Vec<MechanismState>,
    /// What is degraded, and why.
    pub degraded: Vec<DegradedMechanism>,
    /// What could not be taken out of the process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_place: Vec<InPlace>,
    /// What was changed in the process, or would be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub will_change: Vec<String>,
    /// How long starting held up the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_pause_ns: Option<u64>,
    /// CPU time of the agent's own threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_cpu_ns: Option<u64>,
    /// CPU time of Headway's hooks on application threads since then, estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_cpu_ns: Option<u64>,
    /// How far its interval of 95 % reaches to each side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_cpu_error_ns: Option<u64>,
    /// Calls of hooks that were timed for the estimate, one in 1,024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_calls: Option<u64>,
    /// CPU time of the process since the recording began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_cpu_ns: Option<u64>,
    /// CPU time that beginning the recording took on the thread that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_cpu_ns: Option<u64>,
    /// Memory for buffers and tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The park statistics asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parks: Option<ParkStatisticsReport>,
    /// True if parks are counted only since this command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parks_began: bool,
    /// Path of a recording that has ended and whose end is still being written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_writing: Option<String>,
    /// The JVM.
    pub jvm: Jvm,
}

/// This agent's version.
#[derive(Clone, Debug, Serialize)]
pub struct AgentVersion(&'static str);

impl Default for AgentVersion {
    fn default() -> AgentVersion {
        AgentVersion(env!("CARGO_PKG_VERSION"))
    }
}

impl Reply {
    /// Writes the reply: owner-only, through a temporary name, so that a
    /// reader never sees half of it. An existing file is not overwritten by
    /// following a link.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&temporary)?;
        file.write_all(&text)?;
        drop(file);
        fs::rename(&temporary, path)
    }
}
