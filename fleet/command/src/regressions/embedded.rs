//! A search for regressions by the embedded engine, which reads minutes; they are added up here.
//!
//! The engine could add them up, too, but keeps every sum in a table of hashes, with the names of version and host in
//! each: that takes several times as long as to read the files. [`Minutes`] knows that files are in the order of time.
//!
//! Each part of a query is read and added up by a task, on as many threads as there are processors. While a service is
//! read, the changes of the service before it are estimated; so rows of two services are in memory at most.

use super::engine::{Engine, Observer};
use super::read::{values, Reader, Versions};
use super::Step;
use crate::failure::Failure;
use crate::session::only_queries;
use crate::views::Dialect;
use arrow::array::{AsArray, RecordBatch};
use async_trait::async_trait;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use headway_regress::{estimate, Estimated, Hosts, Minutes, Options, Version};
use std::ops::Range;
use std::sync::Arc;
use tokio::task::{spawn_blocking, JoinError, JoinHandle, JoinSet};

#[async_trait]
impl Engine for SessionContext {
    fn dialect(&self) -> Dialect {
        Dialect::DataFusion
    }

    async fn ask(&self, query: &str) -> Result<Vec<RecordBatch>, Failure> {
        Ok(self.sql_with_options(query, only_queries()).await?.collect().await?)
    }

    async fn estimate(
        &self,
        reader: &Reader<'_>,
        pairs: &[Versions],
        options: &Options,
        at: &Observer<'_>,
    ) -> Result<Vec<Estimated>, Failure> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let hosts = Arc::new(Hosts::of(reader.hosts_of_jvms().await?));
        let mut estimated = Vec::new();
        let mut before: Option<JoinHandle<Estimated>> = None;
        for (place, pair) in pairs.iter().enumerate() {
            at(Step::Reading { service: pair.service(), number: place + 1, of: pairs.len() });
            let parts = minutes(self, reader, pair, &hosts).await?;
            let (service, versions) = (pair.service().to_owned(), pair.versions().map(str::to_owned));
            let options = *options;
            let next = spawn_blocking(move || {
                let [old, new] = &versions;
                // What the sums take counts until they are estimated.
                let (parts, memory): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                let estimated = estimate(&Minutes::finish(parts, &service, old, new), &options);
                drop(memory);
                estimated
            });
            if let Some(before) = before.replace(next) {
                estimated.push(before.await.map_err(failed)?);
            }
        }
        at(Step::Comparing);
        if let Some(last) = before {
            estimated.push(last.await.map_err(failed)?);
        }
        Ok(estimated)
    }
}

/// A part of what two versions did, and the memory that it takes from the bound of the session.
type Part = (Minutes, MemoryReservation);

/// What two versions did, in parts.
async fn minutes(
    session: &SessionContext,
    reader: &Reader<'_>,
    pair: &Versions,
    hosts: &Arc<Hosts>,
) -> Result<Vec<Part>, Failure> {
    let mut parts = added_up(session, &reader.load_minutes(pair), pair, hosts, add_load).await?;
    parts.extend(added_up(session, &reader.blocked_minutes(pair), pair, hosts, add_blocked).await?);
    Ok(parts)
}

/// Adds rows of one version, whose columns these are after the first.
type Add = fn(&mut Minutes, Version, [&[i64]; 4]);

fn add_load(to: &mut Minutes, version: Version, [jvms, times, running, operations]: [&[i64]; 4]) {
    to.load(version, jvms, times, running, operations);
}

fn add_blocked(to: &mut Minutes, version: Version, [jvms, times, sites, blocked]: [&[i64]; 4]) {
    to.blocked(version, jvms, times, sites, blocked);
}

