//! Who owns the locks for which threads have been blocked for long: what a deadlock is found by.
//!
//! At its begin, a contention often has no owner that the VM names: from JDK 23 on, a monitor that a waiter
//! inflated learns its owner only when that releases it; where contentions are sampled, nobody asks. So the
//! draining thread looks once a second, and once more at the end, at those that go on: at the monitor or the
//! synchronizer, and if need be at the locks that each thread says to have ([`HotSpot::lock_stack`]). It reads the VM's
//! memory and calls nothing.
//!
//! Threads that were blocked already when the recording began are seen here only: where and
//! on what was asked then ([`note`]), and that they still are is known if they have done nothing since.
//!
//! [`HotSpot::lock_stack`]: crate::vm::HotSpot::lock_stack

use crate::agent::Agent;
use crate::chain::lock_name_of;
use crate::jni::{Jni, Ref};
use crate::locks;
use crate::state::FoundBlocked;
use crate::threads::Slot;
use headway_model::event::{LockDef, LongContention, MonitorEnter, ParkBegin, ParkLimit};
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// Which contentions are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that were not reported before.
    New,
    /// All: for a dump, and once a minute, as what was reported before may be cut off.
    All,
    /// All, and such as are not long yet: the recording ends.
    Last,
}

impl Which {
    /// How long a contention has lasted at least; one that is older than the recording is looked at in the end in any case.
    fn least(self) -> DurationNs {
        match self {
            Which::New | Which::All => DurationNs(1_000_000_000),
            Which::Last => DurationNs(100_000_000),
        }
    }
}

/// Monitors that get an id without their object.
const MAX_UNKNOWN: usize = 1 << 10;
/// The class of a lock of which only the monitor is known.
const UNKNOWN_CLASS: &str = "monitor";

/// Notes where a thread is blocked. Not on the draining thread: the VM is asked.
pub fn note(agent: &'static Agent, jni: Jni, slot: &Slot, thread: Ref) {
    if slot.is_filtered.load(Ordering::Relaxed) {
        return;
    }
    let chain = agent.chains.of_other(agent, jni, slot, thread);
    let name = || lock_name_of(&agent.jvmti, jni, thread).unwrap_or_default().into();
    agent.found_blocked.add(slot.thread(), chain, name);
}

/// A contention that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocked {
    /// Address of the monitor; `None` for a synchronizer.
    monitor: Option<u64>,
    start: TimeNs,
    /// `NONE` if its begin was not seen.
    lock: LockId,
    chain: ChainId,
    /// True if it began before the recording.
    is_older: bool,
}

/// Which thread has locked which object, by the threads' lock stacks.
type Locked = HashMap<u64, ThreadId>;

/// What the draining thread knows of them.
#[derive(Debug, Default)]
pub struct LongContentions {
    /// Those that were reported, by thread, and when they began.
    reported: HashMap<ThreadId, TimeNs>,
    found: HashMap<ThreadId, FoundBlocked>,
    /// Monitors without a known object.
    unknown: HashMap<u64, LockId>,
}

impl LongContentions {
    /// Reports `which` go on, as of `now`. While the recording is under way: later, nobody says that one is over.
    pub fn look(&mut self, agent: &Agent, now: TimeNs, which: Which, take: &mut impl FnMut(Event)) {
        self.found.extend(agent.found_blocked.take());
        let mut locked = None;
        let before = std::mem::take(&mut self.reported);
        for slot in agent.threads.iter().filter(|slot| may_be_blocked(slot)) {
            let thread = slot.thread();
            let is_known = |blocked: &Blocked| before.get(&thread) == Some(&blocked.start);
            let look = || {
                let is_due = |blocked: &Blocked| {
                    let is_found = which == Which::Last && blocked.lock.is_none();
                    is_found || now.since(blocked.start) >= which.least()
                };
                let blocked = blocked(agent, slot).filter(is_due)?;
                if which == Which::New && is_known(&blocked) {
                    return Some((blocked, None));
                }
                Some((blocked, Some(owner(agent, slot, &blocked, &mut locked)?)))
            };
            let Some((blocked, owner)) = agent.vm_memory.pass(look).flatten() else { continue };
            if let Some(owner) = owner {
                let Some((lock, chain)) = self.place(agent, slot, &blocked, take) else { continue };
                let (start, is_older) = (blocked.start, blocked.is_older);
                if blocked.lock.is_none() && slot.found_lock.load(Ordering::Relaxed) == 0 {
                    slot.found_lock.store(lock.0, Ordering::Relaxed);
                    take(Event::MonitorEnter(enter(agent, thread, start, (lock, chain))));
                }
                take(Event::LongContention(LongContention { time: now, start, thread, lock, chain, owner, is_older }));
            }
            self.reported.insert(thread, blocked.start);
        }
    }

    /// The recording is over: ids of locks that no object has are free again.
    pub fn end(&mut self, agent: &Agent) {
        self.unknown.drain().for_each(|(_, lock)| agent.locks.retire(lock));
    }

    /// True if the thread's contention was reported, which began before the recording.
    pub fn knows(&self, thread: ThreadId) -> bool {
        self.reported.contains_key(&thread)
    }

