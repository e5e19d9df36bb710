//! Hooks in a real JVM of each version, under contention.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod probe_library;

use headway_jdk::{Jdk, RELEASES};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const TARGET: &str = env!("CARGO_TARGET_TMPDIR");

/// Compiled once, for the oldest version.
fn classes() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let javac = Jdk::wanted(17)?.tool("javac");
            let out = Path::new(TARGET).join("classes");
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/HookProbe.java");
            let status = Command::new(javac).args(["--release", "17", "-d"]).arg(&out).arg(source).status().unwrap();
            assert!(status.success(), "compiling HookProbe.java");
            Some(out)
        })
        .as_deref()
}

/// Runs the program in a JVM of this version and returns what it printed.
fn run(version: u32, arguments: &[&str]) -> Option<BTreeMap<String, i64>> {
    run_with(version, &[], arguments)
}

fn run_with(version: u32, options: &[&str], arguments: &[&str]) -> Option<BTreeMap<String, i64>> {
    let output = Command::new(Jdk::wanted(version)?.tool("java"))
        .args(options)
        .args(["-Xmx256m", "-cp"])
        .arg(classes()?)
        .arg("HookProbe")
        .arg(probe_library::path())
        .args(arguments)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    println!("JDK {version} {arguments:?}: {}\n{stdout}{stderr}", output.status);
    assert!(output.status.success(), "JDK {version} {arguments:?} died: {}", output.status);
    let values: BTreeMap<String, i64> = stdout
        .lines()
        .filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            Some((key.to_owned(), value.parse().ok()?))
        })
        .collect();
    assert_eq!(values.get("done"), Some(&1), "it did not end well");
    assert_eq!(values["wrong"], 0, "hook calls with implausible arguments");
    Some(values)
}

fn cycles(version: u32) {
    let Some(v) = run(version, &["cycles", "50"]) else {
        return;
    };
    assert!(v["inside"] > 50, "hardly any exit counted: {v:?}");
    assert!(v["inside"] <= v["acquisitions"], "more exits than acquisitions: {v:?}");
    assert_eq!(v["strayed"], 0, "counted after removal");
    assert_eq!(v["lost"], 0, "mutual exclusion broken");
}

fn waiters(version: u32) {
    let Some(v) = run(version, &["waiters", "5000"]) else {
        return;
    };
    assert_eq!(v["reenters"], v["notifies"], "each notified waiter came back: {v:?}");
    // The VM may end a wait without a notification; a notify that comes just
    // then finds nobody. So a few rounds may be missing, none can be too many.
    let missing = v["rounds"] - v["notifies"];
    assert!((0..=10).contains(&missing), "each notify had one waiter: {v:?}");
    assert!(v["exits"] >= v["notifies"], "each came back by an exit: {v:?}");
}

fn fallbacks(version: u32) {
    let Some(v) = run(version, &["fallbacks"]) else {
        return;
    };
    assert!(v["exits"] > 100, "{v:?}");
    assert_eq!((v["flagDuring"], v["flagAfter"]), (1, 0), "the flag of the probes");
    assert_eq!(v["strayed"], 0, "counted after removal: {v:?}");
    // Other threads of the VM contend and use condition variables, too.
    assert!((v["probed"] - v["exits"]).abs() <= 8, "{v:?}");
    assert!(v["signalled"] * 10 > v["exits"] * 9, "{v:?}");
}

#[test]
fn fifty_removals_and_installations_on_17() {
    cycles(17);
}

#[test]
fn fifty_removals_and_installations_on_21() {
    cycles(21);
}

#[test]
fn fifty_removals_and_installations_on_25() {
    cycles(25);
}

#[test]
fn every_notified_waiter_is_counted_on_17() {
    waiters(17);
}

#[test]
fn every_notified_waiter_is_counted_on_21() {
    waiters(21);
}

#[test]
fn every_notified_waiter_is_counted_on_25() {
    waiters(25);
}

#[test]
fn fallbacks_see_what_the_detour_sees_on_17() {
    fallbacks(17);
}

#[test]
fn fallbacks_see_what_the_detour_sees_on_21() {
    fallbacks(21);
}

#[test]
fn fallbacks_see_what_the_detour_sees_on_25() {
    fallbacks(25);
}

#[test]
fn virtual_threads_resume_through_the_hook_on_25() {
    let Some(v) = run(25, &["virtual"]) else {
        return;
    };
    assert_eq!(v["entered"], 4000);
    assert!(v["resumed"] > 0 && v["exits"] > 0, "{v:?}");
}

#[test]
fn the_flag_for_debug_information_is_set_and_tells_what_it_was() {
    for version in RELEASES {
        let Some(v) = run(version, &["flag"]) else {
            continue;
        };
        assert_eq!((v["first"], v["second"], v["third"]), (0, 1, 0), "JDK {version}");
        let on = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];
        let Some(v) = run_with(version, &on, &["flag"]) else {
            continue;
        };
        assert_eq!(v["first"], 1, "JDK {version} with the option");
    }
}
