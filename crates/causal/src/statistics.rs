//! From experiments to curves with intervals.
//!
//! A program's speed drifts: caches fill, other programs come and go. So each
//! experiment is compared with the windows without delays next to it alone, and
//! what is resampled for an interval is such a *pair*, in blocks of neighbours
//! (moving block bootstrap, Künsch 1989), since neighbours err alike. The interval is
//! the spread of what comes out, corrected for small numbers (`widening`). Periods
//! are ratios of sums over all pairs, so that a window counts by its visits: the
//! mean of ratios would give a window with three visits as much say as one with
//! three hundred.

use crate::experiment::{Experiment, Target};
use headway_model::interval::{students_97_5, NORMAL_97_5};
use headway_model::random::Random;
use std::collections::BTreeMap;

/// Resamplings for an interval.
const RESAMPLES: usize = 2_000;
/// Fewer pairs than this give no interval at all.
pub const FEWEST_PAIRS: usize = 3;
/// Part of the targets called significant that may be so by chance.
const FALSE_DISCOVERIES: f64 = 0.05;

/// An experiment and what the program did beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The experiment's place among all windows of the run.
    pub number: u64,
    /// The speedup.
    pub speedup: f64,
    /// Effective duration and visits with it.
    pub with: (f64, f64),
    /// Duration and visits without it.
    pub without: (f64, f64),
    /// Samples in the target, and all, in the windows without it.
    pub share: (f64, f64),
}

/// A value and the interval that covers the truth 95 times of 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower and upper end; infinite where too little was measured.
    pub ci95: (f64, f64),
}

impl Pair {
    /// The gain that it shows by itself.
    pub fn gain(&self) -> f64 {
        gain(std::iter::once(self))
    }
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The speedup, 0 to 1.
    pub speedup: f64,
    /// The part of the period that it takes away.
    pub gain: Estimate,
    /// Experiments behind it.
    pub experiments: usize,
}

/// `gain(s) = min(slope * s, cap)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Gain per speedup before the knee.
    pub slope: f64,
    /// Where more speedup gains no more; `None` if that was not seen.
    pub cap: Option<f64>,
}

impl Fit {
    /// The gain at a speedup.
    pub fn gain(&self, speedup: f64) -> f64 {
        let line = self.slope * speedup;
        self.cap.map_or(line, |cap| if self.slope >= 0.0 { line.min(cap) } else { line })
    }
}

/// What is known of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The target.
    pub target: Target,
    /// By rising speedup.
    pub points: Vec<Point>,
    /// The curve through them.
    pub fit: Fit,
    /// The fitted gain of halving the target's time.
    pub at_50: Estimate,
    /// True if there is an effect, other targets' chances considered.
    pub is_significant: bool,
    /// Part of the samples that lay in the target; not a number where no samples
    /// are known.
    pub share: f64,
    /// Pairs behind the curve.
    pub pairs: usize,
}

/// What part of the throughput a gain adds: a period of 0.8 is a throughput of 1.25.
/// Without bound where nothing of the period is left.
pub fn throughput_raise(gain: f64) -> f64 {
    match gain < 1.0 {
        true => 1.0 / (1.0 - gain) - 1.0,
        false => f64::INFINITY,
    }
}

/// Pairs each experiment of a target with the windows without delays that lie
/// right before and behind it, if there is at least one. `point` is the
/// progress point.
pub fn pairs(experiments: &[Experiment], target: &Target, point: &str) -> Vec<Pair> {
    pairs_of(experiments, target, point).into_iter().map(|(_, pair)| pair).collect()
}

