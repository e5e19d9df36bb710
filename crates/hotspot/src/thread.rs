//! Threads: where a walk of one starts, and who it is.

use crate::code_cache::CodeCache;
use crate::frame::Registers;
use crate::layout::Layout;
use crate::memory::Memory;
use crate::oop;
use crate::walk::anchored;

/// Most native frames between a hook and the Java code that led to it.
const MAX_NATIVE_FRAMES: u32 = 64;
/// Largest native frame that is believed, in bytes.
const MAX_NATIVE_FRAME_BYTES: u64 = 1 << 20;

/// The start of a walk from the thread's last Java frame: in JVMTI callbacks
/// and JNI code, and wherever the thread waits in the VM. `None` while the
/// thread runs Java code or has none.
#[inline]
pub fn start_from_anchor<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> Option<Registers> {
    let anchor = java_thread + layout.thread.anchor;
    match memory.read_u64(anchor + layout.frame.anchor_sp)? {
        0 => None,
        sp => anchored(layout, memory, anchor, sp),
    }
}

/// `_thread_in_Java` of the VM's `JavaThreadState`; one more while it changes.
const IN_JAVA: u32 = 8;

/// True if the thread certainly has no Java frames, so that there is nothing to
/// walk: a thread that ends notifies those who join it under its own object's
/// monitor, and native code may enter monitors on a thread it attached.
///
/// Outside Java code a thread keeps an anchor for as long as there are Java
/// frames below; the VM itself takes a thread without one for frameless. Only
/// code in state `in Java` (compiled code and interpreter, also where they call
/// the VM as a leaf) runs without.
#[inline]
pub fn has_no_java_frames<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> bool {
    let state = memory.read_u32(java_thread + layout.thread.state);
    let sp = memory.read_u64(java_thread + layout.thread.anchor + layout.frame.anchor_sp);
    sp == Some(0) && state.is_some_and(|state| state != IN_JAVA && state != IN_JAVA + 1)
}

/// `_thread_blocked` of the VM's `JavaThreadState`.
const BLOCKED: u32 = 10;

/// True if the thread waits inside the VM: for a monitor, in a wait, a park or
/// a sleep.
pub fn is_blocked<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> bool {
    memory.read_u32(java_thread + layout.thread.state).is_some_and(|state| state == BLOCKED)
}

/// The start of a walk from a frame pointer inside native code that Java code
/// called without leaving an anchor (a leaf call): follows the chain of frame
/// pointers to the first return address inside the code cache. libjvm keeps
/// frame pointers.
///
/// `fp` is the frame pointer of a native frame: the caller's at `fp`, the return address
/// at `fp + 8`.
#[inline]
pub fn start_from_native<M: Memory>(layout: &Layout, memory: &M, fp: u64) -> Option<Registers> {
    let code = CodeCache::new(layout);
    let mut fp = fp;
    for _ in 0..MAX_NATIVE_FRAMES {
        let caller_fp = memory.read_u64(fp)?;
        let pc = memory.read_u64(fp.checked_add(8)?)?;
        if code.contains(pc) {
            return Some(Registers { pc, sp: fp + 16, fp: caller_fp, leaf_call: true });
        }
        if caller_fp <= fp || caller_fp - fp > MAX_NATIVE_FRAME_BYTES {
            return None;
        }
        fp = caller_fp;
    }
    None
}

/// The start of a walk inside a hook of the VM's release of a monitor: the
/// anchor where there is one (C1's stubs, JNI, `Object.wait`), else the chain
/// of frame pointers from `fp` (C2, the interpreter).
///
/// Where C1 code released, the leaf is a stub that leaves no debug information
/// at its return address, which [`Registers::leaf_call`] gives the decoder.
#[inline]
pub fn start_at_exit<M: Memory>(layout: &Layout, memory: &M, java_thread: u64, fp: u64) -> Option<Registers> {
    match start_from_anchor(layout, memory, java_thread) {
        Some(mut start) => {
            start.leaf_call = is_stub(layout, memory, start.pc);
            Some(start)
        }
        None => start_from_native(layout, memory, fp),
    }
}

fn is_stub<M: Memory>(layout: &Layout, memory: &M, pc: u64) -> bool {
    let code = CodeCache::new(layout);
    !layout.frame.interpreter.holds(pc, 1)
        && code.find(memory, pc).is_some_and(|blob| blob.kind == crate::code_cache::BlobKind::Other)
}

/// The kernel's id of a thread.
pub fn os_thread_id<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> Option<u32> {
    match memory.read_u64(java_thread + layout.thread.os_thread)? {
        0 => None,
        os_thread => memory.read_u32(os_thread + layout.thread.os_thread_id),
    }
}

/// `Thread.threadId()` of the thread that runs on this `JavaThread` now: of the
/// mounted virtual thread if there is one. `None` if it is not known (a
/// stripped libjvm of 17 or 21, a reference that is being updated).
pub fn current_thread_id<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> Option<u64> {
    if let Some(offset) = layout.thread.monitor_owner_id {
        return memory.read_u64(java_thread + offset).filter(|id| *id != 0);
    }
    let handle = layout.thread.vthread.unwrap_or(layout.thread.thread_obj);
    id_behind(layout, memory, java_thread + handle)
}

/// `Thread.threadId()` of the thread object behind an `OopHandle`.
pub(crate) fn id_behind<M: Memory>(layout: &Layout, memory: &M, handle: u64) -> Option<u64> {
    let offset = layout.thread.tid_in_object?;
    match oop::resolve_handle(layout, memory, handle)? {
        0 => None,
        thread => memory.read_u64(thread + offset).filter(|id| *id != 0),
    }
}

/// The thread's stack: lowest address and base.
pub fn stack_range<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> Option<crate::live::AddressRange> {
    let base = memory.read_u64(java_thread + layout.thread.stack_base)?;
    let size = memory.read_u64(java_thread + layout.thread.stack_size)?;
    Some(crate::live::AddressRange { start: base.checked_sub(size)?, end: base })
}

/// The `ObjectMonitor*` the thread is about to block on, 0 if none.
#[inline]
pub fn pending_monitor<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> Option<u64> {
    memory.read_u64(java_thread + layout.thread.pending_monitor)
}

/// The `ObjectMonitor*` the thread waits on (`Object.wait`), 0 if none.
#[inline]
pub fn waiting_monitor<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> Option<u64> {
    memory.read_u64(java_thread + layout.thread.waiting_monitor)
}
