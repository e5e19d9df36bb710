//! A recording that is asked for a minimum: what is shorter is summed up, and no
//! total changes. The windows of pressure in the same recording, which come from
//! every event, say what the total is.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::recorded::{Recorded, Workload};
use headway_e2e::tools::{self, Tools};
use serde_json::Value;

/// Longer than most contentions of the workload.
const MINIMUM: &str = "20ms";
const MINIMUM_NS: u64 = 20_000_000;

/// `PT0.25S` in nanoseconds.
fn nanoseconds(duration: &str) -> u64 {
    let seconds: f64 = duration.trim_start_matches("PT").trim_end_matches('S').parse().expect(duration);
    (seconds * 1e9) as u64
}

/// Time that threads spent acquiring locks, as the windows have it.
fn acquiring_ns(jdk: &Jdk, recording: &str) -> u64 {
    let printed = tools::run(&jdk.tool("jfr"), ["print", "--json", "--events", "headway.PressureWindow", recording]);
    let printed: Value = serde_json::from_slice(&printed.unwrap().stdout).unwrap();
    let windows = printed["recording"]["events"].as_array().unwrap();
    let of_all_locks = windows.iter().filter(|window| window["values"]["lock"].is_null());
    of_all_locks.map(|window| nanoseconds(window["values"]["acquiring"].as_str().unwrap())).sum()
}

#[test]
fn what_is_shorter_than_the_minimum_is_summed_up_and_in_the_totals() {
    let tools = Tools::find().unwrap();
    let arguments = &["chains", "--hold-us", "300", "--threads", "6", "--seconds", "1"];
    for jdk in Jdk::all() {
        let workload = Workload { arguments, jvm_options: &[], attach: true };
        let (_recorded, recording) = Recorded::attached_by(&tools, &jdk, &workload, |program, recording| {
            tools::run(
                &tools.headway,
                ["start", "--min-duration", MINIMUM, "--force", "-o", recording, &program.pid()],
            )?;
            Ok(recording.to_owned())
        })
        .unwrap();
        let report = tools::run(&tools.headway, ["report", "--json", "--by", "lock,owner-method", &recording]).unwrap();
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let number = |of: &Value| of.as_u64().unwrap_or_else(|| panic!("JDK {}: {report}", jdk.release));
        let (blocked_ns, blocked) = (number(&report["blocked_ns"]), &report["blocked"]);
        let (summed, summed_ns) = (number(&blocked["summed"]), number(&blocked["summed_ns"]));
        assert!(summed > 0 && summed_ns < summed * MINIMUM_NS, "JDK {}: {blocked}", jdk.release);
        assert_eq!(number(&blocked["slices_wrong"]), 0, "JDK {}", jdk.release);
        assert!(report["losses"]["seq_gap"].is_null(), "JDK {}: {}", jdk.release, report["losses"]);
        let acquiring_ns = acquiring_ns(&jdk, &recording);
        let off = blocked_ns.abs_diff(acquiring_ns) as f64 / acquiring_ns as f64;
        assert!(off < 0.01, "JDK {}: {blocked_ns} ns blocked, {acquiring_ns} ns in the windows", jdk.release);
        let text = tools::run(&tools.headway, ["report", &recording]).unwrap();
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("recorded as sums: contentions and parks shorter than 20.0 ms"), "{text}");
    }
}
