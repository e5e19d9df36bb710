//! What needs a nightly compiler, and is no part of `./hw test` therefore:
//! `./hw fuzz` and `./hw miri`.

use crate::process::{build_directory, cargo, program, root, run};
use crate::{pairs, Misuse, Problem};
use std::fs;
use std::process::{Command, Stdio};

/// Crates that Miri runs: those without a JVM and without what it does not know
/// (signals, threads that are stopped, the kernel's files), with what of their
/// tests. Tests that take Miri hours by their sheer number of rounds are left out.
const INTERPRETED: [(&str, &[&str]); 4] = [
    ("headway-model", &["--lib"]),
    ("headway-signal", &SIGNAL),
    ("headway-hotspot", &["--lib", "--", "--skip", "as_many_as_there_are_do_not_mix"]),
    // What packs is C, which Miri does not run.
    ("headway-jfr", &["--lib", "--", "encode", "hash", "header", "columns", "read", "schema"]),
];

const SIGNAL: [&str; 13] = [
    "--test",
    "park_counts",
    "--test",
    "stress",
    "--",
    "--skip",
    "every_record_arrives_once_in_order_or_is_counted",
    "--skip",
    "finders_agree_while_the_set_is_cleared_under_them",
    "--skip",
    "a_monitor_is_one_lock_to_all_who_pin_it_together",
    "--skip",
    "parks_of_many_threads_add_up_whoever_looks_meanwhile",
];

/// `./hw fuzz [TARGET] [--minutes N]`: libFuzzer on everything that parses bytes
/// from outside, each target for so long (default: 1).
pub fn fuzz(rest: &[String]) -> Result<(), Problem> {
    let (asked, options) = match rest.split_first() {
        Some((first, others)) if !first.starts_with("--") => (Some(first), others),
        _ => (None, rest),
    };
    let mut minutes = 1.0;
    for (_, value) in pairs(options, &["--minutes"])? {
        minutes = value
            .parse::<f64>()
            .ok()
            .filter(|minutes| *minutes > 0.0)
            .ok_or_else(|| Misuse(format!("--minutes: expected a number above 0, not \"{value}\"")))?;
    }
    let known = targets()?;
    let chosen: Vec<&String> = known.iter().filter(|name| asked.is_none_or(|asked| asked == *name)).collect();
    if chosen.is_empty() {
        let asked = asked.map_or("", String::as_str);
        return Err(Misuse(format!("there is no target \"{asked}\" (targets: {})", known.join(", "))).into());
    }
    needs(&["--version"], "a nightly compiler: rustup toolchain install nightly")?;
    needs(&["fuzz", "--version"], "cargo-fuzz: cargo install cargo-fuzz --locked")?;
    let place = build_directory().join("fuzz");
    let seeds =
        ["run", "--quiet", "--locked", "-p", "headway-hostile", "--features", "targets", "--bin", "headway-seeds"];
    run(cargo().args(seeds).arg("--").arg(&place))?;
    for target in chosen {
        println!("\n== {target}");
        let mut fuzz = nightly();
        fuzz.args(["fuzz", "run", "--fuzz-dir", "fuzz", target]).arg(place.join(target));
        fuzz.arg("--").arg(format!("-max_total_time={}", (minutes * 60.0).ceil()));
        fuzz.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
        run(&mut fuzz).map_err(|problem| {
            format!("{problem}; put the input (fuzz/artifacts/{target}) into crates/hostile/corpus/{target} and repair the parser")
        })?;
    }
    Ok(())
}

/// `./hw miri`: the tests of what runs without a JVM, interpreted, so that
/// undefined behaviour is found.
pub fn miri(rest: &[String]) -> Result<(), Problem> {
    crate::takes_nothing(rest)?;
    needs(&["miri", "--version"], "Miri: rustup toolchain install nightly --component miri,rust-src")?;
    for (name, arguments) in INTERPRETED {
        println!("\n== {name}");
        let mut miri = nightly();
        miri.args(["miri", "test", "-p", name]).args(arguments);
        // Tests leak the memory that stands for the agent's, which is never given back.
        miri.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks");
        run(&mut miri)?;
    }
    Ok(())
}

/// The programs below `fuzz`.
fn targets() -> Result<Vec<String>, Problem> {
    let files = fs::read_dir(root().join("fuzz/fuzz_targets"))?.flatten();
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".rs")?.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// Rustup's cargo: that which runs us belongs to one toolchain.
fn nightly() -> Command {
    let mut cargo = program("cargo");
    cargo.arg("+nightly").env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
    cargo
}

fn needs(arguments: &[&str], what: &str) -> Result<(), Problem> {
    let mut asked = nightly();
    let found = asked.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err(format!("this needs {what}").into()),
    }
}
