//! `headway-accuracy` as the evaluation calls it: one line of JSON, and exit codes.
//! How right the numbers are depends on the machine; here they must be there.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn accuracy(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway-accuracy"));
    command.args(line.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

/// The numbers, and that they are all that is printed.
fn figures(line: &str) -> Value {
    let output = accuracy(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.lines().count(), 1, "{printed}");
    serde_json::from_str(&printed).unwrap()
}

fn refused(line: &str, code: i32, says: &str) {
    let output = accuracy(line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{line}: {said}");
    assert!(said.contains(says), "{line}: {said}");
}

#[test]
fn waits_under_headway_and_jfr_are_compared_with_the_truth() {
    if Jdk::all().iter().all(|jdk| jdk.release != 25) {
        return;
    }
    for (profiler, blames) in [("headway", true), ("jfr", false)] {
        let figures = figures(&format!("waits --jdk 25 --profiler {profiler} --seconds 1 -- chains --hold-us 20000"));
        let number = |key: &str| figures[key].as_f64().unwrap_or_else(|| panic!("{profiler}: no {key} in {figures}"));
        assert!(number("contentions") > 0.0 && number("recorded") > 0.0, "{profiler}: {figures}");
        // Half of it is there however busy the machine is, and none of it twice.
        assert!((0.5..1.1).contains(&number("coverage")), "{profiler}: {figures}");
        assert!(number("coverage_ge_1ms") <= number("coverage_ge_1ms_at_most"), "{profiler}: {figures}");
        assert_eq!(number("lost"), 0.0, "{profiler}: {figures}");
        assert_eq!(figures.get("wrong").is_some(), blames, "{profiler}: {figures}");
    }
}

#[test]
fn a_wrong_option_and_a_failed_run_differ_in_the_exit_code() {
    refused("waits --jdk 25 --profiler perf -- chains", 2, "--profiler takes headway, jfr or async, not \"perf\"");
    if Jdk::all().iter().any(|jdk| jdk.release == 25) {
        refused("waits --jdk 25 --profiler jfr -- nothing", 1, "predict takes one of");
        let missing = "shares --jdk 25 --profiler async --async-library missing.so";
        refused(missing, 1, "there is no library missing.so");
    }
}