/// Adds up a query's rows, each part of them by a task. The first column says whether a row is of the newer version.
async fn added_up(
    session: &SessionContext,
    query: &str,
    pair: &Versions,
    hosts: &Arc<Hosts>,
    add: Add,
) -> Result<Vec<Part>, Failure> {
    let rows = session.sql_with_options(query, only_queries()).await?;
    let mut tasks = JoinSet::new();
    for mut rows in rows.execute_stream_partitioned().await? {
        let mut minutes = Minutes::new(hosts.clone(), pair.slot_minutes());
        // The bound of memory is that of the query, too.
        let memory = MemoryConsumer::new("sums of minutes").register(&session.runtime_env().memory_pool);
        tasks.spawn(async move {
            while let Some(batch) = rows.next().await {
                let batch = batch?;
                let [jvms, times, third, fourth] = [1, 2, 3, 4].map(|column| values(&batch, column));
                let columns = [jvms?, times?, third?, fourth?];
                for (version, range) in runs(&batch)? {
                    add(&mut minutes, version, columns.each_ref().map(|column| &column[range.clone()]));
                }
                memory.try_resize(minutes.bytes())?;
            }
            Ok::<_, Failure>((minutes, memory))
        });
    }
    let mut parts = Vec::new();
    while let Some(part) = tasks.join_next().await {
        parts.push(part.map_err(failed)??);
    }
    Ok(parts)
}

/// Rows of one version that stand next to each other. While JVMs change to another version, runs are short.
fn runs(batch: &RecordBatch) -> Result<Vec<(Version, Range<usize>)>, Failure> {
    let is_new = batch.column(0).as_boolean_opt();
    let is_new = is_new.ok_or_else(|| Failure::Failed("a query's answer does not say which version".into()))?;
    let mut runs: Vec<(Version, Range<usize>)> = Vec::new();
    let mut add = |is_new: bool, range: Range<usize>| {
        let version = if is_new { Version::New } else { Version::Old };
        if !range.is_empty() {
            runs.push((version, range));
        }
    };
    let mut end = 0;
    for (first, after) in is_new.values().set_slices() {
        add(false, end..first);
        add(true, first..after);
        end = after;
    }
    add(false, end..batch.num_rows());
    Ok(runs)
}

