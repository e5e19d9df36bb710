//! Native methods of the platform that are bound to functions of the agent for a
//! while: who has them now, and how the VM's come back.
//!
//! Another agent may bind the same methods meanwhile. Each method that leads to ours
//! is bound to the VM's function again, and each that leads to somebody else's is
//! left alone: theirs may call ours, which then only calls the VM's. Should they give
//! the method back to ours later, the next attempt finds that.

use crate::agent::{guarded, Agent};
use crate::core::Core;
use crate::jni::{Class, Jni, Native};
use crate::reply::InPlace;
use headway_hotspot::Memory;
use jni_sys::{jclass, jint, JNIEnv};
use std::ffi::{c_void, CStr};
use std::ptr::fn_addr_eq;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

const BINDING: &CStr = c"io/headway/boot/Binding";
const BINDING_BYTES: &[u8] = include_bytes!("bindings/Binding.class");

/// The class in the boot loader that has natives bound, once it is defined.
static CLASS: OnceLock<Result<Class, String>> = OnceLock::new();

/// Binds some natives, called by a method of that class; 0, or JNI's error.
pub type Step = fn(&'static Agent, Jni) -> jint;

/// The steps taken so far: the class knows them by their places in here.
static STEPS: Mutex<Vec<Step>> = Mutex::new(Vec::new());

fn number_of(step: Step) -> jint {
    let mut steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = steps.iter().position(|known| fn_addr_eq(*known, step));
    let number = known.unwrap_or_else(|| {
        steps.push(step);
        steps.len() - 1
    });
    jint::try_from(number).unwrap_or(-1)
}

/// `Binding.carryOut`
extern "system" fn carry_out(env: *mut JNIEnv, _: jclass, number: jint) -> jint {
    let mut code = -1;
    guarded(|agent| {
        // SAFETY: the environment of the native method that is now running.
        let jni = unsafe { Jni::new(env) };
        let steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
        let step = usize::try_from(number).ok().and_then(|number| steps.get(number).copied());
        drop(steps);
        code = step.map_or(-1, |step| step(agent, jni));
    });
    code
}

/// Has the class in the boot loader take this step: natives of the platform's that
/// are bound from elsewhere make the VM print a warning.
///
/// # Errors
/// The VM refuses.
pub fn bind(jni: Jni, step: Step) -> Result<(), String> {
    let class = CLASS.get_or_init(|| defined(jni)).clone()?;
    match jni.call_static_int(class, c"bind", c"(I)I", number_of(step)) {
        Some(0) => Ok(()),
        code => Err(format!("the VM refused to bind natives (error {})", code.unwrap_or(-1))),
    }
}

fn defined(jni: Jni) -> Result<Class, String> {
    let refused = "the VM refused to define the agent's class io.headway.boot.Binding in the boot loader";
    let class = jni.define_boot_class(BINDING, BINDING_BYTES).ok_or(refused)?;
    let native = Native { name: c"carryOut", descriptor: c"(I)I", function: carry_out as *const c_void };
    // SAFETY: the function has the signature that the class declares.
    match unsafe { jni.register_natives(class.as_ref(), &[native]) } {
        0 => Ok(class),
        code => Err(format!("the VM refused to bind the native of io.headway.boot.Binding: error {code}")),
    }
}

/// Words of a `Method` among which the one with its native function is.
const METHOD_WORDS: u64 = 32;

/// A native method, and the functions that it may be bound to.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its class, for reports.
    pub class: &'static str,
    /// Its name.
    pub name: &'static CStr,
    /// Its descriptor.
    pub descriptor: &'static CStr,
    /// Its `jmethodID`.
    pub id: Option<u64>,
    /// The agent's function.
    pub ours: *const c_void,
    /// The VM's function; 0 where ours was never bound.
    pub vms: usize,
}

/// Whose function a method is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    Vms,
    Others,
    Unknown,
}

