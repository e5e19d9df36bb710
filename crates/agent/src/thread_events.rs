//! Threads: who is there, who comes and who goes.

use crate::agent::{Agent, Observer};
use crate::clock;
use crate::found_waiting::{self, Waiting};
use crate::jni::{Jni, Ref};
use crate::long_contentions;
use crate::observing::observer;
use crate::park;
use crate::park::parks;
use crate::pressure;
use crate::process;
use crate::raw::Record;
use crate::state::Started;
use crate::steal;
use crate::thread_entry::enter;
use crate::threads::{InEvent, Slot};
use headway_model::event::ThreadPoint;
use headway_model::{Event, Loss, ThreadId, TimeNs};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A bit of `JVMTI_THREAD_STATE`.
const BLOCKED_ON_MONITOR_ENTER: i32 = 0x400;

/// Another one: the thread has ended.
const TERMINATED: i32 = 0x2;

/// JVMTI `ThreadStart`, on the new thread.
pub fn on_start(agent: &'static Agent, jni: Jni, thread: Ref) {
    let Some(slot) = enter(agent, jni, thread, process::current_os_id()) else { return };
    observer().thread_started(slot);
    if !agent.is_recording() {
        return agent.definitions.came_or_went(Event::ThreadStart, point(slot));
    }
    let os_id = slot.os_id.load(Ordering::Relaxed);
    if !agent.samples.thread_started(Started { os_id, vm_thread: slot.vm_thread(), thread: slot.thread() }) {
        agent.losses.add(Loss::ThreadUnsampled, 1);
    }
    let _event = InEvent::begin(slot, agent.threads.epoch());
    agent.append(slot, &Record::thread_start(&point(slot)));
}

/// Now, and the thread.
fn point(slot: &Slot) -> ThreadPoint {
    ThreadPoint { time: clock::now(), thread: slot.thread() }
}

/// JVMTI `ThreadEnd`, on the ending thread.
pub fn on_end(agent: &'static Agent, jni: Jni, thread: Ref) {
    let vm_thread = agent.java.vm_thread(jni, thread);
    let Some(slot) = agent.threads.find(vm_thread) else { return };
    observer().before_wake(agent, slot);
    if agent.is_recording() {
        let _event = InEvent::begin(slot, agent.threads.epoch());
        let point = point(slot);
        parks().release(agent, slot);
        pressure::capture::release(agent, slot);
        agent.append(slot, &Record::thread_end(&point));
    } else {
        agent.definitions.came_or_went(Event::ThreadEnd, point(slot));
    }
    steal::on_thread_end(agent, slot);
    agent.release(slot);
    slot.scratch.release();
    slot.end_pending(|pin| agent.locks.unpin(pin));
    agent.threads.leave(vm_thread);
}

/// For so long it is asked where threads are blocked when a recording begins.
const ASKING: Duration = Duration::from_millis(500);

/// Enters and defines every platform thread: a recording begins. Where threads are blocked or wait is asked if
/// `asks_where`. Returns those that are in `Object.wait`.
pub fn define_all(agent: &'static Agent, jni: Jni, asks_where: bool) -> Vec<Waiting> {
    let begun = Instant::now();
    let mut waiting = Vec::new();
    for thread in agent.jvmti.all_threads().unwrap_or_default() {
        let vm_thread = agent.java.vm_thread(jni, thread);
        if let Some(slot) = enter(agent, jni, thread, agent.hotspot.os_id(vm_thread)) {
            let state = agent.jvmti.thread_state(thread).unwrap_or(0);
            let now = clock::now();
            if state & TERMINATED != 0 {
                agent.definitions.came_or_went(Event::ThreadEnd, point(slot));
            }
            if !park::under_way::find(agent, jni, slot, thread, state) {
                agent.pressure.found.note(slot.thread(), vm_thread, state, now);
            }
            let asks = || asks_where && begun.elapsed() < ASKING;
            if asks() {
                waiting.extend(found_waiting::find(agent, jni, slot, thread, state));
            }
            let is_blocked = state & BLOCKED_ON_MONITOR_ENTER != 0 && !slot.is_carrier.load(Ordering::Relaxed);
            if is_blocked && asks() {
                long_contentions::note(agent, jni, slot, thread);
            }
            slot.found_blocked_on(agent.hotspot.pending_monitor(vm_thread), if is_blocked { now } else { TimeNs(0) });
        }
        jni.forget(thread);
    }
    waiting
}

/// Threads that are blocked on a monitor since before the recording and of which nothing else is recorded; `is_known` says
/// which have been reported.
pub fn blocked_throughout(agent: &Agent, is_known: impl Fn(ThreadId) -> bool) -> u64 {
    let pending = |slot: &Slot| agent.vm_memory.pass(|| agent.hotspot.pending_monitor(slot.vm_thread())).unwrap_or(0);
    let is_still = |slot: &&Slot| !is_known(slot.thread()) && slot.is_blocked_throughout(pending(slot));
    agent.threads.iter().filter(is_still).count() as u64
}
