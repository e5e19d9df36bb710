//! The metrics of `headway top` as a management bean, `headway:type=Pressure`.
//!
//! The agent contains the bean's class and defines it in the boot loader. This loads
//! the JDK's management classes into the program, so it is done only with `jmx`.
//! The current picture is kept up to date while somebody reads the bean.

use crate::agent::{guarded_or as guarded, Agent};
use crate::clock;
use crate::jni::{self, Class, Jni, Native};
use crate::options::{features, Command, Options};
use crate::reply::Reply;
use headway_analysis::pressure::counters::Blocked;
use headway_analysis::pressure::live::Picture;
use jni_sys::{jclass, jdoubleArray, jint, jobjectArray, jsize, jstring, JNIEnv};
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How long a picture is kept up to date after a read: longer than collectors
/// leave between two.
const WANTED_NS: u64 = 300_000_000_000;

const BYTES: &[u8] = include_bytes!("HeadwayBean.class");

/// Whoever carries out what a bean is asked.
#[derive(Clone, Copy)]
pub struct Commands {
    /// Carries out a command.
    pub carry_out: fn(&'static Agent, Jni, &Options) -> Reply,
    /// Where the recording under way goes; `None` also while one begins or ends.
    pub recording_path: fn() -> Option<PathBuf>,
}

/// See the module.
pub struct Beans {
    commands: OnceLock<Commands>,
    class: OnceLock<Result<Class, String>>,
    is_registered: AtomicBool,
    wanted_until: AtomicU64,
    picture: Mutex<Option<Picture>>,
}

/// The feature's own.
pub static BEANS: Beans = Beans {
    commands: OnceLock::new(),
    class: OnceLock::new(),
    is_registered: AtomicBool::new(false),
    wanted_until: AtomicU64::new(0),
    picture: Mutex::new(None),
};

impl Beans {
    /// Registers the bean, whose operations the first `commands` carry out.
    ///
    /// # Errors
    /// Why there is none: this JVM comes without management, or refuses.
    pub fn register(&self, jni: Jni, commands: Commands) -> Result<(), String> {
        self.commands.get_or_init(|| commands);
        let class = self.class.get_or_init(|| define(jni)).clone()?;
        switch(jni, class, 1)?;
        self.is_registered.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// True from then on until it is taken out again.
    pub fn is_registered(&self) -> bool {
        self.is_registered.load(Ordering::Relaxed)
    }

    /// Takes the bean out again, if it was registered.
    pub fn unregister(&self, jni: Jni) {
        if let Some(Ok(class)) = self.class.get() {
            self.is_registered.store(false, Ordering::Relaxed);
            // A bean that stays answers that there is nothing.
            let _ = switch(jni, *class, 0);
        }
    }

    /// True while somebody reads the picture.
    pub fn are_read(&self) -> bool {
        clock::now().0 < self.wanted_until.load(Ordering::Relaxed)
    }

    /// The picture of now; `None` when there is nothing to measure any more.
    pub fn show(&self, picture: Option<Picture>) {
        *self.picture.lock().unwrap_or_else(PoisonError::into_inner) = picture;
    }

    fn read<T>(&self, what: impl FnOnce(&Picture) -> T) -> Option<T> {
        self.wanted_until.store(clock::now().0.saturating_add(WANTED_NS), Ordering::Relaxed);
        self.picture.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(what)
    }
}

fn define(jni: Jni) -> Result<Class, String> {
    let defined = jni.define_boot_class(c"io/headway/agent/HeadwayBean", BYTES);
    let class = defined.ok_or("this JVM comes without java.management")?;
    let native = |name, descriptor, function| Native { name, descriptor, function };
    let natives = [
        native(c"metricsNow", c"()[D", metrics_now as *const c_void),
        native(c"locksNow", c"()[Ljava/lang/String;", locks_now as *const c_void),
        native(c"totalsNow", c"()[Ljava/lang/String;", totals_now as *const c_void),
        native(c"recording", c"()Ljava/lang/String;", recording as *const c_void),
        native(c"start", c"(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;", start as *const c_void),
        native(c"stop", c"()Ljava/lang/String;", stop as *const c_void),
        native(c"dump", c"(Ljava/lang/String;)Ljava/lang/String;", dump as *const c_void),
    ];
    // SAFETY: the functions below have the signatures of the class's methods,
    // contain every panic, and this library is never unloaded.
    match unsafe { jni.register_natives(class.as_ref(), &natives) } {
        0 => Ok(class),
        code => Err(format!("the VM refused to bind the bean's natives (error {code})")),
    }
}

fn switch(jni: Jni, class: Class, on: jint) -> Result<(), String> {
    match jni.call_static_int(class, c"register", c"(I)I", on) {
        Some(0) => Ok(()),
        _ => Err("the platform's MBean server refused it".to_owned()),
    }
}

/// `HeadwayBean.metricsNow`, in the order of its `METRICS`.
extern "system" fn metrics_now(env: *mut JNIEnv, _: jclass) -> jdoubleArray {
    let metrics = guarded(None, |_| {
        BEANS.read(|picture| {
            let threads = picture.threads;
            let counts = [threads.running, threads.blocked, threads.parked, threads.waiting, threads.sleeping];
            let sums = &picture.counters;
            let rest = [picture.intervals, picture.interval_ns, picture.dropped, sums.blocked_ns, sums.contentions];
            let rest = rest.into_iter().chain([sums.waited_ns, sums.phases, sums.phase_ns, sums.own_cpu_ns]);
            let counted = counts.into_iter().chain(rest).map(|count| count as f64);
            std::iter::once(picture.csp).chain(counted).collect::<Vec<f64>>()
        })
    });
    let Some(metrics) = metrics else { return ptr::null_mut() };
    let length = metrics.len() as jsize;
    // SAFETY: the environment of the native method that is now running; the
    // array has the length that is written.
    unsafe {
        let table = &(**env).v1_1;
        let array = (table.NewDoubleArray)(env, length);
        if !array.is_null() {
            (table.SetDoubleArrayRegion)(env, array, 0, length, metrics.as_ptr());
        }
        array
    }
}

/// `HeadwayBean.locksNow`: lock after lock, in the order of its `COLUMNS`.
extern "system" fn locks_now(env: *mut JNIEnv, _: jclass) -> jobjectArray {
    let texts = guarded(None, |_| {
        BEANS.read(|picture| {
            let row = |lock: &headway_analysis::pressure::live::LiveLock| {
                let pressures = [lock.csp.to_string(), lock.csp_peak.to_string()];
                let [csp, csp_peak] = pressures;
                let (contender, owner) = (lock.waiter_method.clone(), lock.owner_method.clone());
                [lock.id.to_string(), lock.name.clone(), lock.class.clone(), csp, csp_peak, contender, owner]
            };
            picture.locks.iter().flat_map(row).collect::<Vec<String>>()
        })
    });
    string_array(env, texts)
}

/// `HeadwayBean.totalsNow`: series after series, in the order of its `TOTALS`; the rest at the end.
extern "system" fn totals_now(env: *mut JNIEnv, _: jclass) -> jobjectArray {
    let texts = guarded(None, |_| {
        BEANS.read(|picture| {
            let sums = &picture.counters;
            let row = |lock: &str, owner: &str, blocked: &Blocked| {
                [lock.to_owned(), owner.to_owned(), blocked.blocked_ns.to_string(), blocked.contentions.to_string()]
            };
            let named = sums.series.iter().flat_map(|series| row(&series.lock, &series.owner_method, &series.blocked));
            named.chain(row("other", "other", &sums.other)).collect::<Vec<String>>()
        })
    });
    string_array(env, texts)
}

/// Texts as an array of strings; null if there are none, or no memory.
fn string_array(env: *mut JNIEnv, texts: Option<Vec<String>>) -> jobjectArray {
    let Some(texts) = texts else { return ptr::null_mut() };
    // SAFETY: the environment of the native method that is now running; indices
    // lie within the array; local references are given back as they are made.
    unsafe {
        let table = &(**env).v1_1;
        let class = (table.FindClass)(env, c"java/lang/String".as_ptr());
        if class.is_null() {
            return ptr::null_mut();
        }
        let array = (table.NewObjectArray)(env, texts.len() as jsize, class, ptr::null_mut());
        for (index, text) in texts.iter().enumerate().filter(|_| !array.is_null()) {
            let text = string(env, text);
            if text.is_null() {
                return ptr::null_mut();
            }
            (table.SetObjectArrayElement)(env, array, index as jsize, text);
            (table.DeleteLocalRef)(env, text);
        }
        array
    }
}

/// `HeadwayBean.recording`.
extern "system" fn recording(env: *mut JNIEnv, _: jclass) -> jstring {
    let path = guarded(None, |_| (BEANS.commands.get()?.recording_path)());
    path.map_or(ptr::null_mut(), |path| string(env, &path.display().to_string()))
}

/// `HeadwayBean.start`. Of the options only the harmless ones: a collector's
/// user must not be able to run commands.
extern "system" fn start(env: *mut JNIEnv, _: jclass, file: jstring, events: jstring) -> jstring {
    let (file, events) = (text(env, file), text(env, events).unwrap_or_default());
    match features(&events) {
        Ok(events) => carry_out(env, &Options { command: Command::Start, file, events, ..Options::default() }),
        Err(error) => string(env, &error.to_string()),
    }
}

/// `HeadwayBean.stop`.
extern "system" fn stop(env: *mut JNIEnv, _: jclass) -> jstring {
    carry_out(env, &Options { command: Command::Stop, ..Options::default() })
}

/// `HeadwayBean.dump`.
extern "system" fn dump(env: *mut JNIEnv, _: jclass, file: jstring) -> jstring {
    let file = text(env, file);
    carry_out(env, &Options { command: Command::Dump, file, ..Options::default() })
}

/// What went wrong, or null.
fn carry_out(env: *mut JNIEnv, options: &Options) -> jstring {
    // SAFETY: the environment of the native method that is now running.
    let jni = unsafe { Jni::new(env) };
    let failed = Some("the agent failed".to_owned());
    let problem = guarded(failed.clone(), |agent| match BEANS.commands.get() {
        Some(commands) => (commands.carry_out)(agent, jni, options).error,
        None => failed,
    });
    problem.map_or(ptr::null_mut(), |problem| string(env, &problem))
}

/// A string's text; `None` for null and for the empty one.
fn text(env: *mut JNIEnv, string: jstring) -> Option<String> {
    jni::text(env, string).filter(|text| !text.is_empty())
}

fn string(env: *mut JNIEnv, text: &str) -> jstring {
    let units: Vec<u16> = text.encode_utf16().collect();
    // SAFETY: the environment of the native method that is now running; as many
    // units as are said.
    unsafe { ((**env).v1_2.NewString)(env, units.as_ptr(), units.len() as jsize) }
}
