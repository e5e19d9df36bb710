//! Recordings that others made: JFR of three JDKs, async-profiler. Saved ones
//! for what must never change, fresh ones compared with what `jfr print` says.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jdk::Jdk;
use headway_jfr::Summary;
use headway_model::event::{ParkLimit, SampleState};
use headway_model::{Dictionary, Event, Loss, TimeNs};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{read, read_sound, Scratch};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn kind(event: &Event) -> String {
    let text = format!("{event:?}");
    text.split('(').next().unwrap().to_string()
}

/// Events of each kind, definitions of threads, and the like left out.
fn counts(events: &[Event]) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    events.iter().for_each(|event| *counts.entry(kind(event)).or_default() += 1);
    counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn saved_recordings_read_as_ever() {
    for (name, expected) in [
        ("jfr-17.jfr.zst", "Chain 11, CpuLoad 4, Lock 5, Method 40, MonitorEntered 42, MonitorWaited 24, Other 1, Park 188, Recording 1, Sample 3, StopTheWorld 1, Thread 21, ThreadEnd 5, ThreadStart 8"),
        ("jfr-21.jfr.zst", "Chain 11, CpuLoad 3, Lock 5, Method 23, MonitorEntered 80, MonitorWaited 36, Park 361, Recording 1, Sample 3, StopTheWorld 1, Thread 21, ThreadEnd 5, ThreadStart 8"),
        ("jfr-25.jfr.zst", "Chain 12, CpuLoad 4, Lock 6, Method 63, MonitorEntered 101, MonitorWaited 39, Other 16, Park 409, Recording 1, Sample 15, StopTheWorld 1, Thread 22, ThreadEnd 5, ThreadStart 8"),
        ("async-profiler-4.1-jdk17.jfr.zst", "Chain 77, Lock 2, Method 362, MonitorEntered 56, Other 40, Park 118, Recording 1, Sample 343, Thread 25"),
        ("async-profiler-4.1-jdk25.jfr.zst", "Chain 59, Lock 2, Method 278, MonitorEntered 47, Other 34, Park 89, Recording 1, Sample 330, Thread 24"),
    ] {
        assert_eq!(counts(&read_sound(&golden(name))), expected, "{name}");
    }
}

#[test]
fn saved_recordings_say_who_made_them_and_how() {
    for (name, producer, version, setting) in [
        ("jfr-17.jfr.zst", "jfr", "17.", ("jdk.JavaMonitorEnter#threshold", "0 ms")),
        ("jfr-25.jfr.zst", "jfr", "25.", ("jdk.JavaMonitorEnter#threshold", "0 ms")),
        ("async-profiler-4.1-jdk17.jfr.zst", "async-profiler", "17.", ("jdk.JavaMonitorEnter#lock", "0")),
    ] {
        let Event::Recording(info) = &read_sound(&golden(name))[0] else {
            panic!("{name} does not begin with facts about the recording");
        };
        assert_eq!(info.producer, producer);
        assert!(info.jvm_version.contains(version), "{}", info.jvm_version);
        assert!(info.java_arguments.starts_with("Contended"), "{}", info.java_arguments);
        assert!(info.pid > 0 && info.jvm_start.0 > 0 && info.jvm_start <= info.start);
        let found = info.settings.iter().find(|(name, _)| name == setting.0);
        assert_eq!(found.map(|(_, value)| value.as_str()), Some(setting.1), "{name}: {:?}", info.settings);
    }
}

/// What the VM locks while a class is being initialised.
const INITIALISATION: &str = "int[]";

/// The class of the program's one monitor. The JDK has others, and by chance
/// two of the program's threads meet there: at a queue of references, at the
/// group that they leave.
const MONITOR: &str = "java.lang.Object";

