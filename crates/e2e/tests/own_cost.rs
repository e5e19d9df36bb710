//! What Headway says that it costs, beside what the kernel says of its threads.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(240);

/// Timed calls whose mean is judged: one in 1024 is timed, so a busy machine takes its time for
/// them, and a single one may be that in which a call stack is named.
const TIMED_CALLS: u64 = 20;

/// Many threads that want one lock for a moment each, without end.
fn contend(jdk: &Jdk, tools: &Tools, truth: &str) -> Guarded {
    let mut java = Command::new(jdk.tool("java"));
    java.arg("-jar").arg(&tools.workloads).args(["predict", "chains", "--hold-us", "20", "--threads", "6"]);
    java.args(["--seconds", "900", "--truth", truth]);
    Guarded(java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Starts a recording as soon as the JVM can be attached to.
fn start(tools: &Tools, pid: &str, recording: &str) {
    let deadline = Instant::now() + PATIENCE;
    // Without samples no thread of the agent ends within the recording, which the kernel would forget.
    while let Err(problem) =
        tools::run(&tools.headway, ["start", "--exact", "-e", "monitor,park", "--force", "-o", recording, pid])
    {
        assert!(Instant::now() < deadline, "{problem}");
        thread::sleep(Duration::from_millis(300));
    }
}

/// CPU time of the process's threads whose names begin with `headway-`.
fn of_own_threads_ns(pid: &str) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().map(|task| task.path());
    let own = tasks.filter(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("headway-")));
    let times = own.filter_map(|task| fs::read_to_string(task.join("schedstat")).ok());
    times.map(|times| times.split(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// The status, with enough timed calls of the agent's hooks; and a sentence with all numbers. The agent measures
/// once a second, and when it is asked: what it says of its threads is no less than the kernel says before, and
/// never more than the kernel says afterwards.
fn measured(tools: &Tools, pid: &str) -> (Value, String) {
    let deadline = Instant::now() + PATIENCE;
    let mut given = Duration::from_millis(1500);
    loop {
        thread::sleep(given);
        let before = of_own_threads_ns(pid);
        let status = tools::run(&tools.headway, ["status", "--json", pid]).unwrap();
        let after = of_own_threads_ns(pid);
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        let said = format!("{before} to {after} ns, {status}");
        let number = |key: &str| status[key].as_u64().unwrap_or_else(|| panic!("{key}; {said}"));
        let own = number("own_cpu_ns");
        assert!(before > 0 && before <= own && own <= after, "{said}");
        assert_eq!(status["budget"], Value::Null, "--exact has no limit; {said}");
        if number("timed_calls") >= TIMED_CALLS {
            return (status, said);
        }
        assert!(Instant::now() < deadline, "{said}");
        given *= 2;
    }
}

#[test]
fn the_measured_cost_is_that_of_its_threads_and_a_share_of_the_process_s() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let directory = tempfile::tempdir().unwrap();
        let recording = directory.path().join("recording.jfr").display().to_string();
        let program = contend(&jdk, &tools, &directory.path().join("truth.json").display().to_string());
        let pid = program.pid();
        start(&tools, &pid, &recording);

        let (status, said) = measured(&tools, &pid);
        let said = format!("JDK {}: {said}", jdk.release);
        let number = |key: &str| status[key].as_u64().unwrap_or_else(|| panic!("{key}; {said}"));
        let own = number("own_cpu_ns");
        let (hooks, process) = (number("hook_cpu_ns"), number("process_cpu_ns"));
        assert!(hooks > 0, "{said}");
        // Each of the calls took longer than a reading of the clock, and less than 50 us.
        let per_call = hooks / 1024 / number("timed_calls");
        assert!((5..50_000).contains(&per_call), "{per_call} ns per call; {said}");
        assert!(own + hooks < process / 2, "{said}");
        assert!(number("attach_cpu_ns") > 0, "{said}");

        tools::run(&tools.headway, ["stop", &pid]).unwrap();
        let report = tools::run(&tools.headway, ["report", "--json", &recording]).unwrap();
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let recorded = &report["recording"];
        for key in ["own_cpu_ns", "hook_cpu_ns", "hook_cpu_error_ns", "timed_calls", "process_cpu_ns"] {
            assert!(recorded[key].as_u64().unwrap() >= number(key) / 2, "{key}: {recorded}; {said}");
        }
        let text = tools::run(&tools.headway, ["report", "--full", &recording]).unwrap();
        let text = String::from_utf8_lossy(&text.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("Headway's own cost since the start of the recording: ")
                && text.contains(" timed calls, 95 % confidence interval "),
            "{text}"
        );
    }
}

#[test]
fn samples_that_the_budget_makes_rarer_stand_for_the_same_time() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name).display().to_string();
        let (recording, truth, java) = (file("recording.jfr"), file("truth.json"), jdk.tool("java"));
        let jar = tools.workloads.display().to_string();
        let mut command = vec!["run", "-e", "cpu", "-i", "0.1ms", "--budget", "0.3", "-o", &recording, "--"];
        let java = java.display().to_string();
        command.extend([&*java, "-jar", &jar, "samples", "--seconds", "8", "--truth", &truth]);
        tools::run(&tools.headway, command).unwrap();
        let report = tools::run(&tools.headway, ["report", "--json", &recording]).unwrap();
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let (samples, process) = (&report["samples"], report["recording"]["process_cpu_ns"].as_f64().unwrap());
        let said = format!("JDK {}: {} {} of {process} ns", jdk.release, samples["running"], samples["running_ns"]);
        println!("{said}");
        let is_said = |degraded: &Value| degraded["reason"].as_str().unwrap().contains("less often than asked for");
        assert!(report["degraded"].as_array().unwrap().iter().any(is_said), "{said}: {}", report["degraded"]);
        let seen = samples["running_ns"].as_f64().unwrap() / process;
        assert!((0.8..1.1).contains(&seen), "{said}");
        // As often as asked for, they would be ten thousand in each second of CPU time.
        assert!(samples["running"].as_f64().unwrap() < 0.5 * process / 1e5, "{said}");
    }
}
