//! Names that a hostile program chose: nothing that a terminal obeys is printed
//! as text, no name forges a row, and JSON loses nothing.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use std::path::{Path, PathBuf};
use support::recording::Scenario;
use support::{headway, said};

/// Clears the screen, sets the title, forges a row, reorders, and hides.
const PAYLOAD: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\nFORGED 100 %\r\t\u{202e}\u{2066}\u{2028}\u{200b}";

/// Stands where a character was replaced.
const SHOWN_INSTEAD: char = '\u{fffd}';

fn hostile_recording(directory: &Path) -> PathBuf {
    let path = directory.join(format!("app{}.jfr", "\u{1b}[2J\nFORGED\u{202e}"));
    let mut scenario = Scenario::begin(&path);
    scenario.hostile(PAYLOAD);
    scenario.contention();
    scenario.waiting();
    scenario.parking();
    scenario.finish();
    path
}

fn is_harmless(text: &str) -> bool {
    let bad = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.contains(bad) && !text.lines().any(|line| line.trim_start().starts_with("FORGED"))
}

#[test]
fn no_text_has_what_a_terminal_obeys() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = hostile_recording(directory.path()).display().to_string();
    let missing = directory.path().join("no\u{1b}[2J\nFORGED").display().to_string();
    let all = "contender-thread,lock,lock-class,owner-chain,contender-chain,owner-thread";
    let lines: [&[&str]; 13] = [
        &["report", &file],
        &["report", "--by", all, &file],
        &["report", "--pressure", &file],
        &["report", "--phases", &file],
        &["report", "--steal", &file],
        &["report", "--method", "--of", "owner", &file],
        &["report", "--method", "--of", "contender", "--by", "thread", &file],
        &["diff", "--of", "owner", &file, &file],
        &["parks", &file],
        &["export", "--of", "owner", &file, "-o", "-"],
        &["export", &file, "-o", "x.jfr"],
        &["report", &missing],
        &["report", &file, &missing],
    ];
    for line in lines {
        for columns in ["80", "200"] {
            let mut command = headway(line.iter().copied());
            let said = said(command.env("COLUMNS", columns).current_dir(directory.path()));
            let text = said.stdout + &said.stderr;
            assert!(text.contains(SHOWN_INSTEAD) || line.contains(&"export"), "{line:?} shows no name: {text}");
            assert!(is_harmless(&text), "{line:?}: {text:?}");
        }
    }
}

#[test]
fn json_keeps_every_character_and_prints_none_that_a_terminal_obeys() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = hostile_recording(directory.path()).display().to_string();
    for line in [
        &["report", "--json", "--by", "contender-thread,owner-method", &file][..],
        &["report", "--json", "--method", "--of", "owner", &file],
        &["diff", "--json", "--of", "owner", &file, &file],
    ] {
        let said = said(&mut headway(line.iter().copied()));
        assert_eq!(said.code, Some(0), "{line:?}: {}", said.stderr);
        assert!(is_harmless(&said.stdout), "{line:?}: {:?}", said.stdout);
        let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert!(has_text(&document, PAYLOAD), "{line:?}: {document}");
    }
}

fn has_text(value: &serde_json::Value, wanted: &str) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains(wanted),
        serde_json::Value::Array(values) => values.iter().any(|value| has_text(value, wanted)),
        serde_json::Value::Object(fields) => fields.values().any(|value| has_text(value, wanted)),
        _ => false,
    }
}