/// Everything resolves, and the program's own shape shows.
fn check_contention(events: &[Event], name: &str) {
    let mut known = Dictionary::default();
    let (mut threads, mut tops, mut previous) = (HashSet::new(), HashSet::new(), 0);
    let mut last = TimeNs(0);
    for event in events {
        known.feed(event);
        let Event::MonitorEntered(e) = event else { continue };
        let thread = known.thread(e.thread).unwrap().name.to_string();
        if !thread.starts_with("contender") {
            continue; // JFR and the JVM have monitors of their own
        }
        let class = known.lock(e.lock).unwrap().class.clone();
        let chain = known.chain(e.chain).map(|defined| &defined.chain.frames[..]).unwrap_or_default();
        let methods: Vec<_> = chain.iter().map(|frame| known.method(frame.method).unwrap()).collect();
        if &*class == INITIALISATION {
            continue; // two of them came to a class at once, which is chance
        }
        if &*class != MONITOR {
            let enters = methods.first().map_or("the VM", |method| &*method.class);
            assert_ne!(enters, "Contended", "{name}: {e:?} of {class}");
            continue;
        }
        threads.insert(thread);
        previous += u32::from(e.previous_owner.is_some());
        assert!(e.time > e.start && e.start.0 > 1_700_000_000_000_000_000, "{name}: {e:?}");
        last = last.max(e.time);
        let ours = methods.iter().find(|m| &*m.class == "Contended").unwrap();
        tops.insert(ours.name.to_string());
    }
    assert_eq!(threads, (1..=4).map(|n| format!("contender-{n}")).collect(), "{name}");
    assert!(tops.contains("hold") && tops.iter().all(|top| ["hold", "contend"].contains(&top.as_str())), "{tops:?}");
    assert!(name.contains("async") || previous > 0, "{name} has no previous owners");
}

#[test]
fn contention_in_saved_recordings_resolves_to_names() {
    for name in ["jfr-17", "jfr-21", "jfr-25", "async-profiler-4.1-jdk17", "async-profiler-4.1-jdk25"] {
        check_contention(&read_sound(&golden(&format!("{name}.jfr.zst"))), name);
    }
}

#[test]
fn wall_clock_samples_of_async_profiler_tell_waiting_from_running() {
    let events = read_sound(&golden("async-profiler-4.1-jdk17.jfr.zst"));
    let count = |state| events.iter().filter(|e| matches!(e, Event::Sample(s) if s.state == state)).count();
    assert!(count(SampleState::Runnable) > 30 && count(SampleState::Waiting) > 30);
    // Samples of CPU time are apart: the two must not be added up.
    assert!(count(SampleState::Java) > 30);
}

#[test]
fn parks_of_the_jdk_say_how_long_they_may_last() {
    let limits: HashSet<ParkLimit> = read_sound(&golden("jfr-21.jfr.zst"))
        .into_iter()
        .filter_map(|e| if let Event::Park(park) = e { Some(park.limit) } else { None })
        .collect();
    assert!(limits.iter().any(|limit| *limit == ParkLimit::None), "{limits:?}");
    assert!(limits.iter().any(|limit| matches!(limit, ParkLimit::For(time) if time.0 > 1000)), "{limits:?}");
}

#[test]
fn samples_of_async_profiler_stand_for_its_interval() {
    for event in read_sound(&golden("async-profiler-4.1-jdk17.jfr.zst")) {
        if let Event::Sample(sample) = event {
            assert!(sample.weight.0 > 0 && sample.weight.0 % 5_000_000 == 0, "{sample:?}");
        }
    }
}

#[test]
fn a_file_of_two_jvms_is_read_as_that_of_the_first_and_says_so() {
    let scratch = Scratch::new();
    let path = scratch.file("both.jfr");
    let bytes = |name| zstd::stream::decode_all(&std::fs::read(golden(name)).unwrap()[..]).unwrap();
    std::fs::write(&path, [bytes("jfr-17.jfr.zst"), bytes("jfr-25.jfr.zst")].concat()).unwrap();
    let (events, problems) = read(&path);
    assert_eq!(counts(&events), counts(&read_sound(&golden("jfr-17.jfr.zst"))));
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("was recorded in another JVM (pid"), "{problems:?}");
}

#[test]
fn samples_of_one_sampler_count_and_the_others_are_named() {
    let events = read_sound(&golden("jfr-25.jfr.zst"));
    let Event::Recording(info) = &events[0] else { panic!("{:?}", events[0]) };
    assert!(info.settings.contains(&("engine".to_owned(), "jdk.CPUTimeSample".to_owned())), "{:?}", info.settings);
    let summary = Summary::of(golden("jfr-25.jfr.zst")).unwrap();
    let count = |name: &str| summary.types.get(name).map_or(0, |total| total.count);
    let samples = events.iter().filter(|event| matches!(event, Event::Sample(_))).count() as u64;
    assert_eq!(samples, count("jdk.CPUTimeSample"));
    let unused = count("jdk.ExecutionSample") + count("jdk.NativeMethodSample");
    let named = events.iter().filter(|event| matches!(event, Event::Other(name) if name.ends_with("Sample"))).count();
    assert!(unused > 0 && named as u64 == unused, "{named} of {unused}");
}

