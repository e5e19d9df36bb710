//! `headway report`: what recordings contain.

use crate::command::breakdown::Breakdown;
use crate::command::{capture, report_html};
use crate::error::{Failure, DONE};
use crate::quantity::{self, Moment};
use crate::recording::analysed::{Analysed, Question};
use crate::render;
use crate::terminal::{self, Screen};
use clap::Args;
use regex::Regex;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  headway report app.jfr
  headway report --by owner-method,owner-chain,contender-group --top 5 app.jfr
  headway report --from 10s --to -5s --min-duration 1ms app.jfr.zst
  headway report app.jfr -o report.html          a page to look at, in one file
  headway report --json app.jfr | jq '.rows[0]'

Any JFR file will do, also one made by JFR itself or by async-profiler; the
report shows what it contains. A damaged file gives a report of its readable
part and exit code 4.";

/// Options of `report`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    #[command(flatten)]
    breakdown: Breakdown,

    /// Begin this long after the recording's start, or before its end (-10s)
    #[arg(long, value_name = "TIME", value_parser = quantity::moment, allow_hyphen_values = true, help_heading = "What to show")]
    from: Option<Moment>,

    /// End this long after the recording's start, or before its end (-10s)
    #[arg(long, value_name = "TIME", value_parser = quantity::moment, allow_hyphen_values = true, help_heading = "What to show")]
    to: Option<Moment>,

    /// Count only blocked threads whose name matches
    #[arg(long, value_name = "REGEX", value_parser = capture::regex, help_heading = "What to show")]
    threads: Option<Regex>,

    /// Print JSON; several files give a list
    #[arg(long)]
    json: bool,

    /// Write a page to look at and drill down in, complete in one file (.html);
    /// two recordings (before, after) are compared
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// In the page, show source lines from below this directory (repeatable)
    #[arg(long, value_name = "DIR", requires = "output")]
    source_path: Vec<PathBuf>,

    /// Recordings
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Report {
    /// Carries out the command.
    ///
    /// # Errors
    /// A file that is no recording, or that is damaged; the readable part has
    /// been shown then.
    pub fn execute(self) -> Result<u8, Failure> {
        if let Some(output) = &self.output {
            return report_html::write(&self.files, output, &self.source_path);
        }
        let question = Question { from: self.from, to: self.to, threads: self.threads, ..self.breakdown.question() };
        show(&self.files, &question, self.json)
    }
}

/// Shows recordings, one after the other.
///
/// # Errors
/// The first failure, after all that can be shown has been shown.
pub fn show(files: &[PathBuf], question: &Question, json: bool) -> Result<u8, Failure> {
    let mut shown = Vec::new();
    let mut first_failure = None;
    for file in files {
        match Analysed::read(file, question) {
            Ok(analysed) => {
                if let Some(failure) = analysed.damage() {
                    first_failure.get_or_insert(failure);
                }
                shown.push(analysed);
            }
            Err(failure) if files.len() == 1 => return Err(failure),
            Err(failure) => {
                terminal::note(&format!("{} {failure}", Screen::stderr().alarm("headway:")));
                first_failure.get_or_insert(failure);
            }
        }
    }
    let text = if json { as_json(&shown, files.len() == 1)? } else { as_text(&shown) };
    terminal::print(&text).map_err(Failure::doing("cannot write to standard output"))?;
    first_failure.map_or(Ok(DONE), Err)
}

fn as_text(shown: &[Analysed]) -> String {
    let screen = Screen::stdout();
    shown.iter().map(|analysed| render::report(analysed, &screen)).collect::<Vec<_>>().join("\n")
}

fn as_json(shown: &[Analysed], single: bool) -> Result<String, Failure> {
    let text = match shown {
        [only] if single => serde_json::to_string_pretty(&only.report_of_top()),
        several => serde_json::to_string_pretty(&several.iter().map(Analysed::report_of_top).collect::<Vec<_>>()),
    };
    let text = text.map_err(|error| Failure::System { doing: "cannot write JSON".into(), source: error.into() })?;
    Ok(text + "\n")
}
