//! `fleet tables`: a store's tables as another engine needs them: names, columns and files, and the views.
//!
//! The files of a store are those that its commits and manifests name, not those that lie in it: what another engine
//! reads has to come from here.

use crate::arguments::Days;
use crate::failure::Failure;
use crate::files::StoredFile;
use crate::views::{views, Dialect};
use arrow::datatypes::DataType;
use headway_store::{DataFile, Hours, Snapshot, Store, Table};
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

/// Which rows of a store a table in SQL has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// All of a table.
    All(Table),
    /// The minutes for which no hours are kept, of the table that these hours have.
    Open(Table),
}

impl Source {
    /// Every source.
    pub fn all() -> impl Iterator<Item = Source> {
        let tables = Table::ALL.into_iter().chain(Table::HOURS).map(Source::All);
        tables.chain(Table::HOURS.map(Source::Open))
    }

    /// Whose columns the rows have.
    pub fn table(self) -> Table {
        match self {
            Source::All(table) => table,
            Source::Open(hours) => hours.minutes().unwrap_or(hours),
        }
    }

    /// The name in SQL. JVMs, locks and stacks repeat from batch to batch: their tables are `jvm_part` and so on, and
    /// `jvm` is a view in which each is once. Hours are those that are kept and, in the view, those that are not.
    pub fn name(self) -> String {
        match self {
            Source::All(table @ (Table::Jvm | Table::Site | Table::Stack | Table::LockHour | Table::LoadHour)) => {
                format!("{}_part", table.name())
            }
            Source::All(table) => table.name().to_owned(),
            Source::Open(_) => format!("{}_open", self.table().name()),
        }
    }

    /// Its files of a day that has these hours.
    fn files(self, snapshot: &Snapshot, hours: &BTreeMap<u64, &Hours>) -> Vec<StoredFile> {
        let is_open = |file: &&DataFile| !hours.contains_key(&file.bucket);
        let of_table = snapshot.files().filter(|file| file.table() == Some(self.table()));
        let files: Vec<&DataFile> = match self {
            Source::All(Table::LockHour | Table::LoadHour) => {
                let kept = hours.values().flat_map(|hours| &hours.files);
                kept.filter(|file| file.table() == Some(self.table())).collect()
            }
            Source::All(_) => of_table.collect(),
            Source::Open(_) => of_table.filter(is_open).collect(),
        };
        files.into_iter().map(|file| StoredFile::of(snapshot.day, file)).collect()
    }
}

/// The tables of a store with their files.
///
/// # Errors
/// The store fails.
pub async fn files(store: &Store, days: &Days) -> Result<Vec<(Source, Vec<StoredFile>)>, Failure> {
    let mut tables: Vec<(Source, Vec<StoredFile>)> = Source::all().map(|source| (source, Vec::new())).collect();
    for day in store.days().await?.into_iter().filter(|day| days.contain(*day)) {
        let snapshot = store.snapshot(day).await?;
        let hours = snapshot.hours();
        for (source, files) in &mut tables {
            files.extend(source.files(&snapshot, &hours));
        }
    }
    Ok(tables)
}

/// A store as Spark needs it.
///
/// # Errors
/// The store fails, or there is none.
pub async fn tables(place: &str, days: &Days) -> Result<Tables, Failure> {
    let store = Store::open(place).await?;
    let tables = files(&store, days).await?.into_iter().map(|(source, files)| TableFiles {
        name: source.name(),
        columns: columns(source.table()),
        files: files.into_iter().map(|file| file.path).collect(),
    });
    let views = views(Dialect::Spark);
    Ok(Tables {
        format: FORMAT,
        root: root(place)?,
        tables: tables.collect(),
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
        for table in Table::ALL.into_iter().chain(Table::HOURS) {
            let texts = table.schema().fields().iter().filter(|field| field.data_type() == &DataType::Utf8).count();
            let lists = columns(table).matches("ARRAY<STRING>").count();
            assert_eq!(columns(table).matches("STRING").count(), texts + lists, "{}", table.name());
        }
    }
}
