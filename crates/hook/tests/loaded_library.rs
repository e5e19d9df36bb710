//! A library that is loaded here: its file replaced, deleted, stripped; and
//! what it imports.

#![cfg(target_arch = "x86_64")]
// The test loads and calls a library.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod child;
mod probe_library;

use child::in_child;
use headway_hook::flag::BoolFlag;
use headway_hook::got::GotHook;
use headway_hook::sys::fake::Fake;
use headway_hook::sys::linux::Linux;
use headway_hook::{HookError, Image, ImageError};
use std::ffi::{c_void, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const NAME: &str = "libhook_test_copy.so";
const SYMBOL: &str = "Java_HookProbe_removeHandler";

/// A new copy of the probe library in a directory of this test's own.
fn copy(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(NAME);
    // A new inode: the old one may be loaded.
    let _ = std::fs::remove_file(&path);
    std::fs::copy(probe_library::path(), &path).unwrap();
    path
}

fn load(path: &Path) -> *mut c_void {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the probe library's initializers do nothing.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    handle
}

fn address_of(handle: *mut c_void, symbol: &str) -> usize {
    let name = CString::new(symbol).unwrap();
    // SAFETY: an open library and a NUL-terminated name.
    unsafe { libc::dlsym(handle, name.as_ptr()) as usize }
}

/// Turns the section headers of symbol tables into unused ones.
fn strip(path: &Path) {
    const SHT_SYMTAB: u32 = 2;
    let mut file = std::fs::read(path).unwrap();
    let number = |file: &[u8], at: usize, bytes: usize| {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&file[at..at + bytes]);
        u64::from_le_bytes(word) as usize
    };
    let (table, size) = (number(&file, 0x28, 8), number(&file, 0x3a, 2));
    for section in 0..number(&file, 0x3c, 2) {
        let kind = table + section * size + 4;
        if number(&file, kind, 4) == SHT_SYMTAB as usize {
            file[kind..kind + 4].fill(0);
        }
    }
    std::fs::write(path, file).unwrap();
}

#[test]
fn symbols_of_a_loaded_library_have_their_addresses() {
    in_child("symbols_of_a_loaded_library_have_their_addresses", || {
        let handle = load(&copy("symbols_of_a_loaded_library_have_their_addresses"));
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        let function = image.function(SYMBOL).unwrap();
        assert!(function.live && image.has_full_symbols());
        assert_eq!(function.address, address_of(handle, SYMBOL));
        assert!(image.contains(function.address) && !image.contains(8));
        // SAFETY: code of the library that was just loaded.
        let live = unsafe { std::slice::from_raw_parts(function.address as *const u8, function.code.len()) };
        assert_eq!(live, function.code);
    });
}

#[test]
fn symbols_that_were_given_back_are_read_again() {
    in_child("symbols_that_were_given_back_are_read_again", || {
        let path = copy("symbols_that_were_given_back_are_read_again");
        let handle = load(&path);
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        let before = image.clone();
        assert!(before.address_of("no_such_symbol").is_none());
        image.rest();
        // The open file is read, whatever the name stands for by now.
        std::fs::remove_file(&path).unwrap();
        let function = image.function(SYMBOL).unwrap();
        assert_eq!(function.address, address_of(handle, SYMBOL));
        assert_eq!(before.address_of(SYMBOL), Some(function.address));
        assert!(image.address_of("no_such_symbol").is_none());
    });
}

#[test]
fn a_library_that_is_not_loaded_is_named() {
    let error = Image::of_loaded("libnosuch.so", &Linux).unwrap_err();
    assert!(matches!(&error, ImageError::NotLoaded(name) if name == "libnosuch.so"), "{error}");
}

#[test]
fn a_replaced_file_is_noticed() {
    in_child("a_replaced_file_is_noticed", || {
        let path = copy("a_replaced_file_is_noticed");
        load(&path);
        // As a package manager does it: a new file under the old name.
        std::fs::remove_file(&path).unwrap();
        let own = std::env::current_exe().unwrap();
        std::fs::copy(own, &path).unwrap();
        match Image::of_loaded(NAME, &Linux) {
            // The kernel's handle on the deleted file needs a privilege.
            Ok(image) => assert!(image.path().starts_with("/proc/self/map_files")),
            Err(error) => assert!(matches!(error, ImageError::Replaced { .. }), "{error}"),
        }
    });
}

#[test]
fn a_replaced_file_of_the_same_build_will_do() {
    in_child("a_replaced_file_of_the_same_build_will_do", || {
        let path = copy("a_replaced_file_of_the_same_build_will_do");
        let handle = load(&path);
        std::fs::remove_file(&path).unwrap();
        copy("a_replaced_file_of_the_same_build_will_do");
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        assert_eq!(image.path(), path);
        assert_eq!(image.function(SYMBOL).unwrap().address, address_of(handle, SYMBOL));
    });
}

