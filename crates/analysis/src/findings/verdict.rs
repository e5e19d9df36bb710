//! What is wrong, in one sentence.

use super::steal::OTHERS;
use super::words::percent;
use crate::aggregate::share;
use crate::ledger::{EntryKind, Ledger};
use crate::report::{Finding, FindingKind, Report};
use headway_model::DurationNs;

/// Part of the active time of threads from which on its loss is a bottleneck.
const MATTERS: f64 = 0.05;
/// Part from which on a program is said to be bound by something.
const BOUND: f64 = 0.5;

/// The sentence, from the first finding and the ledger.
pub(super) fn verdict(report: &Report) -> String {
    let ledger = &report.ledger;
    let active = ledger.active_ns();
    if let Some(stuck) = report.findings.iter().find(|finding| finding.kind == FindingKind::Deadlock) {
        return stuck.text.clone();
    }
    let ranked = |finding: &&Finding| finding.cost_ns > 0 && finding.kind != FindingKind::Stuck;
    let first = report.findings.iter().filter(ranked).max_by_key(|finding| finding.cost_ns);
    if ledger.lives_unknown {
        return match first {
            Some(first) => {
                let spent = spent(first, &DurationNs(first.cost_ns).to_string());
                format!("{spent} The recording does not show how long threads lived, so there is no percentage.")
            }
            None => "No wait for a lock or another thread stands out. The recording does not show how long threads \
                     lived."
                .to_owned(),
        };
    }
    let part = |ns: u64| share(ns, active).min(1.0);
    if let Some(first) = first.filter(|first| part(first.cost_ns) >= MATTERS) {
        let amount = format!(
            "{} of the active thread time ({} of {})",
            percent(part(first.cost_ns)),
            DurationNs(first.cost_ns),
            DurationNs(active.max(first.cost_ns)),
        );
        let loss = spent(first, &amount);
        let own = report.findings.iter().filter(ranked).filter(|finding| finding.kind != FindingKind::Environment);
        let own = own.max_by_key(|finding| finding.cost_ns).filter(|own| part(own.cost_ns) >= MATTERS);
        return match had_by_others(first) {
            Some(others) => format!("{loss} {}", beside_others(others, own, part)),
            None if first.gist.meanwhile.is_empty() => loss,
            None => format!("{loss} {}", first.gist.meanwhile),
        };
    }
    let spent = ELSEWHERE.iter().map(|(kinds, saying)| (part(ledger_ns(ledger, kinds)), saying));
    match spent.into_iter().find(|(spent, _)| *spent >= BOUND) {
        Some((spent, saying)) => saying.replacen("{}", &percent(spent), 1),
        None => "No bottleneck: threads hardly wait for locks, for each other or for a CPU.".to_owned(),
    }
}

/// The part of the CPU time that other processes had, if that is why threads waited for a CPU.
fn had_by_others(finding: &Finding) -> Option<f64> {
    let evidence = finding.evidence.iter().find(|evidence| evidence.what == OTHERS)?;
    evidence.share.filter(|_| finding.kind == FindingKind::Environment)
}

/// The rest of the verdict where other processes had the CPUs: what is the program's.
fn beside_others(others: f64, own: Option<&Finding>, part: impl Fn(u64) -> f64) -> String {
    let had = format!("Other processes had {} of the CPU time.", percent(others));
    own.map_or_else(
        || had.clone(),
        |own| format!("{had} The largest loss in the program: {}", spent(own, &percent(part(own.cost_ns)))),
    )
}

/// Where threads can spend most of their active time although no lock and no wait matters, and
/// how that is said of the share `{}`.
const ELSEWHERE: [(&[EntryKind], &str); 3] = [
    (&[EntryKind::Cpu], "No bottleneck in locks or waits: threads execute for {} of their active time."),
    (
        &[EntryKind::WaitTime, EntryKind::Io, EntryKind::OffCpu],
        "No bottleneck in locks or waits: threads spend {} of their active time in sleep, I/O or native code.",
    ),
    (
        &[EntryKind::Unknown],
        "No bottleneck in locks or waits. What threads did for {} of their active time was not recorded.",
    ),
];

fn ledger_ns(ledger: &Ledger, kinds: &[EntryKind]) -> u64 {
    kinds.iter().map(|kind| ledger.ns(*kind)).sum()
}

/// Who spent this `amount` of time on what: ``Threads `request-*` spent 48 % blocked on `Inventory.lock`.``
fn spent(finding: &Finding, amount: &str) -> String {
    let (gist, subject) = (&finding.gist, &finding.subject);
    let time = |on: &str| format!("{} spent {amount} {on}.", gist.subject());
    match finding.kind {
        FindingKind::HotLock | FindingKind::SharedLock | FindingKind::Phase => time(&format!("blocked on {subject}")),
        FindingKind::HandOff => format!(
            "{} For most of that time, the lock had been released but the next thread had not run yet.",
            time(&format!("blocked on {subject}")),
        ),
        FindingKind::WaitFor => time(&format!("blocked because of {}, directly or through other locks", gist.awaited)),
        FindingKind::Waiting | FindingKind::Straggler => time(&gist.waiting(subject)),
        FindingKind::Pauses => format!("Pauses of {} took {amount}.", gist.awaited),
        FindingKind::Environment => time("waiting for a CPU"),
        FindingKind::Parks => time("parked on a lock of java.util.concurrent"),
        _ => time("as the findings below say"),
    }
}
