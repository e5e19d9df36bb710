//! Experiments in a real JVM, on a program whose gain is known. How exact they
//! are is measured elsewhere: a busy machine disturbs them. Here they must be
//! made, and count what they should.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::majority::majority;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = "io.headway.workloads.causal.Known";

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

/// The number of the line of a program's source that contains this.
fn line_of(text: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../java/workloads/src/main/java/io/headway/workloads/causal/Gains.java");
    let source = std::fs::read_to_string(source).unwrap();
    let line = source.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no line with {text}"));
    format!("Gains.java:{}", line + 1)
}

/// Runs a program that stops by itself, and gives the report.
fn run(jdk: &Jdk, scenario: &[&str], seconds: u32, options: &[&str], recording: &Path) -> Value {
    let tools = Tools::find().unwrap();
    let mut headway = Command::new(&tools.headway);
    headway.args(["causal", "run", "--json", "--force", "-o"]).arg(recording).args(options).arg("--");
    headway.arg(jdk.tool("java")).arg("-jar").arg(&tools.workloads);
    headway.arg("causal").args(scenario).args(["--seconds", &seconds.to_string()]);
    let output = headway.stdin(Stdio::null()).output().unwrap();
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    // The program prints, too.
    let report = out.find("{\n").map_or("", |at| &out[at..]);
    serde_json::from_str(report).unwrap_or_else(|error| panic!("{error}: {out} {said}"))
}

/// Most runs of a program that a busy machine disturbs.
const RUNS: usize = 3;

/// How much longer a run is that follows one that was off.
const LONGER: u32 = 4;

