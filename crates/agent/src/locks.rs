//! Which lock a monitor is. A lock gets its id when its object is first
//! contended or waited on; the id is the object's JVMTI tag, so it follows the
//! object through collections and dies with it. While somebody is known to
//! block on a monitor, the monitor's address stands for the lock as well.

use crate::core::Core;
use crate::jni::{Jni, Ref};
use crate::mapping;
use crate::naming::class_name;
use headway_model::event::LockDef;
use headway_model::{LockId, Loss, Seq, ThreadId, TimeNs};
use headway_signal::lock_table::{LockSlot, LockTable};
use headway_signal::monitor_table::{MonitorTable, Pin};
use headway_signal::{ParkCount, ParkCounts};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Most locks tracked at once; a dead lock's place is used again. Short-lived ones stay
/// until the collector finds them dead: 10^6 have room. Pages are touched when used.
const MAX_LOCKS: usize = 1 << 20;
/// Most monitors that are blocked on or were lately.
const MAX_MONITORS: usize = 1 << 16;
/// Free entries of the monitor table that the draining thread sees to.
const ENOUGH_FREE_MONITORS: u64 = 1 << 13;

/// Class names kept for further locks of the same class.
const MAX_CLASS_NAMES: usize = 1 << 10;

/// How long a thread waits for its turn to tag an object: 20 ms in all.
const TURN_TRIES: u32 = 1000;
const TURN_PAUSE: Duration = Duration::from_micros(20);

/// See the module.
pub struct Locks {
    table: LockTable,
    monitors: MonitorTable,
    parks: ParkCounts,
    /// Serialises "has this object a tag? then give it one". Held while JVMTI
    /// is called, so taken only in JVMTI callbacks, whose threads a safepoint
    /// does not wait for.
    tagging: Mutex<ClassNames>,
    dead: Mutex<Vec<u64>>,
}

/// A lock's word: who released it last, and above how many tried to name it.
const TRIES_SHIFT: u32 = 60;
const THREAD: u64 = (1 << TRIES_SHIFT) - 1;
/// Acquisition sites that are looked at for a name.
const NAME_TRIES: u64 = 8;

/// A lock that is tracked.
#[derive(Clone, Copy)]
pub struct Lock<'a> {
    table: &'a LockTable,
    slot: LockSlot,
    id: LockId,
}

impl Lock<'_> {
    /// The lock's id.
    pub fn id(&self) -> LockId {
        self.id
    }

    /// The next place in the lock's order; `NONE` if its object died meanwhile.
    #[inline]
    pub fn next_seq(&self) -> Seq {
        let stamp = self.table.stamp(self.slot);
        stamp.filter(|stamp| stamp.lock == self.id.0).map_or(Seq::NONE, |stamp| Seq(stamp.seq))
    }

    /// True if the lock has no name yet and not too many have tried to find it
    /// one: whoever gets this answer tries.
    #[inline]
    pub fn needs_name(&self) -> bool {
        let Some(word) = self.table.user(self.slot) else { return false };
        word.load(Ordering::Relaxed) < NAME_TRIES << TRIES_SHIFT
            && word.fetch_add(1 << TRIES_SHIFT, Ordering::Relaxed) < NAME_TRIES << TRIES_SHIFT
    }

    /// The lock has its name.
    pub fn is_named(&self) {
        if let Some(word) = self.table.user(self.slot) {
            word.fetch_or(NAME_TRIES << TRIES_SHIFT, Ordering::Relaxed);
        }
    }

    /// Who released the lock last.
    pub fn last_releaser(&self) -> ThreadId {
        let word = self.table.user(self.slot);
        ThreadId(word.map_or(0, |word| word.load(Ordering::Relaxed) & THREAD))
    }

    /// Remembers who is about to release the lock.
    #[inline]
    pub fn set_last_releaser(&self, thread: ThreadId) {
        if let Some(word) = self.table.user(self.slot) {
            // A try counted at this very moment may be forgotten.
            let tries = word.load(Ordering::Relaxed) & !THREAD;
            word.store(thread.0 & THREAD | tries, Ordering::Relaxed);
        }
    }
}

/// A lock and the pin that keeps its monitor's address bound to it.
pub struct Pinned<'a> {
    /// The lock.
    pub lock: Lock<'a>,
    /// The pin as a word, 0 if the monitor's address is not known.
    pub pin: u64,
}

