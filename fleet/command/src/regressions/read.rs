//! Rows for the comparison, read by queries that only add up integers.

use super::engine::Engine;
use crate::arguments::Search;
use crate::failure::Failure;
use crate::views::Dialect;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::buffer::ScalarBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

const HOUR_US: i64 = 3_600_000_000;
const DAY_US: i64 = 24 * HOUR_US;
/// Versions that both have more than this are read hour by hour, else minute by minute.
const MANY_HOURS: i64 = 6;

/// Asks an engine.
pub struct Reader<'a> {
    /// Has the store's tables.
    pub engine: &'a dyn Engine,
    /// Only JVMs of this environment.
    pub environment: Option<&'a str>,
}

/// When a version ran, in microseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    version: String,
    first_us: i64,
    last_us: i64,
}

/// Two versions of a service, and the time that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    service: String,
    old: Span,
    new: Span,
    from_us: i64,
    to_us: i64,
}

/// Which minutes the sums are of, and what they are sums by beside host and slot of time.
pub struct Scope {
    /// Columns.
    pub keys: String,
    /// A table beside that of minutes, with how they are joined.
    pub join: String,
    /// The slot of a minute.
    pub slot: String,
    /// Which minutes.
    pub condition: String,
}

/// What is compared.
#[derive(Debug)]
pub struct Chosen {
    /// Services with two versions.
    pub pairs: Vec<Versions>,
    /// Services with one.
    pub single_version: Vec<String>,
}

