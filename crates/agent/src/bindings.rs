//! Native methods of the platform that are bound to functions of the agent for a
//! while: who has them now, and how the VM's come back.
//!
//! Another agent may bind the same methods meanwhile. Each method that leads to ours
//! is bound to the VM's function again, and each that leads to somebody else's is
//! left alone: theirs may call ours, which then only calls the VM's. Should they give
//! the method back to ours later, the next attempt finds that.

use crate::core::Core;
use crate::jni::Native;
use crate::reply::InPlace;
use headway_hotspot::Memory;
use std::ffi::{c_void, CStr};
use std::sync::atomic::{AtomicBool, Ordering};

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
enum Holder {
    Ours,
    Vms,
    Others,
    Unknown,
}

impl Method {
    fn holder(&self, core: &Core) -> Holder {
        let Some(id) = self.id.filter(|_| core.hotspot.known().is_some()) else { return Holder::Unknown };
        match () {
            () if is_bound_to(core, id, self.ours as u64) => Holder::Ours,
            () if is_bound_to(core, id, self.vms as u64) => Holder::Vms,
            () => Holder::Others,
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
    let wanted = methods.iter().filter(|method| matches!(method.holder(core), Holder::Ours | Holder::Unknown));
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
        let has = |holder, methods: &[Method]| methods.iter().any(|method| method.holder(core) == holder);
        let before = methods();
        let to_do = has(Holder::Ours, &before) || (were_wanted && has(Holder::Unknown, &before));
        let bound = if to_do { bind_vms() } else { Ok(()) };
        let after = methods();
        let are_covered = were_wanted || self.are_covered.load(Ordering::Acquire);
        self.are_covered.store(are_covered && has(Holder::Others, &after), Ordering::Release);
        let refused = bound.err();
        let stays = |method: &Method| match (method.holder(core), &refused) {
            (Holder::Ours, reason) => {
                let reason = reason.as_deref().unwrap_or("another agent bound it again in the same moment");
                Some(InPlace::inert(name, format!("the agent's function of {}", method.shown()), reason))
            }
            (Holder::Unknown, Some(reason)) => {
                Some(InPlace::inert(name, format!("the agent's function of {}", method.shown()), reason))
            }
            (Holder::Others, _) if are_covered => Some(InPlace::inert(
                name,
                format!("the agent's function of {}, if another agent's calls it", method.shown()),
                "another agent has bound the method meanwhile, and keeps it",
            )),
            _ => None,
        };
        after.iter().filter_map(stays).collect()
    }
}
