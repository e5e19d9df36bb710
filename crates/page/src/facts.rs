//! What is known of a recording before anything is asked.

use crate::contract::{Facts, Finding, IdleWaits, Ledger, LedgerPart, Loss, Pin, VirtualThreads, WaitPlace};
use crate::names::bounded;
use headway_analysis::ledger::{EntryKind, Part, Quality};
use headway_analysis::park::Synchronizer;
use headway_analysis::report::{PinReason, PinSite, VirtualThreadsReport, WaitSite, UNKNOWN};
use headway_analysis::Report;
use std::cmp::Reverse;
use std::collections::BTreeMap;

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
    facts.own_cpu_ns = recording.own_cpu_ns;
    facts.hook_cpu_ns = recording.estimated_hook_cpu_ns();
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
    facts.selection = bounded(&report.selection.sentence().unwrap_or_default());
    facts.ledger = ledger(report);
    facts.virtual_threads = report.virtual_threads.as_ref().map(virtual_threads);
    facts.findings = report.findings.iter().take(MOST).map(finding).collect();
    facts.waits = wait_places(&report.waits);
    facts.waited_ns = report.waited_ns();
    facts.idle_waits = idle_waits(&report.waits);
    facts.losses = report.losses.iter().map(|(name, count)| loss(name, *count)).collect();
    facts.degraded = report.degraded.iter().take(MOST).map(|d| (bounded(&d.mechanism), bounded(&d.reason))).collect();
    facts
}

fn ledger(report: &Report) -> Ledger {
    let ledger = &report.ledger;
    Ledger {
        threads: ledger.threads,
        active_ns: ledger.active_ns(),
        idle_ns: ledger.ns(EntryKind::WaitWork),
        parts: ledger.parts().map(|(part, ns)| ledger_part(report, part, ns)).collect(),
        while_waiting_ns: while_waiting(report),
    }
}

/// What was measured of the application's threads and is not in the entries of the ledger for it, because an event says
/// that the thread waited or was blocked at that time: on CPU (it spun), and runnable (it had been woken). Of what the bar
/// shows as a pause of the VM, threads may have been runnable for all of it: this is what it was at least.
fn while_waiting(report: &Report) -> (u64, u64) {
    let threads = report.steal.iter().flat_map(|steal| &steal.threads);
    let measured = threads.filter(|thread| !thread.is_service || thread.is_carrier).map(|thread| &thread.totals);
    let (mut ran, mut ready) = (0, 0);
    for totals in measured {
        ran += totals.corrected_ns;
        ready += totals.lacked_ns();
    }
    let ns = |entries: &[EntryKind]| entries.iter().map(|entry| report.ledger.ns(*entry)).sum::<u64>();
    let no_cpu = ns(&[EntryKind::RunQueue, EntryKind::Throttled, EntryKind::Steal]);
    (ran.saturating_sub(ns(&[EntryKind::Cpu])), ready.saturating_sub(no_cpu + ns(&[EntryKind::Pause])))
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

/// Where threads waited longest. Places that a reader could not distinguish are one: the call stacks behind the
/// waits may differ, but method and object do not.
fn wait_places(sites: &[WaitSite]) -> Vec<WaitPlace> {
    let mut places: Vec<(&str, &str, bool, Vec<&WaitSite>)> = Vec::new();
    for site in sites.iter().filter(|site| !site.idle) {
        let key = (site.method.as_str(), name_of(&site.lock), site.synchronizer == Synchronizer::Monitor);
        match places.iter_mut().find(|(method, on, monitor, _)| (*method, *on, *monitor) == key) {
            Some((.., together)) => together.push(site),
            None => places.push((key.0, key.1, key.2, vec![site])),
        }
    }
    let mut waits: Vec<WaitPlace> = places.iter().map(|(.., sites)| wait_place(sites)).collect();
    waits.sort_by_key(|place| Reverse(place.total_ns));
    waits.truncate(WAITS);
    waits
}

/// Methods in which idle threads waited, and how much of the time in them that is: call stacks decide which threads are
/// idle, and several can end in one method.
fn idle_waits(sites: &[WaitSite]) -> Vec<IdleWaits> {
    let mut all: BTreeMap<(&str, bool), (u64, u64)> = BTreeMap::new();
    for site in sites {
        let of_method = all.entry((site.method.as_str(), site.synchronizer == Synchronizer::Monitor)).or_default();
        of_method.0 += if site.idle { site.total_ns } else { 0 };
        of_method.1 += site.total_ns;
    }
    let idle = |((method, is_monitor), (idle_ns, total_ns)): ((&str, bool), (u64, u64))| IdleWaits {
        method: bounded(method),
        is_monitor,
        idle_ns,
        total_ns,
    };
    let mut found: Vec<IdleWaits> = all.into_iter().map(idle).filter(|waits| waits.idle_ns > 0).collect();
    found.sort_by_key(|waits| Reverse(waits.idle_ns));
    found.truncate(MOST);
    found
}

/// What a lock has in common with others of its name: `Shop.queue` of `Shop.queue (com.acme.Queue@1a2b)`, the class of
/// `com.acme.Queue@1a2b`.
fn name_of(lock: &str) -> &str {
    let name = lock.split(" (").next().unwrap_or(lock);
    name.split('@').next().unwrap_or(name)
}

/// Several sites of one method and object, of which there is at least one.
fn wait_place(sites: &[&WaitSite]) -> WaitPlace {
    let Some(first) = sites.first() else { return WaitPlace::default() };
    let one_lock = sites.iter().all(|site| site.lock == first.lock);
    let (total_ns, count) = (sites.iter().map(|site| site.total_ns).sum(), sites.iter().map(|site| site.count).sum());
    let timed_out: u64 = sites.iter().map(|site| site.timed_out).sum();
    WaitPlace {
        method: bounded(&first.method),
        on: bounded(if one_lock { &first.lock } else { name_of(&first.lock) }),
        is_monitor: first.synchronizer == Synchronizer::Monitor,
        groups: groups(sites).into_iter().take(WAITS).map(bounded).collect(),
        ended_by: ended_by(sites, total_ns).map(bounded).unwrap_or_default(),
        by_timeout: 2 * timed_out > count,
        total_ns,
        count,
        max_ns: sites.iter().map(|site| site.max_ns).max().unwrap_or(0),
    }
}

/// Groups of the threads that waited, those with most waits first.
fn groups<'a>(sites: &[&'a WaitSite]) -> Vec<&'a str> {
    let all = sites.iter().flat_map(|site| &site.groups).map(|group| (group.name.as_str(), group.count));
    summed(all)
}

