//! Tables for programs: comma-separated values and lines of JSON, made of the same
//! documents as `--json`.

use crate::error::Failure;
use crate::terminal;
use clap::ValueEnum;
use serde_json::Value;
use std::io;

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document, as --json.
    Json,
    /// One JSON object per line, for each row.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
}

/// A row: the names and values of its columns, in their order.
pub type Record = Vec<(&'static str, Value)>;

/// Prints rows; every row has the same columns.
///
/// # Errors
/// Those of writing to standard output.
pub fn print(records: &[Record], format: TableFormat) -> Result<(), Failure> {
    let failed = || Failure::doing("cannot write to standard output");
    match format {
        TableFormat::Csv => terminal::print(&csv(records).map_err(failed())?).map_err(failed()),
        _ => {
            let lines: String = records.iter().map(|record| line(record)).collect();
            terminal::print_json(&lines).map_err(failed())
        }
    }
}

/// Built by hand, because an object has no order.
fn line(record: &[(&str, Value)]) -> String {
    let fields: Vec<String> = record.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}\n", fields.join(","))
}

fn csv(records: &[Record]) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(first) = records.first() {
        writer.write_record(first.iter().map(|(name, _)| name))?;
    }
    for record in records {
        writer.write_record(record.iter().map(|(_, value)| cell(value)))?;
    }
    let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// A value as one cell. What is no number is quoted where it has to be; a name that a
/// spreadsheet would take for a formula begins with an apostrophe.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@']) => format!("'{text}"),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(" < "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_cells() {
        let record = |name: &str| -> Record {
            vec![("lock", json!(name)), ("total_ns", json!(5)), ("chain", json!(["a:1", "b:2"])), ("x", json!(null))]
        };
        assert_eq!(line(&record("a")), "{\"lock\":\"a\",\"total_ns\":5,\"chain\":[\"a:1\",\"b:2\"],\"x\":null}\n");
        let text = csv(&[record("a,\"b\""), record("=1+1")]).expect("text");
        assert_eq!(text, "lock,total_ns,chain,x\n\"a,\"\"b\"\"\",5,a:1 < b:2,\n'=1+1,5,a:1 < b:2,\n");
    }
}
