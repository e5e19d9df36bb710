//! What the analyses of the whole recording say, in the page's words.

use crate::contract::{
    self, Blocker, LockPressure, Machine, NameHeldOff, ParkStatistics, Phase, Pressure, Quota, Ready, Spread, Steal,
    StealWindow, Transactions, Whole,
};
use crate::estimates;
use crate::held_off::{self, HeldOff};
use crate::names::{bounded, Mentioned, Names};
use headway_analysis::park::statistics::{BlockerStatistics, ParkTally};
use headway_analysis::pressure::pressure_report::{LockPressure as ReportedLock, PhaseReport, PressureReport};
use headway_analysis::steal::steal_report::{self, StealReport};
use headway_model::TimeNs;
use std::collections::BTreeMap;

/// Rows of each list that a page is given.
const MOST: usize = 300;

/// Everything that is known; `start` is the recording's.
pub(crate) fn of(
    pressure: Option<&PressureReport>,
    steal: Option<(&StealReport, &HeldOff)>,
    parks: &ParkTally,
    (start, end): (TimeNs, TimeNs),
    names: &mut Names,
) -> Whole {
    Whole {
        pressure: pressure.map(|report| of_pressure(report, names)).unwrap_or_default(),
        parks: of_parks(parks, start, end, names),
        steal: steal.map(|(steal, held_off)| of_steal(steal, held_off, names)),
        ..Whole::default()
    }
}

/// The names that `whole` mentions.
pub(crate) fn mentioned(whole: &Whole, names: &Names) -> contract::Names {
    let mut found = Mentioned::of(names);
    estimates::mentioned(&whole.estimates, &mut found);
    whole.pressure.locks.iter().for_each(|lock| found.lock(lock.lock));
    whole.steal.iter().flat_map(|steal| &steal.lock_names).for_each(|lock| found.text(lock.name));
    for blocker in &whole.parks.blockers {
        found.lock(blocker.lock);
        found.thread(blocker.thread);
        found.chain(blocker.chain);
    }
    found.into_names()
}

fn of_pressure(report: &PressureReport, names: &mut Names) -> Pressure {
    Pressure {
        interval_ns: report.interval_ns,
        threshold: report.threshold,
        windows: report.windows.clone(),
        running: report.window_running_ns.clone(),
        locks: report.locks.iter().take(MOST).map(|lock| of_lock(lock, names)).collect(),
    }
}

fn of_lock(lock: &ReportedLock, names: &mut Names) -> LockPressure {
    LockPressure {
        lock: names.lock(lock.id),
        mean: lock.csp_mean,
        peak: lock.csp_peak,
        windows: lock.windows.clone(),
        phases: lock.phases.iter().map(of_phase).collect(),
    }
}

fn of_phase(phase: &PhaseReport) -> Phase {
    Phase {
        from: phase.start_ns,
        to: phase.end_ns,
        mean: phase.csp_mean,
        peak: phase.csp_peak,
        acquiring: bounded(&phase.waiter_method),
        owner: bounded(&phase.owner_method),
    }
}

fn of_parks(tally: &ParkTally, start: TimeNs, end: TimeNs, names: &mut Names) -> ParkStatistics {
    let execution = end.since(start);
    let mut shown = tally.shown(end);
    let left_out = tally.not_shown(shown.len()) + shown.len().saturating_sub(MOST) as u64;
    shown.truncate(MOST);
    let blocker = |parks: &headway_analysis::park::statistics::BlockerParks| {
        let derived = BlockerStatistics::new(parks, execution, names.dictionary());
        Blocker {
            lock: names.lock(parks.blocker),
            hash: derived.hash,
            thread: names.thread(parks.thread),
            chain: names.chain(parks.chain, 0),
            idle: derived.idle,
            times: derived.times_parked,
            now: derived.parked_now,
            peak: derived.peak_parked,
            thread_time: derived.thread_time_ns,
            real_time: derived.real_time_ns,
            average_park: derived.avg_park_ns,
            average_hold: derived.avg_hold_ns,
            real_use: derived.real_util,
            thread_use: derived.thread_util,
            real_life_use: derived.real_life_util,
            thread_life_use: derived.thread_life_util,
        }
    };
    ParkStatistics { execution_ns: execution.0, blockers: shown.iter().map(blocker).collect(), left_out }
}

