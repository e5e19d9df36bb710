//! From the address of a monitor to the lock it stands for.
//!
//! The VM re-uses a monitor's address once nobody contends for it or waits on
//! it. While somebody does, the address is *pinned* to its object, and only
//! then does an entry say which lock it is.
//!
//! # Protocol
//!
//! Entries hang in buckets, newest first. All that decides about an entry is in
//! one word, `STATE`: a version, "closed", "bound", a lock slot, a pin count.
//!
//! * `pin` finds or inserts the entry of an address and counts up. `unpin`
//!   counts down; the step from 1 to 0 also ends the binding and raises the
//!   version. Hence a binding that is seen was made by a thread that had the
//!   entry pinned together with the current pinners: it names the right object.
//! * `bind` says which lock it is. Of several pinners that do so at once the
//!   first wins and the others get its choice (they found the same object
//!   unnamed at the same time).
//! * `find` reads: version before, address, version after.
//! * New entries are put in at the head of their bucket only, by an exchange
//!   that fails if the head changed since the bucket was searched. So there is
//!   never more than one open entry per address. The head carries a tag, raised
//!   with every change.
//! * Only the collector takes entries out (`sweep`): it closes one that nobody
//!   pins (one exchange; a closed entry is never pinned again), unlinks it, and
//!   re-uses it two epochs of the [`Gate`] later. `pin` stands inside the gate,
//!   so the links it follows stay what they are. `find` need not: it may stray
//!   into another bucket by following an entry that was re-used meanwhile, and
//!   then miss, but a bound entry that it finds is the right one, because the
//!   version reports (an entry that is not yet in its bucket is never bound).
//!   After a miss it searches again inside the gate.
//!
//! Nobody waits: an exchange fails only because another thread's succeeded, and
//! a search takes a bounded number of steps.
//!
//! Orderings: an entry's address and link are stored before the head is
//! exchanged (release) and read after it was loaded (acquire). A re-used entry's
//! version is raised (release) before its address changes, and the second look
//! at the state comes after an acquire of the address: whoever sees the new
//! address sees the new version.

use crate::free_list::FreeList;
use crate::grace::Gate;
use crate::lock_table::LockSlot;
use crate::region::{self, Region};
use crate::sync::{Apart, AtomicU64, Ordering};

/// A pin on a monitor's entry. It must be given back with
/// [`MonitorTable::unpin`], by whichever callback ends the blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a pin that is not given back keeps its entry for ever"]
pub struct Pin(u32);

impl Pin {
    /// The pin as a word, never 0, for a thread's own memory.
    pub fn to_word(self) -> u64 {
        u64::from(self.0) + 1
    }

    /// The pin that [`Self::to_word`] made this of; `None` for 0.
    pub fn from_word(word: u64) -> Option<Pin> {
        word.checked_sub(1).map(|entry| Pin(entry as u32))
    }
}

/// See the file's head.
pub struct MonitorTable {
    /// Tag << 32 | entry + 1 of each bucket's first entry.
    heads: Region,
    entries: Region,
    free: Apart<FreeList>,
    free_count: Apart<AtomicU64>,
    /// Entries that were ever taken; the rest has not even been touched.
    used: Apart<AtomicU64>,
    gate: Gate,
    sweeping: AtomicU64,
    /// Bucket at which the next sweep begins.
    hand: AtomicU64,
    /// Closed entries, newest batch and the one before: first entry + 1.
    limbo: [Batch; 2],
}

/// Entries that were unlinked, waiting for their grace period.
struct Batch {
    first: AtomicU64,
    /// Epoch in which the last of them was unlinked.
    epoch: AtomicU64,
}

/// Words of an entry.
#[derive(Clone, Copy)]
enum Field {
    Address = 0,
    State = 1,
    /// Next entry of the bucket, + 1.
    Next = 2,
    /// Link of `free` or `limbo`.
    Link = 3,
}

const FIELDS: usize = 4;
const PIN_BITS: u32 = 20;
const PINS: u64 = (1 << PIN_BITS) - 1;
const SLOT: u64 = ((1 << LockSlot::BITS) - 1) << PIN_BITS;
const BOUND: u64 = 1 << (PIN_BITS + LockSlot::BITS);
const CLOSED: u64 = BOUND << 1;
const ONE_VERSION: u64 = CLOSED << 1;
const INDEX: u64 = 0xFFFF_FFFF;

/// Entries that a search looks at; buckets hold one or two on average.
const LONGEST_SEARCH: usize = 256;

