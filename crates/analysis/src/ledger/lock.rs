//! How the time that threads were blocked on a lock is split.

use super::{EntryKind, Quality};
use crate::aggregate::LockTotals;
use crate::steal::OfLock;
use headway_model::LockId;
use rustc_hash::FxHashMap;

/// What is known of a lock's owners while others were blocked on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnersDid {
    /// Those whose CPU time was measured, estimated.
    pub measured: OfLock,
    /// How long virtual threads slept, or waited for input or output, in ns: events say so.
    pub idle: u64,
}

/// The parts of a lock's blocked time, in ns. They add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockSplit {
    pub ran: u64,
    /// No less of `ran` and `off_cpu`, whatever the owner did when within an interval.
    pub ran_least: u64,
    pub off_cpu_least: u64,
    pub waited: u64,
    pub no_cpu: u64,
    /// Bounds of `no_cpu`, whatever the owner did when within an interval.
    pub no_cpu_least: u64,
    pub no_cpu_most: u64,
    pub off_cpu: u64,
    pub paused: u64,
    pub hand_off: u64,
    /// Of `hand_off`: the next one was a virtual thread, and waited for a carrier.
    pub for_carrier: u64,
    pub unknown: u64,
}

impl LockSplit {
    /// The parts of one lock's time. `through` says for how long owners of a lock
    /// were themselves blocked, `did` what else owners did.
    pub fn of(
        totals: &LockTotals,
        through: &FxHashMap<LockId, u64>,
        OwnersDid { measured: did, idle }: &OwnersDid,
    ) -> LockSplit {
        let owned = totals.owned();
        let waited = through.get(&totals.lock).copied().unwrap_or(0).min(owned);
        let idle = (*idle).min(owned - waited);
        let active = owned - waited;
        // What is measured of the owners' time holds for the part of it in which
        // they were not blocked themselves.
        let scale = if did.blocked > 0.0 { active as f64 / did.blocked.max(active as f64) } else { 0.0 };
        let ns = |time: f64| (time * scale).round() as u64;
        let measured = ns(did.did.measured).min(active - idle);
        let no_cpu = ns(did.did.off_cpu).min(measured);
        let ran = ns(did.did.cpu).min(measured - no_cpu);
        let off_cpu = measured - no_cpu - ran;
        LockSplit {
            ran,
            ran_least: ns(did.did.cpu_least).min(ran),
            off_cpu_least: idle + ns(did.did.asleep_least).min(off_cpu),
            waited,
            no_cpu,
            no_cpu_least: ns(did.did.off_cpu_least).min(no_cpu),
            no_cpu_most: ns(did.did.off_cpu_most).clamp(no_cpu, active.max(no_cpu)),
            off_cpu: off_cpu + idle,
            paused: totals.paused,
            hand_off: totals.hand_over,
            for_carrier: 0,
            unknown: totals.unknown + (active - idle - measured),
        }
    }

    /// The same, where virtual threads that had parked on the lock waited so long for
    /// a carrier. A part of that may lie outside of hand-offs, if another thread took
    /// the lock first; so it is an estimate, and never more than the hand-offs.
    pub fn with_carriers(self, ns: u64) -> LockSplit {
        LockSplit { for_carrier: ns.min(self.hand_off), ..self }
    }

    /// Adds another lock's.
    pub fn add(&mut self, other: &LockSplit) {
        self.ran += other.ran;
        self.ran_least += other.ran_least;
        self.off_cpu_least += other.off_cpu_least;
        self.waited += other.waited;
        self.no_cpu += other.no_cpu;
        self.no_cpu_least += other.no_cpu_least;
        self.no_cpu_most += other.no_cpu_most;
        self.off_cpu += other.off_cpu;
        self.paused += other.paused;
        self.hand_off += other.hand_off;
        self.for_carrier += other.for_carrier;
        self.unknown += other.unknown;
    }