/// The same, with the experiment of each.
pub fn pairs_of<'a>(experiments: &'a [Experiment], target: &Target, point: &str) -> Vec<(&'a Experiment, Pair)> {
    let by_number: BTreeMap<u64, &Experiment> = experiments.iter().map(|e| (e.number, e)).collect();
    let mut pairs = Vec::new();
    for experiment in by_number.values().copied().filter(|e| !e.is_baseline() && e.target == *target) {
        let around = [experiment.number.checked_sub(1), experiment.number.checked_add(1)];
        let around = around.into_iter().flatten().filter_map(|n| by_number.get(&n)).filter(|e| e.is_baseline());
        let mut pair = Pair {
            number: experiment.number,
            speedup: experiment.speedup,
            with: experiment.measured(point),
            without: (0.0, 0.0),
            share: (0.0, 0.0),
        };
        for beside in around {
            let (time, visits) = beside.measured(point);
            pair.without.0 += time;
            pair.without.1 += visits;
        }
        // Windows without delays belong to no target: the share is what the
        // experiment itself saw, where the target's samples are as they ever were.
        pair.share = (experiment.selected_samples as f64, (experiment.samples + experiment.off_cpu) as f64);
        if pair.without.1 > 0.0 && pair.with.1 > 0.0 {
            pairs.push((experiment, pair));
        }
    }
    pairs
}

/// The gain that these pairs show.
fn gain<'a>(pairs: impl Iterator<Item = &'a Pair>) -> f64 {
    let mut sums = [0.0; 4];
    for pair in pairs {
        // Each window without delays counts as much as the experiment beside it.
        let weight = pair.with.1 / pair.without.1;
        sums[0] += pair.with.0;
        sums[1] += pair.with.1;
        sums[2] += pair.without.0 * weight;
        sums[3] += pair.without.1 * weight;
    }
    1.0 - (sums[0] / sums[1]) / (sums[2] / sums[3])
}

/// Curves of all targets, the greatest gain first.
pub fn curves(experiments: &[Experiment], point: &str) -> Vec<Curve> {
    let mut targets: Vec<&Target> = experiments.iter().filter(|e| e.has_target()).map(|e| &e.target).collect();
    targets.sort();
    targets.dedup();
    let of = |target: &Target| curve(target, &pairs(experiments, target, point));
    let mut curves: Vec<(Curve, f64)> = targets.into_iter().filter_map(of).collect();
    let chances: Vec<f64> = curves.iter().map(|(_, chance)| *chance).collect();
    let significant = benjamini_hochberg(&chances, FALSE_DISCOVERIES);
    for ((curve, _), significant) in curves.iter_mut().zip(significant) {
        curve.is_significant = significant;
    }
    let mut curves: Vec<Curve> = curves.into_iter().map(|(curve, _)| curve).collect();
    curves.sort_by(|a, b| b.at_50.value.total_cmp(&a.at_50.value));
    curves
}

/// What became of the visits while all threads were slowed alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowed {
    /// Part of the time that every thread was delayed.
    pub delayed: f64,
    /// What of it did not show in the visits per second: nothing, 0, where each piece of
    /// work waits for the one before (a closed loop), `delayed` where arrivals do not
    /// react (an open loop).
    pub kept: Estimate,
}

/// What the windows say in which all threads were slowed; `None` where there are too few.
///
/// The effective period, without the delays, is as ever in a closed loop. In an open one
/// it becomes shorter by as much as was delayed: there the same work was done in less time.
pub fn slowed(experiments: &[Experiment], point: &str) -> Option<Slowed> {
    let pairs = pairs_of(experiments, &Target::everything(), point);
    let sum = |value: fn(&Experiment) -> u64| pairs.iter().map(|(e, _)| value(e)).sum::<u64>() as f64;
    let delayed = sum(|e| e.delay_ns) / sum(|e| e.duration_ns);
    let pairs: Vec<Pair> = pairs.into_iter().map(|(_, pair)| pair).collect();
    let (curve, _) = curve(&Target::everything(), &pairs)?;
    let kept = curve.points.first()?.gain;
    kept.ci95.0.is_finite().then_some(Slowed { delayed, kept })
}

