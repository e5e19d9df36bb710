//! Decoding stack fragments: copies of the live part of a thread's stack and
//! of its registers, taken at any instruction, looked at later.
//!
//! A walk in a hook begins at a call that the VM knows. A fragment does not: the
//! thread may have stood in native code, between the instructions that build a
//! frame or take it down, or in a stub of the VM. The first part of decoding a
//! fragment finds the first frame that stands like one that called somebody;
//! from there on the common walker goes. What only an instruction decoder or
//! unwind tables can say is handed in ([`Code`], [`Native`]), so that this
//! crate needs neither.
//!
//! Nothing is guessed. Where a return address is expected, the word found must
//! be one that the VM's own tables know; if it is not, the stack ends there and
//! says why ([`FragmentEnd`]).

mod calls;
mod memory;
mod shape;

pub use memory::FragmentMemory;
pub use shape::{Captured, Location, Reg, Run, Shape};

use self::calls::KnownCalls;
use crate::arch::{follows_call, interpreter, leaf};
use crate::code_cache::{Blob, BlobKind, CodeCache};
use crate::continuation;
use crate::debug_info::DebugInfo;
use crate::frame::{FrameRecord, Interrupted, RecordKind, Registers, WalkEnd};
use crate::layout::Layout;
use crate::live::AddressRange;
use crate::memory::Memory;
use crate::walk::walk_on;

/// Most native frames above the first Java frame.
const MAX_NATIVE_FRAMES: usize = 256;

/// What an instruction decoder says about generated code.
pub trait Code {
    /// Runs on from `pc` inside `code`, without taking conditional jumps where
    /// that can be avoided, to where the function is left. `limit` bounds the
    /// instructions looked at. The shape is relative to the registers at `pc`.
    fn run(&mut self, code: AddressRange, pc: u64, limit: usize) -> Run;

    /// The frame as it is at `pc`, if the code from the function's entry at
    /// `code.start` ran straight to there.
    fn built(&mut self, code: AddressRange, pc: u64) -> Option<Shape>;
}

/// How native code was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeStep {
    /// The registers are the caller's.
    Caller,
    /// This was the thread's first function.
    Root,
    /// The unwind tables do not say, or lead nowhere.
    Lost,
}

/// What unwind tables say about native code.
pub trait Native {
    /// True if there is native code at this address.
    fn knows(&mut self, pc: u64) -> bool;

    /// Moves the registers on to the caller of the function they are in.
    /// `interrupted` is false where the pc is a return address. `read` reads
    /// the fragment.
    fn caller(&mut self, at: &mut Captured, interrupted: bool, read: &mut dyn FnMut(u64) -> Option<u64>) -> NativeStep;
}

/// Why the stack of a fragment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FragmentEnd {
    /// At the thread's first Java frame.
    Complete,
    /// At a virtual thread's first frame; the carrier follows.
    VirtualThread,
    /// At the first function of a thread that runs no Java code.
    NativeRoot,
    /// The copy ends before the stack does.
    Short,
    /// There is no room for more frames.
    Full,
    /// The rest of a virtual thread's frames lies in the heap.
    InHeap,
    /// The code that a frame returns to is not there any more.
    CodeGone,
    /// Native code without usable unwind tables.
    NativeUnknown,
    /// The frame that was interrupted could not be made out.
    LeafUnknown(LeafKind),
    /// A frame below made no sense.
    Lost,
}

impl FragmentEnd {
    /// True if nothing is missing at the root.
    pub fn is_complete(self) -> bool {
        matches!(self, FragmentEnd::Complete | FragmentEnd::VirtualThread | FragmentEnd::NativeRoot)
    }
}

/// What kind of code was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// The interpreter.
    Interpreter,
    /// A compiled method.
    Compiled,
    /// The compiled wrapper of a native method.
    NativeWrapper,
    /// A stub of the VM.
    Stub,
}

/// A fragment: registers, and the stack from the stack pointer on.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    /// The registers.
    pub registers: Captured,
    /// The bytes from the stack pointer on.
    pub stack: &'a [u8],
    /// The end of the thread's stack, its highest address; 0 if unknown.
    pub stack_end: u64,
}

