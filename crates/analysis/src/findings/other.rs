//! Findings about the recording itself, and what recordings of other makers
//! can say.

use super::seen::{without_line, Doing, Doings};
use super::words::{code, count, grouped, percent};
use super::Gist;
use crate::aggregate::share;
use crate::ledger::EntryKind;
use crate::method::sample_report::SampledPath;
use crate::report::{has_only_sums, records, BlockedTime, Evidence, Finding, FindingKind, Report};
use crate::wait_class::sleeps_in_own_loop;
use headway_model::event::SWITCHED_OFF;
use headway_model::{DurationNs, Loss};
use rustc_hash::FxHashSet;

/// Pauses matter from this part of the time on.
const PAUSED: f64 = 0.02;
/// Dropped events matter from this part of all events on.
const LOST: f64 = 0.001;
/// Time in sleep, I/O or native code matters from this part of the active thread time on.
const SPENT: f64 = 0.2;
/// Blocked time that is at least this part of the active thread time is worth asking whose
/// it was.
const BLOCKED_LONG: f64 = 0.01;
/// Unknown owners matter from this part of the blocked time on.
const UNKNOWN_OWNERS: f64 = 0.2;
/// Samples from which on a call is named.
const FEW: u64 = 20;
/// The reason of so much is the one that is named.
const MOST_OF_IT: f64 = 0.5;

/// Losses and missing mechanisms that make numbers doubtful.
pub(super) fn unreliable(report: &Report) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(lost_events(report));
    if report.blocked.slices_wrong > 0 {
        findings.push(plain(format!(
            "{} did not add up. This is an error in Headway: please report it.",
            count(report.blocked.slices_wrong, "sum of slices"),
        )));
    }
    findings
}

fn lost_events(report: &Report) -> Option<Finding> {
    let dropped = [
        Loss::BufferFull,
        Loss::SeqGap,
        Loss::LockTableFull,
        Loss::ThreadTableFull,
        Loss::WriteFailed,
        Loss::Unfinished,
        Loss::Undecodable,
    ];
    let of = |loss: Loss| report.losses.get(loss.name()).copied().unwrap_or(0);
    let worst = dropped.into_iter().max_by_key(|loss| of(*loss))?;
    let lost = of(worst);
    if lost == 0 || share(lost, report.recording.events + lost) < LOST {
        return None;
    }
    let mut finding = plain(format!(
        "What follows is incomplete: {} ({} against {} analysed).",
        worst.explanation(),
        grouped(lost),
        count(report.recording.events, "event"),
    ));
    finding.details = dropped
        .into_iter()
        .filter(|loss| of(*loss) > 0)
        .map(|loss| format!("{}: {}", grouped(of(loss)), loss.explanation()))
        .collect();
    Some(finding)
}

/// True where no release was recorded, for a reason that holds for all of them.
pub(super) fn nothing_tells_of_owners(report: &Report) -> bool {
    report.recording.foreign || report.degraded.iter().any(|degraded| degraded.mechanism.starts_with("monitor"))
}

/// Blocked time on locks of deadlocks.
pub(super) struct Deadlocked {
    /// All of it.
    pub blocked_ns: u64,
    /// The part without a call stack of the owner.
    pub without_chain_ns: u64,
}

/// Owners that are not known, where threads were blocked long enough to ask; `open_ns` of it in contentions that had not
/// ended when the recording ended. Of `deadlocked`, locks of deadlocks, owners are named with them.
pub(super) fn unknown_owners(report: &Report, open_ns: u64, deadlocked: &Deadlocked) -> Option<Finding> {
    // What is only summed up has no owner on purpose.
    let told_ns = report.blocked_ns.saturating_sub(report.blocked.summed_ns).saturating_sub(deadlocked.blocked_ns);
    let unknown_ns = report.blocked.unknown_ns.saturating_sub(report.blocked.summed_ns);
    let without_chain = (unknown_ns + report.blocked.owner_thread_ns).saturating_sub(deadlocked.without_chain_ns);
    let active_ns = report.ledger.active_ns();
    let hardly_blocked = active_ns > 0 && share(report.blocked_ns, active_ns) < BLOCKED_LONG;
    if hardly_blocked || share(without_chain, told_ns) < UNKNOWN_OWNERS {
        return None;
    }
    let part = percent(share(without_chain, told_ns));
    let monitor = report.degraded.iter().find(|degraded| degraded.mechanism.starts_with("monitor"));
    let why = match monitor {
        Some(degraded) if degraded.reason.ends_with(SWITCHED_OFF) => {
            "the recording was made with --safe or --disable".to_owned()
        }
        Some(degraded) => degraded.reason.clone(),
        None if report.recording.foreign => {
            "the recording was not made by Headway and does not say what owners did".to_owned()
        }
        None if share(open_ns, without_chain) >= MOST_OF_IT => {
            "the locks had not been released when the recording ended, and the release is what shows the owner"
                .to_owned()
        }
        None => {
            "if a woken thread has not run yet, the JVM releases the lock without an event. This happens more often if \
             there are too few CPUs"
                .to_owned()
        }
    };
    let of_what = match report.blocked.summed_ns {
        0 => "the blocked time",
        _ => "the blocked time that is recorded in detail",
    };
    Some(plain(format!("For {part} of {of_what}, the owner's call stack is not known: {why}.")))
}

