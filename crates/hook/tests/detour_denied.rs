//! Detours where something is denied, blocked or in the way: refused with a
//! reason, and the function as it was.

#![cfg(target_arch = "x86_64")]
// The test patches its own code.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod child;
mod hammer;

use child::in_child;
use hammer::{Hammer, BAD_CONTEXT, HOOK_ENTERED, HOOK_MARK};
use headway_hook::arch::ContextArguments;
use headway_hook::detour::InPlace;
use headway_hook::sys::fake::Fake;
use headway_hook::sys::linux::Linux;
use headway_hook::sys::{Sys, ThreadSignals};
use headway_hook::{protection, trap, Detour, Function, HookError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn leaked(fake: Fake) -> &'static Fake {
    Box::leak(Box::new(fake))
}

/// Installs where no other thread runs through the function.
fn install(detour: &Detour) -> Result<(), HookError> {
    // SAFETY: only this thread calls the function, and it is here.
    unsafe { detour.install(&mut || Ok(())) }
}

fn code_now() -> Vec<u8> {
    hammer::function().code
}

fn is_hooked() -> bool {
    hammer::call(1, 2) & HOOK_MARK != 0
}

#[test]
fn without_mprotect_code_is_written_through_the_memory_file() {
    in_child("without_mprotect_code_is_written_through_the_memory_file", || {
        let before = code_now();
        let detour = hammer::detour(leaked(Fake { deny_protect: true, ..Fake::default() }));
        install(&detour).unwrap();
        assert!(is_hooked() && detour.is_installed());
        detour.remove().unwrap();
        assert!(!is_hooked() && !detour.is_installed());
        assert_eq!(code_now(), before);
    });
}

#[test]
fn code_pages_have_their_rights_back() {
    in_child("code_pages_have_their_rights_back", || {
        let fake = leaked(Fake { deny_mem_file: true, ..Fake::default() });
        let rights = || {
            let address = hammer::function().address;
            let mappings = Linux.mappings().unwrap();
            mappings.into_iter().find(|m| m.range.contains(&address)).unwrap().protection
        };
        let before = rights();
        assert!(before.execute && !before.write);
        let detour = hammer::detour(fake);
        install(&detour).unwrap();
        assert_eq!(rights(), before);
        assert!(protection::take_fallback().is_some_and(|reason| reason.contains("Input/output error")));
        detour.remove().unwrap();
        assert_eq!(rights(), before);
        let both = |m: &headway_hook::sys::Mapping| m.protection.write && m.protection.execute;
        assert!(!Linux.mappings().unwrap().iter().any(both), "memory left writable and executable");
        assert_eq!(protection::left_writable(), []);
    });
}

#[test]
fn the_memory_file_is_the_first_choice() {
    in_child("the_memory_file_is_the_first_choice", || {
        let fake = leaked(Fake::default());
        let detour = hammer::detour(fake);
        install(&detour).unwrap();
        detour.remove().unwrap();
        assert_eq!(fake.writes.load(Ordering::SeqCst), 6);
        assert_eq!(protection::take_fallback(), None);
    });
}

#[test]
fn pages_that_stay_writable_are_reported_until_they_are_not() {
    in_child("pages_that_stay_writable_are_reported_until_they_are_not", || {
        let fake = leaked(Fake { deny_mem_file: true, ..Fake::default() });
        let detour = hammer::detour(fake);
        fake.deny_restore.store(true, Ordering::SeqCst);
        install(&detour).unwrap();
        assert!(is_hooked());
        let address = hammer::function().address;
        let left = protection::left_writable();
        assert!(left.len() == 1 && left[0].range.contains(&address), "{left:?}");
        assert!(left[0].reason.contains("Cannot allocate memory"), "{left:?}");
        assert_eq!(protection::restore(fake).len(), 1);
        // Its rights are not taken for the page's own.
        detour.remove().unwrap();
        fake.deny_restore.store(false, Ordering::SeqCst);
        assert_eq!(protection::restore(fake), []);
        assert_eq!(protection::left_writable(), []);
        let mappings = Linux.mappings().unwrap();
        let rights = mappings.into_iter().find(|m| m.range.contains(&address)).unwrap().protection;
        assert!(rights.execute && !rights.write);
    });
}

