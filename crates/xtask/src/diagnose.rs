//! `./hw diagnose`: does the report name the real bottleneck, on programs whose
//! bottleneck is known? They are in `java/diagnose`, the judging in `eval/diagnose.py`.

use crate::eval::run_quietly;
use crate::jdks::Jdks;
use crate::process::{program, run};
use crate::{java, products, Problem};
use std::process::Command;

/// See the file's head.
pub fn diagnose(rest: &[String]) -> Result<(), Problem> {
    let jdks = Jdks::for_tests();
    if !rest.iter().any(|word| word == "-h" || word == "--help") {
        products::rust(&["headway-cli", "headway-agent"])?;
        build(&jdks)?;
    }
    run_quietly(judge(&jdks).args(rest))
}

fn build(jdks: &Jdks) -> Result<(), Problem> {
    let package = ["-Peval", "-pl", "diagnose", "-am", "-DskipTests", "package"];
    run(&mut java::maven(jdks.with_compiler(), &package))
}

fn judge(jdks: &Jdks) -> Command {
    let mut judge = program("python3");
    judge.args(["-B", "eval/diagnose.py"]).env("HEADWAY_BIN", products::headway());
    jdks.tell(&mut judge);
    judge
}
