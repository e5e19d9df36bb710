//! Phases in which a lock stopped the program, and which an average hides.

use super::words::{begun, code, percent};
use super::{of_active, Grounds};
use crate::aggregate::share;
use crate::pressure::pressure_report::{LockPressure, PhaseReport, PressureReport};
use crate::report::{has_only_sums, Evidence, Finding, FindingKind, FindingStack, Report};
use headway_model::DurationNs;

/// Intervals below which a recording has no phases, only a beginning.
const FEWEST_INTERVALS: usize = 5;
/// A phase is hidden if its pressure is so many times the average.
const TIMES_AVERAGE: f64 = 2.0;
/// Part of the recording's running time that a phase must cost.
const LEAST_SHARE: f64 = 0.001;
/// Part of a phase's blocked time from which on it is said that the VM was paused.
const PAUSES: f64 = 0.05;
/// Part of a lock's blocked time in phases from which on that is said of it.
const NEARLY_ALL: f64 = 0.9;
/// Part of the active time of threads that a lock must cost where only sums were recorded.
const OF_ACTIVE: f64 = 0.01;
/// What is said where only sums were recorded.
const MORE: &str =
    "The recording has only sums (-e pressure). To see owners and waits, record with `-e lock,steal` (the \
                    default).";
/// Phases reported at most.
const MOST: usize = 3;

/// Phases that cost something and do not show in the totals, of locks without a
/// finding: the others have theirs, which says when ([`of_lock`]).
pub(super) fn find(report: &Report, grounds: &Grounds<'_>, told: &[usize]) -> Vec<Finding> {
    let is_told = |lock: &LockPressure| grounds.groups.place(lock.id).is_some_and(|place| told.contains(&place));
    let Some(pressure) = &report.pressure else { return Vec::new() };
    hidden(pressure, |lock| !is_told(lock)).into_iter().map(|(lock, phase)| finding(lock, phase, pressure)).collect()
}

/// The locks that cost most where the recording has nothing but sums of blocked time.
/// With virtual threads, these are no part of the active thread time.
pub(super) fn only_sums(report: &Report, with_virtual: bool) -> Vec<Finding> {
    let Some(pressure) = report.pressure.as_ref().filter(|_| has_only_sums(&report.recording.settings)) else {
        return Vec::new();
    };
    let active_ns = report.ledger.active_ns();
    let costs = |lock: &&LockPressure| share(lock.acquiring_ns, active_ns) >= OF_ACTIVE;
    let mut locks: Vec<&LockPressure> = pressure.locks.iter().filter(costs).collect();
    locks.sort_by(|a, b| b.acquiring_ns.cmp(&a.acquiring_ns).then_with(|| a.name.cmp(&b.name)));
    locks.truncate(MOST);
    let part = |lock: &LockPressure| (!with_virtual).then(|| share(lock.acquiring_ns, active_ns).min(1.0));
    locks.into_iter().map(|lock| summed(lock, part(lock))).collect()
}

fn summed(lock: &LockPressure, part: Option<f64>) -> Finding {
    let mut finding = Finding {
        kind: FindingKind::Phase,
        text: format!(
            "Threads spent {}{} blocked on {}.",
            DurationNs(lock.acquiring_ns),
            of_active(part),
            code(&lock.name),
        ),
        subject: code(&lock.name),
        cost_ns: lock.acquiring_ns,
        share: part,
        evidence: vec![Evidence::exact("blocked", lock.acquiring_ns, part)],
        ..Finding::default()
    };
    if let Some(longest) = lock.phases.iter().max_by_key(|phase| phase.acquiring_ns) {
        finding.text.extend(whose(longest).map(|whose| format!(" {whose}.")));
        finding.stacks = stacks(longest);
    }
    finding.text.push_str(&format!(" {MORE}"));
    finding.gist.add(MORE);
    finding
}

/// When the locks at this place of the groups were contended, if the average hides it.
pub(super) fn of_lock(report: &Report, grounds: &Grounds<'_>, place: usize) -> Vec<String> {
    let Some(pressure) = &report.pressure else { return Vec::new() };
    let phases = hidden(pressure, |lock| grounds.groups.place(lock.id) == Some(place));
    phases.into_iter().map(|(lock, phase)| when(lock, phase, pressure)).collect()
}

