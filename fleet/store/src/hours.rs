//! Hours: what the minutes of a day and bucket come to, kept beside them.
//!
//! Hours name the files of minutes that they were made from. While the bucket has exactly these, they stand for them;
//! a batch that arrives later, a compaction or a removal changes the files, and the minutes count until the next
//! rollup. So hours are never behind the minutes, and need not be kept right by whoever writes.

use crate::error::StoreError;
use crate::manifest::{DataFile, Manifest, Snapshot};
use crate::place::Store;
use crate::table::Table;
use crate::write::unique;
use arrow::array::RecordBatch;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::FieldRef;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The hours of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    /// The bucket.
    pub bucket: u64,
    /// Paths of the files whose minutes they are.
    pub of: BTreeSet<String>,
    /// Their files, one for each of [`Table::HOURS`] that has rows.
    pub files: Vec<DataFile>,
}

/// Files of the minutes that hours are made from, by bucket.
fn sources<'a>(files: impl IntoIterator<Item = &'a DataFile>) -> BTreeMap<u64, BTreeSet<&'a str>> {
    let minutes = Table::HOURS.map(Table::minutes);
    let mut sources: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for file in files.into_iter().filter(|file| minutes.contains(&file.table())) {
        sources.entry(file.bucket).or_default().insert(&file.path);
    }
    sources
}

/// Those whose buckets have exactly the minutes that they were made from.
fn true_of<'h>(hours: &'h [Hours], sources: &BTreeMap<u64, BTreeSet<&str>>) -> Vec<&'h Hours> {
    let is_true = |hours: &&Hours| {
        let of = hours.of.iter().map(String::as_str);
        sources.get(&hours.bucket).is_some_and(|sources| of.eq(sources.iter().copied()))
    };
    hours.iter().filter(is_true).collect()
}

/// Those that are true of a day with these files.
pub(crate) fn still_true(hours: &[Hours], files: &[DataFile]) -> Vec<Hours> {
    true_of(hours, &sources(files)).into_iter().cloned().collect()
}

impl Snapshot {
    /// The hours that stand for minutes, by bucket; none of a bucket whose minutes changed after its rollup.
    pub fn hours(&self) -> BTreeMap<u64, &Hours> {
        let hours = true_of(&self.manifest.hours, &sources(self.files()));
        hours.into_iter().map(|hours| (hours.bucket, hours)).collect()
    }

    /// Buckets with minutes that no hours stand for.
    pub fn without_hours(&self) -> Vec<u64> {
        let hours = self.hours();
        sources(self.files()).into_keys().filter(|bucket| !hours.contains_key(bucket)).collect()
    }
}

impl Store {
    /// Writes what the minutes of a bucket come to in this snapshot. Nothing refers to it yet.
    ///
    /// # Errors
    /// The store fails, or rows have other columns than their table.
    pub async fn write_hours(
        &self,
        snapshot: &Snapshot,
        bucket: u64,
        tables: &[(Table, Vec<RecordBatch>)],
    ) -> Result<Hours, StoreError> {
        let mut files = Vec::new();
        for (table, rows) in tables {
            let rows = in_columns_of(*table, rows)?;
            if rows.num_rows() > 0 {
                files.push(self.write_file(snapshot.day, bucket, *table, &unique(), &rows).await?);
            }
        }
        let of = sources(snapshot.files()).remove(&bucket).unwrap_or_default();
        let of = of.into_iter().map(str::to_owned).collect();
        Ok(Hours { bucket, of, files })
    }

    /// Makes hours that were written a part of the day. False if somebody else put a manifest meanwhile: then
    /// their files are deleted, and a new snapshot is needed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn put_hours(&self, snapshot: &Snapshot, written: Vec<Hours>) -> Result<bool, StoreError> {
        let mut manifest = Manifest { number: snapshot.manifest.number + 1, ..snapshot.manifest.clone() };
        manifest.hours = snapshot.hours().into_values().chain(&written).cloned().collect();
        let put = self.put_manifest(snapshot.day, &manifest).await?;
        if !put {
            self.discard_hours(&written).await?;
        }
        Ok(put)
    }

    /// Deletes the files of hours that were written and not put.
    ///
    /// # Errors
    /// The store fails.
    pub async fn discard_hours(&self, written: &[Hours]) -> Result<(), StoreError> {
        for hours in written {
            self.delete_all(&hours.files).await?;
        }
        Ok(())
    }
}

/// Rows with the types that their table has: engines choose widths and kinds of text as they like.
fn in_columns_of(table: Table, rows: &[RecordBatch]) -> Result<RecordBatch, StoreError> {
    let schema = table.schema();
    let mut batches = Vec::new();
    for batch in rows {
        let column = |field: &FieldRef| cast(batch.column(batch.schema().index_of(field.name())?), field.data_type());
        let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
        batches.push(RecordBatch::try_new(schema.clone(), columns)?);
    }
    Ok(concat_batches(&schema, &batches)?)
}
