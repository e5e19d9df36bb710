//! Methods and lines that are progress points: their classes are retransformed so
//! that they begin with a call of `HeadwayProgress.visit`, and retransformed back
//! when the recording ends. Classes that are loaded later are changed as they come.

use super::causal;
use super::inject::{self, Counting};
use super::nearby;
use super::points;
use crate::agent::Agent;
use crate::bindings;
use crate::jni::{Class, Jni, Native, Ref};
use crate::jvmti::table::EventKind;
use crate::jvmti::Jvmti;
use crate::reply::InPlace;
use headway_class_file::ClassFileError;
use jni_sys::{jclass, jint, jlong, JNIEnv};
use std::ffi::{c_void, CStr};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const HELPER_BYTES: &[u8] = include_bytes!("HeadwayProgress.class");

/// A method or a line that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    /// As the user says it.
    name: String,
    place: Where,
    counting: Counting,
    point: u16,
    /// How changing its class went; `None` if it has not come by.
    outcome: Option<Result<(), String>>,
    /// A class that came by and may have been meant.
    near: Option<String>,
    is_over: bool,
}

/// Which class it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Where {
    /// `com/acme/Shop`.
    Class(String),
    /// Those of a source file: its name, and the package if it was reported.
    File(String, Option<String>),
}

impl Where {
    /// True if a class of this name may be meant. Which file it is from its bytes
    /// say.
    fn may_be(&self, class: &str, bytes: &[u8]) -> bool {
        match self {
            Where::Class(wanted) => wanted == class,
            Where::File(file, package) => {
                let own = class.rsplit_once('/').map_or("", |(package, _)| package);
                package.as_ref().is_none_or(|package| package == own) && holds_text(bytes, file)
            }
        }
    }
}

/// True if this is among the constants of a class file, as far as is known at
/// a glance.
fn holds_text(bytes: &[u8], text: &str) -> bool {
    let mut constant = (text.len() as u16).to_be_bytes().to_vec();
    constant.extend(text.as_bytes());
    bytes.windows(constant.len()).any(|window| window == constant)
}

/// See the module. The lock is not held while the VM is called, but for memory
/// to hand a class over in.
#[derive(Default)]
pub struct Counted {
    wanted: Mutex<Vec<Wanted>>,
    helper: OnceLock<Result<(), String>>,
}

/// Where and what `com.acme.Shop.order`, `Shop.java:42` or `com/acme/Shop.java:42`
/// is; `None` for a name that the program says itself.
fn meant(name: &str) -> Option<(Where, Counting)> {
    if let Some((file, line)) = name.rsplit_once(':') {
        let line = line.parse().ok()?;
        let (package, file) = match file.rsplit_once('/') {
            Some((package, file)) => (Some(package.to_owned()), file),
            None => (None, file),
        };
        return Some((Where::File(file.to_owned(), package), Counting::Line(line)));
    }
    let (class, method) = name.rsplit_once('.')?;
    let is_named = !class.is_empty() && !method.is_empty();
    is_named.then(|| (Where::Class(class.replace('.', "/")), Counting::Method(method.to_owned())))
}

