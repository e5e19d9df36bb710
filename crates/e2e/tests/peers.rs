//! A recording of each peer, reported by Headway and read by the peer's own tools: `jfr
//! summary` and `jfr print` for all, async-profiler's converter for its own. Each number
//! of the report that such a tool gives, too, must be the same. Which these are says
//! `docs/coming-from-asprof-and-jfr.md`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Who records: JFR with these settings, async-profiler with these options.
#[derive(Clone, Copy)]
enum By {
    Jfr(&'static str),
    Async(&'static str),
}

/// A recording.
struct Peer {
    name: &'static str,
    release: u32,
    by: By,
    /// An event that it must have.
    has: &'static str,
}

const fn peer(name: &'static str, release: u32, by: By, has: &'static str) -> Peer {
    Peer { name, release, by, has }
}

const ENTER: &str = "jdk.JavaMonitorEnter";
const WAIT: &str = "jdk.JavaMonitorWait";
const PARK: &str = "jdk.ThreadPark";
const NATIVE_LOCK: &str = "profiler.NativeLock";
const SAMPLE: &str = "jdk.ExecutionSample";
const CPU_SAMPLE: &str = "jdk.CPUTimeSample";
const WALL_SAMPLE: &str = "profiler.WallClockSample";
const PAUSE: &str = "jdk.GCPhasePause";
const DROPPED: &str = "jdk.CPUTimeSamplesLost";
const ALLOCATION: &str = "jdk.ObjectAllocationInNewTLAB";

const PEERS: [Peer; 11] = [
    peer("JFR default, JDK 17", 17, By::Jfr("default"), PARK),
    peer("JFR default, JDK 25", 25, By::Jfr("default"), PAUSE),
    peer("JFR profile, JDK 21", 21, By::Jfr("profile"), WAIT),
    peer("JFR profile, JDK 25", 25, By::Jfr("profile"), SAMPLE),
    peer("JFR CPU time, JDK 25", 25, By::Jfr("cpu-time"), CPU_SAMPLE),
    peer("async-profiler cpu, JDK 17", 17, By::Async("event=cpu,interval=1ms"), SAMPLE),
    peer("async-profiler wall, JDK 25", 25, By::Async("event=wall,interval=10ms"), WALL_SAMPLE),
    peer("async-profiler lock, JDK 21", 21, By::Async("event=lock,lock=0"), ENTER),
    peer("async-profiler nativelock, JDK 25", 25, By::Async("event=cpu,nativelock=0"), NATIVE_LOCK),
    peer("async-profiler alloc, JDK 25", 25, By::Async("event=alloc,alloc=64k"), ALLOCATION),
    peer(
        "async-profiler, all at once, JDK 25",
        25,
        By::Async("event=cpu,interval=1ms,wall=10ms,lock=0,alloc=64k,nativelock=0"),
        ALLOCATION,
    ),
];

/// async-profiler's interval where none is asked for.
const DEFAULT_INTERVAL_NS: u64 = 10_000_000;

/// Settings of JFR that sample by CPU time.
const CPU_TIME: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="cpu" description="cpu" provider="Headway">
<event name="jdk.CPUTimeSample"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="throttle">1ms</setting></event>
<event name="jdk.CPUTimeSamplesLost"><setting name="enabled">true</setting></event>
</configuration>
"#;

/// Events that a report is made of: every other one must be listed in it with its count.
/// Of JFR's three samplers one is used, the others are listed.
const USED: [&str; 17] = [
    ENTER,
    WAIT,
    PARK,
    NATIVE_LOCK,
    SAMPLE,
    CPU_SAMPLE,
    WALL_SAMPLE,
    PAUSE,
    DROPPED,
    "jdk.DataLoss",
    "jdk.ThreadStart",
    "jdk.ThreadEnd",
    "jdk.VirtualThreadPinned",
    "jdk.CPULoad",
    "jdk.JVMInformation",
    "jdk.ActiveSetting",
    // What holds types and names together.
    "jdk.Metadata",
];

/// Those of them whose fields are compared.
const PRINTED: [&str; 10] =
    [ENTER, WAIT, PARK, NATIVE_LOCK, SAMPLE, CPU_SAMPLE, WALL_SAMPLE, PAUSE, DROPPED, "jdk.JVMInformation"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The library out of async-profiler's jar, which Maven fetches.
fn async_profiler(scratch: &Path) -> PathBuf {
    let repository = Path::new(&std::env::var_os("HOME").unwrap()).join(".m2/repository/tools/profiler");
    let jar = repository.join("async-profiler/4.6/async-profiler-4.6.jar");
    if !jar.exists() {
        let get = ["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get", "-Dtransitive=false"];
        let _ = Command::new("mvn").args(get).arg("-Dartifact=tools.profiler:async-profiler:4.6").status();
    }
    let unpacked = Command::new("unzip").arg("-qo").arg(&jar).args(["linux-x64/*", "-d"]).arg(scratch).status();
    assert!(unpacked.is_ok_and(|status| status.success()), "{} (fetched by Maven) is missing", jar.display());
    scratch.join("linux-x64/libasyncProfiler.so")
}

/// Records a program that does everything: it blocks, waits, parks, allocates.
fn record(peer: &Peer, tools: &Tools, library: &Path, scratch: &Path) -> String {
    let recording = scratch.join("peer.jfr").display().to_string();
    let _ = fs::remove_file(&recording);
    let jdk = Jdk::find(peer.release).unwrap();
    let mut java = Command::new(jdk.tool("java"));
    match peer.by {
        By::Jfr(settings) => {
            let file = scratch.join("cpu-time.jfc");
            fs::write(&file, CPU_TIME).unwrap();
            let settings = if settings == "cpu-time" { file.display().to_string() } else { settings.to_owned() };
            java.arg(format!("-XX:StartFlightRecording=filename={recording},settings={settings}"));
            java.arg("-Xlog:jfr*=off");
        }
        By::Async(options) => {
            java.arg(format!("-agentpath:{}=start,{options},jfr,file={recording}", library.display()));
        }
    }
    java.arg("-jar").arg(&tools.workloads).args(["stress", "--seconds", "1"]);
    let mut child = headway_e2e::guarded::Guarded(
        java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
    );
    assert!(tools::wait_at_most(&mut child, Duration::from_secs(120)).unwrap().success(), "{}", peer.name);
    recording
}

/// `PT1M0.5S` in nanoseconds.
fn nanos(text: &str) -> u64 {
    let (mut all, mut number) = (0.0, String::new());
    for character in text.trim_start_matches("PT").chars() {
        let unit = match character {
            'H' => 3600e9,
            'M' => 60e9,
            'S' => 1e9,
            _ => {
                number.push(character);
                continue;
            }
        };
        all += unit * std::mem::take(&mut number).parse::<f64>().unwrap();
    }
    all.round() as u64
}

/// How often, how long, the longest.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    total_ns: u64,
    max_ns: u64,
}

impl Sums {
    fn of<'a>(events: impl IntoIterator<Item = &'a Value>) -> Sums {
        events.into_iter().fold(Sums::default(), |sums, event| {
            let duration = nanos(event["duration"].as_str().unwrap());
            Sums { count: sums.count + 1, total_ns: sums.total_ns + duration, max_ns: sums.max_ns.max(duration) }
        })
    }

    /// Sums of rows of a report, or one row.
    fn reported<'a>(rows: impl IntoIterator<Item = &'a Value>) -> Sums {
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        rows.into_iter().fold(Sums::default(), |sums, row| Sums {
            count: sums.count + number(row, "count"),
            total_ns: sums.total_ns + number(row, "total_ns"),
            max_ns: sums.max_ns.max(number(row, "max_ns")),
        })
    }

