//! Call chains: taken at an event, looked up in a lock-free set, and resolved
//! to methods and lines only when they are seen for the first time.

pub mod by_jvmti;
pub mod by_walk;
mod debug_info;
mod self_check;
mod site;

pub use crate::state::Side;
pub use debug_info::FullDebugInfo;
pub use site::lock_name_of;

use crate::core::Core;
use crate::jni::{Jni, Ref};
use crate::jvmti::table::FrameInfo;
use crate::locks::{self, Lock};
use crate::mapping;
use crate::options::{Engine, Mechanism, Options};
use crate::reply::{MechanismState, State};
use crate::state::{OwnerFrame, Scratch, Taken};
use crate::threads::Slot;
use crate::vm::{Known, SWITCHED_OFF};
use by_walk::{From, Walk};
use headway_hook::Image;
use headway_hotspot::{method_names, DecodedFrame, MonitorSlot};
use headway_model::stack::ChainDef;
use headway_model::{CallChain, ChainId, Loss};
use headway_signal::chain_set::{ChainSet, Lookup};
use self_check::SelfCheck;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory for the set of chains, half of which is in use at a time.
const CHAIN_SET_BYTES: usize = 16 << 20;

/// The word of a chain in the set once its definition is on its way.
const DEFINED: u64 = 1;

/// Which of the readers' places the sampler uses.
const SAMPLER_LANE: usize = 0;

/// The word for chains at events in `status`.
const CHAINS: &str = "chains";
/// The word for the walker in `status` and `degraded`.
const WALKER: &str = "walker";
/// What is missing without it.
const WITHOUT_WALKER: &str =
    "stacks are taken with JVMTI GetStackTrace, which is slower, and owners have no call stack";

/// How the chain of an event's thread is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Taking {
    /// Not at all.
    Not,
    /// The VM is asked.
    ByJvmti,
    /// By the agent's own walk.
    ByWalk,
}

/// The chains seen so far, and how they are taken.
pub struct Chains {
    set: ChainSet,
    /// How often it was cleared.
    generation: AtomicU64,
    /// How chains are taken: a [`Taking`].
    taking: AtomicU8,
    check: SelfCheck,
    /// Debug information of compiled code.
    pub debug_info: Arc<FullDebugInfo>,
    /// What the lock acquired at a chain's leaf is called there.
    site_names: Mutex<HashMap<ChainId, Arc<str>>>,
    /// Where the frames of chains that end in a wait keep their monitors.
    monitor_places: Mutex<HashMap<ChainId, Arc<[MonitorSlot]>>>,
}

/// A lock's event on the current thread, as the caller knows it.
#[derive(Clone, Copy)]
pub struct LockEvent<'a> {
    /// What every part needs.
    pub core: &'static Core,
    /// The current thread's environment.
    pub jni: Jni,
    /// The current thread.
    pub slot: &'static Slot,
    /// The lock that the event is about.
    pub lock: &'a Lock<'a>,
}

impl Chains {
    /// Maps the set.
    pub fn new(debug_info: Arc<FullDebugInfo>) -> io::Result<Chains> {
        let region = mapping::zeroed(CHAIN_SET_BYTES)?;
        Ok(Chains {
            set: ChainSet::wiped_by(region, Some(mapping::wipe)),
            generation: AtomicU64::new(0),
            taking: AtomicU8::new(Taking::ByJvmti as u8),
            check: SelfCheck::default(),
            debug_info,
            site_names: Mutex::default(),
            monitor_places: Mutex::default(),
        })
    }

