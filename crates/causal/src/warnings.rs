//! What to be careful about with a run's results.

use crate::experiment::Experiment;
use crate::gains::{Measure, TargetReport};
use crate::statistics::{slowed, Slowed};
use headway_model::quantity::{counted, percent};
use std::collections::BTreeSet;

/// Fewer visits than this in a window without delays are too few.
const FEWEST_VISITS: f64 = 5.0;
/// Fewer pairs than this are called few.
const FEW_PAIRS: usize = 8;
/// A thread that is woken more often than once in so many samples meets others
/// more often than samples can show where it is.
const SAMPLES_BETWEEN_WAKES: f64 = 2.0;
/// Part of a target's samples in code not yet compiled, below which it counts
/// as compiled.
const COMPILED: f64 = 0.05;
/// Time waited for a CPU, as a part of that on one, from which on it matters.
const CROWDED: f64 = 0.1;

/// Slower by less than this part does not show.
const LEAST_SLOWED: f64 = 0.05;

/// All of them, as sentences.
pub fn warnings(experiments: &[Experiment], progress: &str, measure: Measure, targets: &[TargetReport]) -> Vec<String> {
    let baselines: Vec<&Experiment> = experiments.iter().filter(|e| e.is_baseline()).collect();
    if baselines.is_empty() {
        return vec!["No window without delays was measured; the run was too short.".to_owned()];
    }
    if experiments.iter().map(|e| visits(e, progress)).sum::<u64>() == 0 {
        return vec![format!("The progress point {progress} was never visited, so nothing can be said.")];
    }
    let mut warnings = Vec::new();
    if targets.is_empty() {
        warnings
            .push("The run ended before the first experiment, so nothing can be said. Let it run longer.".to_owned());
    }
    if measure != Measure::EndToEnd {
        warnings.extend(few_visits(&baselines, progress));
    }
    let unmeasured: Vec<String> = unmeasured(experiments, targets);
    if !unmeasured.is_empty() {
        warnings.push(format!("No visits beside or within the experiments on {}.", unmeasured.join(", ")));
    }
    warnings.extend(targets.iter().flat_map(|target| of_target(experiments, target)));
    let crowded = crowded(&baselines);
    if measure == Measure::Throughput && crowded.is_none() {
        warnings.extend(open_loop(experiments, progress));
    }
    warnings.extend(crowded);
    warnings.extend(meets_too_often(&baselines));
    warnings
}

fn visits(experiment: &Experiment, progress: &str) -> u64 {
    experiment.visits.get(progress).copied().unwrap_or(0)
}

fn few_visits(baselines: &[&Experiment], progress: &str) -> Option<String> {
    let mean = mean_of(baselines.iter().map(|e| visits(e, progress) as f64))?;
    (mean < FEWEST_VISITS).then(|| {
        format!(
            "{progress} was visited {mean:.1} times per window on average; below {FEWEST_VISITS} results are coarse. \
             Longer windows, or a point that is visited more often, would help."
        )
    })
}

fn of_target(experiments: &[Experiment], target: &TargetReport) -> Vec<String> {
    let name = &target.target;
    let mut warnings = Vec::new();
    let pairs: usize = target.points.iter().map(|point| point.experiments).sum();
    if pairs < FEW_PAIRS {
        let pairs = counted(pairs as u64, "experiment", "experiments");
        warnings.push(format!("{name}: only {pairs}; run longer for a narrower interval."));
    }
    if target.share == 0.0 {
        warnings.push(match target.kind {
            "lock" => format!(
                "{name} was never seen to be held, so nothing is known of it: no lock of this name or class was \
                 contended for, or those that were had been acquired before."
            ),
            _ => format!("{name} was never sampled, so nothing is known of it."),
        });
    }
    warnings.extend(compiled_meanwhile(experiments, name));
    warnings
}

/// A target whose code was compiled between experiments became faster by that.
fn compiled_meanwhile(experiments: &[Experiment], name: &str) -> Option<String> {
    let of_target = experiments.iter().filter(|e| !e.is_baseline() && e.target.to_string() == name);
    let parts: Vec<f64> = of_target
        .filter(|e| e.selected_samples > e.off_cpu + 4)
        .map(|e| e.interpreted as f64 / (e.selected_samples - e.off_cpu) as f64)
        .collect();
    let interpreted = parts.iter().filter(|part| **part > COMPILED).count();
    (interpreted > 0 && parts.iter().any(|part| *part <= COMPILED)).then(|| {
        format!(
            "{name} was compiled during the run: in {interpreted} of {} experiments it ran interpreted in part, so the \
             first ones measured slower code. Let the program warm up, and attach then.",
            parts.len()
        )
    })
}

fn crowded(baselines: &[&Experiment]) -> Option<String> {
    let cpus = baselines.iter().map(|e| e.cpus).max().filter(|cpus| *cpus > 0)?;
    let running = mean_of(baselines.iter().filter_map(|e| e.running()))?;
    let time: u64 = baselines.iter().map(|e| e.duration_ns).sum();
    let waiting = baselines.iter().map(|e| e.run_queue_ns).sum::<u64>() as f64 / time.max(1) as f64;
    if waiting <= CROWDED * running.max(0.1) && running <= 0.9 * f64::from(cpus) {
        return None;
    }
    Some(format!(
        "{running:.1} threads ran at a time on {cpus} CPUs, and {waiting:.1} waited for one: threads that wait for a CPU \
         are not helped by a delay as they would be by a speedup. Gains may be off."
    ))
}

fn meets_too_often(baselines: &[&Experiment]) -> Option<String> {
    let (mut samples, mut wakes, mut period) = (0, 0, 0);
    for window in baselines {
        samples += window.samples;
        wakes += window.wakes;
        period = period.max(window.period_ns);
    }
    let between = samples as f64 / wakes.max(1) as f64;
    let is_told = wakes >= 20 && samples > 0 && between < SAMPLES_BETWEEN_WAKES && period > 100_000;
    is_told.then(|| {
        format!(
            "Threads wake each other every {:.2} ms of CPU time, but samples come every {:.1} ms: too seldom to say who \
             was where. A shorter --interval would help.",
            between * period as f64 / 1e6,
            period as f64 / 1e6
        )
    })
}

fn unmeasured(experiments: &[Experiment], targets: &[TargetReport]) -> Vec<String> {
    let tried: BTreeSet<String> = experiments.iter().filter(|e| e.has_target()).map(|e| e.target.to_string()).collect();
    tried.into_iter().filter(|name| targets.iter().all(|t| t.target != *name)).collect()
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Says that work arrives at its own pace, where all threads were slowed and no fewer
/// visits came for it. Experiments on targets cannot show that: what they slow down is
/// everything but the target, and where the target alone decides, in a closed loop too, as
/// many visits come as before.
///
/// Only where the CPUs have room: where threads queue for them, a thread that is delayed
/// leaves its CPU to another one, and as much is done.
fn open_loop(experiments: &[Experiment], progress: &str) -> Option<String> {
    let Slowed { delayed, kept } = slowed(experiments, progress)?;
    // Nearer to an open loop than to a closed one, at both ends of the interval.
    let is_open = delayed >= LEAST_SLOWED && kept.ci95.0 > delayed / 2.0;
    is_open.then(|| {
        format!(
            "Work arrives at its own pace (an open loop), so the throughput cannot rise: {progress} was visited as often \
             while all threads were slowed by {}. Measure how long a piece of work takes: --latency BEGIN,END.",
            percent(delayed)
        )
    })
}
