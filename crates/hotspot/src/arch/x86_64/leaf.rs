//! A blob of code that was interrupted, or that called somebody off the record:
//! its frame and its caller.

use super::{follows_call, is_call_stub};
use crate::code_cache::{Blob, BlobKind, CodeCache};
use crate::fragment::{
    is_known_call, is_return_address, Captured, Code, FragmentMemory, Location, Native, Reg, Run, Shape,
};
use crate::frame::{FrameRecord, Interrupted, RecordKind, Registers};
use crate::layout::Layout;
use crate::live::AddressRange;
use crate::memory::Memory;
use crate::walk::compiled_record;

/// Instructions of an epilogue, from the first that takes the frame down.
const EPILOGUE: usize = 12;
/// Instructions that are followed to a function's end.
const TO_THE_END: usize = 2_000;

/// Bytes that a stub takes at most to save registers, those of vectors included.
const SAVED_REGISTERS: u64 = 1024;

/// A frame, if it is to be shown, and its caller.
type Found = Option<(Option<FrameRecord>, Registers)>;

/// What a search for the caller works with.
pub(crate) struct Search<'a, 'f, M> {
    pub layout: &'a Layout,
    pub memory: &'a FragmentMemory<'f, M>,
    pub at: &'a Captured,
    pub blob: Blob,
    /// False if the pc is a return address.
    pub interrupted: bool,
}

