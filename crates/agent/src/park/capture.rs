//! What the hooks do on application threads: number, time, who, on what.
//!
//! All parks and unparks of the process share one order: an unpark takes its
//! number before it gives the permit, a park takes one before it parks and one
//! when it is back. So the unpark that ended a park has a smaller number than
//! the park's end, whatever their clocks say.

use super::blocker::{remembered, Blocker, Parking};
use super::parks;
use super::under_way;
use super::virtual_threads::{VirtualPark, VirtualThreads};
use super::Counting;
use crate::agent::{Agent, Observer};
use crate::chain::Side;
use crate::clock;
use crate::exchanged::{Awaited, Exchanged};
use crate::jni::{Jni, Ref};
use crate::observing::observer;
use crate::pressure::capture as pressure;
use crate::raw::Record;
use crate::state::{Given, InProgress, Permit, Short, Span, ThreadParks};
use crate::thread_entry;
use crate::threads::{InCall, InEvent, Slot, NAME_CHECK_NS};
use headway_model::event::{
    MonitorExit, Park, ParkBegin, ParkLimit, ParkOutcome, SpentOn, Unpark, VirtualMount, VirtualPinned,
};
use headway_model::schedule::Schedule;
use headway_model::{ChainId, DurationNs, LockId, Loss, Seq, ThreadId, TimeNs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// The VM's thread, entered now if no event announced it.
#[inline]
fn slot_of_current(agent: &'static Agent, jni: Jni) -> Option<&'static Slot> {
    let vm_thread = agent.java.current_vm_thread(jni);
    agent.threads.find(vm_thread).or_else(|| slot_late(agent, jni, vm_thread))
}

#[cold]
fn slot_late(agent: &'static Agent, jni: Jni, vm_thread: u64) -> Option<&'static Slot> {
    let thread = agent.jvmti.current_thread().ok()?;
    let slot = thread_entry::enter_late(agent, jni, vm_thread, thread);
    jni.forget(thread);
    slot
}

/// A park of the current platform thread that began is over.
pub fn end_platform_of_current(agent: &'static Agent, jni: Jni) {
    if let Some(slot) = slot_of_current(agent, jni) {
        end_platform(agent, jni, slot);
    }
}

/// The virtual thread mounted on a carrier; `None` if there is none.
fn mounted(agent: &'static Agent, jni: Jni, slot: &Slot) -> Option<ThreadId> {
    let calm = agent.heap.pauses.calm(|_| {
        let known = agent.hotspot.known()?;
        headway_hotspot::thread::current_thread_id(&known.layout, &known.memory, slot.vm_thread())
    });
    let id = calm.map(ThreadId).or_else(|| {
        let thread = agent.jvmti.current_thread().ok()?;
        let id = agent.java.thread_id(jni, thread);
        jni.forget(thread);
        Some(id)
    })?;
    (id != slot.thread()).then_some(id)
}

/// Where a park begins and ends.
struct Current<'a> {
    agent: &'static Agent,
    jni: Jni,
    slot: &'static Slot,
    thread: ThreadId,
    is_virtual: bool,
    park: &'a InProgress,
    permit: &'a Permit,
    /// True if the park, which begins, is to be left out of what is counted.
    is_thinned: bool,
}

impl Current<'_> {
    /// True if parks are counted and nothing is recorded.
    #[inline]
    fn only_counts(&self) -> bool {
        parks().counting() == Counting::Only
    }

    /// True if the thread adds up how long it parks: nothing else is recorded.
    #[inline]
    fn spends(&self) -> bool {
        !self.is_virtual && self.agent.pressure.is_sparing()
    }
}

/// The time by the coarse clock, if even counting is too much now: threads that park often are looked
/// at closely only next to random instants.
#[inline]
fn thinning(agent: &Agent) -> Option<TimeNs> {
    let thins = agent.sampling.thins()
        && agent.is_recording()
        && !agent.pressure.is_sparing()
        && parks().counting() != Counting::Only;
    thins.then(clock::coarse)
}

/// True if the thread did the same in this step of the coarse clock before; the first time is not thinned
/// out. That depends on the thread alone and not on where instants lie, so that estimates are unbiased.
#[inline]
fn is_again(last: &AtomicU64, step: TimeNs) -> bool {
    let is_again = last.load(Ordering::Relaxed) == step.0;
    if !is_again {
        last.store(step.0, Ordering::Relaxed);
    }
    is_again
}

/// A thinned park of a platform thread that begins far from any random instant: only when and on what is noted, in
/// case it goes on. False if there is more to do.
#[inline]
fn begin_thinned(agent: &'static Agent, jni: Jni, slot: &'static Slot, coarse: TimeNs, limit: ParkLimit) -> bool {
    let _call = InCall::begin(slot);
    let is_special = slot.is_filtered.load(Ordering::Relaxed) || slot.parks.found.load(Ordering::Relaxed) != 0;
    if is_special || agent.sampling.calm_since(coarse).is_none() {
        return false;
    }
    let Some(Blocker { id: blocker, owner }) = remembered_blocker(agent, jni, slot, false) else { return false };
    let (thread, seq) = (slot.thread(), Seq(coarse.0));
    let begin = ParkBegin { time: coarse, thread, seq, limit, blocker, owner, ..ParkBegin::default() };
    slot.parks.park.begin(&begin, false);
    slot.parks.park.set_thinned();
    true
}

/// What the current thread parks on, if that takes no call of the VM.
#[inline]
fn remembered_blocker(agent: &'static Agent, jni: Jni, slot: &'static Slot, is_virtual: bool) -> Option<Blocker> {
    let parking = Parking { agent, jni, slot, is_virtual };
    remembered(&parking, agent.heap.fields()?, &agent.heap.pauses)
}

/// A thinned park is over, and no random instant was near: nothing is recorded. False if there is more to do.
#[inline]
fn end_thinned(agent: &'static Agent, slot: &Slot, park: &InProgress, permit: &Permit) -> bool {
    let _call = InCall::begin(slot);
    let is_over = agent.sampling.calm_since(clock::coarse()).is_some_and(|since| park.end_unsent(since));
    if is_over {
        // Who gave it is of no interest to the next park.
        permit.take(None);
    }
    is_over
}

/// A platform thread is about to park. `None` if its end is of no interest.
#[inline]
pub fn begin_platform(agent: &'static Agent, jni: Jni, limit: ParkLimit) -> Option<&'static Slot> {
    let slot = slot_of_current(agent, jni)?;
    // When a carrier comes back from being idle, its virtual threads' parks need to know.
    let often = thinning(agent)
        .filter(|step| !slot.is_carrier.load(Ordering::Relaxed) && is_again(&slot.parks.steps.parked, *step));
    if often.is_some_and(|step| begin_thinned(agent, jni, slot, step, limit)) {
        return Some(slot);
    }
    let _event = InEvent::begin(slot, agent.threads.epoch());
    if !agent.is_recording() {
        return None;
    }
    let time = clock::now();
    // A virtual thread that cannot leave its carrier parks with it; the park
    // was seen when it began for the virtual thread.
    if slot.is_carrier.load(Ordering::Relaxed) {
        if let Some(thread) = mounted(agent, jni, slot) {
            slot.parks.pinned.store(thread.0, Ordering::Relaxed);
            slot.parks.pinned_since_ns.store(time.0, Ordering::Relaxed);
            return Some(slot);
        }
    }
    if slot.is_name_due(time) {
        look_at_name(agent, jni, slot);
    }
    if slot.is_filtered.load(Ordering::Relaxed) {
        return None;
    }
    if slot.parks.found.load(Ordering::Relaxed) != 0 {
        under_way::over(agent, slot);
    }
    let (park, permit) = (&slot.parks.park, &slot.parks.permit);
    let is_thinned = often.is_some();
    let current = Current { agent, jni, slot, thread: slot.thread(), is_virtual: false, park, permit, is_thinned };
    begin(&current, limit, time);
    observer().block(slot);
    Some(slot)
}

#[cold]
fn look_at_name(agent: &'static Agent, jni: Jni, slot: &Slot) {
    if let Ok(thread) = agent.jvmti.current_thread() {
        thread_entry::check_name(agent, jni, slot, thread);
        jni.forget(thread);
    }
}

/// It is back.
#[inline]
pub fn end_platform(agent: &'static Agent, jni: Jni, slot: &'static Slot) {
    let (park, permit) = (&slot.parks.park, &slot.parks.permit);
    if park.is_thinned() && end_thinned(agent, slot, park, permit) {
        return;
    }
    let _event = InEvent::begin(slot, agent.threads.epoch());
    if slot.parks.pinned_since_ns.load(Ordering::Relaxed) != 0 {
        return end_pinned(agent, jni, slot);
    }
    let is_thinned = park.is_thinned();
    let current = Current { agent, jni, slot, thread: slot.thread(), is_virtual: false, park, permit, is_thinned };
    end(&current, || is_known_now(&slot.parks.known));
}

/// Notes that the end of a park of the thread was observed; whether one was before. Only the thread itself
/// does that, so that no atomic exchange is needed, which takes longer.
#[inline]
fn is_known_now(known: &AtomicBool) -> bool {
    let before = known.load(Ordering::Relaxed);
    known.store(true, Ordering::Relaxed);
    before
}

/// A virtual thread that kept its carrier is back.
#[cold]
fn end_pinned(agent: &'static Agent, jni: Jni, slot: &'static Slot) {
    let time = clock::now();
    let ThreadParks { pinned, pinned_since_ns, pinned_until_ns, .. } = &slot.parks;
    let start = TimeNs(pinned_since_ns.swap(0, Ordering::Relaxed));
    pinned_until_ns.store(time.0, Ordering::Relaxed);
    // Nothing is recorded one by one where parks are only counted or added up.
    if !agent.is_recording() || parks().counting() == Counting::Only || agent.pressure.is_sparing() {
        return;
    }
    let (thread, carrier) = (ThreadId(pinned.load(Ordering::Relaxed)), slot.thread());
    name_waker(agent, jni, thread, time);
    let chain = agent.chains.in_native(agent, jni, slot, Side::Blocks);
    let monitors_pin = agent.java.version < VirtualPinned::MONITORS_PIN_UNTIL;
    let monitor_frame = monitors_pin.then(|| agent.chains.monitor_frame(agent, slot, chain)).flatten();
    let span = VirtualPinned { time, start, thread, carrier, chain, monitor_frame };
    agent.append(slot, &Record::virtual_pinned(&span));
}

/// A virtual thread was unparked and runs.
#[inline]
fn mounts(current: &Current<'_>, begin: &ParkBegin, given: Option<Given>, time: TimeNs) {
    let Current { agent, slot, .. } = *current;
    let unparked = given.map_or(TimeNs(0), |given| given.time);
    // A permit from before the park did not end a wait; who keeps a carrier waits for none.
    if unparked < begin.time || slot.parks.kept_by(begin.thread, begin.time) {
        return;
    }
    let ready = TimeNs(slot.parks.ready_ns.load(Ordering::Relaxed)).clamp(unparked, time.max(unparked));
    let (thread, carrier, blocker) = (begin.thread, slot.thread(), begin.blocker);
    let mount = VirtualMount { time, unparked, ready, thread, carrier, blocker };
    agent.append(slot, &Record::virtual_mount(&mount));
}

/// A virtual thread is about to park. A token for its end; 0 if that is of no
/// interest.
#[inline]
pub fn begin_virtual(agent: &'static Agent, jni: Jni, limit: ParkLimit) -> u64 {
    let Some(slot) = slot_of_current(agent, jni) else { return 0 };
    let _event = InEvent::begin(slot, agent.threads.epoch());
    if !agent.is_recording() {
        return 0;
    }
    let Some(thread) = mounted(agent, jni, slot) else { return 0 };
    let now = clock::now();
    let Some((number, place)) = parks().virtuals.place_of(thread, now) else {
        agent.losses.add(Loss::ThreadTableFull, 1);
        return 0;
    };
    // Where parks are sampled, at the end of those that are recorded.
    if agent.sampling.at(now).is_none() && place.is_name_due(now, NAME_CHECK_NS) {
        define_virtual(agent, jni, thread, now);
    }
    let VirtualPark { park, permit, .. } = place;
    let often = thinning(agent).filter(|step| is_again(&slot.parks.steps.parked, *step));
    let known = often
        .filter(|step| agent.sampling.calm_since(*step).is_some())
        .and_then(|_| remembered_blocker(agent, jni, slot, true));
    if let Some(Blocker { id: blocker, owner }) = known {
        let seq = parks().next_unrecorded();
        park.begin(&ParkBegin { time: now, thread, seq, limit, blocker, owner, ..ParkBegin::default() }, false);
        park.set_thinned();
    } else {
        let is_thinned = often.is_some();
        begin(&Current { agent, jni, slot, thread, is_virtual: true, park, permit, is_thinned }, limit, now);
    }
    VirtualThreads::token(number, park.seq())
}

#[cold]
fn define_virtual(agent: &'static Agent, jni: Jni, thread: ThreadId, now: TimeNs) {
    if !agent.virtuals.is_name_due(thread, now) {
        return;
    }
    if let Ok(object) = agent.jvmti.current_thread() {
        thread_entry::define_virtual(agent, jni, thread, object);
        jni.forget(object);
    }
}

/// It is back, on whichever carrier.
#[inline]
pub fn end_virtual(agent: &'static Agent, jni: Jni, token: u64) {
    let Some(slot) = slot_of_current(agent, jni) else { return };
    let Some(place) = parks().virtuals.of_token(token) else { return };
    let VirtualPark { park, permit, .. } = place;
    if park.is_thinned() && end_thinned(agent, slot, park, permit) {
        return;
    }
    let _event = InEvent::begin(slot, agent.threads.epoch());
    let is_thinned = park.is_thinned();
    let current = Current { agent, jni, slot, thread: ThreadId::NONE, is_virtual: true, park, permit, is_thinned };
    end(&current, || is_known_now(&place.known));
}

#[inline]
fn begin(current: &Current<'_>, limit: ParkLimit, time: TimeNs) {
    let Current { agent, jni, slot, thread, is_virtual, .. } = *current;
    let (spends, only_counts) = (current.spends(), current.only_counts());
    let schedule = agent.sampling.at(time).filter(|_| !spends && !only_counts);
    let is_sampled = schedule.is_some();
    let is_thinned = current.is_thinned && schedule.is_some_and(|schedule| schedule.thins());
    // Where each park is recorded, its number stands for it; else its time does.
    let seq = match is_virtual {
        true if is_sampled => parks().next_unrecorded(),
        false if spends || only_counts || is_sampled => Seq(time.0),
        _ => parks().next_seq(),
    };
    let parking = Parking { agent, jni, slot, is_virtual };
    let blocker = parks().blockers.of_current(&parking, agent.heap.fields(), &agent.heap.pauses);
    let walk = || agent.chains.in_native(agent, jni, slot, Side::Blocks);
    let chain = match !only_counts && !is_sampled && agent.pressure.wants_contender(blocker.id) {
        true => walk(),
        false => ChainId::NONE,
    };
    let begin = ParkBegin { time, thread, seq, chain, blocker: blocker.id, owner: blocker.owner, limit };
    if !spends && !is_thinned {
        count_park(agent, &begin, || if only_counts || is_sampled { walk() } else { chain });
    }
    if is_sampled {
        agent.sampling.awaits(blocker.id, time);
        current.park.begin(&begin, false);
        if is_thinned {
            current.park.set_thinned();
        }
        return;
    }
    if only_counts {
        return current.park.begin(&begin, true);
    }
    let tells_now = !spends && parks().floor() == DurationNs::ZERO;
    current.park.begin(&begin, tells_now);
    if tells_now {
        agent.append(slot, &Record::park_begin(&begin));
    }
}

#[inline]
fn end(current: &Current<'_>, was_known: impl FnOnce() -> bool) {
    let Current { agent, slot, .. } = *current;
    let time = clock::now();
    if current.spends() {
        return end_sparing(current, time);
    }
    if current.only_counts() {
        let ended = current.park.end().filter(|_| agent.is_recording());
        return ended.iter().for_each(|(begin, _)| count_return(agent, begin, time));
    }
    if !current.is_virtual {
        slot.parks.ready_ns.store(time.0, Ordering::Relaxed);
    }
    let is_sampled = agent.sampling.is_used() && current.park.is_sampled();
    if current.is_thinned && !is_sampled {
        // It began in another recording.
        current.park.end();
        return;
    }
    let seq = (!is_sampled).then(|| parks().next_seq());
    let Some((mut begin, is_told)) = current.park.end() else { return };
    let (outcome, given) = outcome(current, &begin, time, was_known);
    let is_left_out = seq.is_none() && !is_told && !agent.sampling.records(begin.time, time);
    if seq.is_none() && !is_left_out {
        agent.sampling.settles(begin.blocker, time);
        begin.chain = agent.chains.in_native(agent, current.jni, slot, Side::Blocks);
        if current.is_virtual {
            define_virtual(agent, current.jni, begin.thread, time);
        }
    }
    if outcome == ParkOutcome::Unparked && !current.is_virtual {
        let awaited = Awaited { lock: begin.blocker, chain: begin.chain, since: begin.time };
        agent.samples.got(&slot.exchanged, awaited, time);
    }
    match outcome {
        _ if current.is_virtual => {}
        ParkOutcome::TimedOut | ParkOutcome::Interrupted => observer().returned(slot),
        ParkOutcome::Unparked | ParkOutcome::Unknown | ParkOutcome::Spurious => observer().woken(slot),
    }
    if !current.is_virtual {
        observer().acquired(slot, begin.blocker, time);
    }
    if !agent.is_recording() {
        return;
    }
    if !current.is_thinned {
        count_return(agent, &begin, time);
    }
    if is_left_out && current.is_virtual && parks().tells_mounts.load(Ordering::Relaxed) {
        mounts(current, &begin, given, time);
    }
    if current.is_thinned {
        if is_left_out {
            return;
        }
        add_others(current, &begin, time);
    }
    if !is_told {
        let duration = time.since(begin.time);
        if is_left_out || seq.is_some() && duration < parks().floor() {
            let ParkBegin { thread, blocker, chain, .. } = begin;
            let thread = if is_left_out && current.is_virtual { ThreadId::SOME_VIRTUAL } else { thread };
            return add_up(agent, slot, Short { time, thread, blocker, chain, duration, count: 1 });
        }
        if seq.is_some() {
            agent.append(slot, &Record::park_begin(&begin));
        }
    }
    if current.is_virtual && parks().tells_mounts.load(Ordering::Relaxed) {
        mounts(current, &begin, given, time);
    }
    let park = Park {
        time,
        start: begin.time,
        thread: begin.thread,
        start_seq: if seq.is_some() { begin.seq } else { Seq::NONE },
        seq: seq.unwrap_or_else(|| parks().next_seq()),
        chain: begin.chain,
        blocker_class: Arc::default(),
        blocker: begin.blocker,
        owner: begin.owner,
        limit: begin.limit,
        outcome,
        unpark: given.map_or(Seq::NONE, |given| given.recorded_seq()),
        waker: given.map_or(ThreadId::NONE, |given| given.waker),
    };
    agent.append(slot, &Record::park(&park));
}

/// Adds to the sums of parks that are not recorded one by one.
fn add_up(agent: &Agent, slot: &Slot, parks: Short) {
    let due = slot.parks.short.get_or_init(Box::default).add(parks);
    due.iter().for_each(|sum| agent.append(slot, &Record::short_parks(sum)));
}

/// Adds up as many parks as this one, which was thinned and recorded by chance, stands for beside itself.
#[cold]
fn add_others(current: &Current<'_>, begin: &ParkBegin, time: TimeNs) {
    let Current { agent, slot, .. } = *current;
    let Some(schedule) = agent.sampling.at(time).filter(|schedule| begin.time >= schedule.from()) else { return };
    let thread = if current.is_virtual { ThreadId::SOME_VIRTUAL } else { begin.thread };
    let count = schedule.others(begin.time, time, time.0 ^ begin.thread.0);
    if count > 0 {
        let (blocker, chain, duration) = (begin.blocker, ChainId::NONE, time.since(begin.time));
        add_up(agent, slot, Short { time, thread, blocker, chain, duration, count });
    }
}

/// A park is over and nothing but pressure is recorded: why it ended is no news.
#[inline]
fn end_sparing(current: &Current<'_>, time: TimeNs) {
    let Current { agent, slot, .. } = *current;
    let Some((begin, is_told)) = current.park.end().filter(|_| agent.is_recording()) else { return };
    let ParkBegin { time: start, thread, blocker, chain, owner, limit, .. } = begin;
    if is_told || chain.is_some() {
        let park = Park { time, start, thread, chain, blocker, owner, limit, ..Park::default() };
        return agent.append(slot, &Record::park(&park));
    }
    let on = if owner.is_some() { SpentOn::OwnedPark } else { SpentOn::Park };
    pressure::spend(agent, slot, Span { start, end: time, thread, lock: blocker, on });
}

/// Adds a park that begins to the statistics of its blocker; `chain` is asked for
/// where times are measured from this one on.
#[inline]
pub fn count_park(agent: &Agent, begin: &ParkBegin, chain: impl FnOnce() -> ChainId) {
    let ParkBegin { blocker, time, thread, .. } = *begin;
    let counts = blocker.is_some() && parks().counting() != Counting::No;
    if counts && agent.locks.parks().parks(blocker.0, time.0) {
        agent.locks.parks().measured(blocker.0, thread.0, chain().0, time.0);
    }
}

/// Adds its end.
#[inline]
pub fn count_return(agent: &Agent, begin: &ParkBegin, time: TimeNs) {
    if begin.blocker.is_some() && parks().counting() != Counting::No {
        agent.locks.parks().returns(begin.blocker.0, time.0);
    }
}

/// True if who gave the permit may have been left out, because parks are thinned out.
#[cold]
fn may_have_been_missed(current: &Current<'_>) -> bool {
    current.is_thinned || current.agent.sampling.thins()
}

/// When a park gives up, if that is known.
fn deadline(begin: &ParkBegin) -> Option<TimeNs> {
    match begin.limit {
        ParkLimit::None | ParkLimit::Unknown => None,
        ParkLimit::For(duration) => Some(begin.time + duration),
        ParkLimit::UntilEpochMs(ms) => {
            let until = (ms as i64).saturating_mul(1_000_000).saturating_sub(clock::epoch_offset_ns());
            Some(TimeNs(u64::try_from(until).unwrap_or(0)))
        }
    }
}

/// True if a permit from before a park that reached its limit did not end it: with that permit it had come back at once. It
/// came as the thread's former park reached its limit, and the VM took it then.
fn is_of_former_park(given: TimeNs, begin: TimeNs, deadline: Option<TimeNs>, now: TimeNs) -> bool {
    /// A thread that comes back at once may have no CPU for so long.
    const AT_ONCE: DurationNs = DurationNs(1_000_000);
    given < begin && deadline.is_some_and(|deadline| now >= deadline && deadline >= begin + AT_ONCE)
}

/// Why a park ended: the first of these that is seen.
fn outcome(
    current: &Current<'_>,
    begin: &ParkBegin,
    now: TimeNs,
    was_known: impl FnOnce() -> bool,
) -> (ParkOutcome, Option<Given>) {
    let was_known = was_known();
    let deadline = deadline(begin);
    // A thinned park may have begun that much later.
    let late = if current.is_thinned { DurationNs(2 * clock::coarse_step().0) } else { DurationNs::ZERO };
    let given = current.permit.take(deadline.map(|deadline| deadline + late));
    if let Some(given) = given.filter(|given| !is_of_former_park(given.time, begin.time, deadline, now)) {
        return (ParkOutcome::Unparked, Some(given));
    }
    if is_interrupted(current) {
        return (ParkOutcome::Interrupted, None);
    }
    if deadline.is_some_and(|deadline| now >= deadline) {
        return (ParkOutcome::TimedOut, None);
    }
    match current.permit.take_again() {
        Some(given) => (ParkOutcome::Unparked, Some(given)),
        // The permit may have been given before the recording began, or its giver been left out.
        None if !was_known || may_have_been_missed(current) => (ParkOutcome::Unknown, None),
        None => (ParkOutcome::Spurious, None),
    }
}

fn is_interrupted(current: &Current<'_>) -> bool {
    let Current { agent, jni, slot, is_virtual, .. } = *current;
    let read = agent.heap.pauses.calm(|_| {
        let (fields, known) = (agent.heap.fields()?, agent.hotspot.known()?);
        fields.is_interrupted(known, fields.thread_object(known, slot.vm_thread(), is_virtual)?)
    });
    read.unwrap_or_else(|| {
        let Ok(thread) = agent.jvmti.current_thread() else { return false };
        let is_interrupted = agent.java.is_interrupted(jni, thread);
        jni.forget(thread);
        is_interrupted
    })
}

/// A virtual thread may wake others without ever parking itself.
fn name_waker(agent: &'static Agent, jni: Jni, thread: ThreadId, now: TimeNs) {
    let place = parks().virtuals.place_of(thread, now);
    if place.is_some_and(|(_, place)| place.is_name_due(now, NAME_CHECK_NS)) {
        define_virtual(agent, jni, thread, now);
    }
}

/// An unpark that has its number and time.
pub struct Unparking {
    slot: &'static Slot,
    unpark: Unpark,
    /// What the target is parked on, where that is asked for.
    blocker: LockId,
    event: InEvent<'static>,
}

/// A thread is about to be given its permit: number, time, and the mark that
/// says who it was. `None` if nothing is to be recorded.
#[inline]
pub fn before_unpark(agent: &'static Agent, jni: Jni, target: Ref, is_virtual: bool) -> Option<Unparking> {
    // Who gives permits is no part of the statistics.
    if agent.pressure.spares_owners() || parks().counting() == Counting::Only {
        return None;
    }
    let slot = slot_of_current(agent, jni)?;
    if thinning(agent)
        .is_some_and(|step| is_thinned_wake(agent, slot, step, || parked_since(agent, jni, target, is_virtual)))
    {
        return None;
    }
    observer().before_wake(agent, slot);
    let event = InEvent::begin(slot, agent.threads.epoch());
    if !agent.is_recording() {
        return None;
    }
    let thread = match slot.is_carrier.load(Ordering::Relaxed) {
        false => slot.thread(),
        true => mounted(agent, jni, slot).unwrap_or(slot.thread()),
    };
    let time = clock::now();
    let schedule = agent.sampling.at(time);
    if thread != slot.thread() && schedule.is_none() {
        name_waker(agent, jni, thread, time);
    }
    let mut seq = if schedule.is_some() { Given::UNRECORDED } else { parks().next_seq() };
    let mut blocker = LockId::NONE;
    let mut give = |park: &InProgress, permit: &Permit, waiter: Option<&Exchanged>| {
        if schedule.is_some_and(|schedule| ends_a_recorded_park(agent, park, &schedule, time)) {
            seq = parks().next_seq();
        }
        observer().released(slot, park.blocker(), time);
        let awaited = park.waits_for();
        if agent.pressure.is_sparing() {
            blocker = park.blocker();
        }
        permit.give(seq, thread, time);
        agent.samples.gave(&slot.exchanged, awaited, waiter, time);
    };
    let id = match is_virtual {
        true => {
            let id = agent.java.thread_id(jni, target);
            if let Some((_, place)) = parks().virtuals.place_of(id, time) {
                give(&place.park, &place.permit, None);
            }
            id
        }
        false => match agent.threads.find(agent.java.vm_thread(jni, target)) {
            Some(target) => {
                give(&target.parks.park, &target.parks.permit, Some(&target.exchanged));
                target.thread()
            }
            None => agent.java.thread_id(jni, target),
        },
    };
    if slot.is_filtered.load(Ordering::Relaxed) || seq == Given::UNRECORDED {
        return None;
    }
    if thread != slot.thread() && schedule.is_some() {
        name_waker(agent, jni, thread, time);
    }
    let unpark = Unpark { time, thread, seq, target: id, ..Unpark::default() };
    event.pause();
    Some(Unparking { slot, unpark, blocker, event })
}

/// True if the thread gives permits often, no random instant is near, and its target's park contains none:
/// the target does not learn who woke it.
#[inline]
fn is_thinned_wake(agent: &Agent, slot: &Slot, step: TimeNs, start: impl FnOnce() -> Option<TimeNs>) -> bool {
    let _call = InCall::begin(slot);
    let calm_since = Some(step).filter(|step| is_again(&slot.parks.steps.woke, *step));
    let calm_since = calm_since.and_then(|step| agent.sampling.calm_since(step));
    calm_since.is_some_and(|since| start().is_none_or(|start| start >= since))
}

/// Since when a thread is parked, if it is. Of a platform thread, the step in which it began to park last: where
/// parks are thinned out that says the same, and does not take the park itself from the thread's CPU.
#[inline]
fn parked_since(agent: &Agent, jni: Jni, target: Ref, is_virtual: bool) -> Option<TimeNs> {
    match is_virtual {
        true => parks().virtuals.find(agent.java.thread_id(jni, target))?.1.park.start(),
        false => {
            let steps = &agent.threads.find(agent.java.vm_thread(jni, target))?.parks.steps;
            Some(TimeNs(steps.parked.load(Ordering::Relaxed)))
        }
    }
}

/// True if it is known by now that the target's park will be recorded, or if nobody has
/// said yet who had what it waits for at the last random instant.
#[inline]
fn ends_a_recorded_park(agent: &Agent, park: &InProgress, schedule: &Schedule, time: TimeNs) -> bool {
    let Some(start) = park.start() else { return false };
    let is_recorded = start < schedule.from() || schedule.hits(start, time);
    agent.sampling.settles(park.blocker(), time) || is_recorded
}

/// The permit is given: walk and record.
#[inline]
pub fn after_unpark(agent: &'static Agent, jni: Jni, unparking: Unparking) {
    let Unparking { slot, mut unpark, blocker, event } = unparking;
    event.resume();
    if agent.pressure.is_sparing() {
        // Who gave the permit is news only to whoever looks at single parks, or
        // asked who leaves the lock.
        if blocker.is_some() && agent.pressure.wants_owner(blocker) {
            let Unpark { time, thread, .. } = unpark;
            let chain = agent.chains.in_native(agent, jni, slot, Side::Wakes);
            let exit = MonitorExit { time, thread, chain, lock: blocker, ..MonitorExit::default() };
            agent.append(slot, &Record::exit(&exit));
        }
        return;
    }
    unpark.chain = agent.chains.in_native(agent, jni, slot, Side::Wakes);
    agent.append(slot, &Record::unpark(&unpark));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_from_before_a_park_did_not_end_it_at_its_limit() {
        const MS: u64 = 1_000_000;
        let is_of_former = |given, deadline: Option<u64>, now| {
            is_of_former_park(
                TimeNs(given * MS),
                TimeNs(100 * MS),
                deadline.map(|ms| TimeNs(ms * MS)),
                TimeNs(now * MS),
            )
        };
        assert!(is_of_former(99, Some(600), 600));
        assert!(!is_of_former(99, Some(600), 101), "it came back at once");
        assert!(!is_of_former(300, Some(600), 600), "it came meanwhile");
        assert!(!is_of_former(99, None, 600), "it may have come late");
        assert!(!is_of_former(99, Some(100), 101), "there was no time to wait");
    }

    #[test]
    fn a_park_gives_up_at_its_limit() {
        let begin = |limit| ParkBegin { time: TimeNs(100), limit, ..ParkBegin::default() };
        assert_eq!(deadline(&begin(ParkLimit::None)), None);
        assert_eq!(deadline(&begin(ParkLimit::For(DurationNs(5)))), Some(TimeNs(105)));
        let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64 + 50;
        let until = deadline(&begin(ParkLimit::UntilEpochMs(soon))).unwrap();
        let wait = until.since(clock::now()).0;
        assert!(wait > 0 && wait <= 51_000_000, "{wait}");
        assert_eq!(deadline(&begin(ParkLimit::UntilEpochMs(1))), Some(TimeNs(0)));
    }
}
