//! What a run says, in sentences and as JSON.

pub use crate::effect::Measure;
use crate::effect::MOST_EFFECT;
use crate::experiment::Experiment;
use crate::statistics::{curves, Curve, Estimate, FEWEST_PAIRS};
use crate::warnings::warnings;
use serde::Serialize;
use std::collections::BTreeSet;

/// The result of a run, as `headway causal report --json` prints it. Gains are
/// fractions of the period: 0.2 means that a visit takes a fifth less time.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The progress point that is reported; empty if there is none.
    pub progress: String,
    /// What a gain of it means: `throughput`, `latency` or `end-to-end`.
    pub measure: Measure,
    /// All progress points of the run.
    pub progress_points: Vec<String>,
    /// What was sped up, the greatest gain first.
    pub targets: Vec<TargetReport>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// What the recordings themselves say of the experiments: what was not tried and why,
    /// and what could not be done.
    pub notes: Vec<String>,
    /// Visits of the progress point.
    #[serde(skip)]
    pub visits: u64,
    /// Periods measured: experiments, and those without delays around them.
    pub periods: usize,
}

/// A target's part of the report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetReport {
    /// What was sped up.
    pub target: String,
    /// `method`, `line`, `call` or `lock`.
    pub kind: &'static str,
    /// Gain per speedup below `cap`.
    pub slope: f64,
    /// The gain that more speedup does not exceed, `null` if none was seen.
    pub cap: Option<f64>,
    /// Estimated gain of halving the target's time: what all experiments on it say, by
    /// the fitted curve. Sentences, tables and the page show this estimate.
    pub gain_at_50: f64,
    /// 95 % interval of it; `null` where too little was measured.
    pub ci95: Option<[f64; 2]>,
    /// What that gain means: by which part the throughput rises, or which part of the time
    /// is saved. At most 9 and at least -9, which stand for that and more.
    pub effect_at_50: f64,
    /// 95 % interval of it, with the same bounds; `null` where too little was measured.
    pub effect_ci95: Option<[f64; 2]>,
    /// False if chance would look like this.
    pub significant: bool,
    /// Part of the samples that lay in it, what it slept or waited for the world
    /// outside counted like running; `null` where that is not known.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub share: f64,
    /// What was measured at each speedup by itself. At 0.5 it may differ from the estimate
    /// `gain_at_50`, which also has what was measured at the other speedups.
    pub points: Vec<PointReport>,
}

/// What was measured at one speedup.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    (low.is_finite() && high.is_finite()).then_some([low.min(1.0), high.min(1.0)])
}

impl TargetReport {
    fn new(curve: &Curve, measure: Measure) -> TargetReport {
        TargetReport {
            target: curve.target.to_string(),
            kind: curve.target.kind.name(),
            slope: curve.fit.slope,
            cap: curve.fit.cap,
            gain_at_50: curve.at_50.value.min(1.0),
            ci95: interval(&curve.at_50),
            effect_at_50: measure.effect(curve.at_50.value),
            effect_ci95: interval(&curve.at_50).map(|ends| ends.map(|gain| measure.effect(gain))),
            significant: curve.is_significant,
            share: curve.share,
            points: curve
                .points
                .iter()
                .map(|point| PointReport {
                    speedup: point.speedup,
                    gain: point.gain.value.min(1.0),
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
    let measure = Measure::of(experiments, &progress);
    let curves = curves(experiments, &progress);
    let targets: Vec<TargetReport> = curves.iter().map(|curve| TargetReport::new(curve, measure)).collect();
    let warnings = warnings(experiments, &progress, measure, &targets);
    let visits = visits(&progress);
    Report {
        progress,
        visits,
        measure,
        progress_points,
        targets,
        warnings,
        notes: Vec::new(),
        periods: experiments.len(),
    }
}

impl Report {
    /// True if nothing can be known, however long it is measured: the progress point was
    /// never visited, or experiments were made and no target was ever seen to run.
    pub fn says_nothing(&self) -> bool {
        let none_ran = !self.targets.is_empty() && self.targets.iter().all(|target| target.share == 0.0);
        self.visits == 0 || none_ran
    }

    /// The ranking, most important first, each a sentence.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let (found, rest): (Vec<_>, Vec<_>) =
            self.targets.iter().partition(|target| target.significant && target.gain_at_50 > 0.0);
        for target in &found {
            sentences.push(self.halving(target));
        }
        let (known, unknown): (Vec<&TargetReport>, Vec<&TargetReport>) =
            rest.into_iter().filter(|target| target.share != 0.0).partition(|target| target.ci95.is_some());
        let most = known.iter().filter_map(|target| target.at_most()).fold(0.0, f64::max);
        let is_bounded = self.measure.effect(most) < MOST_EFFECT;
        let most = self.measure.shown(most);
        match (known.as_slice(), found.is_empty()) {
            ([], _) => {}
            ([only], true) if !is_bounded => sentences.push(format!(
                "What halving `{}` changes is not known yet: by its interval, up to {most}.",
                only.target
            )),
            _ if !is_bounded => sentences.push(format!(
                "What {} {} is not known yet: by the intervals, up to {most}.",
                known.len(),
                if found.is_empty() { "targets change" } else { "others change" }
            )),
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

    fn halving(&self, target: &TargetReport) -> String {
        let interval = target.ci95.map(|_| format!(" ({})", self.measure.shown_interval(target.ci95)));
        let cap = target.cap.map(|cap| format!(" More speedup ends at {}.", self.measure.shown(cap)));
        let name = match target.kind {
            "lock" => format!("the time under `{}`", target.target.trim_start_matches("lock:")),
            _ => format!("`{}`", target.target),
        };
        format!(
            "Halving {name} {} by {}{}.{}",
            self.measure.verb(&self.progress),
            self.measure.shown(target.gain_at_50),
            interval.unwrap_or_default(),
            cap.unwrap_or_default()
        )
    }
}
