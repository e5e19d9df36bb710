//! The JVMTI functions that the agent calls, typed, with errors as values.

use super::table::{
    Capabilities, Capability, EventCallbacks, EventKind, FrameInfo, LineNumberEntry, RawEnv, StackInfo,
    ThreadGroupInfo, ThreadInfo, JVMTI_VERSION,
};
use crate::jni::{self, Ref};
use headway_class_file::modified_utf8;
use jni_sys::{jclass, jint, jlong, jmethodID, jobject, JavaVM};
use std::ffi::{c_char, c_void, CStr};
use std::fmt;
use std::ptr;
use std::time::Duration;

/// What a VM says that has not begun to live.
const JNI_EDETACHED: jint = -2;
/// How often it is asked again: 5 s in all.
const BEGINS_WITHIN_TRIES: u32 = 500;
const TRY_AGAIN: Duration = Duration::from_millis(10);
/// The versions of Java in which `GetThreadListStackTraces` of two threads was seen to stop
/// the whole VM: those that the tests run on.
const TWO_STACKS_STOP_ALL: [u32; 3] = [17, 21, 25];

/// A JVMTI function failed: its name and the specification's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JvmtiError {
    /// The function.
    pub function: &'static str,
    /// `jvmtiError`, e.g. 99 = `MUST_POSSESS_CAPABILITY`.
    pub code: jint,
}

impl fmt::Display for JvmtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JVMTI {} failed with error {}", self.function, self.code)
    }
}

impl std::error::Error for JvmtiError {}

/// An agent's JVMTI environment.
#[derive(Clone, Copy, Debug)]
pub struct Jvmti(*mut RawEnv);

// SAFETY: the specification allows a JVMTI environment to be used from any
// thread; the pointer stays valid until DisposeEnvironment, which only the
// owner of the agent state calls, last.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Calls slot `number - 1` of the table with the signature given.
macro_rules! call {
    ($self:ident, $number:literal, $name:literal, fn($($arg:expr => $ty:ty),*)) => {{
        // SAFETY: `self.0` is a live environment (see `Jvmti::new`); the slot
        // is that of the function with this number in the specification and
        // the signature is the specification's.
        let code = unsafe {
            let slot = (*(*$self.0).functions)[$number - 1];
            let function: extern "system" fn(*mut RawEnv $(, $ty)*) -> jint = std::mem::transmute(slot);
            function($self.0 $(, $arg)*)
        };
        if code == 0 { Ok(()) } else { Err(JvmtiError { function: $name, code }) }
    }};
}

impl Jvmti {
    /// Asks the VM for a new environment.
    ///
    /// # Safety
    /// `vm` must be the VM pointer that the VM handed to the agent.
    pub unsafe fn new(vm: *mut JavaVM) -> Result<Jvmti, JvmtiError> {
        let mut raw: *mut c_void = ptr::null_mut();
        // SAFETY: the caller vouches for `vm`; GetEnv writes one pointer.
        let mut ask = || unsafe { ((**vm).v1_2.GetEnv)(vm, &mut raw, JVMTI_VERSION) };
        let mut code = ask();
        for _ in 0..BEGINS_WITHIN_TRIES {
            if code != JNI_EDETACHED {
                break;
            }
            // It can be attached to already, but has not begun to live yet.
            std::thread::sleep(TRY_AGAIN);
            code = ask();
        }
        if code != 0 || raw.is_null() {
            return Err(JvmtiError { function: "GetEnv", code });
        }
        Ok(Jvmti(raw.cast()))
    }

    /// Capabilities that could be added now.
    pub fn potential_capabilities(&self) -> Result<Capabilities, JvmtiError> {
        let mut found = Capabilities::default();
        call!(self, 140, "GetPotentialCapabilities", fn(&mut found => *mut Capabilities))?;
        Ok(found)
    }

    /// Adds capabilities.
    pub fn add_capabilities(&self, set: Capabilities) -> Result<(), JvmtiError> {
        call!(self, 142, "AddCapabilities", fn(&set => *const Capabilities))
    }

