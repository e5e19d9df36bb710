//! Programs that know their own stacks, stopped at any instruction: what is
//! decoded must be what they say, all of it.
//!
//! The fragments that `crates/replay` decodes again without a JVM come from
//! here: with `HEADWAY_FRAGMENTS_DIRECTORY` set, each run writes its file there.

// A test that cannot go on should panic.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod jvm;

use jvm::{run_with, Jdk};
use std::path::Path;

const ALL: [u32; 3] = [17, 21, 25];
const DEBUG_INFO: [&str; 2] = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];

fn check(name: &str, flags: &[&str]) {
    for version in ALL {
        let Some(jdk) = Jdk::wanted(version) else { continue };
        let mut environment = Vec::new();
        if let Some(directory) = std::env::var_os("HEADWAY_FRAGMENTS_DIRECTORY") {
            let file = Path::new(&directory).join(format!("{name}-{version}.zst"));
            environment.push(("HEADWAY_FRAGMENTS_OUT", file.into_os_string()));
            environment.push(("HEADWAY_FRAGMENTS_WHAT", format!("{version} {}", flags.join(" ")).into()));
        }
        let flags: Vec<&str> = DEBUG_INFO.iter().chain(flags).copied().collect();
        let seen = run_with(&jdk, &flags, "Known", &environment);
        assert!(seen.get("fragments") >= 250, "only {} fragments\n{}", seen.get("fragments"), seen.text);
        assert_eq!(seen.get("fragments_missing"), 0, "{}", seen.text);
        assert!(seen.get("fragments_incomplete") * 50 <= seen.get("fragments"), "{}", seen.text);
        // Compilers move arithmetic past what the program writes down.
        assert!(seen.get("fragments_wrong") * 100 <= seen.get("fragments"), "{}", seen.text);
    }
}

#[test]
fn tiered_code_is_what_the_program_says() {
    check("tiered", &[]);
}

#[test]
fn interpreted_code_is_what_the_program_says() {
    check("interpreted", &["-Xint"]);
}

#[test]
fn c1_code_is_what_the_program_says() {
    check("c1", &["-XX:TieredStopAtLevel=1"]);
}

#[test]
fn code_without_inlining_is_what_the_program_says() {
    check("not-inlined", &["-XX:-Inline"]);
}
