//! What a search for regressions needs of an engine. Queries have one source for both, [`Reader`]; what differs is where
//! the changes of locks are estimated: here, or where Spark's workers are (`spark.rs`).

use super::read::{Reader, Versions};
use super::Step;
use crate::failure::Failure;
use crate::session::only_queries;
use crate::views::Dialect;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use headway_regress::{estimate, Estimated, Options};

/// Who follows a search.
pub type Observer<'a> = dyn for<'s> Fn(Step<'s>) + Sync + 'a;

/// Has the tables and views of a store.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Its language.
    fn dialect(&self) -> Dialect;

    /// The answer to a query.
    async fn ask(&self, query: &str) -> Result<Vec<RecordBatch>, Failure>;

    /// Reads the rows of services and estimates what their locks did, in the order of the services.
    async fn estimate(
        &self,
        reader: &Reader<'_>,
        pairs: &[Versions],
        options: &Options,
        at: &Observer<'_>,
    ) -> Result<Vec<Estimated>, Failure>;
}

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
        let mut rows = Vec::new();
        for (place, pair) in pairs.iter().enumerate() {
            at(Step::Reading { service: pair.service(), number: place + 1, of: pairs.len() });
            rows.push(reader.rows(pair).await?);
        }
        at(Step::Comparing);
        // Seconds of arithmetic: other tasks of this thread go on elsewhere.
        Ok(tokio::task::block_in_place(|| rows.iter().map(|pair| estimate(pair, options)).collect()))
    }
}
