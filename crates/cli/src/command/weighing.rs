//! What a profile shows: the options that `flame`, `export` and `diff` have in
//! common.

use crate::command::{capture, first_given};
use crate::quantity::{self, Moment};
use crate::recording::profiled::ProfileQuestion;
use clap::Args;
use headway_analysis::method::{Grouping, Measure};
use regex::Regex;

/// What is weighed, and what is shown separately.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What to show")]
pub struct Weighing {
    /// Which time to count: cpu (CPU time), wall (elapsed time of all threads, also of those
    /// that do not run), owner (time blocked on locks, by the owner), contender (the same, by the
    /// blocked thread); default: the first of
    /// these that the recording has
    #[arg(long = "of", value_name = "MEASURE", value_parser = measure)]
    measure: Option<Measure>,

    /// Show each thread separately
    #[arg(short = 't', long)]
    per_thread: bool,

    /// Show each group separately: threads whose names differ only in a number
    #[arg(long, conflicts_with = "per_thread")]
    per_group: bool,

    /// Show calls from different source lines separately
    #[arg(long)]
    lines: bool,

    /// Leave out what is before this time: 10s means 10 s after the recording's start, -10s
    /// means 10 s before its end
    #[arg(long, value_name = "TIME", value_parser = quantity::moment, allow_hyphen_values = true)]
    from: Option<Moment>,

    /// Leave out what is after this time: 10s means 10 s after the recording's start, -10s
    /// means 10 s before its end
    #[arg(long, value_name = "TIME", value_parser = quantity::moment, allow_hyphen_values = true)]
    to: Option<Moment>,

    /// Count only threads whose name contains a match. With `--of contender`, also with `--of
    /// owner`, it is the name of the blocked thread
    #[arg(long, value_name = "REGEX", value_parser = capture::regex)]
    threads: Option<Regex>,

    /// Show numbers of samples instead of times
    #[arg(long)]
    pub samples: bool,
}

impl Weighing {
    /// The first of these options on the command line, if any.
    pub fn first_given(&self) -> Option<&'static str> {
        first_given([
            (self.measure.is_some(), "--of"),
            (self.per_thread, "--per-thread"),
            (self.per_group, "--per-group"),
            (self.lines, "--lines"),
            (self.from.is_some(), "--from"),
            (self.to.is_some(), "--to"),
            (self.threads.is_some(), "--threads"),
            (self.samples, "--samples"),
        ])
    }

    /// What is asked of a recording by these options.
    pub fn question(&self) -> ProfileQuestion {
        ProfileQuestion {
            measure: self.measure,
            grouping: match (self.per_thread, self.per_group) {
                (true, _) => Grouping::Thread,
                (false, true) => Grouping::Group,
                (false, false) => Grouping::Together,
            },
            lines: self.lines,
            locks_by_name: false,
            from: self.from,
            to: self.to,
            threads: self.threads.clone(),
            moments: false,
            raw_names: false,
        }
    }
}

/// A measure by its name.
///
/// # Errors
/// A sentence that names what there is.
pub fn measure(word: &str) -> Result<Measure, String> {
    let names = Measure::ALL.map(Measure::name);
    Measure::ALL.into_iter().find(|measure| measure.name() == word).ok_or_else(|| {
        let hint = crate::suggest::did_you_mean(word, names);
        format!("unknown measure \"{word}\"{hint} (measures: {})", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_known_by_name() {
        for name in Measure::ALL {
            assert_eq!(measure(name.name()), Ok(name));
        }
        let sentence = measure("walk").expect_err("a typo");
        assert_eq!(
            sentence,
            "unknown measure \"walk\"; did you mean \"wall\"? (measures: cpu, wall, contender, owner)"
        );
    }
}
