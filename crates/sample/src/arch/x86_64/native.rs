//! The registers by which native code is unwound.

use framehop::x86_64::UnwindRegsX86_64;
use headway_hotspot::fragment::{Captured, Reg};

/// The unwind tables of libraries.
pub(crate) type Tables<D> = framehop::x86_64::UnwinderX86_64<D>;
/// Rules that were looked up.
pub(crate) type Cache = framehop::x86_64::CacheX86_64;

/// Registers by which a function may find its frame besides rsp and rbp.
const CALLEE_SAVED: [(Reg, framehop::x86_64::Reg); 6] = [
    (Reg(0), framehop::x86_64::Reg::RAX),
    (Reg(3), framehop::x86_64::Reg::RBX),
    (Reg(10), framehop::x86_64::Reg::R10),
    (Reg(12), framehop::x86_64::Reg::R12),
    (Reg(13), framehop::x86_64::Reg::R13),
    (Reg(14), framehop::x86_64::Reg::R14),
];

/// The registers of one frame.
pub(crate) struct Unwinding(pub(crate) UnwindRegsX86_64);

impl Unwinding {
    /// Those of an interrupted frame, if stack and frame pointer are known.
    pub fn of(at: &Captured) -> Option<Unwinding> {
        let mut registers = UnwindRegsX86_64::new(at.pc, at.sp()?, at.fp()?);
        for (number, theirs) in CALLEE_SAVED {
            if let Some(value) = at.get(number) {
                registers.set(theirs, value);
            }
        }
        Some(Unwinding(registers))
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.0.sp()
    }

    /// What is known of a caller at `pc`.
    pub fn captured(&self, pc: u64) -> Captured {
        let mut caller = Captured::default();
        caller.pc = pc;
        caller.set(Reg::SP, self.0.sp());
        caller.set(Reg::BP, self.0.bp());
        caller
    }
}
