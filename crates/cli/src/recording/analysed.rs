//! A recording, read and analysed.

use crate::error::Failure;
use crate::quantity::{Moment, Span};
use crate::recording::input;
use crate::recording::progress::Progress;
use crate::render::numbers;
use headway_analysis::pressure::pressure_report::PressureReport;
use headway_analysis::pressure::PressureOptions;
use headway_analysis::steal::steal_report::StealReport;
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
    /// Contentions shorter than this are left out.
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
            by: vec![Aspect::LockName, Aspect::OwnerMethod, Aspect::ContenderMethod],
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

/// Counts the threads whose names match.
pub fn by_name(names: &Regex) -> ThreadFilter {
    let regex = names.clone();
    ThreadFilter::new(names.as_str(), move |name| regex.is_match(name))
}

impl Question {
    /// The options that leave something out, for a command that shall leave out the same.
    fn selected(&self) -> String {
        let options = [
            ("--min-duration", self.min_duration.map(|span| span.to_string())),
            ("--from", self.from.map(|moment| moment.to_string())),
            ("--to", self.to.map(|moment| moment.to_string())),
        ];
        let given = options.into_iter().filter_map(|(option, value)| Some(format!(" {option} {}", value?)));
        // A pattern may begin with a minus sign.
        let quoted = |names: &Regex| format!(" --threads='{}'", names.as_str().replace('\'', "'\\''"));
        given.chain(self.threads.as_ref().map(quoted)).collect()
    }

    fn options(&self, path: &Path) -> Result<Options, Failure> {
        let (from, to) = range(self.from, self.to, path)?;
        let filter = self.threads.as_ref().map(by_name);
        Ok(Options {
            by: self.by.clone(),
            min_duration: DurationNs(self.min_duration.map_or(0, |span| span.ns)),
            from,
            to,
            threads: filter,
            pressure: Some(self.pressure),
            ..Options::default()
        })
    }
}

/// Where a range begins and ends; how long the recording is takes a look at it.
///
/// # Errors
/// The range is empty or lies outside of the recording, or the file cannot be
/// read.
pub fn range(from: Option<Moment>, to: Option<Moment>, path: &Path) -> Result<(Option<Bound>, Option<Bound>), Failure> {
    if from.is_none() && to.is_none() {
        return Ok((None, None));
    }
    let summary = Summary::of(input::place(path)?).map_err(|problem| unreadable(path, problem))?;
    check_range(from, to, summary.duration.0).map_err(Failure::Usage)?;
    let bound = |moment| match moment {
        Moment::AfterStart(span) => Bound::SinceStart(DurationNs(span.ns)),
        Moment::BeforeEnd(span) => Bound::At(summary.start + summary.duration - DurationNs(span.ns)),
    };
    Ok((from.map(bound), to.map(bound)))
}

