//! Finding the code blob that holds a pc, and what kind of blob it is.
//!
//! Code is installed and flushed by other threads while this runs. A blob that
//! is on the walked thread's own stack stays; for any other pc an answer can be
//! stale the moment it is given. So every read is guarded, what is found is
//! checked against itself, and a compiled method is distinguished from a later one
//! at the same address by its compile id.

use crate::layout::{AddressField, CodeLayout, HeapLayout, KindField, Layout};
use crate::live::AddressRange;
use crate::memory::Memory;

/// What kind of code a blob holds, as far as a stack walk cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobKind {
    /// A compiled Java method or the wrapper of a native one.
    Nmethod,
    /// Called from native code through `java.lang.foreign`.
    UpcallStub,
    /// Runtime stubs, deoptimization and safepoint blobs, adapters, ...
    Other,
}

/// A code blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Address of its header.
    pub address: u64,
    /// What it is.
    pub kind: BlobKind,
}

/// Segments that no blob covers.
const FREE_SEGMENT: u8 = 0xff;
/// No frame of compiled code is larger (8 MB, as large as most stacks).
const MAX_FRAME_WORDS: u32 = 1 << 20;
/// Bound on steps through the segment map: a step covers up to 254 segments,
/// and the largest blob (16 MB of interpreter or compiled code) fewer than 1024.
const MAX_STEPS: u32 = 1 << 12;

/// The code cache of a VM.
#[derive(Clone, Copy, Debug)]
pub struct CodeCache<'a> {
    code: &'a CodeLayout,
}

