//! x86-64: registers, calls and jumps.

pub(crate) mod flow;
pub(crate) mod interpreter;
pub(crate) mod leaf;

use crate::fragment::Reg;
use crate::memory::Memory;

/// True where the code that is read also runs here.
pub(crate) const IS_THIS: bool = cfg!(target_arch = "x86_64");

/// The number of rbp in the VM's maps of references, which count halves of registers.
pub(crate) const FRAME_POINTER_IN_OOP_MAPS: u32 = 10;

/// Numbers in instructions: rax 0, rcx, rdx, rbx, rsp 4, rbp 5, rsi, rdi, r8 ... r15.
impl Reg {
    /// rax
    pub const AX: Reg = Reg(0);
    /// rdx: where an exception was thrown, on the way to its handler.
    pub const DX: Reg = Reg(2);
    /// rbx: the interpreter's `Method*` at a method's entry.
    pub const BX: Reg = Reg(3);
    /// rsp
    pub const SP: Reg = Reg(4);
    /// rbp
    pub const BP: Reg = Reg(5);
    /// r13: the interpreter's bytecode pointer; at a method's entry the
    /// caller's stack pointer.
    pub const R13: Reg = Reg(13);
}

/// Bytes of an instruction that loads 64 bits.
const MOVE_LENGTH: u64 = 10;

/// True if the instruction before `pc` can be a call.
pub(crate) fn follows_call<M: Memory>(memory: &M, pc: u64) -> bool {
    let byte = |back: u64| pc.checked_sub(back).and_then(|at| memory.read_code_u8(at));
    // ff /2 with a register, a memory operand without, with 8 and with 32 bits
    // of displacement; each perhaps with an index.
    let indirect = |back: u64| byte(back) == Some(0xff) && byte(back - 1).is_some_and(|m| m & 0x38 == 0x10);
    byte(5) == Some(0xe8) || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

/// True if `pc` is in the stub through which a compiled method calls one that is
/// not compiled: `mov rbx, Method*; jmp`, whose operands the VM fills in.
pub(crate) fn is_call_stub<M: Memory>(memory: &M, pc: u64) -> bool {
    let byte = |at: u64| memory.read_code_u8(at);
    let begins = |at: u64| (byte(at), byte(at + 1)) == (Some(0x48), Some(0xbb));
    let jumps = |at: u64| byte(at) == Some(0xe9);
    (begins(pc) && jumps(pc + MOVE_LENGTH)) || (jumps(pc) && pc.checked_sub(MOVE_LENGTH).is_some_and(begins))
}

/// Where an unconditional jump at `pc` leads.
pub(crate) fn jump_target<M: Memory>(memory: &M, pc: u64) -> Option<u64> {
    match memory.read_u8(pc)? {
        0xe9 => {
            let distance = memory.read_i32(pc + 1)?;
            (pc + 5).checked_add_signed(i64::from(distance))
        }
        0xeb => {
            let distance = memory.read_u8(pc + 1)? as i8;
            (pc + 2).checked_add_signed(i64::from(distance))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fragments;

    #[test]
    fn jumps_are_followed_both_ways() {
        let mut memory = Fragments::new();
        memory.add(0x1000, vec![0xe9, 0xfb, 0xff, 0xff, 0xff]);
        memory.add(0x2000, vec![0xeb, 0x10]);
        memory.add(0x3000, vec![0xeb, 0xf0]);
        memory.add(0x4000, vec![0x90, 0, 0, 0, 0]);
        assert_eq!(jump_target(&memory, 0x1000), Some(0x1000));
        assert_eq!(jump_target(&memory, 0x2000), Some(0x2012));
        assert_eq!(jump_target(&memory, 0x3000), Some(0x2ff2));
        assert_eq!(jump_target(&memory, 0x4000), None);
    }
}
