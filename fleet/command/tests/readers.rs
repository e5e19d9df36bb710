//! DuckDB and pandas read the same rows from a store's files as `headway sql`. `./hw test` runs it; `HEADWAY_READERS` is
//! the folder with their Python packages (`fleet/readers/requirements.txt`).

use headway_generator::{fill, Plan, Spec};
use headway_store::Store;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// `fleet/readers/sums.py` has sums modulo this.
const MODULUS: i64 = (1 << 31) - 1;

fn said(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn fleet(words: &[&str]) -> String {
    said(Command::new(env!("CARGO_BIN_EXE_headway-fleet")).args(words))
}

/// Columns that are sums, not ids.
fn is_sum(column: &str) -> bool {
    let counts = ["contentions", "waits", "operations", "dropped", "samples", "jvms", "folded"];
    column.ends_with("_ns") || counts.contains(&column)
}

#[test]
fn duckdb_and_pandas_read_what_headway_reads() {
    let packages = std::env::var_os("HEADWAY_READERS").expect("HEADWAY_READERS; ./hw test sets it");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    let spec = Spec { seed: 5, minutes: 70, services: 2, hosts: 4, jvms: 6, sites: 20, busy: 4.0, ..Spec::default() };
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open_or_make(&place).await.expect("a store");
        fill(&store, &Plan::of(&spec).expect("a plan"), false, |_, _| {}).await.expect("rows");
    });
    // The first day has one file for each table and bucket, and hours; the second has small files.
    fleet(&["fleet", "compact", "--store", &place, "--to", &spec.first.to_string()]);
    let tables = folder.path().join("tables.json");
    std::fs::write(&tables, fleet(&["fleet", "tables", "--store", &place])).expect("written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../readers/sums.py");
    let sums = said(Command::new("python3").arg(script).arg(&tables).env("PYTHONPATH", packages));
    let sums: Value = serde_json::from_str(&sums).expect("JSON");
    let sums = sums.as_object().expect("tables");
    for name in
        ["jvm_part", "site_part", "stack_part", "lock_minute", "wait_minute", "load_minute", "phase", "lock_hour_part"]
    {
        assert!(sums.contains_key(name), "{name} has no rows: {:?}", sums.keys());
    }
    let mut compared = 0;
    for (name, of_table) in sums {
        let (duckdb, pandas) = (&of_table["duckdb"], &of_table["pandas"]);
        assert_eq!(duckdb, pandas, "{name}");
        let columns = duckdb.as_object().expect("columns").keys().filter(|column| is_sum(column));
        let columns: Vec<_> = columns.collect();
        let asked = columns.iter().map(|column| format!(", sum({column}) AS {column}")).collect::<String>();
        let embedded =
            fleet(&["sql", &format!("SELECT count(*) AS rows{asked} FROM {name}"), &place, "--format", "json"]);
        let embedded: Value = serde_json::from_str(&embedded).expect("JSON");
        for column in columns.into_iter().map(String::as_str).chain(["rows"]) {
            let sum = embedded[column].as_i64().unwrap_or_else(|| panic!("{name}.{column}: {embedded}"));
            assert!(sum >= 0, "{name}.{column}");
            assert_eq!(duckdb[column], sum % MODULUS, "{name}.{column}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared} sums are compared");
    for (table, count) in [("lock_minute", "contentions"), ("wait_minute", "waits")] {
        assert_eq!(sums[table]["duckdb"]["histogram"], sums[table]["duckdb"][count], "{table}");
    }
}
