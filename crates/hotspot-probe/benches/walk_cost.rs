//! What a walk costs in a real JVM, on each JDK that is here: the numbers of
//! docs/hotspot.md. Run on a quiet machine:
//! `cargo bench -p headway-hotspot-probe --bench walk_cost`. With `-- --json` the
//! numbers are printed as a line of JSON for each JVM, too, with `--jdk N` of that
//! JDK alone.

// A measurement that cannot go on should panic.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]

#[path = "../tests/jvm/mod.rs"]
mod jvm;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|word| word == "--json");
    let chosen = arguments.iter().skip_while(|word| *word != "--jdk").nth(1).map(|number| number.parse().unwrap());
    for version in [17, 21, 25].into_iter().filter(|version| chosen.is_none_or(|only: u32| only == *version)) {
        let Some(jdk) = jvm::Jdk::wanted(version) else { continue };
        for (code, flags) in [("compiled", ["-Ddepth=80", "-XX:+UseG1GC"]), ("interpreted", ["-Ddepth=19", "-Xint"])] {
            let seen = jvm::run(&jdk, &flags, "Bench");
            let frames = seen.get("bench_frames");
            assert!(frames > 30, "the stack is only {frames} frames deep");
            if json {
                let figures =
                    seen.counters.iter().filter_map(|(name, value)| Some((name.strip_prefix("bench_")?, value)));
                let figures: String = figures.map(|(name, value)| format!(", \"{name}\": {value}")).collect();
                println!("{{\"jdk\": {version}, \"code\": \"{code}\"{figures}}}");
            }
        }
    }
}
