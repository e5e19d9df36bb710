//! As much of JVMTI and JNI as the probe calls, by place in the function tables.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;

/// A function table's entries.
type Table = *const *const c_void;

/// `jvmtiEnv*`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Jvmti(*mut Table);

/// `JNIEnv*`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Jni(pub *mut Table);

/// `JavaVM*`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Vm(*mut Table);

/// Any `jobject`.
pub type Object = *mut c_void;
/// `jmethodID`.
pub type MethodId = *mut c_void;

/// `jvmtiFrameInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameInfo {
    pub method: MethodId,
    pub location: i64,
}

/// `jvmtiLineNumberEntry`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LineEntry {
    pub start: i64,
    pub line: i32,
}

/// `jvmtiMonitorStackDepthInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OwnedMonitor {
    pub monitor: Object,
    pub depth: i32,
}

macro_rules! call {
    ($this:expr, $index:literal, fn($($arg:ident : $type:ty),* $(,)?) -> $result:ty) => {{
        // SAFETY: the environment is the VM's, its table has this function in
        // this place since JVMTI 1.0 / JNI 1.2, with this signature.
        unsafe {
            let entry = *(*$this.0).add($index);
            let function: unsafe extern "C" fn(*mut Table, $($type),*) -> $result =
                std::mem::transmute(entry);
            function($this.0, $($arg),*)
        }
    }};
}

impl Vm {
    /// The VM's JVMTI environment for this agent.
    pub fn jvmti(self) -> Option<Jvmti> {
        let mut env: *mut c_void = ptr::null_mut();
        let (out, version) = (&raw mut env, 0x3001_0200);
        // GetEnv
        let result = call!(self, 6, fn(out: *mut *mut c_void, version: c_int) -> c_int);
        (result == 0).then_some(Jvmti(env.cast()))
    }
}

impl Jvmti {
    pub fn add_capabilities(self, bits: [u8; 16]) -> c_int {
        let bits = bits.as_ptr();
        call!(self, 141, fn(bits: *const u8) -> c_int)
    }

    /// `callbacks` must live for ever.
    pub fn set_callbacks(self, callbacks: &'static [*const c_void; 40]) -> c_int {
        let (table, size) = (callbacks.as_ptr(), size_of_val(callbacks) as c_int);
        call!(self, 121, fn(table: *const *const c_void, size: c_int) -> c_int)
    }

    pub fn enable(self, event: c_int) -> c_int {
        let (mode, thread) = (1 as c_int, ptr::null_mut());
        call!(self, 1, fn(mode: c_int, event: c_int, thread: Object) -> c_int)
    }

    /// The current thread's stack, leaf first.
    pub fn stack(self, limit: usize) -> Option<Vec<FrameInfo>> {
        let none = FrameInfo { method: ptr::null_mut(), location: 0 };
        let mut frames = vec![none; limit];
        let (thread, from, max) = (ptr::null_mut(), 0 as c_int, limit as c_int);
        let (buffer, mut count) = (frames.as_mut_ptr(), 0);
        let out = &raw mut count;
        let result = call!(
            self,
            103,
            fn(thread: Object, from: c_int, max: c_int, buffer: *mut FrameInfo, out: *mut c_int) -> c_int
        );
        frames.truncate(count as usize);
        (result == 0).then_some(frames)
    }

    /// The monitors that the current thread owns, with the depth of the frame
    /// that entered each; -1 for those entered through JNI.
    pub fn owned_monitors(self) -> Option<Vec<OwnedMonitor>> {
        let mut list: *mut OwnedMonitor = ptr::null_mut();
        let (thread, mut count) = (ptr::null_mut(), 0);
        let (count_out, list_out) = (&raw mut count, &raw mut list);
        let result =
            call!(self, 152, fn(thread: Object, count_out: *mut c_int, list_out: *mut *mut OwnedMonitor) -> c_int);
        if result != 0 {
            return None;
        }
        Some(self.take(list, count))
    }

