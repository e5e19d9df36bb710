//! `Thread.start0` and the native method behind `Thread.sleep`, bound to functions
//! of the agent while experiments are made (see `park::natives`, which does the
//! same with `Unsafe.park`).
//!
//! A thread that sleeps is woken by time: it gets no credit and pays when it is
//! back, and where it slept may be the target. Before a thread starts another one
//! it pays what it owes; what it could not pay the new thread inherits.

use super::causal;
use crate::agent::{guarded, Agent, Observer};
use crate::bindings::{self, Bindings, Method};
use crate::clock;
use crate::jni::{Jni, Native, Ref};
use crate::reply::InPlace;
use headway_hook::Image;
use headway_model::ThreadId;
use jni_sys::{jclass, jint, jlong, jobject, JNIEnv};
use std::ffi::{c_void, CStr};
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

const THREAD: &CStr = c"java/lang/Thread";
const START: (&CStr, &CStr) = (c"start0", c"()V");
/// Name, descriptor, the VM's function: since JDK 25, since 21, before.
const SLEEPS: [(&CStr, &CStr, &str); 3] =
    [(c"sleepNanos0", c"(J)V", "JVM_SleepNanos"), (c"sleep0", c"(J)V", "JVM_Sleep"), (c"sleep", c"(J)V", "JVM_Sleep")];
const START_FUNCTION: &str = "JVM_StartThread";

/// The VM's functions, for ours to call. Set before ours are bound, never
/// cleared: a thread may sleep in them for long.
static START_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static SLEEP_ORIGINAL: AtomicUsize = AtomicUsize::new(0);

type StartFunction = extern "system" fn(*mut JNIEnv, jobject);
type SleepFunction = extern "system" fn(*mut JNIEnv, jclass, jlong);

/// Threads that are being started at a time.
const STARTING: usize = 64;

/// See the module.
#[derive(Default)]
pub struct ThreadNatives {
    /// Which of [`SLEEPS`] this VM has.
    sleep: OnceLock<(&'static CStr, &'static CStr)>,
    bindings: Bindings,
    starting: Starting,
}

/// What parents had paid when they started a thread, by the thread's id.
struct Starting([(AtomicU64, AtomicU64); STARTING]);

impl Default for Starting {
    fn default() -> Starting {
        Starting([const { (AtomicU64::new(0), AtomicU64::new(0)) }; STARTING])
    }
}

impl Starting {
    fn place(&self, thread: ThreadId) -> Option<&(AtomicU64, AtomicU64)> {
        self.0.get(thread.0 as usize % STARTING)
    }

    fn put(&self, thread: ThreadId, standing: u64) {
        if let Some((id, paid)) = self.place(thread) {
            id.store(0, Ordering::Release);
            paid.store(standing, Ordering::Release);
            id.store(thread.0, Ordering::Release);
        }
    }

    /// Once only. A thread whose place another one took owes nothing.
    fn take(&self, thread: ThreadId) -> Option<u64> {
        let (id, paid) = self.place(thread)?;
        let standing = paid.load(Ordering::Acquire);
        id.compare_exchange(thread.0, 0, Ordering::AcqRel, Ordering::Relaxed).ok().map(|_| standing)
    }
}

fn environment(env: *mut JNIEnv) -> Jni {
    // SAFETY: every caller below passes the environment that the VM handed to
    // the native method now running on this thread.
    unsafe { Jni::new(env) }
}

extern "system" fn start(env: *mut JNIEnv, thread: jobject) {
    if !thread.is_null() {
        guarded(|agent| {
            let jni = environment(env);
            let Some(slot) = agent.threads.find(agent.java.current_vm_thread(jni)) else { return };
            causal().before_wake(agent, slot);
            // SAFETY: an argument of the native method that is running; not null.
            let id = agent.java.thread_id(jni, unsafe { Ref::new(thread) });
            causal().thread_natives.starting.put(id, slot.observed.delays.standing(&causal().ledger));
        });
    }
    // SAFETY: set to the VM's own function, which has this signature, before
    // this one was bound.
    let original: StartFunction = unsafe { mem::transmute(START_ORIGINAL.load(Ordering::Relaxed)) };
    original(env, thread);
}

extern "system" fn sleep(env: *mut JNIEnv, class: jclass, time: jlong) {
    let begun = clock::now();
    // SAFETY: as in `start`.
    let original: SleepFunction = unsafe { mem::transmute(SLEEP_ORIGINAL.load(Ordering::Relaxed)) };
    original(env, class, time);
    guarded(|agent| {
        if causal().is_on() {
            let jni = environment(env);
            let Some(slot) = agent.threads.find(agent.java.current_vm_thread(jni)) else { return };
            causal().waited_outside(agent, jni, slot, begun);
        }
    });
}

