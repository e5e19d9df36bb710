//! What options ask of one feature each.

use crate::process;
use std::path::PathBuf;
use std::time::Duration;

/// Shortest and longest CPU time between two samples of a thread, in ns.
pub const SAMPLE_INTERVALS_NS: std::ops::RangeInclusive<u64> = 100_000..=1_000_000_000;
/// Shortest and longest time between two samples of steal time, in ns. The longest
/// is shorter than the draining thread remembers threads that ended.
pub const STEAL_INTERVALS_NS: std::ops::RangeInclusive<u64> = 10_000_000..=4_000_000_000;

/// How long a recording goes on at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// As long as somebody has a lock on this file.
    pub file: Option<PathBuf>,
    /// As long as this.
    pub duration: Option<Duration>,
    /// True if the recording was for whoever had the lock alone.
    pub is_ephemeral: bool,
}

/// What a run is to find out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Progress points: methods, and names that the program says.
    pub progress: Vec<String>,
    /// What to speed up; chosen by the samples if empty.
    pub targets: Vec<String>,
    /// Where to choose from: packages or classes, a `*` at the end allowed.
    pub scope: Vec<String>,
    /// Speedups to try in percent.
    pub speedups: Vec<u32>,
    /// Latency points: where work begins and where it ends.
    pub latency: Vec<(String, String)>,
    /// One experiment, from the start to the end of the program.
    pub end_to_end: bool,
    /// Classes and names that are not there yet may come later.
    pub awaits: bool,
}

impl Wishes {
    /// Everything that counts visits.
    pub fn points(&self) -> Vec<String> {
        let ends = self.latency.iter().flat_map(|(begin, end)| [begin, end]);
        let mut points: Vec<String> = self.progress.iter().chain(ends).cloned().collect();
        points.sort();
        points.dedup();
        points
    }
}

/// What is done when a phase begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announce {
    /// A line on stderr.
    Log,
    /// A command for the shell.
    Command(String),
}

impl Announce {
    /// `log`, or a command.
    pub fn parse(text: &str) -> Announce {
        match text {
            "log" => Announce::Log,
            command => Announce::Command(command.to_owned()),
        }
    }
}

/// Where the statistics are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrintTo {
    /// On the JVM's standard error.
    Stderr,
    /// At the end of this file.
    File(PathBuf),
}

impl PrintTo {
    /// `stderr`, or a path with `%p` and `%t` in it.
    pub fn parse(value: String) -> PrintTo {
        match value.as_str() {
            "stderr" | "true" => PrintTo::Stderr,
            pattern => PrintTo::File(PathBuf::from(process::expand_file_name(pattern))),
        }
    }

    /// A file may ask for JSON by its name.
    pub fn is_json(&self) -> bool {
        matches!(self, PrintTo::File(path) if path.extension().is_some_and(|extension| extension == "json"))
    }
}
