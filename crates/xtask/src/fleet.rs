//! The workspace `fleet/`: checks and tests, like those of the workspace above it.

use crate::process::{cargo, root, run, run_and_read};
use crate::tally::Tally;
use crate::Problem;
use std::process::Command;

/// Cargo in the fleet's workspace, which has its own lock file and target directory.
fn in_fleet() -> Command {
    let mut command = cargo();
    command.current_dir(root().join("fleet"));
    command
}

/// Is it formatted?
pub fn format() -> Result<(), Problem> {
    run(in_fleet().args(["fmt", "--all", "--check"]))
}

/// Does clippy have nothing to say? In tests panics are allowed.
pub fn lints(allowed_in_tests: &[&str]) -> Result<(), Problem> {
    let clippy = || {
        let mut clippy = in_fleet();
        clippy.args(["clippy", "--workspace", "--locked", "--quiet", "--keep-going"]);
        clippy
    };
    run(clippy().args(["--", "-D", "warnings"]))?;
    run(clippy().args(["--tests", "--", "-D", "warnings"]).args(allowed_in_tests))
}

/// All its tests.
pub fn tests() -> Result<Tally, Problem> {
    let mut tests = in_fleet();
    tests.args(["test", "--workspace", "--locked", "--no-fail-fast", "--", "--show-output"]);
    let (output, content) = run_and_read(&mut tests)?;
    Ok(Tally::of_cargo(&output, content))
}