    /// The JDK converts the ticks of each event in floating point.
    fn is(&self, other: &Sums) -> bool {
        self.count == other.count
            && self.total_ns.abs_diff(other.total_ns) <= 2 * self.count
            && self.max_ns.abs_diff(other.max_ns) <= 2
    }
}

/// What the peer's tools say of a recording.
struct Truth {
    summary: BTreeMap<String, u64>,
    seconds: u64,
    events: BTreeMap<String, Vec<Value>>,
}

impl Truth {
    fn of(recording: &str) -> Truth {
        let jfr = Jdk::all().pop().expect("a JDK").tool("jfr");
        let output = tools::run(&jfr, ["summary", recording]).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let count = words.get(1)?.parse::<u64>().ok().filter(|count| *count > 0)?;
            (words.len() == 3 && words[0].contains('.')).then(|| (words[0].to_owned(), count))
        };
        let duration = text.lines().find_map(|line| line.trim().strip_prefix("Duration: ")).unwrap();
        let seconds = duration.split(' ').next().unwrap().parse().unwrap();
        let print = ["print", "--json", "--stack-depth", "1", "--events", &PRINTED.join(","), recording];
        let printed: Value = serde_json::from_slice(&tools::run(&jfr, print).unwrap().stdout).unwrap();
        let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in printed["recording"]["events"].as_array().unwrap() {
            events.entry(event["type"].as_str().unwrap().to_owned()).or_default().push(event["values"].clone());
        }
        Truth { summary: text.lines().filter_map(row).collect(), seconds, events }
    }

    fn all(&self, name: &str) -> &[Value] {
        self.events.get(name).map_or(&[], Vec::as_slice)
    }
}

