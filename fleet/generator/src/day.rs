//! The rows of one JVM on one day.

use crate::catalogue::{Catalogue, Lock};
use crate::draw::{self, Draw};
use crate::plan::Plan;
use crate::shape;
use headway_jfr::ClockJump;
use headway_model::TimeNs;
use headway_rollup::minute::{Minute, MINUTE_NS};
use headway_rollup::rows::{CpuMinute, Jvm, LoadMinute, LockMinute, Phase, Rolled, WaitMinute};
use headway_store::Day;
use std::collections::{BTreeMap, BTreeSet};

/// A JVM's day while its rows are made.
pub(crate) struct JvmDay<'a> {
    plan: &'a Plan,
    catalogue: &'a Catalogue,
    jvm: Jvm,
    draw: Draw,
    traits: Traits,
    locks: BTreeMap<LockKey, LockMinute>,
    waits: BTreeMap<(Minute, i64, Option<i64>), WaitMinute>,
    cpu: BTreeMap<(Minute, i64), CpuMinute>,
    load: Vec<LoadMinute>,
    phases: Vec<Phase>,
    used: Used,
}

type LockKey = (Minute, i64, Option<i64>, Option<i64>);

/// What a JVM is like all day.
struct Traits {
    /// How much longer its locks block than those of an average JVM on an average day.
    blocks: f64,
    threads: u64,
    has_running: bool,
    has_cpu: bool,
    has_steal: bool,
}

/// Places in the catalogue that rows mention.
#[derive(Default)]
struct Used {
    locks: BTreeSet<usize>,
    waits: BTreeSet<usize>,
    stacks: BTreeSet<usize>,
}

impl<'a> JvmDay<'a> {
    /// The rows of a service's JVM on a day. `catalogue` is the service's.
    pub(crate) fn rolled(plan: &'a Plan, catalogue: &'a Catalogue, service: u32, number: u32, day: Day) -> Rolled {
        let jvm = plan.jvm(service, number, day);
        let draw = draw::of(plan.spec.seed, "day", &[&number.to_string(), &day.to_string()]);
        let mut made = JvmDay {
            plan,
            catalogue,
            traits: Traits::of(plan, &jvm, day),
            jvm,
            draw,
            locks: BTreeMap::new(),
            waits: BTreeMap::new(),
            cpu: BTreeMap::new(),
            load: Vec::new(),
            phases: Vec::new(),
            used: Used::default(),
        };
        let first = made.jvm.start_ns / MINUTE_NS;
        for minute in 0..u64::from(plan.spec.minutes) {
            made.minute(Minute(first + minute), by_time_of_day(minute));
        }
        made.finish()
    }

    fn minute(&mut self, minute: Minute, load: f64) {
        let busy = self.plan.spec.busy * load;
        let running_ns = self.load(minute, load);
        let mut blocked: BTreeMap<usize, u64> = BTreeMap::new();
        for _ in 0..self.draw.poisson(busy) {
            let (at, blocked_ns) = self.contended(minute);
            *blocked.entry(at).or_default() += blocked_ns;
        }
        for (at, blocked_ns) in blocked {
            self.phase(minute, at, blocked_ns, running_ns);
        }
        for _ in 0..self.draw.poisson(busy * shape::OTHER_ROWS) {
            self.waited(minute);
        }
        for _ in 0..self.draw.poisson(busy * shape::OTHER_ROWS) {
            self.sampled(minute);
        }
    }

    /// A row of a lock, added to one with the same stacks. Gives the lock's place and the blocked time.
    fn contended(&mut self, minute: Minute) -> (usize, u64) {
        let catalogue = self.catalogue;
        let at = self.draw.zipf(catalogue.locks.len(), shape::SITE_POPULARITY);
        let lock = &catalogue.locks[at];
        let waiter = self.stack(&lock.waiters, shape::NO_WAITER);
        let owner = self.stack(&lock.owners, shape::NO_OWNER);
        self.used.locks.insert(at);
        let row = self.contentions(lock, owner.is_none());
        let blocked_ns = row.blocked_ns;
        let key = (minute, lock.site.id, waiter, owner);
        let sum = self.locks.entry(key).or_insert_with(|| LockMinute {
            minute,
            site: lock.site.id,
            kind: lock.kind,
            waiter_stack: waiter,
            owner_stack: owner,
            is_virtual: lock.is_virtual,
            ..LockMinute::default()
        });
        sum.contentions += row.contentions;
        sum.blocked_ns += row.blocked_ns;
        sum.handoff_ns += row.handoff_ns;
        sum.unknown_ns += row.unknown_ns;
        sum.pause_ns += row.pause_ns;
        sum.max_ns = sum.max_ns.max(row.max_ns);
        sum.histogram.merge(&row.histogram);
        (at, blocked_ns)
    }

