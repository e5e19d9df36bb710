//! What the agent reads from the VM's own structures, as far as they check
//! out. Everything in here has a fallback: `None`, 0 or `NONE` means that the
//! VM's structures are not known and somebody else must say.

use crate::jni::Ref;
use headway_hook::sys::linux::Linux;
use headway_hook::Image;
use headway_hotspot::{monitor, symbols, thread, AddressRange, Layout, LiveMemory, Memory};
use headway_model::ThreadId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The VM's library. What was asked of it is known from then on; its symbols are
/// not kept in memory beyond [`rest`].
static LIBJVM: Mutex<Option<Image>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<Image>> {
    // A look or a move leaves what is inside whole.
    LIBJVM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The VM's library: read at the first call, which takes some 15 ms.
pub fn libjvm() -> Result<Image, String> {
    let mut kept = kept();
    if let Some(image) = &*kept {
        return Ok(image.clone());
    }
    let image = Image::of_loaded("libjvm.so", &Linux).map_err(|e| e.to_string())?;
    Ok(kept.insert(image).clone())
}

/// Nobody asks for the moment.
pub fn rest() {
    if let Some(image) = &*kept() {
        image.rest();
    }
}

/// The agent is taken out.
pub fn forget() {
    *kept() = None;
}

/// Largest stack that is believed.
const MAX_STACK_BYTES: u64 = 1 << 32;

pub use headway_model::event::SWITCHED_OFF;

/// See the module. Examined once, when a recording first allows it; each
/// recording allows it again.
#[derive(Default)]
pub struct HotSpot {
    examined: OnceLock<Result<Known, String>>,
    allowed: AtomicBool,
}

/// The VM's structures and the memory they are read from.
pub struct Known {
    /// Offsets and addresses.
    pub layout: Layout,
    /// This process's memory, guarded.
    pub memory: LiveMemory,
    /// Where the VM counts unloaded classes.
    unload_counter: Option<u64>,
    /// Stop-the-world collections so far, each of which may have unloaded
    /// classes: used where the VM does not count.
    collections: AtomicU64,
}

impl HotSpot {
    /// Allows or forbids to read the VM's structures from now on. What does not
    /// check out is said by [`Self::failure`].
    pub fn allow(&self, allowed: bool, libjvm: &Result<Image, String>) {
        if allowed {
            self.examined.get_or_init(|| libjvm.as_ref().map_err(String::clone).and_then(Known::load));
        }
        self.allowed.store(allowed, Ordering::Relaxed);
    }

    /// The VM's structures, if they check out and may be read.
    #[inline]
    pub fn known(&self) -> Option<&Known> {
        self.examined().and_then(|examined| examined.as_ref().ok())
    }

    /// Why they do not, or may not.
    pub fn failure(&self) -> Option<&str> {
        match self.examined() {
            Some(examined) => examined.as_ref().err().map(String::as_str),
            None => Some(SWITCHED_OFF),
        }
    }

    #[inline]
    fn examined(&self) -> Option<&Result<Known, String>> {
        self.examined.get().filter(|_| self.allowed.load(Ordering::Relaxed))
    }

    /// The monitor that a thread is about to block on; 0 if not known.
    #[inline]
    pub fn pending_monitor(&self, vm_thread: u64) -> u64 {
        let Some(known) = self.known() else { return 0 };
        thread::pending_monitor(&known.layout, &known.memory, vm_thread).unwrap_or(0)
    }

    /// The monitor that a thread waits on; 0 if none or not known.
    #[inline]
    pub fn waiting_monitor(&self, vm_thread: u64) -> u64 {
        let Some(known) = self.known() else { return 0 };
        thread::waiting_monitor(&known.layout, &known.memory, vm_thread).unwrap_or(0)
    }

    /// True if a thread that comes out of `Object.wait` never began to wait,
    /// because it had been interrupted before; false if not known.
    pub fn never_waited(&self, vm_thread: u64) -> bool {
        self.known().is_some() && self.waiting_monitor(vm_thread) == 0
    }

    /// Kernel id of a VM thread; 0 if not known.
    pub fn os_id(&self, vm_thread: u64) -> u32 {
        let Some(known) = self.known() else { return 0 };
        thread::os_thread_id(&known.layout, &known.memory, vm_thread).unwrap_or(0)
    }
}

impl Known {
    fn load(image: &Image) -> Result<Known, String> {
        let symbol = |name: &str| image.address_of(name);
        let safe_fetch =
            symbol(symbols::SAFE_FETCH_N).ok_or("this libjvm has no SafeFetchN to read the VM's memory with")?;
        // SAFETY: the symbol is the VM's own SafeFetchN, `(intptr_t*, intptr_t)
        // -> intptr_t`, which may be given any address.
        let safe_fetch: extern "C" fn(*const isize, isize) -> isize = unsafe { std::mem::transmute(safe_fetch) };
        // SAFETY: as above; the VM's SIGSEGV handler is active for as long
        // as the VM runs, and committed code cache stays readable.
        let memory = unsafe { LiveMemory::guarded(safe_fetch).with_code_cache() };
        let layout = Layout::load(&memory, symbol).map_err(|e| e.to_string())?;
        let unload_counter = unload_counter(&memory, symbol);
        Ok(Known { layout, memory, unload_counter, collections: AtomicU64::new(0) })
    }

    /// A number that grows whenever classes are unloaded.
    #[inline]
    pub fn classes_unloaded(&self) -> u64 {
        match self.unload_counter {
            Some(counter) => self.memory.read_u64(counter).unwrap_or(0),
            None => self.collections.load(Ordering::Relaxed),
        }
    }

    /// A collection ended.
    pub fn collected(&self) {
        self.collections.fetch_add(1, Ordering::Relaxed);
    }

    /// True if the current thread certainly has no Java frames.
    pub fn has_no_java_frames(&self, vm_thread: u64) -> bool {
        headway_hotspot::thread::has_no_java_frames(&self.layout, &self.memory, vm_thread)
    }

    /// Memory for a walk of the current thread's stack: what lies between here
    /// and the stack's base is read directly.
    #[inline]
    pub fn memory_of_current_thread(&self, vm_thread: u64) -> LiveMemory {
        let here = 0_u64;
        let start = std::ptr::from_ref(&here) as u64;
        let base = self.memory.read_u64(vm_thread + self.layout.thread.stack_base);
        match base {
            // SAFETY: from a live local of this thread to its stack's base
            // everything is mapped while the function that was called runs.
            Some(end) if end > start && end - start < MAX_STACK_BYTES => unsafe {
                self.memory.with_stack(AddressRange { start, end })
            },
            _ => self.memory,
        }
    }

    /// The address of the object that a local reference stands for, valid until
    /// the collector moves it: the caller only compares it.
    pub fn object_behind(&self, reference: Ref) -> Option<u64> {
        self.memory.read_u64(reference.raw() as u64)
    }

    /// The address of the object that a weak global reference stands for; `None`
    /// if it died or cannot be read. Valid until the collector moves it.
    pub fn object_in_weak(&self, reference: u64) -> Option<u64> {
        // The VM marks the kinds of references in the lowest bits.
        headway_hotspot::oop::in_slot(&self.layout, &self.memory, reference & !7).filter(|object| *object != 0)
    }

    /// The waiter that a notify would choose next. Only the monitor's owner may
    /// ask: under the lock the node cannot vanish.
    #[inline]
    pub fn first_waiter(&self, monitor: u64) -> Option<Waiter> {
        let node = monitor::first_waiter(&self.layout, &self.memory, monitor)?;
        let vm_thread = monitor::waiter_thread(&self.memory, node).filter(|_| node != 0)?;
        let id = match vm_thread {
            0 => monitor::waiter_virtual_thread_id(&self.layout, &self.memory, node),
            _ => None,
        };
        Some(Waiter { node, vm_thread, virtual_thread: id.map_or(ThreadId::NONE, ThreadId) })
    }

    /// True if a waiter has been moved from the wait set to those who contend.
    /// While the notifier owns the monitor the node stays where it is.
    #[inline]
    pub fn is_contending(&self, waiter: Waiter) -> bool {
        let state = monitor::waiter_state(&self.layout, &self.memory, waiter.node);
        state.is_some_and(monitor::state_is_queued)
    }
}

/// The VM's performance counter of unloaded classes (a `PerfCounter*`).
const UNLOADED_CLASSES: &str = "_ZN19ClassLoadingService23_classes_unloaded_countE";
/// First and last byte of the memory that holds performance data.
const PERF_MEMORY: [&str; 2] = ["_ZN10PerfMemory6_startE", "_ZN10PerfMemory4_endE"];
/// Words of a `PerfCounter` that may be the pointer to its value.
const PERF_COUNTER_WORDS: u64 = 8;

/// Where the count of unloaded classes is kept: of a counter's pointers into
/// performance memory the entry comes first and its value behind it. `None`
/// with `-XX:-UsePerfData` and where libjvm has no symbols.
fn unload_counter(memory: &impl Memory, symbol: impl Fn(&str) -> Option<usize>) -> Option<u64> {
    let variable = |name| memory.read_u64(symbol(name)? as u64).filter(|value| *value != 0);
    let (start, end) = (variable(PERF_MEMORY[0])?, variable(PERF_MEMORY[1])?);
    let counter = variable(UNLOADED_CLASSES)?;
    let words = (0..PERF_COUNTER_WORDS).filter_map(|i| memory.read_u64(counter + 8 * i));
    words.filter(|word| (start..end).contains(word) && word % 8 == 0).max()
}

/// A thread in a monitor's wait set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    node: u64,
    /// The VM's thread object; 0 for a virtual thread.
    pub vm_thread: u64,
    /// The virtual thread, where the VM's thread object is not known.
    pub virtual_thread: ThreadId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_hotspot::Fragments;

    fn words(memory: &mut Fragments, at: u64, words: &[u64]) {
        memory.add(at, words.iter().flat_map(|word| word.to_le_bytes()).collect());
    }

    #[test]
    fn the_unload_counter_is_the_last_pointer_into_performance_memory() {
        let mut memory = Fragments::new();
        words(&mut memory, 0x100, &[0x9000, 0xa000, 0x500]);
        // vtable, name, variability and units, flags, entry, value, garbage
        words(&mut memory, 0x500, &[0x7f00, 0x600, 0x3, 0x1, 0x9040, 0x9068, 0, 0]);
        let symbol = |name: &str| match name {
            "_ZN10PerfMemory6_startE" => Some(0x100),
            "_ZN10PerfMemory4_endE" => Some(0x108),
            UNLOADED_CLASSES => Some(0x110),
            _ => None,
        };
        assert_eq!(unload_counter(&memory, symbol), Some(0x9068));
        assert_eq!(unload_counter(&memory, |_| None), None);
    }
}
