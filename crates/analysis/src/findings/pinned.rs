//! Virtual threads that kept their carriers while they parked.

use super::words::{code, count, percent};
use crate::aggregate::share;
use crate::report::{Evidence, Finding, FindingKind, Report};
use crate::virtual_threads::{PinReason, PinSite, VirtualThreadsReport};
use headway_model::DurationNs;
use std::collections::BTreeMap;

/// Part of the carriers' time from which on pinning is a finding.
const MATTERS: f64 = 0.2;

/// Says so, where carriers were kept from other virtual threads for much of their time.
pub(super) fn find(report: &Report) -> Option<Finding> {
    let found: &VirtualThreadsReport = report.virtual_threads.as_ref()?;
    let part = share(found.pinned_ns, found.carriers_ns);
    if part < MATTERS {
        return None;
    }
    let mut frames: BTreeMap<(&str, PinReason), u64> = BTreeMap::new();
    for PinSite { frame, reason, total_ns, .. } in &found.pins {
        if let Some(at) = frame.as_deref().zip(*reason) {
            *frames.entry(at).or_default() += total_ns;
        }
    }
    let most = frames.into_iter().max_by_key(|(_, ns)| *ns);
    let pinned_by = most.map(|((frame, reason), ns)| {
        let method = frame.rsplit_once(':').map_or(frame, |(method, _)| method);
        (format!("{} ({})", code(&super::seen::short(method)), reason.words()), ns, reason)
    });
    let carriers = count(found.carriers, "carrier thread");
    let mut text = format!(
        "Virtual threads kept their carriers while they parked (pinned) for {}: {} of the time of the {carriers}. \
         Meanwhile, these could not run other virtual threads.",
        DurationNs(found.pinned_ns),
        percent(part.min(1.0)),
    );
    let mut details = vec![format!("pinned {}", count(found.pinned, "time"))];
    if let Some((by, ns, reason)) = &pinned_by {
        text = format!("{text} For {} of that time, they were pinned by {by}.", percent(share(*ns, found.pinned_ns)));
        if matches!(reason, PinReason::Synchronized | PinReason::SynchronizedBlock) {
            details.push(
                "fix: use a ReentrantLock there, or JDK 24 or later, where `synchronized` does not pin".to_owned(),
            );
        }
    }
    let longest = found.pins.iter().max_by_key(|site| site.max_ns);
    details.extend(longest.map(|site| format!("longest {}", DurationNs(site.max_ns))));
    Some(Finding {
        kind: FindingKind::Pinned,
        text,
        subject: pinned_by.map_or_else(String::new, |(by, ..)| by),
        details,
        cost_ns: found.pinned_ns,
        share: Some(part.min(1.0)),
        evidence: vec![Evidence::exact("pinned", found.pinned_ns, Some(part.min(1.0)))],
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    #[test]
    fn carriers_that_are_kept_from_others_are_a_finding() {
        let pin = |frame: &str, total_ns| PinSite {
            frame: Some(frame.to_owned()),
            reason: Some(PinReason::SynchronizedBlock),
            method: "sun.nio.ch.Poller.poll".to_owned(),
            stack: Vec::new(),
            count: 10,
            total_ns,
            max_ns: 40_000_000,
        };
        let pins =
            vec![pin("com.acme.Shop.book:6", 700), pin("com.acme.Shop.pay:9", 200), pin("com.acme.Shop.book:6", 100)];
        let found = VirtualThreadsReport {
            pinned: 30,
            pinned_ns: 1_000,
            carriers: 2,
            carriers_ns: 1_250,
            pins,
            ..Default::default()
        };
        let mut report = Report { virtual_threads: Some(found), ..Report::default() };
        let text = find(&report).map(|finding| finding.text).unwrap_or_default();
        let begin = "Virtual threads kept their carriers while they parked (pinned) for 1.00 us: 80 % of the time of the 2 carrier threads.";
        assert!(
            text.starts_with(begin)
                && text.ends_with("For 80 % of that time, they were pinned by `Shop.book` (synchronized block)."),
            "{text}"
        );
        // The ledger has little of the time of virtual threads: of that it is no part.
        report.ledger = Ledger { total_ns: 10, ..Ledger::default() };
        report.findings.extend(find(&report));
        let of_carriers =
            "for 1.00 us (80 % of the time of the carrier threads): they were pinned, mostly by `Shop.book` \
                           (synchronized block).";
        let verdict = super::super::verdict(&report);
        assert!(verdict.ends_with(of_carriers), "{verdict}");
        if let Some(found) = &mut report.virtual_threads {
            found.carriers_ns = 10_000;
        }
        assert!(find(&report).is_none());
    }
}
