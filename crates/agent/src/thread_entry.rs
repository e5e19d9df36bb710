//! Threads get their slot, and are defined for the recording by their names, also where
//! an event comes before the VM announced its thread.

use crate::agent::{Agent, Observer};
use crate::clock;
use crate::jni::{Jni, Ref};
use crate::observing::observer;
use crate::process;
use crate::threads::{self, Slot};
use headway_model::event::ThreadDef;
use headway_model::{Loss, ThreadId};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;

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
    observer().thread_started(slot);
    define(agent, jni, slot, thread, os_id);
    Some(slot)
}

/// A thread that no event announced: attached while we were starting, or a
/// carrier that the VM does not list.
#[cold]
pub fn enter_late(agent: &'static Agent, jni: Jni, vm_thread: u64, thread: Ref) -> Option<&'static Slot> {
    if !agent.java.is_virtual(jni, thread) {
        return enter(agent, jni, thread, process::current_os_id());
    }
    let Some(slot) =
        agent.threads.enter(vm_thread, ThreadId::native(process::current_os_id()), |pin| agent.locks.unpin(pin))
    else {
        agent.losses.add(Loss::ThreadTableFull, 1);
        return None;
    };
    agent.hotspot.learn_stack(slot, &agent.threads);
    slot.is_carrier.store(true, Ordering::Relaxed);
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
    observer().thread_named(slot, &name);
    let os_id = slot.os_id.load(Ordering::Relaxed);
    let mut definition = threads::definition(slot.thread(), os_id, name, group);
    definition.is_service |= is_carrier;
    agent.define_thread(definition);
    agent.threads.changed();
}

/// Looks at a platform thread's name again, once in a while, and defines the
/// thread again if it was renamed.
///
/// `thread` is what the VM says the current thread is. On a carrier with nothing mounted, that
/// can be the virtual thread that ran there last: its name is not the carrier's.
#[cold]
pub fn check_name(agent: &Agent, jni: Jni, slot: &Slot, thread: Ref) {
    if agent.java.thread_id(jni, thread) != slot.thread() {
        return slot.keeps_name(clock::now());
    }
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
    let unnamed = unnamed_virtual(id);
    let name = if name.is_empty() { unnamed.name.clone() } else { name.into() };
    agent.define_thread(ThreadDef { name, group: group.into(), ..unnamed });
}

/// What a virtual thread is called that cannot be asked for its name just now.
pub fn unnamed_virtual(id: ThreadId) -> ThreadDef {
    ThreadDef {
        id,
        os_id: 0,
        name: format!("virtual-{}", id.0).into(),
        group: "".into(),
        is_virtual: true,
        is_service: false,
    }
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