/// A decoded fragment. Kept by the decoder from one to the next.
#[derive(Debug)]
pub struct Frames {
    /// Instructions of native functions above the first Java frame, leaf first.
    pub native: Vec<u64>,
    /// The frames of the VM's own code, leaf first.
    records: Vec<FrameRecord>,
    count: usize,
    /// Why the stack ends.
    pub end: FragmentEnd,
    /// `Thread.threadId()` of the virtual thread that ran, where the objects that
    /// the copy leads to still say. It is right if no object was moved since the
    /// copy was made.
    pub virtual_thread: Option<u64>,
    calls: KnownCalls,
}

impl Frames {
    /// Room for this many frames of the VM's own code.
    pub fn with_room(records: usize) -> Frames {
        Frames {
            native: Vec::with_capacity(MAX_NATIVE_FRAMES),
            records: vec![FrameRecord::default(); records],
            count: 0,
            end: FragmentEnd::Lost,
            virtual_thread: None,
            calls: KnownCalls::default(),
        }
    }

    fn clear(&mut self) {
        self.native.clear();
        self.count = 0;
        self.virtual_thread = None;
    }

    /// The frames of the VM's own code, leaf first.
    pub fn records(&self) -> &[FrameRecord] {
        self.records.get(..self.count).unwrap_or_default()
    }

    fn push(&mut self, record: FrameRecord) -> Option<()> {
        *self.records.get_mut(self.count)? = record;
        self.count += 1;
        Some(())
    }

    /// Takes the frame that was interrupted, if there is one, and goes on at its
    /// caller.
    fn push_leaf(&mut self, found: Result<(Option<FrameRecord>, Registers), LeafKind>) -> Goes {
        match found {
            Ok((Some(record), caller)) => match self.push(record) {
                Some(()) => Goes::Walk(caller),
                None => Goes::End(FragmentEnd::Full),
            },
            Ok((None, caller)) => Goes::Walk(caller),
            Err(kind) => Goes::End(FragmentEnd::LeafUnknown(kind)),
        }
    }

    fn walk<M: Memory>(&mut self, layout: &Layout, memory: &FragmentMemory<'_, M>, start: Registers) -> FragmentEnd {
        let room = self.records.get_mut(self.count..).unwrap_or_default();
        let mut at = start;
        let walked = match is_return_barrier(layout, start.pc) {
            // The frame that was interrupted is the only one that is on the stack yet.
            true => continuation::walk_chunks(layout, memory, start.sp, room, 0),
            false => walk_on(layout, memory, &mut at, room),
        };
        self.count += walked.frames;
        if matches!(walked.end, WalkEnd::VirtualThread | WalkEnd::ReturnBarrier) {
            self.virtual_thread = continuation::thread_at(layout, memory, at.sp);
        }
        match walked.end {
            WalkEnd::Complete => FragmentEnd::Complete,
            WalkEnd::VirtualThread => FragmentEnd::VirtualThread,
            WalkEnd::Full => FragmentEnd::Full,
            WalkEnd::ReturnBarrier => FragmentEnd::InHeap,
            WalkEnd::Lost if memory.went_beyond() => FragmentEnd::Short,
            WalkEnd::Lost => FragmentEnd::Lost,
        }
    }
}

/// The parts that decoding needs besides the fragment.
pub struct Decoder<'a, M> {
    /// The VM.
    pub layout: &'a Layout,
    /// The VM's memory as it is now; the fragment's addresses are not read from it.
    pub memory: &'a M,
}

/// A stub that could not be made out.
const STUB_UNKNOWN: FragmentEnd = FragmentEnd::LeafUnknown(LeafKind::Stub);

/// How the search for a frame that called somebody on record goes on.
enum Goes {
    /// At these registers; what is known of them is a call off the record.
    On(Captured),
    /// With the common walker, from here.
    Walk(Registers),
    /// Nowhere.
    End(FragmentEnd),
}

