//! Feature `monitor`: contended enter, entered and exit, wait and waited, and
//! the contended re-acquisition after a wait.
//!
//! Time under a lock is sacred. [`on_contended_entered`] and
//! [`before_exit`] run while the lock is held: they take number and time and
//! append a few words. Chains are walked before blocking or after releasing.

use crate::agent::{Agent, Observer};
use crate::chain::LockEvent;
use crate::clock;
use crate::exchanged::Awaited;
use crate::jni::{Jni, Ref};
use crate::locks::{self, Lock};
use crate::observing::observer;
use crate::pressure::capture as pressure;
use crate::raw::Record;
use crate::state::{OwnerFrame, Pending, Span};
use crate::thread_entry;
use crate::threads::{Begun, InEvent, Slot};
use crate::vm::Waiter;
use headway_model::event::{
    ExitCause, MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWait, MonitorWaited,
    SpentOn, WaitOutcome, UNKNOWN_TIMEOUT,
};
use headway_model::{ChainId, DurationNs, Event, LockId, Loss, Seq, ThreadId, TimeNs};
use jni_sys::{jboolean, jlong};
use std::sync::atomic::Ordering;

/// The thread an event is about, marked as being inside an event.
struct Current {
    slot: &'static Slot,
    /// The Java thread: the platform thread, or the virtual one mounted on it.
    thread: ThreadId,
    is_virtual: bool,
    _event: InEvent<'static>,
}

/// Finds slot and identity of the current thread; `None` (counted where it is
/// a loss) if there is no slot or the recording has just ended.
fn current(agent: &'static Agent, jni: Jni, thread: Ref) -> Option<Current> {
    let vm_thread = agent.java.current_vm_thread(jni);
    let slot = match agent.threads.find(vm_thread) {
        Some(slot) => slot,
        // The VM's own doing: an ending thread wakes those who join it.
        None if agent.threads.has_left(vm_thread) => return None,
        None => thread_entry::enter_late(agent, jni, vm_thread, thread)?,
    };
    let event = InEvent::begin(slot, agent.threads.epoch());
    if !agent.is_recording() {
        return None;
    }
    let is_virtual = slot.is_carrier.load(Ordering::Relaxed) && agent.java.is_virtual(jni, thread);
    let id = if is_virtual { agent.java.thread_id(jni, thread) } else { slot.thread() };
    Some(Current { slot, thread: id, is_virtual, _event: event })
}

impl Current {
    /// Looks at the thread's name once in a while; false if a filter leaves the
    /// thread out. Never called while a lock is held that others contend for.
    fn is_wanted(&self, agent: &'static Agent, jni: Jni, thread: Ref, now: TimeNs) -> bool {
        match self.is_virtual {
            true if agent.virtuals.is_name_due(self.thread, now) => {
                thread_entry::define_virtual(agent, jni, self.thread, thread);
            }
            false if self.slot.is_name_due(now) => thread_entry::check_name(agent, jni, self.slot, thread),
            _ => {}
        }
        !self.slot.is_filtered.load(Ordering::Relaxed)
    }
}