/// What a search came to.
enum Search {
    /// The open entry of the address, and its state.
    Found(u32, u64),
    /// There is none.
    Absent,
    /// The bucket is too long to know.
    GivenUp,
}

/// What an attempt to pin an entry that exists came to.
enum Pinning {
    Pinned(Pin),
    /// There is none.
    Absent,
    /// It has as many pins as fit, or the bucket is too long to know: then no
    /// second entry may be put in.
    Impossible,
}

impl MonitorTable {
    /// A table over `region`: 5 words per entry.
    pub fn new(region: Region) -> MonitorTable {
        let most = (region.len() / (FIELDS + 1)).min(u32::MAX as usize - 1);
        let buckets = most.checked_ilog2().map_or(0, |bits| 1usize << bits);
        let (heads, entries) = region::split(region, buckets).unwrap_or((&[], region));
        MonitorTable {
            heads,
            entries,
            free: Apart(FreeList::default()),
            free_count: Apart(AtomicU64::new(0)),
            used: Apart(AtomicU64::new(0)),
            gate: Gate::new(),
            sweeping: AtomicU64::new(0),
            hand: AtomicU64::new(0),
            limbo: core::array::from_fn(|_| Batch { first: AtomicU64::new(0), epoch: AtomicU64::new(0) }),
        }
    }

    /// Pins the entry of `address`, which the calling thread itself keeps the VM
    /// from re-using. `None` if the table is full. `lane` is any number that
    /// differs from thread to thread.
    pub fn pin(&self, lane: usize, address: u64) -> Option<Pin> {
        let head = self.head(address)?;
        let _inside = self.gate.enter(lane);
        let mut mine = None;
        let pin = self.pin_or_insert(head, address, &mut mine);
        match (mine, pin) {
            (Some(entry), Some(pin)) if pin == Pin(entry) => {}
            (Some(unused), _) => self.put_free(unused),
            (None, _) => {}
        }
        pin
    }

