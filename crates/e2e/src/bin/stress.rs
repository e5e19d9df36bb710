//! `headway-stress --minutes N [--seed S] [--jdk 17,21,25] [--round-seconds N] [--only TEXT] [--events cpu,wall,lock]
//! [--engine jvmti]`
//!
//! Runs the stress workload under Headway again and again, taking turns among
//! JDKs, collectors, locking modes, and between an agent loaded at start and
//! one that is attached, started and stopped all the time. Prints a line per
//! round and a summary; exit code 1 if anything crashed, hung, grew, or broke
//! an invariant. `--only` takes the configurations whose name has the text, such
//! as `LockingMode=0`. `--events` are those of `headway record -e`, locks among them; without it,
//! what is recorded unless asked. With `--events causal` every recording makes
//! experiments; rounds must last longer then (`--round-seconds 30`).
//! `--engine` is how `record --engine` samples.

use headway_e2e::jdk::{Jdk, RELEASES};
use headway_e2e::stress::configuration::{self, Configuration};
use headway_e2e::stress::round::{self, Manner, Way};
use headway_e2e::tools::Tools;
use headway_e2e::Problem;
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Options {
    total: Duration,
    round: Duration,
    seed: u64,
    releases: Vec<u32>,
    only: String,
    events: String,
    engine: String,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("headway-stress: {problem}");
            return ExitCode::from(2);
        }
    };
    match stress(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(problem) => {
            eprintln!("headway-stress: {problem}");
            ExitCode::from(1)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Problem> {
    let mut options = Options {
        total: Duration::from_secs(60),
        round: Duration::from_secs(10),
        seed: 1,
        releases: RELEASES.to_vec(),
        only: String::new(),
        events: String::new(),
        engine: String::new(),
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = |what: &str| format!("{name} takes {what}, not \"{value}\"");
        match name.as_str() {
            "--minutes" => {
                let minutes: f64 = value.parse().map_err(|_| wrong("a number of minutes"))?;
                options.total =
                    Duration::try_from_secs_f64(minutes * 60.0).map_err(|_| wrong("a number of minutes"))?;
            }
            "--round-seconds" => {
                options.round = Duration::from_secs(value.parse().map_err(|_| wrong("a number of seconds"))?);
            }
            "--seed" => options.seed = value.parse().map_err(|_| wrong("a whole number"))?,
            "--only" => options.only = value,
            "--events" => {
                // Contentions are what each round is checked by.
                if !value.split(',').any(|event| ["monitor", "lock", "causal"].contains(&event)) {
                    return Err(wrong("events with monitor, lock or causal among them").into());
                }
                options.events = value;
            }
            "--engine" => options.engine = value,
            "--jdk" => {
                options.releases = value
                    .split(',')
                    .map(|release| release.parse().map_err(|_| wrong("releases such as 17,21,25")))
                    .collect::<Result<_, _>>()?;
            }
            _ => {
                return Err(format!(
                    "unknown option {name}; there are --minutes --seed --jdk --round-seconds --only --events --engine"
                )
                .into())
            }
        }
    }
    Ok(options)
}

fn stress(options: &Options) -> Result<bool, Problem> {
    let tools = Tools::find()?;
    let jdks: Vec<Jdk> = Jdk::all().into_iter().filter(|jdk| options.releases.contains(&jdk.release)).collect();
    let mut turns = configuration::turns(&jdks, options.seed);
    turns.retain(|turn| turn.to_string().contains(&options.only));
    if turns.is_empty() {
        return Err("there is no JDK or configuration to stress".into());
    }
    println!("stress: {} configurations, seed {}", turns.len(), options.seed);
    let mut tally = Tally::default();
    let start = Instant::now();
    for (number, turn) in turns.iter().cycle().enumerate() {
        let left = options.total.saturating_sub(start.elapsed());
        if number > 0 && left < options.round / 2 {
            break;
        }
        // Half of the rounds each way, and every configuration both ways in the end.
        let way = if (number + number / turns.len()) % 2 == 0 { Way::AttachCycles } else { Way::AtStart };
        let seed = options.seed.wrapping_add(number as u64);
        let length = options.round.min(left.max(Duration::from_secs(2)));
        let (events, engine) = (options.events.as_str(), options.engine.as_str());
        tally.play(&tools, turn, Manner { way, length, seed, events, engine });
    }
    tally.print(start.elapsed());
    Ok(tally.failures == 0)
}

#[derive(Default)]
struct Tally {
    rounds: u32,
    cycles: u32,
    failures: u32,
}

impl Tally {
    fn play(&mut self, tools: &Tools, turn: &Configuration, manner: Manner<'_>) {
        self.rounds += 1;
        let Manner { way, seed, .. } = manner;
        let name = format!("round {:3}: {turn}, {way}", self.rounds);
        match round::play(tools, turn, manner) {
            Ok(outcome) => {
                self.cycles += outcome.cycles;
                println!("{name}: ok, {outcome}");
            }
            Err(problem) => {
                self.failures += 1;
                println!("{name}, seed {seed}: FAILED\n{problem}");
            }
        }
    }

    fn print(&self, took: Duration) {
        println!(
            "stress: {} rounds, {} attach cycles, {} failures in {:.0} s",
            self.rounds,
            self.cycles,
            self.failures,
            took.as_secs_f64()
        );
    }
}