impl<M: Memory> Search<'_, '_, M> {
    fn code(&self) -> CodeCache<'_> {
        CodeCache::new(self.layout)
    }

    fn range(&self) -> Option<AddressRange> {
        self.code().code_range(self.memory, self.blob.address)
    }

    /// True if the VM's tables know the call that the pc is the return address of.
    pub fn is_on_record(&self) -> bool {
        is_known_call(self.layout, self.memory, self.blob.address, self.at.pc) || self.is_deoptimized()
    }

    fn is_deoptimized(&self) -> bool {
        let registers = Registers { pc: self.at.pc, sp: self.at.sp().unwrap_or(0), ..Registers::default() };
        let mut record = FrameRecord::default();
        compiled_record(self.layout, self.memory, &registers, self.blob.address, &mut record).is_some()
            && record.deoptimized
    }

    /// Where a shape leads.
    fn registers(&self, shape: Shape) -> Option<Registers> {
        let pc = shape.pc.value(self.at, self.memory)?;
        let sp = shape.sp.value(self.at, self.memory)?;
        let fp = shape.fp.value(self.at, self.memory)?;
        (sp >= self.at.sp()?).then_some(Registers { pc, sp, fp, leaf_call: false })
    }

    /// The caller of a method, which the VM's tables must know.
    fn caller(&self, shape: Shape) -> Option<Registers> {
        self.registers(shape).filter(|caller| is_return_address(self.layout, self.memory, caller.pc))
    }

    /// The caller of a stub: also native code, and calls off the record.
    fn stub_caller(&self, native: &mut impl Native, shape: Shape) -> Option<Captured> {
        let caller = self.registers(shape)?;
        let known = (!self.code().contains(caller.pc) && native.knows(caller.pc))
            || is_return_address(self.layout, self.memory, caller.pc)
            || (self.code().find(self.memory, caller.pc).is_some_and(|blob| blob.kind == BlobKind::Nmethod)
                && follows_call(self.memory, caller.pc));
        known.then(|| {
            let mut at = Captured::default();
            at.pc = caller.pc;
            at.set(Reg::SP, caller.sp);
            at.set(Reg::BP, caller.fp);
            at
        })
    }

    /// The shape of a frame of fixed size that is complete.
    fn whole_frame(&self) -> Option<Shape> {
        let size = self.code().frame_size(self.memory, self.blob.address)?;
        let size = i64::try_from(size).ok().filter(|size| *size >= 16)?;
        Some(Shape {
            pc: Location::Memory(Reg::SP, size - 8),
            sp: Location::Register(Reg::SP, size),
            fp: Location::Memory(Reg::SP, size - 16),
        })
    }

    /// The same where the stack was aligned for the call, and moved by a word.
    fn aligned_frame(&self) -> Option<Shape> {
        let size = self.code().frame_size(self.memory, self.blob.address)?;
        let size = i64::try_from(size).ok().filter(|size| *size >= 16)?;
        Some(Shape {
            pc: Location::Memory(Reg::SP, size),
            sp: Location::Register(Reg::SP, size + 8),
            fp: Location::Memory(Reg::SP, size - 8),
        })
    }

    /// The frame of the barrier that methods call at their entry: it hangs on
    /// rbp, and a word of all ones lies below the return address, where the VM
    /// may leave another stack pointer. The code that takes the frame down reads
    /// rbp from the stack, which leads nowhere from the registers alone.
    fn barrier_frame(&self) -> Option<Shape> {
        let mark = Location::Memory(Reg::BP, 8).value(self.at, self.memory)?;
        let shape = Shape {
            pc: Location::Memory(Reg::BP, 16),
            sp: Location::Register(Reg::BP, 24),
            fp: Location::Memory(Reg::BP, 0),
        };
        (mark == u64::MAX).then_some(shape)
    }

    /// The frame of a stub that hangs on rbp, where nothing between the stack
    /// pointer and rbp can be a return address: then it is no frame of somebody
    /// who called a stub without a frame. Stubs that save all registers read rbp
    /// from the stack, see [`Self::barrier_frame`].
    fn framed(&self) -> Option<Shape> {
        let (sp, fp) = (self.at.sp()?, self.at.fp()?);
        if fp < sp || fp - sp > SAVED_REGISTERS || fp % 8 != 0 {
            return None;
        }
        let is_return = |word: u64| is_return_address(self.layout, self.memory, word);
        let nobody_between =
            (sp..fp).step_by(8).all(|at| self.memory.read_u64(at).is_some_and(|word| !is_return(word)));
        let shape = Shape {
            pc: Location::Memory(Reg::BP, 8),
            sp: Location::Register(Reg::BP, 16),
            fp: Location::Memory(Reg::BP, 0),
        };
        nobody_between.then_some(shape)
    }

    fn record(&self, interrupted: Interrupted) -> Option<FrameRecord> {
        let registers = Registers { pc: self.at.pc, sp: self.at.sp()?, fp: self.at.fp()?, leaf_call: false };
        let mut record = FrameRecord::default();
        compiled_record(self.layout, self.memory, &registers, self.blob.address, &mut record)?;
        // The frame of an interrupted method is its own, deoptimized or not; at
        // a call off the record the instruction before the pc is what counts.
        record.pc = self.at.pc - u64::from(!self.interrupted && interrupted != Interrupted::No);
        record.deoptimized = false;
        record.interrupted = interrupted;
        Some(record)
    }

    /// True where the method's frame is not there yet.
    fn is_entry(&self, range: AddressRange) -> bool {
        let complete = self.code().frame_complete(self.memory, self.blob.address);
        complete.is_none_or(|complete| self.at.pc < range.start + complete)
    }

    /// A compiled method.
    pub fn compiled(&self, code: &mut impl Code) -> Found {
        let range = self.range()?;
        if self.is_entry(range) {
            let caller = self.caller(code.built(range, self.at.pc)?)?;
            return Some((self.record(Interrupted::Edge), caller));
        }
        if let Some(caller) = self.call_stub(range) {
            return Some((None, caller));
        }
        if let Some(caller) = self.epilogue(range, code) {
            return Some((self.record(Interrupted::Edge), caller));
        }
        let whole = self.whole_frame().and_then(|shape| self.caller(shape));
        let caller = whole.or_else(|| self.run_out(code).and_then(|shape| self.caller(shape)))?;
        Some((self.record(Interrupted::Body), caller))
    }

    /// The method itself as the caller of one that is not compiled, on the way
    /// there: the stub is part of the method's code and has no frame.
    fn call_stub(&self, range: AddressRange) -> Option<Registers> {
        if !self.interrupted || !is_call_stub(self.memory, self.at.pc) {
            return None;
        }
        let on_top = Shape {
            pc: Location::Memory(Reg::SP, 0),
            sp: Location::Register(Reg::SP, 8),
            fp: Location::Register(Reg::BP, 0),
        };
        self.caller(on_top).filter(|caller| range.holds(caller.pc, 1))
    }

    fn epilogue(&self, range: AddressRange, code: &mut impl Code) -> Option<Registers> {
        let run = self.interrupted.then(|| code.run(range, self.at.pc, EPILOGUE))?;
        taken_down(run).and_then(|shape| self.caller(shape))
    }

    /// The caller of a wrapper that goes on to the handler of an exception, with its frame taken down. Methods also jump
    /// away while their frame is there.
    fn thrown(&self, range: AddressRange, code: &mut impl Code) -> Option<Registers> {
        match code.run(range, self.at.pc, EPILOGUE) {
            Run::Jump { caller, .. } if caller.pc == ON_TOP => self.caller(caller),
            _ => None,
        }
    }

    /// Follows the code to its end, wherever in it the thread stood.
    fn run_out(&self, code: &mut impl Code) -> Option<Shape> {
        self.ends(code)[0]
    }

    /// The same, with what the code leaves open.
    fn ends(&self, code: &mut impl Code) -> [Option<Shape>; 2] {
        let Some(range) = self.range() else { return [None; 2] };
        match code.run(range, self.at.pc, TO_THE_END) {
            Run::Return { caller, .. } | Run::Enter { caller } => [Some(caller), None],
            Run::Jump { caller, or } => [Some(caller), or],
            Run::Dispatch | Run::Unknown => [None; 2],
        }
    }

    /// The wrapper of a native method: its frame hangs on rbp as well.
    pub fn wrapper(&self, code: &mut impl Code) -> Found {
        let range = self.range()?;
        // Where the frame is not there yet, its place has the caller's words, the caller's return address perhaps.
        if self.interrupted && self.is_entry(range) {
            let caller = self.caller(code.built(range, self.at.pc)?)?;
            return Some((self.record(Interrupted::Edge), caller));
        }
        if self.interrupted {
            if let Some(caller) = self.epilogue(range, code).or_else(|| self.thrown(range, code)) {
                return Some((self.record(Interrupted::Edge), caller));
            }
        }
        let on_rbp = Shape {
            pc: Location::Memory(Reg::BP, 8),
            sp: Location::Register(Reg::BP, 16),
            fp: Location::Memory(Reg::BP, 0),
        };
        let whole = self.whole_frame().and_then(|shape| self.caller(shape));
        let caller = whole
            .or_else(|| self.caller(on_rbp))
            .or_else(|| self.run_out(code).and_then(|shape| self.caller(shape)))?;
        Some((self.record(Interrupted::No), caller))
    }

    /// A stub. One that called somebody has its whole frame; one that was
    /// interrupted may be building it.
    pub fn stub(&self, helper: &mut (impl Code + Native)) -> Option<(FrameRecord, Captured)> {
        let ([run, or], built) = (self.ends(helper), self.built_on_record(helper));
        let shapes = match self.interrupted {
            true => [run, or, built, self.whole_frame(), self.barrier_frame(), self.framed()],
            false => [self.whole_frame(), run, or, self.aligned_frame(), self.barrier_frame(), self.framed()],
        };
        let caller = shapes.into_iter().flatten().find_map(|shape| self.stub_caller(helper, shape));
        let record = FrameRecord {
            pc: self.at.pc,
            sp: self.at.sp()?,
            fp: self.at.fp()?,
            code: self.blob.address,
            kind: RecordKind::Stub,
            ..FrameRecord::default()
        };
        Some((record, caller?))
    }

    /// A stub of one function, from its entry on.
    fn built_on_record(&self, code: &mut impl Code) -> Option<Shape> {
        let size = self.code().frame_size(self.memory, self.blob.address)?;
        let range = self.range().filter(|_| size > 0 && self.interrupted)?;
        code.built(range, self.at.pc)
    }
}

