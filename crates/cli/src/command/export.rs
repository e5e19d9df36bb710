//! `headway export`: a recording as a plain JFR file, unpacked and repaired.

use crate::error::{Failure, DONE};
use crate::recording::analysed::unreadable;
use crate::recording::file_name::EXTENSIONS;
use crate::recording::output;
use crate::render::numbers;
use crate::terminal::{self, Screen};
use clap::Args;
use headway_jfr::RepairError;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  headway export app.jfr.zst -o app.jfr       unpack for JDK Mission Control
  headway export torn.jfr -o whole.jfr        repair what a crash cut off";

/// Options of `export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// The new file; .jfr is plain, .jfr.zst and .jfr.lz4 are packed
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The recording
    #[arg(value_name = "FILE")]
    recording: PathBuf,
}

impl Export {
    /// Carries out the command. What is damaged is left out and told.
    ///
    /// # Errors
    /// Nothing can be saved, or the new file cannot be written.
    pub fn execute(self) -> Result<u8, Failure> {
        check_format(&self.output)?;
        output::check_recording(&self.output)?;
        let repaired =
            headway_jfr::repair(&self.recording, &self.output).map_err(|error| explain(&self.recording, error))?;
        let screen = Screen::stderr();
        for problem in &repaired.problems {
            terminal::note(&format!("{} left out: {problem}", screen.warning("headway:")));
        }
        let chunks = numbers::counted(repaired.chunks, "chunk", "chunks");
        terminal::note(&format!("Wrote {} ({chunks}, {}).", self.output.display(), numbers::bytes(repaired.bytes)));
        Ok(DONE)
    }
}

fn check_format(output: &Path) -> Result<(), Failure> {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if EXTENSIONS.iter().any(|extension| name.ends_with(extension)) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "-o {}: this version exports to .jfr (plain), .jfr.zst and .jfr.lz4 (packed)",
        output.display()
    )))
}

fn explain(recording: &Path, error: RepairError) -> Failure {
    match error {
        RepairError::Input(problem) => unreadable(recording, problem),
        RepairError::Output(path, error) => output::unwritable(&path, &error),
        RepairError::NothingLeft(path) => {
            Failure::UselessRecording { path, problem: "has no part that can be saved".into() }
        }
        other => Failure::UselessRecording { path: recording.to_owned(), problem: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_later_versions_are_refused_by_naming_what_works() {
        let sentence = check_format(Path::new("a.pprof")).expect_err("not yet").to_string();
        assert_eq!(sentence, "-o a.pprof: this version exports to .jfr (plain), .jfr.zst and .jfr.lz4 (packed)");
        assert!(check_format(Path::new("a.jfr.lz4")).is_ok());
    }
}