/// The method that ended half of the waited time or more, if it is known.
fn ended_by<'a>(sites: &[&'a WaitSite], total_ns: u64) -> Option<&'a str> {
    let wakers = || sites.iter().flat_map(|site| &site.wakers);
    let most = summed(wakers().map(|waker| (waker.method.as_str(), waker.total_ns))).into_iter().next()?;
    let ended: u64 = wakers().filter(|waker| waker.method == most).map(|waker| waker.total_ns).sum();
    (2 * ended >= total_ns && most != UNKNOWN).then_some(most)
}

/// Names by the sum of their numbers, the largest first; of equal ones, the one that came first.
fn summed<'a>(numbers: impl Iterator<Item = (&'a str, u64)>) -> Vec<&'a str> {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (name, number) in numbers {
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += number,
            None => sums.push((name, number)),
        }
    }
    sums.sort_by_key(|(_, sum)| Reverse(*sum));
    sums.into_iter().map(|(name, _)| name).collect()
}

fn ledger_part(report: &Report, part: &Part, ns: u64) -> LedgerPart {
    let entries = report.ledger.entries.iter().filter(|entry| part.entries.contains(&entry.entry));
    LedgerPart {
        name: part.name.to_owned(),
        words: report.awaited(part.entries).map_or_else(|| part.words.to_owned(), |words| bounded(&words)),
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
        owner_did: bounded(&finding.owner_did),
    }
}

fn loss(name: &str, count: u64) -> Loss {
    let explanation = headway_model::Loss::from_name(name).map_or("", headway_model::Loss::explanation);
    Loss { name: name.to_owned(), count, explanation: explanation.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::report::{Named, WakerSummary};

    fn site(lock: &str, group: &str, waker: (&str, u64), total_ns: u64, count: u64) -> WaitSite {
        let waker =
            WakerSummary { group: String::new(), method: waker.0.into(), stack: Vec::new(), count, total_ns: waker.1 };
        WaitSite {
            method: "com.acme.Queue.take".into(),
            lock: lock.into(),
            groups: vec![Named { name: group.into(), count }],
            wakers: vec![waker],
            total_ns,
            count,
            max_ns: total_ns / 2,
            ..WaitSite::default()
        }
    }

    #[test]
    fn a_method_is_as_idle_as_the_time_in_it_says() {
        let idle = |ns| WaitSite { idle: true, ..site("com.acme.Queue", "pool-*", ("Shop.sell", ns), ns, 1) };
        let busy = |ns| site("com.acme.Queue", "request-*", ("Shop.sell", ns), ns, 1);
        let monitor = WaitSite { synchronizer: Synchronizer::Monitor, ..busy(80) };
        let found = idle_waits(&[idle(600), busy(100), idle(300), monitor]);
        let method = "com.acme.Queue.take".to_owned();
        assert_eq!(found, [IdleWaits { method, is_monitor: false, idle_ns: 900, total_ns: 1_000 }]);
        assert!(idle_waits(&[busy(100)]).is_empty());
    }

    #[test]
    fn places_of_one_method_and_name_are_one_row() {
        let sites = [
            site("com.acme.Queue", "request-*", ("Shop.sell", 60), 80, 4),
            site("Shop.orders (com.acme.Orders@1a)", "request-*", ("Shop.sell", 75), 75, 1),
            site("com.acme.Queue@2b", "batch-*", ("Shop.restock", 50), 50, 9),
            WaitSite { idle: true, ..site("com.acme.Queue", "pool-*", ("Shop.sell", 900), 900, 1) },
        ];
        let [queue, orders] = &wait_places(&sites)[..] else { panic!("two rows") };
        assert_eq!((queue.on.as_str(), queue.total_ns, queue.count, queue.max_ns), ("com.acme.Queue", 130, 13, 40));
        assert_eq!(queue.groups, ["batch-*", "request-*"], "most waits first");
        assert_eq!(queue.ended_by, "", "no method ended half of the time");
        assert_eq!((orders.on.as_str(), orders.ended_by.as_str()), ("Shop.orders (com.acme.Orders@1a)", "Shop.sell"));
        let more = site("com.acme.Queue", "request-*", ("Shop.sell", 20), 20, 1);
        assert_eq!(wait_places(&[sites[0].clone(), more])[0].ended_by, "Shop.sell");
    }
}
