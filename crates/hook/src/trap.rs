//! The process's one SIGTRAP handler and the table of our traps.
//!
//! # Protocol
//!
//! **Writers** (install and remove) hold [`TABLE`]'s mutex. **The reader** is
//! the signal handler, on any thread, at any time; it never waits: it reads a
//! bounded number of slots once each.
//!
//! * A slot is claimed for one address and one kind for the life of the
//!   process. The writer fills `kind`, then stores `address` with Release; the
//!   handler loads `address` with Acquire, so it sees the kind that belongs to
//!   it. Slots are filled in order, so the first empty one ends the search.
//! * `target` is the only word that changes afterwards: 0 while retired, else
//!   where to go on (a detour) or whom to call (a probe). It is one word, so
//!   the handler cannot see half of a change. Release/Acquire, because a
//!   probe's target points to data written before. Targets are never freed.
//! * A slot is armed *before* its trap instruction is written and retired
//!   *after* it was overwritten again. So a thread at a trap of ours finds it
//!   armed, or finds it retired and the trap gone: the thread trapped just
//!   before the removal and simply executes the place again. Retired and a
//!   trap still there: it is somebody else's.
//!
//! Whatever is not ours goes to the handler that was there before
//! ([`Previous`]); the handler keeps errno, allocates nothing and takes no
//! lock.

use crate::arch::{Registers, TRAP};
use crate::error::HookError;
use crate::sys::{Sys, ThreadSignals};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How many different addresses can ever be trapped.
pub const CAPACITY: usize = 64;

const KIND_REDIRECT: u8 = 1;
const KIND_CALL: u8 = 2;

struct Slot {
    address: AtomicUsize,
    kind: AtomicU8,
    target: AtomicUsize,
}

static SLOTS: [Slot; CAPACITY] = [const {
    Slot {
        address: AtomicUsize::new(0),
        kind: AtomicU8::new(0),
        target: AtomicUsize::new(0),
    }
}; CAPACITY];

/// Whoever writes [`SLOTS`] or installs or removes the handler holds it.
static TABLE: Mutex<()> = Mutex::new(());

/// Traps of ours that were handled, for tests and support.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// What is called at a trap of the calling kind: function and its own data.
/// The function runs in a signal handler: no allocation, no lock, no panic.
#[derive(Debug)]
pub struct TrapCall {
    /// Called with the registers at the trap and `data`. Execution goes on
    /// behind the trap.
    pub function: extern "C" fn(registers: &Registers, data: usize),
    /// Passed on.
    pub data: usize,
}

fn table() -> MutexGuard<'static, ()> {
    TABLE.lock().unwrap_or_else(|held| held.into_inner())
}

/// How many traps of ours the handler has dealt with so far.
pub fn taken() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// Arms a trap that sends its threads to `target`.
pub(crate) fn arm_redirect(address: usize, target: usize) -> Result<(), HookError> {
    arm(address, KIND_REDIRECT, target)
}

/// Arms a trap that calls and goes on behind the trap instruction.
pub(crate) fn arm_call(address: usize, call: &'static TrapCall) -> Result<(), HookError> {
    arm(address, KIND_CALL, ptr::from_ref(call) as usize)
}

/// Retires a trap whose instruction has been overwritten.
pub(crate) fn retire(address: usize) {
    let _writer = table();
    if let Some(slot) = find(address) {
        slot.target.store(0, Ordering::Release);
    }
}

fn arm(address: usize, kind: u8, target: usize) -> Result<(), HookError> {
    let _writer = table();
    let slot = match find(address) {
        Some(slot) if slot.kind.load(Ordering::Relaxed) == kind => slot,
        Some(_) => {
            return Err(HookError::AlreadyHooked {
                symbol: format!("{address:#x}"),
            })
        }
        None => claim(address, kind).ok_or(HookError::TrapTableFull(CAPACITY))?,
    };
    slot.target.store(target, Ordering::Release);
    Ok(())
}

fn claim(address: usize, kind: u8) -> Option<&'static Slot> {
    let slot = SLOTS
        .iter()
        .find(|s| s.address.load(Ordering::Relaxed) == 0)?;
    slot.kind.store(kind, Ordering::Relaxed);
    slot.address.store(address, Ordering::Release);
    Some(slot)
}

fn find(address: usize) -> Option<&'static Slot> {
    SLOTS
        .iter()
        .map_while(|slot| match slot.address.load(Ordering::Acquire) {
            0 => None,
            there => Some((slot, there)),
        })
        .find(|(_, there)| *there == address)
        .map(|(slot, _)| slot)
}

