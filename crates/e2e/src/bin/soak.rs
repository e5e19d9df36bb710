//! `headway-soak --hours N [--jdk 17,21,25] [--seed S]`
//!
//! One JVM per JDK, side by side, under the stress workload for so many hours,
//! while command lines record, dump, stop, are killed and come several at once.
//! Prints a line per JDK; exit code 1 if anything crashed, hung, grew or failed.

use headway_e2e::jdk::{Jdk, RELEASES};
use headway_e2e::stress::soak;
use headway_e2e::tools::Tools;
use headway_e2e::Problem;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

struct Options {
    length: Duration,
    releases: Vec<u32>,
    seed: u64,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(options) => match soak_all(&options) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(problem) => {
                eprintln!("headway-soak: {problem}");
                ExitCode::FAILURE
            }
        },
        Err(problem) => {
            eprintln!("headway-soak: {problem}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Problem> {
    let mut options = Options { length: Duration::from_secs(3600), releases: RELEASES.to_vec(), seed: 1 };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = |what: &str| format!("{name} takes {what}, not \"{value}\"");
        match name.as_str() {
            "--hours" => {
                let hours: f64 = value.parse().map_err(|_| wrong("a number of hours"))?;
                let length = Duration::try_from_secs_f64(hours * 3600.0);
                options.length = length.map_err(|_| wrong("a number of hours"))?;
            }
            "--seed" => options.seed = value.parse().map_err(|_| wrong("a whole number"))?,
            "--jdk" => {
                let releases = value.split(',').map(str::parse).collect::<Result<_, _>>();
                options.releases = releases.map_err(|_| wrong("releases such as 17,21,25"))?;
            }
            _ => return Err(format!("unknown option {name}; there are --hours --jdk --seed").into()),
        }
    }
    Ok(options)
}

fn soak_all(options: &Options) -> Result<bool, Problem> {
    let tools = Tools::find()?;
    let jdks: Vec<Jdk> = Jdk::all().into_iter().filter(|jdk| options.releases.contains(&jdk.release)).collect();
    if jdks.is_empty() {
        return Err("there is no JDK to soak".into());
    }
    println!(
        "soak: {} JDKs side by side for {:.2} h, seed {}",
        jdks.len(),
        options.length.as_secs_f64() / 3600.0,
        options.seed
    );
    let good = thread::scope(|scope| {
        let begun: Vec<_> = jdks.iter().map(|jdk| scope.spawn(|| one(&tools, jdk, options))).collect();
        begun.into_iter().filter_map(|lane| lane.join().ok()).filter(|good| *good).count()
    });
    println!("soak: {good} passed, {} failed", jdks.len() - good);
    Ok(good == jdks.len())
}

fn one(tools: &Tools, jdk: &Jdk, options: &Options) -> bool {
    match soak::soak(tools, jdk, &[], options.length, options.seed) {
        Ok(outcome) => {
            println!("JDK {}: no failure; {outcome}", jdk.release);
            true
        }
        Err(problem) => {
            println!("JDK {}, seed {}: FAILED: {problem}", jdk.release, options.seed);
            false
        }
    }
}
