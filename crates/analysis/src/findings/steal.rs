//! Findings about what the environment took.

use super::words::{code, percent};
use super::{Gist, ShortLived};
use crate::aggregate::share;
use crate::ledger::{CpuUsers, EntryKind, Quality};
use crate::report::{Evidence, Finding, FindingKind, Report};
use crate::steal::steal_report::{Named, QuotaReport, StealReport, Totals, Window};
use headway_model::DurationNs;
use std::fmt::Write;

/// CPUs were short during the whole recording from this part of it on.
const WHOLE: f64 = 0.99;
/// Part of the ready time of threads from which on its loss is a finding.
const LOST: f64 = 0.05;
/// Part of the CPU time that is most of it.
const MOST: f64 = 0.5;
/// Part of the CPU time from which on who used it is named.
const NAMED: f64 = 0.01;
/// What the evidence calls the CPU time of other processes, where that is most of it.
const OTHERS: &str = "cpu-of-other-processes";
/// What the evidence calls the time in which CPUs of the machine were idle, where that is much of it.
const IDLE: &str = "cpu-idle";
/// Part of the time of the machine's CPUs that is much of it: then there were enough.
const MUCH: f64 = 0.25;
/// The bar is not explained from this part of the finding on.
const SHOWN: f64 = 0.9;
/// It is said how much of the time is no part of the threads' lives from this part on.
const OUTSIDE: f64 = 0.1;
/// What the evidence calls the waiting that is no part of the threads' lives, where that is most of it.
const AROUND_LIVES: &str = "outside-lives";
/// A shorter time is no finding.
const LEAST_NS: u64 = 100_000_000;

/// One group stands for all from this part of their time on.
const NEARLY_ALL: f64 = 0.8;

/// What took the time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Throttling,
    Hypervisor,
    RunQueue,
}

/// The group of application threads that were runnable for longest, or all of them where no group has most of
/// that time, and why.
pub(super) fn find(report: &Report) -> Vec<Finding> {
    let Some(steal) = &report.steal else { return Vec::new() };
    let groups: Vec<&Named> = steal.groups.iter().filter(|group| !group.is_service || group.is_carrier).collect();
    let Some(worst) = groups.iter().max_by_key(|group| group.totals.lacked_ns()) else { return Vec::new() };
    let all = together(&groups);
    let who = if share(worst.totals.lacked_ns(), all.totals.lacked_ns()) >= NEARLY_ALL { worst } else { &all };
    // Of threads that have nothing to do it does not matter when they run.
    let busy_ns = report.ledger.total_ns - report.ledger.ns(EntryKind::WaitWork);
    let lacked = who.totals.lacked_ns();
    let matters = who.totals.runnable_share >= LOST && lacked >= LEAST_NS && lacked as f64 >= LOST * busy_ns as f64;
    matters.then(|| finding(report, steal, who)).into_iter().collect()
}

/// The sum of groups, without a name.
fn together(groups: &[&Named]) -> Named {
    let mut all = Named::default();
    for group in groups {
        let (sum, totals) = (&mut all.totals, &group.totals);
        sum.cpu_ns += totals.cpu_ns;
        sum.corrected_ns += totals.corrected_ns;
        sum.steal_ns += totals.steal_ns;
        sum.throttled_ns += totals.throttled_ns;
        sum.run_queue_ns += totals.run_queue_ns;
        all.threads += group.threads;
    }
    let lacked = all.totals.lacked_ns();
    all.totals.runnable_share = share(lacked, lacked + all.totals.corrected_ns);
    all
}

fn cause(totals: &Totals) -> Cause {
    let waited_ns = totals.run_queue_ns.saturating_sub(totals.throttled_ns);
    let largest = totals.steal_ns.max(totals.throttled_ns).max(waited_ns);
    match largest {
        largest if largest == totals.throttled_ns => Cause::Throttling,
        largest if largest == totals.steal_ns => Cause::Hypervisor,
        _ => Cause::RunQueue,
    }
}

/// A quota that held threads back for less than this part of what they waited did not matter.
const HELD_BACK: f64 = 0.25;

/// True if the container's CPU quota was used up in most periods, and held threads back for long, compared with how long
/// these waited: then they wait for the next period, however many others are ready, too. How long each of them did is not
/// known: a thread that hardly runs has little of it.
fn is_used_up(quota: &QuotaReport, waited_ns: u64) -> bool {
    share(quota.throttled_periods, quota.periods) >= MOST && share(quota.throttled_ns, waited_ns) >= HELD_BACK
}

