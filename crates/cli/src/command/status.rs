//! `headway status`: what is active in a JVM, and what is degraded and why.

use crate::agent::options::AgentOptions;
use crate::agent::reply::{NotLoaded, Reply};
use crate::attach::Session;
use crate::error::{Failure, DONE};
use crate::json;
use crate::jvm::{find, Jvm};
use crate::recording::so_far::SoFar;
use crate::render::missing;
use crate::render::numbers;
use crate::render::own_cost::OwnCost;
use crate::render::print_folded;
use crate::terminal::Screen;
use clap::Args;
use headway_model::{printable, DurationNs, Loss};
use headway_protocol::State;
use std::fmt::Write;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  headway status 4711
  headway status --json Server

A part is degraded if it does not work, or uses a fallback that gives less information.
The exit code is 1 if a change that could not be undone still has an effect.
docs/troubleshooting.md says what to do.";

/// Options of `status`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Status {
    /// Print the agent's answer as JSON
    #[arg(long)]
    json: bool,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME")]
    target: String,
}

impl Status {
    /// Carries out the command. A JVM without the agent is left as it is.
    ///
    /// # Errors
    /// The target does not answer.
    pub fn execute(self) -> Result<u8, Failure> {
        let jvm = find::jvm(&self.target)?;
        jvm.check_attachable()?;
        let mut reply = match jvm.agent_path {
            Some(_) => Some(Session::open(&jvm)?.command(AgentOptions::new("status"))?),
            None => None,
        };
        if let Some(reply) = &mut reply {
            find(&jvm, reply);
        }
        match (&reply, self.json) {
            (Some(reply), true) => json::print(reply)?,
            (None, true) => json::print(NotLoaded::DONE)?,
            (reply, false) => {
                let reply = reply.as_ref().map(Reply::printable);
                let printed = print_folded(&text(&jvm, reply.as_ref(), &Screen::stdout()));
                printed.map_err(Failure::doing("cannot write to standard output"))?;
            }
        }
        Ok(reply.map_or(DONE, |reply| reply.exit_code))
    }
}

/// What was found so far stands in the recording: to look for it is not the JVM's work. (Agents of older
/// versions did.)
fn find(jvm: &Jvm, reply: &mut Reply) {
    let Some(path) = reply.recording.as_ref().filter(|_| reply.findings.is_empty()) else { return };
    match SoFar::read(&jvm.process, Path::new(path)) {
        Ok(found) => {
            reply.findings = found.findings;
            reply
                .notes
                .extend(found.last.map(|last| format!("What was found is of the last {last} of the recording.")));
        }
        Err(failure) => reply.notes.push(format!("The recording cannot be searched for findings: {failure}.")),
    }
}

fn text(jvm: &Jvm, reply: Option<&Reply>, screen: &Screen) -> String {
    let mut out = format!(
        "{} {}, Java {}\n",
        jvm.process.pid,
        screen.strong(&printable(&jvm.main)),
        printable(&jvm.java_version)
    );
    let Some(reply) = reply else {
        out.push_str("Headway is not loaded.\n");
        return out;
    };
    activity(reply, &mut out);
    for note in &reply.notes {
        let _ = writeln!(out, "{note}");
    }
    if let Some(version) = reply.other_version() {
        let _ = writeln!(out, "The loaded agent is version {version}; it stays until the JVM ends.");
    }
    if let Some(bytes) = reply.memory_bytes {
        let _ = writeln!(out, "Memory for buffers and tables: {}.", numbers::bytes(bytes));
    }
    if let Some(sentences) = OwnCost::from(reply).sentences() {
        let _ = writeln!(out, "{sentences}");
    }
    out.push_str(&reply.in_place_text());
    findings(reply, &mut out);
    mechanisms(reply, screen, &mut out);
    out
}

/// What the agent does now.
fn activity(reply: &Reply, out: &mut String) {
    match &reply.recording {
        Some(path) => {
            let length = reply.duration_ns.unwrap_or(0);
            let size = reply.recording_bytes.map(|bytes| format!(" and {}", numbers::bytes(bytes))).unwrap_or_default();
            let _ = writeln!(out, "Recording into {path}: {}{size} so far.", DurationNs(length));
            let _ = writeln!(out, "{}.", events(reply));
            for (name, count) in reply.losses.iter().filter(|(_, count)| **count > 0) {
                let meaning = Loss::from_name(name).map(Loss::explanation).unwrap_or(name);
                let _ = writeln!(out, "  {} {meaning}", numbers::grouped(*count));
            }
        }
        None => {
            let is_idle = reply.mechanisms.is_empty() && reply.in_place.is_empty();
            let changes = if is_idle { ", and no function or method is changed" } else { "" };
            let _ =
                writeln!(out, "Nothing is being recorded{changes}. The agent's library is loaded until the JVM ends.");
        }
    }
}

/// `5,194 events, none dropped`. What could not be used is counted with what was dropped.
pub fn events(reply: &Reply) -> String {
    let recorded = numbers::counted(reply.event_count(), "event", "events");
    match reply.loss_count() {
        0 => format!("{recorded}, none dropped"),
        dropped => format!("{recorded}, {} dropped or incomplete", numbers::grouped(dropped)),
    }
}

