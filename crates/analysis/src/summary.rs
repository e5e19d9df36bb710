//! Puts the analyses' totals into a report.

use crate::aggregate::{share, LockTotals, Range};
use crate::analysis::Analysis;
use crate::ledger::{EntryKind, Ledger};
use crate::lock_groups::LockGroups;
use crate::monitor::OpenContention;
use crate::names::{NameId, Names, TextId};
use crate::pressure::Pressure;
use crate::report::{
    DegradedMechanism, InFlight, LockSummary, Named, Others, RecordingSummary, Report, VirtualThreadsReport, WaitSite,
    WakerSummary, MOST_TOLD, UNKNOWN,
};
use crate::returned::Returned;
use crate::selection::Selection;
use crate::threads::Running;
use crate::wait_class::WaitClasses;
use crate::waits::Site;
use headway_model::{LockId, Loss, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Everything but the findings.
pub(crate) fn summarise(
    analysis: &mut Analysis,
    range: Range,
    running: Running,
    open: &[OpenContention],
    classes: &WaitClasses,
    groups: &LockGroups,
) -> Report {
    let samples = analysis.samples.report(&analysis.names);
    let in_flight = in_flight(analysis, range, open);
    let blocked_by = blocked_by_sampled_owners(analysis);
    let owner_activity = analysis.owners.report(&analysis.names, &blocked_by);
    let aggregate = &analysis.aggregate;
    let counts = analysis.replays.monitors.counts();
    let parks = analysis.replays.parks.counts();
    let mut blocked = aggregate.accounted();
    blocked.minimum_ns = analysis.options.min_duration.0;
    blocked.slices_checked = counts.slices_checked + parks.slices_checked;
    blocked.slices_wrong = counts.slices_wrong + parks.slices_wrong;
    blocked.ends_dropped = counts.ends_lost + parks.ends_lost;
    let (locks, other_locks) = locks(analysis);
    let mut rows = aggregate.rows(&analysis.names, groups);
    if let Some(waited) = &analysis.waited {
        rows.extend(waited.rows(&analysis.names, groups));
    }
    let recording = recording(analysis);
    Report {
        selection: selection(analysis, range, &recording.settings),
        duration_ns: range.to.since(range.from).0,
        threads: running.threads,
        blocked_ns: aggregate.blocked_ns,
        contentions: aggregate.contentions(),
        rows,
        losses: losses(analysis),
        degraded: analysis
            .degraded
            .iter()
            .map(|degraded| DegradedMechanism {
                mechanism: degraded.mechanism.to_string(),
                reason: degraded.reason.to_string(),
            })
            .collect(),
        by: aggregate.by().to_vec(),
        verdict: String::new(),
        findings: Vec::new(),
        running_ns: running.running_ns,
        blocked,
        locks,
        other_locks,
        waits: waits(analysis, classes),
        in_flight,
        deadlocks: Vec::new(),
        wait_chains: Vec::new(),
        pauses: analysis.replays.monitors.pauses().summary(range.from, range.to),
        samples,
        owner_activity,
        parks: analysis.parks.report(),
        virtual_threads: virtual_threads(analysis, range),
        ledger: Ledger::default(),
        short_lived: None,
        pressure: None,
        steal: None,
        other_events: analysis.others.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        sampling: analysis.sampling(),
        recording,
    }
}

/// The filters, and the time if it was asked for a part.
fn selection(analysis: &Analysis, range: Range, settings: &[(String, String)]) -> Selection {
    let options = &analysis.options;
    let selection = Selection::new(settings, options.threads.as_ref());
    match (options.from, options.to) {
        (None, None) => selection,
        _ => selection.of_time(range.from.since(analysis.start).0, range.to.since(analysis.start).0),
    }
}

/// For how long sampled owners blocked others, by lock and the method that owned it; of a sampled recording, the part that
/// was recorded one by one.
fn blocked_by_sampled_owners(analysis: &mut Analysis) -> FxHashMap<(LockId, Option<NameId>), u64> {
    let locks = analysis.owners.locks();
    let mut blocked = FxHashMap::default();
    for (id, owner) in analysis.replays.monitors.owners_by_id().all() {
        let ns = analysis.aggregate.held_ns(id);
        if ns == 0 || owner.thread.is_none() || !locks.contains(&owner.lock) {
            continue;
        }
        let method = owner.method(&mut analysis.names);
        let scale = analysis.aggregate.total_of(owner.lock).map_or(1.0, LockTotals::recorded_scale);
        *blocked.entry((owner.lock, method)).or_default() += (ns as f64 / scale).round() as u64;
    }
    blocked
}

/// How occupied carriers were is known only where it is known when they lived.
fn virtual_threads(analysis: &Analysis, range: Range) -> Option<VirtualThreadsReport> {
    let report = analysis.virtual_threads.report(&analysis.names, &analysis.threads, range)?;
    let occupied_ns = report.occupied_ns.filter(|_| analysis.knows_lives());
    Some(VirtualThreadsReport { occupied_ns, ..report })
}

fn losses(analysis: &Analysis) -> BTreeMap<String, u64> {
    let counts = analysis.replays.monitors.counts();
    let parks = analysis.replays.parks.counts();
    let folded = counts.folded
        + parks.folded
        + analysis.waited.as_ref().map_or(0, |waited| waited.folded)
        + analysis.aggregate.folded
        + analysis.threads.folded
        + analysis.waits.folded
        + analysis.samples.folded()
        + analysis.owners.folded()
        + analysis.meanwhile.folded
        + analysis.parks.folded
        + analysis.virtual_threads.folded
        + analysis.recorded_pressure.folded
        + analysis.steal.folded()
        + analysis.pressure.as_ref().map_or(0, Pressure::folded);
    let mut losses = analysis.losses.clone();
    *losses.entry(Loss::SeqGap).or_default() += counts.lost_numbers + parks.lost_numbers;
    *losses.entry(Loss::UnpairedEntered).or_default() += counts.unpaired + parks.unpaired;
    *losses.entry(Loss::AnalysisFull).or_default() += folded;
    losses.into_iter().filter(|(_, count)| *count > 0).map(|(loss, count)| (loss.name().to_owned(), count)).collect()
}

/// The most expensive locks, and what the others come to.
fn locks(analysis: &Analysis) -> (Vec<LockSummary>, Others) {
    let aggregate = &analysis.aggregate;
    let mut dearest: Vec<&LockTotals> = aggregate.locks().iter().filter(|lock| lock.count > 0).collect();
    let others = cut_off(&mut dearest, |lock| (lock.total, lock.lock));
    let mut contenders: FxHashMap<LockId, FxHashSet<ThreadId>> =
        dearest.iter().map(|lock| (lock.lock, FxHashSet::default())).collect();
    let mut owners = contenders.clone();
    for (side, _) in aggregate.sides() {
        if let Some(contenders) = contenders.get_mut(&side.lock) {
            contenders.insert(side.thread);
        }
    }
    for (id, owner) in analysis.replays.monitors.owners_by_id().all() {
        if aggregate.held_ns(id) > 0 && owner.thread.is_some() {
            if let Some(owners) = owners.get_mut(&owner.lock) {
                owners.insert(owner.thread);
            }
        }
    }
    let distinct =
        |sets: &FxHashMap<LockId, FxHashSet<ThreadId>>, lock| sets.get(&lock).map_or(0, |set| set.len() as u64);
    let summary = |lock: &&LockTotals| LockSummary {
        lock: analysis.names.lock_text(lock.lock),
        class: analysis.names.lock_class_text(lock.lock),
        total_ns: lock.total,
        count: lock.count,
        max_ns: lock.max,
        share: share(lock.total, aggregate.blocked_ns),
        hand_off_ns: lock.hand_over,
        unknown_ns: lock.unknown,
        pause_ns: lock.paused,
        after_wait_ns: lock.after_wait,
        waiters: distinct(&contenders, lock.lock),
        owners: distinct(&owners, lock.lock),
    };
    let mut locks: Vec<LockSummary> = dearest.iter().map(summary).collect();
    locks.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.lock.cmp(&b.lock)));
    (locks, others)
}

