//! The JDK's own tools read what is written.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jdk::Jdk;
use headway_jfr::{repair, RecordingWriter, WriterConfig};
use headway_model::Dictionary;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use support::sample_events::{at, definitions, events};
use support::{synthetic, Scratch};

fn dictionary() -> Dictionary {
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    dictionary
}

fn write_all_events(path: &Path) {
    let dictionary = dictionary();
    let mut writer = RecordingWriter::create(WriterConfig::new(path, synthetic::info())).unwrap();
    definitions().iter().chain(&events()).for_each(|event| writer.event(event, &dictionary));
    writer.flush(&dictionary, at(80)).unwrap();
    writer.finish(&dictionary, at(1000)).unwrap();
}

/// How many events of each type `jfr summary` counts.
fn counts(summary: &str) -> BTreeMap<String, u64> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let count = words.next()?.parse().ok()?;
        name.contains('.').then(|| (name.to_string(), count))
    };
    summary.lines().filter_map(row).collect()
}

#[test]
fn jfr_summary_counts_every_event() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    write_all_events(&path);
    for jdk in Jdk::all() {
        let counts = counts(&jdk.jfr(&["summary"], &path));
        let expected = [
            ("jdk.ThreadStart", 1),
            ("jdk.ThreadEnd", 1),
            ("jdk.JavaMonitorEnter", 1),
            ("jdk.JavaMonitorWait", 4),
            ("jdk.ThreadPark", 8),
            ("jdk.ExecutionSample", 2),
            ("jdk.NativeMethodSample", 2),
            ("jdk.CPULoad", 1),
            ("jdk.JVMInformation", 1),
            ("headway.MonitorContendedEnter", 1),
            ("headway.MonitorContendedExit", 2),
            ("headway.MonitorWaitBegin", 2),
            ("headway.MonitorNotify", 1),
            ("headway.MonitorReenter", 1),
            ("headway.WallSample", 2),
            ("headway.ParkBegin", 4),
            ("headway.Unpark", 1),
            ("headway.PressureWindow", 2),
            ("headway.PressurePhase", 2),
            ("headway.ParkStatistics", 1),
            ("jdk.GCPhasePause", 1),
            ("headway.Loss", 2),
            ("headway.Degraded", 1),
            ("headway.SelfCost", 1),
            ("headway.Recording", 1),
            ("headway.Lock", 2),
            ("headway.Flush", 2),
        ];
        for (name, count) in expected {
            assert_eq!(counts.get(name), Some(&count), "{name} by JDK {}", jdk.release);
        }
        assert!(jdk.jfr(&["summary"], &path).contains("Duration: 1 s"));
    }
}

/// The events of one type that `jfr print --json` shows.
fn json_events(json: &Value, ty: &str) -> Vec<Value> {
    let all = json["recording"]["events"].as_array().unwrap();
    all.iter().filter(|event| event["type"] == ty).map(|event| event["values"].clone()).collect()
}