fn finding(report: &Report, steal: &StealReport, group: &Named) -> Finding {
    let totals = &group.totals;
    let cause = match cause(totals) {
        Cause::RunQueue if steal.quota.as_ref().is_some_and(|quota| is_used_up(quota, totals.lacked_ns())) => {
            Cause::Throttling
        }
        cause => cause,
    };
    // Idle threads lack a CPU, too, when they wake up: that may be more than all active time.
    let outside = outside_ns(steal, group, report);
    let part = Some(share(totals.lacked_ns(), report.ledger.active_ns()))
        .filter(|part| *part <= 1.0 && !report.ledger.lives_unknown && outside.is_none());
    let users = report.ledger.cpu_users.as_ref().filter(|_| cause == Cause::RunQueue);
    let others = users.and_then(most_had_by_others);
    let idle = users.and_then(much_idle);
    let mut evidence = vec![Evidence::of(entry(cause), totals.lacked_ns(), Quality::Estimated, part)];
    evidence.extend(users.zip(others).map(|(users, part)| Evidence::exact(OTHERS, users.others_ns, Some(part))));
    evidence.extend(users.zip(idle).map(|(users, part)| Evidence::exact(IDLE, users.idle_ns, Some(part))));
    // Each start of a thread waits for a CPU: who else used one says little of that. A quota and a hypervisor do.
    let around = outside.map(|ns| (ns, share(ns, totals.lacked_ns())));
    let around = around.filter(|(_, part)| *part >= MOST && cause == Cause::RunQueue);
    evidence.extend(around.map(|(ns, part)| Evidence {
        quality: Quality::Estimated,
        least_ns: Some(ns),
        ..Evidence::exact(AROUND_LIVES, ns, Some(part))
    }));
    let mut text = format!(
        "{} waited {}{} for a CPU and ran for {}{} {}",
        who(group),
        DurationNs(totals.lacked_ns()),
        part.map_or_else(String::new, |part| format!(" ({} of the active thread time)", percent(part))),
        DurationNs(totals.corrected_ns),
        if idle.is_some() && around.is_none() { "," } else { ":" },
        match (around, idle) {
            (Some((_, part)), _) => around_lives("at least", part),
            (None, Some(part)) => although_idle(part),
            (None, None) => reason(cause, others.is_some(), steal.quota.as_ref(), report.recording.cpus()),
        },
    );
    let mut gist = Gist { who: who(group), ..Gist::default() };
    if let Some((_, part)) = around {
        gist.add(&around_lives("At least", part));
        // Those of another group started and ended, too, but have no part in this.
        let is_theirs = |short: &&ShortLived| group.name.is_empty() || short.group == group.name;
        let short = report.short_lived.as_ref().filter(|_| report.selection.reported.is_none());
        if let Some(short) = short.filter(is_theirs).map(ShortLived::text) {
            text = format!("{text} {short}");
            gist.add(&short);
        }
    }
    if let Some(users) = users {
        let _ = write!(text, " {}", who_had_it(users, report.selection.reported.is_some()));
    }
    let affected = affected_ns(steal);
    let when = match share(affected, report.duration_ns) >= WHOLE {
        true => format!("the whole {}", report.selection.time()),
        false => format!("{} of {}", DurationNs(affected), DurationNs(report.duration_ns)),
    };
    let mut details = vec![match idle {
        None if others.is_none() && around.is_none() => format!("{}; too few CPUs during {when}", in_parts(totals)),
        _ => format!("{}; threads waited for a CPU during {when}", in_parts(totals)),
    }];
    details.extend(part.and_then(|_| less_in_bar(group, report)));
    details.extend(outside.map(|ns| match around {
        Some(_) => format!("the bar does not contain this part of the waiting (at least {})", DurationNs(ns)),
        None => format!(
            "at least {} of this waiting was before the threads started or after they ended; the bar does not contain it",
            DurationNs(ns)
        ),
    }));
    Finding {
        kind: FindingKind::Environment,
        text,
        subject: if group.name.is_empty() { "all threads".to_owned() } else { code(&group.name) },
        gist,
        details,
        cost_ns: totals.lacked_ns(),
        share: part,
        evidence,
        ..Finding::default()
    }
}

/// Whose time it was: what carriers lack, their virtual threads do.
fn who(group: &Named) -> String {
    match group.name.is_empty() {
        true => "Threads".to_owned(),
        false if group.is_carrier => "Virtual threads".to_owned(),
        false => Gist::who(usize::try_from(group.threads).unwrap_or(usize::MAX), &group.one, &group.name),
    }
}

