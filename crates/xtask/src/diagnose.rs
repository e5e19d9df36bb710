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

/// Programs of the subset that must be right.
const ALL_BUT_ONE: u64 = 9;

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
        total = total + forgiving(Tally::of_diagnose(&output, content), &output);
    }
    Ok(total)
}

/// Of ten programs one may be diagnosed wrongly: where other processes take the CPUs for
/// a second or two, that is the cause that a report of six seconds names first. Its line
/// is printed all the same. A false statement, a program that could not be recorded, or a
/// judge that did not get through them fails.
fn forgiving(tally: Tally, output: &str) -> Tally {
    let is_miss = !output.lines().any(|line| line.starts_with("FAILED") || line.trim_start().starts_with("false:"));
    match (tally.passed, tally.failed) {
        (ALL_BUT_ONE.., 1) if is_miss => Tally { failed: 0, ..tally },
        _ => tally,
    }
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

#[cfg(test)]
mod tests {
    use super::{forgiving, Tally};

    #[test]
    fn one_of_ten_may_be_wrong_and_no_more() {
        let tally = |passed, failed| Tally { passed, failed, skipped: 0 };
        let miss = "WRONG semaphore 17 run: #2 For 3.10 s\n";
        assert_eq!(forgiving(tally(9, 1), miss), tally(9, 0));
        assert_eq!(forgiving(tally(10, 0), ""), tally(10, 0));
        assert_eq!(forgiving(tally(8, 2), miss), tally(8, 2));
        assert_eq!(forgiving(tally(3, 1), miss), tally(3, 1));
        let lie = "WRONG healthy 17 run: #0 Nothing\n      false: Threads waited 3 s\n";
        assert_eq!(forgiving(tally(9, 1), lie), tally(9, 1));
        assert_eq!(forgiving(tally(9, 1), "FAILED semaphore 17 run: no recording\n"), tally(9, 1));
    }
}
