//! The table of tracked threads: one slot per VM thread, found by the address
//! of the VM's thread object, by the thread's id or by an address on its stack.
//!
//! # Protocol
//! Looking up is lock-free and bounded (at most [`PROBES`] slots are read).
//! Entering and leaving are rare and take a lock, under which nothing of the
//! VM is called. A slot's key is published last (release) and read first
//! (acquire), so that who finds a key finds what belongs to it. A slot is made
//! when its place gets its first key, so that a table with room for many threads
//! takes the memory of those that there are. Slots are
//! never freed; a slot whose thread ended is used again by another thread.
//! Until then its place remembers whose it was ([`ENDED`]), because a thread
//! takes and releases monitors for a while after the VM reported its end.
//! Ids and stacks lead to slots through a [`WayIndex`], which is written under the
//! same lock; what it finds is compared with the slot.
//! State lives here and not in native thread-local storage, because a virtual
//! thread's carrier changes under it and because the first touch of a
//! thread-local in a loaded library allocates.

use crate::clock;
use crate::mapping;
use crate::own_cost::{CallCost, TimedCalls};
use crate::state::{Observed, Pending, Remembered, ScratchCell, Spans, ThreadParks, MOST_THREADS};
use headway_hotspot::live::AddressRange;
use headway_model::event::ThreadDef;
use headway_model::{LockId, ThreadId, TimeNs};
use headway_signal::{ThreadBuffer, WayIndex};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

mod inside;

pub use crate::state::{Begun, NAME_CHECK_NS};
pub use inside::{InCall, InEvent};

/// Most threads tracked at once.
pub const CAPACITY: usize = MOST_THREADS;
/// Most slots read to find a key.
const PROBES: usize = 64;

const _: () = assert!(CAPACITY <= WayIndex::MAX_PLACES);

/// Words of the index of ids and stacks. A usual thread has three.
const INDEX_WORDS: usize = 1 << 15;
/// A stack is found by the parts of this size (as a shift) that it lies in.
const STACK_PART: u32 = 20;
/// Most parts of a stack that are in the index.
const STACK_PARTS: u64 = 64;
/// Set in ways that are parts of stacks.
const WAY_OF_STACK: u64 = 1 << (WayIndex::WAY_BITS - 1);

const EMPTY: u64 = 0;
const TOMBSTONE: u64 = 1;
/// Set in the key of a place whose thread ended; thread objects are aligned.
const ENDED: u64 = 1;

/// What the agent keeps about a VM thread. All fields can be read by other
/// threads; by default only the thread itself writes them.
#[derive(Default)]
pub struct Slot {
    vm_thread: AtomicU64,
    thread: AtomicU64,
    /// Where its stack begins and ends, 0 if that is not known.
    stack_start: AtomicU64,
    stack_end: AtomicU64,
    /// True if virtual threads run on it.
    pub is_carrier: AtomicBool,
    /// True if a thread filter leaves it out.
    pub is_filtered: AtomicBool,
    /// Kernel id, 0 if unknown.
    pub os_id: AtomicU32,
    name_hash: AtomicU64,
    name_checked: AtomicU64,
    /// Where its events go.
    pub buffer: ThreadBuffer,
    busy_since: AtomicU64,
    /// What its calls of hooks cost.
    timed: TimedCalls,
    /// The contended enter in progress.
    pub enter: Pending,
    /// When it was found blocked on a monitor as the recording began, 0 if it was
    /// not or has done something since: its contended enter was not seen.
    pub found_blocked: AtomicU64,
    /// Address of the monitor that it was found blocked on, 0 if not known.
    pub found_monitor: AtomicU64,
    /// The lock as which that was recorded, 0 if it was not yet; written by the draining thread.
    pub found_lock: AtomicU64,
    /// The `Object.wait` in progress.
    pub wait: Pending,
    /// The re-acquisition after a wait, begun by whoever notified it.
    pub reenter: Pending,
    /// Who notified it, written by the notifier.
    pub notifier: AtomicU64,
    /// The lock in which it notified a waiter whose wait is sampled and recorded, until it
    /// leaves the lock: where it does so is recorded, too.
    pub notified_in: AtomicU64,
    /// What the observer keeps of it.
    pub observed: Observed,
    /// What it took and gave that others wait for.
    pub exchanged: crate::exchanged::Exchanged,
    /// Its parks.
    pub parks: ThreadParks,
    /// What it spent blocked and parked, where only that is recorded.
    pub spans: OnceLock<Box<Spans>>,
    /// The last objects that it contended for, where only pressure is recorded.
    pub contended: Remembered,
    /// Scratch memory of the stack walk.
    pub scratch: ScratchCell,
}

