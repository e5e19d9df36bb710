//! Traps and signals that are not ours, and the handler's own coming and going.

#![cfg(target_arch = "x86_64")]
// The test executes traps and installs signal handlers.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod child;

use child::{in_child, killed_in_child};
use headway_hook::sys::linux::Linux;
use headway_hook::{trap, HookError};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static WITH_INFO: AtomicUsize = AtomicUsize::new(0);
static PLAIN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn with_info(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    assert!(signal == libc::SIGTRAP && !info.is_null() && !context.is_null());
    WITH_INFO.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn plain(signal: i32) {
    assert_eq!(signal, libc::SIGTRAP);
    PLAIN.fetch_add(1, Ordering::SeqCst);
}

fn action(handler: usize, flags: i32) -> libc::sigaction {
    // SAFETY: all bits zero is a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    action
}

/// Sets SIGTRAP's action and returns the one before.
fn set(new: &libc::sigaction) -> libc::sigaction {
    let mut old = action(0, 0);
    // SAFETY: valid actions.
    assert_eq!(unsafe { libc::sigaction(libc::SIGTRAP, new, &mut old) }, 0);
    old
}

fn current() -> usize {
    let mut now = action(0, 0);
    // SAFETY: asks only.
    unsafe { libc::sigaction(libc::SIGTRAP, std::ptr::null(), &mut now) };
    now.sa_sigaction
}

fn foreign_trap() {
    // SAFETY: a handler is installed, or the test wants the process to end.
    unsafe { std::arch::asm!("int3") };
}

fn sent_signal() {
    // SAFETY: sends a signal to this thread.
    unsafe { libc::raise(libc::SIGTRAP) };
}

#[test]
fn a_foreign_trap_reaches_the_handler_that_was_there_before() {
    in_child("a_foreign_trap_reaches_the_handler_that_was_there_before", || {
        set(&action(with_info as *const () as usize, libc::SA_SIGINFO));
        trap::install_handler().unwrap();
        foreign_trap();
        sent_signal();
        assert_eq!(WITH_INFO.load(Ordering::SeqCst), 2);
        assert_eq!(trap::taken(), 0);
    });
}

#[test]
fn a_handler_without_information_is_called_too() {
    in_child("a_handler_without_information_is_called_too", || {
        set(&action(plain as *const () as usize, 0));
        trap::install_handler().unwrap();
        foreign_trap();
        assert_eq!(PLAIN.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn without_a_handler_before_a_foreign_trap_ends_the_process() {
    killed_in_child("without_a_handler_before_a_foreign_trap_ends_the_process", libc::SIGTRAP, || {
        trap::install_handler().unwrap();
        foreign_trap();
    });
}

#[test]
fn without_a_handler_before_a_sent_signal_ends_the_process() {
    killed_in_child("without_a_handler_before_a_sent_signal_ends_the_process", libc::SIGTRAP, || {
        trap::install_handler().unwrap();
        sent_signal();
    });
}

#[test]
fn where_it_was_ignored_a_sent_signal_stays_ignored() {
    in_child("where_it_was_ignored_a_sent_signal_stays_ignored", || {
        set(&action(libc::SIG_IGN, 0));
        trap::install_handler().unwrap();
        sent_signal();
        trap::remove_handler(&Linux).unwrap();
        assert_eq!(current(), libc::SIG_IGN);
    });
}

#[test]
fn where_it_was_ignored_a_foreign_trap_still_ends_the_process() {
    killed_in_child("where_it_was_ignored_a_foreign_trap_still_ends_the_process", libc::SIGTRAP, || {
        set(&action(libc::SIG_IGN, 0));
        trap::install_handler().unwrap();
        foreign_trap();
    });
}

#[test]
fn removal_gives_the_signal_back_and_installation_can_be_repeated() {
    in_child("removal_gives_the_signal_back_and_installation_can_be_repeated", || {
        let before = plain as *const () as usize;
        set(&action(before, 0));
        trap::remove_handler(&Linux).unwrap();
        for round in 1..=3 {
            trap::install_handler().unwrap();
            trap::install_handler().unwrap();
            assert!(trap::handler_is_installed());
            foreign_trap();
            assert_eq!(PLAIN.load(Ordering::SeqCst), round);
            trap::remove_handler(&Linux).unwrap();
            trap::remove_handler(&Linux).unwrap();
            assert_eq!(current(), before);
        }
    });
}

/// Installed over ours; calls what it found there.
static COVERED: AtomicUsize = AtomicUsize::new(0);
static COVERING: AtomicUsize = AtomicUsize::new(0);

extern "C" fn covering(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    COVERING.fetch_add(1, Ordering::SeqCst);
    let covered = COVERED.load(Ordering::SeqCst);
    // SAFETY: the test stored a handler of this type.
    let covered: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = unsafe { std::mem::transmute(covered) };
    covered(signal, info, context);
}

#[test]
fn a_handler_over_ours_keeps_ours_and_is_no_endless_circle() {
    in_child("a_handler_over_ours_keeps_ours_and_is_no_endless_circle", || {
        set(&action(plain as *const () as usize, 0));
        trap::install_handler().unwrap();
        let ours = set(&action(covering as *const () as usize, libc::SA_SIGINFO));
        COVERED.store(ours.sa_sigaction, Ordering::SeqCst);
        let error = trap::remove_handler(&Linux).unwrap_err();
        assert!(matches!(error, HookError::TrapHandlerCovered));
        foreign_trap();
        assert_eq!((COVERING.load(Ordering::SeqCst), PLAIN.load(Ordering::SeqCst)), (1, 1));
        // Ours goes on top: it passes on to the other, which calls ours again.
        trap::install_handler().unwrap();
        foreign_trap();
        assert_eq!((COVERING.load(Ordering::SeqCst), PLAIN.load(Ordering::SeqCst)), (2, 2));
        trap::remove_handler(&Linux).unwrap();
        assert_eq!(current(), covering as *const () as usize);
        foreign_trap();
        assert_eq!((COVERING.load(Ordering::SeqCst), PLAIN.load(Ordering::SeqCst)), (3, 3));
    });
}

#[test]
fn errno_is_kept() {
    extern "C" fn spoils_errno(_signal: i32) {
        // SAFETY: errno's place is always valid.
        unsafe { *libc::__errno_location() = libc::EXDEV };
    }
    in_child("errno_is_kept", || {
        set(&action(spoils_errno as *const () as usize, 0));
        trap::install_handler().unwrap();
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = libc::EDOM };
        foreign_trap();
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, libc::EDOM);
    });
}

/// A function of `tests/native/jumps.c`.
fn jumps(symbol: &std::ffi::CStr) -> *mut libc::c_void {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/jumps.c");
    let library = std::env::temp_dir().join(format!("headway-jumps-{}.so", std::process::id()));
    if !library.exists() {
        let mut compiler = Command::new("cc");
        let status = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status().unwrap();
        assert!(status.success());
    }
    let name = std::ffi::CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: a library without initialisers, never closed.
    let function = unsafe { libc::dlsym(libc::dlopen(name.as_ptr(), libc::RTLD_NOW), symbol.as_ptr()) };
    assert!(!function.is_null());
    function
}

#[test]
fn a_handler_that_jumps_away_leaves_nothing_behind() {
    in_child("a_handler_that_jumps_away_leaves_nothing_behind", || {
        let (handler, trap_and_jump) = (jumps(c"on_trap"), jumps(c"trap_and_jump"));
        let library = std::env::temp_dir().join(format!("headway-jumps-{}.so", std::process::id()));
        std::fs::remove_file(library).unwrap();
        // SAFETY: the function has this signature.
        let trap_and_jump: extern "C" fn() -> i32 = unsafe { std::mem::transmute(trap_and_jump) };
        set(&action(handler as usize, 0));
        trap::install_handler().unwrap();
        // Always on the same part of the stack, and over a handler that calls ours back.
        for _ in 0..1_000 {
            assert_eq!(trap_and_jump(), 1);
        }
        let ours = set(&action(covering as *const () as usize, libc::SA_SIGINFO | libc::SA_NODEFER));
        COVERED.store(ours.sa_sigaction, Ordering::SeqCst);
        trap::install_handler().unwrap();
        for _ in 0..1_000 {
            assert_eq!(trap_and_jump(), 1);
        }
        assert_eq!(COVERING.load(Ordering::SeqCst), 1_000);
    });
}

const AT_ONCE: usize = 1_000;
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Returns when all threads are in it.
extern "C" fn meeting(_signal: i32) {
    WAITING.fetch_add(1, Ordering::SeqCst);
    let begun = Instant::now();
    while WAITING.load(Ordering::SeqCst) < AT_ONCE && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    PLAIN.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_thousand_foreign_traps_at_once_all_come_back() {
    in_child("a_thousand_foreign_traps_at_once_all_come_back", || {
        set(&action(meeting as *const () as usize, 0));
        trap::install_handler().unwrap();
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|_| std::thread::Builder::new().stack_size(64 << 10).spawn(foreign_trap).unwrap())
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((WAITING.load(Ordering::SeqCst), PLAIN.load(Ordering::SeqCst)), (AT_ONCE, AT_ONCE));
    });
}
