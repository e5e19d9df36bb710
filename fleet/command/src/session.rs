//! Where questions are answered: tables over a store or over recordings, and no way to
//! anything else.
//!
//! Three things keep a query inside. Only queries are planned: no `CREATE`, no `COPY`, no
//! `INSERT`, no `SET`. Names of files are no tables. And the engine knows one object store,
//! that of the question, which reaches nothing but what lies below its place; it has no
//! access to the file system.

use crate::arguments::Days;
use crate::failure::Failure;
use crate::tables::{files, part_name};
use crate::views::{views, Dialect, View};
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as Answer};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use headway_rollup::Rolled;
use headway_store::{batches, empty, Store, Table};
use object_store::ObjectStore;
use std::collections::BTreeMap;
use std::sync::Arc;
use url::Url;

/// The only place that the engine can read from.
const PLACE: &str = "headway://store/";

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

/// A session over a store.
///
/// # Errors
/// The store fails.
pub async fn over_store(store: &Store, memory: usize) -> Result<SessionContext, Failure> {
    let context = context(Some(store.objects()), memory)?;
    let mut files = files(store, &Days::default()).await?;
    for table in Table::ALL {
        let provider: Arc<dyn TableProvider> = match files.remove(&table) {
            None => Arc::new(MemTable::try_new(table.schema(), vec![vec![empty(table)]])?),
            Some(paths) => {
                let urls: Result<_, _> =
                    paths.iter().map(|path| ListingTableUrl::parse(format!("{PLACE}{path}"))).collect();
                let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
                let config = ListingTableConfig::new_with_multi_paths(urls?)
                    .with_listing_options(options)
                    .with_schema(table.schema());
                Arc::new(ListingTable::try_new(config)?)
            }
        };
        context.register_table(part_name(table), provider)?;
    }
    add_views(&context).await?;
    Ok(context)
}

/// A session over what recordings come to.
///
/// # Errors
/// Only an error in Headway.
pub async fn over_recordings(recordings: &[Rolled], memory: usize) -> Result<SessionContext, Failure> {
    let context = context(None, memory)?;
    let mut rows: BTreeMap<Table, Vec<RecordBatch>> = BTreeMap::new();
    for rolled in recordings {
        for (table, batch) in batches(rolled, None)? {
            rows.entry(table).or_default().push(batch);
        }
    }
    for table in Table::ALL {
        let of_table = rows.remove(&table).unwrap_or_else(|| vec![empty(table)]);
        let provider = MemTable::try_new(table.schema(), vec![of_table])?;
        context.register_table(part_name(table), Arc::new(provider))?;
    }
    add_views(&context).await?;
    Ok(context)
}

/// What a query may be.
pub fn only_queries() -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false)
}

fn context(objects: Option<Arc<dyn ObjectStore>>, memory: usize) -> Result<SessionContext, Failure> {
    let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let runtime = RuntimeEnvBuilder::new()
        .with_object_store_registry(Arc::new(OnlyTheStore(objects)))
        .with_disk_manager_builder(no_disk)
        .with_memory_limit(memory.max(16) * 1024 * 1024, 1.0)
        .build_arc()?;
    let config = SessionConfig::new().with_information_schema(true);
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

async fn add_views(context: &SessionContext) -> Result<(), Failure> {
    for View { name, query, .. } in views(Dialect::DataFusion) {
        let view = context.sql(&query).await?.into_view();
        context.register_table(name, view)?;
    }
    Ok(())
}
