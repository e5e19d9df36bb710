//! `fleet tables`: a store's tables as another engine needs them: names, columns and files, and the views.
//!
//! The files of a store are those that its commits and manifests name, not those that lie in it: what another engine
//! reads has to come from here.

use crate::arguments::Days;
use crate::failure::Failure;
use crate::files::StoredFile;
use crate::views::{views, Dialect};
use arrow::datatypes::DataType;
use headway_store::{Store, Table};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of this description.
const FORMAT: u32 = 1;

/// What Spark reads. `fleet/spark/headway_fleet_spark.py` is its reader.
#[derive(Debug, Serialize)]
pub struct Tables {
    format: u32,
    /// Where files are: a directory or `s3://bucket/prefix`.
    root: String,
    tables: Vec<TableFiles>,
    views: Vec<ViewOf>,
}

/// A table.
#[derive(Debug, Serialize)]
struct TableFiles {
    name: String,
    /// Its columns in Spark's language.
    columns: String,
    /// Paths from the root on.
    files: Vec<String>,
}

/// A view.
#[derive(Debug, Serialize)]
struct ViewOf {
    name: String,
    query: String,
    period: Option<&'static str>,
}

/// The files of a store's tables.
///
/// # Errors
/// The store fails.
pub async fn files(store: &Store, days: &Days) -> Result<BTreeMap<Table, Vec<StoredFile>>, Failure> {
    let mut files: BTreeMap<Table, Vec<StoredFile>> = BTreeMap::new();
    for day in store.days().await?.into_iter().filter(|day| days.contain(*day)) {
        for file in store.snapshot(day).await?.files() {
            if let Some(table) = file.table() {
                let path = file.path.clone();
                files.entry(table).or_default().push(StoredFile { day, bucket: file.bucket, path });
            }
        }
    }
    Ok(files)
}

/// A table's name in SQL. JVMs, locks and stacks repeat from batch to batch: their tables are `jvm_part` and so on, and
/// `jvm` is a view in which each is once.
pub fn part_name(table: Table) -> String {
    match table {
        Table::Jvm | Table::Site | Table::Stack => format!("{}_part", table.name()),
        _ => table.name().to_owned(),
    }
}

/// A store as Spark needs it.
///
/// # Errors
/// The store fails, or there is none.
pub async fn tables(place: &str, days: &Days) -> Result<Tables, Failure> {
    let store = Store::open(place).await?;
    let mut files = files(&store, days).await?;
    let tables = Table::ALL.map(|table| TableFiles {
        name: part_name(table),
        columns: columns(table),
        files: files.remove(&table).unwrap_or_default().into_iter().map(|file| file.path).collect(),
    });
    let views = views(Dialect::Spark);
    Ok(Tables {
        format: FORMAT,
        root: root(place)?,
        tables: tables.into(),
        views: views
            .into_iter()
            .map(|view| ViewOf { name: view.name, query: view.query, period: view.period })
            .collect(),
    })
}

impl Tables {
    /// True if there is a view of this name.
    pub fn has_view(&self, name: &str) -> bool {
        self.views.iter().any(|view| view.name == name)
    }

    /// As JSON, a table or view a line.
    ///
    /// # Errors
    /// Only an error in Headway.
    pub fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string_pretty(self).map_err(|error| Failure::Failed(format!("cannot write tables: {error}")))
    }
}

/// Where the store is, for a program that runs elsewhere.
fn root(place: &str) -> Result<String, Failure> {
    if place.contains("://") {
        return Ok(place.trim_end_matches('/').to_owned());
    }
    let found =
        std::fs::canonicalize(place).map_err(|error| Failure::Failed(format!("cannot find {place}: {error}")))?;
    found.to_str().map(str::to_owned).ok_or_else(|| Failure::Failed(format!("{place}: its path is no text")))
}

/// `ts` TIMESTAMP, `jvm_id` BIGINT, ...
fn columns(table: Table) -> String {
    let schema = table.schema();
    let columns = schema.fields().iter().map(|field| format!("`{}` {}", field.name(), kind(field.data_type())));
    columns.collect::<Vec<_>>().join(", ")
}

/// A type in Spark's language.
fn kind(of: &DataType) -> String {
    match of {
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int32 => "INT".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Timestamp(..) => "TIMESTAMP".into(),
        DataType::List(item) => format!("ARRAY<{}>", kind(item.data_type())),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| format!("`{}`: {}", field.name(), kind(field.data_type())));
            format!("STRUCT<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        _ => "STRING".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_spark_s_type() {
        assert_eq!(columns(Table::Stack), "`service` STRING, `stack_id` BIGINT, `frames` ARRAY<STRING>");
        let locks = columns(Table::LockMinute);
        assert!(locks.starts_with("`ts` TIMESTAMP, `jvm_id` BIGINT, `service` STRING, "), "{locks}");
        assert!(
            locks.ends_with("`max_ns` BIGINT, `histogram` ARRAY<STRUCT<`bucket`: INT, `count`: BIGINT>>"),
            "{locks}"
        );
        // A type that is not known here would be read as text.
        for table in Table::ALL {
            let texts = table.schema().fields().iter().filter(|field| field.data_type() == &DataType::Utf8).count();
            let lists = columns(table).matches("ARRAY<STRING>").count();
            assert_eq!(columns(table).matches("STRING").count(), texts + lists, "{}", table.name());
        }
    }
}
