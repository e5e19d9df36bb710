//! Reports of recordings with known content: the pictures that people see,
//! the JSON that programs read, and what damage does.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::recording::{self, Scenario};
use support::{headway, refuses, said, unwrapped, Said};
use tempfile::TempDir;

/// `headway report ARGUMENTS shop.jfr`, in the directory of the recording.
fn report_in(directory: &TempDir, arguments: &[&str]) -> Said {
    said(headway(["report"]).args(arguments).current_dir(directory.path()))
}

fn directory_with_shop() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    recording::shop(&directory.path().join("shop.jfr"));
    directory
}

fn json(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

/// What a report of a part says of the recording is true of the recording, and what it offers shows the same part.
#[test]
fn a_report_of_a_part_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = directory.path().join("shop.jfr");
    recording::shop(&shop);
    let said = said(headway(["report", "--from", "100ms", "--to", "-500ms", "--threads=request"]).arg(&shop));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "1.00 s recorded by headway 0.1.0, began 2026-01-02 03:04:05 UTC",
        "Only threads whose names match `request` are counted (--threads).",
        "Only the time from 100 ms to 500 ms is counted (--from, --to).",
        "shop.jfr --from 100ms --to -500ms --threads='request' --full",
        "Web page of the whole recording: headway report ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let elsewhere = crate::said(headway(["report"]).arg(&shop).env("TZ", "UTC-2"));
    assert!(elsewhere.stdout.contains("began 2026-01-02 05:04:05 "), "{}", elsewhere.stdout);
}

