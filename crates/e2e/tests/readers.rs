//! Every kind of recording, read by every reader of JFR files that people use: the
//! JDK's tools and its two APIs, async-profiler's converter, Grafana's parser (that
//! of Pyroscope), Mission Control's. All must count the same events. The table in
//! `docs/readers.md` is what this test saw; `HEADWAY_WRITE_READERS=1` writes it again.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::at_once::at_once;
use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Events by type.
type Counts = BTreeMap<String, u64>;

/// A kind of recording.
struct RecordingKind {
    name: &'static str,
    release: u32,
    events: &'static str,
    extension: &'static str,
    /// What the JVM runs, and for how long if it may.
    program: &'static [&'static str],
    /// Whether the JVM is killed while it records.
    killed: bool,
    /// Whether the end of the file is cut off, and what is left repaired by `headway export`.
    cut: bool,
    /// An event that it must have.
    has: &'static str,
}

const fn kind(name: &'static str, release: u32, events: &'static str, has: &'static str) -> RecordingKind {
    RecordingKind { name, release, events, extension: "jfr", program: DEMO, killed: false, cut: false, has }
}

const DEMO: &[&str] = &["demo", "--seconds", "3"];
const VIRTUAL: &[&str] = &["parks", "--virtual", "true", "--rounds", "10"];
const LINES: &[&str] = &["causal", "lines", "--seconds", "6"];
const CAUSAL: &str = "causal,progress=io.headway.workloads.causal.Known.done,target=Known.longer,speedups=100";
const PARK: &str = "jdk.ThreadPark";
const LOCKS: &str = "monitor+park";
const ENTER: &str = "jdk.JavaMonitorEnter";
const KINDS: [RecordingKind; 13] = [
    kind("lock, JDK 17", 17, LOCKS, ENTER),
    kind("lock, JDK 21", 21, LOCKS, ENTER),
    kind("lock, JDK 25", 25, LOCKS, ENTER),
    kind("cpu, JDK 21", 21, "cpu", "jdk.ExecutionSample"),
    kind("wall, JDK 25", 25, "wall", "headway.WallSample"),
    kind("pressure, JDK 17", 17, "pressure", "headway.PressureWindow"),
    RecordingKind { extension: "jfr.zst", ..kind("zstd, unpacked", 25, LOCKS, ENTER) },
    RecordingKind { extension: "jfr.lz4", ..kind("lz4, unpacked", 17, LOCKS, ENTER) },
    RecordingKind { program: VIRTUAL, ..kind("virtual threads, JDK 21", 21, LOCKS, PARK) },
    RecordingKind { program: VIRTUAL, ..kind("virtual threads, JDK 25", 25, LOCKS, PARK) },
    RecordingKind { program: LINES, ..kind("causal, JDK 17", 17, CAUSAL, "headway.CausalExperiment") },
    RecordingKind { cut: true, ..kind("cut off, repaired", 21, LOCKS, ENTER) },
    RecordingKind { killed: true, ..kind("killed JVM", 25, LOCKS, ENTER) },
];

/// What a reader said, or why it did not run.
enum Said {
    Counts(Counts),
    /// It read the file and counts nothing.
    Read,
    Refused(String),
    Missing,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Lines `NAME COUNT`, among others.
fn counts(text: &str) -> Counts {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, count) = (words.next()?, words.next()?.parse().ok()?);
        (count > 0).then(|| (name.to_owned(), count))
    };
    text.lines()
        .filter_map(row)
        .filter(|(name, _)| name.contains('.') || ["samples", "locks", "unresolved"].contains(&&**name))
        .collect()
}

fn said(program: &Path, arguments: &[&str], parse: impl FnOnce(&str) -> Said) -> Said {
    match tools::run(program, arguments) {
        Ok(output) => parse(&String::from_utf8_lossy(&output.stdout)),
        Err(problem) => Said::Refused(problem.to_string()),
    }
}

/// Everything that reads recordings.
struct Readers {
    jdks: Vec<Jdk>,
    jmc: Option<PathBuf>,
    others: Option<PathBuf>,
    grafana: Option<PathBuf>,
}

