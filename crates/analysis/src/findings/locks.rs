//! Findings about locks: who blocked whom.

use super::words::{code, count, percent};
use super::MOST;
use crate::aggregate::{share, LockTotals, Side};
use crate::analysis::Analysis;
use crate::monitor::Holder;
use crate::names::{NameId, Names, PathId};
use crate::report::{Finding, FindingKind};
use crate::threads::Running;
use headway_model::{DurationNs, LockId, ThreadId};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::Arc;

/// A lock counts if its blocked time is at least this part of all blocked time
/// and of the threads' running time.
pub(super) const OF_BLOCKED: f64 = 0.05;
pub(super) const OF_RUNNING: f64 = 0.001;
/// A method or a hand-over dominates from this part on.
const DOMINATES: f64 = 0.5;
/// One thread or caller stands for all from this part on.
const STANDS_FOR_ALL: f64 = 0.9;

/// A woken thread that has a CPU runs well within this time.
const LONG_HAND_OVER: DurationNs = DurationNs(1_000_000);

/// Name and readable class of a lock.
type Title = (String, String);

/// Locks that a developer would call the same: one lock, or the locks of many
/// like objects.
#[derive(Debug, Default)]
struct Group {
    title: Title,
    locks: Vec<LockId>,
    total: u64,
    count: u64,
    max: u64,
    hand_over: u64,
    hand_overs: u64,
    unknown: u64,
    after_wait: u64,
    in_virtual: u64,
    owner_methods: FxHashMap<NameId, Owner>,
    /// Owners whose chain is not known.
    owner_threads: FxHashMap<ThreadId, u64>,
    owners: FxHashMap<ThreadId, u64>,
    contenders: FxHashMap<ThreadId, u64>,
    contender_methods: FxHashMap<NameId, u64>,
}

/// What held the lock in one method.
#[derive(Debug, Default)]
struct Owner {
    total: u64,
    paths: FxHashMap<PathId, u64>,
    threads: FxHashMap<ThreadId, u64>,
}

pub(super) fn find(analysis: &mut Analysis, running: Running) -> Vec<Finding> {
    let blocked = analysis.aggregate.blocked_ns;
    let names = &mut analysis.names;
    let mut groups = Groups::default();
    for lock in analysis.aggregate.locks() {
        if lock.lock.is_some() && lock.total > 0 {
            groups.add(lock, names);
        }
    }
    let matter: Vec<bool> = groups.groups.iter().map(|group| matters(group, blocked, running)).collect();
    let place = |lock| groups.of_lock.get(&lock).copied().filter(|place| matter.get(*place) == Some(&true));
    let mut groups_that_matter = groups.groups;
    for (side, ns) in analysis.aggregate.sides() {
        if let Some(group) = place(side.lock).and_then(|place| groups_that_matter.get_mut(place)) {
            group.add_contender(side, ns, names);
        }
    }
    for (id, holder) in analysis.replay.holders().all() {
        let ns = analysis.aggregate.held_ns(id);
        if ns == 0 || holder.thread.is_none() {
            continue;
        }
        if let Some(group) = place(holder.lock).and_then(|place| groups_that_matter.get_mut(place)) {
            group.add_owner(holder, ns, names);
        }
    }
    let mut groups: Vec<Group> =
        groups_that_matter.into_iter().zip(matter).filter_map(|(group, matters)| matters.then_some(group)).collect();
    groups.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.title.cmp(&b.title)));
    groups.truncate(MOST);
    groups.iter().map(|group| group.finding(running, names)).collect()
}

/// Locks by what a developer calls them.
#[derive(Debug, Default)]
struct Groups {
    groups: Vec<Group>,
    of_lock: FxHashMap<LockId, usize>,
    by_title: FxHashMap<Title, usize>,
    /// By name and class as they are defined: a million locks of one class need not
    /// be given a readable name each.
    by_definition: FxHashMap<(Arc<str>, Arc<str>), usize>,
}

impl Groups {
    fn add(&mut self, lock: &LockTotals, names: &Names) {
        let place = self.place(lock.lock, names);
        self.of_lock.insert(lock.lock, place);
        if let Some(group) = self.groups.get_mut(place) {
            group.add(lock);
        }
    }

    fn place(&mut self, lock: LockId, names: &Names) -> usize {
        let def = names.lock(lock).map(|def| (def.name.clone(), def.class.clone())).unwrap_or_default();
        if let Some(place) = self.by_definition.get(&def) {
            return *place;
        }
        let title = (def.0.to_string(), names.lock_class_text(lock));
        let place = *self.by_title.entry(title).or_insert_with_key(|title| {
            self.groups.push(Group { title: title.clone(), ..Group::default() });
            self.groups.len() - 1
        });
        self.by_definition.insert(def, place);
        place
    }
}

