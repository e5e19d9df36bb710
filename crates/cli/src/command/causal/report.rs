//! `headway causal report`: what experiments say.

use super::snippets;
use super::source::{self, Source};
use super::Experiments;
use crate::error::{Failure, DONE};
use crate::recording::output;
use crate::terminal;
use clap::Args;
use headway_causal::coz;
use headway_causal::experiment::Experiment;
use headway_causal::page::page;
use headway_causal::report::{progress_points, report, Measure, Report, TargetReport};
use headway_model::printable;
use headway_model::quantity::{change, percent};
use std::path::{Path, PathBuf};

/// Options of `causal report`.
#[derive(Debug, Args)]
pub struct CausalReport {
    /// Show this progress point; default: the one with most visits
    #[arg(long, value_name = "POINT")]
    progress: Option<String>,

    /// Print JSON; gains are fractions of the time per visit
    #[arg(long)]
    json: bool,

    /// Write a page (.html), or the experiments for coz's viewer (.coz, .jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Look here for the source of lines, which the page shows; may be repeated.
    /// Default: the working directory
    #[arg(long, value_name = "DIRECTORY")]
    sources: Vec<PathBuf>,

    /// Recordings, or profiles of coz (.coz, .jsonl); several runs are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl CausalReport {
    /// Carries out the command.
    ///
    /// # Errors
    /// A file cannot be read or has no experiments. Of a damaged recording the
    /// readable part is shown first.
    pub fn execute(self) -> Result<u8, Failure> {
        let mut runs = Vec::new();
        let (mut notes, mut damage) = (Vec::new(), None);
        for file in &self.files {
            let Source { experiments, notes: said, damage: found } = source::read(file)?;
            runs.push(experiments);
            notes.extend(said);
            damage = damage.or(found);
        }
        let experiments = source::merged(runs);
        let first = self.files.first().map_or(Path::new(""), PathBuf::as_path);
        if experiments.is_empty() {
            return Err(damage.unwrap_or_else(|| nothing(first, &notes)));
        }
        let points = progress_points(&experiments);
        if let Some(progress) = self.progress.as_ref().filter(|progress| !points.contains(progress)) {
            let known = if points.is_empty() { "none".to_owned() } else { points.join(", ") };
            return Err(Failure::Usage(format!("there is no progress point {progress} in it (there are: {known})")));
        }
        if let Some(output) = &self.output {
            let text = match output.extension().and_then(|extension| extension.to_str()) {
                Some("coz") => coz::legacy(&experiments),
                Some("jsonl") => coz::json_lines(&experiments),
                Some("html") => self.page(&experiments, &notes),
                _ => {
                    let problem = "the name must end in .html, .coz or .jsonl";
                    return Err(Failure::Usage(format!("{}: {problem}", output.display())));
                }
            };
            output::check_new(output, &self.files)?;
            output::write_new(output, &mut |out| out.write_all(text.as_bytes()))?;
            terminal::note(&format!("Wrote {}.", output.display()));
        } else {
            print(&report(&experiments, self.progress.as_deref()), &notes, self.json)?;
        }
        damage.map_or(Ok(DONE), Err)
    }
}

impl CausalReport {
    /// The report of these files.
    pub fn of(files: Vec<PathBuf>, json: bool) -> CausalReport {
        CausalReport { progress: None, json, output: None, sources: Vec::new(), files }
    }

    fn page(&self, experiments: &[Experiment], notes: &[String]) -> String {
        let mut report = report(experiments, self.progress.as_deref());
        report.warnings.splice(0..0, notes.iter().cloned());
        let here = [PathBuf::from(".")];
        let below = if self.sources.is_empty() { &here[..] } else { &self.sources };
        let sources = snippets::of_targets(report.targets.iter().map(|target| target.target.as_str()), below);
        let names = self.files.iter().map(|file| file.file_name().unwrap_or_default().to_string_lossy());
        page(&report, experiments, &sources, &names.collect::<Vec<_>>().join(", "))
    }
}

fn nothing(path: &Path, notes: &[String]) -> Failure {
    let why = match notes {
        [] => "has no experiments: it was not made by `headway causal`, the program said no progress point, or it \
               ended within the first second"
            .to_owned(),
        notes => format!("has no experiments: {}", notes.join("; ")),
    };
    Failure::UselessRecording { path: path.to_owned(), problem: why }
}

/// Shows the recording that `causal run` or `causal record` just made.
///
/// # Errors
/// As `causal report`.
pub fn show(path: &Path, experiments: &Experiments) -> Result<u8, Failure> {
    CausalReport::of(vec![path.to_owned()], experiments.json).execute()
}

fn print(report: &Report, notes: &[String], json: bool) -> Result<(), Failure> {
    match json {
        true => crate::json::print(report),
        false => terminal::print(&in_words(report, notes)).map_err(Failure::doing("cannot write to standard output")),
    }
}

fn in_words(report: &Report, notes: &[String]) -> String {
    let mut text = String::new();
    for sentence in report.sentences() {
        text += &format!("{}\n", printable(&sentence));
    }
    for warning in notes.iter().chain(&report.warnings) {
        text += &format!("! {}\n", printable(warning));
    }
    if report.targets.is_empty() {
        return text;
    }
    text += &match report.measure {
        Measure::Throughput => {
            format!("\nRaise of {}/s by a speedup, with 95 % intervals:\n", printable(&report.progress))
        }
        Measure::Latency => {
            format!("\nPart of {} that a speedup saves, with 95 % intervals:\n", printable(&report.progress))
        }
        Measure::EndToEnd => "\nPart of the run that a speedup saves, with 95 % intervals:\n".to_owned(),
    };
    for target in &report.targets {
        let share = match target.share.is_finite() {
            true => format!(", {} of samples", percent(target.share)),
            false => String::new(),
        };
        text += &format!("\n  {} ({}{share})\n", printable(&target.target), target.kind);
        text += &curve(report.measure, target);
    }
    text
}

fn curve(measure: Measure, target: &TargetReport) -> String {
    let raise = |gain: f64| change(measure.effect(gain));
    let line = |point: &headway_causal::report::PointReport| {
        let interval = point
            .ci95
            .map_or("too few experiments".to_owned(), |[low, high]| format!("{} to {}", raise(low), raise(high)));
        let experiments = if point.experiments == 1 { "experiment" } else { "experiments" };
        format!(
            "    {:>3.0} % faster  {:>10}   ({interval}; {} {experiments})\n",
            point.speedup * 100.0,
            raise(point.gain),
            point.experiments
        )
    };
    target.points.iter().map(line).collect()
}
