//! Compaction: many small files of a day become one for each table and bucket.

use crate::error::StoreError;
use crate::hours::still_true;
use crate::layout::Day;
use crate::manifest::{DataFile, Manifest, Snapshot};
use crate::place::Store;
use crate::table::Table;
use crate::write::unique;
use arrow::array::{Array, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::filter_record_batch;
use object_store::path::Path;
use std::collections::{BTreeMap, HashSet};

/// How often a compaction begins again because another one came first.
pub(crate) const TRIES: u32 = 5;

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Batches taken in.
    pub batches: u64,
    /// Files before.
    pub files_before: u64,
    /// Files after.
    pub files_after: u64,
    /// Rows before.
    pub rows_before: u64,
    /// Rows after: fewer, as locks and stacks of several batches are one row then.
    pub rows_after: u64,
}

impl Store {
    /// Takes in what a day's batches have. Files that are then in use nowhere stay until
    /// [`Store::tidy`].
    ///
    /// # Errors
    /// The store fails, a file is damaged, or others keep changing the day.
    pub async fn compact(&self, day: Day) -> Result<Compacted, StoreError> {
        for _ in 0..TRIES {
            let snapshot = self.snapshot(day).await?;
            if snapshot.commits.is_empty() {
                let (files, rows) = totals(snapshot.files());
                let unchanged = Compacted {
                    files_before: files,
                    files_after: files,
                    rows_before: rows,
                    rows_after: rows,
                    batches: 0,
                };
                return Ok(unchanged);
            }
            if let Some(compacted) = self.try_compact(&snapshot).await? {
                return Ok(compacted);
            }
        }
        Err(StoreError::Contended(day))
    }

    async fn try_compact(&self, snapshot: &Snapshot) -> Result<Option<Compacted>, StoreError> {
        let (files_before, rows_before) = totals(snapshot.files());
        let mut groups: BTreeMap<(u64, &str), Vec<&DataFile>> = BTreeMap::new();
        for file in snapshot.files() {
            groups.entry((file.bucket, &file.table)).or_default().push(file);
        }
        let (mut files, mut written) = (Vec::new(), Vec::new());
        for ((bucket, name), group) in groups {
            let (Some(table), 2..) = (Table::from_name(name), group.len()) else {
                files.extend(group.into_iter().cloned());
                continue;
            };
            let rows = once(table, &self.read_files(table, &group).await?)?;
            let file = self.write_file(snapshot.day, bucket, table, &unique(), &rows).await?;
            written.push(file.clone());
            files.push(file);
        }
        let (files_after, rows_after) = totals(files.iter());
        let mut absorbed = snapshot.manifest.absorbed.clone();
        for commit in &snapshot.commits {
            absorbed.insert(commit.batch.clone(), commit.content.clone());
        }
        let number = snapshot.manifest.number + 1;
        let hours = still_true(&snapshot.manifest.hours, &files);
        let manifest = Manifest { number, files, absorbed, hours, ..snapshot.manifest.clone() };
        if !self.put_manifest(snapshot.day, &manifest).await? {
            self.delete_all(&written).await?;
            return Ok(None);
        }
        let batches = snapshot.commits.len() as u64;
        Ok(Some(Compacted { batches, files_before, files_after, rows_before, rows_after }))
    }

    pub(crate) async fn delete_all(&self, files: &[DataFile]) -> Result<(), StoreError> {
        for file in files {
            self.delete(&Path::from(file.path.as_str())).await?;
        }
        Ok(())
    }
}

fn totals<'a>(files: impl Iterator<Item = &'a DataFile>) -> (u64, u64) {
    files.fold((0, 0), |(files, rows), file| (files + 1, rows + file.rows))
}

/// Locks and stacks once for each service; other rows as they are.
fn once(table: Table, rows: &RecordBatch) -> Result<RecordBatch, StoreError> {
    let Some(identity) = table.identity() else { return Ok(rows.clone()) };
    let (services, ids) = (texts(rows, "service"), numbers(rows, identity));
    let (Some(services), Some(ids)) = (services, ids) else { return Ok(rows.clone()) };
    let mut seen = HashSet::new();
    let is_first = |at: usize| seen.insert((services.value(at), ids.value(at)));
    let keep: BooleanArray = (0..rows.num_rows()).map(is_first).map(Some).collect();
    Ok(filter_record_batch(rows, &keep)?)
}

pub(crate) fn texts<'a>(rows: &'a RecordBatch, column: &str) -> Option<&'a StringArray> {
    rows.column_by_name(column)?.as_any().downcast_ref()
}

pub(crate) fn numbers<'a>(rows: &'a RecordBatch, column: &str) -> Option<&'a Int64Array> {
    rows.column_by_name(column)?.as_any().downcast_ref()
}
