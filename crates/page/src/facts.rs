//! What is known of a recording before anything is asked.

use crate::contract::{Facts, Finding, Ledger, LedgerPart, Loss, Pin, VirtualThreads, WaitPlace};
use crate::names::bounded;
use headway_analysis::ledger::{self, EntryKind, Part, Quality};
use headway_analysis::park::Synchronizer;
use headway_analysis::report::{PinReason, PinSite, VirtualThreadsReport, WaitSite, UNKNOWN};
use headway_analysis::Report;

/// Findings, and lines of each, that a page gets.
const MOST: usize = 200;
/// Places where threads wait that a page gets, and groups of each.
const WAITS: usize = 5;

/// Adds what the analysis found.
pub(crate) fn of(mut facts: Facts, report: &Report) -> Facts {
    let recording = &report.recording;
    let start_ns = recording.start_ns as f64 + recording.epoch_offset_ns as f64;
    facts.duration_ns = report.duration_ns;
    facts.start_epoch_ms = (start_ns / 1e6).max(0.0);
    facts.producer = bounded(&recording.producer);
    facts.foreign = recording.foreign;
    facts.jvm = bounded(&recording.jvm);
    facts.pid = recording.pid;
    facts.java_arguments = bounded(&recording.java_arguments);
    facts.settings = recording.settings.iter().take(MOST).map(|(n, v)| (bounded(n), bounded(v))).collect();
    facts.events = recording.events;
    facts.own_cpu_ns = recording.own_cpu_ns + recording.hook_cpu_ns;
    facts.process_cpu_ns = recording.process_cpu_ns;
    facts.attach_pause_ns = recording.attach_pause_ns;
    facts.threads = report.threads;
    facts.blocked_ns = report.blocked_ns;
    facts.running_ns = report.running_ns;
    facts.contentions = report.contentions;
    facts.instants = report.sampling.as_ref().map_or(0, |sampling| sampling.instants);
    facts.thins = report.sampling.iter().any(|sampling| sampling.windows.iter().any(|window| window.thins));
    facts.pauses = (report.pauses.count, report.pauses.total_ns);
    facts.verdict = bounded(&report.verdict);
    facts.ledger = ledger(&report.ledger);
    facts.virtual_threads = report.virtual_threads.as_ref().map(virtual_threads);
    facts.findings = report.findings.iter().take(MOST).map(finding).collect();
    facts.waits = report.waits.iter().filter(|site| !site.idle).take(WAITS).map(wait_place).collect();
    facts.losses = report.losses.iter().map(|(name, count)| loss(name, *count)).collect();
    facts.degraded = report.degraded.iter().take(MOST).map(|d| (bounded(&d.mechanism), bounded(&d.reason))).collect();
    facts
}

fn ledger(ledger: &ledger::Ledger) -> Ledger {
    Ledger {
        threads: ledger.threads,
        active_ns: ledger.active_ns(),
        idle_ns: ledger.ns(EntryKind::WaitWork),
        parts: ledger.parts().map(|(part, ns)| ledger_part(ledger, part, ns)).collect(),
    }
}

fn virtual_threads(found: &VirtualThreadsReport) -> VirtualThreads {
    let pin = |site: &PinSite| Pin {
        method: bounded(&site.method),
        frame: site.frame.as_deref().map(bounded).unwrap_or_default(),
        reason: site.reason.map(PinReason::words).unwrap_or_default().to_owned(),
        count: site.count,
        total_ns: site.total_ns,
        max_ns: site.max_ns,
    };
    VirtualThreads {
        mounts: found.mounts,
        mount_delay_ns: found.mount_delay_ns,
        max_mount_delay_ns: found.max_mount_delay_ns,
        waiting_for_carrier_ns: found.waiting_for_carrier_ns,
        waiting_for_cpu_ns: found.waiting_for_cpu_ns,
        pinned: found.pinned,
        pinned_ns: found.pinned_ns,
        pins: found.pins.iter().take(MOST).map(pin).collect(),
        carriers: found.carriers,
        occupancy: found.occupancy(),
    }
}

fn wait_place(site: &WaitSite) -> WaitPlace {
    let most = site.wakers.first().filter(|waker| 2 * waker.total_ns >= site.total_ns);
    let ended_by = most.map(|waker| waker.method.as_str()).filter(|method| *method != UNKNOWN);
    WaitPlace {
        method: bounded(&site.method),
        on: bounded(&site.lock),
        is_monitor: site.synchronizer == Synchronizer::Monitor,
        groups: site.groups.iter().take(WAITS).map(|group| bounded(&group.name)).collect(),
        ended_by: ended_by.map(bounded).unwrap_or_default(),
        by_timeout: 2 * site.timed_out > site.count,
        total_ns: site.total_ns,
        count: site.count,
        max_ns: site.max_ns,
    }
}

fn ledger_part(ledger: &ledger::Ledger, part: &Part, ns: u64) -> LedgerPart {
    let entries = ledger.entries.iter().filter(|entry| part.entries.contains(&entry.entry));
    LedgerPart {
        name: part.name.to_owned(),
        words: part.words.to_owned(),
        ns,
        entries: entries
            .map(|entry| (entry.entry.words().to_owned(), entry.total_ns, entry.quality == Quality::Estimated))
            .collect(),
    }
}

fn finding(finding: &headway_analysis::report::Finding) -> Finding {
    let advice = finding.advice.iter().flat_map(headway_analysis::report::Advice::lines);
    Finding {
        kind: serde_json::to_value(finding.kind).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default(),
        text: bounded(&finding.text),
        details: advice.chain(finding.details.iter().cloned()).take(MOST).map(|line| bounded(&line)).collect(),
        cost: finding.cost_ns,
    }
}

fn loss(name: &str, count: u64) -> Loss {
    let explanation = headway_model::Loss::from_name(name).map_or("", headway_model::Loss::explanation);
    Loss { name: name.to_owned(), count, explanation: explanation.to_owned() }
}
