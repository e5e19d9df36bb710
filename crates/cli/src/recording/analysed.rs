//! A recording, read and analysed.

use crate::error::Failure;
use crate::quantity::{Moment, Span};
use headway_analysis::pressure::report::PressureReport;
use headway_analysis::pressure::PressureOptions;
use headway_analysis::steal::report::StealReport;
use headway_analysis::{Analysis, Aspect, Bound, Options, Report, ThreadFilter};
use headway_jfr::{Problem, Reader, Summary};
use headway_model::printable::{printable, printable_event};
use headway_model::{DurationNs, Event};
use regex::Regex;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What is asked of a recording.
#[derive(Clone, Debug)]
pub struct Question {
    /// The levels of the tree.
    pub by: Vec<Aspect>,
    /// Rows of each level that are shown.
    pub top: usize,
    /// Blocked stretches shorter than this are left out.
    pub min_duration: Option<Span>,
    /// Where the range begins.
    pub from: Option<Moment>,
    /// Where it ends.
    pub to: Option<Moment>,
    /// Blocked threads that count.
    pub threads: Option<Regex>,
    /// How pressure is measured.
    pub pressure: PressureOptions,
    /// True to keep names as they are: for JSON and files. For text they are
    /// made printable.
    pub raw_names: bool,
}

impl Default for Question {
    fn default() -> Question {
        Question {
            by: vec![Aspect::Lock, Aspect::OwnerMethod, Aspect::ContenderMethod],
            top: 10,
            min_duration: None,
            from: None,
            to: None,
            threads: None,
            pressure: PressureOptions::default(),
            raw_names: false,
        }
    }
}

impl Question {
    fn options(&self, path: &Path) -> Result<Options, Failure> {
        let filter = self.threads.clone().map(|regex| ThreadFilter::new(move |name| regex.is_match(name)));
        Ok(Options {
            by: self.by.clone(),
            min_duration: DurationNs(self.min_duration.map_or(0, |span| span.ns)),
            from: self.from.map(|moment| bound(moment, path)).transpose()?,
            to: self.to.map(|moment| bound(moment, path)).transpose()?,
            threads: filter,
            pressure: Some(self.pressure),
            ..Options::default()
        })
    }
}

/// Where a moment is; one that counts from the end takes a look at the file.
///
/// # Errors
/// The file cannot be read.
pub fn bound(moment: Moment, path: &Path) -> Result<Bound, Failure> {
    Ok(match moment {
        Moment::AfterStart(span) => Bound::SinceStart(DurationNs(span.ns)),
        Moment::BeforeEnd(span) => {
            let summary = Summary::of(path).map_err(|problem| unreadable(path, problem))?;
            Bound::At(summary.start + summary.duration - DurationNs(span.ns))
        }
    })
}

/// The failure of not being able to read anything.
pub fn unreadable(path: &Path, problem: Problem) -> Failure {
    let path = path.to_owned();
    match problem {
        Problem::Open(_, error) => Failure::Unreadable { path, problem: plainly(&error) },
        Problem::Empty(_) => Failure::UselessRecording {
            path,
            problem: "is empty: nothing was recorded, or the disk was full; record again".into(),
        },
        Problem::NotARecording(_) => Failure::UselessRecording {
            path,
            problem: "is not a JFR recording (plain, or packed by zstd, LZ4 or gzip), or its beginning is destroyed"
                .into(),
        },
        other => Failure::UselessRecording { path, problem: format!("cannot be read: {other}") },
    }
}

fn plainly(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a directory, not a recording".into(),
        _ => error.to_string(),
    }
}

/// Reads a recording to its end. Names and problems are printable unless they
/// shall be `raw`.
pub fn read_with_names(reader: Reader, raw: bool, mut take: impl FnMut(Result<&Event, String>)) {
    reader.read_ahead(|item| match item {
        Ok(event) if raw => take(Ok(event)),
        Ok(event) => take(Ok(printable_event(event).as_ref().unwrap_or(event))),
        Err(problem) => take(Err(printable(&problem.to_string()).into_owned())),
    });
}

/// A recording's report, and what stood in its way.
#[derive(Debug)]
pub struct Analysed {
    /// The file.
    pub path: PathBuf,
    /// What the analysis found.
    pub report: Report,
    /// What is wrong with the file, one sentence each.
    pub problems: Vec<String>,
    /// Rows of each level that are shown.
    pub top: usize,
}

impl Analysed {
    /// Reads and analyses a recording.
    ///
    /// # Errors
    /// There is no such file, or nothing in it can be read as a recording.
    pub fn read(path: &Path, question: &Question) -> Result<Analysed, Failure> {
        let reader = Reader::open(path).map_err(|problem| unreadable(path, problem))?;
        let mut analysis = Analysis::new(question.options(path)?);
        let mut problems = Vec::new();
        read_with_names(reader, question.raw_names, |item| match item {
            Ok(event) => analysis.feed(event),
            Err(problem) => problems.push(problem),
        });
        Ok(Analysed { path: path.to_owned(), report: analysis.finish(), problems, top: question.top })
    }

    /// The failure that tells of a damaged file whose readable part was shown.
    pub fn damage(&self) -> Option<Failure> {
        let problem = self.problems.first()?.clone();
        Some(Failure::DamagedRecording { path: self.path.clone(), problem })
    }

    /// Critical section pressure without the locks beyond `top`, and, where
    /// only phases are wanted, without the locks that have none.
    pub fn pressure_of_top(&self, phases_only: bool) -> PressureReport {
        let mut pressure = self.report.pressure.clone().unwrap_or_default();
        if phases_only {
            pressure.locks.retain(|lock| !lock.phases.is_empty());
        }
        pressure.locks.truncate(self.top);
        pressure
    }

    /// What the environment took, without the rows beyond `top`.
    pub fn steal_of_top(&self) -> StealReport {
        let mut steal = self.report.steal.clone().unwrap_or_default();
        steal.keep_top(self.top);
        steal
    }

    /// The report without the rows beyond `top`.
    pub fn report_of_top(&self) -> Report {
        let mut report = self.report.clone();
        report.keep_top(self.top);
        report
    }
}