fn parked_class(park: &Value) -> String {
    park["parkedClass"]["name"].as_str().unwrap_or("(none)").replace('/', ".")
}

/// A park on one of these is contention; all others are waits.
fn is_for_a_lock(park: &Value) -> bool {
    parked_class(park).starts_with("java.util.concurrent.locks.Reentrant")
}

/// The class of the object that a thread was blocked on; a mutex of native code has none.
fn lock_class(event: &Value) -> String {
    let class = |key: &str| event[key]["name"].as_str().map(str::to_owned);
    class("monitorClass").or_else(|| class("parkedClass")).unwrap_or_default()
}

/// The address of a lock of another tool's recording, by its name in a report: a class and
/// its number, in brackets where the lock has a name, too.
fn address(lock: &str) -> Option<&str> {
    lock.rsplit_once('#').map(|(_, address)| address.trim_end_matches(')'))
}

/// Threads of the JVM wait for work of the JVM's, and so are not among the waits of the
/// application: carriers of virtual threads, those of the JDK's own groups.
fn is_of_the_jvm(event: &Value) -> bool {
    let group = event["eventThread"]["group"]["name"].as_str().unwrap_or_default();
    ["system", "InnocuousThreadGroup", "CarrierThreads"].contains(&group)
}

/// Compares a report with what the peer's tools say, and collects what differs.
struct Comparison {
    report: Value,
    truth: Truth,
    wrong: Vec<String>,
    compared: BTreeSet<&'static str>,
}

impl Comparison {
    fn check(&mut self, what: &'static str, is_same: bool, beside: impl FnOnce(&Comparison) -> String) {
        self.compared.insert(what);
        if !is_same {
            let beside = beside(self);
            self.wrong.push(format!("{what}: {beside}"));
        }
    }

    fn sums(&mut self, what: &'static str, ours: Sums, theirs: Sums) {
        self.check(what, ours.is(&theirs), |_| format!("{ours:?} instead of {theirs:?}"));
    }

    fn rows(&self, key: &str) -> Vec<Value> {
        self.report[key].as_array().cloned().unwrap_or_default()
    }

    /// Each type of event is used or listed, with its count.
    fn types(&mut self) {
        let others = self.report["other_events"].as_object().cloned().unwrap_or_default();
        let count = |name: &String| others.get(name).and_then(Value::as_u64);
        let unlisted = |name: &str| USED.contains(&name) || name.to_lowercase() == "jdk.checkpoint";
        let wrong: Vec<String> = self
            .truth
            .summary
            .iter()
            .filter(|(name, number)| count(name) != Some(**number) && !(count(name).is_none() && unlisted(name)))
            .map(|(name, number)| format!("{name} {:?} instead of {number}", count(name)))
            .collect();
        let invented: Vec<&String> = others.keys().filter(|name| !self.truth.summary.contains_key(*name)).collect();
        self.check("events by type", wrong.is_empty() && invented.is_empty(), |_| format!("{wrong:?} {invented:?}"));
    }

