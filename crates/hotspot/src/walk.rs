//! The light walk: physical frames from the leaf to the thread's first Java
//! frame, without decoding what was inlined.
//!
//! Rules of x86-64 HotSpot: a compiled frame has a fixed size, its return
//! address in the highest word and the caller's rbp below; an interpreted frame
//! hangs on rbp; where the VM called Java, the call stub's frame points to a
//! `JavaCallWrapper` that keeps the caller's last Java frame.

use crate::code_cache::{Blob, BlobKind, CodeCache};
use crate::continuation;
use crate::frame::{slot, FrameRecord, RecordKind, Registers, WalkEnd, WalkResult};
use crate::layout::Layout;
use crate::memory::Memory;

/// A frame, and where the walk goes on from it.
pub(crate) struct Step {
    pub(crate) record: FrameRecord,
    pub(crate) next: Next,
}

/// Where a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Frame(Registers),
    /// Into the chunks of the continuation whose entry is near this address.
    Chunk(u64),
    End(WalkEnd),
}

/// Walks from `start` and writes the frames into `out`, leaf first.
///
/// Never blocks, allocates or panics. Reads the code cache and the stack only
/// through `memory`; a read that fails ends the walk as [`WalkEnd::Lost`].
pub fn walk_light<M: Memory>(
    layout: &Layout,
    memory: &M,
    start: Registers,
    out: &mut [FrameRecord],
) -> WalkResult {
    let mut at = start;
    let mut frames = 0;
    loop {
        let Some(place) = out.get_mut(frames) else {
            return ended(frames, WalkEnd::Full);
        };
        let Some(step) = step(layout, memory, at) else {
            return ended(frames, WalkEnd::Lost);
        };
        *place = step.record;
        frames += 1;
        match step.next {
            // A stack has an order: a frame that does not lie above the one
            // it called is no frame.
            Next::Frame(next) if next.sp > at.sp => at = next,
            Next::Frame(_) => return ended(frames, WalkEnd::Lost),
            Next::End(end) => return ended(frames, end),
            Next::Chunk(entry) => {
                return continuation::walk_chunks(layout, memory, entry, out, frames)
            }
        }
    }
}

fn ended(frames: usize, end: WalkEnd) -> WalkResult {
    WalkResult {
        frames,
        end,
        reused: 0,
    }
}

/// The frame at `at`, and its caller.
#[inline]
pub(crate) fn step<M: Memory>(layout: &Layout, memory: &M, at: Registers) -> Option<Step> {
    if layout.frame.interpreter.holds(at.pc, 1) {
        return interpreted(layout, memory, at);
    }
    if at.pc == layout.frame.call_stub_return {
        return entry(layout, memory, at);
    }
    let code = CodeCache::new(layout);
    let blob = code.find(memory, at.pc)?;
    match blob.kind {
        BlobKind::Nmethod => compiled(layout, memory, at, blob),
        BlobKind::UpcallStub => upcall(layout, memory, at, blob),
        BlobKind::Other => stub(layout, memory, at, blob),
    }
}

#[inline]
fn slot_at<M: Memory>(memory: &M, fp: u64, slot: i64) -> Option<u64> {
    memory.read_u64(fp.checked_add_signed(slot)?)
}

#[inline]
fn interpreted<M: Memory>(layout: &Layout, memory: &M, at: Registers) -> Option<Step> {
    let record = FrameRecord {
        pc: at.pc,
        sp: at.sp,
        fp: at.fp,
        code: slot_at(memory, at.fp, slot::METHOD)?,
        bcp: slot_at(memory, at.fp, slot::BCP)?,
        kind: RecordKind::Interpreted,
        ..FrameRecord::default()
    };
    let pc = slot_at(memory, at.fp, slot::RETURN)?;
    let sp = slot_at(memory, at.fp, slot::SENDER_SP)?;
    let fp = slot_at(memory, at.fp, slot::LINK)?;
    Some(Step {
        record,
        next: caller(layout, pc, sp, fp),
    })
}

/// Where the walk goes on after a frame that returns to `pc`.
#[inline]
fn caller(layout: &Layout, pc: u64, sp: u64, fp: u64) -> Next {
    match &layout.continuation {
        Some(continuation) if pc == continuation.return_barrier => Next::Chunk(sp),
        _ => Next::Frame(Registers {
            pc,
            sp,
            fp,
            leaf_call: false,
        }),
    }
}

#[inline]
fn compiled<M: Memory>(layout: &Layout, memory: &M, at: Registers, blob: Blob) -> Option<Step> {
    let mut record = compiled_record(layout, memory, at, blob.address)?;
    record.leaf_call = at.leaf_call;
    let size = CodeCache::new(layout).frame_size(memory, blob.address)?;
    if size < 16 {
        return None;
    }
    if let Some(continuation) = &layout.continuation {
        if at.pc == continuation.entry_return_pc {
            return continuation_entry(layout, memory, record, size);
        }
    }
    Some(Step {
        record,
        next: physical_caller(layout, memory, at.sp, size)?,
    })
}