fn plain(text: String) -> Finding {
    Finding { kind: FindingKind::Unreliable, text, details: Vec::new(), cost_ns: 0, share: None, ..Finding::default() }
}

/// Where samples say time went, in recordings that say nothing about locks.
pub(super) fn samples(report: &Report) -> Option<Finding> {
    let samples = report.samples.as_ref()?;
    let top: Vec<String> = samples
        .methods
        .iter()
        .take(3)
        .filter(|method| method.self_samples > 0)
        .enumerate()
        .map(|(at, method)| {
            let were = if at == 0 { "were in" } else { "in" };
            format!("{} {were} {}", percent(method.self_share), code(&method.method))
        })
        .collect();
    if top.is_empty() {
        return None;
    }
    // Samples by the wall clock are of running and waiting threads alike.
    let of = match samples.running {
        0 => format!("{} by the wall clock", count(samples.count, "sample")),
        running => format!("{} of running threads", count(running, "sample")),
    };
    let alone = if top.len() == 1 {
        ", without the methods that it called"
    } else {
        ". Time in methods that these called is not included"
    };
    Some(Finding {
        kind: FindingKind::Samples,
        text: format!("Of {of}, {}{alone}.", top.join(", ")),
        details: Vec::new(),
        cost_ns: 0,
        share: samples.methods.first().map(|method| method.self_share),
        ..Finding::default()
    })
}

/// Where threads were in sleep, I/O or native code, where that is much of the time and samples show it.
pub(super) fn off_cpu(report: &Report) -> Option<Finding> {
    if share(off_cpu_ns(report), report.ledger.active_ns()) < SPENT {
        return None;
    }
    let doings = doings_off_cpu(report)?;
    let text = doings.text_of("threads that neither ran nor waited were")?;
    Some(Finding { kind: FindingKind::Samples, text, ..Finding::default() })
}

/// Time of threads in sleep, I/O or native code.
fn off_cpu_ns(report: &Report) -> u64 {
    [EntryKind::Io, EntryKind::OffCpu].iter().map(|kind| report.ledger.ns(*kind)).sum()
}

fn doings_off_cpu(report: &Report) -> Option<Doings> {
    let mut doings = Doings::default();
    for path in &report.samples.as_ref()?.off_cpu {
        if let Some(doing) = doing_of(path) {
            doings.add(doing, path.ns, path.samples);
        }
    }
    Some(doings)
}

fn doing_of(path: &SampledPath) -> Option<Doing> {
    Doing::of(path.stack.iter().map(String::as_str), false)
}

/// What only threads that sleep in a loop near their root were seen to do.
fn timers(report: &Report) -> FxHashSet<Doing> {
    let paths = || report.samples.iter().flat_map(|samples| &samples.off_cpu);
    let is_timer = |path: &&SampledPath| sleeps_in_own_loop(path.stack.iter().map(|frame| without_line(frame)));
    let mut timers: FxHashSet<Doing> = paths().filter(is_timer).filter_map(doing_of).collect();
    paths().filter(|path| !is_timer(path)).filter_map(doing_of).for_each(|doing| {
        timers.remove(&doing);
    });
    timers
}

/// The one call of sleep, I/O or native code in which threads were for longest, and for how long at least, where enough
/// samples show it. Samples of blocked threads are among those of threads that did not run: what these have beyond the
/// ledger's time may be of this call. Of a recording of some threads, nothing: the ledger counts others as asleep. A thread
/// that sleeps in its own loop keeps to a schedule: if it can have been one, it is idle.
pub(super) fn longest_call(report: &Report) -> Option<(String, u64)> {
    if report.selection.is_of_some() {
        return None;
    }
    let doings = doings_off_cpu(report)?;
    let timers = timers(report);
    let is_timer = |doing: &Doing, ns: u64| ns <= report.duration_ns && timers.contains(doing);
    let (call, ns, samples) = doings.longest_call(is_timer)?;
    let blocked_ns = report.samples.as_ref()?.off_cpu_ns.saturating_sub(off_cpu_ns(report));
    let at_least = ns.saturating_sub(blocked_ns);
    (samples >= FEW && share(at_least, ns) >= MOST_OF_IT).then_some((call, at_least))
}

