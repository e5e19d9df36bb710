//! Many services and locks in one call.

use crate::design::{plan, Design, Plan, Unit, Unusable};
use crate::discover::{q_values, threshold};
use crate::estimate::{Estimate, Lock, Replicates};
use crate::rows::{Pair, Version};
use serde::Serialize;
use std::collections::BTreeSet;

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Of the changes that are reported, the part that may be none.
    pub false_discoveries: f64,
    /// The smallest change: 0.1 is 10 %.
    pub min_effect: f64,
    /// The smallest difference of blocked time, as a part of running time.
    pub min_share: f64,
    /// Replicates of the bootstrap.
    pub replicates: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { false_discoveries: 0.01, min_effect: 0.1, min_share: 0.001, replicates: 1_000 }
    }
}

/// What a lock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Threads are blocked longer.
    Regression,
    /// Threads are blocked for a shorter time.
    Improvement,
    /// Nothing that is significant and large enough.
    None,
}

/// A lock that was tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// The lock.
    pub site_id: i64,
    /// What it did.
    pub verdict: Change,
    /// Blocked nanoseconds per operation, or per second of running time, in the older version.
    pub old_ns: f64,
    /// The same in the newer version.
    pub new_ns: f64,
    /// Blocked time as a part of running time, in the older version.
    pub old_share: f64,
    /// The same in the newer version.
    pub new_share: f64,
    /// New over old, minus 1; `None` for a lock that the older version did not contend for.
    pub change: Option<f64>,
    /// Lower and upper end of the 95 % interval of the change, of this lock alone.
    pub change_ci95: Option<[f64; 2]>,
    /// The smallest false discovery rate at which this would be reported.
    pub q: f64,
    /// The smallest increase that would have been reported with a probability of 80 %; `None` for a lock that
    /// the older version did not contend for.
    pub detectable_change: Option<f64>,
}

/// Two versions of a service, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The service.
    pub service: String,
    /// The older version.
    pub old_version: String,
    /// The newer version.
    pub new_version: String,
    /// What was compared with what; `None` if it could not be.
    pub design: Option<Design>,
    /// Why it could not be.
    pub not_compared: Option<Unusable>,
    /// Locks that block for too small a part of running time in both versions: not tested.
    pub locks_below_min_share: usize,
    /// Locks that were tested, regressions first, those that cost most first.
    pub locks: Vec<Tested>,
}

/// The answer about all services.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Locks that were tested, of all services: what the false discovery rate is about.
    pub tested: usize,
    /// Locks that became worse.
    pub regressions: usize,
    /// The services, in the order of the call.
    pub services: Vec<Compared>,
}

/// A lock before the others' p-values are known.
struct Pending {
    service: usize,
    site: i64,
    rates: [f64; 2],
    shares: [f64; 2],
    estimate: Estimate,
    /// Units of exposure in what rates are shown per.
    per: f64,
}

/// Compares versions of services.
pub fn compare(pairs: &[Pair], options: &Options) -> Outcome {
    let (mut services, mut pending) = (Vec::new(), Vec::new());
    for pair in pairs {
        services.push(test(pair, services.len(), options, &mut pending));
    }
    let p: Vec<f64> = pending.iter().map(|lock| lock.estimate.p()).collect();
    let q = q_values(&p);
    let threshold = threshold(&q, options.false_discoveries);
    for (lock, q) in pending.iter().zip(&q) {
        services[lock.service].locks.push(judge(lock, *q, threshold, options));
    }
    for service in &mut services {
        service.locks.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
    let regressions = services.iter().flat_map(|service| &service.locks).filter(|lock| lock.is_regression()).count();
    Outcome { tested: pending.len(), regressions, services }
}

impl Tested {
    /// Did it become worse?
    pub fn is_regression(&self) -> bool {
        self.verdict == Change::Regression
    }
}

/// Regressions by what they add, then the others by what they cost.
fn order(lock: &Tested) -> (u8, f64, i64) {
    match lock.verdict {
        Change::Regression => (0, lock.old_share - lock.new_share, lock.site_id),
        _ => (1, -lock.new_share.max(lock.old_share), lock.site_id),
    }
}

/// Estimates all locks of a service that block for long enough.
fn test(pair: &Pair, service: usize, options: &Options, pending: &mut Vec<Pending>) -> Compared {
    let mut compared = Compared {
        service: pair.service.clone(),
        old_version: pair.old_version.clone(),
        new_version: pair.new_version.clone(),
        design: None,
        not_compared: None,
        locks_below_min_share: 0,
        locks: Vec::new(),
    };
    let plan = match plan(pair) {
        Ok(plan) => plan,
        Err(reason) => {
            compared.not_compared = Some(reason);
            return compared;
        }
    };
    compared.design = Some(plan.design);
    let sites: BTreeSet<i64> =
        Version::BOTH.into_iter().flat_map(|version| pair.side(version).blocked.iter().map(|row| row.site)).collect();
    let replicates = Replicates::draw(&plan, options.replicates, pair.hash());
    for site in sites {
        match pending_lock(pair, &plan, &replicates, service, site, options) {
            Some(lock) => pending.push(lock),
            None => compared.locks_below_min_share += 1,
        }
    }
    compared
}

fn pending_lock(
    pair: &Pair,
    plan: &Plan,
    replicates: &Replicates,
    service: usize,
    site: i64,
    options: &Options,
) -> Option<Pending> {
    let lock = Lock::new(pair, plan, site);
    let largest = lock.shares[0].max(lock.shares[1]);
    if largest <= 0.0 || largest < options.min_share {
        return None;
    }
    let estimate = lock.estimate(replicates, options.min_share);
    let per = if plan.design.unit == Unit::Operation { 1.0 } else { 1e9 };
    Some(Pending { service, site, rates: lock.rates, shares: lock.shares, estimate, per })
}

fn judge(lock: &Pending, q: f64, threshold: f64, options: &Options) -> Tested {
    let Pending { service: _, site, rates, shares, estimate, per } = lock;
    let ([old_share, new_share], [old_rate, new_rate]) = (*shares, *rates);
    let is_known = old_rate > 0.0;
    let change = is_known.then(|| estimate.log_ratio.exp_m1());
    // The difference as a part of the running time of the version that has more of it.
    let per_running = if new_share > old_share { new_share / new_rate } else { old_share / old_rate };
    let difference = (new_rate - old_rate).abs() * per_running;
    let is_large = estimate.log_ratio.abs() >= options.min_effect.ln_1p() && difference >= options.min_share;
    let verdict = match (q <= options.false_discoveries && is_large, estimate.log_ratio > 0.0) {
        (false, _) => Change::None,
        (true, true) => Change::Regression,
        (true, false) => Change::Improvement,
    };
    // Both bounds of size, as logarithms.
    let least = options.min_effect.ln_1p().max((options.min_share / old_share).ln_1p());
    Tested {
        site_id: *site,
        verdict,
        old_ns: old_rate * per,
        new_ns: new_rate * per,
        old_share,
        new_share,
        change,
        change_ci95: is_known.then(|| estimate.ci95().map(f64::exp_m1)),
        q,
        detectable_change: is_known.then(|| estimate.detectable(threshold, least).exp_m1()),
    }
}
