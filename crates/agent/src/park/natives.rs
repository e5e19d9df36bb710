//! `jdk.internal.misc.Unsafe.park` and `unpark`, through which every platform
//! thread parks, bound to functions of the agent while a recording is under
//! way. That is JNI's own `RegisterNatives`: no code is patched, and compiled
//! callers see it at once.
//!
//! The VM's functions are found by their symbols, and used only if the VM's
//! methods are bound to them: whoever else has bound them is left alone. They
//! are bound again when the recording ends, each unless somebody else has bound it
//! meanwhile (see [`bindings`]). Each binding lets the VM make a new piece of native-call code of
//! about a kilobyte and keep the old one (JDK-8369219), so they are bound when a
//! recording begins and when it ends, and never in between.

use super::capture;
use crate::agent::{guarded, Agent};
use crate::bindings::{self, Bindings, Method};
use crate::jni::{Jni, Native, Ref};
use crate::reply::InPlace;
use crate::sole;
use headway_hook::Image;
use headway_model::event::ParkLimit;
use headway_model::DurationNs;
use jni_sys::{jboolean, jclass, jint, jlong, jobject, JNIEnv};
use std::ffi::c_void;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

const UNSAFE: &std::ffi::CStr = c"jdk/internal/misc/Unsafe";
const PARK: (&std::ffi::CStr, &std::ffi::CStr) = (c"park", c"(ZJ)V");
const UNPARK: (&std::ffi::CStr, &std::ffi::CStr) = (c"unpark", c"(Ljava/lang/Object;)V");

/// The VM's functions, for ours to call. Set before ours are bound, never
/// cleared: a thread may be parked in them for ever.
static PARK_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static UNPARK_ORIGINAL: AtomicUsize = AtomicUsize::new(0);

type ParkFunction = extern "system" fn(*mut JNIEnv, jobject, jboolean, jlong);
type UnparkFunction = extern "system" fn(*mut JNIEnv, jobject, jobject);

/// See the module.
#[derive(Default)]
pub struct Natives {
    helper: OnceLock<Result<(), String>>,
    bindings: Bindings,
}

fn environment(env: *mut JNIEnv) -> Jni {
    // SAFETY: every caller below passes the environment that the VM handed to
    // the native method now running on this thread.
    unsafe { Jni::new(env) }
}

extern "system" fn park(env: *mut JNIEnv, unsafe_object: jobject, is_absolute: jboolean, time: jlong) {
    let mut parked = None;
    guarded(|agent| {
        let limit = limit(is_absolute, time);
        parked = capture::begin_platform(agent, environment(env), limit);
    });
    // SAFETY: set to the VM's own function, which has this signature, before
    // this one was bound.
    let original: ParkFunction = unsafe { mem::transmute(PARK_ORIGINAL.load(Ordering::Relaxed)) };
    original(env, unsafe_object, is_absolute, time);
    if let Some(slot) = parked {
        guarded(|agent| capture::end_platform(agent, environment(env), slot));
    }
}

/// What `Unsafe.park` means by its arguments.
fn limit(is_absolute: jboolean, time: jlong) -> ParkLimit {
    let amount = u64::try_from(time).unwrap_or(0);
    match (is_absolute, time) {
        (true, _) => ParkLimit::UntilEpochMs(amount),
        (false, 0) => ParkLimit::None,
        (false, _) => ParkLimit::For(DurationNs(amount)),
    }
}

extern "system" fn unpark(env: *mut JNIEnv, unsafe_object: jobject, target: jobject) {
    let mut begun = None;
    if !target.is_null() {
        // SAFETY: an argument of the native method that is running; not null.
        let target = unsafe { Ref::new(target) };
        guarded(|agent| begun = capture::before_unpark(agent, environment(env), target, false));
    }
    // SAFETY: as in `park`.
    let original: UnparkFunction = unsafe { mem::transmute(UNPARK_ORIGINAL.load(Ordering::Relaxed)) };
    original(env, unsafe_object, target);
    if let Some(begun) = begun {
        guarded(|agent| capture::after_unpark(agent, environment(env), begun));
    }
}

/// `HeadwayParking.begin`
extern "system" fn begin_virtual(env: *mut JNIEnv, _: jclass, nanos: jlong, is_timed: jboolean) -> jlong {
    let mut token = 0;
    guarded(|agent| {
        let limit = match is_timed {
            true => ParkLimit::For(DurationNs(u64::try_from(nanos).unwrap_or(0))),
            false => ParkLimit::None,
        };
        token = capture::begin_virtual(agent, environment(env), limit);
    });
    token as jlong
}

/// `HeadwayParking.end`
extern "system" fn end_virtual(env: *mut JNIEnv, _: jclass, token: jlong) {
    guarded(|agent| capture::end_virtual(agent, environment(env), token as u64));
}

/// `HeadwayParking.unparking`. The walk comes before the permit here: going
/// back to Java and coming again would cost more than the walk.
extern "system" fn unparking_virtual(env: *mut JNIEnv, _: jclass, target: jobject) {
    unparking(env, target, true);
}

fn unparking(env: *mut JNIEnv, target: jobject, is_virtual: bool) {
    if target.is_null() {
        return;
    }
    // SAFETY: as in `unpark`.
    let target = unsafe { Ref::new(target) };
    guarded(|agent| {
        let jni = environment(env);
        if let Some(begun) = capture::before_unpark(agent, jni, target, is_virtual) {
            capture::after_unpark(agent, jni, begun);
        }
    });
}

/// `HeadwayParking.beginPlatform`
extern "system" fn begin_platform(env: *mut JNIEnv, _: jclass, is_absolute: jboolean, time: jlong) -> jboolean {
    let mut is_begun = false;
    guarded(|agent| {
        is_begun = capture::begin_platform(agent, environment(env), limit(is_absolute, time)).is_some();
    });
    is_begun
}

