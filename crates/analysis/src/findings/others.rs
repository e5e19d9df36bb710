//! What those did that had, or made, what others waited for, in sentences.

use super::seen::Doings;
use super::words::Who;
use crate::names::TextId;

/// Who ended the waits had nothing to do until it did.
const IDLE_HINT: &str = "To see what these threads did, record with `-e lock,steal,wall`.";

/// Others than those that were seen with what is waited for may have it: they wait themselves, or never gave it back.
const NOT_RETURNED: &str = "For most of the time, no thread was seen to have one: some may not have been returned.";

/// What those did that others waited for.
pub(super) struct Others {
    pub doings: Doings,
    /// A thread or a group.
    pub who: Who,
    /// Which threads of the waiters' own group; `None` if it is another one.
    pub own: Option<Whose>,
    /// The groups of which something was seen.
    pub groups: Vec<TextId>,
    /// The part of what was seen that is theirs, with the samples of all, where several groups had it.
    pub among: Option<(f64, u64)>,
    /// True if they had it only for the smaller part of the time, and most waits were not ended by anybody.
    pub is_seldom: bool,
    /// Who ended the waits, if that was only a helper.
    pub helper: Option<Who>,
}

impl Others {
    /// What they did, in a sentence.
    pub fn text(&self) -> Option<String> {
        match self.own {
            None if self.doings.are_idle() => {
                let did = self.doings.text_about(&self.who)?;
                let they = if self.who.are_several() { "They" } else { "It" };
                Some(format!("{did} {they} only passed on what other threads or the network did. {IDLE_HINT}"))
            }
            None => self.doings.text_about(&self.who),
            Some(whose) => {
                let did = match self.among {
                    Some(among) => self.doings.text_among((whose.threads(), &self.who.name), among),
                    None => self.doings.text_of(&format!("{} ({})", whose.threads(), self.who.name)),
                };
                did.map(|did| if self.is_seldom { format!("{did} {NOT_RETURNED}") } else { did })
            }
        }
    }

    /// The same without numbers, for the verdict. `awaited` is what they may have had.
    pub fn mostly(&self, awaited: &str) -> Option<String> {
        let Some(did) = self.doings.mostly(&self.who.name) else {
            return self.is_seldom.then(|| NOT_RETURNED.to_owned());
        };
        let did = match self.among {
            Some(_) => did.replacen(' ', &format!(" {}, ", self.who.name), 1),
            None => did,
        };
        Some(match self.own {
            None if self.doings.are_idle() => {
                let who = self.helper.as_ref().unwrap_or(&self.who);
                let idle = "waited for other threads or the network";
                let (who, begun) = (who.are_several(), who.begun());
                match who {
                    true => format!("{begun} ended the waits, but were mostly idle themselves: they {idle}."),
                    false => format!("{begun} ended the waits, but was mostly idle itself: it {idle}."),
                }
            }
            None => format!("Meanwhile, {} {did}.", self.who.was()),
            Some(whose) if self.is_seldom => format!("{} {did}. {NOT_RETURNED}", whose.were(awaited)),
            Some(whose) => format!("{} {did}.", whose.were(awaited)),
        })
    }
}

/// Which of the waiters' own threads had what others waited for.
#[derive(Clone, Copy)]
pub(super) enum Whose {
    /// Those that returned or finished it.
    WaitedFor,
    /// Those that had a permit or a pooled object, and returned it.
    Had,
    /// Those that hand it to a helper: when, nobody says.
    Perhaps,
    /// Those that came last where all meet.
    Last,
}

impl Whose {
    /// Which threads, in a finding.
    pub fn threads(self) -> &'static str {
        match self {
            Whose::WaitedFor => "the threads that others waited for",
            Whose::Had => "the threads that had one",
            Whose::Last => "the threads that had not come yet",
            Whose::Perhaps => "the threads that may have had one",
        }
    }

    /// The same with the verb, where a sentence of the verdict begins.
    pub fn were(self, awaited: &str) -> String {
        match self {
            Whose::WaitedFor => "The threads they waited for were".to_owned(),
            Whose::Had => "The threads that had one were".to_owned(),
            Whose::Perhaps => {
                let one = if awaited.starts_with("a ") { awaited } else { "one" };
                format!("The threads that may have had {one} were")
            }
            Whose::Last => "Whoever came last was".to_owned(),
        }
    }
}

/// `Waiting threads were woken by Job.finish in worker-* (80 % of the waiting time)`; `part` is what stands in
/// brackets.
pub(super) fn woken_by(who: &str, part: &str) -> String {
    format!("Waiting threads were woken by {who} ({part})")
}
