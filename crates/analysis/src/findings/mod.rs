//! Says in plain words what matters.
//!
//! Findings are ranked by the time that could be won back at most, whatever kind
//! they are of. A chain of waiting counts at its root, once. No cause is stated that
//! the ledger does not show.
//!
//! "N % of the active thread time" is always a part of the time of the ledger without
//! idle time, which is also what the verdict and the bar of thread time are parts of;
//! where it is not known, or most of the blocked time is that of virtual threads, there is
//! no percentage.

mod callers;
mod class_init;
mod deadlocks;
mod evidence;
mod gist;
mod locks;
mod other;
mod others;
mod phases;
mod pinned;
mod seen;
mod steal;
mod stragglers;
mod unended;
mod verdict;
mod wait_for;
mod waits;
mod words;

use crate::aggregate::{share, LockTotals, Range};
use crate::analysis::Analysis;
use crate::ledger::LockSplit;
use crate::lock_groups::LockGroups;
use crate::monitor::OpenContention;
use crate::names::Names;
use crate::report::{Evidence, Finding, FindingKind, Report};
use crate::threads::Threads;
use crate::wait_class::WaitClasses;
pub use gist::Gist;
use headway_model::{LockId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
pub use waits::ShortLived;

/// Findings of each kind shown at most.
const MOST: usize = 5;
/// A finding about a lock is one about threads that are still blocked if they make up so much of it.
const MOSTLY_STUCK: f64 = 0.9;

/// What is said of threads that had waited on the lock which they then had to acquire again.
const WOKEN: &str = "had been woken in `Object.wait`";

/// What findings rest on.
pub(crate) struct Grounds<'a> {
    /// What waits are for.
    pub classes: &'a WaitClasses,
    /// Locks, by what they are called.
    pub groups: &'a LockGroups,
    /// How each lock's blocked time is split.
    pub splits: &'a FxHashMap<LockId, LockSplit>,
    /// The totals of each lock.
    pub totals: &'a FxHashMap<LockId, LockTotals>,
    /// False while the recording goes on: contentions that have not ended are then not counted.
    pub is_over: bool,
}

impl Grounds<'_> {
    /// The lock that stands for all of its group.
    fn first(&self, lock: LockId) -> LockId {
        self.groups.place(lock).and_then(|place| self.groups.get(place)).map_or(lock, |group| group.first)
    }

    /// Groups most of whose blocked time belongs to these locks.
    fn mostly_in(&self, locks: &FxHashSet<LockId>) -> FxHashSet<usize> {
        let mut all: FxHashMap<usize, (u64, u64)> = FxHashMap::default();
        for (lock, totals) in self.totals.iter().filter(|_| !locks.is_empty()) {
            if let Some(place) = self.groups.place(*lock) {
                let (of_these, total) = all.entry(place).or_default();
                *of_these += if locks.contains(lock) { totals.total } else { 0 };
                *total += totals.total;
            }
        }
        all.into_iter().filter(|(_, (of_these, total))| of_these * 2 > *total).map(|(place, _)| place).collect()
    }

    /// How many times longer a lock's time with a known owner is than the part that was recorded one
    /// by one: more than once only where contentions were sampled.
    fn recorded_scale(&self, lock: LockId) -> f64 {
        self.totals.get(&lock).map_or(1.0, LockTotals::recorded_scale)
    }
}

/// The part of the active thread time that threads waited; how much each of them, or 1, is in `waiters`. `None`
/// where it is not known, or most of them are virtual threads, whose time is not all in the ledger.
fn part_of_active(
    (waited_ns, active_ns): (u64, u64),
    waiters: impl Iterator<Item = (ThreadId, u64)>,
    names: &Names,
) -> Option<f64> {
    let (mut all, mut in_virtual) = (0_u64, 0_u64);
    for (thread, weight) in waiters {
        all += weight;
        in_virtual += if names.is_virtual(thread) { weight } else { 0 };
    }
    (active_ns > 0 && in_virtual.saturating_mul(2) <= all).then(|| share(waited_ns, active_ns).min(1.0))
}