    /// Asks for the capability to retransform classes, if it was not taken when the
    /// agent was loaded.
    ///
    /// # Errors
    /// This VM does not offer it, or refuses.
    pub fn get_retransformation(&self) -> Result<(), String> {
        let wanted = Capabilities::default().with(Capability::RetransformClasses);
        let possible = self.potential_capabilities().map_err(|e| e.to_string())?;
        match possible.has(Capability::RetransformClasses) {
            true => self.add_capabilities(wanted).map_err(|e| e.to_string()),
            false => Err("this VM offers no retransformation of classes".to_owned()),
        }
    }

    /// Sets the callbacks.
    pub fn set_event_callbacks(&self, callbacks: &EventCallbacks) -> Result<(), JvmtiError> {
        let size = std::mem::size_of::<EventCallbacks>() as jint;
        call!(self, 122, "SetEventCallbacks", fn(callbacks => *const EventCallbacks, size => jint))
    }

    /// Switches an event on or off for all threads.
    pub fn enable_event(&self, event: EventKind, on: bool) -> Result<(), JvmtiError> {
        let all: jobject = ptr::null_mut();
        // The function is variadic in C; on the supported ABIs a call without
        // variadic arguments is an ordinary call.
        call!(self, 2, "SetEventNotificationMode",
            fn(jint::from(on) => jint, event as jint => jint, all => jobject))
    }

    /// 4 is the live phase.
    pub fn phase(&self) -> Result<jint, JvmtiError> {
        let mut phase = 0;
        call!(self, 133, "GetPhase", fn(&mut phase => *mut jint))?;
        Ok(phase)
    }

    /// The current thread, as a local reference.
    pub fn current_thread(&self) -> Result<Ref, JvmtiError> {
        let mut thread: jobject = ptr::null_mut();
        call!(self, 18, "GetCurrentThread", fn(&mut thread => *mut jobject))?;
        // SAFETY: a local reference that the VM just made for this thread.
        Ok(unsafe { Ref::new(thread) })
    }

    /// All live platform threads, as local references.
    pub fn all_threads(&self) -> Result<Vec<Ref>, JvmtiError> {
        let mut count: jint = 0;
        let mut list: *mut jobject = ptr::null_mut();
        call!(self, 4, "GetAllThreads", fn(&mut count => *mut jint, &mut list => *mut *mut jobject))?;
        // SAFETY: local references that the VM just made for this thread.
        let live = |thread| unsafe { Ref::new(thread) };
        Ok(self.take_array(list, count).into_iter().map(live).collect())
    }

    /// What a thread is doing: bits of `JVMTI_THREAD_STATE`.
    pub fn thread_state(&self, thread: Ref) -> Result<jint, JvmtiError> {
        let mut state: jint = 0;
        call!(self, 17, "GetThreadState", fn(thread.raw() => jobject, &mut state => *mut jint))?;
        Ok(state)
    }

    /// All loaded classes, as local references.
    pub fn loaded_classes(&self) -> Result<Vec<Ref>, JvmtiError> {
        let mut count: jint = 0;
        let mut list: *mut jobject = ptr::null_mut();
        call!(self, 78, "GetLoadedClasses", fn(&mut count => *mut jint, &mut list => *mut *mut jobject))?;
        // SAFETY: local references that the VM just made for this thread.
        let live = |class| unsafe { Ref::new(class) };
        Ok(self.take_array(list, count).into_iter().map(live).collect())
    }

    /// Name and group of a thread (`null`: the current one), group by name.
    pub fn thread_names(&self, thread: Ref) -> Result<(String, Option<Ref>), JvmtiError> {
        let mut info = ThreadInfo {
            name: ptr::null_mut(),
            priority: 0,
            is_daemon: 0,
            thread_group: ptr::null_mut(),
            context_class_loader: ptr::null_mut(),
        };
        call!(self, 9, "GetThreadInfo", fn(thread.raw() => jobject, &mut info => *mut ThreadInfo))?;
        // SAFETY: a local reference that the VM just made for this thread.
        let group = (!info.thread_group.is_null()).then(|| unsafe { Ref::new(info.thread_group) });
        Ok((self.take_string(info.name), group))
    }

