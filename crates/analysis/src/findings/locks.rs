//! Findings about locks: who blocked whom.

use super::callers::{called, called_for, of_application};
use super::deadlocks::last_owner;
use super::seen::{Doings, OfLocks};
use super::waits::{of_owner, OfOwner};
use super::words::{begun, code, count, method_beside, percent};
use super::{evidence, Gist, Grounds, MOST, WOKEN};
use crate::aggregate::{share, LockTotals, Range, Side};
use crate::analysis::Analysis;
use crate::ledger::{EntryKind, LockSplit, Quality};
use crate::lock_groups::LockGroup;
use crate::monitor::{OpenContention, Owner, OwnerId};
use crate::names::{NameId, Names, PathId, BIN};
use crate::report::{Evidence, Finding, FindingKind, FindingStack, Interval};
use crate::sampled::{PartOf, Strata};
use headway_model::{quantity, DurationNs, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// A lock counts if its blocked time is at least this part of all blocked time
/// and of the active thread time.
pub(super) const OF_BLOCKED: f64 = 0.05;
pub(super) const OF_ACTIVE: f64 = 0.001;
/// A method or a hand-off dominates from this part on.
const DOMINATES: f64 = 0.5;
/// One thread or caller stands for all from this part on.
const STANDS_FOR_ALL: f64 = 0.9;

/// Part of the blocked time from which on one more owner's method is named.
const LEAST_NAMED: f64 = 0.01;

/// From this part on it is said what those methods leave that are named.
const WORTH_A_WORD: f64 = 0.1;

/// From this part on nothing is known of what owners did.
const UNKNOWN: f64 = 0.95;

/// Threads whose life is less than this part of the active thread time are named.
const FEW: f64 = 0.5;
/// Part of the blocked time whose threads are known from which on these are all of them.
const WHOLE: f64 = 0.99;

/// Call stacks of blocked threads that are looked at for the application's method, most time first.
const PATHS: usize = 16;

/// Locks that several threads may have at a time.
const READ_LOCKS: [&str; 2] = ["ReentrantReadWriteLock", "StampedLock"];

/// Contentions of each lock from which on it is passed from thread to thread.
const PASSED_ON: u64 = 10;
/// Hand-offs of a lock convoy take less in the mean.
const CONVOY_HAND_OFF: DurationNs = DurationNs(1_000_000);

/// What is said of the hand-offs of a lock that threads acquire in the order in which they came.
const FAIR: &str = " The lock is fair: a thread gets it only after all threads that already wait for it.";

/// Locks of one name.
#[derive(Debug, Default)]
struct Group {
    kind: LockGroup,
    total: u64,
    count: u64,
    max: u64,
    hand_overs: u64,
    /// Hand-off in which the blocked thread was the next one itself.
    own_hand_over: u64,
    after_wait: u64,
    in_virtual: u64,
    is_juc: bool,
    split: LockSplit,
    /// Its hand-offs and how far they may be off, where they are estimated.
    hand_off: Estimated,
    /// Counted at the root of a chain of waiting.
    moved: u64,
    owner_methods: FxHashMap<NameId, Owned>,
    /// Owners whose chain is not known.
    owner_threads: FxHashMap<ThreadId, Owned>,
    owners: FxHashMap<ThreadId, u64>,
    contenders: FxHashMap<ThreadId, u64>,
    waiters_life: u64,
    contender_paths: FxHashMap<PathId, u64>,
    /// Who owns it at the end, where a thread is still blocked on it.
    last_owner: Option<ThreadId>,
}

/// Parts of the blocked time that random instants say something of.
#[derive(Debug, Default)]
struct Estimated {
    parts: Vec<PartOf>,
    /// How far they may be off together.
    interval: Option<Interval>,
}

impl Estimated {
    fn estimate(&mut self, strata: &Strata<'_>, total_ns: u64) {
        self.interval = strata.interval(self.parts.iter().copied(), total_ns);
    }
}

/// What held the lock in one method, or as one thread.
#[derive(Debug, Default)]
struct Owned {
    total: u64,
    estimated: Estimated,
    paths: FxHashMap<PathId, u64>,
    threads: FxHashMap<ThreadId, u64>,
}

pub(super) fn find(
    analysis: &mut Analysis,
    (active_ns, range): (u64, Range),
    grounds: &Grounds<'_>,
    moved: &FxHashMap<usize, u64>,
    (seen, open): (&OfLocks, &[OpenContention]),
) -> (Vec<Finding>, Vec<usize>) {
    let blocked = analysis.aggregate.blocked_ns;
    let mut groups: Vec<Group> = (0..grounds.groups.len()).map(|_| Group::default()).collect();
    for (at, totals) in analysis.aggregate.locks().iter().enumerate() {
        let Some(place) = grounds.groups.place(totals.lock) else { continue };
        if let (Some(group), Some(kind)) = (groups.get_mut(place), grounds.groups.get(place)) {
            if group.count == 0 {
                group.kind = kind.clone();
                group.moved = moved.get(&place).copied().unwrap_or(0);
            }
            group.add(totals, grounds.splits.get(&totals.lock));
            group.hand_off.parts.push(PartOf::HandOff(at as u32));
        }
    }
    let matter: Vec<bool> = groups.iter().map(|group| group.matters(blocked, active_ns)).collect();
    let place = |lock| grounds.groups.place(lock).filter(|place| matter.get(*place) == Some(&true));
    let names = &mut analysis.names;
    for (side, ns) in analysis.aggregate.sides() {
        if let Some(group) = place(side.lock).and_then(|place| groups.get_mut(place)) {
            group.add_contender(side, ns, names);
        }
    }
    for (id, owner) in analysis.replays.monitors.owners_by_id().all() {
        let ns = analysis.aggregate.held_ns(id);
        if ns == 0 || owner.thread.is_none() {
            continue;
        }
        if let Some(group) = place(owner.lock).and_then(|place| groups.get_mut(place)) {
            group.add_owner((id, owner), ns, names);
        }
    }
    let matter = groups.into_iter().zip(matter).enumerate();
    let mut groups: Vec<(usize, Group)> =
        matter.filter_map(|(place, (group, matters))| matters.then_some((place, group))).collect();
    groups.sort_by(|(_, a), (_, b)| b.cost().cmp(&a.cost()).then_with(|| a.kind.name.cmp(&b.kind.name)));
    groups.truncate(MOST);
    let strata = analysis.aggregate.strata(names);
    for (_, group) in &mut groups {
        if let Some(strata) = &strata {
            group.estimate(strata);
        }
        group.last_owner =
            last_owner(open.iter().filter(|blocked| blocked.lock == group.kind.first)).map(|of| of.owner);
        group.waiters_life = group.contenders.keys().map(|thread| analysis.threads.life_ns(*thread, range)).sum();
    }
    let analysis = &*analysis;
    let finding = |place: usize, group: &Group| {
        let waited = group.owners_wait((analysis, grounds), range);
        group.finding(active_ns, &analysis.names, (seen, place), waited)
    };
    groups.iter().map(|(place, group)| (finding(*place, group), *place)).unzip()
}

impl Group {
    /// What could be won back at most: without pauses, and without what is counted
    /// at the root of a chain.
    fn cost(&self) -> u64 {
        self.total.saturating_sub(self.split.paused).saturating_sub(self.moved)
    }

    /// The blocked time of which the sentences speak.
    fn spoken_of(&self) -> u64 {
        evidence::spoken_of(&self.split)
    }

    fn matters(&self, blocked: u64, whole: u64) -> bool {
        let of_active = whole == 0 || self.in_virtual > 0 || share(self.total, whole) >= OF_ACTIVE;
        // A pause is reported with the lock that it seems to be due to.
        let cost = self.total.saturating_sub(self.moved);
        of_active && share(self.total, blocked) >= OF_BLOCKED && share(cost, blocked) >= OF_BLOCKED
    }

    fn add(&mut self, lock: &LockTotals, split: Option<&LockSplit>) {
        self.total += lock.total;
        self.count += lock.count;
        self.max = self.max.max(lock.max);
        self.hand_overs += lock.hand_overs;
        self.own_hand_over += lock.own_hand_over;
        self.after_wait += lock.after_wait;
        self.in_virtual += lock.in_virtual;
        self.is_juc |= lock.is_juc;
        if let Some(split) = split {
            self.split.add(split);
        }
    }

    fn add_contender(&mut self, side: &Side, ns: u64, names: &mut Names) {
        *self.contenders.entry(side.thread).or_default() += ns;
        let Some(path) = names.path(side.chain, 0) else { return };
        *self.contender_paths.entry(path).or_default() += ns;
    }

    fn add_owner(&mut self, (id, owner): (OwnerId, &Owner), ns: u64, names: &mut Names) {
        let part = PartOf::Owner(id.index() as u32);
        *self.owners.entry(owner.thread).or_default() += ns;
        let path = names.owner_path(owner.chain, owner.frame);
        let method = path.and_then(|path| names.acting_method(path));
        let (Some(path), Some(method)) = (path, method) else {
            let owned = self.owner_threads.entry(owner.thread).or_default();
            owned.total += ns;
            owned.estimated.parts.push(part);
            return;
        };
        let owned = self.owner_methods.entry(method).or_default();
        owned.total += ns;
        owned.estimated.parts.push(part);
        *owned.paths.entry(path).or_default() += ns;
        *owned.threads.entry(owner.thread).or_default() += ns;
    }

    /// Finds how far what is said of owners may be off.
    fn estimate(&mut self, strata: &Strata<'_>) {
        self.hand_off.estimate(strata, self.split.hand_off);
        for owner in self.owner_methods.values_mut().chain(self.owner_threads.values_mut()) {
            owner.estimated.estimate(strata, owner.total);
        }
    }

    /// `62 %` of the blocked time; with its interval if it is an estimate.
    fn part(&self, ns: u64, estimated: &Estimated) -> String {
        match &estimated.interval {
            Some(it) => quantity::estimated(share(ns, self.spoken_of()), it.of(self.spoken_of()), it.instants),
            None => percent(share(ns, self.spoken_of())),
        }
    }

    /// The numbers behind the sentence.
    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = evidence::of_split(&self.split);
        let name = EntryKind::LockHandOff.name();
        // What waits for a carrier is an entry apart.
        let is_whole = self.split.for_carrier == 0;
        if let Some(hand_off) = evidence.iter_mut().find(|part| part.what == name && is_whole) {
            hand_off.interval = self.hand_off.interval;
            hand_off.quality = hand_off.interval.map_or(hand_off.quality, |_| Quality::Estimated);
        }
        let methods = ranked(&self.owner_methods, |owner| owner.total);
        let threads = ranked(&self.owner_threads, |owner| owner.total);
        let first = methods.first().map(|(_, owner)| ("owner-method", *owner));
        let first = first.or_else(|| threads.first().map(|(_, owner)| ("owner-thread", *owner)));
        // Of an exact recording the sentence has it.
        let first = first.filter(|(_, owner)| owner.estimated.interval.is_some());
        evidence.extend(first.map(|(what, owner)| Evidence {
            quality: Quality::Estimated,
            interval: owner.estimated.interval,
            ..Evidence::exact(what, owner.total, Some(share(owner.total, self.spoken_of())))
        }));
        evidence
    }

    /// What the method that owned it for most of the time waited for meanwhile, where that is why it was owned for so
    /// long. Who waited for another lock is in the finding about the root of the chain.
    fn owners_wait(&self, of: (&Analysis, &Grounds<'_>), range: Range) -> Option<OfOwner> {
        let (method, owner) = ranked(&self.owner_methods, |owner| owner.total).first().copied()?;
        let waited = self.split.waited;
        let is_why = self.moved == 0
            && share(waited, self.spoken_of()) >= DOMINATES
            && share(owner.total, self.spoken_of()) >= DOMINATES;
        if !is_why {
            return None;
        }
        // While it waited for so long, no more than these were blocked.
        let least_ns = waited / 2 / (self.contenders.len() as u64).max(1);
        let range_ns = range.to.since(range.from).0;
        of_owner(*method, (self.kind.count, least_ns), range_ns, of)
    }

    fn finding(
        &self,
        active_ns: u64,
        names: &Names,
        (seen, lock): (&OfLocks, usize),
        waited: Option<OfOwner>,
    ) -> Finding {
        let (kind, owner) = self.owner(names);
        let (spent, share) = self.spent(active_ns, names);
        // What makes hand-offs long is in no method.
        let place = if kind == FindingKind::HandOff { String::new() } else { self.place(names) };
        let mut text = format!("{spent} blocked on {}{}. {owner}", self.subject(names), within(&place));
        let method = ranked(&self.owner_methods, |owner| owner.total).first().map(|(method, _)| **method);
        let full = method.and_then(|method| names.method_name(method)).map_or("", |name| &name.full);
        let seen = seen.get(lock, full).filter(|_| kind != FindingKind::HandOff);
        let did = method.zip(seen).and_then(|(method, seen)| seen.text(&self.method(method, names)));
        let too_few = || method.zip(seen).and_then(|(method, seen)| seen.too_few(&self.method(method, names)));
        let waited_for = waited.as_ref().map(|waited| self.waited_text(waited));
        let cause = waited_for.or_else(|| did.clone()).or_else(|| evidence::cause(&self.split));
        let owner_did = cause.clone().unwrap_or_default();
        if let Some(cause) = cause.or_else(too_few) {
            text = format!("{text} {cause}");
        }
        let mut evidence = self.evidence();
        evidence.extend(seen.and_then(Doings::evidence));
        let subject = self.subject(names);
        let is_sampled = did.is_some() && kind == FindingKind::HotLock && seen.is_some_and(Doings::cover_most);
        let (details, stacks) = (self.details(is_sampled, names), self.stacks(kind, names));
        let waits_in = if kind == FindingKind::HandOff { self.waits_in(names) } else { None };
        let gist = Gist { place, waits_in, ..self.gist(kind, seen, waited.as_ref(), names) };
        let cost_ns = self.cost();
        Finding { kind, text, subject, details, stacks, cost_ns, share, evidence, advice: None, gist, owner_did }
    }

    /// Who was blocked; which method owned it, and what that mostly did.
    fn gist(&self, kind: FindingKind, seen: Option<&Doings>, waited: Option<&OfOwner>, names: &Names) -> Gist {
        let groups = self.contender_groups(names);
        let who = match (&groups[..], self.contenders.keys().next()) {
            ([group], Some(first)) if self.knows_contenders() => {
                Gist::who(self.contenders.len(), &names.thread_text(*first), group)
            }
            _ => String::new(),
        };
        let dominant = ranked(&self.owner_methods, |owner| owner.total).first().copied();
        let owned = dominant.filter(|_| kind == FindingKind::HotLock).map(|(method, owner)| {
            let method = self.method(*method, names);
            let did = match waited {
                Some(waited) => Some(format!("mostly waiting for {} itself", waited.awaited)),
                None => seen.and_then(|seen| seen.mostly(&method)),
            };
            let did = did.map(|did| format!(", {did}"));
            // Without pauses, as what it costs; but what counts at the root of a chain was time with the lock, too.
            let owned = self.total.saturating_sub(self.split.paused);
            let part = percent(share(owner.total, owned));
            let of_what = if self.cost() == owned { "that time" } else { "the time blocked on it" };
            let thread = Some(by_threads(owner, names)).filter(|by| by.starts_with("thread "));
            let whose = thread.map_or(String::new(), |thread| format!(" in {thread}"));
            format!("{}{whose} owned {} for {part} of {of_what}{}.", begun(&method), self.it(), did.unwrap_or_default())
        });
        let mut gist = Gist { who, meanwhile: owned.unwrap_or_default(), ..Gist::default() };
        if let Some(others) = waited.and_then(|waited| waited.mostly.as_deref()).filter(|_| !gist.meanwhile.is_empty())
        {
            gist.add(others);
        }
        gist
    }

    /// What its owner waited for meanwhile.
    fn waited_text(&self, waited: &OfOwner) -> String {
        let part = percent(share(self.split.waited, self.spoken_of()));
        let text = format!(
            "For {part} of the blocked time, its owner was itself blocked or waiting, mostly {}.",
            waited.waited
        );
        match &waited.did {
            Some(did) => format!("{text} {did}"),
            None => text,
        }
    }

    /// The application's method in which threads were mostly blocked on a lock in a library or the JDK, or on one of the
    /// JDK's own objects without a name, which nobody knows by its own name; in backticks, or empty.
    fn place(&self, names: &Names) -> String {
        let mut places: FxHashMap<NameId, u64> = FxHashMap::default();
        let is_nameless = is_nameless(&names.lock_text(self.kind.first));
        for (path, ns) in ranked(&self.contender_paths, |ns| *ns).into_iter().take(PATHS) {
            let place = if is_nameless { of_application(*path, names) } else { called_for(*path, names) };
            if let Some(place) = place {
                *places.entry(place).or_default() += ns;
            }
        }
        let most = ranked(&places, |ns| *ns).first().filter(|(_, ns)| share(**ns, self.total) >= DOMINATES).copied();
        most.map_or_else(String::new, |(place, _)| code(&short(*place, names)))
    }

    fn spent(&self, active_ns: u64, names: &Names) -> (String, Option<f64>) {
        let mostly_virtual = self.in_virtual * 2 > self.total;
        let who = match mostly_virtual {
            true => "Threads".to_owned(),
            false => self.who(active_ns, names),
        };
        let spent = format!("{who} spent {}", evidence::time(self.spoken_of()));
        if active_ns == 0 || mostly_virtual {
            return (spent, None);
        }
        let share = share(self.spoken_of(), active_ns).min(1.0);
        (format!("{spent} ({} of the active thread time)", percent(share)), Some(share))
    }

    /// `Threads`; where only few of the program's are blocked, which ones: others may be what
    /// matters.
    fn who(&self, active_ns: u64, names: &Names) -> String {
        let groups = self.contender_groups(names);
        let are_few = self.knows_contenders() && self.waiters_life > 0 && share(self.waiters_life, active_ns) < FEW;
        match (&groups[..], self.contenders.len()) {
            ([_], 1) if are_few => {
                let thread = self.contenders.keys().map(|thread| code(&names.thread_text(*thread)));
                format!("Thread {}", thread.collect::<String>())
            }
            ([group], n) if are_few => format!("{} {}", count(n as u64, "thread"), code(group)),
            _ => "Threads".to_owned(),
        }
    }

    fn contender_groups(&self, names: &Names) -> Vec<String> {
        let mut groups: Vec<String> = self.contenders.keys().map(|thread| names.group_text(*thread)).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Contenders beyond the bound of the breakdown are known as a sum only.
    fn knows_contenders(&self) -> bool {
        share(self.contenders.values().sum(), self.total) >= WHOLE
    }

    /// A method that owned the lock.
    fn method(&self, method: NameId, names: &Names) -> String {
        method_beside(&short(method, names), &names.lock_short(self.kind.first))
    }

    /// `Inventory.lock`, or `Transaction` (153 locks).
    fn subject(&self, names: &Names) -> String {
        match self.kind.count {
            1 => code(&names.lock_short(self.kind.first)),
            n if self.kind.name.starts_with(BIN) => format!("bins of ConcurrentHashMaps ({})", count(n, "lock")),
            n => format!("{} ({})", code(&self.kind.name), count(n, "lock")),
        }
    }

    /// The lock, or the locks.
    fn it(&self) -> &'static str {
        if self.kind.count > 1 {
            "them"
        } else {
            "it"
        }
    }

    fn owner(&self, names: &Names) -> (FindingKind, String) {
        if share(self.split.hand_off, self.spoken_of()) >= DOMINATES {
            return (FindingKind::HandOff, self.hand_over_text(names));
        }
        // Of a pause nobody is guilty.
        let owned = self.total - self.split.paused.min(self.total);
        let methods = ranked(&self.owner_methods, |owner| owner.total);
        let threads = ranked(&self.owner_threads, |owner| owner.total);
        match (methods.first(), threads.first()) {
            (Some((method, owner)), _) if share(owner.total, owned) >= DOMINATES => {
                (FindingKind::HotLock, self.dominant_text(**method, owner, names))
            }
            (_, Some((thread, owner))) if share(owner.total, owned) >= DOMINATES => {
                let text = format!(
                    "Thread {} owned {} for {} of that time. The recording does not show what it did.",
                    code(&names.thread_text(**thread)),
                    self.it(),
                    self.part(owner.total, &owner.estimated),
                );
                (FindingKind::HotLock, text)
            }
            (Some(_), _) => (FindingKind::SharedLock, self.shared_text(&methods, names)),
            (None, Some(_)) => (FindingKind::SharedLock, self.shared_threads_text(names)),
            (None, None) => (FindingKind::SharedLock, self.no_owner_text(names)),
        }
    }

    fn no_owner_text(&self, names: &Names) -> String {
        if let Some(last) = self.last_owner_text(names) {
            return last;
        }
        let text = format!("The recording does not show who owned {}", self.it());
        match self.is_shared(names) {
            true => format!("{text}: who has a read lock is seen only when it is released."),
            false => format!("{text}."),
        }
    }

    fn dominant_text(&self, method: NameId, owner: &Owned, names: &Names) -> String {
        let paths = ranked(&owner.paths, |ns| *ns);
        let caller = paths.first().and_then(|(path, _)| called(**path, names));
        let by = by_threads(owner, names);
        let called = match caller {
            Some((called, caller)) => format!("{called} {} in {by}", code(&caller)),
            None => format!("in {by}"),
        };
        let part = self.part(owner.total, &owner.estimated);
        format!("{} owned {} for {part} of that time, {called}.", begun(&self.method(method, names)), self.it())
    }

    /// `8 threads owned it in turn: `Shop.sell` for 48 % of that time, `Shop.buy` for 20 %.`
    fn shared_text(&self, methods: &[(&NameId, &Owned)], names: &Names) -> String {
        let part = |owner: &Owned| share(owner.total, self.spoken_of());
        let owners = self.owned_it(names);
        let Some((first, rest)) = methods.split_first() else { return format!("{owners}.") };
        let text = |owner: &Owned| self.part(owner.total, &owner.estimated);
        let unknown = self.unknown_part();
        if unknown >= DOMINATES {
            return format!(
                "For {} of that time, the recording does not show which method owned {}. {} owned {} for {}.",
                percent(unknown),
                self.it(),
                begun(&self.method(*first.0, names)),
                self.it(),
                text(first.1),
            );
        }
        let mut named = vec![format!("{} for {} of that time", self.method(*first.0, names), text(first.1))];
        let rest = rest.iter().take(2).filter(|(_, owner)| part(owner) >= LEAST_NAMED);
        named.extend(rest.map(|(method, owner)| format!("{} for {}", self.method(**method, names), text(owner))));
        let others = methods.iter().skip(named.len()).map(|(_, owner)| part(owner)).sum::<f64>();
        let parts = [others, share(self.split.hand_off, self.spoken_of()), self.unknown_part()];
        if parts.iter().sum::<f64>() < WORTH_A_WORD {
            return format!("{owners}: {}.", named.join(", "));
        }
        let [others, hand_off, unknown] = parts.map(|part| (part >= LEAST_NAMED).then(|| percent(part)));
        named.extend(others.map(|others| format!("other methods for {others}")));
        let hand_off = hand_off.map(|part| format!("; {part} was hand-off")).unwrap_or_default();
        let unknown = unknown.map(|part| format!("; the owner is not known for {part}")).unwrap_or_default();
        format!("{owners}: {}{hand_off}{unknown}.", named.join(", "))
    }

    /// The part of the time without pauses for which nothing is known of owners.
    fn unknown_part(&self) -> f64 {
        let owners = self.owner_methods.values().chain(self.owner_threads.values());
        let known: u64 = owners.map(|owner| owner.total).sum();
        1.0 - share(known + self.split.hand_off, self.total - self.split.paused.min(self.total))
    }

    /// `8 threads owned it in turn`; of a lock that several may have at a time, `8 threads owned it`.
    fn owned_it(&self, names: &Names) -> String {
        let in_turn = if self.owners.len() == 1 || self.is_shared(names) { "" } else { " in turn" };
        format!("{} owned {}{in_turn}", count(self.owners.len() as u64, "thread"), self.it())
    }

    /// True for a lock that several threads may have at a time.
    fn is_shared(&self, names: &Names) -> bool {
        READ_LOCKS.iter().any(|class| names.lock_text(self.kind.first).contains(class))
    }

    /// What is known of a lock whose owners are not, but on which threads are still blocked.
    fn last_owner_text(&self, names: &Names) -> Option<String> {
        let last = self.last_owner.filter(|_| self.kind.count == 1)?;
        Some(format!("The recording shows only its last owner, {}.", code(&names.thread_text(last))))
    }

    fn shared_threads_text(&self, names: &Names) -> String {
        if self.unknown_part() >= DOMINATES {
            return self
                .last_owner_text(names)
                .unwrap_or_else(|| format!("The recording does not show which threads owned {}.", self.it()));
        }
        let they = if self.owners.len() == 1 { "it" } else { "they" };
        format!("{}. The recording does not show what {they} did.", self.owned_it(names))
    }

    /// The lock was free for most of the time. A convoy is one lock that is passed
    /// on again and again, no lock that is contended a few times.
    fn hand_over_text(&self, names: &Names) -> String {
        let part = begun(&self.part(self.split.hand_off, &self.hand_off));
        let mean = DurationNs(self.split.hand_off / self.hand_overs.max(1));
        let carrier = match share(self.split.for_carrier, self.split.hand_off) {
            part if part >= DOMINATES => format!(", {} of it waiting for a carrier thread", percent(part)),
            _ => String::new(),
        };
        let late = format!(
            "{part} of that time is hand-off: the lock had been released, but the next thread had not run yet ({}, \
             mean {mean}{carrier}; a hand-off counts once for each blocked thread).{}",
            count(self.hand_overs, "hand-off"),
            self.whose_hand_off(),
        );
        if self.is_after_wait() {
            let woken = if self.is_juc { "had been woken in `Condition.await`" } else { WOKEN };
            let who = if self.contenders.len() == 1 { "thread" } else { "threads" };
            return format!("{late} The {who} {woken} and had to acquire the lock again.");
        }
        let passed_on = self.count >= PASSED_ON * self.kind.count.max(1) && self.owners.len() > 1;
        match passed_on {
            true => {
                let in_turn = own_it_in_turn(self.owners.len() as u64, mean, self.is_shared(names));
                format!("{late} {in_turn}{}", if is_fair(&self.kind.class) { FAIR } else { "" })
            }
            false => late,
        }
    }

    /// Why hand-off is longer than the next threads took to run, where that is so: each blocked thread counts.
    fn whose_hand_off(&self) -> String {
        match share(self.own_hand_over, self.split.hand_off) {
            own if own < STANDS_FOR_ALL => {
                format!(" In {} of the hand-off time, the blocked thread was the next one to get the lock; in the rest, another thread got it first.", percent(own))
            }
            _ => String::new(),
        }
    }

    /// True if most threads had waited on the lock itself and acquired it again.
    fn is_after_wait(&self) -> bool {
        share(self.after_wait, self.total) >= DOMINATES
    }

    /// The method that called `Object.wait`, if most of the time belongs to threads that acquired the lock again there.
    fn waits_in(&self, names: &Names) -> Option<NameId> {
        if self.is_juc || !self.is_after_wait() {
            return None;
        }
        let mut by_method: FxHashMap<NameId, u64> = FxHashMap::default();
        for (path, ns) in &self.contender_paths {
            // A stack without a method that acts must not hide those of the others.
            let Some(method) = names.acting_method(*path) else { continue };
            *by_method.entry(method).or_default() += ns;
        }
        let (method, ns) = ranked(&by_method, |ns| *ns).first().copied()?;
        (share(*ns, self.total) >= DOMINATES).then_some(*method)
    }

    fn wait_words(&self) -> &'static str {
        if self.is_juc {
            "Condition.await"
        } else {
            "Object.wait"
        }
    }

    /// Of the time that is spoken of: without pauses of the VM, if it has some.
    fn mean(&self) -> DurationNs {
        DurationNs(self.spoken_of() / self.count.max(1))
    }

    /// `is_sampled`: the sentences say what samples show of most of the time.
    fn details(&self, is_sampled: bool, names: &Names) -> Vec<String> {
        let mut details = Vec::new();
        if share(self.split.unknown, self.total) < UNKNOWN {
            details.push(evidence::split_text(&self.split, is_sampled));
        }
        let has_pauses = self.spoken_of() < self.total;
        details.push(format!(
            "{} of {}, mean {}{}, longest {}{}",
            count(self.count, "contention"),
            count(self.contenders.len() as u64, "thread"),
            self.mean(),
            if has_pauses { " (without VM pauses)" } else { "" },
            DurationNs(self.max),
            if has_pauses { " (with them)" } else { "" },
        ));
        if self.moved > 0 {
            details.push(format!("{} of it counts at the root of its chain of waiting", DurationNs(self.moved)));
        }
        if self.kind.count == 1 {
            details.push(format!("lock: {}", names.lock_text(self.kind.first)));
        }
        if evidence::is_worth_saying(self.after_wait, self.total) {
            let part = percent(share(self.after_wait, self.total));
            details.push(format!("{part} of the blocked time to acquire the lock again after {}", self.wait_words()));
        }
        details
    }

    fn stacks(&self, kind: FindingKind, names: &Names) -> Vec<FindingStack> {
        let owners = ranked(&self.owner_methods, |owner| owner.total);
        let owner =
            owners.first().and_then(|(_, owner)| ranked(&owner.paths, |ns| *ns).first().map(|(path, _)| **path));
        let waiter = ranked(&self.contender_paths, |ns| *ns).first().map(|(path, _)| **path);
        let stack = |whose: &str, path: Option<PathId>| {
            path.map(|path| FindingStack { whose: whose.to_owned(), frames: names.acting_text(path) })
        };
        // Of a lock that is mostly free it matters who had it before.
        let whose = if kind == FindingKind::HandOff { "released by" } else { "owned by" };
        [stack(whose, owner), stack("blocked in", waiter)].into_iter().flatten().collect()
    }
}

