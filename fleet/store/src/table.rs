//! The tables and their columns.

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// Version of the columns and of the layout, in `store.json`, in every commit and manifest
/// and in the metadata of every Parquet file (`headway.format`).
pub const FORMAT: u32 = 1;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// JVMs, once per batch.
    Jvm,
    /// Locks and what is waited for, once per batch.
    Site,
    /// Call stacks, once per batch.
    Stack,
    /// Contentions.
    LockMinute,
    /// Waits.
    WaitMinute,
    /// Load.
    LoadMinute,
    /// Phases.
    Phase,
    /// CPU samples.
    CpuMinute,
    /// Where a JVM's wall clock was set.
    ClockJump,
    /// Contentions of an hour, over all JVMs of a service and version.
    LockHour,
    /// Load, likewise.
    LoadHour,
}

impl Table {
    /// Tables of what recordings come to.
    pub const ALL: [Table; 9] = [
        Table::Jvm,
        Table::Site,
        Table::Stack,
        Table::LockMinute,
        Table::WaitMinute,
        Table::LoadMinute,
        Table::Phase,
        Table::CpuMinute,
        Table::ClockJump,
    ];
    /// Tables of hours, made from those of minutes.
    pub const HOURS: [Table; 2] = [Table::LockHour, Table::LoadHour];

