//! Compaction: many small files of a day become one for each table and bucket, or several if it would be too large.

use crate::error::StoreError;
use crate::files::Part;
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

/// No file is larger, in bytes: a query reads files side by side, and one request has one file.
const LARGEST: u64 = 256 << 20;

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
        self.compact_into(day, LARGEST).await
    }

    /// As [`Self::compact`], into files of at most `largest` bytes if rows are of equal size.
    ///
    /// # Errors
    /// As for [`Self::compact`].
    pub async fn compact_into(&self, day: Day, largest: u64) -> Result<Compacted, StoreError> {
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
            if let Some(compacted) = self.try_compact(&snapshot, largest).await? {
                return Ok(compacted);
            }
        }
        Err(StoreError::Contended(day))
    }

    async fn try_compact(&self, snapshot: &Snapshot, largest: u64) -> Result<Option<Compacted>, StoreError> {
        let (files_before, rows_before) = totals(snapshot.files());
        let mut groups: BTreeMap<(u64, &str), Vec<&DataFile>> = BTreeMap::new();
        for file in snapshot.files() {
            groups.entry((file.bucket, &file.table)).or_default().push(file);
        }
        let (mut files, mut written) = (Vec::new(), Vec::new());
        for ((bucket, name), group) in groups {
            let Some(table) = Table::from_name(name).filter(|_| is_worth_it(snapshot, &group, largest)) else {
                files.extend(group.into_iter().cloned());
                continue;
            };
            let rows = once(table, &self.read_files(table, &group).await?)?;
            for part in Part::of_at_most(table, bucket, &rows, largest)? {
                let file = self.put_file(snapshot.day, &unique(), part).await?;
                written.push(file.clone());
                files.push(file);
            }
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

/// True if files of a table and bucket should become one: there are new ones beside others, or several small ones. What
/// is large already and has nothing new stays.
fn is_worth_it(snapshot: &Snapshot, group: &[&DataFile], largest: u64) -> bool {
    let is_new = |file: &&&DataFile| !snapshot.manifest.files.contains(file);
    let small = group.iter().filter(|file| file.bytes < largest / 2).count();
    group.len() > 1 && (small > 1 || group.iter().any(|file| is_new(&file)))
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
