//! Which experiments come next.
//!
//! Targets that were named get all the same number. Of candidates, each is first tried a
//! few times at 50 %. Then, in every round, those get experiments at all speedups that
//! could still be the most worthwhile: by the upper ends of their intervals, so that one
//! of which little is known is not given up for having had bad luck. The others are
//! tried at 50 % now and then, until they are known not to matter.

use headway_causal::experiment::{Experiment, Target};
use headway_causal::statistics::{curves, Curve};
use std::cmp::Ordering;

/// Experiments on each candidate before any is preferred.
const SCREENING: usize = 3;
/// Candidates that get all speedups in a round.
const FAVOURED: usize = 4;
/// Rounds until the others have their turn.
const OTHERS_EVERY: usize = 2;
/// A candidate whose gain at 50 % is surely smaller is not tried any more.
const WORTH: f64 = 0.02;
/// Windows that are looked at, so that a long run's rounds do not take ever longer.
const RECENT: usize = 1_000;
/// At which speedup a candidate is tried, in percent.
const TRIED_AT: u32 = 50;

/// See the module.
pub struct Allocation {
    targets: Vec<Target>,
    speedups: Vec<u32>,
    /// Chosen by samples, not by name.
    are_candidates: bool,
    rounds: usize,
}

/// A target and a speedup in percent.
pub type Next = (Target, u32);

impl Allocation {
    /// Experiments on these.
    pub fn new(targets: Vec<Target>, speedups: Vec<u32>, are_candidates: bool) -> Allocation {
        Allocation { targets, speedups, are_candidates, rounds: 0 }
    }

    /// The next round, in no order that means anything; `made` is what was measured.
    pub fn round(&mut self, made: &[Experiment], point: &str) -> Vec<Next> {
        self.rounds += 1;
        if !self.are_candidates || self.targets.len() <= 1 {
            return self.at_all_speedups(&self.targets);
        }
        if self.rounds <= SCREENING {
            return self.targets.iter().map(|target| (target.clone(), TRIED_AT)).collect();
        }
        let recent = made.get(made.len().saturating_sub(RECENT)..).unwrap_or_default();
        let ranked = ranked(&self.targets, &curves(recent, point));
        let (favoured, others) = ranked.split_at(FAVOURED.min(ranked.len()));
        let mut round = self.at_all_speedups(favoured);
        if self.rounds % OTHERS_EVERY == 0 {
            round.extend(others.iter().map(|target| (target.clone(), TRIED_AT)));
        }
        round
    }

    fn at_all_speedups(&self, targets: &[Target]) -> Vec<Next> {
        let all = |target: &Target| self.speedups.iter().map(|speedup| (target.clone(), *speedup)).collect::<Vec<_>>();
        targets.iter().flat_map(all).collect()
    }
}

/// Those that may matter, the most promising first; all, if none seems to.
fn ranked(targets: &[Target], curves: &[Curve]) -> Vec<Target> {
    let at_most = |target: &Target| {
        curves.iter().find(|curve| curve.target == *target).map_or(f64::INFINITY, |curve| curve.at_50.ci95.1)
    };
    let mut ranked: Vec<(f64, &Target)> = targets.iter().map(|target| (at_most(target), target)).collect();
    ranked.sort_by(|(a, _), (b, _)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    let worth = ranked.iter().filter(|(at_most, _)| *at_most > WORTH).count();
    let kept = if worth == 0 { ranked.len() } else { worth };
    ranked.into_iter().take(kept).map(|(_, target)| target.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const NAMES: [&str; 6] = ["a.A.none", "a.B.none", "a.C.none", "a.D.none", "A.java:7", "a.F.some"];

    fn targets() -> Vec<Target> {
        NAMES.iter().map(|name| Target::parse(name)).collect()
    }

    /// Visits of a window in which a target has this gain at 50 %, more or less.
    fn window(number: u64, next: Option<&Next>, gain: f64, noise: f64) -> Experiment {
        let visits = 1_000.0 / (1.0 - gain) * (1.0 + noise);
        Experiment {
            number,
            duration_ns: 1_000_000,
            target: next.map(|(target, _)| target.clone()).unwrap_or_default(),
            speedup: next.map_or(0.0, |(_, speedup)| f64::from(*speedup) / 100.0),
            visits: BTreeMap::from([("order".to_owned(), visits as u64)]),
            ..Experiment::default()
        }
    }

    /// What so many rounds make when a target has a gain and the first experiments on it
    /// happen to show little of it.
    fn run(rounds: usize, gain_of: impl Fn(&str, usize) -> f64) -> BTreeMap<String, usize> {
        let mut allocation = Allocation::new(targets(), vec![25, 50, 75, 100], true);
        let (mut made, mut number, mut experiments) = (Vec::new(), 0, BTreeMap::<String, usize>::new());
        for _ in 0..rounds {
            for next in allocation.round(&made, "order") {
                let times = experiments.entry(next.0.to_string()).or_default();
                *times += 1;
                let gain = gain_of(&next.0.to_string(), *times) * f64::from(next.1) / 50.0;
                // Neighbours do not go up and down together.
                let noise = [0.03, -0.02, 0.0, -0.03, 0.02][number as usize % 5];
                made.push(window(number, None, 0.0, 0.0));
                made.push(window(number + 1, Some(&next), gain, noise));
                number += 2;
            }
        }
        experiments
    }

    #[test]
    fn who_matters_gets_most_experiments_even_after_bad_luck() {
        let late = |name: &str, times: usize| match (name, times) {
            ("A.java:7", 1..=3) => [0.0, 0.12, 0.03][times - 1],
            ("A.java:7", _) => 0.2,
            _ => 0.0,
        };
        let experiments = run(12, late);
        let of = |name: &str| experiments[name];
        assert!(NAMES.iter().all(|name| of("A.java:7") >= of(name)), "{experiments:?}");
        assert!(of("A.java:7") >= 3 + 9 * 4 - 4, "{experiments:?}");
        assert!(NAMES.iter().all(|name| of(name) >= 3), "{experiments:?}");
    }

    #[test]
    fn named_targets_get_all_the_same_number() {
        let mut allocation = Allocation::new(targets(), vec![50, 100], false);
        let round = allocation.round(&[], "order");
        assert_eq!(round.len(), 12);
        assert_eq!(round.iter().filter(|(target, _)| target.name == "a.F.some").count(), 2);
    }

    #[test]
    fn without_any_effect_all_are_tried_on() {
        let experiments = run(8, |_, _| 0.0);
        assert!(NAMES.iter().all(|name| experiments[*name] >= 3), "{experiments:?}");
    }
}