    /// Contentions without their names. Hand-off, pauses and what is unknown are parts of blocked time.
    fn contentions(&mut self, lock: &Lock, is_unknown: bool) -> LockMinute {
        let planted = self.plan.truth.of_lock(&self.jvm.service, &self.jvm.version, lock.site.id);
        let (usual, median_ns) = match lock.has_convoys && self.draw.chance(shape::CONVOYS) {
            true => (shape::CONVOY_CONTENTIONS, shape::CONVOY_MEDIAN_NS),
            false => (shape::CONTENTIONS_MEDIAN, shape::BLOCKED_MEDIAN_NS),
        };
        let contentions = self.draw.count(usual);
        let median_ns = median_ns * lock.scale * self.traits.blocks * planted;
        let durations = self.draw.durations(contentions, median_ns, shape::BLOCKED_SPREAD);
        let part = |share: f64| (durations.sum_ns as f64 * share) as u64;
        let handoff_ns = part(self.draw.beta(shape::HANDOFF));
        let pause_ns = if self.draw.chance(shape::PAUSED) { part(shape::PAUSE_SHARE) } else { 0 };
        let rest = durations.sum_ns.saturating_sub(handoff_ns + pause_ns);
        LockMinute {
            contentions,
            blocked_ns: durations.sum_ns,
            handoff_ns,
            unknown_ns: if is_unknown { rest } else { 0 },
            pause_ns: pause_ns.min(durations.sum_ns - handoff_ns),
            max_ns: durations.max_ns,
            histogram: durations.histogram,
            ..LockMinute::default()
        }
    }

    fn waited(&mut self, minute: Minute) {
        let catalogue = self.catalogue;
        let at = self.draw.zipf(catalogue.waits.len(), shape::SITE_POPULARITY);
        let wait = &catalogue.waits[at];
        let stack = self.stack(&wait.stacks, shape::NO_WAITER);
        self.used.waits.insert(at);
        let waits = self.draw.count(shape::CONTENTIONS_MEDIAN);
        let durations = self.draw.durations(waits, shape::WAITED_MEDIAN_NS, shape::WAITED_SPREAD);
        let sum = self.waits.entry((minute, wait.site.id, stack)).or_insert_with(|| WaitMinute {
            minute,
            site: wait.site.id,
            synchronizer: wait.synchronizer,
            stack,
            ..WaitMinute::default()
        });
        sum.waits += waits;
        sum.waited_ns += durations.sum_ns;
        sum.max_ns = sum.max_ns.max(durations.max_ns);
        sum.histogram.merge(&durations.histogram);
    }

    fn sampled(&mut self, minute: Minute) {
        let at = self.draw.early(self.catalogue.stacks.len());
        self.used.stacks.insert(at);
        let stack = self.catalogue.stacks[at].id;
        let samples = self.draw.count(shape::CONTENTIONS_MEDIAN);
        // A stack is in Java code or in native code, not in both.
        let state = if stack % 5 == 0 { "native" } else { "java" };
        let row = || CpuMinute { minute, stack: Some(stack), state, ..CpuMinute::default() };
        let sum = self.cpu.entry((minute, stack)).or_insert_with(row);
        sum.samples += samples;
        sum.cpu_ns += samples * shape::SAMPLE_NS;
    }

    /// The minute's load; gives its running time.
    fn load(&mut self, minute: Minute, load: f64) -> u64 {
        let Traits { threads, has_running, has_cpu, has_steal, .. } = self.traits;
        let life_ns = (threads * MINUTE_NS) as f64;
        let running_ns = life_ns * self.draw.between(shape::RUNNING);
        let cpu_ns = (running_ns * self.draw.between(shape::ON_CPU) * load) as u64;
        let steal_ns = cpu_ns / self.draw.whole((50, 1_000));
        let operations = (self.draw.whole(shape::OPERATIONS) as f64 * threads as f64 * load) as u64;
        let dropped = if self.draw.chance(shape::DROPPED) { self.draw.count(shape::CONTENTIONS_MEDIAN) } else { 0 };
        let running_ns = if has_running { running_ns as u64 } else { 0 };
        self.load.push(LoadMinute {
            minute,
            covered_ns: MINUTE_NS,
            running_ns,
            cpu_ns: has_cpu.then_some(cpu_ns),
            steal_ns: has_steal.then_some(steal_ns),
            operations,
            dropped,
        });
        running_ns
    }

