//! Many services and locks in one call.

use crate::design::{plan, Design, Plan, Unit, Unusable};
use crate::discover::{q_values, threshold};
use crate::estimate::{Estimate, Lock, Replicates};
use crate::rows::{Pair, Version};
use serde::{Deserialize, Serialize};
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

/// A service of which every lock is estimated. What changed is decided by [`judge`], with all other services of the
/// search. A program can write it and another one read it: numbers keep every digit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The service.
    pub service: String,
    old_version: String,
    new_version: String,
    design: Option<Design>,
    not_compared: Option<Unusable>,
    locks_below_min_share: usize,
    locks: Vec<Pending>,
}

/// A lock before the others' p-values are known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Bits", into = "Bits")]
struct Pending {
    site: i64,
    rates: [f64; 2],
    shares: [f64; 2],
    estimate: Estimate,
    /// Units of exposure in what rates are shown per.
    per: f64,
}

/// A [`Pending`] as whole numbers: the bits of its fractions. As decimal numbers they could change in the last digit,
/// and JSON has no infinity.
#[derive(Serialize, Deserialize)]
struct Bits(i64, [u64; 8]);

impl From<Pending> for Bits {
    fn from(lock: Pending) -> Bits {
        let Pending { site, rates: [old, new], shares: [old_share, new_share], estimate, per } = lock;
        let Estimate { log_ratio, error, freedom } = estimate;
        Bits(site, [old, new, old_share, new_share, log_ratio, error, freedom, per].map(f64::to_bits))
    }
}

impl From<Bits> for Pending {
    fn from(Bits(site, bits): Bits) -> Pending {
        let [old, new, old_share, new_share, log_ratio, error, freedom, per] = bits.map(f64::from_bits);
        let estimate = Estimate { log_ratio, error, freedom };
        Pending { site, rates: [old, new], shares: [old_share, new_share], estimate, per }
    }
}

/// Compares versions of services.
pub fn compare(pairs: &[Pair], options: &Options) -> Outcome {
    judge(pairs.iter().map(|pair| estimate(pair, options)).collect(), options)
}

/// Decides which locks changed. All services of the search have to be there, estimated with the same options: how many
/// locks are tested decides how small a p-value has to be.
pub fn judge(services: Vec<Estimated>, options: &Options) -> Outcome {
    let p: Vec<f64> = services.iter().flat_map(|service| &service.locks).map(|lock| lock.estimate.p()).collect();
    let q = q_values(&p);
    let threshold = threshold(&q, options.false_discoveries);
    let mut q = q.into_iter();
    let judged = services.into_iter().map(|service| service.judged(q.by_ref(), threshold, options));
    let services: Vec<Compared> = judged.collect();
    let regressions = services.iter().flat_map(|service| &service.locks).filter(|lock| lock.is_regression()).count();
    Outcome { tested: p.len(), regressions, services }
}

impl Estimated {
    /// With the q-values of its locks, which come next.
    fn judged(self, q: impl Iterator<Item = f64>, threshold: f64, options: &Options) -> Compared {
        let mut locks: Vec<Tested> =
            self.locks.iter().zip(q).map(|(lock, q)| verdict(lock, q, threshold, options)).collect();
        locks.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        Compared {
            service: self.service,
            old_version: self.old_version,
            new_version: self.new_version,
            design: self.design,
            not_compared: self.not_compared,
            locks_below_min_share: self.locks_below_min_share,
            locks,
        }
    }
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

/// Estimates all locks of a service that block for long enough. This is where the time goes, and services do not need
/// each other for it.
pub fn estimate(pair: &Pair, options: &Options) -> Estimated {
    let mut estimated = Estimated {
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
            estimated.not_compared = Some(reason);
            return estimated;
        }
    };
    estimated.design = Some(plan.design);
    let sites: BTreeSet<i64> =
        Version::BOTH.into_iter().flat_map(|version| pair.side(version).blocked.keys().copied()).collect();
    let replicates = Replicates::draw(&plan, options.replicates, pair.hash());
    for site in sites {
        match pending_lock(pair, &plan, &replicates, site, options) {
            Some(lock) => estimated.locks.push(lock),
            None => estimated.locks_below_min_share += 1,
        }
    }
    estimated
}

fn pending_lock(pair: &Pair, plan: &Plan, replicates: &Replicates, site: i64, options: &Options) -> Option<Pending> {
    let lock = Lock::new(pair, plan, site);
    let largest = lock.shares[0].max(lock.shares[1]);
    if largest <= 0.0 || largest < options.min_share {
        return None;
    }
    let estimate = lock.estimate(replicates, options.min_share);
    let per = if plan.design.unit == Unit::Operation { 1.0 } else { 1e9 };
    Some(Pending { site, rates: lock.rates, shares: lock.shares, estimate, per })
}

fn verdict(lock: &Pending, q: f64, threshold: f64, options: &Options) -> Tested {
    let Pending { site, rates, shares, estimate, per } = lock;
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
