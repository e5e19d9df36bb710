//! What a finding says, in pieces, from which the verdict is made.

use super::words::code;
use crate::names::NameId;

/// The shortest that can be said of a loss: whose time it was, on what it went, and what those
/// did meanwhile that were waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gist {
    /// Who was blocked or waited, where that is one thread or one group: `` Threads `request-*` ``.
    pub(super) who: String,
    /// On what it went: what was waited for ("a database connection"), the root of a chain, who paused.
    pub(super) awaited: String,
    /// The method of the application that had to wait, in backticks.
    pub(super) place: String,
    /// Who had it and what those mostly did, in a sentence; empty where that is not known.
    pub(super) meanwhile: String,
    /// True if nearly all of the time is that of waits which nobody ended.
    pub(super) is_unended: bool,
    /// True if nobody may be left to end them.
    pub(super) is_left_alone: bool,
    /// The method that called `Object.wait`, of a wait, and of threads that most of the time acquired a lock again after one.
    pub(super) waits_in: Option<NameId>,
}

impl Gist {
    /// One thread of this name, or several of this group.
    pub(super) fn who(threads: usize, thread: &str, group: &str) -> String {
        match threads {
            1 => format!("Thread {}", code(thread)),
            _ => format!("Threads {}", code(group)),
        }
    }

    /// One more sentence behind what is said already.
    pub(super) fn add(&mut self, sentence: &str) {
        if !self.meanwhile.is_empty() {
            self.meanwhile.push(' ');
        }
        self.meanwhile.push_str(sentence);
    }

    /// That of a wait for this.
    pub fn of_wait(awaited: &str) -> Gist {
        Gist { awaited: awaited.to_owned(), ..Gist::default() }
    }

    /// What was waited for, `a database connection`; empty if it was no wait.
    pub fn awaited(&self) -> &str {
        &self.awaited
    }

    /// `` Threads `request-*` ``; `Threads` where it is not one group.
    pub(super) fn subject(&self) -> &str {
        if self.who.is_empty() {
            return "Threads";
        }
        &self.who
    }

    /// ``waiting in `Orders.order` for a database connection``.
    pub(super) fn waiting(&self, subject: &str) -> String {
        let awaited = if self.awaited.is_empty() { String::new() } else { format!(" for {}", self.awaited) };
        let place = if self.place.is_empty() { subject } else { &self.place };
        format!("waiting in {place}{awaited}")
    }
}
