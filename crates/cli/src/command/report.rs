//! `headway report`: what recordings contain.

use crate::command::breakdown::Breakdown;
use crate::command::method::MethodView;
use crate::command::pressure::{PressureView, View};
use crate::command::{capture, first_given, report_html};
use crate::error::{Failure, DONE};
use crate::json;
use crate::quantity::{self, Moment, Span};
use crate::recording::analysed::{Analysed, Question};
use crate::recording::input;
use crate::render::records::{self, Record, TableFormat};
use crate::render::{self, totals, waited};
use crate::terminal::{self, Screen};
use clap::Args;
use headway_analysis::report::Row;
use regex::Regex;
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  headway report app.jfr                         findings, on one screen
  headway report --full app.jfr                  all findings and tables
  headway report --by owner-method,owner-chain,contender-group --top 5 app.jfr
  headway report --from 10s --to -5s --min-duration 1ms app.jfr.zst
  headway report --pressure --interval 100ms app.jfr     pressure of each lock, by interval
  headway report --steal app.jfr                 steal, throttling and run-queue wait
  headway report --method app.jfr                where time goes, by method
  headway report app.jfr -o report.html          an interactive web page, in one file
  headway report --json app.jfr | jq '.rows[0]'
  headway report --by lock-name,owner-method --format csv 'rec-*.jfr' > locks.csv
  zstdcat app.jfr.zst | headway report -

`report` reads any JFR file, also one made by JFR itself or by async-profiler; the
report shows what it contains. A damaged file gives a report of its readable
part and exit code 4.";

/// Options of `report`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    #[command(flatten)]
    breakdown: Breakdown,

    /// Show all findings, the breakdown of blocked time, waits, parks and dropped events. Long lists end after --top rows. --by, --top
    /// and -t switch --full on. Without it: at most five findings, and none that costs less than 1 % of the largest
    #[arg(long, help_heading = "What to show")]
    full: bool,

    /// Leave out contentions shorter than this (ns, us, ms, s), also from the total of the blocked time. The bar of
    /// thread time, the waits and the pressure do not change. Not for sampled recordings. (`record --min-duration` is
    /// different: it keeps short contentions in all totals)
    #[arg(long, value_name = "TIME", value_parser = quantity::nanoseconds, help_heading = "What to show")]
    min_duration: Option<Span>,

    /// Leave out what is before this time: 10s means 10 s after the recording's start, -10s
    /// means 10 s before its end
    #[arg(long, value_name = "TIME", value_parser = quantity::moment, allow_hyphen_values = true, help_heading = "What to show")]
    from: Option<Moment>,

    /// Leave out what is after this time: 10s means 10 s after the recording's start, -10s
    /// means 10 s before its end
    #[arg(long, value_name = "TIME", value_parser = quantity::moment, allow_hyphen_values = true, help_heading = "What to show")]
    to: Option<Moment>,

    /// Count only threads whose name contains a match: their time, contentions and waits. Owners of
    /// their locks are shown whatever their name is
    #[arg(long, value_name = "REGEX", value_parser = capture::regex, help_heading = "What to show")]
    threads: Option<Regex>,

    #[command(flatten)]
    pressure: PressureView,

    #[command(flatten)]
    method: MethodView,

    /// Show how long threads and transactions were ready to run but had no CPU: steal (by the
    /// hypervisor), throttling (by the CPU quota) and run-queue wait
    #[arg(long, conflicts_with_all = ["pressure", "phases"], help_heading = "CPU shortage")]
    steal: bool,

    /// Print JSON; several files give a list
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Format of the breakdown (--by). For scripts, it has a row for each combination of aspects
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, help_heading = "Output", conflicts_with_all = ["json", "output", "pressure", "phases", "steal", "method"])]
    format: TableFormat,

    /// Write an interactive web page, complete in one file (.html, or - for standard output);
    /// with two recordings (before, after) it compares them
    #[arg(short, long, value_name = "FILE", conflicts_with = "json", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Find source files in this directory tree, to show their lines in the page (repeatable)
    #[arg(long, value_name = "DIR", requires = "output", help_heading = "Output")]
    source_path: Vec<PathBuf>,

    /// Keep at most this many single contentions, waits and samples in the page; of the others,
    /// the page has sums by interval. `view` has a higher limit, because its page loads rows when it
    /// shows them
    #[arg(long, value_name = "ROWS", requires = "output", default_value_t = report_html::ROWS, help_heading = "Output")]
    rows: usize,

    /// Recordings; - is standard input, and a pattern in quotes ("*.jfr") stands for all files that match. With
    /// several files, Headway prints a report of each, then a table that compares their totals and waits
    #[arg(required = true, value_name = "FILE", help_heading = None)]
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
            self.check_page()?;
            return report_html::write(&self.files, output, &self.source_path, self.rows);
        }
        if self.method.method {
            self.check_method()?;
            self.breakdown.check_groups_methods()?;
        }
        let question = Question {
            min_duration: self.min_duration,
            from: self.from,
            to: self.to,
            threads: self.threads,
            pressure: self.pressure.options(),
            ..self.breakdown.question()
        };
        let files = input::files(&self.files)?;
        let grouping = self.breakdown.grouping();
        if self.method.method {
            return match files.as_slice() {
                [file] => self.method.show(file, &question, grouping, self.json),
                _ => Err(Failure::Usage("--method shows one recording; `headway diff` compares two".into())),
            };
        }
        if self.breakdown.groups_methods() {
            return Err(Failure::Usage("--by thread and --by group belong to --method. In the breakdown of blocked time, write contender-thread or contender-group for the blocked threads, owner-thread or owner-group for the owners".into()));
        }
        let view = match (self.steal, self.pressure.view()) {
            (true, _) => View::Steal,
            (false, View::Brief) if self.full || self.breakdown.is_asked() => View::Contention,
            (false, view) => view,
        };
        let format = if self.json { TableFormat::Json } else { self.format };
        show_as(&files, &question, view, format)
    }
}