    fn place(
        &mut self,
        agent: &Agent,
        slot: &Slot,
        blocked: &Blocked,
        take: &mut impl FnMut(Event),
    ) -> Option<(LockId, ChainId)> {
        if blocked.lock.is_some() {
            let seen = || slot.exchanged.seen.found(blocked.start, agent.chains.generation());
            let known = Some(blocked.chain).filter(|chain| chain.is_some());
            return Some((blocked.lock, known.or_else(seen).unwrap_or_default()));
        }
        let found = self.found.get(&slot.thread())?;
        let chain = found.chain;
        let monitor = blocked.monitor?;
        // Its begin was recorded as one of this lock.
        let recorded = Some(LockId(slot.found_lock.load(Ordering::Relaxed))).filter(|lock| lock.is_some());
        let pinned = || agent.locks.at_address(locks::lane(slot.vm_thread()), monitor).map(|lock| lock.id());
        if let Some(lock) = recorded.or_else(pinned).or_else(|| self.unknown.get(&monitor).copied()) {
            return Some((lock, chain));
        }
        if self.unknown.len() >= MAX_UNKNOWN {
            return None;
        }
        let id = agent.locks.without_object()?;
        self.unknown.insert(monitor, id);
        let (class, name) = (UNKNOWN_CLASS.into(), found.name.clone());
        take(Event::Lock(LockDef { id, class, name, ..LockDef::default() }));
        Some((id, chain))
    }
}

/// The begin of a contention that is older than the recording. Its owner then is not known.
fn enter(agent: &Agent, thread: ThreadId, time: TimeNs, (lock, chain): (LockId, ChainId)) -> MonitorEnter {
    let seq = agent.locks.by_id(lock).map_or(Seq::NONE, |lock| lock.next_seq());
    MonitorEnter { time, thread, lock, seq, chain, owner: ThreadId::NONE }
}

/// False if the thread is surely not blocked: without a look into the VM's memory.
fn may_be_blocked(slot: &Slot) -> bool {
    let is_parked = || slot.parks.park.peek().is_some_and(|park| park.owner.is_some());
    let is_found = || slot.found_blocked.load(Ordering::Relaxed) != 0;
    !slot.is_filtered.load(Ordering::Relaxed) && (slot.enter.peek().is_some() || is_parked() || is_found())
}

/// What a platform thread is blocked on now, since when; `None` as well if the begin is not recorded yet, as then its
/// end need not be.
fn blocked(agent: &Agent, slot: &Slot) -> Option<Blocked> {
    let monitor = || Some(agent.hotspot.pending_monitor(slot.vm_thread())).filter(|monitor| *monitor != 0);
    if let Some(enter) = slot.enter.peek() {
        let (start, lock, chain) = (enter.start, enter.lock, enter.chain);
        let is_recorded = enter.seq.is_some() || enter.is_reported;
        // Between acquiring it and saying so, it has no monitor.
        return Some(Blocked { monitor: Some(monitor()?), start, lock, chain, is_older: false })
            .filter(|_| is_recorded);
    }
    // Only locks with an exclusive owner: other parks are no contentions. A thread that gives up is in no deadlock.
    let is_contention = |park: &ParkBegin| park.owner.is_some() && park.limit == ParkLimit::None;
    if let Some(park) = slot.parks.park.peek_sent().filter(is_contention) {
        let (start, lock, chain) = (park.time, park.blocker, park.chain);
        let is_older = slot.parks.found.load(Ordering::Relaxed) == park.seq.0;
        return Some(Blocked { monitor: None, start, lock, chain, is_older });
    }
    let start = TimeNs(slot.found_blocked.load(Ordering::Relaxed));
    let monitor = if start == TimeNs(0) { None } else { monitor() };
    let (lock, chain) = (LockId::NONE, ChainId::NONE);
    slot.is_blocked_throughout(monitor.unwrap_or(0)).then_some(Blocked { monitor, start, lock, chain, is_older: true })
}

/// The present owner of what the thread is blocked on, `NONE` if not known; `None` if the thread is not blocked on it
/// any more: a monitor is what it is only as long as that.
fn owner(agent: &Agent, slot: &Slot, on: &Blocked, locked: &mut Option<Locked>) -> Option<ThreadId> {
    let owner = match on.monitor {
        None => synchronizer_owner(agent, slot).unwrap_or_default(),
        Some(monitor) => monitor_owner(agent, monitor, locked),
    };
    blocked(agent, slot).filter(|now| now == on && agent.is_recording()).map(|_| owner)
}

/// Where the monitor does not say it, the thread that says to have its object: one pass over all threads for all
/// monitors that are looked at together.
fn monitor_owner(agent: &Agent, monitor: u64, locked: &mut Option<Locked>) -> ThreadId {
    let owner = agent.owner_of(monitor);
    let object = if owner.is_some() { 0 } else { agent.hotspot.object_owned_by_somebody(monitor) };
    if object == 0 {
        return owner;
    }
    let found = locked.get_or_insert_with(|| all_locked(agent)).get(&object).copied();
    // A collection may have moved it meanwhile.
    found.filter(|_| agent.hotspot.object_owned_by_somebody(monitor) == object).unwrap_or_default()
}

fn all_locked(agent: &Agent) -> Locked {
    let mut locked = Locked::new();
    for slot in agent.threads.iter() {
        let objects = agent.hotspot.lock_stack(slot.vm_thread()).into_iter().filter(|object| *object != 0);
        locked.extend(objects.map(|object| (object, agent.hotspot.mounted_on(slot))));
    }
    locked
}

fn synchronizer_owner(agent: &Agent, slot: &Slot) -> Option<ThreadId> {
    let known = agent.hotspot.known()?;
    agent.heap.pauses.calm(|_| {
        let fields = agent.heap.fields()?;
        let object = fields.blocker(known, fields.thread_object(known, slot.vm_thread(), false)?)?;
        fields.owner(known, object).map(ThreadId)
    })
}