/// How long these threads lived together, to compare it with what they waited. When a virtual thread lived is not
/// recorded; all of them have no more than the active thread time.
fn lives_of(
    ids: impl Iterator<Item = ThreadId>,
    (threads, names): (&Threads, &Names),
    (active_ns, range): (u64, Range),
) -> u64 {
    let (mut platform, mut in_virtual) = (0_u64, 0_u64);
    for id in ids {
        match names.is_virtual(id) {
            true => in_virtual += threads.life_ns(id, range),
            false => platform += threads.life_ns(id, range),
        }
    }
    platform + if active_ns > 0 { in_virtual.min(active_ns) } else { in_virtual }
}

/// ` (12 % of the active thread time)`, where that is known.
fn of_active(part: Option<f64>) -> String {
    part.map_or_else(String::new, |part| format!(" ({} of the active thread time)", words::percent(part)))
}

/// What is wrong, in one sentence.
pub(crate) fn verdict(report: &Report) -> String {
    verdict::verdict(report)
}

/// What matters, most time first; never empty. Adds the deadlocks to `report`.
pub(crate) fn find(
    analysis: &mut Analysis,
    report: &mut Report,
    range: Range,
    open: &[OpenContention],
    grounds: &Grounds<'_>,
) -> Vec<Finding> {
    let active_ns = report.ledger.active_ns();
    report.short_lived = waits::Lives::new(analysis, (active_ns, range)).short_lived(&analysis.names).cloned();
    let (mut first, deadlocked, mut stuck) = deadlocks::find(analysis, report, range, open);
    let deadlocks = first.len();
    first.extend(other::blocked_throughout(report));
    first.extend(other::unreliable(report));
    let totals = || deadlocked.iter().filter_map(|lock| grounds.totals.get(lock));
    let without_chain_ns = totals().map(|lock| lock.unknown).sum::<u64>()
        + analysis.aggregate.without_chain(analysis.replays.monitors.owners_by_id(), &deadlocked);
    let in_deadlocks = other::Deadlocked { blocked_ns: totals().map(|lock| lock.total).sum(), without_chain_ns };
    let is_open = |blocked: &&OpenContention| blocked.owner.is_none() && !deadlocked.contains(&blocked.lock);
    let open_ns = open.iter().filter(is_open).filter_map(|blocked| range.clip(blocked.start, range.to));
    let open_ns = open_ns.map(|(start, end)| end.since(start).0).sum();
    let is_most_deadlocked = share(in_deadlocks.blocked_ns, report.blocked_ns) >= 0.5;
    let unknown = other::unknown_owners(report, open_ns, &in_deadlocks).filter(|_| !is_most_deadlocked);
    // It says what the others rest on, or a part of them.
    let (before, behind) = unknown.into_iter().partition(|_| other::nothing_tells_of_owners(report));
    first.extend::<Vec<Finding>>(before);
    let seen = seen::OfLocks::new(analysis, report, grounds);
    let deadlocked = grounds.mostly_in(&deadlocked);
    let (mut roots, covered) = wait_for::find(analysis, report, grounds, (&seen, &deadlocked));
    let (mut ranked, mut covered_locks) = locks::find(analysis, (active_ns, range), grounds, &covered, (&seen, open));
    for (finding, place) in ranked.iter_mut().zip(&covered_locks) {
        finding.details.extend(phases::of_lock(report, grounds, *place));
        if let Some(said) = phases::nearly_all(report, grounds, *place) {
            finding.text = format!("{} {said}", finding.text);
            finding.gist.add(&said);
        }
    }
    // The deadlock says it already.
    let mut places = covered_locks.iter();
    ranked.retain(|_| !places.next().is_some_and(|place| deadlocked.contains(place)));
    covered_locks.retain(|place| !deadlocked.contains(place));
    let still = say_still_blocked(&mut ranked, &covered_locks, &mut stuck, grounds);
    let stuck = still.into_iter().chain(stuck.into_iter().map(|stuck| stuck.finding));
    first.splice(deadlocks..deadlocks, stuck);
    covered_locks.extend(deadlocked.iter().chain(covered.keys()));
    let (stragglers, covered) = stragglers::find(analysis, (active_ns, range), grounds);
    roots.extend(stragglers);
    roots.extend(waits::find(analysis, (active_ns, range), grounds, &covered));
    if analysis.sampled.is_used() {
        // By place and by owner, what was sampled is estimated; only by lock is it exact.
        roots.iter_mut().flat_map(|finding| &mut finding.evidence).for_each(Evidence::estimate);
    }
    ranked.extend(roots);
    ranked.extend(match analysis.only_summed_ns(range) {
        0 => phases::find(report, grounds, &covered_locks),
        _ => phases::only_sums(report, analysis.has_virtual_threads()),
    });
    ranked.extend(steal::find(report));
    ranked.extend(other::pauses(report));
    ranked.extend(pinned::find(report));
    ranked.extend(class_init::find(report));
    ranked.sort_by(|a, b| b.cost_ns.cmp(&a.cost_ns).then_with(|| a.text.cmp(&b.text)));
    #[cfg(feature = "advice")]
    crate::advice::give(&mut ranked);
    first.extend(ranked);
    first.extend::<Vec<Finding>>(behind);
    first.extend(other::samples(report));
    first.extend(other::off_cpu(report));
    first.extend(other::parks(report));
    let says_something = first.iter().any(|finding| finding.kind != FindingKind::Unreliable);
    if !says_something {
        first.push(other::nothing(report, grounds.is_over));
    }
    point_to_waits(&mut first);
    point_to_lack_of_cpus(&mut first);
    first
}

