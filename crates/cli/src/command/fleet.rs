//! `headway sql`, `ingest`, `ship` and `fleet`: carried out by `headway-fleet`, another
//! program, because what reads Parquet and SQL is ten times the size of this one.

use crate::args::Arguments;
use crate::error::{Failure, DONE};
use crate::terminal;
use clap::{Args, CommandFactory};
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that carries them out.
const PROGRAM: &str = "headway-fleet";

const EXAMPLES: &str = "\
Examples:
  headway ingest headway-*.jfr --store ./store --service shop --version 1.2
  headway sql 'SELECT * FROM top_sites ORDER BY blocked_ns DESC LIMIT 10' ./store
  headway ship --store ./store --queue ./queue --name com.acme.Shop
  headway fleet status --store ./store";

/// What is handed on as it was typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true, disable_version_flag = true)]
pub struct Fleet {
    /// Passed to headway-fleet; `--help` lists its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

impl Fleet {
    /// Becomes the other program, as its command of this name.
    ///
    /// # Errors
    /// There is no such program, or it cannot be executed.
    pub fn execute(self, command: &'static str) -> Result<u8, Failure> {
        let Some(program) = find() else { return self.without(command) };
        let error = Command::new(&program).arg(command).args(self.arguments).exec();
        Err(Failure::doing(format!("cannot execute {}", program.display()))(error))
    }
}

impl Fleet {
    /// Without the other program, `--help` still says what the command is for.
    fn without(&self, command: &'static str) -> Result<u8, Failure> {
        let missing = Failure::NoFleet { command };
        let asks_for_help = self.arguments.first().is_some_and(|word| word == "--help" || word == "-h");
        let about = Arguments::command().find_subcommand(command).and_then(|found| found.get_about().cloned());
        let Some(about) = about.filter(|_| asks_for_help) else { return Err(missing) };
        terminal::print(&format!("{about}\n\n{EXAMPLES}\n\n{missing}\n"))
            .map_err(Failure::doing("cannot write to standard output"))?;
        Ok(DONE)
    }
}

/// Beside this program first: both of one installation fit each other.
fn find() -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    // An empty entry means the working directory, from which nothing is executed by chance.
    let on_path = env::split_paths(&path).filter(|folder| folder.is_absolute());
    beside.into_iter().chain(on_path).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}
