//! `headway-fleet`: what many machines' recordings add up to.
//!
//! `headway sql`, `headway ingest` and `headway fleet` execute this program: what it needs
//! to read Parquet and SQL is large, and neither the agent nor the command line carries it.

#[cfg(test)]
mod answers;
mod arguments;
mod failure;
mod ingest;
mod keep;
mod output;
mod question;
mod session;
mod views;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("headway-fleet: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))?;
    runtime.block_on(async {
        match arguments.command {
            Command::Sql(question) => question::answer(&question).await,
            Command::Ingest(ingest) => ingest::ingest(&ingest).await,
            Command::Fleet(fleet) => keep::keep(&fleet.task).await,
        }
    })
}
