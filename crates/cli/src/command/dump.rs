//! `headway dump`: writes the last minutes of a recording that goes on.

use crate::agent::options::AgentOptions;
use crate::attach::delivery::Delivery;
use crate::command::stop;
use crate::error::{Failure, DONE};
use crate::jvm::find;
use crate::recording::file_name::{Pattern, DEFAULT_PATTERN};
use crate::recording::output;
use crate::render::numbers;
use crate::terminal;
use clap::Args;
use headway_protocol::UNWRITTEN;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  headway dump -o incident.jfr 4711
  headway report incident.jfr

The copy contains what the recording has kept: `start --max-age` and `--max-size`
limit how far back the recording goes.";

/// Options of `dump`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Dump {
    /// Write to this file: %p becomes the process id, %t the time; .jfr, .jfr.zst and
    /// .jfr.lz4 select the format
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_PATTERN)]
    output: PathBuf,

    /// Overwrite an existing file if it is empty or a Headway recording; never any other file
    #[arg(long)]
    force: bool,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME")]
    target: String,
}

impl Dump {
    /// Carries out the command.
    ///
    /// # Errors
    /// Nothing is being recorded, or the file cannot be written.
    pub fn execute(self) -> Result<u8, Failure> {
        let pattern = Pattern::parse(&self.output)?;
        let jvm = find::jvm(&self.target)?;
        let destination = pattern.expand(jvm.process.pid);
        let if_taken = pattern.if_taken(self.force);
        output::check_new_recording(&destination, if_taken)?;
        let mut session = stop::open_loaded(&jvm, "dump")?;
        let delivery = Delivery::to(&destination, if_taken, &session);
        let options = AgentOptions::new("dump").with_path("file", &delivery.path_for_agent(&session))?;
        let reply = session.command(options.if_taken(if_taken))?;
        let path = delivery.collect(&session, reply.recording.as_deref())?;
        let size = std::fs::metadata(&path).map(|m| m.len()).unwrap_or(0);
        terminal::note(&format!("Wrote {} ({}); the recording continues.", path.display(), numbers::bytes(size)));
        reply.notes.iter().for_each(|note| terminal::note(note));
        match reply.notes.iter().any(|note| note.starts_with(UNWRITTEN)) {
            true => Err(Failure::IncompleteCopy { path }),
            false => Ok(DONE),
        }
    }
}
