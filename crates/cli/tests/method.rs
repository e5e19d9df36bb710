//! Profiles: `report --method`, `flame`, `diff`, and `export` to other tools'
//! formats, of recordings that async-profiler and JFR really made.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{headway, recording, refuses, said};

/// A recording that another profiler made.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jfr/tests/golden").join(name)
}

fn asprof() -> PathBuf {
    golden("async-profiler-4.1-jdk17.jfr.zst")
}

/// What a command that ends well prints.
#[track_caller]
fn printed(arguments: &[&str], files: &[&Path]) -> String {
    let said = said(headway(arguments).args(files));
    assert_eq!(said.code, Some(0), "{arguments:?}\n{}", said.stderr);
    said.stdout
}

#[track_caller]
fn json(arguments: &[&str], files: &[&Path]) -> Value {
    serde_json::from_str(&printed(arguments, files)).expect("JSON")
}

#[test]
fn methods_of_a_recording_of_async_profiler() {
    let report = json(&["report", "--method", "--json"], &[&asprof()]);
    assert_eq!(
        (&report["measure"], &report["samples"], &report["total_ns"]),
        (&"cpu".into(), &31.into(), &155_000_000.into())
    );
    let methods = report["sections"][0]["methods"].as_array().expect("methods");
    let hold = methods.iter().find(|method| method["method"] == "Contended.hold").expect("the program's own method");
    assert_eq!((&hold["self_ns"], &hold["total_samples"]), (&5_000_000.into(), &15.into()));
    let text = printed(&["report", "--method"], &[&asprof()]);
    assert!(text.contains("METHODS  CPU time, 155 ms, 31 samples"), "{text}");
    assert!(text.contains("HOTTEST CALL STACKS") && text.contains("< Contended.contend"), "{text}");
}

#[test]
fn wall_clock_time_waits_too() {
    let report = json(&["report", "--method", "--of", "wall", "--json"], &[&asprof()]);
    let methods = report["sections"][0]["methods"].as_array().expect("methods");
    let names: Vec<&str> = methods.iter().filter_map(|method| method["method"].as_str()).collect();
    assert!(
        names.iter().any(|name| name.contains("futex") || name.contains("wait") || name.contains("poll")),
        "{names:?}"
    );
    assert!(report["total_ns"].as_u64() > Some(1_000_000_000), "several threads for a third of a second: {report}");
}

