//! Hours of a fleet without its minutes: what a store of thousands of JVMs has after a month, in minutes instead of
//! days of work. Only measurements of queries that read hours use it.
//!
//! Which locks have a row in an hour, and how many JVMs, follow from the distributions of [`crate::shape`]; sums are
//! those of a few rows, times the number of rows. The store has one minute of one JVM for each service and day: without
//! minutes, hours would not count.

use crate::catalogue::{Catalogue, Lock};
use crate::day::by_time_of_day;
use crate::draw::{self, Draw};
use crate::plan::{service_name, version_name, Plan, DAY_NS};
use crate::shape;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use headway_rollup::minute::{Minute, MINUTE_NS};
use headway_rollup::rows::{LoadMinute, Rolled};
use headway_store::{bucket, Day, Store, StoreError, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Rows that are drawn for a lock in an hour; all of its rows are like them.
const DRAWN: u64 = 2;
const MINUTES: u64 = 60;
const HOURS: u64 = 24;

/// Columns of a table of hours while they grow.
#[derive(Default)]
struct Columns {
    ts_us: Vec<i64>,
    services: Vec<String>,
    versions: Vec<String>,
    kinds: Vec<&'static str>,
    numbers: Vec<Vec<i64>>,
}

impl Columns {
    fn add(&mut self, ts_us: i64, service: &str, version: &str, numbers: &[u64]) {
        self.ts_us.push(ts_us);
        self.services.push(service.to_owned());
        self.versions.push(version.to_owned());
        self.numbers.resize(numbers.len(), Vec::new());
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            // Ids are hashes: all 64 bits count.
            column.push(i64::from_ne_bytes(number.to_ne_bytes()));
        }
    }

    fn rows(self, names: &[&'static str]) -> Result<RecordBatch, StoreError> {
        let ts = TimestampMicrosecondArray::from(self.ts_us).with_timezone("UTC");
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("ts", Arc::new(ts)),
            ("service", Arc::new(StringArray::from(self.services))),
            ("version", Arc::new(StringArray::from(self.versions))),
        ];
        if !self.kinds.is_empty() {
            columns.push(("kind", Arc::new(StringArray::from(self.kinds))));
        }
        for (name, numbers) in names.iter().zip(self.numbers) {
            columns.push((name, Arc::new(Int64Array::from(numbers))));
        }
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}

const OF_LOCKS: [&str; 8] =
    ["site_id", "jvms", "contentions", "blocked_ns", "handoff_ns", "unknown_ns", "pause_ns", "max_ns"];
const OF_LOAD: [&str; 7] = ["jvms", "covered_ns", "running_ns", "cpu_ns", "steal_ns", "operations", "dropped"];

/// Writes a fleet's hours, day by day. Gives how many rows `lock_hour` has; `after` hears of each day that is
/// complete. Nobody else may use the store meanwhile.
///
/// # Errors
/// The store fails, or somebody else uses it.
pub async fn fill_hours(store: &Store, plan: &Plan, mut after: impl FnMut(Day, u64)) -> Result<u64, StoreError> {
    let mut rows = 0;
    for day in plan.days() {
        let mut buckets: BTreeMap<u64, (Columns, Columns)> = BTreeMap::new();
        for service in plan.services() {
            let name = service_name(service);
            let catalogue = Catalogue::of(&plan.spec, &name);
            store.deliver(&names(plan, &catalogue, service, day)).await?;
            let (locks, load) = buckets.entry(bucket(&name)).or_default();
            Hours { plan, catalogue: &catalogue, name: &name, day }.add(&plan.versions(service, day), locks, load);
        }
        store.compact(day).await?;
        store.tidy_older_than(Duration::ZERO).await?;
        let snapshot = store.snapshot(day).await?;
        let mut written = Vec::new();
        for (bucket, (locks, load)) in buckets {
            rows += locks.ts_us.len() as u64;
            let tables =
                [(Table::LockHour, vec![locks.rows(&OF_LOCKS)?]), (Table::LoadHour, vec![load.rows(&OF_LOAD)?])];
            written.push(store.write_hours(&snapshot, bucket, &tables).await?);
        }
        if !store.put_hours(&snapshot, written).await? {
            return Err(StoreError::Contended(day));
        }
        after(day, rows);
    }
    Ok(rows)
}

/// A batch with a service's locks, and one minute of its first JVM.
fn names(plan: &Plan, catalogue: &Catalogue, service: u32, day: Day) -> Rolled {
    let jvm = plan.jvm(service, plan.jvms(service).start, day);
    let minute = Minute(jvm.start_ns / MINUTE_NS);
    let load = LoadMinute { minute, covered_ns: MINUTE_NS, running_ns: MINUTE_NS, ..LoadMinute::default() };
    let sites = catalogue.locks.iter().map(|lock| lock.site.clone()).collect();
    Rolled { jvm, sites, load: vec![load], ..Rolled::default() }
}

/// A service on a day.
struct Hours<'a> {
    plan: &'a Plan,
    catalogue: &'a Catalogue,
    name: &'a str,
    day: Day,
}