impl<M: Memory> Decoder<'_, M> {
    /// Decodes a fragment into `frames`.
    pub fn decode(&self, fragment: &Fragment<'_>, helper: &mut (impl Code + Native), frames: &mut Frames) {
        frames.clear();
        let memory = FragmentMemory::new(self.memory, fragment);
        frames.end = self.off_the_record(&memory, fragment.registers, helper, frames);
        if memory.went_beyond() && !frames.end.is_complete() {
            frames.end = FragmentEnd::Short;
        }
        self.cut_at_unknown_calls(frames);
    }

    /// Decodes a fragment of a thread that stands at a call the VM knows: its
    /// last Java frame.
    pub fn decode_from(&self, fragment: &Fragment<'_>, start: Registers, frames: &mut Frames) {
        frames.clear();
        let memory = FragmentMemory::new(self.memory, fragment);
        frames.end = frames.walk(self.layout, &memory, start);
        self.cut_at_unknown_calls(frames);
    }

    /// From where the thread was interrupted to the first frame that stands at
    /// a call the VM knows, and from there on with the walker.
    fn off_the_record(
        &self,
        memory: &FragmentMemory<'_, M>,
        start: Captured,
        helper: &mut (impl Code + Native),
        frames: &mut Frames,
    ) -> FragmentEnd {
        let code = CodeCache::new(self.layout);
        let mut at = start;
        for step in 0..MAX_NATIVE_FRAMES {
            let interrupted = step == 0;
            let goes = match code.contains(at.pc) {
                true => self.in_code(memory, &at, interrupted, helper, frames),
                false => self.in_native(memory, &at, interrupted, helper, frames),
            };
            match goes {
                Goes::On(caller) => at = caller,
                Goes::Walk(caller) => return frames.walk(self.layout, memory, caller),
                Goes::End(end) => return end,
            }
        }
        FragmentEnd::NativeUnknown
    }

    fn in_native(
        &self,
        memory: &FragmentMemory<'_, M>,
        at: &Captured,
        interrupted: bool,
        helper: &mut impl Native,
        frames: &mut Frames,
    ) -> Goes {
        frames.native.push(at.pc);
        let mut caller = *at;
        match helper.caller(&mut caller, interrupted, &mut |address| memory.read_stack(address)) {
            NativeStep::Caller => Goes::On(caller),
            NativeStep::Root => Goes::End(FragmentEnd::NativeRoot),
            NativeStep::Lost => Goes::End(FragmentEnd::NativeUnknown),
        }
    }

    fn in_code(
        &self,
        memory: &FragmentMemory<'_, M>,
        at: &Captured,
        interrupted: bool,
        helper: &mut (impl Code + Native),
        frames: &mut Frames,
    ) -> Goes {
        let layout = self.layout;
        let Some((sp, fp)) = at.sp().zip(at.fp()) else { return Goes::End(FragmentEnd::Lost) };
        let here = Registers { pc: at.pc, sp, fp, leaf_call: false };
        let is_call_stub = at.pc == layout.frame.call_stub_return;
        if layout.frame.interpreter.holds(at.pc, 1) || is_call_stub {
            if !interrupted || is_call_stub {
                return Goes::Walk(here);
            }
            let found = interpreter::leaf(layout, memory, at, helper).ok_or(LeafKind::Interpreter);
            return frames.push_leaf(found);
        }
        if !interrupted && is_return_barrier(layout, at.pc) {
            return Goes::Walk(here);
        }
        let Some(blob) = CodeCache::new(layout).find(self.memory, at.pc) else {
            return Goes::End(FragmentEnd::CodeGone);
        };
        let search = leaf::Search { layout, memory, at, blob, interrupted };
        match blob.kind {
            BlobKind::Nmethod if is_native_wrapper(layout, memory, blob.address) => {
                frames.push_leaf(search.wrapper(helper).ok_or(LeafKind::NativeWrapper))
            }
            // A call that the VM knows, to a stub that has no frame of its own
            // on record.
            BlobKind::Nmethod if !interrupted && search.is_on_record() => Goes::Walk(here),
            BlobKind::Nmethod => frames.push_leaf(search.compiled(helper).ok_or(LeafKind::Compiled)),
            BlobKind::UpcallStub => Goes::Walk(here),
            BlobKind::Other => match search.stub(helper) {
                Some((record, caller)) => match frames.push(record) {
                    Some(()) => Goes::On(caller),
                    None => Goes::End(FragmentEnd::Full),
                },
                None => Goes::End(self.mounting(memory, at, &blob, frames).unwrap_or(STUB_UNKNOWN)),
            },
        }
    }

    /// The stubs that put a virtual thread's frames back on a stack leave room for
    /// them between their own callee and the entry of the continuation, which says
    /// where the carrier goes on. What is in the room is not frames yet.
    fn mounting(
        &self,
        memory: &FragmentMemory<'_, M>,
        at: &Captured,
        blob: &Blob,
        frames: &mut Frames,
    ) -> Option<FragmentEnd> {
        let layout = self.layout;
        let barrier = layout.continuation.as_ref()?.return_barrier;
        let stubs = CodeCache::new(layout).find(self.memory, barrier)?;
        if stubs.address != blob.address {
            return None;
        }
        let stack = at.sp()?.max(memory.copied().start)..memory.copied().end;
        let returns = |pc| is_return_address(layout, memory, pc);
        let mut entries = continuation::entries_in(layout, memory, stack, returns).peekable();
        entries.peek()?;
        frames.virtual_thread = entries.find_map(|entry| continuation::thread_at(layout, memory, entry));
        Some(FragmentEnd::VirtualThread)
    }

    /// Every compiled frame that called somebody must stand where the VM's
    /// tables know a call.
    fn cut_at_unknown_calls(&self, frames: &mut Frames) {
        let Frames { records, count, calls, .. } = frames;
        let unknown = records.iter().take(*count).position(|record| {
            record.kind == RecordKind::Compiled
                && record.interrupted == Interrupted::No
                && !record.deoptimized
                && !calls.holds(record, || is_known_call(self.layout, self.memory, record.code, record.pc))
        });
        if let Some(unknown) = unknown {
            frames.count = unknown;
            frames.end = FragmentEnd::CodeGone;
        }
    }
}

