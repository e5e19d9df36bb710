//! `headway metrics` and a real Prometheus: sums that only grow and add up, the alert
//! rule and every query of the dashboard in `docs/monitoring`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::at_once::at_once;
use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::Tools;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(90);

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// A program that contends, and `headway metrics` beside it.
struct Served {
    program: Guarded,
    _headway: Guarded,
    address: String,
}

fn serve(jdk: &Jdk) -> Served {
    let tools = Tools::find().unwrap();
    let mut java = Command::new(jdk.tool("java"));
    java.arg("-jar").arg(&tools.workloads).args(["demo", "--seconds", "300"]);
    let program = Guarded(java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut headway = Command::new(&tools.headway);
        headway.args(["metrics", "--listen", "127.0.0.1:0", "--interval", "200ms", &program.pid()]);
        headway.env("HEADWAY_AGENT", &tools.agent).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut headway = Guarded(headway.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(headway.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if let Some(address) = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")) {
            return Served { program, _headway: headway, address: address.to_owned() };
        }
        // The JVM is still starting.
        assert!(Instant::now() < deadline, "no metrics: {line}");
        thread::sleep(Duration::from_millis(300));
    }
}

/// The body of an answer with code 200.
fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    // Of HTTP 1.0, so that no answer comes in chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    (head.split(' ').nth(1) == Some("200")).then(|| body.to_owned())
}

fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(Instant::now() < deadline, "never seen: {what}");
        thread::sleep(Duration::from_millis(300));
    }
}

/// Values by metric and labels.
fn scrape(address: &str) -> Option<BTreeMap<String, f64>> {
    let body = get(address, "/metrics")?;
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    Some(
        lines.map(|line| line.rsplit_once(' ').unwrap()).map(|(key, n)| (key.to_owned(), n.parse().unwrap())).collect(),
    )
}

fn sum(metrics: &BTreeMap<String, f64>, name: &str) -> f64 {
    metrics.iter().filter(|(key, _)| key.starts_with(name)).map(|(_, value)| value).sum()
}

#[test]
fn sums_only_grow_and_name_the_lock() {
    for jdk in Jdk::all() {
        let served = serve(&jdk);
        let blocked = "headway_blocked_seconds_total{";
        let of_inventory = |metrics: &BTreeMap<String, f64>| {
            sum(metrics, "headway_blocked_seconds_total{lock=\"Inventory.lock\"")
                + sum(metrics, "headway_blocked_seconds_total{lock=\"Inventory\"")
        };
        let mut before = eventually("blocked time of Inventory", || {
            scrape(&served.address).filter(|metrics| of_inventory(metrics) > 0.2)
        });
        let begin = before.clone();
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(300));
            let now = scrape(&served.address).expect("an answer");
            for (key, value) in before.iter().filter(|(key, _)| key.contains("_total")) {
                assert!(now.get(key).is_some_and(|now| now >= value), "JDK {}: {key} fell from {value}", jdk.release);
            }
            before = now;
        }
        // On a busy machine the program and the agent may not have run meanwhile.
        before = eventually("more blocked time, a phase and the agent's own cost", || {
            let is_positive = |now: &BTreeMap<String, f64>, name: &str| sum(now, name) > 0.0;
            scrape(&served.address).filter(|now| {
                sum(now, blocked) > sum(&begin, blocked)
                    && is_positive(now, "headway_phase_seconds_total")
                    && is_positive(now, "headway_own_cpu_seconds_total")
            })
        });
        assert!(sum(&before, "headway_contentions_total{") >= 1.0, "JDK {}: {before:?}", jdk.release);
        let series = before.keys().filter(|key| key.starts_with(blocked)).count();
        assert!(series <= 101, "JDK {}: {series} series", jdk.release);
    }
}

