//! `headway sql`, `ingest`, `ship` and `fleet` become `headway-fleet`, with everything as it was typed.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use std::os::unix::fs::PermissionsExt;
use support::{headway, refuses, said};

#[test]
fn what_is_typed_reaches_headway_fleet() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("headway-fleet");
    std::fs::write(&program, "#!/bin/sh\nfor word; do echo \"<$word>\"; done\nexit 7\n").expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("may be executed");
    for (typed, received) in [
        (vec!["sql", "SELECT 1", "rows", "--format", "json"], "<sql>\n<SELECT 1>\n<rows>\n<--format>\n<json>\n"),
        (vec!["sql", "--format=csv", "SELECT ' '"], "<sql>\n<--format=csv>\n<SELECT ' '>\n"),
        (vec!["ingest", "--version", "1.2", "a.jfr"], "<ingest>\n<--version>\n<1.2>\n<a.jfr>\n"),
        (vec!["ship", "--store", "s", "-e", "lock"], "<ship>\n<--store>\n<s>\n<-e>\n<lock>\n"),
        (vec!["fleet", "--help"], "<fleet>\n<--help>\n"),
    ] {
        let said = said(headway(&typed).env("PATH", folder.path()));
        assert_eq!((said.code, said.stdout.as_str()), (Some(7), received), "{}", said.stderr);
    }
}

#[test]
fn where_it_is_missing_one_sentence_says_how_to_get_it() {
    for command in ["sql", "ingest", "ship", "fleet"] {
        let sentence = format!(
            "`headway {command}` needs headway-fleet, which is neither in the directory of headway nor on the PATH"
        );
        refuses(headway([command, "x"]).env("PATH", "relative:/nowhere"), 1, &sentence);
        let helped = said(headway([command, "--help"]).env("PATH", "relative:/nowhere"));
        assert_eq!((helped.code, helped.stderr.as_str()), (Some(0), ""));
        assert!(
            helped.stdout.starts_with("With headway-fleet") && helped.stdout.contains(&sentence),
            "{}",
            helped.stdout
        );
    }
}
