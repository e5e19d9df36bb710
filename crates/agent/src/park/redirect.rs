//! Virtual threads park in Java code, which calls `JavaLangAccess` for it: from
//! `jdk.internal.misc.VirtualThreads` on JDK 21, from `LockSupport` on 25. That
//! class is retransformed so that its calls go through the agent's helper class,
//! and retransformed back when the recording ends.
//!
//! Platform threads never run these calls. `VirtualThreads` is used by nothing
//! else; in `LockSupport` three calls change.
//!
//! Where the natives of `Unsafe.park` and `unpark` cannot be bound, `LockSupport`'s
//! calls of them go to the helper class, too: that sees the parks of
//! platform threads, but for those of code that calls `Unsafe` itself.

use crate::agent::Agent;
use crate::jni::Jni;
use crate::jvmti::table::EventKind;
use crate::jvmti::Jvmti;
use crate::reply::InPlace;
use crate::sole;
use headway_class_file::{Redirect, Via};
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
    Redirect { via: Via::Interface, owner: INTERFACE, name, descriptor, to_class: TO, to_name, to_descriptor }
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

const UNSAFE: &str = "jdk/internal/misc/Unsafe";

const fn of_unsafe(name: &'static str, descriptor: &'static str, to_descriptor: &'static str) -> Redirect {
    Redirect { via: Via::Class, owner: UNSAFE, name, descriptor, to_class: TO, to_name: name, to_descriptor }
}

/// The calls that park platform threads.
const PLATFORM_CALLS: [Redirect; 2] = [
    of_unsafe("park", "(ZJ)V", "(Ljdk/internal/misc/Unsafe;ZJ)V"),
    of_unsafe("unpark", "(Ljava/lang/Object;)V", "(Ljdk/internal/misc/Unsafe;Ljava/lang/Object;)V"),
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
    changed: Mutex<Changed>,
    /// Classes that could not be given their own calls back.
    left: Mutex<Vec<&'static str>>,
}

/// What is changed now.
#[derive(Clone, Copy, Default)]
struct Changed {
    /// The class whose calls for virtual threads are.
    virtuals: Option<&'static str>,
    /// True if `LockSupport`'s for platform threads are.
    platform: bool,
}

impl Changed {
    /// The calls that are to be changed in a class, set by set.
    fn calls_in(self, caller: &str) -> impl Iterator<Item = &'static [Redirect]> {
        let virtuals = (self.virtuals == Some(caller)).then_some(&CALLS[..]);
        let platform = (self.platform && caller == LOCK_SUPPORT).then_some(&PLATFORM_CALLS[..]);
        virtuals.into_iter().chain(platform)
    }

    /// The classes.
    fn classes(self) -> impl Iterator<Item = &'static str> {
        let platform = (self.platform && self.virtuals != Some(LOCK_SUPPORT)).then_some(LOCK_SUPPORT);
        self.virtuals.into_iter().chain(platform)
    }
}

const LOCK_SUPPORT: &str = "java/util/concurrent/locks/LockSupport";

/// The classes that may make these calls: on 21, and on 25. The first that does
/// is changed.
const CALLERS: [&str; 2] = ["jdk/internal/misc/VirtualThreads", LOCK_SUPPORT];

fn dotted(name: &str) -> String {
    name.replace('/', ".")
}

impl Redirection {
    /// Redirects the calls that park virtual threads.
    pub fn install(&self, agent: &'static Agent, jni: Jni) -> Result<String, String> {
        agent.jvmti.get_retransformation()?;
        let mut why = String::new();
        for caller in CALLERS {
            match self.change(agent, jni, caller, |changed| changed.virtuals = Some(caller)) {
                Ok(()) => return Ok(format!("calls in {} redirected to {}", dotted(caller), sole::HELPER)),
                Err(reason) => {
                    why = format!("{why}{}{}: {reason}", if why.is_empty() { "" } else { "; " }, dotted(caller))
                }
            }
        }
        Err(why)
    }