impl Readers {
    fn find(scratch: &Path) -> Readers {
        let jar = |name: &str| {
            let jar = project().join(format!("java/{name}/target/headway-{name}.jar"));
            present(&format!("{} (mvn -f java package)", jar.display()), jar.is_file()).then_some(jar)
        };
        Readers { jdks: Jdk::all(), jmc: jar("jmc-check"), others: jar("reader-check"), grafana: grafana(scratch) }
    }

    /// Name of each reader, and what it says of a recording.
    fn read(&self, recording: &str) -> Vec<(String, Said)> {
        let mut all = Vec::new();
        let newest = self.jdks.last().expect("a JDK").tool("java");
        for jdk in &self.jdks {
            let (jfr, release) = (jdk.tool("jfr"), jdk.release);
            let summary = |text: &str| Said::Counts(counts(text));
            all.push((format!("`jfr summary`, JDK {release}"), said(&jfr, &["summary", recording], summary)));
            let print = ["print", "--events", "jdk.*", recording];
            all.push((format!("`jfr print`, JDK {release}"), said(&jfr, &print, printed)));
            if release >= 21 {
                let view = said(&jfr, &["view", "active-settings", recording], |text| match text.contains(" true ") {
                    true => Said::Read,
                    false => Said::Refused(text.to_owned()),
                });
                all.push((format!("`jfr view`, JDK {release}"), view));
            }
        }
        for (name, reader) in [
            ("`jdk.jfr.consumer.RecordingFile`", "recording-file"),
            ("`jdk.jfr.consumer.EventStream`", "event-stream"),
            ("async-profiler's jfr-converter 4.5", "converter"),
        ] {
            let read = |jar: &PathBuf| {
                let arguments = ["-jar", jar.to_str().unwrap(), reader, recording];
                said(&newest, &arguments, |text| Said::Counts(counts(text)))
            };
            all.push((name.to_owned(), self.others.as_ref().map_or(Said::Missing, read)));
        }
        let mission_control = |jar: &PathBuf| {
            said(&newest, &["-jar", jar.to_str().unwrap(), recording], |text| Said::Counts(counts(text)))
        };
        all.push(("Mission Control 9.1.2".into(), self.jmc.as_ref().map_or(Said::Missing, mission_control)));
        all.push(("jfrs 0.2.5 (Rust)".into(), jfrs(recording)));
        let pyroscope = |program: &PathBuf| said(program, &[recording], |text| Said::Counts(counts(text)));
        all.push(("Grafana's jfr-parser 0.9.0".into(), self.grafana.as_ref().map_or(Said::Missing, pyroscope)));
        all
    }
}

/// The reader for Rust.
fn jfrs(recording: &str) -> Said {
    let read = || -> Result<Counts, Box<dyn std::error::Error>> {
        let mut counts = Counts::new();
        let mut reader = jfrs::reader::JfrReader::new(fs::File::open(recording)?);
        for chunk in reader.chunks() {
            let (mut reader, chunk) = chunk?;
            for event in reader.events(&chunk) {
                *counts.entry(event?.class.name().to_owned()).or_default() += 1;
            }
        }
        Ok(counts)
    };
    read().map_or_else(|problem| Said::Refused(problem.to_string()), Said::Counts)
}

/// True if something is there; what is missing is said, and with `CI=true` is a failure.
fn present(what: &str, is_there: bool) -> bool {
    if !is_there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{what} is missing");
        eprintln!("SKIPPED: {what} is missing");
    }
    is_there
}

/// Builds the reader in Go.
fn grafana(scratch: &Path) -> Option<PathBuf> {
    let has_go = Command::new("go").arg("version").stdout(Stdio::null()).status().is_ok();
    present("Go", has_go).then(|| {
        let program = scratch.join("grafana");
        let source = project().join("crates/e2e/readers/grafana");
        let build =
            Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(source).output().unwrap();
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        program
    })
}