#[test]
fn who_ends_the_recording_does_not_end_the_metrics() {
    let served = serve(Jdk::all().first().expect("a JDK"));
    let contentions = || scrape(&served.address).map(|now| sum(&now, "headway_contentions_total{"));
    eventually("contentions", || contentions().filter(|all| *all >= 1.0));
    let tools = Tools::find().unwrap();
    let stopped = Command::new(&tools.headway).args(["stop", &served.program.pid()]).output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    // The last sums of the recording that was stopped stay until the next one has some.
    thread::sleep(Duration::from_secs(1));
    let last = contentions().expect("an answer");
    eventually("sums of the next recording", || contentions().filter(|all| *all != last && *all >= 1.0));
}

/// Prometheus of the path or of an earlier test, else of Debian's package, unpacked
/// below `build/`. `None`, said and with `CI=true` a failure, where it cannot be had.
/// Tests that run at once fetch it once.
fn prometheus() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find_or_fetch_prometheus).clone()
}

fn find_or_fetch_prometheus() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let on_path = std::env::split_paths(&path).map(|place| place.join("prometheus"));
    let unpacked = project().join("build/prometheus/usr/bin/prometheus");
    let found = on_path.chain([unpacked.clone()]).find(|program| program.is_file());
    found.or_else(|| {
        let directory = project().join("build/prometheus");
        fs::create_dir_all(&directory).ok()?;
        // A fresh machine has no lists of packages.
        let fetch = "get() { apt-get -q -o APT::Sandbox::User=root download prometheus; }; \
                     { get || { apt-get -q update && get; }; } && dpkg -x prometheus_*.deb . && rm prometheus_*.deb";
        let _ = Command::new("sh").args(["-c", fetch]).current_dir(&directory).stdout(Stdio::null()).status();
        let is_there = unpacked.is_file();
        assert!(is_there || std::env::var("CI").as_deref() != Ok("true"), "Prometheus is missing");
        is_there.then_some(unpacked)
    })
}

/// Starts Prometheus with the rules that are in the documents, and gives its address.
fn watch(program: &Path, target: &str, directory: &Path) -> (Guarded, String) {
    let rules = project().join("docs/monitoring/alerts.yml");
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\nscrape_configs:\n  \
         - {{job_name: headway, static_configs: [{{targets: ['{target}']}}]}}\n",
        rules.display()
    );
    fs::write(directory.join("prometheus.yml"), config).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut prometheus = Command::new(program);
    prometheus.arg(format!("--config.file={}", directory.join("prometheus.yml").display()));
    prometheus.arg(format!("--storage.tsdb.path={}", directory.join("data").display()));
    prometheus.arg(format!("--web.listen-address={address}"));
    prometheus.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    (Guarded(prometheus.spawn().unwrap()), address)
}

/// What Prometheus answers to a query: its series, or why there are none.
fn query(address: &str, query: &str) -> Option<Vec<Value>> {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer: Value = serde_json::from_str(&get(address, &format!("/api/v1/query?query={escaped}"))?).ok()?;
    assert_eq!(answer["status"], "success", "{query}: {answer}");
    answer["data"]["result"].as_array().cloned().filter(|series| !series.is_empty())
}

