//! Critical section pressure of programs that compute it from their own
//! timestamps, the phases of one of them, and `headway top` in a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MS: f64 = 1e6;

/// A program that ran under `headway run`.
struct Ran {
    tools: Tools,
    directory: TempDir,
    truth: Value,
}

impl Ran {
    fn new(jdk: &Jdk, scenario: &[&str], options: &[&str]) -> Ran {
        let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
        let truth = directory.path().join("truth.json");
        let recording = directory.path().join("recording.jfr").display().to_string();
        let mut arguments = vec!["run", "-q", "--exact", "--force", "-o", &recording];
        arguments.extend(options);
        let (java, jar) = (jdk.tool("java").display().to_string(), tools.workloads.display().to_string());
        let truth_file = truth.display().to_string();
        arguments.extend(["--", &java, "-jar", &jar, "pressure"]);
        arguments.extend(scenario);
        arguments.extend(["--truth", &truth_file]);
        tools::run(&tools.headway, arguments).unwrap();
        let truth = serde_json::from_str(&fs::read_to_string(truth).unwrap()).unwrap();
        Ran { tools, directory, truth }
    }

    fn recording(&self) -> PathBuf {
        self.directory.path().join("recording.jfr")
    }

    fn report(&self, options: &[&str]) -> Value {
        let recording = self.recording().display().to_string();
        let mut arguments = vec!["report", "--json"];
        arguments.extend(options);
        arguments.push(&recording);
        serde_json::from_slice(&tools::run(&self.tools.headway, arguments).unwrap().stdout).unwrap()
    }

    /// A moment of the truth, in ms since the recording's start.
    fn moment_ms(&self, name: &str) -> f64 {
        let start = self.report(&[])["recording"]["start_ns"].as_u64().unwrap();
        self.truth[name].as_f64().unwrap() - start as f64 / MS
    }

    fn true_pressure(&self) -> f64 {
        self.truth["acquiring_ns"].as_f64().unwrap() / self.truth["lived_ns"].as_f64().unwrap()
    }

    /// Pressure over the whole of the program's run, its first and last interval
    /// pro rata: what a program does in rounds must be compared over all of them.
    fn pressure_of_run(&self) -> f64 {
        let (from, to) = (self.moment_ms("start_epoch_ms"), self.moment_ms("end_epoch_ms"));
        let (from, to) = (format!("{}ms", from.floor()), format!("{}ms", to.ceil()));
        let pressure = self.report(&["--pressure", "--interval", "250ms", "--from", &from, "--to", &to]);
        the_lock(&pressure)["csp_mean"].as_f64().unwrap()
    }

    /// Mean pressure of the intervals that lie within the program's run.
    fn reported_pressure(&self, interval_ms: u32) -> f64 {
        let pressure = self.report(&["--pressure", "--interval", &format!("{interval_ms}ms")]);
        let lock = the_lock(&pressure);
        let (from, to) = (self.moment_ms("start_epoch_ms"), self.moment_ms("end_epoch_ms"));
        let length = pressure["interval_ns"].as_f64().unwrap() / MS;
        let inside = |window: &&Value| {
            let start = window[0].as_f64().unwrap() / MS;
            start >= from && start + length <= to
        };
        let intervals = pressure["windows"].as_array().unwrap().iter().filter(inside).count();
        assert!(intervals > 2, "{pressure:#}");
        // Intervals in which nobody acquired the lock are not among its windows.
        let windows = lock["windows"].as_array().unwrap().iter().filter(inside);
        windows.map(|window| window[1].as_f64().unwrap()).sum::<f64>() / intervals as f64
    }
}

fn the_lock(pressure: &Value) -> Value {
    let locks = pressure["locks"].as_array().unwrap();
    locks.iter().find(|lock| lock["name"] == "Meter.lock").unwrap_or_else(|| panic!("no lock in {pressure:#}")).clone()
}

/// Of the truth: where the same period is compared, and where some of
/// its rounds are not in whole intervals.
const SAME_TIME: f64 = 0.02;
const WHOLE_INTERVALS: f64 = 0.1;