/// What `jfr print` shows: `jdk.ThreadPark {` begins an event.
fn printed(text: &str) -> Said {
    let mut counts = Counts::new();
    for name in text.lines().filter_map(|line| line.strip_suffix(" {")).filter(|name| name.starts_with("jdk.")) {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    Said::Counts(counts)
}

/// Records a kind and gives the file as readers get it; `None` if what is needed for that
/// is missing.
fn record(kind: &RecordingKind, tools: &Tools, scratch: &Path) -> Option<String> {
    let jdk = Jdk::find(kind.release)?;
    let recording = scratch.join(format!("recording.{}", kind.extension));
    let _ = fs::remove_file(&recording);
    let agent =
        format!("-agentpath:{}=start,file={},events={}", tools.agent.display(), recording.display(), kind.events);
    let mut java = Command::new(jdk.tool("java"));
    java.arg(agent).arg("-jar").arg(&tools.workloads).args(kind.program);
    if kind.killed {
        java.args(["--seconds", "600"]);
    }
    let mut child = Guarded(java.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    if kind.killed {
        wait_for(kind.has, &jdk, &recording);
        child.kill().unwrap();
        child.wait().unwrap();
    } else {
        assert!(tools::wait_at_most(&mut child, Duration::from_secs(120)).unwrap().success(), "{}", kind.name);
    }
    if kind.cut {
        return Some(cut_and_repaired(&recording, tools, scratch));
    }
    let tool = match kind.extension {
        "jfr.zst" => "zstd",
        "jfr.lz4" => "lz4",
        _ => return Some(recording.display().to_string()),
    };
    let unpacked = scratch.join("unpacked.jfr");
    let run = Command::new(tool).args(["-d", "-f", "-q"]).arg(&recording).arg("-o").arg(&unpacked).output();
    let run = if tool == "lz4" {
        Command::new(tool).args(["-d", "-f", "-q"]).args([&recording, &unpacked]).output()
    } else {
        run
    };
    if !present(tool, run.is_ok()) {
        return None;
    }
    let run = run.unwrap();
    assert!(run.status.success(), "{tool}: {}", String::from_utf8_lossy(&run.stderr));
    Some(unpacked.display().to_string())
}

/// The recording without its last fifth, repaired.
fn cut_and_repaired(recording: &Path, tools: &Tools, scratch: &Path) -> String {
    let bytes = fs::read(recording).unwrap();
    let (torn, whole) = (scratch.join("torn.jfr"), scratch.join("whole.jfr"));
    fs::write(&torn, &bytes[..bytes.len() / 5 * 4]).unwrap();
    let _ = fs::remove_file(&whole);
    let mut export = Command::new(&tools.headway);
    let repaired = export.arg("export").arg(&torn).arg("-o").arg(&whole).output().unwrap();
    assert_eq!(repaired.status.code(), Some(4), "a part was left out: {}", String::from_utf8_lossy(&repaired.stderr));
    whole.display().to_string()
}

/// What a kind of recording is exported by: `headway export --of`. `None` where it has
/// nothing that profiles are made of.
fn measure(kind: &RecordingKind) -> Option<&'static str> {
    match kind.events {
        LOCKS => Some("owner"),
        "cpu" | "wall" => Some(kind.events),
        _ => None,
    }
}

/// The number that ends a line, or what stands in front of a colon.
fn numbers<'a>(lines: impl Iterator<Item = &'a str>) -> Result<u64, String> {
    lines
        .map(|line| line.rsplit(' ').next().unwrap_or_default().parse::<u64>().map_err(|e| format!("{line}: {e}")))
        .sum()
}

/// The sum of an array of numbers.
fn total(values: &Value) -> Option<f64> {
    values.as_array()?.iter().map(Value::as_f64).sum()
}

