//! Owners seen at work: what the default recording says that owners of locks did while
//! others waited, of a program in which all of them sleep.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;

/// How long the program runs, in seconds: the next time for longer if there were too few samples. At a
/// load of 60 there were several hundred in the shortest run, and once none: what looks at
/// owners got its CPU when that was over.
const SECONDS: [&str; 3] = ["3", "12", "40"];

/// Samples of an owner that are enough to judge their parts.
const ENOUGH: u64 = 20;

/// The first report with samples enough of the owner who is first, or the last one.
fn recorded_until_seen(tools: &Tools, jdk: &Jdk) -> Value {
    let is_enough = |report: &Value| report.pointer("/owner_activity/0/samples").and_then(Value::as_u64) > Some(ENOUGH);
    let mut report = Value::Null;
    for seconds in SECONDS {
        report = recorded(tools, jdk, "turns", &[], seconds);
        if is_enough(&report) {
            break;
        }
    }
    report
}

/// Records the program from its start: the report in JSON.
fn recorded(tools: &Tools, jdk: &Jdk, pattern: &str, options: &[&str], seconds: &str) -> Value {
    recorded_with(tools, jdk, (pattern, &[]), options, seconds)
}

/// The same with options of the program.
fn recorded_with(tools: &Tools, jdk: &Jdk, (pattern, more): (&str, &[&str]), options: &[&str], seconds: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("a.jfr");
    let (recording, java) = (recording.to_str().unwrap(), jdk.tool("java"));
    let (java, jar) = (java.to_str().unwrap(), tools.workloads.to_str().unwrap());
    let program = ["--", java, "-jar", jar, "queues", pattern, "--threads", "8", "--seconds", seconds];
    let run = ["run", "-o", recording];
    tools::run(&tools.headway, run.iter().chain(options).chain(&program).chain(more).copied()).unwrap();
    let report = tools::run(&tools.headway, ["report", "--json", recording]).unwrap();
    serde_json::from_slice(&report.stdout).unwrap()
}

#[test]
fn owners_that_sleep_are_seen_asleep_in_the_default_recording() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let what = format!("JDK {}", jdk.release);
        let report = recorded_until_seen(&tools, &jdk);
        let activity = &report["owner_activity"][0];
        assert!(activity.to_string().contains("Queues$Held.hold\""), "{what}: {activity}");
        // Every owner sleeps for 4 ms and longer, and is looked at each 20 ms: a coverage of 0.97 to 1, at a
        // load of 60, too.
        let (coverage, samples) = (activity["coverage"].as_f64().unwrap(), activity["samples"].as_u64().unwrap());
        assert!(coverage > 0.3 && samples > ENOUGH, "{what}: {activity}");
        let path = &activity["stacks"][0];
        let frames: Vec<&str> = path["stack"].as_array().unwrap().iter().map(|frame| frame.as_str().unwrap()).collect();
        assert!(frames[0].starts_with("java.lang.Thread.sleep"), "{what}: {path}");
        assert!(path["share"].as_f64().unwrap() > 0.8, "{what}: {path}");
        let text = report["findings"][0]["text"].as_str().unwrap();
        let said = "While `Queues$Held.hold` blocked others, it was in `Thread.sleep`";
        assert!(text.contains(said), "{what}: {text}");
        assert!(report["samples"].is_null(), "{what}: samples of owners are no profile");
    }
}

/// A lock that is inflated by whoever waits for it does not know its owner before that releases it: the
/// default on 25, and an option on 21.
#[test]
fn owners_are_seen_whom_their_monitors_do_not_know() {
    let tools = Tools::find().unwrap();
    let none = Vec::new();
    for jdk in Jdk::all() {
        let what = format!("JDK {}", jdk.release);
        let report = recorded(&tools, &jdk, "fresh", &[], "5");
        // One of each bin, of which there was one for each hold.
        let activity = report["owner_activity"].as_array().unwrap_or(&none);
        let sum = |field: &str| activity.iter().map(|one| one[field].as_f64().unwrap()).sum::<f64>();
        let (samples, coverage) = (sum("samples"), sum("sampled_ns") / sum("blocked_ns"));
        assert!(samples > ENOUGH as f64 && coverage > 0.3, "{what}: {samples} samples, coverage {coverage}");
        let of_method = |one: &&Value| one["owner_method"] == "java.util.concurrent.ConcurrentHashMap.computeIfAbsent";
        let in_sleep = |one: &&Value| one["stacks"][0].to_string().contains("Queues$Fresh.slowly");
        let right = activity.iter().filter(of_method).filter(in_sleep).count();
        assert!(right * 10 > activity.len() * 9, "{what}: {right} of {}: {}", activity.len(), report["owner_activity"]);
    }
}

