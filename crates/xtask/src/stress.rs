//! `./hw stress --minutes N [...]`: attach, record and detach without end,
//! taking turns among JDKs, collectors and locking modes.

use crate::jdks::Jdks;
use crate::process::{program, run, target_directory};
use crate::{products, Problem};
use std::process::Command;

/// See the file's head; the options are those of `headway-stress`.
pub fn stress(rest: &[String]) -> Result<(), Problem> {
    products::rust(&["headway-cli", "headway-agent", "headway-e2e"])?;
    let jdks = Jdks::for_tests();
    products::workloads(jdks.with_compiler())?;
    run(driver(&jdks).args(rest))
}

/// `./hw soak --hours N [...]`: one JVM per JDK for hours under everything that
/// command lines can do to it; the options are those of `headway-soak`.
pub fn soak(rest: &[String]) -> Result<(), Problem> {
    products::rust(&["headway-cli", "headway-agent", "headway-e2e"])?;
    let jdks = Jdks::for_tests();
    products::workloads(jdks.with_compiler())?;
    run(built(&jdks, "headway-soak").args(rest))
}

/// The program that stresses, as built.
pub fn driver(jdks: &Jdks) -> Command {
    built(jdks, "headway-stress")
}

fn built(jdks: &Jdks, name: &str) -> Command {
    let mut driver = program(target_directory().join("release").join(name));
    driver.env("HEADWAY_BIN", products::headway());
    jdks.tell(&mut driver);
    driver
}
