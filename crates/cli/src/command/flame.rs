//! `headway flame`: where time goes, as a picture.

use crate::command::export::write_profile;
use crate::command::weighing::Weighing;
use crate::error::{Failure, DONE};
use crate::recording::profiled::{ProfileQuestion, Profiled};
use crate::recording::{input, output};
use clap::Args;
use headway_export::{Format, Style};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  headway flame app.jfr -o app.html                    see --of for the default
  headway flame app.jfr --of cpu -o cpu.html           CPU time
  headway flame app.jfr --of owner -o locks.html       stacks of owners, while others were blocked
  headway flame app.jfr --of wall --threads http -o wall.html

cpu and wall need a recording with `-e cpu` or `-e wall`; recordings of the default
events have only blocked time. The page is complete in one file. To compare two recordings:
`headway diff before.jfr after.jfr -o diff.html`.";

/// Options of `flame`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Flame {
    /// Write the page to this file (.html), or - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Title of the page; default: the recording's name
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    #[command(flatten)]
    weighing: Weighing,

    /// The recording, or - for standard input
    #[arg(value_name = "RECORDING", help_heading = None)]
    recording: PathBuf,
}

impl Flame {
    /// Carries out the command.
    ///
    /// # Errors
    /// A file that is no recording or has nothing to show, a page that cannot
    /// be written, and, after it has been written, a damaged recording.
    pub fn execute(self) -> Result<u8, Failure> {
        let name = self.output.to_string_lossy();
        if !input::is_standard(&self.output) && Format::of_name(&name) != Some(Format::Flame) {
            return Err(Failure::Usage(format!("-o {name}: a flame graph is written as .html")));
        }
        output::check_new(&self.output, &[&self.recording])?;
        let question = ProfileQuestion { raw_names: true, ..self.weighing.question() };
        let profiled = Profiled::read(&self.recording, &question)?;
        let title = self.title.unwrap_or_else(|| self.recording.display().to_string());
        let style = Style { title, count_samples: self.weighing.samples };
        write_profile(&profiled, Format::Flame, &style, &self.output)?;
        profiled.damage().map_or(Ok(DONE), Err)
    }
}
