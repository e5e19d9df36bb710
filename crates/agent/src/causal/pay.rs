//! How a thread is kept from running for a while.
//!
//! The sampler sends a signal to a thread that owes and that runs Java code. Its
//! handler sleeps in short pieces, as long as the thread owes: never with the VM
//! on the stack's top, and not while a safepoint is pending, which would have to
//! wait for the thread. What is left then is paid after the safepoint. A thread
//! that blocks or runs native code is left alone; it pays when it is back.
//!
//! The signal is SIGURG: the VM does not use it, and whoever gets one without a
//! handler does not notice. It carries the address of the thread's slot, which
//! stays for the life of the process, as does the handler.

use super::causal;
use super::Causal;
use crate::agent::{self, Agent};
use crate::arch::interrupted_pc;
use crate::threads::Slot;
use headway_causal::accounting::SLICE_NS;
use headway_hook::Image;
use headway_hotspot::code_cache::CodeCache;
use headway_hotspot::Memory;
use headway_sample::perf;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const SIGNAL: libc::c_int = libc::SIGURG;
/// Sent by `rt_tgsigqueueinfo`.
const SI_QUEUE: libc::c_int = -1;
/// Longest wait for a sample to be looked at.
const LOOKED_AT_WITHIN_NS: u64 = 500_000;
/// Pieces slept in one handler; then the thread comes by its polls again.
const PIECES: usize = 10;
/// `_thread_in_Java` of the VM's `JavaThreadState`.
const IN_JAVA: u32 = 8;
/// Where the VM says whether a safepoint is pending: 0 if none is.
const SAFEPOINT_STATE: &str = "_ZN20SafepointSynchronize6_stateE";

/// What paying needs to know of the VM.
#[derive(Default)]
pub struct Payment {
    safepoint: AtomicU64,
    is_installed: AtomicBool,
}

/// Prepares the signal.
///
/// # Errors
/// Why no thread can be delayed.
pub fn install(causal: &Causal, image: &Image) -> Result<(), String> {
    let safepoint = image.address_of(SAFEPOINT_STATE).ok_or("this libjvm does not say when a safepoint is pending")?;
    causal.payment.safepoint.store(safepoint as u64, Ordering::Release);
    if causal.payment.is_installed.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: plain data that the kernel fills; the handler has the signature
    // that SA_SIGINFO asks for.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(SIGNAL, std::ptr::null(), &mut before) != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        if before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN {
            return Err("the program uses SIGURG itself".to_owned());
        }
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&mut ours.sa_mask);
        if libc::sigaction(SIGNAL, &ours, std::ptr::null_mut()) != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
    }
    causal.payment.is_installed.store(true, Ordering::Release);
    Ok(())
}

/// What the kernel hands over with a signal, as far as it is of interest.
#[repr(C)]
struct Information {
    signal: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: u64,
    rest: [u64; 12],
}

/// Slots of threads that live, so that not each sample has all places of the table
/// looked at: that took a fifth of the sampling thread's time, which it takes from the
/// threads that are compared. Who started since is reminded a little later.
#[derive(Default)]
pub struct Living(Mutex<(u64, Vec<&'static Slot>)>);

/// How long they are remembered.
const LIVING_FOR_NS: u64 = 20_000_000;

impl Living {
    fn each(&self, agent: &'static Agent, now_ns: u64, mut visit: impl FnMut(&'static Slot)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now_ns.saturating_sub(known.0) > LIVING_FOR_NS {
            known.0 = now_ns;
            known.1.clear();
            known.1.extend(agent.threads.iter());
        }
        known.1.iter().for_each(|slot| visit(slot));
    }
}

/// True if a thread owes and runs Java code.
fn is_owing(causal: &Causal, agent: &Agent, slot: &Slot) -> bool {
    let in_java = || {
        let known = agent.hotspot.known();
        let state = known.and_then(|known| known.memory.read_u32(slot.vm_thread() + known.layout.thread.state));
        state == Some(IN_JAVA)
    };
    slot.observed.delays.debt(&causal.ledger) > 0 && !slot.observed.hands_on.load(Ordering::Relaxed) && in_java()
}

/// True if somebody owes who could pay now.
pub fn is_owed(causal: &Causal, agent: &Agent) -> bool {
    agent.threads.iter().any(|slot| is_owing(causal, agent, slot))
}

/// Reminds them.
pub fn remind_all(causal: &Causal, agent: &'static Agent) {
    causal.living.each(agent, monotonic_ns(), |slot| {
        if is_owing(causal, agent, slot) {
            remind(slot);
        }
    });
}

fn remind(slot: &Slot) {
    let tid = slot.os_id.load(Ordering::Relaxed);
    if tid == 0 || slot.observed.is_paying.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: takes no arguments.
    let (pid, uid) = unsafe { (libc::getpid(), libc::getuid()) };
    let value = std::ptr::from_ref(slot) as u64;
    let information =
        Information { signal: SIGNAL, errno: 0, code: SI_QUEUE, padding: 0, pid, uid, value, rest: [0; 12] };
    // SAFETY: the information has the kernel's layout and size; if the thread is
    // gone the kernel says so, and nothing is to be done about it.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, SIGNAL, &information) };
}

/// On the thread, between two instructions of it.
extern "C" fn on_signal(_: libc::c_int, information: *const Information, context: *mut c_void) {
    // SAFETY: the kernel passes both, valid while the handler runs; errno is the
    // thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        if (*information).code == SI_QUEUE && (*information).pid == libc::getpid() {
            reminded((*information).value, interrupted_pc(&*context.cast::<libc::ucontext_t>()));
        }
        *errno = before;
    }
}

