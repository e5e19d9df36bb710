//! Numbers and lists as a sentence wants them.

pub(super) use headway_model::quantity::{grouped, percent};

/// `1 thread`, `12 threads`.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// A method in backticks, beside a lock whose name stands in the same sentence: where both have one
/// name, what is meant is said.
pub(super) fn method_beside(method: &str, lock: &str) -> String {
    if method == lock {
        format!("the method `{method}()`")
    } else {
        code(method)
    }
}

/// The same at the beginning of a sentence.
pub(super) fn begun(text: &str) -> String {
    text.strip_prefix("the ").map_or_else(|| text.to_owned(), |rest| format!("The {rest}"))
}

/// A name of code in backticks.
pub(super) fn code(name: &str) -> String {
    format!("`{name}`")
}
