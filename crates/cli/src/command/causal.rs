//! `headway causal`: what would a speedup buy? Experiments in a JVM, and what
//! they say.

use crate::command::breakdown::Breakdown;
use crate::command::capture::Capture;
use crate::command::record::Record;
use crate::command::run::Run;
use crate::error::Failure;
use crate::quantity::{self, Span};
use clap::{Args, Subcommand};
use std::ffi::OsString;

mod end_to_end;
mod report;
mod snippets;
mod source;
pub use report::{show, CausalReport};

const EXAMPLES: &str = "\
Examples:
  headway causal run --progress com.acme.Shop.order -- java -jar shop.jar
  headway causal record -d 2m --progress Shop.java:42 --scope 'com.acme.*' 4711
  headway causal run --progress order-done --target Inventory.rebuildIndex -- java -jar shop.jar
  headway causal run --progress Shop.java:42 --target lock:Inventory.lock -- java -jar shop.jar
  headway causal run --latency Shop.accept,Shop.reply -- java -jar shop.jar
  headway causal run --end-to-end --target Shop.price -- java -jar batch.jar
  headway causal report shop.jfr -o shop.html

An experiment delays all other threads while a method runs. For the throughput, this is
as if the method were faster. An experiment counts visits of a progress point: a method or line that
is executed once per unit of work, or a call of io.headway.Headway.progress(name).
The program runs slower meanwhile. Longer experiments give narrower confidence
intervals; begin with a minute. `headway causal run --help` explains the options.";

/// Options of `causal`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Causal {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run a command and make experiments in every JVM that it starts.
    Run(CausalRun),
    /// Make experiments in a running JVM for some time.
    Record(CausalRecord),
    /// Show the results of experiments, from a recording or a profile of Coz (a profiler for C and C++).
    Report(CausalReport),
}

/// What experiments are to find out.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Experiments")]
pub struct Experiments {
    /// Progress point: a method (com.acme.Shop.order), a line (Shop.java:42), or a name that
    /// the program passes to Headway.progress; repeatable
    #[arg(long, value_name = "METHOD|LINE|NAME", value_parser = progress)]
    pub progress: Vec<String>,

    /// Measure the mean time from one progress point to another; repeatable
    #[arg(long, value_name = "BEGIN,END", value_parser = latency)]
    pub latency: Vec<String>,

    /// For a program that ends by itself: measure how much sooner it ends. `causal run` starts the program
    /// --runs times for each speedup of each --target. `causal record` starts nothing: it applies the first
    /// speedup of the first --target until the recording ends
    #[arg(long, requires = "target", conflicts_with_all = ["progress", "latency"])]
    pub end_to_end: bool,

    /// Speed this up: a method, a line (Shop.java:42), a method where another calls it
    /// ("Shop.price < Shop.order"), or what is executed under a lock (lock:Inventory.lock, by
    /// name or class); repeatable. Default: the methods with most samples, and the lines in which
    /// threads sleep longest
    #[arg(long, value_name = "TARGET", value_parser = name)]
    pub target: Vec<String>,

    /// Choose targets within this package or class (com.acme.*); repeatable. Default:
    /// everywhere except in the JDK
    #[arg(long, value_name = "PATTERN", value_parser = name)]
    pub scope: Vec<String>,

    /// Speedups to try, in percent of the time that the target takes (100: it takes no time);
    /// default: 25,50,75,100
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100))]
    pub speedups: Vec<u32>,

    /// With `causal record`: wait for classes and progress points that do not exist yet. Without this option,
    /// they are an error. (`causal run` always waits for them)
    #[arg(long)]
    pub wait: bool,

    /// Print the report as JSON
    #[arg(long = "json", help_heading = None)]
    pub json: bool,
}

/// Options of `causal run`.
#[derive(Debug, Args)]
pub struct CausalRun {
    #[command(flatten)]
    experiments: Experiments,
    #[command(flatten)]
    capture: Recording,

    /// With --end-to-end: how often each speedup is tried
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND", help_heading = None)]
    command: Vec<OsString>,
}

/// Options of `causal record`.
#[derive(Debug, Args)]
pub struct CausalRecord {
    /// How long to experiment (s, m, h; a bare number is seconds)
    #[arg(short, long, value_name = "TIME", default_value = "1m", value_parser = quantity::positive_seconds)]
    duration: Span,