    fn blocked(&mut self) {
        let parks: Vec<Value> = self.truth.all(PARK).to_vec();
        let locks = parks.iter().filter(|park| is_for_a_lock(park));
        let blocked: Vec<Value> =
            self.truth.all(ENTER).iter().chain(self.truth.all(NATIVE_LOCK)).chain(locks).cloned().collect();
        let ours = Sums {
            count: self.report["contentions"].as_u64().unwrap(),
            total_ns: self.report["blocked_ns"].as_u64().unwrap(),
            max_ns: self.report["blocked"]["max_ns"].as_u64().unwrap_or(0),
        };
        self.sums("contentions", ours, Sums::of(&blocked));
        let at_addresses = blocked.iter().chain(&parks).chain(self.truth.all(WAIT));
        let at_addresses = at_addresses.map(|event| (event["address"].to_string(), lock_class(event))).collect();
        self.locks(&blocked, &at_addresses);
        self.parks(&parks);
        let waits = parks.iter().filter(|park| !is_for_a_lock(park)).chain(self.truth.all(WAIT));
        let waits = Sums::of(waits.filter(|event| !is_of_the_jvm(event)));
        let rows = self.rows("waits");
        self.sums("waits", Sums::reported(&rows), waits);
    }

    /// Lock by lock, by address. Where objects of several classes stood at one address, one
    /// after the other, only the first has this number here, whether threads were blocked on it or
    /// waited: all locks of such addresses are compared together.
    fn locks(&mut self, blocked: &[Value], at_addresses: &BTreeSet<(String, String)>) {
        let mut theirs: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        blocked.iter().for_each(|event| theirs.entry(event["address"].to_string()).or_default().push(event));
        let locks: BTreeSet<(String, String)> =
            blocked.iter().map(|event| (event["address"].to_string(), lock_class(event))).collect();
        let is_single = |address: &str| at_addresses.iter().filter(|(of, _)| of == address).count() == 1;
        let rows = self.rows("locks");
        let (mut ours, mut others): (BTreeMap<&str, Sums>, Vec<&Value>) = (BTreeMap::new(), Vec::new());
        for row in &rows {
            match address(row["lock"].as_str().unwrap()) {
                Some(address) if is_single(address) => assert!(ours.insert(address, Sums::reported([row])).is_none()),
                _ => others.push(row),
            }
        }
        let (single, shared): (Vec<_>, Vec<_>) = theirs.iter().partition(|(address, _)| is_single(address));
        let mut wrong: Vec<String> = Vec::new();
        for (address, events) in single {
            let (ours, theirs) = (ours.get(address.as_str()), Sums::of(events.iter().copied()));
            if !ours.is_some_and(|ours| ours.is(&theirs)) {
                wrong.push(format!("{} at {address}: {ours:?} instead of {theirs:?}", lock_class(events[0])));
            }
        }
        let others =
            (Sums::reported(others.iter().copied()), Sums::of(shared.into_iter().flat_map(|(_, all)| all).copied()));
        if rows.len() != locks.len() || !others.0.is(&others.1) {
            wrong.push(format!("{} locks instead of {}, several at an address: {others:?}", rows.len(), locks.len()));
        }
        self.check("locks", wrong.is_empty(), |_| wrong.join("; "));
    }

    fn parks(&mut self, parks: &[Value]) {
        let mut theirs: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        parks.iter().for_each(|park| theirs.entry(parked_class(park)).or_default().push(park));
        let rows = self.rows("parks");
        let same = |row: &Value| {
            let events = theirs.get(row["blocker_class"].as_str().unwrap_or_default());
            events.is_some_and(|events| Sums::reported([row]).is(&Sums::of(events.iter().copied())))
        };
        let is_same = rows.len() == theirs.len() && rows.iter().all(same);
        self.check("parks by class", is_same, |_| format!("{rows:?} beside {:?}", theirs.keys()));
    }

    fn pauses(&mut self) {
        let ours = Sums::reported([&self.report["pauses"]]);
        let theirs = Sums::of(self.truth.all(PAUSE));
        self.sums("pauses", ours, theirs);
    }

    fn losses(&mut self) {
        let dropped: u64 = self.truth.all(DROPPED).iter().map(|event| event["lostSamples"].as_u64().unwrap()).sum();
        let ours = self.report["losses"]["sample_lost"].as_u64().unwrap_or(0);
        self.check("dropped samples", ours == dropped, |_| format!("{ours} instead of {dropped}"));
    }