/// What JFR dropped, and mutexes of native code; see `tests/java/RarelySeen.java`.
#[test]
fn losses_of_jfr_and_native_locks_are_read() {
    let scratch = Scratch::new();
    let path = scratch.file("rare.jfr");
    let Some(jdk) = Jdk::all().into_iter().find(|jdk| jdk.release == 17) else {
        return eprintln!("SKIPPED: no JDK 17: this test did not run");
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/RarelySeen.java");
    let option = format!("-XX:StartFlightRecording:filename={}", path.display());
    let output = Command::new(jdk.tool("java")).arg(option).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut samples, mut bytes, mut mutexes, mut blocked) = (0, 0, HashSet::new(), 0);
    for event in read_sound(&path) {
        match event {
            Event::Lost(Loss::SampleLost, count) => samples += count,
            Event::Lost(Loss::RecorderBytes, count) => bytes += count,
            Event::Lock(lock) if &*lock.class == "pthread_mutex_t" => drop(mutexes.insert(lock.id)),
            Event::MonitorEntered(e) if mutexes.contains(&e.lock) => blocked += e.time.since(e.start).0,
            _ => {}
        }
    }
    assert_eq!((samples, bytes, mutexes.len()), (6, 600, 2));
    assert!(blocked > 6_000_000, "{blocked} ns");
}

/// Compiles the program once; 17 is what the oldest JDK reads.
fn compile(scratch: &Scratch, jdks: &[Jdk]) -> Option<PathBuf> {
    let jdk = jdks.iter().find(|jdk| jdk.home.join("bin/javac").exists())?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Contended.java");
    let classes = scratch.file("classes");
    let status =
        Command::new(jdk.tool("javac")).args(["--release", "17", "-d"]).arg(&classes).arg(source).status().unwrap();
    assert!(status.success());
    Some(classes)
}

