//! Spark searches for regressions and finds what `fleet regressions` finds: every word and every digit.

use crate::{fleet, ON_THIS_MACHINE};
use headway_generator::{Plan, Regression, Spec};
use headway_rollup::rows::{Jvm, Rolled};
use headway_store::Store;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A service with one version, whose name is no easy text in any language.
const ALONE: &str = r#"o'er \ "a\tb" {x}"#;

struct Searched {
    folder: tempfile::TempDir,
    planted: Regression,
}

/// Of two services one has a lock that became worse; a third one has only one version.
fn searched() -> Searched {
    let spec = Spec {
        seed: 11,
        days: 10,
        minutes: 60,
        services: 2,
        hosts: 5,
        jvms: 10,
        sites: 8,
        busy: 8.0,
        regressions: 1,
        effect: 20.0,
        ..Spec::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let plan = Plan::of(&spec).expect("a plan");
    let place = folder.path().join("rows");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open_or_make(place.to_str().expect("UTF-8")).await.expect("a store");
        headway_generator::fill(&store, &plan, true, |_, _| {}).await.expect("rows");
        for rolled in plan.rows(1, spec.first) {
            let jvm = Jvm { id: !rolled.jvm.id, service: ALONE.into(), version: "1".into(), ..rolled.jvm.clone() };
            store.deliver(&Rolled { jvm, ..rolled }).await.expect("a delivery");
        }
    });
    let planted = plan.truth().regressions[0].clone();
    Searched { folder, planted }
}

/// What a command ended with.
#[derive(Debug, PartialEq)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    /// Of the standard error the lines of `headway-fleet`: Spark has many more.
    said: Vec<String>,
}

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let log = text(output.stderr);
    let said = log.lines().filter(|line| line.starts_with("headway-fleet: ")).map(str::to_owned).collect();
    println!("{log}");
    Ended { code: output.status.code(), stdout: text(output.stdout), said }
}

impl Searched {
    fn place(&self) -> PathBuf {
        self.folder.path().join("rows")
    }

    fn embedded(&self, words: &[&str]) -> Ended {
        let mut command = fleet();
        command.args(["fleet", "regressions", "--store"]).arg(self.place()).args(words);
        ended(command.output().expect("it starts"))
    }

    fn on_spark(&self, words: &[&str]) -> Ended {
        let mut command = self.submit(words);
        ended(command.arg("--").args(ON_THIS_MACHINE).output().expect("it starts"))
    }

    fn submit(&self, words: &[&str]) -> Command {
        let mut command = fleet();
        command.args(["fleet", "submit", "--store"]).arg(self.place()).arg("--regressions").args(words);
        command.env("SPARK_HOME", std::env::var_os("HEADWAY_SPARK").expect("HEADWAY_SPARK; ./hw test sets it"));
        command
    }
}

#[test]
fn spark_finds_what_the_embedded_engine_finds() {
    let searched = searched();
    let words = ["--json", "--fail", "--min-share", "0"];
    let embedded = searched.embedded(&words);
    let found: Value = serde_json::from_str(&embedded.stdout).expect("JSON");
    let planted = &searched.planted;
    let lock = &found["services"][0]["locks"][0];
    assert_eq!((embedded.code, &found["regressions"]), (Some(5), &1.into()), "{}", embedded.stdout);
    assert_eq!((&lock["site_id"], &lock["verdict"]), (&planted.site_id.into(), &"regression".into()), "{lock}");
    assert!(lock["waiter_stack"].as_array().is_some_and(|stack| !stack.is_empty()), "{lock}");
    assert_eq!(found["services"].as_array().map(Vec::len), Some(2));
    assert_eq!(found["single_version"], serde_json::json!([ALONE]));
    assert_eq!(searched.on_spark(&words), embedded);
}

#[test]
fn nothing_is_found_where_nothing_changed_or_nothing_is() {
    let searched = searched();
    for (words, code, sentence) in [
        (&["--fail", "--service", "service001", "--min-share", "0"][..], 0, "no regression in 8 locks"),
        (&["--service", ALONE], 0, "Only one version: "),
        (&["--service", "service009"], 2, "the store has no rows of service service009"),
    ] {
        let embedded = searched.embedded(words);
        let said = format!("{}{}", embedded.stdout, embedded.said.concat());
        assert!(embedded.code == Some(code) && said.contains(sentence), "{said}");
        assert_eq!(searched.on_spark(words), embedded);
    }
}

/// A program that searches, but does not run where workers are.
fn for_this_machine_only(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("headway-fleet");
    let program = env!("CARGO_BIN_EXE_headway-fleet");
    let text = format!(
        "#!/bin/sh\n[ $2 = search ] && exec {program} \"$@\"\necho it was built for another CPU >&2\nexit 126\n"
    );
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    script
}

#[test]
fn a_worker_that_cannot_run_the_program_is_said() {
    let searched = searched();
    let job = searched.folder.path().join("job");
    let mut prepare = searched.submit(&["--fail", "--prepare"]);
    let prepared = ended(prepare.arg(&job).output().expect("it starts")).stdout;
    assert!(prepared.contains(" --regressions --days=14 ") && prepared.ends_with(" --fail\n"), "{prepared}");
    // As it is typed without `headway`.
    let home = PathBuf::from(std::env::var_os("HEADWAY_SPARK").expect("HEADWAY_SPARK; ./hw test sets it"));
    let submit = |program: &Path| {
        let mut command = Command::new(home.join("bin/spark-submit"));
        command.env("PYSPARK_PYTHON", "python3").args(ON_THIS_MACHINE).arg(job.join("headway_fleet_spark.py"));
        command.arg("--tables").arg(job.join("tables.json")).arg("--headway-fleet").arg(program);
        command.args(["--regressions", "--service", "service000"]).output().expect("it starts")
    };
    // Spark puts both on the standard output.
    let sentence =
        "headway-fleet: headway-fleet failed on a worker of Spark (exit code 126): it was built for another CPU\n";
    let failed = ended(submit(&for_this_machine_only(searched.folder.path())));
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), sentence));
    let nowhere = ended(submit(Path::new("/nowhere/headway-fleet")));
    let sentence = "headway_fleet_spark: there is no program /nowhere/headway-fleet here; --headway-fleet names it\n";
    assert_eq!((nowhere.code, nowhere.stdout.as_str()), (Some(1), sentence));
}