#[test]
fn threads_and_groups_have_sections_of_their_own() {
    let sections = |by: &str| -> Vec<String> {
        let report = json(&["report", "--method", "--by", by, "--json"], &[&asprof()]);
        let sections = report["sections"].as_array().expect("sections").clone();
        sections.iter().map(|section| section["threads"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert!(sections("thread").iter().filter(|name| name.starts_with("contender-")).count() > 1);
    assert_eq!(sections("group").iter().filter(|name| name.starts_with("contender-")).count(), 1);
    refuses(headway(["report", "--by", "thread"]).arg(asprof()), 2, "--by thread and --by group belong to --method");
    // What is configured is for reports of locks.
    let configured =
        headway(["report", "--method"]).arg(asprof()).env("HEADWAY_REPORT_BY", "lock").output().expect("runs");
    assert!(configured.status.success(), "{configured:?}");
    for by in ["lock-name", "owner-method,lock"] {
        let sentence = "--by: with --method, it takes only `thread` or `group`";
        refuses(headway(["report", "--method", "--by", by]).arg(asprof()), 2, sentence);
    }
}

#[test]
fn callers_of_a_method() {
    let text = printed(&["report", "--method", "--callers-of", "Contended.hold$"], &[&asprof()]);
    let lines: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("CALLERS")).skip(1).map(str::trim).collect();
    assert!(lines[0].ends_with("Contended.hold") && lines[1].ends_with("< Contended.contend"), "{lines:?}");
}

#[test]
fn recordings_of_jfr_are_told_in_samples() {
    let report = json(&["report", "--method", "--json"], &[&golden("jfr-17.jfr.zst")]);
    assert_eq!((&report["unit"], &report["total_ns"]), (&"samples".into(), &0.into()));
    assert!(report["samples"].as_u64() > Some(0));
}

#[test]
fn every_format_is_written_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a directory");
    for (name, begins) in [
        ("a.collapsed", &b"java.lang.Thread.run;"[..]),
        ("a.pb.gz", &[0x1f, 0x8b]),
        ("a.json", b"{\"meta\""),
        ("a.json.gz", &[0x1f, 0x8b]),
        ("a.speedscope.json", b"{\"$schema\""),
        ("a.html", b"<!DOCTYPE html>"),
    ] {
        let path = directory.path().join(name);
        let said = said(headway(["export", "-o"]).arg(&path).arg(asprof()));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains("CPU time, 155 ms, 31 samples"), "{}", said.stderr);
        let bytes = std::fs::read(&path).expect("written");
        // Lines of collapsed stacks have no order.
        let is_there = bytes.windows(begins.len()).any(|window| window == begins);
        assert!(bytes.starts_with(begins) || (name == "a.collapsed" && is_there), "{name}");
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn collapsed_stacks_add_up_and_go_through_pipes() {
    let text = printed(&["export", "-o", "-"], &[&asprof()]);
    let sum: u64 = text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    assert_eq!(sum, 155_000_000);
}

/// Of a thread it is said whether it was blocked or blocked others.
#[test]
fn sections_of_threads_say_what_their_time_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = directory.path().join("shop.jfr");
    recording::shop(&shop);
    let by_thread = |of: &str, file: &Path| {
        let text = printed(&["report", "--method", "--by", "thread", "--of", of], &[file]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (owner, contender) = (by_thread("owner", &shop), by_thread("contender", &shop));
    assert!(owner.contains("LOCKS AND METHODS blocked time, by owner"), "{owner}");
    assert!(owner.contains(" owned locks for ") && owner.contains("in the call stack of the lock's owner"), "{owner}");
    assert!(contender.contains(" was blocked for ") && contender.contains(" of the blocked time"), "{contender}");
    assert!(by_thread("cpu", &asprof()).contains(" % of all "), "samples are no blocked time");
}

/// Few rows are no reason to show locks alone: no method has self time there.
#[test]
fn blocked_time_has_locks_and_methods_however_few_rows_are_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = directory.path().join("shop.jfr");
    recording::shop(&shop);
    for (of, heading) in [("owner", "METHODS OF OWNERS  "), ("contender", "METHODS OF BLOCKED THREADS  ")] {
        let text = printed(&["report", "--method", "--top", "1", "--of", of], &[&shop]);
        let table = |heading: &str| {
            let rows = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
            rows.take_while(|line| !line.is_empty()).count()
        };
        assert_eq!((table("LOCKS  "), table(heading)), (1, 1), "{text}");
    }
}

#[test]
fn blocked_time_has_profiles_by_contender_and_by_owner() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = directory.path().join("shop.jfr");
    recording::shop(&shop);
    let blocked = json(&["report", "--json"], &[&shop])["blocked_ns"].as_u64();
    for measure in ["contender", "owner"] {
        let text = directory.path().join(format!("{measure}.collapsed"));
        let said = said(headway(["export", "--of", measure, "-o"]).arg(&text).arg(&shop));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let text = std::fs::read_to_string(&text).expect("written");
        let sum: u64 = text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
        assert_eq!(Some(sum), blocked, "{measure}: {text}");
    }
}

#[test]
fn a_recording_against_itself_agrees_entirely() {
    let difference = json(&["diff", "--json"], &[&asprof(), &asprof()]);
    let agreement = &difference["agreement"];
    let figure = |key: &str| agreement[key].as_f64().expect("a figure");
    assert!((figure("overlap") - 1.0).abs() < 1e-9, "{agreement}");
    assert_eq!((figure("hot_edge_coverage"), figure("hot_edge_coverage_back")), (1.0, 1.0));
    let text = printed(&["diff"], &[&asprof(), &asprof()]);
    assert!(text.contains("100 % of the time has the same call stacks in both recordings."), "{text}");
    assert!(text.contains("No method changed by more than chance explains"), "{text}");
}

#[test]
fn a_difference_can_be_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let (collapsed, page) = (directory.path().join("d.collapsed"), directory.path().join("d.html"));
    for path in [&collapsed, &page] {
        let other = golden("async-profiler-4.1-jdk25.jfr.zst");
        let said = said(headway(["diff", "-o"]).arg(path).args([&asprof(), &other]));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let text = std::fs::read_to_string(&collapsed).expect("written");
    let columns = |line: &str| line.rsplitn(3, ' ').take(2).all(|number| number.parse::<u64>().is_ok());
    assert!(text.lines().all(columns), "{text}");
    assert!(std::fs::read_to_string(&page).expect("written").contains("\"before\":["));
    refuses(
        headway(["diff", "-o", "d.svg"]).args([asprof(), asprof()]),
        2,
        "a difference is written as .collapsed or .html",
    );
}

#[test]
fn what_cannot_be_shown_is_told_in_one_sentence() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let shop = path("shop.jfr");
    recording::shop(&shop);
    std::fs::write(path("text.jfr"), "no recording").expect("written");
    let flame = |arguments: &[&str], file: &Path| {
        let mut command = headway(["flame", "-o"]);
        command.arg(path("x.html")).args(arguments).arg(file);
        command
    };
    refuses(&mut flame(&[], &path("text.jfr")), 4, "is not a JFR recording");
    refuses(&mut flame(&[], &path("none.jfr")), 1, "there is no such file");
    refuses(&mut flame(&["--of", "walk"], &shop), 2, "unknown measure \"walk\"; did you mean \"wall\"?");
    refuses(
        &mut flame(&["--threads", "nobody"], &asprof()),
        1,
        "has no samples of CPU time in the range and the threads asked for",
    );
    refuses(
        &mut flame(&["--of", "wall"], &golden("jfr-25.jfr.zst")),
        1,
        "has no samples by the wall clock: its samples are of CPU time: use --of cpu, or record with -e wall",
    );
    refuses(headway(["flame", "-o", "x.png"]).arg(&shop), 2, "a flame graph is written as .html");
    refuses(headway(["flame", "-o"]).arg(path("no/x.html")).arg(asprof()), 1, "its directory does not exist");
    refuses(headway(["export", "-o", "x.svg"]).arg(&shop), 2, "profiles to .collapsed, .pb.gz, .json");
    refuses(
        headway(["diff", "--threshold", "2"]).args([asprof(), asprof()]),
        2,
        "2 is not above 0 and at most 1 (100%)",
    );
    assert!(!path("x.html").exists());
}

#[test]
fn a_damaged_recording_gives_its_readable_part_and_code_4() {
    let directory = tempfile::tempdir().expect("a directory");
    let (torn, page) = (directory.path().join("torn.jfr"), directory.path().join("x.html"));
    recording::shop(&torn);
    let length = std::fs::metadata(&torn).expect("a file").len();
    std::fs::OpenOptions::new().write(true).open(&torn).and_then(|file| file.set_len(length - 20)).expect("cut");
    refuses(headway(["flame", "--of", "contender", "-o"]).arg(&page).arg(&torn), 4, "is damaged");
    assert!(page.exists(), "the readable part is written");
}
