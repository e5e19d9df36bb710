//! What the VM calls to load the agent, and what it does when it gets a command.
//!
//! Loading with `-agentpath` only asks for capabilities and waits for the VM to
//! be ready; loading into a running VM does everything at once. Loading again
//! hands over another command.

use crate::agent::{self, Agent, Parts};
use crate::chain::{Chains, FullDebugInfo};
use crate::core::DEFAULT_MEMORY_BYTES;
use crate::jni::{self, Jni, Ref};
use crate::jvmti::table::{Capabilities, Capability, EventKind, RawEnv};
use crate::jvmti::Jvmti;
use crate::locks::Locks;
use crate::options::{Command, Mechanism, Options};
use crate::reply::{self, Reply};
use crate::session::{self, StartError};
use crate::sole::{self, Claim};
use crate::steal;
use crate::vm::HotSpot;
use crate::{arch, callbacks, java::JavaFacts, large_blocks, lease, mapping, observing, park, stack, vm};
use headway_signal::Pool;
use jni_sys::{jclass, jint, jobject, jstring, JNIEnv, JavaVM};
use std::ffi::{c_char, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// What is known before the VM is ready.
struct Loaded {
    jvmti: Jvmti,
    options: Options,
    debug_info: Arc<FullDebugInfo>,
}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// A line on stderr, the only voice the agent has where no reply was asked for.
fn say(line: &str) {
    eprintln!("headway: {line}");
}

/// Called by the VM for `-agentpath`. A failure is reported and the program runs
/// on without a recording: a profiler must not keep a service from starting.
///
/// # Safety
/// Called by the VM only.
#[no_mangle]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *mut c_char, _reserved: *mut c_void) -> jint {
    let loaded = catch_unwind(AssertUnwindSafe(|| load(vm, &text(options))));
    match loaded {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            say(&format!("{error}; the program runs without a recording"));
            0
        }
        Err(_) => 0,
    }
}

/// Called by the VM for the attach command `load`.
///
/// # Safety
/// Called by the VM only.
#[no_mangle]
pub unsafe extern "system" fn Agent_OnAttach(vm: *mut JavaVM, options: *mut c_char, _reserved: *mut c_void) -> jint {
    entered(vm, options)
}

/// What other copies of this library call to have a command carried out, see [`sole`].
extern "C" fn command_of_another_copy(vm: *mut JavaVM, options: *const c_char) -> jint {
    entered(vm, options)
}

/// `Native.command(options)` of `java/bundle`, which loaded this library from Java code
/// (`-javaagent:headway.jar`): what `Agent_OnAttach` does.
#[no_mangle]
extern "system" fn Java_io_headway_start_Native_command(env: *mut JNIEnv, _: jclass, options: jstring) -> jint {
    let commanded = catch_unwind(|| {
        let options = jni::text(env, options).unwrap_or_default();
        let mut vm: *mut JavaVM = std::ptr::null_mut();
        // SAFETY: the environment is that of the native method that is now running.
        match unsafe { ((**env).v1_1.GetJavaVM)(env, &mut vm) } {
            0 => attach(vm, &options),
            _ => 1,
        }
    });
    commanded.unwrap_or(1)
}

fn entered(vm: *mut JavaVM, options: *const c_char) -> jint {
    // A use, so that the library has it: `headway` looks for it in the file.
    std::hint::black_box(headway_protocol::AGENT_MARK);
    catch_unwind(AssertUnwindSafe(|| attach(vm, &text(options)))).unwrap_or(1)
}

fn text(options: *const c_char) -> String {
    if options.is_null() {
        return String::new();
    }
    // SAFETY: the VM passes a zero-terminated string that outlives the call.
    String::from_utf8_lossy(unsafe { CStr::from_ptr(options) }.to_bytes()).into_owned()
}