    pub fn line_table(self, method: MethodId) -> Option<Vec<LineEntry>> {
        let mut table: *mut LineEntry = ptr::null_mut();
        let mut count = 0;
        let (count_out, table_out) = (&raw mut count, &raw mut table);
        let result =
            call!(self, 69, fn(method: MethodId, count_out: *mut c_int, table_out: *mut *mut LineEntry) -> c_int);
        if result != 0 {
            return None;
        }
        Some(self.take(table, count))
    }

    /// Name and descriptor.
    pub fn method_name(self, method: MethodId) -> Option<(String, String)> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        let (name_out, descriptor_out) = (&raw mut name, &raw mut descriptor);
        let generic: *mut *mut c_char = ptr::null_mut();
        let result = call!(
            self,
            63,
            fn(
                method: MethodId,
                name_out: *mut *mut c_char,
                descriptor_out: *mut *mut c_char,
                generic: *mut *mut c_char,
            ) -> c_int
        );
        (result == 0).then(|| (self.text(name), self.text(descriptor)))
    }

    /// The class signature and source file of a method's class.
    pub fn declaring_class(self, jni: Jni, method: MethodId) -> Option<(String, String)> {
        let mut class: Object = ptr::null_mut();
        let out = &raw mut class;
        if call!(self, 64, fn(method: MethodId, out: *mut Object) -> c_int) != 0 {
            return None;
        }
        let mut signature = ptr::null_mut();
        let (out, generic): (_, *mut *mut c_char) = (&raw mut signature, ptr::null_mut());
        let known = call!(self, 47, fn(class: Object, out: *mut *mut c_char, generic: *mut *mut c_char) -> c_int) == 0;
        let mut file = ptr::null_mut();
        let out = &raw mut file;
        let source = call!(self, 49, fn(class: Object, out: *mut *mut c_char) -> c_int);
        let names = known.then(|| {
            let source = if source == 0 { self.text(file) } else { String::new() };
            (self.text(signature), source)
        });
        jni.delete_local(class);
        names
    }

    /// An array that the VM allocated, which may be null if it is empty.
    fn take<T: Clone>(self, array: *mut T, count: c_int) -> Vec<T> {
        if array.is_null() {
            return Vec::new();
        }
        // SAFETY: the VM allocated `count` entries.
        let entries = unsafe { std::slice::from_raw_parts(array, count as usize) }.to_vec();
        self.deallocate(array.cast());
        entries
    }

    fn text(self, chars: *mut c_char) -> String {
        // SAFETY: the VM allocated a terminated string.
        let text = unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned();
        self.deallocate(chars.cast());
        text
    }

    fn deallocate(self, memory: *mut u8) {
        call!(self, 46, fn(memory: *mut u8) -> c_int);
    }
}

impl Jni {
    pub fn delete_local(self, object: Object) {
        call!(self, 23, fn(object: Object) -> ())
    }

    /// The value of `Thread.eetop`: the thread's `JavaThread*`.
    pub fn java_thread(self, thread: Object) -> u64 {
        let class = call!(self, 31, fn(thread: Object) -> Object);
        let (name, signature) = (c"eetop".as_ptr(), c"J".as_ptr());
        let field = call!(self, 94, fn(class: Object, name: *const c_char, signature: *const c_char) -> *mut c_void);
        call!(self, 101, fn(thread: Object, field: *mut c_void) -> i64) as u64
    }

    /// Calls a `Runnable`.
    pub fn run(self, runnable: Object) {
        let class = call!(self, 31, fn(runnable: Object) -> Object);
        let (name, signature) = (c"run".as_ptr(), c"()V".as_ptr());
        let method = call!(self, 33, fn(class: Object, name: *const c_char, signature: *const c_char) -> MethodId);
        let arguments: *const u64 = ptr::null();
        // CallVoidMethodA
        call!(self, 63, fn(runnable: Object, method: MethodId, arguments: *const u64) -> ());
    }

    pub fn monitor_enter(self, object: Object) {
        call!(self, 217, fn(object: Object) -> c_int);
    }

    pub fn monitor_exit(self, object: Object) {
        call!(self, 218, fn(object: Object) -> c_int);
    }
}
