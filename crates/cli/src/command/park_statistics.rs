//! Park statistics printed by the program itself: options of `run`, `record` and `start`.

use crate::agent::options::AgentOptions;
use crate::error::Failure;
use crate::recording::output;
use clap::Args;
use std::path::{Path, PathBuf};

/// In place of a file: the program's standard error.
const STDERR: &str = "stderr";

/// Where the park statistics are printed, and which.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Park statistics")]
pub struct ParkStatistics {
    /// Write how often and how long threads parked on each blocker to this file (%p, %t as
    /// in -o; JSON if it ends in .json), or to the JVM's standard error (`stderr`): when the
    /// recording or the JVM ends, and on each SIGQUIT, together with the JVM's thread dump
    #[arg(long, value_name = "FILE|stderr")]
    pub park_statistics: Option<PathBuf>,

    /// Print park statistics as JSON, one document a line
    #[arg(long)]
    pub park_json: bool,

    /// Measure a blocker from its Nth park on; default: from the first
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub park_threshold: Option<u64>,

    /// Print only blockers with at least this many parks; default: all
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub park_print_threshold: Option<u64>,

    /// After printing, forget blockers that the garbage collector has removed: saves memory
    #[arg(long, hide_short_help = true)]
    pub park_free_on_print: bool,
}

impl ParkStatistics {
    /// Makes sure that the file can be made, for a JVM that sees the same files.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self) -> Result<(), Failure> {
        match self.park_statistics.as_deref() {
            None => Ok(()),
            Some(stderr) if stderr == Path::new(STDERR) => Ok(()),
            Some(file) => {
                let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
                let directory = directory.unwrap_or(Path::new("."));
                output::check_directory(directory).map_err(|_| {
                    let place = directory.display();
                    Failure::Usage(format!("--park-statistics: no file can be made in {place}; choose another place"))
                })
            }
        }
    }

    /// Adds these to the agent's options.
    ///
    /// # Errors
    /// A path that cannot be passed on; options about how to print, and none to do so.
    pub fn add_to(&self, options: AgentOptions) -> Result<AgentOptions, Failure> {
        let how = [
            (self.park_json, "--park-json"),
            (self.park_print_threshold.is_some(), "--park-print-threshold"),
            (self.park_free_on_print, "--park-free-on-print"),
        ];
        if let (None, Some((_, option))) = (&self.park_statistics, how.iter().find(|(given, _)| *given)) {
            return Err(Failure::Usage(format!("{option} needs --park-statistics FILE, where they are printed")));
        }
        let options = match &self.park_statistics {
            None => options,
            Some(stderr) if stderr == Path::new(STDERR) => options.with_some("parks", Some(STDERR)),
            // The JVM has a working directory of its own.
            Some(file) => {
                let absolute =
                    std::path::absolute(file).map_err(Failure::doing("cannot tell the current directory"))?;
                options.with_path("parks", &absolute)?
            }
        };
        Ok(options
            .with_flag("parks_json", self.park_json)
            .with_some("park_threshold", self.park_threshold)
            .with_some("park_print_threshold", self.park_print_threshold)
            .with_flag("park_free_on_print", self.park_free_on_print))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_to_print_means_nothing_without_a_place() {
        let wish = ParkStatistics { park_json: true, ..ParkStatistics::default() };
        let failure = wish.add_to(AgentOptions::new("start")).expect_err("no place");
        assert_eq!(failure.to_string(), "--park-json needs --park-statistics FILE, where they are printed");
    }

    #[test]
    fn a_file_is_told_by_its_absolute_path() {
        let wish = ParkStatistics { park_statistics: Some("parks.json".into()), ..ParkStatistics::default() };
        let options = wish.add_to(AgentOptions::new("start")).expect("options");
        let expected = std::env::current_dir().expect("a directory").join("parks.json");
        assert_eq!(options.as_str(), format!("start,parks={}", expected.display()));
        let wish = ParkStatistics { park_statistics: Some("stderr".into()), ..ParkStatistics::default() };
        assert_eq!(wish.add_to(AgentOptions::new("start")).expect("options").as_str(), "start,parks=stderr");
    }
}
