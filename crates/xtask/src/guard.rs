//! `./hw guard [--renew]`: what fixed work costs, in counts that do not depend
//! on how busy the machine is, against `crates/guard/baseline.txt`.
//!
//! Instructions are counted by callgrind, which runs the program in a simulated
//! processor; allocations and bytes by `crates/guard` itself. Timed comparisons
//! are for `./hw eval`. A cost that grew is a failure here and has to be mended,
//! or meant: `--renew` writes the baseline again, and the commit says why.

mod baseline;

use crate::process::{cargo, is_on_path, output_of, root, run, target_directory};
use crate::tally::Tally;
use crate::{packages, Misuse, Problem};
use baseline::{Baseline, Cost, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const BASELINE: &str = "crates/guard/baseline.txt";
/// With this the work is prepared and not done: what that takes is not the work's.
const PREPARE: &str = "prepare";

/// See the file's head.
pub fn guard(rest: &[String]) -> Result<(), Problem> {
    match rest {
        [] => match compare()? {
            Tally { failed: 0, .. } => Ok(()),
            Tally { failed, .. } => Err(format!("{failed} of the costs are not what they were").into()),
        },
        [word] if word == "--renew" => renew(),
        [word, ..] => Err(Misuse(format!("takes no \"{word}\", only --renew")).into()),
    }
}

/// Compares every piece of work with the baseline; each is one test.
pub fn compare() -> Result<Tally, Problem> {
    let written = std::fs::read_to_string(root().join(BASELINE)).map_err(|e| format!("cannot read {BASELINE}: {e}"))?;
    let baseline = Baseline::parse(&written).map_err(|wrong| format!("{BASELINE}: {wrong}"))?;
    let has_valgrind = has_valgrind();
    let verdicts = baseline.judge(&measure(has_valgrind)?, &compiler()?);
    for Verdict { text, .. } in &verdicts {
        println!("{text}");
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.passed).count() as u64;
    let mut tally = Tally { passed: verdicts.len() as u64 - failed, failed, skipped: 0 };
    if failed > 0 {
        println!("A cost that was meant to grow: ./hw guard --renew, and say in the commit what for.");
    }
    if !has_valgrind {
        println!("not compared: instructions, because valgrind is not here (package valgrind)");
        // A check that is left out must not look like one that passed.
        tally.failed += u64::from(std::env::var("CI").as_deref() == Ok("true"));
    }
    Ok(tally)
}

fn renew() -> Result<(), Problem> {
    if !has_valgrind() {
        return Err("the baseline has instructions, which need valgrind (package valgrind)".into());
    }
    let baseline = Baseline { compiler: compiler()?, costs: measure(true)? };
    let text = baseline.to_string();
    std::fs::write(root().join(BASELINE), &text).map_err(|e| format!("cannot write {BASELINE}: {e}"))?;
    print!("{text}");
    Ok(())
}

fn has_valgrind() -> bool {
    is_on_path("valgrind") || (packages::install_one_of(&["valgrind"]) && is_on_path("valgrind"))
}

fn compiler() -> Result<String, Problem> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(output_of(Command::new(rustc).arg("--version").current_dir(root()))?.trim().to_owned())
}

/// What every piece of work costs, by name.
fn measure(with_instructions: bool) -> Result<BTreeMap<String, Cost>, Problem> {
    let mut build = cargo();
    build.args(["build", "--profile", "guard", "--locked", "--quiet", "--package", "headway-guard"]);
    run(build.env("CARGO_INCREMENTAL", "0"))?;
    let program = target_directory().join("guard/headway-guard");
    let names = output_of(&mut Command::new(&program))?;
    names.lines().map(|name| Ok((name.to_owned(), cost_of(&program, name, with_instructions)?))).collect()
}

fn cost_of(program: &Path, piece: &str, with_instructions: bool) -> Result<Cost, Problem> {
    let (told, instructions) = if with_instructions {
        let (told, all) = counted(program, &[piece])?;
        let (_, preparing) = counted(program, &[piece, PREPARE])?;
        (told, Some(all - preparing))
    } else {
        (output_of(Command::new(program).arg(piece))?, None)
    };
    Cost::of_output(&told, instructions).map_err(|wrong| format!("{piece}: {wrong}").into())
}

/// What a run printed, and how many instructions it took on all its threads.
fn counted(program: &Path, arguments: &[&str]) -> Result<(String, f64), Problem> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("cannot run valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} under valgrind ended with {}: {said}", arguments.join(" "), output.status).into());
    }
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), baseline::collected(&said)?))
}
