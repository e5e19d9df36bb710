//! The few JNI calls of the agent, typed.

mod strings;

use jni_sys::{
    jfieldID, jint, jobject, jvalue, JNIEnv, JNINativeInterface_, JNINativeMethod, JavaVM, JavaVMAttachArgs,
    JNI_VERSION_1_8,
};
use std::ffi::{c_void, CStr};
use std::sync::atomic::{AtomicPtr, Ordering};
pub(crate) use strings::text;

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

/// Runs `work` on the current thread, which is made one of Java's for that time
/// (a daemon of this name) if it is none. `None` if the VM refuses.
pub fn attached<T>(name: &CStr, work: impl FnOnce(Jni) -> T) -> Option<T> {
    if let Some(jni) = of_current_thread() {
        return Some(work(jni));
    }
    let vm = VM.load(Ordering::Acquire);
    if vm.is_null() {
        return None;
    }
    let mut arguments =
        JavaVMAttachArgs { version: JNI_VERSION_1_8, name: name.as_ptr().cast_mut(), group: std::ptr::null_mut() };
    let mut env: *mut c_void = std::ptr::null_mut();
    // SAFETY: `remember_vm`'s caller vouches for `vm`; the arguments and their
    // name live until the call returns; a thread may attach itself in any state.
    let code =
        unsafe { ((**vm).v1_4.AttachCurrentThreadAsDaemon)(vm, &mut env, std::ptr::addr_of_mut!(arguments).cast()) };
    if code != 0 || env.is_null() {
        return None;
    }
    let _detached = Detach(vm);
    Some(work(Jni(env.cast())))
}

/// Takes the current thread out of the VM again, also after a panic: one that
/// ended attached would stay in the VM's list.
struct Detach(*mut JavaVM);

