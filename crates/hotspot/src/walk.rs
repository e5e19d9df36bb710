//! The light walk: physical frames from the leaf to the thread's first Java
//! frame, without decoding what was inlined.
//!
//! Rules of x86-64 HotSpot: a compiled frame has a fixed size, its return
//! address in the highest word and the caller's the frame pointer below; an interpreted frame
//! hangs on the frame pointer; where the VM called Java, the call stub's frame points to a
//! `JavaCallWrapper` that keeps the caller's last Java frame.
//!
//! A walk should cost 5 ns a frame. Registers stay in registers: each step
//! moves them on in place, and writes its record straight to the output
//! (returning records by value cost 60 ns a frame in failed store forwarding).

use crate::code_cache::{Blob, BlobKind, CodeCache};
use crate::continuation;
use crate::frame::{slot, FrameRecord, Interrupted, RecordKind, Registers, WalkEnd, WalkResult};
use crate::layout::Layout;
use crate::memory::Memory;

/// How a walk goes on after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// At the caller, to which the registers were moved.
    Frame,
    /// In stack chunks; the registers' sp is near the continuation's entry.
    Chunk,
    /// Nowhere; this was the last frame.
    End(WalkEnd),
    /// Nowhere, and this frame is not one of the walk's.
    Before(WalkEnd),
}

/// Walks from `start` and writes the frames into `out`, leaf first.
///
/// Never blocks, allocates or panics. Reads the code cache and the stack only
/// through `memory`; a read that fails ends the walk as [`WalkEnd::Lost`].
pub fn walk_light<M: Memory>(layout: &Layout, memory: &M, start: Registers, out: &mut [FrameRecord]) -> WalkResult {
    let mut at = start;
    walk_on(layout, memory, &mut at, out)
}

/// The same, and says where on the stack it ended.
pub(crate) fn walk_on<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &mut Registers,
    out: &mut [FrameRecord],
) -> WalkResult {
    let mut frames = 0;
    let enter_special = enter_special(layout, memory);
    let end = loop {
        let Some(record) = out.get_mut(frames) else {
            break WalkEnd::Full;
        };
        let sp = at.sp;
        match step(layout, memory, enter_special, at, record) {
            // A stack has an order: a frame that does not lie above the one
            // it called is no frame.
            Some(Next::Frame) if at.sp > sp => frames += 1,
            Some(Next::Frame) => {
                frames += 1;
                break WalkEnd::Lost;
            }
            Some(Next::End(end)) => {
                frames += 1;
                break end;
            }
            Some(Next::Before(end)) => break end,
            Some(Next::Chunk) => return continuation::walk_chunks(layout, memory, at.sp, out, frames + 1),
            None => break WalkEnd::Lost,
        }
    };
    WalkResult { frames, end, reused: 0, same: false }
}

/// The compiled method that is the bottom of continuations, 0 if there is none.
#[inline]
pub(crate) fn enter_special<M: Memory>(layout: &Layout, memory: &M) -> u64 {
    match &layout.continuation {
        Some(continuation) => memory.read_u64(continuation.enter_special_addr).unwrap_or(0),
        None => 0,
    }
}

/// Writes the frame at `at` to `record` and moves `at` on to its caller.
#[inline]
pub(crate) fn step<M: Memory>(
    layout: &Layout,
    memory: &M,
    enter_special: u64,
    at: &mut Registers,
    record: &mut FrameRecord,
) -> Option<Next> {
    if layout.frame.interpreter.holds(at.pc, 1) {
        return interpreted(layout, memory, at, record);
    }
    if at.pc == layout.frame.call_stub_return {
        return entry(layout, memory, at, record);
    }
    let blob = CodeCache::new(layout).find(memory, at.pc)?;
    if blob.address == enter_special {
        return continuation_entry(layout, memory, at, blob, record);
    }
    match blob.kind {
        BlobKind::Nmethod => compiled(layout, memory, at, blob, record),
        BlobKind::UpcallStub => upcall(layout, memory, at, blob, record),
        BlobKind::Other => stub(layout, memory, at, blob, record),
    }
}

