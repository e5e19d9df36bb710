//! Threads: who is there, who comes, who goes, and what they are called.

use crate::agent::{Agent, Observer};
use crate::clock;
use crate::jni::{Jni, Ref};
use crate::park;
use crate::pressure;
use crate::process;
use crate::raw::Record;
use crate::state::Started;
use crate::steal;
use crate::threads::{self, InEvent, Slot};
use headway_model::event::{ThreadDef, ThreadPoint};
use headway_model::{Loss, ThreadId, TimeNs};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;

/// A bit of `JVMTI_THREAD_STATE`.
const BLOCKED_ON_MONITOR_ENTER: i32 = 0x400;

/// JVMTI `ThreadStart`, on the new thread.
pub fn on_start(agent: &'static Agent, jni: Jni, thread: Ref) {
    let Some(slot) = enter(agent, jni, thread, process::current_os_id()) else { return };
    agent.observer.thread_started(slot);
    if !agent.is_recording() {
        return;
    }
    let os_id = slot.os_id.load(Ordering::Relaxed);
    agent.samples.thread_started(Started { os_id, vm_thread: slot.vm_thread(), thread: slot.thread() });
    let _event = InEvent::begin(slot, agent.threads.epoch());
    let point = ThreadPoint { time: clock::now(), thread: slot.thread() };
    agent.append(slot, &Record::thread_start(&point));
}

/// JVMTI `ThreadEnd`, on the ending thread.
pub fn on_end(agent: &'static Agent, jni: Jni, thread: Ref) {
    let vm_thread = agent.java.vm_thread(jni, thread);
    let Some(slot) = agent.threads.find(vm_thread) else { return };
    agent.observer.before_wake(agent, slot);
    if agent.is_recording() {
        let _event = InEvent::begin(slot, agent.threads.epoch());
        let point = ThreadPoint { time: clock::now(), thread: slot.thread() };
        agent.parks.release(agent, slot);
        pressure::capture::release(agent, slot);
        agent.append(slot, &Record::thread_end(&point));
    }
    steal::on_thread_end(agent, slot);
    agent.release(slot);
    slot.scratch.release();
    slot.end_pending(|pin| agent.locks.unpin(pin));
    agent.threads.leave(vm_thread);
}

/// Enters and defines every platform thread: a recording begins.
pub fn define_all(agent: &'static Agent, jni: Jni) {
    for thread in agent.jvmti.all_threads().unwrap_or_default() {
        let vm_thread = agent.java.vm_thread(jni, thread);
        if let Some(slot) = enter(agent, jni, thread, agent.hotspot.os_id(vm_thread)) {
            let state = agent.jvmti.thread_state(thread).unwrap_or(0);
            let now = clock::now();
            if !park::under_way::find(agent, jni, slot, thread, state) {
                agent.pressure.found.note(slot.thread(), vm_thread, state, now);
            }
            let is_blocked = state & BLOCKED_ON_MONITOR_ENTER != 0 && !slot.is_carrier.load(Ordering::Relaxed);
            slot.found_blocked_on(agent.hotspot.pending_monitor(vm_thread), if is_blocked { now } else { TimeNs(0) });
        }
        jni.forget(thread);
    }
}

/// Threads that are blocked on a monitor since before the recording, of which no
/// event has told: their contended enters were not seen.
pub fn blocked_throughout(agent: &Agent) -> u64 {
    let pending = |slot: &Slot| agent.vm_memory.pass(|| agent.hotspot.pending_monitor(slot.vm_thread())).unwrap_or(0);
    let is_still = |slot: &&Slot| slot.is_blocked_throughout(pending(slot));
    agent.threads.iter().filter(is_still).count() as u64
}

/// Gives a platform thread a slot, if it has none yet, and defines it. `None`
/// if it is not alive or the table is full.
pub fn enter(agent: &'static Agent, jni: Jni, thread: Ref, os_id: u32) -> Option<&'static Slot> {
    let vm_thread = agent.java.vm_thread(jni, thread);
    if vm_thread == 0 {
        return None;
    }
    let id = agent.java.thread_id(jni, thread);
    let Some(slot) = agent.threads.enter(vm_thread, id, |pin| agent.locks.unpin(pin)) else {
        agent.losses.add(Loss::ThreadTableFull, 1);
        return None;
    };
    agent.hotspot.learn_stack(slot, &agent.threads);
    agent.observer.thread_started(slot);
    define(agent, jni, slot, thread, os_id);
    Some(slot)
}

/// Defines a platform thread for the recording.
pub fn define(agent: &Agent, jni: Jni, slot: &Slot, thread: Ref, os_id: u32) {
    let is_carrier = agent.java.is_carrier(&agent.jvmti, jni, thread);
    slot.is_carrier.store(is_carrier, Ordering::Relaxed);
    slot.os_id.store(os_id, Ordering::Relaxed);
    let (name, group) = names(agent, jni, thread);
    slot.is_renamed(clock::now(), hash(&name));
    define_as(agent, slot, name, group);
}

fn define_as(agent: &Agent, slot: &Slot, name: String, group: String) {
    let is_carrier = slot.is_carrier.load(Ordering::Relaxed);
    // A carrier's name says nothing about the threads that run on it.
    slot.is_filtered.store(!is_carrier && !agent.wants_thread(&name), Ordering::Relaxed);
    agent.observer.thread_named(slot, &name);
    let os_id = slot.os_id.load(Ordering::Relaxed);
    let mut definition = threads::definition(slot.thread(), os_id, name, group);
    definition.is_service |= is_carrier;
    agent.define_thread(definition);
    agent.threads.changed();
}

/// Looks at a platform thread's name again, once in a while, and defines the
/// thread anew if it was renamed.
#[cold]
pub fn check_name(agent: &Agent, jni: Jni, slot: &Slot, thread: Ref) {
    let (name, group) = names(agent, jni, thread);
    if slot.is_renamed(clock::now(), hash(&name)) {
        define_as(agent, slot, name, group);
    }
}

/// Defines a virtual thread, if it is not known by its present name.
#[cold]
pub fn define_virtual(agent: &Agent, jni: Jni, id: ThreadId, thread: Ref) {
    let (name, group) = names(agent, jni, thread);
    if !agent.virtuals.renamed(id, hash(&name)) {
        return;
    }
    let name = if name.is_empty() { format!("virtual-{}", id.0) } else { name };
    agent.define_thread(ThreadDef {
        id,
        os_id: 0,
        name: name.into(),
        group: group.into(),
        is_virtual: true,
        is_service: false,
    });
}

/// A name's hash, never 0.
fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish() | 1
}

fn names(agent: &Agent, jni: Jni, thread: Ref) -> (String, String) {
    let Ok((name, group)) = agent.jvmti.thread_names(thread) else {
        return Default::default();
    };
    let Some(group) = group else { return (name, String::new()) };
    let group_name = agent.jvmti.thread_group_name(group).unwrap_or_default();
    jni.forget(group);
    (name, group_name)
}