fn armed() -> usize {
    let is_armed = |slot: &&Slot| slot.target.load(Ordering::Relaxed) != 0;
    SLOTS.iter().filter(is_armed).count()
}

/// True if the trap was ours and the thread can go on.
fn handle(info: *const libc::siginfo_t, context: *mut libc::c_void) -> bool {
    // SAFETY: the kernel passes a valid record or, without SA_SIGINFO users
    // in between, always does; null is checked.
    let is_trap = !info.is_null() && unsafe { (*info).si_code } > libc::SI_USER;
    // SAFETY: called from the handler, with its own argument.
    let Some(mut registers) = (unsafe { Registers::of_context(context) }) else {
        return false;
    };
    let address = registers.trap_address();
    let Some(slot) = find(address).filter(|_| is_trap) else {
        return false;
    };
    match slot.target.load(Ordering::Acquire) {
        // SAFETY: the thread just executed this byte.
        0 if unsafe { ptr::read_volatile(address as *const u8) } == TRAP => return false,
        0 => registers.resume_at(address),
        target if slot.kind.load(Ordering::Relaxed) == KIND_CALL => {
            // SAFETY: `arm_call` stored a reference that lives for ever.
            let call = unsafe { &*(target as *const TrapCall) };
            (call.function)(&registers, call.data);
        }
        target => registers.resume_at(target),
    }
    TAKEN.fetch_add(1, Ordering::Relaxed);
    true
}

extern "C" fn on_trap(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
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

/// The handler that was in place before ours.
struct Previous {
    action: libc::sigaction,
    /// Set where ours had been covered by `action`, which may call ours
    /// again: whom to call then.
    older: *const Previous,
}

static PREVIOUS: AtomicPtr<Previous> = AtomicPtr::new(ptr::null_mut());

/// Signal contexts that are being passed on. A context's address is unique
/// while its handler runs; meeting it a second time means that the handler we
/// called has called us.
static PASSED_ON: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let key = context as usize;
    let seen = PASSED_ON.iter().any(|c| c.load(Ordering::Relaxed) == key);
    // SAFETY: entries are leaked boxes, never freed.
    let mut previous = unsafe { PREVIOUS.load(Ordering::Acquire).as_ref() };
    if seen {
        // SAFETY: `older` is null or such an entry too.
        previous = previous.and_then(|p| unsafe { p.older.as_ref() });
    }
    let marked = PASSED_ON.iter().find(|c| {
        c.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    });
    match previous {
        Some(previous) if marked.is_some() => call_previous(previous, signal, info, context),
        _ => die(signal, info, context),
    }
    if let Some(mark) = marked {
        mark.store(0, Ordering::Relaxed);
    }
}

fn call_previous(
    previous: &Previous,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let action = &previous.action;
    match action.sa_sigaction {
        libc::SIG_IGN if sent_by_a_process(info) => {}
        libc::SIG_IGN | libc::SIG_DFL => die(signal, info, context),
        handler => {
            let mut before = empty_mask();
            // SAFETY: both masks are valid; the mask asked for by that
            // handler is blocked while it runs, as the kernel would do.
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &action.sa_mask, &mut before) };
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: SA_SIGINFO says that the handler has this type.
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    unsafe { std::mem::transmute(handler) };
                handler(signal, info, context);
            } else {
                // SAFETY: without SA_SIGINFO it has this one.
                let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
                handler(signal);
            }
            // SAFETY: `before` was filled above.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) };
        }
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
        // SAFETY: sends the signal again to this thread; it is delivered when
        // the handler returns.
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

fn empty_action() -> libc::sigaction {
    // SAFETY: all bits zero is a valid action: default, no flags.
    unsafe { std::mem::zeroed() }
}

/// Puts the handler in place, over whatever is there. Once it is, does
/// nothing.
///
/// # Errors
/// If the kernel refuses.
pub fn install_handler() -> Result<(), HookError> {
    let _writer = table();
    let current = current_action()?;
    if is_ours(&current) {
        return Ok(());
    }
    // The previous handler is told before ours can run.
    remember(current);
    let mut ours = empty_action();
    ours.sa_sigaction = on_trap as *const () as usize;
    // SA_NODEFER: a probe's callback may itself run into a detour being
    // installed; blocked, that trap would end the process.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_NODEFER;
    let mut replaced = empty_action();
    // SAFETY: both actions are valid, the handler is async-signal-safe.
    if unsafe { libc::sigaction(libc::SIGTRAP, &ours, &mut replaced) } != 0 {
        return Err(HookError::NoTrapHandler(io::Error::last_os_error()));
    }
    if replaced.sa_sigaction != current.sa_sigaction && !is_ours(&replaced) {
        remember(replaced);
    }
    Ok(())
}

