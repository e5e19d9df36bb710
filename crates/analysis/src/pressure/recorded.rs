//! Windows and phases that a recording holds ready-made, as `-e pressure`
//! leaves them.

use super::offline::Grid;
use super::windows::Cell;
use headway_model::event::{PressurePhase, PressureWindow};
use headway_model::{DurationNs, Event, LockId, TimeNs};
use rustc_hash::FxHashMap;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    windows: Vec<PressureWindow>,
    phases: Vec<PressurePhase>,
    bound: usize,
    pub folded: u64,
}

impl Recorded {
    /// Keeps at most `bound` windows.
    pub fn new(bound: usize) -> Recorded {
        Recorded { bound, ..Recorded::default() }
    }

    /// Takes in an event; others change nothing.
    pub fn feed(&mut self, event: &Event) {
        if self.windows.len() + self.phases.len() >= self.bound {
            self.folded += u64::from(matches!(event, Event::PressureWindow(_) | Event::PressurePhase(_)));
            return;
        }
        match event {
            Event::PressureWindow(window) if window.duration > DurationNs::ZERO => self.windows.push(*window),
            Event::PressurePhase(phase) => self.phases.push(*phase),
            _ => {}
        }
    }

    /// True if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Time that threads were blocked on locks in the windows that begin in a range.
    pub fn acquiring_ns(&self, from: TimeNs, end: TimeNs) -> u64 {
        let of_all = |window: &&PressureWindow| window.lock.is_none() && window.start >= from && window.start < end;
        self.windows.iter().filter(of_all).map(|window| window.acquiring.0).sum()
    }

    /// The windows of a range, joined to intervals of `interval` or, where the
    /// recorded ones are longer, as long as those. Windows that reach over an
    /// edge count where they begin.
    pub fn grid(&self, from: TimeNs, end: TimeNs, interval: DurationNs) -> Grid {
        let recorded = self.windows.iter().map(|window| window.duration).max().unwrap_or(interval);
        let interval = DurationNs((interval.0 / recorded.0).max(1) * recorded.0);
        let number = |start: TimeNs| (start.since(from).0 / interval.0) as usize;
        let wanted = |window: &&PressureWindow| window.start >= from && window.start < end;
        let phases = self.phases_by_lock();
        let mut totals = Vec::new();
        let mut by_lock: FxHashMap<LockId, FxHashMap<usize, Cell>> = FxHashMap::default();
        for window in self.windows.iter().filter(wanted) {
            let number = number(window.start);
            if window.lock.is_none() {
                if totals.len() <= number {
                    totals.resize(number + 1, (0, 0));
                }
                if let Some((running, acquiring)) = totals.get_mut(number) {
                    *running += window.running.0;
                    *acquiring += window.acquiring.0;
                }
            } else {
                let phases = phases.get(&window.lock).map(Vec::as_slice).unwrap_or_default();
                add(by_lock.entry(window.lock).or_default().entry(number).or_default(), window, phases);
            }
        }
        let mut cells: FxHashMap<LockId, Vec<(usize, Cell)>> =
            by_lock.into_iter().map(|(lock, cells)| (lock, cells.into_iter().collect())).collect();
        for list in cells.values_mut() {
            list.sort_by_key(|(number, _)| *number);
        }
        Grid { from, end, interval, totals, cells, counts: FxHashMap::default() }
    }

    fn phases_by_lock(&self) -> FxHashMap<LockId, Vec<&PressurePhase>> {
        let mut by_lock: FxHashMap<LockId, Vec<&PressurePhase>> = FxHashMap::default();
        for phase in &self.phases {
            by_lock.entry(phase.lock).or_default().push(phase);
        }
        for phases in by_lock.values_mut() {
            phases.sort_by_key(|phase| phase.start);
        }
        by_lock
    }
}

/// Adds a window with the chains of the phase it belongs to.
fn add(cell: &mut Cell, window: &PressureWindow, phases: &[&PressurePhase]) {
    cell.acquiring += window.acquiring.0;
    let begun = phases.partition_point(|phase| phase.start <= window.start);
    let phase = begun.checked_sub(1).and_then(|at| phases.get(at)).filter(|phase| window.start < phase.end);
    if let Some(phase) = phase {
        if phase.acquiring_chain.is_some() {
            cell.acquirers.add(phase.acquiring_chain, window.acquiring.0);
        }
        if phase.owner_chain.is_some() {
            cell.owners.add((phase.owner_chain, 0), window.acquiring.0);
        }
    }
}