/// How long threads were blocked, or waited for each other.
fn waited_ns(report: &Value) -> u64 {
    let entries = report["ledger"]["entries"].as_array().unwrap().iter();
    let waits = entries.filter(|entry| entry["entry"] == "wait-permit").filter_map(|entry| entry["total_ns"].as_u64());
    report["blocked_ns"].as_u64().unwrap() + waits.sum::<u64>()
}

/// Unmounted, they have no stack to sample: the parks in which they wait for an answer say what they did.
#[test]
fn what_unmounted_virtual_threads_do_with_a_lock_or_a_permit_is_seen() {
    let tools = Tools::find().unwrap();
    // Before JDK 24 who owns a monitor stays mounted, and keeps its carrier.
    let patterns =
        |release: u32| if release >= 24 { &["turns", "permits", "monitors"][..] } else { &["turns", "permits"] };
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.release >= 21) {
        for pattern in patterns(jdk.release) {
            let what = format!("JDK {}, {pattern}", jdk.release);
            // Longer where the program hardly got a CPU and nobody waited yet.
            let mut reports =
                SECONDS.iter().map(|s| recorded_with(&tools, &jdk, (pattern, &["--virtual", "true"]), &[], s));
            let report = reports.find(|report| waited_ns(report) > 2_000_000_000).expect("threads wait");
            // On a busy machine the lack of CPUs may come first.
            let did = "in `Socket$SocketInputStream.read`, called from `Queues$Remote.ask`";
            let says = |finding: &&Value| finding["text"].as_str().is_some_and(|text| text.contains(did));
            let finding = report["findings"].as_array().unwrap().iter().find(says);
            assert!(finding.is_some(), "{what}: {}", report["findings"]);
            if *pattern == "permits" {
                continue;
            }
            let activity = &report["owner_activity"][0];
            // The rest is the way from the answer to the release, for which it needs a carrier and a CPU.
            assert!(activity["coverage"].as_f64().unwrap() > 0.5, "{what}: {activity}");
            let evidence = finding.and_then(|finding| finding["evidence"].as_array()).unwrap();
            assert!(evidence.iter().any(|evidence| evidence["what"] == "parks"), "{what}: {evidence:?}");
        }
    }
}

/// A wait that is sampled has a call stack only when it is over. Who looks for owners finds it before that:
/// without it, samples of those that have a permit belong to no place where others wait.
#[test]
fn what_those_do_who_have_a_permit_is_seen_where_waits_are_sampled() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let what = format!("JDK {}", jdk.release);
        let sampled = ["--sampling-window", "20ms"];
        // Longer where the program hardly got a CPU.
        let mut reports = SECONDS.iter().map(|seconds| recorded(&tools, &jdk, "permits", &sampled, seconds));
        let report = reports.find(|report| waited_ns(report) > 2_000_000_000).expect("threads wait");
        assert!(
            report["sampling"]["windows"].to_string().contains("sampling-window"),
            "{what}: {}",
            report["sampling"]
        );
        let did = "(`queue-*`) were in `Thread.sleep`, called from `Queues$Held.sleep`";
        let says = |finding: &Value| finding["text"].as_str().is_some_and(|text| text.contains(did));
        assert!(report["findings"].as_array().unwrap().iter().any(says), "{what}: {}", report["findings"]);
    }
}

#[test]
fn nobody_is_looked_at_where_that_is_turned_off() {
    let tools = Tools::find().unwrap();
    let jdk = Jdk::all().into_iter().next().unwrap();
    for option in [&["--disable", "owners"][..], &["--safe"]] {
        let report = recorded(&tools, &jdk, "turns", option, SECONDS[0]);
        assert!(report["owner_activity"].is_null(), "{option:?}: {}", report["owner_activity"]);
    }
}
