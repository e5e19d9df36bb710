//! Rows in columns.

use crate::error::StoreError;
use crate::layout::Day;
use crate::table::{bucket_fields, Table, ZONE};
use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int32Builder, Int64Array, Int64Builder, ListBuilder, RecordBatch,
    StringArray, StringBuilder, StructBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field};
use headway_rollup::rows::Rolled;
use headway_rollup::Histogram;
use std::sync::Arc;

/// A recording's rows of one day, or of all days if `day` is `None`, one batch a table.
///
/// # Errors
/// Only an error in Headway: columns that do not fit their schema.
pub fn batches(rolled: &Rolled, day: Option<Day>) -> Result<Vec<(Table, RecordBatch)>, StoreError> {
    Table::ALL.into_iter().map(|table| Ok((table, batch(table, rolled, day)?))).collect()
}

/// No rows.
pub fn empty(table: Table) -> RecordBatch {
    RecordBatch::new_empty(table.schema())
}

/// Numbers of nanoseconds and counts that do not fit become the largest that does: 292 years.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The columns of a table, built from its rows.
struct Columns<'a, T> {
    rows: Vec<&'a T>,
    columns: Vec<ArrayRef>,
}

impl<'a, T> Columns<'a, T> {
    fn of(rows: impl Iterator<Item = &'a T>) -> Columns<'a, T> {
        Columns { rows: rows.collect(), columns: Vec::new() }
    }

    fn add(mut self, array: impl FnOnce(&[&'a T]) -> ArrayRef) -> Self {
        let column = array(&self.rows);
        self.columns.push(column);
        self
    }

    fn number(self, value: impl Fn(&T) -> u64) -> Self {
        self.id(|row| signed(value(row)))
    }

    fn id(self, value: impl Fn(&T) -> i64) -> Self {
        self.add(|rows| Arc::new(rows.iter().map(|row| Some(value(row))).collect::<Int64Array>()))
    }

    fn maybe(self, value: impl Fn(&T) -> Option<i64>) -> Self {
        self.add(|rows| Arc::new(rows.iter().map(|row| value(row)).collect::<Int64Array>()))
    }

    fn float(self, value: impl Fn(&T) -> f64) -> Self {
        self.add(|rows| Arc::new(rows.iter().map(|row| Some(value(row))).collect::<Float64Array>()))
    }

    fn flag(self, value: impl Fn(&T) -> bool) -> Self {
        self.add(|rows| Arc::new(rows.iter().map(|row| Some(value(row))).collect::<BooleanArray>()))
    }

    fn text<'t>(self, value: impl Fn(&'a T) -> &'t str) -> Self {
        self.add(|rows| Arc::new(rows.iter().map(|row| Some(value(row))).collect::<StringArray>()))
    }

    fn time(self, ns: impl Fn(&T) -> u64) -> Self {
        self.add(|rows| {
            let times = rows.iter().map(|row| Some(signed(ns(row) / 1_000)));
            Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone(ZONE))
        })
    }

    fn texts(self, value: impl Fn(&T) -> &[String]) -> Self {
        self.add(|rows| {
            let item = Field::new("item", DataType::Utf8, false);
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item);
            for row in rows {
                value(row).iter().for_each(|text| lists.values().append_value(text));
                lists.append(true);
            }
            Arc::new(lists.finish())
        })
    }

    fn histogram(self, value: impl Fn(&T) -> &Histogram) -> Self {
        self.add(|rows| {
            let item = Field::new("item", DataType::Struct(bucket_fields()), false);
            let buckets = StructBuilder::from_fields(bucket_fields(), 0);
            let mut lists = ListBuilder::new(buckets).with_field(item);
            for row in rows {
                for (bucket, count) in value(row).buckets() {
                    let fields = lists.values();
                    if let Some(builder) = fields.field_builder::<Int32Builder>(0) {
                        builder.append_value(i32::from(bucket));
                    }
                    if let Some(builder) = fields.field_builder::<Int64Builder>(1) {
                        builder.append_value(signed(count));
                    }
                    fields.append(true);
                }
                lists.append(true);
            }
            Arc::new(lists.finish())
        })
    }

    fn finish(self, table: Table) -> Result<RecordBatch, StoreError> {
        Ok(RecordBatch::try_new(table.schema(), self.columns)?)
    }
}

/// What all rows say of their JVM: time first, then who.
macro_rules! of_jvm {
    ($columns:expr, $rolled:expr, $time:expr) => {
        $columns
            .time($time)
            .id(|_| $rolled.jvm.id)
            .text(|_| $rolled.jvm.service.as_str())
            .text(|_| $rolled.jvm.version.as_str())
    };
}

