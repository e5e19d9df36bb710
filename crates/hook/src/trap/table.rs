//! The table of our traps, read by the signal handler.
//!
//! # Protocol
//!
//! **Writers** hold the table's mutex in [`super`]. **The reader** is the
//! signal handler, on any thread, at any time. It takes no lock; it looks
//! again only if a writer armed the same trap meanwhile, so it ends.
//!
//! * A slot is claimed for one address and one kind for the life of the
//!   process. The writer fills `kind`, then stores `address` with Release; the
//!   reader loads `address` with Acquire, so it sees the kind that belongs to
//!   it. Slots are filled in order, so the first empty one ends the search.
//! * `target` says where to go on (a detour) or whom to call (a probe), 0 while
//!   the trap is retired. It is one word, so no half of a change is seen.
//!   Release/Acquire, because a probe's target points to data written before.
//!   Targets are never freed.
//! * A trap is armed *before* its instruction is written and retired *after*
//!   it was overwritten and all cores were serialized. So a thread that ran
//!   into it finds it armed; or finds it retired and the instruction gone,
//!   then it trapped just before the removal and executes the place again.
//! * Retired with a trap instruction in place is somebody else's trap, unless
//!   the instruction belongs to the *next* time it was armed. `armings` says which:
//!   the writer counts it up after storing the target and before writing the
//!   instruction; the reader compares it around its looks at target and
//!   instruction, and looks again if it changed. (Counted up before the target,
//!   a reader could see the new count, the old target and then the new
//!   instruction: the model below finds that.) The reader's loads stay in
//!   order because each is an Acquire, the writer's stores because each is a
//!   Release; the instruction itself is ordered by the barrier on all cores
//!   that follows each write of code.

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at a trap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TrapKind {
    /// The thread goes on at the target.
    Redirect,
    /// The target is called and the thread goes on behind the trap.
    Call,
}

impl TrapKind {
    const fn code(self) -> usize {
        match self {
            TrapKind::Redirect => 1,
            TrapKind::Call => 2,
        }
    }
}

/// What the handler has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// Pass the signal on.
    NotOurs,
    /// Let the thread execute the same place again.
    Again,
    /// Let the thread go on there.
    GoTo(usize),
    /// Call this.
    Call(usize),
}

struct Slot {
    address: AtomicUsize,
    kind: AtomicUsize,
    armings: AtomicUsize,
    target: AtomicUsize,
}

impl Slot {
    #[cfg(not(loom))]
    const fn new() -> Slot {
        Slot {
            address: AtomicUsize::new(0),
            kind: AtomicUsize::new(0),
            armings: AtomicUsize::new(0),
            target: AtomicUsize::new(0),
        }
    }

    #[cfg(loom)]
    fn new() -> Slot {
        Slot {
            address: AtomicUsize::new(0),
            kind: AtomicUsize::new(0),
            armings: AtomicUsize::new(0),
            target: AtomicUsize::new(0),
        }
    }
}

/// Why a trap could not be armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Full {
    /// No slot is left.
    NoSlot,
    /// The address is trapped for the other kind.
    OtherKind,
}

/// See the head of this file.
pub(super) struct Table<const N: usize> {
    slots: [Slot; N],
}

