//! Rows of two engines compared: whole numbers, times and texts exactly, fractions within 1e-9 of their size.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

const TOLERANCE: f64 = 1e-9;

/// An answer, in any order.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    /// Numbers, times in microseconds, truth.
    Whole(i64),
    Fraction(f64),
    Text(String),
    List(Vec<Cell>),
}

/// The rows of a Parquet file.
pub fn of_file(file: &Path) -> Rows {
    let open = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let builder = ParquetRecordBatchReaderBuilder::try_new(open).expect("a Parquet file");
    let columns = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let batches = builder.build().expect("a reader").map(|batch| batch.expect("rows"));
    Rows { columns, rows: batches.flat_map(|batch| rows_of(&batch)).collect() }
}

/// The rows of all Parquet files of a folder that Spark has written to its end.
pub fn of_folder(folder: &Path) -> Rows {
    assert!(folder.join("_SUCCESS").is_file(), "{} is not complete", folder.display());
    let mut all = Rows::default();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let file = entry.expect("an entry").path();
        if file.extension().is_some_and(|extension| extension == "parquet") {
            all.add(of_file(&file));
        }
    }
    all
}

impl Rows {
    /// Adds rows with the same columns.
    pub fn add(&mut self, more: Rows) {
        assert!(self.columns.is_empty() || self.columns == more.columns, "{:?} {:?}", self.columns, more.columns);
        self.columns = more.columns;
        self.rows.extend(more.rows);
    }

    /// By everything that is compared exactly, then by fractions.
    fn sort(&mut self) {
        let exact = |row: &Vec<Cell>| {
            let cells = row.iter().filter(|cell| !matches!(cell, Cell::Fraction(_)));
            cells.map(|cell| format!("{cell:?}")).collect::<Vec<_>>()
        };
        let fractions = |row: &Vec<Cell>| row.iter().filter_map(Cell::fraction).collect::<Vec<_>>();
        self.rows.sort_by(|a, b| {
            exact(a).cmp(&exact(b)).then(fractions(a).partial_cmp(&fractions(b)).expect("no fraction is NaN"))
        });
    }
}

impl Cell {
    fn fraction(&self) -> Option<f64> {
        match self {
            Cell::Fraction(value) => Some(*value),
            _ => None,
        }
    }

    fn equals(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Fraction(a), Cell::Fraction(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
            (a, b) => a == b,
        }
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<Vec<Cell>> {
    let columns: Vec<Vec<Cell>> = batch.columns().iter().map(cells).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

/// A column. The engines choose widths and kinds of text as they like.
fn cells(column: &ArrayRef) -> Vec<Cell> {
    let as_kind = |kind: &DataType| cast(column, kind).expect("a conversion");
    match column.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = as_kind(&DataType::Utf8);
            texts
                .as_string::<i32>()
                .iter()
                .map(|text| text.map_or(Cell::Null, |text| Cell::Text(text.into())))
                .collect()
        }
        DataType::Float32 | DataType::Float64 => {
            let numbers = as_kind(&DataType::Float64);
            numbers.as_primitive::<Float64Type>().iter().map(|n| n.map_or(Cell::Null, Cell::Fraction)).collect()
        }
        DataType::List(_) => {
            let list = |values: Option<ArrayRef>| values.map_or(Cell::Null, |values| Cell::List(cells(&values)));
            column.as_list::<i32>().iter().map(list).collect()
        }
        DataType::Timestamp(_, zone) => {
            let zone = zone.as_deref().expect("a time with its zone");
            assert!(["UTC", "+00:00"].contains(&zone), "{zone}");
            let micros = as_kind(&DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into())));
            whole(&cast(&micros, &DataType::Int64).expect("a number"))
        }
        _ => whole(&as_kind(&DataType::Int64)),
    }
}

fn whole(numbers: &ArrayRef) -> Vec<Cell> {
    numbers.as_primitive::<Int64Type>().iter().map(|number| number.map_or(Cell::Null, Cell::Whole)).collect()
}

/// Where two answers differ first.
fn difference(a: &Rows, b: &Rows) -> Option<String> {
    if a.columns != b.columns {
        return Some(format!("columns {:?} and {:?}", a.columns, b.columns));
    }
    if a.rows.len() != b.rows.len() {
        return Some(format!("{} and {} rows", a.rows.len(), b.rows.len()));
    }
    let (mut a, mut b) = (a.clone(), b.clone());
    a.sort();
    b.sort();
    let is_same = |a: &[Cell], b: &[Cell]| a.iter().zip(b).all(|(a, b)| a.equals(b));
    let differs = a.rows.iter().zip(&b.rows).find(|(a, b)| !is_same(a, b));
    differs.map(|(a, b)| format!("{a:?}\nand\n{b:?}"))
}

/// Fails where two answers differ, or have no rows.
pub fn check(view: &str, embedded: &Rows, spark: &Rows) {
    assert!(!embedded.rows.is_empty(), "{view} has no rows");
    if let Some(difference) = difference(embedded, spark) {
        panic!("{view} differs between DataFusion and Spark: {difference}");
    }
    println!("{view}: {} rows", embedded.rows.len());
}

#[test]
fn differences_are_found() {
    let rows = |cells: &[(i64, f64)]| Rows {
        columns: vec!["n".into(), "x".into()],
        rows: cells.iter().map(|(n, x)| vec![Cell::Whole(*n), Cell::Fraction(*x)]).collect(),
    };
    let some = rows(&[(1, 0.5), (2, 1e12)]);
    assert_eq!(difference(&some, &rows(&[(2, 1e12 + 1.0), (1, 0.5)])), None);
    assert!(difference(&some, &rows(&[(2, 1e12 + 1e4), (1, 0.5)])).is_some());
    assert!(difference(&some, &rows(&[(2, 1e12), (3, 0.5)])).is_some());
    assert!(difference(&some, &rows(&[(1, 0.5)])).is_some());
    assert!(difference(&some, &Rows { columns: vec!["n".into(), "y".into()], ..some.clone() }).is_some());
    let nulls = Rows { rows: vec![vec![Cell::Whole(1), Cell::Null]], ..some.clone() };
    assert!(difference(&nulls, &rows(&[(1, 0.0)])).is_some());
}
