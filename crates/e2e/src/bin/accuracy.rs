//! `headway-accuracy waits --jdk N --profiler headway|jfr|async [--async-library FILE] [--seconds N] -- SCENARIO [OPTION]...`
//! `headway-accuracy shares --jdk N --profiler headway|jfr|async [--async-library FILE] [--seconds N] [--program NAME]`
//!
//! Runs one program that knows itself under one profiler on one JDK, once, and prints
//! how right the recording is as one line of JSON. `waits` runs a scenario of `predict`
//! and compares recorded with self-measured wait time (see [`Waits`]); `shares` samples
//! a program whose methods' shares are known (see [`Shares`]): `samples`, `lines`,
//! `barrier`, `lock`, `handoff`. All record from the JVM's start, without thresholds.
//! Exit code 2 if an option is wrong, 1 if the run failed.

use headway_e2e::jdk::{Jdk, RELEASES};
use headway_e2e::profiler::Profiler;
use headway_e2e::shares::{Program, Shares, PROGRAMS};
use headway_e2e::tools::Tools;
use headway_e2e::waits::Waits;
use headway_e2e::Problem;
use std::process::ExitCode;

/// How long a program is measured by default.
const SECONDS: u64 = 4;

#[derive(Debug, PartialEq)]
struct Run {
    release: u32,
    profiler: Profiler,
    seconds: u64,
    of: Measured,
}

#[derive(Debug, PartialEq)]
enum Measured {
    /// A scenario of `predict` and its options.
    Waits(Vec<String>),
    Shares(Program),
}

fn main() -> ExitCode {
    let run = match parse(std::env::args().skip(1)) {
        Ok(run) => run,
        Err(problem) => {
            eprintln!("headway-accuracy: {problem}");
            return ExitCode::from(2);
        }
    };
    match measure(&run) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("headway-accuracy: {problem}");
            ExitCode::from(1)
        }
    }
}

/// One line of JSON.
fn measure(run: &Run) -> Result<String, Problem> {
    let tools = Tools::find()?;
    let release = run.release;
    let jdk = Jdk::find(release)
        .ok_or_else(|| format!("no JDK {release} found; set HEADWAY_JDK{release} to its directory"))?;
    let figures = match &run.of {
        Measured::Waits(program) => {
            let seconds = run.seconds.to_string();
            let mut program: Vec<&str> = program.iter().map(String::as_str).collect();
            program.extend(["--seconds", &seconds]);
            serde_json::to_string(&Waits::measure(&run.profiler, &tools, &jdk, &program)?)
        }
        Measured::Shares(program) => {
            serde_json::to_string(&Shares::measure(&run.profiler, &tools, &jdk, *program, run.seconds)?)
        }
    };
    Ok(figures?)
}

