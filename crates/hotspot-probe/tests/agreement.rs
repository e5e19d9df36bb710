//! The walker against JVMTI's GetStackTrace, in JVMs that run stacks of every
//! shape. 100 % is the only pass mark: a chain is right or it is not.

// A test that cannot go on should panic.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod jvm;

use jvm::{run, Jdk, Seen};

const SHAPES: &str = "Shapes";

fn check(jdk: &Jdk, flags: &[&str], program: &str, at_least: u64) -> Seen {
    let seen = run(jdk, flags, program);
    seen.assert_agreement(at_least);
    seen
}

macro_rules! shapes {
    ($($name:ident: $jdks:expr, $flags:expr;)*) => {
        $(
            #[test]
            fn $name() {
                for jdk in $jdks {
                    check(&jdk, &$flags, SHAPES, 8_000);
                }
            }
        )*
    };
}

// What the VM does by itself on every JDK; what an option changes on two of the three.
shapes! {
    tiered_code_agrees: Jdk::all(), ["-Drounds=500"];
    interpreted_code_agrees: Jdk::all_but(21), ["-Xint", "-Drounds=400"];
    c1_code_agrees: Jdk::all_but(25), ["-XX:TieredStopAtLevel=1", "-Drounds=500"];
    c2_code_agrees: Jdk::all_but(17), ["-XX:-TieredCompilation", "-Drounds=900"];
    one_code_heap_agrees: Jdk::all_but(25), ["-XX:-SegmentedCodeCache", "-Drounds=500"];
    serial_collector_agrees: Jdk::all_but(17), ["-XX:+UseSerialGC", "-Drounds=500"];
    parallel_collector_agrees: Jdk::all_but(21), ["-XX:+UseParallelGC", "-Drounds=500"];
    z_collector_agrees: Jdk::all(), ["-XX:+UseZGC", "-Drounds=500"];
    without_compressed_references_agrees: Jdk::all_but(25), ["-XX:-UseCompressedOops", "-Drounds=500"];
    debug_info_everywhere_agrees:
        Jdk::all_but(17), ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-Drounds=500"];
}

#[test]
fn compact_headers_agree() {
    if let Some(jdk) = Jdk::wanted(25) {
        check(&jdk, &["-XX:+UseCompactObjectHeaders", "-Drounds=500"], SHAPES, 8_000);
    }
}

#[test]
fn deoptimized_frames_and_unloaded_classes_agree() {
    for jdk in Jdk::all() {
        for compiler in ["-XX:+TieredCompilation", "-XX:TieredStopAtLevel=1"] {
            let seen = check(&jdk, &[compiler, "-Xbatch", "-Drounds=30"], "Churn", 25_000);
            assert!(seen.get("frames_deoptimized") > 1000, "{}", seen.text);
            assert!(seen.get("frames_reused") > 100_000, "{}", seen.text);
            assert!(seen.get("walks_same") > 0, "{}", seen.text);
        }
    }
}

#[test]
fn code_cache_pressure_agrees() {
    for jdk in Jdk::all() {
        check(&jdk, &["-XX:ReservedCodeCacheSize=5m", "-Drounds=40"], "Churn", 30_000);
    }
}

#[test]
fn virtual_threads_agree_down_to_their_chunks() {
    for jdk in [21, 25].into_iter().filter_map(Jdk::wanted) {
        for collector in ["-XX:+UseG1GC", "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC"] {
            let seen = check(&jdk, &[collector, "-Drounds=150"], "Virtual", 5_000);
            assert!(seen.get("frames_on_heap") > 20_000, "{}", seen.text);
            // A chunk that moves while it is read is given up, and said so.
            assert!(seen.get("cut_at_return_barrier") < 10, "{}", seen.text);
        }
        check(&jdk, &["-Xint", "-Drounds=150"], "Virtual", 5_000);
    }
}

const DEBUG_INFO: [&str; 2] = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];

/// The releasing method at a contended exit, against what the program wrote
/// down. Right or marked approximate; never wrong.
fn check_exits(jdks: Vec<Jdk>, flags: &[&str], right_per_mille: u64) {
    for jdk in jdks {
        check_exits_on(&jdk, flags, right_per_mille);
    }
}

fn check_exits_on(jdk: &Jdk, flags: &[&str], right_per_mille: u64) {
    let seen = run(jdk, flags, "Exits");
    seen.assert_agreement(500);
    for wrong in ["exit_wrong", "wait_wrong", "exits_incomplete"] {
        assert_eq!(seen.get(wrong), 0, "{wrong}\n{}", seen.text);
    }
    let (right, total) = (seen.get("exit_right"), seen.get("checks_exit"));
    assert!(total >= 500, "only {total} contended exits\n{}", seen.text);
    let others = seen.get("wait_right") + seen.get("exits_without_java_frame");
    let share = right * 1000 / (total - others).max(1);
    assert!(share >= right_per_mille, "{right} of {} right\n{}", total - others, seen.text);
}

#[test]
fn releasing_methods_are_right_with_debug_info_everywhere() {
    check_exits(Jdk::all_but(21), &[DEBUG_INFO[0], DEBUG_INFO[1], "-XX:-TieredCompilation"], 1000);
    check_exits(Jdk::all_but(25), &[DEBUG_INFO[0], DEBUG_INFO[1], "-XX:TieredStopAtLevel=1"], 990);
    check_exits(Jdk::all_but(17), &DEBUG_INFO, 990);
}

#[test]
fn releasing_methods_are_known_without_it() {
    check_exits(Jdk::all(), &[], 990);
    check_exits(Jdk::all_but(17), &["-XX:-TieredCompilation"], 990);
    check_exits(Jdk::all_but(21), &["-XX:TieredStopAtLevel=1"], 990);
    check_exits(Jdk::all_but(25), &["-Xint"], 1000);
}

/// Compiled each by itself, the sites take the only lock in their code.
#[test]
fn the_only_method_that_locks_is_known_without_it() {
    let tiers = ["-XX:-TieredCompilation", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation"];
    for (tier, left_out) in tiers.into_iter().zip([25, 17, 21]) {
        let flags = [tier, "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Exits.site*"];
        check_exits(Jdk::all_but(left_out), &flags, 980);
    }
}