/// Parking that means waiting for a lock.
pub(super) fn parks(report: &Report) -> Option<Finding> {
    if report.blocked.juc_ns > 0 {
        // Reported with the lock.
        return None;
    }
    let park = report.parks.iter().find(|park| park.is_lock)?;
    let part = share(park.total_ns, report.ledger.active_ns());
    let known = Some(part).filter(|_| !report.ledger.lives_unknown);
    let (parked, share_of_all) = match known.is_none() {
        true => (format!(" {}", DurationNs(park.total_ns)), String::new()),
        false => (String::new(), format!(", {} of the active thread time", percent(part))),
    };
    (part >= LOST || known.is_none()).then(|| Finding {
        kind: FindingKind::Parks,
        text: format!(
            "{} parked{parked}, waiting for {}{share_of_all}: a lock of java.util.concurrent; who owned it is not recorded.",
            count(park.threads, "thread"),
            code(&park.blocker_class),
        ),
        details: vec![format!(
            "{} in {}, longest {}",
            DurationNs(park.total_ns),
            count(park.count, "park"),
            DurationNs(park.max_ns),
        )],
        cost_ns: park.total_ns,
        share: known,
        evidence: vec![Evidence::exact("parked", park.total_ns, known)],
        ..Finding::default()
    })
}

/// Threads that were blocked when the recording began and still in its end: nothing
/// else reports them.
pub(super) fn blocked_throughout(report: &Report) -> Option<Finding> {
    let threads = report.losses.get(Loss::BlockedThroughout.name()).copied().filter(|n| *n > 0)?;
    let were = if threads == 1 { "was" } else { "were" };
    Some(Finding {
        kind: FindingKind::Stuck,
        text: format!(
            "{} {were} blocked on a monitor for the whole recording, since before it began: a deadlock, or a lock that \
             is held for very long. A thread dump (`jcmd PID Thread.print`) shows the lock and its owner.",
            count(threads, "thread"),
        ),
        details: Vec::new(),
        cost_ns: threads.saturating_mul(report.duration_ns),
        share: None,
        ..Finding::default()
    })
}

/// Pauses of the VM, which stop every thread whatever it does.
pub(super) fn pauses(report: &Report) -> Option<Finding> {
    let pauses = &report.pauses;
    let ledger = &report.ledger;
    let (outside, in_locks) = (ledger.ns(EntryKind::Pause), ledger.ns(EntryKind::LockPause));
    let part = share(pauses.total_ns, report.duration_ns);
    // Headway records no other pauses.
    let (whose, subject) = match report.recording.foreign {
        true => ("the VM", "The VM"),
        false => ("the garbage collector", "The garbage collector"),
    };
    (part >= PAUSED).then(|| Finding {
        kind: FindingKind::Pauses,
        text: format!(
            "{subject} paused all threads for {} ({} of the {}): {}, the longest {}.",
            DurationNs(pauses.total_ns),
            percent(part),
            report.selection.time(),
            count(pauses.count, "pause"),
            DurationNs(pauses.max_ns),
        ),
        details: match ledger.lives_unknown {
            true => vec![format!("cost {} of the time of blocked threads", DurationNs(in_locks))],
            false => vec![cost(outside, in_locks)],
        },
        cost_ns: outside + in_locks,
        share: Some(part),
        evidence: vec![
            Evidence::exact(EntryKind::Pause.name(), outside, None),
            Evidence::exact(EntryKind::LockPause.name(), in_locks, None),
        ],
        gist: Gist { awaited: whose.to_owned(), ..Gist::default() },
        ..Finding::default()
    })
}

/// What pauses cost the threads that had something to do.
fn cost(outside: u64, in_locks: u64) -> String {
    let parts = match in_locks {
        0 => String::new(),
        ns => format!(": in the bar, {} as `VM pause` and {} as blocked", DurationNs(outside), DurationNs(ns)),
    };
    format!("cost {} of thread time{parts}; threads that waited anyway are not counted", DurationNs(outside + in_locks))
}

