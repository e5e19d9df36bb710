//! The little of JNI and JVMTI that the tests need, by position in the
//! function tables of the specifications.

use std::error::Error;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Position of `GetEnv` in the invocation interface.
const VM_GET_ENV: usize = 6;
/// Positions in the JVMTI function table: function number minus one.
const JVMTI_DEALLOCATE: usize = 46;
const JVMTI_GET_ALL_STACK_TRACES: usize = 99;
const JVMTI_VERSION: i32 = 0x3001_0000;

static VM: AtomicUsize = AtomicUsize::new(0);

/// Keeps the VM.
pub fn remember(vm: *mut c_void) {
    VM.store(vm as usize, Ordering::Release);
}

/// # Safety
/// `object` must be a JNI or JVMTI object and the function at `index` must
/// have the type `F`.
unsafe fn function<F: Copy>(object: *mut c_void, index: usize) -> F {
    // SAFETY: such an object begins with a pointer to its function table.
    let table = unsafe { *object.cast::<*const *const c_void>() };
    // SAFETY: the caller knows the table and the type.
    unsafe { std::mem::transmute_copy(&*table.add(index)) }
}

fn jvmti() -> Result<*mut c_void, String> {
    let vm = VM.load(Ordering::Acquire) as *mut c_void;
    let mut env = std::ptr::null_mut();
    type GetEnv = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, i32) -> i32;
    // SAFETY: the VM gave us itself in JNI_OnLoad; GetEnv has this type.
    let result = unsafe { function::<GetEnv>(vm, VM_GET_ENV)(vm, &mut env, JVMTI_VERSION) };
    match result {
        0 => Ok(env),
        code => Err(format!("GetEnv for JVMTI: {code}")),
    }
}

/// An empty safepoint: a VM operation that stops all threads.
pub fn safepoint() -> Result<(), Box<dyn Error + Send + Sync>> {
    let env = jvmti()?;
    let mut stacks = std::ptr::null_mut::<c_void>();
    let mut count = 0;
    type GetAll = unsafe extern "C" fn(*mut c_void, i32, *mut *mut c_void, *mut i32) -> i32;
    // SAFETY: called on a Java thread, in native; results go to valid places.
    let result = unsafe { function::<GetAll>(env, JVMTI_GET_ALL_STACK_TRACES)(env, 1, &mut stacks, &mut count) };
    if result != 0 {
        return Err(format!("GetAllStackTraces: {result}").into());
    }
    type Deallocate = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
    // SAFETY: the VM allocated it just now.
    unsafe { function::<Deallocate>(env, JVMTI_DEALLOCATE)(env, stacks) };
    Ok(())
}