/// What `go tool pprof` lists: samples as `COUNT NANOSECONDS: FRAMES`.
fn pprof(path: &str) -> Result<u64, String> {
    let raw = tools::run(Path::new("go"), ["tool", "pprof", "-raw", path]).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&raw.stdout).into_owned();
    let body = text.split_once("Samples:").and_then(|(_, rest)| rest.split_once("Locations")).ok_or("no samples")?.0;
    numbers(body.lines().skip(1).filter_map(|line| line.split_once(": ")).map(|(values, _)| values.trim_end()))
}

/// What speedscope's importer relies on: a weight for each stack, no stack empty, every frame
/// there, and weights that end where the profile does.
fn speedscope(file: &Value) -> Option<f64> {
    let frames = file["shared"]["frames"].as_array()?.len() as u64;
    let mut all = 0.0;
    for profile in file["profiles"].as_array()? {
        let (samples, weights) = (profile["samples"].as_array()?, total(&profile["weights"])?);
        let known = |stack: &Value| {
            let stack = stack.as_array().filter(|stack| !stack.is_empty());
            stack.is_some_and(|stack| stack.iter().all(|frame| frame.as_u64().is_some_and(|frame| frame < frames)))
        };
        let ends = profile["endValue"].as_f64()? - profile["startValue"].as_f64()?;
        let whole = samples.len() == profile["weights"].as_array()?.len() && (ends - weights).abs() < 1.0;
        (whole && samples.iter().all(known)).then_some(())?;
        all += weights;
    }
    Some(all)
}

/// What the Firefox Profiler's importer relies on: tables as long as they say, and indices into
/// them that exist. Weights are milliseconds.
fn firefox(file: &Value) -> Option<f64> {
    let mut all = 0.0;
    for thread in file["threads"].as_array()? {
        let long = |table: &str| thread[table]["length"].as_u64();
        let (samples, stacks, frames) = (&thread["samples"], long("stackTable")?, long("frameTable")?);
        let below = |values: &Value, most: u64| {
            let inside = |value: &Value| value.is_null() || value.as_u64().is_some_and(|value| value < most);
            values.as_array().is_some_and(|values| values.iter().all(inside))
        };
        let whole = below(&samples["stack"], stacks)
            && below(&thread["stackTable"]["frame"], frames)
            && below(&thread["stackTable"]["prefix"], stacks)
            && samples["length"].as_u64()? == samples["stack"].as_array()?.len() as u64;
        whole.then_some(())?;
        let each = if samples["weightType"] == "samples" { file["meta"]["interval"].as_f64()? } else { 1.0 };
        all += each * total(&samples["weight"])?;
    }
    Some(all * 1e6)
}

/// Perfetto's schema knows every field, and slices end: what it adds up is not all time,
/// because a track shows one slice at a time.
fn perfetto(path: &str) -> Result<Option<u64>, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let fetching = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let packages = project().join("build/perfetto");
    let checker = project().join("crates/export/tests/consumers/perfetto_check.py");
    if !packages.join("perfetto").is_dir() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]);
        pip.arg(&packages).arg("--requirement").arg(checker.with_file_name("perfetto-requirements.txt"));
        let _ = pip.env("PIP_ROOT_USER_ACTION", "ignore").status();
    }
    drop(fetching);
    if !present("Perfetto's schema (pip)", packages.join("perfetto").is_dir()) {
        return Ok(None);
    }
    let check = Command::new("python3").arg(checker).arg(path).env("PYTHONPATH", &packages).output();
    let check = check.map_err(|e| e.to_string())?;
    let error = || String::from_utf8_lossy(&check.stderr).into_owned();
    check.status.success().then_some(None).ok_or_else(error)
}

/// The tables for programs: the column `total_ns`, which is before the last four.
fn rows(text: &str) -> Result<u64, String> {
    let field = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(row) if row.is_object() => row["total_ns"].as_u64(),
        _ => line.rsplit(',').nth(4).and_then(|field| field.parse().ok()),
    };
    text.lines().filter(|line| !line.starts_with("file,")).map(|line| field(line).ok_or(line.to_owned())).sum()
}

