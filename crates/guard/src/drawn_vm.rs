//! A VM drawn by hand: a code heap with compiled methods and an interpreter,
//! and a stack, all in one array. Its offsets are made up; the walker does the
//! same with it as with a real one.

use headway_hotspot::layout::{
    AddressField, CodeLayout, Coloring, DebugInfoLayout, FlagTable, FrameLayout, HeapLayout, KindField, MethodLayout,
    MonitorLayout, NmethodLayout, OopLayout, ThreadLayout, MAX_HEAPS,
};
use headway_hotspot::{AddressRange, Layout, Memory, Registers};

const BASE: u64 = 0x1_0000;
const INTERPRETER: u64 = BASE;
const CALL_STUB: u64 = BASE + 0x1000;
const HIGH_ADDR: u64 = BASE + 0x1800;
const SEGMAP: u64 = BASE + 0x2000;
const HEAP: u64 = BASE + 0x4000;
const STACK: u64 = BASE + 0x10000;
const END: u64 = STACK + 0x8000;

const LOG2_SEGMENT: u32 = 7;
const METHODS: u64 = 16;
/// Bytes of a compiled method: several segments, so that finding its start takes a step.
const METHOD_SIZE: u64 = 0x400;
const BLOCK_HEADER: u64 = 16;

const HEADER_SIZE: u64 = 0;
const FRAME_SIZE: u64 = 8;
const COMPILE_ID: u64 = 16;
const STUB_OFFSET: u64 = 24;
const NMETHOD_MARK: u32 = 0x158;

/// Words of a frame of compiled code, of the interpreter, and of the call stub.
const COMPILED_WORDS: u64 = 12;
const INTERPRETED_WORDS: u64 = 16;
const ENTRY_WORDS: u64 = 8;

/// Readable memory at [`BASE`].
pub struct Drawn {
    bytes: Vec<u8>,
}

impl Memory for Drawn {
    #[inline]
    fn read_u64(&self, addr: u64) -> Option<u64> {
        let at = usize::try_from(addr.checked_sub(BASE)?).ok()?;
        Some(u64::from_le_bytes(self.bytes.get(at..at + 8)?.try_into().ok()?))
    }

