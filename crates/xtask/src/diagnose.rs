//! `./hw diagnose`: does the report name the real bottleneck, on programs whose
//! bottleneck is known? They are in `java/diagnose`, the judging in `eval/diagnose.py`.

use crate::eval::run_quietly;
use crate::jdks::Jdks;
use crate::process::{program, run, run_and_read};
use crate::tally::Tally;
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

/// What of it is in `./hw test`: ten programs, started under Headway on one JDK and
/// attached to on another, without measuring what the fixes gain. Each that is wrong
/// prints a line that says which.
pub fn subset(jdks: &Jdks) -> Result<Tally, Problem> {
    build(jdks)?;
    let mut total = Tally::default();
    for (release, way) in [("17", "run"), ("25", "attach")] {
        let mut judge = judge(jdks);
        judge.args(["--subset", "--pairs", "0", "--seconds", "6", "--jdks", release, "--ways", way]);
        let (output, content) = run_and_read(&mut judge)?;
        total = total + Tally::of_diagnose(&output, content);
    }
    Ok(total)
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
