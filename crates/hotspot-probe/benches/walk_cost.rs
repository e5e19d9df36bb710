//! What a walk costs in a real JVM, on each JDK that is here: the figures of
//! docs/hotspot.md. Run on a quiet machine:
//! `cargo bench -p headway-hotspot-probe --bench walk_cost`.

// A measurement that cannot go on should panic.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]

#[path = "../tests/jvm/mod.rs"]
mod jvm;

fn main() {
    for version in [17, 21, 25] {
        let Some(jdk) = jvm::jdk(version) else { continue };
        for flags in [["-Ddepth=80", "-XX:+UseG1GC"], ["-Ddepth=19", "-Xint"]] {
            let frames = jvm::run(&jdk, &flags, "Bench").get("bench_frames");
            assert!(frames > 30, "the stack is only {frames} frames deep");
        }
    }
}