    /// Name of a thread group.
    pub fn thread_group_name(&self, group: Ref) -> Result<String, JvmtiError> {
        let mut info =
            ThreadGroupInfo { parent: ptr::null_mut(), name: ptr::null_mut(), max_priority: 0, is_daemon: 0 };
        call!(self, 14, "GetThreadGroupInfo", fn(group.raw() => jobject, &mut info => *mut ThreadGroupInfo))?;
        Ok(self.take_string(info.name))
    }

    /// The current thread's stack, leaf first, into `frames`; how many.
    pub fn current_stack(&self, frames: &mut [FrameInfo]) -> Result<usize, JvmtiError> {
        // SAFETY: null means the current thread.
        self.stack_of(unsafe { Ref::new(ptr::null_mut()) }, frames)
    }

    /// A thread's stack, leaf first, into `frames`; how many.
    pub fn stack_of(&self, thread: Ref, frames: &mut [FrameInfo]) -> Result<usize, JvmtiError> {
        let mut count: jint = 0;
        let room = frames.len() as jint;
        call!(self, 104, "GetStackTrace", fn(thread.raw() => jobject, 0 => jint, room => jint,
            frames.as_mut_ptr() => *mut FrameInfo, &mut count => *mut jint))?;
        Ok((count.max(0) as usize).min(frames.len()))
    }

    /// The stacks of these threads at one moment, at most `depth` frames of each,
    /// leaf first; empty for a thread that has ended. One thread alone is asked
    /// by a handshake.
    pub fn stacks_of(&self, threads: &[Ref], depth: usize) -> Result<Vec<Vec<FrameInfo>>, JvmtiError> {
        let list: Vec<jobject> = threads.iter().map(|thread| thread.raw()).collect();
        let mut infos: *mut StackInfo = ptr::null_mut();
        call!(self, 101, "GetThreadListStackTraces", fn(list.len() as jint => jint, list.as_ptr() => *const jobject,
            depth as jint => jint, &mut infos => *mut *mut StackInfo))?;
        // No error and no answer is what the VM gives of a single thread that ended
        // before the handshake reached it.
        if infos.is_null() {
            return Ok(vec![Vec::new(); list.len()]);
        }
        // SAFETY: one element for each thread, ours until it is deallocated.
        let all = unsafe { std::slice::from_raw_parts(infos, list.len()) };
        let stacks = all.iter().map(|info| match info.frames.is_null() {
            true => Vec::new(),
            // SAFETY: as many frames, in the same memory.
            false => unsafe { std::slice::from_raw_parts(info.frames, info.count.max(0) as usize) }.to_vec(),
        });
        let stacks = stacks.collect();
        self.deallocate(infos.cast());
        Ok(stacks)
    }

    /// Has the VM make the ids of a class's methods, which `AsyncGetCallTrace`
    /// cannot.
    pub fn make_method_ids(&self, class: Ref) -> Result<(), JvmtiError> {
        self.class_methods(class).map(drop)
    }

    /// The methods that a class declares.
    pub fn class_methods(&self, class: Ref) -> Result<Vec<jmethodID>, JvmtiError> {
        let mut count: jint = 0;
        let mut methods: *mut jmethodID = ptr::null_mut();
        call!(self, 52, "GetClassMethods", fn(class.raw() => jclass, &mut count => *mut jint,
            &mut methods => *mut *mut jmethodID))?;
        Ok(self.take_array(methods, count))
    }

