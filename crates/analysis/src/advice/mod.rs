//! Known causes, as data: what it means that threads wait on a stack like this, and
//! what to do about it. Advice goes with a finding and is never one: what the numbers
//! do not show is no cause.

use crate::report::{Advice, Finding, FindingKind, FindingStack};
use std::sync::OnceLock;

const CATALOGUE: &str = include_str!("catalogue.txt");
/// Frames of a stack, from its leaf on, among which a known one is looked for.
const FRAMES: usize = 12;

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    id: &'static str,
    frame: &'static str,
    versions: &'static str,
    awaited: Option<&'static str>,
    why: &'static str,
    fix: &'static str,
    link: &'static str,
    /// The owner's stack has to match, too.
    of_owner: bool,
    /// Frames of a stack, from its leaf on, among which a known one is looked for.
    first: Option<usize>,
    /// A stack that matches, and one that does not: for the tests.
    #[cfg(test)]
    example: (&'static str, &'static str),
}

impl Entry {
    /// True if one of the first frames of a stack, leaf first, is a known one.
    fn matches<'a>(&self, frames: impl Iterator<Item = &'a str>) -> bool {
        let mut first = frames.take(self.first.unwrap_or(FRAMES)).map(without_line);
        first.any(|frame| matches(self.frame, frame))
    }
}

fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(parsed)
}

/// The entries of the catalogue; each begins with its id.
fn parsed() -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in CATALOGUE.lines().filter_map(|line| line.split_once(':')) {
        let value = value.strip_prefix(' ').unwrap_or(value);
        if key == "id" {
            entries.push(Entry { id: value, ..Entry::default() });
        }
        let Some(entry) = entries.last_mut() else { continue };
        match key {
            "frame" => entry.frame = value,
            "versions" => entry.versions = value,
            "for" => entry.awaited = Some(value),
            "why" => entry.why = value,
            "fix" => entry.fix = value,
            "link" => entry.link = value,
            "first" => entry.first = value.parse().ok(),
            "owner" => entry.of_owner = value == "yes",
            #[cfg(test)]
            "match" => entry.example.0 = value,
            #[cfg(test)]
            "not" => entry.example.1 = value,
            _ => {}
        }
    }
    entries
}

/// Gives each finding what is known about it; what was said once is not said again. Where a
/// lock was free and threads woke late, that is mostly what another finding led to: the
/// advice is that one's.
pub(crate) fn give(findings: &mut [Finding]) {
    let mut said = Vec::new();
    let (late, others): (Vec<_>, Vec<_>) = findings.iter_mut().partition(|one| one.kind == FindingKind::HandOff);
    for finding in others.into_iter().chain(late) {
        finding.advice = about(finding).filter(|advice| !said.contains(&advice.id));
        said.extend(finding.advice.iter().map(|advice| advice.id.clone()));
    }
}

/// What is known about a finding.
fn about(finding: &Finding) -> Option<Advice> {
    let Entry { id, versions, why, fix, link, .. } = of_stacks(&finding.stacks)?;
    let advice = [id, versions, why, fix, link].map(str::to_owned);
    let [id, versions, why, fix, link] = advice;
    Some(Advice { id, versions, why, fix, link })
}

/// What threads with such stacks wait for, in a few words: "a database connection".
pub(crate) fn awaited(stacks: &[FindingStack]) -> Option<&'static str> {
    of_stacks(stacks)?.awaited
}

/// The entry for such stacks: first for those of who waits, since entries say why
/// threads wait where they do.
fn of_stacks(stacks: &[FindingStack]) -> Option<Entry> {
    let waits = |whose: &str| whose.starts_with("blocked") || whose.starts_with("waiting");
    let (waiters, others): (Vec<_>, Vec<_>) = stacks.iter().partition(|stack| waits(&stack.whose));
    let is_in = |stack: &FindingStack, entry: &Entry| entry.matches(stack.frames.iter().map(String::as_str));
    let applies = |entry: &Entry| !entry.of_owner || others.is_empty() || others.iter().any(|one| is_in(one, entry));
    let of_stack = |stack: &&FindingStack| known(stack.frames.iter().map(String::as_str), applies);
    waiters.iter().chain(&others).find_map(of_stack)
}

/// The first entry that applies and that one of the first frames of a stack (leaf first)
/// matches.
fn known<'a>(frames: impl Iterator<Item = &'a str> + Clone, applies: impl Fn(&Entry) -> bool) -> Option<Entry> {
    entries().iter().filter(|entry| entry.matches(frames.clone())).find(|entry| applies(entry)).copied()
}

fn without_line(frame: &str) -> &str {
    frame.rsplit_once(':').map_or(frame, |(method, _)| method)
}