/// Most runs of a program whose number is compared: on a busy machine threads that
/// were woken are late, which is in the program's number only.
const RUNS: u32 = 6;

fn is_close(jdk: &Jdk, what: &str, said: f64, truth: f64, part: f64) -> bool {
    println!("JDK {} {what}: {said:.4}, by its own clock {truth:.4}", jdk.release);
    // Spinning before it blocks posts no event.
    (said - truth).abs() <= part * truth + 0.002
}

/// What the first run gives that is as it should be; those before it said why not.
fn in_one_run<T>(jdk: &Jdk, mut run: impl FnMut() -> Result<T, String>) -> T {
    let mut failures = Vec::new();
    for _ in 0..RUNS {
        match run() {
            Ok(good) => return good,
            Err(failure) => failures.push(failure),
        }
    }
    panic!("JDK {}, in each run:\n  {}", jdk.release, failures.join("\n  "));
}

/// Pressure over a program's run, from the first run that agrees with the
/// program's own clock.
fn pressure_as_measured(jdk: &Jdk, what: &str, scenario: &[&str]) -> f64 {
    in_one_run(jdk, || {
        let ran = Ran::new(jdk, scenario, &[]);
        let (said, truth) = (ran.pressure_of_run(), ran.true_pressure());
        match is_close(jdk, what, said, truth, SAME_TIME) {
            true => Ok(said),
            false => Err(format!("{what}: said {said:.4}, true {truth:.4}")),
        }
    })
}

#[test]
fn ping_pong_weighs_half_of_two_threads_and_little_of_forty_eight() {
    for jdk in Jdk::all() {
        for threads in ["2", "48"] {
            let scenario = ["pingpong", "--threads", threads, "--seconds", "4"];
            pressure_as_measured(&jdk, &format!("ping-pong of {threads}"), &scenario);
        }
    }
}

#[test]
fn fork_join_weighs_less_the_longer_work_takes() {
    for jdk in Jdk::all() {
        let [short, long] = ["50", "400"].map(|process_ms| {
            let scenario = ["forkjoin", "--threads", "48", "--seconds", "5", "--process-ms", process_ms];
            pressure_as_measured(&jdk, &format!("fork-join, {process_ms} ms"), &scenario)
        });
        assert!(long < short);
    }
}

#[test]
fn windows_alone_tell_the_same_and_hold_no_event_of_a_lock() {
    for jdk in Jdk::all() {
        let scenario = ["pingpong", "--threads", "16", "--seconds", "4"];
        let ran = in_one_run(&jdk, || {
            let ran = Ran::new(&jdk, &scenario, &["-e", "pressure", "--pressure-interval", "250ms"]);
            let (said, truth) = (ran.reported_pressure(250), ran.true_pressure());
            match is_close(&jdk, "-e pressure", said, truth, WHOLE_INTERVALS) {
                true => Ok(ran),
                false => Err(format!("said {said:.4}, true {truth:.4}")),
            }
        });
        let report = ran.report(&[]);
        assert_eq!(report["contentions"], 0, "{report:#}");
        assert!(fs::metadata(ran.recording()).unwrap().len() < 1 << 20);
        let lock = the_lock(&ran.report(&["--pressure"]));
        let phase = &lock["phases"][0];
        for chain in ["waiter_stack", "owner_stack"] {
            let leaf = phase[chain][0].as_str().unwrap_or_default();
            assert!(leaf.contains("pressure.Meter."), "JDK {}: {chain} of {phase:#}", jdk.release);
        }
    }
}

