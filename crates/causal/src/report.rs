//! What a run says, in sentences and as JSON.

use crate::experiment::Experiment;
use crate::statistics::{curves, throughput_raise, Curve, Estimate, FEWEST_PAIRS};
use serde::Serialize;
use std::collections::BTreeSet;

/// Fewer visits than this in a window without delays are too few.
const FEWEST_VISITS: f64 = 5.0;
/// Fewer pairs than this are called few.
const FEW_PAIRS: usize = 8;

/// The result of a run, as `headway causal report --json` prints it. Gains are
/// fractions of the period: 0.2 means that a visit takes a fifth less time.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The progress point that is looked at; empty if there is none.
    pub progress: String,
    /// All progress points of the run.
    pub progress_points: Vec<String>,
    /// What was sped up, the greatest gain first.
    pub targets: Vec<TargetReport>,
    /// What to be careful about.
    pub warnings: Vec<String>,
    /// Windows without delays, and experiments.
    pub windows: usize,
}

/// A target's part of the report.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// What was sped up.
    pub target: String,
    /// `method`, `line` or `call`.
    pub kind: &'static str,
    /// Gain per speedup before the knee.
    pub slope: f64,
    /// Gain beyond which more speedup buys nothing, `null` if none was seen.
    pub cap: Option<f64>,
    /// Gain of halving the target's time, by the fitted curve.
    pub gain_at_50: f64,
    /// 95 % interval of it; `null` where too little was measured.
    pub ci95: Option<[f64; 2]>,
    /// False if chance would look like this.
    pub significant: bool,
    /// Part of the CPU samples that lay in it; `null` where that is not known.
    pub share: f64,
    /// The measured curve.
    pub points: Vec<PointReport>,
}

/// One measured point.
#[derive(Clone, Debug, Serialize)]
pub struct PointReport {
    /// The speedup, 0 to 1.
    pub speedup: f64,
    /// The gain.
    pub gain: f64,
    /// 95 % interval of it; `null` where too little was measured.
    pub ci95: Option<[f64; 2]>,
    /// Experiments behind it.
    pub experiments: usize,
}

fn interval(estimate: &Estimate) -> Option<[f64; 2]> {
    let (low, high) = estimate.ci95;
    (low.is_finite() && high.is_finite()).then_some([low, high])
}

impl TargetReport {
    fn new(curve: &Curve) -> TargetReport {
        TargetReport {
            target: curve.target.name.clone(),
            kind: curve.target.kind.name(),
            slope: curve.fit.slope,
            cap: curve.fit.cap,
            gain_at_50: curve.at_50.value,
            ci95: interval(&curve.at_50),
            significant: curve.is_significant,
            share: curve.share,
            points: curve
                .points
                .iter()
                .map(|point| PointReport {
                    speedup: point.speedup,
                    gain: point.gain.value,
                    ci95: interval(&point.gain),
                    experiments: point.experiments,
                })
                .collect(),
        }
    }

    /// The greatest gain at 50 % that the data leave possible.
    fn at_most(&self) -> Option<f64> {
        self.ci95.map(|[_, high]| high.max(0.0))
    }
}

/// All progress points of these experiments.
pub fn progress_points(experiments: &[Experiment]) -> Vec<String> {
    let names: BTreeSet<&String> = experiments.iter().flat_map(|e| e.visits.keys()).collect();
    names.into_iter().cloned().collect()
}

/// The report about one progress point; the most visited one if none is named.
pub fn report(experiments: &[Experiment], progress: Option<&str>) -> Report {
    let progress_points = progress_points(experiments);
    let visits = |name: &str| experiments.iter().filter_map(|e| e.visits.get(name)).sum::<u64>();
    let most = progress_points.iter().max_by_key(|name| visits(name)).cloned();
    let progress = progress.map(str::to_owned).or(most).unwrap_or_default();
    let targets: Vec<TargetReport> = curves(experiments, &progress).iter().map(TargetReport::new).collect();
    let warnings = warnings(experiments, &progress, &targets);
    Report { progress, progress_points, targets, warnings, windows: experiments.len() }
}

fn percent(fraction: f64) -> String {
    format!("{:.0} %", fraction * 100.0)
}