/// True if this progress point is a method or a line, and not a name that the program says itself.
pub fn is_in_bytecode(name: &str) -> bool {
    meant(name).is_some()
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
            let point = causal().points.number(name);
            if point == 0 {
                return Err(format!("there are too many progress points for {name}"));
            }
            if let Some((place, counting)) = meant(name) {
                let (name, point) = (name.clone(), point as u16);
                wanted.push(Wanted { name, place, counting, point, outcome: None, near: None, is_over: false });
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.helper.get_or_init(|| define_helper(jni)).clone()?;
        agent.jvmti.get_retransformation()?;
        *self.lock() = wanted;
        agent.jvmti.enable_event(EventKind::ClassFileLoadHook, true).map_err(|e| e.to_string())?;
        self.retransform(agent, jni)?;
        let failed = |wanted: &Wanted| match &wanted.outcome {
            Some(Err(reason)) => Some(reason.clone()),
            _ => None,
        };
        self.lock().iter().find_map(failed).map_or(Ok(()), Err)
    }

    /// Gives the classes their own code back; what stays is tried at the next call.
    pub fn remove(&self, agent: &'static Agent, jni: Jni) -> Option<InPlace> {
        if self.lock().is_empty() {
            return None;
        }
        self.lock().iter_mut().for_each(|wanted| wanted.is_over = true);
        // Off after a removal that failed.
        let _ = agent.jvmti.enable_event(EventKind::ClassFileLoadHook, true);
        let back = self.retransform(agent, jni);
        // See `session::unprepare`.
        let _ = agent.jvmti.enable_event(EventKind::ClassFileLoadHook, false);
        match back {
            Ok(()) => {
                self.lock().clear();
                None
            }
            Err(error) => Some(InPlace::live("causal", "methods that count as progress points", error)),
        }
    }

    /// Why a method can never count: its class is there, and has it not. Of a file's
    /// classes another one may have the line.
    pub fn refusal(&self) -> Option<String> {
        let refused = |wanted: &Wanted| match (&wanted.outcome, &wanted.place) {
            (Some(Err(reason)), Where::Class(_)) => Some(reason.clone()),
            _ => None,
        };
        self.lock().iter().find_map(refused)
    }

    /// What is wrong with points that cannot count: their class was never loaded,
    /// or does not have them.
    pub fn problems(&self) -> Vec<String> {
        let problem = |wanted: &Wanted| match (&wanted.outcome, &wanted.place) {
            (None, Where::Class(_)) => {
                let hint = wanted.near.as_ref().map(|near| format!(" (did you mean {near}?)"));
                Some(format!(
                    "{} was never visited: its class was never loaded{}",
                    wanted.name,
                    hint.unwrap_or_default()
                ))
            }
            (None, Where::File(file, _)) => Some(format!(
                "{} was never visited: no class of {file} was loaded, or it was compiled without the names of its \
                 source files",
                wanted.name
            )),
            (Some(Err(reason)), _) => Some(reason.clone()),
            (Some(Ok(())), _) => None,
        };
        self.lock().iter().filter_map(problem).collect()
    }

    /// Has the VM ask again what the classes are to be.
    fn retransform(&self, agent: &'static Agent, jni: Jni) -> Result<(), String> {
        let places: Vec<Where> = self.lock().iter().map(|wanted| wanted.place.clone()).collect();
        let mut done = Ok(());
        for class in agent.jvmti.loaded_classes().unwrap_or_default() {
            if done.is_ok() && places.iter().any(|place| is_class_of(agent, class, place)) {
                done = agent.own_cost.pausing(|| agent.jvmti.retransform(class)).map_err(|e| e.to_string());
            }
            jni.forget(class);
        }
        done
    }

    /// A class is loaded or changed; what it is to become, in memory of JVMTI's,
    /// if one of its methods counts.
    pub fn on_class_file(&self, jvmti: &Jvmti, name: &str, bytes: &[u8]) -> Option<(*mut u8, usize)> {
        let mut all = self.lock();
        all.iter_mut().filter(|wanted| !wanted.is_over).for_each(|wanted| wanted.note_if_near(name, bytes));
        let mut counting = Vec::new();
        for wanted in all.iter_mut().filter(|wanted| !wanted.is_over && wanted.place.may_be(name, bytes)) {
            let one = (wanted.counting.clone(), wanted.point);
            let outcome = wanted.outcome_of(name, bytes, inject::count(bytes, std::slice::from_ref(&one)).map(drop));
            if outcome.is_ok() {
                counting.push(one);
            }
            // Of a file's classes one is enough.
            if !matches!(wanted.outcome, Some(Ok(()))) {
                wanted.outcome = Some(outcome);
            }
        }
        drop(all);
        if counting.is_empty() {
            return None;
        }
        let changed = inject::count(bytes, &counting).ok()?;
        jvmti.hand_over(&changed).ok().map(|memory| (memory, changed.len()))
    }
}

impl Wanted {
    /// A class is loaded that may have been meant, while that which was named is not there.
    fn note_if_near(&mut self, class: &str, bytes: &[u8]) {
        let (None, Where::Class(wanted), Counting::Method(method)) = (&self.outcome, &self.place, &self.counting)
        else {
            return;
        };
        let (wanted, class) = (wanted.replace('/', "."), class.replace('/', "."));
        if wanted != class && nearby::near_class(&wanted, &[&class]).is_some() {
            let names = inject::method_names(bytes);
            let found = names.get(method).map(String::as_str).or_else(|| nearby::nearest(method, &names));
            self.near = found.map(|method| format!("{class}.{method}")).or(self.near.take());
        }
    }

