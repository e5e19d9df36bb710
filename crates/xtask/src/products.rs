//! `./hw build`: what is shipped, optimised, and the workloads.

use crate::process::{cargo, run, target_directory};
use crate::{java, page, takes_nothing, Problem};
use std::path::PathBuf;

/// The command line, with the agent's library beside it.
pub fn headway() -> PathBuf {
    target_directory().join("release/headway")
}

/// Builds everything that is missing or out of date.
pub fn build(rest: &[String]) -> Result<(), Problem> {
    takes_nothing(rest)?;
    rust(&["headway-cli", "headway-agent"])?;
    workloads(None)
}

/// Builds these crates, optimised; before the command the page that it holds.
pub fn rust(crates: &[&str]) -> Result<(), Problem> {
    if crates.contains(&"headway-cli") {
        page::build()?;
    }
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]);
    for name in crates {
        build.args(["-p", name]);
    }
    run(&mut build)
}

/// Packs the workloads if that has not been done.
pub fn workloads(jdk: Option<&PathBuf>) -> Result<(), Problem> {
    match java::is_packed() {
        true => Ok(()),
        false => run(&mut java::maven(jdk, &["-DskipTests", "package"])),
    }
}