/// Only an error in Headway: a task that panicked.
fn failed(error: JoinError) -> Failure {
    Failure::Failed(format!("the comparison failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::read::{numbers, texts, times, Chosen, Scope};
    use super::*;
    use crate::arguments::{Arguments, Command, Fleet, Search, Task};
    use crate::session::over_store;
    use clap::Parser;
    use headway_generator::{fill, Plan, Spec};
    use headway_regress::{Pair, PairBuilder};
    use headway_store::Store;

    fn search() -> Search {
        let words = ["headway-fleet", "fleet", "regressions", "--store", "rows"];
        match Arguments::try_parse_from(words).expect("a command").command {
            Command::Fleet(Fleet { task: Task::Regressions(asked) }) => asked.search,
            _ => panic!("{words:?}"),
        }
    }

    /// The same sums by the queries that Spark runs.
    async fn by_queries(reader: &Reader<'_>, pair: &Versions) -> Pair {
        let scope = Scope {
            keys: "l.version".into(),
            join: String::new(),
            slot: format!("date_trunc('{}', l.ts)", pair.slot()),
            condition: pair.condition(Dialect::DataFusion),
        };
        let [old, new] = pair.versions();
        let version = |name: &String| if name == new { Version::New } else { Version::Old };
        let minute = |us: i64| us as u64 / 60_000_000;
        let mut sums = PairBuilder::default();
        for rows in reader.engine.ask(&reader.load(&scope)).await.expect("load") {
            let (versions, hosts, slots) = (texts(&rows, 0), texts(&rows, 1), times(&rows, 2).expect("times"));
            let (versions, hosts) = (versions.expect("versions"), hosts.expect("hosts"));
            let (running, operations) = (numbers(&rows, 3).expect("numbers"), numbers(&rows, 4).expect("numbers"));
            for row in 0..rows.num_rows() {
                let (of, at) = (version(&versions[row]), minute(slots[row]));
                sums.load(of, &hosts[row], at, running[row] as u64, operations[row] as u64);
            }
        }
        for rows in reader.engine.ask(&reader.blocked(&scope)).await.expect("blocked time") {
            let (versions, hosts, slots) = (texts(&rows, 0), texts(&rows, 1), times(&rows, 2).expect("times"));
            let (versions, hosts) = (versions.expect("versions"), hosts.expect("hosts"));
            let (sites, blocked) = (numbers(&rows, 3).expect("numbers"), numbers(&rows, 4).expect("numbers"));
            for row in 0..rows.num_rows() {
                let (of, at) = (version(&versions[row]), minute(slots[row]));
                sums.blocked(of, &hosts[row], at, sites[row], blocked[row] as u64);
            }
        }
        sums.finish(pair.service(), old, new)
    }

    /// Sums of each service, with the length of their slots, by both.
    async fn both(spec: Spec, compacts: bool, slot: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        fill(&store, &Plan::of(&spec).expect("a plan"), compacts, |_, _| {}).await.expect("rows");
        let session = over_store(&store, 512).await.expect("a session");
        let reader = Reader { engine: &session, environment: None };
        let Chosen { pairs, .. } = reader.choose(&search()).await.expect("versions");
        assert_eq!(pairs.len(), spec.services as usize);
        let hosts = Arc::new(Hosts::of(reader.hosts_of_jvms().await.expect("hosts")));
        for pair in &pairs {
            assert_eq!(pair.slot(), slot);
            let parts = minutes(&session, &reader, pair, &hosts).await.expect("minutes");
            let parts = parts.into_iter().map(|(part, _)| part).collect();
            let [old, new] = pair.versions();
            let (here, there) = (Minutes::finish(parts, pair.service(), old, new), by_queries(&reader, pair).await);
            assert_eq!(format!("{here:?}"), format!("{there:?}"));
            let estimated = estimate(&here, &Options { min_share: 0.0, ..Options::default() });
            assert!(format!("{estimated:?}").contains("site"), "{estimated:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn minutes_come_to_the_sums_of_the_queries() {
        let spec = Spec { services: 2, hosts: 5, jvms: 12, sites: 8, busy: 4.0, versions: 2, ..Spec::default() };
        for compacts in [false, true] {
            both(Spec { days: 6, minutes: 90, ..spec.clone() }, compacts, "hour").await;
            both(Spec { days: 2, minutes: 40, ..spec.clone() }, compacts, "minute").await;
        }
    }

    #[tokio::test]
    async fn sums_that_need_more_memory_than_is_left_end_the_search_with_a_sentence() {
        let spec = Spec { services: 1, hosts: 5, jvms: 12, sites: 8, versions: 2, days: 2, ..Spec::default() };
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        let spec = Spec { minutes: 40, ..spec };
        fill(&store, &Plan::of(&spec).expect("a plan"), true, |_, _| {}).await.expect("rows");
        let session = over_store(&store, 64).await.expect("a session");
        let pool = session.runtime_env().memory_pool.clone();
        let reader = Reader { engine: &session, environment: None };
        let Chosen { pairs, .. } = reader.choose(&search()).await.expect("versions");
        let hosts = Arc::new(Hosts::of(reader.hosts_of_jvms().await.expect("hosts")));
        assert!(minutes(&session, &reader, &pairs[0], &hosts).await.is_ok());
        assert_eq!(pool.reserved(), 0);
        let others = MemoryConsumer::new("others").register(&pool);
        others.try_resize(64 << 20).expect("all of it");
        let failure = minutes(&session, &reader, &pairs[0], &hosts).await.map(|_| ()).expect_err("no memory");
        assert!(failure.to_string().starts_with("the query needs more memory than --memory allows. "), "{failure}");
    }

    #[test]
    fn rows_of_a_version_are_runs() {
        use arrow::array::{ArrayRef, BooleanArray};
        let of = |is_new: Vec<bool>| {
            let column: ArrayRef = Arc::new(BooleanArray::from(is_new));
            runs(&RecordBatch::try_from_iter([("is_new", column)]).expect("a batch")).expect("runs")
        };
        let (old, new) = (Version::Old, Version::New);
        assert_eq!(of(vec![true, true]), [(new, 0..2)]);
        assert_eq!(of(vec![false]), [(old, 0..1)]);
        assert_eq!(of(vec![false, true, true, false]), [(old, 0..1), (new, 1..3), (old, 3..4)]);
        assert!(of(Vec::new()).is_empty());
    }
}