/// True if one of the patterns, with commas between, is the method.
fn matches(patterns: &str, method: &str) -> bool {
    patterns.split(',').any(|pattern| match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(start), _) => method.starts_with(start),
        (None, Some(end)) => method.ends_with(end),
        (None, None) => method == pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn where_threads_wait_says_more_than_where_the_owner_was() {
        let stack = |whose: &str, frames: &[&str]| FindingStack {
            whose: whose.to_owned(),
            frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
        };
        let finding = Finding {
            stacks: vec![
                stack("owned by", &["org.h2.mvstore.tx.Transaction.closeIt:648", "org.h2.command.Command.stop:1"]),
                stack("blocked in", &["org.h2.mvstore.tx.Transaction.waitForThisToEnd:746"]),
            ],
            ..Finding::default()
        };
        assert_eq!(about(&finding).unwrap().id, "h2-row-lock");
    }

    #[test]
    fn what_the_owner_does_within_a_map_is_the_cause_whatever_the_waiters_want() {
        let stack = |whose: &str, frame: &str| {
            let frames = vec![format!("java.util.concurrent.ConcurrentHashMap.{frame}:1")];
            FindingStack { whose: whose.to_owned(), frames }
        };
        let id = |owner: &str| {
            let stacks = vec![stack("owned by", owner), stack("blocked in", "replaceNode")];
            about(&Finding { stacks, ..Finding::default() }).map(|advice| advice.id)
        };
        assert_eq!(id("computeIfAbsent").as_deref(), Some("chm-compute"));
        assert_eq!(id("putVal").as_deref(), Some("chm-put"));
        assert_eq!(id("size"), None);
        let unknown = Finding { stacks: vec![stack("blocked in", "replaceNode")], ..Finding::default() };
        assert_eq!(about(&unknown).unwrap().id, "chm-put");
    }

    #[test]
    fn what_a_statement_needs_is_not_its_connections_fault() {
        let known = |stack: &'static str| known(stack.split(" < "), |_| true).map(|entry| entry.id);
        let loading = "jdk.internal.loader.BuiltinClassLoader.loadClass < java.lang.ClassLoader.loadClass < \
                       org.apache.derby.impl.jdbc.EmbedConnection.a";
        assert_eq!(known(loading), Some("class-loading"));
        let limited = "jdk.internal.loader.BuiltinClassLoader.loadClassOrNull < \
                       com.google.common.util.concurrent.RateLimiter.acquire";
        assert_eq!(known(limited), Some("class-loading"));
        assert_eq!(known("a.A.b < a.A.c < org.apache.derby.impl.jdbc.EmbedStatement.execute"), None);
        let table = "org.hsqldb.Session.executeCompiledStatement < org.hsqldb.Session.execute < app.Orders.load";
        assert_eq!(known(table), Some("hsqldb-locks"));
        assert_eq!(known("org.hsqldb.Session.execute < app.Orders.load"), Some("hsqldb-session"));
    }

    #[test]
    fn advice_is_given_once() {
        let of = |method: &str| Finding {
            stacks: vec![FindingStack { whose: "waiting in".to_owned(), frames: vec![method.to_owned()] }],
            ..Finding::default()
        };
        let row = "org.h2.mvstore.tx.Transaction.waitForThisToEnd:746";
        let mut findings = [of("a.A.nothing:1"), of(row), of(row)];
        give(&mut findings);
        let ids = findings.map(|finding| finding.advice.map(|advice| advice.id));
        assert_eq!(ids, [None, Some("h2-row-lock".to_owned()), None]);
        let mut findings = [Finding { kind: FindingKind::HandOff, ..of(row) }, of(row)];
        give(&mut findings);
        assert!(findings[0].advice.is_none() && findings[1].advice.is_some());
        give(&mut findings[..1]);
        assert!(findings[0].advice.is_some());
    }

    #[test]
    fn every_entry_is_provoked_by_its_stack_and_by_no_other_s() {
        assert!(entries().len() >= 80, "{}", entries().len());
        let ids: BTreeSet<&str> = entries().iter().map(|entry| entry.id).collect();
        assert_eq!(ids.len(), entries().len(), "ids are unique");
        for entry in entries() {
            let found = |stack: &'static str| known(stack.split(" < "), |_| true).map(|entry| entry.id);
            let (example, other) = entry.example;
            assert!(!example.is_empty() && !other.is_empty(), "{} has both examples", entry.id);
            assert_eq!(found(example), Some(entry.id), "{example}");
            assert_ne!(found(other), Some(entry.id), "{other}");
        }
    }

    #[test]
    fn every_entry_says_why_and_what_to_do() {
        for entry in entries() {
            for text in [entry.frame, entry.versions, entry.why, entry.fix] {
                assert!(!text.is_empty() && text.trim() == text && !text.ends_with('.'), "{}: {text:?}", entry.id);
            }
            assert!(entry.link.starts_with("https://"), "{}", entry.id);
            let awaited = entry.awaited.unwrap_or("something");
            assert!(awaited.len() < 60 && !awaited.ends_with('.') && !awaited.starts_with("for "), "{}", entry.id);
            assert!(entry.why.len() < 130 && entry.fix.len() < 130, "{} fits a line", entry.id);
        }
    }

    #[test]
    fn stacks_of_programs_without_a_known_cause_match_nothing() {
        for stack in [
            "app.Inventory.sell < app.Shop.buy < java.lang.Thread.run",
            "java.util.ArrayList.add < app.Shop.buy < java.lang.Thread.run",
            "org.apache.log4jx.Category.callAppenders < app.Shop.buy",
            "app.HashtableLike.get < app.Shop.buy",
        ] {
            assert!(known(stack.split(" < "), |_| true).is_none(), "{stack}");
        }
        // Nor far from where the thread waits.
        let deep: Vec<&str> = std::iter::repeat_n("app.A.b", FRAMES).chain(["java.util.Hashtable.get"]).collect();
        assert!(known(deep.into_iter(), |_| true).is_none());
    }

    #[test]
    fn advice_goes_with_a_finding_of_such_a_stack() {
        let frames = ["java.util.Hashtable.get:382", "app.Users.find:12"].map(str::to_owned).to_vec();
        let stacks = vec![FindingStack { whose: "blocked in".to_owned(), frames }];
        let advice = about(&Finding { stacks, ..Finding::default() }).unwrap();
        assert_eq!((advice.id.as_str(), advice.fix.as_str()), ("hashtable", "use ConcurrentHashMap"));
        assert_eq!(about(&Finding::default()), None);
    }
}