fn warnings(experiments: &[Experiment], progress: &str, targets: &[TargetReport]) -> Vec<String> {
    let mut warnings = Vec::new();
    let baselines: Vec<&Experiment> = experiments.iter().filter(|e| e.is_baseline()).collect();
    if baselines.is_empty() {
        return vec!["No window without delays was measured; the run was too short.".to_owned()];
    }
    let visits = |e: &Experiment| e.visits.get(progress).copied().unwrap_or(0);
    let all: u64 = baselines.iter().map(|e| visits(e)).sum();
    let mean = all as f64 / baselines.len() as f64;
    if experiments.iter().map(visits).sum::<u64>() == 0 {
        return vec![format!("The progress point {progress} was never visited, so nothing can be said.")];
    }
    if mean < FEWEST_VISITS {
        warnings.push(format!(
            "{progress} was visited {mean:.1} times per window on average; below {FEWEST_VISITS} results are coarse. \
             Longer windows, or a point that is visited more often, would help."
        ));
    }
    let unmeasured: Vec<String> = unmeasured(experiments, targets);
    if !unmeasured.is_empty() {
        warnings.push(format!("No visits beside or within the experiments on {}.", unmeasured.join(", ")));
    }
    for target in targets {
        let pairs: usize = target.points.iter().map(|point| point.experiments).sum();
        if pairs < FEW_PAIRS {
            warnings.push(format!("{}: only {pairs} experiments; run longer for a narrower interval.", target.target));
        }
        if target.share == 0.0 {
            warnings.push(format!("{} was never sampled, so nothing is known of it.", target.target));
        }
    }
    let running = mean_of(baselines.iter().filter_map(|e| e.running()));
    let cpus = baselines.iter().map(|e| e.cpus).max().unwrap_or(0);
    if let Some(running) = running.filter(|running| cpus > 0 && *running > 0.9 * f64::from(cpus)) {
        warnings.push(format!(
            "{running:.1} threads ran at a time on {cpus} CPUs: threads that wait for a CPU are not helped by a delay \
             as they would be by a speedup. Gains may be too small."
        ));
    }
    if running.is_some_and(|running| running < 0.6) && is_open_loop(experiments, progress) {
        warnings.push(format!(
            "Delays left the number of visits of {progress} per second as it was, while the program was mostly idle: \
             work seems to arrive at its own pace (an open loop), and then its throughput cannot rise; or other programs \
             have the CPUs, and then all gains are too small."
        ));
    }
    warnings
}

fn unmeasured(experiments: &[Experiment], targets: &[TargetReport]) -> Vec<String> {
    let tried: BTreeSet<&str> =
        experiments.iter().filter(|e| !e.is_baseline()).map(|e| e.target.name.as_str()).collect();
    tried.into_iter().filter(|name| targets.iter().all(|t| t.target != *name)).map(str::to_owned).collect()
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// True if delays took a good part of the time and yet the visits per second of
/// real time stayed.
fn is_open_loop(experiments: &[Experiment], progress: &str) -> bool {
    let rate = |wanted: &dyn Fn(&Experiment) -> bool| {
        let (mut visits, mut time, mut delay) = (0.0, 0.0, 0.0);
        for experiment in experiments.iter().filter(|e| wanted(e)) {
            visits += experiment.visits.get(progress).copied().unwrap_or(0) as f64;
            time += experiment.duration_ns as f64;
            delay += experiment.delay_ns as f64;
        }
        (visits / time, delay / time)
    };
    let (without, _) = rate(&Experiment::is_baseline);
    let (with, delayed) = rate(&|e| e.delay_ns * 20 > e.duration_ns);
    delayed > 0.05 && (with / without - 1.0).abs() < delayed / 4.0
}

impl Report {
    /// The ranking, most important first, each a sentence.
    pub fn sentences(&self) -> Vec<String> {
        let progress = &self.progress;
        let mut sentences = Vec::new();
        let (found, rest): (Vec<_>, Vec<_>) =
            self.targets.iter().partition(|target| target.significant && target.gain_at_50 > 0.0);
        for target in &found {
            sentences.push(halving(target, progress));
        }
        let (known, unknown): (Vec<&TargetReport>, Vec<&TargetReport>) =
            rest.into_iter().filter(|target| target.share != 0.0).partition(|target| target.ci95.is_some());
        let most = known.iter().filter_map(|target| target.at_most()).fold(0.0, f64::max);
        let most = percent(throughput_raise(most));
        match (known.as_slice(), found.is_empty()) {
            ([], _) => {}
            ([only], true) => sentences.push(format!("Halving `{}` has no effect above {most}.", only.target)),
            (_, true) => sentences.push(format!("None of {} targets has an effect above {most}.", known.len())),
            (_, false) => sentences.push(format!("Nothing else above {most}.")),
        }
        if !unknown.is_empty() {
            let names: Vec<String> = unknown.iter().map(|target| format!("`{}`", target.target)).collect();
            sentences.push(format!("Fewer than {FEWEST_PAIRS} experiments, so nothing known: {}.", names.join(", ")));
        }
        sentences
    }
}

fn halving(target: &TargetReport, progress: &str) -> String {
    let raise = throughput_raise(target.gain_at_50);
    let around = match target.ci95 {
        Some([low, high]) => {
            let half = (throughput_raise(high) - throughput_raise(low)) / 2.0;
            format!("{:.0} +- {:.0} %", raise * 100.0, half * 100.0)
        }
        None => percent(raise),
    };
    let cap = target.cap.map(|cap| format!(" More speedup ends at {}.", percent(throughput_raise(cap))));
    format!("Halving `{}` raises {progress}/s by {around}.{}", target.target, cap.unwrap_or_default())
}
