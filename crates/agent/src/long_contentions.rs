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
use headway_model::event::{LockDef, LongContention};
use headway_model::{ChainId, DurationNs, Event, LockId, ThreadId, TimeNs};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// A contention is looked at when it has lasted for so long; at the end of the recording sooner, and at once if it is
/// older than that.
const LONG: DurationNs = DurationNs(1_000_000_000);
const LONG_AT_END: DurationNs = DurationNs(100_000_000);
/// For so many monitors at once, the owner is looked for among all threads, which takes as long as there are threads.
const SEARCHES: usize = 32;
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
    /// Address of the monitor, 0 for a synchronizer.
    monitor: u64,
    start: TimeNs,
    /// `NONE` if its begin was not seen.
    lock: LockId,
    chain: ChainId,
}

/// Owners that were looked for among all threads, by monitor.
type Searched = HashMap<u64, ThreadId>;

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
    /// Reports those that have not been yet, or at the end all, as of `now`.
    pub fn look(&mut self, agent: &Agent, now: TimeNs, is_end: bool, take: &mut impl FnMut(Event)) {
        self.found.extend(agent.found_blocked.take());
        let least = if is_end { LONG_AT_END } else { LONG };
        let mut searched = HashMap::new();
        let before = std::mem::take(&mut self.reported);
        for slot in agent.threads.iter().filter(|slot| may_be_blocked(slot)) {
            let thread = slot.thread();
            let is_known = |blocked: &Blocked| !is_end && before.get(&thread) == Some(&blocked.start);
            let look = || {
                let lasts = |blocked: &Blocked| now.since(blocked.start) >= least || is_end && blocked.lock.is_none();
                let blocked = blocked(agent, slot).filter(lasts)?;
                let owner = (!is_known(&blocked)).then(|| owner(agent, slot, &blocked, &mut searched));
                Some((blocked, owner.map_or(Some(ThreadId::NONE), |owner| owner)?))
            };
            let Some((blocked, owner)) = agent.vm_memory.pass(look).flatten() else { continue };
            self.reported.insert(thread, blocked.start);
            if is_known(&blocked) {
                continue;
            }
            if let Some((lock, chain)) = self.place(agent, slot, &blocked, take) {
                let start = blocked.start;
                take(Event::LongContention(LongContention { time: now, start, thread, lock, chain, owner }));
            }
        }
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
        let known = agent.locks.at_address(locks::lane(slot.vm_thread()), blocked.monitor).map(|lock| lock.id());
        if let Some(lock) = known.or_else(|| self.unknown.get(&blocked.monitor).copied()) {
            return Some((lock, chain));
        }
        if self.unknown.len() >= MAX_UNKNOWN {
            return None;
        }
        let id = agent.locks.without_object()?;
        self.unknown.insert(blocked.monitor, id);
        let (class, name) = (UNKNOWN_CLASS.into(), found.name.clone());
        take(Event::Lock(LockDef { id, class, name, ..LockDef::default() }));
        Some((id, chain))
    }
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
    let monitor = || agent.hotspot.pending_monitor(slot.vm_thread());
    if let Some(enter) = slot.enter.peek() {
        let (start, lock, chain) = (enter.start, enter.lock, enter.chain);
        let is_recorded = enter.seq.is_some() || enter.is_reported;
        return is_recorded.then(|| Blocked { monitor: monitor(), start, lock, chain });
    }
    // Only locks with an exclusive owner: other parks are no contentions.
    if let Some(park) = slot.parks.park.peek_sent().filter(|park| park.owner.is_some()) {
        return Some(Blocked { monitor: 0, start: park.time, lock: park.blocker, chain: park.chain });
    }
    let start = TimeNs(slot.found_blocked.load(Ordering::Relaxed));
    let monitor = if start == TimeNs(0) { 0 } else { monitor() };
    let (lock, chain) = (LockId::NONE, ChainId::NONE);
    slot.is_blocked_throughout(monitor).then_some(Blocked { monitor, start, lock, chain })
}

/// The present owner of what the thread is blocked on, `NONE` if not known; `None` if the thread is not blocked on it
/// any more: a monitor is what it is only as long as that.
fn owner(agent: &Agent, slot: &Slot, on: &Blocked, searched: &mut Searched) -> Option<ThreadId> {
    let owner = match on.monitor {
        0 => synchronizer_owner(agent, slot).unwrap_or_default(),
        monitor => monitor_owner(agent, monitor, searched),
    };
    blocked(agent, slot).filter(|now| now == on).map(|_| owner)
}

fn monitor_owner(agent: &Agent, monitor: u64, searched: &mut Searched) -> ThreadId {
    let owner = agent.owner_of(monitor);
    let object = if owner.is_some() { 0 } else { agent.hotspot.object_owned_by_somebody(monitor) };
    if object == 0 {
        return owner;
    }
    if let Some(owner) = searched.get(&monitor) {
        return *owner;
    }
    if searched.len() >= SEARCHES {
        return ThreadId::NONE;
    }
    let has_it = |slot: &&Slot| agent.hotspot.lock_stack(slot.vm_thread()).contains(&object);
    let found = agent.threads.iter().find(has_it).map(|slot| agent.hotspot.mounted_on(slot));
    // A collection may have moved it meanwhile.
    let found = found.filter(|_| agent.hotspot.object_owned_by_somebody(monitor) == object).unwrap_or_default();
    searched.insert(monitor, found);
    found
}

fn synchronizer_owner(agent: &Agent, slot: &Slot) -> Option<ThreadId> {
    let known = agent.hotspot.known()?;
    agent.heap.pauses.calm(|_| {
        let fields = agent.heap.fields()?;
        let object = fields.blocker(known, fields.thread_object(known, slot.vm_thread(), false)?)?;
        fields.owner(known, object).map(ThreadId)
    })
}