/// Takes the findings out of `ranked` that are about threads of `stuck` above all, and says in them that these are still
/// blocked; `places` has their groups of locks. Threads that queue for a lock which others get meanwhile are a detail of
/// its finding.
fn say_still_blocked(
    ranked: &mut Vec<Finding>,
    places: &[usize],
    stuck: &mut Vec<deadlocks::Stuck>,
    grounds: &Grounds<'_>,
) -> Vec<Finding> {
    let mut said = Vec::new();
    let mut places = places.to_vec();
    stuck.retain(|one| {
        let place = grounds.groups.place(one.lock);
        let of_lock = places.iter().position(|of| Some(*of) == place);
        let Some((at, finding)) = of_lock.and_then(|at| Some((at, ranked.get_mut(at)?))) else { return true };
        if one.is_passed_on && one.finding.cost_ns.saturating_mul(2) < finding.cost_ns {
            finding.details.push(one.finding.text.clone());
            return false;
        }
        if (one.finding.cost_ns as f64) < MOSTLY_STUCK * finding.cost_ns as f64 {
            return true;
        }
        places.remove(at);
        let mut finding = ranked.remove(at);
        finding.text = format!("{} {}", finding.text, one.still);
        finding.gist.add(&one.still);
        said.push(finding);
        false
    });
    said
}

/// The finding about the waits after which threads had to acquire the lock of this one again, and its place.
fn waits_before<'a>(late: &Finding, findings: &'a [Finding]) -> Option<(usize, &'a Finding)> {
    let method = late.gist.waits_in.filter(|_| late.kind == FindingKind::HandOff)?;
    let is_it = |(_, one): &(usize, &Finding)| one.kind == FindingKind::Waiting && one.gist.waits_in == Some(method);
    findings.iter().enumerate().find(is_it)
}

/// Threads that waited acquire the lock again when they are woken: a finding about that names the one about the waits.
fn point_to_waits(findings: &mut [Finding]) {
    for at in 0..findings.len() {
        let place = findings.get(at).and_then(|late| waits_before(late, findings)).map(|(place, _)| place);
        if let Some((late, place)) = findings.get_mut(at).zip(place) {
            late.text = late.text.replacen(WOKEN, &format!("{WOKEN} (finding {})", place + 1), 1);
        }
    }
}

/// Threads that have no CPU take locks late: a finding about hand-offs names the one about CPUs.
fn point_to_lack_of_cpus(findings: &mut [Finding]) {
    let Some(place) = findings.iter().position(steal::is_lack_of_cpus) else { return };
    let why = match findings.get(place).and_then(steal::had_by_others) {
        Some(_) => "Other processes had most of the CPU time",
        None => "There were too few CPUs",
    };
    for late in findings.iter_mut().filter(|one| one.kind == FindingKind::HandOff) {
        late.text.push_str(&format!(
            " {why}, which makes hand-offs longer. A woken thread that has no CPU yet counts here and \
             in finding {}.",
            place + 1
        ));
    }
}