/// True while our handler is the process's SIGTRAP handler.
pub fn handler_is_installed() -> bool {
    current_action().is_ok_and(|action| is_ours(&action))
}

/// Gives SIGTRAP back to the handler that was there before ours.
///
/// # Errors
/// While traps are in force, and where another handler was installed over
/// ours, which may call it: then ours stays and passes everything on.
pub fn remove_handler(sys: &dyn Sys) -> Result<(), HookError> {
    let _writer = table();
    match armed() {
        0 => {}
        count => return Err(HookError::TrapsInForce(count)),
    }
    // SAFETY: entries are leaked boxes, never freed.
    let Some(previous) = (unsafe { PREVIOUS.load(Ordering::Acquire).as_ref() }) else {
        return Ok(());
    };
    if !is_ours(&current_action()?) {
        return Err(HookError::TrapHandlerCovered);
    }
    wait_for_late_traps(sys);
    // SAFETY: an action that the kernel gave us.
    if unsafe { libc::sigaction(libc::SIGTRAP, &previous.action, ptr::null_mut()) } != 0 {
        return Err(HookError::NoTrapHandler(io::Error::last_os_error()));
    }
    PREVIOUS.store(previous.older.cast_mut(), Ordering::Release);
    Ok(())
}

/// A thread may have executed a trap and not yet been given the signal. The
/// cores are serialized once more, then no thread may have SIGTRAP pending,
/// three looks in a row.
fn wait_for_late_traps(sys: &dyn Sys) {
    sys.sync_cores();
    let mut quiet = 0;
    for _ in 0..100 {
        let pending = sys
            .threads()
            .is_ok_and(|threads| threads.iter().any(|t| t.pending & trap_bit() != 0));
        quiet = if pending { 0 } else { quiet + 1 };
        if quiet == 3 {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// SIGTRAP's bit in the masks of [`crate::sys::ThreadSignals`].
pub(crate) const fn trap_bit() -> u64 {
    1 << (libc::SIGTRAP - 1)
}

fn remember(action: libc::sigaction) {
    let older = PREVIOUS.load(Ordering::Acquire);
    let entry = Box::leak(Box::new(Previous { action, older }));
    PREVIOUS.store(entry, Ordering::Release);
}

fn current_action() -> Result<libc::sigaction, HookError> {
    let mut current = empty_action();
    // SAFETY: asks only, into a valid place.
    if unsafe { libc::sigaction(libc::SIGTRAP, ptr::null(), &mut current) } != 0 {
        return Err(HookError::NoTrapHandler(io::Error::last_os_error()));
    }
    Ok(current)
}

fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == on_trap as *const () as usize
}

/// How long a thread may be in a passing state that blocks SIGTRAP.
const PATIENCE: Duration = Duration::from_millis(500);

/// Refuses where a trap could end the process: a thread that blocks SIGTRAP,
/// or a tracer that would take the trap for its own.
///
/// The C library blocks all signals in a thread that it is starting or ending,
/// so a thread counts only if it still blocks SIGTRAP after a while.
///
/// # Errors
/// Naming the thread or the tracer.
pub fn check_threads(sys: &dyn Sys) -> Result<(), HookError> {
    let mut suspects = blocking(sys)?;
    let begin = Instant::now();
    while !suspects.is_empty() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
        let now = blocking(sys)?;
        suspects.retain(|suspect| now.iter().any(|t| t.tid == suspect.tid));
    }
    match suspects.into_iter().next() {
        None => Ok(()),
        Some(thread) => Err(HookError::TrapBlocked {
            tid: thread.tid,
            name: thread.name,
        }),
    }
}

fn blocking(sys: &dyn Sys) -> Result<Vec<ThreadSignals>, HookError> {
    let mut threads = sys.threads().map_err(HookError::ThreadsUnreadable)?;
    if let Some(traced) = threads.iter().find(|t| t.tracer != 0) {
        return Err(HookError::Traced {
            tracer: traced.tracer,
        });
    }
    threads.retain(|t| t.blocked & trap_bit() != 0);
    Ok(threads)
}