fn reminded(value: u64, pc: u64) {
    let Some(agent) = agent::get() else { return };
    let causal = causal();
    // Anybody may send a signal with a value; ours is one of the slots.
    let Some(slot) = agent.threads.slot_at(value) else { return };
    if !causal.is_on() || slot.os_id.load(Ordering::Relaxed) != crate::process::current_os_id() {
        return;
    }
    let Some(known) = agent.hotspot.known() else { return };
    if !CodeCache::new(&known.layout).contains(pc) {
        return;
    }
    let state = slot.vm_thread() + known.layout.thread.state;
    // SAFETY: the thread that runs this handler lives, and with it its object.
    let state = unsafe { std::ptr::read_volatile(state as *const u32) };
    if state == IN_JAVA && !slot.observed.is_paying.swap(true, Ordering::Relaxed) {
        sleep_off(causal, slot, PIECES);
        slot.observed.is_paying.store(false, Ordering::Relaxed);
    }
}

/// Waits, for moments, until the thread's samples were looked at. It is about to wake
/// another one. A hit that is entered only then would be owed by that one, which gets
/// no credit for it any more: it was blocked when the sample was taken.
pub fn after_own_samples(causal: &Causal, agent: &Agent, slot: &Slot) {
    let ring = slot.observed.ring.load(Ordering::Relaxed);
    let Some(known) = agent.hotspot.known().filter(|_| ring != 0) else { return };
    let is_unread = || perf::is_unread(ring, |address| known.memory.read_u64(address));
    if !is_unread() {
        return;
    }
    let until = monotonic_ns() + LOOKED_AT_WITHIN_NS;
    while is_unread() && !causal.payment.is_safepoint_pending() && monotonic_ns() < until {
        std::hint::spin_loop();
    }
}

/// Pays in a native method or callback: no safepoint waits for the thread.
pub fn here(causal: &Causal, slot: &Slot) {
    let mut pieces = 0;
    while slot.observed.delays.debt(&causal.ledger) > 0 && causal.is_on() && pieces < 200 {
        piece(causal, slot);
        pieces += 1;
    }
}

/// Pays in a leaf function that compiled code called; elsewhere in the VM it
/// does not.
pub fn in_leaf(causal: &Causal, agent: &Agent, slot: &Slot) {
    let Some(known) = agent.hotspot.known() else { return };
    if known.memory.read_u32(slot.vm_thread() + known.layout.thread.state) == Some(IN_JAVA) {
        sleep_off(causal, slot, PIECES);
    }
}

fn sleep_off(causal: &Causal, slot: &Slot, pieces: usize) {
    for _ in 0..pieces {
        if slot.observed.delays.debt(&causal.ledger) == 0 || !causal.is_on() || causal.payment.is_safepoint_pending() {
            return;
        }
        piece(causal, slot);
    }
}

impl Payment {
    fn is_safepoint_pending(&self) -> bool {
        let state = self.safepoint.load(Ordering::Relaxed);
        // SAFETY: the VM's own variable, an int, found by its symbol.
        state == 0 || unsafe { std::ptr::read_volatile(state as *const i32) } != 0
    }
}

fn piece(causal: &Causal, slot: &Slot) {
    let span = slot.observed.delays.debt(&causal.ledger).min(SLICE_NS);
    let begun = monotonic_ns();
    let request = libc::timespec { tv_sec: 0, tv_nsec: span as libc::c_long };
    // SAFETY: the request is a place of this frame; an interruption only ends
    // the piece early.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &request, std::ptr::null_mut()) };
    slot.observed.delays.slept(&causal.ledger, monotonic_ns().saturating_sub(begun));
    slot.observed.resumed.fetch_add(1, Ordering::Relaxed);
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place of this frame.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reads_as_many_bytes_as_there_are() {
        assert_eq!(size_of::<Information>(), size_of::<libc::siginfo_t>());
    }
}