    fn read_into(&self, addr: u64, into: &mut [u8]) -> bool {
        let Some(at) = addr.checked_sub(BASE).map(|at| at as usize) else { return false };
        let found = self.bytes.get(at..at + into.len());
        found.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

impl Drawn {
    fn put(&mut self, addr: u64, value: u64) {
        let at = (addr - BASE) as usize;
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// A VM without code running.
pub fn vm() -> (Layout, Drawn) {
    let mut memory = Drawn { bytes: vec![0; (END - BASE) as usize] };
    memory.put(HIGH_ADDR, HEAP + METHODS * METHOD_SIZE);
    for method in 0..METHODS {
        let block = HEAP + method * METHOD_SIZE;
        let blob = block + BLOCK_HEADER;
        memory.put(block, 1);
        memory.put(blob + HEADER_SIZE, u64::from(NMETHOD_MARK));
        memory.put(blob + FRAME_SIZE, COMPILED_WORDS);
        memory.put(blob + COMPILE_ID, method + 1);
        memory.put(blob + STUB_OFFSET, METHOD_SIZE - BLOCK_HEADER);
        let segments = METHOD_SIZE >> LOG2_SEGMENT;
        for segment in 0..segments {
            let at = SEGMAP + method * segments + segment - BASE;
            memory.bytes[at as usize] = segment as u8;
        }
    }
    (layout(), memory)
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Compiled.
    Compiled,
    /// Interpreted.
    Interpreted,
}

/// Draws a stack, leaf first, below an entry frame without Java above it; gives the leaf's registers.
pub fn stack(memory: &mut Drawn, kinds: &[FrameKind]) -> Registers {
    let sizes = kinds.iter().map(|kind| match kind {
        FrameKind::Compiled => COMPILED_WORDS * 8,
        FrameKind::Interpreted => INTERPRETED_WORDS * 8,
    });
    // (pc, sp, fp) of each frame; the last is the entry frame's.
    let mut frames = Vec::new();
    let mut sp = STACK;
    for (number, (kind, size)) in (0u64..).zip(kinds.iter().zip(sizes)) {
        let pc = match kind {
            FrameKind::Compiled => HEAP + number % METHODS * METHOD_SIZE + METHOD_SIZE / 2,
            FrameKind::Interpreted => INTERPRETER + 64 + number,
        };
        frames.push((pc, sp, sp + size - 16));
        sp += size;
    }
    frames.push((CALL_STUB, sp, sp + ENTRY_WORDS * 8 - 16));
    for (pair, kind) in frames.windows(2).zip(kinds) {
        let ((_, _, fp), (caller_pc, caller_sp, caller_fp)) = (pair[0], pair[1]);
        memory.put(fp, caller_fp);
        memory.put(fp + 8, caller_pc);
        if *kind == FrameKind::Interpreted {
            memory.put(fp - 8, caller_sp);
            memory.put(fp - 24, 0xa000);
            memory.put(fp - 64, 0xb000);
        }
    }
    let (_, entry_sp, entry_fp) = frames[kinds.len()];
    // The wrapper lies above the entry frame; its anchor's sp is 0: no Java called from there.
    memory.put(entry_fp - 24, entry_sp + ENTRY_WORDS * 8);
    let (pc, sp, fp) = frames[0];
    Registers { pc, sp, fp, leaf_call: false }
}

fn layout() -> Layout {
    let mut heaps = [HeapLayout::default(); MAX_HEAPS];
    heaps[0] =
        HeapLayout { low: HEAP, reserved_end: STACK, high_addr: HIGH_ADDR, segmap: SEGMAP, log2_segment: LOG2_SEGMENT };
    Layout {
        java_version: 17,
        code: CodeLayout {
            heaps,
            heap_count: 1,
            bounds: AddressRange { start: HEAP, end: STACK },
            block_header_size: BLOCK_HEADER,
            block_used: 0,
            blob_name: 32,
            blob_size: 40,
            blob_frame_size: FRAME_SIZE,
            blob_frame_complete: 48,
            frame_complete_is_short: false,
            kind: KindField::HeaderSize { offset: HEADER_SIZE, nmethod: NMETHOD_MARK },
            blob_code_begin: AddressField::Pointer(56),
            blob_data_offset: 64,
        },
        nmethod: nmethod(),
        frame: FrameLayout {
            interpreter: AddressRange { start: INTERPRETER, end: CALL_STUB },
            call_stub_return: CALL_STUB,
            entry_wrapper: -24,
            wrapper_anchor: 0,
            anchor_sp: 0,
            anchor_pc: 8,
            anchor_fp: 16,
            upcall_frame_data: None,
        },
        method: method(),
        thread: thread(),
        monitor: monitor(),
        oop: OopLayout { compressed: false, base: 0, shift: 0, coloring: Coloring::None },
        continuation: None,
        flags: FlagTable { start: 0, count: 0, stride: 0, name: 0, address: 0 },
    }
}

// What follows the light walk never reads.

fn nmethod() -> NmethodLayout {
    NmethodLayout {
        method: 72,
        compile_id: COMPILE_ID,
        comp_level: 80,
        state: 81,
        stub_offset: STUB_OFFSET,
        deopt_handler: AddressField::Pointer(88),
        deopt_mh_handler: None,
        orig_pc_offset: 96,
        debug_info: DebugInfoLayout::InBlob {
            scopes_data_begin: 0,
            scopes_pcs_offset: 0,
            scopes_pcs_end_offset: 0,
            oops_offset: 0,
            metadata_offset: 0,
            handler_table: None,
        },
        unsigned5_base: 0,
    }
}

fn method() -> MethodLayout {
    MethodLayout {
        const_method: 0,
        access_flags: 0,
        constants: 0,
        const_flags: 0,
        has_line_numbers: 0,
        code_size: 0,
        name_index: 0,
        signature_index: 0,
        max_locals: 0,
        const_method_size: 0,
        pool_holder: 0,
        pool_length: 0,
        pool_tags: 0,
        source_file_name_index: 0,
        pool_size: 0,
        klass_name: 0,
        symbol_length: 0,
        symbol_body: 0,
    }
}

fn thread() -> ThreadLayout {
    ThreadLayout {
        anchor: 0,
        state: 0,
        pending_monitor: 0,
        waiting_monitor: 0,
        thread_obj: 0,
        vthread: None,
        monitor_owner_id: None,
        lock_stack: None,
        os_thread: 0,
        os_thread_id: 0,
        stack_base: 0,
        stack_size: 0,
        tid_in_object: None,
    }
}

fn monitor() -> MonitorLayout {
    MonitorLayout {
        owner: 0,
        object: 0,
        recursions: 0,
        wait_set: 0,
        owner_is_thread_id: false,
        last_special_owner: 0,
        waiter_state: 0,
        waiter_state_is_byte: false,
        size: 0,
        lock_object: 0,
        lock_size: 0,
    }
}
