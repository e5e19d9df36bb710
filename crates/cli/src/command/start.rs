//! `headway start`: begins a recording that goes on until `stop`.

use crate::attach::{identity, Session};
use crate::command::capture::Capture;
use crate::command::record::warn_of_degraded;
use crate::error::{Failure, DONE};
use crate::jvm::find;
use crate::jvm::process::Process;
use crate::recording::file_name::literal_for_agent;
use crate::recording::output;
use crate::render::own_cost::OwnCost;
use crate::terminal;
use clap::Args;
use headway_jfr::IfTaken;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  headway start --max-age 10m 4711       keep the last ten minutes
  headway dump -o incident.jfr 4711      copy them into a file; the recording continues
  headway stop --detach 4711             end it, and detach the agent

The recording ends with `stop`, or when the JVM ends. The JVM writes the file, so
its user must be able to write to the directory of FILE.";

/// Options of `start`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Start {
    #[command(flatten)]
    capture: Capture,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME", help_heading = None)]
    target: String,
}

impl Start {
    /// Carries out the command.
    ///
    /// # Errors
    /// The target cannot be attached to, or cannot write the recording.
    pub fn execute(self) -> Result<u8, Failure> {
        let pattern = self.capture.pattern()?;
        let jvm = find::jvm(&self.target)?;
        let pid = jvm.process.pid;
        jvm.check_attachable()?;
        let path = pattern.expand(pid);
        let if_taken = self.capture.if_taken(&pattern);
        check_target_can_write(&jvm.process, &path, if_taken)?;
        self.capture.park_statistics.check_for(&jvm.process)?;

        let mut session = Session::open(&jvm)?;
        let reply = session.command(self.capture.start_options(&literal_for_agent(&path), if_taken)?)?;
        warn_of_degraded(&reply);
        let recording = reply.recording.as_deref().map_or_else(|| path.display().to_string(), str::to_owned);
        let note = format!(
            "Recording process {pid} into {recording}; {}. `headway stop {pid}` ends it.{}",
            self.capture.size_note(),
            OwnCost::from(&reply).starting().map(|sentence| format!(" {sentence}")).unwrap_or_default()
        );
        terminal::note(&note);
        Ok(DONE)
    }
}

/// The target writes this recording itself, for as long as it goes on; so it
/// must see the path and be allowed to write there.
fn check_target_can_write(process: &Process, path: &Path, if_taken: IfTaken) -> Result<(), Failure> {
    let inside = if process.shares_our_files() { path.to_owned() } else { process.path_inside(path) };
    identity::acting_as(process, || output::check_new_recording(&inside, if_taken)).map_err(|failure| match failure {
        // Who writes does not matter to a file that is in the way.
        Failure::Unwritable { problem, .. } if problem.contains(output::IN_THE_WAY) => {
            Failure::Unwritable { path: path.to_owned(), problem }
        }
        Failure::Unwritable { problem, .. } => Failure::Unwritable {
            path: path.to_owned(),
            problem: format!("process {} must write there itself: {problem}", process.pid),
        },
        other => other,
    })
}
