//! What Headway records of parked threads, against what the program measured of
//! itself, on every JDK, platform and virtual threads.
//!
//! The recording is read with the JDK's own `jfr`. One test runs at a time,
//! because they measure time.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::majority::Majority;
use headway_e2e::tools::{self, Tools};
use headway_e2e::Problem;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Difference of number and time that is allowed.
const TOLERANCE: f64 = 0.02;
/// Most runs on a JDK: a busy machine may take a thread off its processor between
/// its own clock and the park, or wake it late for nothing. It is another thread
/// each time, so a thread must be right in more than half of them.
const RUNS: usize = 3;

/// What the program prints (`io.headway.workloads.parks.Parks`).
#[derive(Debug, Deserialize)]
struct Truth {
    waiters: Vec<Waiter>,
}

/// A thread that parked on one synchronizer.
#[derive(Debug, Deserialize)]
struct Waiter {
    thread: String,
    blocker_class: Option<String>,
    parks: u64,
    /// From before its calls to after them.
    parked_ns: u64,
    /// What others saw it parked.
    parked_at_least_ns: u64,
    unparked: u64,
    timed_out: u64,
    interrupted: u64,
    owner: Option<String>,
}

/// What was recorded of a thread.
#[derive(Debug, Default)]
struct Seen {
    parks: u64,
    parked_ns: u64,
    classes: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    owners: BTreeMap<String, u64>,
    /// Unparked by somebody who is named, and whose unpark is recorded.
    woken: u64,
}