    /// The parts as entries of the ledger, with how well they are known.
    pub fn entries(&self) -> [(EntryKind, u64, Quality); 8] {
        use Quality::{Estimated, Exact};
        let hand_off = if self.for_carrier > 0 { Estimated } else { Exact };
        [
            (EntryKind::LockOwnerRan, self.ran, Estimated),
            (EntryKind::LockOwnerWaited, self.waited, Exact),
            (EntryKind::LockOwnerNoCpu, self.no_cpu, Estimated),
            (EntryKind::LockOwnerOffCpu, self.off_cpu, Estimated),
            (EntryKind::LockPause, self.paused, Exact),
            (EntryKind::LockHandOff, self.hand_off - self.for_carrier, hand_off),
            (EntryKind::LockHandOffCarrier, self.for_carrier, Estimated),
            (EntryKind::LockUnknown, self.unknown, Exact),
        ]
    }

    /// All parts together.
    pub fn total(&self) -> u64 {
        self.entries().iter().map(|(_, ns, _)| ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals() -> LockTotals {
        let lock = LockId(1);
        LockTotals { lock, total: 1_000, hand_over: 100, unknown: 50, paused: 50, ..LockTotals::default() }
    }

    fn measured(blocked: f64, cpu: f64, off_cpu: f64) -> OwnersDid {
        let mut of_lock = OfLock::default();
        of_lock.blocked = blocked;
        of_lock.did.measured = blocked;
        of_lock.did.cpu = cpu;
        of_lock.did.off_cpu = off_cpu;
        of_lock.did.off_cpu_most = off_cpu * 2.0;
        OwnersDid { measured: of_lock, idle: 0 }
    }

    #[test]
    fn the_parts_add_up_to_the_blocked_time() {
        for through in [0, 300, 5_000] {
            for did in [OwnersDid::default(), measured(800.0, 200.0, 100.0), measured(400.0, 500.0, 300.0)] {
                for idle in [0, 200, 5_000] {
                    let did = OwnersDid { idle, ..did };
                    let split = LockSplit::of(&totals(), &FxHashMap::from_iter([(LockId(1), through)]), &did);
                    assert_eq!(split.total(), 1_000, "{through} {did:?} {split:?}");
                }
            }
        }
    }

    #[test]
    fn what_virtual_threads_slept_is_certain_and_takes_nothing_from_what_was_measured() {
        let did = OwnersDid { idle: 300, ..measured(800.0, 200.0, 100.0) };
        let split = LockSplit::of(&totals(), &FxHashMap::default(), &did);
        assert_eq!((split.ran, split.no_cpu, split.off_cpu, split.unknown), (200, 100, 500, 50));
        let split = LockSplit::of(&totals(), &FxHashMap::default(), &OwnersDid { idle: 300, ..OwnersDid::default() });
        assert_eq!((split.off_cpu, split.off_cpu_least, split.unknown), (300, 300, 550));
    }

    #[test]
    fn a_hand_off_to_a_virtual_thread_is_split_into_carrier_and_cpu() {
        let split = LockSplit::of(&totals(), &FxHashMap::default(), &OwnersDid::default());
        let of = |split: LockSplit, kind| split.entries().iter().find(|(entry, ..)| *entry == kind).unwrap().1;
        for (waited, carrier) in [(0, 0), (70, 70), (5_000, 100)] {
            let split = split.with_carriers(waited);
            assert_eq!(of(split, EntryKind::LockHandOffCarrier), carrier);
            assert_eq!(of(split, EntryKind::LockHandOff), 100 - carrier);
            assert_eq!(split.total(), 1_000);
        }
    }

    #[test]
    fn what_was_not_measured_is_unknown_and_what_left_no_trace_was_sleep_or_input() {
        let none = FxHashMap::default();
        let split = LockSplit::of(&totals(), &none, &OwnersDid::default());
        assert_eq!((split.unknown, split.off_cpu), (850, 0));
        let split = LockSplit::of(&totals(), &none, &measured(800.0, 200.0, 100.0));
        assert_eq!((split.ran, split.no_cpu, split.off_cpu, split.unknown), (200, 100, 500, 50));
        assert_eq!((split.no_cpu_least, split.no_cpu_most), (0, 200));
        // The owner was itself blocked for half of the time that it had the lock.
        let split = LockSplit::of(&totals(), &FxHashMap::from_iter([(LockId(1), 400)]), &measured(800.0, 200.0, 100.0));
        assert_eq!((split.waited, split.ran, split.no_cpu, split.off_cpu), (400, 100, 50, 250));
    }
}
