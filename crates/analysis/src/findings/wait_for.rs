//! Findings about owners that were themselves blocked: what the root of such
//! a chain explains.

use super::locks::{ranked, short, OF_ACTIVE, OF_BLOCKED};
use super::seen::OfLocks;
use super::words::{code, method_beside, percent};
use super::{evidence, of_active, Gist, Grounds, MOST};
use crate::aggregate::share;
use crate::analysis::Analysis;
use crate::ledger::{EntryKind, Quality};
use crate::monitor::Kind;
use crate::names::{NameId, Names, PathId};
use crate::report::{Evidence, Finding, FindingKind, FindingStack, Report, WaitForChain, WaitForLink, UNKNOWN};
use crate::wait_for::Link;
use headway_model::{DurationNs, LockId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Chains kept in a report.
const KEPT: usize = 100;

/// A lock, and the method that held it.
type Root = (Kind, LockId, Option<NameId>);

/// What a root explains beyond those whom it blocked directly.
#[derive(Default)]
struct Explains {
    through_ns: u64,
    /// The chain that leads to it most.
    longest: Vec<Link>,
    longest_ns: u64,
    direct_ns: u64,
    /// With which stack its owner mostly had it.
    path: Option<PathId>,
    /// What it explains of each group of locks.
    from: FxHashMap<usize, u64>,
}

/// Time that is counted at the root of a chain, by group of the lock that threads
/// were blocked on.
pub(super) type Moved = FxHashMap<usize, u64>;

/// Puts the chains into the report and says what their roots explain, and which time
/// is counted there. A chain that ends in a deadlock has no root.
pub(super) fn find(
    analysis: &mut Analysis,
    report: &mut Report,
    grounds: &Grounds<'_>,
    (seen, deadlocked): (&OfLocks, &FxHashSet<usize>),
) -> (Vec<Finding>, Moved) {
    let chains = sorted(analysis, grounds);
    let direct = direct(analysis, grounds);
    let names = &analysis.names;
    let (blocked, active_ns) = (report.blocked_ns, report.ledger.active_ns());
    let mut roots: FxHashMap<Root, Explains> = FxHashMap::default();
    // What counts at the end of a chain does not count where it begins, which may be the root of another one: threads
    // wait for each other until one gives up.
    let mut elsewhere: FxHashMap<Root, u64> = FxHashMap::default();
    for (path, ns, count) in &chains {
        let (Some(first), Some(last)) = (path.first(), path.last()) else { continue };
        if report.wait_chains.len() < KEPT {
            report.wait_chains.push(chain(path, *ns, *count, share(*ns, blocked), names));
        }
        if grounds.groups.place(last.lock).is_some_and(|place| deadlocked.contains(&place)) {
            continue;
        }
        let root = roots.entry((last.kind, last.lock, last.method)).or_default();
        root.through_ns += ns;
        *elsewhere.entry((first.kind, first.lock, first.method)).or_default() += ns;
        if let Some(owned) = direct.get(&(last.lock, last.method)) {
            root.direct_ns = owned.values().sum();
            root.path = ranked(owned, |ns| *ns).first().and_then(|(path, _)| **path);
        }
        if let Some(place) = grounds.groups.place(first.lock) {
            *root.from.entry(place).or_default() += ns;
        }
        if *ns > root.longest_ns {
            root.longest_ns = *ns;
            root.longest.clone_from(path);
        }
    }
    for (root, ns) in elsewhere {
        if let Some(root) = roots.get_mut(&root) {
            root.direct_ns = root.direct_ns.saturating_sub(ns);
        }
    }
    let mut matter: Vec<(Finding, &Explains)> = roots
        .values()
        .filter(|root| share(root.through_ns, blocked) >= OF_BLOCKED)
        .filter(|root| share(root.direct_ns + root.through_ns, active_ns.max(1)) >= OF_ACTIVE)
        .map(|root| (finding(root, active_ns, names, grounds, seen), root))
        .collect();
    matter.sort_by(|(a, _), (b, _)| b.cost_ns.cmp(&a.cost_ns).then_with(|| a.text.cmp(&b.text)));
    matter.truncate(MOST);
    let mut moved = Moved::default();
    for (_, root) in &matter {
        for (place, ns) in &root.from {
            *moved.entry(*place).or_default() += ns;
        }
        if let Some(place) = root.longest.last().and_then(|last| grounds.groups.place(last.lock)) {
            *moved.entry(place).or_default() += root.direct_ns;
        }
    }
    (matter.into_iter().map(|(finding, _)| finding).collect(), moved)
}

/// Chains whose links look the same to a reader are one, longest time first. Where contentions
/// were sampled, those that were not recorded one by one had the same chains in proportion.
fn sorted(analysis: &Analysis, grounds: &Grounds<'_>) -> Vec<(Vec<Link>, u64, u64)> {
    let mut merged: FxHashMap<Vec<Root>, (Vec<Link>, u64, u64)> = FxHashMap::default();
    for (path, explained) in analysis.wait_for.chains() {
        let scale = path.first().map_or(1.0, |first| grounds.recorded_scale(first.lock));
        let path: Vec<Link> = path.iter().map(|link| Link { lock: grounds.first(link.lock), ..*link }).collect();
        let key = path.iter().map(|link| (link.kind, link.lock, link.method)).collect();
        let entry = merged.entry(key).or_insert_with(|| (path, 0, 0));
        entry.1 += (explained.total_ns as f64 * scale) as u64;
        entry.2 += explained.count;
    }
    let mut chains: Vec<_> = merged.into_values().collect();
    chains.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    chains
}

/// Time in which others were blocked on a lock, by the method that owned it, and by its stack.
type Direct = FxHashMap<(LockId, Option<NameId>), FxHashMap<Option<PathId>, u64>>;

fn direct(analysis: &mut Analysis, grounds: &Grounds<'_>) -> Direct {
    let mut direct = Direct::default();
    for (id, owner) in analysis.replays.monitors.owners_by_id().all() {
        let ns = analysis.aggregate.held_ns(id);
        if ns == 0 {
            continue;
        }
        let path = analysis.names.owner_path(owner.chain, owner.frame);
        let method = path.and_then(|path| analysis.names.acting_method(path));
        let of_method = direct.entry((grounds.first(owner.lock), method)).or_default();
        *of_method.entry(path).or_default() += ns;
    }
    direct
}

fn chain(path: &[Link], blocked_ns: u64, count: u64, share: f64, names: &Names) -> WaitForChain {
    let link = |link: &Link| WaitForLink {
        kind: link.kind,
        lock: names.lock_text(link.lock),
        method: link
            .method
            .and_then(|method| names.method_name(method))
            .map_or_else(|| UNKNOWN.to_owned(), |name| name.full.clone()),
        thread: if link.thread.is_some() { names.thread_text(link.thread) } else { UNKNOWN.to_owned() },
    };
    WaitForChain { links: path.iter().map(link).collect(), blocked_ns, count, share }
}

fn finding(root: &Explains, active_ns: u64, names: &Names, grounds: &Grounds<'_>, seen: &OfLocks) -> Finding {
    let (first, last) = (root.longest.first(), root.longest.last());
    let cost_ns = root.through_ns + root.direct_ns;
    // Of virtual threads the ledger has only some of their time.
    let totals = last.and_then(|last| grounds.totals.get(&last.lock));
    let is_virtual = totals.is_some_and(|totals| totals.in_virtual * 2 > totals.total);
    let part = (active_ns > 0 && !is_virtual).then(|| share(cost_ns, active_ns).min(1.0));
    let root_owner = last.map(|last| whose(last, names)).unwrap_or_default();
    // A longer chain is among the details.
    let on = last.filter(|_| root.longest.len() == 2).map(|last| {
        let waited = if last.kind == Kind::Conditional { "waiting for" } else { "blocked on" };
        format!("{waited} {}", code(&names.lock_short(last.lock)))
    });
    let mut text = match last {
        Some(last) if last.kind == Kind::Conditional => format!(
            "Threads spent {}{} blocked because of waiting for {}, which {} ended",
            DurationNs(cost_ns),
            of_active(part),
            code(&names.lock_short(last.lock)),
            root_owner,
        ),
        Some(last) => format!(
            "Threads spent {}{} blocked because of the lock {} while {root_owner} owned it",
            DurationNs(cost_ns),
            of_active(part),
            code(&names.lock_short(last.lock)),
        ),
        None => String::new(),
    };
    if let Some(first) = first {
        // Nobody is blocked on what is waited for.
        let they = match root.direct_ns {
            // Other chains lead there, too.
            0 if root.from.len() > 1 => format!("For {} of that time, they", percent(share(root.longest_ns, cost_ns))),
            0 => "They".to_owned(),
            direct => format!(
                "For {} of that time, they were blocked on this lock. For {}, they",
                percent(share(direct, cost_ns)),
                percent(share(root.through_ns, cost_ns)),
            ),
        };
        text += &format!(
            ". {they} were blocked on {}, which {} owned while it was itself {}.",
            code(&names.lock_short(first.lock)),
            whose(first, names),
            on.as_deref().unwrap_or("blocked"),
        );
    }
    let split = last
        .and_then(|last| grounds.splits.get(&last.lock))
        .filter(|split| !evidence::is_worth_saying(split.waited, split.total()));
    let root_seen = last.and_then(|last| {
        let full = &names.method_name(last.method?)?.full;
        seen.get(grounds.groups.place(last.lock)?, full)
    });
    let meanwhile = last.zip(root_seen.and_then(|seen| seen.mostly(&root_owner)));
    let meanwhile = meanwhile.map(|(last, did)| format!("Meanwhile, {} was {did}.", whose(last, names)));
    let because_of = last.map(|last| {
        let lock = code(&names.lock_short(last.lock));
        if last.kind == Kind::Conditional {
            format!("waiting for {lock}")
        } else {
            format!("the lock {lock}")
        }
    });
    let gist =
        Gist { awaited: because_of.unwrap_or_default(), meanwhile: meanwhile.unwrap_or_default(), ..Gist::default() };
    if let Some(did) = root_seen.and_then(|seen| seen.text(&root_owner)) {
        text = format!("{text} {did}");
    } else if let Some(cause) = split.and_then(evidence::cause) {
        text = format!("{text} {}", cause.replacen("For", "At the root, for", 1));
    }
    let (direct, through) = (DurationNs(root.direct_ns), DurationNs(root.through_ns));
    let parts = format!("{direct} blocked on that lock itself, {through} on locks whose owners waited for it");
    let mut details: Vec<String> = (root.direct_ns > 0).then_some(parts).into_iter().collect();
    // Two links are in the sentence already.
    if root.longest.len() > 2 {
        details.push(format!("longest chain: {}", chain_text(&root.longest, names)));
    }
    let evidence = vec![
        Evidence::exact("blocked", root.direct_ns, Some(share(root.direct_ns, cost_ns))),
        Evidence::of(
            EntryKind::LockOwnerWaited,
            root.through_ns,
            Quality::Exact,
            Some(share(root.through_ns, cost_ns)),
        ),
    ];
    let subject = last.map_or_else(String::new, |last| code(&names.lock_short(last.lock)));
    let kind = FindingKind::WaitFor;
    let stack = |path| FindingStack { whose: "owned by".to_owned(), frames: names.acting_text(path) };
    let stacks = root.path.map(stack).into_iter().collect();
    Finding { kind, text, subject, details, stacks, cost_ns, share: part, evidence, gist, ..Finding::default() }
}

/// `A owned by M, which was itself blocked on B owned by N`: in one piece, so that a short
/// report does not end with its beginning.
fn chain_text(links: &[Link], names: &Names) -> String {
    let mut text = String::new();
    for (at, link) in links.iter().enumerate() {
        let (joint, verb) = match link.kind {
            Kind::Conditional => (", which was itself waiting for ", "ended by"),
            _ => (", which was itself blocked on ", "owned by"),
        };
        let joint = if at == 0 { "" } else { joint };
        text += &format!("{joint}{} {verb} {}", code(&names.lock_short(link.lock)), whose(link, names));
    }
    text
}

/// A method, or the thread where the method is not known.
fn whose(link: &Link, names: &Names) -> String {
    match link.method {
        Some(method) => method_beside(&short(method, names), &names.lock_short(link.lock)),
        None if link.thread.is_some() => format!("thread {}", code(&names.thread_text(link.thread))),
        None => "somebody unknown".to_owned(),
    }
}