fn batch(table: Table, rolled: &Rolled, day: Option<Day>) -> Result<RecordBatch, StoreError> {
    let of_day = |ns: u64| day.is_none_or(|day| Day::of_ns(ns) == day);
    let jvm = &rolled.jvm;
    match table {
        Table::Jvm => Columns::of(std::iter::once(jvm))
            .id(|jvm| jvm.id)
            .text(|jvm| &jvm.service)
            .text(|jvm| &jvm.version)
            .text(|jvm| &jvm.host)
            .text(|jvm| &jvm.environment)
            .texts(|jvm| &jvm.labels)
            .text(|jvm| &jvm.jdk)
            .number(|jvm| u64::from(jvm.pid))
            .add(|rows| {
                let cpus = rows.iter().map(|jvm| jvm.cpus.and_then(|cpus| i32::try_from(cpus).ok()));
                Arc::new(cpus.collect::<Int32Array>())
            })
            .time(|jvm| jvm.started_ns)
            .time(|jvm| jvm.start_ns)
            .time(|jvm| jvm.end_ns)
            .number(|_| rolled.folded)
            .finish(table),
        Table::Site => Columns::of(rolled.sites.iter())
            .text(|_| jvm.service.as_str())
            .id(|site| site.id)
            .text(|site| &site.class)
            .text(|site| &site.member)
            .text(|site| &site.kind)
            .finish(table),
        Table::Stack => Columns::of(rolled.stacks.iter())
            .text(|_| jvm.service.as_str())
            .id(|stack| stack.id)
            .texts(|stack| &stack.frames)
            .finish(table),
        Table::LockMinute => {
            let rows = rolled.locks.iter().filter(|row| of_day(row.minute.start().0));
            of_jvm!(Columns::of(rows), rolled, |row| row.minute.start().0)
                .id(|row| row.site)
                .text(|row| row.kind)
                .maybe(|row| row.waiter_stack)
                .maybe(|row| row.owner_stack)
                .flag(|row| row.is_virtual)
                .number(|row| row.contentions)
                .number(|row| row.blocked_ns)
                .number(|row| row.handoff_ns)
                .number(|row| row.unknown_ns)
                .number(|row| row.pause_ns)
                .number(|row| row.max_ns)
                .histogram(|row| &row.histogram)
                .finish(table)
        }
        Table::WaitMinute => {
            let rows = rolled.waits.iter().filter(|row| of_day(row.minute.start().0));
            of_jvm!(Columns::of(rows), rolled, |row| row.minute.start().0)
                .id(|row| row.site)
                .text(|row| row.synchronizer)
                .maybe(|row| row.stack)
                .flag(|row| row.is_virtual)
                .number(|row| row.waits)
                .number(|row| row.waited_ns)
                .number(|row| row.max_ns)
                .histogram(|row| &row.histogram)
                .finish(table)
        }
        Table::LoadMinute => {
            let rows = rolled.load.iter().filter(|row| of_day(row.minute.start().0));
            of_jvm!(Columns::of(rows), rolled, |row| row.minute.start().0)
                .number(|row| row.covered_ns)
                .number(|row| row.running_ns)
                .maybe(|row| row.cpu_ns.map(signed))
                .maybe(|row| row.steal_ns.map(signed))
                .number(|row| row.operations)
                .number(|row| row.dropped)
                .finish(table)
        }
        Table::Phase => {
            let rows = rolled.phases.iter().filter(|row| of_day(row.start_ns));
            of_jvm!(Columns::of(rows), rolled, |row| row.start_ns)
                .time(|row| row.end_ns)
                .id(|row| row.site)
                .float(|row| row.mean)
                .float(|row| row.peak)
                .number(|row| row.acquiring_ns)
                .maybe(|row| row.waiter_stack)
                .maybe(|row| row.owner_stack)
                .add(|rows| {
                    let of_all = rows.iter().map(|_| rolled.recording.as_deref());
                    Arc::new(of_all.collect::<StringArray>())
                })
                .finish(table)
        }
        Table::CpuMinute => {
            let rows = rolled.cpu.iter().filter(|row| of_day(row.minute.start().0));
            of_jvm!(Columns::of(rows), rolled, |row| row.minute.start().0)
                .maybe(|row| row.stack)
                .text(|row| row.state)
                .number(|row| row.samples)
                .number(|row| row.cpu_ns)
                .finish(table)
        }
        // Recordings come to minutes.
        Table::LockHour | Table::LoadHour => Ok(empty(table)),
        Table::ClockJump => {
            let rows = rolled.clock_jumps.iter().filter(|row| of_day(row.at.0));
            of_jvm!(Columns::of(rows), rolled, |row| row.at.0).id(|row| row.by_ns).finish(table)
        }
    }
}