#[test]
fn without_any_way_to_write_code_it_is_refused() {
    in_child("without_any_way_to_write_code_it_is_refused", || {
        let before = code_now();
        let detour = hammer::detour(leaked(Fake { deny_protect: true, deny_mem_file: true, ..Fake::default() }));
        let error = install(&detour).unwrap_err();
        assert!(matches!(&error, HookError::WriteDenied { .. }), "{error}");
        assert!(error.to_string().contains("Permission denied"), "{error}");
        assert_eq!(code_now(), before);
        assert!(!is_hooked() && !detour.is_installed());
    });
}

#[test]
fn a_write_that_fails_in_between_is_undone() {
    in_child("a_write_that_fails_in_between_is_undone", || {
        let before = code_now();
        for failing in 1..=3 {
            let detour = hammer::detour(leaked(Fake { deny_protect: true, fail_write: failing, ..Fake::default() }));
            let error = install(&detour).unwrap_err();
            assert!(matches!(&error, HookError::WriteDenied { .. }), "{failing}: {error}");
            assert_eq!(code_now(), before, "write {failing}");
            assert!(!is_hooked());
            install(&detour).unwrap();
            assert!(is_hooked());
            detour.remove().unwrap();
        }
    });
}

#[test]
fn a_removal_that_fails_can_be_tried_again() {
    in_child("a_removal_that_fails_can_be_tried_again", || {
        let before = code_now();
        // Writes 1 to 3 install, 4 to 6 remove.
        for failing in 4..=6 {
            let detour = hammer::detour(leaked(Fake { deny_protect: true, fail_write: failing, ..Fake::default() }));
            install(&detour).unwrap();
            let error = detour.remove().unwrap_err();
            assert!(matches!(&error, HookError::LeftTrapped { .. }), "{failing}: {error}");
            assert_eq!(hammer::call(1, 2) & !HOOK_MARK, 3, "still works");
            detour.remove().unwrap();
            assert_eq!(code_now(), before, "write {failing}");
            assert!(!is_hooked());
        }
    });
}

#[test]
fn a_failed_quiesce_leaves_the_function_as_it_was() {
    in_child("a_failed_quiesce_leaves_the_function_as_it_was", || {
        let before = code_now();
        let detour = hammer::detour(&Linux);
        let mut quiesce = || {
            // Meanwhile the trap leads to the hook.
            assert!(is_hooked());
            Err("no safepoint today".into())
        };
        // SAFETY: only this thread calls the function.
        let error = unsafe { detour.install(&mut quiesce) }.unwrap_err();
        assert!(error.to_string().contains("no safepoint today"), "{error}");
        assert_eq!(code_now(), before);
        assert!(!is_hooked());
    });
}

// second(counter, a, b): a * b.
std::arch::global_asm!(
    ".globl headway_hook_test_second",
    ".type headway_hook_test_second, @function",
    ".p2align 4",
    "headway_hook_test_second:",
    "push rbp",
    "mov rbp, rsp",
    "push r13",
    "mov rax, rsi",
    "imul rax, rdx",
    "pop r13",
    "pop rbp",
    "ret",
    "headway_hook_test_second_end:",
    ".globl headway_hook_test_second_end",
);

extern "C" {
    fn headway_hook_test_second(counter: usize, a: u64, b: u64) -> u64;
    fn headway_hook_test_second_end();
}

extern "C" fn second_hook(_counter: usize, _a: u64, _b: u64) -> u64 {
    7
}

fn second_function() -> Function {
    let start = headway_hook_test_second as *const ();
    let length = headway_hook_test_second_end as *const () as usize - start as usize;
    // SAFETY: code of this program.
    unsafe { Function::at("headway_hook_test_second", start, length) }
}

fn second_detour() -> Detour {
    let hook = second_hook as *const ();
    // SAFETY: the hook takes the function's arguments.
    unsafe { Detour::prepare(&second_function(), hook, ContextArguments::FourthAndFifth, &Linux) }.unwrap()
}