/// What is wrong with a range of a recording that lasts so long.
fn check_range(from: Option<Moment>, to: Option<Moment>, duration_ns: u64) -> Result<(), String> {
    let lasts = numbers::time(duration_ns);
    // Signed, as a moment can lie before the start.
    let place = |moment| match moment {
        Moment::AfterStart(span) => i128::from(span.ns),
        Moment::BeforeEnd(span) => i128::from(duration_ns) - i128::from(span.ns),
    };
    match (from.map(|moment| (moment, place(moment))), to.map(|moment| (moment, place(moment)))) {
        (Some((from, begin)), Some((to, end))) if begin >= end => {
            Err(format!("--from {from} is not before --to {to} (the recording lasts {lasts})"))
        }
        (Some((from, begin)), _) if begin > i128::from(duration_ns) => {
            Err(format!("--from {from} is after the recording's end: it lasts {lasts}"))
        }
        (_, Some((to, end))) if end <= 0 => {
            Err(format!("--to {to} is not after the recording's start: it lasts {lasts}"))
        }
        _ => Ok(()),
    }
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

/// True if the file says this: the reader itself adds how much of a damaged file is missing.
pub fn is_content(event: &Event) -> bool {
    !matches!(event, Event::Lost(..))
}

/// The failure of a damaged file without any event that can be read.
pub fn nothing_readable(path: &Path, problem: &str) -> Failure {
    Failure::UselessRecording {
        path: path.to_owned(),
        problem: format!("is damaged, and nothing in it can be read: {problem}"),
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
    /// The options that chose a part of the recording, as they were given, each with a space before it.
    pub selected: String,
}

impl Analysed {
    /// Reads and analyses a recording.
    ///
    /// # Errors
    /// There is no such file, or nothing in it can be read as a recording.
    pub fn read(path: &Path, question: &Question) -> Result<Analysed, Failure> {
        let reader = Reader::open(input::place(path)?).map_err(|problem| unreadable(path, problem))?;
        let _progress = Progress::of_reading(path);
        let mut analysis = Analysis::new(question.options(path)?);
        let mut problems = Vec::new();
        let mut has_content = false;
        read_with_names(reader, question.raw_names, |item| match item {
            Ok(event) => {
                has_content |= is_content(event);
                analysis.feed(event);
            }
            Err(problem) => problems.push(problem),
        });
        let report = analysis.finish();
        if let (Some(problem), false) = (problems.first(), has_content) {
            return Err(nothing_readable(path, problem));
        }
        if report.sampling.is_some() && question.min_duration.is_some() {
            return Err(Failure::NothingToShow {
                path: path.to_owned(),
                problem: "samples short contentions, so that --min-duration cannot say how many there were: leave it \
                          out, or record with --exact"
                    .into(),
            });
        }
        let selected = question.selected();
        Ok(Analysed { path: path.to_owned(), report, problems, top: question.top, selected })
    }

    /// The failure of a damaged file whose readable part was shown.
    pub fn damage(&self) -> Option<Failure> {
        let problem = self.problems.first()?.clone();
        Some(Failure::DamagedRecording { path: self.path.clone(), problem })
    }

    /// Critical section pressure without the locks beyond `top`, and, where
    /// only phases are wanted, without the locks that have none. `None` where it is
    /// not known when threads lived.
    pub fn pressure_of_top(&self, phases_only: bool) -> Option<PressureReport> {
        if self.report.ledger.lives_unknown {
            return None;
        }
        let mut pressure = self.report.pressure.clone().unwrap_or_default();
        let PressureReport { locks, other_locks, .. } = &mut pressure;
        if phases_only {
            locks.sort_by_key(|lock| lock.phases.is_empty());
            let with_phases = locks.partition_point(|lock| !lock.phases.is_empty());
            other_locks.take_beyond(locks, with_phases, |lock| lock.acquiring_ns);
        }
        other_locks.take_beyond(locks, self.top, |lock| lock.acquiring_ns);
        Some(pressure)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::moment;
    use headway_analysis::pressure::pressure_report::{LockPressure, PhaseReport};

    #[test]
    fn locks_without_room_or_phase_are_among_the_others() {
        let lock = |acquiring_ns, phases| LockPressure { acquiring_ns, phases, ..LockPressure::default() };
        let locks = vec![lock(9, vec![]), lock(4, vec![PhaseReport::default()]), lock(2, vec![])];
        let pressure = PressureReport { locks, acquiring_ns: 15, ..PressureReport::default() };
        let report = Report { pressure: Some(pressure), ..Report::default() };
        let analysed = Analysed { path: PathBuf::new(), report, problems: Vec::new(), top: 1, selected: String::new() };
        for (phases_only, listed) in [(false, 9), (true, 4)] {
            let pressure = analysed.pressure_of_top(phases_only).expect("pressure");
            assert_eq!((pressure.locks.len(), pressure.locks[0].acquiring_ns), (1, listed));
            assert_eq!((pressure.other_locks.count, pressure.other_locks.total_ns), (2, 15 - listed));
        }
    }

    #[test]
    fn what_was_selected_can_be_asked_for_again() {
        let question = Question {
            from: moment("7s").ok(),
            to: moment("-500ms").ok(),
            threads: Regex::new("request-.*|it's").ok(),
            ..Question::default()
        };
        assert_eq!(question.selected(), " --from 7s --to -500ms --threads='request-.*|it'\\''s'");
        assert_eq!(Question::default().selected(), "");
    }

    #[test]
    fn ranges_that_show_nothing_are_refused() {
        let check = |from: &str, to: &str| {
            let parsed = |text: &str| (!text.is_empty()).then(|| moment(text).expect("a moment"));
            check_range(parsed(from), parsed(to), 10_000_000_000).err().unwrap_or_default()
        };
        assert_eq!(check("5s", "3s"), "--from 5s is not before --to 3s (the recording lasts 10.0 s)");
        assert_eq!(check("-2s", "-3s"), "--from -2s is not before --to -3s (the recording lasts 10.0 s)");
        assert_eq!(check("8s", "-3s"), "--from 8s is not before --to -3s (the recording lasts 10.0 s)");
        assert_eq!(check("11s", ""), "--from 11s is after the recording's end: it lasts 10.0 s");
        assert_eq!(check("", "-10s"), "--to -10s is not after the recording's start: it lasts 10.0 s");
        assert_eq!(check("", "0"), "--to 0ns is not after the recording's start: it lasts 10.0 s");
        for (from, to) in [("-60s", ""), ("", "60s"), ("1s", "2s"), ("-5s", "-1s"), ("0", "-1s")] {
            assert_eq!(check(from, to), "");
        }
    }
}
