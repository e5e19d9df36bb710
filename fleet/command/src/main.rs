//! `headway-fleet`: what many machines' recordings add up to.
//!
//! `headway sql`, `headway ingest`, `headway ship` and `headway fleet` execute this program: what it needs
//! to read Parquet and SQL is large, and neither the agent nor the command line carries it.

#[cfg(test)]
mod answers;
mod arguments;
mod failure;
mod files;
mod hours;
mod ingest;
mod keep;
mod memory;
mod output;
mod question;
mod regressions;
mod session;
mod ship;
mod submit;
mod tables;
mod top;
mod view;
mod views;

use arguments::{Arguments, Command};
use clap::error::ErrorKind;
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.exit_code() == 0 || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.exit()
        }
        Err(error) => {
            eprintln!("headway-fleet: {}", arguments::mistake(&error));
            return ExitCode::from(2);
        }
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Said(_)) {
                eprintln!("headway-fleet: {failure}");
            }
            ExitCode::from(failure.code())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))?;
    match arguments.command {
        Command::Sql(question) => runtime.block_on(question::answer(&question)),
        Command::Ingest(ingest) => runtime.block_on(ingest::ingest(&ingest)),
        // Its threads wait for processes and files; they use the runtime where they need it.
        Command::Ship(asked) => ship::ship(*asked, runtime.handle()),
        Command::Fleet(fleet) => runtime.block_on(keep::keep(&fleet.task)),
    }
}
