//! Park statistics of 64 threads that queue for a few locks, against what the
//! program measured of itself: two patterns from the literature, in which only one
//! lock at a time limits what is achieved.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::at_once::at_once;
use headway_e2e::jdk::Jdk;
use headway_e2e::majority::majority;
use headway_e2e::tools::{self, Tools};
use serde::Deserialize;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs of which more than half must show what Headway says of the pattern.
const RUNS: usize = 3;
/// Runs of the program alone that are added up until they show the pattern.
const RUNS_ALONE: usize = 4;
/// Threads that queue.
const THREADS: u64 = 64;
/// How long they do so.
const SECONDS: u64 = 20;

/// What the program prints (`io.headway.workloads.parks.Queues`).
#[derive(Debug, Deserialize)]
struct Truth {
    rounds: u64,
    locks: Vec<LockTruth>,
}

#[derive(Debug, Deserialize)]
struct LockTruth {
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
fn recorded(tools: &Tools, jdk: &Jdk, pattern: &str) -> (Vec<LockTruth>, Blocker) {
    let directory = TempDir::new().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (recording, truth, printed) = (file("recording.jfr"), file("truth.json"), file("parks.json"));
    let java = jdk.tool("java").display().to_string();
    let jar = tools.workloads.display().to_string();
    let run = [
        "run",
        "-q",
        "--exact",
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
    let (threads, seconds) = (THREADS.to_string(), SECONDS.to_string());
    let program = ["queues", pattern, "--threads", &threads, "--seconds", &seconds, "--truth", &truth];
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

/// The average hold time lies between what this lock's owners measured and the time from one hold
/// to the next, as the lock always has a queue: on a quiet machine both are the same, on a busy one the
/// next owner gets its CPU late.
fn has_average_hold_time(blocker: &Blocker, locks: &[LockTruth], name: &str) -> Result<(), String> {
    const TOLERANCE: f64 = 0.07;
    let held = locks.iter().find(|held| held.name == name).expect("a lock of this name");
    let (measured, cycle) = (held.held_ns as f64 / held.holds as f64, SECONDS as f64 * 1e9 / held.holds as f64);
    let (least, most) = (measured * (1.0 - TOLERANCE), cycle.max(measured) * (1.0 + TOLERANCE));
    let average = blocker.avg_hold_ns as f64;
    ensure((least..=most).contains(&average), || {
        format!("{name}: {average} ns is not between {least} and {most}: {blocker:?}, {locks:?}")
    })
}

/// Fails unless most of some runs show what the pattern should show.
fn in_most_runs(pattern: impl Fn(&Tools, &Jdk) -> Result<(), String>) {
    let (tools, jdk) = (Tools::find().unwrap(), newest());
    majority(RUNS, |_| pattern(&tools, &jdk)).unwrap_or_else(|failure| panic!("{failure}"));
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise())
    }
}

/// Halving the hold time of the lock that limits doubles the throughput, halving another's changes
/// nothing. What a busy machine adds to each hold is not halved: where the sums of all runs do not double
/// it, they must raise it by more than the other lock could.
fn only_one_limits(pattern: &str, limit: &str, other: &str) {
    let (tools, jdk) = (Tools::find().unwrap(), newest());
    let (mut as_is, mut with_limit, mut with_other) = (0, 0, 0);
    for _ in 0..RUNS_ALONE {
        // At once, so that what the machine does beside them slows all the same: their threads sleep.
        let variants = [None, Some(limit), Some(other)];
        let rounds = at_once(variants.len(), &variants, |halved| rounds(&tools, &jdk, pattern, *halved));
        as_is += rounds[0];
        with_limit += rounds[1];
        with_other += rounds[2];
        let (doubled, same) = (with_limit as f64 / as_is as f64, with_other as f64 / as_is as f64);
        println!("{as_is} rounds; halving {limit}: x{doubled:.2}; halving {other}: x{same:.2}");
        if (1.8..2.2).contains(&doubled) && (0.9..1.1).contains(&same) {
            return;
        }
    }
    let (doubled, same) = (with_limit as f64 / as_is as f64, with_other as f64 / as_is as f64);
    let is_limit = (1.25..2.3).contains(&doubled) && doubled > 1.2 * same && (0.8..1.2).contains(&same);
    assert!(is_limit, "{as_is} rounds; halving {limit}: x{doubled:.2}; halving {other}: x{same:.2}");
}

#[test]
fn of_three_locks_the_one_held_longest_is_found_and_halving_it_doubles_the_throughput() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    in_most_runs(|tools, jdk| {
        let (locks, worst) = recorded(tools, jdk, "turns");
        println!("{worst:?}, {locks:?}");
        has_average_hold_time(&worst, &locks, "long")?;
        // All but the owner; on a busy machine some are still at the locks before it.
        ensure((THREADS - 8..THREADS).contains(&worst.peak_parked), || format!("{worst:?}"))?;
        ensure(worst.thread_life_util > 0.75 * THREADS as f64, || format!("{worst:?}"))
    });
    only_one_limits("turns", "long", "medium");
}

#[test]
fn of_two_locks_held_alike_the_one_taken_more_often_is_found() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    in_most_runs(|tools, jdk| {
        let (locks, worst) = recorded(tools, jdk, "frequency");
        println!("{worst:?}, {locks:?}");
        has_average_hold_time(&worst, &locks, "often")
    });
    only_one_limits("frequency", "often", "seldom");
}