/// Nanoseconds in each format that a recording is exported to, as a reader of it adds them
/// up; `None` for readers that add up nothing.
fn exports(
    tools: &Tools,
    recording: &str,
    measure: &str,
    scratch: &Path,
) -> Vec<(String, Result<Option<u64>, String>)> {
    let export = |extension: &str| -> Result<String, String> {
        let path = scratch.join(format!("export.{extension}")).display().to_string();
        let _ = fs::remove_file(&path);
        tools::run(&tools.headway, ["export", recording, "--of", measure, "-o", &path]).map_err(|e| e.to_string())?;
        Ok(path)
    };
    let text = |extension: &str| fs::read_to_string(export(extension)?).map_err(|e| e.to_string());
    let json = |extension: &str, sum: fn(&Value) -> Option<f64>| {
        let value: Value = serde_json::from_str(&text(extension)?).map_err(|e| e.to_string())?;
        sum(&value).map(|ns| Some(ns.round() as u64)).ok_or_else(|| format!("{extension}: refused"))
    };
    let table = |format: &str| {
        let arguments = ["report", "--by", "lock-name", "--top", "10000", "--format", format, recording];
        let output = tools::run(&tools.headway, arguments).map_err(|e| e.to_string())?;
        rows(&String::from_utf8_lossy(&output.stdout)).map(Some)
    };
    let mut all = vec![
        ("collapsed, its lines".to_owned(), text("collapsed").and_then(|text| numbers(text.lines())).map(Some)),
        ("pprof, `go tool pprof`".to_owned(), export("pb.gz").and_then(|path| pprof(&path)).map(Some)),
        ("speedscope, minimum of its importer".to_owned(), json("speedscope.json", speedscope)),
        ("Firefox Profiler, minimum of its importer".to_owned(), json("json", firefox)),
        ("Perfetto, its schema".to_owned(), export("perfetto-trace").and_then(|path| perfetto(&path))),
    ];
    if measure == "owner" {
        all.push(("CSV, its rows".to_owned(), table("csv")));
        all.push(("JSON lines, its rows".to_owned(), table("jsonl")));
    }
    all
}

/// The time that a report says a recording's profile has: what each export must come to.
fn reported(tools: &Tools, recording: &str, measure: &str) -> u64 {
    let output = tools::run(&tools.headway, ["report", "--json", recording]).unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ns = match measure {
        "owner" => report["blocked_ns"].as_u64(),
        _ => None,
    };
    ns.unwrap_or(0)
}

/// Waits until a recording that is being written has some events of a type.
fn wait_for(ty: &str, jdk: &Jdk, recording: &Path) {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let summary = Command::new(jdk.tool("jfr")).arg("summary").arg(recording).output().unwrap();
        if counts(&String::from_utf8_lossy(&summary.stdout)).get(ty).is_some_and(|count| *count > 20) {
            return;
        }
        assert!(Instant::now() < deadline, "no {ty} was recorded");
        thread::sleep(Duration::from_millis(300));
    }
}

/// A row of the table for each export, in milliseconds, and what is wrong with them.
fn read_exports(
    tools: &Tools,
    kind: &RecordingKind,
    recording: &str,
    scratch: &Path,
) -> (Vec<(String, String)>, Vec<String>) {
    let Some(of) = measure(kind) else {
        return (EXPORTS.iter().map(|name| ((*name).to_owned(), NOTHING.to_owned())).collect(), Vec::new());
    };
    let found = exports(tools, recording, of, scratch);
    let mut truth = reported(tools, recording, of);
    if truth == 0 {
        truth = found.iter().find_map(|(_, ns)| ns.clone().ok().flatten()).unwrap_or(0);
    }
    let (mut cells, mut wrong) = (Vec::new(), Vec::new());
    if truth == 0 {
        wrong.push(format!("{}: nothing to export", kind.name));
    }
    for name in EXPORTS {
        let cell = match found.iter().find(|(found, _)| found == name).map(|(_, ns)| ns) {
            None => NOTHING.to_owned(),
            Some(Ok(None)) => "yes".to_owned(),
            // The Firefox Profiler gets whole microseconds for each contention.
            Some(Ok(Some(ns))) if ns.abs_diff(truth) <= if name.starts_with("Firefox") { truth / 2_000 } else { 0 } => {
                (ns / 1_000_000).to_string()
            }
            Some(other) => {
                wrong.push(format!("{}, {name}: {other:?} instead of {truth}", kind.name));
                "no".to_owned()
            }
        };
        cells.push((name.to_owned(), cell));
    }
    (cells, wrong)
}

