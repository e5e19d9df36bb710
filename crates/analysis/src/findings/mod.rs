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
mod waits;
mod words;

use crate::aggregate::Range;
use crate::analysis::Analysis;
use crate::monitor::OpenStretch;
use crate::report::{Finding, FindingKind, Report};
use crate::threads::Running;

/// Findings of each kind shown at most.
const MOST: usize = 5;

/// What matters, dearest first; never empty. Adds the deadlocks to `report`.
pub(crate) fn find(
    analysis: &mut Analysis,
    report: &mut Report,
    range: Range,
    running: Running,
    open: &[OpenStretch],
) -> Vec<Finding> {
    let mut first = deadlocks::find(analysis, report, range, open);
    first.extend(other::unreliable(report));
    let mut ranked = locks::find(analysis, running);
    ranked.extend(waits::find(analysis, range));
    ranked.extend(phases::find(report));
    ranked.extend(steal::find(report));
    ranked.sort_by(|a, b| b.cost_ns.cmp(&a.cost_ns).then_with(|| a.text.cmp(&b.text)));
    first.extend(ranked);
    first.extend(other::samples(report));
    first.extend(other::parks(report));
    let says_something = first.iter().any(|finding| finding.kind != FindingKind::Unreliable);
    if !says_something {
        first.push(other::nothing(report, running));
    }
    first
}
