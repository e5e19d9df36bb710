//! What the shell offers while a command is typed: the running JVMs, aspects and
//! events, besides commands, options and files. The shell runs `headway` for it, with
//! a variable that says so.

use crate::args::Arguments;
use crate::command::capture::event_names;
use crate::jvm;
use clap::{Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::CompleteEnv;
use headway_analysis::Aspect;
use std::ffi::OsStr;

/// The variable by which a shell asks.
pub const VARIABLE: &str = "HEADWAY_COMPLETE";

/// Answers a shell and ends the process, if it is a shell that asks.
pub fn answer() {
    CompleteEnv::with_factory(|| with_values(Arguments::command())).var(VARIABLE).complete();
}

fn with_values(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let value = arg.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
        match value.as_deref() {
            Some("PID|NAME") => arg.add(ArgValueCandidates::new(jvms)),
            Some("ASPECTS") => {
                arg.add(ArgValueCompleter::new(|typed: &OsStr| next_of(typed, &Aspect::ALL.map(Aspect::name))))
            }
            Some("EVENT") => arg.add(ArgValueCompleter::new(|typed: &OsStr| next_of(typed, &event_names()))),
            _ => arg,
        }
    });
    command.mut_subcommands(with_values)
}

/// The running JVMs, with their main classes.
fn jvms() -> Vec<CompletionCandidate> {
    let shown =
        |jvm: &jvm::Jvm| CompletionCandidate::new(jvm.process.pid.to_string()).help(Some(jvm.main.clone().into()));
    jvm::running().iter().filter(|jvm| jvm.check_attachable().is_ok()).map(shown).collect()
}

/// What can follow in a list: words that it does not have yet.
fn next_of(typed: &OsStr, words: &[&str]) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let (before, begun) = typed.rsplit_once(',').map_or(("", &*typed), |(before, begun)| (before, begun));
    let has = |word: &str| before.split(',').any(|before| before == word);
    let prefix = if before.is_empty() { String::new() } else { format!("{before},") };
    let fits = words.iter().filter(|word| word.starts_with(begun) && !has(word));
    fits.map(|word| CompletionCandidate::new(format!("{prefix}{word}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_go_on_with_words_that_they_do_not_have() {
        let offered = |typed: &str| -> Vec<String> {
            let candidates = next_of(OsStr::new(typed), &["lock", "lock-name", "kind"]);
            candidates.iter().map(|candidate| candidate.get_value().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(offered("lo"), ["lock", "lock-name"]);
        assert_eq!(offered("lock,"), ["lock,lock-name", "lock,kind"]);
        assert_eq!(offered("lock,k"), ["lock,kind"]);
        assert!(offered("x").is_empty());
    }
}
