//! Locks as targets: everything that is done while holding one.
//!
//! A lock becomes known when somebody contends for it or parks on it. From then on
//! its owner is read when a sample is looked at: of a monitor in the VM's monitor, of
//! a synchronizer of `java.util.concurrent` in the object. That is a little after
//! the sample was taken; where the lock is contended, the hooks' times of acquiring
//! and releasing it say how things stood at the sample's own time.
//!
//! What this cannot see: a lock before it is first contended for, a monitor that the
//! VM took away because nobody had used it for long, readers of a read-write lock.

use super::targets::is_called;
use crate::agent::Agent;
use crate::agent::Sampled;
use crate::jni::{Jni, Ref};
use crate::naming::class_name;
use crate::threads::Slot;
use headway_causal::experiment::{Target, TargetKind};
use headway_model::{LockId, ThreadId, TimeNs};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most locks that one target stands for.
const MAX_TARGETS: usize = 64;
/// Most locks and names remembered.
const MAX_KNOWN: usize = 16_384;

/// Where a lock's owner is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnerSource {
    /// The VM's monitor.
    Monitor(u64),
    /// Where a weak reference to a synchronizer is kept.
    Synchronizer(u64),
}

#[derive(Clone, Debug)]
struct Known {
    class: Arc<str>,
    hash: u32,
    place: OwnerSource,
}

#[derive(Default)]
struct State {
    known: HashMap<LockId, Known>,
    names: HashMap<LockId, Arc<str>>,
    /// What the target under way is called.
    aimed: Option<String>,
    targets: Vec<LockId>,
}

/// See the module. The lock is not held while the VM is called.
#[derive(Default)]
pub struct TargetLocks {
    /// True if a lock is among the targets.
    is_wanted: AtomicBool,
    state: Mutex<State>,
    /// The ids of the target under way, to look at without the lock.
    ids: Ids,
}

struct Ids {
    count: AtomicUsize,
    ids: [AtomicU64; MAX_TARGETS],
}

impl Default for Ids {
    fn default() -> Ids {
        Ids { count: AtomicUsize::new(0), ids: [const { AtomicU64::new(0) }; MAX_TARGETS] }
    }
}

impl TargetLocks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A recording with these targets begins.
    pub fn want(&self, targets: &[String]) {
        let is_lock = |name: &String| Target::parse(name).kind == TargetKind::Lock;
        let mut state = self.lock();
        state.known.clear();
        self.aim_at(&mut state, None);
        self.is_wanted.store(targets.iter().any(is_lock), Ordering::SeqCst);
    }

    /// What counts as a hit from now on.
    pub fn aim(&self, target: Option<&Target>) {
        let lock = target.filter(|target| target.kind == TargetKind::Lock);
        self.aim_at(&mut self.lock(), lock.map(|target| target.name.clone()));
    }

    fn aim_at(&self, state: &mut State, name: Option<String>) {
        state.aimed = name;
        state.targets.clear();
        let all: Vec<LockId> = state.known.keys().copied().collect();
        all.into_iter().for_each(|id| state.add_if_meant(id));
        self.publish(state);
    }

    fn publish(&self, state: &State) {
        for (place, id) in self.ids.ids.iter().zip(&state.targets) {
            place.store(id.0, Ordering::Relaxed);
        }
        self.ids.count.store(state.targets.len(), Ordering::Release);
    }

    /// True if the target under way is, or is among others, this lock.
    #[inline]
    pub fn is_target(&self, lock: LockId) -> bool {
        let count = self.ids.count.load(Ordering::Acquire);
        count > 0 && self.ids.ids.iter().take(count).any(|id| id.load(Ordering::Relaxed) == lock.0)
    }

    /// A lock got its name. Names are kept from one recording to the next: they
    /// are looked for only once.
    pub fn named(&self, lock: LockId, name: &Arc<str>) {
        let mut state = self.lock();
        if state.names.len() >= MAX_KNOWN {
            state.names.clear();
        }
        state.names.insert(lock, name.clone());
        state.add_if_meant(lock);
        self.publish(&state);
    }

    /// Somebody contends for a monitor. In JVMTI callbacks only.
    pub fn contended(&self, agent: &Agent, jni: Jni, lock: LockId, monitor: u64, object: Ref) {
        if monitor == 0 || !self.is_wanted.load(Ordering::Relaxed) {
            return;
        }
        if let Some(known) = self.lock().known.get_mut(&lock) {
            // A monitor may be another one than before.
            known.place = OwnerSource::Monitor(monitor);
            return;
        }
        self.add(agent, jni, lock, OwnerSource::Monitor(monitor), object);
    }

    /// Somebody parks on a synchronizer that has an owner.
    pub fn parked_on(&self, agent: &Agent, jni: Jni, lock: LockId, synchronizer: Ref) {
        if !self.is_wanted.load(Ordering::Relaxed) || self.lock().known.contains_key(&lock) {
            return;
        }
        if let Some(reference) = jni.weak(synchronizer) {
            self.add(agent, jni, lock, OwnerSource::Synchronizer(reference), synchronizer);
        }
    }

    fn add(&self, agent: &Agent, jni: Jni, lock: LockId, place: OwnerSource, object: Ref) {
        let class = jni.class_of(object);
        let (class_name, _) = class_name(&agent.jvmti.class_signature(class).unwrap_or_default());
        jni.forget(class);
        let hash = agent.jvmti.object_hash(object).unwrap_or(0) as u32;
        let mut state = self.lock();
        if state.known.len() < MAX_KNOWN {
            state.known.insert(lock, Known { class: class_name, hash, place });
            state.add_if_meant(lock);
            self.publish(&state);
        }
    }

    /// True if a thread held the target when the sample was taken.
    pub fn holds(&self, agent: &Agent, slot: &Slot, sample: &Sampled) -> bool {
        if self.ids.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let time = |word: &AtomicU64| TimeNs(word.load(Ordering::Relaxed));
        let (acquired, released) = (time(&slot.observed.acquired), time(&slot.observed.released));
        held_at(sample.time, acquired, released, || self.is_owner(agent, sample.thread))
    }

    fn is_owner(&self, agent: &Agent, thread: ThreadId) -> bool {
        let state = self.lock();
        let mut places = state.targets.iter().filter_map(|id| state.known.get(id)).map(|known| known.place);
        places.any(|place| owner(agent, place) == thread)
    }
}