#[inline]
fn slot_at<M: Memory>(memory: &M, fp: u64, slot: i64) -> Option<u64> {
    memory.read_u64(fp.wrapping_add_signed(slot))
}

/// Begins the record of a frame at these registers.
#[inline]
fn begin(record: &mut FrameRecord, at: &Registers, kind: RecordKind, code: u64) {
    record.pc = at.pc;
    record.sp = at.sp;
    record.fp = at.fp;
    record.code = code;
    record.bcp = 0;
    record.compile_id = 0;
    record.kind = kind;
    record.on_heap = false;
    record.deoptimized = false;
    record.leaf_call = false;
    record.interrupted = Interrupted::No;
}

#[inline]
fn interpreted<M: Memory>(layout: &Layout, memory: &M, at: &mut Registers, record: &mut FrameRecord) -> Option<Next> {
    let method = slot_at(memory, at.fp, slot::METHOD)?;
    begin(record, at, RecordKind::Interpreted, method);
    record.bcp = slot_at(memory, at.fp, slot::BCP)?;
    let pc = slot_at(memory, at.fp, slot::RETURN)?;
    let sp = slot_at(memory, at.fp, slot::SENDER_SP)?;
    let fp = slot_at(memory, at.fp, slot::LINK)?;
    Some(to_caller(layout, at, pc, sp, fp))
}

/// Moves on to the caller of a frame that returns to `pc`.
#[inline]
fn to_caller(layout: &Layout, at: &mut Registers, pc: u64, sp: u64, fp: u64) -> Next {
    at.pc = pc;
    at.sp = sp;
    at.fp = fp;
    at.leaf_call = false;
    match &layout.continuation {
        Some(continuation) if pc == continuation.return_barrier => Next::Chunk,
        _ => Next::Frame,
    }
}

#[inline]
fn compiled<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &mut Registers,
    blob: Blob,
    record: &mut FrameRecord,
) -> Option<Next> {
    compiled_record(layout, memory, at, blob.address, record)?;
    let size = CodeCache::new(layout).frame_size(memory, blob.address)?;
    to_physical_caller(layout, memory, at, size)
}

/// `enterSpecial`. A virtual thread ends there, before this frame: what follows
/// belongs to its carrier. Other continuations are part of their thread.
#[inline(never)]
fn continuation_entry<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &mut Registers,
    blob: Blob,
    record: &mut FrameRecord,
) -> Option<Next> {
    let continuation = layout.continuation.as_ref()?;
    match memory.read_u32(at.sp.wrapping_add(continuation.entry_flags))? {
        0 => compiled(layout, memory, at, blob, record),
        _ => Some(Next::Before(WalkEnd::VirtualThread)),
    }
}

/// Writes the record of a compiled frame, with the real pc if it was deoptimized.
#[inline]
pub(crate) fn compiled_record<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &Registers,
    blob: u64,
    record: &mut FrameRecord,
) -> Option<()> {
    let nmethod = &layout.nmethod;
    begin(record, at, RecordKind::Compiled, blob);
    record.leaf_call = at.leaf_call;
    record.compile_id = memory.read_code_u32(blob + nmethod.compile_id)?;
    let stubs = blob + u64::from(memory.read_code_u32(blob + nmethod.stub_offset)?);
    // The handlers lie among the stubs; most frames stand before those.
    if at.pc >= stubs && is_deopt_handler(layout, memory, blob, at.pc)? {
        let offset = memory.read_i32(blob + nmethod.orig_pc_offset)?;
        record.pc = memory.read_u64(at.sp.checked_add_signed(i64::from(offset))?)?;
        record.deoptimized = true;
    }
    Some(())
}