/// Fails unless most of some runs show what the program should show. After one that does not, the
/// others are longer: where others have the CPUs, the target may hardly run between two
/// visits of a progress point, and no experiment counts. One good run of three is not
/// enough: without credit for a blocked thread a gain is near 0, but its interval is wide.
fn in_most_runs(mut run: impl FnMut(u32) -> Result<(), String>) {
    let mut factor = 1;
    let outcome = majority(RUNS, |_| run(factor).inspect_err(|_| factor = LONGER));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The only target: what it must be, and its share of its threads' time.
fn check_target(report: &Value, name: &str, kind: &str, expected: Range<f64>) -> Result<(), String> {
    let target = &report["targets"][0];
    if target.is_null() {
        return Err(format!("no experiment counts: {report:#}"));
    }
    assert_eq!((target["target"].as_str(), target["kind"].as_str()), (Some(name), Some(kind)), "{report:#}");
    match target["share"].as_f64().is_some_and(|share| expected.contains(&share)) {
        true => Ok(()),
        false => Err(format!("the share is not within {expected:?}: {report:#}")),
    }
}

/// One thread, two thirds of its time in the target. What it gains depends on who
/// else has the CPUs; that everybody is to stand still for as long as the target
/// was seen to run, or to wait for a CPU, does not.
fn judge(report: &str, jdk: &Jdk, recording: &Path) -> Result<(), String> {
    let report: Value = serde_json::from_str(report).unwrap_or_else(|error| panic!("{error}: {report}"));
    let point = format!("{PROGRAM}.done");
    let points: Vec<&str> = report["progress_points"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(points, [point.as_str(), "round"], "{report:#}");
    check_target(&report, "Known.longer", "method", 0.5..0.8)?;
    let target = &report["targets"][0];
    let (points, significant) = (target["points"].as_array().unwrap(), target["significant"].is_boolean());
    assert!(significant && points.len() == 1 && points[0]["speedup"] == 1.0, "{report:#}");

    let printed = Command::new(jdk.tool("jfr"))
        .args(["print", "--json", "--events", "headway.CausalExperiment"])
        .arg(recording)
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let events = printed["recording"]["events"].as_array().unwrap();
    let with_delays: Vec<&Value> = events.iter().map(|e| &e["values"]).filter(|e| e["speedup"] == 1.0).collect();
    if with_delays.is_empty() {
        return Err(format!("no window has delays: {printed:#}"));
    }
    for event in with_delays {
        let selected = event["selected"].as_f64().unwrap();
        let [delay, queued] = ["delay", "runQueue"].map(|field| seconds(&event[field]) * 1e3);
        // A millisecond each, and what the target waited for a CPU. A sample at
        // either edge may fall on the other side of it.
        let expected = selected - 4.0..=selected + queued + 4.0;
        if !(selected > 0.0 && expected.contains(&delay)) {
            return Err(format!("a delay of {delay} ms is not within {expected:?}: {event:#}"));
        }
    }
    judge_slowed(events)
}

/// Now and then all threads are slowed by a fifth, which no target of the report is. All
/// such windows together: of a short one, what passes between its last delay and its end on
/// a busy machine is a part that counts.
fn judge_slowed(events: &[Value]) -> Result<(), String> {
    let slowed: Vec<&Value> = events.iter().map(|e| &e["values"]).filter(|e| e["kind"] == "everything").collect();
    if slowed.is_empty() {
        return Err(format!("in none of {} windows all threads were slowed", events.len()));
    }
    let sum = |field: &str| slowed.iter().map(|event| seconds(&event[field])).sum::<f64>();
    let share = sum("delay") / (sum("duration") + sum("stopped"));
    match (0.18..0.21).contains(&share) {
        true => Ok(()),
        false => Err(format!("all threads were slowed by {share:.3} instead of a fifth: {slowed:#?}")),
    }
}

/// The seconds of `PT0.297S`.
fn seconds(duration: &Value) -> f64 {
    let text = duration.as_str().unwrap();
    text.strip_prefix("PT").and_then(|text| text.strip_suffix('S')).and_then(|text| text.parse().ok()).unwrap()
}

#[test]
fn a_program_is_experimented_with_from_its_start() {
    let Some(jdk) = Jdk::find(25) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let recording = directory.path().join("known.jfr");
    in_most_runs(|factor| {
        let mut headway = Command::new(&tools.headway);
        headway.args(["causal", "run", "--force", "-o"]).arg(&recording);
        let point = format!("{PROGRAM}.done");
        headway.args(["--json", "--progress", &point, "--target", "Known.longer", "--speedups", "100", "--"]);
        let output = headway.args(java(&tools, &jdk, 15 * factor)).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        judge(&String::from_utf8_lossy(&output.stdout), &jdk, &recording)
    });
}

#[test]
fn a_running_program_is_experimented_with_and_left_as_it_was() {
    let Some(jdk) = Jdk::find(17) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let program = java(&tools, &jdk, 900);
    let child = Command::new(&program[0]).args(&program[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let running = Guarded(child.unwrap());
    let pid = running.pid();
    let record = |seconds: &str, method: &str| {
        let mut headway = Command::new(&tools.headway);
        headway
            .args(["causal", "record", "-d", seconds, "--force", "-o"])
            .arg(directory.path().join(format!("{method}.jfr")));
        experiments(headway.arg(&pid), method)
    };
    // Until it listens.
    let until = Instant::now() + Duration::from_secs(120);
    let (mut code, _, mut said) = record("1", "missing");
    while !said.contains("no method") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
        (code, _, said) = record("1", "missing");
    }
    assert!(said.contains(&format!("the class {PROGRAM} has no method missing")), "{said}");
    assert_eq!(code, 2, "{said}");
    in_most_runs(|factor| {
        let (code, report, said) = record(&(15 * factor).to_string(), "done");
        assert_eq!(code, 0, "{said}");
        judge(&report, &jdk, &directory.path().join("done.jfr"))
    });
}

/// Mistyped names are refused at once, with what is near; a class that is not there may be
/// waited for. Nothing is recorded then.
#[test]
fn what_is_mistyped_is_refused_at_once() {
    let Some(jdk) = Jdk::find(21) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let program = java(&tools, &jdk, 900);
    let child = Command::new(&program[0]).args(&program[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let running = Guarded(child.unwrap());
    let recording = directory.path().join("refused.jfr");
    let record = |options: &[&str]| {
        let said = directory.path().join("said");
        let mut headway = Command::new(&tools.headway);
        // For an hour, if it were not refused.
        headway.args(["causal", "record", "-d", "1h", "-o"]).arg(&recording).args(options).arg(running.pid());
        headway.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).unwrap());
        let mut headway = Guarded(headway.env_remove("JAVA_TOOL_OPTIONS").spawn().unwrap());
        let status = tools::wait_at_most(&mut headway, Duration::from_secs(300)).unwrap();
        (status.code(), std::fs::read_to_string(said).unwrap())
    };
    let mistyped = format!("{PROGRAM}.dnoe");
    // Until it listens and has loaded its classes.
    let until = Instant::now() + Duration::from_secs(120);
    while !record(&["--progress", &mistyped]).1.contains("has no method dnoe") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
    }
    let target = ["--progress", "round", "--target"];
    let cases: [(&[&str], String); 6] = [
        (&["--progress", &mistyped], format!("the class {PROGRAM} has no method dnoe; did you mean {PROGRAM}.done?")),
        (&["--progress", "Known.done"], format!("no class Known is loaded; did you mean {PROGRAM}.done?")),
        (&["--progress", "com.acme.Batch.step"], "no class com.acme.Batch is loaded yet; --wait waits for it".into()),
        (&["--progress", "rond"], "no loaded class says a progress point rond; did you mean round?".into()),
        (&[&target[..], &["Known.longr"]].concat(), format!("did you mean {PROGRAM}.longer?")),
        (&[&target[..], &["Konwn.java:7"]].concat(), "did you mean Known.java:7?".into()),
    ];
    for (options, expected) in cases {
        let (code, said) = record(options);
        assert!(code == Some(2) && said.contains(&expected), "{code:?} {said}");
        assert!(!recording.exists(), "{said}");
        let mut sentences = said.lines().filter(|line| line.contains("no experiments:"));
        assert!(sentences.next().is_some() && sentences.next().is_none(), "{said}");
    }
    let status = Command::new(&tools.headway).args(["status", &running.pid()]).output().unwrap();
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(!status.contains("refused.jfr"), "{status}");
}

/// From a JVM's start on the class is not there yet. Once it is, it is known to lack the
/// method: the recording ends then, and the exit code is that of a failure in the end.
#[test]
fn what_is_mistyped_is_said_when_its_class_is_loaded() {
    let Some(jdk) = Jdk::find(17) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let mut headway = Command::new(&tools.headway);
    headway.args(["causal", "run", "-o"]).arg(directory.path().join("mistyped.jfr"));
    headway.args(["--progress", &format!("{PROGRAM}.dnoe"), "--target", "Known.longer", "--"]);
    let output = headway.args(java(&tools, &jdk, 8)).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let reason = format!("the class {PROGRAM} has no method dnoe with code (did you mean {PROGRAM}.done?)");
    assert!(said.contains(&format!("headway: the recording ended, because {reason}")), "{said}");
    assert!(!output.status.success(), "{said}");
}

/// A target that never runs: nothing is known, and the exit code says so. A machine that
/// hardly lets the program run may end it before the first experiment, which is no failure.
#[test]
fn a_target_that_never_ran_is_a_failure() {
    let Some(jdk) = Jdk::find(25) else { return };
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let mut all = String::new();
    for seconds in [10, 40, 120] {
        let mut headway = Command::new(&tools.headway);
        headway.args(["causal", "run", "--force", "-o"]).arg(directory.path().join("never.jfr"));
        headway.args(["--progress", "round", "--target", "com.acme.Batch.step", "--speedups", "100", "--"]);
        let output = headway.args(java(&tools, &jdk, seconds)).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if said.contains("com.acme.Batch.step was never sampled") {
            assert_eq!(output.status.code(), Some(1), "{said}");
            return;
        }
        assert!(said.contains("The run ended before the first experiment"), "{said}");
        all += &said;
    }
    panic!("no experiment was made: {all}");
}

/// Three threads that spend most of their time under one lock. Which one has it,
/// the hooks and the VM's monitor say; visits come from a line and from the time
/// between two methods.
#[test]
fn a_lock_is_sped_up_and_a_line_and_a_latency_count() {
    let Some(jdk) = Jdk::find(17) else { return };
    let directory = TempDir::new().unwrap();
    let recording = directory.path().join("lock.jfr");
    let point = line_of("Work.millis(0.6);");
    let latency = "io.headway.workloads.causal.Gains.critical,io.headway.workloads.causal.Gains.done";
    let options = ["--target", "lock:Gains.STOCK", "--speedups", "50", "--progress", &point, "--latency", latency];
    in_most_runs(|factor| {
        let report = run(&jdk, &["stock"], 20 * factor, &options, &recording);
        let points = report["progress_points"].as_array().unwrap().iter().filter_map(Value::as_str);
        assert!(points.eq([point.as_str(), &latency.replace(',', " to ")]), "{report:#}");
        // 1.5 of 2.1 ms.
        check_target(&report, "lock:Gains.STOCK", "lock", 0.5..0.9)
    });

    let page = directory.path().join("lock.html");
    let tools = Tools::find().unwrap();
    let made = Command::new(&tools.headway).args(["causal", "report"]).arg(&recording).arg("-o").arg(&page).output();
    assert!(made.unwrap().status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<code>lock:Gains.STOCK</code>") && page.contains("class=\"whisker\""), "{page}");
}

/// One thread, half of its time in the target, which sleeps.
#[test]
fn a_line_that_sleeps_is_sped_up() {
    let Some(jdk) = Jdk::find(25) else { return };
    let directory = TempDir::new().unwrap();
    let line = line_of("Thread.sleep(nanos / 1_000_000, (int)");
    let options = ["--target", &line, "--speedups", "100", "--progress", "io.headway.workloads.causal.Gains.done"];
    in_most_runs(|factor| {
        let report = run(&jdk, &["pause"], 15 * factor, &options, &directory.path().join("pause.jfr"));
        // Of what it runs and sleeps, however long it waits for a CPU.
        check_target(&report, &line, "line", 0.3..0.9)
    });
}

/// Two threads that hand on to each other: without credit for the one that waits, the
/// gain is 0 in every run (-0.05 to 0.00 in eight), with it 0.5, and less on a machine that
/// keeps threads from running.
fn judge_hand_overs(release: u32, scenario: &str) {
    let Some(jdk) = Jdk::find(release) else { return };
    let directory = TempDir::new().unwrap();
    let options =
        ["--target", "Gains.serve", "--speedups", "100", "--progress", "io.headway.workloads.causal.Gains.done"];
    let recording = directory.path().join("handed.jfr");
    in_most_runs(|factor| {
        let report = run(&jdk, &[scenario], 15 * factor, &options, &recording);
        let gain = report["targets"][0]["points"][0]["gain"].as_f64();
        println!("{scenario}: {gain:?}");
        match gain.is_some_and(|gain| (0.15..0.8).contains(&gain)) {
            true => Ok(()),
            false => Err(format!("{scenario}: {gain:?}")),
        }
    });
}

#[test]
fn who_is_woken_by_a_pipe_gets_credit() {
    judge_hand_overs(17, "pipe");
}

#[test]
fn who_is_woken_by_a_connection_gets_credit() {
    judge_hand_overs(25, "socket");
}

#[test]
fn who_waits_for_room_gets_credit_from_who_reads() {
    judge_hand_overs(17, "full");
}

#[test]
fn who_waits_for_a_connection_gets_credit_from_who_connects() {
    judge_hand_overs(25, "accept");
}

#[test]
fn who_is_woken_by_a_selector_gets_credit() {
    judge_hand_overs(21, "selector");
}

/// One thread that waits half of its time for another process.
#[test]
fn a_wait_for_another_process_is_sped_up() {
    let Some(jdk) = Jdk::find(17) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut byte = [0];
            while client.read_exact(&mut byte).is_ok() {
                std::thread::sleep(Duration::from_millis(3));
                let _ = client.write_all(&byte);
            }
        }
    });
    let directory = TempDir::new().unwrap();
    let options =
        ["--target", "Gains.answer", "--speedups", "100", "--progress", "io.headway.workloads.causal.Gains.done"];
    in_most_runs(|factor| {
        let recording = directory.path().join("remote.jfr");
        let report = run(&jdk, &["remote", "--port", &port], 15 * factor, &options, &recording);
        check_target(&report, "Gains.answer", "method", 0.3..0.9)
    });
}
