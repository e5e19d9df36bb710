//! The document: every fault with what was expected and what was seen.

use super::Fault;
use std::fmt::Write;

/// Where it is, below the project's root.
pub const DOCUMENT: &str = "docs/faults.md";

const HEAD: &str = "\
# Faults

What was done to Headway, what should happen, and what happened. Every row is
tried again by `./hw test` (`crates/e2e/tests/faults.rs`), which also wrote this
page: after a change, `HEADWAY_FAULTS=renew cargo test -p headway-e2e --test faults`
writes it again. `PID` stands for a process id; paths are shortened.
";

/// A row's first two cells, by which the committed document is checked.
pub fn promise(fault: &Fault) -> String {
    format!("| {} | {} |", fault.what, fault.expected)
}

/// The whole document.
pub fn document(rows: &[(&Fault, String)]) -> String {
    let mut text = HEAD.to_owned();
    let mut group = "";
    for (fault, seen) in rows {
        if fault.group != group {
            group = fault.group;
            let _ = write!(text, "\n## {group}\n\n| what was done | expected | seen |\n|---|---|---|\n");
        }
        let _ = writeln!(text, "{} {seen} |", promise(fault));
    }
    let _ = write!(text, "\n{} faults were tried.\n", rows.len());
    text
}