fn bind_ours(_: &Agent, jni: Jni) -> jint {
    let Some(sleep_method) = causal().thread_natives.sleep.get() else { return -1 };
    let ours = |_| {
        vec![
            Native { name: START.0, descriptor: START.1, function: start as *const c_void },
            Native { name: sleep_method.0, descriptor: sleep_method.1, function: sleep as *const c_void },
        ]
    };
    bind(jni, ours)
}

fn bind_vms(agent: &Agent, jni: Jni) -> jint {
    bind(jni, |class| bindings::vms(agent, &causal().thread_natives.methods(jni, class)))
}

fn bind(jni: Jni, natives: impl FnOnce(Ref) -> Vec<Native>) -> jint {
    let Some(class) = jni.find_class(THREAD) else { return -1 };
    let natives = natives(class);
    let code = match natives.iter().any(|native| native.function.is_null()) {
        true => -1,
        // SAFETY: these are the VM's functions for the two methods, or ours with the
        // same signatures, which call them.
        false => unsafe { jni.register_natives(class, &natives) },
    };
    jni.forget(class);
    code
}

impl ThreadNatives {
    /// Binds the agent's functions.
    ///
    /// # Errors
    /// Why they cannot be.
    pub fn install(&self, agent: &'static Agent, jni: Jni, image: &Image) -> Result<(), String> {
        let class = jni.find_class(THREAD).ok_or("this VM has no java.lang.Thread")?;
        let (name, descriptor, symbol) = SLEEPS
            .into_iter()
            .find(|(name, descriptor, _)| jni.static_method(class, name, descriptor).is_some())
            .ok_or("Thread has no native method behind sleep")?;
        let start = (START.0, START_FUNCTION, jni.method(class, START.0, START.1), &START_ORIGINAL);
        let sleep = (name, symbol, jni.static_method(class, name, descriptor), &SLEEP_ORIGINAL);
        jni.forget(class);
        for (name, symbol, id, original) in [start, sleep] {
            let function = image.address_of(symbol).ok_or_else(|| format!("this libjvm has no symbol {symbol}"))?;
            if !id.is_some_and(|id| bindings::is_bound_to(agent, id, function as u64)) {
                return Err(format!("Thread.{} is bound to somebody else's function", name.to_string_lossy()));
            }
            original.store(function, Ordering::Release);
        }
        let _ = self.sleep.set((name, descriptor));
        bindings::bind(jni, bind_ours)?;
        self.bindings.made();
        Ok(())
    }

    /// Binds the VM's own again; what stays.
    pub fn remove(&self, agent: &'static Agent, jni: Jni) -> Vec<InPlace> {
        self.bindings.remove(
            agent,
            "causal",
            || {
                jni.find_class(THREAD).map_or_else(Vec::new, |class| {
                    let methods = self.methods(jni, class);
                    jni.forget(class);
                    methods
                })
            },
            || bindings::bind(jni, bind_vms),
        )
    }

    fn methods(&self, jni: Jni, class: Ref) -> Vec<Method> {
        let method = |(name, descriptor), id, ours, original: &AtomicUsize| Method {
            class: "Thread",
            name,
            descriptor,
            id,
            ours,
            vms: original.load(Ordering::Acquire),
        };
        let start = method(START, jni.method(class, START.0, START.1), start as *const c_void, &START_ORIGINAL);
        let sleep = self.sleep.get().map(|(name, descriptor)| {
            let id = jni.static_method(class, name, descriptor);
            method((*name, *descriptor), id, sleep as *const c_void, &SLEEP_ORIGINAL)
        });
        std::iter::once(start).chain(sleep).collect()
    }

    /// What the parent of a thread had paid when it started it.
    pub fn take_standing(&self, thread: ThreadId) -> Option<u64> {
        self.starting.take(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_finds_its_own_parents_standing_once() {
        let starting = Starting::default();
        starting.put(ThreadId(7), 100);
        starting.put(ThreadId(8), 200);
        assert_eq!((starting.take(ThreadId(7)), starting.take(ThreadId(7))), (Some(100), None));
        starting.put(ThreadId(8 + STARTING as u64), 300);
        assert_eq!((starting.take(ThreadId(8)), starting.take(ThreadId(8 + STARTING as u64))), (None, Some(300)));
    }
}
