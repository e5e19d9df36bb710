//! Every document that a command prints with `--json` is one that `docs/schema/` describes, key by key.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{headway, headway_with_agent, jdk, recording, said, Said};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A committed schema, in which no key is allowed that it does not describe.
fn schema(name: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(repository(&format!("docs/schema/{name}.schema.json"))).expect("a schema");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    close(&mut schema);
    jsonschema::validator_for(&schema).expect("a valid schema")
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            if parts.contains_key("properties") {
                parts.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            parts.values_mut().for_each(close);
        }
        Value::Array(parts) => parts.iter_mut().for_each(close),
        _ => {}
    }
}

fn check(name: &str, what: &[&str], document: &Value) {
    let problems: Vec<String> =
        schema(name).iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{what:?} against {name}.schema.json:\n{}", problems.join("\n"));
    assert_eq!(document["schema_version"], 1, "{what:?}");
}

/// Runs a command and checks each document that it prints.
fn prints(name: &str, directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let said = said(headway_with_agent(arguments).current_dir(directory));
    assert!(matches!(said.code, Some(0)), "{arguments:?}: {}", said.stderr);
    as_described(name, arguments, &said)
}

fn as_described(name: &str, arguments: &[&str], said: &Said) -> Vec<Value> {
    let documents: Vec<Value> =
        serde_json::Deserializer::from_str(&said.stdout).into_iter().collect::<Result<_, _>>().expect("JSON");
    assert!(!documents.is_empty(), "{arguments:?}");
    documents.iter().for_each(|document| check(name, arguments, document));
    documents
}

/// A recording with contention, parks, waits, drops and a pause, one of async-profiler, one of the JDK, and
/// a profile of coz.
fn recordings(directory: &Path) {
    let mut scenario = recording::Scenario::begin(&directory.join("shop.jfr"));
    scenario.contention();
    scenario.waiting();
    scenario.parking();
    scenario.pause();
    scenario.drops(headway_model::Loss::BufferFull, 1234);
    scenario.degraded("monitor-exit", "not available");
    scenario.finish();
    for name in ["async-profiler-4.1-jdk17.jfr.zst", "jfr-17.jfr.zst", "headway-v1-steal.jfr.zst"] {
        let golden = repository("crates/jfr/tests/golden").join(name);
        std::fs::copy(golden, directory.join(name)).expect("a copy");
    }
    let runs: String = [0.0, 0.5, 0.0, 0.5, 0.0, 0.5]
        .iter()
        .map(|speedup| {
            format!(
                "experiment\tselected=Shop.java:42\tspeedup={speedup}\tduration=500000000\tselected-samples=20\n\
                 throughput-point\tname=order\tdelta=100\n"
            )
        })
        .collect();
    std::fs::write(directory.join("runs.coz"), format!("startup\ttime=1\n{runs}runtime\ttime=5000000000\n"))
        .expect("a file");
}

#[test]
fn documents_of_recordings_are_as_described() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    recordings(directory);
    prints("report", directory, &["report", "--json", "--by", "lock,owner-chain,contender-method", "shop.jfr"]);
    prints("pressure", directory, &["report", "--json", "--pressure", "--interval", "10ms", "shop.jfr"]);
    prints("pressure", directory, &["report", "--json", "--phases", "--interval", "10ms", "shop.jfr"]);
    prints("steal", directory, &["report", "--json", "--steal", "shop.jfr"]);
    prints("method", directory, &["report", "--json", "--method", "--of", "owner", "shop.jfr"]);
    prints("diff", directory, &["diff", "--json", "--of", "contender", "shop.jfr", "shop.jfr"]);
    prints("parks", directory, &["parks", "--json", "shop.jfr"]);
    prints(
        "method",
        directory,
        &["report", "--json", "--method", "--callers-of", "hold", "async-profiler-4.1-jdk17.jfr.zst"],
    );
    let steal = prints("steal", directory, &["report", "--json", "--steal", "headway-v1-steal.jfr.zst"]);
    assert!(steal[0]["threads"].as_array().is_some_and(|threads| !threads.is_empty()), "{steal:?}");
    let causal = prints("causal", directory, &["causal", "report", "--json", "runs.coz"]);
    assert_eq!(causal[0]["targets"][0]["target"], "Shop.java:42", "{causal:?}");
    for name in ["async-profiler-4.1-jdk17.jfr.zst", "jfr-17.jfr.zst", "headway-v1-steal.jfr.zst"] {
        prints("report", directory, &["report", "--json", name]);
    }
}

#[test]
fn several_recordings_give_a_list_of_such_documents() {
    let directory = tempfile::tempdir().expect("a directory");
    recordings(directory.path());
    let arguments = ["report", "--json", "shop.jfr", "shop.jfr"];
    let said = said(headway(arguments).current_dir(directory.path()));
    let documents: Vec<Value> = serde_json::from_str(&said.stdout).expect("a list");
    assert_eq!(documents.len(), 2);
    documents.iter().for_each(|document| check("report", &arguments, document));
}

/// For longer if that was too short for an experiment, as it may be on a busy machine: the exit code says so.
fn experiments_are_as_described(directory: &Path, pid: &str) {
    let mut last = None;
    for length in ["4s", "20s", "60s"] {
        let arguments = ["causal", "record", "-d", length, "--progress", "Contended.rebuild", "--json", "--force"];
        let arguments = [&arguments[..], &["-o", "c.jfr", pid]].concat();
        let said = said(headway_with_agent(&arguments).current_dir(directory));
        if said.code == Some(0) {
            as_described("causal", &arguments, &said);
            return;
        }
        last = Some(said);
    }
    panic!("no experiments: {}", last.map_or_else(String::new, |said| said.stderr));
}

#[test]
fn documents_about_a_running_jvm_are_as_described() {
    let Some(home) = jdk::any_home() else { return };
    let Some(java) = jdk::running(&home, &[]) else { return };
    let pid = java.pid().to_string();
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    let listed = prints("list", directory, &["list", "--json"]);
    let is_ours = |jvm: &Value| jvm["pid"] == java.pid();
    assert!(listed[0]["jvms"].as_array().is_some_and(|jvms| jvms.iter().any(is_ours)), "{listed:?}");
    prints("not-loaded", directory, &["status", "--json", &pid]);
    prints("not-loaded", directory, &["stop", "--detach", "--json", &pid]);
    prints("report", directory, &["record", "-d", "1s", "--json", "-o", "a.jfr", &pid]);
    prints("steal", directory, &["report", "--steal", "--json", "a.jfr"]);
    prints("pressure", directory, &["report", "--pressure", "--json", "a.jfr"]);
    experiments_are_as_described(directory, &pid);
    let started = said(headway_with_agent(["start", "-o", "b.jfr", &pid]).current_dir(directory));
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    let pictures = prints("top", directory, &["top", "--json", "-n", "2", &pid]);
    assert_eq!(pictures.len(), 2);
    prints("parks", directory, &["parks", "--json", "-d", "500ms", &pid]);
    let status = prints("status", directory, &["status", "--json", &pid]);
    assert!(status[0]["recording"].is_string(), "{status:?}");
    prints("status", directory, &["stop", "--json", &pid]);
}
