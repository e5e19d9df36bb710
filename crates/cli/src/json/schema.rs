//! The JSON Schemas of all documents, compared with the committed ones in `docs/schema/`.
//!
//! `HEADWAY_RENEW_SCHEMA=1 cargo test -p headway-cli json::schema` writes them again.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

use crate::agent::reply::{NotLoaded, Reply};
use crate::command::diff::DiffDocument;
use crate::command::list::JvmList;
use crate::command::method::MethodDocument;
use headway_analysis::document::Document;
use headway_analysis::park::statistics::ParkStatisticsReport;
use headway_analysis::pressure::live::Picture;
use headway_analysis::pressure::pressure_report::PressureReport;
use headway_analysis::report::Report;
use headway_analysis::steal::steal_report::StealReport;
use schemars::generate::SchemaSettings;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Every kind of document: its file, what prints it, its schema.
fn schemas() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        of::<JvmList>("list", "headway list --json"),
        of::<Report>("report", "headway report --json, and of record and run"),
        of::<PressureReport>("pressure", "headway report --pressure --json and --phases --json"),
        of::<StealReport>("steal", "headway report --steal --json"),
        of::<MethodDocument>("method", "headway report --method --json"),
        of::<DiffDocument>("diff", "headway diff --json"),
        of::<ParkStatisticsReport>("parks", "headway parks --json, and a line of --park-json"),
        of::<Picture>("top", "a line of headway top --json"),
        of::<Reply>("status", "headway status --json and stop --json"),
        of::<NotLoaded>("not-loaded", "headway status --json and stop --detach --json of a JVM without the agent"),
        of::<headway_causal::gains::Report>("causal", "headway causal report --json, and of causal run and record"),
    ]
}

fn of<T: JsonSchema>(name: &'static str, printed_by: &'static str) -> (&'static str, &'static str, Value) {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Document<T>>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), printed_by.into());
        if let Some(described) = description::<T>() {
            root.insert("description".to_owned(), described);
        }
    }
    (name, printed_by, schema)
}

/// What the type says about itself; [`Document`] says nothing about its content.
fn description<T: JsonSchema>() -> Option<Value> {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.get("description").cloned()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

#[test]
fn the_committed_schemas_are_current() {
    let renew = std::env::var_os("HEADWAY_RENEW_SCHEMA").is_some();
    for (name, _, schema) in schemas() {
        let path = directory().join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
        if renew {
            std::fs::write(&path, &text).expect("a file");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "docs/schema/{name}.schema.json is not current: renew it with HEADWAY_RENEW_SCHEMA=1"
        );
    }
}

#[test]
fn every_key_is_described() {
    let mut without = Vec::new();
    for (name, _, schema) in schemas() {
        undescribed(&schema, name, &mut without);
    }
    assert_eq!(without, [""; 0], "a key needs a doc comment");
}

/// Collects the keys below `schema` that have no description.
fn undescribed(schema: &Value, at: &str, without: &mut Vec<String>) {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (key, property) in properties {
        let described = property.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if !described {
            without.push(format!("{at}.{key}"));
        }
    }
    match schema {
        Value::Object(parts) => parts.iter().for_each(|(key, part)| undescribed(part, &format!("{at}.{key}"), without)),
        Value::Array(parts) => parts.iter().for_each(|part| undescribed(part, at, without)),
        _ => {}
    }
}

#[test]
fn keys_are_written_alike() {
    let mut odd = Vec::new();
    for (name, _, schema) in schemas() {
        keys(&schema, &mut |key| {
            if !key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
                odd.push(format!("{name}: {key}"));
            }
        });
    }
    assert_eq!(odd, [""; 0]);
}

/// The words that `./hw tidy` refuses in sources and documents, as they would stand in a key.
fn refused_words() -> Vec<String> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/src/tidy/words.txt");
    let list = std::fs::read_to_string(list).expect("the list of words");
    let entries = list.lines().filter(|line| !line.starts_with(['#', ' ']) && line.contains('|'));
    let words = entries.flat_map(|line| line.split('|').next().unwrap_or_default().split(';').map(str::trim));
    words.filter(|word| !word.is_empty()).map(|word| format!("_{}_", word.replace([' ', '-'], "_"))).collect()
}

#[test]
fn keys_are_words_of_the_glossary() {
    let refused = refused_words();
    assert!(refused.iter().any(|word| word == "_hand_over_"), "{refused:?}");
    let mut odd = Vec::new();
    for (name, _, schema) in schemas() {
        keys(&schema, &mut |key| {
            if refused.iter().any(|word| format!("_{key}_").contains(word)) {
                odd.push(format!("{name}: {key}"));
            }
        });
    }
    assert_eq!(odd, [""; 0], "see docs/glossary.md");
}

fn keys(schema: &Value, take: &mut impl FnMut(&str)) {
    let Some(parts) = schema.as_object() else {
        schema.as_array().into_iter().flatten().for_each(|part| keys(part, take));
        return;
    };
    for (key, part) in parts {
        if key == "properties" {
            part.as_object().into_iter().flat_map(Map::keys).for_each(|key| take(key));
        }
        keys(part, take);
    }
}
