//! `headway diff`: two recordings side by side, by lock or method.

use crate::command::weighing::Weighing;
use crate::error::{Failure, DONE};
use crate::json;
use crate::recording::profiled::Profiled;
use crate::recording::{input, output};
use crate::render::records::{self, Record, TableFormat};
use crate::render::{self, numbers};
use crate::terminal::{self, Screen};
use clap::Args;
use headway_analysis::method::{Agreement, Comparison, MethodChange, HOT_EDGE_THRESHOLD};
use headway_export::{collapsed, flame, Format};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  headway diff before.jfr after.jfr
  headway diff before.jfr after.jfr -o diff.html          flame graph of the difference
  headway diff before.jfr after.jfr -o diff.collapsed     every stack with its time before and after
  headway diff --of owner before.jfr after.jfr            blocked time, by owner

Without --of, `diff` uses the first of cpu, wall, owner and contender that BEFORE has.
For blocked time (--of owner or contender), the tables have a row for each lock; locks
with the same name and class are one row. For cpu and wall, they have a row for each
method. Percentages are parts of each recording's total, so recordings of different
length can be compared. Waits are not in the tables: `headway view BEFORE AFTER`
compares them, and so does `headway report BEFORE AFTER`, by method.";

/// Options of `diff`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    #[command(flatten)]
    weighing: Weighing,

    /// The last lines count hot calls. A call from one method to another is hot if it takes at least this fraction of
    /// the time of the recording's most expensive call (0.1: 10 %)
    #[arg(long, value_name = "FRACTION", default_value_t = HOT_EDGE_THRESHOLD, value_parser = fraction)]
    threshold: f64,

    /// Show this many locks or methods whose share of the time grew, and as many whose share shrank
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// Print JSON
    #[arg(long, conflicts_with = "output")]
    json: bool,

    /// Print all locks and methods in a format for scripts
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, conflicts_with_all = ["json", "output"])]
    format: TableFormat,

    /// Write the difference into a file instead: .collapsed or .html, or - for collapsed
    /// stacks to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The recording before, or - for standard input
    #[arg(value_name = "BEFORE", help_heading = None)]
    before: PathBuf,

    /// The recording after, or - for standard input
    #[arg(value_name = "AFTER", help_heading = None)]
    after: PathBuf,
}

/// Two recordings, by lock or method.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffDocument {
    /// What is weighed.
    measure: headway_analysis::method::Measure,
    /// What shares are shares of.
    unit: headway_analysis::method::Unit,
    /// The first recording.
    before: Side,
    /// The second recording.
    after: Side,
    /// How alike both are.
    agreement: Agreement,
    /// Methods, largest growth of `self_share` first.
    methods: Vec<MethodChange>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
/// A recording of a comparison.
pub struct Side {
    /// The file.
    file: String,
    /// Weight of all samples.
    total_ns: u64,
    /// Number of samples, or of contentions.
    samples: u64,
    /// Length of the recording.
    duration_ns: u64,
}

impl Diff {
    /// Carries out the command.
    ///
    /// # Errors
    /// A file that is no recording or has nothing to show, an output that
    /// cannot be written, and, after everything has been shown, a damaged
    /// recording.
    pub fn execute(self) -> Result<u8, Failure> {
        if let Some(output) = &self.output {
            check_format(output)?;
            output::check_new(output, &[&self.before, &self.after])?;
        }
        if input::is_standard(&self.before) && input::is_standard(&self.after) {
            return Err(Failure::Usage("- (standard input) can be read once only".into()));
        }
        let mut question = self.weighing.question();
        // Another JVM has other objects.
        question.locks_by_name = true;
        question.raw_names = self.json || self.format != TableFormat::Text || self.output.is_some();
        let before = Profiled::read(&self.before, &question)?;
        question.measure = Some(before.profile.measure);
        let after = Profiled::read(&self.after, &question)?;
        let comparison =
            Comparison::new(&before.profile.tree, &after.profile.tree).sampled_at(before.instants, after.instants);
        match &self.output {
            Some(output) => write(output, &comparison, &before, &after)?,
            None => self.print(&comparison, &before, &after)?,
        }
        before.damage().or_else(|| after.damage()).map_or(Ok(DONE), Err)
    }

    fn print(&self, comparison: &Comparison<'_>, before: &Profiled, after: &Profiled) -> Result<(), Failure> {
        let agreement = comparison.agreement(self.threshold);
        let methods = comparison.methods();
        if matches!(self.format, TableFormat::Csv | TableFormat::Jsonl) {
            return records::print(&methods.iter().map(record).collect::<Vec<_>>(), self.format);
        }
        if self.json || self.format == TableFormat::Json {
            return json::print(DiffDocument {
                measure: after.profile.measure,
                unit: comparison.unit(),
                before: side(before),
                after: side(after),
                agreement,
                methods,
            });
        }
        let screen = Screen::stdout();
        let text = render::difference(before, after, &agreement, &methods, self.top as usize, &screen);
        terminal::print(&text).map_err(Failure::doing("cannot write to standard output"))
    }
}

fn write(output: &Path, comparison: &Comparison<'_>, before: &Profiled, after: &Profiled) -> Result<(), Failure> {
    let title = format!("{} against {}", after.path.display(), before.path.display());
    let bytes = output::write_new(output, &mut |out| match Format::of_name(&output.to_string_lossy()) {
        Some(Format::Flame) => {
            flame::write_difference(comparison, (&before.profile.tree, &after.profile.tree), &title, out)
        }
        _ => collapsed::write_difference(comparison, out),
    })?;
    if input::is_standard(output) {
        return Ok(());
    }
    terminal::note(&format!("Wrote {} ({}).", output.display(), numbers::bytes(bytes)));
    Ok(())
}

fn check_format(output: &Path) -> Result<(), Failure> {
    match Format::of_name(&output.to_string_lossy()) {
        Some(Format::Flame | Format::Collapsed) => Ok(()),
        _ if input::is_standard(output) => Ok(()),
        _ => Err(Failure::Usage(format!("-o {}: a difference is written as .collapsed or .html", output.display()))),
    }
}

fn record(change: &MethodChange) -> Record {
    vec![
        ("method", json!(change.method)),
        ("self_share_before", json!(change.self_share_before)),
        ("self_share_after", json!(change.self_share_after)),
        ("total_share_before", json!(change.total_share_before)),
        ("total_share_after", json!(change.total_share_after)),
        ("significant", json!(change.significant)),
    ]
}

fn side(profiled: &Profiled) -> Side {
    Side {
        file: profiled.path.display().to_string(),
        total_ns: profiled.profile.tree.total().ns,
        samples: profiled.profile.observations(),
        duration_ns: profiled.profile.duration.0,
    }
}

/// A number above 0 and at most 1, or a percentage.
fn fraction(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (text, 1.0),
    };
    let value = number.parse::<f64>().map_err(|_| format!("\"{text}\" is no number"))? / scale;
    match value > 0.0 && value <= 1.0 {
        true => Ok(value),
        false => Err(format!("{text} is not above 0 and at most 1 (100%)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_fractions_or_percentages() {
        assert_eq!(fraction("0.1"), Ok(0.1));
        assert_eq!(fraction("10%"), Ok(0.1));
        for wrong in ["0", "1.5", "110%", "-0.1", "ten", "NaN"] {
            assert!(fraction(wrong).is_err(), "{wrong}");
        }
    }
}
