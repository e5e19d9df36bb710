//! The process's one SIGTRAP handler and the traps it deals with.
//!
//! * `table`: our traps, without a lock for the handler.
//! * `handler`: the handler, and how it passes on what is not ours.
//! * `threads`: whether the threads of the process can bear a trap.

mod handler;
mod table;
mod threads;

use crate::arch::Registers;
use crate::error::HookError;
use crate::sys::Sys;
use handler::{empty_action, on_trap, Previous, PREVIOUS};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use table::{Full, Table, TrapKind};
pub use threads::check_threads;

/// How many different addresses can ever be trapped.
pub const CAPACITY: usize = 64;

#[cfg(not(loom))]
static TABLE: Table<CAPACITY> = Table::new();
#[cfg(loom)]
static TABLE: std::sync::LazyLock<Table<CAPACITY>> = std::sync::LazyLock::new(Table::new);

/// Whoever arms or retires a trap or installs or removes the handler holds it.
static WRITER: Mutex<()> = Mutex::new(());

/// Traps of ours that were handled.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// What is called at a trap of the calling kind: function and its own data.
#[derive(Debug)]
pub(crate) struct TrapCall {
    /// Called in the signal handler, with the registers at the trap and
    /// `data`: no allocation, no lock, no panic. Execution goes on behind the
    /// trap.
    pub(crate) function: extern "C" fn(registers: &Registers, data: usize),
    /// Passed on.
    pub(crate) data: usize,
}

fn writer() -> MutexGuard<'static, ()> {
    WRITER.lock().unwrap_or_else(|held| held.into_inner())
}

/// How many traps of ours the handler has dealt with so far.
pub fn taken() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// Arms a trap that sends its threads to `target`.
pub(crate) fn arm_redirect(address: usize, target: usize) -> Result<(), HookError> {
    arm(address, TrapKind::Redirect, target)
}

/// Arms a trap that calls and goes on behind the trap instruction.
pub(crate) fn arm_call(address: usize, call: &'static TrapCall) -> Result<(), HookError> {
    arm(address, TrapKind::Call, ptr::from_ref(call) as usize)
}

fn arm(address: usize, kind: TrapKind, target: usize) -> Result<(), HookError> {
    let _writer = writer();
    TABLE.arm(address, kind, target).map_err(|full| match full {
        Full::NoSlot => HookError::TrapTableFull(CAPACITY),
        Full::OtherKind => HookError::AlreadyHooked { symbol: format!("{address:#x}") },
    })
}

/// Retires a trap whose instruction has been overwritten.
pub(crate) fn retire(address: usize) {
    let _writer = writer();
    TABLE.retire(address);
}

/// Puts the handler in place, over whatever is there. Once it is, does
/// nothing.
///
/// # Errors
/// If the kernel refuses.
pub fn install_handler() -> Result<(), HookError> {
    let _writer = writer();
    let current = current_action()?;
    if is_ours(&current) {
        return Ok(());
    }
    // The previous handler is known before ours can run.
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

/// Gives SIGTRAP back to the handler that was there before ours. Once that is
/// so, does nothing. Detours that are installed keep working: they need the
/// handler only while they are put in or taken out.
///
/// # Errors
/// While traps are active, and where another handler was installed over
/// ours, which may call it: then ours stays and passes everything on.
pub fn remove_handler(sys: &dyn Sys) -> Result<(), HookError> {
    let _writer = writer();
    match TABLE.armed() {
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
        let is_pending = sys.threads().is_ok_and(|threads| threads.iter().any(|t| t.pending & trap_bit() != 0));
        quiet = if is_pending { 0 } else { quiet + 1 };
        if quiet == 3 {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// SIGTRAP's bit in the masks of [`crate::sys::ThreadSignals`].
const fn trap_bit() -> u64 {
    1 << (libc::SIGTRAP - 1)
}

/// Entries are never freed, since a handler may be reading one; the same
/// handler met again gets the same entry, so that they stay few.
fn remember(action: libc::sigaction) {
    static ENTRIES: Mutex<Vec<&'static Previous>> = Mutex::new(Vec::new());
    let older = PREVIOUS.load(Ordering::Acquire);
    let mut entries = ENTRIES.lock().unwrap_or_else(|held| held.into_inner());
    let known = entries.iter().find(|e| ptr::eq(e.older, older) && is_same(&e.action, &action));
    let entry = match known {
        Some(entry) => *entry,
        None => {
            let entry: &'static Previous = Box::leak(Box::new(Previous { action, older }));
            entries.push(entry);
            entry
        }
    };
    PREVIOUS.store(ptr::from_ref(entry).cast_mut(), Ordering::Release);
}

fn is_same(a: &libc::sigaction, b: &libc::sigaction) -> bool {
    let blocks = |action: &libc::sigaction, signal| {
        // SAFETY: a valid mask.
        unsafe { libc::sigismember(&action.sa_mask, signal) == 1 }
    };
    a.sa_sigaction == b.sa_sigaction
        && a.sa_flags == b.sa_flags
        && (1..=64).all(|signal| blocks(a, signal) == blocks(b, signal))
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
