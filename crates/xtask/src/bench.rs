//! `./hw bench [NAME]`: what things cost, on this machine.

use crate::jdks::Jdks;
use crate::process::{cargo, program, run};
use crate::{products, Misuse, Problem};
use std::process::Command;

/// A benchmark, and what it measures.
struct Benchmark {
    name: &'static str,
    tells: &'static str,
    /// Arguments of cargo.
    cargo: &'static [&'static str],
}

const BENCHMARKS: [Benchmark; 5] = [
    Benchmark {
        name: "signal",
        tells: "ns per appended event, chain look-up, monitor look-up",
        cargo: &["run", "--release", "-p", "headway-signal", "--example", "cost"],
    },
    Benchmark {
        name: "hook",
        tells: "ns that a detour adds to a call",
        cargo: &["run", "--release", "-p", "headway-hook", "--example", "hook_cost"],
    },
    Benchmark {
        name: "jfr",
        tells: "events written and read per second, bytes per event",
        cargo: &["bench", "-p", "headway-jfr"],
    },
    Benchmark {
        name: "analysis",
        tells: "events analysed per second and core",
        cargo: &["run", "--release", "-p", "headway-analysis", "--example", "throughput"],
    },
    Benchmark {
        name: "scaling",
        tells: "ns per event with 10^2 to 10^6 locks, names, threads, chains, blockers: live, written, reported, shown",
        cargo: &["run", "--release", "-p", "headway-page", "--example", "scaling"],
    },
];

/// What the profiler costs the programs it watches; takes minutes, and options.
const OVERHEAD: &str = "overhead";

/// What many short-lived locks cost a program; takes minutes, and options.
const LOCKS: &str = "locks";

/// Runs one benchmark, or, without a name, all that take seconds.
pub fn bench(rest: &[String]) -> Result<(), Problem> {
    let Some((name, options)) = rest.split_first() else {
        BENCHMARKS.iter().try_for_each(Benchmark::run)?;
        println!("\n./hw bench {OVERHEAD} measures what recording costs a program (minutes; --help for its options)");
        println!(
            "./hw bench {LOCKS} does so with 10^2 to 10^6 short-lived locks and virtual threads (minutes; --help)"
        );
        return Ok(());
    };
    if name == OVERHEAD {
        return in_a_jvm("eval/toggle/toggle.py", options);
    }
    if name == LOCKS {
        return in_a_jvm("eval/toggle/short_lived.py", options);
    }
    match BENCHMARKS.iter().find(|benchmark| benchmark.name == name) {
        Some(benchmark) => benchmark.run(),
        None => Err(Misuse(format!("there is no benchmark \"{name}\"; there are:\n{}", list())).into()),
    }
}

impl Benchmark {
    fn run(&self) -> Result<(), Problem> {
        println!("\n== {}: {}", self.name, self.tells);
        run(cargo().args(self.cargo))
    }
}

fn list() -> String {
    let lines = BENCHMARKS.iter().map(|benchmark| format!("  {:<10} {}\n", benchmark.name, benchmark.tells));
    let long = [
        format!("  {OVERHEAD:<10} the cost to a program, switched on and off inside one JVM\n"),
        format!("  {LOCKS:<10} the cost of 10^2 to 10^6 short-lived locks and virtual threads, in a JVM"),
    ];
    lines.chain(long).collect()
}

fn in_a_jvm(script: &str, options: &[String]) -> Result<(), Problem> {
    products::rust(&["headway-cli", "headway-agent"])?;
    products::workloads(None)?;
    run(python(script, &Jdks::for_tests()).args(options))
}

fn python(script: &str, jdks: &Jdks) -> Command {
    let mut python = program("python3");
    python.arg(script).env("HEADWAY_BIN", products::headway());
    if std::env::var_os("JAVA_HOME").is_none() {
        if let Some(home) = jdks.with_compiler() {
            python.env("JAVA_HOME", home);
        }
    }
    python
}