/// Of a lock of `java.util.concurrent`, too, both chains are taken.
#[test]
fn windows_alone_tell_who_leaves_a_queued_lock() {
    for jdk in Jdk::all() {
        // For longer where other programs have the CPUs, and nobody had to wait for the lock.
        let pressure = ["3", "12", "40"].into_iter().map(|seconds| {
            let scenario = ["pingpong", "--threads", "8", "--seconds", seconds, "--queued", "true"];
            Ran::new(&jdk, &scenario, &["-e", "pressure", "--pressure-interval", "250ms"]).report(&["--pressure"])
        });
        let has_phase = |pressure: &Value| pressure.pointer("/locks/0/phases/0").is_some();
        let pressure = pressure.into_iter().find(has_phase);
        let pressure = pressure.unwrap_or_else(|| panic!("JDK {}: no phase", jdk.release));
        let lock = &pressure["locks"][0];
        assert!(lock["class"].as_str().unwrap().contains("ReentrantLock"), "JDK {}: {pressure:#}", jdk.release);
        let is_ours = |frame: &Value| frame.as_str().unwrap_or_default().contains("pressure.Meter.holdQueue");
        for chain in ["waiter_stack", "owner_stack"] {
            let phase = &lock["phases"][0];
            assert!(
                phase[chain].as_array().is_some_and(|frames| frames.iter().any(is_ours)),
                "JDK {}: {phase:#}",
                jdk.release
            );
        }
    }
}

/// Where the phase began and ended, and how little the average says of it.
fn phase_as_it_was(ran: &Ran) -> Result<(), String> {
    let pressure = ran.report(&["--phases"]);
    let lock = the_lock(&pressure);
    let phases = lock["phases"].as_array().unwrap();
    let (Some(first), Some(last)) = (phases.first(), phases.last()) else {
        return Err(format!("no phase: {pressure}"));
    };
    // The edges may touch an interval too little to count.
    for (found, name) in [(&first["start_ns"], "phase_start_epoch_ms"), (&last["end_ns"], "phase_end_epoch_ms")] {
        let (found, is) = (found.as_f64().unwrap() / MS, ran.moment_ms(name));
        if (found - is).abs() > 1000.0 {
            return Err(format!("{name}: {found} ms instead of {is} ms"));
        }
    }
    match (lock["csp_mean"].as_f64().unwrap(), lock["csp_peak"].as_f64().unwrap()) {
        (mean, peak) if mean < 0.05 && peak > 2.0 * mean => Ok(()),
        (mean, peak) => Err(format!("mean {mean}, peak {peak}")),
    }
}

#[test]
fn a_phase_is_found_told_and_missed_by_the_average() {
    for jdk in Jdk::all() {
        let told = TempDir::new().unwrap();
        let lines = told.path().join("lines");
        let command = format!("echo \"$HEADWAY_PHASE $HEADWAY_LOCK\" >> '{}'", lines.display());
        let scenario = ["phase", "--threads", "8", "--seconds", "18"];
        let ran = in_one_run(&jdk, || {
            let _ = fs::remove_file(&lines);
            let ran = Ran::new(&jdk, &scenario, &["--on-phase", &command]);
            phase_as_it_was(&ran)?;
            // A command that a busy machine lets run for longer than a phase keeps the next one from being run.
            let lines = fs::read_to_string(&lines).unwrap_or_default();
            let lines: Vec<&str> = lines.lines().collect();
            match (lines.first(), lines.last()) {
                (Some(&"begin Meter.lock"), Some(&"end Meter.lock")) => Ok(ran),
                _ => Err(format!("announced: {lines:?}")),
            }
        });
        let findings = ran.report(&[])["findings"].to_string();
        assert!(findings.contains("Meter.lock") && findings.contains("From "), "{findings}");
    }
}

/// A program that runs until it is asked to end.
struct Running(Guarded);

impl Running {
    /// Until its threads run: a VM that is still starting cannot be attached to, whatever
    /// it shows of itself before.
    fn new(jdk: &Jdk, tools: &Tools) -> Running {
        let mut java = Command::new(jdk.tool("java"));
        java.arg("-jar").arg(&tools.workloads).args(["pressure", "pingpong", "--threads", "8", "--seconds", "600"]);
        let child = java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let running = Running(Guarded(child));
        wait_until("the program runs", || running.has_thread("bystander-7"));
        running
    }

    fn has_thread(&self, name: &str) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).into_iter().flatten().flatten();
        tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).any(|comm| comm.trim() == name)
    }

    fn pid(&self) -> String {
        self.0.pid()
    }
}