/// The lane of a thread in the tables: any number that differs between threads.
pub fn lane(vm_thread: u64) -> usize {
    (vm_thread >> 8) as usize
}

impl Locks {
    /// Maps the tables.
    pub fn new() -> io::Result<Locks> {
        let table = mapping::zeroed(MAX_LOCKS * LockTable::WORDS_PER_LOCK * 8)?;
        let monitors = mapping::zeroed(MAX_MONITORS * 5 * 8)?;
        let parks = mapping::zeroed(MAX_LOCKS * ParkCounts::WORDS_PER_LOCK * 8)?;
        let changed_parks = mapping::zeroed(MAX_LOCKS / 8)?;
        Ok(Locks {
            table: LockTable::new(table),
            parks: ParkCounts::new(parks, changed_parks),
            monitors: MonitorTable::new(monitors),
            tagging: Mutex::default(),
            dead: Mutex::new(Vec::new()),
        })
    }

    fn lock_at(&self, slot: LockSlot) -> Option<Lock<'_>> {
        let id = LockId(self.table.id(slot)?);
        Some(Lock { table: &self.table, slot, id })
    }

    /// The lock with this id, unless its object died.
    pub fn by_id(&self, id: LockId) -> Option<Lock<'_>> {
        let slot = self.table.slot_of(id.0)?;
        Some(Lock { table: &self.table, slot, id })
    }

    /// The lock of the monitor that the current thread is about to block on.
    /// `monitor` is its address, 0 if not known. In JVMTI callbacks only.
    /// `None`, counted, if a table is full.
    pub fn pin(&self, core: &Core, jni: Jni, lane: usize, monitor: u64, object: Ref) -> Option<Pinned<'_>> {
        let pin = (monitor != 0).then(|| self.monitors.pin(lane, monitor)).flatten();
        let Some(pin) = pin else {
            let lock = self.of_object(core, jni, object)?;
            return Some(Pinned { lock, pin: 0 });
        };
        let bound = self.monitors.bound(pin).and_then(|slot| self.lock_at(slot));
        let lock = bound.or_else(|| {
            let lock = self.of_object(core, jni, object)?;
            self.monitors.bind(pin, lock.slot);
            Some(lock)
        });
        if lock.is_none() {
            self.monitors.unpin(pin);
        }
        Some(Pinned { lock: lock?, pin: pin.to_word() })
    }

    /// Pins a monitor whose lock is known, for a waiter that was notified.
    pub fn pin_known(&self, lane: usize, monitor: u64, lock: Lock<'_>) -> u64 {
        let Some(pin) = self.monitors.pin(lane, monitor) else { return 0 };
        self.monitors.bind(pin, lock.slot);
        pin.to_word()
    }

    /// Gives a pin back.
    #[inline]
    pub fn unpin(&self, word: u64) {
        if let Some(pin) = Pin::from_word(word) {
            self.monitors.unpin(pin);
        }
    }

    /// The lock whose monitor is at this address, if somebody is known to
    /// block on it.
    #[inline]
    pub fn at_address(&self, lane: usize, monitor: u64) -> Option<Lock<'_>> {
        self.lock_at(self.monitors.find(lane, monitor)?)
    }

    /// The lock that an object is. In JVMTI callbacks only.
    pub fn of_object(&self, core: &Core, jni: Jni, object: Ref) -> Option<Lock<'_>> {
        if let Some(lock) = self.tagged(core, object) {
            return Some(lock);
        }
        let Some(mut names) = self.take_turn() else {
            core.losses.add(Loss::LockTableFull, 1);
            return None;
        };
        if let Some(lock) = self.tagged(core, object) {
            return Some(lock);
        }
        let Some(slot) = self.table.allocate() else {
            core.losses.add(Loss::LockTableFull, 1);
            return None;
        };
        let lock = self.lock_at(slot)?;
        self.parks.reset(slot);
        // Defined before anybody else can find its tag.
        core.definitions.lock_object(definition(core, jni, lock.id, object, &mut names));
        if core.jvmti.set_tag(object, lock.id.0 as i64).is_err() {
            self.table.retire(lock.id.0);
            return None;
        }
        Some(lock)
    }

    /// The lock that an object is, if it is one already.
    pub fn known(&self, core: &Core, object: Ref) -> Option<Lock<'_>> {
        self.tagged(core, object)
    }

    /// An id that stands for objects that get none of their own.
    pub fn without_object(&self) -> Option<LockId> {
        let slot = self.table.allocate()?;
        self.parks.reset(slot);
        self.table.id(slot).map(LockId)
    }

    /// How often and how long threads park on each lock.
    #[inline]
    pub fn parks(&self) -> &ParkCounts {
        &self.parks
    }

    /// Counts parks from nothing, times from as many as `threshold` on. While no
    /// recording is under way.
    pub fn begin_parks(&self, threshold: u64) {
        self.parks.begin(self.table.used(), threshold);
    }

    /// The counts of all locks that were ever parked on, up to `end`.
    pub fn each_parked_on(&self, end: TimeNs, take: impl FnMut(ParkCount)) {
        self.parks.each(self.table.used(), || end.0, take);
    }

    /// Waits for others to finish tagging, but not for ever: one of them may be
    /// suspended by a debugger, which may be this thread.
    fn take_turn(&self) -> Option<MutexGuard<'_, ClassNames>> {
        for _ in 0..TURN_TRIES {
            match self.tagging.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(TURN_PAUSE),
            }
        }
        None
    }

    fn tagged(&self, core: &Core, object: Ref) -> Option<Lock<'_>> {
        let tag = core.jvmti.tag(object).ok().filter(|tag| *tag != 0)?;
        self.by_id(LockId(tag as u64))
    }

    /// An object died. Its lock is given back once its events are drained.
    pub fn object_died(&self, tag: u64) {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).push(tag);
    }

    /// Locks whose objects have died since the last call.
    pub fn take_dead(&self) -> Vec<LockId> {
        let dead = std::mem::take(&mut *self.dead.lock().unwrap_or_else(PoisonError::into_inner));
        dead.into_iter().map(LockId).collect()
    }

    /// Gives a dead lock's place back.
    pub fn retire(&self, id: LockId) {
        self.table.retire(id.0);
    }

    /// Memory of locks, their parks and monitors in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let monitors = self.monitors.capacity().saturating_sub(self.monitors.free_entries());
        self.table.live() * (LockTable::WORDS_PER_LOCK * 8) as u64 + monitors * 5 * 8 + self.parks.memory_bytes()
    }

    /// Keeps the monitor table from filling up. Draining thread only.
    pub fn maintain(&self) {
        self.monitors.sweep(ENOUGH_FREE_MONITORS);
    }
}