/// The top of the stack.
const ON_TOP: Location = Location::Memory(Reg::SP, 0);

/// The shape of a frame that is being taken down, by where its code runs on to: straight to the
/// return, or to it with the return address on top of the stack already. The code still decides
/// something there where a wrapper looks for an exception between `leave` and `ret`. For a frame
/// that is gone, [`Search::whole_frame`] would find the caller's caller.
fn taken_down(run: Run) -> Option<Shape> {
    match run {
        Run::Return { caller, straight, .. } if straight || caller.pc == ON_TOP => Some(caller),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(at: i64) -> Shape {
        Shape {
            pc: Location::Memory(Reg::SP, at),
            sp: Location::Register(Reg::SP, at + 8),
            fp: Location::Register(Reg::BP, 0),
        }
    }

    #[test]
    fn a_frame_is_taken_down_where_its_return_address_is_on_top_whatever_the_code_still_decides() {
        let (gone, there) = (shape(0), shape(40));
        let returns = |caller, straight| Run::Return { caller, steps: 3, straight };
        assert_eq!(taken_down(returns(gone, true)), Some(gone));
        assert_eq!(taken_down(returns(gone, false)), Some(gone));
        // Also code whose frame is there may jump away from it.
        assert_eq!(taken_down(Run::Jump { caller: gone, or: None }), None);
        assert_eq!(taken_down(returns(there, true)), Some(there));
        assert_eq!(taken_down(returns(there, false)), None);
        assert_eq!(taken_down(Run::Jump { caller: there, or: None }), None);
        assert_eq!(taken_down(Run::Unknown), None);
    }
}