impl Reader<'_> {
    async fn ask(&self, query: &str) -> Result<Vec<RecordBatch>, Failure> {
        self.engine.ask(query).await
    }

    fn dialect(&self) -> Dialect {
        self.engine.dialect()
    }

    /// The JVMs that count, with their hosts.
    fn hosts(&self) -> String {
        let only = self
            .environment
            .map(|name| format!("WHERE environment = {} ", self.dialect().text(name)))
            .unwrap_or_default();
        format!("(SELECT jvm_id, max(host) AS host FROM jvm {only}GROUP BY jvm_id)")
    }

    /// Services and versions that are compared: those that were asked for, else each service's newest version
    /// and the one that appeared before it.
    pub async fn choose(&self, asked: &Search) -> Result<Chosen, Failure> {
        let query = format!(
            "SELECT l.service, l.version, min(l.first_ts) AS first_ts, max(l.last_ts) AS last_ts
             FROM (SELECT service, version, jvm_id, min(ts) AS first_ts, max(ts) AS last_ts
                   FROM load_minute GROUP BY service, version, jvm_id) l
             JOIN {} j ON j.jvm_id = l.jvm_id
             GROUP BY l.service, l.version",
            self.hosts()
        );
        let mut services: BTreeMap<String, Vec<Span>> = BTreeMap::new();
        for batch in self.ask(&query).await? {
            let (names, versions) = (texts(&batch, 0)?, texts(&batch, 1)?);
            let (first, last) = (times(&batch, 2)?, times(&batch, 3)?);
            for row in 0..batch.num_rows() {
                let (version, first_us, last_us) = (versions[row].clone(), first[row], last[row]);
                services.entry(names[row].clone()).or_default().push(Span { version, first_us, last_us });
            }
        }
        if let Some(service) = asked.service.as_ref().filter(|service| !services.contains_key(*service)) {
            return Err(Failure::Usage(format!("the store has no rows of service {service}")));
        }
        services.retain(|name, _| asked.service.as_ref().is_none_or(|service| service == name));
        choose(services, asked)
    }

    /// The JVMs that count, with the names of their hosts.
    pub async fn hosts_of_jvms(&self) -> Result<Vec<(i64, String)>, Failure> {
        let mut hosts = Vec::new();
        for batch in self.ask(&self.hosts()).await? {
            hosts.extend(numbers(&batch, 0)?.into_iter().zip(texts(&batch, 1)?));
        }
        Ok(hosts)
    }

    /// Running time and operations of two versions, a row for each JVM and minute; JVMs that do not count are among
    /// them.
    pub fn load_minutes(&self, versions: &Versions) -> String {
        self.minutes("load_minute", "l.running_ns, l.operations", versions)
    }

    /// Their blocked time, likewise, by lock.
    pub fn blocked_minutes(&self, versions: &Versions) -> String {
        self.minutes("lock_minute", "l.site_id, l.blocked_ns", versions)
    }

    fn minutes(&self, table: &str, values: &str, versions: &Versions) -> String {
        let (new, condition) = (self.dialect().text(&versions.new.version), versions.condition(self.dialect()));
        format!("SELECT l.version = {new} AS is_new, l.jvm_id, l.ts, {values} FROM {table} l WHERE {condition}")
    }

    /// Sums of running time and operations, a row for each key of the scope, host and slot.
    pub fn load(&self, scope: &Scope) -> String {
        let Scope { keys, join, slot, condition } = scope;
        format!(
            "SELECT {keys}, j.host, {slot} AS slot, sum(l.running_ns) AS running_ns, sum(l.operations) AS operations
             FROM load_minute l JOIN {} j ON j.jvm_id = l.jvm_id {join} WHERE {condition}
             GROUP BY {keys}, j.host, {slot}",
            self.hosts()
        )
    }

    /// Sums of blocked time, a row for each key of the scope, host, slot and lock.
    pub fn blocked(&self, scope: &Scope) -> String {
        let Scope { keys, join, slot, condition } = scope;
        format!(
            "SELECT {keys}, j.host, {slot} AS slot, l.site_id, sum(l.blocked_ns) AS blocked_ns
             FROM lock_minute l JOIN {} j ON j.jvm_id = l.jvm_id {join} WHERE {condition}
             GROUP BY {keys}, j.host, {slot}, l.site_id",
            self.hosts()
        )
    }

    /// Name, class and kind of locks.
    pub async fn names(&self, sites: &BTreeSet<i64>) -> Result<BTreeMap<i64, [String; 3]>, Failure> {
        let mut names = BTreeMap::new();
        if sites.is_empty() {
            return Ok(names);
        }
        let query = format!("SELECT site_id, lock, class, kind FROM site WHERE site_id IN ({})", listed(sites));
        for batch in self.ask(&query).await? {
            let (ids, locks) = (numbers(&batch, 0)?, texts(&batch, 1)?);
            let (classes, kinds) = (texts(&batch, 2)?, texts(&batch, 3)?);
            for row in 0..batch.num_rows() {
                names.insert(ids[row], [locks[row].clone(), classes[row].clone(), kinds[row].clone()]);
            }
        }
        Ok(names)
    }

    /// Of each lock the stacks with most blocked time in the newer version, the waiters' and the owners'.
    pub async fn stacks(
        &self,
        versions: &Versions,
        sites: &BTreeSet<i64>,
    ) -> Result<BTreeMap<i64, [Option<i64>; 2]>, Failure> {
        let mut stacks: BTreeMap<i64, [Option<i64>; 2]> = BTreeMap::new();
        if sites.is_empty() {
            return Ok(stacks);
        }
        let query = format!(
            "SELECT l.site_id, l.waiter_stack, l.owner_stack, sum(l.blocked_ns) AS ns
             FROM lock_minute l JOIN {} j ON j.jvm_id = l.jvm_id
             WHERE {} AND l.version = {} AND l.site_id IN ({})
             GROUP BY l.site_id, l.waiter_stack, l.owner_stack",
            self.hosts(),
            versions.condition(self.dialect()),
            self.dialect().text(&versions.new.version),
            listed(sites),
        );
        // By lock and stack, of waiters and of owners.
        let mut sums: [BTreeMap<(i64, i64), i64>; 2] = Default::default();
        for batch in self.ask(&query).await? {
            let (ids, blocked) = (numbers(&batch, 0)?, numbers(&batch, 3)?);
            for (place, sums) in sums.iter_mut().enumerate() {
                for (row, stack) in maybe_numbers(&batch, 1 + place)?.into_iter().enumerate() {
                    if let Some(stack) = stack {
                        let sum = sums.entry((ids[row], stack)).or_default();
                        *sum = sum.saturating_add(blocked[row]);
                    }
                }
            }
        }
        for (place, sums) in sums.into_iter().enumerate() {
            let mut longest: BTreeMap<i64, (i64, Reverse<i64>)> = BTreeMap::new();
            for ((site, stack), ns) in sums {
                let this = (ns, Reverse(stack));
                longest.entry(site).and_modify(|longest| *longest = this.max(*longest)).or_insert(this);
            }
            for (site, (_, Reverse(stack))) in longest {
                stacks.entry(site).or_default()[place] = Some(stack);
            }
        }
        Ok(stacks)
    }

    /// The frames of stacks.
    pub async fn frames(&self, stacks: &BTreeSet<i64>) -> Result<BTreeMap<i64, Vec<String>>, Failure> {
        let mut of_stacks = BTreeMap::new();
        if stacks.is_empty() {
            return Ok(of_stacks);
        }
        let query = format!("SELECT stack_id, frames FROM stack WHERE stack_id IN ({})", listed(stacks));
        for batch in self.ask(&query).await? {
            let ids = numbers(&batch, 0)?;
            let frames = batch.column(1).as_list_opt::<i32>().ok_or_else(|| unexpected(&batch, 1))?;
            for (row, id) in ids.into_iter().enumerate() {
                of_stacks.insert(id, texts_of(&frames.value(row))?);
            }
        }
        Ok(of_stacks)
    }
}

