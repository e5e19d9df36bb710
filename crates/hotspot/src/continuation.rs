//! Frames of a virtual thread that are not on a stack but in stack chunks on
//! the heap.
//!
//! A mounted virtual thread has its youngest frames on the carrier's stack; the
//! oldest of these returns to the return barrier, and the rest is in the chunks
//! of its `Continuation`, youngest chunk first. The collector may move a chunk
//! while it is read: the references that led to it are read again at the end,
//! and if one changed, the frames from the chunks are dropped. Likewise where the
//! stack is a copy and the thread went on since: it may have left the oldest
//! frame on the stack, or frozen it into the chunk, where it would count twice.

use crate::code_cache::{BlobKind, CodeCache};
use crate::frame::{slot, FrameRecord, RecordKind, Registers, WalkEnd, WalkResult};
use crate::layout::{ContinuationLayout, Layout};
use crate::memory::Memory;
use crate::oop;
use crate::walk::compiled_record;

/// Most chunks followed; a virtual thread has one or two.
const MAX_CHUNKS: u32 = 64;
/// Largest stack a chunk may claim, in words (16 MB).
const MAX_CHUNK_WORDS: u64 = 1 << 21;
/// Words searched above the bottom frame for the `ContinuationEntry`: the
/// arguments that `enter` takes on the stack lie between.
const ENTRY_SEARCH_WORDS: u64 = 8;

/// A chunk's numbers.
struct Chunk {
    sp: u64,
    bottom: u64,
    pc: u64,
}

/// Goes on with the walk in the chunks of the continuation whose entry lies at
/// or shortly above `near`.
pub(crate) fn walk_chunks<M: Memory>(
    layout: &Layout,
    memory: &M,
    near: u64,
    out: &mut [FrameRecord],
    mut frames: usize,
) -> WalkResult {
    let on_stack = frames;
    let lost = WalkResult { frames: on_stack, end: WalkEnd::ReturnBarrier, reused: 0, same: false };
    let Some(continuation) = &layout.continuation else {
        return lost;
    };
    let Some((entry, first)) = find_entry(layout, memory, continuation, near) else {
        return lost;
    };
    let oldest = on_stack.checked_sub(1).and_then(|last| out.get(last)).map_or(near, |oldest| oldest.sp);
    let stands = || oldest <= near && memory.still_holds(oldest, entry + continuation.entry_cont + 8);
    let youngest_in = |chunk| read_chunk(memory, continuation, chunk).map(|chunk| (chunk.sp, chunk.pc));
    let youngest = youngest_in(first);
    if !stands() {
        return lost;
    }
    let mut chunk = first;
    for _ in 0..MAX_CHUNKS {
        match walk_chunk(layout, memory, continuation, chunk, out, &mut frames) {
            Some(WalkEnd::Complete) => {}
            Some(end) => return WalkResult { frames, end, reused: 0, same: false },
            None => return lost,
        }
        match oop::load(layout, memory, chunk + continuation.chunk_parent) {
            Some(0) => break,
            Some(parent) => chunk = parent,
            None => return lost,
        }
    }
    // Whoever yielded since has frozen more frames into the chunk than were there.
    let is_mounted = continuation.mounted.is_none_or(|mounted| {
        let object = memory.read_u64(entry + continuation.entry_cont);
        object.and_then(|object| memory.read_u8(object.checked_add(mounted)?)) == Some(1)
    });
    let is_same = tail(layout, memory, continuation, entry) == Some(first) && youngest_in(first) == youngest;
    match is_mounted && is_same && stands() {
        true => WalkResult { frames, end: WalkEnd::VirtualThread, reused: 0, same: false },
        false => lost,
    }
}

/// The entry's address and the youngest chunk.
fn find_entry<M: Memory>(
    layout: &Layout,
    memory: &M,
    continuation: &ContinuationLayout,
    near: u64,
) -> Option<(u64, u64)> {
    let enter_special = memory.read_u64(continuation.enter_special_addr)?;
    let size = CodeCache::new(layout).frame_size(memory, enter_special)?;
    (0..ENTRY_SEARCH_WORDS).find_map(|word| {
        let entry = near.checked_add(word * 8)?;
        let flags = memory.read_u32(entry + continuation.entry_flags)?;
        // The frame of enterSpecial returns into Java code.
        let returns_to = memory.read_u64(entry + size - 8)?;
        if flags > 1 || !CodeCache::new(layout).contains(returns_to) {
            return None;
        }
        let chunk = tail(layout, memory, continuation, entry)?;
        read_chunk(memory, continuation, chunk).map(|_| (entry, chunk))
    })
}

