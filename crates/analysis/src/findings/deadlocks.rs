//! Acquisitions that did not come to an end: circles of waiting threads, and
//! single ones that lasted long.

use super::words::{code, count};
use super::MOST;
use crate::aggregate::Range;
use crate::analysis::Analysis;
use crate::monitor::OpenStretch;
use crate::names::Names;
use crate::report::{Deadlock, Finding, FindingKind, Report};
use crate::summary::in_flight_of;
use headway_model::{DurationNs, LockId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

pub(super) fn find(analysis: &mut Analysis, report: &mut Report, range: Range, open: &[OpenStretch]) -> Vec<Finding> {
    let circles = circles(open);
    let mut findings = Vec::new();
    for circle in &circles {
        findings.push(deadlock(circle, range, &analysis.names));
        let members =
            circle.iter().map(|stretch| in_flight_of(stretch, length(stretch, range), &mut analysis.names)).collect();
        report.deadlocks.push(Deadlock { members });
    }
    let locked: FxHashSet<ThreadId> = circles.iter().flatten().map(|s| s.thread).collect();
    findings.extend(stuck(analysis, range, open, &locked));
    findings
}

/// Circles among the blocked threads: each waits for the next one's lock.
fn circles(open: &[OpenStretch]) -> Vec<Vec<OpenStretch>> {
    let by_thread: FxHashMap<ThreadId, &OpenStretch> = open.iter().map(|stretch| (stretch.thread, stretch)).collect();
    let mut visited: FxHashSet<ThreadId> = FxHashSet::default();
    let mut circles = Vec::new();
    for stretch in open {
        let mut path: Vec<OpenStretch> = Vec::new();
        let mut next = Some(stretch);
        while let Some(current) = next {
            if !visited.insert(current.thread) {
                if let Some(at) = path.iter().position(|s| s.thread == current.thread) {
                    circles.push(path.split_off(at));
                }
                break;
            }
            path.push(*current);
            next = by_thread.get(&current.owner).copied();
        }
    }
    circles
}

fn deadlock(circle: &[OpenStretch], range: Range, names: &Names) -> Finding {
    let members: Vec<String> = circle
        .iter()
        .map(|stretch| {
            format!(
                "{} waits for {}, owned by {}",
                code(&names.thread_text(stretch.thread)),
                code(&names.lock_short(stretch.lock)),
                code(&names.thread_text(stretch.owner)),
            )
        })
        .collect();
    let shortest = circle.iter().map(|stretch| length(stretch, range)).min().unwrap_or(0);
    Finding {
        kind: FindingKind::Deadlock,
        text: format!("Deadlock: {}. It lasted {} when the recording ended.", members.join("; "), DurationNs(shortest),),
        details: circle.iter().map(|stretch| lock_detail(stretch, names)).collect(),
        cost_ns: circle.iter().map(|stretch| length(stretch, range)).sum(),
        share: None,
        ..Finding::default()
    }
}

/// Acquisitions that lasted long and are not part of a deadlock, by lock.
fn stuck(analysis: &Analysis, range: Range, open: &[OpenStretch], locked: &FxHashSet<ThreadId>) -> Vec<Finding> {
    let least = analysis.options.stuck_after.0.max(1);
    let mut by_lock: BTreeMap<LockId, Vec<&OpenStretch>> = BTreeMap::new();
    for stretch in open {
        if length(stretch, range) >= least && !locked.contains(&stretch.thread) {
            by_lock.entry(stretch.lock).or_default().push(stretch);
        }
    }
    let mut findings: Vec<Finding> =
        by_lock.values().map(|blocked| stuck_on(blocked, range, &analysis.names)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.cost_ns));
    findings.truncate(MOST);
    findings
}

fn stuck_on(blocked: &[&OpenStretch], range: Range, names: &Names) -> Finding {
    let longest = blocked.iter().map(|stretch| length(stretch, range)).max().unwrap_or(0);
    let first = blocked[0];
    let who = match blocked {
        [only] => format!("Thread {} was", code(&names.thread_text(only.thread))),
        many => format!("{} were", count(many.len() as u64, "thread")),
    };
    let owner = match first.owner {
        owner if owner.is_none() => String::new(),
        owner => format!(", owned by {}", code(&names.thread_text(owner))),
    };
    Finding {
        kind: FindingKind::Stuck,
        text: format!(
            "{who} still blocked on {} at the end, for {} so far{owner}.",
            code(&names.lock_short(first.lock)),
            DurationNs(longest),
        ),
        details: vec![lock_detail(first, names)],
        cost_ns: blocked.iter().map(|stretch| length(stretch, range)).sum(),
        share: None,
        ..Finding::default()
    }
}

fn lock_detail(stretch: &OpenStretch, names: &Names) -> String {
    format!("lock: {}", names.lock_text(stretch.lock))
}

fn length(stretch: &OpenStretch, range: Range) -> u64 {
    range.clip(stretch.start, range.to).map_or(0, |(start, end)| end.since(start).0)
}