/// Whether a recording is under way; why that is not known.
fn is_recording(tools: &Tools, pid: &str) -> Result<bool, String> {
    let output = Command::new(&tools.headway).args(["status", "--json", pid]).output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match status["ok"] == true {
        true => Ok(status["recording"].is_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn pictures_as_json_leave_the_target_as_it_was() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let running = Running::new(&jdk, &tools);
        let mut last = Value::Null;
        // On a busy machine the program may not have run meanwhile.
        wait_until("pictures of the lock", || {
            let arguments = ["top", "--json", "-n", "4", "--interval", "500ms", &running.pid()].map(str::to_owned);
            let output = tools::run(&tools.headway, arguments).unwrap();
            let lines = String::from_utf8(output.stdout).unwrap();
            last = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
            last.pointer("/locks/0/csp_peak").and_then(Value::as_f64) > Some(0.05)
        });
        assert_eq!(last["locks"][0]["name"], "Meter.lock", "JDK {}: {last:#}", jdk.release);
        let threads = &last["threads"];
        let count = |what: &str| threads[what].as_u64().unwrap();
        let all = ["running", "blocked", "parked", "waiting", "sleeping"].map(count).iter().sum::<u64>();
        assert!(all >= 8 && count("sleeping") >= 1, "JDK {}: {threads}", jdk.release);
        assert_eq!(is_recording(&tools, &running.pid()), Ok(false), "JDK {}", jdk.release);
    }
}

/// A JMX client sees what `top` would show, and can start, stop and dump.
#[test]
fn a_jmx_client_reads_the_figures_and_uses_the_operations() {
    for jdk in Jdk::all() {
        let directory = TempDir::new().unwrap();
        let dumped = directory.path().join("dumped.jfr");
        let scenario = ["beans", "--threads", "8", "--dump", dumped.to_str().unwrap()];
        let ran = Ran::new(&jdk, &scenario, &["--jmx", "--pressure-interval", "200ms"]);
        let seen = &ran.truth;
        let text = |key: &str| seen[key].as_str().unwrap_or_else(|| panic!("no {key} in {seen:#}"));
        assert_eq!(text("lock"), "Meter.lock", "JDK {}: {seen:#}", jdk.release);
        assert!(text("owner").contains("pressure.Meter."), "JDK {}: {seen:#}", jdk.release);
        assert!(text("contender").contains("pressure.Meter."), "JDK {}: {seen:#}", jdk.release);
        let threads: u64 = ["running", "blocked", "sleeping"].iter().map(|key| seen[*key].as_u64().unwrap()).sum();
        assert!(threads >= 7, "JDK {}: {seen:#}", jdk.release);
        // The sums are read before the rows.
        let number = |key: &str| seen[key].as_u64().unwrap();
        assert!(number("blocked_total_ns") > 0 && number("contentions_total") > 0, "JDK {}: {seen:#}", jdk.release);
        assert!(number("rows_ns") >= number("blocked_total_ns"), "JDK {}: {seen:#}", jdk.release);
        assert!(number("rows_of_lock_ns") * 10 > number("rows_ns") * 9, "JDK {}: {seen:#}", jdk.release);
        assert_eq!(seen["operations"], 3);
        // `headway run` gives it its final name when the program has ended.
        let recording = text("recording");
        assert!(Path::new(recording).starts_with(ran.directory.path()), "JDK {}: {seen:#}", jdk.release);
        assert_eq!((text("stopped"), text("second")), ("", &*format!("{recording}.second.jfr")));
        assert_eq!(text("stop_again"), "nothing is being recorded in this process");
        for file in [&dumped, &PathBuf::from(text("second"))] {
            let report = tools::run(&ran.tools.headway, [PathBuf::from("report"), "--json".into(), file.clone()]);
            assert!(report.is_ok(), "JDK {}: {} cannot be read", jdk.release, file.display());
        }
    }
}

/// The class that the agent carries is what its source says.
#[test]
fn the_bean_is_built_from_its_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let class = "io/headway/agent/HeadwayBean.class";
    let built = root.join("java/agent-beans/target/classes").join(class);
    let Ok(built) = fs::read(&built) else {
        assert!(env::var("CI").as_deref() != Ok("true"), "{} is missing", built.display());
        eprintln!("SKIPPED: {} is missing; `mvn -f java package` builds it", built.display());
        return;
    };
    let carried = fs::read(root.join("crates/agent/src/pressure/HeadwayBean.class")).unwrap();
    assert!(built == carried, "copy java/agent-beans/target/classes/{class} to crates/agent/src/pressure");
}

