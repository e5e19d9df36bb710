//! Native methods of `HookProbe.java`: installs hooks in the JVM that loaded
//! it, counts, and removes them. For tests only.

// Native methods and hooks are called from C.
#![allow(unsafe_code)]

mod arch;
mod counting;
mod jvm;

use counting::Mechanism;
use headway_hook::flag::BoolFlag;
use headway_hook::sys::linux::Linux;
use headway_hook::{trap, Image, ImageError};
use std::ffi::c_void;

/// What a failed native method returns; the reason is on stderr.
const FAILED: i64 = -1;

fn tell(result: Result<i64, String>) -> i64 {
    result.unwrap_or_else(|error| {
        eprintln!("hook-probe: {error}");
        FAILED
    })
}

/// `static native long install(int mechanism)`: 0, or -1.
#[no_mangle]
pub extern "C" fn Java_HookProbe_install(_env: *mut c_void, _class: *mut c_void, which: i32) -> i64 {
    tell(Mechanism::of(which).and_then(counting::install).map(|()| 0))
}

/// `static native long remove(int mechanism)`: 0, or -1.
#[no_mangle]
pub extern "C" fn Java_HookProbe_remove(_env: *mut c_void, _class: *mut c_void, which: i32) -> i64 {
    tell(Mechanism::of(which).and_then(counting::remove).map(|()| 0))
}

/// `static native long count(int mechanism)`: how often it was called.
#[no_mangle]
pub extern "C" fn Java_HookProbe_count(_env: *mut c_void, _class: *mut c_void, which: i32) -> i64 {
    tell(Mechanism::of(which).map(|m| counting::count(m) as i64))
}

/// `static native long wrong()`: hook calls whose arguments were implausible.
#[no_mangle]
pub extern "C" fn Java_HookProbe_wrong(_env: *mut c_void, _class: *mut c_void) -> i64 {
    counting::wrong() as i64
}

/// `static native long traps()`: traps handled so far.
#[no_mangle]
pub extern "C" fn Java_HookProbe_traps(_env: *mut c_void, _class: *mut c_void) -> i64 {
    trap::taken() as i64
}

/// `static native long removeHandler()`: 0, or -1.
#[no_mangle]
pub extern "C" fn Java_HookProbe_removeHandler(_env: *mut c_void, _class: *mut c_void) -> i64 {
    tell(trap::remove_handler(&Linux).map(|()| 0).map_err(|error| error.to_string()))
}

/// `static native long setDebugNonSafepoints(int value)`: what it was, or -1.
#[no_mangle]
pub extern "C" fn Java_HookProbe_setDebugNonSafepoints(_env: *mut c_void, _class: *mut c_void, value: i32) -> i64 {
    let set = || {
        let image = Image::of_loaded("libjvm.so", &Linux)?;
        let flag = BoolFlag::find(&image, BoolFlag::DEBUG_NON_SAFEPOINTS)?;
        // SAFETY: the compilers read this flag again for each method.
        Ok(i64::from(unsafe { flag.set(value != 0) }))
    };
    tell(set().map_err(|error: ImageError| error.to_string()))
}

/// `static native long monitorProbes()`: the flag `DTraceMonitorProbes`, or -1.
#[no_mangle]
pub extern "C" fn Java_HookProbe_monitorProbes(_env: *mut c_void, _class: *mut c_void) -> i64 {
    let get = || {
        let image = Image::of_loaded("libjvm.so", &Linux)?;
        let flag = BoolFlag::find(&image, BoolFlag::DTRACE_MONITOR_PROBES)?;
        Ok(i64::from(flag.get()))
    };
    tell(get().map_err(|error: ImageError| error.to_string()))
}

/// `static native long handlerInstalled()`: 0 or 1.
#[no_mangle]
pub extern "C" fn Java_HookProbe_handlerInstalled(_env: *mut c_void, _class: *mut c_void) -> i64 {
    i64::from(trap::handler_is_installed())
}

/// Keeps the VM for later. Returns the JNI version asked for (1.8).
#[no_mangle]
pub extern "C" fn JNI_OnLoad(vm: *mut c_void, _reserved: *mut c_void) -> i32 {
    jvm::remember(vm);
    0x0001_0008
}
