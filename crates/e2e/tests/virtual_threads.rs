//! Mount delays and pins of virtual threads, against what the program measured of
//! itself, on every JDK that has them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::majority::Majority;
use headway_e2e::tools::{self, Tools};
use headway_e2e::Problem;
use serde::Deserialize;
use std::fs;
use tempfile::TempDir;

/// Difference of times that is allowed, beside what the machine adds: the time that those who
/// were woken promptly waited for a CPU, 5 ms in all on a quiet machine. On a busy one a thread waits as long
/// between its own clock and the agent's.
const TOLERANCE: f64 = 0.02;
/// Runs on a JDK; each check must hold in more than half of them.
const RUNS: usize = 3;
const PARK: &str = "io.headway.workloads.parks.Mounts.park";
const HELD: &str = "io.headway.workloads.parks.Mounts.held";

/// What the program prints (`io.headway.workloads.parks.Mounts`).
#[derive(Debug, Deserialize)]
struct Truth {
    rounds: u64,
    late: u64,
    late_ns: u64,
    prompt: u64,
    prompt_ns: u64,
    pinned_ns: u64,
    held_ns: u64,
}

/// The part of a report that is compared.
#[derive(Debug, Deserialize)]
struct Report {
    virtual_threads: VirtualThreads,
}

#[derive(Debug, Deserialize)]
struct VirtualThreads {
    mounts: u64,
    mount_delay_ns: u64,
    waiting_for_carrier_ns: u64,
    waiting_for_cpu_ns: u64,
    pinned: u64,
    pinned_ns: u64,
    pins: Vec<Pin>,
    carriers_ns: u64,
    occupied_ns: u64,
}

#[derive(Debug, Deserialize)]
struct Pin {
    frame: Option<String>,
    reason: Option<String>,
    method: String,
    total_ns: u64,
}

fn record(tools: &Tools, jdk: &Jdk) -> Result<(Truth, VirtualThreads), Problem> {
    let directory = TempDir::new()?;
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (recording, truth) = (file("recording.jfr"), file("truth.json"));
    let java = jdk.tool("java").display().to_string();
    let jar = tools.workloads.display().to_string();
    let run = ["run", "-q", "--exact", "-e", "park,mounts", "--force", "-o", &recording, "--", &java];
    let settings = [
        "-Djdk.virtualThreadScheduler.parallelism=1",
        "-Djdk.virtualThreadScheduler.maxPoolSize=1",
        "-Djdk.reflect.useNativeAccessorOnly=true",
    ];
    let program = ["-jar", &jar, "mounts", "--truth", &truth];
    tools::run(&tools.headway, run.iter().chain(&settings).chain(&program))?;
    let report = tools::run(&tools.headway, ["report", "--json", &recording])?;
    let report: serde_json::Value = serde_json::from_slice(&report.stdout)?;
    let carriers = &report["virtual_threads"]["carriers"];
    if carriers != 1 {
        return Err(format!("defect: 1 thread carried virtual threads, recorded {carriers}").into());
    }
    let report = Report::deserialize(report)?;
    Ok((serde_json::from_str(&fs::read_to_string(truth)?)?, report.virtual_threads))
}

/// What is wrong with what was recorded, by what was checked.
fn differences(truth: &Truth, seen: &VirtualThreads, release: u32) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let mut near = |what: &str, is: u64, said: u64| {
        if said.abs_diff(is) as f64 > is as f64 * TOLERANCE + truth.prompt_ns as f64 {
            wrong.push((what.to_owned(), format!("{what} is {is}, recorded {said}, prompt {}", truth.prompt_ns)));
        }
    };
    near("mount delay", truth.late_ns + truth.prompt_ns, seen.mount_delay_ns);
    near("waiting for a carrier", truth.late_ns, seen.waiting_for_carrier_ns);
    let of = |method: &str| seen.pins.iter().find(|pin| pin.method.starts_with(method));
    near("pinned below a native method", truth.pinned_ns, of(PARK).map_or(0, |pin| pin.total_ns));
    let held = if release < 24 { truth.held_ns } else { 0 };
    near("pinned in a synchronized block", held, of(HELD).map_or(0, |pin| pin.total_ns));
    near("pinned", truth.pinned_ns + held, seen.pinned_ns);
    let mut same = |what: &str, is: &str, said: &str| {
        if is != said {
            wrong.push((what.to_owned(), format!("{what} is {is}, recorded {said}")));
        }
    };
    // The last unpark of each sleeper, which ends it, is no part of the truth.
    let mounts = truth.late + truth.prompt;
    same("mounts", "true", &(mounts..=mounts + 2).contains(&seen.mounts).to_string());
    let pins = truth.rounds * if release < 24 { 2 } else { 1 };
    same("pins", &pins.to_string(), &seen.pinned.to_string());
    let native = of(PARK).and_then(|pin| pin.reason.clone()).unwrap_or_default();
    same("the reason of the first pin", "native", &native);
    let frame = of(PARK).and_then(|pin| pin.frame.clone()).unwrap_or_default();
    same("a native frame", "true", &frame.contains("NativeAccessor.invoke0").to_string());
    if release < 24 {
        let pin = of(HELD).map(|pin| (pin.frame.clone().unwrap_or_default(), pin.reason.clone().unwrap_or_default()));
        let (frame, reason) = pin.unwrap_or_default();
        same("the reason of the second pin", "synchronized-block", &reason);
        same("the frame with the block", "true", &frame.starts_with(HELD).to_string());
    }
    // A CPU is what a thread waits for whose carrier was idle: most of the prompt ones' delay.
    same("waiting for a CPU", "true", &(seen.waiting_for_cpu_ns * 2 > truth.prompt_ns).to_string());
    // It was busy while the others were late, and while one was pinned.
    let busy = (truth.late_ns + truth.pinned_ns + held) as f64;
    let occupied = 0.95 * busy..1.5 * busy + 2.0 * truth.prompt_ns as f64;
    let is_occupied = occupied.contains(&(seen.occupied_ns as f64)) && seen.occupied_ns < seen.carriers_ns;
    same("occupied", "true", &is_occupied.to_string());
    wrong
}

#[test]
fn mount_delays_and_pins_are_recorded_as_they_were() {
    let tools = Tools::find().unwrap();
    let mut failures = Vec::new();
    for jdk in Jdk::all().iter().filter(|jdk| jdk.release >= 21) {
        let mut runs = Majority::of(RUNS);
        for _ in 0..RUNS {
            let (truth, seen) = record(&tools, jdk).unwrap();
            let wrong = differences(&truth, &seen, jdk.release);
            println!("JDK {}: {truth:?} {seen:?} {wrong:?}", jdk.release);
            if runs.add(wrong).is_break() {
                break;
            }
        }
        failures.extend(runs.failures().into_iter().map(|wrong| format!("JDK {}: {wrong}", jdk.release)));
    }
    assert!(failures.is_empty(), "\n  {}", failures.join("\n  "));
}
