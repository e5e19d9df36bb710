//! Answers: a table to read, CSV, JSON lines, Parquet.

use crate::arguments::Format;
use crate::failure::Failure;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use headway_model::printable;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Writes an answer to a file or to the standard output.
///
/// # Errors
/// It cannot be written. That nobody reads it to its end is no error.
pub fn write(schema: &SchemaRef, rows: &[RecordBatch], format: Format, to: Option<&Path>) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let place = to.map_or_else(|| "the answer".to_owned(), |path| path.display().to_string());
        Failure::Failed(format!("cannot write {place}: {error}"))
    };
    let sink: Box<dyn Write + Send> = match to {
        Some(path) => Box::new(BufWriter::new(File::create(path).map_err(failed)?)),
        None => Box::new(BufWriter::new(io::stdout())),
    };
    let written = match format {
        Format::Table => table(schema, rows, sink),
        Format::Csv => comma_separated(schema, rows, sink),
        Format::Json => json_lines(rows, sink),
        Format::Parquet => parquet_file(schema, rows, sink),
    };
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(failed),
    }
}

/// Writes a text to the standard output. That nobody reads it to its end is no error.
///
/// # Errors
/// It cannot be written.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut to = io::stdout().lock();
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot write the answer: {error}")))
        }
        _ => Ok(()),
    }
}

/// A table as text.
#[cfg(test)]
pub fn as_table(schema: &SchemaRef, rows: &[RecordBatch]) -> io::Result<String> {
    let mut text = Vec::new();
    table(schema, rows, &mut text)?;
    String::from_utf8(text).map_err(io::Error::other)
}

/// The texts of all cells, row by row.
fn cells(rows: &[RecordBatch]) -> io::Result<Vec<Vec<String>>> {
    let options = FormatOptions::default().with_null("");
    let mut cells = Vec::new();
    for batch in rows {
        let columns: Result<Vec<_>, _> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options)).collect();
        let columns = columns.map_err(io::Error::other)?;
        for row in 0..batch.num_rows() {
            let texts: Result<Vec<String>, _> =
                columns.iter().map(|column| column.value(row).try_to_string()).collect();
            cells.push(texts.map_err(io::Error::other)?);
        }
    }
    Ok(cells)
}

/// Columns side by side, numbers to the right. Names come from the recorded programs: what
/// would move the cursor is written as an escape.
fn table(schema: &SchemaRef, rows: &[RecordBatch], mut to: impl Write) -> io::Result<()> {
    let mut lines = vec![schema.fields().iter().map(|field| field.name().clone()).collect()];
    lines.extend(cells(rows)?);
    for line in &mut lines {
        line.iter_mut().for_each(|cell| *cell = printable(cell).into_owned());
    }
    let is_number: Vec<bool> = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
    let mut widths = vec![0; schema.fields().len()];
    for line in &lines {
        widths.iter_mut().zip(line).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    for line in &lines {
        let mut text = String::new();
        for ((cell, width), right) in line.iter().zip(&widths).zip(&is_number) {
            let gap = " ".repeat(width - cell.chars().count());
            let padded = if *right { format!("{gap}{cell}  ") } else { format!("{cell}{gap}  ") };
            text.push_str(&padded);
        }
        writeln!(to, "{}", text.trim_end())?;
    }
    to.flush()
}

fn comma_separated(schema: &SchemaRef, rows: &[RecordBatch], to: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(schema.fields().iter().map(|field| field.name()))?;
    for line in cells(rows)? {
        writer.write_record(line)?;
    }
    writer.flush()
}

fn json_lines(rows: &[RecordBatch], to: impl Write) -> io::Result<()> {
    let mut writer = arrow::json::LineDelimitedWriter::new(to);
    let rows: Vec<&RecordBatch> = rows.iter().collect();
    writer.write_batches(&rows).map_err(arrow_error)?;
    writer.finish().map_err(arrow_error)?;
    writer.into_inner().flush()
}

fn parquet_file(schema: &SchemaRef, rows: &[RecordBatch], to: impl Write + Send) -> io::Result<()> {
    let level = ZstdLevel::try_new(3).map_err(io::Error::other)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut writer = ArrowWriter::try_new(to, schema.clone(), Some(properties)).map_err(io::Error::other)?;
    for batch in rows {
        writer.write(batch).map_err(io::Error::other)?;
    }
    writer.into_inner().map_err(io::Error::other)?.flush()
}

fn arrow_error(error: arrow::error::ArrowError) -> io::Error {
    match error {
        arrow::error::ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    #[test]
    fn names_cannot_move_the_cursor() {
        let fields = vec![Field::new("lock", DataType::Utf8, true), Field::new("n", DataType::Int64, true)];
        let schema = Arc::new(Schema::new(fields));
        let names = StringArray::from(vec![Some("a\u{1b}[2Jb"), None]);
        let numbers = Int64Array::from(vec![Some(5), Some(12_345)]);
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(names), Arc::new(numbers)]).expect("a batch");
        let mut text = Vec::new();
        table(&schema, &[batch], &mut text).expect("a table");
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].ends_with("    n") && lines[1].ends_with("    5") && lines[2].ends_with("12345"), "{text}");
    }
}
