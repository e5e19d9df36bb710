//! A test-only agent: wherever the test program asks (a native method, a
//! contended monitor), it takes the current thread's stack twice, once from
//! JVMTI and once with the walker of headway-hotspot, and compares. What it
//! saw is written to the file named in its options when the VM ends.

// An agent is called by the VM and calls it, all of it in C's way.
#![allow(unsafe_code)]
// It runs in JVMs of tests only: a panic is a failed test.
#![allow(clippy::unwrap_used, clippy::expect_used)]
// No library: the only users are the JVM and the tests beside.
#![allow(missing_docs)]

mod bench;
mod compare;
mod exits;
mod jvmti;
mod record;
mod seen;

use compare::Context;
use headway_hook::sys::linux::Linux;
use headway_hook::Image;
use headway_hotspot::live::SafeFetchN;
use headway_hotspot::{symbols, AddressRange, Layout, LiveMemory};
use jvmti::{Jni, Jvmti, Object, Vm};
use seen::Seen;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// What the agent knows once the VM has started.
struct Probe {
    jvmti: Jvmti,
    layout: Layout,
    safe_fetch: SafeFetchN,
    /// `JNIEnv*` minus `JavaThread*`.
    env_offset: u64,
    seen: Mutex<Seen>,
}

// SAFETY: the JVMTI environment may be used from every thread.
unsafe impl Send for Probe {}
// SAFETY: as above.
unsafe impl Sync for Probe {}

static PROBE: OnceLock<Probe> = OnceLock::new();
static OPTIONS: OnceLock<String> = OnceLock::new();

impl Probe {
    fn java_thread(&self, jni: Jni) -> u64 {
        jni.0 as u64 - self.env_offset
    }

    /// Memory as the agent reads it: the current thread's stack and the
    /// committed code cache directly, everything else guarded.
    fn memory(&self, java_thread: u64) -> LiveMemory {
        // SAFETY: `safe_fetch` is the VM's function.
        let guarded = unsafe { LiveMemory::guarded(self.safe_fetch) };
        let stack = headway_hotspot::thread::stack_range(&self.layout, &guarded, java_thread);
        let here = &raw const java_thread as u64;
        let live = AddressRange { start: here, end: stack.map_or(here, |s| s.end) };
        // SAFETY: from a local variable of this frame to the stack's base; and
        // the probe hands it to the walker only.
        unsafe { guarded.with_stack(live).with_code_cache() }
    }
}

/// Called by the VM when it loads the agent.
#[no_mangle]
extern "C" fn Agent_OnLoad(vm: Vm, options: *const c_char, _: *mut c_void) -> c_int {
    // SAFETY: the VM passes a terminated string.
    let options = unsafe { CStr::from_ptr(options) }.to_string_lossy();
    OPTIONS.set(options.into_owned()).unwrap();
    let jvmti = vm.jvmti().expect("JVMTI");
    // can_get_owned_monitor_info and _stack_depth_info, can_get_line_numbers,
    // can_get_source_file_name, can_generate_monitor_events and
    // _garbage_collection_events.
    let mut capabilities = [0; 16];
    capabilities[..5].copy_from_slice(&[0, 24, 0, 144, 4]);
    assert_eq!(jvmti.add_capabilities(capabilities), 0);
    static CALLBACKS: OnceLock<Callbacks> = OnceLock::new();
    let callbacks = CALLBACKS.get_or_init(|| {
        let mut table = [ptr::null(); 40];
        table[0] = vm_init as *const c_void;
        table[1] = vm_death as *const c_void;
        table[25] = contended_enter as *const c_void;
        table[31] = collection_start as *const c_void;
        Callbacks(table)
    });
    assert_eq!(jvmti.set_callbacks(&callbacks.0), 0);
    for event in [50, 51, 75, 81] {
        assert_eq!(jvmti.enable(event), 0);
    }
    0
}

struct Callbacks([*const c_void; 40]);
// SAFETY: addresses of functions.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

/// The VM's library.
fn libjvm() -> Image {
    Image::of_loaded("libjvm.so", &Linux).expect("libjvm")
}

extern "C" fn vm_init(jvmti: Jvmti, jni: Jni, thread: Object) {
    let libjvm = libjvm();
    let address = libjvm.address_of(symbols::SAFE_FETCH_N).expect("SafeFetchN");
    // SAFETY: the symbol is the VM's guarded read.
    let safe_fetch: SafeFetchN = unsafe { std::mem::transmute(address) };
    // SAFETY: as above.
    let memory = unsafe { LiveMemory::guarded(safe_fetch) };
    let layout = match Layout::load(&memory, |name| libjvm.address_of(name)) {
        Ok(layout) => layout,
        Err(error) => panic!("{error}"),
    };
    let probe =
        Probe { jvmti, layout, safe_fetch, env_offset: jni.0 as u64 - jni.java_thread(thread), seen: Mutex::default() };
    assert!(PROBE.set(probe).is_ok());
    exits::install(&libjvm);
}

