//! `./hw guard [--renew]`: what fixed work costs, in counts that do not depend
//! on how busy the machine is, against `crates/guard/baseline.txt`.
//!
//! Instructions are counted by callgrind, which runs the program in a simulated
//! processor; allocations and bytes by `crates/guard` itself. Timed comparisons
//! are for `./hw eval`. A cost that grew is a failure here and has to be mended,
//! or meant: `--renew` writes the baseline anew, and the commit says why.

mod baseline;

use crate::process::{cargo, is_on_path, output_of, root, run, target_directory};
use crate::tally::Tally;
use crate::{packages, Misuse, Problem};
use baseline::{Baseline, Cost, Verdict};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const BASELINE: &str = "crates/guard/baseline.txt";
/// Callgrind counts between this function's begin and its end.
const COUNTED: &str = "*guard_measured*";

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
    let mut tally = Tally { passed: verdicts.len() as u64 - failed, failed };
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
    run(cargo().args(["build", "--release", "--locked", "--quiet", "--package", "headway-guard"]))?;
    let program = target_directory().join("release/headway-guard");
    let names = output_of(&mut Command::new(&program))?;
    names.lines().map(|name| Ok((name.to_owned(), cost_of(&program, name, with_instructions)?))).collect()
}

fn cost_of(program: &PathBuf, piece: &str, with_instructions: bool) -> Result<Cost, Problem> {
    let mut command = match with_instructions {
        true => callgrind(program),
        false => Command::new(program),
    };
    let output = command.arg(piece).stdin(Stdio::null()).output().map_err(|e| format!("cannot run {piece}: {e}"))?;
    let (told, counted) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("the work {piece} ended with {}: {counted}", output.status).into());
    }
    Cost::of_output(&told, with_instructions.then_some(&*counted)).map_err(|wrong| format!("{piece}: {wrong}").into())
}

fn callgrind(program: &PathBuf) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(format!("--toggle-collect={COUNTED}")).arg(program);
    command
}
