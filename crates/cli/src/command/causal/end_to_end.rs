//! `headway causal run --end-to-end`: a program that just ends is run again and
//! again, each run one window: without delays, and with a speedup of a target.

use super::report::CausalReport;
use super::{CausalRun, Experiments};
use crate::command::breakdown::Breakdown;
use crate::command::run::Run;
use crate::error::{Failure, DONE};
use crate::terminal;
use std::path::{Path, PathBuf};

/// Speedups by default: few, since each takes whole runs.
const SPEEDUPS: [u32; 2] = [50, 100];

/// Carries out the command.
///
/// # Errors
/// As `run` and `report`. A run that fails ends it, with its exit code.
pub fn run(asked: CausalRun) -> Result<u8, Failure> {
    let wishes = asked.experiments.clone();
    let speedups = match wishes.speedups.is_empty() {
        true => SPEEDUPS.to_vec(),
        false => wishes.speedups.clone(),
    };
    let once: Vec<(Option<&String>, u32)> = speedups
        .iter()
        .flat_map(|speedup| wishes.target.iter().flat_map(move |target| [(None, 0), (Some(target), *speedup)]))
        .collect();
    let all: Vec<(Option<&String>, u32)> = (0..asked.runs).flat_map(|_| once.clone()).chain([(None, 0)]).collect();
    let directory = asked.capture.output.parent().unwrap_or(Path::new("")).to_owned();
    let mut files = Vec::new();
    for (number, (target, speedup)) in (1..).zip(&all) {
        let said = target.map_or("no delays".to_owned(), |target| format!("{target} {speedup} % faster"));
        terminal::note(&format!("headway: run {number} of {}: {said}", all.len()));
        let name = format!("headway-causal-{}-run{number:03}", std::process::id());
        let experiments = Experiments {
            target: target.iter().map(ToString::to_string).collect(),
            speedups: if *speedup > 0 { vec![*speedup] } else { Vec::new() },
            ..wishes.clone()
        };
        let capture = asked.capture.capture_into(directory.join(format!("{name}-%p.jfr")), experiments);
        let code = Run::new(capture, Breakdown::default(), asked.command.clone()).quietly().execute()?;
        if code != DONE {
            terminal::note(&format!("headway: the command ended with exit code {code}; no more runs"));
            return Ok(code);
        }
        files.extend(recordings(&directory, &name));
    }
    CausalReport::of(files, wishes.json).execute()
}

/// The recordings of a run; more than one if the command started several JVMs.
fn recordings(directory: &Path, name: &str) -> Vec<PathBuf> {
    let place = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|found| found.to_string_lossy().starts_with(name));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    found.sort();
    found
}