impl State {
    fn add_if_meant(&mut self, lock: LockId) {
        let (Some(aimed), Some(known)) = (&self.aimed, self.known.get(&lock)) else { return };
        let name = self.names.get(&lock).map_or("", |name| &**name);
        if is_meant(aimed, &known.class, known.hash, name)
            && !self.targets.contains(&lock)
            && self.targets.len() < MAX_TARGETS
        {
            self.targets.push(lock);
        }
    }
}

/// True if a thread held a lock at a time. `owns_now` says how it is a little
/// later; acquired and released are the last times that waits are known of.
fn held_at(time: TimeNs, acquired: TimeNs, released: TimeNs, owns_now: impl FnOnce() -> bool) -> bool {
    match released >= time {
        // Released since; held, unless it was acquired in between, too.
        true => acquired <= time || acquired > released,
        false => acquired <= time && owns_now(),
    }
}

fn owner(agent: &Agent, place: OwnerSource) -> ThreadId {
    match place {
        OwnerSource::Monitor(monitor) => agent.owner_of(monitor),
        OwnerSource::Synchronizer(reference) => {
            let owner = agent.hotspot.known().and_then(|known| agent.heap.owner_behind(known, reference));
            owner.unwrap_or(ThreadId::NONE)
        }
    }
}

/// True if a lock with this class and name is what somebody calls `wanted`: by the
/// name that reports give it, by its class, or by both as `Class@hash`.
fn is_meant(wanted: &str, class: &str, hash: u32, name: &str) -> bool {
    let is_class = |wanted: &str| {
        let outer = ["$NonfairSync", "$FairSync", "$Sync"].iter().find_map(|inner| class.strip_suffix(inner));
        [Some(class), outer]
            .into_iter()
            .flatten()
            .any(|class| is_called(class, wanted) || is_called(&class.replace('$', "."), wanted))
    };
    if let Some((wanted, wanted_hash)) = wanted.split_once('@') {
        return u32::from_str_radix(wanted_hash.trim_start_matches("0x"), 16) == Ok(hash) && is_class(wanted);
    }
    let name = name.trim_end_matches(" (this)");
    let is_name = |name: &str| is_called(name, wanted) || is_called(wanted, name);
    !name.is_empty() && (is_name(name) || is_name(&name.replace('$', "."))) || is_class(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_meant_by_its_name_its_class_or_its_hash() {
        let meant = |wanted| is_meant(wanted, "com.acme.Inventory", 0x1f, "Shop.inventory");
        assert!(meant("Shop.inventory") && meant("com.acme.Shop.inventory") && meant("Inventory"));
        assert!(meant("com.acme.Inventory@1f") && !meant("Inventory@20") && !meant("inventory2"));
        let fair = |wanted| is_meant(wanted, "java.util.concurrent.locks.ReentrantLock$FairSync", 7, "");
        assert!(fair("ReentrantLock") && fair("java.util.concurrent.locks.ReentrantLock") && fair("ReentrantLock@7"));
        assert!(!fair("Lock"));
    }

    #[test]
    fn what_the_hooks_saw_goes_before_what_is_read_later() {
        let at =
            |acquired, released, owns_now: bool| held_at(TimeNs(100), TimeNs(acquired), TimeNs(released), || owns_now);
        // Never waited for: what is read counts.
        assert!(at(0, 0, true) && !at(0, 0, false));
        // Released after the sample.
        assert!(at(50, 120, false));
        // Acquired and released after it.
        assert!(!at(110, 120, false));
        // Released after it, and acquired again.
        assert!(at(130, 120, true));
        // Acquired after it, held still.
        assert!(!at(110, 60, true));
    }
}
