//! Experiments in a real JVM, on a program whose gain is known. How exact they
//! are is measured elsewhere: a busy machine disturbs them. Here they must be
//! made, count what they should, and point the right way.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::tools::Tools;
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = "io.headway.workloads.causal.Known";

/// A program that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn java(tools: &Tools, jdk: &Jdk, seconds: u32) -> Vec<String> {
    let (java, jar) = (jdk.tool("java").display().to_string(), tools.workloads.display().to_string());
    let program = [&java, "-jar", &jar, "causal", "lines", "--seconds", &seconds.to_string()];
    program.map(str::to_owned).to_vec()
}

fn experiments(command: &mut Command, method: &str) -> (i32, String, String) {
    let point = format!("{PROGRAM}.{method}");
    command.args(["--json", "--progress", &point, "--target", "Known.longer", "--speedups", "100"]);
    let output = command.stdin(Stdio::null()).env_remove("JAVA_TOOL_OPTIONS").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// One thread, two thirds of its time in the target: without it a round takes a
/// third of the time.
fn judge(report: &str) {
    let report: Value = serde_json::from_str(report).unwrap_or_else(|error| panic!("{error}: {report}"));
    let point = format!("{PROGRAM}.done");
    let points: Vec<&str> = report["progress_points"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(points, [point.as_str(), "round"], "{report:#}");
    let target = &report["targets"][0];
    assert_eq!((target["target"].as_str(), target["kind"].as_str()), (Some("Known.longer"), Some("method")));
    let share = target["share"].as_f64().unwrap();
    assert!((0.5..0.8).contains(&share), "{report:#}");
    let gain = target["points"][0]["gain"].as_f64().unwrap();
    assert!((0.25..0.95).contains(&gain), "{report:#}");
}

#[test]
fn a_program_is_experimented_with_from_its_start() {
    let Some(jdk) = Jdk::find(25) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let recording = directory.path().join("known.jfr");
    let mut headway = Command::new(&tools.headway);
    headway.args(["causal", "run", "-o"]).arg(&recording);
    let point = format!("{PROGRAM}.done");
    headway.args(["--json", "--progress", &point, "--target", "Known.longer", "--speedups", "100", "--"]);
    let output = headway.args(java(&tools, &jdk, 15)).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    judge(&String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_running_program_is_experimented_with_and_left_as_it_was() {
    let Some(jdk) = Jdk::find(17) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let program = java(&tools, &jdk, 300);
    let child = Command::new(&program[0]).args(&program[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let running = Running(child.unwrap());
    let pid = running.0.id().to_string();
    let record = |seconds: &str, method: &str| {
        let mut headway = Command::new(&tools.headway);
        headway.args(["causal", "record", "-d", seconds, "-o"]).arg(directory.path().join(format!("{method}.jfr")));
        experiments(headway.arg(&pid), method)
    };
    // Until it listens.
    let (mut code, mut said) = (0, String::new());
    for _ in 0..50 {
        (code, _, said) = record("1", "missing");
        if said.contains("no method") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(said.contains(&format!("the class {PROGRAM} has no method missing with code")), "{said}");
    assert_eq!(code, 2, "{said}");
    let (code, report, said) = record("15", "done");
    assert_eq!(code, 0, "{said}");
    judge(&report);
}
