//! Parquet files: written whole, read whole.

use crate::error::StoreError;
use crate::layout::{data_path, Day};
use crate::manifest::{Commit, DataFile, Snapshot};
use crate::place::Store;
use crate::table::Table;
use arrow::array::{new_null_array, RecordBatch};
use arrow::compute::{concat_batches, lexsort_to_indices, take_record_batch, SortColumn, SortOptions};
use arrow::datatypes::FieldRef;
use bytes::Bytes;
use object_store::path::Path;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

/// Rows of a group: what a query reads or skips at once.
const GROUP_ROWS: usize = 64 * 1024;
/// A batch of one JVM has fewer rows than this in most tables, a compacted file more.
const FEW_ROWS: usize = 2_000;

/// Puts a table's rows in order.
pub(crate) fn sorted(table: Table, rows: &RecordBatch) -> Result<RecordBatch, StoreError> {
    let columns: Vec<SortColumn> = table
        .order()
        .iter()
        .filter_map(|name| rows.column_by_name(name))
        .map(|values| SortColumn { values: values.clone(), options: Some(SortOptions::default()) })
        .collect();
    let order = lexsort_to_indices(&columns, None)?;
    Ok(take_record_batch(rows, &order)?)
}

/// A file of a batch on its way into a store.
#[derive(Clone, Debug)]
pub struct Part {
    table: String,
    bucket: u64,
    rows: u64,
    bytes: Bytes,
}

impl Part {
    /// A table's rows as a file.
    pub(crate) fn of(table: Table, bucket: u64, rows: &RecordBatch) -> Result<Part, StoreError> {
        Part::of_sorted(table, bucket, &sorted(table, rows)?)
    }

    /// A table's rows as one file, or as several of about the same size, so that none is larger than `largest` bytes
    /// if its rows are like the others. What one file has comes before what the next one has.
    pub(crate) fn of_at_most(
        table: Table,
        bucket: u64,
        rows: &RecordBatch,
        largest: u64,
    ) -> Result<Vec<Part>, StoreError> {
        let rows = sorted(table, rows)?;
        let whole = Part::of_sorted(table, bucket, &rows)?;
        // Room for files whose rows take more than the average.
        let pieces = whole.bytes().div_ceil((largest / 4 * 3).max(1)).min(rows.num_rows() as u64) as usize;
        if whole.bytes() <= largest || pieces < 2 {
            return Ok(vec![whole]);
        }
        let length = rows.num_rows().div_ceil(pieces);
        let begins = (0..rows.num_rows()).step_by(length);
        let piece = |begin: usize| rows.slice(begin, length.min(rows.num_rows() - begin));
        begins.map(|begin| Part::of_sorted(table, bucket, &piece(begin))).collect()
    }