fn findings(reply: &Reply, out: &mut String) {
    if !reply.findings.is_empty() {
        out.push_str("\nFound so far\n");
    }
    for (index, finding) in reply.findings.iter().enumerate() {
        let _ = writeln!(out, "  {}. {finding}", index + 1);
    }
}

/// The word with which `--disable` takes a mechanism out.
fn disabled_by(mechanism: &str) -> Option<&'static str> {
    Some(match mechanism {
        "monitor-exit" => "exit-detour",
        "monitor-reenter" | "monitor-notify" => "reenter-detour",
        "virtual-mount" | "virtual-unmount" => "carrier-detour",
        "park-platform" => "park-natives",
        "park-virtual" => "park-redirect",
        "walker" => "walker",
        "owners" => "owners",
        "chains" => "chains",
        _ => return None,
    })
}

/// Columns of a mechanism's name, at most; a longer one is not cut. A format panics at a width above 65,535.
const NAME: usize = 40;

fn mechanisms(reply: &Reply, screen: &Screen, out: &mut String) {
    if !reply.mechanisms.is_empty() {
        out.push_str("\nMechanisms (parts of Headway; `degraded` ones give less or no information, see below)\n");
    }
    let width = reply.mechanisms.iter().map(|m| m.name.len()).max().unwrap_or(0).min(NAME);
    for mechanism in &reply.mechanisms {
        let state = format!("{:<8}", mechanism.state.word());
        let state = if mechanism.state == State::Degraded { screen.warning(&state) } else { state };
        let disable = disabled_by(&mechanism.name).map(|word| format!(" (--disable {word})")).unwrap_or_default();
        // Why it is degraded is said below.
        let detail = if mechanism.state == State::Degraded { "" } else { &mechanism.detail };
        let line = format!("  {:<width$}  {state}  {}", mechanism.name, format!("{detail}{disable}").trim_start());
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !reply.degraded.is_empty() {
        out.push_str("\nDegraded: this recording has less information than usual\n");
    }
    let degraded = reply.degraded.iter().map(|degraded| (&*degraded.mechanism, &*degraded.reason));
    for reason in missing::sentences(degraded) {
        let _ = writeln!(out, "  {reason}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_protocol::{DegradedMechanism, InPlace, MechanismState};

    const SCREEN: Screen = Screen { width: 80, colour: false, cut: true };

    #[test]
    fn what_is_missing_is_said_once_and_what_was_switched_off_in_one_sentence() {
        let reason = "owners are not known: switched off (--safe or --disable)";
        let state = MechanismState { name: "monitor-exit".into(), state: State::Degraded, detail: reason.into() };
        let degraded = DegradedMechanism { mechanism: "monitor-exit".into(), reason: reason.into() };
        let reply = Reply { mechanisms: vec![state], degraded: vec![degraded], ..Reply::default() };
        let mut out = String::new();
        super::mechanisms(&reply, &SCREEN, &mut out);
        assert_eq!(out.matches("owners are not known").count(), 1, "{out}");
        assert!(out.contains("  monitor-exit  degraded  (--disable exit-detour)\n"), "{out}");
        assert!(out.ends_with("  Because of --safe or --disable: owners are not known (monitor-exit).\n"), "{out}");
    }

    #[test]
    fn an_agent_that_records_nothing_says_whether_it_changes_anything() {
        let said = |reply: &Reply| {
            let mut out = String::new();
            activity(reply, &mut out);
            out
        };
        let idle = Reply::default();
        assert_eq!(
            said(&idle),
            "Nothing is being recorded, and no function or method is changed. The agent's library is loaded until the JVM ends.\n"
        );
        let left = InPlace::live("monitor-exit", "trap at f".to_owned(), "no");
        let not_idle = Reply { in_place: vec![left], ..idle };
        assert_eq!(said(&not_idle), "Nothing is being recorded. The agent's library is loaded until the JVM ends.\n");
    }

    #[test]
    fn events_that_could_not_be_used_are_not_called_dropped_alone() {
        let reply = |losses: &[(&str, u64)]| Reply {
            events: [("park".to_owned(), 5_194)].into(),
            losses: losses.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            ..Reply::default()
        };
        assert_eq!(events(&reply(&[])), "5,194 events, none dropped");
        assert_eq!(events(&reply(&[("unpaired_entered", 1)])), "5,194 events, 1 dropped or incomplete");
    }

    #[test]
    fn a_mechanism_of_very_many_blanks_is_printed_like_any_other() {
        let names = ["walker".to_owned(), " ".repeat(100_000)];
        let mechanisms = names.map(|name| MechanismState { name, state: State::On, ..MechanismState::default() });
        let reply = Reply { mechanisms: mechanisms.to_vec(), ..Reply::default() };
        let mut out = String::new();
        super::mechanisms(&reply, &SCREEN, &mut out);
        let walker = out.lines().find(|line| line.contains("walker")).expect("a line");
        assert_eq!(walker.find("active"), Some(2 + NAME + 2), "{walker}");
    }
}
