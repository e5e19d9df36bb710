//! Where questions are answered: tables over a store or over recordings, and no way to
//! anything else.
//!
//! Three things keep a query inside. Only queries are planned: no `CREATE`, no `COPY`, no
//! `INSERT`, no `SET`. Names of files are no tables. And the engine knows one object store,
//! that of the question, which reaches nothing but what lies below its place; it has no
//! access to the file system.

use crate::arguments::Days;
use crate::failure::Failure;
use crate::files::{in_memory, FileTable, StoredFile};
use crate::memory::limit;
use crate::tables::{files, Source};
use crate::top::TopSites;
use crate::views::{view, views, Dialect, View};
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::error::{DataFusionError, Result as Answer};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::in_subquery;
use datafusion::prelude::{col, lit, Expr, SQLOptions, SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use headway_rollup::Rolled;
use headway_store::{batches, Store, Table};
use object_store::path::Path;
use object_store::ObjectStore;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use url::Url;

/// The only place that the engine can read from.
pub const PLACE: &str = "headway://store/";

const HOUR_US: i64 = 3_600 * 1_000_000;

/// Hands out the store of the question and nothing else.
#[derive(Debug)]
struct OnlyTheStore(Option<Arc<dyn ObjectStore>>);

impl ObjectStoreRegistry for OnlyTheStore {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Answer<Arc<dyn ObjectStore>> {
        let known = self.0.as_ref().filter(|_| url.scheme() == "headway");
        known.cloned().ok_or_else(|| DataFusionError::Plan(format!("{url} is outside of what the question is about")))
    }
}

/// The tables of a store or of recordings, from which sessions are made. All its sessions together keep one bound of
/// memory.
pub struct Database {
    runtime: Arc<RuntimeEnv>,
    tables: Vec<(Source, Arc<dyn TableProvider>)>,
}

/// The rows that a session has: all, unless something is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// Of this service.
    pub service: Option<String>,
    /// Of this version.
    pub version: Option<String>,
    /// Of JVMs on this host.
    pub host: Option<String>,
    /// From this moment on, in microseconds since the Unix epoch.
    pub from_us: Option<i64>,
    /// Before this moment.
    pub to_us: Option<i64>,
}

/// A session over a store.
///
/// # Errors
/// The store fails.
pub async fn over_store(store: &Store, memory: usize) -> Result<SessionContext, Failure> {
    Database::of_store(store, memory).await?.session(&Only::default()).await
}

/// A session over what recordings come to.
///
/// # Errors
/// Only an error in Headway.
pub async fn over_recordings(recordings: &[Rolled], memory: usize) -> Result<SessionContext, Failure> {
    Database::of_recordings(recordings, memory)?.session(&Only::default()).await
}

impl Database {
    /// Those of a store, with the files that it has now.
    ///
    /// # Errors
    /// The store fails.
    pub async fn of_store(store: &Store, memory: usize) -> Result<Database, Failure> {
        Database::of_files(store, files(store, &Days::default()).await?, memory)
    }

    /// Tables with these files of a store.
    ///
    /// # Errors
    /// Only an error in Headway.
    pub fn of_files(store: &Store, files: Vec<(Source, Vec<StoredFile>)>, memory: usize) -> Result<Database, Failure> {
        let all = files.iter().flat_map(|(_, files)| files);
        let bytes = all.map(|file| (Path::from(file.path.as_str()), file.bytes)).collect();
        let table = |(source, files): (Source, Vec<StoredFile>)| -> (Source, Arc<dyn TableProvider>) {
            (source, Arc::new(FileTable::new(source.table(), files)))
        };
        let tables = files.into_iter().map(table).collect();
        Ok(Database { runtime: runtime(Some(store.objects(bytes)), memory)?, tables })
    }

    fn of_recordings(recordings: &[Rolled], memory: usize) -> Result<Database, Failure> {
        let mut rows: BTreeMap<Table, Vec<RecordBatch>> = BTreeMap::new();
        for rolled in recordings {
            for (table, batch) in batches(rolled, None)? {
                rows.entry(table).or_default().push(batch);
            }
        }
        let mut tables: Vec<(Source, Arc<dyn TableProvider>)> = Vec::new();
        for source in Source::all() {
            // Of these, no hours are kept.
            let table = source.table();
            tables.push((source, in_memory(table, rows.get(&table).map_or(&[], Vec::as_slice))?));
        }
        Ok(Database { runtime: runtime(None, memory)?, tables })
    }