    /// Says that the pinned monitor is that of the lock in `slot`, unless
    /// another pinner has said which lock it is. Returns what holds now: with
    /// another slot than the caller's, the caller gives its own back.
    pub fn bind(&self, pin: Pin, slot: LockSlot) -> Option<LockSlot> {
        let state = self.field(pin.0, Field::State)?;
        let mut seen = state.load(Ordering::Acquire);
        while seen & BOUND == 0 {
            let new = seen & !SLOT | BOUND | u64::from(slot.index()) << PIN_BITS;
            match state.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(slot),
                Err(now) => seen = now,
            }
        }
        slot_in(seen)
    }

    /// The lock of a pinned monitor; `None` if nobody has bound it yet.
    #[inline]
    pub fn bound(&self, pin: Pin) -> Option<LockSlot> {
        let state = self.field(pin.0, Field::State)?.load(Ordering::Acquire);
        (state & BOUND != 0).then(|| slot_in(state)).flatten()
    }

    /// Gives a pin back. False if there was none to give back.
    pub fn unpin(&self, pin: Pin) -> bool {
        let Some(state) = self.field(pin.0, Field::State) else {
            return false;
        };
        let step = |seen: u64| match seen & PINS {
            0 => None,
            1 => Some((seen - 1).wrapping_add(ONE_VERSION) & !BOUND),
            _ => Some(seen - 1),
        };
        state.fetch_update(Ordering::AcqRel, Ordering::Acquire, step).is_ok()
    }

    /// The lock of the monitor at `address`, if somebody has it pinned and
    /// bound. The caller knows that the monitor cannot be re-used meanwhile, for
    /// instance because it owns it. `lane` as for [`Self::pin`].
    #[inline]
    pub fn find(&self, lane: usize, address: u64) -> Option<LockSlot> {
        let head = self.head(address)?;
        if let Some(slot) = self.search(head.load(Ordering::Acquire), address) {
            return Some(slot);
        }
        let _inside = self.gate.enter(lane);
        self.search(head.load(Ordering::Acquire), address)
    }

    /// The lock bound to `address` in the bucket that begins with `first`.
    #[inline]
    fn search(&self, first: u64, address: u64) -> Option<LockSlot> {
        match self.open_entry(first, address) {
            Search::Found(_, state) if state & BOUND != 0 && state & PINS != 0 => slot_in(state),
            _ => None,
        }
    }

    /// Looks for the open entry of `address`.
    #[inline]
    fn open_entry(&self, first: u64, address: u64) -> Search {
        let mut next = first & INDEX;
        for _ in 0..LONGEST_SEARCH {
            let Some(entry) = next.checked_sub(1).map(|entry| entry as u32) else {
                return Search::Absent;
            };
            if let Some(state) = self.state_if_open(entry, address) {
                return Search::Found(entry, state);
            }
            next = self.field(entry, Field::Next).map_or(0, |next| next.load(Ordering::Acquire));
        }
        Search::GivenUp
    }

    /// The state of `entry`, if it is the open entry of `address`. Looks again
    /// only if another thread changed the state in between.
    #[inline]
    fn state_if_open(&self, entry: u32, address: u64) -> Option<u64> {
        let state = self.field(entry, Field::State)?;
        let mut seen = state.load(Ordering::Acquire);
        loop {
            let here = self.field(entry, Field::Address)?.load(Ordering::Acquire);
            if here != address || seen & CLOSED != 0 {
                return None;
            }
            let now = state.load(Ordering::Acquire);
            if now == seen {
                return Some(seen);
            }
            seen = now;
        }
    }

    /// Pins the open entry of `address`, if there is one.
    fn pin_existing(&self, first: u64, address: u64) -> Pinning {
        loop {
            let (entry, seen) = match self.open_entry(first, address) {
                Search::Found(entry, seen) if seen & PINS != PINS => (entry, seen),
                Search::Absent => return Pinning::Absent,
                Search::Found(..) | Search::GivenUp => return Pinning::Impossible,
            };
            // The version is part of the state: if this succeeds, the entry is
            // still that of `address` and still open.
            let state = self.field(entry, Field::State);
            if state.is_some_and(|state| exchange(state, seen, seen + 1)) {
                return Pinning::Pinned(Pin(entry));
            }
        }
    }

    /// Pins the entry of `address`, or one put in for it. Leaves in `mine` the
    /// free entry that it took, used or not.
    fn pin_or_insert(&self, head: &AtomicU64, address: u64, mine: &mut Option<u32>) -> Option<Pin> {
        loop {
            let first = head.load(Ordering::Acquire);
            match self.pin_existing(first, address) {
                Pinning::Pinned(pin) => return Some(pin),
                Pinning::Absent => {}
                Pinning::Impossible => return None,
            }
            let entry = match *mine {
                Some(entry) => entry,
                None => *mine.insert(self.take_free()?),
            };
            self.prepare(entry, address, first)?;
            if exchange(head, first, tag_after(first) | (u64::from(entry) + 1)) {
                return Some(Pin(entry));
            }
        }
    }

    /// Makes a free entry one of `address` with one pin, in front of `first`.
    fn prepare(&self, entry: u32, address: u64, first: u64) -> Option<()> {
        let state = self.field(entry, Field::State)?;
        let version = state.load(Ordering::Relaxed) & !(ONE_VERSION - 1);
        // Closed while its words change, in case a stray search comes by.
        state.store(version.wrapping_add(ONE_VERSION) | CLOSED, Ordering::Release);
        self.field(entry, Field::Address)?.store(address, Ordering::Release);
        self.field(entry, Field::Next)?.store(first & INDEX, Ordering::Release);
        let open = version.wrapping_add(ONE_VERSION).wrapping_add(ONE_VERSION) | 1;
        state.store(open, Ordering::Release);
        Some(())
    }

    /// Takes entries that nobody pins out of the table, until `enough` are free
    /// or on their way there, or until it has gone round once. Collector only;
    /// another caller at the same time gets 0. Returns how many it took out.
    pub fn sweep(&self, enough: u64) -> u64 {
        if self.sweeping.swap(1, Ordering::Acquire) != 0 {
            return 0;
        }
        self.free_limbo();
        let mut closed = 0;
        let mut hand = self.hand.load(Ordering::Relaxed) as usize;
        for _ in 0..self.heads.len() {
            if self.free_entries() + closed >= enough {
                break;
            }
            hand = (hand + 1) & (self.heads.len() - 1);
            closed += self.heads.get(hand).map_or(0, |head| self.sweep_bucket(head));
        }
        self.hand.store(hand as u64, Ordering::Relaxed);
        self.free_limbo();
        self.sweeping.store(0, Ordering::Release);
        closed
    }

    /// Unlinks what it can close in one bucket.
    fn sweep_bucket(&self, head: &AtomicU64) -> u64 {
        let mut closed = 0;
        let mut link = head;
        while let Some(entry) = (link.load(Ordering::Acquire) & INDEX).checked_sub(1) {
            let entry = entry as u32;
            let Some(next) = self.field(entry, Field::Next) else {
                break;
            };
            if !self.close(entry) {
                link = next;
                continue;
            }
            if !self.unlink(head, link, entry, next.load(Ordering::Relaxed)) {
                // A newer entry was put in front: begin again, to find the one
                // that now points here.
                link = head;
                continue;
            }
            self.put_in_limbo(entry);
            closed += 1;
        }
        closed
    }

    /// Closes an entry that nobody pins. True if it is closed now.
    fn close(&self, entry: u32) -> bool {
        let step = |seen: u64| (seen & PINS == 0).then_some(seen | CLOSED);
        self.field(entry, Field::State)
            .is_some_and(|state| state.fetch_update(Ordering::AcqRel, Ordering::Acquire, step).is_ok())
    }

    /// Lets `link` point past `entry`. Links inside a bucket are changed by the
    /// sweeping thread only; at the head, an insertion may come in between.
    fn unlink(&self, head: &AtomicU64, link: &AtomicU64, entry: u32, next: u64) -> bool {
        if !core::ptr::eq(head, link) {
            link.store(next, Ordering::Release);
            return true;
        }
        let seen = head.load(Ordering::Acquire);
        seen & INDEX == u64::from(entry) + 1 && exchange(head, seen, tag_after(seen) | next)
    }

    fn put_in_limbo(&self, entry: u32) {
        let [newest, _] = &self.limbo;
        if let Some(link) = self.field(entry, Field::Link) {
            link.store(newest.first.load(Ordering::Relaxed), Ordering::Relaxed);
            newest.first.store(u64::from(entry) + 1, Ordering::Relaxed);
            newest.epoch.store(self.gate.epoch(), Ordering::Relaxed);
        }
    }

    /// Frees the older batch if its grace period is over, and lets the newer
    /// one take its place. Never waits for a reader.
    fn free_limbo(&self) {
        let [newest, older] = &self.limbo;
        for _ in 0..2 {
            self.gate.advance();
            let over = self.gate.epoch() >= older.epoch.load(Ordering::Relaxed) + 2;
            if over || older.first.load(Ordering::Relaxed) == 0 {
                self.free_batch(older);
                older.first.store(newest.first.load(Ordering::Relaxed), Ordering::Relaxed);
                older.epoch.store(newest.epoch.load(Ordering::Relaxed), Ordering::Relaxed);
                newest.first.store(0, Ordering::Relaxed);
            }
        }
    }

    fn free_batch(&self, batch: &Batch) {
        let mut next = batch.first.swap(0, Ordering::Relaxed);
        while let Some(entry) = next.checked_sub(1).map(|entry| entry as u32) {
            next = self.field(entry, Field::Link).map_or(0, |link| link.load(Ordering::Relaxed));
            self.put_free(entry);
        }
    }

    /// How many entries are free.
    pub fn free_entries(&self) -> u64 {
        let again = self.free_count.0.load(Ordering::Relaxed) as i64;
        let never_used = self.capacity() - self.used.0.load(Ordering::Relaxed);
        never_used.saturating_add_signed(again)
    }

    /// How many entries there are.
    pub fn capacity(&self) -> u64 {
        (self.entries.len() / FIELDS) as u64
    }

    fn take_free(&self) -> Option<u32> {
        if let Some(entry) = self.free.0.pop(|i| self.field(i, Field::Link)) {
            self.free_count.0.fetch_sub(1, Ordering::Relaxed);
            return Some(entry);
        }
        let take = |used: u64| (used < self.capacity()).then_some(used + 1);
        let used = &self.used.0;
        let entry = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        entry.ok().map(|entry| entry as u32)
    }

    fn put_free(&self, entry: u32) {
        self.free.0.push(entry, |i| self.field(i, Field::Link));
        self.free_count.0.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn head(&self, address: u64) -> Option<&AtomicU64> {
        // Monitors are aligned, so the low bits say nothing; multiply and take
        // the upper ones.
        let mixed = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.heads.get(mixed as usize & self.heads.len().wrapping_sub(1))
    }

    #[inline]
    fn field(&self, entry: u32, field: Field) -> Option<&AtomicU64> {
        self.entries.get(entry as usize * FIELDS + field as usize)
    }
}

fn exchange(word: &AtomicU64, from: u64, to: u64) -> bool {
    word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

fn slot_in(state: u64) -> Option<LockSlot> {
    LockSlot::from_index((state & SLOT) >> PIN_BITS)
}

fn tag_after(head: u64) -> u64 {
    (head & !INDEX).wrapping_add(1 << 32)
}
