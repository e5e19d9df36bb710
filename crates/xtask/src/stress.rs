//! `./hw stress --minutes N [...]`: attach, record and detach without end,
//! taking turns among JDKs, collectors and locking modes.

use crate::jdks::Jdks;
use crate::process::{cargo, program, run, target_directory};
use crate::{products, Misuse, Problem};
use std::process::Command;

/// See the file's head; the options are those of `headway-stress`.
pub fn stress(rest: &[String]) -> Result<(), Problem> {
    products::rust(&["headway-cli", "headway-agent", "headway-e2e"])?;
    let jdks = Jdks::for_tests();
    products::workloads(jdks.with_compiler())?;
    run(driver(&jdks).args(rest))
}

/// `./hw soak --hours N [...]`: one JVM per JDK for hours under everything that
/// command lines can do to it; the options are those of `headway-soak`. `./hw soak --metrics`:
/// ten minutes of churn under Prometheus instead; `./hw soak --accuracy`: the tests that `./hw test`
/// runs on two of the three JDKs, on every one; `./hw soak --page`: the page's sums of a hundred thousand threads and a
/// million locks.
pub fn soak(rest: &[String]) -> Result<(), Problem> {
    let alone =
        ["--metrics", "--accuracy", "--page"].into_iter().find(|alone| rest.iter().any(|option| option == alone));
    if let Some(alone) = alone.filter(|_| rest.len() > 1) {
        return Err(Misuse(format!("{alone} takes no other option")).into());
    }
    if alone == Some("--page") {
        crate::page::build()?;
        let test = ["test", "--release", "-p", "headway-page", "--locked", "--test", "many"];
        return run(cargo().args(test).env("HEADWAY_MANY", "true").args(["--", "--nocapture"]));
    }
    products::rust(&["headway-cli", "headway-agent", "headway-e2e"])?;
    let jdks = Jdks::for_tests();
    products::workloads(jdks.with_compiler())?;
    match alone {
        Some("--metrics") => churn(&jdks),
        Some(_) => accuracy(&jdks),
        None => run(built(&jdks, "headway-soak").args(rest)),
    }
}

/// Packages and tests of which `./hw test` leaves out a part.
const ON_EVERY_JDK: [(&str, &[&str]); 2] =
    [("headway-e2e", &["accuracy", "parks", "samples"]), ("headway-hotspot-probe", &["agreement"])];

/// These tests whole.
fn accuracy(jdks: &Jdks) -> Result<(), Problem> {
    for (package, tests) in ON_EVERY_JDK {
        let mut accuracy = cargo();
        accuracy.args(["test", "-p", package, "--locked", "--no-fail-fast"]);
        accuracy.args(tests.iter().flat_map(|test| ["--test", test])).args(["--", "--nocapture"]);
        accuracy.env("HEADWAY_EVERY_JDK", "true");
        run(&mut with_products(jdks, accuracy))?;
    }
    Ok(())
}

/// Seconds that Prometheus scrapes programs whose locks die.
const CHURN_SECONDS: &str = "600";

/// The test of metrics under churn, for longer than `./hw test` has time for.
fn churn(jdks: &Jdks) -> Result<(), Problem> {
    let test = "under_churn_series_are_bounded_and_sums_are_those_of_the_recording";
    let mut churn = cargo();
    churn.args(["test", "-p", "headway-e2e", "--locked", "--test", "metrics", test, "--", "--exact", "--nocapture"]);
    churn.env("HEADWAY_CHURN_SECONDS", CHURN_SECONDS);
    run(&mut with_products(jdks, churn))
}

/// The program that stresses, as built.
pub fn driver(jdks: &Jdks) -> Command {
    built(jdks, "headway-stress")
}

fn built(jdks: &Jdks, name: &str) -> Command {
    with_products(jdks, program(target_directory().join("release").join(name)))
}

/// A program that finds the command line and the JDKs.
fn with_products(jdks: &Jdks, mut program: Command) -> Command {
    program.env("HEADWAY_BIN", products::headway());
    jdks.tell(&mut program);
    program
}
