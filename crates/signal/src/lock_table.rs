//! Locks by slot: each has a unique id and its own order of events.
//!
//! # Protocol
//!
//! A slot belongs to a lock from `allocate` to `retire`. A lock's id is its slot
//! plus a generation that goes up with every allocation of the slot, so an id
//! never names two locks.
//!
//! * Any thread allocates, stamps and reads; `retire` is called by the collector
//!   once the lock's object is dead and its events are drained. The caller of
//!   `stamp` knows that the object lives (it owns the monitor, or blocks on it),
//!   so a slot is never retired under a stamp.
//! * Nobody waits: slots go round through a [`FreeList`] and a counter.
//! * `allocate` stores the id last, with release; who finds the id (through a
//!   monitor's entry or an object's tag) acquires the slot's words by the same
//!   path, and `slot_of` acquires them once more.
//! * The order itself is one relaxed `fetch_add`: the numbers of one lock are in
//!   the order in which its word changes, and two events that the monitor itself
//!   orders are in that order there, too, because the VM's hand-over of the
//!   monitor makes the first happen before the second.

use crate::free_list::FreeList;
use crate::region::Region;
use crate::sync::{Apart, AtomicU64, Ordering};

/// A lock's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockSlot(u32);

impl LockSlot {
    /// Bits of a slot number, in ids and in a monitor's entry.
    pub(crate) const BITS: u32 = 22;

    /// The slot as a number, at least 1.
    pub fn index(self) -> u32 {
        self.0
    }

    /// The slot that a lock has, or had.
    #[inline]
    pub fn of_id(id: u64) -> Option<LockSlot> {
        LockSlot::from_index(id & (ONE_GENERATION - 1))
    }

    pub(crate) fn from_index(index: u64) -> Option<LockSlot> {
        (index != 0 && index < 1 << Self::BITS).then_some(LockSlot(index as u32))
    }
}

/// A lock's id and a place in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The lock's id: never 0, never used for another lock.
    pub lock: u64,
    /// 1, 2, 3, ... without a gap.
    pub seq: u64,
}

/// See the file's head.
pub struct LockTable {
    words: Region,
    /// Slots handed out at least once.
    used: Apart<AtomicU64>,
    free: Apart<FreeList>,
    live: Apart<AtomicU64>,
}

/// Words of a slot.
#[derive(Clone, Copy)]
enum Field {
    /// The lock's id; with [`RETIRED`] set while the slot is free.
    Id = 0,
    Seq = 1,
    User = 2,
    Link = 3,
}

const FIELDS: usize = 4;
const RETIRED: u64 = 1 << 63;
const ONE_GENERATION: u64 = 1 << LockSlot::BITS;

impl LockTable {
    /// Words of region per lock.
    pub const WORDS_PER_LOCK: usize = FIELDS;

    /// A table over `region`, for one lock less than fit (slot 0 means none).
    pub fn new(region: Region) -> LockTable {
        LockTable {
            words: region,
            used: Apart(AtomicU64::new(1)),
            free: Apart(FreeList::default()),
            live: Apart(AtomicU64::new(0)),
        }
    }

    /// A slot, with a new id, for a lock not seen before; `None` if all are in
    /// use.
    pub fn allocate(&self) -> Option<LockSlot> {
        let (slot, id) = match self.free.0.pop(|i| self.field(i, Field::Link)) {
            Some(slot) => {
                let old = self.field(slot, Field::Id)?.load(Ordering::Relaxed);
                (slot, (old & !RETIRED).wrapping_add(ONE_GENERATION))
            }
            None => {
                let slot = self.first_use()?;
                (slot, u64::from(slot))
            }
        };
        self.field(slot, Field::Seq)?.store(0, Ordering::Relaxed);
        self.field(slot, Field::User)?.store(0, Ordering::Relaxed);
        self.field(slot, Field::Id)?.store(id, Ordering::Release);
        self.live.0.fetch_add(1, Ordering::Relaxed);
        Some(LockSlot(slot))
    }

    /// A slot that was never used.
    fn first_use(&self) -> Option<u32> {
        let most = (self.words.len() / FIELDS).min(1 << LockSlot::BITS) as u64;
        let take = |used: u64| (used < most).then_some(used + 1);
        let used = &self.used.0;
        let slot = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        slot.ok().map(|slot| slot as u32)
    }

    /// The next place in the lock's order, together with its id. `None` if the
    /// slot is not in use.
    #[inline]
    pub fn stamp(&self, slot: LockSlot) -> Option<Stamp> {
        let lock = self.id(slot)?;
        let seq = self.field(slot.0, Field::Seq)?.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Some(Stamp { lock, seq })
    }

    /// The id of the lock in a slot; `None` if the slot is not in use.
    #[inline]
    pub fn id(&self, slot: LockSlot) -> Option<u64> {
        let id = self.field(slot.0, Field::Id)?.load(Ordering::Acquire);
        (id != 0 && id & RETIRED == 0).then_some(id)
    }

    /// The slot of the lock with this id; `None` if it has been retired.
    pub fn slot_of(&self, id: u64) -> Option<LockSlot> {
        let slot = LockSlot::of_id(id)?;
        (self.id(slot) == Some(id)).then_some(slot)
    }

    /// The caller's word about the lock, 0 at first.
    pub fn user(&self, slot: LockSlot) -> Option<&AtomicU64> {
        self.field(slot.0, Field::User)
    }

    /// Gives the slot of a dead lock back. False if the id is not in use.
    pub fn retire(&self, id: u64) -> bool {
        let slot = (id & (ONE_GENERATION - 1)) as u32;
        let retired = id & RETIRED == 0
            && id != 0
            && self.field(slot, Field::Id).is_some_and(|word| {
                word.compare_exchange(id, id | RETIRED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            });
        if retired {
            self.live.0.fetch_sub(1, Ordering::Relaxed);
            self.free.0.push(slot, |i| self.field(i, Field::Link));
        }
        retired
    }

    /// No slot of this number or above was ever handed out.
    pub fn used(&self) -> u32 {
        self.used.0.load(Ordering::Relaxed) as u32
    }

    /// How many locks the table holds.
    pub fn live(&self) -> u64 {
        self.live.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn field(&self, slot: u32, field: Field) -> Option<&AtomicU64> {
        self.words.get(slot as usize * FIELDS + field as usize)
    }
}