/// Where a copied stack may hold the `ContinuationEntry` of a virtual thread, the
/// highest first: what lies below the one of now may be left from an earlier one. The
/// frame that begins with it returns into Java code, as `returns` says.
pub(crate) fn entries_in<'a, M: Memory>(
    layout: &'a Layout,
    memory: &'a M,
    stack: std::ops::Range<u64>,
    returns: impl Fn(u64) -> bool + 'a,
) -> impl Iterator<Item = u64> + 'a {
    let known = layout.continuation.as_ref().and_then(|continuation| {
        let enter_special = memory.read_u64(continuation.enter_special_addr)?;
        Some((continuation.entry_flags, CodeCache::new(layout).frame_size(memory, enter_special)?))
    });
    let (flags, size) = known.unwrap_or((0, u64::MAX));
    let room = stack.end.saturating_sub(stack.start).saturating_sub(size);
    let words = (0..room / 8).rev().map(move |word| stack.start + word * 8);
    words.filter(move |entry| {
        memory.read_u32(entry + flags) == Some(1) && memory.read_u64(entry + size - 8).is_some_and(&returns)
    })
}

/// `Thread.threadId()` of the virtual thread whose frames on this stack end at or
/// shortly below a `ContinuationEntry`, found through the objects that the entry
/// leads to: `Continuation.target`, a `Runnable` that holds the thread.
///
/// The objects are read where they were when the stack was copied. That the
/// thread's own reference leads back to the continuation proves that all of them
/// are what they are taken for; a continuation that was moved there since would
/// prove itself, too, so the caller asks only if nothing was collected meanwhile.
pub(crate) fn thread_at<M: Memory>(layout: &Layout, memory: &M, near: u64) -> Option<u64> {
    let continuation = layout.continuation.as_ref()?;
    let (target, of_thread) = (continuation.target?, continuation.of_thread?);
    let tid = layout.thread.tid_in_object?;
    (0..ENTRY_SEARCH_WORDS).find_map(|word| {
        let entry = near.checked_add(word * 8)?;
        let object = memory.read_u64(entry + continuation.entry_cont).filter(|object| is_object(*object))?;
        let runnable = oop::load(layout, memory, object.checked_add(target)?).filter(|object| is_object(*object))?;
        let thread =
            held_by(layout, memory, runnable, |thread| oop::load(layout, memory, thread + of_thread) == Some(object))?;
        memory.read_u64(thread + tid).filter(|id| *id != 0)
    })
}

/// Bytes of an object in which its first references are looked for.
const FIRST_FIELDS: std::ops::Range<u64> = 8..40;
/// No object is below; no address of a program is above.
const OBJECTS: std::ops::Range<u64> = 4096..1 << 47;

fn is_object(address: u64) -> bool {
    address % 8 == 0 && OBJECTS.contains(&address)
}

/// The first reference in an object that is what is looked for.
fn held_by<M: Memory>(layout: &Layout, memory: &M, object: u64, is_it: impl Fn(u64) -> bool) -> Option<u64> {
    let size = if layout.oop.compressed { 4 } else { 8 };
    let mut fields = FIRST_FIELDS.step_by(size).filter_map(|field| oop::load(layout, memory, object + field));
    fields.find(|held| is_object(*held) && is_it(*held))
}

/// The youngest chunk of the continuation at this entry.
fn tail<M: Memory>(layout: &Layout, memory: &M, continuation: &ContinuationLayout, entry: u64) -> Option<u64> {
    // On the stack references are plain addresses, whatever the collector.
    let object = memory.read_u64(entry + continuation.entry_cont)?;
    oop::load(layout, memory, object.checked_add(continuation.tail)?).filter(|chunk| *chunk != 0)
}