fn load(vm: *mut JavaVM, options: &str) -> Result<(), String> {
    let options = Options::parse(options).map_err(|e| e.to_string())?;
    if options.command != Command::Start {
        return Err(format!(
            "'{}' needs a running program, at its start only 'start' makes sense",
            options.command.name()
        ));
    }
    if LOADED.get().is_some() {
        return Ok(()); // `headway run` where the environment loads Headway already: what came first counts
    }
    let jvmti = environment(vm)?;
    let debug_info = Arc::new(FullDebugInfo::default());
    if options.allows(Mechanism::VmStructs) && options.allows(Mechanism::Walker) {
        if let Ok(libjvm) = vm::libjvm() {
            debug_info.switch_on_early(&libjvm);
        }
        vm::rest();
    }
    let loaded = LOADED.get_or_init(|| Loaded { jvmti, options, debug_info });
    let enable = |event| loaded.jvmti.enable_event(event, true).map_err(|e| e.to_string());
    enable(EventKind::VmInit)?;
    enable(EventKind::VmDeath)
}

/// A JVMTI environment with the capabilities that can be had, and callbacks.
fn environment(vm: *mut JavaVM) -> Result<Jvmti, String> {
    if let Some(reason) = arch::UNSUPPORTED {
        return Err(reason.to_owned());
    }
    // SAFETY: the VM passed this pointer to the agent's entry point.
    let jvmti = unsafe { Jvmti::new(vm) }.map_err(|e| e.to_string())?;
    // SAFETY: as above.
    unsafe { jni::remember_vm(vm) };
    let wanted = [
        Capability::TagObjects,
        Capability::GetBytecodes,
        Capability::GetConstantPool,
        Capability::GetSourceFileName,
        Capability::GetLineNumbers,
        Capability::MonitorEvents,
        Capability::GarbageCollectionEvents,
        Capability::ObjectFreeEvents,
    ];
    let wanted = wanted.into_iter().fold(Capabilities::default(), Capabilities::with);
    let possible = jvmti.potential_capabilities().map_err(|e| e.to_string())?;
    jvmti.add_capabilities(wanted.and(possible)).map_err(|e| e.to_string())?;
    jvmti.set_event_callbacks(&callbacks::table(vm_init)).map_err(|e| e.to_string())?;
    Ok(jvmti)
}

/// Checks everything once and builds the agent.
fn build(
    jvmti: Jvmti,
    jni: Jni,
    thread: Ref,
    options: &Options,
    debug_info: Arc<FullDebugInfo>,
) -> Result<&'static Agent, String> {
    large_blocks::room_for(large_blocks::AGENT_BYTES)?;
    let java = JavaFacts::read(&jvmti, jni, thread).map_err(|e| e.to_string())?;
    let hotspot = HotSpot::default();
    if options.allows(Mechanism::VmStructs) {
        hotspot.allow(true, &vm::libjvm());
    }
    let memory = options.memory.unwrap_or(DEFAULT_MEMORY_BYTES) as usize;
    let region = mapping::zeroed(memory).map_err(|e| format!("no memory for event buffers: {e}"))?;
    let locks = Locks::new().map_err(|e| format!("no memory for the lock table: {e}"))?;
    let chains = Chains::new(debug_info).map_err(|e| format!("no memory for the chain table: {e}"))?;
    let pool = Pool::new(region, crate::clock::now().0);
    let parts = Parts { jvmti, java, hotspot, pool, pool_bytes: memory as u64, locks, chains };
    // Made here and not at an event, on a small stack of the program's.
    let _ = (park::parks(), observing::observer());
    let agent = agent::install(parts);
    steal::api::find_copies(agent, jni);
    Ok(agent)
}

extern "system" fn vm_init(_: *mut RawEnv, _: *mut JNIEnv, _: jobject) {
    // Before the agent exists; a panic must not cross this border either.
    let begun = catch_unwind(AssertUnwindSafe(|| stack::with_room(c"headway-command", on_vm_init)));
    if !matches!(begun, Ok(Some(()))) {
        say("there is no thread with room to begin; the program runs without a recording");
    }
}