impl<'a> CodeCache<'a> {
    /// The code cache that `layout` describes.
    #[inline]
    pub fn new(layout: &'a Layout) -> CodeCache<'a> {
        CodeCache { code: &layout.code }
    }

    /// True if `pc` lies in the address range of the code cache.
    #[inline]
    pub fn contains(&self, pc: u64) -> bool {
        self.code.bounds.holds(pc, 1)
    }

    /// The part of each heap that is committed now. It only ever grows, and
    /// what is in it stays readable.
    pub fn committed<M: Memory>(&self, memory: &M) -> Vec<AddressRange> {
        let heaps = &self.code.heaps[..self.code.heap_count];
        let range = |heap: &HeapLayout| {
            let end = memory.read_u64(heap.high_addr)?.min(heap.reserved_end);
            (end > heap.low).then_some(AddressRange { start: heap.low, end })
        };
        heaps.iter().filter_map(range).collect()
    }

    /// The blob in use that holds `pc`.
    #[inline]
    pub fn find<M: Memory>(&self, memory: &M, pc: u64) -> Option<Blob> {
        let heap = self.heap(pc)?;
        if pc >= memory.read_code_u64(heap.high_addr)? {
            return None;
        }
        let block = self.block(memory, heap, pc)?;
        let address = block + self.code.block_header_size;
        Some(Blob { address, kind: self.kind(memory, address)? })
    }

    #[inline]
    fn heap(&self, pc: u64) -> Option<&HeapLayout> {
        self.code.heaps[..self.code.heap_count].iter().find(|heap| pc >= heap.low && pc < heap.reserved_end)
    }

    /// The block in use that holds `pc`. The segment map says for each segment
    /// how far back, at least, its block begins.
    #[inline]
    fn block<M: Memory>(&self, memory: &M, heap: &HeapLayout, pc: u64) -> Option<u64> {
        let mut segment = (pc - heap.low) >> heap.log2_segment;
        let mut steps = 0;
        loop {
            match memory.read_code_u8(heap.segmap + segment)? {
                0 => break,
                FREE_SEGMENT => return None,
                back => segment = segment.checked_sub(u64::from(back))?,
            }
            steps += 1;
            if steps > MAX_STEPS {
                return None;
            }
        }
        let block = heap.low + (segment << heap.log2_segment);
        let used = memory.read_code_u8(block + self.code.block_used)?;
        (used != 0).then_some(block)
    }

    #[inline]
    fn kind<M: Memory>(&self, memory: &M, blob: u64) -> Option<BlobKind> {
        Some(match self.code.kind {
            KindField::Kind { offset, nmethod, upcall } => match memory.read_code_u8(blob + offset)? {
                kind if kind == nmethod => BlobKind::Nmethod,
                kind if kind == upcall => BlobKind::UpcallStub,
                _ => BlobKind::Other,
            },
            KindField::HeaderSize { offset, nmethod } => match memory.read_code_u32(blob + offset)? {
                size if size == nmethod => BlobKind::Nmethod,
                _ if self.is_upcall_stub(memory, blob) => BlobKind::UpcallStub,
                _ => BlobKind::Other,
            },
        })
    }

    /// `optimized_upcall_stub_...` (17), `upcall_stub_...` (21).
    fn is_upcall_stub<M: Memory>(&self, memory: &M, blob: u64) -> bool {
        let mut start = [0; 24];
        let name = memory.read_u64(blob + self.code.blob_name);
        name.is_some_and(|name| memory.read_into(name, &mut start))
            && (start.starts_with(b"upcall_stub_") || start.starts_with(b"optimized_upcall_stub_"))
    }

    /// The name of a blob, e.g. `monitorexit Runtime1 stub`.
    pub fn name<M: Memory>(&self, memory: &M, blob: u64) -> Option<String> {
        memory.read_c_string(memory.read_u64(blob + self.code.blob_name)?, 128)
    }

    /// Size of a blob's frames in bytes; 0 for blobs without frames.
    #[inline]
    pub fn frame_size<M: Memory>(&self, memory: &M, blob: u64) -> Option<u64> {
        let words = memory.read_code_u32(blob + self.code.blob_frame_size)?;
        (words < MAX_FRAME_WORDS).then_some(u64::from(words) * 8)
    }

    /// How many bytes from where a method's code begins its frame is built;
    /// `None` for a blob whose frames never are.
    pub fn frame_complete<M: Memory>(&self, memory: &M, blob: u64) -> Option<u64> {
        let at = blob + self.code.blob_frame_complete;
        let distance = match self.code.frame_complete_is_short {
            true => i32::from(memory.read_u16(at)? as i16),
            false => memory.read_i32(at)?,
        };
        u64::try_from(distance).ok()
    }

    /// A blob's code and what lies behind it, up to the end of the blob.
    pub fn code_range<M: Memory>(&self, memory: &M, blob: u64) -> Option<AddressRange> {
        let start = self.code_begin(memory, blob)?;
        let size = memory.read_code_u32(blob + self.code.blob_size)?;
        Some(AddressRange { start, end: blob + u64::from(size) })
    }

    /// Where a blob's code begins.
    #[inline]
    pub fn code_begin<M: Memory>(&self, memory: &M, blob: u64) -> Option<u64> {
        self.code.blob_code_begin.resolve(memory, blob)
    }

    /// True if the compiled method that was found at `blob` with `compile_id`
    /// is still there. Compile ids are never used twice, so a block in use that
    /// begins there and carries the id is the same method.
    #[inline]
    pub fn still_there<M: Memory>(&self, memory: &M, layout: &Layout, blob: u64, compile_id: u32) -> bool {
        let block = blob.wrapping_sub(self.code.block_header_size);
        let Some(heap) = self.heap(block) else {
            return false;
        };
        // It was found below the heap's end once, and that only grows.
        let segment = (block - heap.low) >> heap.log2_segment;
        memory.read_code_u8(heap.segmap + segment) == Some(0)
            && memory.read_code_u8(block + self.code.block_used).unwrap_or(0) != 0
            && memory.read_code_u32(blob + layout.nmethod.compile_id) == Some(compile_id)
    }
}

impl AddressField {
    /// The address that this place in the header at `blob` gives.
    #[inline]
    pub fn resolve<M: Memory>(self, memory: &M, blob: u64) -> Option<u64> {
        match self {
            AddressField::Pointer(offset) => memory.read_u64(blob + offset),
            AddressField::Distance(offset) => {
                let distance = memory.read_i32(blob + offset)?;
                blob.checked_add_signed(i64::from(distance))
            }
        }
    }
}