/// JVMTI `MonitorContendedEnter`: the thread is about to block.
pub fn on_contended_enter(agent: &'static Agent, jni: Jni, thread: Ref, object: Ref) {
    let Some(current) = current(agent, jni, thread) else { return };
    let now = clock::now();
    if !current.is_wanted(agent, jni, thread, now) {
        return;
    }
    let slot = current.slot;
    if agent.pressure.is_sparing() && !current.is_virtual {
        return pressure::on_contended_enter(agent, jni, slot, object, now);
    }
    let monitor = agent.hotspot.pending_monitor(slot.vm_thread());
    let lane = locks::lane(slot.vm_thread());
    let Some(pinned) = agent.locks.pin(agent, jni, lane, monitor, object) else { return };
    let lock = pinned.lock;
    let time = clock::now();
    if agent.sampling.at(time).is_some() {
        slot.acts();
        agent.sampling.awaits(lock.id(), time);
        let begun = Begun { start: time, lock: lock.id(), pin: pinned.pin, ..Begun::default() };
        observer().contended(agent, jni, lock.id(), monitor, object);
        return match current.is_virtual {
            true => give_up(agent, agent.virtuals.begin_enter(current.thread, begun)),
            false => {
                slot.enter.begin(begun);
                observer().block(slot);
            }
        };
    }
    let seq = lock.next_seq();
    let owner = agent.owner_of(monitor);
    let place = LockEvent { core: agent, jni, slot, lock: &lock };
    let mut chain = ChainId::NONE;
    if agent.pressure.wants_contender(lock.id()) {
        chain = agent.chains.in_callback(place);
        if let Some(name) = agent.chains.name_lock(place, chain) {
            observer().lock_named(lock.id(), &name);
        }
    }
    let begun = Begun { start: time, lock: lock.id(), chain, seq, pin: pinned.pin, argument: 0, ..Begun::default() };
    match current.is_virtual {
        false => slot.enter.begin(begun),
        true => give_up(agent, agent.virtuals.begin_enter(current.thread, begun)),
    }
    observer().contended(agent, jni, lock.id(), monitor, object);
    if !current.is_virtual {
        observer().block(slot);
    }
    let enter = MonitorEnter { time, thread: current.thread, lock: lock.id(), seq, chain, owner };
    agent.append(slot, &Record::enter(&enter));
}

/// JVMTI `MonitorContendedEntered`: the thread owns the monitor now.
pub fn on_contended_entered(agent: &'static Agent, jni: Jni, thread: Ref, object: Ref) {
    let Some(current) = current(agent, jni, thread) else { return };
    let slot = current.slot;
    if !current.is_virtual {
        observer().woken(slot);
    }
    let time = clock::now();
    if agent.pressure.is_sparing() && !current.is_virtual {
        if !pressure::on_contended_entered(agent, slot, time) {
            entered_without_enter(agent, jni, &current, object, time);
        }
        return;
    }
    let begun = match current.is_virtual {
        false => slot.enter.finish(),
        true => agent.virtuals.end_enter(current.thread),
    };
    let Some(mut begun) = begun else {
        return entered_without_enter(agent, jni, &current, object, time);
    };
    agent.locks.unpin(begun.pin);
    let Some(lock) = agent.locks.by_id(begun.lock) else { return };
    observer().acquired(slot, begun.lock, time);
    if begun.seq.is_none() {
        if !begun.is_reported && !agent.sampling.records(begun.start, time) {
            return spend(agent, slot, current.thread, begun, time, SpentOn::Monitor);
        }
        agent.sampling.settles(begun.lock, time);
        begun.chain = chain_of_sampled(agent, jni, slot, &lock);
    }
    let entered = MonitorEntered {
        time,
        start: begun.start,
        thread: current.thread,
        lock: begun.lock,
        seq: lock.next_seq(),
        chain: begun.chain,
        previous_owner: lock.last_releaser(),
    };
    agent.append(slot, &Record::entered(&entered));
}

/// Adds a contention or wait that no random instant lies in to what its thread has spent. Virtual
/// threads are added up together.
fn spend(agent: &Agent, slot: &Slot, thread: ThreadId, begun: Begun, end: TimeNs, on: SpentOn) {
    let Begun { start, lock, .. } = begun;
    let thread = if thread == slot.thread() { thread } else { ThreadId::SOME_VIRTUAL };
    pressure::spend(agent, slot, Span { start, end, thread, lock, on });
}

/// The call chain of a contention that a random instant lies in. It is known only now that
/// it does: the one chain that is walked while the lock is held. Of a lock that is waited for
/// all the time that is one walk per window and waiter.
#[cold]
fn chain_of_sampled(agent: &'static Agent, jni: Jni, slot: &'static Slot, lock: &Lock<'_>) -> ChainId {
    let place = LockEvent { core: agent, jni, slot, lock };
    let chain = agent.chains.in_callback(place);
    if let Some(name) = agent.chains.name_lock(place, chain) {
        observer().lock_named(lock.id(), &name);
    }
    chain
}

