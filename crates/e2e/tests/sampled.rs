//! Recordings that sample contentions and parks at random instants, of programs that know the
//! truth: totals stay exact, and owners have their shares.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::majority::Majority;
use headway_e2e::recorded::{Recorded, Workload};
use headway_e2e::tools::{self, Tools};
use headway_e2e::truth::Truth;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Longer than most contentions of the workloads, so that most are left out.
const WINDOW: [&str; 2] = ["--sampling-window", "5ms"];

/// How far a share of an owner may be off: some 400 instants have a standard error of 2.5 points.
const OFF: f64 = 0.1;

/// Runs, of which most must be right.
const RUNS: usize = 3;

/// Shares of the owners' methods in what they caused, as the program measured them.
fn true_shares(truth: &Truth) -> BTreeMap<String, f64> {
    let all: u64 = truth.owners.iter().map(|owner| owner.caused_ns).sum();
    let mut shares = BTreeMap::new();
    for owner in &truth.owners {
        *shares.entry(owner.owner_method.clone()).or_default() += owner.caused_ns as f64 / all as f64;
    }
    shares
}

/// The same as reported.
fn reported_shares(report: &Value, owners: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let rows = report["rows"].as_array().unwrap();
    let of = |name: &str| {
        let row = rows.iter().find(|row| row["value"].as_str() == Some(name));
        row.and_then(|row| row["total_ns"].as_u64()).unwrap_or(0)
    };
    let all: u64 = owners.keys().map(|name| of(name)).sum();
    owners.keys().map(|name| (name.clone(), of(name) as f64 / all.max(1) as f64)).collect()
}

/// A run of a program, recorded.
struct Run {
    report: Value,
    truth: Truth,
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn run(jdk: &Jdk, tools: &Tools, arguments: &[&str], options: &[&str]) -> Run {
    let workload = Workload { arguments, jvm_options: &[], attach: true };
    let (recorded, recording) = Recorded::attached_by(tools, jdk, &workload, |program, recording| {
        let (start, pid) = (["start", "--force", "-o", recording], program.pid());
        tools::run(&tools.headway, start.iter().chain(options).copied().chain([pid.as_str()]))?;
        Ok(recording.to_owned())
    })
    .unwrap();
    let report = tools::run(&tools.headway, ["report", "--json", "--by", "owner-method", &recording]).unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(number(&report["blocked"]["slices_wrong"]), 0, "{report}");
    assert!(report["losses"]["seq_gap"].is_null(), "{}", report["losses"]);
    Run { truth: recorded.truth().unwrap(), report }
}

impl Run {
    /// What is wrong with it.
    fn wrong(&self, jdk: &Jdk, program: &str) -> Vec<(&'static str, String)> {
        let Run { report, truth } = self;
        let sampling = &report["sampling"];
        let (chosen, added_up) = (number(&sampling["recorded"]), number(&sampling["added_up"]));
        let mut wrong = Vec::new();
        let mut judge = |check, is_right: bool, sentence: String| {
            if !is_right {
                wrong.push((check, format!("JDK {}, {program}: {sentence}", jdk.release)));
            }
        };
        judge("sampled", chosen > 100 && added_up > 100, format!("{sampling}"));
        let unknown = number(&sampling["unknown_ns"]) as f64 / number(&sampling["added_up_ns"]) as f64;
        judge("unknown", unknown < 0.05, format!("{unknown:.2} of the time has no call stack"));
        // What a thread spins before it blocks is blocked time to the program alone.
        let covered = number(&report["blocked_ns"]) as f64 / truth.blocked_ns as f64;
        judge("covered", (0.75..1.15).contains(&covered), format!("{covered:.3} of the blocked time is reported"));
        let owners = true_shares(truth);
        let is_owner = |row: &&Value| row["value"].as_str().is_some_and(|name| owners.contains_key(name));
        for row in report["rows"].as_array().unwrap().iter().filter(is_owner) {
            let (interval, total) = (&row["interval"], number(&row["total_ns"]));
            let is_inside = || number(&interval["low_ns"]) <= total && total <= number(&interval["high_ns"]);
            assert!(interval.is_object() && is_inside() && number(&interval["instants"]) > 0, "{row}");
        }
        for (method, reported) in reported_shares(report, &owners) {
            let off = (reported - owners[&method]).abs();
            let sentence = format!("{method} has {reported:.3} instead of {:.3}", owners[&method]);
            judge("shares", off <= OFF, sentence);
        }
        wrong
    }
}

/// Waits in this method of the program: how many, and their time.
fn waits_in(report: &Value, method: &str) -> (u64, u64) {
    let sites = report["waits"].as_array().unwrap().iter();
    let is_in = |site: &&Value| {
        site["stack"].as_array().unwrap().iter().any(|frame| frame.as_str().is_some_and(|frame| frame.contains(method)))
    };
    sites.filter(is_in).fold((0, 0), |(count, ns), site| {
        (count + site["count"].as_u64().unwrap(), ns + site["total_ns"].as_u64().unwrap())
    })
}

/// One run for each JDK: number and time of waits are exact, however many there were.
#[test]
fn waits_and_their_re_acquisitions_are_sampled_with_exact_totals() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all().iter().filter(|jdk| jdk.release != 21) {
        let program = ["deepwait", "--hold-us", "100", "--threads", "12"];
        let Run { report, truth } = run(jdk, &tools, &program, &["--sampling-window", "20ms"]);
        let (count, ns) = waits_in(&report, "DeepWait$Trio.awaitSignal");
        assert_eq!(count, truth.waits, "JDK {}: {}", jdk.release, report["sampling"]);
        let covered = ns as f64 / truth.waited_ns as f64;
        assert!((0.9..1.1).contains(&covered), "JDK {}: {covered:.3} of the time of waits is reported", jdk.release);
        let sampling = &report["sampling"];
        assert!(number(&sampling["recorded"]) > 0 && number(&sampling["added_up"]) > 0, "{sampling}");
    }
}