    fn of_sorted(table: Table, bucket: u64, rows: &RecordBatch) -> Result<Part, StoreError> {
        let bytes =
            to_parquet(table, rows).map_err(|error| StoreError::Parquet(table.name().to_owned(), error.to_string()))?;
        let table = table.name().to_owned();
        Ok(Part { table, bucket, rows: rows.num_rows() as u64, bytes: bytes.into() })
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl Store {
    /// Writes rows into a new file, which nothing refers to yet.
    pub(crate) async fn write_file(
        &self,
        day: Day,
        bucket: u64,
        table: Table,
        unique: &str,
        rows: &RecordBatch,
    ) -> Result<DataFile, StoreError> {
        self.put_file(day, unique, Part::of(table, bucket, rows)?).await
    }

    /// Puts a new file, which nothing refers to yet.
    pub(crate) async fn put_file(&self, day: Day, unique: &str, part: Part) -> Result<DataFile, StoreError> {
        let Part { table, bucket, rows, bytes } = part;
        let path = data_path(day, bucket, &table, unique);
        let size = bytes.len() as u64;
        // Never over another file: what somebody refers to does not change.
        if !self.create(&path, bytes).await? {
            return Err(StoreError::Damaged(path.to_string(), "a file of this name is there already".into()));
        }
        Ok(DataFile { table, path: path.to_string(), bucket, rows, bytes: size })
    }

    /// The files of a batch, to be taken in by another store.
    ///
    /// # Errors
    /// A file is missing, or not as long as it was.
    pub async fn parts(&self, commit: &Commit) -> Result<Vec<Part>, StoreError> {
        let mut parts = Vec::new();
        for file in &commit.files {
            let damaged = |why: String| StoreError::Damaged(file.path.clone(), why);
            let bytes = self.get_if_there(&Path::from(file.path.as_str())).await?;
            let bytes = bytes.ok_or_else(|| damaged("it is missing".into()))?;
            if bytes.len() as u64 != file.bytes {
                return Err(damaged(format!("it has {} bytes, not {}", bytes.len(), file.bytes)));
            }
            parts.push(Part { table: file.table.clone(), bucket: file.bucket, rows: file.rows, bytes });
        }
        Ok(parts)
    }

    /// All rows of a table that a snapshot has, in no particular order. Of a table of hours, those that stand for
    /// minutes.
    ///
    /// # Errors
    /// The store fails or a file is damaged.
    pub async fn rows(&self, snapshot: &Snapshot, table: Table) -> Result<RecordBatch, StoreError> {
        let hours = snapshot.hours();
        let of_hours = hours.values().flat_map(|hours| &hours.files);
        let files = snapshot.files().chain(of_hours).filter(|file| file.table() == Some(table));
        self.read_files(table, &files.collect::<Vec<_>>()).await
    }

    /// Reads files of one table into one batch of rows.
    pub(crate) async fn read_files(&self, table: Table, files: &[&DataFile]) -> Result<RecordBatch, StoreError> {
        let mut batches = Vec::new();
        for file in files {
            let bytes = self.get(&Path::from(file.path.as_str())).await?;
            let bad = |why: String| StoreError::Parquet(file.path.clone(), why);
            let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| bad(e.to_string()))?;
            for batch in builder.build().map_err(|e| bad(e.to_string()))? {
                batches.push(completed(table, &batch?)?);
            }
        }
        Ok(concat_batches(&table.schema(), &batches)?)
    }
}

/// Rows with all columns of their table: one that a file does not have yet is empty.
fn completed(table: Table, rows: &RecordBatch) -> Result<RecordBatch, StoreError> {
    let schema = table.schema();
    let column = |field: &FieldRef| match rows.column_by_name(field.name()) {
        Some(column) => column.clone(),
        None => new_null_array(field.data_type(), rows.num_rows()),
    };
    let columns = schema.fields().iter().map(column).collect();
    // Without a column that may not be empty, this is refused.
    Ok(RecordBatch::try_new(schema, columns)?)
}

fn to_parquet(table: Table, rows: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let properties = match rows.num_rows() {
        0..=FEW_ROWS => for_few_rows(properties(table)?),
        _ => for_many_rows(properties(table)?, table),
    };
    // The Parquet schema says everything; Arrow's, beside it, would take more than the rows of a small batch.
    let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, table.schema(), options)?;
    writer.write(rows)?;
    writer.close()?;
    Ok(bytes)
}

/// What all files have.
fn properties(table: Table) -> Result<WriterPropertiesBuilder, ParquetError> {
    let schema = table.schema();
    let about = schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let place = |name: &&str| schema.index_of(name).ok().and_then(|at| i32::try_from(at).ok());
    let order = table.order().iter().filter_map(place);
    // Lists and structs have several leaves; those that files are sorted by stand before all of them.
    let sorting = order.map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: true });
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_sorting_columns(Some(sorting.collect()))
        .set_key_value_metadata(Some(about));
    Ok(properties)
}

/// Nothing can be skipped in a file of few rows: what would help to do so takes more than they do, and so does a
/// dictionary for each column.
fn for_few_rows(properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
    let properties = properties.set_statistics_enabled(EnabledStatistics::None).set_offset_index_disabled(true);
    properties.set_dictionary_enabled(false)
}

/// A dictionary of values that rarely repeat is larger than they are.
fn for_many_rows(properties: WriterPropertiesBuilder, table: Table) -> WriterPropertiesBuilder {
    let schema = table.schema();
    let durations = schema.fields().iter().filter(|field| table.rarely_repeats(field.name()));
    durations.fold(properties, |properties, field| {
        properties.set_column_dictionary_enabled(ColumnPath::from(field.name().as_str()), false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::empty;

    #[test]
    fn files_from_before_a_column_was_added_are_read_and_others_are_not() {
        let all = empty(Table::Phase);
        let earlier: Vec<usize> = (0..all.num_columns() - 1).collect();
        let earlier = all.project(&earlier).expect("columns");
        assert_eq!(completed(Table::Phase, &earlier).expect("an empty column"), all);
        let rows = RecordBatch::try_new_with_options(
            std::sync::Arc::new(arrow::datatypes::Schema::empty()),
            Vec::new(),
            &arrow::array::RecordBatchOptions::new().with_row_count(Some(1)),
        );
        assert!(completed(Table::Phase, &rows.expect("a row")).is_err());
    }
}