fn second_call() -> u64 {
    // SAFETY: the function above does not use its first argument.
    unsafe { headway_hook_test_second(0, 3, 5) }
}

#[test]
fn several_functions_share_one_quiesce() {
    in_child("several_functions_share_one_quiesce", || {
        let before = (code_now(), second_function().code);
        let (first, second) = (hammer::detour(&Linux), second_detour());
        let mut asked = 0;
        let mut quiesce = || {
            asked += 1;
            // Both traps lead to their hooks by then.
            assert!(is_hooked() && second_call() == 7);
            Ok(())
        };
        for _ in 0..2 {
            // The second time both are in.
            // SAFETY: only this thread calls the functions.
            let installed = unsafe { Detour::install_all(&[&first, &second], &mut quiesce) };
            assert!(installed.len() == 2 && installed.iter().all(Result::is_ok), "{installed:?}");
        }
        assert_eq!(asked, 1);
        assert!(is_hooked() && second_call() == 7);
        assert_eq!((first.in_place(), second.in_place()), (Some(InPlace::Jump), Some(InPlace::Jump)));
        first.remove().unwrap();
        second.remove().unwrap();
        assert_eq!((code_now(), second_function().code), before);
        trap::remove_handler(&Linux).unwrap();
    });
}

#[test]
fn a_function_that_fails_does_not_keep_the_others_out() {
    in_child("a_function_that_fails_does_not_keep_the_others_out", || {
        let fails = hammer::detour(leaked(Fake { deny_protect: true, fail_write: 2, ..Fake::default() }));
        let (before, second) = (code_now(), second_detour());
        // SAFETY: only this thread calls the functions.
        let installed = unsafe { Detour::install_all(&[&fails, &second], &mut || Ok(())) };
        assert!(matches!(installed[..], [Err(HookError::WriteDenied { .. }), Ok(())]), "{installed:?}");
        assert_eq!((code_now(), fails.in_place(), second.in_place()), (before, None, Some(InPlace::Jump)));
        assert!(!is_hooked() && second_call() == 7);
        second.remove().unwrap();
        assert_eq!(second_call(), 15);
    });
}

#[test]
fn what_keeps_all_functions_out_is_the_error_of_each() {
    in_child("what_keeps_all_functions_out_is_the_error_of_each", || {
        let before = (code_now(), second_function().code);
        let thread = ThreadSignals { tid: 1, name: "main".into(), blocked: 0, pending: 0, tracer: 4711 };
        let traced = leaked(Fake { threads: Some(vec![thread]), ..Fake::default() });
        let (first, same, second) = (hammer::detour(&Linux), hammer::detour(traced), second_detour());
        let failures = [
            // SAFETY: only this thread calls the functions.
            unsafe { Detour::install_all(&[&first, &second], &mut || Err("no safepoint today".into())) },
            // SAFETY: as above.
            unsafe { Detour::install_all(&[&same, &second], &mut || panic!("nothing is to be waited for")) },
        ];
        for (failed, reason) in failures.into_iter().zip(["no safepoint today", "process 4711 traces this process"]) {
            assert_eq!(failed.len(), 2);
            failed.into_iter().for_each(|failed| {
                let error = failed.unwrap_err().to_string();
                assert!(error.contains(reason), "{error}");
            });
        }
        assert_eq!((code_now(), second_function().code), before);
        assert!(!is_hooked() && second_call() == 15);
        assert_eq!((first.in_place(), second.in_place()), (None, None));
    });
}

#[test]
fn a_thread_that_blocks_the_signal_is_named() {
    in_child("a_thread_that_blocks_the_signal_is_named", || {
        let stop = Arc::new(AtomicBool::new(false));
        let blocker = {
            let stop = stop.clone();
            std::thread::Builder::new().name("deaf".into()).spawn(move || {
                block_trap(libc::SIG_BLOCK);
                while !stop.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                block_trap(libc::SIG_UNBLOCK);
            })
        }
        .unwrap();
        let detour = hammer::detour(&Linux);
        while !Linux.threads().unwrap().iter().any(|t| t.name == "deaf" && t.blocked & 0x10 != 0) {
            std::thread::yield_now();
        }
        let before = code_now();
        match install(&detour).unwrap_err() {
            HookError::TrapBlocked { name, tid } => assert!(name == "deaf" && tid != 0),
            other => panic!("{other}"),
        }
        assert_eq!(code_now(), before);
        stop.store(true, Ordering::SeqCst);
        blocker.join().unwrap();
        install(&detour).unwrap();
        assert!(is_hooked());
    });
}