/// `HeadwayParking.endPlatform`
extern "system" fn end_platform(env: *mut JNIEnv, _: jclass) {
    guarded(|agent| capture::end_platform_of_current(agent, environment(env)));
}

/// `HeadwayParking.unparkingPlatform`, with the walk before the permit as in
/// `unparking_virtual`.
extern "system" fn unparking_platform(env: *mut JNIEnv, _: jclass, target: jobject) {
    unparking(env, target, false);
}

/// Binds the helper's natives by address: found by name they could be those of
/// another copy of this library.
fn bind_helper(_: &Agent, jni: Jni) -> jint {
    let Some(helper) = sole::class() else { return -1 };
    let native = |name, descriptor, function| Native { name, descriptor, function };
    let natives = [
        native(c"begin", c"(JZ)J", begin_virtual as *const c_void),
        native(c"end", c"(J)V", end_virtual as *const c_void),
        native(c"unparking", c"(Ljava/lang/Thread;)V", unparking_virtual as *const c_void),
        native(c"beginPlatform", c"(ZJ)Z", begin_platform as *const c_void),
        native(c"endPlatform", c"()V", end_platform as *const c_void),
        native(c"unparkingPlatform", c"(Ljava/lang/Object;)V", unparking_platform as *const c_void),
    ];
    // SAFETY: the functions have the signatures that the class declares.
    unsafe { jni.register_natives(helper.as_ref(), &natives) }
}

/// `Unsafe.park` and `unpark`.
fn methods(jni: Jni, class: Ref) -> [Method; 2] {
    let method = |(name, descriptor), ours, original: &AtomicUsize| Method {
        class: "Unsafe",
        name,
        descriptor,
        id: jni.method(class, name, descriptor),
        ours,
        vms: original.load(Ordering::Acquire),
    };
    [method(PARK, park as *const c_void, &PARK_ORIGINAL), method(UNPARK, unpark as *const c_void, &UNPARK_ORIGINAL)]
}

fn bind_ours(_: &Agent, jni: Jni) -> jint {
    bind_park(jni, |methods| {
        let native = |m: &Method| Native { name: m.name, descriptor: m.descriptor, function: m.ours };
        methods.iter().map(native).collect()
    })
}

fn bind_vms(agent: &Agent, jni: Jni) -> jint {
    bind_park(jni, |methods| bindings::vms(agent, methods))
}

fn bind_park(jni: Jni, natives: impl FnOnce(&[Method]) -> Vec<Native>) -> jint {
    let Some(class) = jni.find_class(UNSAFE) else { return -1 };
    let methods = methods(jni, class);
    let code = match methods.iter().all(|method| method.vms != 0) {
        // SAFETY: these are the VM's functions for the two methods, or ours with
        // the same signatures, which call them.
        true => unsafe { jni.register_natives(class, &natives(&methods)) },
        false => -1,
    };
    jni.forget(class);
    code
}

impl Natives {
    /// Sees to it that the helper class's natives are bound.
    ///
    /// # Errors
    /// The VM refuses.
    pub fn prepare(&self, jni: Jni) -> Result<(), String> {
        self.helper.get_or_init(|| bindings::bind(jni, bind_helper)).clone()
    }

    /// Binds the agent's functions.
    pub fn install(&self, agent: &Agent, jni: Jni, image: &Image) -> Result<String, String> {
        if agent.hotspot.known().is_none() {
            return Err(agent.hotspot.failure().unwrap_or_default().to_owned());
        }
        for (symbol, original) in [("Unsafe_Park", &PARK_ORIGINAL), ("Unsafe_Unpark", &UNPARK_ORIGINAL)] {
            let function = image.address_of(symbol).ok_or_else(|| format!("this libjvm has no symbol {symbol}"))?;
            original.store(function, Ordering::Release);
        }
        let class = jni.find_class(UNSAFE).ok_or("this VM has no jdk.internal.misc.Unsafe")?;
        let methods = methods(jni, class);
        jni.forget(class);
        for method in &methods {
            let name = method.name.to_string_lossy();
            let id = method.id.ok_or_else(|| format!("Unsafe has no method {name}"))?;
            // Ours may have stayed after a recording.
            let is_free = [method.vms as u64, method.ours as u64].iter().any(|f| bindings::is_bound_to(agent, id, *f));
            if !is_free {
                return Err(format!("Unsafe.{name} is bound to somebody else's function"));
            }
        }
        self.prepare(jni)?;
        bindings::bind(jni, bind_ours)?;
        self.bindings.made();
        Ok("jdk.internal.misc.Unsafe.park and unpark bound to the agent".to_owned())
    }

    /// True while the agent's functions are bound.
    pub fn is_bound(&self) -> bool {
        self.bindings.are_made()
    }

    /// Binds the VM's own again; what stays.
    pub fn remove(&self, agent: &Agent, jni: Jni) -> Vec<InPlace> {
        let find = || {
            let Some(class) = jni.find_class(UNSAFE) else { return Vec::new() };
            let methods = methods(jni, class);
            jni.forget(class);
            methods.to_vec()
        };
        self.bindings.remove(agent, super::PLATFORM, find, || bindings::bind(jni, bind_vms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_park_are_understood() {
        assert_eq!(limit(false, 0), ParkLimit::None);
        assert_eq!(limit(false, 70), ParkLimit::For(DurationNs(70)));
        assert_eq!(limit(false, -1), ParkLimit::For(DurationNs(0)));
        assert_eq!(limit(true, 1_700), ParkLimit::UntilEpochMs(1_700));
        assert_eq!(limit(true, 0), ParkLimit::UntilEpochMs(0));
    }
}
