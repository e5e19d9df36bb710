//! What a thread parks on: the object that it named in `Thread.parkBlocker`.
//!
//! A blocker gets its lock id as monitors do, by a JVMTI tag. That takes the
//! VM microseconds; so each platform thread remembers its last few blockers by
//! address, which is true until a collection moves or frees something.
//!
//! Programs make blockers that live for one park (the waiters of a future, the
//! latch of a request). Each class may have so many ids at once; further objects
//! of it share one id, without an identity hash, so that a million of them cost
//! no memory and their parks are not dropped.

use crate::agent::{Agent, Observer};
use crate::chain::LockEvent;
use crate::heap::{Fields, Pauses};
use crate::jni::{Class, Field, Jni, Ref};
use crate::naming::class_name;
use crate::observing::observer;
use crate::state::Remembered;
use crate::threads::Slot;
use headway_model::event::LockDef;
use headway_model::{LockId, Loss, ThreadId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Objects of a class that have an id each.
const IDS_PER_CLASS: u64 = 1 << 14;
/// The same for classes whose objects have owners.
const IDS_PER_OWNABLE_CLASS: u64 = 1 << 17;
/// Marks remembered locks that may have an exclusive owner.
const OWNABLE: u64 = 1 << 62;

/// A blocker and its exclusive owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocker {
    /// The blocker, `NONE` if the thread named none.
    pub id: LockId,
    /// Its owner, `NONE` if it has none or none is known.
    pub owner: ThreadId,
}

/// The classes and fields asked for through JNI.
struct Java {
    park_blocker: Field,
    exclusive_owner: Field,
    ownable: Class,
}

impl Java {
    fn find(jni: Jni) -> Option<Java> {
        let synchronizer = c"java/util/concurrent/locks/AbstractOwnableSynchronizer";
        Some(Java {
            park_blocker: jni.field(c"java/lang/Thread", c"parkBlocker", c"Ljava/lang/Object;")?,
            exclusive_owner: jni.field(synchronizer, c"exclusiveOwnerThread", c"Ljava/lang/Thread;")?,
            ownable: jni.global_class(synchronizer)?,
        })
    }
}

/// Ids in use of a class.
#[derive(Default)]
struct InUse {
    ids: u64,
    /// The id that further objects share.
    shared: Option<LockId>,
}

/// See the module.
#[derive(Default)]
pub struct Blockers {
    java: OnceLock<Option<Java>>,
    classes: Mutex<HashMap<Arc<str>, InUse>>,
}

/// A thread that parks, as its blocker is looked for.
#[derive(Clone, Copy)]
pub struct Parking {
    /// The agent.
    pub agent: &'static Agent,
    /// Its environment.
    pub jni: Jni,
    /// The platform thread that it runs on.
    pub slot: &'static Slot,
    /// True for a virtual thread.
    pub is_virtual: bool,
}

impl Parking {
    fn remembered(&self) -> &Remembered {
        &self.slot.parks.remembered
    }
}

impl Blockers {
    /// The blocker of the current thread, and who owns it.
    #[inline]
    pub fn of_current(&self, parking: &Parking, fields: Option<&Fields>, pauses: &Pauses) -> Blocker {
        fields.and_then(|fields| remembered(parking, fields, pauses)).unwrap_or_else(|| self.by_jni(parking, pauses))
    }

    #[cold]
    fn by_jni(&self, parking: &Parking, pauses: &Pauses) -> Blocker {
        let Parking { agent, jni, slot, .. } = *parking;
        let Ok(thread) = agent.jvmti.current_thread() else { return Blocker::default() };
        let found = self.of_thread(agent, jni, thread, |object, id, is_ownable| {
            if is_ownable {
                observer().parked_on(agent, jni, id, object);
                let lock = agent.locks.by_id(id);
                let place = lock.as_ref().map(|lock| LockEvent { core: agent, jni, slot, lock });
                if let Some(name) = place.and_then(|place| agent.chains.name_synchronizer(place)) {
                    observer().lock_named(id, &name);
                }
            }
            let Some(known) = agent.hotspot.known() else { return };
            let lock = id.0 | if is_ownable { OWNABLE } else { 0 };
            let here = pauses.calm(|calm| Some((known.object_behind(object)?, calm)));
            if let Some((address, calm)) = here {
                parking.remembered().set(address, calm, lock);
            }
        });
        jni.forget(thread);
        found
    }