fn block_trap(how: i32) {
    // SAFETY: a valid mask of one signal.
    unsafe {
        let mut mask = std::mem::zeroed();
        libc::sigaddset(&mut mask, libc::SIGTRAP);
        libc::pthread_sigmask(how, &mask, std::ptr::null_mut());
    }
}

#[test]
fn a_tracer_is_named() {
    in_child("a_tracer_is_named", || {
        let thread = ThreadSignals { tid: 1, name: "main".into(), blocked: 0, pending: 0, tracer: 4711 };
        let detour = hammer::detour(leaked(Fake { threads: Some(vec![thread]), ..Fake::default() }));
        let error = install(&detour).unwrap_err();
        assert!(matches!(error, HookError::Traced { tracer: 4711 }), "{error}");
        assert!(!is_hooked());
    });
}

#[test]
fn without_room_nearby_it_is_refused() {
    in_child("without_room_nearby_it_is_refused", || {
        let function = hammer::function();
        let fake = leaked(Fake { deny_mapping: true, ..Fake::default() });
        let context = ContextArguments::FourthAndFifth;
        // SAFETY: nothing is installed.
        let refused = unsafe { Detour::prepare(&function, is_hooked as *const (), context, fake) };
        let error = refused.unwrap_err();
        assert!(matches!(&error, HookError::NoRoomNearby { .. }), "{error}");
    });
}

#[test]
fn code_that_somebody_else_changed_is_left_alone() {
    in_child("code_that_somebody_else_changed_is_left_alone", || {
        let detour = hammer::detour(&Linux);
        let address = hammer::function().address;
        let poke = |byte: u8| {
            // SAFETY: nobody executes the function meanwhile.
            unsafe { Linux.write_protected(address, &[byte]) }.unwrap();
        };
        poke(0x90);
        let error = install(&detour).unwrap_err();
        assert!(error.to_string().contains("90 f3 90 f3 90"), "{error}");
        poke(0x55);
        install(&detour).unwrap();
        poke(0x90);
        let error = detour.remove().unwrap_err();
        assert!(matches!(&error, HookError::AlreadyPatched { .. }), "{error}");
        poke(0xe9);
        detour.remove().unwrap();
        assert!(!is_hooked());
    });
}

/// What another patcher writes, and over how many bytes of the entry.
const FOREIGN: [u8; 5] = [0xe8, 0x10, 0x20, 0x30, 0x40];

fn write_foreign() {
    // SAFETY: nobody executes the function meanwhile.
    unsafe { Linux.write_protected(hammer::function().address, &FOREIGN) }.unwrap();
}

fn foreign_at_first(write: u32) {
    if write == 1 {
        write_foreign();
    }
}

fn foreign_at_fourth(write: u32) {
    if write == 4 {
        write_foreign();
    }
}

#[test]
fn somebody_else_in_the_moment_before_the_trap_costs_both_hooks_and_no_call() {
    in_child("somebody_else_in_the_moment_before_the_trap_costs_both_hooks_and_no_call", || {
        for (meanwhile, at_removal) in [(foreign_at_first as fn(u32), false), (foreign_at_fourth, true)] {
            let before = code_now();
            let detour = hammer::detour(leaked(Fake { meanwhile: Some(meanwhile), ..Fake::default() }));
            let result = install(&detour);
            let error = if at_removal { detour.remove().unwrap_err() } else { result.unwrap_err() };
            assert!(matches!(&error, HookError::LeftTrapped { .. }), "{error}");
            assert_eq!(code_now()[..5], [0xcc, 0x10, 0x20, 0x30, 0x40]);
            // Neither hook; and their bytes are never executed.
            assert_eq!(hammer::call(1, 2), 3);
            assert_eq!(detour.in_place(), Some(InPlace::Trap));
            // Still not known what they had put there.
            assert!(detour.remove().is_err());
            // SAFETY: nobody executes the function meanwhile.
            unsafe { Linux.write_protected(hammer::function().address, &before[..5]) }.unwrap();
            detour.remove().unwrap();
            assert_eq!((detour.in_place(), hammer::call(1, 2)), (None, 3));
        }
    });
}

