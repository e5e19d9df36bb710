//! `headway-generator`: writes a synthetic fleet into a store, for tests and measurements.

use clap::Parser;
use headway_generator::{fill, fill_hours, Plan, Spec, Truth};
use headway_store::{Day, Store};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a synthetic fleet into a store: the same options give the same rows
#[derive(Debug, Parser)]
#[command(name = "headway-generator", version, max_term_width = 100)]
struct Arguments {
    /// The store: a directory, made if there is none, or s3://bucket/prefix
    #[arg(long, value_name = "PLACE")]
    store: String,
    /// Decides every random number
    #[arg(long, default_value_t = Spec::default().seed)]
    seed: u64,
    /// The first day, in UTC
    #[arg(long, value_name = "YYYY-MM-DD", default_value_t = Spec::default().first, value_parser = day)]
    first: Day,
    /// Days
    #[arg(long, default_value_t = Spec::default().days)]
    days: u32,
    /// Minutes of each day, from midnight on
    #[arg(long, default_value_t = Spec::default().minutes)]
    minutes: u32,
    /// Services, of very different sizes
    #[arg(long, default_value_t = Spec::default().services)]
    services: u32,
    /// Versions of each service, rolled out one after the other
    #[arg(long, default_value_t = Spec::default().versions)]
    versions: u32,
    /// Machines
    #[arg(long, default_value_t = Spec::default().hosts)]
    hosts: u32,
    /// JVMs at a time
    #[arg(long, default_value_t = Spec::default().jvms)]
    jvms: u32,
    /// Locks of each service
    #[arg(long, default_value_t = Spec::default().sites)]
    sites: u32,
    /// Rows of lock_minute for each JVM and minute, on average at noon
    #[arg(long, default_value_t = Spec::default().busy)]
    busy: f64,
    /// How much hosts differ: standard deviation of the logarithm of blocked time
    #[arg(long, default_value_t = Spec::default().host_spread)]
    host_spread: f64,
    /// How much days differ, all hosts of a service alike
    #[arg(long, default_value_t = Spec::default().day_spread)]
    day_spread: f64,
    /// Services with a lock that blocks longer in the newest version
    #[arg(long, value_name = "SERVICES", default_value_t = Spec::default().regressions)]
    regressions: u32,
    /// How many times as long
    #[arg(long, value_name = "TIMES", default_value_t = Spec::default().effect)]
    effect: f64,
    /// Hosts on which all locks block longer
    #[arg(long, value_name = "HOSTS", default_value_t = Spec::default().outliers)]
    outliers: u32,
    /// How many times as long
    #[arg(long, value_name = "TIMES", default_value_t = Spec::default().outlier_effect)]
    outlier_effect: f64,
    /// Compact each day when it is complete; nobody else may use the store meanwhile
    #[arg(long)]
    compact: bool,
    /// Write hours and no minutes, to measure queries that read hours; nobody else may use the store
    /// meanwhile
    #[arg(long, conflicts_with_all = ["compact", "minutes", "outliers"])]
    only_hours: bool,
    /// Write what was planted into this file, as JSON
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

fn day(text: &str) -> Result<Day, String> {
    text.parse().map_err(|()| format!("\"{text}\" is not a date: write it as 2026-01-31"))
}

impl Arguments {
    fn spec(&self) -> Spec {
        Spec {
            seed: self.seed,
            first: self.first,
            days: self.days,
            minutes: self.minutes,
            services: self.services,
            versions: self.versions,
            hosts: self.hosts,
            jvms: self.jvms,
            sites: self.sites,
            busy: self.busy,
            host_spread: self.host_spread,
            day_spread: self.day_spread,
            regressions: self.regressions,
            effect: self.effect,
            outliers: self.outliers,
            outlier_effect: self.outlier_effect,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("headway-generator: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let plan = Plan::of(&arguments.spec())?;
    if let Some(file) = &arguments.truth {
        write_truth(file, plan.truth()).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open_or_make(&arguments.store).await?;
        if arguments.only_hours {
            let filled = fill_hours(&store, &plan, |day, so_far| println!("{day}: {so_far} rows of lock_hour"));
            return filled.await.map(drop).map_err(Into::into);
        }
        let filled = fill(&store, &plan, arguments.compact, |day, so_far| {
            println!("{day}: {} batches, {} rows, {} of lock_minute", so_far.batches, so_far.rows, so_far.lock_rows);
        });
        filled.await?;
        Ok(())
    })
}

fn write_truth(file: &PathBuf, truth: &Truth) -> std::io::Result<()> {
    std::fs::write(file, serde_json::to_string_pretty(truth)? + "\n")
}