impl BlockedTime {
    /// ``Left out (--min-duration): 676 contentions shorter than 10.0 ms, in which threads were blocked for 1.26 s.``;
    /// `None` if there are none.
    pub fn left_out(&self) -> Option<String> {
        (self.below_minimum > 0).then(|| {
            format!(
                "Left out (--min-duration): {} shorter than {}, in which threads were blocked for {}.",
                count(self.below_minimum, "contention"),
                DurationNs(self.minimum_ns),
                DurationNs(self.below_minimum_ns),
            )
        })
    }
}

/// What is to be added where no contention is known, if there are virtual threads: they are seen when they run.
fn unseen_virtual_threads(report: &Report) -> &'static str {
    match report.virtual_threads.as_ref().is_some_and(|threads| threads.carriers > 0) && !report.recording.foreign {
        true => {
            " Virtual threads that were blocked before the recording began, and have not run since, are not counted: \
             `jcmd PID Thread.dump_to_file FILE` shows them."
        }
        false => "",
    }
}

/// Nothing found, said plainly: of a recording that is over, or of one that goes on, in which threads can be blocked now.
pub(super) fn nothing(report: &Report, is_over: bool) -> Finding {
    let only_sums = has_only_sums(&report.recording.settings);
    // Locks of java.util.concurrent are known by their parks.
    let records = |event| records(&report.recording.settings, event);
    let lock = match (records("monitor"), records("park")) {
        _ if only_sums => "lock",
        (true, true) => "lock",
        (false, true) => "java.util.concurrent lock",
        (_, false) => "monitor",
    };
    let text = match (report.contentions, report.ledger.active_ns()) {
        _ if only_sums && report.selection.reported.is_some() => {
            "The recording has only sums of blocked time, and these are of all threads: nothing is known of these threads \
             alone."
                .to_owned()
        }
        (_, active_ns @ 1..) if only_sums && report.ledger.ns(EntryKind::LockUnknown) > 0 => format!(
            "Nothing stands out: threads were blocked on locks for {} of the active thread time.",
            percent(share(report.ledger.ns(EntryKind::LockUnknown), active_ns)),
        ),
        (0, _) if report.blocked.below_minimum > 0 => {
            format!("No contention lasted {} or longer.", DurationNs(report.blocked.minimum_ns))
        }
        (0, _) => {
            let (duration, threads) = (DurationNs(report.duration_ns), count(report.threads, "application thread"));
            let said = match is_over {
                true => format!("{} was blocked on a {lock} in {duration} ({threads}).", report.selection.no_thread()),
                false => format!("No contention of a {lock} has ended in {duration} ({threads})."),
            };
            said + unseen_virtual_threads(report)
        }
        (n, 0) => format!(
            "Nothing stands out: threads were blocked on {lock}s {} for {} in all.",
            count(n, "time"),
            DurationNs(report.blocked_ns),
        ),
        (n, active_ns) => format!(
            "Nothing stands out: threads were blocked on {lock}s for {} of the active thread time ({}, {} in all).",
            percent(share(report.blocked_ns, active_ns)),
            count(n, "time"),
            DurationNs(report.blocked_ns),
        ),
    };
    Finding { kind: FindingKind::Nothing, text, details: Vec::new(), cost_ns: 0, share: None, ..Finding::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, Ledger, Quality};
    use crate::method::sample_report::{SampleReport, SampledPath};

    #[test]
    fn where_threads_slept_is_said_where_that_was_much_of_the_time() {
        let said = |asleep: u64| {
            let slept = Entry { entry: EntryKind::OffCpu, total_ns: asleep, share: 0.0, quality: Quality::Exact };
            let path = |stack: &str, samples: u64| SampledPath {
                share: 0.0,
                ns: samples * 10,
                samples,
                stack: stack.split(' ').map(str::to_owned).collect(),
            };
            let off_cpu = vec![
                path("java.lang.Thread.sleep:1 com.acme.Lease.acquire:5 com.acme.Server.serve:9", 75),
                path("java.net.Socket.read:1 com.acme.Remote.call:5 com.acme.Server.serve:10", 25),
            ];
            let report = Report {
                ledger: Ledger { total_ns: 1_000, entries: vec![slept], ..Ledger::default() },
                samples: Some(SampleReport { off_cpu, ..SampleReport::default() }),
                ..Report::default()
            };
            super::off_cpu(&report).map(|finding| finding.text)
        };
        assert_eq!(
            said(900).unwrap(),
            "For 75 % of the sampled time (100 samples), threads that neither ran nor waited were in \
             `Thread.sleep`, called from `Lease.acquire` < `Server.serve`."
        );
        assert_eq!(said(100), None);
    }
}