/// Picks the versions of each service, by when they appeared.
fn choose(services: BTreeMap<String, Vec<Span>>, asked: &Search) -> Result<Chosen, Failure> {
    let mut chosen = Chosen { pairs: Vec::new(), single_version: Vec::new() };
    let mut is_anywhere = [asked.old.is_none(), asked.new.is_none()];
    for (service, mut spans) in services {
        spans.sort_by(|a, b| (a.first_us, &a.version).cmp(&(b.first_us, &b.version)));
        let place = |version: &String| spans.iter().position(|span| span.version == *version);
        let (old, new) = (asked.old.as_ref().map(place), asked.new.as_ref().map(place));
        is_anywhere[0] |= old.flatten().is_some();
        is_anywhere[1] |= new.flatten().is_some();
        let newest = spans.len() - 1;
        let new = match (new, old) {
            (Some(asked), _) => asked,
            // The newest that is not the old one.
            (None, Some(Some(old))) if old == newest => newest.checked_sub(1),
            (None, _) => Some(newest),
        };
        let old = old.unwrap_or_else(|| new.and_then(|new| new.checked_sub(1)));
        match (old, new) {
            (Some(old), Some(new)) if old != new => {
                chosen.pairs.push(Versions::new(service, &spans[old], &spans[new], asked.days));
            }
            _ if spans.len() == 1 => chosen.single_version.push(service),
            _ => {}
        }
    }
    for (version, is_anywhere) in [&asked.old, &asked.new].into_iter().zip(is_anywhere) {
        if let Some(version) = version.as_ref().filter(|_| !is_anywhere) {
            let of = asked.service.as_ref().map(|service| format!(" of service {service}")).unwrap_or_default();
            return Err(Failure::Usage(format!("the store has no rows{of} with version {version}")));
        }
    }
    Ok(chosen)
}

impl Versions {
    /// The days before the later version appeared, or before the other one ended if that was earlier, and
    /// the days since.
    fn new(service: String, old: &Span, new: &Span, days: u32) -> Versions {
        let (earlier, later) = if old.first_us <= new.first_us { (old, new) } else { (new, old) };
        let days_us = i64::from(days) * DAY_US;
        let from_us = later.first_us.min(earlier.last_us).saturating_sub(days_us);
        let to_us = later.first_us.saturating_add(days_us);
        Versions { service, old: old.clone(), new: new.clone(), from_us, to_us }
    }

    /// Whose they are.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// The older and the newer version.
    pub fn versions(&self) -> [&str; 2] {
        [&self.old.version, &self.new.version]
    }

    /// The time that is read, in microseconds since the Unix epoch: from the first moment on, before the second.
    pub fn time_us(&self) -> [i64; 2] {
        [self.from_us, self.to_us]
    }

    /// Which rows are read.
    pub fn condition(&self, dialect: Dialect) -> String {
        format!(
            "l.service = {} AND l.version IN ({}, {}) AND l.ts >= {} AND l.ts < {}",
            dialect.text(&self.service),
            dialect.text(&self.old.version),
            dialect.text(&self.new.version),
            dialect.time(self.from_us),
            dialect.time(self.to_us),
        )
    }

    /// How finely they are read.
    pub fn slot(&self) -> &'static str {
        let length = |span: &Span| span.last_us.min(self.to_us) - span.first_us.max(self.from_us);
        match length(&self.old).min(length(&self.new)) >= MANY_HOURS * HOUR_US {
            true => "hour",
            false => "minute",
        }
    }

    /// The same in minutes.
    pub fn slot_minutes(&self) -> u64 {
        match self.slot() {
            "hour" => 60,
            _ => 1,
        }
    }
}

fn listed(ids: &BTreeSet<i64>) -> String {
    ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

pub fn texts(batch: &RecordBatch, column: usize) -> Result<Vec<String>, Failure> {
    texts_of(batch.column(column))
}

fn texts_of(array: &dyn Array) -> Result<Vec<String>, Failure> {
    let failed = |error| Failure::Failed(format!("a query's answer has no text where names belong: {error}"));
    let array = cast(array, &DataType::Utf8).map_err(failed)?;
    Ok(array.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_owned()).collect())
}

pub fn numbers(batch: &RecordBatch, column: usize) -> Result<Vec<i64>, Failure> {
    Ok(maybe_numbers(batch, column)?.into_iter().map(Option::unwrap_or_default).collect())
}

fn maybe_numbers(batch: &RecordBatch, column: usize) -> Result<Vec<Option<i64>>, Failure> {
    let array = batch.column(column).as_primitive_opt::<Int64Type>().ok_or_else(|| unexpected(batch, column))?;
    Ok(array.iter().collect())
}

/// Numbers, or times in microseconds, of a column in which every row has one.
pub fn values(batch: &RecordBatch, column: usize) -> Result<ScalarBuffer<i64>, Failure> {
    let array = batch.column(column);
    let numbers = array.as_primitive_opt::<Int64Type>().map(|array| array.values().clone());
    let times = || array.as_primitive_opt::<TimestampMicrosecondType>().map(|array| array.values().clone());
    let values = numbers.or_else(times).filter(|_| array.null_count() == 0);
    values.ok_or_else(|| unexpected(batch, column))
}

pub fn times(batch: &RecordBatch, column: usize) -> Result<Vec<i64>, Failure> {
    let array = batch.column(column).as_primitive_opt::<TimestampMicrosecondType>();
    Ok(array.ok_or_else(|| unexpected(batch, column))?.iter().map(Option::unwrap_or_default).collect())
}

fn unexpected(batch: &RecordBatch, column: usize) -> Failure {
    Failure::Failed(format!("a query's column {column} is {}", batch.column(column).data_type()))
}