    fn recording(&mut self) {
        let ours = &self.report["recording"];
        let duration = self.report["duration_ns"].as_u64().unwrap() as f64 / 1e9;
        let is_near = (duration - self.truth.seconds as f64).abs() <= 2.0;
        let mut wrong = if is_near { Vec::new() } else { vec![format!("{duration} s")] };
        if let Some(jvm) = self.truth.all("jdk.JVMInformation").first() {
            if ours["pid"] != jvm["pid"] || ours["java_arguments"] != jvm["javaArguments"] {
                wrong.push(format!("{ours} instead of {jvm}"));
            }
            if !ours["jvm"].as_str().unwrap().starts_with(jvm["jvmName"].as_str().unwrap()) {
                wrong.push(format!("{} instead of {}", ours["jvm"], jvm["jvmName"]));
            }
        }
        self.check("JVM", wrong.is_empty(), |_| wrong.join(", "));
        let entries = self.report["ledger"]["entries"].as_array().unwrap();
        let sum: u64 = entries.iter().map(|entry| entry["total_ns"].as_u64().unwrap()).sum();
        let total = self.report["ledger"]["total_ns"].as_u64();
        self.check("sum of thread time", total == Some(sum), |_| format!("{total:?} instead of {sum}"));
    }

    /// Samples of one sampler: how many, the time that they stand for, and each method's own.
    fn samples(&mut self, name: &str, method: &Value, ns: Option<u64>) {
        let events = self.truth.all(name).to_vec();
        let number = |key: &str| method[key].as_u64().unwrap();
        let is_truncated = |event: &&Value| event["stackTrace"]["truncated"] == true;
        let theirs = (events.len() as u64, events.iter().filter(is_truncated).count() as u64);
        let ours = (number("samples"), number("truncated"));
        self.check("samples", ours == theirs, |_| format!("{name} {ours:?} instead of {theirs:?}"));
        if let Some(ns) = ns {
            let ours = number("total_ns");
            self.check("time of samples", ours == ns, |_| format!("{name} {ours} instead of {ns}"));
        }
        let mut theirs: BTreeMap<String, u64> = BTreeMap::new();
        for event in &events {
            let method = &event["stackTrace"]["frames"][0]["method"];
            let class = method["type"]["name"].as_str().unwrap_or_default().replace('/', ".");
            let method = method["name"].as_str().unwrap_or_default();
            let name = if class.is_empty() { method.to_owned() } else { format!("{class}.{method}") };
            *theirs.entry(name).or_default() += 1;
        }
        let rows = method["sections"][0]["methods"].as_array().cloned().unwrap_or_default();
        let mut ours: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &rows {
            *ours.entry(row["method"].as_str().unwrap()).or_default() += row["self_samples"].as_u64().unwrap();
        }
        // Headway names hidden classes and lambdas without their numbers.
        let is_plain = |name: &str| !["ambda", "$$", ".0x"].iter().any(|mark| name.contains(mark));
        let differs = |(name, number): &(&String, &u64)| ours.get(name.as_str()) != Some(*number);
        let wrong: Vec<_> = theirs.iter().filter(|(name, _)| is_plain(name)).filter(differs).collect();
        let is_same = wrong.is_empty() && ours.values().sum::<u64>() == events.len() as u64;
        self.check("methods", is_same, |_| format!("{name} {wrong:?}"));
    }
}