/// Reports the virtual threads that have been blocked, or have waited, since before `before`,
/// once each.
pub fn report_sampled_virtual(agent: &Agent, before: TimeNs, take: &mut impl FnMut(Event)) {
    let enters = agent.virtuals.take_long_enters(before).into_iter();
    let enters = enters.filter_map(|(thread, begun)| Some((thread, enter_of(agent, thread, begun)?)));
    let waits = agent.virtuals.take_long_waits(before).into_iter();
    for (thread, event) in enters.chain(waits.map(|(thread, begun)| (thread, wait_of(thread, begun)))) {
        if agent.virtuals.is_new(thread) {
            take(Event::Thread(thread_entry::unnamed_virtual(thread)));
        }
        take(event);
    }
}

/// Reports that a platform thread has been blocked, or has waited, since before `before`, where
/// that is sampled. Draining thread only; once.
pub fn report_sampled(agent: &Agent, slot: &Slot, before: TimeNs) -> impl Iterator<Item = Event> {
    let enter = tell_sampled(&slot.enter, before).and_then(|begun| enter_of(agent, slot.thread(), begun));
    let wait = tell_sampled(&slot.wait, before).map(|begun| wait_of(slot.thread(), begun));
    enter.into_iter().chain(wait)
}

/// What began before `before` without a number, and goes on.
fn tell_sampled(pending: &Pending, before: TimeNs) -> Option<Begun> {
    pending.peek().filter(|begun| begun.seq.is_none() && begun.start < before)?;
    pending.report(before).filter(|begun| begun.seq.is_none())
}

fn enter_of(agent: &Agent, thread: ThreadId, begun: Begun) -> Option<Event> {
    let seq = agent.locks.by_id(begun.lock)?.next_seq();
    let Begun { start: time, lock, .. } = begun;
    Some(Event::MonitorEnter(MonitorEnter { time, thread, lock, seq, ..MonitorEnter::default() }))
}

/// The begin of an `Object.wait`.
pub fn wait_of(thread: ThreadId, begun: Begun) -> Event {
    let Begun { start: time, lock, seq, chain, argument, .. } = begun;
    Event::MonitorWait(MonitorWait { time, thread, lock, seq, chain, timeout: DurationNs(argument) })
}

/// A virtual thread that was resumed from `Object.wait` acquires its monitor
/// again; any other thread began to block before the recording did.
#[cold]
fn entered_without_enter(agent: &'static Agent, jni: Jni, current: &Current, object: Ref, time: TimeNs) {
    if !current.is_virtual {
        return entered_at_last(agent, jni, current, object, time);
    }
    match agent.virtuals.end_reenter(current.thread) {
        Some(begun) => {
            agent.locks.unpin(begun.pin);
            reentered(agent, current.slot, current.thread, begun, time);
        }
        None => agent.losses.add(Loss::UnpairedEntered, 1),
    }
}

/// A platform thread owns a monitor that it was found blocked on when the
/// recording began: its contention counts from then on.
fn entered_at_last(agent: &'static Agent, jni: Jni, current: &Current, object: Ref, time: TimeNs) {
    let start = TimeNs(current.slot.found_blocked.swap(0, Ordering::Relaxed));
    if current.slot.is_filtered.load(Ordering::Relaxed) {
        return;
    }
    let recorded = LockId(current.slot.found_lock.swap(0, Ordering::Relaxed));
    // The lock is held: the VM is asked only where nothing else says which one it is.
    let find = || agent.locks.by_id(recorded).or_else(|| agent.locks.of_object(agent, jni, object));
    let lock = (start != TimeNs(0)).then(find).flatten();
    let Some(lock) = lock else { return agent.losses.add(Loss::UnpairedEntered, 1) };
    let entered = MonitorEntered {
        time,
        start,
        thread: current.thread,
        lock: lock.id(),
        seq: lock.next_seq(),
        chain: ChainId::NONE,
        previous_owner: lock.last_releaser(),
    };
    agent.append(current.slot, &Record::entered(&entered));
}

