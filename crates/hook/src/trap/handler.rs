//! The SIGTRAP handler and what it passes on.
//!
//! It runs on any thread at any instruction: it keeps errno, allocates
//! nothing, takes no lock and cannot panic.
//!
//! # Protocol of the passing on
//!
//! [`PREVIOUS`] points to the handler that ours replaced. Entries are leaked,
//! so one read from it stays valid; it is stored with Release before our
//! handler is in place and loaded with Acquire. A handler that was installed
//! over ours may call ours, and may have been replaced by ours again: then it
//! would call us for what we passed to it, for ever. So the signal's own frame
//! remembers to whom it was passed last: `uc_link` of its context holds the
//! entry. The kernel stores 0 there when it makes the frame and does not read
//! it when the handler returns. Met again, the mark means that we are being
//! called back: the handler before that one is next. As the mark is part of the
//! frame, there is room for any number of traps at once, and none is left
//! behind by a handler that does not return (`siglongjmp`).

use super::table::Decision;
use super::{TrapCall, TABLE, TAKEN};
use crate::arch::{Registers, TRAP};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A handler that was in place before ours.
pub(super) struct Previous {
    pub(super) action: libc::sigaction,
    /// The one before that, where ours had been covered by `action`.
    pub(super) older: *const Previous,
}

// SAFETY: an entry never changes, and `older` points to another one that is
// never freed.
unsafe impl Sync for Previous {}

/// The handler that ours replaced; null before the first installation.
pub(super) static PREVIOUS: AtomicPtr<Previous> = AtomicPtr::new(ptr::null_mut());

/// The handler.
pub(super) extern "C" fn on_trap(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno's place is the thread's own and always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let kept = unsafe { *errno };
    if !handle(info, context) {
        pass_on(signal, info, context);
    }
    // SAFETY: as above.
    unsafe { *errno = kept };
}

/// True if the trap was ours and the thread can go on.
fn handle(info: *const libc::siginfo_t, context: *mut libc::c_void) -> bool {
    if info.is_null() || sent_by_a_process(info) {
        return false;
    }
    // SAFETY: called from the handler, with its own argument.
    let Some(mut registers) = (unsafe { Registers::of_context(context) }) else {
        return false;
    };
    let address = registers.trap_address();
    // SAFETY: the thread has just executed this byte.
    let trap_is_there = || unsafe { ptr::read_volatile(address as *const u8) } == TRAP;
    match TABLE.decide(address, trap_is_there) {
        Decision::NotOurs => return false,
        Decision::Again => registers.resume_at(address),
        Decision::GoTo(target) => registers.resume_at(target),
        Decision::Call(call) => {
            // SAFETY: `arm_call` stored a reference that lives for ever.
            let call = unsafe { &*(call as *const TrapCall) };
            (call.function)(&registers, call.data);
        }
    }
    TAKEN.fetch_add(1, Ordering::Relaxed);
    true
}

fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's context, on the stack of the handler that runs; a
    // handler that calls ours passes on what it was given.
    let link = unsafe { context.cast::<libc::ucontext_t>().as_mut() }.map(|context| &mut context.uc_link);
    let Some(link) = link else { return die(signal, info, context) };
    let before = *link;
    let Some(next) = next_after(before) else { return die(signal, info, context) };
    *link = ptr::from_ref(next).cast_mut().cast();
    call_previous(next, signal, info, context);
    *link = before;
}

/// Whose turn it is, after a mark of ours or for a frame without one.
fn next_after(mark: *const libc::ucontext_t) -> Option<&'static Previous> {
    let first = PREVIOUS.load(Ordering::Acquire).cast_const();
    // SAFETY: entries are leaked boxes, never freed, and so is what `older` points to.
    let entries = || std::iter::successors(unsafe { first.as_ref() }, |entry| unsafe { entry.older.as_ref() });
    // Whatever else may have been put there is no mark.
    let marked = entries().find(|entry| ptr::eq(ptr::from_ref(*entry).cast(), mark));
    match marked {
        // SAFETY: as above.
        Some(marked) => unsafe { marked.older.as_ref() },
        None => entries().next(),
    }
}

fn call_previous(previous: &Previous, signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let action = &previous.action;
    match action.sa_sigaction {
        libc::SIG_IGN if sent_by_a_process(info) => {}
        libc::SIG_IGN | libc::SIG_DFL => die(signal, info, context),
        _ => with_mask_of(action, || call(action, signal, info, context)),
    }
}

/// Blocks what that handler asked to have blocked, as the kernel would do.
fn with_mask_of(action: &libc::sigaction, work: impl FnOnce()) {
    let mut before = empty_mask();
    // SAFETY: both masks are valid.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &action.sa_mask, &mut before) };
    work();
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) };
}

fn call(action: &libc::sigaction, signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    type Plain = extern "C" fn(libc::c_int);
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: SA_SIGINFO says that the handler has this type.
        let handler: WithInfo = unsafe { std::mem::transmute(action.sa_sigaction) };
        handler(signal, info, context);
    } else {
        // SAFETY: without SA_SIGINFO it has this one.
        let handler: Plain = unsafe { std::mem::transmute(action.sa_sigaction) };
        handler(signal);
    }
}

fn sent_by_a_process(info: *const libc::siginfo_t) -> bool {
    // SAFETY: null is checked, otherwise the kernel's record.
    !info.is_null() && unsafe { (*info).si_code } <= libc::SI_USER
}

/// What the kernel does without a handler: the process ends, showing the
/// place of the trap.
fn die(signal: libc::c_int, info: *const libc::siginfo_t, context: *mut libc::c_void) {
    let mut default = empty_action();
    default.sa_sigaction = libc::SIG_DFL;
    // SAFETY: a valid action; the process is about to end.
    unsafe { libc::sigaction(signal, &default, ptr::null_mut()) };
    if sent_by_a_process(info) {
        // SAFETY: sends the signal again to this thread, with the default
        // action.
        unsafe { libc::raise(signal) };
        return;
    }
    // SAFETY: called from the handler, with its own argument.
    if let Some(mut registers) = unsafe { Registers::of_context(context) } {
        let address = registers.trap_address();
        registers.resume_at(address);
    }
}

fn empty_mask() -> libc::sigset_t {
    // SAFETY: all bits zero is a valid mask: no signal.
    unsafe { std::mem::zeroed() }
}

/// Default action, no flags, no signal blocked.
pub(super) fn empty_action() -> libc::sigaction {
    // SAFETY: all bits zero is a valid action: the default one.
    unsafe { std::mem::zeroed() }
}
