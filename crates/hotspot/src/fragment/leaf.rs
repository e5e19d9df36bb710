//! The blob of code that was interrupted, or that called native code: its frame
//! and its caller.

use super::shape::{Captured, Place, Reg, Run, Shape};
use super::{is_native_wrapper, is_return_address, Code, FragmentMemory, LeafKind};
use crate::code_cache::{Blob, BlobKind, CodeCache};
use crate::frame::{FrameRecord, Interrupted, RecordKind, Registers};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::walk::compiled_record;

/// Instructions of an epilogue, from the first that takes the frame down.
const EPILOGUE: usize = 12;
/// Instructions of a stub that are followed to its end.
const STUB: usize = 2_000;

type Found = Result<(Option<FrameRecord>, Registers), LeafKind>;

/// What a search for the caller works with.
struct Search<'a, 'f, M> {
    layout: &'a Layout,
    memory: &'a FragmentMemory<'f, M>,
    at: &'a Captured,
    blob: Blob,
}

/// The frame of the code that was interrupted, and its caller.
pub(super) fn leaf<M: Memory>(
    layout: &Layout,
    memory: &FragmentMemory<'_, M>,
    at: &Captured,
    blob: Blob,
    code: &mut impl Code,
) -> Found {
    let search = Search { layout, memory, at, blob };
    match blob.kind {
        BlobKind::Nmethod if is_native_wrapper(layout, memory, blob.address) => {
            search.wrapper(code).ok_or(LeafKind::NativeWrapper)
        }
        BlobKind::Nmethod => search.compiled(code).ok_or(LeafKind::Compiled),
        BlobKind::UpcallStub | BlobKind::Other => search.stub(code).ok_or(LeafKind::Stub),
    }
}

/// The frame of the code that called native code, and its caller.
pub(super) fn called<M: Memory>(
    layout: &Layout,
    memory: &FragmentMemory<'_, M>,
    at: &Captured,
    blob: Blob,
    code: &mut impl Code,
) -> Found {
    let search = Search { layout, memory, at, blob };
    match blob.kind {
        BlobKind::Nmethod if is_native_wrapper(layout, memory, blob.address) => {
            search.wrapper_body().ok_or(LeafKind::NativeWrapper)
        }
        BlobKind::Nmethod => search.caller_of_native(code).ok_or(LeafKind::Compiled),
        BlobKind::UpcallStub | BlobKind::Other => search.stub_body(code).ok_or(LeafKind::Stub),
    }
}

impl<M: Memory> Search<'_, '_, M> {
    /// The caller that a shape leads to, if it returns to where one may.
    fn caller(&self, shape: Shape) -> Option<Registers> {
        let pc = shape.pc.value(self.at, self.memory)?;
        let sp = shape.sp.value(self.at, self.memory)?;
        let fp = shape.fp.value(self.at, self.memory)?;
        let sound = sp > self.at.sp()? && is_return_address(self.layout, self.memory, pc);
        sound.then_some(Registers { pc, sp, fp, leaf_call: false })
    }

    /// The shape of a frame of fixed size that is complete.
    fn whole_frame(&self) -> Option<Shape> {
        let size = CodeCache::new(self.layout).frame_size(self.memory, self.blob.address)?;
        let size = i64::try_from(size).ok().filter(|size| *size >= 16)?;
        Some(Shape {
            pc: Place::Memory(Reg::SP, size - 8),
            sp: Place::Register(Reg::SP, size),
            fp: Place::Memory(Reg::SP, size - 16),
        })
    }

    fn record(&self, interrupted: Interrupted) -> Option<FrameRecord> {
        let registers = Registers { pc: self.at.pc, sp: self.at.sp()?, fp: self.at.fp()?, leaf_call: false };
        let mut record = FrameRecord::default();
        compiled_record(self.layout, self.memory, &registers, self.blob.address, &mut record)?;
        // The frame of an interrupted method is its own, deoptimized or not.
        record.pc = self.at.pc;
        record.deoptimized = false;
        record.interrupted = interrupted;
        Some(record)
    }