/// `all of it in the run queue (no steal, no throttling)`, or `run queue 750 ms, steal 20.0 ms`.
fn in_parts(totals: &Totals) -> String {
    if totals.throttled_ns + totals.steal_ns == 0 {
        return "all of it in the run queue (no steal, no throttling)".to_owned();
    }
    let parts = [("run queue", totals.run_queue_ns), ("throttling", totals.throttled_ns), ("steal", totals.steal_ns)];
    let parts = parts.iter().filter(|(_, ns)| *ns > 0).map(|(what, ns)| format!("{what} {}", DurationNs(*ns)));
    parts.collect::<Vec<_>>().join(", ")
}

/// How long at least threads waited for a CPU before the JVM reported their start or after it reported their end: what they
/// waited beyond the time that they lived, if that is much of what they waited. Of a part of a recording it is not known:
/// whole intervals are counted.
fn outside_ns(steal: &StealReport, group: &Named, report: &Report) -> Option<u64> {
    let is_part = report.selection.from_ns.is_some() || report.selection.to_ns.is_some();
    if is_part || report.ledger.lives_unknown {
        return None;
    }
    // Threads that live long do not make up for those that do not.
    let is_it = |one: &&Named| !one.is_service && !one.is_carrier && (group.name.is_empty() || one.name == group.name);
    let beyond = |one: &Named| {
        let lived_ns = report.ledger.measured.get(&one.name)?.lived_ns;
        Some(one.totals.lacked_ns().saturating_sub(lived_ns))
    };
    let outside = steal.groups.iter().filter(is_it).filter_map(beyond).sum();
    (share(outside, group.totals.lacked_ns()) >= OUTSIDE).then_some(outside)
}

/// Why the bar shows less, where it does: it counts a thread once. What it shows may be woken threads', too. Of one group,
/// only its own part of the bar counts, unless nearly all of it is theirs.
fn less_in_bar(group: &Named, report: &Report) -> Option<String> {
    let lacked_ns = group.totals.lacked_ns();
    let of_all = [EntryKind::RunQueue, EntryKind::Throttled, EntryKind::Steal].map(|kind| report.ledger.ns(kind));
    let of_all: u64 = of_all.iter().sum();
    let ready = match group.name.is_empty() {
        true => of_all,
        false => report.ledger.measured.get(&group.name).map_or(0, |group| group.ready_ns),
    };
    // Where nearly all of it is theirs, one number is enough, and the others add up with it.
    let (ready, theirs) = match of_all > 0 && share(ready, of_all) < SHOWN {
        true => (ready, format!(", {} of it for these threads", DurationNs(ready))),
        false => (of_all, String::new()),
    };
    // What the bar shows as a pause may be a part of it, too.
    let paused = report.ledger.ns(EntryKind::Pause);
    let paused = match paused.min(lacked_ns) {
        0 => String::new(),
        most => format!(", up to {} as `VM pause`", DurationNs(most)),
    };
    let rest = match lacked_ns.saturating_sub(ready + report.ledger.ns(EntryKind::Pause)) {
        // Then the bar shows a pause.
        0 => "the rest as `VM pause`, waiting or blocked".to_owned(),
        least => {
            format!("at least {} as waiting or blocked (woken threads that have no CPU yet){paused}", DurationNs(least))
        }
    };
    let part = percent(share(of_all, report.ledger.active_ns()));
    (share(ready, lacked_ns) < SHOWN).then(|| {
        format!("the bar shows {} as ready ({part} of the active thread time){theirs}, {rest}", DurationNs(of_all))
    })
}

fn entry(cause: Cause) -> EntryKind {
    match cause {
        Cause::Throttling => EntryKind::Throttled,
        Cause::Hypervisor => EntryKind::Steal,
        Cause::RunQueue => EntryKind::RunQueue,
    }
}

/// How long the intervals are in which enough CPU time was taken.
fn affected_ns(steal: &StealReport) -> u64 {
    let is_affected = |window: &&Window| {
        let lost = (window.steal_ns + window.throttled_ns.max(window.run_queue_ns)) as f64;
        lost >= LOST * (lost + window.cpu_ns as f64)
    };
    steal.windows.iter().filter(is_affected).map(|window| window.duration_ns).sum()
}