fn name(value: &Value, keys: &[&str]) -> String {
    let found = keys.iter().try_fold(value, |value, key| value.get(key));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// `PT1M0.030501S` in nanoseconds.
fn nanoseconds(iso: &str) -> Option<u64> {
    let (mut total, mut number) = (0.0, String::new());
    for c in iso.strip_prefix("PT")?.chars() {
        let unit = match c {
            'H' => 3600.0,
            'M' => 60.0,
            'S' => 1.0,
            _ => {
                number.push(c);
                continue;
            }
        };
        total += number.parse::<f64>().ok()? * unit;
        number.clear();
    }
    Some((total * 1e9).round() as u64)
}

const PARK: &str = "jdk.ThreadPark";
const DETAIL: &str = "headway.ThreadParkDetail";
const UNPARK: &str = "headway.Unpark";

/// The events of these three types, by type.
fn print(jdk: &Jdk, recording: &str) -> Result<BTreeMap<String, Vec<Value>>, Problem> {
    let types = [PARK, DETAIL, UNPARK].join(",");
    let arguments = ["print", "--json", "--stack-depth", "1", "--events", &types, recording];
    let mut printed: Value = serde_json::from_slice(&tools::run(&jdk.tool("jfr"), arguments)?.stdout)?;
    let mut by_type: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in printed.pointer_mut("/recording/events").and_then(Value::as_array_mut).into_iter().flatten() {
        let ty = name(event, &["type"]);
        by_type.entry(ty).or_default().extend(event.get_mut("values").map(Value::take));
    }
    Ok(by_type)
}

fn thread_name(thread: Option<&Value>) -> String {
    thread.map(|thread| name(thread, &["javaName"])).unwrap_or_default()
}

/// Parks by the name of the thread.
fn read(jdk: &Jdk, recording: &str) -> Result<BTreeMap<String, Seen>, Problem> {
    let mut printed = print(jdk, recording)?;
    let mut events = |ty: &str| printed.remove(ty).unwrap_or_default();
    // How often one thread unparked another.
    let mut unparks: BTreeMap<(String, String), u64> = BTreeMap::new();
    for unpark in events(UNPARK) {
        let pair = (thread_name(unpark.get("eventThread")), thread_name(unpark.get("target")));
        *unparks.entry(pair).or_default() += 1;
    }
    // What it adds to the park of the same thread and start.
    let key = |detail: &Value| (thread_name(detail.get("eventThread")), name(detail, &["startTime"]));
    let details: BTreeMap<_, _> = events(DETAIL).into_iter().map(|detail| (key(&detail), detail)).collect();
    let mut all: BTreeMap<String, Seen> = BTreeMap::new();
    for park in events(PARK) {
        let thread = thread_name(park.get("eventThread"));
        let detail = details.get(&(thread.clone(), name(&park, &["startTime"]))).ok_or("a park without detail")?;
        let outcome = name(detail, &["outcome"]);
        let seen = all.entry(thread.clone()).or_default();
        seen.parks += 1;
        seen.parked_ns += nanoseconds(&name(&park, &["duration"])).ok_or("a duration is not understood")?;
        *seen.classes.entry(name(&park, &["parkedClass", "name"]).replace('/', ".")).or_default() += 1;
        *seen.owners.entry(thread_name(detail.get("owner"))).or_default() += 1;
        let waker = thread_name(detail.get("waker"));
        if outcome == "unparked" && !waker.is_empty() {
            let left = unparks.get_mut(&(waker, thread)).filter(|left| **left > 0);
            seen.woken += u64::from(left.map(|left| *left -= 1).is_some());
        }
        *seen.outcomes.entry(outcome).or_default() += 1;
    }
    Ok(all)
}

/// What is wrong with what was recorded of a thread.
fn difference(waiter: &Waiter, seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut compare = |what: &str, is: u64, said: u64, tolerance: f64| {
        if (said as f64 - is as f64).abs() > is as f64 * tolerance {
            wrong.push(format!("{}: {what} is {is}, recorded {said}", waiter.thread));
        }
    };
    let count = |counts: &BTreeMap<String, u64>, key: &str| counts.get(key).copied().unwrap_or(0);
    compare("parks", waiter.parks, seen.parks, TOLERANCE);
    // A call is longer than its park where the thread spins first or waits for
    // a processor: within the bounds that the program saw, nothing is wrong.
    let parked_ns = seen.parked_ns.clamp(waiter.parked_at_least_ns.min(waiter.parked_ns), waiter.parked_ns);
    compare("parked_ns", parked_ns, seen.parked_ns, TOLERANCE);
    let class = waiter.blocker_class.as_deref().unwrap_or_default();
    compare(&format!("parks on {class}"), waiter.parks, count(&seen.classes, class), TOLERANCE);
    compare("unparked", waiter.unparked, count(&seen.outcomes, "unparked"), TOLERANCE);
    compare("unparked by whom is known", waiter.unparked, seen.woken, TOLERANCE);
    compare("timed out", waiter.timed_out, count(&seen.outcomes, "timed out"), TOLERANCE);
    compare("interrupted", waiter.interrupted, count(&seen.outcomes, "interrupted"), TOLERANCE);
    if let Some(owner) = &waiter.owner {
        // Who stands in line behind another waiter may park while that one owns
        // the lock for an instant, and 2 % of a few parks is none at all.
        let owned = count(&seen.owners, owner);
        compare(&format!("owned by {owner}"), waiter.parks, owned, 0.2);
    }
    wrong
}

/// What is wrong with those threads that were wrong in more than half of the runs:
/// a busy machine gets another thread wrong each time, a fault of ours the same.
fn differences(tools: &Tools, jdk: &Jdk, how: How) -> Vec<String> {
    let mut runs = Majority::of(RUNS);
    for _ in 0..RUNS {
        let found = match run(tools, jdk, how) {
            Ok(found) => found,
            Err(problem) => return vec![problem.to_string()],
        };
        println!("JDK {}: {found:?}", jdk.release);
        if runs.add(found.into_iter().map(|(thread, wrong)| (thread, wrong.join(", ")))).is_break() {
            break;
        }
    }
    runs.failures()
}

/// What is wrong, by thread.
fn run(tools: &Tools, jdk: &Jdk, how: How) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let directory = TempDir::new()?;
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (recording, truth_file) = (file("recording.jfr"), file("truth.json"));
    let workload = ["parks", "--virtual", &how.is_virtual.to_string(), "--truth", &truth_file];
    record(tools, jdk, &recording, how.options, &workload)?;
    let truth: Truth = serde_json::from_str(&fs::read_to_string(truth_file)?)?;
    let seen = read(jdk, &recording)?;
    let nothing = Seen::default();
    assert!(truth.waiters.len() > 30, "the program played {} waiters only", truth.waiters.len());
    let of = |w: &Waiter| (w.thread.clone(), difference(w, seen.get(&w.thread).unwrap_or(&nothing)));
    Ok(truth.waiters.iter().map(of).filter(|(_, wrong)| !wrong.is_empty()).collect())
}