/// Killed, it cannot end the recording that it began; the agent notices. On one
/// JDK, because that takes a while.
#[test]
fn a_killed_top_leaves_no_recording() {
    let tools = Tools::find().unwrap();
    let jdk = Jdk::all().pop().expect("a JDK");
    let running = Running::new(&jdk, &tools);
    let mut top = Command::new(&tools.headway);
    top.args(["top", "--json", &running.pid()]).stdout(Stdio::null());
    let said = TempDir::new().unwrap();
    let said = said.path().join("said");
    let mut top = Guarded(top.stderr(File::create(&said).unwrap()).spawn().unwrap());
    let pid = running.pid();
    wait_until("top records", || {
        let ended = top.try_wait().unwrap();
        assert!(ended.is_none(), "top ended with {ended:?}: {}", fs::read_to_string(&said).unwrap());
        is_recording(&tools, &pid) == Ok(true)
    });
    top.kill().unwrap();
    top.wait().unwrap();
    wait_until("the recording ends", || is_recording(&tools, &pid) == Ok(false));
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(200));
    }
}

/// A terminal of its own server, gone with this value.
struct Terminal {
    server: String,
}

impl Terminal {
    fn new(server: String, columns: u32, lines: u32, command: &[&str], log: &Path) -> Terminal {
        let terminal = Terminal { server };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let shell: Vec<String> = command.iter().map(|word| format!("'{word}'")).collect();
        let shell = format!("{} 2> '{}'; echo ENDED $?; sleep 600", shell.join(" "), log.display());
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &lines, &shell]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.args(["-L", &self.server]).args(arguments).env("LC_ALL", "C.UTF-8").output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn shows(&self, text: &str) {
        wait_until(&format!("{text:?} on the screen"), || self.screen().contains(text));
    }

    fn types(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn has_tmux() -> bool {
    let has = Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !has {
        assert!(env::var("CI").as_deref() != Ok("true"), "tmux is missing");
        eprintln!("SKIPPED: no tmux, so `headway top` is not tried in a terminal");
    }
    has
}

#[test]
fn top_lives_in_a_terminal_of_any_size_and_leaves_no_trace() {
    if !has_tmux() {
        return;
    }
    let tools = Tools::find().unwrap();
    let headway = tools.headway.display().to_string();
    let logs = TempDir::new().unwrap();
    for jdk in Jdk::all() {
        let running = Running::new(&jdk, &tools);
        for (columns, lines) in [(80, 24), (180, 50)] {
            let server = format!("headway-{}-{}-{columns}", std::process::id(), jdk.release);
            let log = logs.path().join(&server);
            File::create(&log).unwrap();
            let terminal = Terminal::new(server, columns, lines, &[&headway, "top", &running.pid()], &log);
            terminal.shows("Meter.lock");
            terminal.shows("Meter.hold");
            terminal.shows("threads: ");
            terminal.types("Enter");
            terminal.shows("blocked in  io.headway.workloads.pressure.Meter.hold:");
            terminal.types("p");
            terminal.shows("paused");
            terminal.types("k");
            terminal.shows("blocker");
            terminal.types("q");
            terminal.shows("ENDED 0");
            assert_eq!(is_recording(&tools, &running.pid()), Ok(false), "JDK {}", jdk.release);
            assert_eq!(fs::read_to_string(&log).unwrap(), "", "JDK {}", jdk.release);
        }
    }
}