    /// The blocker of any thread, and who owns it. `also` is informed of the object,
    /// if it has an id, and whether it may have an owner.
    pub fn of_thread(
        &self,
        agent: &'static Agent,
        jni: Jni,
        thread: Ref,
        also: impl FnOnce(Ref, LockId, bool),
    ) -> Blocker {
        let Some(java) = self.java.get_or_init(|| Java::find(jni)) else { return Blocker::default() };
        let Some(object) = jni.object_field(thread, java.park_blocker) else { return Blocker::default() };
        let is_ownable = jni.is_instance_of(object, java.ownable.as_ref());
        let id = self.identify(agent, jni, object, is_ownable);
        if let Some(id) = id {
            also(object, id, is_ownable);
        }
        let owner = is_ownable.then(|| jni.object_field(object, java.exclusive_owner)).flatten();
        let found = Blocker {
            id: id.unwrap_or_default(),
            owner: owner.map_or(ThreadId::NONE, |owner| agent.java.thread_id(jni, owner)),
        };
        owner.into_iter().for_each(|owner| jni.forget(owner));
        jni.forget(object);
        found
    }

    /// The id of a blocker; `None`, counted, if there is no room for it.
    fn identify(&self, agent: &Agent, jni: Jni, object: Ref, is_ownable: bool) -> Option<LockId> {
        if let Some(lock) = agent.locks.known(agent, object) {
            return Some(lock.id());
        }
        let class = jni.class_of(object);
        let (name, _) = class_name(&agent.jvmti.class_signature(class).unwrap_or_default());
        jni.forget(class);
        let most = if is_ownable { IDS_PER_OWNABLE_CLASS } else { IDS_PER_CLASS };
        if self.is_crowded(&name, most) {
            return self.shared(agent, name);
        }
        let lock = agent.locks.of_object(agent, jni, object)?;
        self.lock().entry(name).or_default().ids += 1;
        Some(lock.id())
    }

    fn is_crowded(&self, class: &str, most: u64) -> bool {
        self.lock().get(class).is_some_and(|in_use| in_use.ids >= most)
    }

    /// The id that further objects of a class share.
    fn shared(&self, agent: &Agent, class: Arc<str>) -> Option<LockId> {
        let mut classes = self.lock();
        let in_use = classes.entry(class.clone()).or_default();
        if in_use.shared.is_none() {
            in_use.shared = agent.locks.without_object();
            let Some(id) = in_use.shared else {
                agent.losses.add(Loss::LockTableFull, 1);
                return None;
            };
            agent.definitions.lock_object(LockDef { id, class, ..LockDef::default() });
        }
        in_use.shared
    }

    /// A blocker of this class died and gave its id back.
    pub fn died(&self, class: &str) {
        if let Some(in_use) = self.lock().get_mut(class) {
            in_use.ids = in_use.ids.saturating_sub(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, InUse>> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread's memory and the heap say; `None` if another way is needed.
#[inline]
pub fn remembered(parking: &Parking, fields: &Fields, pauses: &Pauses) -> Option<Blocker> {
    let known = parking.agent.hotspot.known()?;
    pauses.calm(|calm| {
        let thread = fields.thread_object(known, parking.slot.vm_thread(), parking.is_virtual)?;
        let object = fields.blocker(known, thread)?;
        if object == 0 {
            return Some(Blocker::default());
        }
        let lock = parking.remembered().get(object, calm)?;
        let owner = match lock & OWNABLE {
            0 => 0,
            _ => fields.owner(known, object).unwrap_or(0),
        };
        Some(Blocker { id: LockId(lock & !OWNABLE), owner: ThreadId(owner) })
    })
}
