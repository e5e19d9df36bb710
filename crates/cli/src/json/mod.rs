//! JSON on standard output. Every document begins with the version of its format; `docs/schema/` has a
//! JSON Schema of each kind, generated from the types (`schema.rs`).

#[cfg(test)]
mod schema;

use crate::error::Failure;
use crate::terminal;
use headway_analysis::document::Document;
use serde::Serialize;

/// Prints a document.
///
/// # Errors
/// It cannot be written.
pub fn print(content: impl Serialize) -> Result<(), Failure> {
    write(&serde_json::to_string_pretty(&Document::new(content)).map_err(failed)?)
}

/// Prints a document on one line, as one of many.
///
/// # Errors
/// It cannot be written.
pub fn print_line(content: impl Serialize) -> Result<(), Failure> {
    write(&serde_json::to_string(&Document::new(content)).map_err(failed)?)
}

/// Prints a list of documents.
///
/// # Errors
/// It cannot be written.
pub fn print_list<T: Serialize>(contents: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let documents: Vec<Document<T>> = contents.into_iter().map(Document::new).collect();
    write(&serde_json::to_string_pretty(&documents).map_err(failed)?)
}

fn write(text: &str) -> Result<(), Failure> {
    terminal::print_json(&format!("{text}\n")).map_err(Failure::doing("cannot write to standard output"))
}

fn failed(error: serde_json::Error) -> Failure {
    Failure::System { doing: "cannot write JSON".into(), source: error.into() }
}