/// What is known when a contended exit begins, lock still held.
pub struct ExitBegun {
    exit: MonitorExit,
    slot: &'static Slot,
    monitor: u64,
    event: InEvent<'static>,
}

/// The owner is about to release a monitor for which others queue. Only number
/// and time are taken; the VM's own release follows, then [`after_exit`].
#[inline]
pub fn before_exit(agent: &'static Agent, monitor: u64, vm_thread: u64) -> Option<ExitBegun> {
    if agent.pressure.spares_owners() {
        return None;
    }
    let slot = agent.threads.find(vm_thread)?;
    observer().before_release(agent, slot);
    let event = InEvent::begin(slot, agent.threads.epoch());
    let lock = agent.locks.at_address(locks::lane(vm_thread), monitor)?;
    let time = clock::now();
    let is_recorded = agent.sampling.settles(lock.id(), time) || slot.leaves_after_notify(lock.id());
    let seq = if is_recorded { lock.next_seq() } else { Seq::NONE };
    let thread = match slot.is_carrier.load(Ordering::Relaxed) {
        false => slot.thread(),
        true => agent.owner_of(monitor),
    };
    lock.set_last_releaser(thread);
    observer().released(slot, lock.id(), time);
    if !is_recorded {
        return None;
    }
    exit_of(agent, slot, event, monitor, MonitorExit { time, thread, lock: lock.id(), seq, ..MonitorExit::default() })
}

/// The same where the release is noticed only once it is done, before the
/// successor is woken: number and time are a little late.
pub fn after_release(agent: &'static Agent, slot: &'static Slot, lock: LockId, monitor: u64) -> Option<ExitBegun> {
    let event = InEvent::begin(slot, agent.threads.epoch());
    let time = clock::now();
    let known = agent.locks.by_id(lock)?;
    let thread = agent.hotspot.mounted_on(slot);
    known.set_last_releaser(thread);
    if !agent.sampling.settles(lock, time) && !slot.leaves_after_notify(lock) {
        return None;
    }
    let seq = known.next_seq();
    exit_of(agent, slot, event, monitor, MonitorExit { time, thread, lock, seq, ..MonitorExit::default() })
}

#[inline]
fn exit_of(
    agent: &'static Agent,
    slot: &'static Slot,
    event: InEvent<'static>,
    monitor: u64,
    mut exit: MonitorExit,
) -> Option<ExitBegun> {
    if slot.is_filtered.load(Ordering::Relaxed) {
        return None;
    }
    if monitor != 0 && agent.hotspot.waiting_monitor(slot.vm_thread()) == monitor {
        exit.cause = ExitCause::Wait;
    }
    event.pause();
    Some(ExitBegun { exit, slot, monitor, event })
}

/// The release is done and the successor awake: walk and record.
#[inline]
pub fn after_exit(agent: &'static Agent, begun: ExitBegun, caller_fp: u64) {
    begun.event.resume();
    let mut exit = begun.exit;
    if !agent.pressure.wants_owner(exit.lock) {
        // Only its chain would be news.
        return;
    }
    let wait = match exit.cause {
        ExitCause::Wait if begun.slot.is_carrier.load(Ordering::Relaxed) => agent.virtuals.waiting(exit.thread),
        _ => None,
    };
    let owner_frame = match (wait, exit.cause) {
        // A virtual thread's frames have left the stack before it releases.
        (Some(wait), _) => {
            exit.chain = wait.chain;
            wait.owner_frame
        }
        (None, ExitCause::Exit) => {
            exit.chain = agent.chains.at_exit(agent, begun.slot, caller_fp);
            OwnerFrame::default()
        }
        (None, ExitCause::Wait) => {
            exit.chain = agent.chains.at_exit(agent, begun.slot, caller_fp);
            agent.chains.owner_frame(agent, begun.slot, exit.chain, begun.monitor)
        }
    };
    exit.owner_frame = owner_frame.frame;
    exit.owner_approximate = owner_frame.approximate;
    agent.append(begun.slot, &Record::exit(&exit));
}

