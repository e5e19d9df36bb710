//! Apache Spark answers what `headway sql` answers, on every view, and finds the same regressions. `./hw test` runs it; `HEADWAY_SPARK` is Spark's
//! folder (`SPARK_HOME`).

mod engines;
mod equal;
mod search;

use engines::{fill_partly_compacted, spark, views, Fleet};
use equal::{check, of_folder};
use headway_store::Store;
use std::process::Command;

/// One application, on this machine: what it costs to start one is most of the time.
const ON_THIS_MACHINE: [&str; 10] = [
    "--master",
    "local[2]",
    "--conf",
    "spark.ui.enabled=false",
    "--conf",
    "spark.sql.shuffle.partitions=2",
    "--conf",
    "spark.sql.adaptive.enabled=false",
    // So little data is done before the second compiler is.
    "--driver-java-options",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
];

fn fleet() -> Command {
    Command::new(env!("CARGO_BIN_EXE_headway-fleet"))
}

#[test]
fn every_view_has_the_same_rows_on_both_engines() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async { fill_partly_compacted(&Store::open_or_make(&place).await.expect("a store")).await });
    let engines = Fleet { program: &fleet, place: &place, folder: folder.path() };
    engines.keep_hours();
    let answers = folder.path().join("answers");
    let views = views(&engines);
    let mut submit = spark(&engines, answers.to_str().expect("UTF-8"));
    submit.args(views.iter().flat_map(|view| ["--view", view])).arg("--").args(ON_THIS_MACHINE);
    engines::run(submit);
    for view in &views {
        check(view, &engines.embedded(view), &of_folder(&answers.join(view)));
    }
}