/// Runs a workload under `headway run -e park`.
fn record(tools: &Tools, jdk: &Jdk, recording: &str, options: &[&str], workload: &[&str]) -> Result<(), Problem> {
    let mut arguments = ["run", "-q", "--exact", "-e", "park", "--force", "-o", recording].map(str::to_owned).to_vec();
    arguments.extend(options.iter().chain(&["--"]).map(|option| (*option).to_owned()));
    arguments.extend([
        jdk.tool("java").display().to_string(),
        "-jar".to_owned(),
        tools.workloads.display().to_string(),
    ]);
    arguments.extend(workload.iter().map(|argument| (*argument).to_owned()));
    tools::run(&tools.headway, arguments).map(drop)
}

/// What is recorded, and how.
#[derive(Clone, Copy)]
struct How {
    is_virtual: bool,
    options: &'static [&'static str],
}

impl How {
    /// With an option two of the three.
    fn jdks(self) -> Vec<Jdk> {
        let jdks = if self.options.is_empty() { Jdk::all() } else { Jdk::all_but(21) };
        let first_release = if self.is_virtual { 21 } else { 17 };
        jdks.into_iter().filter(|jdk| jdk.release >= first_release).collect()
    }
}

fn on_each_jdk(how: How) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = Tools::find().unwrap();
    let mut failures = Vec::new();
    for jdk in how.jdks() {
        let found = differences(&tools, &jdk, how);
        failures.extend(found.into_iter().map(|failure| format!("JDK {}: {failure}", jdk.release)));
    }
    assert!(failures.is_empty(), "\n  {}", failures.join("\n  "));
}

#[test]
fn parks_of_platform_threads_are_recorded_as_they_were() {
    on_each_jdk(How { is_virtual: false, options: &[] });
}

#[test]
fn parks_of_virtual_threads_are_recorded_as_they_were() {
    on_each_jdk(How { is_virtual: true, options: &[] });
}

/// The second mechanism for platform threads gives the same as the first.
#[test]
fn parks_are_recorded_as_they_were_without_bound_natives() {
    on_each_jdk(How { is_virtual: false, options: &["--disable", "park-natives"] });
}

#[test]
fn the_classes_that_the_agent_carries_are_what_their_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    for (class, place) in [
        ("java/util/concurrent/locks/HeadwayParking.class", "crates/agent/src/park"),
        ("java/util/concurrent/HeadwayProgress.class", "crates/agent/src/causal"),
        ("io/headway/boot/Binding.class", "crates/agent/src/bindings"),
    ] {
        let built = root.join("java/agent-helper/target/classes").join(class);
        let Ok(bytes) = fs::read(&built) else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", built.display());
            eprintln!("SKIPPED: {} is missing; `mvn -f java package` builds it", built.display());
            continue;
        };
        let carried = fs::read(root.join(place).join(built.file_name().unwrap())).unwrap();
        assert!(bytes == carried, "copy java/agent-helper/target/classes/{class} to {place}");
    }
}

#[test]
fn durations_are_read() {
    assert_eq!(nanoseconds("PT0.030501S"), Some(30_501_000));
    assert_eq!(nanoseconds("PT1M2S"), Some(62_000_000_000));
    assert_eq!(nanoseconds("30 ms"), None);
}