impl Drop for Detach {
    fn drop(&mut self) {
        // SAFETY: made where the thread was attached to this VM; nothing of
        // Java's is on its stack any more.
        unsafe { ((**self.0).v1_1.DetachCurrentThread)(self.0) };
    }
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

/// A class that is never unloaded, by a reference that is never given back.
#[derive(Clone, Copy, Debug)]
pub struct Class(jobject);

// SAFETY: a global reference is valid on every thread.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

impl Class {
    /// As a reference.
    pub fn as_ref(self) -> Ref {
        Ref(self.0)
    }
}

/// A reference to an object that keeps it alive until it is given back by
/// [`Jni::let_go`].
#[derive(Debug)]
pub struct Global(jobject);

impl Global {
    /// As a reference.
    pub fn as_ref(&self) -> Ref {
        Ref(self.0)
    }
}

/// A native method and the function to bind it to.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    /// The method's name.
    pub name: &'static CStr,
    /// Its descriptor.
    pub descriptor: &'static CStr,
    /// The function.
    pub function: *const c_void,
}

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

    /// Value of a reference field, which the object's class must have, as a
    /// local reference; `None` for null.
    pub fn object_field(self, object: Ref, field: Field) -> Option<Ref> {
        // SAFETY: as in `long_field`.
        let value = unsafe { (self.table().v1_1.GetObjectField)(self.0, object.raw(), field.0) };
        (!value.is_null()).then_some(Ref(value))
    }

    /// True if the object is of this class or one derived from it.
    pub fn is_instance_of(self, object: Ref, class: Ref) -> bool {
        // SAFETY: references are live (see `Ref::new`).
        unsafe { (self.table().v1_1.IsInstanceOf)(self.0, object.raw(), class.raw()) }
    }

    /// A class of the boot loader, as a local reference; `None` if there is none.
    pub fn find_class(self, name: &CStr) -> Option<Ref> {
        let table = self.table();
        // SAFETY: valid environment and zero-terminated string; a pending
        // exception is cleared before anything else is called.
        unsafe {
            let class = (table.v1_1.FindClass)(self.0, name.as_ptr());
            if class.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
                return None;
            }
            Some(Ref(class))
        }
    }

    /// A class of the boot loader, kept for ever; `None` if there is none.
    pub fn global_class(self, name: &CStr) -> Option<Class> {
        let class = self.find_class(name)?;
        let global = self.keep(class);
        self.forget(class);
        global
    }

    /// Defines a class in the boot loader, kept for ever; `None` if the VM
    /// refuses.
    pub fn define_boot_class(self, name: &CStr, bytes: &[u8]) -> Option<Class> {
        let table = self.table();
        let length = jint::try_from(bytes.len()).ok()?;
        let boot_loader = std::ptr::null_mut();
        // SAFETY: valid environment, zero-terminated name, `length` bytes; a
        // pending exception is cleared before anything else is called.
        let class = unsafe {
            let class = (table.v1_1.DefineClass)(self.0, name.as_ptr(), boot_loader, bytes.as_ptr().cast(), length);
            if class.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
                return None;
            }
            Ref(class)
        };
        let global = self.keep(class);
        self.forget(class);
        global
    }

    fn keep(self, class: Ref) -> Option<Class> {
        // SAFETY: a live local reference (see `Ref::new`).
        let global = unsafe { (self.table().v1_1.NewGlobalRef)(self.0, class.raw()) };
        (!global.is_null()).then_some(Class(global))
    }

    /// Keeps an object alive; `None` if the VM has no memory for it.
    pub fn hold(self, object: Ref) -> Option<Global> {
        // SAFETY: a live reference (see `Ref::new`).
        let global = unsafe { (self.table().v1_1.NewGlobalRef)(self.0, object.raw()) };
        (!global.is_null()).then_some(Global(global))
    }

    /// Gives a reference back.
    pub fn let_go(self, object: Global) {
        // SAFETY: made by `hold`, given back once.
        unsafe { (self.table().v1_1.DeleteGlobalRef)(self.0, object.0) };
    }

    /// The id of an instance method, as a number; `None` if there is none.
    pub fn method(self, class: Ref, name: &CStr, descriptor: &CStr) -> Option<u64> {
        let table = self.table();
        // SAFETY: as in `find_class`.
        unsafe {
            let id = (table.v1_1.GetMethodID)(self.0, class.raw(), name.as_ptr(), descriptor.as_ptr());
            if id.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
            }
            (!id.is_null()).then_some(id as u64)
        }
    }

    /// The id of a static method, as a number; `None` if there is none.
    pub fn static_method(self, class: Ref, name: &CStr, descriptor: &CStr) -> Option<u64> {
        let table = self.table();
        // SAFETY: as in `find_class`.
        unsafe {
            let id = (table.v1_1.GetStaticMethodID)(self.0, class.raw(), name.as_ptr(), descriptor.as_ptr());
            if id.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
            }
            (!id.is_null()).then_some(id as u64)
        }
    }

    /// A weak global reference to an object, as a number; `None` if there is no
    /// room. It is never given back.
    pub fn weak(self, object: Ref) -> Option<u64> {
        // SAFETY: a live reference (see `Ref::new`).
        let weak = unsafe { (self.table().v1_2.NewWeakGlobalRef)(self.0, object.raw()) };
        (!weak.is_null()).then_some(weak as u64)
    }

    /// Binds native methods; 0, or JNI's error.
    ///
    /// # Safety
    /// Each function must have the signature of its method, contain every
    /// panic, and never be unloaded.
    pub unsafe fn register_natives(self, class: Ref, natives: &[Native]) -> jint {
        let table = self.table();
        let methods: Vec<JNINativeMethod> = natives
            .iter()
            .map(|native| JNINativeMethod {
                name: native.name.as_ptr().cast_mut(),
                signature: native.descriptor.as_ptr().cast_mut(),
                fnPtr: native.function.cast_mut(),
            })
            .collect();
        // SAFETY: the caller vouches for the functions; names live for ever; a
        // pending exception is cleared before anything else is called.
        unsafe {
            let code = (table.v1_1.RegisterNatives)(self.0, class.raw(), methods.as_ptr(), methods.len() as jint);
            if code != 0 {
                (table.v1_1.ExceptionClear)(self.0);
            }
            code
        }
    }

    /// Calls a static method that takes an `int` and gives an `int`; `None` if
    /// there is none or it threw.
    pub fn call_static_int(self, class: Class, name: &CStr, descriptor: &CStr, argument: jint) -> Option<jint> {
        let table = self.table();
        let arguments = [jvalue { i: argument }];
        // SAFETY: as in `find_class`; the descriptor is that of the method.
        unsafe {
            let id = (table.v1_1.GetStaticMethodID)(self.0, class.0, name.as_ptr(), descriptor.as_ptr());
            if id.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
                return None;
            }
            let value = (table.v1_1.CallStaticIntMethodA)(self.0, class.0, id, arguments.as_ptr());
            let threw = (table.v1_2.ExceptionCheck)(self.0);
            if threw {
                (table.v1_1.ExceptionClear)(self.0);
            }
            (!threw).then_some(value)
        }
    }

    /// Value of a static `long` field; `None` if the class has none of this name.
    pub fn static_long(self, class: Class, name: &CStr) -> Option<i64> {
        let id = self.static_long_field(class, name)?;
        // SAFETY: as in `find_class`; the field is a static `long` of this class.
        Some(unsafe { (self.table().v1_1.GetStaticLongField)(self.0, class.0, id) })
    }

    /// Sets a static `long` field; false if the class has none of this name.
    pub fn set_static_long(self, class: Class, name: &CStr, value: i64) -> bool {
        let Some(id) = self.static_long_field(class, name) else { return false };
        // SAFETY: as in `static_long`.
        unsafe { (self.table().v1_1.SetStaticLongField)(self.0, class.0, id, value) };
        true
    }

    fn static_long_field(self, class: Class, name: &CStr) -> Option<jfieldID> {
        let table = self.table();
        // SAFETY: as in `find_class`.
        unsafe {
            let id = (table.v1_1.GetStaticFieldID)(self.0, class.0, name.as_ptr(), c"J".as_ptr());
            if id.is_null() {
                (table.v1_1.ExceptionClear)(self.0);
            }
            (!id.is_null()).then_some(id)
        }
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
