//! Every fault of `docs/faults.md`, tried again. `HEADWAY_FAULTS=renew` writes
//! the document from what is seen; `HEADWAY_FAULTS='TEXT|TEXT'` tries those whose
//! description has one of the texts, and `HEADWAY_FAULTS='renew=TEXT|TEXT'` writes
//! the rows of those and leaves the others.

use headway_e2e::at_once::at_once;
use headway_e2e::faults::stage::Stage;
use headway_e2e::faults::{self, table, Fault};
use std::collections::HashMap;
use std::path::Path;

/// Faults tried at once: they mostly wait.
const AT_ONCE: usize = 3;

/// What was seen, or what went wrong, in the order of the faults.
fn try_all(faults: &[Fault]) -> Vec<Result<String, String>> {
    at_once(AT_ONCE, faults, |fault| {
        let tried = Stage::new().and_then(|stage| fault.try_it(&stage));
        tried.map_err(|problem| problem.to_string())
    })
}

#[test]
fn every_fault_ends_as_expected() {
    let wish = std::env::var("HEADWAY_FAULTS").unwrap_or_default();
    let renewed = wish.strip_prefix("renew");
    let texts = renewed.map_or(wish.as_str(), |texts| texts.trim_start_matches('='));
    let mut faults = faults::all();
    faults.retain(|fault| texts.split('|').any(|text| fault.what.contains(text)));
    let seen = try_all(&faults);
    let failed: Vec<String> = faults
        .iter()
        .zip(&seen)
        .filter_map(|(fault, seen)| {
            let problem = seen.as_ref().err()?;
            Some(format!("{}\n  expected: {}\n  but: {problem}", fault.what, fault.expected))
        })
        .collect();
    assert!(failed.is_empty(), "{} of {} faults:\n{}", failed.len(), faults.len(), failed.join("\n"));
    if renewed.is_some() {
        let before = std::fs::read_to_string(document()).unwrap();
        let seen: HashMap<String, String> = faults.iter().map(table::promise).zip(seen.into_iter().flatten()).collect();
        let all = faults::all();
        let rows = all.iter().map(|fault| (fault, seen_now_or_before(&table::promise(fault), &seen, &before)));
        std::fs::write(document(), table::document(&rows.collect::<Vec<_>>())).unwrap();
    }
}

/// What was seen, by the rows' first two cells; of a fault that was not tried now, what
/// the document says.
fn seen_now_or_before(promise: &str, seen: &HashMap<String, String>, before: &str) -> String {
    let row = || before.lines().find_map(|line| line.strip_prefix(promise)?.strip_suffix(" |"));
    let said = seen.get(promise).cloned().or_else(|| row().map(|seen| seen.trim().to_owned()));
    said.unwrap_or_else(|| panic!("docs/faults.md lacks {promise}; it must be tried, too"))
}

/// The project's root has the document.
fn document() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join(table::DOCUMENT)
}

#[test]
fn the_document_has_every_fault() {
    let text = std::fs::read_to_string(document()).unwrap();
    let faults = faults::all();
    assert!(faults.len() >= 60, "{} faults", faults.len());
    for fault in &faults {
        let promise = table::promise(fault);
        assert!(text.contains(&promise), "docs/faults.md lacks {promise}; HEADWAY_FAULTS=renew writes it again");
    }
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")).count();
    assert_eq!(rows, faults.len(), "docs/faults.md has rows that are not tried any more");
}