/// A target's curve, and how likely it would look like that without any effect.
fn curve(target: &Target, pairs: &[Pair]) -> Option<(Curve, f64)> {
    if pairs.is_empty() {
        return None;
    }
    let groups = by_speedup(pairs);
    let measured = |groups: &[(f64, Vec<Pair>)]| -> Vec<(f64, f64, f64)> {
        groups.iter().map(|(speedup, pairs)| (*speedup, gain(pairs.iter()), pairs.len() as f64)).collect()
    };
    let points_of = measured(&groups);
    let fitted = fit(&points_of);
    let mut random = Random::new(0x9E37_79B9);
    let mut gains: Vec<Vec<f64>> = vec![Vec::with_capacity(RESAMPLES); groups.len()];
    let mut at_50 = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let again: Vec<(f64, Vec<Pair>)> =
            groups.iter().map(|(speedup, pairs)| (*speedup, resample(pairs, &mut random))).collect();
        let again = measured(&again);
        for (all, (_, gain, _)) in gains.iter_mut().zip(&again) {
            all.push(*gain);
        }
        at_50.push(fit(&again).gain(0.5));
    }
    let points = points_of.iter().zip(gains).zip(&groups).map(|((&(speedup, value, _), gains), (_, pairs))| Point {
        speedup,
        gain: estimate(value, &gains, widening(&[pairs])),
        experiments: pairs.len(),
    });
    let points = points.collect();
    let all: Vec<&[Pair]> = groups.iter().map(|(_, pairs)| pairs.as_slice()).collect();
    let wider = widening(&all);
    let chance = chance_of_none(&at_50, fitted.gain(0.5), wider);
    let (hits, all) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.share.0, sum.1 + pair.share.1));
    let curve = Curve {
        target: target.clone(),
        points,
        fit: fitted,
        at_50: estimate(fitted.gain(0.5), &at_50, wider),
        is_significant: false,
        share: hits / all,
        pairs: pairs.len(),
    };
    Some((curve, chance))
}

fn by_speedup(pairs: &[Pair]) -> Vec<(f64, Vec<Pair>)> {
    let mut groups: Vec<(f64, Vec<Pair>)> = Vec::new();
    for pair in pairs {
        match groups.iter_mut().find(|(speedup, _)| (speedup - pair.speedup).abs() < 1e-6) {
            Some((_, group)) => group.push(*pair),
            None => groups.push((pair.speedup, vec![*pair])),
        }
    }
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    groups
}

/// Neighbours that are drawn together: none below eight pairs, of which too few
/// blocks would be left.
fn block(pairs: usize) -> usize {
    match pairs {
        0..8 => 1,
        _ => (pairs as f64).cbrt().round() as usize,
    }
}

/// As many pairs, in blocks of neighbours drawn with replacement.
fn resample(pairs: &[Pair], random: &mut Random) -> Vec<Pair> {
    let block = block(pairs.len());
    let mut drawn = Vec::with_capacity(pairs.len() + block);
    while drawn.len() < pairs.len() {
        let start = random.index(pairs.len());
        drawn.extend(pairs.iter().cycle().skip(start).take(block));
    }
    drawn.truncate(pairs.len());
    drawn
}

/// By how much the spread of what resampling these pairs gave is too small, times
/// what makes an interval of it; `None` where they are too few, or no two are alike.
///
/// * Resampled values spread around the mean of the few, not around the truth: too
///   little by `sqrt((n - l) / n)` for blocks of `l`, counted for each speedup by
///   itself, since pairs of different speedups do not stand in for each other.
/// * Two pairs in a row share the window without delays between them. Where each of
///   two in a row that share one errs by it, the variance of their mean is larger by a
///   third than that of as many that share none; of that, blocks of `l` show `1 - 1/l`
///   within a speedup and nothing beyond.
/// * The spread itself is uncertain: Student's 97.5 % quantile takes the place of the
///   normal one. Blocks that overlap know their variance as if they were `1.5 n / l`
///   values (Künsch 1989).
fn widening(groups: &[&[Pair]]) -> Option<f64> {
    let pairs: usize = groups.iter().map(|group| group.len()).sum();
    let mut numbers: Vec<u64> = groups.iter().copied().flatten().map(|pair| pair.number).collect();
    numbers.sort_unstable();
    let (mut left, mut freedom, mut shown) = (0, 0.0, 0.0);
    for group in groups {
        let length = block(group.len());
        left += group.len() - length;
        freedom += match length {
            1 => group.len() as f64 - 1.0,
            _ => 1.5 * group.len() as f64 / length as f64 - 1.0,
        };
        let numbers: Vec<u64> = group.iter().map(|pair| pair.number).collect();
        shown += in_a_row(&numbers) * (1.0 - 1.0 / length as f64);
    }
    if pairs < FEWEST_PAIRS || left == 0 {
        return None;
    }
    let count = pairs as f64;
    let sharing = (3.0 + in_a_row(&numbers) / count) / (3.0 + shown / count);
    Some(students_97_5(freedom) * (count / left as f64 * sharing).sqrt())
}

