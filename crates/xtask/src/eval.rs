//! `./hw eval`: what profilers cost and find, side by side, on real programs.
//!
//! Everything that is measured is in `eval/`; here it is only seen to that what
//! it needs is built: the products, the programs (a Maven profile of their own,
//! because of what they draw in; those that draw in most are modules of their
//! own, built if they are asked for), and a Python with the libraries for
//! numbers and charts, in `build/`.

use crate::jdks::Jdks;
use crate::process::{program, run, run_and_read, target_directory};
use crate::python::packages;
use crate::{java, products, Problem};
use std::process::{Command, ExitStatus, Stdio};

const REQUIREMENTS: &str = "eval/requirements.txt";
/// With these nothing is measured.
const BUILDS_NOTHING: [&str; 5] = ["-h", "--help", "--report-only", "--plan", MODULES];
/// Names what must be built of `java/`.
const MODULES: &str = "--modules";

/// See the file's head.
pub fn eval(rest: &[String]) -> Result<(), Problem> {
    let jdks = Jdks::for_tests();
    if rest.iter().any(|word| BUILDS_NOTHING.contains(&word.as_str())) {
        return run_quietly(&mut evaluate(rest, &jdks)?);
    }
    // What was typed wrongly is said now, not when everything has been built.
    let modules = modules(evaluate(rest, &jdks)?)?;
    products::rust(&["headway-cli", "headway-agent"])?;
    run(&mut java::maven(jdks.with_compiler(), &["-Peval", "-pl", &modules, "-am", "-DskipTests", "package"]))?;
    run_quietly(&mut evaluate(rest, &jdks)?)
}

fn evaluate(rest: &[String], jdks: &Jdks) -> Result<Command, Problem> {
    let mut evaluate = python()?;
    evaluate.args(["-B", "eval/evaluate.py"]).args(rest);
    jdks.tell(&mut evaluate);
    evaluate.env("HEADWAY_AGENT", target_directory().join("release/libheadway.so"));
    evaluate.env("HEADWAY_BIN", products::headway());
    Ok(evaluate)
}

/// What must be built of `java/`, with commas between.
fn modules(mut evaluate: Command) -> Result<String, Problem> {
    let output = evaluate.arg(MODULES).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("cannot run python3: {e}"))?;
    as_told(output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(","))
}

/// Every program compiles. What they are made of is fetched for this only if `is_fetched`:
/// false if it is not here.
pub fn compiles(jdks: &Jdks, is_fetched: bool) -> Result<bool, Problem> {
    let compile = ["-Peval", "-pl", "causes,diagnose,eval-workloads,eval-cassandra", "-am", "compile", "-o"];
    let compile = if is_fetched { &compile[..5] } else { &compile[..] };
    let (output, content) = run_and_read(&mut java::maven(jdks.with_compiler(), compile))?;
    match content {
        true => Ok(true),
        false if output.contains("in offline mode") => Ok(false),
        false => Err("programs of the evaluation do not compile".into()),
    }
}

/// It has said itself what was wrong: its exit code is ours.
pub fn run_quietly(evaluate: &mut Command) -> Result<(), Problem> {
    as_told(evaluate.status().map_err(|e| format!("cannot run python3: {e}"))?)
}

fn as_told(status: ExitStatus) -> Result<(), Problem> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code),
        None => Err(format!("eval/evaluate.py ended with {status}").into()),
    }
}

/// The system's Python with the pinned libraries.
pub fn python() -> Result<Command, Problem> {
    let libraries = packages("eval-python", REQUIREMENTS)?;
    let mut python = program("python3");
    python.env("PYTHONPATH", libraries);
    Ok(python)
}
