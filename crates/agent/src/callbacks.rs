//! What the VM calls: JVMTI events. Each function only checks whether anyone
//! listens, stops panics at the border, and hands on to the feature's file.

use crate::agent::{guarded, Agent, Observer};
use crate::jni::{Jni, Ref};
use crate::jvmti::table::{EventCallbacks, EventKind, RawEnv};
use crate::observing::observer;
use crate::park::parks;
use crate::sample::agct;
use crate::{clock, monitor, session, thread_events};
use headway_model::event::StopTheWorld;
use headway_model::TimeNs;
use jni_sys::{jboolean, jint, jlong, jobject, JNIEnv};
use std::ffi::{c_char, c_void, CStr};
use std::sync::atomic::Ordering;

/// `VMInit`, which comes before there is an agent.
pub type VmInit = extern "system" fn(*mut RawEnv, *mut JNIEnv, jobject);

/// The table of callbacks for `SetEventCallbacks`.
pub fn table(vm_init: VmInit) -> EventCallbacks {
    let mut callbacks = EventCallbacks::default();
    let mut set = |event, function: *const c_void| callbacks.set(event, function);
    set(EventKind::VmInit, vm_init as *const c_void);
    set(EventKind::VmDeath, vm_death as *const c_void);
    set(EventKind::ThreadStart, thread_start as *const c_void);
    set(EventKind::ThreadEnd, thread_end as *const c_void);
    set(EventKind::MonitorContendedEnter, contended_enter as *const c_void);
    set(EventKind::MonitorContendedEntered, contended_entered as *const c_void);
    set(EventKind::MonitorWait, monitor_wait as *const c_void);
    set(EventKind::MonitorWaited, monitor_waited as *const c_void);
    set(EventKind::GarbageCollectionStart, gc_start as *const c_void);
    set(EventKind::GarbageCollectionFinish, gc_finish as *const c_void);
    set(EventKind::ObjectFree, object_free as *const c_void);
    set(EventKind::DataDumpRequest, data_dump_request as *const c_void);
    set(EventKind::ClassLoad, class_load as *const c_void);
    set(EventKind::ClassPrepare, class_prepare as *const c_void);
    set(EventKind::ClassFileLoadHook, class_file_load_hook as *const c_void);
    callbacks
}

/// Like [`guarded`], but only while a recording is under way.
#[inline]
fn recorded(body: impl FnOnce(&'static Agent)) {
    guarded(|agent| {
        if agent.is_recording() {
            body(agent);
        }
    });
}

/// The callback's JNI environment.
fn jni(env: *mut JNIEnv) -> Jni {
    // SAFETY: every caller below passes the environment that the VM handed to
    // the callback now running on this thread.
    unsafe { Jni::new(env) }
}

/// An object that the VM handed to the callback.
fn object(object: jobject) -> Ref {
    // SAFETY: every caller below passes an argument of the callback that is now
    // running on this thread; the VM keeps it alive until the callback returns.
    unsafe { Ref::new(object) }
}

extern "system" fn vm_death(_: *mut RawEnv, _: *mut JNIEnv) {
    guarded(session::stop_at_death);
}

extern "system" fn thread_start(_: *mut RawEnv, env: *mut JNIEnv, thread: jobject) {
    guarded(|agent| thread_events::on_start(agent, jni(env), object(thread)));
}

extern "system" fn thread_end(_: *mut RawEnv, env: *mut JNIEnv, thread: jobject) {
    guarded(|agent| thread_events::on_end(agent, jni(env), object(thread)));
}

extern "system" fn contended_enter(_: *mut RawEnv, env: *mut JNIEnv, thread: jobject, lock: jobject) {
    recorded(|agent| monitor::on_contended_enter(agent, jni(env), object(thread), object(lock)));
}

extern "system" fn contended_entered(_: *mut RawEnv, env: *mut JNIEnv, thread: jobject, lock: jobject) {
    recorded(|agent| monitor::on_contended_entered(agent, jni(env), object(thread), object(lock)));
}

extern "system" fn monitor_wait(_: *mut RawEnv, env: *mut JNIEnv, thread: jobject, lock: jobject, timeout_ms: jlong) {
    recorded(|agent| monitor::on_wait(agent, jni(env), object(thread), object(lock), timeout_ms));
}

extern "system" fn monitor_waited(
    _: *mut RawEnv,
    env: *mut JNIEnv,
    thread: jobject,
    lock: jobject,
    timed_out: jboolean,
) {
    recorded(|agent| monitor::on_waited(agent, jni(env), object(thread), object(lock), timed_out));
}

/// Somebody must listen, or `AsyncGetCallTrace` refuses to work.
extern "system" fn class_load(_: *mut RawEnv, _: *mut JNIEnv, _: jobject, _: jobject) {}

extern "system" fn class_prepare(_: *mut RawEnv, _: *mut JNIEnv, _: jobject, class: jobject) {
    guarded(|agent| agct::class_is_ready(agent, object(class)));
}

extern "system" fn gc_start(_: *mut RawEnv) {
    recorded(|agent| {
        agent.heap.pauses.begin();
        agent.gc_start.store(clock::now().0, Ordering::SeqCst);
    });
}

extern "system" fn gc_finish(_: *mut RawEnv) {
    recorded(|agent| {
        agent.heap.pauses.end();
        agent.collections.fetch_add(1, Ordering::Relaxed);
        if let Some(known) = agent.hotspot.known() {
            known.collected();
        }
        // Before it is said that the pause is over: who asks misses neither.
        agent.gc_end.store(clock::now().0, Ordering::SeqCst);
        let start = agent.gc_start.swap(0, Ordering::SeqCst);
        if start != 0 {
            let start = TimeNs(start);
            let duration = clock::now().since(start);
            observer().paused(duration.0);
            agent.definitions.pause(StopTheWorld { start, duration });
        }
    });
}

extern "system" fn object_free(_: *mut RawEnv, tag: jlong) {
    guarded(|agent| {
        agent.locks.object_died(tag as u64);
        agent.heap.pauses.forget();
    });
}

/// Only leaves word: the draining thread looks for it.
extern "system" fn data_dump_request(_: *mut RawEnv) {
    recorded(|agent| agent.parks_asked.store(true, Ordering::Relaxed));
}

/// Only classes that are changed are of interest, and those with progress points.
#[allow(clippy::too_many_arguments)] // JVMTI's signature
extern "system" fn class_file_load_hook(
    _: *mut RawEnv,
    _: *mut JNIEnv,
    changed: jobject,
    _loader: jobject,
    name: *const c_char,
    _domain: jobject,
    length: jint,
    bytes: *const u8,
    new_length: *mut jint,
    new_bytes: *mut *mut u8,
) {
    if name.is_null() || bytes.is_null() {
        return;
    }
    guarded(|agent| {
        // SAFETY: the VM passes a zero-terminated name and `length` bytes, which
        // live until the callback returns.
        let (name, bytes) =
            unsafe { (CStr::from_ptr(name), std::slice::from_raw_parts(bytes, usize::try_from(length).unwrap_or(0))) };
        let name = name.to_string_lossy();
        let redirected = match changed.is_null() {
            true => None,
            false => parks().on_class_file(agent, &name, bytes),
        };
        let observed = || observer().class_file(&agent.jvmti, &name, bytes);
        if let Some((memory, size)) = redirected.or_else(observed) {
            // SAFETY: the VM passes places for what the class is to become.
            unsafe {
                *new_length = size as jint;
                *new_bytes = memory;
            }
        }
    });
}