fn foreign_while_trapped(write: u32) {
    if write == 2 {
        write_foreign();
    }
}

#[test]
fn somebody_else_who_writes_over_the_trap_is_noticed_and_left_alone() {
    in_child("somebody_else_who_writes_over_the_trap_is_noticed_and_left_alone", || {
        let before = code_now();
        let detour = hammer::detour(&Linux);
        let mut quiesce = || {
            write_foreign();
            Ok(())
        };
        // SAFETY: only this thread calls the function.
        let error = unsafe { detour.install(&mut quiesce) }.unwrap_err();
        assert!(matches!(&error, HookError::AlreadyPatched { .. }), "{error}");
        assert_eq!((code_now()[..5].to_vec(), detour.in_place()), (FOREIGN.to_vec(), None));
        // SAFETY: nobody executes the function meanwhile.
        unsafe { Linux.write_protected(hammer::function().address, &before[..5]) }.unwrap();
        // Right before bytes 1 to 4 are written: seen afterwards.
        let detour = hammer::detour(leaked(Fake { meanwhile: Some(foreign_while_trapped), ..Fake::default() }));
        let error = install(&detour).unwrap_err();
        assert!(matches!(&error, HookError::AlreadyPatched { .. }), "{error}");
        assert_eq!((code_now()[0], detour.in_place()), (FOREIGN[0], None));
        assert!(trap::handler_is_installed());
        trap::remove_handler(&Linux).unwrap();
    });
}

#[test]
fn what_a_refused_removal_leaves_passes_through() {
    in_child("what_a_refused_removal_leaves_passes_through", || {
        let thread = ThreadSignals { tid: 1, name: "main".into(), blocked: 0, pending: 0, tracer: 4711 };
        let traced = leaked(Fake { threads: Some(vec![thread]), ..Fake::default() });
        let (detour, same) = (hammer::detour(&Linux), hammer::detour(traced));
        install(&detour).unwrap();
        assert!(is_hooked() && detour.in_place() == Some(InPlace::Jump));
        assert!(matches!(same.remove().unwrap_err(), HookError::Traced { tracer: 4711 }));
        assert_eq!((hammer::call(1, 2), detour.in_place()), (3, Some(InPlace::Jump)));
        assert!(!detour.is_installed());
        // It is there for the next one.
        install(&detour).unwrap();
        assert!(is_hooked() && detour.is_installed());
        detour.remove().unwrap();
        assert_eq!((hammer::call(1, 2), detour.in_place()), (3, None));
    });
}

#[test]
fn a_file_with_other_code_is_refused() {
    in_child("a_file_with_other_code_is_refused", || {
        let context = ContextArguments::FourthAndFifth;
        let hook = is_hooked as *const ();
        let prepare = |function: &Function| {
            // SAFETY: nothing is installed.
            unsafe { Detour::prepare(function, hook, context, &Linux) }.map(|_| ())
        };
        let mut function = hammer::function();
        let last = function.code.len() - 1;
        function.code[last] ^= 1;
        let error = prepare(&function).unwrap_err().to_string();
        let place = format!("headway_hook_test_target+{last:#x}");
        assert!(error.contains(&place), "{error}");
        prepare(&hammer::function()).unwrap();
        // A trap of somebody else further on is no reason to refuse.
        let trap = function.address + 8;
        // SAFETY: nobody executes the function meanwhile.
        unsafe { Linux.write_protected(trap, &[0xcc]) }.unwrap();
        let mut function = hammer::function();
        function.code[8] = 0x90;
        prepare(&function).unwrap();
    });
}

#[test]
fn installing_and_removing_twice_is_once() {
    in_child("installing_and_removing_twice_is_once", || {
        let before = code_now();
        let detour = hammer::detour(&Linux);
        detour.remove().unwrap();
        install(&detour).unwrap();
        let installed = code_now();
        install(&detour).unwrap();
        assert_eq!(code_now(), installed);
        detour.remove().unwrap();
        detour.remove().unwrap();
        assert_eq!(code_now(), before);
    });
}

