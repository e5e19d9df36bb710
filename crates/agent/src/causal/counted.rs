//! Methods that are progress points: their classes are retransformed so that
//! they begin with a call of `HeadwayProgress.visit`, and retransformed back when
//! the recording ends. Classes that are loaded later are changed as they come.

use super::{inject, points};
use crate::agent::Agent;
use crate::jni::{Jni, Ref};
use crate::jvmti::table::EventKind;
use crate::jvmti::Jvmti;
use crate::park::class_file::ClassFileError;
use crate::park::redirect;
use jni_sys::{jclass, jlong, JNIEnv};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const HELPER_BYTES: &[u8] = include_bytes!("HeadwayProgress.class");

/// A method that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    /// `com/acme/Shop`.
    class: String,
    method: String,
    point: u16,
    /// How changing its class went; `None` if it has not come by.
    outcome: Option<Result<(), String>>,
}

/// See the module. The lock is not held while the VM is called, but for memory
/// to hand a class over in.
#[derive(Default)]
pub struct Counted {
    wanted: Mutex<Vec<Wanted>>,
    helper: OnceLock<Result<(), String>>,
}

/// Class and method of `com.acme.Shop.order`; `None` for a name that the program
/// says itself.
fn method(name: &str) -> Option<(String, String)> {
    let (class, method) = name.rsplit_once('.')?;
    let is_named = !class.is_empty() && !method.is_empty();
    is_named.then(|| (class.replace('.', "/"), method.to_owned()))
}

impl Counted {
    fn lock(&self) -> MutexGuard<'_, Vec<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the methods among these names count.
    ///
    /// # Errors
    /// A loaded class has no such method, or cannot be changed.
    pub fn install(&self, agent: &'static Agent, jni: Jni, names: &[String]) -> Result<(), String> {
        let mut wanted = Vec::new();
        for name in names {
            let point = agent.causal.points.number(name);
            if point == 0 {
                return Err(format!("there are too many progress points for {name}"));
            }
            if let Some((class, method)) = method(name) {
                wanted.push(Wanted { class, method, point: point as u16, outcome: None });
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.helper.get_or_init(|| define_helper(jni)).clone()?;
        redirect::possess(&agent.jvmti)?;
        *self.lock() = wanted;
        agent.jvmti.enable_event(EventKind::ClassFileLoadHook, true).map_err(|e| e.to_string())?;
        self.retransform(agent, jni)?;
        let failed = |wanted: &Wanted| match &wanted.outcome {
            Some(Err(reason)) => Some(reason.clone()),
            _ => None,
        };
        self.lock().iter().find_map(failed).map_or(Ok(()), Err)
    }

    /// Gives the classes their own code back. What cannot be undone is said.
    pub fn remove(&self, agent: &'static Agent, jni: Jni) -> Option<String> {
        let classes: Vec<String> = self.lock().iter().map(|wanted| wanted.class.clone()).collect();
        if classes.is_empty() {
            return None;
        }
        self.lock().iter_mut().for_each(|wanted| wanted.method.clear());
        let back = self.retransform(agent, jni);
        self.lock().clear();
        // See `session::unprepare`.
        let _ = agent.jvmti.enable_event(EventKind::ClassFileLoadHook, false);
        back.err().map(|error| format!("{error}; the methods go on counting"))
    }

    /// Methods whose class has not been loaded.
    pub fn missing(&self) -> Vec<String> {
        let wanted = self.lock();
        let missing = wanted.iter().filter(|wanted| wanted.outcome.is_none());
        missing.map(|wanted| format!("{}.{}", wanted.class.replace('/', "."), wanted.method)).collect()
    }

    /// Has the VM ask again what the classes are to be.
    fn retransform(&self, agent: &'static Agent, jni: Jni) -> Result<(), String> {
        let signatures: Vec<String> = self.lock().iter().map(|wanted| format!("L{};", wanted.class)).collect();
        let mut done = Ok(());
        for class in agent.jvmti.loaded_classes().unwrap_or_default() {
            let is_wanted = |class: Ref| agent.jvmti.class_signature(class).is_ok_and(|s| signatures.contains(&s));
            if done.is_ok() && is_wanted(class) {
                done = agent.jvmti.retransform(class).map_err(|e| e.to_string());
            }
            jni.forget(class);
        }
        done
    }

    /// A class is loaded or changed; what it is to become, in memory of JVMTI's,
    /// if one of its methods counts.
    pub fn on_class_file(&self, jvmti: &Jvmti, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)> {
        let mut all = self.lock();
        let ours = |wanted: &&mut Wanted| wanted.class == name && !wanted.method.is_empty();
        let methods: Vec<(String, u16)> =
            all.iter_mut().filter(ours).map(|wanted| (wanted.method.clone(), wanted.point)).collect();
        if methods.is_empty() {
            return None;
        }
        let outcome = |method: &str| match inject::count_entries(bytes, &[(method.to_owned(), 1)]) {
            Ok(_) => Ok(()),
            Err(ClassFileError::NoCalls) => {
                Err(format!("the class {} has no method {method} with code", name.replace('/', ".")))
            }
            Err(error) => Err(format!("{} cannot be changed: {error}", name.replace('/', "."))),
        };
        for wanted in all.iter_mut().filter(ours) {
            wanted.outcome = Some(outcome(&wanted.method));
        }
        let changed = inject::count_entries(bytes, &methods).ok()?;
        jvmti.hand_over(&changed).ok().map(|memory| (memory, changed.len()))
    }
}

fn define_helper(jni: Jni) -> Result<(), String> {
    let name = c"java/util/concurrent/HeadwayProgress";
    let refused = || "the VM refused to define the agent's class in the boot loader".to_owned();
    jni.define_boot_class(name, HELPER_BYTES).map(|_| ()).ok_or_else(refused)
}

/// `HeadwayProgress.counters()`. The VM looks for natives in its agents, too.
#[no_mangle]
extern "system" fn Java_java_util_concurrent_HeadwayProgress_counters(_: *mut JNIEnv, _: jclass) -> jlong {
    points::counters() as jlong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_dot_is_a_method() {
        let parts = |class: &str, method: &str| Some((class.to_owned(), method.to_owned()));
        assert_eq!(method("com.acme.Shop$Cart.order"), parts("com/acme/Shop$Cart", "order"));
        assert_eq!(method("Main.step"), parts("Main", "step"));
        assert_eq!((method("order"), method(".x"), method("x.")), (None, None, None));
    }
}