fn most_runs_are_right(jdk: &Jdk, arguments: &[&str]) {
    let tools = Tools::find().unwrap();
    let mut most = Majority::of(RUNS);
    for _ in 0..RUNS {
        if most.add(run(jdk, &tools, arguments, &WINDOW).wrong(jdk, arguments[0])) == ControlFlow::Break(()) {
            break;
        }
    }
    let failures = most.failures();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn owners_of_sampled_monitors_have_their_shares_and_totals_are_exact() {
    for jdk in Jdk::all() {
        most_runs_are_right(&jdk, &["chains", "--hold-us", "300", "--threads", "6"]);
    }
}

#[test]
fn owners_of_sampled_locks_whose_waiters_park_have_their_shares() {
    for jdk in Jdk::all().iter().filter(|jdk| jdk.release > 17) {
        most_runs_are_right(jdk, &["fair", "--hold-us", "300", "--threads", "6"]);
    }
}

/// Runs whose shares are averaged where windows are long: in each are some 50 instants, with a standard error of 6 points;
/// that of the mean is 3.
const POOLED: usize = 5;

/// Where parks are thinned out, most of those of a thread that parks every 2 ms are not even counted.
#[test]
fn where_parks_are_thinned_out_totals_and_owners_are_estimated() {
    for jdk in Jdk::all().iter().filter(|jdk| jdk.release > 17) {
        let program = ["fair", "--hold-us", "300", "--threads", "6"];
        let tools = Tools::find().unwrap();
        let mut most = Majority::of(POOLED);
        let mut differences: BTreeMap<String, f64> = BTreeMap::new();
        for _ in 0..POOLED {
            let run = run(jdk, &tools, &program, &["--sampling-window", "40ms", "--thin-parks"]);
            assert_eq!(run.report["sampling"]["windows"][0]["thins"], true, "{}", run.report["sampling"]);
            let truth = true_shares(&run.truth);
            for (method, reported) in reported_shares(&run.report, &truth) {
                *differences.entry(method.clone()).or_default() += (reported - truth[&method]) / POOLED as f64;
            }
            // The shares are judged together.
            let wrong: Vec<_> =
                run.wrong(jdk, program[0]).into_iter().filter(|(check, _)| *check != "shares").collect();
            let _ = most.add(wrong);
        }
        let failures = most.failures();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        let is_off = |(_, difference): &(&String, &f64)| difference.abs() > OFF;
        let off: Vec<_> = differences.iter().filter(is_off).collect();
        assert!(off.is_empty(), "JDK {}: the mean share of {POOLED} runs is off by {off:?}", jdk.release);
    }
}

/// Far less than a recording of everything would have.
const RATE: &str = "10k/s";

#[test]
fn a_recording_that_grows_too_fast_is_sampled_and_says_why() {
    let tools = Tools::find().unwrap();
    let jdk = Jdk::all().pop().unwrap();
    let workload =
        Workload { arguments: &["chains", "--hold-us", "300", "--threads", "6"], jvm_options: &[], attach: true };
    let (_recorded, recording) = Recorded::attached_by(&tools, &jdk, &workload, |program, recording| {
        tools::run(
            &tools.headway,
            ["start", "--budget", "100", "--max-rate", RATE, "--force", "-o", recording, &program.pid()],
        )?;
        Ok(recording.to_owned())
    })
    .unwrap();
    let report = tools::run(&tools.headway, ["report", "--json", &recording]).unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let windows = report["sampling"]["windows"].as_array().unwrap();
    assert!(windows.iter().all(|window| window["bound"] == "max-rate"), "{windows:?}");
    assert!(windows.iter().any(|window| window["window_ns"].as_u64() > Some(0)), "{windows:?}");
    let text = tools::run(&tools.headway, ["report", "--full", &recording]).unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("\n  sampled ") && text.contains("(--max-rate)"), "{text}");
}