/// The options as they are written.
#[derive(Default)]
struct Options {
    jdk: Option<u32>,
    profiler: Option<String>,
    async_library: Option<String>,
    seconds: Option<u64>,
    program: Option<Program>,
    /// What follows `--`.
    rest: Vec<String>,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Run, Problem> {
    let of = arguments.next().unwrap_or_default();
    if of != "waits" && of != "shares" {
        return Err(format!("what to measure is waits or shares, not \"{of}\"").into());
    }
    let options = Options::read(arguments)?;
    let profiler = options.profiler()?;
    let of = match of == "waits" {
        true => Measured::Waits(options.scenario()?),
        false => Measured::Shares(options.sampled()?),
    };
    Ok(Run {
        release: options.jdk.ok_or("--jdk is missing: the release of a JDK, such as 25")?,
        profiler,
        seconds: options.seconds.unwrap_or(SECONDS),
        of,
    })
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Options, Problem> {
        let mut options = Options::default();
        while let Some(name) = arguments.next() {
            if name == "--" {
                options.rest = arguments.collect();
                break;
            }
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            options.take(&name, value)?;
        }
        Ok(options)
    }

    fn take(&mut self, name: &str, value: String) -> Result<(), Problem> {
        let wrong = |what: &str| format!("{name} takes {what}, not \"{value}\"");
        match name {
            "--jdk" => {
                let release = value.parse().ok().filter(|release| RELEASES.contains(release));
                self.jdk = Some(release.ok_or_else(|| wrong("17, 21 or 25"))?);
            }
            "--seconds" => {
                let seconds = value.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
                self.seconds = Some(seconds.ok_or_else(|| wrong("a number of seconds from 1 to 3600"))?);
            }
            "--program" => {
                let program = PROGRAMS.iter().find(|(name, _)| *name == value).map(|(_, program)| *program);
                self.program = Some(program.ok_or_else(|| wrong(&PROGRAMS.map(|(name, _)| name).join(", ")))?);
            }
            "--profiler" => self.profiler = Some(value),
            "--async-library" => self.async_library = Some(value),
            _ => {
                return Err(format!(
                    "unknown option {name}; there are --jdk --profiler --async-library --seconds --program"
                )
                .into())
            }
        }
        Ok(())
    }

    fn profiler(&self) -> Result<Profiler, Problem> {
        let profiler = match (self.profiler.as_deref(), &self.async_library) {
            (Some("async"), Some(library)) => return Ok(Profiler::Async(library.into())),
            (Some("async"), None) => return Err("--profiler async needs --async-library".into()),
            (Some("headway"), _) => Profiler::Headway,
            (Some("jfr"), _) => Profiler::Jfr,
            (Some(other), _) => return Err(format!("--profiler takes headway, jfr or async, not \"{other}\"").into()),
            (None, _) => return Err("--profiler is missing: headway, jfr or async".into()),
        };
        match &self.async_library {
            Some(_) => Err("--async-library is for --profiler async".into()),
            None => Ok(profiler),
        }
    }

    fn scenario(&self) -> Result<Vec<String>, Problem> {
        if self.program.is_some() {
            return Err("--program is for shares; waits takes a scenario after --".into());
        }
        if self.rest.iter().any(|option| option == "--seconds" || option == "--truth") {
            return Err("--seconds and --truth are no options of the scenario; --seconds comes before --".into());
        }
        match self.rest.first() {
            Some(name) if !name.starts_with('-') => Ok(self.rest.clone()),
            _ => Err("waits needs a scenario after --, such as chains --hold-us 1000".into()),
        }
    }

    fn sampled(&self) -> Result<Program, Problem> {
        match self.rest.is_empty() {
            true => Ok(self.program.unwrap_or(Program::Samples)),
            false => Err(format!("shares takes no scenario: \"{}\"", self.rest.join(" ")).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Run, String> {
        parse(line.split_whitespace().map(str::to_owned)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_scenario_keeps_its_options() {
        let run = parsed("waits --jdk 17 --profiler jfr --seconds 2 -- chains --hold-us 50000").unwrap();
        let of = Measured::Waits(["chains", "--hold-us", "50000"].map(str::to_owned).to_vec());
        assert_eq!(run, Run { release: 17, profiler: Profiler::Jfr, seconds: 2, of });
    }

    #[test]
    fn samples_are_sampled_unless_told_otherwise() {
        let run = parsed("shares --profiler async --async-library lib.so --jdk 25").unwrap();
        let profiler = Profiler::Async("lib.so".into());
        assert_eq!(run, Run { release: 25, profiler, seconds: SECONDS, of: Measured::Shares(Program::Samples) });
        let run = parsed("shares --profiler headway --jdk 25 --program lock").unwrap();
        assert_eq!(run.of, Measured::Shares(Program::Known("lock", 0.5)));
    }

    /// Each wrong line and what is said of it.
    #[test]
    fn wrong_options_are_named() {
        for (line, sentence) in [
            ("", "what to measure is waits or shares, not \"\""),
            ("waits --jdk 25 --profiler jfr", "waits needs a scenario after --, such as chains --hold-us 1000"),
            (
                "waits --jdk 25 --profiler jfr -- --hold-us",
                "waits needs a scenario after --, such as chains --hold-us 1000",
            ),
            ("waits --profiler jfr -- chains", "--jdk is missing: the release of a JDK, such as 25"),
            ("waits --jdk 16 --profiler jfr -- chains", "--jdk takes 17, 21 or 25, not \"16\""),
            ("waits --jdk 25 -- chains", "--profiler is missing: headway, jfr or async"),
            ("waits --jdk 25 --profiler perf -- chains", "--profiler takes headway, jfr or async, not \"perf\""),
            ("waits --jdk 25 --profiler async -- chains", "--profiler async needs --async-library"),
            ("waits --jdk 25 --profiler jfr --async-library l -- chains", "--async-library is for --profiler async"),
            (
                "waits --jdk 25 --profiler jfr --seconds 0 -- chains",
                "--seconds takes a number of seconds from 1 to 3600, not \"0\"",
            ),
            (
                "waits --jdk 25 --profiler jfr -- chains --seconds 9",
                "--seconds and --truth are no options of the scenario; --seconds comes before --",
            ),
            (
                "waits --jdk 25 --profiler jfr --program lock -- chains",
                "--program is for shares; waits takes a scenario after --",
            ),
            ("waits --jdk", "--jdk needs a value"),
            (
                "waits --depth 3",
                "unknown option --depth; there are --jdk --profiler --async-library --seconds --program",
            ),
            (
                "shares --jdk 25 --profiler headway --program x",
                "--program takes samples, lines, barrier, lock, handoff, not \"x\"",
            ),
            ("shares --jdk 25 --profiler headway -- chains", "shares takes no scenario: \"chains\""),
        ] {
            assert_eq!(parsed(line).unwrap_err(), sentence, "{line}");
        }
    }
}
