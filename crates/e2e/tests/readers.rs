//! Every kind of recording, read by every reader of JFR files that people use: the
//! JDK's tools and its two APIs, async-profiler's converter, Grafana's parser (that
//! of Pyroscope), Mission Control's. All must count the same events. The table in
//! `docs/readers.md` is what this test saw; `HEADWAY_WRITE_READERS=1` writes it again.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Events by type.
type Counts = BTreeMap<String, u64>;

/// A kind of recording.
struct Kind {
    name: &'static str,
    release: u32,
    events: &'static str,
    extension: &'static str,
    /// Whether the JVM is killed while it records.
    killed: bool,
    /// An event that it must have.
    has: &'static str,
}

const fn kind(name: &'static str, release: u32, events: &'static str, has: &'static str) -> Kind {
    Kind { name, release, events, extension: "jfr", killed: false, has }
}

const LOCKS: &str = "monitor+park";
const ENTER: &str = "jdk.JavaMonitorEnter";
const KINDS: [Kind; 9] = [
    kind("lock, JDK 17", 17, LOCKS, ENTER),
    kind("lock, JDK 21", 21, LOCKS, ENTER),
    kind("lock, JDK 25", 25, LOCKS, ENTER),
    kind("cpu, JDK 21", 21, "cpu", "jdk.ExecutionSample"),
    kind("wall, JDK 25", 25, "wall", "headway.WallSample"),
    kind("pressure, JDK 17", 17, "pressure", "headway.PressureWindow"),
    Kind { extension: "jfr.zst", ..kind("zstd, unpacked", 25, LOCKS, ENTER) },
    Kind { extension: "jfr.lz4", ..kind("lz4, unpacked", 17, LOCKS, ENTER) },
    Kind { killed: true, ..kind("killed JVM", 25, LOCKS, ENTER) },
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
        let pyroscope = |program: &PathBuf| said(program, &[recording], |text| Said::Counts(counts(text)));
        all.push(("Grafana's jfr-parser 0.9.0".into(), self.grafana.as_ref().map_or(Said::Missing, pyroscope)));
        all
    }
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
fn record(kind: &Kind, tools: &Tools, scratch: &Path) -> Option<String> {
    let jdk = Jdk::find(kind.release)?;
    let recording = scratch.join(format!("recording.{}", kind.extension));
    let _ = fs::remove_file(&recording);
    let agent =
        format!("-agentpath:{}=start,file={},events={}", tools.agent.display(), recording.display(), kind.events);
    let seconds = if kind.killed { "60" } else { "3" };
    let mut java = Command::new(jdk.tool("java"));
    java.arg(agent).arg("-jar").arg(&tools.workloads).args(["demo", "--seconds", seconds]);
    let mut child = Guarded(java.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    if kind.killed {
        wait_for(kind.has, &jdk, &recording);
        child.kill().unwrap();
        child.wait().unwrap();
    } else {
        assert!(tools::wait_at_most(&mut child, Duration::from_secs(120)).unwrap().success(), "{}", kind.name);
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

#[test]
fn every_reader_reads_every_kind_of_recording() {
    let tools = Tools::find().unwrap();
    let scratch = TempDir::new().unwrap();
    let readers = Readers::find(scratch.path());
    let mut table: Vec<(String, Vec<&str>)> = Vec::new();
    let (mut failures, mut skipped) = (Vec::new(), 0);
    for kind in &KINDS {
        let Some(recording) = record(kind, &tools, scratch.path()) else {
            skipped += 1;
            continue;
        };
        let all = readers.read(&recording);
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
            let problem = match said {
                Said::Missing => {
                    skipped += 1;
                    continue;
                }
                Said::Read => None,
                Said::Refused(problem) => Some(problem),
                Said::Counts(mut counts) => {
                    // Of a chunk that was never ended Grafana's parser keeps some constants only.
                    if kind.killed {
                        counts.remove("unresolved");
                    }
                    difference(&reader, &strip(counts), &truth)
                }
            };
            let cell = if problem.is_none() { "yes" } else { "no" };
            failures.extend(problem.map(|problem| format!("{}, {reader}: {problem}", kind.name)));
            match table.iter_mut().find(|(name, _)| *name == reader) {
                Some((_, cells)) => cells.push(cell),
                None => table.push((reader, vec![cell])),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    match skipped {
        0 => check_table(&table),
        _ => eprintln!("SKIPPED: {skipped} readings of {}; the table was not compared", KINDS.len() * 14),
    }
}

fn check_table(table: &[(String, Vec<&str>)]) {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let mut text = String::from(HEAD);
    text += &format!("| reader | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (reader, cells) in table {
        text += &format!("| {reader} | {} |\n", cells.join(" | "));
    }
    let path = project().join("docs/readers.md");
    if std::env::var_os("HEADWAY_WRITE_READERS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "HEADWAY_WRITE_READERS=1 writes the table again");
}

const HEAD: &str = "# Who reads a recording

Made by the test `readers` of `crates/e2e`, which records each kind and lets each
reader read it: `yes` means that it reads the file without complaint and counts the
same events as all others, of those types that it knows. The JDK's two APIs resolve every
field of every event; Grafana's parser every stack, except for the killed JVM's, of whose last
chunk it keeps some constants only; the converter makes collapsed
stacks and flame graphs of locks, CPU and wall-clock samples; `jfr view` shows the active
settings. Compressed recordings are unpacked by `zstd -d` and `lz4 -d`. The killed JVM was
killed by SIGKILL while it recorded.

";
