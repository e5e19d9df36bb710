//! Locks in reports of predictable programs: which is which, what they are
//! called, how much time each cost.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::majority::{InEachRun, Majority};
use headway_e2e::recorded::{Recorded, Workload};
use headway_e2e::tools::Tools;
use headway_e2e::truth::Truth;
use std::collections::BTreeMap;

/// Blocked time by lock as the truth has it: name, `class@hash`, caused time.
fn true_locks(truth: &Truth) -> Vec<(String, String, u64)> {
    let mut locks: BTreeMap<(String, String), u64> = BTreeMap::new();
    for owner in &truth.owners {
        let identity = format!("{}@{}", owner.lock_class, owner.lock_hash.clone().unwrap());
        *locks.entry((owner.lock.clone(), identity)).or_default() += owner.caused_ns;
    }
    locks.into_iter().map(|((name, identity), ns)| (name, identity, ns)).collect()
}

/// Blocked time by lock as reported.
fn reported_locks(recorded: &Recorded) -> Vec<(String, u64)> {
    let report = recorded.report("lock", &[]).unwrap();
    report.leaves().into_iter().map(|mut leaf| (leaf.path.remove(0), leaf.total_ns)).collect()
}

fn record(jdk: &Jdk, arguments: &[&str]) -> Recorded {
    let workload = Workload { arguments, jvm_options: &[], attach: false };
    Recorded::run(&Tools::find().unwrap(), jdk, &workload).unwrap()
}

#[test]
fn locks_have_the_names_that_the_source_gives_them() {
    for jdk in Jdk::all() {
        let recorded = record(&jdk, &["names", "--threads", "6", "--hold-us", "500", "--pause-us", "0"]);
        let reported = reported_locks(&recorded);
        for (name, identity, _) in true_locks(&recorded.truth().unwrap()).iter().filter(|lock| lock.2 > 1_000_000) {
            let (called, _) = reported
                .iter()
                .find(|(value, _)| value.contains(identity.as_str()))
                .unwrap_or_else(|| panic!("JDK {}: {name} ({identity}) is not among {reported:?}", jdk.release));
            assert!(called.starts_with(name.as_str()), "JDK {}: {name} is called {called}", jdk.release);
        }
    }
}

/// Most runs, one of which must be right. A machine that is busy with other things takes an owner off its
/// processor between its own stamps and the release: then shares are off by up to
/// 0.08 (two processors, twenty programs that want them).
const RUNS: usize = 6;

/// The first runs, of which more than half must not be far off.
const FIRST: usize = 3;

/// What one run must reach.
const OFF: f64 = 0.03;

/// What more than half of the first runs must keep; a lock that gets another's time is off by more.
const FAR_OFF: f64 = 0.1;

/// The lock whose share of the blocked time is furthest from its true share.
fn worst_share(recorded: &Recorded) -> (String, f64) {
    let reported = reported_locks(recorded);
    let all_reported: u64 = reported.iter().map(|(_, ns)| ns).sum();
    let locks = true_locks(&recorded.truth().unwrap());
    let all_caused: u64 = locks.iter().map(|(_, _, ns)| ns).sum();
    let difference = |(_, identity, caused): &(String, String, u64)| {
        let said: u64 = reported.iter().filter(|(value, _)| value.contains(identity.as_str())).map(|(_, ns)| ns).sum();
        (identity.clone(), said as f64 / all_reported as f64 - *caused as f64 / all_caused as f64)
    };
    locks.iter().map(difference).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).expect("locks")
}

#[test]
fn each_of_many_locks_has_its_own_share() {
    for jdk in Jdk::all() {
        let (mut most, mut each) = (Majority::of(FIRST), InEachRun::new());
        let mut is_decided = false;
        for _ in 0..RUNS {
            let (lock, difference) = worst_share(&record(&jdk, &["manylocks", "--threads", "6"]));
            let sentence = format!("the share of {lock} is off by {difference:.4}");
            println!("JDK {}: {sentence}", jdk.release);
            let beyond = |limit| (difference.abs() >= limit).then(|| ((), sentence.clone()));
            is_decided = is_decided || most.add(beyond(FAR_OFF)).is_break();
            if each.add(beyond(OFF)) && is_decided {
                break;
            }
        }
        let failures = [most.failures(), each.failures()].concat();
        assert!(failures.is_empty(), "JDK {}: {}", jdk.release, failures.join("\n"));
    }
}
