//! Findings about threads that wait for each other while one takes much longer, and about
//! threads that wait for the last of others.

use super::locks::{full, ranked, short};
use super::others::{woken_by, Whose};
use super::waits::{seen_in, Lives, SeenIn};
use super::words::{code, count, grouped, percent};
use super::{lives_of, of_active, part_of_active, Gist, Grounds, MOST};
use crate::aggregate::{share, Range};
use crate::analysis::Analysis;
use crate::ledger::{EntryKind, Quality};
use crate::names::{NameId, Names};
use crate::park::{Rounds, Synchronizer};
use crate::report::{Evidence, Finding, FindingKind};
use crate::summary::groups;
use crate::waits::Site;
use headway_model::{DurationNs, ThreadId};
use std::cell::LazyCell;

/// A straggler matters from this part of the waiters' life on.
const OF_LIFE: f64 = 0.02;
/// It is one if it costs at least this part of the waiting.
const OF_WAITING: f64 = 0.5;
/// One of a group is named from this part of what the group did on.
const NEARLY_ALL: f64 = 0.9;
/// Rounds from which a habit is known.
const ROUNDS: u64 = 3;
/// What rounds are a part of, for those who end them.
fn all_waited(rounds: &Rounds) -> &'static str {
    match waits_alone(rounds) {
        true => "the waiting time",
        false => "the time when all threads there waited",
    }
}

/// True if one thread waits in each round.
fn waits_alone(rounds: &Rounds) -> bool {
    rounds.waits == rounds.count
}

/// The findings, and the methods that they are about.
pub(super) fn find(
    analysis: &mut Analysis,
    (active_ns, range): (u64, Range),
    grounds: &Grounds<'_>,
) -> (Vec<Finding>, Vec<NameId>) {
    if !analysis.knows_lives() {
        // Most are shown as waits, without a percentage.
        return (Vec::new(), Vec::new());
    }
    analysis.stragglers.close_all(&mut analysis.names);
    // Who started threads and waits for their end has nothing else to do.
    let sites = analysis.waits.sites().iter().enumerate();
    let (idle, busy): (Vec<_>, Vec<_>) = sites.partition(|(place, _)| grounds.classes.is_idle(*place));
    let at = |sites: &[(usize, &Site)], method: NameId, of: Synchronizer| {
        sites.iter().any(|(_, site)| site.method == Some(method) && site.synchronizer == of)
    };
    let lives = Lives::new(analysis, (active_ns, range));
    let mut found: Vec<(Finding, NameId)> = analysis
        .stragglers
        .places()
        .filter(|((method, of), _)| at(&busy, *method, *of) || !at(&idle, *method, *of))
        .filter_map(|((method, synchronizer), rounds)| {
            let waiters = rounds.waiters.iter().copied();
            let life = lives_of(waiters, (&analysis.threads, &analysis.names), (active_ns, range));
            if rounds.count < ROUNDS || share(rounds.waited_ns, life) < OF_LIFE {
                return None;
            }
            let here = analysis.waits.sites().iter();
            let here = here.filter(|site| site.method == Some(*method) && site.synchronizer == *synchronizer);
            let unended = here.map(|site| site.in_flight).sum();
            let is_meeting = is_meeting(*synchronizer, rounds);
            let whose = if is_meeting { Whose::Last } else { Whose::WaitedFor };
            // All places of waits are looked at for this: only where there is a finding.
            let seen = LazyCell::new(|| seen_in(analysis, (*method, *synchronizer), whose, &lives));
            let place = Place { method: *method, synchronizer: *synchronizer, called: &|| seen.called.clone() };
            let mut finding = finding(&place, (rounds, unended), active_ns, &analysis.names)?;
            let SeenIn { did, gist, stacks, .. } = LazyCell::force(&seen).clone();
            if let Some(did) = did {
                finding.text = format!("{} {did}", finding.text);
            }
            let last = came_last(rounds, &analysis.names).filter(|_| is_meeting).unwrap_or_default();
            let meanwhile = format!("{last} {}", gist.meanwhile).trim().to_owned();
            finding.gist = Gist { meanwhile, ..gist };
            finding.stacks = stacks;
            Some((finding, *method))
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| b.cost_ns.cmp(&a.cost_ns).then_with(|| a.text.cmp(&b.text)));
    found.truncate(MOST);
    found.into_iter().unzip()
}

/// Where threads wait for each other.
struct Place<'a> {
    method: NameId,
    synchronizer: Synchronizer,
    /// How it was called; see [`SeenIn::called`].
    called: &'a dyn Fn() -> Option<String>,
}

impl Place<'_> {
    /// The method, and how it was called.
    fn text(&self, names: &Names) -> String {
        let method = code(&short(self.method, names));
        match (self.called)() {
            Some(called) => format!("{method}, {called}"),
            None => method,
        }
    }
}

