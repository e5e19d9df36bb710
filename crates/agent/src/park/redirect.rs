//! Virtual threads park in Java code, which calls `JavaLangAccess` for it: from
//! `jdk.internal.misc.VirtualThreads` on JDK 21, from `LockSupport` on 25. That
//! class is retransformed so that its calls go through the agent's helper class,
//! and retransformed back when the recording ends.
//!
//! Platform threads never run these calls. `VirtualThreads` is used by nothing
//! else; in `LockSupport` three calls change.

use super::class_file::{self, Redirect};
use super::natives;
use crate::agent::Agent;
use crate::jni::Jni;
use crate::jvmti::table::{Capabilities, Capability, EventKind};
use crate::jvmti::Jvmti;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

const INTERFACE: &str = "jdk/internal/access/JavaLangAccess";
const TO: &str = "java/util/concurrent/locks/HeadwayParking";

const fn redirect(
    name: &'static str,
    descriptor: &'static str,
    to_name: &'static str,
    to_descriptor: &'static str,
) -> Redirect {
    Redirect { interface: INTERFACE, name, descriptor, to_class: TO, to_name, to_descriptor }
}

const CALLS: [Redirect; 3] = [
    redirect("parkVirtualThread", "()V", "park", "(Ljdk/internal/access/JavaLangAccess;)V"),
    redirect("parkVirtualThread", "(J)V", "park", "(Ljdk/internal/access/JavaLangAccess;J)V"),
    redirect(
        "unparkVirtualThread",
        "(Ljava/lang/Thread;)V",
        "unpark",
        "(Ljdk/internal/access/JavaLangAccess;Ljava/lang/Thread;)V",
    ),
];

/// A class that is to be changed when it comes by, and how that went.
struct Wanted {
    caller: &'static str,
    outcome: Result<(), String>,
}

/// See the module. Neither lock is held while the VM is called, but for memory
/// to hand a class over in.
#[derive(Default)]
pub struct Redirection {
    wanted: Mutex<Option<Wanted>>,
    changed: Mutex<Option<&'static str>>,
}

/// The classes that may make these calls: on 21, and on 25. The first that does
/// is changed.
const CALLERS: [&str; 2] = ["jdk/internal/misc/VirtualThreads", "java/util/concurrent/locks/LockSupport"];

fn dotted(name: &str) -> String {
    name.replace('/', ".")
}

impl Redirection {
    /// Redirects the calls.
    pub fn install(&self, agent: &'static Agent, jni: Jni) -> Result<String, String> {
        possess(&agent.jvmti)?;
        let mut why = String::new();
        for caller in CALLERS {
            match self.redirect(agent, jni, caller) {
                Ok(()) => {
                    *self.changed() = Some(caller);
                    return Ok(format!("calls in {} led through {}", dotted(caller), natives::HELPER));
                }
                Err(reason) => {
                    why = format!("{why}{}{}: {reason}", if why.is_empty() { "" } else { "; " }, dotted(caller))
                }
            }
        }
        Err(why)
    }

    fn redirect(&self, agent: &'static Agent, jni: Jni, caller: &'static str) -> Result<(), String> {
        *self.wanted() = Some(Wanted { caller, outcome: Err("the VM did not show its class file".to_owned()) });
        let retransformed = retransform(agent, jni, caller);
        let wanted = self.wanted().take();
        retransformed.and(wanted.map_or(Ok(()), |wanted| wanted.outcome))
    }

    /// Gives the class its own calls back. What cannot be undone is said.
    pub fn remove(&self, agent: &'static Agent, jni: Jni) -> Option<String> {
        let caller = self.changed().take()?;
        let back = retransform(agent, jni, caller);
        back.err().map(|error| format!("{error}; the calls stay redirected and do nothing else"))
    }

    /// The class that is changed now, dotted.
    pub fn in_force(&self) -> Option<String> {
        self.changed().map(dotted)
    }

    /// A class is about to be changed; what it is to become, in memory of
    /// JVMTI's, if that is for us to say.
    pub fn on_class_file(&self, jvmti: &Jvmti, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)> {
        let mut wanted = self.wanted();
        let wanted = wanted.as_mut().filter(|wanted| wanted.caller == name)?;
        let changed = class_file::redirect(bytes, &CALLS).map_err(|e| e.to_string());
        let handed_over = changed.and_then(|changed| {
            jvmti.hand_over(&changed).map(|memory| (memory, changed.len())).map_err(|e| e.to_string())
        });
        wanted.outcome = handed_over.as_ref().map(|_| ()).map_err(String::clone);
        handed_over.ok()
    }

    fn wanted(&self) -> MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> MutexGuard<'_, Option<&'static str>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the VM ask again what a class is to be.
fn retransform(agent: &'static Agent, jni: Jni, name: &str) -> Result<(), String> {
    let internal = CString::new(name).map_err(|e| e.to_string())?;
    let class = jni.find_class(&internal).ok_or("this VM has no such class")?;
    let jvmti = &agent.jvmti;
    jvmti.enable_event(EventKind::ClassFileLoadHook, true).map_err(|e| e.to_string())?;
    let done = jvmti.retransform(class);
    // While it is on, every class that is loaded comes by.
    let off = jvmti.enable_event(EventKind::ClassFileLoadHook, false);
    jni.forget(class);
    done.and(off).map_err(|e| e.to_string())
}

/// Asks for the capability, if it was not taken when the agent was loaded.
pub fn possess(jvmti: &Jvmti) -> Result<(), String> {
    let wanted = Capabilities::default().with(Capability::RetransformClasses);
    let possible = jvmti.potential_capabilities().map_err(|e| e.to_string())?;
    match possible.has(Capability::RetransformClasses) {
        true => jvmti.add_capabilities(wanted).map_err(|e| e.to_string()),
        false => Err("this VM offers no retransformation of classes".to_owned()),
    }
}