    #[command(flatten)]
    experiments: Experiments,
    #[command(flatten)]
    capture: Recording,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME", help_heading = None)]
    process: String,
}

/// What of recording can be chosen here.
#[derive(Debug, Args)]
struct Recording {
    /// Write the recording to this file: %p becomes the process id, %t the time; .jfr,
    /// .jfr.zst and .jfr.lz4 select the format
    #[arg(short, long, value_name = "FILE", default_value = crate::recording::file_name::DEFAULT_PATTERN)]
    output: std::path::PathBuf,

    /// Overwrite an existing file if it is empty or a Headway recording; never any other file
    #[arg(long)]
    force: bool,

    /// CPU time between samples (0.1ms to 1s); default: 1ms
    #[arg(short, long, value_name = "TIME", value_parser = crate::command::capture::interval)]
    interval: Option<Span>,
}

impl Recording {
    fn capture(self, experiments: Experiments) -> Capture {
        self.capture_into(self.output.clone(), experiments)
    }

    fn capture_into(&self, output: std::path::PathBuf, experiments: Experiments) -> Capture {
        let (force, interval) = (self.force, self.interval);
        Capture { output, force, interval, experiments: Some(experiments), ..Capture::default() }
    }
}

/// A name that can be passed to the agent.
fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is missing".to_owned()),
        text if text.contains(';') => Err(format!("\"{text}\" has a semicolon, which no Java name has")),
        text => Ok(text.to_owned()),
    }
}

/// A progress point. A line has a number, and no method has a colon.
fn progress(text: &str) -> Result<String, String> {
    let text = name(text)?;
    let is_number = |line: &str| line.parse::<u16>().is_ok_and(|line| line > 0);
    match text.rsplit_once(':') {
        Some((_, line)) if !is_number(line) => {
            Err(format!("\"{text}\" is no line: a number from 1 to 65535 has to follow the colon, not \"{line}\""))
        }
        Some((file, _)) if file.contains('.') => Ok(text),
        Some(_) => Err(format!("\"{text}\" is no line: a source file's name has an extension (Shop.java:42)")),
        None if text.ends_with(".java") => Err(format!("\"{text}\" is a file; say which line of it ({text}:42)")),
        None if text.contains('>') => Err(format!("\"{text}\" has a >, which no Java name has")),
        None => Ok(text),
    }
}

/// Where work begins and where it ends, as the agent takes it.
fn latency(text: &str) -> Result<String, String> {
    match text.split_once(',') {
        Some((begin, end)) if begin.trim() != end.trim() => Ok(format!("{}>{}", progress(begin)?, progress(end)?)),
        Some(_) => Err(format!("\"{text}\" begins where it ends")),
        None => Err(format!("\"{text}\" is one point; say where work begins and where it ends: BEGIN,END")),
    }
}

impl Causal {
    /// Carries out the command.
    ///
    /// # Errors
    /// As `run`, `record` and `report`.
    pub fn execute(self) -> Result<u8, Failure> {
        match self.what {
            What::Run(run) if run.experiments.end_to_end => end_to_end::run(run),
            What::Run(run) => {
                Run::new(run.capture.capture(run.experiments), Breakdown::default(), run.command).execute()
            }
            What::Record(record) => {
                let capture = record.capture.capture(record.experiments);
                Record::new(record.duration, capture, Breakdown::default(), record.process).execute()
            }
            What::Report(report) => report.execute(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_point_is_a_method_a_line_or_a_name() {
        for point in ["com.acme.Shop.order", "order", "Shop.java:42", "com/acme/Shop.java:42"] {
            assert_eq!(progress(point).as_deref(), Ok(point));
        }
        assert!(progress("Shop.java").is_err_and(|sentence| sentence.contains("say which line")));
        assert!(progress("Shop.java:0").is_err_and(|sentence| sentence.contains("1 to 65535")));
        assert!(progress("Shop:4").is_err() && name("a;b").is_err() && name(" ").is_err());
    }

    #[test]
    fn a_latency_has_two_ends() {
        assert_eq!(latency("Shop.java:4, order").as_deref(), Ok("Shop.java:4>order"));
        assert!(latency("order").is_err_and(|sentence| sentence.contains("BEGIN,END")));
        assert!(latency("order,order").is_err());
    }
}