    /// Runs an empty safepoint: when it returns, every thread has passed one. `java` is the
    /// VM's version.
    ///
    /// In the versions that are tested, the stacks of two threads are taken in a safepoint,
    /// whichever threads they are. So the current thread's is taken twice, and no stack is
    /// walked for each thread of the VM. Another version may ask these threads alone,
    /// without stopping the others; there, all stacks are taken.
    pub fn empty_safepoint(&self, java: u32) -> Result<(), JvmtiError> {
        if TWO_STACKS_STOP_ALL.contains(&java) {
            let current = self.current_thread()?;
            let stacks = self.stacks_of(&[current, current], 1).map(drop);
            if let Some(jni) = jni::of_current_thread() {
                jni.forget(current);
            }
            return stacks;
        }
        let mut infos: *mut c_void = ptr::null_mut();
        let mut count: jint = 0;
        call!(self, 100, "GetAllStackTraces",
            fn(1 => jint, &mut infos => *mut *mut c_void, &mut count => *mut jint))?;
        self.deallocate(infos.cast());
        Ok(())
    }

    /// The object's tag, 0 if it has none.
    pub fn tag(&self, object: Ref) -> Result<jlong, JvmtiError> {
        let mut tag = 0;
        call!(self, 106, "GetTag", fn(object.raw() => jobject, &mut tag => *mut jlong))?;
        Ok(tag)
    }

    /// Tags the object.
    pub fn set_tag(&self, object: Ref, tag: jlong) -> Result<(), JvmtiError> {
        call!(self, 107, "SetTag", fn(object.raw() => jobject, tag => jlong))
    }

    /// Identity hash code.
    pub fn object_hash(&self, object: Ref) -> Result<jint, JvmtiError> {
        let mut hash = 0;
        call!(self, 58, "GetObjectHashCode", fn(object.raw() => jobject, &mut hash => *mut jint))?;
        Ok(hash)
    }

    /// Signature of a class, `Ljava/lang/String;`.
    pub fn class_signature(&self, class: Ref) -> Result<String, JvmtiError> {
        let mut signature: *mut c_char = ptr::null_mut();
        let generic: *mut *mut c_char = ptr::null_mut();
        call!(self, 48, "GetClassSignature", fn(class.raw() => jclass,
            &mut signature => *mut *mut c_char, generic => *mut *mut c_char))?;
        Ok(self.take_string(signature))
    }

    /// Source file of a class.
    pub fn source_file(&self, class: Ref) -> Result<String, JvmtiError> {
        let mut name: *mut c_char = ptr::null_mut();
        call!(self, 50, "GetSourceFileName", fn(class.raw() => jclass, &mut name => *mut *mut c_char))?;
        Ok(self.take_string(name))
    }

    /// Name and descriptor of a method.
    pub fn method_name(&self, method: jmethodID) -> Result<(String, String), JvmtiError> {
        let mut name: *mut c_char = ptr::null_mut();
        let mut descriptor: *mut c_char = ptr::null_mut();
        let generic: *mut *mut c_char = ptr::null_mut();
        call!(self, 64, "GetMethodName", fn(method => jmethodID, &mut name => *mut *mut c_char,
            &mut descriptor => *mut *mut c_char, generic => *mut *mut c_char))?;
        Ok((self.take_string(name), self.take_string(descriptor)))
    }

    /// Access flags of a method.
    pub fn method_modifiers(&self, method: jmethodID) -> Result<u32, JvmtiError> {
        let mut flags: jint = 0;
        call!(self, 66, "GetMethodModifiers", fn(method => jmethodID, &mut flags => *mut jint))?;
        Ok(flags as u32)
    }

    /// Declaring class of a method, as a local reference.
    pub fn method_class(&self, method: jmethodID) -> Result<Ref, JvmtiError> {
        let mut class: jclass = ptr::null_mut();
        call!(self, 65, "GetMethodDeclaringClass", fn(method => jmethodID, &mut class => *mut jclass))?;
        // SAFETY: a local reference that the VM just made for this thread.
        Ok(unsafe { Ref::new(class) })
    }

    /// Line number table of a method.
    pub fn line_numbers(&self, method: jmethodID) -> Result<Vec<LineNumberEntry>, JvmtiError> {
        let mut count: jint = 0;
        let mut table: *mut LineNumberEntry = ptr::null_mut();
        call!(self, 70, "GetLineNumberTable", fn(method => jmethodID, &mut count => *mut jint,
            &mut table => *mut *mut LineNumberEntry))?;
        Ok(self.take_array(table, count))
    }

