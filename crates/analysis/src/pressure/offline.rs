//! All intervals of a recording, put into a report at its end.

use super::phases::{fraction, Phase};
use super::pressure_report::{LockPressure, OlderMetrics, PhaseReport, PressureReport};
use super::windows::{lives, Cell};
use super::{LockCounts, Pressure};
use crate::lock_groups::LockGroups;
use crate::names::Names;
use crate::report::Others;
use crate::summary::cut_off;
use headway_model::{DurationNs, LockId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Intervals side by side.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    /// Where the first one begins.
    pub from: TimeNs,
    /// Where the last one ends, which may be shorter.
    pub end: TimeNs,
    /// Length of an interval.
    pub interval: DurationNs,
    /// Running and acquiring time of each.
    pub totals: Vec<(u64, u64)>,
    /// What happened on each lock, by number of the interval, in order.
    pub cells: FxHashMap<LockId, Vec<(usize, Cell)>>,
    /// Counts by lock, where known.
    pub counts: FxHashMap<LockId, LockCounts>,
}

impl Pressure {
    /// The recording is over at `end`: everything in the range.
    pub(crate) fn finish(&mut self, end: TimeNs) -> Grid {
        let from = self.windows.from();
        let end = end.min(self.windows.to()).max(from);
        self.settle(end);
        self.windows.extend_to(end);
        let interval = self.windows.interval();
        let count = self.windows.iter().count();
        let lives = lives(self.activities.lives(), from, end, interval, count);
        let mut grid = Grid { from, end, interval, counts: std::mem::take(&mut self.counts), ..Grid::default() };
        for (number, lived) in lives.into_iter().enumerate() {
            let Some(window) = self.windows.take_first() else { break };
            grid.totals.push((window.running(lived), window.acquiring));
            for (lock, cell) in window.cells {
                if cell.acquiring > 0 {
                    // Most locks of a recording that has many are seen in one interval.
                    grid.cells.entry(lock).or_insert_with(|| Vec::with_capacity(1)).push((number, cell));
                }
            }
        }
        grid
    }
}

impl Grid {
    /// Makes one of all locks of a group: their instances come and go, and what
    /// impedes progress is what they have in common.
    pub(crate) fn group(mut self, groups: &LockGroups) -> Grid {
        let mut cells: FxHashMap<LockId, FxHashMap<usize, Cell>> = FxHashMap::default();
        let first = |lock| groups.place(lock).and_then(|place| groups.get(place)).map_or(lock, |group| group.first);
        for (lock, windows) in std::mem::take(&mut self.cells) {
            let of_group = cells.entry(first(lock)).or_default();
            for (number, cell) in windows {
                of_group.entry(number).or_default().merge(&cell);
            }
        }
        let mut counts: FxHashMap<LockId, LockCounts> = FxHashMap::default();
        for (lock, one) in std::mem::take(&mut self.counts) {
            let sum = counts.entry(first(lock)).or_default();
            sum.failed += one.failed;
            sum.held += one.held;
            sum.held_ns += one.held_ns;
        }
        let in_order = |(lock, windows): (LockId, FxHashMap<usize, Cell>)| {
            let mut windows: Vec<(usize, Cell)> = windows.into_iter().collect();
            windows.sort_by_key(|(number, _)| *number);
            (lock, windows)
        };
        Grid { cells: cells.into_iter().map(in_order).collect(), counts, ..self }
    }

    fn start_of(&self, number: usize) -> TimeNs {
        self.from + DurationNs(self.interval.0.saturating_mul(number as u64))
    }

    fn end_of(&self, number: usize) -> TimeNs {
        self.start_of(number + 1).min(self.end)
    }

    fn running(&self, number: usize) -> u64 {
        self.totals.get(number).map_or(0, |(running, _)| *running)
    }

    /// The report; times count from `origin`.
    pub(crate) fn report(
        &self,
        origin: TimeNs,
        threshold: f64,
        groups: Option<&LockGroups>,
        names: &mut Names,
    ) -> PressureReport {
        let running_ns: u64 = self.totals.iter().map(|(running, _)| running).sum();
        let acquiring_ns: u64 = self.totals.iter().map(|(_, acquiring)| acquiring).sum();
        let of_all = |(number, (running, acquiring)): (usize, &(u64, u64))| {
            (self.start_of(number).since(origin).0, fraction(*acquiring, *running))
        };
        let windows: Vec<(u64, f64)> = self.totals.iter().enumerate().map(of_all).collect();
        let (told, other_locks) = self.told(threshold);
        let mut locks: Vec<LockPressure> =
            told.into_iter().map(|lock| self.lock(lock, origin, threshold, running_ns, names)).collect();
        for lock in &mut locks {
            let group = groups.and_then(|groups| Some((groups.place(lock.id)?, groups)));
            if let Some((text, short)) = group.and_then(|(place, groups)| groups.several(place, names)) {
                (lock.lock, lock.name) = (text, short);
            }
        }
        locks.sort_by(|a, b| b.acquiring_ns.cmp(&a.acquiring_ns).then_with(|| a.lock.cmp(&b.lock)));
        PressureReport {
            interval_ns: self.interval.0,
            start_ns: self.from.since(origin).0,
            duration_ns: self.end.since(self.from).0,
            threshold,
            running_ns,
            acquiring_ns,
            csp_mean: fraction(acquiring_ns, running_ns),
            csp_peak: peak(&windows),
            windows,
            window_running_ns: self.totals.iter().map(|(running, _)| *running).collect(),
            locks,
            other_locks,
        }
    }

