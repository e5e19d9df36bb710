//! The last resort for the contended exit, where the VM's function can neither
//! be detoured nor probed: whoever wakes the successor by signalling its
//! condition variable has just released the monitor.
//!
//! libjvm's imports of `pthread_cond_wait`, `_timedwait` and `_signal` lead
//! through here. A contender that waits on its own park event says which
//! condition variable that is; a signal to one that belongs to a contender is
//! that contender's lock being released by the signalling thread.
//!
//! What it cannot do: the number is taken after the release, so a thread that
//! barged in may have a smaller one; an exit that finds its successor awake
//! signals nobody; interrupting a contender looks like an exit; virtual threads
//! (24 and later) wait on no condition variable.
//!
//! # Protocol
//! [`Conditions`] is an open-addressed table of (condition variable, VM thread).
//! A condition variable's place is claimed once by compare-and-swap and never
//! given up: park events are never freed, only handed on to other threads. The
//! thread beside it is only a hint, checked against the thread table.

use crate::agent::{guarded, Agent};
use crate::arch::with_caller_frame;
use crate::jni;
use crate::monitor;
use crate::reply::InPlace;
use crate::threads::Slot;
use headway_hook::got::GotHook;
use headway_hook::sys::linux::Linux;
use headway_hook::{HookError, Image};
use headway_hotspot::Memory;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Most condition variables known; beyond it, exits to their threads are not seen.
const CAPACITY: usize = 8_192;
/// Most places looked at for one.
const PROBES: usize = 16;
/// Park events begin at multiples of this.
const PARK_EVENT_ALIGNMENT: u64 = 256;
/// Words of a VM thread object among which is the pointer to its park event.
const THREAD_WORDS: u64 = 256;

static WAIT_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static TIMED_WAIT_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static SIGNAL_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
/// False where an import could not be given back.
static IS_WANTED: AtomicBool = AtomicBool::new(false);
static CONDITIONS: Conditions = Conditions::new();

type WaitFunction = extern "C" fn(u64, u64) -> i32;
type TimedWaitFunction = extern "C" fn(u64, u64, u64) -> i32;
type SignalFunction = extern "C" fn(u64) -> i32;

/// Which thread waits on which condition variable, as far as they contend.
struct Conditions {
    keys: [AtomicU64; CAPACITY],
    vm_threads: [AtomicU64; CAPACITY],
}

impl Conditions {
    const fn new() -> Conditions {
        Conditions {
            keys: [const { AtomicU64::new(0) }; CAPACITY],
            vm_threads: [const { AtomicU64::new(0) }; CAPACITY],
        }
    }