/// How many of these experiments, by rising number, have the next one right behind
/// them, so that one window without delays lies between them.
fn in_a_row(numbers: &[u64]) -> f64 {
    numbers.windows(2).filter(|two| matches!(two, [a, b] if a + 2 == *b)).count() as f64
}

/// The spread of what resampling gave.
fn spread(resampled: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = resampled.iter().copied().filter(|gain| gain.is_finite()).collect();
    if finite.is_empty() {
        return None;
    }
    let mean = finite.iter().sum::<f64>() / finite.len() as f64;
    Some((finite.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / finite.len() as f64).sqrt())
}

/// A value and its interval, by what resampling gave.
fn estimate(value: f64, resampled: &[f64], widening: Option<f64>) -> Estimate {
    let half = spread(resampled).zip(widening).map_or(f64::INFINITY, |(spread, widening)| spread * widening);
    Estimate { value, ci95: (value - half, value + half) }
}

/// How likely a gain at least as far from 0 is without any effect, by the
/// spread of the resampled gains.
fn chance_of_none(resampled: &[f64], value: f64, widening: Option<f64>) -> f64 {
    let Some((spread, widening)) = spread(resampled).zip(widening) else { return 1.0 };
    if spread == 0.0 {
        return if value == 0.0 { 1.0 } else { 0.0 };
    }
    2.0 * (1.0 - normal_below((value / (spread * widening / NORMAL_97_5)).abs()))
}

/// The normal distribution function (Abramowitz and Stegun, 26.2.17).
fn normal_below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let factors = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = factors.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    1.0 - sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Which hypotheses of no effect are rejected (Benjamini and Hochberg, 1995):
/// of those, at most `rate` by chance.
pub fn benjamini_hochberg(chances: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted: Vec<f64> = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let passing = sorted.iter().zip(1..).filter(|(chance, rank)| **chance <= rate * f64::from(*rank) / count);
    let limit = passing.last().map(|(chance, _)| *chance);
    chances.iter().map(|chance| limit.is_some_and(|limit| *chance <= limit)).collect()
}

/// The least-squares curve through points `(speedup, gain, weight)`. A cap is
/// only believed where it explains the points clearly better than none.
pub fn fit(points: &[(f64, f64, f64)]) -> Fit {
    let mut best = bent(points, f64::INFINITY);
    let straight = best.1;
    for step in 2..19 {
        let bend = bent(points, f64::from(step) * 0.05);
        if bend.1 < best.1 && bend.1 < straight * 0.7 {
            best = bend;
        }
    }
    best.0
}

/// The best slope with a knee at this speedup, and the squares that are left.
fn bent(points: &[(f64, f64, f64)], knee: f64) -> (Fit, f64) {
    let (mut top, mut bottom) = (0.0, 0.0);
    for (speedup, gain, weight) in points {
        let x = speedup.min(knee);
        top += weight * x * gain;
        bottom += weight * x * x;
    }
    let slope = if bottom > 0.0 { top / bottom } else { 0.0 };
    let left = points.iter().map(|(s, gain, weight)| weight * (gain - slope * s.min(knee)).powi(2)).sum();
    let beyond = points.iter().filter(|(speedup, ..)| *speedup > knee + 1e-9).count();
    let cap = (beyond >= 1 && slope > 0.0).then_some(slope * knee);
    (Fit { slope, cap }, left)
}