impl Method {
    fn whose(&self, core: &Core) -> Whose {
        let Some(id) = self.id.filter(|_| core.hotspot.known().is_some()) else { return Whose::Unknown };
        match () {
            () if is_bound_to(core, id, self.ours as u64) => Whose::Ours,
            () if is_bound_to(core, id, self.vms as u64) => Whose::Vms,
            () => Whose::Others,
        }
    }

    fn shown(&self) -> String {
        format!("{}.{}", self.class, self.name.to_string_lossy())
    }
}

/// The word of a method that holds this function.
pub fn word_of(core: &Core, id: u64, function: u64) -> Option<u64> {
    // The id leads to the method.
    let memory = core.hotspot.known()?.memory;
    let method = memory.read_u64(id)?;
    (0..METHOD_WORDS).map(|i| method + 8 * i).find(|at| memory.read_u64(*at) == Some(function))
}

/// True if a method's native function is this one.
pub fn is_bound_to(core: &Core, id: u64, function: u64) -> bool {
    word_of(core, id, function).is_some()
}

/// What to bind so that the methods which lead to ours lead to the VM's functions.
/// Where that cannot be seen, all of them.
pub fn vms(core: &Core, methods: &[Method]) -> Vec<Native> {
    let wanted = methods.iter().filter(|method| matches!(method.whose(core), Whose::Ours | Whose::Unknown));
    let native = |method: &Method| Native {
        name: method.name,
        descriptor: method.descriptor,
        function: method.vms as *const c_void,
    };
    wanted.map(native).collect()
}

/// Some methods that are bound and given back together.
#[derive(Default)]
pub struct Bindings {
    is_bound: AtomicBool,
    /// Ours were bound once.
    were_bound: AtomicBool,
    /// When ours were last to be taken out, somebody else's were over them.
    are_covered: AtomicBool,
}

impl Bindings {
    /// The agent's functions were bound.
    pub fn made(&self) {
        self.were_bound.store(true, Ordering::Release);
        self.is_bound.store(true, Ordering::Release);
    }

    /// True while they are wanted.
    pub fn are_made(&self) -> bool {
        self.is_bound.load(Ordering::Acquire)
    }

    /// Has `bind_vms` bind the VM's functions where ours are bound; what stays.
    pub fn remove(
        &self,
        core: &Core,
        name: &str,
        methods: impl Fn() -> Vec<Method>,
        bind_vms: impl FnOnce() -> Result<(), String>,
    ) -> Vec<InPlace> {
        let were_wanted = self.is_bound.swap(false, Ordering::AcqRel);
        if !self.were_bound.load(Ordering::Acquire) {
            return Vec::new();
        }
        let has = |whose, methods: &[Method]| methods.iter().any(|method| method.whose(core) == whose);
        let before = methods();
        let to_do = has(Whose::Ours, &before) || (were_wanted && has(Whose::Unknown, &before));
        let bound = if to_do { bind_vms() } else { Ok(()) };
        let after = methods();
        let are_covered = were_wanted || self.are_covered.load(Ordering::Acquire);
        self.are_covered.store(are_covered && has(Whose::Others, &after), Ordering::Release);
        let refused = bound.err();
        let stays = |method: &Method| match (method.whose(core), &refused) {
            (Whose::Ours, reason) => {
                let reason = reason.as_deref().unwrap_or("another agent bound it again in the same moment");
                Some(InPlace::inert(name, format!("the agent's function of {}", method.shown()), reason))
            }
            (Whose::Unknown, Some(reason)) => {
                Some(InPlace::inert(name, format!("the agent's function of {}", method.shown()), reason))
            }
            (Whose::Others, _) if are_covered => Some(InPlace::inert(
                name,
                format!("the agent's function of {}, if another agent's calls it", method.shown()),
                "another agent has bound the method meanwhile, and keeps it",
            )),
            _ => None,
        };
        after.iter().filter_map(stays).collect()
    }
}