/// JVMTI `MonitorWait`: the thread, owning the monitor, begins `Object.wait`.
pub fn on_wait(agent: &'static Agent, jni: Jni, thread: Ref, object: Ref, timeout_ms: jlong) {
    let Some(current) = current(agent, jni, thread) else { return };
    if !current.is_wanted(agent, jni, thread, clock::now()) {
        return;
    }
    let slot = current.slot;
    let Some(lock) = agent.locks.of_object(agent, jni, object) else { return };
    let time = clock::now();
    let is_sampled = agent.sampling.at(time).is_some();
    let seq = if is_sampled { Seq::NONE } else { lock.next_seq() };
    // Where waits are sampled, the chain is walked when one is over; a virtual thread has no
    // frames on the stack then.
    let takes_chain = !is_sampled || current.is_virtual;
    let chain = match takes_chain && agent.pressure.wants_contender(lock.id()) {
        true => agent.chains.in_callback(LockEvent { core: agent, jni, slot, lock: &lock }),
        false => ChainId::NONE,
    };
    // A limit of 292 years and more is none.
    let timeout = u64::try_from(timeout_ms).unwrap_or(0).saturating_mul(1_000_000);
    let timeout = Some(DurationNs(timeout)).filter(|timeout| *timeout < UNKNOWN_TIMEOUT).unwrap_or_default();
    let owner_frame = match current.is_virtual && chain.is_some() {
        true => agent.chains.owner_frame_of(agent, slot, chain, |known| known.object_behind(object)),
        false => OwnerFrame::default(),
    };
    let begun =
        Begun { start: time, lock: lock.id(), chain, seq, argument: timeout.0, owner_frame, ..Begun::default() };
    slot.notifier.store(0, Ordering::Relaxed);
    match current.is_virtual {
        false => slot.wait.begin(begun),
        true => give_up(agent, agent.virtuals.begin_wait(current.thread, begun)),
    }
    if !current.is_virtual {
        observer().block(slot);
    }
    if is_sampled {
        return slot.acts();
    }
    let wait = MonitorWait { time, thread: current.thread, lock: lock.id(), seq, chain, timeout };
    agent.append(slot, &Record::wait(&wait));
}

/// JVMTI `MonitorWaited`: the wait is over, the monitor not yet owned again.
pub fn on_waited(agent: &'static Agent, jni: Jni, thread: Ref, object: Ref, timed_out: jboolean) {
    let Some(current) = current(agent, jni, thread) else { return };
    let slot = current.slot;
    let time = clock::now();
    let begun = match current.is_virtual {
        true => agent.virtuals.end_wait(current.thread),
        false if agent.sampling.is_used() || slot.wait.is_without_lock() => slot.wait.finish(),
        false => slot.wait.end(),
    };
    let Some(mut begun) = begun else { return };
    let lock = match begun.lock.is_none() {
        // It was under way when the recording began.
        true => agent.locks.of_object(agent, jni, object),
        false => agent.locks.by_id(begun.lock),
    };
    let Some(lock) = lock else { return };
    begun.lock = lock.id();
    let reenter = if current.is_virtual { agent.virtuals.reentering(current.thread) } else { None };
    let notifier = match current.is_virtual {
        false => ThreadId(slot.notifier.swap(0, Ordering::Relaxed)),
        true => reenter.map_or(ThreadId::NONE, |begun| ThreadId(begun.argument)),
    };
    let outcome = outcome_of_wait(agent, jni, thread, &current, (timed_out, notifier));
    if !current.is_virtual {
        observe_waited(agent, slot, &begun, outcome, time);
    }
    let is_numbered = begun.seq.is_some() && agent.sampling.at(time).is_none();
    let seq = if is_numbered { lock.next_seq() } else { Seq::NONE };
    if current.is_virtual {
        // The VM reports the end of the re-acquisition by a contended entered
        // without an enter. A notify that was seen began it earlier.
        let begin = || Begun { start: time, seq, pin: 0, argument: 0, is_reported: false, ..begun };
        agent.virtuals.begin_reenter(current.thread, begin);
    }
    let mut end = time;
    if !is_numbered {
        let reenter = reenter.or_else(|| slot.reenter.peek()).filter(|_| notifier.is_some());
        end = end_of_sampled(&begun, reenter, time);
    }
    if begun.seq.is_none() {
        if !begun.is_reported && !agent.sampling.records(begun.start, end) {
            return spend(agent, slot, current.thread, begun, end, SpentOn::Wait);
        }
        if !current.is_virtual {
            begun.chain = agent.chains.in_callback(LockEvent { core: agent, jni, slot, lock: &lock });
        }
    }
    let waited = MonitorWaited {
        time: end,
        start: begun.start,
        thread: current.thread,
        lock: begun.lock,
        seq,
        chain: begun.chain,
        timeout: DurationNs(begun.argument),
        outcome,
        notifier,
    };
    agent.append(slot, &Record::waited(&waited));
}

