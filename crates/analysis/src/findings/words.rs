//! Numbers and lists as a sentence wants them.

pub(super) use headway_model::quantity::{grouped, percent};

/// `1 thread`, `12 threads`.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// A name of code in backticks.
pub(super) fn code(name: &str) -> String {
    format!("`{name}`")
}