fn matters(group: &Group, blocked: u64, running: Running) -> bool {
    let of_running =
        running.running_ns == 0 || group.in_virtual > 0 || share(group.total, running.running_ns) >= OF_RUNNING;
    of_running && share(group.total, blocked) >= OF_BLOCKED
}

impl Group {
    fn add(&mut self, lock: &LockTotals) {
        self.locks.push(lock.lock);
        self.total += lock.total;
        self.count += lock.count;
        self.max = self.max.max(lock.max);
        self.hand_over += lock.hand_over;
        self.hand_overs += lock.hand_overs;
        self.unknown += lock.unknown;
        self.after_wait += lock.after_wait;
        self.in_virtual += lock.in_virtual;
    }

    fn add_contender(&mut self, side: &Side, ns: u64, names: &mut Names) {
        *self.contenders.entry(side.thread).or_default() += ns;
        let method = names.path(side.chain, 0).and_then(|path| names.acting_method(path));
        if let Some(method) = method {
            *self.contender_methods.entry(method).or_default() += ns;
        }
    }

    fn add_owner(&mut self, holder: &Holder, ns: u64, names: &mut Names) {
        *self.owners.entry(holder.thread).or_default() += ns;
        let path = names.holder_path(holder.chain, holder.frame);
        let method = path.and_then(|path| names.acting_method(path));
        let (Some(path), Some(method)) = (path, method) else {
            *self.owner_threads.entry(holder.thread).or_default() += ns;
            return;
        };
        let owner = self.owner_methods.entry(method).or_default();
        owner.total += ns;
        *owner.paths.entry(path).or_default() += ns;
        *owner.threads.entry(holder.thread).or_default() += ns;
    }

    fn finding(&self, running: Running, names: &Names) -> Finding {
        let (kind, cause) = self.cause(names);
        let (cost, share) = self.cost(running);
        let mut text = format!("{cost} blocked on {}; {cause}", self.subject(names));
        if share.is_none() {
            text = format!("Threads were blocked for {cost} on {}; {cause}", self.subject(names));
        }
        Finding { kind, text, details: self.details(names), cost_ns: self.total, share }
    }

    fn cost(&self, running: Running) -> (String, Option<f64>) {
        let mostly_virtual = self.in_virtual * 2 > self.total;
        if running.running_ns == 0 || mostly_virtual {
            return (DurationNs(self.total).to_string(), None);
        }
        let share = share(self.total - self.in_virtual, running.running_ns);
        (format!("Threads spent {} of their time", percent(share)), Some(share))
    }

    /// `Inventory.lock`, or `Transaction` locks (153 of them).
    fn subject(&self, names: &Names) -> String {
        let Some(first) = self.locks.first() else { return String::new() };
        if let [lock] = self.locks[..] {
            return code(&names.lock_short(lock));
        }
        let named = names.lock(*first).filter(|def| !def.name.is_empty());
        let name = match named {
            Some(def) => def.name.to_string(),
            None => {
                let class = names.lock_class_text(*first);
                crate::names::method::without_package(&class).to_owned()
            }
        };
        format!("{} ({} of this name)", code(&name), count(self.locks.len() as u64, "lock"))
    }

    fn cause(&self, names: &Names) -> (FindingKind, String) {
        if share(self.hand_over, self.total) >= DOMINATES {
            return (FindingKind::HandOver, self.hand_over_text());
        }
        let methods = ranked(&self.owner_methods, |owner| owner.total);
        let threads = ranked(&self.owner_threads, |ns| *ns);
        match (methods.first(), threads.first()) {
            (Some((method, owner)), _) if share(owner.total, self.total) >= DOMINATES => {
                (FindingKind::HotLock, self.dominant_text(**method, owner, names))
            }
            (_, Some((thread, ns))) if share(**ns, self.total) >= DOMINATES => {
                let text = format!(
                    "{} of that while thread {} held it (what it did there is not recorded).",
                    percent(share(**ns, self.total)),
                    code(&names.thread_text(**thread)),
                );
                (FindingKind::HotLock, text)
            }
            (Some(_), _) => (FindingKind::SharedLock, self.shared_text(&methods, names)),
            (None, Some(_)) => (FindingKind::SharedLock, self.shared_threads_text()),
            (None, None) => {
                let text = "who held it is not recorded.".to_owned();
                (FindingKind::SharedLock, text)
            }
        }
    }