fn by_threads(owner: &Owned, names: &Names) -> String {
    let threads = ranked(&owner.threads, |ns| *ns);
    let Some((first, ns)) = threads.first() else { return String::new() };
    if share(**ns, owner.total) >= STANDS_FOR_ALL {
        return format!("thread {}", code(&names.thread_text(**first)));
    }
    let mut groups: BTreeMap<String, u64> = BTreeMap::new();
    for (thread, ns) in &threads {
        *groups.entry(names.group_text(**thread)).or_default() += **ns;
    }
    let Some((group, ns)) = groups.iter().max_by_key(|(_, ns)| **ns) else { return String::new() };
    if groups.len() == 1 {
        return format!("{} {}", count(threads.len() as u64, "thread"), code(group));
    }
    let all = count(threads.len() as u64, "thread");
    match share(*ns, owner.total) > 0.5 {
        true => format!("{all}, {} for most of that time", code(group)),
        false => all,
    }
}

/// `` in `Orders.serve` ``, where that is known.
pub(super) fn within(place: &str) -> String {
    if place.is_empty() {
        return String::new();
    }
    format!(" in {place}")
}

pub(super) fn short(method: NameId, names: &Names) -> String {
    names.method_name(method).map_or_else(String::new, |name| name.short.clone())
}

