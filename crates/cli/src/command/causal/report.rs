//! `headway causal report`: what experiments say.

use super::snippets;
use super::source::{self, Source};
use super::Experiments;
use crate::error::{Failure, DONE, FAILURE};
use crate::recording::{input, output};
use crate::render::{print_folded, prose_fitted as fitted};
use crate::terminal::{self, Screen};
use clap::Args;
use headway_causal::coz;
use headway_causal::experiment::Experiment;
use headway_causal::gains::{progress_points, report, Report, TargetReport};
use headway_causal::page::page;
use headway_model::printable;
use headway_model::quantity::percent;
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;

/// Options of `causal report`.
#[derive(Debug, Args)]
pub struct CausalReport {
    /// Show this progress point; default: the one with most visits
    #[arg(long, value_name = "POINT")]
    progress: Option<String>,

    /// Print JSON; gains are fractions of the time per visit
    #[arg(long)]
    json: bool,

    /// Write a page (.html), or the experiments for Coz's viewer (.coz, .jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Find source files in this directory, to show their lines in the page; repeatable.
    /// Default: the working directory
    #[arg(long = "source-path", value_name = "DIR")]
    sources: Vec<PathBuf>,

    /// Progress points that the run was to measure.
    #[arg(skip)]
    asked: Vec<String>,

    /// Recordings (- reads standard input), or profiles of Coz (.coz, .jsonl), or a pattern in quotes; several runs
    /// are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl CausalReport {
    /// Carries out the command.
    ///
    /// # Errors
    /// A file cannot be read or has no experiments. Of a damaged recording the
    /// readable part is shown first. The exit code is that of a failure, too, if the
    /// progress point was never visited, or no target ever seen to run.
    pub fn execute(self) -> Result<u8, Failure> {
        let mut runs = Vec::new();
        let (mut notes, mut damage) = (Vec::new(), None);
        for file in &input::files(&self.files)? {
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
            let report = self.report(&experiments, &notes);
            print(&report, self.json)?;
            // The warnings say why. What was asked for may be mistyped.
            let is_visited = |point: &String| experiments.iter().any(|e| e.visits.get(point).is_some_and(|n| *n > 0));
            let is_missed = !self.asked.is_empty() && !self.asked.iter().any(is_visited);
            let code = if report.says_nothing() || is_missed { FAILURE } else { DONE };
            return damage.map_or(Ok(code), Err);
        }
        damage.map_or(Ok(DONE), Err)
    }
}

impl CausalReport {
    /// The report of these files.
    pub fn of(files: Vec<PathBuf>, json: bool) -> CausalReport {
        CausalReport { progress: None, json, output: None, sources: Vec::new(), asked: Vec::new(), files }
    }

    fn report(&self, experiments: &[Experiment], notes: &[String]) -> Report {
        Report { notes: notes.to_vec(), ..report(experiments, self.progress.as_deref()) }
    }

    fn page(&self, experiments: &[Experiment], notes: &[String]) -> String {
        let report = self.report(experiments, notes);
        let here = [PathBuf::from(".")];
        let below = if self.sources.is_empty() { &here[..] } else { &self.sources };
        let sources = snippets::of_targets(report.targets.iter().map(|target| target.target.as_str()), below);
        let names = self.files.iter().map(|file| file.file_name().unwrap_or_default().to_string_lossy());
        page(&report, experiments, &sources, &names.collect::<Vec<_>>().join(", "))
    }
}

fn nothing(path: &Path, notes: &[String]) -> Failure {
    let why = match notes {
        [] => {
            "has no experiments: the recording was not made by `headway causal`, no progress point was reached, or the \
               program ended within the first second"
                .to_owned()
        }
        notes => format!("has no experiments: {}", notes.join("; ")),
    };
    Failure::UselessRecording { path: path.to_owned(), problem: why }
}

/// Shows the recording that `causal run` or `causal record` just made.
///
/// # Errors
/// As `causal report`.
pub fn show(path: &Path, experiments: &Experiments) -> Result<u8, Failure> {
    let asked = experiments.progress.clone();
    CausalReport { asked, ..CausalReport::of(vec![path.to_owned()], experiments.json) }.execute()
}

