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
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

fn main() -> ExitCode {
    complete::answer();
    report_file_size_limits();
    let outcome = args::parse().and_then(command::execute);
    ExitCode::from(error::exit_code_of(outcome))
}

/// With a handler for SIGXFSZ, a write beyond the limit on file sizes (`ulimit -f`) fails with an error instead of
/// ending this process. Programs that `run` starts do not inherit a handler.
fn report_file_size_limits() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