/// Names of classes by their signatures: a million locks are of few classes, and
/// share one name each, here and in everything that is fed with definitions.
#[derive(Default)]
struct ClassNames(HashMap<String, Arc<str>>);

impl ClassNames {
    fn of(&mut self, signature: &str) -> Arc<str> {
        if let Some(name) = self.0.get(signature) {
            return name.clone();
        }
        if self.0.len() >= MAX_CLASS_NAMES {
            self.0.clear();
        }
        let (name, _) = class_name(signature);
        self.0.insert(signature.to_owned(), name.clone());
        name
    }
}

/// What a lock is called: class and identity hash; `Foo.class` for a class
/// object. The name of the field it was loaded from comes later.
fn definition(core: &Core, jni: Jni, id: LockId, object: Ref, names: &mut ClassNames) -> LockDef {
    let class = jni.class_of(object);
    let signature = core.jvmti.class_signature(class).unwrap_or_default();
    jni.forget(class);
    let class = names.of(&signature);
    let name: Arc<str> = match &*class {
        // A class object is a jclass: its own signature names it.
        "java.lang.Class" => {
            let signature = core.jvmti.class_signature(object).unwrap_or_default();
            let (name, _) = class_name(&signature);
            let simple = name.rsplit('.').next().unwrap_or_default();
            format!("{simple}.class").into()
        }
        _ => Arc::default(),
    };
    let identity_hash = core.jvmti.object_hash(object).unwrap_or(0) as u32;
    LockDef { id, class, identity_hash, name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_a_class_share_its_name_and_few_names_are_kept() {
        let mut names = ClassNames::default();
        let first = names.of("Lcom/acme/Row;");
        assert_eq!(&*first, "com.acme.Row");
        assert!(Arc::ptr_eq(&first, &names.of("Lcom/acme/Row;")));
        assert_eq!(&*names.of("[Lcom/acme/Row;"), "com.acme.Row[]");
        for number in 0..2 * MAX_CLASS_NAMES {
            names.of(&format!("LRow{number};"));
            assert!(names.0.len() <= MAX_CLASS_NAMES);
        }
        assert_eq!(names.of("Lcom/acme/Row;"), first);
    }
}