/// What async-profiler's converter adds up: the numbers that end the lines of collapsed stacks.
fn converted(kind: &[&str], recording: &str, scratch: &Path) -> u64 {
    let java = Jdk::all().pop().expect("a JDK").tool("java");
    let jar = project().join("java/reader-check/target/headway-reader-check.jar");
    let output = scratch.join("converted.collapsed");
    let mut convert = Command::new(java);
    convert.arg("-cp").arg(&jar).arg("one.convert.Main").args(kind).args(["-o", "collapsed", recording]).arg(&output);
    let run = convert.output().unwrap();
    assert!(run.status.success(), "{} (mvn -f java package): {run:?}", jar.display());
    let text = fs::read_to_string(&output).unwrap();
    text.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn headway(tools: &Tools, arguments: &[&str], recording: &str) -> Value {
    let arguments = [&["report", "--json", "--top", "1000000"], arguments, &[recording]].concat();
    serde_json::from_slice(&tools::run(&tools.headway, arguments).unwrap().stdout).unwrap()
}

/// The time that async-profiler's options say a sample stands for.
fn interval(options: &str, key: &str) -> Option<u64> {
    let value = options.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='))?;
    Some(value.strip_suffix("ms").unwrap().parse::<u64>().unwrap() * 1_000_000)
}

/// Compares everything of one recording; what differs, and what was compared.
fn compare(peer: &Peer, tools: &Tools, recording: &str, scratch: &Path) -> (Vec<String>, BTreeSet<&'static str>) {
    let truth = Truth::of(recording);
    assert!(truth.summary.contains_key(peer.has), "{}: no {} in {:?}", peer.name, peer.has, truth.summary);
    let mut all =
        Comparison { report: headway(tools, &[], recording), truth, wrong: Vec::new(), compared: BTreeSet::new() };
    all.types();
    all.blocked();
    all.pauses();
    all.losses();
    all.recording();
    let has = |name: &str| all.truth.events.contains_key(name);
    let (has_cpu_time, has_samples, has_wall) = (has(CPU_SAMPLE), has(SAMPLE), has(WALL_SAMPLE));
    match peer.by {
        By::Jfr(_) => {
            let name = if has_cpu_time { CPU_SAMPLE } else { SAMPLE };
            if has_cpu_time || has_samples {
                let periods = all.truth.all(name).iter().filter_map(|event| event["samplingPeriod"].as_str());
                let ns = has_cpu_time.then(|| periods.map(nanos).sum());
                let method = headway(tools, &["--method"], recording);
                all.samples(name, &method, ns);
            }
        }
        By::Async(options) => {
            let contended = all.truth.events.contains_key(ENTER) || all.truth.events.contains_key(PARK);
            let mut blocked_ns = 0;
            if contended {
                blocked_ns += converted(&["--lock", "--total"], recording, scratch);
            }
            if all.truth.events.contains_key(NATIVE_LOCK) {
                blocked_ns += converted(&["--nativelock", "--total"], recording, scratch);
            }
            let (ours, events) = (all.report["blocked_ns"].as_u64().unwrap(), all.report["contentions"].as_u64());
            let is_same = ours.abs_diff(blocked_ns) <= 2 * events.unwrap();
            all.check("blocked time, converter", is_same, |_| format!("{ours} instead of {blocked_ns}"));
            if has_samples {
                let count = converted(&["--cpu"], recording, scratch);
                let ns = count * interval(options, "interval").unwrap_or(DEFAULT_INTERVAL_NS);
                let method = headway(tools, &["--method", "--of", "cpu"], recording);
                all.samples(SAMPLE, &method, Some(ns));
            }
            if has_wall {
                let count = converted(&["--wall"], recording, scratch);
                let ns = count * interval(options, "wall").or(interval(options, "interval")).unwrap();
                let method = headway(tools, &["--method", "--of", "wall"], recording);
                all.samples(WALL_SAMPLE, &method, Some(ns));
            }
            if all.truth.summary.contains_key(ALLOCATION) {
                let count = converted(&["--alloc"], recording, scratch);
                let ours = all.report["other_events"][ALLOCATION].as_u64();
                all.check("allocations, converter", ours == Some(count), |_| format!("{ours:?} instead of {count}"));
            }
        }
    }
    (all.wrong, all.compared)
}

#[test]
fn a_lock_with_a_name_has_its_address_in_brackets() {
    assert_eq!(address("java.lang.Object#28038931672"), Some("28038931672"));
    let bin = "bin of a ConcurrentHashMap (java.util.concurrent.ConcurrentHashMap$Node#28414423680)";
    assert_eq!(address(bin), Some("28414423680"));
    assert_eq!(address("(no object)"), None);
}

#[test]
fn reports_of_peers_recordings_say_what_the_peers_tools_say() {
    let tools = Tools::find().unwrap();
    let scratch = TempDir::new().unwrap();
    let library = async_profiler(scratch.path());
    let mut failures = Vec::new();
    for peer in &PEERS {
        if Jdk::find(peer.release).is_none() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "JDK {} is missing", peer.release);
            eprintln!("SKIPPED: {}", peer.name);
            continue;
        }
        let recording = record(peer, &tools, &library, scratch.path());
        let (wrong, compared) = compare(peer, &tools, &recording, scratch.path());
        println!("{}: compared {}", peer.name, compared.into_iter().collect::<Vec<_>>().join(", "));
        failures.extend(wrong.into_iter().map(|wrong| format!("{}, {wrong}", peer.name)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
