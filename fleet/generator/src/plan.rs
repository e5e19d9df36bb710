//! Which JVMs there are: their services, hosts, versions and starts.

use crate::catalogue::Catalogue;
use crate::day::JvmDay;
use crate::draw;
use crate::shape;
use crate::spec::Spec;
use crate::truth::{planted, Truth};
use headway_rollup::identity;
use headway_rollup::rows::{Jvm, Rolled};
use headway_store::Day;
use std::collections::BTreeMap;

const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const DAY_NS: u64 = 24 * 3_600 * SECOND_NS;

/// A fleet's JVMs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) spec: Spec,
    /// For each service the number of its first JVM; then how many JVMs there are.
    firsts: Vec<u32>,
    pub(crate) truth: Truth,
}

impl Plan {
    /// The JVMs of a fleet.
    ///
    /// # Errors
    /// What of the fleet makes no sense, in a sentence.
    pub fn of(spec: &Spec) -> Result<Plan, String> {
        spec.check()?;
        Ok(Plan { spec: spec.clone(), firsts: firsts(spec), truth: planted(spec) })
    }

    /// What was planted.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// The fleet's days, earliest first.
    pub fn days(&self) -> impl Iterator<Item = Day> {
        let first = self.spec.first.0;
        (first..first + self.spec.days).map(Day)
    }

    /// Numbers of the services.
    pub fn services(&self) -> std::ops::Range<u32> {
        0..self.spec.services
    }

    /// What a service's JVMs come to on a day, one JVM after the other.
    pub fn rows(&self, service: u32, day: Day) -> impl Iterator<Item = Rolled> + '_ {
        // Made again each day: the names of one service are in memory, not those of all.
        let catalogue = Catalogue::of(&self.spec, &service_name(service));
        self.jvms(service).map(move |number| JvmDay::rolled(self, &catalogue, service, number, day))
    }

    /// Numbers of a service's JVMs.
    pub(crate) fn jvms(&self, service: u32) -> std::ops::Range<u32> {
        let at = service as usize;
        self.firsts[at]..self.firsts[at + 1]
    }

    /// The version that a JVM has on a day: each is rolled out to some JVMs earlier than to others.
    fn version(&self, jvm: u32, day: u32) -> u32 {
        let Spec { seed, days, versions, .. } = self.spec;
        let lag = draw::of(seed, "lag", &[&jvm.to_string()]).between((0.0, shape::ROLL_OUT));
        let position = (f64::from(day) + 0.5) / f64::from(days) * f64::from(versions) - lag;
        (position.max(0.0) as u32).min(versions - 1)
    }

    /// How many JVMs of a service have each version on a day.
    pub(crate) fn versions(&self, service: u32, day: Day) -> BTreeMap<u32, u64> {
        let mut versions = BTreeMap::new();
        for number in self.jvms(service) {
            *versions.entry(self.version(number, day.0 - self.spec.first.0)).or_default() += 1;
        }
        versions
    }

    /// A JVM on a day. It is another process from the day on which its version changed.
    pub(crate) fn jvm(&self, service: u32, number: u32, day: Day) -> Jvm {
        let spec = &self.spec;
        let at = day.0 - spec.first.0;
        let version = self.version(number, at);
        let began = (0..at).rev().take_while(|earlier| self.version(number, *earlier) == version).last().unwrap_or(at);
        let mut draw = draw::of(spec.seed, "process", &[&number.to_string(), &version.to_string()]);
        let midnight = |day: u32| u64::from(spec.first.0 + day) * DAY_NS;
        let started_ns = midnight(began) - draw.whole((60, 3_600)) * SECOND_NS;
        let host = host(number % spec.hosts);
        // No two JVMs of a host share it.
        let pid = 1_000 + number / spec.hosts * spec.versions + version;
        Jvm {
            id: identity::jvm(&host, pid, started_ns),
            host,
            service: service_name(service),
            version: version_name(version),
            environment: (if draw.chance(0.9) { "production" } else { "staging" }).into(),
            labels: vec![format!("zone={}", ["a", "b", "c"][draw.early(3)])],
            jdk: ["21.0.8+9", "17.0.16+8", "25+36"][draw.early(3)].into(),
            pid,
            cpus: draw.chance(0.9).then(|| 1 << draw.whole((1, 6))),
            started_ns,
            start_ns: midnight(at),
            end_ns: midnight(at) + u64::from(spec.minutes) * 60 * SECOND_NS,
        }
    }
}

/// `service007`: a name that is also a package's.
pub(crate) fn service_name(number: u32) -> String {
    format!("service{number:03}")
}

/// `1.2`.
pub(crate) fn version_name(number: u32) -> String {
    format!("1.{number}")
}

/// `host-00012`.
pub(crate) fn host(number: u32) -> String {
    format!("host-{number:05}")
}

/// Each service has one JVM; the others are divided by [`shape::SERVICE_SIZE`].
fn firsts(spec: &Spec) -> Vec<u32> {
    let weight = |service: u32| f64::from(service + 1).powf(-shape::SERVICE_SIZE);
    let all: f64 = (0..spec.services).map(weight).sum();
    let more = f64::from(spec.jvms - spec.services);
    let (mut firsts, mut before) = (vec![0], 0.0);
    for service in 0..spec.services {
        before += weight(service);
        let is_last = service + 1 == spec.services;
        let share = if is_last { spec.jvms - spec.services } else { (more * before / all) as u32 };
        firsts.push(service + 1 + share);
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn plan(change: impl FnOnce(&mut Spec)) -> Plan {
        let mut spec = Spec { days: 8, versions: 4, jvms: 100, ..Spec::default() };
        change(&mut spec);
        Plan::of(&spec).expect("a plan")
    }

    #[test]
    fn every_jvm_has_a_service_and_the_first_services_are_large() {
        let plan = plan(|_| {});
        let sizes: Vec<u32> = (0..5).map(|service| plan.jvms(service).len() as u32).collect();
        assert_eq!(sizes, [42, 22, 15, 11, 10]);
    }

    #[test]
    fn versions_only_go_up_and_all_are_rolled_out() {
        let plan = plan(|_| {});
        let mut seen = BTreeSet::new();
        for jvm in 0..100 {
            let versions: Vec<u32> = (0..8).map(|day| plan.version(jvm, day)).collect();
            assert!(versions.is_sorted(), "{versions:?}");
            seen.extend(versions);
        }
        assert_eq!(seen, (0..4).collect());
    }

    #[test]
    fn a_process_has_one_version_and_no_two_share_an_id() {
        let plan = plan(|_| {});
        let mut processes = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for (jvm, day) in
            (0..5).flat_map(|service| plan.jvms(service)).flat_map(|jvm| plan.days().map(move |day| (jvm, day)))
        {
            let made = plan.jvm(0, jvm, day);
            assert!(made.started_ns < made.start_ns && made.start_ns < made.end_ns);
            processes.insert((jvm, made.version));
            ids.insert(made.id);
        }
        assert_eq!(processes.len(), ids.len());
    }
}
