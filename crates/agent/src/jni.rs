//! The few JNI calls of the agent, typed.

use jni_sys::{jfieldID, jobject, JNIEnv, JNINativeInterface_, JavaVM, JNI_VERSION_1_8};
use std::ffi::{c_void, CStr};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The VM this library was loaded into.
static VM: AtomicPtr<JavaVM> = AtomicPtr::new(std::ptr::null_mut());

/// Remembers the VM for [`of_current_thread`].
///
/// # Safety
/// `vm` must be what the VM handed to the library's entry point.
pub unsafe fn remember_vm(vm: *mut JavaVM) {
    VM.store(vm, Ordering::Release);
}

/// The current thread's environment, where no callback brings it; `None` if
/// the thread is not Java's.
pub fn of_current_thread() -> Option<Jni> {
    let vm = VM.load(Ordering::Acquire);
    if vm.is_null() {
        return None;
    }
    let mut env: *mut c_void = std::ptr::null_mut();
    // SAFETY: `remember_vm`'s caller vouches for `vm`; any thread may ask for
    // its environment in any state.
    let code = unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, JNI_VERSION_1_8) };
    (code == 0 && !env.is_null()).then_some(Jni(env.cast()))
}

/// A reference to an object, live while the callback runs that it was made in.
#[derive(Clone, Copy, Debug)]
pub struct Ref(jobject);

impl Ref {
    /// # Safety
    /// `object` must be a reference that the VM handed to this thread, live
    /// for as long as this value is used, and not null unless it is only
    /// passed on to JVMTI, where null means the current thread.
    pub const unsafe fn new(object: jobject) -> Ref {
        Ref(object)
    }

    /// The reference as the VM knows it.
    pub fn raw(self) -> jobject {
        self.0
    }
}

/// A field of a class that is never unloaded.
#[derive(Clone, Copy, Debug)]
pub struct Field(jfieldID);

// SAFETY: field ids are plain tokens, valid on every thread as long as the
// class lives.
unsafe impl Send for Field {}
// SAFETY: as above.
unsafe impl Sync for Field {}

/// The current thread's JNI environment.
#[derive(Clone, Copy)]
pub struct Jni(*mut JNIEnv);

impl Jni {
    /// # Safety
    /// `env` must be the current thread's environment, as the VM handed it to
    /// the callback that is running, and not be used after it returns.
    pub unsafe fn new(env: *mut JNIEnv) -> Jni {
        Jni(env)
    }

    /// The environment's address, which lies inside the VM's thread object.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// The environment as the VM knows it.
    pub fn raw(self) -> *mut JNIEnv {
        self.0
    }

    fn table(self) -> &'static JNINativeInterface_ {
        // SAFETY: `new`'s caller vouches for the environment; its first word
        // is the VM's function table, which lives as long as the VM.
        unsafe { &**self.0 }
    }

    /// An instance field of a class of the boot loader; `None` if there is none.
    pub fn field(self, class: &CStr, name: &CStr, signature: &CStr) -> Option<Field> {
        let table = self.table();
        // SAFETY: valid environment and zero-terminated strings; a pending
        // exception is cleared before anything else is called.
        unsafe {
            let class = (table.v1_1.FindClass)(self.0, class.as_ptr());
            if class.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
                return None;
            }
            let id = (table.v1_1.GetFieldID)(self.0, class, name.as_ptr(), signature.as_ptr());
            if id.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
            }
            (table.v1_1.DeleteLocalRef)(self.0, class);
            (!id.is_null()).then_some(Field(id))
        }
    }

    /// Value of a `long` field, which the object's class must have.
    pub fn long_field(self, object: Ref, field: Field) -> i64 {
        // SAFETY: references are live (see `Ref::new`); the fields asked for
        // were found in the class of the objects they are asked of.
        unsafe { (self.table().v1_1.GetLongField)(self.0, object.raw(), field.0) }
    }

    /// Value of a `boolean` field, which the object's class must have.
    pub fn boolean_field(self, object: Ref, field: Field) -> bool {
        // SAFETY: as in `long_field`.
        unsafe { (self.table().v1_1.GetBooleanField)(self.0, object.raw(), field.0) }
    }

    /// Class of an object, as a local reference.
    pub fn class_of(self, object: Ref) -> Ref {
        // SAFETY: references are live (see `Ref::new`).
        Ref(unsafe { (self.table().v1_1.GetObjectClass)(self.0, object.raw()) })
    }

    /// True if the object is a virtual thread; `java` is the VM's version.
    pub fn is_virtual_thread(self, object: Ref, java: u32) -> bool {
        // SAFETY: from 19 on the table has this slot; references are live.
        java >= 21 && unsafe { (self.table().v19.IsVirtualThread)(self.0, object.raw()) }
    }

    /// Drops a local reference, which is not used again.
    pub fn forget(self, object: Ref) {
        if !object.raw().is_null() {
            // SAFETY: a live local reference (see `Ref::new`).
            unsafe { (self.table().v1_1.DeleteLocalRef)(self.0, object.raw()) };
        }
    }
}
