//! What `./hw` does once cargo is there.
//!
//! `./hw` itself only sees to it that a compiler, a JDK and Maven are at hand;
//! everything else is here, where it can be tested. Commands: `build`, `demo`,
//! `test`, `fleet-demo`, `fleet-test`, `fleet-eval`, `stress`, `soak`, `bench`, `eval`, `diagnose`, `fuzz`, `miri`, `dist`,
//! `guard`, `tidy`, `licences`, `pictures`.

mod bench;
mod demo;
mod diagnose;
mod dist;
mod eval;
mod fleet;
mod fleet_demo;
mod guard;
mod java;
mod jdks;
mod licences;
mod links;
mod nightly;
mod packages;
mod page;
mod process;
mod products;
mod python;
mod repeats;
mod stress;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

/// Why a command failed, as a sentence.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Exit code for something typed wrongly.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        eprintln!("hw: no command; ./hw help lists them");
        return ExitCode::from(USAGE);
    };
    let done = match command.as_str() {
        "build" => products::build(rest),
        "demo" => demo::demo(rest),
        "test" => test::test(rest),
        "fleet-demo" => fleet_demo::demo(rest),
        "fleet-test" => fleet::on_s3(rest).and_then(|()| fleet_demo::demo(&[])),
        "fleet-eval" => fleet::evaluate(rest),
        "stress" => stress::stress(rest),
        "soak" => stress::soak(rest),
        "bench" => bench::bench(rest),
        "eval" => eval::eval(rest),
        "diagnose" => diagnose::diagnose(rest),
        "fuzz" => nightly::fuzz(rest),
        "dist" => dist::dist(rest),
        "guard" => guard::guard(rest),
        "tidy" => tidy::tidy(rest),
        "licences" => licences::licences(rest),
        "miri" => nightly::miri(rest),
        "pictures" => page::pictures(rest),
        _ => {
            eprintln!("hw: there is no command \"{command}\"; ./hw help lists them");
            return ExitCode::from(USAGE);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("hw {command}: {problem}");
            ExitCode::from(if problem.is::<Misuse>() { USAGE } else { 1 })
        }
    }
}

/// A command was given what it does not take.
#[derive(Debug)]
struct Misuse(String);

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// Refuses arguments of a command that takes none.
fn takes_nothing(rest: &[String]) -> Result<(), Problem> {
    match rest.first() {
        None => Ok(()),
        Some(argument) => Err(Misuse(format!("takes no \"{argument}\"")).into()),
    }
}

/// Reads `--name VALUE` pairs; `known` are the names.
fn pairs<'a>(rest: &'a [String], known: &[&str]) -> Result<Vec<(&'a str, &'a str)>, Problem> {
    rest.chunks(2)
        .map(|pair| match pair {
            [name, value] if known.contains(&name.as_str()) => Ok((name.as_str(), value.as_str())),
            [name] if known.contains(&name.as_str()) => Err(Misuse(format!("{name} needs a value")).into()),
            [name, ..] => Err(Misuse(format!("takes no \"{name}\", only {}", known.join(" "))).into()),
            [] => Err(Misuse("takes pairs of name and value".to_owned()).into()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_options_and_missing_values_are_said() {
        let said = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            match pairs(&words, &["--jdk"]) {
                Ok(pairs) => format!("{pairs:?}"),
                Err(problem) => problem.to_string(),
            }
        };
        assert_eq!(said("--jdk 25"), "[(\"--jdk\", \"25\")]");
        assert_eq!(said("--jdk"), "--jdk needs a value");
        assert_eq!(said("--jkd 25"), "takes no \"--jkd\", only --jdk");
    }
}
