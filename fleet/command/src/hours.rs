//! Hours kept beside the minutes of a store, so that questions about months read hours.

use crate::failure::Failure;
use crate::files::StoredFile;
use crate::session::Database;
use crate::tables::Source;
use headway_store::{Day, Hours, Snapshot, Store, StoreError, Table};

/// How often a rollup begins again because somebody else changed the day.
const TRIES: u32 = 5;
/// Memory for the minutes of a bucket, in MiB.
const MEMORY: usize = 1024;

/// Makes the hours of a day's buckets that have none. Gives how many buckets that were.
///
/// # Errors
/// The store fails, or others keep changing the day.
pub async fn roll_up(store: &Store, day: Day) -> Result<usize, Failure> {
    for _ in 0..TRIES {
        let snapshot = store.snapshot(day).await?;
        let buckets = snapshot.without_hours();
        if buckets.is_empty() {
            return Ok(0);
        }
        let mut written = Vec::new();
        for bucket in &buckets {
            match write(store, &snapshot, *bucket).await {
                Ok(hours) => written.push(hours),
                Err(failure) => {
                    store.discard_hours(&written).await?;
                    return Err(failure);
                }
            }
        }
        if store.put_hours(&snapshot, written).await? {
            return Ok(buckets.len());
        }
    }
    Err(StoreError::Contended(day).into())
}

async fn write(store: &Store, snapshot: &Snapshot, bucket: u64) -> Result<Hours, Failure> {
    let mut tables = Vec::new();
    for table in Table::HOURS {
        let source = Source::Open(table);
        let files = snapshot.files().filter(|file| file.bucket == bucket && file.table() == Some(source.table()));
        let files = files.map(|file| StoredFile::of(snapshot.day, file));
        let minutes = Database::of_files(store, vec![(source, files.collect())], MEMORY)?;
        let rows = minutes.of_view(&format!("{}_open", table.name())).await;
        tables.push((table, rows.map_err(|failure| of_day(failure, snapshot.day))?));
    }
    Ok(store.write_hours(snapshot, bucket, &tables).await?)
}

/// This command has no `--memory`.
fn of_day(failure: Failure, day: Day) -> Failure {
    match failure {
        Failure::Memory => Failure::Failed(format!(
            "the hours of {day} need more than {MEMORY} MiB of memory: queries read its minutes instead"
        )),
        failure => failure,
    }
}
