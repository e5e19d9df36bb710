//! Phases: consecutive intervals in which a lock's pressure is above a
//! threshold.

use super::tally::Tally;
use super::windows::{Cell, Parts};
use super::OwnerChain;
use headway_model::{ChainId, LockId, TimeNs};

/// A phase under way, or one that is over.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The lock.
    pub lock: LockId,
    /// When its first interval began.
    pub start: TimeNs,
    /// When its last interval so far ended.
    pub end: TimeNs,
    /// Time that threads spent acquiring the lock, in ns.
    pub acquiring_ns: u64,
    /// Running time of all threads, in ns.
    pub running_ns: u64,
    /// Highest pressure of one interval.
    pub peak: f64,
    acquirers: Tally<ChainId>,
    owners: Tally<OwnerChain>,
    parts: Parts,
    /// What was known of the lock before: used where the phase has no chain of its
    /// own, as a short one has not where chains are taken on request only.
    before: (ChainId, OwnerChain),
}

impl Phase {
    pub(crate) fn begin(lock: LockId, start: TimeNs) -> Phase {
        Phase {
            lock,
            start,
            end: start,
            acquiring_ns: 0,
            running_ns: 0,
            peak: 0.0,
            acquirers: Tally::default(),
            owners: Tally::default(),
            parts: Parts::default(),
            before: (ChainId::NONE, (ChainId::NONE, 0)),
        }
    }

    pub(crate) fn add(&mut self, cell: &Cell, running_ns: u64, end: TimeNs) {
        self.end = end;
        self.acquiring_ns += cell.acquiring;
        self.running_ns += running_ns;
        self.peak = self.peak.max(fraction(cell.acquiring, running_ns));
        self.acquirers.merge(&cell.acquirers);
        self.owners.merge(&cell.owners);
        self.parts.merge(cell.parts);
    }

    /// The chains of both sides that were known last.
    pub(crate) fn know(&mut self, acquiring: ChainId, owner: OwnerChain) {
        self.before = (acquiring, owner);
    }

    /// An owner held the lock in this phase; reported after its interval was closed.
    pub(crate) fn add_owner(&mut self, owner: OwnerChain, ns: u64) {
        self.owners.add(owner, ns);
    }

    /// How the time spent acquiring the lock divides, where that is kept.
    pub(crate) fn parts(&self) -> Parts {
        self.parts
    }

    /// Acquiring time over running time of the whole phase.
    pub fn mean(&self) -> f64 {
        fraction(self.acquiring_ns, self.running_ns)
    }

    /// The call chain that spent most time acquiring the lock, or that did when last
    /// asked; `NONE` if none is known.
    pub fn acquiring_chain(&self) -> ChainId {
        self.acquirers.heaviest().unwrap_or(self.before.0)
    }

    /// The call chain that held the lock for most of that time, or that did when last
    /// asked, and which of its frames held it.
    pub fn owner_chain(&self) -> (ChainId, u16) {
        self.owners.heaviest().unwrap_or(self.before.1)
    }
}

/// `acquiring / running`, between 0 and 1; 0 where nothing ran.
pub(crate) fn fraction(acquiring: u64, running: u64) -> f64 {
    match running {
        0 => 0.0,
        running => (acquiring as f64 / running as f64).min(1.0),
    }
}