impl Slot {
    /// Address of the VM's thread object.
    #[inline]
    pub fn vm_thread(&self) -> u64 {
        self.vm_thread.load(Ordering::Relaxed)
    }

    /// The platform thread's id.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        ThreadId(self.thread.load(Ordering::Relaxed))
    }

    /// True if this address lies on its stack. Start and end are written in this order, with no
    /// stack between one and the next: whoever reads the start twice has read the end between.
    fn has_on_stack(&self, address: u64) -> bool {
        let start = self.stack_start.load(Ordering::Acquire);
        let end = self.stack_end.load(Ordering::Acquire);
        start != 0 && (start..end).contains(&address) && self.stack_start.load(Ordering::Relaxed) == start
    }

    /// Where its stack lies; empty if that is not known.
    fn stack(&self) -> AddressRange {
        AddressRange { start: self.stack_start.load(Ordering::Relaxed), end: self.stack_end.load(Ordering::Relaxed) }
    }

    /// Says where its stack lies. Called under the table's lock.
    fn put_stack(&self, stack: AddressRange) {
        self.stack_start.store(0, Ordering::Relaxed);
        self.stack_end.store(stack.end, Ordering::Release);
        self.stack_start.store(stack.start, Ordering::Release);
    }

    /// True if the thread's name should be looked at again, since names change.
    #[inline]
    pub fn is_name_due(&self, now: TimeNs) -> bool {
        let checked = TimeNs(self.name_checked.load(Ordering::Relaxed));
        now.since(checked).0 >= NAME_CHECK_NS
    }

    /// Takes note of the thread's name, by its hash; true if it is another one
    /// than before.
    pub fn is_renamed(&self, now: TimeNs, hash: u64) -> bool {
        self.name_checked.store(now.0, Ordering::Relaxed);
        self.name_hash.swap(hash, Ordering::Relaxed) != hash
    }

    /// The thread's name was due and could not be had: it is due again later.
    pub fn keeps_name(&self, now: TimeNs) {
        self.name_checked.store(now.0, Ordering::Relaxed);
    }

    /// Ends what is in progress; pins on monitors are given to `unpin`.
    pub fn end_pending(&self, unpin: impl Fn(u64)) {
        let _ = self.wait.end();
        for begun in [self.enter.end(), self.reenter.end()].into_iter().flatten() {
            unpin(begun.pin);
        }
    }

    /// It does something that a thread blocked on a monitor cannot do.
    #[inline]
    pub fn acts(&self) {
        if self.found_blocked.load(Ordering::Relaxed) != 0 {
            self.found_blocked.store(0, Ordering::Relaxed);
        }
    }

    /// True once for the lock in which it notified somebody whose wait is sampled and recorded.
    #[inline]
    pub fn leaves_after_notify(&self, lock: LockId) -> bool {
        let is_it = self.notified_in.load(Ordering::Relaxed) == lock.0;
        if is_it {
            self.notified_in.store(0, Ordering::Relaxed);
        }
        is_it
    }

    /// True for a carrier, and for a thread that a filter leaves out: what it waits for is not recorded as its own.
    pub fn is_left_out(&self) -> bool {
        self.is_carrier.load(Ordering::Relaxed) || self.is_filtered.load(Ordering::Relaxed)
    }

    /// Notes that it is blocked on this monitor as the recording begins.
    pub fn found_blocked_on(&self, monitor: u64, now: TimeNs) {
        self.found_monitor.store(monitor, Ordering::Relaxed);
        self.found_lock.store(0, Ordering::Relaxed);
        self.found_blocked.store(now.0, Ordering::Relaxed);
    }

    /// True if it was found blocked, has done nothing since, and is still about to
    /// enter the same monitor (`pending`). A waiter that acquires its monitor again
    /// has no pending monitor, and leaves no event either: of it nothing is known.
    pub fn is_blocked_throughout(&self, pending: u64) -> bool {
        self.found_blocked.load(Ordering::Relaxed) != 0
            && self.enter.peek().is_none()
            && !self.is_filtered.load(Ordering::Relaxed)
            && pending != 0
            && self.found_monitor.load(Ordering::Relaxed) == pending
    }

    fn reset(&self, vm_thread: u64, thread: ThreadId) {
        self.vm_thread.store(vm_thread, Ordering::Relaxed);
        self.thread.store(thread.0, Ordering::Relaxed);
        self.is_carrier.store(false, Ordering::Relaxed);
        self.is_filtered.store(false, Ordering::Relaxed);
        self.busy_since.store(0, Ordering::Relaxed);
        self.timed.reset();
        self.name_hash.store(0, Ordering::Relaxed);
        self.notifier.store(0, Ordering::Relaxed);
        self.notified_in.store(0, Ordering::Relaxed);
        self.found_blocked.store(0, Ordering::Relaxed);
        self.found_lock.store(0, Ordering::Relaxed);
        self.parks.reset();
        self.observed.reset();
        self.exchanged.clear();
        self.enter.end();
        self.wait.end();
        self.reenter.end();
    }
}