/// That nearly all of the blocked time at this place of the groups was in short phases, if it was: a job that owns the
/// lock each minute is no lock that is always busy.
pub(super) fn nearly_all(report: &Report, grounds: &Grounds<'_>, place: usize) -> Option<String> {
    let pressure = report.pressure.as_ref().filter(|pressure| pressure.windows.len() >= FEWEST_INTERVALS)?;
    let mut locks = pressure.locks.iter().filter(|lock| grounds.groups.place(lock.id) == Some(place));
    let (lock, None) = (locks.next()?, locks.next()) else { return None };
    nearly_all_of(lock, pressure)
}

fn nearly_all_of(lock: &LockPressure, pressure: &PressureReport) -> Option<String> {
    let phases = &lock.phases;
    let within: u64 = phases.iter().map(|phase| phase.acquiring_ns).sum();
    let length: u64 = phases.iter().map(|phase| phase.end_ns - phase.start_ns).sum();
    let part = share(within, lock.acquiring_ns);
    if part < NEARLY_ALL || 2 * length > pressure.duration_ns {
        return None;
    }
    let first = phases.first()?;
    let part = begun(&percent(part));
    let begin = match first.start_ns {
        0 => "began with the recording".to_owned(),
        start => format!("began at {}", DurationNs(start)),
    };
    let all = DurationNs(length);
    Some(match phases.len() {
        1 => format!("{part} of the blocked time was in one phase, {}.", range(first)),
        n => format!("{part} of the blocked time was in {n} phases, {all} in total; the first {begin}."),
    })
}

/// `in the first 1.00 s`, `from 3.00 s to 4.00 s`.
fn range(phase: &PhaseReport) -> String {
    let end = DurationNs(phase.end_ns);
    match phase.start_ns {
        0 => format!("in the first {end}"),
        start => format!("from {} to {end}", DurationNs(start)),
    }
}

/// The phases that cost most of locks that are wanted.
fn hidden(pressure: &PressureReport, wanted: impl Fn(&LockPressure) -> bool) -> Vec<(&LockPressure, &PhaseReport)> {
    if pressure.windows.len() < FEWEST_INTERVALS {
        return Vec::new();
    }
    let mut hidden: Vec<(&LockPressure, &PhaseReport)> = pressure
        .locks
        .iter()
        .filter(|lock| wanted(lock))
        .flat_map(|lock| lock.phases.iter().map(move |phase| (lock, phase)))
        .filter(|(lock, phase)| is_hidden(lock, phase, pressure))
        .collect();
    hidden.sort_by_key(|(_, phase)| std::cmp::Reverse((without_pauses(phase).0, phase.start_ns)));
    hidden.truncate(MOST);
    hidden.sort_by_key(|(_, phase)| phase.start_ns);
    hidden
}

fn when(lock: &LockPressure, phase: &PhaseReport, pressure: &PressureReport) -> String {
    let range = begun(&range(phase));
    let pauses = match share(phase.pause_ns, phase.acquiring_ns) {
        part if part >= PAUSES => format!(" ({} of it in VM pauses)", percent(part)),
        _ => String::new(),
    };
    format!(
        "{range}, threads were blocked on {} for {} of the time in which they did not wait{pauses}. Over the whole {} it \
         was {}",
        code(&lock.name),
        percent(phase.csp_mean),
        DurationNs(pressure.duration_ns),
        percent(lock.csp_mean),
    )
}

/// The phase's blocked time and pressure without pauses of the VM, for which the lock is not the cause.
fn without_pauses(phase: &PhaseReport) -> (u64, f64) {
    let ns = phase.acquiring_ns.saturating_sub(phase.pause_ns);
    (ns, phase.csp_mean * share(ns, phase.acquiring_ns))
}

fn is_hidden(lock: &LockPressure, phase: &PhaseReport, pressure: &PressureReport) -> bool {
    let length = phase.end_ns - phase.start_ns;
    let short = 2 * length <= pressure.duration_ns;
    // Of the last interval, the recording's end may have left so little that chance decides.
    let is_cut = 2 * length < pressure.interval_ns;
    let (ns, mean) = without_pauses(phase);
    let costs = ns as f64 >= pressure.running_ns as f64 * LEAST_SHARE;
    short && !is_cut && costs && mean >= TIMES_AVERAGE * lock.csp_mean
}

fn finding(lock: &LockPressure, phase: &PhaseReport, pressure: &PressureReport) -> Finding {
    let mut text = when(lock, phase, pressure);
    text.extend(whose(phase).map(|whose| format!(". {whose}")));
    text.push('.');
    Finding {
        kind: FindingKind::Phase,
        text,
        subject: code(&lock.name),
        stacks: stacks(phase),
        details: Vec::new(),
        cost_ns: phase.acquiring_ns,
        share: Some(phase.csp_mean),
        evidence: vec![Evidence::exact("blocked", phase.acquiring_ns, Some(phase.csp_mean))],
        ..Finding::default()
    }
}