    /// The locks that are reported: the most expensive, and those with a phase, of which an
    /// interval cannot have many. The others are added up.
    fn told(&self, threshold: f64) -> (Vec<LockId>, Others) {
        let acquiring = |cells: &[(usize, Cell)]| cells.iter().map(|(_, cell)| cell.acquiring).sum();
        let mut dearest: Vec<(LockId, u64)> =
            self.cells.iter().map(|(lock, cells)| (*lock, acquiring(cells))).collect();
        let (mut with_phase, mut others) = (Vec::new(), cut_off(&mut dearest, |(lock, total)| (*total, *lock)));
        if !others.is_none() {
            let told: FxHashSet<LockId> = dearest.iter().map(|(lock, _)| *lock).collect();
            let has_phase =
                |(number, cell): &(usize, Cell)| fraction(cell.acquiring, self.running(*number)) >= threshold;
            for (lock, cells) in self.cells.iter().filter(|(lock, _)| !told.contains(lock)) {
                if cells.iter().any(has_phase) {
                    others.count -= 1;
                    others.total_ns -= acquiring(cells);
                    with_phase.push(*lock);
                }
            }
        }
        (dearest.into_iter().map(|(lock, _)| lock).chain(with_phase).collect(), others)
    }

    fn lock(&self, lock: LockId, origin: TimeNs, threshold: f64, running: u64, names: &mut Names) -> LockPressure {
        let cells = self.cells.get(&lock).map(Vec::as_slice).unwrap_or_default();
        let acquiring_ns = cells.iter().map(|(_, cell)| cell.acquiring).sum();
        let window = |(number, cell): &(usize, Cell)| {
            (self.start_of(*number).since(origin).0, fraction(cell.acquiring, self.running(*number)))
        };
        let windows: Vec<(u64, f64)> = cells.iter().map(window).collect();
        let phases = self.phases(lock, threshold);
        LockPressure {
            id: lock,
            lock: names.lock_text(lock),
            class: names.lock_class_text(lock),
            name: names.lock_short(lock),
            csp_mean: fraction(acquiring_ns, running),
            csp_peak: peak(&windows),
            acquiring_ns,
            windows,
            phases: phases.iter().map(|phase| told(phase, origin, names)).collect(),
            other_tools: self.older(lock, acquiring_ns),
        }
    }

    fn older(&self, lock: LockId, acquiring_ns: u64) -> OlderMetrics {
        let counts = self.counts.get(&lock);
        let held = counts.filter(|counts| counts.held > 0);
        OlderMetrics {
            failed_acquisitions: counts.map(|counts| counts.failed),
            acquisitions: None,
            acquiring_per_elapsed: acquiring_ns as f64 / (self.end.since(self.from).0.max(1)) as f64,
            critical_section_ns: held.map(|counts| counts.held_ns as f64 / counts.held as f64),
        }
    }

    /// Consecutive intervals of the lock above the threshold.
    fn phases(&self, lock: LockId, threshold: f64) -> Vec<Phase> {
        let mut phases: Vec<Phase> = Vec::new();
        let mut last = None;
        for (number, cell) in self.cells.get(&lock).into_iter().flatten() {
            let running = self.running(*number);
            if fraction(cell.acquiring, running) < threshold {
                continue;
            }
            if last != Some(*number) {
                phases.push(Phase::begin(lock, self.start_of(*number)));
            }
            if let Some(phase) = phases.last_mut() {
                phase.add(cell, running, self.end_of(*number));
            }
            last = Some(*number + 1);
        }
        phases
    }
}

fn peak(windows: &[(u64, f64)]) -> f64 {
    windows.iter().map(|(_, pressure)| *pressure).fold(0.0, f64::max)
}

fn told(phase: &Phase, origin: TimeNs, names: &mut Names) -> PhaseReport {
    let (chain, frame) = phase.owner_chain();
    let acquiring = names.path(phase.acquiring_chain(), 0);
    let owner = names.owner_path(chain, frame);
    let text = |path| {
        let Some(path) = path else { return (Vec::new(), String::new()) };
        let method = names.acting_method(path).and_then(|name| names.method_name(name));
        (names.path_text(path), method.map_or_else(String::new, |name| name.full.clone()))
    };
    let (acquiring_chain, acquiring_method) = text(acquiring);
    let (owner_chain, owner_method) = text(owner);
    PhaseReport {
        start_ns: phase.start.since(origin).0,
        end_ns: phase.end.since(origin).0,
        csp_mean: phase.mean(),
        csp_peak: phase.peak,
        acquiring_ns: phase.acquiring_ns,
        owned_ns: phase.parts().owned,
        hand_off_ns: phase.parts().hand_off,
        pause_ns: phase.parts().paused,
        unknown_ns: phase.parts().unknown,
        waiter_stack: acquiring_chain,
        owner_stack: owner_chain,
        waiter_method: acquiring_method,
        owner_method,
    }
}
