//! Hooks of a USDT probe in a loaded library.

#![cfg(target_arch = "x86_64")]
// The test patches the library and calls it.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod child;
mod probe_library;

use child::in_child;
use headway_hook::sys::fake::Fake;
use headway_hook::sys::linux::Linux;
use headway_hook::sys::{Sys, ThreadSignals};
use headway_hook::usdt::{Hit, ProbeHook};
use headway_hook::{trap, HookError, Image, ImageError};
use std::ffi::{c_void, CString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

const NAME: &str = "libheadway_hook_probe.so";

static HITS: AtomicU64 = AtomicU64::new(0);
static ARGUMENTS: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];

extern "C" fn on_hit(hit: &Hit<'_>) {
    HITS.fetch_add(1, Ordering::SeqCst);
    for (n, place) in ARGUMENTS.iter().enumerate() {
        place.store(hit.argument(n).unwrap_or(u64::MAX), Ordering::SeqCst);
    }
}

type Call = extern "C" fn(u64, u64) -> u64;
type Listeners = extern "C" fn() -> u64;

struct Library {
    call: Call,
    listeners: Listeners,
    image: Image,
}

fn load() -> Library {
    let path = CString::new(probe_library::path().as_os_str().as_bytes()).unwrap();
    // SAFETY: the library's initializers do nothing.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    // SAFETY: an open library and NUL-terminated names.
    let address = |name: &std::ffi::CStr| unsafe { libc::dlsym(handle, name.as_ptr()) };
    // SAFETY: the functions have these types.
    unsafe {
        Library {
            call: std::mem::transmute::<*mut c_void, Call>(address(c"hook_probe_call_site")),
            listeners: std::mem::transmute::<*mut c_void, Listeners>(address(c"hook_probe_call_listeners")),
            image: Image::of_loaded(NAME, &Linux).unwrap(),
        }
    }
}

fn hook(library: &Library, sys: &'static dyn Sys) -> ProbeHook {
    ProbeHook::prepare(&library.image, "headway", "test__site", None, on_hit, sys).unwrap()
}

fn hits() -> u64 {
    HITS.load(Ordering::SeqCst)
}

#[test]
fn the_callback_gets_the_arguments_and_the_probe_goes_on() {
    in_child("the_callback_gets_the_arguments_and_the_probe_goes_on", || {
        let library = load();
        let hook = hook(&library, &Linux);
        assert_eq!(((library.call)(1, 2), hits(), (library.listeners)()), (3, 0, 0));
        hook.install().unwrap();
        hook.install().unwrap();
        assert_eq!((library.listeners)(), 1);
        assert_eq!((library.call)(1 << 40, 2), (1 << 40) + 2);
        let arguments = ARGUMENTS.each_ref().map(|a| a.load(Ordering::SeqCst));
        assert_eq!(arguments, [1 << 40, 2, 2, -3i64 as u64, u64::MAX]);
        assert_eq!(hits(), 1);
        assert!(matches!(trap::remove_handler(&Linux).unwrap_err(), HookError::TrapsInForce(1)));
        hook.remove().unwrap();
        hook.remove().unwrap();
        assert_eq!(((library.call)(3, 4), hits(), (library.listeners)()), (7, 1, 0));
        trap::remove_handler(&Linux).unwrap();
    });
}

#[test]
fn put_in_and_out_under_threads_no_call_is_lost() {
    in_child("put_in_and_out_under_threads_no_call_is_lost", || {
        let library = load();
        let (call, stop) = (library.call, Arc::new(AtomicBool::new(false)));
        let made = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (stop, made) = (stop.clone(), made.clone());
                std::thread::spawn(move || {
                    let mut calls = 0u64;
                    while !stop.load(Ordering::Relaxed) {
                        assert_eq!(call(calls, 5), calls + 5);
                        calls += 1;
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let hook = hook(&library, &Linux);
        // The threads may not get a CPU before this one has done all.
        let call_is_made = || {
            let before = made.load(Ordering::Relaxed);
            while made.load(Ordering::Relaxed) < before + 8 {
                std::thread::yield_now();
            }
        };
        for round in 0..200 {
            hook.install().unwrap();
            std::thread::yield_now();
            if round % 50 == 0 {
                call_is_made();
            }
            hook.remove().unwrap();
            if round % 50 == 0 {
                call_is_made();
            }
        }
        stop.store(true, Ordering::SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let calls = made.load(Ordering::SeqCst);
        assert!(hits() > 0 && hits() < calls, "{} of {calls}", hits());
        let before = hits();
        assert_eq!((library.call)(1, 1), 2);
        assert_eq!(hits(), before);
    });
}

#[test]
fn what_cannot_be_done_is_refused_and_nothing_changed() {
    in_child("what_cannot_be_done_is_refused_and_nothing_changed", || {
        let library = load();
        let refused = |fake: Fake| {
            let hook = hook(&library, Box::leak(Box::new(fake)));
            let error = hook.install().unwrap_err();
            assert_eq!(((library.call)(1, 2), (library.listeners)()), (3, 0));
            error
        };
        let deaf = ThreadSignals { tid: 9, name: "deaf".into(), blocked: 1 << 4, pending: 0, tracer: 0 };
        let error = refused(Fake { threads: Some(vec![deaf]), ..Fake::default() });
        assert!(error.to_string().contains("\"deaf\""), "{error}");
        let error = refused(Fake { deny_protect: true, deny_mem_file: true, ..Fake::default() });
        assert!(matches!(error, HookError::WriteDenied { .. }), "{error}");
        assert_eq!(hits(), 0);
        trap::remove_handler(&Linux).unwrap();
    });
}

#[test]
fn a_probe_that_somebody_else_changed_is_left_alone() {
    in_child("a_probe_that_somebody_else_changed_is_left_alone", || {
        let library = load();
        let hook = hook(&library, &Linux);
        let address = library.image.probes("headway", "test__site").unwrap()[0].address;
        // A prefix that changes nothing: repeated leave.
        // SAFETY: nobody executes the probe meanwhile.
        unsafe { Linux.write_protected(address, &[0x3e]) }.unwrap();
        let error = hook.install().unwrap_err();
        assert!(matches!(&error, HookError::AlreadyPatched { .. }), "{error}");
        assert!(error.to_string().contains("3e instead of 90"), "{error}");
        assert_eq!((library.call)(1, 2), 3);
    });
}

#[test]
fn an_absent_probe_and_a_file_that_is_not_loaded_are_named() {
    in_child("an_absent_probe_and_a_file_that_is_not_loaded_are_named", || {
        let library = load();
        let prepare =
            |image: &Image, name| ProbeHook::prepare(image, "headway", name, None, on_hit, &Linux).unwrap_err();
        let error = prepare(&library.image, "no__such");
        assert!(matches!(&error, HookError::Image(ImageError::NoProbe { .. })), "{error}");
        let file = Image::of_file(probe_library::path()).unwrap();
        let error = prepare(&file, "test__site");
        assert!(matches!(&error, HookError::Image(ImageError::NotLive { .. })), "{error}");
    });
}
