//! A table in memory of which one query in a hundred goes through all under its
//! lock: the others suffer what that one causes, and the report says so at once.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde::Deserialize;
use std::fs;
use tempfile::TempDir;

/// Runs of which one must show it: on a busy machine threads wait for processors.
const RUNS: u32 = 4;
const LOOKUP: &str = "io.headway.workloads.parks.Products$Table.lookup";
const SCAN: &str = "io.headway.workloads.parks.Products$Table.scan";

/// What the program prints (`io.headway.workloads.parks.Products`).
#[derive(Debug, Deserialize)]
struct Truth {
    lookups: Times,
    scans: Times,
    lookups_held_ns: u64,
    scans_held_ns: u64,
}

#[derive(Debug, Deserialize)]
struct Times {
    blocked_ge_1ms_ns: u64,
}

/// What `headway report --json --by ...` says.
#[derive(Debug, Deserialize)]
struct Report {
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    value: String,
    total_ns: u64,
}

impl Report {
    /// The part of a method in the time of all that are known.
    fn share(&self, method: &str) -> f64 {
        let known = |row: &&Row| row.value != "unknown";
        let all: u64 = self.rows.iter().filter(known).map(|row| row.total_ns).sum();
        let of: u64 = self.rows.iter().filter(|row| row.value == method).map(|row| row.total_ns).sum();
        of as f64 / all.max(1) as f64
    }
}

/// `Err` says what the run did not show.
fn run(tools: &Tools, jdk: &Jdk) -> Result<(), String> {
    let directory = TempDir::new().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (recording, truth) = (file("recording.jfr"), file("truth.json"));
    let (java, jar) = (jdk.tool("java").display().to_string(), tools.workloads.display().to_string());
    let record = [
        "run", "-q", "--exact", "-e", "lock", "--force", "-o", &recording, "--", &java, "-jar", &jar, "products",
        "--truth", &truth,
    ];
    tools::run(&tools.headway, record.map(str::to_owned)).unwrap();
    let truth: Truth = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let by = |aspect: &str| -> Report {
        let asked = ["report", "--json", "--by", aspect, "--min-duration", "1ms", &recording].map(str::to_owned);
        serde_json::from_slice(&tools::run(&tools.headway, asked).unwrap().stdout).unwrap()
    };
    let (suffered, caused) = (by("contender-method").share(LOOKUP), by("owner-method").share(SCAN));
    let (lookups, scans) = (truth.lookups.blocked_ge_1ms_ns as f64, truth.scans.blocked_ge_1ms_ns as f64);
    let held = truth.scans_held_ns as f64 / (truth.scans_held_ns + truth.lookups_held_ns) as f64;
    if (suffered - lookups / (lookups + scans)).abs() > 0.02 || suffered < 0.9 || held < 0.9 || caused < 0.9 {
        return Err(format!("suffered {suffered:.3}, caused {caused:.3}, held {held:.3}: {truth:?}"));
    }
    let text = tools::run(&tools.headway, ["report".to_owned(), recording]).unwrap().stdout;
    let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    let first = text
        .split("FINDINGS")
        .nth(1)
        .and_then(|rest| rest.split(" 1. ").nth(1)?.split(" 2. ").next())
        .unwrap_or_default();
    let says = |words: &str| first.find(words).is_some();
    match says("Table.lock") && says("Table.scan") {
        true => Ok(()),
        false => Err(format!("the first finding is: {first:.600}")),
    }
}

#[test]
fn lookups_suffer_what_scans_cause_and_the_first_finding_says_so() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let mut failures = Vec::new();
        let shown = (0..RUNS).any(|_| run(&tools, &jdk).map_err(|failure| failures.push(failure)).is_ok());
        assert!(shown, "JDK {}, in each run:\n  {}", jdk.release, failures.join("\n  "));
    }
}
