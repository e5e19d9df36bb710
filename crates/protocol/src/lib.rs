//! What the agent answers to the command line, as `docs/agent-protocol.md` describes it:
//! the one writes it, the other reads it and prints it as JSON.

use headway_analysis::park::statistics::ParkStatisticsReport;
use headway_model::printable;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// This version, of the agent and of the command line.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The text by which the agent's library is known before a JVM loads it. It names the version.
pub const AGENT_MARK: &str = concat!("headway-agent-version:", env!("CARGO_PKG_VERSION"), ";");

/// What `disable=` and `--disable` take, in the order in which they are listed.
pub const MECHANISMS: [&str; 13] = [
    "exit-detour",
    "reenter-detour",
    "carrier-detour",
    "walker",
    "usdt",
    "condvar",
    "perf",
    "owners",
    "park-natives",
    "park-locksupport",
    "park-redirect",
    "vmstructs",
    "chains",
];

/// How the note begins that says that the recording's file cannot be written.
pub const UNWRITTEN: &str = "The recording cannot be written now";

/// The answer to a command. What does not apply is absent.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Reply {
    /// True if the command was carried out.
    pub ok: bool,
    /// The target's pid as it sees itself.
    pub pid: u32,
    /// The agent's version; a JVM keeps its first agent until it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The command answered.
    pub command: String,
    /// Why it was not carried out.
    pub error: Option<String>,
    /// What this program should end with.
    pub exit_code: u8,
    /// Path of the recording as the target sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// Size of the recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_bytes: Option<u64>,
    /// How long the recording lasted so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Events so far, by kind.
    pub events: BTreeMap<String, u64>,
    /// Events dropped so far, by cause.
    pub losses: BTreeMap<String, u64>,
    /// Sentences to be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Findings so far, most important first. The agent does not look for any (older ones did): `headway
    /// status` adds what the recording says.
    pub findings: Vec<String>,
    /// Every mechanism and its state.
    pub mechanisms: Vec<MechanismState>,
    /// Degraded mechanisms, with the reason.
    pub degraded: Vec<DegradedMechanism>,
    /// Hooks that could not be removed, although nothing is recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_place: Vec<InPlace>,
    /// What a start changes, or would change, in the target.
    pub will_change: Vec<String>,
    /// For how long the start of the recording paused the process at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_pause_ns: Option<u64>,
    /// CPU time of Headway's own threads in the target.
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
    /// Length of the windows in which contentions and waits are sampled, as of the last second;
    /// 0 while everything is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_window_ns: Option<u64>,
    /// CPU time of the process since the recording began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_cpu_ns: Option<u64>,
    /// What the recording may cost, as a part of that, or of one CPU if it used less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// CPU time that beginning the recording took on the thread that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_cpu_ns: Option<u64>,
    /// Memory in use for buffers and tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The virtual machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jvm: Option<JvmFacts>,
    /// The park statistics asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parks: Option<ParkStatisticsReport>,
    /// True if parks are counted only since this command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parks_began: bool,
    /// Path of a recording that has ended and whose end is still being written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_writing: Option<String>,
}

/// State of a mechanism.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It works as it should.
    #[serde(rename = "active")]
    On,
    /// Not asked for, or not possible.
    #[serde(rename = "disabled")]
    Off,
    /// Replaced by something weaker, or dropped.
    Degraded,
    /// An agent of another version says something else.
    #[default]
    #[serde(other)]
    Unknown,
}

impl State {
    /// As in JSON: `active`, `disabled`, `degraded`, `unknown`.
    pub const fn word(self) -> &'static str {
        match self {
            State::On => "active",
            State::Off => "disabled",
            State::Degraded => "degraded",
            State::Unknown => "unknown",
        }
    }
}

/// A mechanism and its state.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MechanismState {
    /// `monitor-exit`, `walker`.
    pub name: String,
    /// Its state.
    pub state: State,
    /// How it is done.
    pub detail: String,
}

/// A degraded mechanism.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DegradedMechanism {
    /// `monitor-exit`.
    pub mechanism: String,
    /// What is missing, why, and what is used instead.
    pub reason: String,
}

/// A hook or binding that could not be removed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InPlace {
    /// `monitor-exit`.
    pub name: String,
    /// What it is.
    pub what: String,
    /// False if it only passes through.
    pub live: bool,
    /// Why it could not be removed.
    pub reason: String,
}

/// The virtual machine as the agent found it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct JvmFacts {
    /// `OpenJDK 64-Bit Server VM`.
    pub name: String,
    /// `17.0.15+6`.
    pub version: String,
    /// `17`.
    pub java: u32,
}