fn of_steal(steal: &StealReport, held_off: &HeldOff, names: &mut Names) -> Steal {
    Steal {
        accounting: steal.accounting.to_owned(),
        intervals: steal.intervals,
        covered_ns: steal.covered_ns,
        refined_intervals: steal.refined_intervals,
        run_queue_known: steal.run_queue_known,
        machine: machine(&steal.machine),
        quota: steal.quota.map(|quota| Quota {
            quota: quota.quota_ns,
            period: quota.period_ns,
            periods: quota.periods,
            throttled_periods: quota.throttled_periods,
            throttled: quota.throttled_ns,
        }),
        process: Ready {
            corrected: steal.process.corrected_ns,
            steal: steal.process.steal_ns,
            throttled: steal.process.throttled_ns,
            queued: steal.process.run_queue_ns,
        },
        windows: steal.windows.iter().map(|window| of_window(window, steal.corrects())).collect(),
        transactions: steal.transactions.iter().take(MOST).map(transactions).collect(),
        lock_interval_ns: held_off.length_ns(),
        lock_names: by_name(&steal.locks, held_off, names),
    }
}

/// What locks of the same name have together, those with most of it first.
fn by_name(locks: &[steal_report::HeldOff], held_off: &HeldOff, names: &mut Names) -> Vec<NameHeldOff> {
    let mut by: BTreeMap<u32, u64> = BTreeMap::new();
    for lock in locks {
        let place = names.lock(lock.id) as usize;
        if let Some(lock_name) = names.locks().get(place).map(|lock| lock.title) {
            *by.entry(lock_name).or_default() += lock.owner_no_cpu_ns;
        }
    }
    let when = held_off.by(|lock| names.locks().get(lock as usize).map_or(0, |lock| lock.title));
    let when = |name: u32, off_cpu| held_off::divide(off_cpu, when.get(&name).map_or(&[], Vec::as_slice));
    let of_name = |(name, off_cpu)| NameHeldOff { name, off_cpu, when: when(name, off_cpu) };
    let mut by: Vec<NameHeldOff> = by.into_iter().map(of_name).collect();
    by.sort_by_key(|lock| std::cmp::Reverse(lock.off_cpu));
    by
}

fn machine(totals: &steal_report::MachineTotals) -> Machine {
    Machine { busy: totals.busy_ns, steal: totals.steal_ns, idle: totals.idle_ns }
}

/// `corrects`: steal is in the CPU times.
fn of_window(window: &steal_report::Window, corrects: bool) -> StealWindow {
    let counted_twice = if corrects { window.steal_ns } else { 0 };
    StealWindow {
        from: window.start_ns,
        to: window.start_ns + window.duration_ns,
        intervals: window.intervals,
        refined: window.refined_intervals,
        machine: machine(&window.machine),
        periods: window.quota.periods,
        throttled_periods: window.quota.throttled_periods,
        throttled: window.quota.throttled_ns,
        process: Ready {
            corrected: window.cpu_ns.saturating_sub(counted_twice),
            steal: window.steal_ns,
            throttled: window.throttled_ns,
            queued: window.run_queue_ns,
        },
    }
}

fn transactions(kind: &steal_report::TransactionReport) -> Transactions {
    Transactions {
        name: bounded(&kind.kind),
        count: kind.count,
        not_ended: kind.not_ended,
        without_cpu: kind.without_cpu,
        wall: spread(&kind.wall),
        off_cpu: spread(&kind.runnable),
        corrected: kind.corrected_ns,
        blocked: kind.blocked_ns,
        parked: kind.parked_ns,
        waited: kind.waited_ns,
        steal: kind.steal_ns,
        throttled: kind.throttled_ns,
        queued: kind.run_queue_ns,
    }
}

fn spread(spread: &steal_report::Spread) -> Spread {
    Spread { total: spread.total_ns, p50: spread.p50_ns, p90: spread.p90_ns, p99: spread.p99_ns, max: spread.max_ns }
}