    /// Its name, in SQL and in paths.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Jvm => "jvm",
            Table::Site => "site",
            Table::Stack => "stack",
            Table::LockMinute => "lock_minute",
            Table::WaitMinute => "wait_minute",
            Table::LoadMinute => "load_minute",
            Table::Phase => "phase",
            Table::CpuMinute => "cpu_minute",
            Table::ClockJump => "clock_jump",
            Table::LockHour => "lock_hour",
            Table::LoadHour => "load_hour",
        }
    }

    /// The table of this name.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().chain(Table::HOURS).find(|table| table.name() == name)
    }

    /// For a table of hours, the one that has their minutes.
    pub const fn minutes(self) -> Option<Table> {
        match self {
            Table::LockHour => Some(Table::LockMinute),
            Table::LoadHour => Some(Table::LoadMinute),
            _ => None,
        }
    }

    /// Tables whose rows repeat from batch to batch, and the column by which they are one.
    pub const fn identity(self) -> Option<&'static str> {
        match self {
            Table::Site => Some("site_id"),
            Table::Stack => Some("stack_id"),
            _ => None,
        }
    }

    /// Columns by which files are sorted.
    pub const fn order(self) -> &'static [&'static str] {
        match self {
            Table::Jvm => &["service", "jvm_id", "start_ts"],
            Table::Site => &["service", "site_id"],
            Table::Stack => &["service", "stack_id"],
            Table::LockMinute | Table::WaitMinute | Table::Phase => &["service", "ts", "site_id", "jvm_id"],
            Table::LoadMinute | Table::ClockJump => &["service", "ts", "jvm_id"],
            Table::CpuMinute => &["service", "ts", "jvm_id", "stack"],
            Table::LockHour => &["service", "ts", "site_id", "version"],
            Table::LoadHour => &["service", "ts", "version"],
        }
    }

    /// True if most values of a column differ: durations, but not CPU time that is a number of samples.
    pub(crate) fn rarely_repeats(self, column: &str) -> bool {
        column.ends_with("_ns") && self != Table::CpuMinute
    }

    /// Its columns.
    pub fn schema(self) -> SchemaRef {
        use DataType::{Boolean, Float64, Int32, Int64, Utf8};
        let list_of_text = || DataType::List(Arc::new(Field::new("item", Utf8, false)));
        let must = |name: &str, kind: DataType| Field::new(name, kind, false);
        let may = |name: &str, kind: DataType| Field::new(name, kind, true);
        let mut columns = match self {
            Table::Site | Table::Stack => vec![must("service", Utf8)],
            Table::Jvm => vec![must("jvm_id", Int64), must("service", Utf8), must("version", Utf8)],
            Table::LockHour | Table::LoadHour => {
                vec![must("ts", timestamp()), must("service", Utf8), must("version", Utf8)]
            }
            _ => vec![must("ts", timestamp()), must("jvm_id", Int64), must("service", Utf8), must("version", Utf8)],
        };
        columns.extend(match self {
            Table::Jvm => vec![
                must("host", Utf8),
                must("environment", Utf8),
                must("labels", list_of_text()),
                must("jdk", Utf8),
                must("pid", Int64),
                may("cpus", Int32),
                must("started", timestamp()),
                must("start_ts", timestamp()),
                must("end_ts", timestamp()),
                must("folded", Int64),
            ],
            Table::Site => {
                vec![must("site_id", Int64), must("class", Utf8), must("member", Utf8), must("kind", Utf8)]
            }
            Table::Stack => vec![must("stack_id", Int64), must("frames", list_of_text())],
            Table::LockMinute => vec![
                must("site_id", Int64),
                must("kind", Utf8),
                may("waiter_stack", Int64),
                may("owner_stack", Int64),
                must("virtual", Boolean),
                must("contentions", Int64),
                must("blocked_ns", Int64),
                must("handoff_ns", Int64),
                must("unknown_ns", Int64),
                must("pause_ns", Int64),
                must("max_ns", Int64),
                must("histogram", histogram()),
            ],
            Table::WaitMinute => vec![
                must("site_id", Int64),
                must("synchronizer", Utf8),
                may("stack", Int64),
                must("virtual", Boolean),
                must("waits", Int64),
                must("waited_ns", Int64),
                must("max_ns", Int64),
                must("histogram", histogram()),
            ],
            Table::LoadMinute => vec![
                must("covered_ns", Int64),
                must("running_ns", Int64),
                may("cpu_ns", Int64),
                may("steal_ns", Int64),
                must("operations", Int64),
                must("dropped", Int64),
            ],
            Table::Phase => vec![
                must("end_ts", timestamp()),
                must("site_id", Int64),
                must("mean", Float64),
                must("peak", Float64),
                must("acquiring_ns", Int64),
                may("waiter_stack", Int64),
                may("owner_stack", Int64),
                may("recording", Utf8),
            ],
            Table::CpuMinute => {
                vec![may("stack", Int64), must("state", Utf8), must("samples", Int64), must("cpu_ns", Int64)]
            }
            Table::ClockJump => vec![must("by_ns", Int64)],
            Table::LockHour => vec![
                must("site_id", Int64),
                must("kind", Utf8),
                must("jvms", Int64),
                must("contentions", Int64),
                must("blocked_ns", Int64),
                must("handoff_ns", Int64),
                must("unknown_ns", Int64),
                must("pause_ns", Int64),
                must("max_ns", Int64),
            ],
            Table::LoadHour => vec![
                must("jvms", Int64),
                must("covered_ns", Int64),
                must("running_ns", Int64),
                may("cpu_ns", Int64),
                may("steal_ns", Int64),
                must("operations", Int64),
                must("dropped", Int64),
            ],
        });
        let about = [("headway.format", FORMAT.to_string()), ("headway.table", self.name().to_owned())];
        let about: HashMap<String, String> = about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Arc::new(Schema::new_with_metadata(columns, about))
    }
}

pub(crate) const ZONE: &str = "UTC";

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()))
}

/// The fields of a histogram's bucket.
pub(crate) fn bucket_fields() -> Fields {
    let field = |name: &str, kind: DataType| Field::new(name, kind, false);
    Fields::from(vec![field("bucket", DataType::Int32), field("count", DataType::Int64)])
}

/// Buckets of a histogram, lowest first.
fn histogram() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Struct(bucket_fields()), false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_by_columns_that_they_have() {
        for table in Table::ALL.into_iter().chain(Table::HOURS) {
            let schema = table.schema();
            let columns = table.order().iter().copied().chain(table.identity()).chain(["service"]);
            columns.for_each(|column| assert!(schema.index_of(column).is_ok(), "{} {column}", table.name()));
            assert_eq!(Table::from_name(table.name()), Some(table));
        }
    }
}