#[test]
fn what_is_wrong_on_one_screen() {
    let said = report_in(&directory_with_shop(), &["shop.jfr"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    insta::assert_snapshot!(said.stdout);
}

/// Whatever goes wrong in a recording, its report fits a screen.
#[test]
fn sixty_lines_at_most() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut scenario = Scenario::begin(&directory.path().join("shop.jfr"));
    scenario.contention();
    scenario.waiting();
    scenario.pause();
    for (nth, loss) in headway_model::Loss::ALL.into_iter().enumerate() {
        scenario.drops(loss, 100 + nth as u64);
    }
    for mechanism in ["walker", "monitor-exit", "park", "cpu", "wall", "steal", "notify", "names"] {
        scenario.degraded(mechanism, "the walker disagreed with JVMTI, so stacks are taken by JVMTI, which is slower");
    }
    scenario.finish();
    let brief = report_in(&directory, &["shop.jfr"]).stdout;
    assert!(brief.lines().count() <= 60, "{} lines:\n{brief}", brief.lines().count());
    let full = report_in(&directory, &["--full", "shop.jfr"]).stdout;
    assert!(full.lines().count() > 60 && full.contains("BLOCKED TIME"), "{full}");
    for asks_for_rows in [&["-t"][..], &["--by", "lock"], &["--top", "3"]] {
        let said = report_in(&directory, &[asks_for_rows, &["shop.jfr"]].concat());
        assert!(said.stdout.contains("BLOCKED TIME"), "{asks_for_rows:?}: {}", said.stdout);
    }
}

#[test]
fn contention_at_80_columns() {
    let said = report_in(&directory_with_shop(), &["--full", "shop.jfr"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn chains_at_120_columns() {
    let directory = directory_with_shop();
    let mut command = headway(["report", "--by", "owner-chain,contender-chain", "shop.jfr"]);
    let said = said(command.env("COLUMNS", "120").current_dir(directory.path()));
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn everything_else_a_recording_can_tell() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut scenario = Scenario::begin(&directory.path().join("shop.jfr"));
    scenario.contention();
    scenario.waiting();
    scenario.pause();
    scenario.drops(headway_model::Loss::BufferFull, 1234);
    scenario.degraded("walker", "the walker disagreed with JVMTI, so stacks are taken by JVMTI, which is slower");
    scenario.finish();
    insta::assert_snapshot!(report_in(&directory, &["--full", "shop.jfr"]).stdout);
}

#[test]
fn nothing_blocked() {
    let directory = tempfile::tempdir().expect("a directory");
    Scenario::begin(&directory.path().join("shop.jfr")).finish();
    insta::assert_snapshot!(report_in(&directory, &["--full", "shop.jfr"]).stdout);
}

#[test]
fn json_has_the_documented_keys_and_adds_up() {
    let directory = directory_with_shop();
    let report = json(&report_in(&directory, &["--json", "--by", "lock,owner-method", "shop.jfr"]));
    assert_eq!(report["duration_ns"], 1_000_000_000);
    assert_eq!(report["threads"], 3);
    assert_eq!(report["contentions"], 20);
    // Ten rounds: 38 ms of one reader, 37 ms of the other.
    assert_eq!(report["blocked_ns"], 10 * (38 + 37) * 1_000_000_u64);
    assert!(report["losses"].is_object() && report["degraded"].is_array());

    let lock = &report["rows"][0];
    assert_eq!((&lock["aspect"], &lock["value"]), (&"lock".into(), &"Inventory.lock (java.lang.Object@1a2b3c)".into()));
    assert_eq!((lock["count"].as_u64(), lock["max_ns"].as_u64()), (Some(20), Some(38_000_000)));
    assert_eq!(lock["share"], 1.0);
    let owners = lock["children"].as_array().expect("owners");
    let owned: u64 = owners.iter().map(|row| row["total_ns"].as_u64().expect("a time")).sum();
    assert_eq!(owned, lock["total_ns"]);
    let rebuild =
        owners.iter().find(|row| row["value"] == "com.acme.shop.Inventory.rebuildIndex").expect("the rebuilder");
    assert_eq!(rebuild["total_ns"], 10 * (38 + 36) * 1_000_000_u64);
    assert_eq!(rebuild["children"], Value::Array(vec![]));
}

#[test]
fn chains_in_json_are_arrays_leaf_first() {
    let report = json(&report_in(&directory_with_shop(), &["--json", "--by", "contender-chain", "shop.jfr"]));
    let chain = &report["rows"][0]["value"];
    assert_eq!(chain, &serde_json::json!(["com.acme.shop.Inventory.get:30", "com.acme.shop.Checkout.order:88"]));
}

#[test]
fn filters_leave_out_what_they_say() {
    let directory = directory_with_shop();
    let blocked_ms = |arguments: &[&str]| {
        let arguments = [&["--json"], arguments, &["shop.jfr"]].concat();
        json(&report_in(&directory, &arguments))["blocked_ns"].as_u64().expect("a time") / 1_000_000
    };
    assert_eq!(blocked_ms(&["--min-duration", "38ms"]), 380);
    assert_eq!(blocked_ms(&["--threads", "nio-2$"]), 370);
    assert_eq!(blocked_ms(&["--to", "100ms"]), 150);
    assert_eq!(blocked_ms(&["--from", "100ms"]), 600);
    // The recording is one second long.
    assert_eq!(blocked_ms(&["--from", "-600ms", "--to", "-550ms"]), 75);
}

#[test]
fn a_report_of_long_contentions_says_what_it_leaves_out_and_counts_no_blocked_time_as_sleep() {
    let directory = directory_with_shop();
    let bar =
        |report: &str| report.lines().skip_while(|line| !line.starts_with("THREAD TIME")).nth(2).map(str::to_owned);
    let all = report_in(&directory, &["shop.jfr"]).stdout;
    let long = report_in(&directory, &["--min-duration", "1h", "shop.jfr"]).stdout;
    assert!(unwrapped(&long).contains("Left out (--min-duration): "), "{long}");
    assert!(!all.contains("Left out"), "{all}");
    assert_eq!(bar(&long), bar(&all), "{long}");
    assert!(bar(&long).is_some_and(|bar| bar.contains("blocked on locks")), "{long}");
}

#[test]
fn a_file_in_which_nothing_is_readable_is_no_report() {
    let directory = directory_with_shop();
    let whole = std::fs::read(directory.path().join("shop.jfr")).expect("read");
    for length in [4, 5, 40, 100] {
        std::fs::write(directory.path().join("stump.jfr"), &whole[..length]).expect("written");
        for line in
            [&["report", "stump.jfr"][..], &["report", "--json", "stump.jfr"], &["flame", "stump.jfr", "-o", "x.html"]]
        {
            let said = said(headway(line).current_dir(directory.path()));
            assert_eq!((said.code, said.stdout.as_str()), (Some(4), ""), "{line:?}: {}", said.stderr);
            assert!(said.stderr.contains("nothing in it can be read: "), "{line:?}: {}", said.stderr);
            assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
        }
    }
}

#[test]
fn a_report_of_some_threads_says_so() {
    let directory = directory_with_shop();
    let text = unwrapped(&report_in(&directory, &["--threads", "zzz", "shop.jfr"]).stdout);
    assert!(text.contains("Only threads whose names match `zzz` are counted (--threads)."), "{text}");
    assert!(text.contains("No thread that matches `zzz` was"), "{text}");
    assert!(!text.contains("No bottleneck") && !text.contains("No thread was blocked"), "{text}");
    let some = unwrapped(&report_in(&directory, &["--threads", "nio", "--full", "shop.jfr"]).stdout);
    assert!(some.contains("Only threads whose names match `nio` are counted (--threads)."), "{some}");
    let all = unwrapped(&report_in(&directory, &["shop.jfr"]).stdout);
    assert!(!all.contains("Only threads"), "{all}");
}

#[test]
fn per_thread_shows_threads_first_and_top_cuts_every_level() {
    let directory = directory_with_shop();
    let report = json(&report_in(&directory, &["--json", "-t", "--top", "1", "shop.jfr"]));
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["aspect"], &rows[0]["value"]), (&"contender-thread".into(), &"http-nio-1".into()));
    let text = report_in(&directory, &["-t", "--top", "1", "shop.jfr"]).stdout;
    assert!(text.contains("blocked http-nio-1") && text.contains("(1 more)"), "{text}");
}

#[test]
fn several_files_are_shown_one_after_the_other() {
    let directory = directory_with_shop();
    recording::shop(&directory.path().join("second.jfr.zst"));
    recording::shop(&directory.path().join("third.jfr.lz4"));
    let names = ["shop.jfr", "second.jfr.zst", "third.jfr.lz4"];
    let text = report_in(&directory, &names).stdout;
    let positions: Vec<usize> = names.iter().map(|name| text.find(name).expect(name)).collect();
    assert!(positions.is_sorted());
    let several = json(&report_in(&directory, &[&["--json"], &names[..]].concat()));
    assert_eq!(several.as_array().map(Vec::len), Some(3));
    assert_eq!(several[0]["rows"], several[1]["rows"]);
}

#[test]
fn one_bad_file_does_not_hide_the_good_ones() {
    let directory = directory_with_shop();
    let said = report_in(&directory, &["missing.jfr", "shop.jfr"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("cannot read missing.jfr: there is no such file"));
    assert!(said.stdout.contains("FINDINGS"));
}

#[test]
fn a_recording_cut_anywhere_is_shown_as_far_as_it_goes() {
    let directory = directory_with_shop();
    let whole = std::fs::read(directory.path().join("shop.jfr")).expect("read");
    let cut = directory.path().join("cut.jfr");
    let mut blocked_before = 0;
    // The types' description comes first; the events are at the end.
    for missing in [1200, 900, 600, 300, 30, 1] {
        std::fs::write(&cut, &whole[..whole.len() - missing]).expect("written");
        let said = report_in(&directory, &["--json", "cut.jfr"]);
        assert_eq!(said.code, Some(4), "{missing} bytes: {}", said.stderr);
        assert!(said.stderr.starts_with("headway: cut.jfr is damaged: "), "{}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1);
        let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let blocked = report["blocked_ns"].as_u64().expect("a time");
        assert!(blocked >= blocked_before, "more of the file shows more");
        blocked_before = blocked;
    }
    assert!(blocked_before > 0);
    let brief = report_in(&directory, &["cut.jfr"]);
    assert!(brief.stdout.contains("damaged: ") && brief.stdout.contains("FINDINGS"), "{}", brief.stdout);
    let text = report_in(&directory, &["--full", "cut.jfr"]);
    assert!(text.stdout.contains("DAMAGE") && text.stdout.contains("BLOCKED TIME"), "{}", text.stdout);
}

#[test]
fn damaged_bytes_are_told_and_survived() {
    let directory = directory_with_shop();
    let mut bytes = std::fs::read(directory.path().join("shop.jfr")).expect("read");
    let middle = bytes.len() * 3 / 4;
    bytes[middle..middle + 64].fill(0xff);
    std::fs::write(directory.path().join("spoilt.jfr"), bytes).expect("written");
    let said = report_in(&directory, &["spoilt.jfr"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("spoilt.jfr is damaged, and nothing in it can be read: "));
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, content: &[u8]| -> PathBuf {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    };
    let cases: [(PathBuf, i32, &str); 4] = [
        (file("empty.jfr", b""), 4, "is empty: nothing was recorded, or the disk was full"),
        (
            file("text.jfr", b"this is no recording at all, but long enough to be the beginning of one, isn't it?"),
            4,
            "is not a JFR recording",
        ),
        (directory.path().join("missing.jfr"), 1, "there is no such file"),
        (directory.path().to_owned(), 1, "it is a directory, not a recording"),
    ];
    for (path, code, sentence) in cases {
        refuses(headway(["report"]).arg(&path), code, sentence);
    }
}

#[test]
fn jfrs_own_recordings_are_shown_for_what_they_are() {
    let Some(home) = support::jdk::any_home() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("foreign.jfr");
    let option = format!("-XX:StartFlightRecording=filename={},settings=profile", file.display());
    let Some(mut java) = support::jdk::contended_for("2", &home, &[&option]) else { return };
    let status = java.status().expect("java runs");
    assert!(status.success());
    shows_foreign(&directory, &file);
}

fn shows_foreign(directory: &TempDir, file: &Path) {
    let shown = |options: &[&str]| {
        let said = said(headway(["report"]).args(options).arg(file).current_dir(directory.path()));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout
    };
    for (options, parts) in [(&[][..], &["recorded by jfr", "FINDINGS"][..]), (&["--full"], &["OTHER EVENTS"])] {
        let text = shown(options);
        for part in parts.iter().chain(&["`headway record PID` records that, too."]) {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