fn record(jdk: &Jdk, classes: &Path, option: String) {
    let output = Command::new(jdk.tool("java"))
        .arg("-Xmx64m")
        .arg(option)
        .arg("-cp")
        .arg(classes)
        .args(["Contended", "900"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `2026-11-21T20:55:21.803439875Z` as nanoseconds within its day.
fn nanos_of_day(time: &str) -> u64 {
    let clock = time.split('T').nth(1).unwrap();
    let number = |range: std::ops::Range<usize>| clock[range].parse::<u64>().unwrap();
    let fraction: String = clock[8..].chars().filter(char::is_ascii_digit).take(9).collect();
    let fraction = format!("{fraction:0<9}");
    ((number(0..2) * 60 + number(3..5)) * 60 + number(6..8)) * 1_000_000_000 + fraction.parse::<u64>().unwrap()
}

/// `PT0.000239S` in nanoseconds.
fn nanos_of_duration(text: &str) -> u64 {
    (text.trim_start_matches("PT").trim_end_matches('S').parse::<f64>().unwrap() * 1e9).round() as u64
}

/// The class names that these programs' locks can have, as JFR spells them.
fn as_jfr_has_it(class: &str) -> String {
    match class {
        INITIALISATION => "[I".to_string(),
        class => class.replace('.', "/"),
    }
}

/// Every contended enter, once as the JDK shows it and once as we read it.
fn compare_with_print(jdk: &Jdk, path: &Path) {
    let json = jdk.jfr(&["print", "--json", "--stack-depth", "3", "--events", "jdk.JavaMonitorEnter"], path);
    let json: Value = serde_json::from_str(&json).unwrap();
    let zone_free = |time: u64| time % 3_600_000_000_000;
    let mut theirs: Vec<(u64, u64, String, String, String, u64, String)> = Vec::new();
    for event in json["recording"]["events"].as_array().unwrap() {
        let values = &event["values"];
        let text = |value: &Value| value.as_str().unwrap_or("").to_string();
        let frame = &values["stackTrace"]["frames"][0];
        theirs.push((
            zone_free(nanos_of_day(values["startTime"].as_str().unwrap())),
            nanos_of_duration(values["duration"].as_str().unwrap()),
            text(&values["eventThread"]["javaName"]),
            text(&values["previousOwner"]["javaName"]),
            text(&frame["method"]["name"]),
            frame["lineNumber"].as_u64().unwrap_or(0),
            text(&values["monitorClass"]["name"]),
        ));
    }
    let mut known = Dictionary::default();
    let mut ours = Vec::new();
    for event in read_sound(path) {
        known.feed(&event);
        let Event::MonitorEntered(e) = &event else { continue };
        let name = |id| known.thread(id).map_or(String::new(), |def| def.name.to_string());
        // A thread about to end has no stack, or one without frames; the JDK shows none, either.
        let frame = known.chain(e.chain).and_then(|def| def.chain.frames.first().copied());
        let method = frame.map_or(String::new(), |frame| known.method(frame.method).unwrap().name.to_string());
        let (time, duration) = (zone_free(e.start.0 % 86_400_000_000_000), e.time.since(e.start).0);
        ours.push((
            time,
            duration,
            name(e.thread),
            name(e.previous_owner),
            method,
            frame.map_or(0, |frame| u64::from(frame.line)),
            as_jfr_has_it(&known.lock(e.lock).unwrap().class),
        ));
    }
    // By thread first: the times of different threads' events may be nearer to
    // each other than the JDK's are to ours.
    theirs.sort_by(|a, b| (&a.2, a.0).cmp(&(&b.2, b.0)));
    ours.sort_by(|a, b| (&a.2, a.0).cmp(&(&b.2, b.0)));
    assert!(!ours.is_empty());
    assert_eq!(ours.len(), theirs.len());
    for (our, their) in ours.iter().zip(&theirs) {
        // The JDK converts ticks in floating point.
        assert!(our.0.abs_diff(their.0) <= 1000 && our.1.abs_diff(their.1) <= 2, "{our:?} {their:?}");
        assert_eq!((&our.2, &our.3, &our.4, our.5, &our.6), (&their.2, &their.3, &their.4, their.5, &their.6));
    }
}

/// Our counts by type are those of `jfr summary`.
fn compare_with_summary(jdk: &Jdk, path: &Path) {
    let ours = Summary::of(path).unwrap();
    assert!(ours.problems.is_empty());
    let mut compared = 0;
    for line in jdk.jfr(&["summary"], path).lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(Ok(count))) = (words.next(), words.next().map(str::parse::<u64>)) else { continue };
        let Some(Ok(bytes)) = words.next().map(str::parse::<u64>) else { continue };
        // The name of this type changed its spelling between JDKs.
        let name = if name == "jdk.Checkpoint" { "jdk.CheckPoint" } else { name };
        let total = ours.types.get(name).copied().unwrap_or_default();
        assert_eq!((total.count, total.bytes), (count, bytes), "{name}");
        compared += 1;
    }
    assert!(compared > 50);
}

#[test]
fn fresh_recordings_of_jfr_read_like_jfr_print() {
    let scratch = Scratch::new();
    let jdks = Jdk::all();
    let Some(classes) = compile(&scratch, &jdks) else {
        return eprintln!("no javac: this test did not run");
    };
    for jdk in &jdks {
        let path = scratch.file(&format!("jfr-{}.jfr", jdk.release));
        let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/contended.jfc");
        record(
            jdk,
            &classes,
            format!("-XX:StartFlightRecording:filename={},settings={}", path.display(), settings.display()),
        );
        check_contention(&read_sound(&path), "fresh");
        compare_with_print(jdk, &path);
        compare_with_summary(jdk, &path);
    }
}

#[test]
fn fresh_recordings_of_async_profiler_read_like_jfr_print() {
    let scratch = Scratch::new();
    let jdks = Jdk::all();
    let (Some(classes), Some(library)) = (compile(&scratch, &jdks), async_profiler(&scratch)) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "javac or async-profiler is missing");
        return eprintln!("javac or async-profiler's jar, which Maven fetches, is missing: this test did not run");
    };
    for jdk in jdks.iter().filter(|jdk| jdk.release != 21) {
        let path = scratch.file(&format!("async-{}.jfr", jdk.release));
        let library = library.display();
        record(jdk, &classes, format!("-agentpath:{library}=start,event=cpu,wall=5ms,lock=0,file={}", path.display()));
        check_contention(&read_sound(&path), "async fresh");
        compare_with_print(jdk, &path);
    }
}

/// The library out of async-profiler's jar, if Maven has fetched it.
fn async_profiler(scratch: &Scratch) -> Option<PathBuf> {
    let repository = Path::new(&std::env::var_os("HOME")?).join(".m2/repository/tools/profiler/async-profiler/4.1");
    let jar = repository.join("async-profiler-4.1.jar");
    if !jar.exists() {
        // Maven puts it there; whether it did is seen below.
        let get = ["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get", "-Dtransitive=false"];
        let _ = Command::new("mvn").args(get).arg("-Dartifact=tools.profiler:async-profiler:4.1").status();
    }
    let target = scratch.file("async-profiler");
    std::fs::create_dir_all(&target).ok()?;
    let unpacked = Command::new("unzip").args(["-qo"]).arg(&jar).args(["linux-x64/*", "-d"]).arg(&target).status();
    let library = target.join("linux-x64/libasyncProfiler.so");
    (unpacked.is_ok_and(|status| status.success()) && library.exists()).then_some(library)
}
