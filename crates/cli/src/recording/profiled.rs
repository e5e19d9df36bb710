//! A recording, read into a profile.

use crate::error::Failure;
use crate::quantity::Moment;
use crate::recording::analysed::{by_name, is_content, nothing_readable, range, read_with_names, unreadable};
use crate::recording::input;
use crate::recording::progress::Progress;
use crate::render::numbers;
use headway_analysis::method::{Grouping, Measure, Profile, ProfileOptions, Profiler};
use headway_analysis::{Analysis, Options};
use headway_jfr::{Reader, Summary};
use regex::Regex;
use std::path::{Path, PathBuf};

/// Moments of a profile that are kept at most, some 250 MB of them.
const MOST_MOMENTS: usize = 8_000_000;

/// What is asked of a recording.
#[derive(Clone, Debug, Default)]
pub struct ProfileQuestion {
    /// What is weighed; the first that the recording has if `None`.
    pub measure: Option<Measure>,
    /// What stands above the methods.
    pub grouping: Grouping,
    /// True to distinguish lines.
    pub lines: bool,
    /// True to take locks of one name and class for one.
    pub locks_by_name: bool,
    /// Where the range begins.
    pub from: Option<Moment>,
    /// Where it ends.
    pub to: Option<Moment>,
    /// Threads that count.
    pub threads: Option<Regex>,
    /// True to keep what happened when.
    pub moments: bool,
    /// True to keep names as they are: for JSON and files. For text they are
    /// made printable.
    pub raw_names: bool,
}

/// A profile, and what stood in its way.
#[derive(Debug)]
pub struct Profiled {
    /// The file.
    pub path: PathBuf,
    /// What it shows.
    pub profile: Profile,
    /// What is wrong with the file, one sentence each.
    pub problems: Vec<String>,
    /// At how many random instants blocked time was sampled; `None` if all of it was recorded.
    pub instants: Option<u64>,
}

impl Profiled {
    /// Reads a recording.
    ///
    /// # Errors
    /// There is no such file, nothing in it can be read as a recording, or it
    /// has nothing of what is asked for.
    pub fn read(path: &Path, question: &ProfileQuestion) -> Result<Profiled, Failure> {
        let reader = Reader::open(input::place(path)?).map_err(|problem| unreadable(path, problem))?;
        let measure = match question.measure {
            Some(measure) => measure,
            None => first_measure(path)?,
        };
        let options = question.options(path, measure)?;
        let _progress = Progress::of_reading(path);
        let mut profiler = Profiler::new(options);
        // Contentions come whole; the profiler does the clipping.
        let mut analysis = measure.is_blocked_time().then(|| {
            let options = Options { by: Vec::new(), pressure: None, ..Options::default() };
            Analysis::new(options)
        });
        let mut problems = Vec::new();
        let mut has_content = false;
        read_with_names(reader, question.raw_names, |item| match item {
            Ok(event) => {
                has_content |= is_content(event);
                profiler.feed(event);
                if let Some(analysis) = &mut analysis {
                    analysis.feed_to(event, &mut profiler);
                }
            }
            Err(problem) => problems.push(problem),
        });
        if let (Some(problem), false) = (problems.first(), has_content) {
            return Err(nothing_readable(path, problem));
        }
        let report = analysis.map(|analysis| analysis.finish_to(&mut profiler));
        let instants = report.and_then(|report| report.sampling).map(|sampling| sampling.instants);
        let profiled = Profiled { path: path.to_owned(), profile: profiler.finish(), problems, instants };
        if measure == Measure::Wall && profiled.has_cpu_samples_only() {
            return Err(profiled.nothing(question));
        }
        match profiled.profile.tree.is_empty() {
            true => Err(profiled.nothing(question)),
            false => Ok(profiled),
        }
    }

    /// Samples of CPU time say nothing of how long a thread waited.
    fn has_cpu_samples_only(&self) -> bool {
        let counts = self.profile.counts;
        counts.running > 0 && counts.waiting + counts.runnable == 0
    }

    /// The failure that reports a damaged file whose readable part was used.
    pub fn damage(&self) -> Option<Failure> {
        let problem = self.problems.first()?.clone();
        Some(Failure::DamagedRecording { path: self.path.clone(), problem })
    }

    /// The failure of having nothing to show, with what there is instead.
    fn nothing(&self, question: &ProfileQuestion) -> Failure {
        let narrowed = question.from.is_some() || question.to.is_some() || question.threads.is_some();
        let counts = self.profile.counts;
        let wall = counts.waiting + counts.runnable;
        let what = match self.profile.measure {
            Measure::Cpu => "has no samples of CPU time",
            Measure::Wall => "has no samples by the wall clock",
            _ => "has no time blocked on locks",
        };
        if let Some(problem) = self.problems.first() {
            // It can have been in the rest: how it was recorded is not the reason.
            let problem = format!("is damaged: {problem}; its readable part {what}");
            return Failure::UselessRecording { path: self.path.clone(), problem };
        }
        let advice = match self.profile.measure {
            _ if narrowed => "in the range and the threads asked for".to_owned(),
            Measure::Cpu if wall > 0 => {
                format!("but {} by the wall clock: say --of wall", numbers::counted(wall, "sample", "samples"))
            }
            Measure::Cpu => "record with -e cpu".to_owned(),
            Measure::Wall if counts.running > 0 => {
                "its samples are of CPU time: use --of cpu, or record with -e wall".to_owned()
            }
            Measure::Wall => "record with -e wall".to_owned(),
            _ => "nothing was blocked, or it was recorded without -e lock".to_owned(),
        };
        let joined = if narrowed { format!("{what} {advice}") } else { format!("{what}: {advice}") };
        Failure::NothingToShow { path: self.path.clone(), problem: joined }
    }
}

impl ProfileQuestion {
    fn options(&self, path: &Path, measure: Measure) -> Result<ProfileOptions, Failure> {
        let (from, to) = range(self.from, self.to, path)?;
        let filter = self.threads.as_ref().map(by_name);
        Ok(ProfileOptions {
            measure,
            grouping: self.grouping,
            lines: self.lines,
            locks_by_name: self.locks_by_name,
            from,
            to,
            threads: filter,
            moments: if self.moments { MOST_MOMENTS } else { 0 },
            ..ProfileOptions::default()
        })
    }
}

/// The first measure that a recording has anything of.
fn first_measure(path: &Path) -> Result<Measure, Failure> {
    let summary = Summary::of(input::place(path)?).map_err(|problem| unreadable(path, problem))?;
    let has = |names: &[&str]| names.iter().any(|name| summary.types.get(*name).is_some_and(|total| total.count > 0));
    Ok(match () {
        () if has(&["jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"]) => Measure::Cpu,
        () if has(&["headway.WallSample", "profiler.WallClockSample"]) => Measure::Wall,
        () if has(&["jdk.JavaMonitorEnter", "headway.MonitorContendedEnter", "jdk.ThreadPark"]) => Measure::Owner,
        () => Measure::Cpu,
    })
}