pub(super) fn full(method: NameId, names: &Names) -> String {
    code(names.method_name(method).map_or("", |name| &name.full))
}

/// Largest first; equal ones in a stable order.
pub(super) fn ranked<K: Ord + Hash, V>(totals: &FxHashMap<K, V>, total: impl Fn(&V) -> u64) -> Vec<(&K, &V)> {
    let mut ranked: Vec<(&K, &V)> = totals.iter().collect();
    ranked.sort_by(|(a, a_total), (b, b_total)| total(b_total).cmp(&total(a_total)).then_with(|| a.cmp(b)));
    ranked
}

/// True for a lock of which nothing is known but that it is some object of a class of the JDK: `java.lang.Object@1002`.
fn is_nameless(lock: &str) -> bool {
    lock.starts_with("java.") && lock.contains('@') && !lock.contains(' ')
}

/// True for the class of a lock that threads acquire in the order in which they came.
fn is_fair(class: &str) -> bool {
    class.ends_with("ReentrantLock$FairSync")
}

/// So many threads own a lock in turn, and hand it off in this time. Where `is_shared`, several own it at a time, and for how
/// long each of them does is not in the time of hand-offs.
fn own_it_in_turn(owners: u64, mean: DurationNs, is_shared: bool) -> String {
    let owners = count(owners, "thread");
    if is_shared {
        return format!("{owners} owned it.");
    }
    // What takes longer is no cost of waking: threads have no CPU.
    let name = if mean < CONVOY_HAND_OFF { ": a lock convoy" } else { "" };
    format!(
        "{owners} own it in turn for short times. Waking the next thread takes longer than the work under the lock{name}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_without_a_name_is_some_object_of_the_jdk() {
        assert!(is_nameless("java.util.concurrent.locks.StampedLock@622b4913"));
        assert!(!is_nameless("com.acme.Ledger@622b4913") && !is_nameless("Orders.lock (java.lang.Object@1002)"));
    }

    #[test]
    fn hand_offs_of_milliseconds_are_no_convoy() {
        let said = |mean| own_it_in_turn(8, DurationNs(mean), false);
        assert!(said(999_999).ends_with("under the lock: a lock convoy."));
        assert!(said(1_000_000).ends_with("under the lock."));
    }

    #[test]
    fn only_a_lock_with_an_order_is_fair() {
        let class = |name: &str| format!("java.util.concurrent.locks.ReentrantLock${name}");
        assert!(is_fair(&class("FairSync")) && !is_fair(&class("NonfairSync")));
    }

    #[test]
    fn of_a_read_lock_it_is_not_known_how_long_each_thread_owns_it() {
        let said = own_it_in_turn(8, DurationNs(900_000), true);
        assert_eq!(said, "8 threads owned it.");
    }
}
