//! The `headway` command: what keeps a JVM's threads from making headway.
//!
//! `args` says what can be typed, `command/` holds one file per command,
//! `error` is every way to fail with its sentence and exit code.

mod agent;
mod args;
mod attach;
mod command;
mod complete;
mod config;
mod error;
mod interrupt;
mod json;
mod jvm;
mod quantity;
mod recording;
mod render;
mod suggest;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    complete::answer();
    let outcome = args::parse().and_then(command::execute);
    ExitCode::from(error::exit_code_of(outcome))
}
