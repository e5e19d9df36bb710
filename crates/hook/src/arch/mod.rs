//! The CPU: [`x86_64`] where it is one, otherwise answers that say so.
//!
//! A CPU offers: a trap instruction that fits into the smallest instruction,
//! the planning of a function's relocated beginning ([`plan`]), trampolines
//! ([`trampoline`]), jumps ([`jump`]), and registers of a trapped thread.

#[cfg(target_arch = "x86_64")]
pub mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{jump, plan, registers_name, trampoline, Registers, JUMP_BYTES, NOP, TRAP};

#[cfg(not(target_arch = "x86_64"))]
pub mod unsupported;
#[cfg(not(target_arch = "x86_64"))]
pub use unsupported::{jump, plan, registers_name, trampoline, Registers, JUMP_BYTES, NOP, TRAP};

use crate::error::HookError;

/// The beginning of a function, understood well enough to be moved.
#[derive(Clone, Debug)]
pub struct Prologue {
    /// Where the function begins.
    pub address: usize,
    /// The whole instructions that a jump overwrites, at least
    /// [`JUMP_BYTES`] bytes.
    pub bytes: Vec<u8>,
    /// How many instructions these are.
    pub instructions: usize,
}

impl Prologue {
    /// The bytes that a jump overwrites.
    pub fn overwritten(&self) -> &[u8] {
        &self.bytes[..JUMP_BYTES]
    }
}

/// In which integer arguments a hook receives the caller's frame pointer and
/// the stack pointer at entry: behind those of the function itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextArguments {
    /// Fourth and fifth; for functions with up to three integer arguments.
    FourthAndFifth,
    /// Fifth and sixth; for functions with four.
    FifthAndSixth,
}

/// Code that a detour runs through, ready to be put at the address it was
/// made for.
#[derive(Clone, Debug)]
pub struct Trampoline {
    /// The code.
    pub code: Vec<u8>,
    /// Offset of what the function's entry jumps to: sets the hook's extra
    /// arguments and jumps to the address in the hook slot.
    pub thunk_offset: usize,
    /// Offset of the callable original: the moved instructions and a jump to
    /// the rest of the function.
    pub original_offset: usize,
}

/// Why a prologue was refused, before the symbol's name is known.
#[derive(Debug)]
pub enum Refusal {
    /// Not on this CPU.
    Unsupported(&'static str),
    /// The shape of the code forbids it.
    Shape(String),
}

impl Refusal {
    /// The error for a function of this name with these first bytes.
    pub fn of(self, symbol: &str, first_bytes: &[u8]) -> HookError {
        match self {
            Refusal::Unsupported(cpu) => HookError::UnsupportedCpu(cpu),
            Refusal::Shape(reason) => HookError::UnfitPrologue {
                symbol: symbol.to_owned(),
                bytes: first_bytes[..first_bytes.len().min(16)].into(),
                reason,
            },
        }
    }
}
