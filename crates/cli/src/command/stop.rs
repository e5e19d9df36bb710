//! `headway stop`: ends a recording and finishes its file.

use crate::agent::options::AgentOptions;
use crate::agent::reply::{NotLoaded, Reply};
use crate::agent::written::{self, Writer};
use crate::attach::Session;
use crate::command::status::events;
use crate::error::{Failure, DONE};
use crate::json;
use crate::jvm::process::Process;
use crate::jvm::{find, Jvm};
use crate::render::numbers;
use crate::render::own_cost::OwnCost;
use crate::render::print_folded;
use crate::terminal;
use clap::Args;
use headway_model::DurationNs;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  headway stop 4711
  headway stop --detach Server      after the last recording

`stop` restores the functions, methods, class and VM flag that the recording
changed, and ends the agent's threads. The library, at most two small classes (one
more with --jmx, one more after `causal`) and up to 72 KB of memory for the patches
stay until the JVM ends. If something cannot be restored, `stop` says what and why,
and exits with 1 if a change still has an effect.";

/// Options of `stop`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Stop {
    /// Also detach the agent: the JVM no longer reports starts and ends of threads to it, and the agent
    /// removes its management bean
    #[arg(long)]
    detach: bool,

    /// Print the agent's answer as JSON
    #[arg(long)]
    json: bool,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME")]
    target: String,
}

impl Stop {
    /// Carries out the command.
    ///
    /// # Errors
    /// Nothing is being recorded, or the target does not answer.
    pub fn execute(self) -> Result<u8, Failure> {
        let jvm = find::jvm(&self.target)?;
        if self.detach && jvm.agent_path.is_none() {
            jvm.check_attachable()?;
            let nothing = format!("Headway is not loaded in process {}: nothing to undo.\n", jvm.process.pid);
            if self.json {
                json::print(NotLoaded::DONE)?;
            } else {
                print_folded(&nothing).map_err(Failure::doing("cannot write to standard output"))?;
            }
            return Ok(DONE);
        }
        // Detaching ends a recording; where there is none, it is no error.
        let command = if self.detach { "detach" } else { "stop" };
        let mut session = open_loaded(&jvm, command)?;
        let reply = match session.command(AgentOptions::new(command)) {
            Err(failure @ Failure::StillWriting { .. }) => self.end_later(&mut session, failure)?,
            answered => answered?,
        };
        let shown = reply.printable();
        shown.notes.iter().for_each(|note| terminal::note(note));
        if self.json {
            json::print(&reply)?;
        } else {
            let printed = print_folded(&self.text(&shown, &jvm.process));
            printed.map_err(Failure::doing("cannot write to standard output"))?;
        }
        Ok(reply.exit_code)
    }

    /// Waits for the rest of the file, unless the disk does not answer. What detaching left in place is only known from
    /// its own answer.
    fn end_later(&self, session: &mut Session, failure: Failure) -> Result<Reply, Failure> {
        let mut writer = Writer::of(session.process());
        let stopped = written::when_written(session, failure, || writer.gets_on())?;
        if !self.detach {
            return Ok(stopped);
        }
        let detached = session.detach_unused()?;
        let exit_code = stopped.exit_code.max(detached.exit_code);
        Ok(Reply { in_place: detached.in_place, exit_code, ..stopped })
    }

    fn text(&self, reply: &Reply, process: &Process) -> String {
        let mut text = match &reply.recording {
            Some(_) => summary(reply, process),
            None => "Nothing was being recorded.\n".to_owned(),
        };
        text.push_str(&reply.in_place_text());
        if self.detach && reply.in_place.is_empty() {
            text.push_str("Headway is detached: all changed functions and methods are restored.\n");
        }
        text
    }
}

/// A session with an agent that is there already.
///
/// # Errors
/// [`Failure::NotLoaded`] if it is not; those of attaching.
pub fn open_loaded(jvm: &Jvm, command: &'static str) -> Result<Session, Failure> {
    jvm.check_attachable()?;
    match jvm.agent_path {
        Some(_) => Session::open(jvm),
        None => Err(Failure::NotLoaded { pid: jvm.process.pid, command }),
    }
}

/// One sentence about a finished recording.
fn summary(reply: &Reply, process: &Process) -> String {
    let length = reply.duration_ns.map(|ns| format!(" of {}", DurationNs(ns))).unwrap_or_default();
    let cost = OwnCost::from(reply).sentences();
    let place = reply.recording.as_deref().map(|path| format!(" is in {}", seen_from_here(process, path)));
    let size = reply.recording_bytes.map(|bytes| format!(" ({})", numbers::bytes(bytes))).unwrap_or_default();
    format!(
        "The recording{length}{}{size}: {}.{}\n",
        place.unwrap_or_default(),
        events(reply),
        cost.map(|sentences| format!(" {sentences}")).unwrap_or_default()
    )
}

/// A path of the target as it is reached from here.
fn seen_from_here(process: &Process, path: &str) -> String {
    match process.shares_our_files() {
        true => path.to_owned(),
        false => process.path_inside(Path::new(path)).display().to_string(),
    }
}
