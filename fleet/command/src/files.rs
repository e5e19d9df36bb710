//! A table of a store's files. A query opens only those in which rows can be that it asks for: a file's path says the
//! day of its rows and the bucket of their services.
//!
//! Parquet's statistics say more, but are in the files: of a store with a month, all files would be opened to learn
//! that one day is asked for, and over a network each of them is several requests.

use crate::session::PLACE;
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::{MemTable, TableType};
use datafusion::error::Result as Answer;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Operator, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::Expr;
use datafusion::scalar::ScalarValue;
use headway_store::{bucket, empty, DataFile, Day, Table};
use std::sync::Arc;

const DAY_US: i64 = 24 * 3_600 * 1_000_000;

/// A file that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The day of its rows.
    pub day: Day,
    /// The bucket of their services.
    pub bucket: u64,
    /// Where it is, from the store on.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

impl StoredFile {
    /// A file that a snapshot of this day has.
    pub fn of(day: Day, file: &DataFile) -> StoredFile {
        StoredFile { day, bucket: file.bucket, path: file.path.clone(), bytes: file.bytes }
    }
}

/// See the module.
#[derive(Debug)]
pub struct FileTable {
    table: Table,
    files: Vec<StoredFile>,
}

impl FileTable {
    /// A table of these files, which are the table's.
    pub fn new(table: Table, files: Vec<StoredFile>) -> FileTable {
        FileTable { table, files }
    }

    fn over(&self, files: &[&StoredFile]) -> Answer<Arc<dyn TableProvider>> {
        if files.is_empty() {
            return in_memory(self.table, &[]);
        }
        let urls = files.iter().map(|file| ListingTableUrl::parse(format!("{PLACE}{}", file.path)));
        let urls: Answer<_> = urls.collect();
        let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
        let config =
            ListingTableConfig::new_with_multi_paths(urls?).with_listing_options(options).with_schema(self.schema());
        Ok(Arc::new(ListingTable::try_new(config)?))
    }
}

/// A table of rows that are here.
///
/// # Errors
/// Only an error in Headway.
pub fn in_memory(table: Table, rows: &[RecordBatch]) -> Answer<Arc<dyn TableProvider>> {
    let with_columns = |batch: &RecordBatch| RecordBatch::try_new(columns(table), batch.columns().to_vec());
    let batches = rows.iter().chain(&[empty(table)]).map(with_columns).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(MemTable::try_new(columns(table), vec![batches])?))
}

/// A table's columns, without what its files say about themselves: of a union of two tables, the engine does not know
/// whose that is.
fn columns(table: Table) -> SchemaRef {
    Arc::new(Schema::new(table.schema().fields().clone()))
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        columns(self.table)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters leave out files and row groups; the engine looks at the rows of the others.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Answer<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Answer<Arc<dyn ExecutionPlan>> {
        let may_have = |file: &&StoredFile| filters.iter().all(|filter| file.may_have(filter));
        let files: Vec<&StoredFile> = self.files.iter().filter(may_have).collect();
        self.over(&files)?.scan(state, projection, filters, limit).await
    }
}