impl InPlace {
    /// What is in the process without any effect: it passes through.
    pub fn inert(name: &str, what: impl Into<String>, reason: impl Display) -> InPlace {
        InPlace { name: name.to_owned(), what: what.into(), live: false, reason: reason.to_string() }
    }

    /// What still has an effect.
    pub fn live(name: &str, what: impl Into<String>, reason: impl Display) -> InPlace {
        InPlace { live: true, ..InPlace::inert(name, what, reason) }
    }
}

impl Reply {
    /// The beginning of an answer of this version's agent.
    pub fn of_this_version() -> Reply {
        Reply { agent_version: Some(VERSION.to_owned()), ..Reply::default() }
    }

    /// What could not be taken out, for the reader; empty if nothing.
    pub fn in_place_text(&self) -> String {
        let mut text = String::new();
        for left in &self.in_place {
            let state = if left.live { "live" } else { "inert, passes through" };
            let _ = writeln!(text, "  {}: {} ({state}): {}", left.name, left.what, left.reason);
        }
        match text.is_empty() {
            true => text,
            false => format!(
                "\nStill in place\n{text}An inert change has no effect; a live one has. The agent tries again to undo \
                 them for 8 minutes, and with every stop and status.\n"
            ),
        }
    }

    /// The reply with every text in it printable: what stands in it comes from
    /// the process, and from names that its program chose.
    pub fn printable(&self) -> Reply {
        let shown = serde_json::to_value(self).map(printable_value).and_then(serde_json::from_value);
        // A reply is made of what it is read from.
        shown.unwrap_or_default()
    }

    /// The agent's version, if it is another one than this command line's.
    pub fn other_version(&self) -> Option<String> {
        self.agent_version.clone().filter(|version| version != VERSION)
    }

    /// All events together.
    pub fn event_count(&self) -> u64 {
        self.events.values().fold(0, |all, count| all.saturating_add(*count))
    }

    /// All losses together.
    pub fn loss_count(&self) -> u64 {
        self.losses.values().fold(0, |all, count| all.saturating_add(*count))
    }
}

fn printable_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&text).into_owned()),
        Value::Array(values) => Value::Array(values.into_iter().map(printable_value).collect()),
        Value::Object(fields) => {
            let shown = |(name, value): (String, Value)| (printable(&name).into_owned(), printable_value(value));
            Value::Object(fields.into_iter().map(shown).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_in_place_is_shown_with_its_reason() {
        let text = r#"{"ok":true,"exit_code":1,"in_place":[
            {"name":"monitor-exit","what":"trap at f","live":true,"reason":"no"},
            {"name":"park-platform","what":"binding of g","live":false,"reason":"another agent has it"}]}"#;
        let reply = serde_json::from_str::<Reply>(text).expect("a good reply");
        let shown = reply.in_place_text();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "Still in place");
        assert_eq!(lines[2], "  monitor-exit: trap at f (live): no");
        assert_eq!(lines[3], "  park-platform: binding of g (inert, passes through): another agent has it");
        assert_eq!((reply.exit_code, Reply::default().in_place_text()), (1, String::new()));
    }

    #[test]
    fn every_text_of_a_reply_can_be_made_printable() {
        let text = r#"{"ok":true,"pid":7,"recording":"/tmp/a\u001b[2J.jfr","events":{"a\nb":3},"findings":["x\ny"],
            "mechanisms":[{"name":"m","state":"active","detail":"d\u202e"}],"jvm":{"name":"n","version":"17\r","java":17},
            "recording_bytes":9}"#;
        let reply = serde_json::from_str::<Reply>(text).expect("a good reply");
        let shown = reply.printable();
        assert_eq!(shown.recording.as_deref(), Some("/tmp/a\u{fffd}[2J.jfr"));
        assert_eq!((shown.findings.as_slice(), shown.recording_bytes), (&["x\u{fffd}y".to_owned()][..], Some(9)));
        assert_eq!(shown.events.get("a\u{fffd}b"), Some(&3));
        assert_eq!(shown.mechanisms[0].detail, "d\u{fffd}");
        assert_eq!(shown.jvm.map(|jvm| jvm.version).as_deref(), Some("17\u{fffd}"));
        assert_eq!(reply.findings, ["x\ny"]);
    }

    #[test]
    fn a_state_of_another_version_is_unknown() {
        let mechanism: MechanismState = serde_json::from_str(r#"{"name":"m","state":"resting"}"#).expect("a mechanism");
        assert_eq!((mechanism.state, mechanism.state.word()), (State::Unknown, "unknown"));
        let states = [State::On, State::Off, State::Degraded, State::Unknown];
        assert!(states.iter().all(|state| serde_json::json!(state) == state.word()));
    }
}
