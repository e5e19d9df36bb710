//! The profiles of coz, in both of its formats: lines of `key=value` separated
//! by tabs (`.coz`), and a JSON object per line, its default since 2026.
//!
//! Coz's viewer plots a target only if it finds windows with speedup 0 that name
//! it, and ignores windows with fewer than five visits. So each window without
//! delays is written for every target next to it, and windows with fewer visits
//! are left out.

use crate::experiment::{Experiment, Target};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt;

/// Fewest visits of a window that the viewer looks at.
const FEWEST_VISITS: u64 = 5;

/// What a file says that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCoz {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for NotCoz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for NotCoz {}

/// One window under the name of one target.
struct Named<'a> {
    target: String,
    window: &'a Experiment,
}

/// The windows that the viewer can use, in the order of the run.
fn windows(experiments: &[Experiment]) -> Vec<Named<'_>> {
    let known = experiments.iter().filter(|e| !e.slows_all());
    let by_number: BTreeMap<u64, &Experiment> = known.map(|e| (e.number, e)).collect();
    let mut named = Vec::new();
    for window in by_number.values().filter(|e| e.visits.values().any(|visits| *visits >= FEWEST_VISITS)) {
        if !window.is_baseline() {
            named.push(Named { target: window.target.to_string(), window });
            continue;
        }
        let around = [window.number.checked_sub(1), window.number.checked_add(1)];
        let beside = around.into_iter().flatten().filter_map(|number| by_number.get(&number));
        let mut targets: Vec<String> = beside.filter(|e| !e.is_baseline()).map(|e| e.target.to_string()).collect();
        targets.dedup();
        named.extend(targets.into_iter().map(|target| Named { target, window }));
    }
    named
}

/// The progress points of a window that were visited often enough.
fn used(window: &Experiment) -> impl Iterator<Item = (&String, &u64)> {
    window.visits.iter().filter(|(_, visits)| **visits >= FEWEST_VISITS)
}

/// The work under way of a latency point: coz takes whole numbers only.
fn under_way(window: &Experiment, point: &str) -> Option<u64> {
    window.in_flight.get(point).map(|mean| mean.round() as u64)
}

fn samples_by_target(experiments: &[Experiment]) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for experiment in experiments.iter().filter(|e| e.has_target()) {
        *samples.entry(experiment.target.to_string()).or_default() += experiment.selected_samples;
    }
    samples
}

fn span(experiments: &[Experiment]) -> (u64, u64) {
    let start = experiments.iter().map(|e| e.start_ns).min().unwrap_or(0);
    let end = experiments.iter().map(|e| e.start_ns + e.duration_ns).max().unwrap_or(start);
    (start, end - start)
}

/// A value that cannot break its line.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The older format.
pub fn legacy(experiments: &[Experiment]) -> String {
    let (start, runtime) = span(experiments);
    let mut out = format!("startup\ttime={start}\n");
    for Named { target, window } in windows(experiments) {
        out += &format!(
            "experiment\tselected={}\tspeedup={:.2}\tduration={}\tselected-samples={}\n",
            plain(&target),
            window.speedup,
            window.effective_ns(),
            window.selected_samples
        );
        for (name, visits) in used(window) {
            let name = plain(name);
            out += &match under_way(window, &name) {
                None => format!("throughput-point\tname={name}\tdelta={visits}\n"),
                Some(difference) => format!(
                    "latency-point\tname={name}\tarrivals={visits}\tdepartures={visits}\tdifference={difference}\n"
                ),
            };
        }
    }
    for (target, count) in samples_by_target(experiments) {
        out += &format!("samples\tlocation={}\tcount={count}\n", plain(&target));
    }
    out + &format!("runtime\ttime={runtime}\n")
}