/// Who mostly owned the lock in a phase, and who waited for it.
fn whose(phase: &PhaseReport) -> Option<String> {
    Some(match (phase.waiter_method.as_str(), phase.owner_method.as_str()) {
        ("", "") => return None,
        (acquirer, "") => format!("{} was blocked on it longest", code(acquirer)),
        ("", owner) => format!("{} owned it longest", code(owner)),
        (acquirer, owner) if acquirer == owner => {
            format!("Mostly, a thread in {} was blocked while another thread in this method owned it", code(owner))
        }
        (acquirer, owner) => format!("Mostly, {} was blocked while {} owned it", code(acquirer), code(owner)),
    })
}

fn stacks(phase: &PhaseReport) -> Vec<FindingStack> {
    let stack = |whose: &str, frames: &[String]| {
        (!frames.is_empty()).then(|| FindingStack { whose: whose.to_owned(), frames: frames.to_vec() })
    };
    let stacks = [stack("owned by", &phase.owner_stack), stack("blocked in", &phase.waiter_stack)];
    stacks.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn phase(from_ms: u64, to_ms: u64) -> PhaseReport {
        let (start_ns, end_ns) = (from_ms * MS, to_ms * MS);
        PhaseReport { start_ns, end_ns, csp_mean: 0.1, acquiring_ns: 100 * MS, ..PhaseReport::default() }
    }

    fn with(phases: Vec<PhaseReport>) -> PressureReport {
        let lock = LockPressure { csp_mean: 0.02, phases, ..LockPressure::default() };
        PressureReport {
            interval_ns: 1_000 * MS,
            duration_ns: 5_120 * MS,
            running_ns: 40_000 * MS,
            windows: vec![(0, 0.0); 6],
            locks: vec![lock],
            ..PressureReport::default()
        }
    }

    #[test]
    fn pauses_of_the_vm_make_no_phase_and_are_said_of_one() {
        let paused = |pause_ms| PhaseReport { pause_ns: pause_ms * MS, ..phase(1_000, 2_000) };
        assert!(hidden(&with(vec![paused(70)]), |_| true).is_empty(), "3 % without pauses, 2 % on average");
        let pressure = with(vec![PhaseReport { csp_mean: 0.2, ..phase(3_000, 4_000) }, paused(20)]);
        let found = hidden(&pressure, |_| true);
        let texts: Vec<String> = found.into_iter().map(|(lock, phase)| when(lock, phase, &pressure)).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].starts_with("From 1.00 s to 2.00 s"), "by time: {texts:?}");
        assert!(
            texts[0].contains("10 % of the time in which they did not wait (20 % of it in VM pauses)."),
            "{texts:?}"
        );
        assert!(texts[1].contains("20 % of the time in which they did not wait. Over"), "{texts:?}");
    }

    #[test]
    fn a_lock_that_is_contended_in_phases_only_is_no_lock_that_is_always_busy() {
        let said = |phases: Vec<PhaseReport>, blocked_ms: u64| {
            let mut pressure = with(phases);
            let mut lock = pressure.locks.remove(0);
            lock.acquiring_ns = blocked_ms * MS;
            nearly_all_of(&lock, &pressure).unwrap_or_default()
        };
        let two = || vec![phase(1_000, 2_000), phase(3_000, 4_000)];
        assert_eq!(
            said(two(), 201),
            "More than 99 % of the blocked time was in 2 phases, 2.00 s in total; the first began at 1.00 s."
        );
        let begin = "100 % of the blocked time was in one phase, in the first 1.00 s.";
        assert_eq!(said(vec![phase(0, 1_000)], 100), begin);
        assert_eq!(said(two(), 300), "", "a third of it was at other times");
        assert_eq!(said(vec![phase(0, 1_000), phase(2_000, 4_000)], 200), "", "these are most of the recording");
    }

    #[test]
    fn what_is_left_of_the_last_interval_is_no_phase() {
        let is_found = |from_ms: u64, to_ms: u64| !hidden(&with(vec![phase(from_ms, to_ms)]), |_| true).is_empty();
        assert!(is_found(4_000, 5_000) && is_found(4_000, 5_120));
        assert!(!is_found(5_000, 5_120), "0.12 s of an interval of 1 s");
    }
}