    fn dominant_text(&self, method: NameId, owner: &Owner, names: &Names) -> String {
        let mut held = format!(
            "{} of that while {} held it",
            percent(share(owner.total, self.total)),
            code(&short(method, names)),
        );
        let paths = ranked(&owner.paths, |ns| *ns);
        let caller = paths.first().and_then(|(path, _)| caller(**path, names));
        let by = by_threads(owner, names);
        held += &match caller {
            Some(caller) => format!(" (called from {} in {by}).", code(&caller)),
            None => format!(" (in {by})."),
        };
        held
    }

    fn shared_text(&self, methods: &[(&NameId, &Owner)], names: &Names) -> String {
        let named: Vec<String> = methods
            .iter()
            .take(3)
            .map(|(method, owner)| {
                let share = percent(share(owner.total, self.total));
                format!("{} {share}", code(&short(**method, names)))
            })
            .collect();
        format!(
            "{} take turns holding it (most of that time in {}), {} each on average.",
            count(self.owners.len() as u64, "thread"),
            named.join(", "),
            self.mean(),
        )
    }

    fn shared_threads_text(&self) -> String {
        format!(
            "{} take turns holding it (what they did there is not recorded), {} each on average.",
            count(self.owners.len() as u64, "thread"),
            self.mean(),
        )
    }

    fn hand_over_text(&self) -> String {
        let part = percent(share(self.hand_over, self.total));
        let mean = DurationNs(self.hand_over / self.hand_overs.max(1));
        if mean >= LONG_HAND_OVER {
            return format!(
                "{part} of that nobody held it: it had been released, and whoever was woken for it did not run \
                 yet, {mean} each time on average. That is long: the machine was short of CPU time, or the VM \
                 stood still.",
            );
        }
        format!(
            "{part} of that nobody held it: it was changing hands, {mean} each time on average. It is held for \
             short times by many ({}), so that waking the next one costs more than what it protects (a lock convoy).",
            count(self.owners.len() as u64, "thread"),
        )
    }

    fn mean(&self) -> DurationNs {
        DurationNs(self.total / self.count.max(1))
    }

    fn details(&self, names: &Names) -> Vec<String> {
        let mut details = vec![format!(
            "{} blocked {}, {} in all, mean {}, longest {}",
            count(self.contenders.len() as u64, "thread"),
            times(self.count),
            DurationNs(self.total),
            self.mean(),
            DurationNs(self.max),
        )];
        if let [lock] = self.locks[..] {
            details.push(format!("lock: {}", names.lock_text(lock)));
        }
        details.extend(self.holder_details(names));
        let contenders = ranked(&self.contender_methods, |ns| *ns);
        if let Some((method, ns)) = contenders.first() {
            let share = percent(share(**ns, self.total));
            details.push(format!("blocked mostly in: {} ({share})", full(**method, names)));
        }
        let parts = [
            (self.hand_over, "while the lock changed hands"),
            (self.unknown, "with an owner that could not be proven"),
            (self.after_wait, "acquiring it again after Object.wait"),
        ];
        for (ns, what) in parts {
            if share(ns, self.total) >= 0.1 {
                details.push(format!("{} {what}", percent(share(ns, self.total))));
            }
        }
        details
    }

    fn holder_details(&self, names: &Names) -> Option<String> {
        let methods = ranked(&self.owner_methods, |owner| owner.total);
        let (_, owner) = methods.first()?;
        let paths = ranked(&owner.paths, |ns| *ns);
        let (path, _) = paths.first()?;
        Some(format!("held by: {}", names.path_text(**path).join(" < ")))
    }
}

fn times(n: u64) -> String {
    if n == 1 {
        "once".to_owned()
    } else {
        count(n, "time")
    }
}

fn by_threads(owner: &Owner, names: &Names) -> String {
    let threads = ranked(&owner.threads, |ns| *ns);
    let Some((first, ns)) = threads.first() else { return String::new() };
    if share(**ns, owner.total) >= STANDS_FOR_ALL {
        return format!("thread {}", code(&names.thread_text(**first)));
    }
    let group = names.group_text(**first);
    let in_group = threads.iter().filter(|(thread, _)| names.group_text(**thread) == group).count();
    if in_group == threads.len() {
        return format!("threads {} ({} of them)", code(&group), threads.len());
    }
    format!("{}, most in {}", count(threads.len() as u64, "thread"), code(&group))
}

/// The method that called the one that a chain begins with, without the
/// machinery between them and without recursion.
pub(super) fn caller(path: PathId, names: &Names) -> Option<String> {
    let frames = names.frames(path);
    let at = names.skip_machinery(&frames);
    let method = frames.get(at)?.name;
    frames[at + 1..].iter().find(|frame| frame.name != method).map(|frame| short(frame.name, names))
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