    /// A phase, if the pressure of a lock is that high.
    fn phase(&mut self, minute: Minute, at: usize, blocked_ns: u64, running_ns: u64) {
        let mean = blocked_ns as f64 / running_ns as f64;
        if running_ns == 0 || mean < shape::PHASE {
            return;
        }
        let catalogue = self.catalogue;
        let lock = &catalogue.locks[at];
        let start_ns = minute.start().0;
        let peak = mean * self.draw.between((1.0, 2.0));
        let phase = Phase {
            start_ns,
            end_ns: start_ns + MINUTE_NS,
            site: lock.site.id,
            mean: mean.min(1.0),
            peak: peak.min(1.0),
            acquiring_ns: blocked_ns,
            waiter_stack: self.stack(&lock.waiters, shape::NO_WAITER),
            owner_stack: self.stack(&lock.owners, shape::NO_OWNER),
        };
        self.phases.push(phase);
    }

    /// The id of one of these stacks, the first ones more often; `None` with a probability.
    fn stack(&mut self, of: &[usize], none: f64) -> Option<i64> {
        let at = *of.get(self.draw.early(of.len()))?;
        if self.draw.chance(none) {
            return None;
        }
        self.used.stacks.insert(at);
        Some(self.catalogue.stacks[at].id)
    }

    fn finish(mut self) -> Rolled {
        let (start_ns, span) = (self.jvm.start_ns, self.jvm.end_ns - self.jvm.start_ns);
        let has_jump = self.draw.chance(shape::CLOCK_JUMP);
        let jump = has_jump.then(|| ClockJump {
            at: TimeNs(start_ns + self.draw.whole((0, span - 1))),
            by_ns: self.draw.normal(0.0, 1e9) as i64,
        });
        let catalogue = self.catalogue;
        let locks = self.used.locks.iter().map(|at| &catalogue.locks[*at].site);
        let waits = self.used.waits.iter().map(|at| &catalogue.waits[*at].site);
        Rolled {
            sites: locks.chain(waits).cloned().collect(),
            stacks: self.used.stacks.iter().map(|at| catalogue.stacks[*at].clone()).collect(),
            jvm: self.jvm,
            locks: self.locks.into_values().collect(),
            waits: self.waits.into_values().collect(),
            load: self.load,
            phases: self.phases,
            cpu: self.cpu.into_values().collect(),
            clock_jumps: jump.into_iter().collect(),
            ..Rolled::default()
        }
    }
}

impl Traits {
    fn of(plan: &Plan, jvm: &Jvm, day: Day) -> Traits {
        let spec = &plan.spec;
        let day = day.to_string();
        let host = draw::factor(spec.seed, "host", &[&jvm.service, &jvm.version, &jvm.host], spec.host_spread);
        let of_day = draw::factor(spec.seed, "service day", &[&jvm.service, &day], spec.day_spread);
        let host_day = draw::factor(spec.seed, "host day", &[&jvm.host, &day], shape::HOST_DAY_SPREAD);
        // All recordings of a JVM are made by the same tool, on a machine that has steal time or not.
        let mut draw = draw::of(spec.seed, "traits", &[&jvm.id.to_string()]);
        let (least, most) = shape::THREADS;
        Traits {
            blocks: host * of_day * host_day * plan.truth.of_host(&jvm.host),
            threads: draw::of(spec.seed, "threads", &[&jvm.service]).whole((least.into(), most.into())),
            has_running: !draw.chance(shape::NO_RUNNING),
            has_cpu: !draw.chance(shape::NO_CPU),
            has_steal: !draw.chance(shape::NO_STEAL),
        }
    }
}

/// 1 at noon, [`shape::NIGHT`] at midnight, linear between.
pub(crate) fn by_time_of_day(minute: u64) -> f64 {
    let from_noon = minute.abs_diff(720) as f64 / 720.0;
    1.0 - (1.0 - shape::NIGHT) * from_noon
}