fn print(report: &Report, json: bool) -> Result<(), Failure> {
    match json {
        true => crate::json::print(report),
        false => print_folded(&in_words(report, &Screen::stdout()))
            .map_err(Failure::doing("cannot write to standard output")),
    }
}

fn in_words(report: &Report, screen: &Screen) -> String {
    let mut text = String::new();
    for sentence in report.sentences() {
        text += &format!("{}\n", printable(&sentence));
    }
    for warning in report.notes.iter().chain(&report.warnings) {
        text += &format!("! {}\n", printable(warning));
    }
    if report.targets.is_empty() {
        return text;
    }
    let verb = printable(&report.measure.verb(&report.progress)).into_owned();
    text += &format!("\nHalving a target {verb} by:\n\n");
    for row in rows(report, screen) {
        text += &row;
    }
    text + "\nMeasured at each speedup: --json, or a page with -o FILE.html.\n"
}

/// The estimates of the sentences, of all targets, in columns. A name that does not fit behind them
/// stands below them.
fn rows(report: &Report, screen: &Screen) -> Vec<String> {
    let cells = |target: &TargetReport| {
        let experiments: usize = target.points.iter().map(|point| point.experiments).sum();
        let share = if target.share.is_finite() { percent(target.share) } else { String::new() };
        [
            report.measure.shown(target.gain_at_50),
            report.measure.shown_interval(target.ci95),
            share,
            experiments.to_string(),
        ]
    };
    let head = ["by", "95 % interval", "samples", "experiments"].map(str::to_owned);
    let all: Vec<[String; 4]> = std::iter::once(head).chain(report.targets.iter().map(cells)).collect();
    let width = |column: usize| all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths = [0, 1, 2, 3].map(|column| width(column).unwrap_or(0));
    let names = std::iter::once("target".to_owned()).chain(report.targets.iter().map(|target| {
        let doubt = if target.significant { "" } else { ", not significant" };
        format!("{} ({}{doubt})", printable(&target.target), target.kind)
    }));
    let row = |(cells, name): (&[String; 4], String)| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("  {cell:>width$}"));
        let cells = cells.collect::<String>();
        if screen.cut && cells.width() + 2 + name.width() > screen.width {
            return format!("{cells}\n    {}\n", fitted(&name, screen.width.saturating_sub(4)));
        }
        format!("{cells}  {name}\n")
    };
    all.iter().zip(names).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_causal::experiment::Target;

    const WIDE: Screen = Screen { width: 100, colour: false, cut: false };

    /// Windows in which `hot` at 25 and 50 % has these visits, among those without delays.
    fn experiments(at_25: u64, at_50: u64) -> Vec<Experiment> {
        let window = |number: u64| {
            let (speedup, visits) = [(0.0, 1_000), (0.25, at_25), (0.0, 1_000), (0.5, at_50)][number as usize % 4];
            Experiment {
                number,
                duration_ns: 1_000_000_000,
                target: if speedup > 0.0 { Target::parse("a.Shop.hot") } else { Target::default() },
                speedup,
                selected_samples: 300,
                samples: 1_000,
                visits: [("order".to_owned(), visits + number % 7)].into(),
                ..Experiment::default()
            }
        };
        (0..41).map(window).collect()
    }

    #[test]
    fn the_headline_and_the_table_have_the_same_numbers() {
        let report = report(&experiments(1_100, 2_000), None);
        let text = in_words(&report, &WIDE);
        let headline = text.lines().next().unwrap();
        let row = text.lines().find(|line| line.contains("a.Shop.hot (method)")).unwrap();
        let (value, rest) = headline.split_once(" raises order/s by ").unwrap().1.split_once(" (").unwrap();
        let interval = rest.split_once(")").unwrap().0;
        assert!(row.trim_start().starts_with(value) && row.contains(interval), "{text}");
        // What was measured at 50 % is +100 %, and the curve is not.
        assert!(!text.contains("100 %"), "{text}");
    }

    #[test]
    fn nearly_no_time_left_is_said_as_a_bound() {
        let text = in_words(&report(&experiments(1_000_000, 1_000_000), None), &WIDE);
        assert!(text.contains("more than 900 %") && !text.contains("00,000 %"), "{text}");
    }
}
