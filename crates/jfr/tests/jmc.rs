//! JDK Mission Control's parser reads what is written (`java/jmc-check`).
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jdk::Jdk;
use headway_jfr::{RecordingWriter, WriterConfig};
use headway_model::event::{CpuLoad, Sample};
use headway_model::{Dictionary, DurationNs, Event};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::sample_events::{at, definitions, events, CHAIN, MAIN};
use support::{synthetic, Scratch};

/// The checker's jar and a JDK to run it; if Maven has not built it, that is
/// said, and with `CI=true` it is a failure.
fn checker() -> Option<(Jdk, PathBuf)> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java/jmc-check/target/headway-jmc-check.jar");
    let jar = std::env::var_os("HEADWAY_JMC_CHECK").map_or(built, PathBuf::from);
    let jdk = Jdk::all().into_iter().next();
    if jdk.is_none() || !jar.exists() {
        eprintln!("{} is missing (mvn -f java package builds it): this test did not run", jar.display());
        assert!(std::env::var("CI").as_deref() != Ok("true"), "the check by JMC's parser did not run");
        return None;
    }
    Some((jdk?, jar))
}

fn run(checker: &(Jdk, PathBuf), path: &Path, ty: Option<&str>) -> String {
    let output = Command::new(checker.0.tool("java")).arg("-jar").arg(&checker.1).arg(path).args(ty).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn jmc_reads_every_event_type() {
    let Some(checker) = checker() else { return };
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    let mut writer = RecordingWriter::create(WriterConfig::new(&path, synthetic::info())).unwrap();
    events().iter().for_each(|event| writer.event(event, &dictionary));
    writer.finish(&dictionary, at(100)).unwrap();

    let counts = run(&checker, &path, None);
    let counts: BTreeMap<&str, &str> =
        counts.lines().filter_map(|line| line.split_once(' ')).filter(|(_, count)| *count != "0").collect();
    assert_eq!(counts.len(), 46, "{counts:?}");
    assert_eq!((counts["jdk.JavaMonitorWait"], counts["headway.MonitorContendedExit"]), ("4", "2"));

    let entered = run(&checker, &path, Some("jdk.JavaMonitorEnter"));
    for expected in [
        "address = 9",
        "duration = 12000000 ticks",
        "eventThread = main",
        "monitorClass = com.acme.Inventory",
        "previousOwner = Arbeiter-ü",
        "stackTrace = void com.acme.Inventory.rebuildIndex(long, java.lang.String):42 Inlined < void com.acme.Inventory.rebuildIndex(long, java.lang.String):40 JIT Compiled <",
    ] {
        assert!(entered.contains(expected), "{expected} in {entered}");
    }
    let exit = run(&checker, &path, Some("headway.MonitorContendedExit"));
    assert!(exit.contains("cause = wait") && exit.contains("pthread_cond_wait"), "{exit}");
    let park = run(&checker, &path, Some("jdk.ThreadPark"));
    for expected in [
        "parkedClass = java.util.concurrent.locks.ReentrantLock$NonfairSync",
        "timeout = 1500000001 ns",
        "address = 10",
    ] {
        assert!(park.contains(expected), "{expected} in {park}");
    }
    let details = run(&checker, &path, Some("headway.ThreadParkDetail"));
    for expected in ["outcome = timed out", "waker = Arbeiter-ü"] {
        assert!(details.contains(expected), "{expected} in {details}");
    }
    let begin = run(&checker, &path, Some("headway.MonitorContendedEnter"));
    assert!(begin.contains("lock = Inventory.lock (com.acme.Inventory@7eadbeef)"), "{begin}");
    let phase = run(&checker, &path, Some("headway.PressurePhase"));
    assert!(phase.contains("ownerStackTrace = ") && phase.contains("pthread_cond_wait"), "{phase}");
    let samples = run(&checker, &path, Some("jdk.ExecutionSample"));
    assert!(samples.contains("state = STATE_RUNNABLE"), "{samples}");
    let details = run(&checker, &path, Some("headway.SampleDetail"));
    for expected in ["cpu = 0", "cpu = -1", "weight = 10000000 ns"] {
        assert!(details.contains(expected), "{expected} in {details}");
    }
    let cost = run(&checker, &path, Some("headway.SelfCost"));
    assert!(cost.contains("memory = 16777216 B") && cost.contains("ownCpu = 5000000 ns"), "{cost}");
}

/// The rules that say something of a recording, by name; the others are not
/// applicable to it.
fn rules(checker: &(Jdk, PathBuf), path: &Path) -> BTreeMap<String, String> {
    let lines = run(checker, path, Some("--rules"));
    let rule = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        (!rest.starts_with("NA ")).then(|| (name.to_owned(), rest.to_owned()))
    };
    lines.lines().filter_map(rule).collect()
}

/// JFR's recording of about the same events of a program; see `tests/java`.
#[test]
fn as_many_of_jmcs_rules_are_applicable_as_to_jfrs_own_recording() {
    let Some(checker) = checker() else { return };
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    let mut info = (*synthetic::info()).clone();
    info.settings = [("events", "monitor,park,cpu"), ("interval", "10000000 ns")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let mut writer = RecordingWriter::create(WriterConfig::new(&path, info.into())).unwrap();
    events().iter().for_each(|event| writer.event(event, &dictionary));
    for second in 1..20 {
        let load = CpuLoad { time: at(1000 * second), jvm_user: 0.5, jvm_system: 0.1, machine_total: 0.7 };
        writer.event(&Event::CpuLoad(load), &dictionary);
        for sample in 0..100 {
            let time = at(1000 * second + 10 * sample);
            let sample =
                Sample { time, thread: MAIN, chain: CHAIN, weight: DurationNs(10_000_000), ..Sample::default() };
            writer.event(&Event::Sample(sample), &dictionary);
        }
    }
    writer.finish(&dictionary, at(20_000)).unwrap();
    let ours = rules(&checker, &path);

    let packed = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/jfr-17.jfr.zst")).unwrap();
    let theirs = scratch.file("jfr.jfr");
    std::fs::write(&theirs, zstd::stream::decode_all(&packed[..]).unwrap()).unwrap();
    let theirs = rules(&checker, &theirs);
    assert!(ours.len() >= theirs.len(), "{:?} beside {:?}", ours.keys(), theirs.keys());
    for rule in ["JavaBlocking", "FlightRecordingSupport", "MethodProfiling"] {
        assert!(ours.contains_key(rule), "{rule} in {:?}", ours.keys());
    }
}

#[test]
fn jmc_reads_many_chunks() {
    let Some(checker) = checker() else { return };
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let dictionary = synthetic::dictionary();
    let mut config = WriterConfig::new(&path, synthetic::info());
    config.chunk_size = 64 << 10;
    let mut writer = RecordingWriter::create(config).unwrap();
    let mut stream = synthetic::Stream::new(3_000);
    let mut written = 0;
    for _ in 0..5 {
        let batch = stream.second();
        batch.iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
        written += batch.len() / 3;
    }
    // Still open, so with the reserve that a killed writer would leave.
    let counts = run(&checker, &path, None);
    assert!(counts.contains(&format!("jdk.JavaMonitorEnter {written}\n")), "{counts}");
    let entered = run(&checker, &path, Some("jdk.JavaMonitorEnter"));
    assert!(!entered.contains("= null"), "a constant is missing");
}
