//! Experiments from a file: a recording, or a profile of coz.

use crate::error::Failure;
use crate::recording::analysed::unreadable;
use crate::recording::input;
use headway_causal::coz;
use headway_causal::experiment::{Experiment, Target, TargetKind, END_OF_PROGRAM};
use headway_jfr::Reader;
use headway_model::{event, Event};
use std::collections::BTreeMap;
use std::path::Path;

/// What a file has to say.
#[derive(Default)]
pub struct Source {
    /// The windows, in order.
    pub experiments: Vec<Experiment>,
    /// What the agent says about experiments that could not be.
    pub notes: Vec<String>,
    /// What of the file could not be read.
    pub damage: Option<Failure>,
}

/// Reads a file. Windows of several files are distinguished by `run`.
///
/// # Errors
/// It is neither a recording nor a profile of coz.
pub fn read(path: &Path) -> Result<Source, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("coz" | "jsonl") => of_coz(path),
        _ => of_recording(path),
    }
}

fn of_coz(path: &Path) -> Result<Source, Failure> {
    let useless = |problem: String| Failure::UselessRecording { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| useless(format!("cannot be read: {error}")))?;
    let experiments = coz::read(&text).map_err(|error| useless(format!("is no profile of coz: {error}")))?;
    Ok(Source { experiments, ..Source::default() })
}

fn of_recording(path: &Path) -> Result<Source, Failure> {
    let mut source = Source::default();
    let mut windows: BTreeMap<u64, Experiment> = BTreeMap::new();
    for item in Reader::open(input::place(path)?).map_err(|problem| unreadable(path, problem))? {
        match item {
            Ok(Event::Experiment(told)) => add(&mut windows, &told),
            Ok(Event::Degraded(degraded)) if &*degraded.mechanism == "causal" => {
                source.notes.push(degraded.reason.to_string());
            }
            Ok(_) => {}
            Err(problem) => {
                let problem = problem.to_string();
                source.damage.get_or_insert(Failure::DamagedRecording { path: path.to_owned(), problem });
            }
        }
    }
    source.experiments = windows.into_values().collect();
    Ok(source)
}

/// A window is recorded once for each progress point.
fn add(windows: &mut BTreeMap<u64, Experiment>, told: &event::Experiment) {
    let window = windows.entry(told.number).or_insert_with(|| Experiment {
        number: told.number,
        start_ns: told.start.0,
        duration_ns: told.end.since(told.start).0.saturating_sub(told.stopped.0),
        delay_ns: told.delay.0,
        stopped_ns: told.stopped.0,
        target: Target { kind: TargetKind::from_name(&told.kind).unwrap_or_default(), name: told.target.to_string() },
        // Written with few digits.
        speedup: (f64::from(told.speedup) * 1e4).round() / 1e4,
        selected_samples: told.selected_samples,
        samples: told.samples,
        period_ns: told.period.0,
        cpus: told.cpus,
        off_cpu: told.off_cpu,
        interpreted: told.interpreted,
        wakes: told.wakes,
        run_queue_ns: told.run_queue.0,
        ..Experiment::default()
    });
    window.visits.insert(told.point.to_string(), told.visits);
    // Recordings of earlier versions say 0 for every point.
    if told.in_flight > 0.0 {
        window.in_flight.insert(told.point.to_string(), f64::from(told.in_flight));
    }
}

/// The windows of several runs as if they were one: no window of a run lies
/// beside one of another.
pub fn merged(runs: Vec<Vec<Experiment>>) -> Vec<Experiment> {
    let mut merged: Vec<Experiment> = Vec::new();
    for run in runs {
        // Runs to a program's end are windows themselves, next to each other.
        let is_whole =
            |windows: &[Experiment]| windows.last().is_some_and(|window| window.visits.contains_key(END_OF_PROGRAM));
        let gap = if is_whole(&merged) && is_whole(&run) { 1 } else { 2 };
        let first = merged.last().map_or(0, |last| last.number + gap);
        let least = run.first().map_or(0, |window| window.number);
        merged.extend(run.into_iter().map(|window| Experiment { number: first + window.number - least, ..window }));
    }
    merged
}
