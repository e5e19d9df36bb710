//! Acquisitions that did not come to an end: circles of waiting threads, and
//! single ones that lasted long.

use super::words::{code, count};
use super::MOST;
use crate::aggregate::{share, Range};
use crate::analysis::Analysis;
use crate::monitor::OpenContention;
use crate::names::Names;
use crate::report::{Deadlock, Finding, FindingKind, FindingStack, Report};
use crate::summary::in_flight_of;
use headway_model::{DurationNs, LockId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A lock had one owner all the time that a thread was blocked, if the owner is known for this part of it.
const ALL_THE_TIME: f64 = 0.75;

/// Threads that are still blocked on a lock, and in no deadlock.
pub(super) struct Stuck {
    pub lock: LockId,
    pub finding: Finding,
    /// The same as a sentence of a finding about this lock.
    pub still: String,
    /// The lock may go from owner to owner meanwhile.
    pub is_passed_on: bool,
}

/// The deadlocks, the locks of the circles, and what else is still blocked.
pub(super) fn find(
    analysis: &mut Analysis,
    report: &mut Report,
    range: Range,
    open: &[OpenContention],
) -> (Vec<Finding>, FxHashSet<LockId>, Vec<Stuck>) {
    let circles = circles(open);
    let mut findings = Vec::new();
    for circle in &circles {
        findings.push(deadlock(circle, range, &mut analysis.names));
        let members =
            circle.iter().map(|blocked| in_flight_of(blocked, length(blocked, range), &mut analysis.names)).collect();
        report.deadlocks.push(Deadlock { members });
    }
    let locked: FxHashSet<ThreadId> = circles.iter().flatten().map(|s| s.thread).collect();
    let locks = circles.iter().flatten().map(|blocked| blocked.lock).collect();
    (findings, locks, stuck(analysis, range, open, &locked))
}

/// Where a thread is blocked.
fn stack_of(blocked: &OpenContention, whose: String, names: &mut Names) -> Option<FindingStack> {
    let path = names.path(blocked.chain, 0)?;
    Some(FindingStack { whose, frames: names.acting_text(path) })
}

/// Circles among the blocked threads: each waits for the next one's lock. Where owners were read, only among those of
/// which they were: a thread that gives up after some time is in no deadlock.
fn circles(open: &[OpenContention]) -> Vec<Vec<OpenContention>> {
    let were_read = open.iter().any(|blocked| blocked.is_read);
    let open = || open.iter().filter(|blocked| blocked.is_read || !were_read);
    let by_thread: FxHashMap<ThreadId, &OpenContention> = open().map(|blocked| (blocked.thread, blocked)).collect();
    let mut visited: FxHashSet<ThreadId> = FxHashSet::default();
    let mut circles = Vec::new();
    for blocked in open() {
        let mut path: Vec<OpenContention> = Vec::new();
        let mut next = Some(blocked);
        while let Some(current) = next {
            if !visited.insert(current.thread) {
                if let Some(at) = path.iter().position(|s| s.thread == current.thread) {
                    circles.push(path.split_off(at));
                }
                break;
            }
            path.push(*current);
            // An owner that was blocked by then has the lock still.
            next = by_thread.get(&current.owner).copied().filter(|owner| owner.start <= current.owner_until);
        }
    }
    circles
}

fn deadlock(circle: &[OpenContention], range: Range, names: &mut Names) -> Finding {
    let members: Vec<String> = circle
        .iter()
        .map(|blocked| {
            format!(
                "{} waits for {}, owned by {}",
                code(&names.thread_text(blocked.thread)),
                code(&names.lock_short(blocked.lock)),
                code(&names.thread_text(blocked.owner)),
            )
        })
        .collect();
    let shortest = circle.iter().map(|blocked| length(blocked, range)).min().unwrap_or(0);
    let age = match circle.iter().all(|blocked| blocked.is_older_than_recording) {
        true => "It is older than the recording".to_owned(),
        false => format!("It has lasted for {}", DurationNs(shortest)),
    };
    let stacks = circle
        .iter()
        .filter_map(|blocked| stack_of(blocked, format!("{} blocked in", names.thread_text(blocked.thread)), names))
        .collect();
    Finding {
        kind: FindingKind::Deadlock,
        text: format!("Deadlock: {}. {age}.", members.join("; ")),
        details: circle.iter().map(|blocked| lock_detail(blocked, names)).collect(),
        stacks,
        cost_ns: circle.iter().map(|blocked| length(blocked, range)).sum(),
        share: None,
        ..Finding::default()
    }
}

/// Acquisitions that lasted long and are not part of a deadlock, by lock.
fn stuck(analysis: &mut Analysis, range: Range, open: &[OpenContention], locked: &FxHashSet<ThreadId>) -> Vec<Stuck> {
    let least = analysis.options.stuck_after.0.max(1);
    let mut by_lock: BTreeMap<LockId, Vec<&OpenContention>> = BTreeMap::new();
    for blocked in open {
        if (length(blocked, range) >= least || blocked.is_older_than_recording) && !locked.contains(&blocked.thread) {
            by_lock.entry(blocked.lock).or_default().push(blocked);
        }
    }
    let mut all: Vec<Stuck> = by_lock
        .iter()
        .map(|(lock, blocked)| Stuck {
            lock: *lock,
            finding: stuck_on(blocked, range, &mut analysis.names),
            still: still(blocked),
            is_passed_on: blocked.iter().all(|blocked| is_passed_on(blocked, range)),
        })
        .collect();
    all.sort_by_key(|stuck| std::cmp::Reverse(stuck.finding.cost_ns));
    all.truncate(MOST);
    all
}

/// True if the thread may only have to queue: not for long yet, or the lock has had its owner for less than half of the
/// time, and others had it before. The owner of a lock that nobody releases is known from the beginning, or a second later.
fn is_passed_on(blocked: &OpenContention, range: Range) -> bool {
    // Whoever releases an unfair lock and acquires it again at once is faster than those who queue.
    const PASSED_OVER: u64 = 10_000_000_000;
    let owned = range.clip(blocked.owner_from, range.to).map_or(0, |(from, to)| to.since(from).0);
    let length = length(blocked, range);
    let others_had_it = blocked.owner.is_some() && owned < length / 2;
    !blocked.is_older_than_recording && (length < PASSED_OVER || others_had_it)
}

/// `3 threads are still blocked, since before the recording began.`
fn still(blocked: &[&OpenContention]) -> String {
    let are = if blocked.len() == 1 { "is" } else { "are" };
    let since = match blocked.iter().all(|blocked| blocked.is_older_than_recording) {
        true => ", since before the recording began",
        false => "",
    };
    format!("{} {are} still blocked{since}.", count(blocked.len() as u64, "thread"))
}

fn stuck_on(blocked: &[&OpenContention], range: Range, names: &mut Names) -> Finding {
    let longest = blocked.iter().map(|blocked| length(blocked, range)).max().unwrap_or(0);
    let first = blocked[0];
    let who = match blocked {
        [only] => format!("Thread {} is", code(&names.thread_text(only.thread))),
        many => format!("{} are", count(many.len() as u64, "thread")),
    };
    let owner = last_owner(blocked.iter().copied());
    let owner = owner.map_or_else(String::new, |of| format!(", {}", owned_by(of, range, names)));
    Finding {
        kind: FindingKind::Stuck,
        text: format!(
            "{who} still blocked on {}, for {}{}{owner}.",
            code(&names.lock_short(first.lock)),
            DurationNs(longest),
            if first.is_older_than_recording { " and since before the recording" } else { " so far" },
        ),
        details: vec![lock_detail(first, names)],
        stacks: stack_of(first, "blocked in".to_owned(), names).into_iter().collect(),
        cost_ns: blocked.iter().map(|blocked| length(blocked, range)).sum(),
        share: None,
        ..Finding::default()
    }
}

/// The contention among these on one lock that says who owns it now: the only source of that for all findings.
pub(super) fn last_owner<'a>(mut on_lock: impl Iterator<Item = &'a OpenContention>) -> Option<&'a OpenContention> {
    on_lock.find(|blocked| blocked.owner.is_some())
}

/// ``owned by `report-1` ``; since when that is known, if others may have had the lock for a good part of the time.
fn owned_by(blocked: &OpenContention, range: Range, names: &Names) -> String {
    let owner = code(&names.thread_text(blocked.owner));
    let owned = range.clip(blocked.owner_from, range.to).map_or(0, |(from, to)| to.since(from).0);
    match share(owned, length(blocked, range)) < ALL_THE_TIME {
        true if owned > 0 && blocked.owner_until >= range.to => {
            format!("owned by {owner} for the last {}", DurationNs(owned))
        }
        true => format!("most recently owned by {owner}"),
        false => format!("owned by {owner}"),
    }
}

fn lock_detail(blocked: &OpenContention, names: &Names) -> String {
    format!("lock: {}", names.lock_text(blocked.lock))
}

fn length(blocked: &OpenContention, range: Range) -> u64 {
    range.clip(blocked.start, range.to).map_or(0, |(start, end)| end.since(start).0)
}