impl<const N: usize> Table<N> {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        Table { slots: [const { Slot::new() }; N] }
    }

    #[cfg(loom)]
    pub(super) fn new() -> Self {
        Table { slots: std::array::from_fn(|_| Slot::new()) }
    }

    /// Arms a trap. Writers only.
    pub(super) fn arm(&self, address: usize, kind: TrapKind, target: usize) -> Result<(), Full> {
        let slot = match self.find(address) {
            Some(slot) if slot.kind.load(Ordering::Relaxed) == kind.code() => slot,
            Some(_) => return Err(Full::OtherKind),
            None => self.claim(address, kind).ok_or(Full::NoSlot)?,
        };
        slot.target.store(target, Ordering::Release);
        slot.armings.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Retires a trap whose instruction has been overwritten. Writers only.
    pub(super) fn retire(&self, address: usize) {
        if let Some(slot) = self.find(address) {
            slot.target.store(0, Ordering::Release);
        }
    }

    /// How many traps are armed.
    pub(super) fn armed(&self) -> usize {
        let is_armed = |slot: &&Slot| slot.target.load(Ordering::Relaxed) != 0;
        self.slots.iter().filter(is_armed).count()
    }

    /// What to do with a thread that ran into a trap at `address`.
    /// `trap_is_there` looks whether a trap instruction is there now.
    pub(super) fn decide(&self, address: usize, trap_is_there: impl Fn() -> bool) -> Decision {
        let Some(slot) = self.find(address) else {
            return Decision::NotOurs;
        };
        loop {
            let armings = slot.armings.load(Ordering::Acquire);
            match slot.target.load(Ordering::Acquire) {
                0 if !trap_is_there() => return Decision::Again,
                0 if slot.armings.load(Ordering::Acquire) == armings => return Decision::NotOurs,
                0 => {}
                target if slot.kind.load(Ordering::Relaxed) == TrapKind::Call.code() => return Decision::Call(target),
                target => return Decision::GoTo(target),
            }
        }
    }

    fn claim(&self, address: usize, kind: TrapKind) -> Option<&Slot> {
        let is_free = |slot: &&Slot| slot.address.load(Ordering::Relaxed) == 0;
        let slot = self.slots.iter().find(is_free)?;
        slot.kind.store(kind.code(), Ordering::Relaxed);
        slot.address.store(address, Ordering::Release);
        Some(slot)
    }

    fn find(&self, address: usize) -> Option<&Slot> {
        for slot in &self.slots {
            match slot.address.load(Ordering::Acquire) {
                0 => return None,
                there if there == address => return Some(slot),
                _ => {}
            }
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PLACE: usize = 0x1000;

    #[test]
    fn an_armed_trap_leads_to_its_target_whatever_is_there_now() {
        let table = Table::<2>::new();
        table.arm(PLACE, TrapKind::Redirect, 7).unwrap();
        assert_eq!(table.decide(PLACE, || true), Decision::GoTo(7));
        assert_eq!(table.decide(PLACE, || false), Decision::GoTo(7));
        assert_eq!(table.decide(PLACE + 1, || true), Decision::NotOurs);
    }

    #[test]
    fn a_late_trap_executes_the_place_again_and_a_foreign_one_is_passed_on() {
        let table = Table::<2>::new();
        table.arm(PLACE, TrapKind::Redirect, 7).unwrap();
        table.retire(PLACE);
        assert_eq!(table.decide(PLACE, || false), Decision::Again);
        assert_eq!(table.decide(PLACE, || true), Decision::NotOurs);
        assert_eq!(table.armed(), 0);
    }

    #[test]
    fn a_full_table_and_another_kind_are_refused() {
        let table = Table::<1>::new();
        table.arm(PLACE, TrapKind::Call, 7).unwrap();
        assert_eq!(table.decide(PLACE, || true), Decision::Call(7));
        assert_eq!(table.arm(PLACE, TrapKind::Redirect, 7), Err(Full::OtherKind));
        assert_eq!(table.arm(PLACE + 1, TrapKind::Call, 7), Err(Full::NoSlot));
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p headway-hook --release --lib table`
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    const PLACE: usize = 0x1000;
    const NEXT: [usize; 2] = [7, 8];

    /// A thread runs through a place at which a trap is set, taken away, set
    /// again and taken away. However late its signal is handled, the trap is
    /// never taken for a foreign one.
    #[test]
    fn a_trap_of_ours_is_never_passed_on() {
        loom::model(|| {
            let table = Arc::new(Table::<1>::new());
            let trapped = Arc::new(AtomicUsize::new(0));
            let writer = {
                let (table, trapped) = (table.clone(), trapped.clone());
                loom::thread::spawn(move || {
                    for target in NEXT {
                        table.arm(PLACE, TrapKind::Redirect, target).unwrap();
                        trapped.store(1, Ordering::Release);
                        trapped.store(0, Ordering::Release);
                        table.retire(PLACE);
                    }
                })
            };
            if trapped.load(Ordering::Acquire) == 1 {
                let there = || trapped.load(Ordering::Acquire) == 1;
                match table.decide(PLACE, there) {
                    Decision::Again => {}
                    Decision::GoTo(target) => assert!(NEXT.contains(&target)),
                    other => panic!("{other:?}"),
                }
            }
            writer.join().unwrap();
        });
    }
}