extern "C" fn vm_death(_: Jvmti, _: Jni) {
    if let (Some(probe), Some(path)) = (PROBE.get(), OPTIONS.get()) {
        let exits = exits::seen();
        let seen = probe.seen.lock().unwrap();
        std::fs::write(path, format!("{seen}{exits}")).unwrap();
    }
}

extern "C" fn contended_enter(_: Jvmti, jni: Jni, _: Object, _: Object) {
    if let Some(probe) = PROBE.get() {
        compare::check(probe, jni, Context::ContendedEnter);
    }
}

static COLLECTIONS: AtomicU64 = AtomicU64::new(0);

/// How many garbage collections have begun.
fn collections() -> u64 {
    COLLECTIONS.load(Ordering::SeqCst)
}

/// In a safepoint, before anything is moved.
extern "C" fn collection_start(_: Jvmti) {
    COLLECTIONS.fetch_add(1, Ordering::SeqCst);
}

/// `Probe.check()`: compares here and now.
#[no_mangle]
extern "C" fn Java_Probe_check(jni: Jni, _: Object) {
    let probe = PROBE.get().expect("agent started");
    compare::check(probe, jni, Context::NativeMethod);
}

/// `Probe.call(Runnable)`: Java called from native code.
#[no_mangle]
extern "C" fn Java_Probe_call(jni: Jni, _: Object, runnable: Object) {
    jni.run(runnable);
}

/// `Probe.locked(Object, Runnable)`: the same with a monitor entered by JNI.
#[no_mangle]
extern "C" fn Java_Probe_locked(jni: Jni, _: Object, lock: Object, runnable: Object) {
    jni.monitor_enter(lock);
    jni.run(runnable);
    jni.monitor_exit(lock);
}

/// `Probe.synchronizedCheck()`, a synchronized native method.
#[no_mangle]
extern "C" fn Java_Probe_synchronizedCheck(jni: Jni, class: Object) {
    Java_Probe_check(jni, class);
}

/// `Probe.slot()`: the address of an int in which this thread writes the number
/// of the method that holds the lock.
#[no_mangle]
extern "C" fn Java_Probe_slot(jni: Jni, _: Object) -> i64 {
    exits::slot(PROBE.get().expect("agent started").java_thread(jni))
}

/// `Probe.exits()`: how many contended exits were checked so far.
#[no_mangle]
extern "C" fn Java_Probe_exits(_: Jni, _: Object) -> i64 {
    exits::checked()
}

/// `Probe.thread(long)`: compares what is known of the current thread with its
/// `Thread.getId()` and the kernel.
#[no_mangle]
extern "C" fn Java_Probe_thread(jni: Jni, _: Object, id: i64) {
    use headway_hotspot::thread;
    let probe = PROBE.get().expect("agent started");
    let java_thread = probe.java_thread(jni);
    let memory = probe.memory(java_thread);
    let task = std::fs::read_link("/proc/thread-self").unwrap();
    let task = task.file_name().and_then(|tid| tid.to_str()?.parse().ok());
    let here = &raw const java_thread as u64;
    let stack = thread::stack_range(&probe.layout, &memory, java_thread);
    let mut seen = probe.seen.lock().unwrap();
    seen.count("threads");
    if thread::current_thread_id(&probe.layout, &memory, java_thread) != Some(id as u64)
        || thread::os_thread_id(&probe.layout, &memory, java_thread) != task
        || !stack.is_some_and(|stack| stack.holds(here, 1))
    {
        seen.difference("threads_unequal", || format!("{id} {task:?} {stack:x?}"));
    }
}

/// `Probe.record(long)`: records fragments of the current thread's stack.
#[no_mangle]
extern "C" fn Java_Probe_record(jni: Jni, _: Object, area: i64) {
    let probe = PROBE.get().expect("agent started");
    record::begin(probe, probe.java_thread(jni), area as u64);
}

/// `Probe.bench(String)`: measures walks from here.
#[no_mangle]
extern "C" fn Java_Probe_bench(jni: Jni, _: Object) {
    bench::run(PROBE.get().expect("agent started"), jni);
}