/// A cell where there is nothing to export.
const NOTHING: &str = "-";
/// The exports, in the order of the table.
const EXPORTS: [&str; 7] = [
    "collapsed, its lines",
    "pprof, `go tool pprof`",
    "speedscope, minimum of its importer",
    "Firefox Profiler, minimum of its importer",
    "Perfetto, its schema",
    "CSV, its rows",
    "JSON lines, its rows",
];

/// What is wrong with what a reader said, beside the truth; the counts of those that
/// know few types are compared in the types that they know.
fn difference(reader: &str, counts: &Counts, truth: &Counts) -> Option<String> {
    let of = |name: &str| truth.get(name).copied().unwrap_or(0);
    let expected: Counts = match reader {
        _ if reader.contains("converter") => {
            let samples = of("jdk.ExecutionSample") + of("jdk.NativeMethodSample");
            let locks = of(ENTER) + of("jdk.ThreadPark");
            [("samples", samples), ("locks", locks)]
                .into_iter()
                .filter(|(_, n)| *n > 0)
                .map(|(k, n)| (k.to_owned(), n))
                .collect()
        }
        _ if reader.contains("Grafana") => {
            let known = ["jdk.ExecutionSample", ENTER, "jdk.ThreadPark", "jdk.ActiveSetting"];
            truth.iter().filter(|(name, _)| known.contains(&name.as_str())).map(|(k, n)| (k.clone(), *n)).collect()
        }
        _ if reader.contains("jfr print") => {
            truth.iter().filter(|(name, _)| name.starts_with("jdk.")).map(|(k, n)| (k.clone(), *n)).collect()
        }
        _ => truth.clone(),
    };
    (*counts != expected).then(|| format!("counts {counts:?} instead of {expected:?}"))
}

/// Kinds that are recorded and read at once: most of it is JVMs that start.
const AT_ONCE: usize = 2;

/// What all readers say of one kind of recording, with the rows of its exports and what is wrong with them.
struct Reading {
    readers: Vec<(String, Said)>,
    exports: Vec<(String, String)>,
    wrong: Vec<String>,
}

/// Records a kind and has everybody read it; `None` if it cannot be recorded here.
fn recorded_and_read(kind: &RecordingKind, tools: &Tools, readers: &Readers) -> Option<Reading> {
    let scratch = TempDir::new().unwrap();
    let recording = record(kind, tools, scratch.path())?;
    let (exports, wrong) = read_exports(tools, kind, &recording, scratch.path());
    Some(Reading { readers: readers.read(&recording), exports, wrong })
}