    /// A method's bytecodes, as in the class file.
    pub fn bytecodes(&self, method: jmethodID) -> Result<Vec<u8>, JvmtiError> {
        let mut count: jint = 0;
        let mut code: *mut u8 = ptr::null_mut();
        call!(self, 75, "GetBytecodes", fn(method => jmethodID, &mut count => *mut jint,
            &mut code => *mut *mut u8))?;
        Ok(self.take_array(code, count))
    }

    /// A class's constant pool in class-file form: number of entries, bytes.
    pub fn constant_pool(&self, class: Ref) -> Result<(usize, Vec<u8>), JvmtiError> {
        let (mut entries, mut count): (jint, jint) = (0, 0);
        let mut bytes: *mut u8 = ptr::null_mut();
        call!(self, 146, "GetConstantPool", fn(class.raw() => jclass, &mut entries => *mut jint,
            &mut count => *mut jint, &mut bytes => *mut *mut u8))?;
        Ok((entries.max(0) as usize, self.take_array(bytes, count)))
    }

    /// A system property, `None` if unset.
    pub fn system_property(&self, name: &CStr) -> Option<String> {
        let mut value: *mut c_char = ptr::null_mut();
        let asked = call!(self, 131, "GetSystemProperty", fn(name.as_ptr() => *const c_char,
            &mut value => *mut *mut c_char));
        asked.ok().map(|()| self.take_string(value))
    }

    /// Has the VM ask again what a class is to be.
    pub fn retransform(&self, class: Ref) -> Result<(), JvmtiError> {
        self.retransform_all(&[class])
    }

    /// Has the VM ask again what these classes are to be, all at once.
    pub fn retransform_all(&self, classes: &[Ref]) -> Result<(), JvmtiError> {
        let classes: Vec<jclass> = classes.iter().map(|class| class.raw()).collect();
        call!(self, 152, "RetransformClasses", fn(classes.len() as jint => jint, classes.as_ptr() => *const jclass))
    }

    /// True if a class can be changed at all.
    pub fn is_modifiable(&self, class: Ref) -> Result<bool, JvmtiError> {
        let mut modifiable = 0u8;
        call!(self, 45, "IsModifiableClass", fn(class.raw() => jclass, &mut modifiable => *mut u8))?;
        Ok(modifiable != 0)
    }

    /// A copy of these bytes in memory that the VM deallocates.
    pub fn hand_over(&self, bytes: &[u8]) -> Result<*mut u8, JvmtiError> {
        let mut memory: *mut u8 = ptr::null_mut();
        call!(self, 46, "Allocate", fn(bytes.len() as jlong => jlong, &mut memory => *mut *mut u8))?;
        // SAFETY: JVMTI has just allocated this many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(memory)
    }

    /// Ends the environment: no function may be called on it afterwards.
    pub fn dispose(self) -> Result<(), JvmtiError> {
        call!(self, 127, "DisposeEnvironment", fn())
    }

    fn deallocate(&self, memory: *mut u8) {
        if !memory.is_null() {
            // A failure leaks; there is nobody to report it to.
            let _ = call!(self, 47, "Deallocate", fn(memory => *mut u8));
        }
    }

    fn take_string(&self, text: *mut c_char) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: JVMTI returns a zero-terminated string that is ours until
        // we deallocate it.
        let copy = modified_utf8(unsafe { CStr::from_ptr(text) }.to_bytes());
        self.deallocate(text.cast());
        copy
    }

    fn take_array<T: Copy>(&self, list: *mut T, count: jint) -> Vec<T> {
        if list.is_null() {
            return Vec::new();
        }
        // SAFETY: JVMTI returns `count` elements that are ours until we
        // deallocate them.
        let copy = unsafe { std::slice::from_raw_parts(list, count.max(0) as usize) }.to_vec();
        self.deallocate(list.cast());
        copy
    }
}
