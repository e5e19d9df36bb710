//! `headway completion`: completion scripts for shells. They run `headway` itself, so
//! that running JVMs, aspects and events are completed, too.

use crate::complete;
use crate::error::{Failure, DONE};
use crate::terminal;
use clap::Args;
use clap_complete::env::{self, EnvCompleter};
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
        let completer: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &env::Bash,
            Shell::Elvish => &env::Elvish,
            Shell::Fish => &env::Fish,
            Shell::PowerShell => &env::Powershell,
            Shell::Zsh => &env::Zsh,
            other => return Err(Failure::Usage(format!("there is no completion for {other}"))),
        };
        completer
            .write_registration(complete::VARIABLE, "headway", "headway", "headway", &mut script)
            .map_err(Failure::doing("cannot make the script"))?;
        terminal::print(&String::from_utf8_lossy(&script))
            .map_err(Failure::doing("cannot write to standard output"))?;
        Ok(DONE)
    }
}