/// Leaves the [`MOST_TOLD`] most expensive, in no order, and adds the others up.
pub(crate) fn cut_off<T>(locks: &mut Vec<T>, cost: impl Fn(&T) -> (u64, LockId)) -> Others {
    if locks.len() <= MOST_TOLD {
        return Others::default();
    }
    locks.select_nth_unstable_by_key(MOST_TOLD, |lock| {
        let (total, lock) = cost(lock);
        (std::cmp::Reverse(total), lock)
    });
    let others = locks.split_off(MOST_TOLD);
    Others { count: others.len() as u64, total_ns: others.iter().map(|lock| cost(lock).0).sum() }
}

fn waits(analysis: &Analysis, classes: &WaitClasses) -> Vec<WaitSite> {
    let names = &analysis.names;
    let site = |(place, site): (usize, &Site)| wait_site(site, classes.get(place), names);
    let mut sites: Vec<WaitSite> = analysis.waits.sites().iter().enumerate().map(site).collect();
    sites.sort_by(|a, b| {
        let key = |site: &WaitSite| std::cmp::Reverse(site.total_ns);
        key(a).cmp(&key(b)).then_with(|| (&a.class, &a.stack).cmp(&(&b.class, &b.stack)))
    });
    sites
}

fn wait_site(site: &Site, entry: EntryKind, names: &Names) -> WaitSite {
    let class = names.text(site.class).to_owned();
    WaitSite {
        synchronizer: site.synchronizer,
        lock: if site.many_locks { class.clone() } else { names.lock_text(site.lock) },
        class,
        method: site
            .method
            .and_then(|method| names.method_name(method))
            .map_or_else(|| UNKNOWN.to_owned(), |name| name.full.clone()),
        stack: site.path.map(|path| names.path_text(path)).unwrap_or_default(),
        total_ns: site.total_ns,
        count: site.count,
        max_ns: site.max_ns,
        notified: site.notified,
        timed_out: site.timed_out,
        interrupted: site.interrupted,
        in_flight: site.in_flight,
        in_flight_with_limit: site.in_flight_with_limit,
        threads: site.threads.len() as u64,
        groups: groups(site.threads.keys().map(|thread| (names.group_text(*thread), 1))),
        notifiers: notifiers(&site.notifiers, names),
        wakers: wakers(site, names),
        entry,
        idle: entry == EntryKind::WaitWork,
    }
}