impl StoredFile {
    /// False if none of its rows can pass the filter. What is not understood here may pass.
    fn may_have(&self, filter: &Expr) -> bool {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.may_have(left) && self.may_have(right)
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                self.may_have(left) || self.may_have(right)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (column(left), column(right)) {
                (Some(name), None) => self.may_compare(name, *op, right),
                (None, Some(name)) => op.swap().is_none_or(|op| self.may_compare(name, op, left)),
                _ => true,
            },
            Expr::Between(Between { expr, negated: false, low, high }) => column(expr).is_none_or(|name| {
                self.may_compare(name, Operator::GtEq, low) && self.may_compare(name, Operator::LtEq, high)
            }),
            Expr::InList(InList { expr, list, negated: false }) => {
                column(expr).is_none_or(|name| list.iter().any(|value| self.may_compare(name, Operator::Eq, value)))
            }
            _ => true,
        }
    }

    fn may_compare(&self, column: &str, op: Operator, value: &Expr) -> bool {
        let Expr::Literal(value, _) = value else { return true };
        match (column, value, op) {
            ("service", ScalarValue::Utf8(Some(service)), Operator::Eq)
            | ("service", ScalarValue::LargeUtf8(Some(service)), Operator::Eq)
            | ("service", ScalarValue::Utf8View(Some(service)), Operator::Eq) => bucket(service) == self.bucket,
            ("ts", ScalarValue::TimestampMicrosecond(Some(us), _), op) => {
                let first = i64::from(self.day.0) * DAY_US;
                let after = first + DAY_US;
                match op {
                    Operator::Eq => (first..after).contains(us),
                    Operator::Lt => first < *us,
                    Operator::LtEq => first <= *us,
                    Operator::Gt => after - 1 > *us,
                    Operator::GtEq => after > *us,
                    _ => true,
                }
            }
            _ => true,
        }
    }
}

/// The column's name, if it is one.
fn column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::{col, lit};

    /// 2026-01-02.
    const DAY: Day = Day(20_455);
    const NOON_US: i64 = 20_455 * DAY_US + DAY_US / 2;

    fn at(us: i64) -> Expr {
        lit(ScalarValue::TimestampMicrosecond(Some(us), Some("UTC".into())))
    }

    #[track_caller]
    fn check(filter: Expr, may_have: bool) {
        let file = StoredFile { day: DAY, bucket: bucket("shop"), path: String::new(), bytes: 0 };
        assert_eq!(file.may_have(&filter), may_have, "{filter}");
    }

    #[test]
    fn a_file_has_one_day() {
        let (first, last) = (NOON_US - DAY_US / 2, NOON_US + DAY_US / 2 - 1);
        for inside in [first, NOON_US, last] {
            check(col("ts").eq(at(inside)), true);
            check(col("ts").gt_eq(at(inside)), true);
            check(at(inside).lt_eq(col("ts")), true);
            check(col("ts").between(at(inside), at(inside)), true);
        }
        check(col("ts").eq(at(first - 1)), false);
        check(col("ts").eq(at(last + 1)), false);
        check(col("ts").lt(at(first)), false);
        check(col("ts").lt(at(first + 1)), true);
        check(col("ts").lt_eq(at(first)), true);
        check(col("ts").lt_eq(at(first - 1)), false);
        check(col("ts").gt(at(last)), false);
        check(col("ts").gt(at(last - 1)), true);
        check(col("ts").gt_eq(at(last + 1)), false);
        check(at(last + 1).lt_eq(col("ts")), false);
        check(at(first).gt(col("ts")), false);
        check(col("ts").between(at(last + 1), at(last + 9)), false);
        check(col("ts").not_between(at(first), at(last)), true);
        check(col("end_ts").lt(at(first)), true);
    }

    #[test]
    fn a_file_has_the_services_of_one_bucket() {
        let elsewhere = (0..).map(|n| format!("service{n}")).find(|name| bucket(name) != bucket("shop")).expect("one");
        check(col("service").eq(lit("shop")), true);
        check(lit("shop").eq(col("service")), true);
        check(col("service").eq(lit(elsewhere.clone())), false);
        check(col("service").not_eq(lit("shop")), true);
        check(col("service").in_list(vec![lit(elsewhere.clone()), lit("shop")], false), true);
        check(col("service").in_list(vec![lit(elsewhere.clone())], false), false);
        check(col("service").in_list(vec![lit(elsewhere.clone())], true), true);
        check(col("version").eq(lit(elsewhere.clone())), true);
        check(col("service").eq(lit(elsewhere.clone())).or(col("ts").eq(at(NOON_US))), true);
        check(col("service").eq(lit(elsewhere.clone())).or(col("ts").eq(at(0))), false);
        check(col("service").eq(lit("shop")).and(col("ts").eq(at(0))), false);
        check(col("service").eq(col("version")), true);
        check(!col("service").eq(lit("shop")), true);
    }
}