    /// Chooses how chains are taken in this recording.
    pub fn choose(&self, core: &Core, options: &Options, libjvm: &Result<Image, String>) -> Vec<MechanismState> {
        let difference = self.check.difference().map(|difference| difference.to_string());
        let (by_walk, state, detail) = match core.hotspot.failure().map(str::to_owned).or(difference) {
            _ if options.engine == Engine::Jvmti => (false, State::On, format!("as asked, {WITHOUT_WALKER}")),
            _ if !options.allows(Mechanism::Walker) => {
                (false, State::Degraded, format!("{WITHOUT_WALKER}: {SWITCHED_OFF}"))
            }
            None => (true, State::On, "the agent reads call stacks itself".to_owned()),
            Some(reason) => (false, State::Degraded, format!("{WITHOUT_WALKER}: {reason}")),
        };
        self.check.reset();
        let taking = match by_walk {
            _ if !options.takes_chains() => Taking::Not,
            true => Taking::ByWalk,
            false => Taking::ByJvmti,
        };
        self.taking.store(taking as u8, Ordering::Relaxed);
        let mut mechanisms = vec![MechanismState { name: WALKER.to_owned(), state, detail }];
        if taking == Taking::Not {
            let detail = format!("lock and park events come without call stacks: {SWITCHED_OFF}");
            mechanisms.push(MechanismState { name: CHAINS.to_owned(), state: State::Off, detail });
        }
        if let Some(known) = self.walker(core) {
            let libjvm = libjvm.as_ref().map_err(String::clone);
            mechanisms.push(self.debug_info.switch_on(libjvm, &known.memory));
        }
        mechanisms
    }