impl Report {
    /// Refuses options that have no effect on the page.
    fn check_page(&self) -> Result<(), Failure> {
        let options = [
            (self.threads.is_some(), "--threads"),
            (self.from.is_some(), "--from"),
            (self.to.is_some(), "--to"),
            (self.min_duration.is_some(), "--min-duration"),
            (self.method.method, "--method"),
            (self.pressure.view() == View::Pressure, "--pressure"),
            (self.pressure.view() == View::Phases, "--phases"),
            (self.steal, "--steal"),
            (self.full, "--full"),
        ];
        match first_given(options) {
            Some(option) => Err(Failure::Usage(format!(
                "{option} has no effect with -o, which writes the whole recording: leave {option} out, and select in the page"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a view that has no effect with `--method`.
    fn check_method(&self) -> Result<(), Failure> {
        let views = [
            (self.pressure.view() == View::Pressure, "--pressure"),
            (self.pressure.view() == View::Phases, "--phases"),
            (self.steal, "--steal"),
        ];
        match first_given(views) {
            Some(option) => Err(Failure::Usage(format!("{option} has no effect with --method: use one of them"))),
            None => Ok(()),
        }
    }
}

/// Shows recordings, one after the other.
///
/// # Errors
/// The first failure, after all that can be shown has been shown.
pub fn show(files: &[PathBuf], question: &Question, json: bool) -> Result<u8, Failure> {
    show_as(files, question, View::Brief, if json { TableFormat::Json } else { TableFormat::Text })
}

fn show_as(files: &[PathBuf], question: &Question, view: View, format: TableFormat) -> Result<u8, Failure> {
    let question = &Question { raw_names: format != TableFormat::Text, ..question.clone() };
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
    match format {
        TableFormat::Json => print_json(&shown, view, files.len() == 1)?,
        TableFormat::Text => {
            terminal::print(&as_text(&shown, view)).map_err(Failure::doing("cannot write to standard output"))?;
        }
        TableFormat::Csv | TableFormat::Jsonl => {
            records::print(&shown.iter().flat_map(as_records).collect::<Vec<_>>(), format)?;
        }
    }
    first_failure.map_or(Ok(DONE), Err)
}

fn as_text(shown: &[Analysed], view: View) -> String {
    let screen = Screen::stdout();
    let text = |analysed| match view {
        View::Brief => render::brief(analysed, &screen),
        View::Contention => render::report(analysed, &screen),
        View::Pressure => render::pressure(analysed, false, &screen),
        View::Phases => render::pressure(analysed, true, &screen),
        View::Steal => render::steal(analysed, &screen),
    };
    let mut out = shown.iter().map(text).collect::<Vec<_>>().join("\n");
    if shown.len() > 1 {
        totals::write(shown, &screen, &mut out);
        waited::write(shown, &screen, &mut out);
    }
    out
}

/// The innermost rows of a breakdown, each with the aspects above it.
fn as_records(analysed: &Analysed) -> Vec<Record> {
    let report = analysed.report_of_top();
    let file = analysed.path.display().to_string();
    let origin: Record = vec![("file", json!(file)), ("pid", json!(report.recording.pid))];
    let mut records = Vec::new();
    for row in &report.rows {
        add_records(row, &origin, &mut records);
    }
    records
}

fn add_records(row: &Row, above: &Record, records: &mut Vec<Record>) {
    let mut record = above.clone();
    record.push((row.aspect.name(), json!(row.value)));
    if !row.children.is_empty() {
        return row.children.iter().for_each(|child| add_records(child, &record, records));
    }
    record.extend([
        ("total_ns", json!(row.total_ns)),
        ("count", json!(row.count)),
        ("max_ns", json!(row.max_ns)),
        ("share", json!(row.share)),
        ("others", json!(row.others)),
    ]);
    records.push(record);
}

fn print_json(shown: &[Analysed], view: View, single: bool) -> Result<(), Failure> {
    match view {
        View::Brief | View::Contention => documents(shown.iter().map(Analysed::report_of_top).collect(), single),
        View::Pressure => documents(shown.iter().map(|shown| shown.pressure_of_top(false)).collect(), single),
        View::Phases => documents(shown.iter().map(|shown| shown.pressure_of_top(true)).collect(), single),
        View::Steal => documents(shown.iter().map(Analysed::steal_of_top).collect(), single),
    }
}

fn documents<T: Serialize>(documents: Vec<T>, single: bool) -> Result<(), Failure> {
    match documents.as_slice() {
        [only] if single => json::print(only),
        several => json::print_list(several),
    }
}