    fn outcome_of(&self, class: &str, bytes: &[u8], changed: Result<(), ClassFileError>) -> Result<(), String> {
        let class = class.replace('/', ".");
        match (changed, &self.counting, &self.place) {
            (Ok(()), ..) => Ok(()),
            (Err(ClassFileError::NoCalls), Counting::Method(method), _) => {
                let names = inject::method_names(bytes);
                let hint = nearby::nearest(method, &names).map(|near| format!(" (did you mean {class}.{near}?)"));
                Err(format!("the class {class} has no method {method} with code{}", hint.unwrap_or_default()))
            }
            (Err(ClassFileError::NoCalls), Counting::Line(line), Where::File(file, _)) => {
                Err(format!("no code of {file} begins at line {line}"))
            }
            (Err(error), ..) => Err(format!("{class} cannot be changed: {error}")),
        }
    }
}

/// True if a loaded class may have a point.
fn is_class_of(agent: &Agent, class: Ref, place: &Where) -> bool {
    let Ok(signature) = agent.jvmti.class_signature(class) else { return false };
    match place {
        Where::Class(name) => signature.strip_prefix('L').and_then(|rest| rest.strip_suffix(';')) == Some(name),
        Where::File(file, _) => {
            // The JDK's own are no progress points, and asking each costs time.
            let is_jdk = ["Ljava/", "Ljdk/", "Lsun/", "["].iter().any(|prefix| signature.starts_with(prefix));
            !is_jdk && agent.jvmti.source_file(class).is_ok_and(|found| found == *file)
        }
    }
}

const HELPER: &CStr = c"java/util/concurrent/HeadwayProgress";

/// The class, which is not looked up by its name: that would initialise it, and its
/// initialiser calls the native that is to be bound.
static HELPER_CLASS: OnceLock<Class> = OnceLock::new();

fn define_helper(jni: Jni) -> Result<(), String> {
    let refused = "the VM refused to define the agent's class in the boot loader";
    let class = jni.define_boot_class(HELPER, HELPER_BYTES).ok_or(refused)?;
    HELPER_CLASS.get_or_init(|| class);
    bindings::bind(jni, bind_helper)
}

/// Binds the native of `HeadwayProgress`.
fn bind_helper(_: &Agent, jni: Jni) -> jint {
    let Some(class) = HELPER_CLASS.get() else { return -1 };
    let native = Native { name: c"counters", descriptor: c"()J", function: counters as *const c_void };
    // SAFETY: the function has the signature that the class declares.
    unsafe { jni.register_natives(class.as_ref(), &[native]) }
}

/// `HeadwayProgress.counters()`
extern "system" fn counters(_: *mut JNIEnv, _: jclass) -> jlong {
    points::counters() as jlong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_dot_is_a_method_and_one_with_a_number_a_line() {
        let parts =
            |class: &str, method: &str| Some((Where::Class(class.to_owned()), Counting::Method(method.to_owned())));
        assert_eq!(meant("com.acme.Shop$Cart.order"), parts("com/acme/Shop$Cart", "order"));
        assert_eq!(meant("Main.step"), parts("Main", "step"));
        assert_eq!((meant("order"), meant(".x"), meant("x."), meant("a:b")), (None, None, None, None));
        let line = |package: Option<&str>| {
            Some((Where::File("Shop.java".to_owned(), package.map(str::to_owned)), Counting::Line(42)))
        };
        assert_eq!(meant("Shop.java:42"), line(None));
        assert_eq!(meant("com/acme/Shop.java:42"), line(Some("com/acme")));
    }

    #[test]
    fn a_class_of_a_file_has_its_name_among_its_constants() {
        let file = Where::File("Shop.java".to_owned(), Some("com/acme".to_owned()));
        let bytes = b"....\x00\x09Shop.java....";
        assert!(file.may_be("com/acme/Cart", bytes) && !file.may_be("com/other/Cart", bytes));
        assert!(!file.may_be("com/acme/Cart", b"....\x00\x0aWShop.java"));
    }
}
