//! How blocked time is broken down: the options that every command with a
//! report has.

use crate::error::Failure;
use crate::recording::analysed::Question;
use crate::suggest;
use clap::Args;
use headway_analysis::method::Grouping;
use headway_analysis::Aspect;
use std::ffi::OsString;

/// The aspects, one a line.
const BY_HELP: &str = "\
Split blocked time by these aspects, in the order in which you name them,
separated by commas:
- lock, lock-name (all locks of one name together), lock-class
- contender-thread, contender-group, contender-method, contender-chain:
        the blocked thread, its group (threads whose names differ only in a
        number), the method in which it is blocked, its call stack
- owner-thread, owner-group, owner-method, owner-chain: the same of the owner
- kind: monitor, juc (a lock of java.util.concurrent) or conditional (a wait in
        java.util.concurrent: only `kind` shows waits, and totals do not contain
        them)
- time: intervals of the recording";

/// How blocked time is broken down.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What to show")]
pub struct Breakdown {
    /// Split blocked time by these aspects, in the order in which you name them: kind,
    /// lock-class, lock-name, lock, contender-thread, contender-group, contender-method,
    /// contender-chain, owner-thread, owner-group, owner-method, owner-chain, time
    #[arg(long, value_name = "ASPECTS", value_parser = aspects, default_value = "lock-name,owner-method,contender-method", long_help = BY_HELP)]
    pub by: Aspects,

    /// Show at most this many rows of each level of the breakdown
    #[arg(long, value_name = "N", default_value_t = TOP, value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,

    /// Show each blocked thread separately: put contender-thread before the aspects of --by
    #[arg(short = 't', long)]
    pub per_thread: bool,
}

/// Rows of each level, if no other number is asked for.
const TOP: u32 = 10;

/// A sequence of aspects, each once; or how a report of methods groups threads,
/// with the usual aspects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aspects(pub Vec<Aspect>, Option<Grouping>);

impl Default for Aspects {
    fn default() -> Aspects {
        Aspects(vec![Aspect::LockName, Aspect::OwnerMethod, Aspect::ContenderMethod], None)
    }
}

impl Breakdown {
    /// What is asked of a recording by these options.
    pub fn question(&self) -> Question {
        Question { by: self.aspects(), top: self.top as usize, ..Question::default() }
    }

    /// True if rows were asked for in any way.
    pub fn is_asked(&self) -> bool {
        self.per_thread || self.top != TOP || self.by != Aspects::default()
    }

    /// What a report of methods distinguishes.
    pub fn grouping(&self) -> Grouping {
        let per_thread = if self.per_thread { Grouping::Thread } else { Grouping::Together };
        self.by.1.unwrap_or(per_thread)
    }

    /// True if `--by` asked for what only a report of methods can distinguish.
    pub fn groups_methods(&self) -> bool {
        self.by.1.is_some()
    }

    /// Refuses aspects that have no effect on methods, if they were typed: those of the environment and of the
    /// file are for reports of locks.
    ///
    /// # Errors
    /// `--by` names something else than a report of methods can distinguish.
    pub fn check_groups_methods(&self) -> Result<(), Failure> {
        match self.groups_methods() || !is_by_typed(std::env::args_os()) {
            true => Ok(()),
            false => Err(Failure::Usage("--by: with --method, it takes only `thread` or `group`".into())),
        }
    }

    /// The aspects of the levels of the tree.
    fn aspects(&self) -> Vec<Aspect> {
        let mut aspects = self.by.0.clone();
        if self.per_thread && !aspects.contains(&Aspect::ContenderThread) {
            aspects.insert(0, Aspect::ContenderThread);
        }
        aspects
    }
}

/// True if one of these words of a command line is `--by`.
fn is_by_typed(mut words: impl Iterator<Item = OsString>) -> bool {
    words.any(|word| word == "--by" || word.as_encoded_bytes().starts_with(b"--by="))
}

fn aspects(list: &str) -> Result<Aspects, String> {
    let names = || Aspect::ALL.map(Aspect::name);
    let usual = || Question::default().by;
    match list.trim() {
        "thread" => return Ok(Aspects(usual(), Some(Grouping::Thread))),
        "group" => return Ok(Aspects(usual(), Some(Grouping::Group))),
        _ => {}
    }
    let mut aspects = Vec::new();
    for word in list.split(',').map(str::trim) {
        let aspect = word.parse::<Aspect>().map_err(|_| {
            let hint = suggest::did_you_mean(word, names());
            format!("unknown aspect \"{word}\"{hint} (aspects: {})", names().join(", "))
        })?;
        if aspects.contains(&aspect) {
            return Err(format!("the aspect {word} is listed twice"));
        }
        aspects.push(aspect);
    }
    Ok(Aspects(aspects, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_aspects() {
        assert_eq!(aspects("lock, owner-method"), Ok(Aspects(vec![Aspect::Lock, Aspect::OwnerMethod], None)));
        assert_eq!(aspects("lock,lock"), Err("the aspect lock is listed twice".into()));
        let sentence = aspects("lock,owner-metod").expect_err("a typo");
        assert!(sentence.contains("unknown aspect \"owner-metod\"; did you mean \"owner-method\"?"), "{sentence}");
        assert!(aspects("").is_err());
    }

    #[test]
    fn per_thread_comes_first_and_once() {
        let breakdown = |by: &str| Breakdown { by: aspects(by).expect("aspects"), top: 10, per_thread: true };
        assert_eq!(breakdown("lock").aspects(), [Aspect::ContenderThread, Aspect::Lock]);
        assert_eq!(breakdown("lock,contender-thread").aspects(), [Aspect::Lock, Aspect::ContenderThread]);
    }
}