/// The part of the CPU time used on the machine that other processes had, where that is most of it.
fn most_had_by_others(users: &CpuUsers) -> Option<f64> {
    let used = users.others_ns + users.process_ns();
    Some(share(users.others_ns, used)).filter(|part| *part >= MOST)
}

/// The part of the time of the machine's CPUs in which they were idle, where that is much.
fn much_idle(users: &CpuUsers) -> Option<f64> {
    let all = users.others_ns + users.process_ns() + users.idle_ns;
    Some(share(users.idle_ns, all)).filter(|part| *part >= MUCH)
}

fn around_lives(at_least: &str, part: f64) -> String {
    format!("{at_least} {} of this waiting was before the threads started or after they ended.", percent(part))
}

fn although_idle(part: f64) -> String {
    format!(
        "although the machine's CPUs were idle for {} of the time. Threads become ready at the same moments, or may not use \
         all of these CPUs.",
        percent(part)
    )
}

/// True if the finding is that there were too few CPUs: much of the machine's CPU time was not idle, and what threads
/// waited was mostly a part of their lives.
pub(super) fn is_lack_of_cpus(finding: &Finding) -> bool {
    let is_other = |what: &str| [IDLE, AROUND_LIVES].contains(&what);
    finding.kind == FindingKind::Environment && !finding.evidence.iter().any(|evidence| is_other(&evidence.what))
}

/// True if threads waited for a CPU mostly before they started or after they ended.
fn is_around_lives(finding: &Finding) -> bool {
    finding.evidence.iter().any(|evidence| evidence.what == AROUND_LIVES)
}

/// The part of the CPU time that other processes had, if that is why threads waited for a CPU.
pub(super) fn had_by_others(finding: &Finding) -> Option<f64> {
    let evidence = finding.evidence.iter().find(|evidence| evidence.what == OTHERS)?;
    evidence.share.filter(|_| finding.kind == FindingKind::Environment && !is_around_lives(finding))
}

fn reason(cause: Cause, is_of_others: bool, quota: Option<&QuotaReport>, cpus: Option<u64>) -> String {
    match (cause, quota) {
        (Cause::Throttling, Some(quota)) if quota.quota_ns > 0 && quota.period_ns > 0 => format!(
            "CPU throttling. The container may use {:.2} CPUs. It used them up in {} of the quota's periods.",
            quota.quota_ns as f64 / quota.period_ns as f64,
            percent(quota.throttled_periods as f64 / quota.periods.max(1) as f64),
        ),
        (Cause::Throttling, _) => "CPU throttling.".to_owned(),
        (Cause::Hypervisor, _) => "the hypervisor gave CPUs to other virtual machines (steal).".to_owned(),
        (Cause::RunQueue, _) if is_of_others => "other processes had most of the CPU time.".to_owned(),
        (Cause::RunQueue, _) => match cpus {
            Some(1) => "more threads were ready than there are CPUs (one).".to_owned(),
            Some(cpus) => format!("more threads were ready than there are CPUs ({cpus})."),
            None => "more threads were ready than there are CPUs.".to_owned(),
        },
    }
}