/// The record of a compiled frame, with the real pc if it was deoptimized.
#[inline]
pub(crate) fn compiled_record<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: Registers,
    blob: u64,
) -> Option<FrameRecord> {
    let nmethod = &layout.nmethod;
    let mut record = FrameRecord {
        pc: at.pc,
        sp: at.sp,
        fp: at.fp,
        code: blob,
        compile_id: memory.read_u32(blob + nmethod.compile_id)?,
        kind: RecordKind::Compiled,
        ..FrameRecord::default()
    };
    let stubs = blob + u64::from(memory.read_u32(blob + nmethod.stub_offset)?);
    // The handlers lie among the stubs; most frames stand before those.
    if at.pc >= stubs && is_deopt_handler(layout, memory, blob, at.pc)? {
        let offset = memory.read_i32(blob + nmethod.orig_pc_offset)?;
        record.pc = memory.read_u64(at.sp.checked_add_signed(i64::from(offset))?)?;
        record.deoptimized = true;
    }
    Some(record)
}

fn is_deopt_handler<M: Memory>(layout: &Layout, memory: &M, blob: u64, pc: u64) -> Option<bool> {
    let nmethod = &layout.nmethod;
    if nmethod.deopt_handler.resolve(memory, blob)? == pc {
        return Some(true);
    }
    let for_method_handles = nmethod.deopt_mh_handler;
    Some(for_method_handles.and_then(|place| place.resolve(memory, blob)) == Some(pc))
}

/// The caller of a frame of fixed size.
#[inline]
fn physical_caller<M: Memory>(layout: &Layout, memory: &M, sp: u64, size: u64) -> Option<Next> {
    let sender_sp = sp.checked_add(size)?;
    let pc = memory.read_u64(sender_sp.checked_sub(8)?)?;
    let fp = memory.read_u64(sender_sp.checked_sub(16)?)?;
    Some(caller(layout, pc, sender_sp, fp))
}

/// `enterSpecial`, the bottom of a continuation. For a virtual thread the walk
/// is complete there (what follows belongs to its carrier).
fn continuation_entry<M: Memory>(
    layout: &Layout,
    memory: &M,
    record: FrameRecord,
    size: u64,
) -> Option<Step> {
    let continuation = layout.continuation.as_ref()?;
    let flags = memory.read_u32(record.sp + continuation.entry_flags)?;
    let next = match flags {
        0 => physical_caller(layout, memory, record.sp, size)?,
        _ => Next::End(WalkEnd::VirtualThread),
    };
    Some(Step { record, next })
}

/// The VM called Java: on to the last Java frame before that.
fn entry<M: Memory>(layout: &Layout, memory: &M, at: Registers) -> Option<Step> {
    let frame = &layout.frame;
    let wrapper = slot_at(memory, at.fp, frame.entry_wrapper)?;
    through_anchor(layout, memory, at, wrapper, wrapper + frame.wrapper_anchor)
}

/// Native code called Java through a stub of its own.
fn upcall<M: Memory>(layout: &Layout, memory: &M, at: Registers, blob: Blob) -> Option<Step> {
    let data = memory.read_u32(blob.address + layout.frame.upcall_frame_data?)?;
    let anchor = at.sp.checked_add(u64::from(data))?;
    through_anchor(layout, memory, at, blob.address, anchor)
}

fn through_anchor<M: Memory>(
    layout: &Layout,
    memory: &M,
    at: Registers,
    code: u64,
    anchor: u64,
) -> Option<Step> {
    let frame = &layout.frame;
    let sp = memory.read_u64(anchor + frame.anchor_sp)?;
    let record = FrameRecord {
        pc: at.pc,
        sp: at.sp,
        fp: at.fp,
        code,
        bcp: sp,
        kind: RecordKind::Entry,
        ..FrameRecord::default()
    };
    let next = match sp {
        0 => Next::End(WalkEnd::Complete),
        _ => Next::Frame(anchored(layout, memory, anchor, sp)?),
    };
    Some(Step { record, next })
}

/// The registers that a `JavaFrameAnchor` with this sp keeps. Its pc may be
/// null: then it is the word below sp, where the call pushed it.
#[inline]
pub(crate) fn anchored<M: Memory>(
    layout: &Layout,
    memory: &M,
    anchor: u64,
    sp: u64,
) -> Option<Registers> {
    let frame = &layout.frame;
    let pc = match memory.read_u64(anchor + frame.anchor_pc)? {
        0 => memory.read_u64(sp.checked_sub(8)?)?,
        pc => pc,
    };
    Some(Registers {
        pc,
        sp,
        fp: memory.read_u64(anchor + frame.anchor_fp)?,
        leaf_call: false,
    })
}

/// A frame of the VM's own code. Without a frame size it hangs on rbp.
fn stub<M: Memory>(layout: &Layout, memory: &M, at: Registers, blob: Blob) -> Option<Step> {
    let record = FrameRecord {
        pc: at.pc,
        sp: at.sp,
        fp: at.fp,
        code: blob.address,
        kind: RecordKind::Stub,
        ..FrameRecord::default()
    };
    let mut next = match CodeCache::new(layout).frame_size(memory, blob.address)? {
        0 if at.fp >= at.sp => {
            let sp = at.fp.checked_add(16)?;
            caller(
                layout,
                slot_at(memory, at.fp, slot::RETURN)?,
                sp,
                memory.read_u64(at.fp)?,
            )
        }
        0 => return None,
        size => physical_caller(layout, memory, at.sp, size)?,
    };
    // A stub that compiled code called off the record has no debug
    // information at its return address; which do is known only by looking.
    if let Next::Frame(registers) = &mut next {
        registers.leaf_call = at.leaf_call;
    }
    Some(Step { record, next })
}