#[test]
fn jfr_print_shows_every_field() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    write_all_events(&path);
    for jdk in Jdk::all() {
        let json: Value = serde_json::from_str(&jdk.jfr(&["print", "--json", "--stack-depth", "64"], &path)).unwrap();
        let entered = &json_events(&json, "jdk.JavaMonitorEnter")[0];
        assert_eq!(entered["duration"], "PT0.012S");
        assert_eq!(entered["monitorClass"]["name"], "com/acme/Inventory");
        assert_eq!(entered["eventThread"]["javaName"], "main");
        assert_eq!(entered["previousOwner"]["javaName"], "Arbeiter-ü");
        assert_eq!(entered["previousOwner"]["osThreadId"], 102);
        assert_eq!(entered["previousOwner"]["group"]["name"], "main");
        assert_eq!((&entered["address"], &entered["seq"]), (&9.into(), &Value::Null));
        let detail = &json_events(&json, "headway.MonitorEnterDetail")[0];
        assert_eq!((&detail["startTime"], &detail["eventThread"]), (&entered["startTime"], &entered["eventThread"]));
        // The fourth of its lock, and the one before is the third in the file, too.
        assert_eq!(detail["seqStep"], 1);
        let stack = &entered["stackTrace"];
        assert_eq!(stack["truncated"], true);
        let top = &stack["frames"][0];
        assert_eq!(top["method"]["type"]["name"], "com/acme/Inventory");
        assert_eq!(top["method"]["name"], "rebuildIndex");
        assert_eq!(top["method"]["descriptor"], "(JLjava/lang/String;)V");
        assert_eq!(
            (&top["lineNumber"], &top["bytecodeIndex"], &top["type"]),
            (&42.into(), &17.into(), &"Inlined".into())
        );
        let fields: Vec<&String> = top.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["bytecodeIndex", "lineNumber", "method", "type"]);

        let locks = json_events(&json, "headway.Lock");
        assert_eq!((&locks[0]["address"], &locks[0]["name"]), (&9.into(), &"Inventory.lock".into()));

        let exits = json_events(&json, "headway.MonitorContendedExit");
        assert_eq!((&exits[1]["cause"], &exits[1]["holderFrame"]), (&"wait".into(), &2.into()));
        assert_eq!(exits[1]["stackTrace"]["frames"][0]["method"]["name"], "pthread_cond_wait");
        let waits = json_events(&json, "jdk.JavaMonitorWait");
        let timed_out: Vec<bool> = waits.iter().map(|wait| wait["timedOut"] == true).collect();
        assert_eq!(timed_out, [false, true, false, false]);
        assert_eq!(waits[0]["timeout"], "PT0.25S");
        assert_eq!(json_events(&json, "jdk.ThreadPark")[0]["eventThread"]["virtual"], true);
        check_parks(&json);
        check_samples(&json);
        check_pressure(&json);
        assert_eq!(json_events(&json, "jdk.JVMInformation")[0]["pid"], 4711);
        assert_eq!(json_events(&json, "headway.Loss")[1]["count"], 1u64 << 40);
        assert_eq!(json_events(&json, "headway.SelfCost")[0]["ownCpu"], "PT0.005S");

        let text = jdk.jfr(&["print"], &path);
        assert!(text.contains("com.acme.Inventory.rebuildIndex(long, String) line: 42"), "JDK {}", jdk.release);
    }
}

fn check_parks(json: &Value) {
    let parks = json_events(json, "jdk.ThreadPark");
    let unparked = &parks[2];
    assert_eq!(unparked["parkedClass"]["name"], "java/util/concurrent/locks/ReentrantLock$NonfairSync");
    assert_eq!((&unparked["address"], &unparked["duration"]), (&10.into(), &"PT0.003S".into()));
    let details = json_events(json, "headway.ThreadParkDetail");
    let detail = &details[2];
    // 1 + zigzag: one further than the last, begun two before, unparked one before.
    let steps = ["seqStep", "startBack", "unparkBack"].map(|field| detail[field].as_u64());
    assert_eq!(steps, [Some(1), Some(5), Some(3)]);
    assert_eq!((&detail["outcome"], &detail["waker"]["javaName"]), (&"unparked".into(), &"Arbeiter-ü".into()));
    assert_eq!(detail["owner"]["javaName"], "Arbeiter-ü");
    assert_eq!((&parks[3]["timeout"], &details[3]["outcome"]), (&"PT1.500000001S".into(), &"timed out".into()));
    let until = parks[4]["until"].as_str().unwrap();
    assert!(until.contains(".123"), "{until}");
    let begins = json_events(json, "headway.ParkBegin");
    assert_eq!((&begins[0]["seqStep"], &begins[0]["owner"]["osThreadId"]), (&1.into(), &102.into()));
    assert_eq!(begins[0]["blocker"], "java.util.concurrent.locks.ReentrantLock$NonfairSync#10");
    assert!(begins[1]["blocker"].is_null(), "{}", begins[1]);
    let unpark = &json_events(json, "headway.Unpark")[0];
    assert_eq!((&unpark["target"]["virtual"], &unpark["seqStep"]), (&true.into(), &1.into()));
    let statistics = &json_events(json, "headway.ParkStatistics")[0];
    assert_eq!((&statistics["timesParked"], &statistics["peakParked"]), (&(1u64 << 40).into(), &64.into()));
    assert_eq!(statistics["realTime"], "PT0.015S");
}

fn check_samples(json: &Value) {
    let java = json_events(json, "jdk.ExecutionSample");
    let fields: Vec<&String> = java[0].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["sampledThread", "stackTrace", "startTime", "state"]);
    assert_eq!(java[0]["state"], "STATE_RUNNABLE");
    let details = json_events(json, "headway.SampleDetail");
    let cpus: Vec<i64> = details.iter().map(|detail| detail["cpu"].as_i64().unwrap()).collect();
    assert_eq!(cpus, [0, 65_535, -1, -1]);
    assert_eq!(details[2]["weight"], "PT0.01S");
    let wall = json_events(json, "headway.WallSample");
    let states: Vec<&Value> = wall.iter().map(|sample| &sample["state"]).collect();
    assert_eq!(states, ["STATE_RUNNABLE", "STATE_WAITING"]);
}