/// The table.
pub struct Threads {
    /// Address of the VM's thread object of each slot, apart from the slots so
    /// that going through all of them touches little memory.
    keys: Box<[AtomicU64]>,
    places: Box<[SlotCell]>,
    /// `None` if there is no memory for it: then all slots are looked at.
    index: Option<WayIndex>,
    /// Stacks that are too large to be in the index as a whole.
    cut_stacks: AtomicU64,
    /// Threads turned away because the table was full.
    pub refused: AtomicU64,
    changes: AtomicU64,
    epoch: AtomicU64,
    entering: Mutex<()>,
}

/// True for the key of a place that no thread uses.
fn is_free(key: u64) -> bool {
    key == EMPTY || key & ENDED != 0
}

/// The ways of a stack: its parts, of a large one those that are in use first, at its end.
fn ways_of_stack(stack: AddressRange) -> impl Iterator<Item = u64> {
    let (first, behind) = parts_of(stack);
    (first.max(behind.saturating_sub(STACK_PARTS))..behind).map(|part| WAY_OF_STACK | part)
}

/// The first part of a stack, and the one behind its last.
fn parts_of(stack: AddressRange) -> (u64, u64) {
    (stack.start >> STACK_PART, if stack.end == 0 { 0 } else { ((stack.end - 1) >> STACK_PART) + 1 })
}

/// True if not all parts of a stack are in the index.
fn is_cut(stack: AddressRange) -> bool {
    let (first, behind) = parts_of(stack);
    behind.saturating_sub(first) > STACK_PARTS
}

/// The way of a thread's id; `None` for no thread and for ids beyond an index's.
fn way_of(thread: ThreadId) -> Option<u64> {
    (thread != ThreadId::NONE && thread.0 < WAY_OF_STACK).then_some(thread.0)
}

/// Where a slot is once its place has had a key.
#[repr(transparent)]
struct SlotCell(UnsafeCell<MaybeUninit<Slot>>);

// SAFETY: the slot is made under the table's lock before the place's key is
// published, and from then on only shared; slots may be.
unsafe impl Sync for SlotCell {}

impl SlotCell {
    /// The slot.
    ///
    /// # Safety
    /// The place's key is not [`EMPTY`], or `make` returned.
    #[inline]
    unsafe fn slot(&self) -> &Slot {
        // SAFETY: as promised, it was made, and nobody writes the whole again.
        unsafe { (*self.0.get()).assume_init_ref() }
    }