    fn compiled(&self, code: &mut impl Code) -> Option<(Option<FrameRecord>, Registers)> {
        let range = CodeCache::new(self.layout).code_range(self.memory, self.blob.address)?;
        let complete = CodeCache::new(self.layout).frame_complete(self.memory, self.blob.address);
        if complete.is_none_or(|complete| self.at.pc < range.start + complete) {
            let caller = self.caller(code.built(range, self.at.pc)?)?;
            return Some((self.record(Interrupted::Edge), caller));
        }
        if let Run::Return { caller, straight: true, .. } = code.run(range, self.at.pc, EPILOGUE) {
            if let Some(caller) = self.caller(caller) {
                return Some((self.record(Interrupted::Edge), caller));
            }
        }
        let whole = self.whole_frame().and_then(|shape| self.caller(shape));
        if let Some(caller) = whole {
            return Some((self.record(Interrupted::Body), caller));
        }
        self.run_out(code).map(|caller| (self.record(Interrupted::Body), caller))
    }

    /// Follows the code to its end, wherever in it the thread stood.
    fn run_out(&self, code: &mut impl Code) -> Option<Registers> {
        let range = CodeCache::new(self.layout).code_range(self.memory, self.blob.address)?;
        match code.run(range, self.at.pc, STUB) {
            Run::Return { caller, .. } | Run::Jump { caller } | Run::Enter { caller } => self.caller(caller),
            Run::Dispatch | Run::Unknown => None,
        }
    }

    /// The wrapper of a native method: its frame hangs on rbp as well.
    fn wrapper(&self, code: &mut impl Code) -> Option<(Option<FrameRecord>, Registers)> {
        let range = CodeCache::new(self.layout).code_range(self.memory, self.blob.address)?;
        let complete = CodeCache::new(self.layout).frame_complete(self.memory, self.blob.address);
        if complete.is_none_or(|complete| self.at.pc < range.start + complete) {
            let built = code.built(range, self.at.pc).and_then(|shape| self.caller(shape));
            if let Some(caller) = built.or_else(|| self.run_out(code)) {
                return Some((self.record(Interrupted::Edge), caller));
            }
        }
        if let Run::Return { caller, straight: true, .. } = code.run(range, self.at.pc, EPILOGUE) {
            if let Some(caller) = self.caller(caller) {
                return Some((self.record(Interrupted::Edge), caller));
            }
        }
        self.wrapper_body().or_else(|| self.run_out(code).map(|caller| (self.record(Interrupted::Edge), caller)))
    }

    fn wrapper_body(&self) -> Option<(Option<FrameRecord>, Registers)> {
        let on_rbp =
            Shape { pc: Place::Memory(Reg::BP, 8), sp: Place::Register(Reg::BP, 16), fp: Place::Memory(Reg::BP, 0) };
        let caller = self.whole_frame().and_then(|shape| self.caller(shape)).or_else(|| self.caller(on_rbp))?;
        Some((self.record(Interrupted::No), caller))
    }

    /// A compiled method that called native code in line.
    fn caller_of_native(&self, code: &mut impl Code) -> Option<(Option<FrameRecord>, Registers)> {
        let mut record = self.record(Interrupted::No)?;
        let registers = Registers { pc: self.at.pc, sp: self.at.sp()?, fp: self.at.fp()?, leaf_call: false };
        compiled_record(self.layout, self.memory, &registers, self.blob.address, &mut record)?;
        let whole = self.whole_frame().and_then(|shape| self.caller(shape));
        let caller = whole.or_else(|| self.run_out(code))?;
        Some((Some(record), caller))
    }

    fn stub_record(&self) -> Option<FrameRecord> {
        Some(FrameRecord {
            pc: self.at.pc,
            sp: self.at.sp()?,
            fp: self.at.fp()?,
            code: self.blob.address,
            kind: RecordKind::Stub,
            ..FrameRecord::default()
        })
    }

    fn stub(&self, code: &mut impl Code) -> Option<(Option<FrameRecord>, Registers)> {
        let caller = self.run_out(code);
        let caller = caller.or_else(|| self.whole_frame().and_then(|shape| self.caller(shape)))?;
        Some((self.stub_record(), caller))
    }

    /// A stub that called native code: its frame is complete.
    fn stub_body(&self, code: &mut impl Code) -> Option<(Option<FrameRecord>, Registers)> {
        let whole = self.whole_frame().and_then(|shape| self.caller(shape));
        let caller = whole.or_else(|| self.run_out(code))?;
        Some((self.stub_record(), caller))
    }
}