    /// A session in which tables have only these rows, and so have all views.
    ///
    /// # Errors
    /// Only an error in Headway.
    pub async fn session(&self, only: &Only) -> Result<SessionContext, Failure> {
        let config = SessionConfig::new().with_information_schema(true);
        let context = SessionContext::new_with_config_rt(config, self.runtime.clone());
        for (source, provider) in &self.tables {
            let provider = match source {
                // Minutes stand for all hours then.
                Source::All(table @ (Table::LockHour | Table::LoadHour)) if only.cuts_hours() => {
                    context.register_table(source.name(), in_memory(*table, &[])?)?;
                    continue;
                }
                Source::Open(_) if only.cuts_hours() => self.provider(source.table())?,
                _ => provider.clone(),
            };
            let provider = match self.condition(&context, source.table(), only)? {
                None => provider,
                Some(condition) => context.read_table(provider)?.filter(condition)?.into_view(),
            };
            context.register_table(source.name(), provider)?;
        }
        add_views(&context).await?;
        Ok(context)
    }

    /// The answer to a view's own query.
    ///
    /// # Errors
    /// There is no such view, or a file cannot be read.
    pub async fn of_view(&self, name: &str) -> Result<Vec<RecordBatch>, Failure> {
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), self.runtime.clone());
        for (source, provider) in &self.tables {
            context.register_table(source.name(), provider.clone())?;
        }
        let missing = || Failure::Failed(format!("there is no view {name}"));
        let view = view(name, Dialect::DataFusion).ok_or_else(missing)?;
        Ok(context.sql(&view.query).await?.collect().await?)
    }

    /// Which rows of a table count; `None` if all do.
    fn condition(&self, context: &SessionContext, table: Table, only: &Only) -> Result<Option<Expr>, Failure> {
        let is = |column: &str, value: &Option<String>| value.as_ref().map(|value| col(column).eq(lit(value.clone())));
        let mut conditions = vec![is("service", &only.service)];
        match table {
            Table::Site | Table::Stack => {}
            Table::Jvm => conditions.extend([is("version", &only.version), is("host", &only.host)]),
            _ => {
                conditions.push(is("version", &only.version));
                conditions.push(only.from_us.map(|us| col("ts").gt_eq(moment(us))));
                conditions.push(only.to_us.map(|us| col("ts").lt(moment(us))));
                if let Some(host) = is("host", &only.host) {
                    let jvms = context.read_table(self.provider(Table::Jvm)?)?.filter(host)?;
                    let jvms = jvms.select(vec![col("jvm_id")])?.into_unoptimized_plan();
                    conditions.push(Some(in_subquery(col("jvm_id"), Arc::new(jvms))));
                }
            }
        }
        Ok(conditions.into_iter().flatten().reduce(Expr::and))
    }

    fn provider(&self, wanted: Table) -> Result<Arc<dyn TableProvider>, Failure> {
        let found = self.tables.iter().find(|(source, _)| *source == Source::All(wanted));
        let missing = || Failure::Failed(format!("there is no table {}", wanted.name()));
        found.map(|(_, provider)| provider.clone()).ok_or_else(missing)
    }
}

impl Only {
    /// True if it leaves parts of hours, so that hours say too much.
    fn cuts_hours(&self) -> bool {
        let is_within = |us: &Option<i64>| us.is_some_and(|us| us.rem_euclid(HOUR_US) != 0);
        self.host.is_some() || is_within(&self.from_us) || is_within(&self.to_us)
    }
}

fn moment(us: i64) -> Expr {
    lit(ScalarValue::TimestampMicrosecond(Some(us), Some("UTC".into())))
}

/// What a query may be.
pub fn only_queries() -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false)
}

fn runtime(objects: Option<Arc<dyn ObjectStore>>, memory: usize) -> Result<Arc<RuntimeEnv>, Failure> {
    let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let runtime = RuntimeEnvBuilder::new()
        .with_object_store_registry(Arc::new(OnlyTheStore(objects)))
        .with_disk_manager_builder(no_disk)
        .with_memory_limit(limit(memory), 1.0)
        .build_arc()?;
    Ok(runtime)
}

async fn add_views(context: &SessionContext) -> Result<(), Failure> {
    for View { name, query, .. } in views(Dialect::DataFusion) {
        let view = context.sql(&query).await?.into_view();
        context.register_table(name, view)?;
    }
    TopSites::replace(context).await?;
    Ok(())
}
