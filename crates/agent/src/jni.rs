//! The few JNI calls of the agent, typed.

use jni_sys::{jfieldID, jobject, JNIEnv, JNINativeInterface_};
use std::ffi::CStr;

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

    fn table(self) -> &'static JNINativeInterface_ {
        // SAFETY: `new`'s caller vouches for the environment; its first word
        // is the VM's function table, which lives as long as the VM.
        unsafe { &**self.0 }
    }

    /// Field id of an instance field; `None` if there is none.
    pub fn field(self, class: &CStr, name: &CStr, signature: &CStr) -> Option<jfieldID> {
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
            (!id.is_null()).then_some(id)
        }
    }

    /// Value of a `long` field.
    ///
    /// # Safety
    /// `object` must be a live reference whose class has the field.
    pub unsafe fn long_field(self, object: jobject, field: jfieldID) -> i64 {
        // SAFETY: the caller vouches for object and field.
        unsafe { (self.table().v1_1.GetLongField)(self.0, object, field) }
    }

    /// Value of a `boolean` field.
    ///
    /// # Safety
    /// `object` must be a live reference whose class has the field.
    pub unsafe fn boolean_field(self, object: jobject, field: jfieldID) -> bool {
        // SAFETY: the caller vouches for object and field.
        unsafe { (self.table().v1_1.GetBooleanField)(self.0, object, field) }
    }

    /// Class of an object, as a local reference.
    ///
    /// # Safety
    /// `object` must be a live, non-null reference.
    pub unsafe fn class_of(self, object: jobject) -> jobject {
        // SAFETY: the caller vouches for the object.
        unsafe { (self.table().v1_1.GetObjectClass)(self.0, object) }
    }

    /// True if the object is a virtual thread (always false before JDK 21).
    ///
    /// # Safety
    /// `object` must be a live, non-null reference; `java` the VM's version.
    pub unsafe fn is_virtual_thread(self, object: jobject, java: u32) -> bool {
        // SAFETY: from 19 on the table has this slot; the caller vouches for
        // the object.
        java >= 21 && unsafe { (self.table().v19.IsVirtualThread)(self.0, object) }
    }

    /// Drops a local reference.
    pub fn forget(self, object: jobject) {
        if !object.is_null() {
            // SAFETY: a local reference of the current frame, not used again.
            unsafe { (self.table().v1_1.DeleteLocalRef)(self.0, object) };
        }
    }
}
