//! Critical section pressure on a terminal: per lock a line over time, and the
//! phases.

use super::{brief, numbers, prose, title};
use crate::terminal::Screen;
use headway_analysis::pressure::pressure_report::{LockPressure, PhaseReport, PressureReport};
use headway_analysis::report::FindingStack;
use std::fmt::Write;

/// Columns before a lock's name.
const FIGURES: usize = 20;
/// Columns before what belongs to a phase.
const BELOW: usize = FIGURES + 2;
/// Part of a phase's blocked time that must be known from single contentions to say how it divides.
const ONE_BY_ONE: f64 = 0.99;
/// Part of a phase's blocked time from which on the stack of its owners is shown.
const OWNED: f64 = 0.05;
/// Widest line over time.
const WIDEST: usize = 100;

/// Writes everything, or phases only.
pub fn write(pressure: &PressureReport, phases_only: bool, screen: &Screen, out: &mut String) {
    let what = if phases_only { "PHASES" } else { "PRESSURE" };
    let note = format!(
        "blocked time / time in which threads did not wait, in intervals of {}",
        numbers::time(pressure.interval_ns)
    );
    title(what, &note, screen, out);
    if pressure.locks.is_empty() {
        let none = match phases_only {
            true => format!("  no lock reached {} in any interval", numbers::percent(pressure.threshold)),
            false => "  no thread was blocked acquiring a lock".to_owned(),
        };
        let _ = writeln!(out, "{none}");
        return;
    }
    let _ = writeln!(out, "{}", screen.faint(&figures("overall", "peak", "lock")));
    if !phases_only {
        let all = figures(&numbers::percent(pressure.csp_mean), &numbers::percent(pressure.csp_peak), "(all locks)");
        let _ = writeln!(out, "{all}");
        over_time(&pressure.windows, pressure, screen, out);
    }
    for lock in &pressure.locks {
        write_lock(lock, pressure, phases_only, screen, out);
    }
    let _ = writeln!(out);
    let scale = if phases_only { "" } else { " The bars of each lock are scaled to its own peak." };
    for line in prose::wrapped(&format!("{BASE}{scale}"), screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// What pressure is a part of, and why findings have other percentages.
const BASE: &str =
    "Threads that did not wait were on CPU, ready, blocked, asleep or in I/O. Percentages in findings are \
     parts of the active thread time, which contains waits, too.";

fn figures(mean: &str, peak: &str, what: &str) -> String {
    format!("{mean:>9} {peak:>9}  {what}")
}

fn write_lock(lock: &LockPressure, pressure: &PressureReport, phases_only: bool, screen: &Screen, out: &mut String) {
    let name = prose::fitted(&lock.lock, screen.width.saturating_sub(FIGURES).max(20), screen);
    let line = figures(&numbers::percent(lock.csp_mean), &numbers::percent(lock.csp_peak), &screen.strong(&name));
    let _ = writeln!(out, "\n{line}");
    if !phases_only {
        over_time(&lock.windows, pressure, screen, out);
    }
    for phase in &lock.phases {
        write_phase(phase, screen, out);
    }
}

fn over_time(windows: &[(u64, f64)], pressure: &PressureReport, screen: &Screen, out: &mut String) {
    let begin = moment(pressure.start_ns);
    let end = numbers::time(pressure.start_ns + pressure.duration_ns);
    let room = screen.width.saturating_sub(FIGURES + begin.len() + end.len() + 3).clamp(10, WIDEST);
    let line = sparkline(windows, pressure, room);
    let _ = writeln!(out, "{:FIGURES$}{} {line} {}", "", screen.faint(&begin), screen.faint(&end));
}

/// Pressure over time in at most `room` columns, scaled to its peak; of
/// several intervals in a column the highest shows.
fn sparkline(windows: &[(u64, f64)], pressure: &PressureReport, room: usize) -> String {
    let intervals = pressure.windows.len().max(1);
    let columns = room.min(intervals);
    let mut highest = vec![0f64; columns];
    for (start_ns, value) in windows {
        let number = (start_ns.saturating_sub(pressure.start_ns) / pressure.interval_ns.max(1)) as usize;
        if let Some(column) = highest.get_mut(number * columns / intervals) {
            *column = column.max(*value);
        }
    }
    let peak = highest.iter().copied().fold(0.0, f64::max);
    highest.into_iter().map(|value| numbers::level(if peak > 0.0 { value / peak } else { 0.0 })).collect()
}

fn write_phase(phase: &PhaseReport, screen: &Screen, out: &mut String) {
    let (mean, peak) = (numbers::percent(phase.csp_mean), numbers::percent(phase.csp_peak));
    // A phase of one interval has no other peak.
    let peak = if peak == mean { String::new() } else { format!(" (peak {peak})") };
    let text = format!(
        "from {} to {}: threads were blocked for {}, {mean} of the time in which they did not wait{peak}",
        moment(phase.start_ns),
        numbers::time(phase.end_ns),
        numbers::time(phase.acquiring_ns),
    );
    for line in prose::wrapped(&text, screen.width, FIGURES) {
        let _ = writeln!(out, "{line}");
    }
    if let Some(parts) = parts(phase) {
        for line in prose::wrapped(&parts, screen.width, BELOW) {
            let _ = writeln!(out, "{line}");
        }
    }
    chain("most blocked time in", &phase.waiter_stack, screen, out);
    // Who owned a lock that was mostly free is not why threads were blocked. Where little was recorded one by one, that
    // part says how it was.
    let recorded_ns = phase.owned_ns + phase.hand_off_ns + phase.pause_ns + phase.unknown_ns;
    if phase.owned_ns as f64 >= OWNED * recorded_ns as f64 {
        chain("most owned time by", &phase.owner_stack, screen, out);
    }
}

/// `94 % hand-off (...), 5.5 % VM pauses, 0.2 % owned by a thread`: how the blocked time of a phase divides. Only where
/// nearly all of it was recorded one by one.
fn parts(phase: &PhaseReport) -> Option<String> {
    let all = phase.owned_ns + phase.hand_off_ns + phase.pause_ns + phase.unknown_ns;
    let mut parts = [
        (phase.owned_ns, "owned by a thread"),
        (phase.hand_off_ns, "hand-off (the lock was free, but the next thread had not run yet)"),
        (phase.pause_ns, "VM pauses"),
        (phase.unknown_ns, "owner not recorded"),
    ];
    parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let shown = parts.iter().filter(|(ns, _)| *ns > 0);
    let texts: Vec<String> =
        shown.map(|(ns, what)| format!("{} {what}", numbers::percent(*ns as f64 / all as f64))).collect();
    let is_whole = (ONE_BY_ONE..=1.0 / ONE_BY_ONE).contains(&(all as f64 / phase.acquiring_ns.max(1) as f64));
    is_whole.then(|| format!("of this: {}", texts.join(", ")))
}

/// A moment of the recording: `0 s`, `4.00 s`.
fn moment(ns: u64) -> String {
    if ns == 0 {
        "0 s".to_owned()
    } else {
        numbers::time(ns)
    }
}

fn chain(what: &str, frames: &[String], screen: &Screen, out: &mut String) {
    if frames.is_empty() {
        return;
    }
    let stack = FindingStack { whose: what.to_owned(), frames: frames.to_vec() };
    let text = brief::folded(&stack, screen.width.saturating_sub(BELOW));
    for line in prose::wrapped(&text, screen.width, BELOW) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen { width: 80, colour: false, cut: true };

    fn pressure() -> PressureReport {
        let second = 1_000_000_000;
        let phase = PhaseReport {
            start_ns: 4 * second,
            end_ns: 6 * second,
            csp_mean: 0.48,
            csp_peak: 0.5,
            acquiring_ns: 1_920_000_000,
            owned_ns: 480_000_000,
            hand_off_ns: 1_440_000_000,
            waiter_stack: vec!["com.acme.Shop.sell:12".into(), "com.acme.Server.run:7".into()],
            owner_stack: vec!["com.acme.Shop.restock:88".into()],
            ..PhaseReport::default()
        };
        let windows = vec![(4 * second, 0.46), (5 * second, 0.5), (8 * second, 0.01)];
        let lock = LockPressure {
            lock: "Shop.lock (com.acme.Shop@1a2b)".into(),
            csp_mean: 0.097,
            csp_peak: 0.5,
            windows,
            phases: vec![phase],
            ..LockPressure::default()
        };
        PressureReport {
            interval_ns: second,
            duration_ns: 10 * second,
            threshold: 0.05,
            csp_mean: 0.097,
            csp_peak: 0.5,
            windows: (0..10).map(|n| (n * second, if n == 5 { 0.5 } else { 0.0 })).collect(),
            locks: vec![lock],
            ..PressureReport::default()
        }
    }

    #[test]
    fn a_lock_shows_its_time_its_phases_and_both_chains() {
        let mut out = String::new();
        write(&pressure(), false, &SCREEN, &mut out);
        let expected = "
PRESSURE  blocked time / time in which threads did not wait, in intervals of 1.00 s
  overall      peak  lock
    9.7 %      50 %  (all locks)
                    0 s ▁▁▁▁▁█▁▁▁▁ 10.0 s

    9.7 %      50 %  Shop.lock (com.acme.Shop@1a2b)
                    0 s ▁▁▁▁▇█▁▁▂▁ 10.0 s
                    from 4.00 s to 6.00 s: threads were blocked for 1.92 s, 48 %
                    of the time in which they did not wait (peak 50 %)
                      of this: 75 % hand-off (the lock was free, but the next
                      thread had not run yet), 25 % owned by a thread
                      most blocked time in Shop.sell:12 < Server.run:7
                      most owned time by Shop.restock:88

  Threads that did not wait were on CPU, ready, blocked, asleep or in I/O.
  Percentages in findings are parts of the active thread time, which contains
  waits, too. The bars of each lock are scaled to its own peak.
";
        assert_eq!(out, expected, "{out}");
    }

    #[test]
    fn how_a_phase_divides_is_said_only_of_what_was_recorded_one_by_one() {
        let phase = |acquiring_ns| PhaseReport { acquiring_ns, owned_ns: 99, ..PhaseReport::default() };
        assert_eq!(parts(&phase(100)), Some("of this: 100 % owned by a thread".to_owned()));
        assert_eq!(parts(&phase(101)), None, "contentions that are in sums only may divide otherwise");
        assert_eq!(parts(&PhaseReport::default()), None);
    }

    #[test]
    fn where_there_is_nothing_it_says_so() {
        let none = PressureReport { locks: Vec::new(), ..pressure() };
        let mut out = String::new();
        write(&none, true, &SCREEN, &mut out);
        assert!(out.ends_with("no lock reached 5.0 % in any interval\n"), "{out}");
    }
}
