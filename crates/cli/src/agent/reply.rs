//! The agent's answer, as `docs/agent-protocol.md` describes it.

use crate::error::Failure;
use headway_analysis::park::statistics::ParkStatisticsReport;
use headway_model::printable;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The answer to a command. What does not apply is absent.
#[derive(Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Findings so far, most important first.
    pub findings: Vec<String>,
    /// Every mechanism and its state.
    pub mechanisms: Vec<Mechanism>,
    /// Degraded mechanisms, with the reason.
    pub degraded: Vec<DegradedMechanism>,
    /// Hooks that could not be removed, although nothing is recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_place: Vec<InPlace>,
    /// What a start changes, or would change, in the target.
    pub will_change: Vec<String>,
    /// How long attaching paused the application.
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
    /// CPU time of the process since the recording began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_cpu_ns: Option<u64>,
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

/// What is printed about a JVM in which the agent is not loaded.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotLoaded {
    /// True: nothing had to be done.
    ok: bool,
    /// False: the agent is not loaded.
    loaded: bool,
}

impl NotLoaded {
    /// Nothing to do.
    pub const DONE: NotLoaded = NotLoaded { ok: true, loaded: false };
}

/// A mechanism and its state.
#[derive(Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Mechanism {
    /// `monitor-exit`.
    pub name: String,
    /// `active`, `disabled` or `degraded`.
    pub state: String,
    /// How it is done.
    pub detail: String,
}

/// A degraded mechanism.
#[derive(Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DegradedMechanism {
    /// `monitor-exit`.
    pub mechanism: String,
    /// What is lost, why, and what is used instead.
    pub reason: String,
}

/// A hook or binding that could not be removed.
#[derive(Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct JvmFacts {
    /// `OpenJDK 64-Bit Server VM`.
    pub name: String,
    /// `17.0.15+6`.
    pub version: String,
    /// `17`.
    pub java: u32,
}