#[test]
fn a_recording_has_a_budget_of_one_percent_and_none_with_exact() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let arguments = &["chains", "--hold-us", "5", "--threads", "6"];
        let workload = Workload { arguments, jvm_options: &[], attach: true };
        let report = |options: &[&str]| -> Value {
            let (_recorded, recording) = Recorded::attached_by(&tools, &jdk, &workload, |program, recording| {
                let (start, pid) = (["start", "-o", recording], program.pid());
                tools::run(&tools.headway, start.iter().chain(options).copied().chain([pid.as_str()]))?;
                Ok(recording.to_owned())
            })
            .unwrap();
            let report = tools::run(&tools.headway, ["report", "--json", &recording]).unwrap();
            serde_json::from_slice(&report.stdout).unwrap()
        };
        let setting = |report: &Value, name: &str| {
            let settings = report["recording"]["settings"].as_array().unwrap();
            let found = settings.iter().find(|setting| setting[0] == name).unwrap();
            found[1].as_str().unwrap().to_owned()
        };
        let budget = |report: &Value| setting(report, "budget");
        let (limited, exact) = (report(&[]), report(&["--exact"]));
        let what = format!("JDK {}", jdk.release);
        assert_eq!([budget(&limited), budget(&exact)], ["1 %", "none"], "{what}");
        assert_eq!(exact["sampling"], Value::Null, "{what}");
        let allowed = tools::run(std::path::Path::new("nproc"), [] as [&str; 0]).unwrap();
        assert_eq!(setting(&exact, "cpus"), String::from_utf8_lossy(&allowed.stdout).trim(), "{what}");
        // Whether the limit is reached is a matter of the machine.
        let windows = limited["sampling"]["windows"].as_array().into_iter().flatten();
        assert!(windows.clone().all(|window| window["bound"] == "budget"), "{what}: {:?}", limited["sampling"]);
    }
}
