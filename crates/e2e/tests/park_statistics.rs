//! Park statistics of 64 threads that queue for a few locks, against what the
//! program measured of itself: two patterns from the literature, in which only one
//! lock at a time limits what is achieved.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde::Deserialize;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs until one shows the pattern.
const RUNS: u32 = 4;
/// Threads that queue.
const THREADS: u64 = 64;

/// What the program prints (`io.headway.workloads.parks.Queues`).
#[derive(Debug, Deserialize)]
struct Truth {
    rounds: u64,
    locks: Vec<Held>,
}

#[derive(Debug, Deserialize)]
struct Held {
    name: String,
    holds: u64,
    held_ns: u64,
}

/// What `headway parks --json` says, and the program itself prints at its end.
#[derive(Debug, Deserialize)]
struct Statistics {
    blockers: Vec<Blocker>,
}

#[derive(Debug, Deserialize)]
struct Blocker {
    class: String,
    times_parked: u64,
    peak_parked: u64,
    avg_hold_ns: u64,
    thread_util: f64,
    thread_life_util: f64,
}

impl Blocker {
    fn is_lock(&self) -> bool {
        self.class.starts_with("java.util.concurrent.locks.ReentrantLock")
    }
}

/// The newest JDK: the statistics are computed alike on all.
fn newest() -> Jdk {
    Jdk::all().into_iter().max_by_key(|jdk| jdk.release).expect("a JDK")
}

/// What the program says of its locks, and the statistics of the one on which its
/// threads spent most time parked.
fn recorded(tools: &Tools, jdk: &Jdk, pattern: &str) -> (Vec<Held>, Blocker) {
    let directory = TempDir::new().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (recording, truth, printed) = (file("recording.jfr"), file("truth.json"), file("parks.json"));
    let java = jdk.tool("java").display().to_string();
    let jar = tools.workloads.display().to_string();
    let run = [
        "run",
        "-q",
        "-e",
        "park",
        "--force",
        "-o",
        &recording,
        "--park-statistics",
        &printed,
        "--",
        &java,
        "-jar",
        &jar,
    ];
    let program = ["queues", pattern, "--threads", "64", "--seconds", "20", "--truth", &truth];
    tools::run(&tools.headway, run.iter().chain(&program).map(|word| (*word).to_owned())).unwrap();
    let truth: Truth = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let asked = tools::run(&tools.headway, ["parks", "--json", "--top", "100", &recording].map(str::to_owned)).unwrap();
    let offline: Statistics = serde_json::from_slice(&asked.stdout).unwrap();
    // The last document: the one at the program's end.
    let online = fs::read_to_string(&printed).unwrap();
    let online: Statistics = serde_json::from_str(online.lines().last().unwrap()).unwrap();
    let by_use = |a: &Blocker, b: &Blocker| a.thread_util.total_cmp(&b.thread_util);
    let [offline, online] = [offline, online]
        .map(|all| all.blockers.into_iter().filter(Blocker::is_lock).max_by(by_use).expect("a ReentrantLock"));
    assert_eq!(offline.times_parked, online.times_parked, "the recording's and the program's own: {offline:?}");
    (truth.locks, offline)
}

/// Rounds that all threads got through. Eight of them: many threads that take a lock
/// in turn come to the end of their rounds at once, and rarely.
fn rounds(tools: &Tools, jdk: &Jdk, pattern: &str, halved: Option<&str>) -> u64 {
    let directory = TempDir::new().unwrap();
    let truth = directory.path().join("truth.json");
    let mut program = Command::new(jdk.tool("java"));
    program.arg("-jar").arg(&tools.workloads).args(["queues", pattern, "--threads", "8", "--warm-up", "1"]);
    program.args(["--seconds", "8", "--truth"]).arg(&truth);
    program.args(halved.into_iter().flat_map(|name| ["--halve", name]));
    assert!(program.status().unwrap().success());
    serde_json::from_str::<Truth>(&fs::read_to_string(truth).unwrap()).unwrap().rounds
}

/// How far the average hold time is from what this lock's holders measured.
fn error_of_average(blocker: &Blocker, locks: &[Held], name: &str) -> f64 {
    let held = locks.iter().find(|held| held.name == name).expect("a lock of this name");
    blocker.avg_hold_ns as f64 / (held.held_ns as f64 / held.holds as f64) - 1.0
}

/// Fails if the machine kept every one of a few runs from what the pattern should
/// show: on a busy one a woken thread gets its lock late.
fn in_one_run(pattern: impl Fn(&Tools, &Jdk) -> Result<(), String>) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (tools, jdk) = (Tools::find().unwrap(), newest());
    let mut failures = Vec::new();
    for _ in 0..RUNS {
        match pattern(&tools, &jdk) {
            Ok(()) => return,
            Err(failure) => failures.push(failure),
        }
    }
    panic!("in each run:\n  {}", failures.join("\n  "));
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise())
    }
}

/// Halving the hold time of the lock that limits doubles the throughput, halving
/// another's changes nothing.
fn only_one_limits(tools: &Tools, jdk: &Jdk, pattern: &str, limit: &str, other: &str) -> Result<(), String> {
    let as_is = rounds(tools, jdk, pattern, None) as f64;
    let factor = |halved| rounds(tools, jdk, pattern, Some(halved)) as f64 / as_is;
    let (doubled, same) = (factor(limit), factor(other));
    ensure((1.8..2.2).contains(&doubled), || format!("{as_is} rounds; halving {limit}: x{doubled:.2}"))?;
    ensure((0.9..1.1).contains(&same), || format!("{as_is} rounds; halving {other}: x{same:.2}"))
}

#[test]
fn of_three_locks_the_one_held_longest_is_found_and_halving_it_doubles_the_throughput() {
    in_one_run(|tools, jdk| {
        let (locks, worst) = recorded(tools, jdk, "turns");
        let error = error_of_average(&worst, &locks, "long");
        ensure(error.abs() < 0.07, || format!("off by {error:.3}: {worst:?}, {locks:?}"))?;
        ensure(worst.peak_parked == THREADS - 1, || format!("{worst:?}"))?;
        ensure(worst.thread_life_util > 60.0, || format!("{worst:?}"))?;
        only_one_limits(tools, jdk, "turns", "long", "medium")
    });
}

#[test]
fn of_two_locks_held_alike_the_one_taken_more_often_is_found() {
    in_one_run(|tools, jdk| {
        let (locks, worst) = recorded(tools, jdk, "frequency");
        let error = error_of_average(&worst, &locks, "often");
        ensure(error.abs() < 0.07, || format!("off by {error:.3}: {worst:?}, {locks:?}"))?;
        only_one_limits(tools, jdk, "frequency", "often", "seldom")
    });
}