fn read_chunk<M: Memory>(memory: &M, continuation: &ContinuationLayout, chunk: u64) -> Option<Chunk> {
    let size = u64::from(memory.read_u32(chunk + continuation.chunk_size)?);
    let sp = u64::from(memory.read_u32(chunk + continuation.chunk_sp)?);
    let bottom = u64::from(memory.read_u32(chunk + continuation.chunk_bottom)?);
    let sound = size <= MAX_CHUNK_WORDS && sp <= size && bottom <= size;
    let stack = chunk + continuation.chunk_stack;
    sound.then_some(Chunk {
        sp: stack + sp * 8,
        bottom: stack + bottom * 8,
        pc: memory.read_u64(chunk + continuation.chunk_pc)?,
    })
}

/// Walks one chunk. `Complete` means that it was walked to its end.
fn walk_chunk<M: Memory>(
    layout: &Layout,
    memory: &M,
    continuation: &ContinuationLayout,
    chunk: u64,
    out: &mut [FrameRecord],
    frames: &mut usize,
) -> Option<WalkEnd> {
    let chunk = read_chunk(memory, continuation, chunk)?;
    let mut at = HeapPlace { sp: chunk.sp, unextended_sp: chunk.sp, pc: chunk.pc };
    // The oldest frame's arguments may lie before the bottom, or behind it.
    while at.sp.max(at.unextended_sp) < chunk.bottom {
        let Some(place) = out.get_mut(*frames) else {
            return Some(WalkEnd::Full);
        };
        let sp = at.sp;
        heap_frame(layout, memory, &mut at, place)?;
        *frames += 1;
        if at.sp <= sp {
            return None;
        }
        at.pc = memory.read_u64(at.sp - 8)?;
    }
    Some(WalkEnd::Complete)
}

/// Where a walk stands in a chunk.
struct HeapPlace {
    /// The return address is below it, and the link below that.
    sp: u64,
    /// The same without what an interpreted callee's arguments took.
    unextended_sp: u64,
    pc: u64,
}

/// Writes the record of a frame in a chunk and moves on to its caller, all but
/// the pc. What is an address on a stack is a distance in words here: the
/// chunk moves.
fn heap_frame<M: Memory>(layout: &Layout, memory: &M, at: &mut HeapPlace, record: &mut FrameRecord) -> Option<()> {
    if layout.frame.interpreter.holds(at.pc, 1) {
        return heap_interpreted(memory, at, record);
    }
    let code = CodeCache::new(layout);
    let blob = code.find(memory, at.pc)?;
    let registers = Registers { pc: at.pc, sp: at.unextended_sp, ..Registers::default() };
    match blob.kind {
        BlobKind::Nmethod => compiled_record(layout, memory, &registers, blob.address, record)?,
        _ => {
            *record = FrameRecord {
                pc: at.pc,
                sp: at.unextended_sp,
                code: blob.address,
                kind: RecordKind::Stub,
                ..FrameRecord::default()
            }
        }
    }
    record.on_heap = true;
    let size = code.frame_size(memory, blob.address)?;
    at.unextended_sp = at.unextended_sp.checked_add(size)?;
    at.sp = at.unextended_sp;
    Some(())
}

fn heap_interpreted<M: Memory>(memory: &M, at: &mut HeapPlace, record: &mut FrameRecord) -> Option<()> {
    let words_on = |from: u64, words: u64| from.checked_add_signed((words as i64).checked_mul(8)?);
    let link = at.sp.checked_sub(16)?;
    let fp = words_on(link, memory.read_u64(link)?)?;
    let slot_at = |slot: i64| memory.read_u64(fp.checked_add_signed(slot)?);
    *record = FrameRecord {
        pc: at.pc,
        sp: at.sp,
        fp,
        code: slot_at(slot::METHOD)?,
        bcp: slot_at(slot::BCP)?,
        kind: RecordKind::Interpreted,
        on_heap: true,
        ..FrameRecord::default()
    };
    at.unextended_sp = words_on(fp, slot_at(slot::SENDER_SP)?)?;
    at.sp = fp.checked_add(16)?;
    Some(())
}
