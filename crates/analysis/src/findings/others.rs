//! What those did that had, or made, what others waited for, in sentences.

use super::seen::Doings;
use super::words::{begun, Who};
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
    /// True if threads of other groups wait for it, too.
    pub is_one_of_several: bool,
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
                let (threads, were) = whose.threads_of(&self.who);
                let did = match self.among {
                    Some(among) => self.doings.text_among(&format!("{threads} {were} {}", self.who.name), among),
                    None => self.doings.text_of(&format!("{threads} ({}) {were}", self.who.name)),
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
            Some(whose) if self.is_seldom => format!("{} {did}. {NOT_RETURNED}", self.were(whose, awaited)),
            Some(whose) => format!("{} {did}.", self.were(whose, awaited)),
        })
    }
}

impl Others {
    /// Which threads, with the verb; by name where it is not clear.
    fn were(&self, whose: Whose, awaited: &str) -> String {
        let (threads, were) = whose.threads_of(&self.who);
        match whose {
            Whose::Last => "Whoever came last was".to_owned(),
            Whose::Perhaps if awaited.starts_with("a ") => {
                format!("{} {were}", begun(&threads.replace("one", awaited)))
            }
            _ if self.is_one_of_several && self.among.is_none() => {
                format!("{} ({}) {were}", begun(threads), self.who.name)
            }
            _ => format!("{} {were}", begun(threads)),
        }
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

    /// The same of these, which may be one thread, and the verb.
    fn threads_of(self, who: &Who) -> (&'static str, &'static str) {
        if who.are_several() {
            return (self.threads(), "were");
        }
        let thread = match self {
            Whose::WaitedFor => "the thread that others waited for",
            Whose::Had => "the thread that had one",
            Whose::Last => "the thread that had not come yet",
            Whose::Perhaps => "the thread that may have had one",
        };
        (thread, "was")
    }
}

/// `Waiting threads were woken by Job.finish in worker-* (80 % of the waiting time)`; `part` is what stands in
/// brackets.
pub(super) fn woken_by(who: &str, part: &str) -> String {
    format!("Waiting threads were woken by {who} ({part})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::seen::Doing;

    #[test]
    fn one_thread_is_not_several() {
        let said = |whose, name| {
            let mut doings = Doings::default();
            let doing = Doing::of("java.lang.Thread.sleep a.Report.make".split(' '), true);
            doings.add(doing.unwrap_or_default(), 60, 6);
            let who = Who::group(name, false);
            let others = Others {
                doings,
                who,
                own: Some(whose),
                is_one_of_several: false,
                groups: vec![],
                among: None,
                is_seldom: false,
                helper: None,
            };
            (others.text().unwrap_or_default(), others.mostly("a permit").unwrap_or_default())
        };
        let slept = "in `Thread.sleep`, called from `Report.make`.";
        let of_samples = "For 100 % of the sampled time (6 samples),";
        assert_eq!(
            said(Whose::Had, "main"),
            (
                format!("{of_samples} the thread that had one (`main`) was {slept}"),
                format!("The thread that had one was mostly {slept}")
            )
        );
        assert_eq!(said(Whose::WaitedFor, "main").1, format!("The thread that others waited for was mostly {slept}"));
        assert_eq!(
            said(Whose::WaitedFor, "exec-*").1,
            format!("The threads that others waited for were mostly {slept}")
        );
        assert_eq!(said(Whose::Perhaps, "main").1, format!("The thread that may have had a permit was mostly {slept}"));
    }
}
