//! Park statistics printed by the program itself: options of `run`, `record` and `start`.

use crate::agent::options::AgentOptions;
use crate::error::Failure;
use clap::Args;
use std::path::{Path, PathBuf};

/// Where the park statistics are printed, and which.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Park statistics")]
pub struct ParkStatistics {
    /// Print how much threads parked on each blocker object when the JVM ends, when
    /// the recording does, and on SIGQUIT: into this file (%p, %t as in -o; JSON if
    /// it ends in .json), or `stderr`
    #[arg(long, value_name = "FILE|stderr")]
    pub park_statistics: Option<PathBuf>,

    /// Print them as JSON, one document a line
    #[arg(long, requires = "park_statistics")]
    pub park_json: bool,

    /// Measure a blocker from this many parks on it on
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub park_threshold: Option<u64>,

    /// Leave out blockers with fewer parks
    #[arg(long, value_name = "N", requires = "park_statistics", hide_short_help = true)]
    pub park_print_threshold: Option<u64>,

    /// Forget collected blockers once they were printed
    #[arg(long, requires = "park_statistics", hide_short_help = true)]
    pub park_free_on_print: bool,
}

impl ParkStatistics {
    /// Adds these to the agent's options.
    ///
    /// # Errors
    /// A path that cannot be passed on.
    pub fn add_to(&self, options: AgentOptions) -> Result<AgentOptions, Failure> {
        let options = match &self.park_statistics {
            None => options,
            Some(stderr) if stderr == Path::new("stderr") => options.with_some("parks", Some("stderr")),
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
