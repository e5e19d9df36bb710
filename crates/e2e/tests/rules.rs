//! Mission Control's rules of one run of a program, as JFR and Headway record it side by
//! side: as many are applicable, and the one about blocking names the same lock.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The events that Headway records, too, with the periods of JFR's `profile`; locks without a
/// threshold, so that both have the same contentions.
const SAME_EVENTS: [(&str, &str, &str); 11] = [
    ("jdk.JavaMonitorEnter", "threshold", "0 ms"),
    ("jdk.JavaMonitorWait", "threshold", "0 ms"),
    ("jdk.ThreadPark", "threshold", "0 ms"),
    ("jdk.ExecutionSample", "period", "10 ms"),
    ("jdk.NativeMethodSample", "period", "20 ms"),
    ("jdk.CPULoad", "period", "1000 ms"),
    ("jdk.GCPhasePause", "threshold", "0 ms"),
    ("jdk.JVMInformation", "period", "beginChunk"),
    ("jdk.ThreadStart", "stackTrace", "true"),
    ("jdk.ThreadEnd", "stackTrace", "false"),
    ("jdk.ActiveSetting", "stackTrace", "false"),
];

fn settings() -> String {
    let event = |(name, setting, value): &(&str, &str, &str)| {
        format!(
            "<event name=\"{name}\"><setting name=\"enabled\">true</setting>\
             <setting name=\"{setting}\">{value}</setting></event>\n"
        )
    };
    let events: String = SAME_EVENTS.iter().map(event).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <configuration version=\"2.0\" label=\"same\" description=\"same\" provider=\"Headway\">\n\
         {events}</configuration>\n"
    )
}

/// What the rules that are applicable say, by name.
fn rules(jdk: &Jdk, jar: &Path, recording: &Path) -> BTreeMap<String, String> {
    let arguments = [Path::new("-jar"), jar, recording, Path::new("--rules")];
    let output = tools::run(&jdk.tool("java"), arguments).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rule = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        (!rest.starts_with("NA ")).then(|| (name.to_owned(), rest.to_owned()))
    };
    text.lines().filter_map(rule).collect()
}

/// `com.acme.Lock` of `The most blocking monitor class was ''com.acme.Lock'', which`.
fn most_blocking(rules: &BTreeMap<String, String>) -> String {
    let text = rules.get("JavaBlocking").unwrap_or_else(|| panic!("no JavaBlocking in {:?}", rules.keys()));
    let class = text.split("monitor class was ").nth(1).and_then(|rest| rest.split(',').next());
    class.unwrap_or_else(|| panic!("no class in {text}")).trim_matches('\'').to_owned()
}

#[test]
fn as_many_rules_are_applicable_as_to_jfrs_recording_and_name_the_same_lock() {
    let jar: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java/jmc-check/target/headway-jmc-check.jar");
    if !jar.is_file() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", jar.display());
        eprintln!("SKIPPED: {} is missing (mvn -f java package builds it)", jar.display());
        return;
    }
    let tools = Tools::find().unwrap();
    let scratch = TempDir::new().unwrap();
    let (ours, theirs, same) =
        (scratch.path().join("headway.jfr"), scratch.path().join("jfr.jfr"), scratch.path().join("same.jfc"));
    fs::write(&same, settings()).unwrap();
    let jdk = Jdk::find(25).or_else(|| Jdk::find(17)).expect("a JDK");
    let mut java = Command::new(jdk.tool("java"));
    java.arg(format!("-agentpath:{}=start,file={},events=monitor+park+cpu", tools.agent.display(), ours.display()));
    java.arg(format!("-XX:StartFlightRecording=filename={},settings={}", theirs.display(), same.display()));
    java.arg("-Xlog:jfr*=off").arg("-jar").arg(&tools.workloads).args(["demo", "--seconds", "5"]);
    let mut child = Guarded(java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    assert!(tools::wait_at_most(&mut child, Duration::from_secs(120)).unwrap().success());
    let (ours, theirs) = (rules(&jdk, &jar, &ours), rules(&jdk, &jar, &theirs));
    println!("{} rules of Headway's recording, {} of JFR's", ours.len(), theirs.len());
    assert!(ours.len() >= theirs.len(), "{:?} beside {:?}", ours.keys(), theirs.keys());
    assert!(theirs.len() > 10, "{theirs:?}");
    assert_eq!(most_blocking(&ours), most_blocking(&theirs));
}