/// Why a wait is over. `ended` says whether the VM calls it timed out, and who notified the thread.
fn outcome_of_wait(
    agent: &Agent,
    jni: Jni,
    thread: Ref,
    current: &Current,
    ended: (jboolean, ThreadId),
) -> WaitOutcome {
    let (timed_out, notifier) = ended;
    match (timed_out, notifier.is_some()) {
        (_, true) => WaitOutcome::Notified,
        // Interrupted before it began to wait: the monitor was never released.
        _ if !current.is_virtual && agent.hotspot.never_waited(current.slot.vm_thread()) => WaitOutcome::Interrupted,
        (true, false) => WaitOutcome::TimedOut,
        (false, false) if agent.java.is_interrupted(jni, thread) => WaitOutcome::Interrupted,
        (false, false) => WaitOutcome::Notified,
    }
}

/// A platform thread's wait is over: shows that to the observer.
fn observe_waited(agent: &'static Agent, slot: &'static Slot, begun: &Begun, outcome: WaitOutcome, time: TimeNs) {
    if outcome != WaitOutcome::Notified {
        return observer().returned(slot);
    }
    agent.samples.got(&slot.exchanged, awaited(begun), time);
    observer().woken(slot);
    // Until it has the monitor again.
    observer().block(slot);
}

/// What was waited for.
fn awaited(begun: &Begun) -> Awaited {
    Awaited { lock: begun.lock, chain: begun.chain, since: begun.start }
}

/// When a wait that is sampled was over: at the notify, if it was seen. That the waiter noticed
/// came later, and where its re-acquisition is not recorded nothing says when that began.
fn end_of_sampled(wait: &Begun, reenter: Option<Begun>, now: TimeNs) -> TimeNs {
    reenter.map_or(now, |reenter| reenter.start).clamp(wait.start, now.max(wait.start))
}