#[test]
fn a_second_detour_of_a_function_is_refused_while_the_first_is_installed() {
    in_child("a_second_detour_of_a_function_is_refused_while_the_first_is_installed", || {
        extern "C" fn other_hook(_counter: usize, _a: u64, _b: u64) -> u64 {
            5
        }
        let first = hammer::detour(&Linux);
        let context = ContextArguments::FourthAndFifth;
        let hook = other_hook as *const ();
        // SAFETY: the hook takes the function's arguments.
        let second = unsafe { Detour::prepare(&hammer::function(), hook, context, &Linux) }.unwrap();
        install(&first).unwrap();
        assert!(matches!(install(&second).unwrap_err(), HookError::AlreadyHooked { .. }));
        assert!(matches!(second.remove().unwrap_err(), HookError::AlreadyHooked { .. }));
        first.remove().unwrap();
        install(&second).unwrap();
        assert_eq!(hammer::call(1, 2), 5);
        second.remove().unwrap();
        assert_eq!(hammer::call(1, 2), 3);
    });
}

#[test]
fn installers_at_once_leave_a_working_function() {
    in_child("installers_at_once_leave_a_working_function", || {
        let before = code_now();
        let detour = Arc::new(hammer::detour(&Linux));
        let hammer = Arc::new(Hammer::start(4));
        let installers: Vec<_> = (0..3)
            .map(|_| {
                let (detour, hammer) = (detour.clone(), hammer.clone());
                std::thread::spawn(move || {
                    for _ in 0..60 {
                        let mut quiesce = || {
                            hammer.wait_for_all();
                            Ok(())
                        };
                        // SAFETY: `wait_for_all` ends when each thread has
                        // left the function once.
                        unsafe { detour.install(&mut quiesce) }.unwrap();
                        detour.remove().unwrap();
                    }
                })
            })
            .collect();
        for installer in installers {
            installer.join().unwrap();
        }
        detour.remove().unwrap();
        let hammer = Arc::into_inner(hammer).unwrap();
        let counts = hammer.stop();
        assert_eq!(code_now(), before);
        assert_eq!(counts.calls, hammer::target_calls());
        assert_eq!(counts.hooked, HOOK_ENTERED.load(Ordering::SeqCst));
    });
}

#[test]
fn the_hook_gets_frame_and_return_address() {
    in_child("the_hook_gets_frame_and_return_address", || {
        let detour = hammer::detour(&Linux);
        install(&detour).unwrap();
        for _ in 0..100 {
            assert!(is_hooked());
        }
        assert_eq!(BAD_CONTEXT.load(Ordering::SeqCst), 0);
        assert_eq!(HOOK_ENTERED.load(Ordering::SeqCst), 100);
    });
}

#[test]
fn the_original_works_after_removal() {
    in_child("the_original_works_after_removal", || {
        let detour = hammer::detour(&Linux);
        install(&detour).unwrap();
        detour.remove().unwrap();
        // SAFETY: the callable original of this function.
        let original: extern "C" fn(*const u64, u64, u64) -> u64 = unsafe { std::mem::transmute(detour.original()) };
        let counter = 0;
        assert_eq!(original(&counter, 3, 4), 7);
    });
}

/// A seccomp filter that denies one system call to this process.
fn deny_system_call(number: libc::c_long) {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a valid program; this child process alone is concerned.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}

#[test]
fn without_membarrier_threads_still_go_through_whole() {
    in_child("without_membarrier_threads_still_go_through_whole", || {
        deny_system_call(libc::SYS_membarrier);
        let detour = hammer::detour(&Linux);
        let hammer = Hammer::start(4);
        for _ in 0..20 {
            hammer.install(&detour).unwrap();
            hammer.remove(&detour).unwrap();
        }
        let counts = hammer.stop();
        assert_eq!(counts.calls, hammer::target_calls());
        assert_eq!((counts.missed, counts.strayed), (0, 0));
    });
}
