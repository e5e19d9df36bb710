//! What was planted, for whoever checks an answer.

use crate::catalogue::Catalogue;
use crate::draw;
use crate::plan::{host, service_name, version_name};
use crate::shape;
use crate::spec::Spec;
use serde::Serialize;
use std::collections::BTreeSet;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Truth {
    /// At most one for each service.
    pub regressions: Vec<Regression>,
    /// Hosts unlike the others.
    pub outliers: Vec<Outlier>,
}

/// A lock that blocks longer from a version on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regression {
    /// The service.
    pub service: String,
    /// Its version.
    pub version: String,
    /// The version before.
    pub old_version: String,
    /// The lock.
    pub site_id: i64,
    /// Its name, as in view `site`.
    pub lock: String,
    /// How many times as long contentions are.
    pub effect: f64,
}

/// A host on which everything blocks longer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// The host.
    pub host: String,
    /// How many times as long contentions are.
    pub effect: f64,
}

/// Plants what the fleet asks for: in each service the lock of its code that is contended most, without convoys.
pub(crate) fn planted(spec: &Spec) -> Truth {
    let regressions = (0..spec.regressions).filter_map(|service| regression(spec, service)).collect();
    let mut draw = draw::of(spec.seed, "outliers", &[]);
    let mut hosts = BTreeSet::new();
    while hosts.len() < spec.outliers as usize {
        hosts.insert(draw.whole((0, u64::from(spec.hosts) - 1)) as u32);
    }
    let outliers =
        hosts.into_iter().map(|number| Outlier { host: host(number), effect: spec.outlier_effect }).collect();
    Truth { regressions, outliers }
}

fn regression(spec: &Spec, service: u32) -> Option<Regression> {
    let name = service_name(service);
    let catalogue = Catalogue::of(spec, &name);
    let own = catalogue.locks.iter().skip(shape::LIBRARY_SITES as usize).find(|lock| !lock.has_convoys);
    let lock = own.or(catalogue.locks.last())?;
    let (newest, before) = (spec.versions - 1, spec.versions - 2);
    Some(Regression {
        service: name,
        version: version_name(newest),
        old_version: version_name(before),
        site_id: lock.site.id,
        lock: if lock.site.member.is_empty() { lock.site.class.clone() } else { lock.site.member.clone() },
        effect: spec.effect,
    })
}

impl Truth {
    /// How many times as long a lock blocks.
    pub(crate) fn of_lock(&self, service: &str, version: &str, site: i64) -> f64 {
        let planted = |of: &&Regression| of.site_id == site && of.version == version && of.service == service;
        self.regressions.iter().find(planted).map_or(1.0, |of| of.effect)
    }

    /// How many times as long a host blocks.
    pub(crate) fn of_host(&self, host: &str) -> f64 {
        self.outliers.iter().find(|of| of.host == host).map_or(1.0, |of| of.effect)
    }
}
