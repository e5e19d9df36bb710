//! Exporting: unpacking and repairing.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use std::path::Path;
use support::recording;
use support::{headway, refuses, said};

fn blocked_ns(path: &Path) -> u64 {
    let said = said(headway(["report", "--json"]).arg(path));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let report: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    report["blocked_ns"].as_u64().expect("a time")
}

#[test]
fn packed_recordings_become_plain_ones_with_the_same_content() {
    let directory = tempfile::tempdir().expect("a directory");
    let plain = directory.path().join("plain.jfr");
    for packed in ["shop.jfr.zst", "shop.jfr.lz4"] {
        let packed = directory.path().join(packed);
        recording::shop(&packed);
        let said = said(headway(["export", "--force", "-o"]).arg(&plain).arg(&packed));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(std::fs::read(&plain).expect("read").starts_with(b"FLR\0"));
        assert_eq!(blocked_ns(&plain), blocked_ns(&packed));
    }
}

#[test]
fn a_torn_recording_is_repaired_and_then_sound() {
    let directory = tempfile::tempdir().expect("a directory");
    let (torn, whole) = (directory.path().join("torn.jfr"), directory.path().join("whole.jfr"));
    recording::shop(&torn);
    let length = std::fs::metadata(&torn).expect("a file").len();
    std::fs::OpenOptions::new().write(true).open(&torn).and_then(|file| file.set_len(length - 20)).expect("cut");
    let said = said(headway(["export", "-o"]).arg(&whole).arg(&torn));
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("left out: "), "{}", said.stderr);
    assert!(blocked_ns(&whole) > 0);
}

#[test]
fn what_a_torn_recording_lacks_may_be_in_its_missing_part() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    recording::shop(&path("whole.jfr"));
    let whole = std::fs::read(path("whole.jfr")).expect("read");
    std::fs::write(path("torn.jfr"), &whole[..whole.len() - 20]).expect("written");
    let export = |name: &str| {
        let mut command = headway(["export", "--of", "cpu", "-o"]);
        command.arg(path("out.pb.gz")).arg(path(name));
        command
    };
    refuses(&mut export("whole.jfr"), 1, "has no samples of CPU time: record with -e cpu");
    refuses(&mut export("torn.jfr"), 4, "; its readable part has no samples of CPU time");
    refuses(headway(["diff", "--of", "cpu"]).arg(path("torn.jfr")).arg(path("whole.jfr")), 4, "torn.jfr is damaged: ");
    assert!(!path("out.pb.gz").exists());
}

#[test]
fn nothing_of_value_is_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let recording = directory.path().join("shop.jfr");
    recording::shop(&recording);
    let precious = directory.path().join("thesis.jfr");
    std::fs::write(&precious, "ten years of work").expect("written");
    refuses(
        headway(["export", "-o"]).arg(&precious).arg(&recording),
        1,
        "not a recording of Headway's is there already",
    );
    assert_eq!(std::fs::read(&precious).expect("read"), b"ten years of work");
    let other = directory.path().join("other.jfr");
    std::fs::copy(&recording, &other).expect("copied");
    let before = std::fs::read(&other).expect("read");
    let torn = directory.path().join("torn.jfr");
    std::fs::write(&torn, &before[..before.len() - 20]).expect("written");
    refuses(headway(["export", "-o"]).arg(&other).arg(&torn), 1, "a recording is there already; --force replaces it");
    assert_eq!(std::fs::read(&other).expect("read"), before);
    let said = said(headway(["export", "--force", "-o"]).arg(&other).arg(&torn));
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert_ne!(std::fs::read(&other).expect("read"), before);
}

#[test]
fn what_cannot_be_read_or_written_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("text.jfr"), "no recording").expect("written");
    refuses(headway(["export", "-o"]).arg(path("out.jfr")).arg(path("text.jfr")), 4, "is not a JFR recording");
    refuses(headway(["export", "-o"]).arg(path("out.jfr")).arg(path("none.jfr")), 1, "there is no such file");
    refuses(headway(["export", "-o"]).arg(path("no/out.jfr")).arg(path("none.jfr")), 1, "its directory does not exist");
    assert!(!path("out.jfr").exists());
}

#[test]
fn a_full_disk_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let recording = directory.path().join("shop.jfr");
    recording::shop(&recording);
    // A file size limit stands in for a full disk; both end the same way.
    let script = "ulimit -f 1; exec \"$0\" export -o \"$1\" \"$2\"";
    let mut limited = std::process::Command::new("bash");
    limited.args(["-c", script]).arg(support::program()).arg(directory.path().join("out.jfr")).arg(&recording);
    refuses(&mut limited, 1, "it would exceed the limit on file sizes; raise it with `ulimit -f`");
    assert!(!directory.path().join("out.jfr").exists());
    assert_eq!(std::fs::read_dir(directory.path()).expect("listed").count(), 1, "nothing half-made is left");
}

#[test]
fn a_source_is_never_destroyed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    recording::shop(&path("x.jfr"));
    std::fs::hard_link(path("x.jfr"), path("hard.jfr")).expect("linked");
    std::fs::hard_link(path("x.jfr"), path("x.html")).expect("linked");
    std::fs::hard_link(path("x.jfr"), path("x.coz")).expect("linked");
    std::os::unix::fs::symlink("x.jfr", path("soft.jfr")).expect("linked");
    let before = std::fs::read(path("x.jfr")).expect("read");
    let relative = format!("../{}/x.jfr", directory.path().file_name().and_then(|n| n.to_str()).expect("a name"));
    let lines: [&[&str]; 8] = [
        &["export", "x.jfr", "-o", "x.jfr"],
        &["export", "x.jfr", "-o", "hard.jfr"],
        &["export", "x.jfr", "-o", "soft.jfr"],
        &["export", "x.jfr", "-o", &relative],
        &["export", "soft.jfr", "-o", "x.jfr"],
        &["flame", "x.html", "-o", "x.html"],
        &["report", "x.jfr", "-o", "x.html"],
        &["diff", "x.jfr", "x.html", "-o", "x.html"],
    ];
    for line in lines {
        refuses(headway(line.iter().copied()).current_dir(directory.path()), 1, "it is the file to be read");
        for name in ["x.jfr", "hard.jfr", "soft.jfr", "x.html"] {
            assert_eq!(std::fs::read(path(name)).expect("read"), before, "{line:?} changed {name}");
        }
    }
    assert!(path("soft.jfr").symlink_metadata().expect("there").is_symlink());
    assert_eq!(std::fs::read_dir(directory.path()).expect("listed").count(), 5, "something half-made is left");
}