/// True where a frame of a virtual thread returns whose caller is still on the heap.
fn is_return_barrier(layout: &Layout, pc: u64) -> bool {
    layout.continuation.as_ref().is_some_and(|continuation| continuation.return_barrier == pc)
}

/// True if the VM's tables know a call in this compiled method that returns to `pc`.
pub(crate) fn is_known_call<M: Memory>(layout: &Layout, memory: &M, blob: u64, pc: u64) -> bool {
    if is_native_wrapper(layout, memory, blob) {
        return true;
    }
    let info = DebugInfo::of(layout, memory, blob);
    info.and_then(|info| info.pc_desc(pc)).is_some_and(|desc| desc.pc == pc)
}

fn is_native_wrapper<M: Memory>(layout: &Layout, memory: &M, blob: u64) -> bool {
    let method = memory.read_u64(blob + layout.nmethod.method);
    method.and_then(|method| crate::method::Method::at(layout, memory, method)).is_some_and(|m| m.is_native())
}

/// True if a frame may return to `pc`: the interpreter, the call stub, a stub,
/// or a call in a compiled method that the VM's tables know.
pub(crate) fn is_return_address<M: Memory>(layout: &Layout, memory: &M, pc: u64) -> bool {
    if layout.frame.interpreter.holds(pc, 1) || pc == layout.frame.call_stub_return {
        return true;
    }
    if is_return_barrier(layout, pc) {
        return true;
    }
    let Some(blob) = CodeCache::new(layout).find(memory, pc) else { return false };
    match blob.kind {
        BlobKind::Nmethod => {
            let mut record = FrameRecord::default();
            let at = Registers { pc, ..Registers::default() };
            is_known_call(layout, memory, blob.address, pc)
                || crate::walk::compiled_record(layout, memory, &at, blob.address, &mut record).is_none()
                || record.deoptimized
        }
        BlobKind::UpcallStub | BlobKind::Other => follows_call(memory, pc),
    }
}
