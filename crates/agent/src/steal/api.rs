//! What the Java class `io.headway.Headway` calls. The VM binds its native
//! methods to the functions of these names, because it looks for them in the
//! libraries of its agents, too; whatever class loader the class comes from.
//!
//! The class has a flag that says whether anybody listens. It is set here, when
//! a recording begins and ends, in every copy of the class that is known: those
//! that announced themselves, and those that were loaded before the agent.

use super::transaction::{self, Caller};
use crate::agent::{self, guarded_or as guarded, Agent, Observer};
use crate::jni::{self, Jni, Ref};
use crate::observing::{observer, Observing};
use headway_model::ThreadId;
use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring, JNIEnv};
use std::sync::{Mutex, PoisonError};

/// Copies of the class, by class loader, that learn when to listen.
const MAX_COPIES: usize = 64;

/// The class, as the VM writes it.
const SIGNATURE: &str = "Lio/headway/Headway;";

/// A weak global reference to a copy of the class.
struct Copy(jobject);

// SAFETY: weak global references are valid on every thread.
unsafe impl Send for Copy {}

static COPIES: Mutex<Vec<Copy>> = Mutex::new(Vec::new());

fn caller(env: *mut JNIEnv, thread: jobject, id: jlong) -> Caller {
    // SAFETY: the functions below pass what the VM handed to the native method
    // that is now running on this thread.
    unsafe { Caller { jni: Jni::new(env), object: Ref::new(thread), id: ThreadId(id as u64) } }
}

/// `Headway.register()`: a copy of the class announces itself; true if
/// transactions are recorded now.
#[no_mangle]
extern "system" fn Java_io_headway_Headway_register(env: *mut JNIEnv, class: jclass) -> jboolean {
    // The class may come before the agent is built: then it is found later.
    if let Some(agent) = agent::get() {
        remember(env, class);
        return agent.is_recording() && (agent.steal.ended.is_wanted() || observer().is_wanted());
    }
    false
}

/// `Headway.kind(name)`: the number of a kind, 0 if there is none.
#[no_mangle]
extern "system" fn Java_io_headway_Headway_kind(env: *mut JNIEnv, _: jclass, name: jstring) -> jint {
    guarded(0, |agent| match jni::text(env, name) {
        Some(name) => agent.steal.transactions.kind(&name) as jint,
        None => 0,
    })
}

/// `Headway.begin(kind, thread, id)`: the transaction's number, 0 if it is not
/// recorded.
#[no_mangle]
extern "system" fn Java_io_headway_Headway_begin(
    env: *mut JNIEnv,
    _: jclass,
    kind: jint,
    thread: jobject,
    id: jlong,
) -> jlong {
    guarded(0, |agent| transaction::begin(agent, caller(env, thread, id), kind as u32) as jlong)
}

/// `Headway.end(transaction, thread, id)`.
#[no_mangle]
extern "system" fn Java_io_headway_Headway_end(
    env: *mut JNIEnv,
    _: jclass,
    transaction: jlong,
    thread: jobject,
    id: jlong,
) {
    guarded((), |agent| transaction::end(agent, caller(env, thread, id), transaction as u64));
}

/// `Headway.point(name)`: the number of a progress point, 0 if there is no room.
#[no_mangle]
extern "system" fn Java_io_headway_Headway_point(env: *mut JNIEnv, _: jclass, name: jstring) -> jint {
    guarded(0, |_| jni::text(env, name).map_or(0, |name| observer().point(&name) as jint))
}

/// `Headway.visit(point)`: it is counted.
#[no_mangle]
extern "system" fn Java_io_headway_Headway_visit(_: *mut JNIEnv, _: jclass, point: jint) {
    Observing::visit(usize::try_from(point).unwrap_or(0));
}

fn remember(env: *mut JNIEnv, class: jclass) {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    if copies.len() < MAX_COPIES {
        // SAFETY: a live reference of the native method, or of the list of
        // classes, that is now used on this thread.
        let weak = unsafe { ((**env).v1_2.NewWeakGlobalRef)(env, class) };
        if !weak.is_null() {
            copies.push(Copy(weak));
        }
    }
}

/// Looks for copies of the class that were loaded before the agent. Goes
/// through all classes: once, when the agent is built.
pub fn find_copies(agent: &Agent, jni: Jni) {
    for class in agent.jvmti.loaded_classes().unwrap_or_default() {
        if agent.jvmti.class_signature(class).is_ok_and(|signature| signature == SIGNATURE) {
            remember(jni.raw(), class.raw());
        }
        jni.forget(class);
    }
}

/// Lets every copy of the class know whether transactions are recorded.
pub fn set_active(jni: Jni, active: bool) {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    copies.retain(|copy| set_active_in(jni, copy, active));
}

/// False if the copy was unloaded.
fn set_active_in(jni: Jni, copy: &Copy, active: bool) -> bool {
    let env = jni.raw();
    // SAFETY: `jni` is the current thread's environment; a weak reference may be
    // made a local one, which is null if the class is gone; field and value
    // have the type that the descriptor says; no exception is left pending.
    unsafe {
        let table = &(**env).v1_1;
        let class = ((**env).v1_2.NewLocalRef)(env, copy.0);
        if class.is_null() {
            ((**env).v1_2.DeleteWeakGlobalRef)(env, copy.0);
            return false;
        }
        let field = (table.GetStaticFieldID)(env, class, c"active".as_ptr(), c"Z".as_ptr());
        match field.is_null() {
            true => (table.ExceptionClear)(env),
            false => (table.SetStaticBooleanField)(env, class, field, active),
        }
        (table.DeleteLocalRef)(env, class);
        true
    }
}
