//! `fleet regressions`: which locks block threads longer in a newer version. The statistics are in
//! `headway-regress`; here rows are read and answers are printed. Both engines do it, see [`engine::Engine`].

mod embedded;
pub mod engine;
mod read;
pub mod spark;
pub mod text;

use crate::arguments::{Regressions, Search};
use crate::failure::Failure;
use crate::session::over_store;
use engine::{Engine, Observer};
use headway_analysis::document::Document;
use headway_regress::{judge, Compared, Design, Options, Outcome, Tested, Unusable};
use headway_store::Store;
use read::{Chosen, Reader};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the call is about, and what it found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regressed {
    /// Of the changes that are reported, the part that may be none.
    pub false_discovery_rate: f64,
    /// The smallest change that is reported: 0.1 is 10 %.
    pub min_effect: f64,
    /// The smallest difference of blocked time that is reported, as a part of running time.
    pub min_share: f64,
    /// Locks that were tested, of all services.
    pub tested: usize,
    /// Locks that became worse.
    pub regressions: usize,
    /// Services with two versions.
    pub services: Vec<Service>,
    /// Services that have only one version.
    pub single_version: Vec<String>,
}

/// Two versions of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// The service.
    pub service: String,
    /// The older version.
    pub old_version: String,
    /// The newer version.
    pub new_version: String,
    /// What was compared with what; absent if it could not be.
    pub design: Option<Design>,
    /// Why it could not be.
    pub not_compared: Option<Unusable>,
    /// Locks that block for too small a part of running time in both versions: not tested.
    pub locks_below_min_share: usize,
    /// Locks that were tested, regressions first.
    pub locks: Vec<Lock>,
}

/// A lock that was tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    /// The lock's name.
    pub lock: String,
    /// Its class.
    pub class: String,
    /// `monitor` or `juc`.
    pub kind: String,
    /// What was found.
    #[serde(flatten)]
    pub tested: Tested,
    /// Of a regression, the stack in which threads were blocked longest in the newer version.
    pub waiter_stack: Vec<String>,
    /// Of a regression, the stack that owned the lock longest while they were.
    pub owner_stack: Vec<String>,
}

/// See the module's description.
///
/// # Errors
/// The store fails, or has no such service or version; with `--fail`, a lock became worse.
pub async fn regressions(asked: &Regressions) -> Result<(), Failure> {
    let store = Store::open(&asked.place.store).await?;
    let session = over_store(&store, asked.memory).await?;
    let regressed = find(&session, &asked.search, &|_| {}).await?;
    crate::output::text(&written(&regressed, &asked.search)?)?;
    verdict(&regressed, &asked.search)
}

/// What is printed.
fn written(regressed: &Regressed, search: &Search) -> Result<String, Failure> {
    if !search.json {
        return Ok(text::of(regressed));
    }
    let json = serde_json::to_string_pretty(&Document::new(regressed));
    json.map(|json| json + "\n").map_err(|error| Failure::Failed(format!("cannot write JSON: {error}")))
}

/// With `--fail`, a regression is a failure.
fn verdict(regressed: &Regressed, search: &Search) -> Result<(), Failure> {
    match (search.fail, regressed.regressions) {
        (true, 1..) => Err(Failure::Found(text::verdict(regressed))),
        _ => Ok(()),
    }
}

/// What a search does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Reads rows of a service.
    Reading {
        /// The service.
        service: &'a str,
        /// Its number, from 1 on.
        number: usize,
        /// Number of services.
        of: usize,
    },
    /// Compares versions.
    Comparing,
    /// Reads names and stacks.
    Naming,
}

/// Searches, and says what it does.
///
/// # Errors
/// The store fails, or has no such service or version.
pub async fn find(engine: &dyn Engine, search: &Search, at: &Observer<'_>) -> Result<Regressed, Failure> {
    let options = options(search);
    let reader = Reader { engine, environment: search.environment.as_deref() };
    let Chosen { pairs, single_version } = reader.choose(search).await?;
    let estimated = engine.estimate(&reader, &pairs, &options, at).await?;
    let outcome = judge(estimated, &options);
    at(Step::Naming);
    named(&reader, &pairs, outcome, &options, single_version).await
}

fn options(search: &Search) -> Options {
    Options {
        false_discoveries: search.fdr.fraction,
        min_effect: search.min_effect.fraction,
        min_share: search.min_share.fraction,
        ..Options::default()
    }
}

/// Adds names and stacks.
async fn named(
    reader: &Reader<'_>,
    pairs: &[read::Versions],
    outcome: Outcome,
    options: &Options,
    single_version: Vec<String>,
) -> Result<Regressed, Failure> {
    let sites = outcome.services.iter().flat_map(|service| &service.locks).map(|lock| lock.site_id).collect();
    let names = reader.names(&sites).await?;
    let mut stacks = Vec::new();
    for (pair, compared) in pairs.iter().zip(&outcome.services) {
        let regressed = compared.locks.iter().filter(|lock| lock.is_regression()).map(|lock| lock.site_id).collect();
        stacks.push(reader.stacks(pair, &regressed).await?);
    }
    let of_locks: BTreeSet<i64> = stacks.iter().flat_map(BTreeMap::values).flatten().flatten().copied().collect();
    let frames = reader.frames(&of_locks).await?;
    let services = outcome.services.into_iter().zip(&stacks);
    let services = services.map(|(compared, stacks)| service(compared, &names, stacks, &frames)).collect();
    Ok(Regressed {
        false_discovery_rate: options.false_discoveries,
        min_effect: options.min_effect,
        min_share: options.min_share,
        tested: outcome.tested,
        regressions: outcome.regressions,
        services,
        single_version,
    })
}

fn service(
    compared: Compared,
    names: &BTreeMap<i64, [String; 3]>,
    stacks: &BTreeMap<i64, [Option<i64>; 2]>,
    frames: &BTreeMap<i64, Vec<String>>,
) -> Service {
    let lock = |tested: Tested| {
        let [lock, class, kind] = names.get(&tested.site_id).cloned().unwrap_or_default();
        let stacks = stacks.get(&tested.site_id).copied().unwrap_or_default();
        let [waiter_stack, owner_stack] =
            stacks.map(|stack| stack.and_then(|stack| frames.get(&stack)).cloned().unwrap_or_default());
        Lock { lock, class, kind, tested, waiter_stack, owner_stack }
    };
    Service {
        service: compared.service,
        old_version: compared.old_version,
        new_version: compared.new_version,
        design: compared.design,
        not_compared: compared.not_compared,
        locks_below_min_share: compared.locks_below_min_share,
        locks: compared.locks.into_iter().map(lock).collect(),
    }
}