impl Hours<'_> {
    /// Adds the hours of each version, of which there are so many JVMs.
    fn add(&self, versions: &BTreeMap<u32, u64>, locks: &mut Columns, load: &mut Columns) {
        let weight = |at: usize| (at as f64 + 1.0).powf(-shape::SITE_POPULARITY);
        let all: f64 = (0..self.catalogue.locks.len()).map(weight).sum();
        let (least, most) = shape::THREADS;
        let threads = draw::of(self.plan.spec.seed, "threads", &[self.name]).whole((least.into(), most.into()));
        for (version, jvms) in versions {
            let version = version_name(*version);
            let mut draw = draw::of(self.plan.spec.seed, "hours", &[self.name, &version, &self.day.to_string()]);
            for hour in 0..HOURS {
                let busy = by_time_of_day(hour * MINUTES + MINUTES / 2);
                let ts_us = ((u64::from(self.day.0) * DAY_NS + hour * MINUTES * MINUTE_NS) / 1_000) as i64;
                let rows = (*jvms * MINUTES) as f64 * self.plan.spec.busy * busy;
                for (at, lock) in self.catalogue.locks.iter().enumerate() {
                    let rows = draw.poisson(rows * weight(at) / all);
                    if rows > 0 {
                        locks.add(ts_us, self.name, &version, &self.of_lock(&mut draw, lock, &version, *jvms, rows));
                        locks.kinds.push(lock.kind);
                    }
                }
                load.add(ts_us, self.name, &version, &of_load(&mut draw, *jvms, threads, busy));
            }
        }
    }

    /// [`OF_LOCKS`] of so many rows of minutes.
    fn of_lock(&self, draw: &mut Draw, lock: &Lock, version: &str, jvms: u64, rows: u64) -> [u64; 8] {
        // So many JVMs have one of these rows or more, on average.
        let seen = jvms as f64 * (1.0 - (1.0 - 1.0 / jvms as f64).powf(rows as f64));
        let seen = (seen as u64 + u64::from(draw.chance(seen.fract()))).clamp(1, jvms.min(rows));
        let planted = self.plan.truth.of_lock(self.name, version, lock.site.id);
        let drawn = rows.min(DRAWN);
        let (mut contentions, mut blocked_ns, mut max_ns) = (0, 0, 0);
        for _ in 0..drawn {
            let (usual, median_ns) = match lock.has_convoys && draw.chance(shape::CONVOYS) {
                true => (shape::CONVOY_CONTENTIONS, shape::CONVOY_MEDIAN_NS),
                false => (shape::CONTENTIONS_MEDIAN, shape::BLOCKED_MEDIAN_NS),
            };
            let count = draw.count(usual);
            let durations = draw.durations(count, median_ns * lock.scale * planted, shape::BLOCKED_SPREAD);
            contentions += count;
            blocked_ns += durations.sum_ns;
            max_ns = max_ns.max(durations.max_ns);
        }
        let blocked_ns = blocked_ns / drawn * rows;
        let part = |share: f64| (blocked_ns as f64 * share) as u64;
        let (handoff_ns, pause_ns) = (part(draw.beta(shape::HANDOFF)), part(shape::PAUSED * shape::PAUSE_SHARE));
        let unknown_ns = part((1.0 - shape::PAUSED * shape::PAUSE_SHARE) * shape::NO_OWNER * 0.5);
        let id = u64::from_ne_bytes(lock.site.id.to_ne_bytes());
        let max_ns = max_ns.min(blocked_ns);
        [id, seen, contentions / drawn * rows, blocked_ns, handoff_ns, unknown_ns, pause_ns, max_ns]
    }
}

/// [`OF_LOAD`] of so many JVMs.
fn of_load(draw: &mut Draw, jvms: u64, threads: u64, busy: f64) -> [u64; 7] {
    let covered_ns = jvms * MINUTES * MINUTE_NS;
    let running_ns = (covered_ns as f64 * threads as f64 * draw.between(shape::RUNNING)) as u64;
    let cpu_ns = (running_ns as f64 * draw.between(shape::ON_CPU) * busy) as u64;
    let operations = (draw.whole(shape::OPERATIONS) * jvms * threads * MINUTES) as f64 * busy;
    [jvms, covered_ns, running_ns, cpu_ns, cpu_ns / draw.whole((50, 1_000)), operations as u64, 0]
}