#[test]
fn a_deleted_file_is_an_error_or_read_through_the_kernel() {
    in_child("a_deleted_file_is_an_error_or_read_through_the_kernel", || {
        let path = copy("a_deleted_file_is_an_error_or_read_through_the_kernel");
        load(&path);
        std::fs::remove_file(&path).unwrap();
        match Image::of_loaded(NAME, &Linux) {
            Ok(image) => assert!(image.function(SYMBOL).unwrap().live),
            Err(error) => assert!(matches!(error, ImageError::Unreadable { .. }), "{error}"),
        }
    });
}

#[test]
fn a_stripped_library_says_so() {
    let path = copy("a_stripped_library_says_so");
    let full = Image::of_file(&path).unwrap();
    let inner = "rust_eh_personality";
    assert!(full.function(inner).is_ok());
    strip(&path);
    let image = Image::of_file(&path).unwrap();
    assert!(!image.has_full_symbols());
    let error = image.function(inner).unwrap_err();
    assert!(matches!(&error, ImageError::Stripped { .. }), "{error}");
    assert!(error.to_string().contains("stripped"), "{error}");
    assert!(image.function(SYMBOL).is_ok(), "exported symbols remain");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_absent_flag_is_named() {
    in_child("an_absent_flag_is_named", || {
        load(&copy("an_absent_flag_is_named"));
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        let error = BoolFlag::find(&image, "DebugNonSafepoints").unwrap_err();
        assert!(matches!(&error, ImageError::NoSymbol { .. }), "{error}");
    });
}

static CALLS: AtomicUsize = AtomicUsize::new(0);
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

type Sigaction = extern "C" fn(i32, *const c_void, *mut c_void) -> i32;

extern "C" fn counting_sigaction(signal: i32, new: *const c_void, old: *mut c_void) -> i32 {
    CALLS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: stored before the hook is installed.
    let original: Sigaction = unsafe { std::mem::transmute(ORIGINAL.load(Ordering::SeqCst)) };
    original(signal, new, old)
}

/// Has the library ask for the handler of SIGTRAP.
fn use_the_library(handle: *mut c_void) {
    // SAFETY: a native method that ignores its arguments.
    let ask: extern "C" fn(usize, usize, i32) -> i64 =
        unsafe { std::mem::transmute(address_of(handle, "Java_HookProbe_handlerInstalled")) };
    assert_eq!(ask(0, 0, 0), 0);
}

#[test]
fn an_import_is_replaced_and_restored() {
    in_child("an_import_is_replaced_and_restored", || {
        let handle = load(&copy("an_import_is_replaced_and_restored"));
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        let replacement = counting_sigaction as *const ();
        // SAFETY: same signature.
        let hook = unsafe { GotHook::prepare(&image, "sigaction", replacement, &Linux) }.unwrap();
        ORIGINAL.store(hook.original() as usize, Ordering::SeqCst);
        for round in 1..=3 {
            hook.install().unwrap();
            hook.install().unwrap();
            assert!(hook.is_installed());
            use_the_library(handle);
            assert_eq!(CALLS.load(Ordering::SeqCst), round);
            hook.remove().unwrap();
            hook.remove().unwrap();
            use_the_library(handle);
            assert_eq!(CALLS.load(Ordering::SeqCst), round);
        }
    });
}

#[test]
fn an_import_that_somebody_else_replaced_is_left_alone() {
    in_child("an_import_that_somebody_else_replaced_is_left_alone", || {
        extern "C" fn other(_: i32, _: *const c_void, _: *mut c_void) -> i32 {
            0
        }
        load(&copy("an_import_that_somebody_else_replaced_is_left_alone"));
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        let prepare = |hook: *const ()| {
            // SAFETY: same signature.
            unsafe { GotHook::prepare(&image, "sigaction", hook, &Linux) }.unwrap()
        };
        let first = prepare(counting_sigaction as *const ());
        let second = prepare(other as *const ());
        second.install().unwrap();
        assert!(matches!(first.install().unwrap_err(), HookError::SlotChanged { .. }));
        assert!(matches!(first.remove().unwrap_err(), HookError::SlotChanged { .. }));
        assert!(second.is_installed());
        second.remove().unwrap();
        first.install().unwrap();
    });
}

#[test]
fn an_import_that_is_absent_or_protected_is_refused() {
    in_child("an_import_that_is_absent_or_protected_is_refused", || {
        load(&copy("an_import_that_is_absent_or_protected_is_refused"));
        let image = Image::of_loaded(NAME, &Linux).unwrap();
        let error = image.got_slot("no_such_function").unwrap_err();
        assert!(matches!(&error, ImageError::NoGotSlot { .. }), "{error}");
        let fake = Box::leak(Box::new(Fake { deny_protect: true, ..Fake::default() }));
        let replacement = counting_sigaction as *const ();
        // SAFETY: same signature.
        let hook = unsafe { GotHook::prepare(&image, "sigaction", replacement, fake) }.unwrap();
        let error = hook.install().unwrap_err();
        assert!(matches!(&error, HookError::ProtectDenied { .. }), "{error}");
        assert!(!hook.is_installed());
    });
}
