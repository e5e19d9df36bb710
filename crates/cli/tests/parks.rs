//! Park statistics and contention of a recording with known parks.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.
#![allow(dead_code)] // The support serves other tests, too.

mod support;

use serde_json::Value;
use support::recording::Scenario;
use support::{headway, refuses, said, Said};
use tempfile::TempDir;

fn directory_with_parks() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut scenario = Scenario::begin(&directory.path().join("parks.jfr"));
    scenario.parking();
    scenario.finish();
    directory
}

fn in_directory(directory: &TempDir, arguments: &[&str]) -> Said {
    let said = said(headway(arguments).current_dir(directory.path()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said
}

#[test]
fn the_table_has_every_column() {
    let directory = directory_with_parks();
    let at = |columns: &str| {
        let mut command = headway(["parks", "--frames", "4", "parks.jfr"]);
        said(command.current_dir(directory.path()).env("COLUMNS", columns)).stdout
    };
    insta::assert_snapshot!(at("200"));
    insta::assert_snapshot!("on_narrow_screens_it_is_a_paragraph_per_blocker", at("60"));
}

#[test]
fn the_json_has_every_column() {
    let directory = directory_with_parks();
    let said = in_directory(&directory, &["parks", "--json", "parks.jfr"]);
    let json: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let blocker = &json["blockers"][0];
    assert_eq!(blocker["class"], "java.util.concurrent.locks.ReentrantLock$NonfairSync");
    assert_eq!((&blocker["hash"], &blocker["thread"]), (&"cafe".into(), &"http-nio-1".into()));
    assert_eq!((&blocker["times_parked"], &blocker["peak_parked"]), (&20.into(), &2.into()));
    assert_eq!((&blocker["parked_now"], &blocker["thread_time_ns"]), (&0.into(), &740_000_000.into()));
    assert_eq!((&blocker["real_time_ns"], &blocker["avg_park_ns"]), (&380_000_000.into(), &37_000_000.into()));
    assert_eq!((&blocker["avg_hold_ns"], &blocker["real_util"]), (&19_000_000.into(), &0.38.into()));
    assert_eq!(blocker["thread_util"], 0.74);
    assert_eq!(blocker["stack"].as_array().map(Vec::len), Some(4));
}

#[test]
fn thresholds_leave_blockers_out() {
    let directory = directory_with_parks();
    let said = in_directory(&directory, &["parks", "--print-threshold", "21", "parks.jfr"]);
    assert!(said.stdout.contains("1 more with fewer parks"), "{}", said.stdout);
}

#[test]
fn the_report_tells_who_held_the_lock() {
    let directory = directory_with_parks();
    let said = in_directory(&directory, &["report", "--by", "kind,lock,owner-method,contender-method", "parks.jfr"]);
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn a_file_that_is_none_is_told() {
    refuses(&mut headway(["parks", "nowhere.jfr"]), 1, "there is no such file");
}