/// Who ended the waits of a site, by group and method.
pub(crate) fn wakers(site: &Site, names: &Names) -> Vec<WakerSummary> {
    let mut methods: BTreeMap<(TextId, Option<NameId>), (WakerSummary, u64)> = BTreeMap::new();
    let waits = site.path.map(|path| names.frames(path)).unwrap_or_default();
    // As in the findings; where there is nothing but plumbing, what acted in it.
    let ended_in = |path| {
        let returned = site.method.and_then(|method| Returned::of(&names.frames(path), &waits, method, names));
        returned.map(|returned| returned.by).or_else(|| names.acting_method(path))
    };
    for ((group, path), (count, total_ns)) in &site.wakers {
        let method = path.and_then(ended_in);
        let name = method.and_then(|method| names.method_name(method));
        let (waker, longest) = methods.entry((*group, method)).or_insert_with(|| {
            let waker = WakerSummary {
                group: names.text(*group).to_owned(),
                method: name.map_or_else(|| UNKNOWN.to_owned(), |name| name.full.clone()),
                stack: Vec::new(),
                count: 0,
                total_ns: 0,
            };
            (waker, 0)
        });
        waker.count += count;
        waker.total_ns += total_ns;
        if *total_ns > *longest || waker.stack.is_empty() {
            *longest = *total_ns;
            waker.stack = path.map(|path| names.path_text(path)).unwrap_or_default();
        }
    }
    let mut wakers: Vec<WakerSummary> = methods.into_values().map(|(waker, _)| waker).collect();
    wakers.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| (&a.group, &a.method).cmp(&(&b.group, &b.method))));
    wakers
}

pub(crate) fn notifiers(counts: &FxHashMap<TextId, u64>, names: &Names) -> Vec<Named> {
    groups(counts.iter().map(|(group, count)| (names.text(*group).to_owned(), *count)))
}

/// Adds up what has the same name, most first.
pub(crate) fn groups(counts: impl Iterator<Item = (String, u64)>) -> Vec<Named> {
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in counts {
        *totals.entry(name).or_default() += count;
    }
    let mut named: Vec<Named> = totals.into_iter().map(|(name, count)| Named { name, count }).collect();
    named.sort_by_key(|named| std::cmp::Reverse(named.count));
    named
}

fn in_flight(analysis: &mut Analysis, range: Range, open: &[OpenContention]) -> Vec<InFlight> {
    let mut list: Vec<InFlight> = open
        .iter()
        .filter_map(|contention| {
            let (start, end) = range.clip(contention.start, range.to)?;
            Some(in_flight_of(contention, end.since(start).0, &mut analysis.names))
        })
        .collect();
    list.sort_by(|a, b| b.blocked_ns.cmp(&a.blocked_ns).then_with(|| a.thread.cmp(&b.thread)));
    list
}

pub(crate) fn in_flight_of(contention: &OpenContention, blocked_ns: u64, names: &mut Names) -> InFlight {
    let chain = names.path(contention.chain, 0).map(|path| names.path_text(path));
    InFlight {
        thread: names.thread_text(contention.thread),
        lock: names.lock_text(contention.lock),
        blocked_ns,
        owner: if contention.owner.is_some() { names.thread_text(contention.owner) } else { UNKNOWN.to_owned() },
        stack: chain.unwrap_or_default(),
    }
}

fn recording(analysis: &Analysis) -> RecordingSummary {
    let info = analysis.recording.clone().unwrap_or_default();
    RecordingSummary {
        producer: info.producer.clone(),
        foreign: analysis.is_foreign(&info),
        jvm: format!("{} {}", info.jvm_name, info.jvm_version).trim().to_owned(),
        pid: info.pid,
        java_arguments: info.java_arguments.clone(),
        start_ns: info.start.0,
        duration_ns: analysis.latest.since(analysis.start).0,
        epoch_offset_ns: info.epoch_offset_ns,
        events: analysis.events,
        own_cpu_ns: analysis.own_cost.own_cpu.0,
        hook_cpu_ns: analysis.own_cost.hook_cpu.0,
        hook_cpu_error_ns: analysis.own_cost.hook_cpu_error.0,
        timed_calls: analysis.own_cost.timed_calls,
        process_cpu_ns: analysis.own_cost.process_cpu.0,
        attach_cpu_ns: analysis.own_cost.attach_cpu.0,
        attach_pause_ns: analysis.own_cost.attach_pause.0,
        settings: info.settings.clone(),
    }
}