fn is_deopt_handler<M: Memory>(layout: &Layout, memory: &M, blob: u64, pc: u64) -> Option<bool> {
    let nmethod = &layout.nmethod;
    if nmethod.deopt_handler.resolve(memory, blob)? == pc {
        return Some(true);
    }
    let for_method_handles = nmethod.deopt_mh_handler;
    Some(for_method_handles.and_then(|place| place.resolve(memory, blob)) == Some(pc))
}

/// Moves on to the caller of a frame of fixed size.
#[inline]
fn to_physical_caller<M: Memory>(layout: &Layout, memory: &M, at: &mut Registers, size: u64) -> Option<Next> {
    if size < 16 {
        return None;
    }
    let sender_sp = at.sp.wrapping_add(size);
    let pc = memory.read_u64(sender_sp.wrapping_sub(8))?;
    let fp = memory.read_u64(sender_sp.wrapping_sub(16))?;
    Some(to_caller(layout, at, pc, sender_sp, fp))
}

/// The VM called Java: on to the last Java frame before that.
#[inline]
fn entry<M: Memory>(layout: &Layout, memory: &M, at: &mut Registers, record: &mut FrameRecord) -> Option<Next> {
    let frame = &layout.frame;
    let wrapper = slot_at(memory, at.fp, frame.entry_wrapper)?;
    begin(record, at, RecordKind::Entry, wrapper);
    let anchor = wrapper.wrapping_add(frame.wrapper_anchor);
    through_anchor(layout, memory, at, anchor, record)
}

/// Native code called Java through a stub of its own.
#[inline(never)]
fn upcall<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &mut Registers,
    blob: Blob,
    record: &mut FrameRecord,
) -> Option<Next> {
    let data = memory.read_u32(blob.address + layout.frame.upcall_frame_data?)?;
    begin(record, at, RecordKind::Entry, blob.address);
    let anchor = at.sp.wrapping_add(u64::from(data));
    through_anchor(layout, memory, at, anchor, record)
}

#[inline]
fn through_anchor<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &mut Registers,
    anchor: u64,
    record: &mut FrameRecord,
) -> Option<Next> {
    let sp = memory.read_u64(anchor.wrapping_add(layout.frame.anchor_sp))?;
    record.bcp = sp;
    if sp == 0 {
        return Some(Next::End(WalkEnd::Complete));
    }
    *at = anchored(layout, memory, anchor, sp)?;
    Some(Next::Frame)
}

/// The registers that a `JavaFrameAnchor` with this sp keeps. Its pc may be
/// null: then it is the word below sp, where the call pushed it.
#[inline]
pub(crate) fn anchored<M: Memory>(layout: &Layout, memory: &M, anchor: u64, sp: u64) -> Option<Registers> {
    let frame = &layout.frame;
    let pc = match memory.read_u64(anchor.wrapping_add(frame.anchor_pc))? {
        0 => memory.read_u64(sp.wrapping_sub(8))?,
        pc => pc,
    };
    Some(Registers { pc, sp, fp: memory.read_u64(anchor.wrapping_add(frame.anchor_fp))?, leaf_call: false })
}

/// A frame of the VM's own code. Without a frame size it hangs on the frame pointer.
#[inline(never)]
fn stub<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: &mut Registers,
    blob: Blob,
    record: &mut FrameRecord,
) -> Option<Next> {
    begin(record, at, RecordKind::Stub, blob.address);
    // A stub that compiled code called off the record has no debug
    // information at its return address either.
    let leaf_call = at.leaf_call;
    let next = match CodeCache::new(layout).frame_size(memory, blob.address)? {
        0 if at.fp >= at.sp => {
            let pc = slot_at(memory, at.fp, slot::RETURN)?;
            let fp = memory.read_u64(at.fp)?;
            to_caller(layout, at, pc, at.fp.checked_add(16)?, fp)
        }
        0 => return None,
        size => to_physical_caller(layout, memory, at, size)?,
    };
    at.leaf_call = leaf_call;
    Some(next)
}