/// `Of the CPU time used on the machine, other processes had 62 %, ...`. Where not all threads are shown, the others' time is not
/// known by their kind.
fn who_had_it(users: &CpuUsers, is_filtered: bool) -> String {
    const OTHER_PROCESSES: &str = "other processes";
    const HEADWAY: &str = "Headway's own threads";
    let of_process = [(users.others_ns, OTHER_PROCESSES), (users.process_ns(), "this process")];
    let by_kind = [
        (users.others_ns, OTHER_PROCESSES),
        (users.application_ns, "the program's own threads"),
        (users.gc_ns, "the garbage collector"),
        (users.compiler_ns, "the JIT compilers"),
        (users.headway_ns, HEADWAY),
        (users.vm_ns, "other threads of the VM"),
    ];
    let parts: &[(u64, &str)] = if is_filtered { &of_process } else { &by_kind };
    let busy: u64 = parts.iter().map(|(ns, _)| ns).sum();
    // That nobody else used the machine is worth saying, too, and what Headway did.
    let is_named = |ns: u64, who: &str| [OTHER_PROCESSES, HEADWAY].contains(&who) || share(ns, busy) >= NAMED;
    let mut parts: Vec<(u64, &str)> = parts.iter().copied().filter(|(ns, who)| is_named(*ns, who)).collect();
    parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let had = |at: usize| if at == 0 { " had" } else { "" };
    let parts = parts.iter().enumerate();
    let parts: Vec<String> =
        parts.map(|(at, (ns, who))| format!("{who}{} {}", had(at), percent(share(*ns, busy)))).collect();
    format!("Of the CPU time used on the machine, {}.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, MeasuredGroup};

    const MS: u64 = 1_000_000;

    /// What is said of 100 ms without a CPU, if the bar shows so much as ready and as pauses of 1 s, and of what it shows
    /// as ready so much of the group, if it is of one.
    fn said_of(group_ms: Option<u64>, ready_ms: u64, paused_ms: u64) -> Option<String> {
        let mut report = Report::default();
        let rest = 1000 - ready_ms - paused_ms;
        let entries = [(EntryKind::RunQueue, ready_ms), (EntryKind::Pause, paused_ms), (EntryKind::Cpu, rest)];
        let entry = |(entry, ms)| Entry { entry, total_ns: ms * MS, share: 0.0, quality: Quality::Exact };
        report.ledger.entries = entries.map(entry).to_vec();
        report.ledger.total_ns = 1000 * MS;
        let mut group = Named::default();
        group.totals.run_queue_ns = 100 * MS;
        if let Some(ms) = group_ms {
            group.name = "request-*".to_owned();
            let measured = MeasuredGroup { ready_ns: ms * MS, lived_ns: 1000 * MS };
            report.ledger.measured.insert(group.name.clone(), measured);
        }
        less_in_bar(&group, &report)
    }

    fn said(ready_ms: u64, paused_ms: u64) -> Option<String> {
        said_of(None, ready_ms, paused_ms)
    }

    #[test]
    fn what_short_lived_threads_lack_before_they_start_is_no_part_of_their_lives() {
        let of = |lived_ms: &[u64], from_ns| {
            let mut report = Report::default();
            report.selection.from_ns = from_ns;
            let mut steal = StealReport::default();
            for (at, ms) in lived_ms.iter().enumerate() {
                let mut group = Named { name: format!("request-{at}"), ..Named::default() };
                (group.totals.run_queue_ns, group.totals.corrected_ns) = (100 * MS, 20 * MS);
                report.ledger.measured.insert(group.name.clone(), MeasuredGroup { ready_ns: 0, lived_ns: ms * MS });
                steal.groups.push(group);
            }
            let all = together(&steal.groups.iter().collect::<Vec<_>>());
            let who = if lived_ms.len() == 1 { &steal.groups[0] } else { &all };
            outside_ns(&steal, who, &report).map(|ns| ns / MS)
        };
        assert_eq!((of(&[30], None), of(&[0], None)), (Some(70), Some(100)), "they may have run outside, too");
        assert_eq!((of(&[91], None), of(&[500], None)), (None, None), "what was measured is not exact");
        assert_eq!(of(&[30, 500], None), Some(70), "long lives do not make up for short ones");
        assert_eq!(of(&[30], Some(1)), None, "of a part, whole intervals are counted");
    }

    #[test]
    fn what_others_lack_in_the_bar_is_not_that_of_the_group() {
        assert_eq!(said_of(Some(95), 115, 0), None, "nearly all of it");
        assert_eq!(
            said_of(Some(80), 100, 0).as_deref(),
            Some(
                "the bar shows 100 ms as ready (10 % of the active thread time), 80.0 ms of it for these threads, at least \
                 20.0 ms as waiting or blocked (woken threads that have no CPU yet)"
            )
        );
        assert!(!said_of(Some(19), 20, 0).unwrap_or_default().contains("of it for these threads"));
    }

    #[test]
    fn time_without_a_cpu_that_the_bar_does_not_show_as_ready_is_said_to_be_elsewhere() {
        assert_eq!(said(95, 0), None, "nearly all of it");
        assert_eq!(
            said(20, 0).as_deref(),
            Some(
                "the bar shows 20.0 ms as ready (2.0 % of the active thread time), at least 80.0 ms as waiting or blocked \
                 (woken threads that have no CPU yet)"
            )
        );
    }

    #[test]
    fn a_part_of_it_may_be_a_pause_of_the_vm() {
        assert!(said(20, 30).unwrap_or_default().ends_with(
            "at least 50.0 ms as waiting or blocked (woken threads that have no CPU yet), up to 30.0 ms as `VM pause`"
        ));
        let hidden = "as ready (2.0 % of the active thread time), the rest as `VM pause`, waiting or blocked";
        assert!(said(20, 300).unwrap_or_default().ends_with(hidden), "{:?}", said(20, 300));
    }
}
