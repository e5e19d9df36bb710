//! What must not stand in sources.

use super::{Complaint, File};
use crate::process::root;

/// Marks of unfinished work and of tests that do not run, in pieces, so that
/// this file is not found itself.
const UNFINISHED: [&str; 12] = [
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("#[ig", "nore"),
    concat!("@Dis", "abled"),
    concat!("it.", "skip("),
    concat!("test.", "skip("),
    concat!("describe.", "skip("),
    concat!("mark.", "skip"),
    concat!("unittest.", "skip"),
    concat!("assert!(", "true)"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
];

/// Lints that nobody may switch off.
const FIXED_LINTS: [&str; 2] = ["undocumented_unsafe_blocks", "unsafe_op_in_unsafe_fn"];

/// Extensions of files whose content is prose or data.
const PROSE_OR_DATA: [&str; 5] = ["md", "lock", "json", "snap", "txt"];

pub fn complaints(file: &File) -> Vec<Complaint> {
    let mut complaints = machine_paths(file, &[root().display().to_string(), home()]);
    if !PROSE_OR_DATA.contains(&file.extension()) {
        complaints.extend(unfinished(file));
    }
    if file.extension() == "rs" {
        complaints.extend(lints_switched_off(file));
    }
    complaints
}

fn home() -> String {
    std::env::var("HOME").unwrap_or_default()
}

fn numbered(file: &File) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(file.text.lines())
}

fn unfinished(file: &File) -> Vec<Complaint> {
    let found = numbered(file).filter_map(|(number, line)| {
        let mark = UNFINISHED.iter().find(|mark| line.contains(**mark))?;
        Some(file.complaint(number, format!("\"{mark}\": unfinished work and tests that do not run are not committed")))
    });
    found.collect()
}

/// Paths of the machine on which this runs, where they begin (so that a
/// `/proc/PID/root/...` is none).
fn machine_paths(file: &File, places: &[String]) -> Vec<Complaint> {
    let begins = |line: &str, place: &str| {
        line.match_indices(&format!("{place}/")).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && !"}>*]/._-".contains(c))
        })
    };
    let found = numbered(file).filter_map(|(number, line)| {
        let place = places.iter().find(|place| place.len() > 1 && begins(line, place))?;
        Some(file.complaint(number, format!("names {place}/, a path of this machine, which no other has")))
    });
    found.collect()
}

fn lints_switched_off(file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut above = "";
    for (number, line) in numbered(file) {
        let allows = |lint: &str| line.contains("allow(") && line.contains(lint);
        if let Some(lint) = FIXED_LINTS.into_iter().find(|lint| allows(lint)) {
            complaints.push(file.complaint(
                number,
                format!("{lint} is not for switching off: every unsafe step says who guarantees it"),
            ));
        }
        let has_reason = line.contains("//") || above.trim_start().starts_with("//");
        if allows("unsafe_code") && !has_reason {
            complaints.push(file.complaint(number, "opens unsafe_code without the reason beside it"));
        }
        if allows("missing_docs") && !is_for_tests(&file.path) {
            complaints.push(file.complaint(number, "every public item is documented, or it need not be public"));
        }
        above = line;
    }
    complaints
}

/// Test code, and the libraries that only tests load.
fn is_for_tests(path: &str) -> bool {
    path.contains("/tests/") || path.contains("-probe/")
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    #[test]
    fn unfinished_work_is_found_in_code_only() {
        let text = format!("fn a() {{ {}) }}\n", UNFINISHED[0]);
        assert!(said(complaints(&file("a.rs", &text))).starts_with("a.rs:1: "));
        assert_eq!(said(complaints(&file("a.md", &text))), "");
        assert_eq!(said(complaints(&file("a.rs", "rest.iter().skip(1)\n"))), "");
    }

    #[test]
    fn machine_paths_are_found_where_they_begin() {
        let places = ["/mine".to_owned(), "/".to_owned(), String::new()];
        let found = |text: &str| said(machine_paths(&file("a.md", text), &places));
        assert!(found("see \"/mine/project\"").contains("names /mine/"));
        assert!(found("/mine/x").contains("names /mine/"));
        assert_eq!(found("/proc/{pid}/mine/tmp and /proc/1/mine/tmp and /mine"), "");
    }

    #[test]
    fn switched_off_lints_are_found() {
        // In pieces, so that this file is not found itself.
        let found = |path: &str, before: &str, lint: &str, after: &str| {
            said(complaints(&file(path, &format!("{before}#![allow{}]{after}\n", format_args!("({lint})")))))
        };
        assert!(found("a.rs", "", FIXED_LINTS[0], " // why").contains("not for switching off"));
        assert!(found("a.rs", "\n", "unsafe_code", "").contains("a.rs:2: opens unsafe_code"));
        assert_eq!(found("a.rs", "// It maps memory.\n", "unsafe_code", ""), "");
        assert_eq!(found("a.rs", "", "unsafe_code", " // maps memory"), "");
        assert!(found("crates/a/src/lib.rs", "", "missing_docs", "").contains("documented"));
        assert_eq!(found("crates/a/tests/b.rs", "", "missing_docs", ""), "");
    }
}