/// `unended` waits of this place had not ended when the recording did: they belong to no round.
fn finding(place: &Place<'_>, (rounds, unended): (&Rounds, u64), active_ns: u64, names: &Names) -> Option<Finding> {
    let Place { method, synchronizer, .. } = *place;
    let part = part_of_active((rounds.waited_ns, active_ns), rounds.waiters.iter().map(|thread| (*thread, 1)), names);
    let single = is_single(synchronizer);
    let waits = match waits_alone(rounds) {
        true => count(rounds.waits, "wait"),
        false => format!("{} in {}", count(rounds.waits, "wait"), count(rounds.count, "round")),
    };
    let waited = DurationNs(rounds.waited_ns);
    let (text, cost_ns, all) = match (single, Meeting::of(synchronizer, rounds)) {
        (true, _) => {
            let text = one_result(place, rounds, part, names)?;
            (text, rounds.longest_ns, format!("{waits}, {waited} waited in all"))
        }
        (false, Meeting::OfAll) => {
            let text = last_to_come(place, rounds, part, names)?;
            (text, rounds.late_ns, waits)
        }
        (false, Meeting::GivenOn) => return None,
        (false, Meeting::OfOthers) => {
            let text = last_of_others(place, rounds, part, names)?;
            (text, rounds.waited_ns, waits)
        }
    };
    let all = match unended {
        0 => all,
        n => format!("{all}; {} more had not ended when the recording ended", grouped(n)),
    };
    let mut details = vec![all];
    if let Some((method, ns)) = rounds.method(|_| true) {
        let part = percent(share(ns, rounds.late_ns));
        let who = if waits_alone(rounds) { "the wake-up" } else { "the last one" };
        details.push(format!("{who} came from: {} ({part})", full(method, names)));
    }
    let evidence = vec![
        Evidence::of(EntryKind::WaitResult, rounds.waited_ns, Quality::Exact, part),
        Evidence::exact("waited-for-last", rounds.late_ns, Some(share(rounds.late_ns, rounds.waited_ns))),
    ];
    let (kind, subject) = (FindingKind::Straggler, code(&short(method, names)));
    Some(Finding { kind, text, subject, details, cost_ns, share: part, evidence, ..Finding::default() })
}

/// True if one waits for one thing, so that nobody comes last.
fn is_single(synchronizer: Synchronizer) -> bool {
    matches!(synchronizer, Synchronizer::Future | Synchronizer::Join)
}

/// The thread that mostly comes last, and how often it did.
fn last_by_habit(rounds: &Rounds) -> Option<(ThreadId, u64)> {
    let (thread, (times, ns)) = ranked(&rounds.last, |(_, ns)| *ns).first().copied()?;
    (share(*ns, rounds.late_ns) >= OF_WAITING && *times >= ROUNDS).then_some((*thread, *times))
}

/// True if the last to come is one of those who wait.
fn is_meeting(synchronizer: Synchronizer, rounds: &Rounds) -> bool {
    !is_single(synchronizer) && matches!(Meeting::of(synchronizer, rounds), Meeting::OfAll)
}

/// `Thread `part-3` came last in 98 % of the rounds.`, for the verdict.
fn came_last(rounds: &Rounds, names: &Names) -> Option<String> {
    let (thread, times) = last_by_habit(rounds)?;
    let part = percent(share(times, rounds.count));
    Some(format!("Thread {} came last in {part} of the rounds.", code(&names.thread_text(thread))))
}

/// Of many results one took longest by far.
fn one_result(place: &Place<'_>, rounds: &Rounds, part: Option<f64>, names: &Names) -> Option<String> {
    if share(rounds.longest_ns, rounds.waited_ns) < OF_WAITING {
        return None;
    }
    Some(format!(
        "{} waited {}{} for {} in {}. Of {} waits, the longest took {}, {} of that time.",
        waiters(rounds, names),
        DurationNs(rounds.waited_ns),
        of_active(part),
        place.synchronizer.words(),
        place.text(names),
        grouped(rounds.count),
        DurationNs(rounds.longest_ns),
        percent(share(rounds.longest_ns, rounds.waited_ns)),
    ))
}

/// How those who wait and those who are waited for belong together.
enum Meeting {
    /// Threads that meet: the last to come is one of them.
    OfAll,
    /// A latch that others count down. When those came who were not last is not known.
    OfOthers,
    /// A latch for each wait, which a thread of the same kind opens: it hands something over.
    GivenOn,
}