/// The notifier chose a waiter: the waiter's contended re-acquisition begins.
/// Called while the notifier owns the monitor.
pub fn on_notify(agent: &'static Agent, monitor: u64, notifier: u64, waiter: Waiter) {
    let Some(slot) = agent.threads.find(notifier) else { return };
    let Some((waiter, waiting)) = waiting(agent, waiter) else { return };
    let _event = InEvent::begin(slot, agent.threads.epoch());
    let Some(lock) = agent.locks.by_id(waiting.lock) else { return };
    let time = clock::now();
    let is_sampled = agent.sampling.at(time).is_some();
    let seq = if is_sampled { Seq::NONE } else { lock.next_seq() };
    let thread = match slot.is_carrier.load(Ordering::Relaxed) {
        false => slot.thread(),
        true => agent.owner_of(monitor),
    };
    let pin = agent.locks.pin_known(locks::lane(notifier), monitor, lock);
    let of_platform = match waiter {
        Waiting::Platform(waiter) => Some(&waiter.exchanged),
        Waiting::Virtual(_) => None,
    };
    agent.samples.gave(&slot.exchanged, awaited(&waiting), of_platform, time);
    let begun =
        Begun { start: time, lock: lock.id(), chain: waiting.chain, seq, pin, argument: thread.0, ..Begun::default() };
    let waiter = match waiter {
        Waiting::Platform(slot) => {
            slot.notifier.store(thread.0, Ordering::Relaxed);
            slot.reenter.begin(begun);
            slot.thread()
        }
        Waiting::Virtual(id) => {
            agent.virtuals.begin_reenter(id, || begun);
            id
        }
    };
    if is_sampled {
        // The wait ends now: whether it is recorded is decided.
        if waiting.seq.is_none() && !agent.sampling.records(waiting.start, time) {
            return;
        }
        slot.notified_in.store(lock.id().0, Ordering::Relaxed);
    }
    agent.append(slot, &Record::notify(&MonitorNotify { time, thread, waiter, lock: lock.id(), seq }));
}

/// A thread in `Object.wait`.
enum Waiting {
    Platform(&'static Slot),
    Virtual(ThreadId),
}

/// Who waits, and since when; `None` if its wait was not recorded.
fn waiting(agent: &'static Agent, waiter: Waiter) -> Option<(Waiting, Begun)> {
    let slot = agent.threads.find(waiter.vm_thread);
    if let Some((slot, begun)) = slot.and_then(|slot| slot.wait.peek().map(|begun| (slot, begun))) {
        return Some((Waiting::Platform(slot), begun));
    }
    // Before JDK 24 a virtual thread keeps its carrier while it waits.
    let id = slot.map_or(waiter.virtual_thread, |slot| agent.hotspot.mounted_on(slot));
    let begun = agent.virtuals.waiting(id)?;
    Some((Waiting::Virtual(id), begun))
}

/// A re-acquisition that was never seen to end.
fn give_up(agent: &Agent, stale: Option<Begun>) {
    if let Some(begun) = stale {
        agent.locks.unpin(begun.pin);
    }
}

/// A waiter owns its monitor again.
pub fn on_reentered(agent: &'static Agent, monitor: u64, vm_thread: u64) {
    let Some(slot) = agent.threads.find(vm_thread) else { return };
    let _event = InEvent::begin(slot, agent.threads.epoch());
    observer().woken(slot);
    let time = clock::now();
    if let Some(begun) = slot.reenter.end() {
        agent.locks.unpin(begun.pin);
        observer().acquired(slot, begun.lock, time);
        reentered(agent, slot, slot.thread(), begun, time);
    } else if slot.is_carrier.load(Ordering::Relaxed) {
        // On JDK 21 a waiting virtual thread keeps its carrier.
        let thread = agent.owner_of(monitor);
        if let Some(begun) = agent.virtuals.end_reenter(thread) {
            agent.locks.unpin(begun.pin);
            reentered(agent, slot, thread, begun, time);
        }
    }
}

/// The end of a re-acquisition, which is sampled as any other contention.
fn reentered(agent: &Agent, slot: &Slot, thread: ThreadId, mut begun: Begun, time: TimeNs) {
    let Some(lock) = agent.locks.by_id(begun.lock) else { return };
    if begun.seq.is_none() {
        if !agent.sampling.records(begun.start, time) {
            return spend(agent, slot, thread, begun, time, SpentOn::Monitor);
        }
        agent.sampling.settles(begun.lock, time);
        if begun.chain.is_none() {
            begun.chain = agent.chains.at_reenter(agent, slot);
        }
    }
    let reentered = MonitorReentered {
        time,
        start: begun.start,
        thread,
        lock: begun.lock,
        start_seq: begun.seq,
        seq: lock.next_seq(),
        chain: begun.chain,
        bound: false,
    };
    agent.append(slot, &Record::reentered(&reentered));
}
