//! A fleet into a store, day by day.

use crate::plan::Plan;
use headway_store::{Day, Store, StoreError};
use std::time::Duration;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Batches: a JVM's day each.
    pub batches: u64,
    /// Rows, as delivered.
    pub rows: u64,
    /// Rows of `lock_minute` among them.
    pub lock_rows: u64,
}

/// Delivers a fleet's rows through the store's own protocol, a batch for each JVM and day. With `compacts`, each
/// day is compacted when it is complete, and the files that were compacted are deleted at once: nobody else may use
/// the store meanwhile. `after` hears of each day that is complete.
///
/// # Errors
/// The store fails, or has other rows of one of these JVMs.
pub async fn fill(
    store: &Store,
    plan: &Plan,
    compacts: bool,
    mut after: impl FnMut(Day, Filled),
) -> Result<Filled, StoreError> {
    let mut filled = Filled::default();
    for day in plan.days() {
        for rolled in plan.services().flat_map(|service| plan.rows(service, day)) {
            let delivered = store.deliver(&rolled).await?;
            filled.batches += delivered.new.len() as u64;
            filled.rows += delivered.rows;
            filled.lock_rows += if delivered.new.is_empty() { 0 } else { rolled.locks.len() as u64 };
        }
        if compacts {
            store.compact(day).await?;
            store.tidy_older_than(Duration::ZERO).await?;
        }
        after(day, filled);
    }
    Ok(filled)
}
