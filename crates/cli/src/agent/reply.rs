//! The agent's answer, read.

use crate::error::Failure;
pub use headway_protocol::Reply;
use headway_protocol::VERSION;
use serde::Serialize;

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

/// Reads a reply, and turns one that says that it failed into a failure.
///
/// # Errors
/// [`Failure::Agent`] with the agent's sentence, [`Failure::StillWriting`] if only the
/// end of the file is not written yet, [`Failure::NoReply`] when
/// the text is no reply.
pub fn parse(pid: u32, text: &str) -> Result<Reply, Failure> {
    let mut reply: Reply = serde_json::from_str(text)
        .map_err(|error| Failure::NoReply { pid, problem: format!("it is not the expected JSON ({error})") })?;
    if reply.ok {
        return Ok(reply);
    }
    let other_version = reply.other_version();
    let mut message = reply.error.take().unwrap_or_else(|| "the agent failed without saying why".into());
    if let Some(version) = other_version {
        message.push_str(&format!(
            " (the JVM has agent {version} loaded, this command line is {VERSION}: use headway {version}, or restart the JVM)"
        ));
    }
    match reply.still_writing.is_some() {
        true => Err(Failure::StillWriting { message, reply: Box::new(reply) }),
        false => Err(Failure::Agent { message, exit_code: reply.exit_code }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_with_only_what_applies() {
        let text = r#"{"ok":true,"pid":7,"command":"status","error":null,"exit_code":0,
            "events":{"monitor_enter":3,"monitor_exit":2},"future_key":1}"#;
        let reply = parse(7, text).expect("a good reply");
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
        let replies = of_versions.map(|text| parse(7, text).expect("a good reply"));
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
        assert_eq!(versions, ["0.1.0", VERSION], "this version, too");
    }

    #[test]
    fn no_reply_is_a_reason_to_panic() {
        let sound = r#"{"ok":true,"pid":7,"command":"status","error":null,"exit_code":0,"events":{"monitor_enter":3},
            "losses":{"x":18446744073709551615},"findings":["a"],"recording_bytes":5,"jvm":{"name":"n","java":17}}"#;
        let deep = "[".repeat(100_000);
        headway_hostile::change::feed(&[sound.as_bytes().to_vec(), deep.into_bytes()], 20_000, |bytes| {
            if let Ok(reply) = parse(7, &String::from_utf8_lossy(bytes)) {
                let _ = (reply.printable(), reply.event_count(), reply.loss_count());
            }
        });
    }

    #[test]
    fn a_failure_keeps_the_agents_sentence_and_code() {
        let text = r#"{"ok":false,"error":"no recording is running","exit_code":1}"#;
        match parse(7, text) {
            Err(Failure::Agent { message, exit_code: 1 }) => assert_eq!(message, "no recording is running"),
            other => panic!("{other:?}"),
        }
        let late = r#"{"ok":false,"error":"writing goes on","exit_code":1,"still_writing":"/tmp/a.jfr"}"#;
        match parse(7, late) {
            Err(Failure::StillWriting { message, .. }) => assert_eq!(message, "writing goes on"),
            other => panic!("{other:?}"),
        }
        let of_other = r#"{"ok":false,"error":"unknown agent option 'x'","exit_code":2,"agent_version":"0.0.9"}"#;
        match parse(7, of_other) {
            Err(Failure::Agent { message, exit_code: 2 }) => assert!(
                message.starts_with("unknown agent option 'x' (the JVM has agent 0.0.9 loaded, this command line is "),
                "{message}"
            ),
            other => panic!("{other:?}"),
        }
        let of_same = format!(r#"{{"ok":false,"error":"no","agent_version":"{VERSION}"}}"#);
        assert!(matches!(parse(7, &of_same), Err(Failure::Agent { message, .. }) if message == "no"));
        assert!(matches!(parse(7, "half a re"), Err(Failure::NoReply { pid: 7, .. })));
    }
}
