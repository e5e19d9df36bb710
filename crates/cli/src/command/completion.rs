//! `headway completion`: completion scripts for shells.

use crate::args::Arguments;
use crate::error::{Failure, DONE};
use crate::terminal;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  headway completion bash > /etc/bash_completion.d/headway
  headway completion zsh > ~/.zfunc/_headway
  headway completion fish > ~/.config/fish/completions/headway.fish";

/// Options of `completion`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completion {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completion {
    /// Carries out the command.
    ///
    /// # Errors
    /// Output that cannot be written.
    pub fn execute(self) -> Result<u8, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "headway", &mut script);
        terminal::print(&String::from_utf8_lossy(&script))
            .map_err(Failure::doing("cannot write to standard output"))?;
        Ok(DONE)
    }
}
