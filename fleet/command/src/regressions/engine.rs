//! What a search for regressions needs of an engine. Queries have one source for both, [`Reader`]; what differs is where
//! minutes are added up and the changes of locks are estimated: here (`embedded.rs`), or where Spark's workers are
//! (`spark.rs`).

use super::read::{Reader, Versions};
use super::Step;
use crate::failure::Failure;
use crate::views::Dialect;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use headway_regress::{Estimated, Options};

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
