//! `./hw diagnose`: does the report name the real bottleneck, on programs whose
//! bottleneck is known? They are in `java/diagnose`, the judging in `eval/diagnose.py`.

use crate::eval::{python, run_quietly};
use crate::jdks::Jdks;
use crate::process::{run, run_and_read};
use crate::tally::Tally;
use crate::{java, products, Problem};
use std::process::Command;

const PROGRAMS: &str = "diagnose";
/// With Mission Control's rules, which `--peers` runs.
const PROGRAMS_AND_RULES: &str = "diagnose,jmc-check";

/// A program for each known cause, which `--catalogue` runs.
const CAUSES: &str = "causes";

/// See the file's head.
pub fn diagnose(rest: &[String]) -> Result<(), Problem> {
    let jdks = Jdks::for_tests();
    let asks = |option: &str| rest.iter().any(|word| word.split('=').next() == Some(option));
    if !asks("-h") && !asks("--help") {
        products::rust(&["headway-cli", "headway-agent"])?;
        let modules = match (asks("--catalogue"), asks("--peers")) {
            (true, _) => CAUSES,
            (false, true) => PROGRAMS_AND_RULES,
            (false, false) => PROGRAMS,
        };
        build(&jdks, modules)?;
    }
    run_quietly(judge(&jdks)?.args(rest))
}

/// What of it is in `./hw test`: ten programs, started under Headway on one JDK and
/// attached to on another, without measuring what the fixes gain. Each that is wrong
/// prints a line that says which.
pub fn subset(jdks: &Jdks) -> Result<Tally, Problem> {
    build(jdks, PROGRAMS)?;
    let mut total = Tally::default();
    for (release, way) in [("17", "run"), ("25", "attach")] {
        let mut judge = judge(jdks)?;
        judge.args(["--subset", "--pairs", "0", "--seconds", "6", "--jdks", release, "--ways", way]);
        let (output, content) = run_and_read(&mut judge)?;
        total = total + Tally::of_diagnose(&output, content);
    }
    Ok(total)
}

fn build(jdks: &Jdks, modules: &str) -> Result<(), Problem> {
    let package = ["-Peval", "-pl", modules, "-am", "-DskipTests", "package"];
    run(&mut java::maven(jdks.with_compiler(), &package))
}

fn judge(jdks: &Jdks) -> Result<Command, Problem> {
    let mut judge = python()?;
    judge.args(["-B", "eval/diagnose.py"]).env("HEADWAY_BIN", products::headway());
    jdks.tell(&mut judge);
    Ok(judge)
}