    /// Redirects the calls that park platform threads.
    pub fn install_platform(&self, agent: &'static Agent, jni: Jni) -> Result<(), String> {
        agent.jvmti.get_retransformation()?;
        let changed = self.change(agent, jni, LOCK_SUPPORT, |changed| changed.platform = true);
        changed.map_err(|reason| format!("{}: {reason}", dotted(LOCK_SUPPORT)))
    }

    /// Changes one class more, or as it was before if that fails.
    fn change(
        &self,
        agent: &'static Agent,
        jni: Jni,
        caller: &'static str,
        more: impl FnOnce(&mut Changed),
    ) -> Result<(), String> {
        let before = *self.changed();
        more(&mut self.changed());
        let redirected = self.redirect(agent, jni, caller);
        if redirected.is_err() {
            *self.changed() = before;
        }
        redirected
    }

    fn redirect(&self, agent: &'static Agent, jni: Jni, caller: &'static str) -> Result<(), String> {
        *self.wanted() = Some(Wanted { caller, outcome: Err("the VM did not show its class file".to_owned()) });
        let retransformed = retransform(agent, jni, caller);
        let wanted = self.wanted().take();
        retransformed.and(wanted.map_or(Ok(()), |wanted| wanted.outcome))?;
        self.left().retain(|class| *class != caller);
        Ok(())
    }

    /// Gives the classes their own calls back. Those of what stays do nothing else;
    /// the next call tries again.
    pub fn remove(&self, agent: &'static Agent, jni: Jni) -> Vec<InPlace> {
        let mut classes = std::mem::take(&mut *self.left());
        let changed = std::mem::take(&mut *self.changed());
        classes.extend(changed.classes().filter(|class| !classes.contains(class)).collect::<Vec<_>>());
        let mut left = Vec::new();
        for class in classes {
            if let Err(error) = retransform(agent, jni, class) {
                left.push(InPlace::inert("park-virtual", format!("redirected calls in {}", dotted(class)), error));
                self.left().push(class);
            }
        }
        left
    }

    /// The class whose calls for virtual threads are changed now, dotted.
    pub fn in_force(&self) -> Option<String> {
        self.changed().virtuals.map(dotted)
    }

    /// True if the parks of platform threads come by.
    pub fn sees_platform(&self) -> bool {
        self.changed().platform
    }

    /// A class is about to be changed; what it is to become, in memory of
    /// JVMTI's, if that is for us to say.
    pub fn on_class_file(&self, jvmti: &Jvmti, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)> {
        let mut wanted = self.wanted();
        let wanted = wanted.as_mut().filter(|wanted| wanted.caller == name)?;
        let calls = self.changed().calls_in(name);
        let changed =
            calls.into_iter().try_fold(bytes.to_vec(), |bytes, calls| headway_class_file::redirect(&bytes, calls));
        let changed = changed.map_err(|e| e.to_string());
        let handed_over = changed.and_then(|changed| {
            jvmti.hand_over(&changed).map(|memory| (memory, changed.len())).map_err(|e| e.to_string())
        });
        wanted.outcome = handed_over.as_ref().map(|_| ()).map_err(String::clone);
        handed_over.ok()
    }

    fn wanted(&self) -> MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the VM ask again what a class is to be.
fn retransform(agent: &'static Agent, jni: Jni, name: &str) -> Result<(), String> {
    let internal = CString::new(name).map_err(|e| e.to_string())?;
    let class = jni.find_class(&internal).ok_or("this VM has no such class")?;
    let jvmti = &agent.jvmti;
    jvmti.enable_event(EventKind::ClassFileLoadHook, true).map_err(|e| e.to_string())?;
    let done = agent.own_cost.pausing(|| jvmti.retransform(class));
    // While it is on, every class that is loaded comes by.
    let off = jvmti.enable_event(EventKind::ClassFileLoadHook, false);
    jni.forget(class);
    done.and(off).map_err(|e| e.to_string())
}