/// The newer format.
pub fn json_lines(experiments: &[Experiment]) -> String {
    let (start, runtime) = span(experiments);
    let mut lines = vec![json!({"type": "startup", "time": start})];
    for Named { target, window } in windows(experiments) {
        lines.push(json!({
            "type": "experiment",
            "selected": target,
            "speedup": window.speedup,
            "duration": window.effective_ns(),
            "selected_samples": window.selected_samples,
        }));
        let points = used(window);
        lines.extend(points.map(|(name, visits)| match under_way(window, name) {
            None => json!({"type": "throughput_point", "name": name, "delta": visits}),
            Some(difference) => json!({
                "type": "latency_point", "name": name, "arrivals": visits, "departures": visits, "difference": difference,
            }),
        }));
    }
    let samples = samples_by_target(experiments).into_iter();
    lines.extend(samples.map(|(target, count)| json!({"type": "samples", "location": target, "count": count})));
    lines.push(json!({"type": "runtime", "time": runtime}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A line of either format: what it is, and its fields.
fn record(line: &str) -> Result<(String, BTreeMap<String, String>), String> {
    if line.trim_start().starts_with('{') {
        let value: Value = serde_json::from_str(line).map_err(|e| format!("no JSON: {e}"))?;
        let object = value.as_object().ok_or("no JSON object")?;
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut fields: BTreeMap<String, String> =
            object.iter().map(|(key, value)| (key.replace('_', "-"), text(value))).collect();
        let kind = fields.remove("type").ok_or("has no type")?.replace('_', "-");
        return Ok((kind, fields));
    }
    let mut parts = line.split('\t');
    let kind = parts.next().unwrap_or_default().to_owned();
    let field = |part: &str| part.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let fields = parts.map(|part| field(part).ok_or(format!("'{part}' is no key=value"))).collect::<Result<_, _>>()?;
    Ok((kind, fields))
}

fn number<T: std::str::FromStr>(fields: &BTreeMap<String, String>, key: &str) -> Result<T, String> {
    let value = fields.get(key).ok_or_else(|| format!("has no {key}"))?;
    value.parse().map_err(|_| format!("{key}={value} is no number"))
}

/// Reads a profile of either format. Each experiment stands beside a copy of the
/// nearest window without delays that names the same target.
///
/// # Errors
/// The first line that is not understood.
pub fn read(text: &str) -> Result<Vec<Experiment>, NotCoz> {
    let mut windows: Vec<Experiment> = Vec::new();
    for (line, number_of_line) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        read_line(line, &mut windows).map_err(|reason| NotCoz { line: number_of_line, reason })?;
    }
    Ok(beside_each_other(&windows))
}

fn read_line(line: &str, windows: &mut Vec<Experiment>) -> Result<(), String> {
    let (kind, fields) = record(line)?;
    match kind.as_str() {
        "experiment" => {
            let name = fields.get("selected").ok_or("has no selected")?.clone();
            windows.push(Experiment {
                number: windows.len() as u64,
                start_ns: 0,
                duration_ns: number(&fields, "duration")?,
                target: Target::parse(&name),
                speedup: number(&fields, "speedup")?,
                selected_samples: number(&fields, "selected-samples")?,
                ..Experiment::default()
            });
        }
        "throughput-point" | "progress-point" => {
            let name = fields.get("name").ok_or("has no name")?.clone();
            let window = windows.last_mut().ok_or("a progress point before the first experiment")?;
            window.visits.insert(name, number(&fields, "delta")?);
        }
        "latency-point" => {
            let name = fields.get("name").ok_or("has no name")?.clone();
            let window = windows.last_mut().ok_or("a latency point before the first experiment")?;
            window.visits.insert(name.clone(), number(&fields, "arrivals")?);
            window.in_flight.insert(name, number(&fields, "difference")?);
        }
        "startup" | "shutdown" | "runtime" | "samples" => {}
        other => return Err(format!("'{other}' is no record of coz")),
    }
    Ok(())
}

fn beside_each_other(windows: &[Experiment]) -> Vec<Experiment> {
    let mut placed = Vec::new();
    for (at, experiment) in windows.iter().enumerate().filter(|(_, e)| !e.is_baseline()) {
        let baselines = windows.iter().enumerate().filter(|(_, e)| e.is_baseline() && e.target == experiment.target);
        let Some((_, nearest)) = baselines.min_by_key(|(other, _)| other.abs_diff(at)) else { continue };
        let number = placed.len() as u64 / 2 * 3;
        placed.push(Experiment { number, ..nearest.clone() });
        placed.push(Experiment { number: number + 1, ..experiment.clone() });
    }
    placed
}