#[test]
fn every_reader_reads_every_kind_of_recording() {
    let tools = Tools::find().unwrap();
    let scratch = TempDir::new().unwrap();
    let readers = Readers::find(scratch.path());
    let readings = at_once(AT_ONCE, &KINDS, |kind| recorded_and_read(kind, &tools, &readers));
    let mut table: Vec<(String, Vec<String>)> = Vec::new();
    let mut exported: Vec<(String, Vec<String>)> = Vec::new();
    let (mut failures, mut skipped) = (Vec::new(), 0);
    for (kind, reading) in KINDS.iter().zip(readings) {
        let Some(Reading { readers: all, exports, wrong }) = reading else {
            skipped += 1;
            continue;
        };
        failures.extend(wrong);
        for (name, cell) in exports {
            match exported.iter_mut().find(|(known, _)| *known == name) {
                Some((_, cells)) => cells.push(cell),
                None => exported.push((name, vec![cell])),
            }
        }
        let truth =
            all.iter().find_map(|(_, said)| if let Said::Counts(counts) = said { Some(counts.clone()) } else { None });
        // The types of which every file has one, which only some readers show.
        let strip = |mut counts: Counts| {
            counts.retain(|name, _| !["jdk.metadata", "jdk.checkpoint"].contains(&&*name.to_lowercase()));
            counts
        };
        let truth = strip(truth.unwrap_or_default());
        if !truth.contains_key(kind.has) {
            failures.push(format!("{}: no {} in {truth:?}", kind.name, kind.has));
        }
        for (reader, said) in all {
            let mut seen = "yes".to_owned();
            let problem = match said {
                Said::Missing => {
                    skipped += 1;
                    continue;
                }
                Said::Read => None,
                Said::Refused(problem) => Some(problem),
                Said::Counts(mut counts) => {
                    // Of a chunk that was never ended Grafana's parser keeps some constants only.
                    if kind.killed || kind.cut {
                        counts.remove("unresolved");
                    }
                    let counts = strip(counts);
                    seen = counts.values().sum::<u64>().to_string();
                    difference(&reader, &counts, &truth)
                }
            };
            let cell = if problem.is_none() { seen } else { "no".to_owned() };
            failures.extend(problem.map(|problem| format!("{}, {reader}: {problem}", kind.name)));
            match table.iter_mut().find(|(name, _)| *name == reader) {
                Some((_, cells)) => cells.push(cell),
                None => table.push((reader, vec![cell])),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    match skipped {
        0 => check_table(&table, &exported),
        _ => eprintln!("SKIPPED: {skipped} readings of {}; the table was not compared", KINDS.len() * 15),
    }
}

fn check_table(table: &[(String, Vec<String>)], exported: &[(String, Vec<String>)]) {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let mut text = String::from(HEAD);
    text += &format!("| reader | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (reader, cells) in table {
        text += &format!("| {reader} | {} |\n", cells.join(" | "));
    }
    text += EXPORTED;
    text += &format!("| export | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (export, cells) in exported {
        text += &format!("| {export} | {} |\n", cells.join(" | "));
    }
    let path = project().join("docs/readers.md");
    if std::env::var_os("HEADWAY_WRITE_READERS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    // How many events there are differs from run to run.
    let without_counts = |text: &str| {
        let cell = |word: &str| if word.parse::<u64>().is_ok() { "N".to_owned() } else { word.to_owned() };
        let rows = text.lines().filter(|line| line.starts_with('|'));
        rows.flat_map(|line| line.split(" | ")).map(|word| cell(word.trim_end_matches(" |"))).collect::<Vec<_>>()
    };
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(without_counts(&written), without_counts(&text), "HEADWAY_WRITE_READERS=1 writes the table again");
}

const HEAD: &str = "# Who reads a recording

Made by the test `readers` of `crates/e2e`, which records each kind and lets each
reader read it: a number means that it reads the file without complaint and counts so many events,
the same as all others in the types that it knows; `yes` is for readers that count nothing. The JDK's two APIs resolve every
field of every event; Grafana's parser every stack, except for the killed JVM's and the one cut off, of whose last
chunk it keeps some constants only; the converter makes collapsed
stacks and flame graphs of locks, CPU and wall-clock samples; `jfr view` shows the active
settings; jfrs decodes every event. Compressed recordings are unpacked by `zstd -d` and `lz4 -d`. The killed JVM was
killed by SIGKILL while it recorded. The last fifth of the file that is cut off is gone for good; `headway export`
makes a whole file of the rest. The parser jafar was not tried: no version of it could be fetched.

";

const EXPORTED: &str = "
## Exports

The same recordings, exported: milliseconds as a reader of each format adds them up, which must be the report's
(`blocked_ns` of recordings of locks; those of samples must agree with each other). `-`: nothing in the recording that
such a file is made of. `yes` is for a reader that adds up nothing. The test does not run speedscope and the Firefox Profiler:
it has a minimum of what their importers check. The tests of `crates/export` check speedscope's published schema.
The Firefox Profiler gets whole microseconds, and may differ by 0.05 %.

";
