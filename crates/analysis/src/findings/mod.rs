//! Says in plain words what matters.
//!
//! "Threads spent N % of their time" is always blocked time over running time
//! (life without conditional waiting) of the application's platform threads in
//! the range; where running time is not known, or the blocked threads are
//! virtual, the sentence gives seconds instead.

mod deadlocks;
mod locks;
mod other;
mod phases;
mod steal;
mod stragglers;
mod wait_for;
mod waits;
mod words;

use crate::aggregate::Range;
use crate::analysis::Analysis;
use crate::monitor::OpenStretch;
use crate::report::{Finding, FindingKind, Report};
use crate::threads::Running;

/// Findings of each kind shown at most.
const MOST: usize = 5;

/// What a finding counts in the order: one without a culprit half.
fn weight(finding: &Finding) -> u64 {
    match finding.kind {
        FindingKind::HandOver => finding.cost_ns / 2,
        _ => finding.cost_ns,
    }
}

/// What matters, dearest first; never empty. Adds the deadlocks to `report`.
pub(crate) fn find(
    analysis: &mut Analysis,
    report: &mut Report,
    range: Range,
    running: Running,
    open: &[OpenStretch],
) -> Vec<Finding> {
    let mut first = deadlocks::find(analysis, report, range, open);
    first.extend(other::blocked_throughout(report));
    first.extend(other::unreliable(report));
    let unknown = other::unknown_owners(report, running);
    // It says what the others rest on, or a part of them.
    let (before, behind) = unknown.into_iter().partition(|_| other::nothing_tells_of_owners(report));
    first.extend::<Vec<Finding>>(before);
    let mut ranked = locks::find(analysis, running);
    ranked.extend(wait_for::find(analysis, report, running));
    let (stragglers, told) = stragglers::find(analysis, range);
    ranked.extend(stragglers);
    let (waits, conditional) = waits::find(analysis, range, &told);
    ranked.extend(waits);
    ranked.extend(phases::find(report));
    ranked.extend(steal::find(report));
    ranked.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.text.cmp(&b.text)));
    first.extend(ranked);
    first.extend::<Vec<Finding>>(behind);
    // Waiting for work and results says less than who blocks whom.
    first.extend(conditional);
    first.extend(other::samples(report));
    first.extend(other::parks(report));
    let says_something = first.iter().any(|finding| finding.kind != FindingKind::Unreliable);
    if !says_something {
        first.push(other::nothing(report, running));
    }
    first
}