impl Reply {
    /// Reads a reply, and turns one that tells of a failure into it.
    ///
    /// # Errors
    /// [`Failure::Agent`] with the agent's sentence, [`Failure::StillWriting`] if only the
    /// end of the file is not written yet, [`Failure::NoReply`] when
    /// the text is no reply.
    pub fn parse(pid: u32, text: &str) -> Result<Reply, Failure> {
        let reply: Reply = serde_json::from_str(text)
            .map_err(|error| Failure::NoReply { pid, problem: format!("it is not the expected JSON ({error})") })?;
        if reply.ok {
            return Ok(reply);
        }
        let other_version = reply.other_version();
        let mut message = reply.error.unwrap_or_else(|| "the agent failed without saying why".into());
        if let Some(version) = other_version {
            message.push_str(&format!(
                " (the JVM has agent {version} loaded, this command line is {OWN_VERSION}: use headway {version}, or restart the JVM)"
            ));
        }
        match reply.still_writing {
            Some(_) => Err(Failure::StillWriting { message }),
            None => Err(Failure::Agent { message, exit_code: reply.exit_code }),
        }
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

    /// The agent's version, if it is not this command line's.
    pub fn other_version(&self) -> Option<String> {
        self.agent_version.clone().filter(|version| version != OWN_VERSION)
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
    fn a_reply_is_read_with_only_what_applies() {
        let text = r#"{"ok":true,"pid":7,"command":"status","error":null,"exit_code":0,
            "events":{"monitor_enter":3,"monitor_exit":2},"future_key":1}"#;
        let reply = Reply::parse(7, text).expect("a good reply");
        assert_eq!((reply.event_count(), reply.loss_count()), (5, 0));
    }

    /// A JVM keeps the agent that it has loaded: replies of every version so far are understood
    /// (`docs/compatibility.md`).
    #[test]
    fn replies_of_every_version_so_far_are_understood() {
        let of_versions = [
            include_str!("released/0.1.0-start.json"),
            include_str!("released/0.1.0-status.json"),
            include_str!("released/0.1.0-stop.json"),
            include_str!("released/0.1.0-detach.json"),
            include_str!("released/0.2.0-start.json"),
            include_str!("released/0.2.0-status.json"),
            include_str!("released/0.2.0-stop.json"),
            include_str!("released/0.2.0-detach.json"),
        ];
        let replies = of_versions.map(|text| Reply::parse(7, text).expect("a good reply"));
        let mut versions = Vec::new();
        for of_version in replies.chunks(4) {
            let [start, status, stop, detach] = of_version else { panic!("four replies of each version") };
            assert_eq!(start.will_change.len(), 4);
            assert!(status.event_count() > 0 && status.findings.len() == 2);
            assert_eq!((status.mechanisms.len(), status.mechanisms[2].name.as_str()), (7, "monitor-exit"));
            assert_eq!(stop.recording.as_deref(), Some("/srv/shop/a.jfr"));
            assert!(stop.event_count() > status.event_count() && stop.recording_bytes > status.recording_bytes);
            assert_eq!(detach.event_count(), 0);
            versions.extend(detach.agent_version.as_deref());
        }
        assert_eq!(versions, ["0.1.0", OWN_VERSION], "this version, too");
    }

    #[test]
    fn what_stays_in_place_is_shown_with_its_reason() {
        let text = r#"{"ok":true,"exit_code":1,"in_place":[
            {"name":"monitor-exit","what":"trap at f","live":true,"reason":"no"},
            {"name":"park-platform","what":"binding of g","live":false,"reason":"another agent has it"}]}"#;
        let reply = Reply::parse(7, text).expect("a good reply");
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
        let reply = Reply::parse(7, text).expect("a good reply");
        let shown = reply.printable();
        assert_eq!(shown.recording.as_deref(), Some("/tmp/a\u{fffd}[2J.jfr"));
        assert_eq!((shown.findings.as_slice(), shown.recording_bytes), (&["x\u{fffd}y".to_owned()][..], Some(9)));
        assert_eq!(shown.events.get("a\u{fffd}b"), Some(&3));
        assert_eq!(shown.mechanisms[0].detail, "d\u{fffd}");
        assert_eq!(shown.jvm.map(|jvm| jvm.version).as_deref(), Some("17\u{fffd}"));
        assert_eq!(reply.findings, ["x\ny"]);
    }

    #[test]
    fn no_reply_is_a_reason_to_panic() {
        let sound = r#"{"ok":true,"pid":7,"command":"status","error":null,"exit_code":0,"events":{"monitor_enter":3},
            "losses":{"x":18446744073709551615},"findings":["a"],"recording_bytes":5,"jvm":{"name":"n","java":17}}"#;
        let deep = "[".repeat(100_000);
        headway_hostile::change::feed(&[sound.as_bytes().to_vec(), deep.into_bytes()], 20_000, |bytes| {
            if let Ok(reply) = Reply::parse(7, &String::from_utf8_lossy(bytes)) {
                let _ = (reply.printable(), reply.event_count(), reply.loss_count());
            }
        });
    }

    #[test]
    fn a_failure_keeps_the_agents_sentence_and_code() {
        let text = r#"{"ok":false,"error":"no recording is running","exit_code":1}"#;
        match Reply::parse(7, text) {
            Err(Failure::Agent { message, exit_code: 1 }) => assert_eq!(message, "no recording is running"),
            other => panic!("{other:?}"),
        }
        let late = r#"{"ok":false,"error":"writing goes on","exit_code":1,"still_writing":"/tmp/a.jfr"}"#;
        match Reply::parse(7, late) {
            Err(Failure::StillWriting { message }) => assert_eq!(message, "writing goes on"),
            other => panic!("{other:?}"),
        }
        let of_other = r#"{"ok":false,"error":"unknown agent option 'x'","exit_code":2,"agent_version":"0.0.9"}"#;
        match Reply::parse(7, of_other) {
            Err(Failure::Agent { message, exit_code: 2 }) => assert!(
                message.starts_with("unknown agent option 'x' (the JVM has agent 0.0.9 loaded, this command line is "),
                "{message}"
            ),
            other => panic!("{other:?}"),
        }
        let of_same = format!(r#"{{"ok":false,"error":"no","agent_version":"{OWN_VERSION}"}}"#);
        assert!(matches!(Reply::parse(7, &of_same), Err(Failure::Agent { message, .. }) if message == "no"));
        assert!(matches!(Reply::parse(7, "half a re"), Err(Failure::NoReply { pid: 7, .. })));
    }
}