    fn places(&self, condition: u64) -> impl Iterator<Item = (&AtomicU64, &AtomicU64)> {
        let hash = (condition >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (0..PROBES).filter_map(move |i| {
            let index = (hash as usize + i) % CAPACITY;
            self.keys.get(index).zip(self.vm_threads.get(index))
        })
    }

    /// The VM thread that was last seen to wait on it; 0 if none.
    #[inline]
    fn find(&self, condition: u64) -> u64 {
        for (key, vm_thread) in self.places(condition) {
            match key.load(Ordering::Acquire) {
                found if found == condition => return vm_thread.load(Ordering::Relaxed),
                0 => return 0,
                _ => {}
            }
        }
        0
    }

    fn insert(&self, condition: u64, waiter: u64) {
        for (key, vm_thread) in self.places(condition) {
            let claimed = key.compare_exchange(0, condition, Ordering::AcqRel, Ordering::Acquire);
            if claimed.is_ok() || claimed == Err(condition) {
                return vm_thread.store(waiter, Ordering::Relaxed);
            }
        }
    }
}

fn is_wanted(agent: &Agent) -> bool {
    agent.is_recording() && IS_WANTED.load(Ordering::Relaxed)
}

/// The current thread's slot; `None` for threads that are not Java's.
fn current_slot(agent: &'static Agent) -> Option<&'static Slot> {
    agent.threads.find(agent.java.current_vm_thread(jni::of_current_thread()?))
}

/// A thread is about to wait on a condition variable: remembers whose it is if
/// the thread contends, or may come to contend, for a monitor.
fn before_wait(condition: u64) {
    guarded(|agent| {
        if !is_wanted(agent) {
            return;
        }
        let Some(slot) = current_slot(agent) else { return };
        let may_contend = slot.enter.peek().is_some() || slot.wait.peek().is_some();
        let known = CONDITIONS.find(condition) == slot.vm_thread();
        if may_contend && !known && is_park_event_of(agent, slot.vm_thread(), condition) {
            CONDITIONS.insert(condition, slot.vm_thread());
        }
    });
}

/// True if the condition variable lies inside a park event that the VM thread
/// points to, and so is not one of the VM's own locks.
fn is_park_event_of(agent: &Agent, vm_thread: u64, condition: u64) -> bool {
    let Some(known) = agent.hotspot.known() else { return false };
    let event = condition - condition % PARK_EVENT_ALIGNMENT;
    (0..THREAD_WORDS).any(|word| known.memory.read_u64(vm_thread + 8 * word) == Some(event))
}

extern "C" fn on_wait(condition: u64, mutex: u64) -> i32 {
    before_wait(condition);
    // SAFETY: set to the imported function before the hook was installed.
    let original: WaitFunction = unsafe { std::mem::transmute(WAIT_ORIGINAL.load(Ordering::Relaxed)) };
    original(condition, mutex)
}

extern "C" fn on_timed_wait(condition: u64, mutex: u64, until: u64) -> i32 {
    before_wait(condition);
    // SAFETY: as in `on_wait`.
    let original: TimedWaitFunction = unsafe { std::mem::transmute(TIMED_WAIT_ORIGINAL.load(Ordering::Relaxed)) };
    original(condition, mutex, until)
}

with_caller_frame!(headway_condition_signal_entry, headway_on_condition_signal);

/// The signal itself, with the caller's frame pointer.
extern "C" fn headway_on_condition_signal(condition: u64, caller_fp: u64) -> i32 {
    let mut begun = None;
    let vm_thread = CONDITIONS.find(condition);
    if vm_thread != 0 {
        guarded(|agent| {
            if is_wanted(agent) {
                begun = before_signal(agent, vm_thread);
            }
        });
    }
    // SAFETY: as in `on_wait`.
    let original: SignalFunction = unsafe { std::mem::transmute(SIGNAL_ORIGINAL.load(Ordering::Relaxed)) };
    let returned = original(condition);
    if let Some(begun) = begun {
        guarded(|agent| monitor::after_exit(agent, begun, caller_fp));
    }
    returned
}

/// What the successor contends for has just been released by this thread.
fn before_signal(agent: &'static Agent, successor: u64) -> Option<monitor::ExitBegun> {
    let successor = agent.threads.find(successor)?;
    let begun = successor.enter.peek().or_else(|| successor.reenter.peek())?;
    let slot = current_slot(agent).filter(|slot| !std::ptr::eq(*slot, successor))?;
    let monitor = match agent.hotspot.pending_monitor(successor.vm_thread()) {
        0 => agent.hotspot.waiting_monitor(successor.vm_thread()),
        pending => pending,
    };
    monitor::after_release(agent, slot, begun.lock, monitor)
}

/// The replaced imports.
pub struct ExitSignal {
    imports: Vec<GotHook>,
}

impl ExitSignal {
    /// Replaces the imports.
    ///
    /// # Errors
    /// If one of them cannot be replaced; none is then.
    pub fn install(libjvm: &Image) -> Result<ExitSignal, String> {
        let signal = headway_condition_signal_entry as *const ();
        let imports = [
            ("pthread_cond_wait", on_wait as *const (), &WAIT_ORIGINAL),
            ("pthread_cond_timedwait", on_timed_wait as *const (), &TIMED_WAIT_ORIGINAL),
            ("pthread_cond_signal", signal, &SIGNAL_ORIGINAL),
        ];
        let mut installed = ExitSignal { imports: Vec::with_capacity(imports.len()) };
        for (symbol, replacement, original) in imports {
            if let Err(error) = installed.replace(libjvm, symbol, replacement, original) {
                installed.remove();
                return Err(error.to_string());
            }
        }
        IS_WANTED.store(true, Ordering::SeqCst);
        Ok(installed)
    }

    fn replace(
        &mut self,
        libjvm: &Image,
        symbol: &str,
        replacement: *const (),
        original: &AtomicUsize,
    ) -> Result<(), HookError> {
        // SAFETY: the replacements have the imports' signatures, contain every
        // panic, and live in a library that is linked never to be unloaded.
        let hook = unsafe { GotHook::prepare(libjvm, symbol, replacement, &Linux)? };
        original.store(hook.original() as usize, Ordering::Release);
        hook.install()?;
        self.imports.push(hook);
        Ok(())
    }

    /// Gives the imports back; those that stay replaced. Threads that wait inside a
    /// replacement go on there.
    pub fn remove(&mut self) -> Vec<InPlace> {
        IS_WANTED.store(false, Ordering::SeqCst);
        let mut left = Vec::new();
        self.imports.retain(|import| match import.remove() {
            Ok(()) => false,
            Err(error) => {
                left.push(InPlace::inert("monitor-exit", format!("libjvm's import of {}", import.symbol()), error));
                true
            }
        });
        left
    }

    /// True if none is replaced any more.
    pub fn is_removed(&self) -> bool {
        self.imports.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_variable_leads_to_who_waited_on_it_last() {
        static TABLE: Conditions = Conditions::new();
        assert_eq!(TABLE.find(0x7f00_0050), 0);
        TABLE.insert(0x7f00_0050, 0x1000);
        TABLE.insert(0x7f00_0150, 0x2000);
        TABLE.insert(0x7f00_0050, 0x3000);
        assert_eq!((TABLE.find(0x7f00_0050), TABLE.find(0x7f00_0150)), (0x3000, 0x2000));
    }

    #[test]
    fn a_full_neighbourhood_refuses_and_keeps_what_it_has() {
        static TABLE: Conditions = Conditions::new();
        for i in 1..=4 * CAPACITY as u64 {
            TABLE.insert(i << 8, i);
        }
        let right = (1..=4 * CAPACITY as u64).filter(|i| TABLE.find(i << 8) == *i).count();
        let wrong = (1..=4 * CAPACITY as u64).filter(|i| ![0, *i].contains(&TABLE.find(i << 8))).count();
        assert!(right > CAPACITY / 2 && wrong == 0, "{right} right, {wrong} wrong");
    }
}