/// The VM is ready: begins what `-agentpath` asked for.
fn on_vm_init() {
    let Some((loaded, jni)) = LOADED.get().zip(jni::of_current_thread()) else { return };
    let Ok(thread) = loaded.jvmti.current_thread() else { return };
    let built = match sole::claim(jni, command_of_another_copy) {
        Ok(Claim::Ours(_)) => build(loaded.jvmti, jni, thread, &loaded.options, loaded.debug_info.clone()),
        Ok(Claim::Theirs(table)) => Err(format!("agent {} of Headway is loaded already", table.agent_version())),
        Err(error) => Err(error),
    };
    if built.is_err() {
        // Nothing was built: leave nothing behind.
        let _ = loaded.jvmti.dispose();
    }
    // Hardly a class of the program is loaded yet.
    let mut options = loaded.options.clone();
    options.causal.awaits = true;
    let started = built.map_err(StartError::Unsuitable).and_then(|agent| session::start(agent, jni, &options));
    match started {
        Ok(()) => {}
        Err(error) if loaded.options.strict => {
            say(&format!("{error}; the program is not run"));
            std::process::exit(1);
        }
        Err(error) => say(&format!("{error}; the program runs without a recording")),
    }
}

fn attach(vm: *mut JavaVM, text: &str) -> jint {
    let options = match Options::parse(text) {
        Ok(options) => options,
        Err(error) => {
            say(&error.to_string());
            return 2;
        }
    };
    // Whoever was to read the reply was killed meanwhile, or interrupted.
    if options.reply.as_deref().is_some_and(is_nowhere) {
        return 1;
    }
    // SAFETY: the VM passed `vm` to the agent's entry point.
    unsafe { jni::remember_vm(vm) };
    let vm = OfProcess(vm);
    stack::with_room(c"headway-command", || carry_out(&vm, text, &options)).unwrap_or(1)
}

/// The process has one, which all threads use.
struct OfProcess(*mut JavaVM);

// SAFETY: the invocation interface may be used by any thread.
unsafe impl Sync for OfProcess {}

/// True if the file's directory is gone.
fn is_nowhere(file: &Path) -> bool {
    file.parent().is_some_and(lease::is_missing)
}

fn carry_out(vm: &OfProcess, text: &str, options: &Options) -> jint {
    let mut reply = match agent_for(vm.0, options) {
        Ok(Found::Theirs(table)) => return table.forward(vm.0, text),
        Ok(Found::Ours(agent, jni)) => session::command(agent, jni, options),
        Err(error) => Reply { error: Some(error), exit_code: 3, ..Reply::of_this_version() },
    };
    reply.ok = reply.error.is_none();
    reply.pid = std::process::id();
    reply.command = options.command.name().to_owned();
    let begun = options.command == Command::Start && reply.ok;
    if !tell(options, &reply) && begun && options.reply.as_deref().is_some_and(is_nowhere) {
        // Nobody knows that the recording began.
        session::take_back();
    }
    jint::from(reply.exit_code)
}

/// Who carries out a command.
enum Found {
    Ours(&'static Agent, Jni),
    /// Another copy of this library.
    Theirs(&'static sole::Table),
}

fn agent_for(vm: *mut JavaVM, options: &Options) -> Result<Found, String> {
    let jni = jni::of_current_thread().ok_or("the VM gave no JNI environment for its attach listener")?;
    if let Some(agent) = agent::get() {
        return Ok(Found::Ours(agent, jni));
    }
    // Attaching is the VM's one thread for it, so nobody else builds here meanwhile.
    if let Claim::Theirs(table) = sole::claim(jni, command_of_another_copy)? {
        return Ok(Found::Theirs(table));
    }
    let jvmti = environment(vm)?;
    let thread = jvmti.current_thread().map_err(|e| e.to_string())?;
    let agent = build(jvmti, jni, thread, options, Arc::default());
    if agent.is_err() {
        // Nothing was built: leave nothing behind.
        let _ = jvmti.dispose();
    }
    Ok(Found::Ours(agent?, jni))
}

/// False if nobody learns of it.
fn tell(options: &Options, reply: &Reply) -> bool {
    let delivered = match &options.reply {
        Some(path) => {
            reply::write(reply, path).map_err(|e| format!("cannot write the reply to {}: {e}", path.display()))
        }
        None => reply.error.clone().map_or(Ok(()), Err),
    };
    match delivered {
        Ok(()) => true,
        Err(_) if options.reply.as_deref().is_some_and(is_nowhere) => false,
        Err(line) => {
            say(&line);
            false
        }
    }
}