    /// What walks need, if chains are walked.
    #[inline]
    fn walker<'a>(&self, core: &'a Core) -> Option<&'a Known> {
        core.hotspot.known().filter(|_| self.taking.load(Ordering::Relaxed) == Taking::ByWalk as u8)
    }

    #[cold]
    fn are_taken(&self) -> bool {
        self.taking.load(Ordering::Relaxed) != Taking::Not as u8
    }

    /// The chain of the current thread, in a JVMTI callback. `NONE` for native
    /// threads, which have none.
    pub fn in_callback(&self, place: LockEvent<'_>) -> ChainId {
        let LockEvent { core, slot, .. } = place;
        match self.walker(core) {
            Some(known) => self.by_walk(core, known, slot, From::Anchor, Side::Blocks),
            None => self.by_jvmti(core, place.jni, slot),
        }
    }

    /// The chain of the current thread, in a native method.
    #[inline]
    pub fn in_native(&self, core: &Core, jni: Jni, slot: &Slot, side: Side) -> ChainId {
        match self.walker(core) {
            Some(known) => self.by_walk(core, known, slot, From::Anchor, side),
            None => self.by_jvmti(core, jni, slot),
        }
    }

    /// Sees to the lock's name, if nobody has: called where the current thread
    /// is about to acquire it. `chain` is the thread's call chain. A name that it has
    /// got is to be reported to the observer.
    #[inline]
    pub fn name_lock(&self, place: LockEvent<'_>, chain: ChainId) -> Option<Arc<str>> {
        if !place.lock.needs_name() {
            return None;
        }
        self.name_lock_after_site(place, chain)
    }

    /// The chain of the current thread, in the hook behind a contended exit:
    /// `NONE` without the walker, since JVMTI cannot be called there.
    pub fn at_exit(&self, core: &Core, slot: &Slot, caller_fp: u64) -> ChainId {
        match self.walker(core) {
            Some(known) => self.by_walk(core, known, slot, From::Exit(caller_fp), Side::Wakes),
            None => ChainId::NONE,
        }
    }

    /// The chain of the current thread, which waited and has its monitor again: in the hook
    /// behind the re-acquisition, where JVMTI cannot be called either.
    #[cold]
    pub fn at_reenter(&self, core: &Core, slot: &Slot) -> ChainId {
        match self.walker(core) {
            Some(known) => self.by_walk(core, known, slot, From::InVm, Side::Blocks),
            None => ChainId::NONE,
        }
    }

    /// Which frame of the chain, just taken by [`Self::at_exit`], holds the
    /// monitor that the current thread releases by waiting on it.
    pub fn owner_frame(&self, core: &Core, slot: &Slot, chain: ChainId, monitor: u64) -> OwnerFrame {
        let object = |known: &Known| headway_hotspot::monitor::object(&known.layout, &known.memory, monitor);
        self.owner_frame_of(core, slot, chain, object)
    }

    /// The same for the object whose monitor it is, at a chain just taken.
    pub fn owner_frame_of(
        &self,
        core: &Core,
        slot: &Slot,
        chain: ChainId,
        object: impl FnOnce(&Known) -> Option<u64>,
    ) -> OwnerFrame {
        let held = |walk: &Walk<'_>, places: &[MonitorSlot]| walk.owner_frame(places, object(walk.known()));
        self.with_places(core, slot, chain, held).unwrap_or(OwnerFrame::UNKNOWN)
    }

    /// The frame nearest to the leaf, of the chain just taken, that has a monitor; `None` if
    /// none has or it is not known.
    #[cold]
    pub fn monitor_frame(&self, core: &Core, slot: &Slot, chain: ChainId) -> Option<u16> {
        self.with_places(core, slot, chain, |walk, places| walk.first_with_monitor(places)).flatten()
    }

    /// Looks at the chain just taken, and at where its frames keep monitors.
    fn with_places<T>(
        &self,
        core: &Core,
        slot: &Slot,
        chain: ChainId,
        look: impl FnOnce(&Walk<'_>, &[MonitorSlot]) -> T,
    ) -> Option<T> {
        let known = self.walker(core).filter(|_| chain.is_some())?;
        let scratch = slot.scratch.borrow()?;
        let walk = Walk::already_taken(known, slot.vm_thread(), scratch.last_walk()?);
        let places = self.places(chain, || walk.monitor_places(self.debug_info.decode_options()));
        Some(look(&walk, &places))
    }

    /// Where the frames of a chain keep the monitors they hold; `find` is asked
    /// the first time.
    fn places(&self, chain: ChainId, find: impl FnOnce() -> Vec<MonitorSlot>) -> Arc<[MonitorSlot]> {
        let known = self.monitor_places().get(&chain).cloned();
        known.unwrap_or_else(|| {
            let places: Arc<[MonitorSlot]> = find().into();
            self.monitor_places().insert(chain, places.clone());
            places
        })
    }

    fn monitor_places(&self) -> MutexGuard<'_, HashMap<ChainId, Arc<[MonitorSlot]>>> {
        self.monitor_places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn by_walk(&self, core: &Core, known: &Known, slot: &Slot, from: From, side: Side) -> ChainId {
        let unwalkable = || {
            core.losses.add(Loss::ChainUnwalkable, 1);
            ChainId::NONE
        };
        let Some(mut scratch) = slot.scratch.borrow() else { return unwalkable() };
        let (previous, key) = scratch.of(side);
        let Some(walk) = Walk::of_current_thread(known, slot.vm_thread(), from, &mut previous.walk) else {
            // A native thread has no chain; nothing was dropped.
            return if known.has_no_java_frames(slot.vm_thread()) { ChainId::NONE } else { unwalkable() };
        };
        // Read before the chain is looked up: if the set is cleared meanwhile, the
        // chain is looked up again next time.
        let generation = self.set.generation();
        if let Some(taken) = previous.taken.filter(|taken| walk.is_same() && taken.generation == generation) {
            if taken.unloads.is_none_or(|then| then == known.classes_unloaded()) {
                return taken.chain;
            }
        }
        previous.taken = None;
        let unloads = walk.unloads();
        let Some(key) = walk.key(key, unloads) else { return unwalkable() };
        let chain = self.look_up(core, slot, key, || {
            let (decoded, missing) = walk.decode(self.debug_info.decode_options());
            if matches!(from, From::Anchor) && self.check.is_due() {
                self.check_walker(core, known, slot, &decoded);
            }
            let (chain, unnamed) = walk.resolve(&core.definitions, &decoded, missing);
            if unnamed > 0 {
                core.losses.add(Loss::MethodUnresolved, unnamed);
            }
            chain
        });
        previous.taken = chain.is_some().then_some(Taken { chain, generation, unloads });
        chain
    }

    /// Compares a chain with JVMTI's; in JVMTI callbacks only. A virtual
    /// thread's stack is left out: JVMTI hides some of its frames.
    #[cold]
    fn check_walker(&self, core: &Core, known: &Known, slot: &Slot, decoded: &[DecodedFrame]) {
        if slot.is_carrier.load(Ordering::Relaxed) {
            return;
        }
        let mut infos = vec![FrameInfo::EMPTY; self_check::MAX_EXPECTED];
        let Ok(count) = core.jvmti.current_stack(&mut infos) else { return };
        let expected = infos.get(..count).unwrap_or_default();
        let names = |method| {
            let names = method_names(&known.layout, &known.memory, method)?;
            Some((names.class, names.name, names.descriptor))
        };
        let are_versions = |one, other| names(one).is_some_and(|one| Some(one) == names(other));
        if let Some(difference) = self.check.compare(&known.memory, decoded, expected, are_versions) {
            self.taking.store(Taking::ByJvmti as u8, Ordering::Relaxed);
            let reason = format!("{WITHOUT_WALKER}: {difference}");
            eprintln!("headway: {reason}");
            core.definitions.degraded("walker", &reason);
        }
    }

    /// Corrects what was said about the walker before it was seen to fail.
    pub fn correct(&self, mechanisms: &mut [MechanismState]) {
        let Some(difference) = self.check.difference() else { return };
        if let Some(walker) = mechanisms.iter_mut().find(|m| m.name == WALKER && m.state == State::On) {
            walker.state = State::Degraded;
            walker.detail = format!("{WITHOUT_WALKER}: {difference}");
        }
    }

    /// The chain of a thread that is not the current one and does nothing now. Its
    /// slot says which thread it is.
    pub fn of_other(&self, core: &Core, jni: Jni, slot: &Slot, thread: Ref) -> ChainId {
        if !self.are_taken() {
            return ChainId::NONE;
        }
        let mut infos = vec![FrameInfo::EMPTY; by_jvmti::MAX_FRAMES];
        let Ok(count) = core.jvmti.stack_of(thread, &mut infos) else {
            core.losses.add(Loss::ChainUnwalkable, 1);
            return ChainId::NONE;
        };
        let frames = infos.get(..count).unwrap_or_default();
        self.by_frames(core, jni, slot, frames, &mut Vec::new())
    }

    fn by_jvmti(&self, core: &Core, jni: Jni, slot: &Slot) -> ChainId {
        if !self.are_taken() {
            return ChainId::NONE;
        }
        let Some(mut scratch) = slot.scratch.borrow() else {
            core.losses.add(Loss::ChainUnwalkable, 1);
            return ChainId::NONE;
        };
        let Scratch { infos, key, .. } = &mut *scratch;
        infos.resize(by_jvmti::MAX_FRAMES, FrameInfo::EMPTY);
        let Ok(count) = core.jvmti.current_stack(infos) else {
            core.losses.add(Loss::ChainUnwalkable, 1);
            return ChainId::NONE;
        };
        self.by_frames(core, jni, slot, infos.get(..count).unwrap_or_default(), key)
    }

    fn by_frames(&self, core: &Core, jni: Jni, slot: &Slot, frames: &[FrameInfo], key: &mut Vec<u64>) -> ChainId {
        if frames.is_empty() {
            return ChainId::NONE;
        }
        by_jvmti::key_of(frames, key);
        // A method id may come back as another method's once classes unload.
        key.push(core.collections.load(Ordering::Relaxed));
        self.look_up(core, slot, key, || {
            let truncated = frames.len() == by_jvmti::MAX_FRAMES;
            by_jvmti::resolve(&core.jvmti, jni, &core.definitions, frames, truncated)
        })
    }

    /// The id of the chain with this key; `resolve` is asked what it means if
    /// it is new.
    fn look_up(&self, core: &Core, slot: &Slot, key: &[u64], resolve: impl FnOnce() -> CallChain) -> ChainId {
        let reader = self.set.enter(locks::lane(slot.vm_thread()));
        match reader.lookup_or_insert(key) {
            Lookup::Found(entry) if entry.user.load(Ordering::Acquire) == DEFINED => ChainId(entry.id),
            // Whoever finds a chain that is not defined yet defines it too, so
            // that no event comes before its chain.
            Lookup::Found(entry) | Lookup::New(entry) => {
                let id = ChainId(entry.id);
                let chain = resolve();
                if chain.truncated {
                    core.losses.add(Loss::ChainTruncated, 1);
                }
                core.definitions.chain(ChainDef { id, chain });
                entry.user.store(DEFINED, Ordering::Release);
                id
            }
            Lookup::Full => {
                core.losses.add(Loss::ChainTableFull, 1);
                ChainId::NONE
            }
        }
    }

    /// The id of a sampled chain with this key; `resolve` is asked what it means
    /// if it is new. `NONE`, counted, if the table is full.
    pub fn of_sample(&self, core: &Core, key: &[u64], resolve: impl FnOnce() -> CallChain) -> ChainId {
        let reader = self.set.enter(SAMPLER_LANE);
        match reader.lookup_or_insert(key) {
            Lookup::Found(entry) if entry.user.load(Ordering::Acquire) == DEFINED => ChainId(entry.id),
            Lookup::Found(entry) | Lookup::New(entry) => {
                let id = ChainId(entry.id);
                core.definitions.chain(ChainDef { id, chain: resolve() });
                entry.user.store(DEFINED, Ordering::Release);
                id
            }
            Lookup::Full => {
                core.losses.add(Loss::ChainTableFull, 1);
                ChainId::NONE
            }
        }
    }

    /// Grows when all chains were forgotten, and with them the ids of methods.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Names a lock seen for the first time after the field, class or receiver
    /// that the chain's leaf loaded it from.
    #[cold]
    fn name_lock_after_site(&self, place: LockEvent<'_>, chain: ChainId) -> Option<Arc<str>> {
        self.name_after_site(place.core, place.lock, chain, || site::lock_name(&place.core.jvmti, place.jni))
    }

    /// The same for a synchronizer that the current thread is about to park for,
    /// where it is looked up by JNI.
    #[cold]
    pub fn name_synchronizer(&self, place: LockEvent<'_>) -> Option<Arc<str>> {
        if !place.lock.needs_name() {
            return None;
        }
        let LockEvent { core, jni, slot, lock } = place;
        // Without the walker, a chain costs more than the name.
        let walked = self.walker(core).map(|known| self.by_walk(core, known, slot, From::Anchor, Side::Blocks));
        self.name_after_site(core, lock, walked.unwrap_or(ChainId::NONE), || site::synchronizer_name(&core.jvmti, jni))
    }

    /// Gives the lock the name that `find` reads from the bytecode: once for each chain, since that takes the VM longer
    /// than everything else that is recorded of a wait, and programs make a lock for each request.
    fn name_after_site(
        &self,
        core: &Core,
        lock: &Lock<'_>,
        chain: ChainId,
        find: impl FnOnce() -> Option<String>,
    ) -> Option<Arc<str>> {
        let known = self.site_names().get(&chain).cloned();
        let name = known.unwrap_or_else(|| {
            let name: Arc<str> = find().unwrap_or_default().into();
            // What no chain distinguishes may be different places.
            if chain.is_some() {
                self.site_names().insert(chain, name.clone());
            }
            name
        });
        (!name.is_empty()).then(|| give_name(core, lock, name))
    }

    fn site_names(&self) -> MutexGuard<'_, HashMap<ChainId, Arc<str>>> {
        self.site_names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of the chains in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.set.fill().0 * 8
    }

    /// Background upkeep: forgets all chains when the set is nearly full, so
    /// that new ones find room. True if it did: chains get new ids then.
    pub fn maintain(&self) -> bool {
        self.set.maintain();
        let (used, size) = self.set.fill();
        used * 8 > size * 7 && self.clear()
    }

    /// Forgets all chains, and gives back their memory, between recordings.
    pub fn forget(&self) {
        if self.set.fill().0 > 0 && self.clear() {
            // False if a thread is still inside: the next recording's upkeep wipes it.
            self.set.maintain();
        }
    }

    fn clear(&self) -> bool {
        let cleared = self.set.clear();
        if cleared {
            self.generation.fetch_add(1, Ordering::AcqRel);
            // Freed without the locks, which exits that are waited for take.
            let old = (std::mem::take(&mut *self.site_names()), std::mem::take(&mut *self.monitor_places()));
            drop(old);
        }
        cleared
    }
}

/// The lock is called so from now on; its name again.
fn give_name(core: &Core, lock: &Lock<'_>, name: Arc<str>) -> Arc<str> {
    lock.is_named();
    core.definitions.lock_name(lock.id(), name.clone());
    name
}