#[test]
fn prometheus_fires_the_alert_and_answers_the_dashboard() {
    let Some(program) = prometheus() else {
        eprintln!("SKIPPED: there is no Prometheus (Debian package prometheus)");
        return;
    };
    let jdk = Jdk::find(25).or_else(|| Jdk::find(17)).expect("a JDK");
    let served = serve(&jdk);
    let directory = TempDir::new().unwrap();
    let (_prometheus, address) = watch(&program, &served.address, directory.path());
    let firing = eventually("the alert of the phase", || {
        query(&address, "ALERTS{alertname=\"HeadwayLockPhase\",alertstate=\"firing\"}")
    });
    assert_eq!(firing.len(), 1, "{firing:?}");
    let dashboard = fs::read_to_string(project().join("docs/monitoring/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(expressions.len() >= 8, "{expressions:?}");
    for expression in expressions {
        eventually(expression, || query(&address, expression));
    }
    // Prometheus has what the program was made for, by name and owner.
    let planted = "increase(headway_blocked_seconds_total{lock=~\"Inventory.*\"}[1m]) > 0.1";
    let planted = eventually(planted, || query(&address, planted));
    let owners: Vec<&str> = planted.iter().filter_map(|series| series["metric"]["owner_method"].as_str()).collect();
    assert!(owners.iter().any(|owner| owner.contains("Inventory.")), "{planted:?}");
}

/// Seconds that both programs churn, at once; `HEADWAY_CHURN_SECONDS` asks for more (600: ten minutes).
const CHURN_SECONDS: u64 = 30;

/// Time of the day of an event as `jfr print` shows it, `2026-11-21T20:55:21.803439875Z`, in
/// seconds.
fn time_of_day(event: &Value) -> f64 {
    let clock = event["values"]["startTime"].as_str().unwrap().split('T').nth(1).unwrap().trim_end_matches('Z');
    clock.splitn(3, ':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}

/// What was recorded beside the metrics.
struct Recorded {
    /// Seconds blocked within the first intervals.
    blocked: f64,
    /// Phases that began within them, up to the last but one.
    phases: u64,
    /// Phases at all.
    all_phases: u64,
}

impl Recorded {
    /// Of the first `intervals` seconds of a recording.
    fn of(tools: &Tools, recording: &str, intervals: f64) -> Recorded {
        let output = Command::new(&tools.headway)
            .args(["report", "--json", "--to", &format!("{intervals}s"), recording])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let jfr = Jdk::all().pop().expect("a JDK").tool("jfr");
        let starts = |name: &str| -> Vec<f64> {
            let mut print = Command::new(&jfr);
            print.args(["print", "--json", "--stack-depth", "1", "--events", name, recording]);
            let printed: Value = serde_json::from_slice(&print.output().unwrap().stdout).unwrap();
            printed["recording"]["events"].as_array().unwrap().iter().map(time_of_day).collect()
        };
        let begin = starts("headway.PressureWindow").into_iter().fold(f64::MAX, f64::min);
        let phases = starts("headway.PressurePhase");
        // At midnight the time of the day begins again.
        let since = |start: &&f64| (*start - begin).rem_euclid(86_400.0);
        let early = phases.iter().filter(|start| since(start) < intervals - 1.5).count() as u64;
        Recorded {
            blocked: report["blocked_ns"].as_u64().unwrap() as f64 / 1e9,
            phases: early,
            all_phases: phases.len() as u64,
        }
    }
}

/// What Prometheus stored of one target, up to its last scrape.
struct Stored {
    blocked: f64,
    intervals: f64,
    phases: u64,
    /// Scrapes that were answered.
    scrapes: u64,
    /// Series of blocked time at any moment.
    most: u64,
}

impl Stored {
    fn of(address: &str) -> Stored {
        let value = |text: &str| {
            let series = eventually(text, || query(address, text));
            assert_eq!(series.len(), 1, "{text}: {series:?}");
            series[0]["value"][1].as_str().unwrap().parse::<f64>().unwrap()
        };
        // The sums of one moment: series that gave way to others are not in its scrape.
        let last = value("max_over_time(timestamp(headway_intervals_total)[1h:1s])");
        let then = |sum: &str| value(&format!("{sum} @ {last}"));
        Stored {
            blocked: value(&format!("sum(headway_blocked_seconds_total @ {last})")),
            intervals: then("headway_intervals_total"),
            phases: then("headway_phases_total") as u64,
            scrapes: value("sum_over_time(up[1h])") as u64,
            most: value("max_over_time(count(headway_blocked_seconds_total)[1h:1s])") as u64,
        }
    }
}

/// Has Prometheus, or without one this test, scrape a program at 1 s while it makes and forgets
/// locks, threads and classes, and compares with the recording of the same. Returns how
/// many phases there were.
fn scraped_as_recorded(jdk: &Jdk, program: &[&str], seconds: u64) -> u64 {
    let tools = Tools::find().unwrap();
    let directory = TempDir::new().unwrap();
    let recording = directory.path().join("churn.jfr").display().to_string();
    let agent = format!("-agentpath:{}=start,file={recording},events=monitor+park+pressure", tools.agent.display());
    let mut java = Command::new(jdk.tool("java"));
    java.arg(agent).arg("-jar").arg(&tools.workloads).args(program).args(["--seconds", &seconds.to_string()]);
    let mut java = Guarded(java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    // Metrics that come before it would be the agent's only task: nothing would be recorded.
    eventually("the recording", || Path::new(&recording).exists().then_some(()));
    let (_headway, address) = eventually("metrics", || {
        let mut headway = Command::new(&tools.headway);
        headway.args(["metrics", "--listen", "127.0.0.1:0", &java.pid()]).env("HEADWAY_AGENT", &tools.agent);
        headway.stderr(Stdio::null());
        let mut headway = Guarded(headway.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(headway.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://")?.strip_suffix("/metrics")?.to_owned();
        Some((headway, address))
    });
    let watched = prometheus().map(|program| watch(&program, &address, directory.path()));
    let (mut last, mut scrapes, mut most) = (BTreeMap::new(), 0, 0);
    while java.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_secs(1));
        let Some(now) = scrape(&address) else { continue };
        most = most.max(now.keys().filter(|key| key.starts_with("headway_blocked_seconds_total{")).count() as u64);
        scrapes += 1;
        last = now;
    }
    let own = Stored {
        blocked: sum(&last, "headway_blocked_seconds_total{"),
        intervals: sum(&last, "headway_intervals_total"),
        phases: sum(&last, "headway_phases_total") as u64,
        scrapes,
        most,
    };
    let dropped = sum(&last, "headway_dropped_events_total");
    let stored = watched.as_ref().map(|(_, address)| ("Prometheus", Stored::of(address)));
    let each = stored.into_iter().chain([("this test", own)]);
    let phases = each.map(|(whose, stored)| same_as_recorded(whose, &stored, &tools, &recording, (jdk, program)));
    let phases = phases.min().unwrap_or(0);
    println!("JDK {} {program:?}: {dropped} events dropped", jdk.release);
    phases
}

/// Compares what was scraped with the recording, and returns its phases.
fn same_as_recorded(whose: &str, stored: &Stored, tools: &Tools, recording: &str, of: (&Jdk, &[&str])) -> u64 {
    let (jdk, program) = of;
    let Stored { blocked, intervals, phases, scrapes, most } = *stored;
    let recorded = Recorded::of(tools, recording, intervals);
    println!(
        "JDK {} {program:?}, {whose}: {scrapes} scrapes, {intervals} intervals, at most {most} series, blocked \
         {blocked:.3} s beside {:.3} s, {phases} phases beside {} (of {})",
        jdk.release, recorded.blocked, recorded.phases, recorded.all_phases,
    );
    assert!(scrapes > 0 && intervals >= 2.0, "{scrapes} scrapes, {intervals} intervals");
    assert!(most <= 101, "{program:?}: {most} series");
    let difference = (blocked - recorded.blocked).abs();
    assert!(difference <= 0.001 * recorded.blocked, "{program:?}: {blocked} s instead of {} s", recorded.blocked);
    // One that lasts until the end is written then.
    let is_within = phases >= recorded.phases && phases <= recorded.all_phases + 1;
    assert!(is_within, "{program:?}: {phases} phases beside {} and {}", recorded.phases, recorded.all_phases);
    assert!(recorded.blocked > 0.0, "{program:?} has no contention");
    recorded.all_phases
}

#[test]
fn under_churn_series_are_bounded_and_sums_are_those_of_the_recording() {
    let asked = std::env::var("HEADWAY_CHURN_SECONDS").ok();
    let seconds = asked.map_or(CHURN_SECONDS, |text| text.parse().expect("seconds"));
    let jdk = Jdk::find(25).or_else(|| Jdk::find(17)).expect("a JDK");
    let programs: [&[&str]; 2] = [&["predict", "dyinglocks", "--threads", "8"], &["demo"]];
    let phases = at_once(programs.len(), &programs, |program| scraped_as_recorded(&jdk, program, seconds));
    // Of many short-lived locks none need have a phase.
    assert!(phases[1] > 0, "the demo has no phases");
}