fn check_pressure(json: &Value) {
    let windows = json_events(json, "headway.PressureWindow");
    assert!(windows[0]["lock"].is_null());
    assert_eq!((&windows[1]["acquiring"], &windows[1]["running"]), (&"PT0.030000001S".into(), &"PT0.04S".into()));
    let phase = &json_events(json, "headway.PressurePhase")[0];
    assert_eq!((&phase["mean"], &phase["peak"]), (&0.0625.into(), &0.75.into()));
    assert_eq!(phase["stackTrace"]["frames"][0]["method"]["name"], "rebuildIndex");
    assert_eq!(phase["ownerStackTrace"]["frames"][0]["method"]["name"], "pthread_cond_wait");
}

#[test]
fn jfr_metadata_shows_our_types_like_the_jdks_own() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    write_all_events(&path);
    for jdk in Jdk::all() {
        let ours = jdk.jfr(&["metadata"], &path);
        for expected in [
            "@Name(\"headway.MonitorContendedExit\")",
            "@Category({\"Headway\", \"Locks\"})",
            "@Label(\"Monitor Contended Exit\")",
            "@Timespan(\"NANOSECONDS\")",
            "@MemoryAddress",
            "class JavaMonitorEnter extends jdk.jfr.Event",
        ] {
            assert!(ours.contains(expected), "{expected} by JDK {}", jdk.release);
        }
    }
}

#[test]
fn jfr_view_shows_contention() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    write_all_events(&path);
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.release >= 21) {
        let by_class = jdk.jfr(&["view", "contention-by-class"], &path);
        assert!(by_class.contains("com.acme.Inventory") && by_class.contains("12.0 ms"), "{by_class}");
        let by_site = jdk.jfr(&["view", "--width", "200", "contention-by-site"], &path);
        assert!(by_site.contains("rebuildIndex"), "{by_site}");
    }
}

#[test]
fn jfr_view_knows_what_was_recorded_and_every_type_it_looks_for() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    write_all_events(&path);
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.release >= 21) {
        let settings = jdk.jfr(&["view", "active-settings"], &path);
        let row = |label: &str| {
            let row = settings.lines().find(|line| line.starts_with(label)).unwrap_or_default();
            row[label.len().min(row.len())..].split_whitespace().take(4).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("Java Monitor Blocked"), "true 0 ns true", "{settings}");
        assert_eq!((row("Java Thread Park").as_str(), row("Socket Read").as_str()), ("false", "false"), "{settings}");
        for view in
            ["latencies-by-type", "pinned-threads", "thread-count", "thread-cpu-load", "safepoints", "gc-pauses"]
        {
            let shown = jdk.jfr(&["view", view], &path);
            assert!(!shown.contains("Can't find event type"), "{view} by JDK {}: {shown}", jdk.release);
        }
        assert!(jdk.jfr(&["view", "latencies-by-type"], &path).contains("Java Monitor Blocked"));
    }
}

#[test]
fn many_chunks_read_the_same_by_all_jdks() {
    let scratch = Scratch::new();
    let dictionary = synthetic::dictionary();
    let path = scratch.file("a.jfr");
    let mut config = WriterConfig::new(&path, synthetic::info());
    config.chunk_size = 64 << 10;
    let mut writer = RecordingWriter::create(config).unwrap();
    let mut stream = synthetic::Stream::new(1_500);
    for _ in 0..6 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
    }
    drop(writer);
    let packed = scratch.file("b.jfr.zst");
    let unpacked = scratch.file("c.jfr");
    repair(&path, &packed).unwrap();
    let repaired = repair(&packed, &unpacked).unwrap();
    assert!(repaired.chunks > 2 && repaired.problems.is_empty(), "{repaired:?}");
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(&unpacked).unwrap(),
        "packing and unpacking changes nothing"
    );
    for jdk in Jdk::all() {
        let text = jdk.jfr(&["print", "--events", "jdk.JavaMonitorEnter"], &path);
        assert!(!text.contains("N/A") && !text.contains("null."), "a constant is missing");
        assert!(text.matches("monitorClass = com.acme.store.Shard").count() > 1000);
        let begins = jdk.jfr(&["print", "--events", "headway.MonitorContendedEnter"], &path);
        assert!(begins.matches("lock = \"Store.shard").count() > 1000 && !begins.contains("N/A"));
    }
}
