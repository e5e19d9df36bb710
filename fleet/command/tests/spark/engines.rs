//! A generated store, and both engines asked about it.

use crate::equal::{of_file, Rows};
use headway_generator::{fill, Plan, Spec};
use headway_store::Store;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// How the command is started, on which store, and where answers may be written.
pub struct Fleet<'a> {
    pub program: &'a dyn Fn() -> Command,
    pub place: &'a str,
    pub folder: &'a Path,
}

/// A fleet in which every view has rows: two hours of two versions, phases, a JVM without running time, others without
/// steal time, rows without stacks.
pub fn spec() -> Spec {
    Spec {
        seed: 5,
        minutes: 70,
        services: 2,
        hosts: 4,
        jvms: 6,
        sites: 20,
        busy: 4.0,
        regressions: 1,
        effect: 3.0,
        outliers: 1,
        ..Spec::default()
    }
}

/// The first day is compacted and the second is not; [`Fleet::keep_hours`] does the rest. Files from before the
/// compaction lie there still: whoever reads what lies in the folders, and not what the manifests name, has rows twice.
pub async fn fill_partly_compacted(store: &Store) {
    let plan = Plan::of(&spec()).expect("a plan");
    fill(store, &plan, false, |_, _| {}).await.expect("rows");
    let compacted = store.compact(spec().first).await.expect("a compaction");
    assert!(compacted.files_after < compacted.files_before, "{compacted:?}");
}

/// Runs a command that succeeds; gives its standard output.
pub fn run(mut command: Command) -> String {
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

impl Fleet<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = (self.program)();
        command.args(words);
        command
    }

    /// Keeps the hours of the first day. Those of the second are made from its minutes by whoever asks.
    pub fn keep_hours(&self) {
        let first = spec().first.to_string();
        run(self.command(&["fleet", "compact", "--store", self.place, "--to", &first]));
        let tables: Value = serde_json::from_str(&self.tables()).expect("JSON");
        let tables = tables["tables"].as_array().expect("tables");
        for name in ["lock_hour_part", "load_hour_part", "lock_minute_open", "load_minute_open"] {
            let table = tables.iter().find(|table| table["name"] == name).expect(name);
            assert!(!table["files"].as_array().expect("files").is_empty(), "{name} has no files");
        }
    }

    fn tables(&self) -> String {
        run(self.command(&["fleet", "tables", "--store", self.place]))
    }

    /// The rows of a view as `headway sql` has them.
    pub fn embedded(&self, view: &str) -> Rows {
        let file = self.folder.join(format!("{view}.parquet"));
        let mut command = self.command(&["sql", &format!("SELECT * FROM {view}"), self.place]);
        command.args(["--format", "parquet", "--output"]).arg(&file);
        run(command);
        of_file(&file)
    }
}

/// Names of all views.
pub fn views(fleet: &Fleet<'_>) -> Vec<String> {
    let tables: Value = serde_json::from_str(&fleet.tables()).expect("JSON");
    let views = tables["views"].as_array().expect("views").iter();
    views.map(|view| view["name"].as_str().expect("a name").to_owned()).collect()
}

/// `fleet submit` with a place for answers; jobs and options are to be added.
pub fn spark(fleet: &Fleet<'_>, output: &str) -> Command {
    let home = std::env::var_os("HEADWAY_SPARK").expect("HEADWAY_SPARK; ./hw test sets it");
    let mut command = fleet.command(&["fleet", "submit", "--store", fleet.place, "--output", output]);
    command.env("SPARK_HOME", home);
    command
}