impl Meeting {
    fn of(synchronizer: Synchronizer, rounds: &Rounds) -> Meeting {
        let of_waiters = rounds.last.iter().filter(|(last, _)| rounds.waiters.contains(last));
        let ns: u64 = of_waiters.map(|(_, (_, ns))| ns).sum();
        let is_of_waiters = share(ns, rounds.late_ns) >= OF_WAITING;
        match synchronizer {
            Synchronizer::CountDownLatch if !is_of_waiters => Meeting::OfOthers,
            Synchronizer::CountDownLatch if rounds.waits < 2 * rounds.count => Meeting::GivenOn,
            _ => Meeting::OfAll,
        }
    }
}

/// Who ended most of the waiting for threads that do not wait there themselves.
fn last_of_others(place: &Place<'_>, rounds: &Rounds, part: Option<f64>, names: &Names) -> Option<String> {
    if share(rounds.late_ns, rounds.waited_ns) < OF_WAITING {
        return None;
    }
    let threads = ranked(&rounds.last, |(_, ns)| *ns);
    let (first, (_, ns)) = threads.first()?;
    let group = names.group_text(**first);
    let same: Vec<u64> =
        threads.iter().filter(|(thread, _)| names.group_text(**thread) == group).map(|(_, (_, ns))| *ns).collect();
    let of_group: u64 = same.iter().sum();
    // Of several groups none is named: what is said of the time would not be true of it.
    let is_group = share(of_group, rounds.late_ns) >= OF_WAITING;
    // The same goes for one of several threads.
    let is_one = share(*ns, of_group) >= NEARLY_ALL;
    let by = match (is_group, is_one) {
        (true, true) => Some(("thread".to_owned(), code(&names.thread_text(**first)))),
        (true, false) => Some((count(same.len() as u64, "thread"), code(&group))),
        (false, _) => None,
    };
    let is_meant = |thread: ThreadId| match (is_group, is_one) {
        (true, true) => thread == **first,
        (true, false) => names.group_text(thread) == group,
        (false, _) => true,
    };
    let part_by = |who: &str, ns: u64| {
        woken_by(who, &format!("{} of {}", percent(share(ns, rounds.late_ns)), all_waited(rounds)))
    };
    let ended = match (rounds.method(is_meant), &by) {
        (Some((method, ns)), Some((those, name))) => {
            part_by(&format!("{} in {those} {name}", code(&short(method, names))), ns)
        }
        (Some((method, ns)), None) => part_by(&code(&short(method, names)), ns),
        (None, Some((those, name))) => woken_by(&format!("{those} {name}"), &format!("most of {}", all_waited(rounds))),
        (None, None) => "Several threads ended the waits".to_owned(),
    };
    Some(format!(
        "{} waited {}{} at {} in {}. There {} {}, mean {}. {ended}.",
        waiters(rounds, names),
        DurationNs(rounds.waited_ns),
        of_active(part),
        place.synchronizer.words(),
        place.text(names),
        if rounds.waits == 1 { "was" } else { "were" },
        count(rounds.waits, "wait"),
        DurationNs(rounds.waited_ns / rounds.waits.max(1)),
    ))
}

/// In most rounds the same one came last.
fn last_to_come(place: &Place<'_>, rounds: &Rounds, part: Option<f64>, names: &Names) -> Option<String> {
    let participants = rounds.waiters.iter().chain(rounds.last.keys()).collect::<std::collections::BTreeSet<_>>().len();
    if participants < 2 || share(rounds.late_ns, rounds.waited_ns) < OF_WAITING {
        return None;
    }
    let late = DurationNs(rounds.late_ns / rounds.waits.max(1));
    let who = match last_by_habit(rounds) {
        Some((thread, times)) => format!(
            "In {} of {}, thread {} came last, on average {late} after all others",
            percent(share(times, rounds.count)),
            count(rounds.count, "round"),
            code(&names.thread_text(thread)),
        ),
        None => format!(
            "In {}, the last thread came on average {late} after all others. It was not always the same thread",
            count(rounds.count, "round"),
        ),
    };
    Some(format!(
        "{} waited {}{} for each other at {} in {}. For {} of that time, they waited only for the last thread. {who}.",
        waiters(rounds, names),
        DurationNs(rounds.waited_ns),
        of_active(part),
        place.synchronizer.words(),
        place.text(names),
        DurationNs(rounds.late_ns),
    ))
}

fn waiters(rounds: &Rounds, names: &Names) -> String {
    let groups = groups(rounds.waiters.iter().map(|thread| (names.group_text(*thread), 1)));
    let first = groups.first().map_or("", |group| &group.name);
    match (rounds.waiters.len(), groups.len()) {
        (1, _) => {
            format!("Thread {}", rounds.waiters.iter().map(|one| code(&names.thread_text(*one))).collect::<String>())
        }
        (n, 1) => format!("{} {}", count(n as u64, "thread"), code(first)),
        (n, _) => format!("{}, most of them {},", count(n as u64, "thread"), code(first)),
    }
}