    /// Makes the slot.
    ///
    /// # Safety
    /// Nobody else makes it or uses it: the place's key is [`EMPTY`], and the caller
    /// holds the table's lock.
    unsafe fn make(&self) {
        // SAFETY: as promised, nobody else has a reference to it.
        unsafe { (*self.0.get()).write(Slot::default()) };
    }
}

impl Default for Threads {
    fn default() -> Self {
        Threads {
            keys: (0..CAPACITY).map(|_| AtomicU64::new(EMPTY)).collect(),
            // SAFETY: places need not be initialised: slots are made one by one.
            places: unsafe { Box::<[SlotCell]>::new_uninit_slice(CAPACITY).assume_init() },
            index: mapping::zeroed(INDEX_WORDS * 8).ok().map(WayIndex::new),
            cut_stacks: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            epoch: AtomicU64::new(1),
            entering: Mutex::new(()),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for (key, place) in self.keys.iter_mut().zip(&mut self.places) {
            if *key.get_mut() != EMPTY {
                // SAFETY: places that have a key have a slot; it is not used any more.
                unsafe { place.0.get_mut().assume_init_drop() };
            }
        }
    }
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.entering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The collector's last published time, for [`InEvent::begin`].
    #[inline]
    pub fn epoch(&self) -> &AtomicU64 {
        &self.epoch
    }

    /// Another number whenever threads came, went, or are known by something else.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Says that something changed: after it did.
    pub fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn probe(&self, key: u64) -> impl Iterator<Item = (&AtomicU64, &SlotCell)> {
        // Thread objects are aligned to 64 bytes and more; mix the rest.
        let hash = (key >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (0..PROBES).filter_map(move |i| {
            let index = (hash as usize + i) % CAPACITY;
            self.keys.get(index).zip(self.places.get(index))
        })
    }

    /// The slot of a VM thread.
    #[inline]
    pub fn find(&self, vm_thread: u64) -> Option<&Slot> {
        if vm_thread <= TOMBSTONE {
            return None;
        }
        for (key, place) in self.probe(vm_thread) {
            match key.load(Ordering::Acquire) {
                // SAFETY: the place has a key.
                key if key == vm_thread => return Some(unsafe { place.slot() }),
                EMPTY => return None,
                _ => {}
            }
        }
        None
    }

    /// The slot of a platform thread by its Java id.
    pub fn find_by_id(&self, thread: ThreadId) -> Option<&Slot> {
        let is_it = |slot: &Slot| slot.thread() == thread;
        match way_of(thread) {
            Some(way) => self.find_by_way(way, is_it),
            None => self.iter().find(|slot| is_it(slot)),
        }
    }

    /// The slot of the thread on whose stack this address lies, of those whose stacks are
    /// known ([`Self::set_stack`]).
    pub fn find_by_stack(&self, address: u64) -> Option<&Slot> {
        self.find_by_way(WAY_OF_STACK | address >> STACK_PART, |slot| slot.has_on_stack(address))
    }

    /// The slot to which a way leads, if it is the one that is looked for. All slots are
    /// looked at only while some way is not in the index.
    fn find_by_way(&self, way: u64, is_it: impl Fn(&Slot) -> bool) -> Option<&Slot> {
        let Some(index) = &self.index else { return self.iter().find(|slot| is_it(slot)) };
        match index.places(way).filter_map(|place| self.used(place)).find(|slot| is_it(slot)) {
            None if !index.is_whole() || self.cut_stacks.load(Ordering::Acquire) > 0 => {
                self.iter().find(|slot| is_it(slot))
            }
            found => found,
        }
    }

    /// The slot at a place that a thread uses.
    fn used(&self, place: usize) -> Option<&Slot> {
        let (key, place) = self.keys.get(place).zip(self.places.get(place))?;
        // SAFETY: the place has a key.
        (!is_free(key.load(Ordering::Acquire))).then(|| unsafe { place.slot() })
    }

    /// The number of a slot's place.
    fn place_of(&self, slot: &Slot) -> usize {
        (std::ptr::from_ref(slot) as usize - self.places.as_ptr() as usize) / size_of::<SlotCell>()
    }

    /// Says where the stack of a VM thread lies. Of another thread that was there it is forgotten: that
    /// one has ended, and nobody said so, as between two recordings.
    pub fn set_stack(&self, vm_thread: u64, stack: AddressRange) {
        let _entering = self.lock();
        // It may have left meanwhile, and another may have its place.
        let Some(slot) = self.find(vm_thread).filter(|slot| slot.stack() != stack) else { return };
        self.forget_stack(slot);
        let Some(index) = &self.index else { return slot.put_stack(stack) };
        for way in ways_of_stack(stack) {
            let overlaps = |other: &&Slot| other.stack().start < stack.end && stack.start < other.stack().end;
            while let Some(other) = index.places(way).filter_map(|place| self.used(place)).find(overlaps) {
                self.forget_stack(other);
            }
        }
        slot.put_stack(stack);
        let place = self.place_of(slot);
        ways_of_stack(stack).for_each(|way| index.add(way, place));
        self.cut_stacks.fetch_add(u64::from(is_cut(stack)), Ordering::Release);
    }

    /// Nothing leads to a slot by its stack any more. Called under the lock.
    fn forget_stack(&self, slot: &Slot) {
        let (place, stack) = (self.place_of(slot), slot.stack());
        self.index.iter().for_each(|index| ways_of_stack(stack).for_each(|way| index.remove(way, place)));
        self.cut_stacks.fetch_sub(u64::from(self.index.is_some() && is_cut(stack)), Ordering::Release);
        slot.put_stack(AddressRange::default());
    }

    /// Nothing leads to a slot any more, except its key. Called under the lock.
    fn forget_ways(&self, slot: &Slot) {
        self.forget_stack(slot);
        if let (Some(index), Some(way)) = (&self.index, way_of(slot.thread())) {
            index.remove(way, self.place_of(slot));
        }
    }

    /// The slot at this address, if there is one.
    #[inline]
    pub fn slot_at(&self, address: u64) -> Option<&Slot> {
        let offset = address.checked_sub(self.places.as_ptr() as u64)? as usize;
        let size = size_of::<SlotCell>();
        let (key, place) = self.keys.get(offset / size).zip(self.places.get(offset / size))?;
        let is_slot = offset % size == 0 && key.load(Ordering::Acquire) != EMPTY;
        // SAFETY: the place has a key.
        is_slot.then(|| unsafe { place.slot() })
    }

    /// The slot of a VM thread, entered now if it has none. A slot that another
    /// thread left behind at this address becomes this thread's; what that one
    /// had pinned is given to `unpin`. `None`, counted, if the table is full.
    pub fn enter(&self, vm_thread: u64, thread: ThreadId, unpin: impl Fn(u64)) -> Option<&Slot> {
        if vm_thread <= TOMBSTONE {
            return None;
        }
        let _entering = self.lock();
        if let Some(slot) = self.find(vm_thread) {
            if slot.thread() != thread {
                slot.end_pending(unpin);
                self.forget_ways(slot);
                slot.reset(vm_thread, thread);
                self.add_way(slot);
                self.changed();
            }
            return Some(slot);
        }
        // Another thread lived at this address.
        if let Some(ended) = self.place(vm_thread | ENDED, vm_thread) {
            ended.store(TOMBSTONE, Ordering::Relaxed);
        }
        let free = self.probe(vm_thread).find(|(key, _)| is_free(key.load(Ordering::Relaxed)));
        let Some((key, place)) = free else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        if key.load(Ordering::Relaxed) == EMPTY {
            // SAFETY: the place has no key, and the lock is held.
            unsafe { place.make() };
        }
        // SAFETY: the place has a key or was made just now.
        let slot = unsafe { place.slot() };
        slot.reset(vm_thread, thread);
        key.store(vm_thread, Ordering::Release);
        self.add_way(slot);
        self.changed();
        Some(slot)
    }

    /// The thread's id leads to its slot. Called under the lock.
    fn add_way(&self, slot: &Slot) {
        if let (Some(index), Some(way)) = (&self.index, way_of(slot.thread())) {
            index.add(way, self.place_of(slot));
        }
    }

    /// Takes a VM thread out: it ends.
    pub fn leave(&self, vm_thread: u64) {
        let _entering = self.lock();
        if let Some(key) = self.place(vm_thread, vm_thread) {
            self.find(vm_thread).into_iter().for_each(|slot| self.forget_ways(slot));
            key.store(vm_thread | ENDED, Ordering::Release);
            self.changed();
        }
    }

    /// True if this is a thread that left and lives on for a moment: the VM reports
    /// of a thread's end before the thread, under its own monitor, wakes those
    /// who join it. False again once the place is used by another thread.
    pub fn has_left(&self, vm_thread: u64) -> bool {
        vm_thread != EMPTY && self.place(vm_thread | ENDED, vm_thread).is_some()
    }

    /// Where `key` is among the places of a VM thread.
    fn place(&self, key: u64, vm_thread: u64) -> Option<&AtomicU64> {
        let keys = self.probe(vm_thread).map(|(key, _)| key);
        let mut in_use = keys.take_while(|found| found.load(Ordering::Acquire) != EMPTY);
        in_use.find(|found| found.load(Ordering::Acquire) == key)
    }

    /// All slots in use.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        let used = |(key, _): &(&AtomicU64, &SlotCell)| !is_free(key.load(Ordering::Acquire));
        // SAFETY: the place has a key.
        self.keys.iter().zip(&self.places).filter(used).map(|(_, place)| unsafe { place.slot() })
    }

    /// What calls of hooks have cost on all threads so far, those that ended too.
    pub fn call_cost(&self) -> CallCost {
        let made = |(key, _): &(&AtomicU64, &SlotCell)| key.load(Ordering::Acquire) != EMPTY;
        let places = self.keys.iter().zip(&self.places).filter(made);
        // SAFETY: the place has a key.
        let costs = places.map(|(_, place)| unsafe { place.slot() }.timed.cost());
        costs.fold(CallCost::default(), |sum, cost| sum + cost)
    }

    /// Publishes the time and says up to when every event that has happened is
    /// already in its buffer. Called by the collector only.
    pub fn settle(&self) -> TimeNs {
        let now = clock::now();
        self.epoch.store(now.0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let busy = self.iter().map(|slot| slot.busy_since.load(Ordering::Acquire));
        TimeNs(busy.filter(|since| *since != 0).fold(now.0, u64::min))
    }

    /// Waits until no thread is inside an event, `patience` at most.
    pub fn quiesce(&self, patience: std::time::Duration) -> bool {
        let deadline = std::time::Instant::now() + patience;
        loop {
            fence(Ordering::SeqCst);
            if self.iter().all(|slot| slot.busy_since.load(Ordering::Acquire) == 0) {
                return true;
            }
            if std::time::Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// True for threads of the JVM, the JDK or the agent itself, which metrics
/// about the application leave out.
pub fn is_service(name: &str, group: &str, is_carrier: bool) -> bool {
    is_carrier
        || matches!(group, "InnocuousThreadGroup" | "CarrierThreads")
        || (group == "system" && !matches!(name, "main"))
        || matches!(name, "DestroyJavaVM" | "Common-Cleaner" | "Attach Listener")
        || name.starts_with("VirtualThread-unparker")
        || name.starts_with("JFR ")
        || name.starts_with("headway-")
}

/// A definition with the parts that platform threads always have.
pub fn definition(id: ThreadId, os_id: u32, name: String, group: String) -> ThreadDef {
    let is_service = is_service(&name, &group, false);
    ThreadDef { id, os_id, name: name.into(), group: group.into(), is_virtual: false, is_service }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::LockId;

    #[test]
    fn carriers_and_the_timer_of_their_scheduler_are_none_of_the_application() {
        let names = [("ForkJoinPool-1-delayScheduler", "CarrierThreads"), ("worker", "main"), ("main", "system")];
        assert_eq!(names.map(|(name, group)| is_service(name, group, false)), [true, false, false]);
    }

    #[test]
    fn threads_come_and_go_without_filling_the_table() {
        let threads = Threads::default();
        for round in 0..CAPACITY as u64 * 3 {
            let key = 0x7f00_0000_0000 + round * 0x800;
            assert!(threads.enter(key, ThreadId(round + 1), |_| {}).is_some(), "round {round}");
            assert_eq!(threads.find(key).unwrap().thread(), ThreadId(round + 1));
            threads.leave(key);
            assert!(threads.find(key).is_none());
        }
        assert_eq!(threads.iter().count(), 0);
    }

    #[test]
    fn ids_and_stacks_lead_to_their_threads_as_these_come_and_go() {
        let threads = Threads::default();
        let stack =
            |id: u64| AddressRange { start: 0x7000_0000_0000 + id * 0x10_1000, end: 0x7000_0010_0000 + id * 0x10_1000 };
        let key = |id: u64| 0x5000_0000_0000 + id * 0x800;
        let mut refused = 0;
        for id in 1..20_000 {
            match threads.enter(key(id), ThreadId(id), |_| {}) {
                Some(_) => threads.set_stack(key(id), stack(id)),
                None => refused += 1,
            }
            if id > 4_000 {
                threads.leave(key(id - 4_000));
            }
        }
        assert!(refused < 20 && threads.index.as_ref().is_some_and(WayIndex::is_whole), "{refused} refused");
        let by_id = |id: u64| threads.find_by_id(ThreadId(id)).map(Slot::vm_thread);
        let by_stack = |address: u64| threads.find_by_stack(address).map(Slot::vm_thread);
        for id in 1..20_000 {
            let lives = threads.find(key(id)).map(Slot::vm_thread);
            assert_eq!((by_id(id), lives.is_some()), (lives, id > 15_999 && lives.is_some()));
            for address in [stack(id).start, stack(id).end - 1] {
                assert_eq!(by_stack(address), lives, "stack of {id}");
            }
            assert_eq!(by_stack(stack(id).end + 0x800), None, "between two stacks");
        }
        assert!(by_id(0).is_none());
    }

    fn stack_of(start: u64, size: u64) -> AddressRange {
        AddressRange { start, end: start + size }
    }

    #[test]
    fn a_stack_of_any_size_is_found_and_a_moved_one_where_it_is_now() {
        let threads = Threads::default();
        threads.enter(0x1000, ThreadId(1), |_| {}).unwrap();
        let large = stack_of(0x7000_0000_0000, 1 << 30);
        threads.set_stack(0x1000, large);
        for address in [large.start, large.start + 5, large.end - (60 << 20), large.end - 1] {
            assert!(threads.find_by_stack(address).is_some(), "{address:x}");
        }
        assert!(threads.find_by_stack(large.start - 1).is_none() && threads.find_by_stack(large.end).is_none());
        threads.set_stack(0x1000, stack_of(0x1000_0000, 0x8000));
        assert!(threads.find_by_stack(large.end - 8).is_none() && threads.find_by_stack(0x1000_4000).is_some());
        assert!(threads.index.as_ref().is_some_and(WayIndex::is_whole));
        assert_eq!(threads.cut_stacks.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_stack_is_that_of_the_thread_that_was_there_last() {
        let threads = Threads::default();
        let entered = |key: u64, id: u64, stack: AddressRange| {
            threads.enter(key, ThreadId(id), |_| {}).unwrap();
            threads.set_stack(key, stack);
        };
        // Nobody says that the first one ends, and the next one has a part of its stack.
        entered(0x1000, 1, stack_of(0x1000_0000, 0x10_0000));
        entered(0x2000, 2, stack_of(0x1008_0000, 0x10_0000));
        assert_eq!(threads.find_by_stack(0x1009_0000).unwrap().thread(), ThreadId(2));
        assert!(threads.find_by_stack(0x1001_0000).is_none(), "the first one's is gone");
        // Who has left has no stack, and who comes to its place has none of it.
        threads.leave(0x2000);
        threads.set_stack(0x2000, stack_of(0x1008_0000, 0x10_0000));
        threads.enter(0x2000, ThreadId(3), |_| {}).unwrap();
        assert!(threads.find_by_stack(0x1009_0000).is_none());
        assert!(threads.find_by_id(ThreadId(3)).is_some() && threads.find_by_id(ThreadId(2)).is_none());
        let native = ThreadId::native(9);
        threads.enter(0x3000, native, |_| {}).unwrap();
        assert_eq!(threads.find_by_id(native).map(Slot::vm_thread), Some(0x3000));
        assert!(threads.index.as_ref().is_some_and(WayIndex::is_whole));
    }

    #[test]
    fn only_a_thread_that_does_nothing_is_blocked_throughout() {
        let slot = Slot::default();
        assert!(!slot.is_blocked_throughout(0x40), "never found blocked");
        slot.found_blocked_on(0x40, TimeNs(9));
        assert!(slot.is_blocked_throughout(0x40));
        assert!(!slot.is_blocked_throughout(0), "it runs");
        assert!(!slot.is_blocked_throughout(0x80), "it blocks on another monitor by now");
        slot.acts();
        assert!(!slot.is_blocked_throughout(0x40), "it had that monitor meanwhile");
        slot.found_blocked_on(0, TimeNs(9));
        assert!(!slot.is_blocked_throughout(0x40), "it acquired a monitor again after a wait");
    }

    #[test]
    fn a_begin_is_told_once_and_its_end_knows() {
        let pending = Pending::default();
        assert!(pending.report(TimeNs(9)).is_none() && pending.finish().is_none());
        let begun = Begun { start: TimeNs(5), lock: LockId(3), ..Begun::default() };
        pending.begin(begun);
        assert_eq!(pending.report(TimeNs(5)), None, "its thread may have begun something since");
        assert_eq!((pending.report(TimeNs(6)), pending.report(TimeNs(6))), (Some(begun), None));
        let reported = Some(Begun { is_reported: true, ..begun });
        assert_eq!((pending.peek(), pending.finish(), pending.peek()), (reported, reported, None));
        pending.begin(begun);
        assert_eq!(pending.finish(), Some(begun));
    }

    #[test]
    fn a_thread_that_left_is_known_until_another_lives_at_its_address() {
        let threads = Threads::default();
        threads.enter(0x1000, ThreadId(1), |_| {}).unwrap();
        assert!(!threads.has_left(0x1000));
        threads.leave(0x1000);
        assert!(threads.has_left(0x1000) && !threads.has_left(0x2000) && threads.find(0x1000).is_none());
        threads.enter(0x1000, ThreadId(2), |_| {}).unwrap();
        assert!(!threads.has_left(0x1000));
        assert_eq!(threads.iter().count(), 1);
    }

    #[test]
    fn a_slot_left_behind_becomes_the_next_threads() {
        let threads = Threads::default();
        let old = threads.enter(0x1000, ThreadId(1), |_| {}).unwrap();
        old.enter.begin(Begun { start: TimeNs(5), pin: 77, ..Begun::default() });
        let given_back = std::cell::Cell::new(0);
        let new = threads.enter(0x1000, ThreadId(2), |pin| given_back.set(pin)).unwrap();
        assert_eq!((new.thread(), new.enter.peek(), given_back.get()), (ThreadId(2), None, 77));
        assert!(threads.find(0).is_none() && threads.enter(0, ThreadId(3), |_| {}).is_none());
    }

    #[test]
    fn too_many_threads_are_refused_and_counted() {
        let threads = Threads::default();
        let entered = (1..=CAPACITY as u64 + 10)
            .filter(|i| threads.enter(i * 0x1000, ThreadId(*i), |_| {}).is_some())
            .count() as u64;
        assert_eq!(entered + threads.refused.load(Ordering::Relaxed), CAPACITY as u64 + 10);
        assert!(entered > CAPACITY as u64 * 3 / 4);
    }

    #[test]
    fn the_watermark_stops_at_an_event_in_progress() {
        let threads = Threads::default();
        let slot = threads.enter(0x1000, ThreadId(1), |_| {}).unwrap();
        let before = threads.settle();
        let event = InEvent::begin(slot, threads.epoch());
        let time = clock::now();
        assert!(threads.settle() <= time);
        assert!(threads.settle() >= before);
        drop(event);
        assert!(threads.settle() > time);
    }
}
