//! A CPU for which nobody has written the code yet: everything compiles,
//! every attempt is refused with a clear error.

use super::{ContextArguments, Prologue, Refusal, Trampoline};

const CPU: &str = std::env::consts::ARCH;

/// Bytes of a jump; no code is ever written here.
pub const JUMP_BYTES: usize = 4;
/// The trap instruction's first byte; never written here.
pub const TRAP: u8 = 0;
/// The one-byte no-operation of a probe; no such thing here.
pub const NOP: u8 = 0;

/// Refused.
///
/// # Errors
/// Always.
pub fn plan(_address: usize, _function: &[u8]) -> Result<Prologue, Refusal> {
    Err(Refusal::Unsupported(CPU))
}

/// Refused.
///
/// # Errors
/// Always.
pub fn trampoline(
    _prologue: &Prologue,
    _at: usize,
    _hook_slot: usize,
    _context: ContextArguments,
) -> Result<Trampoline, Refusal> {
    Err(Refusal::Unsupported(CPU))
}

/// Refused.
///
/// # Errors
/// Always.
pub fn jump(_from: usize, _to: usize) -> Result<[u8; JUMP_BYTES], Refusal> {
    Err(Refusal::Unsupported(CPU))
}

/// Knows no register.
pub fn registers_name(_name: &str) -> Option<(usize, u32, u32)> {
    None
}

/// Registers of a trapped thread; never made here.
#[derive(Debug)]
pub struct Registers(std::convert::Infallible);

impl Registers {
    /// Never possible.
    ///
    /// # Safety
    /// None needed.
    pub unsafe fn of_context(_context: *mut libc::c_void) -> Option<Registers> {
        None
    }

    /// Never called.
    pub fn trap_address(&self) -> usize {
        match self.0 {}
    }

    /// Never called.
    pub fn resume_at(&mut self, _address: usize) {
        match self.0 {}
    }

    /// Never called.
    pub fn get(&self, _index: usize) -> u64 {
        match self.0 {}
    }

    /// Never called.
    pub fn frame_pointer(&self) -> u64 {
        match self.0 {}
    }

    /// Never called.
    pub fn stack_pointer(&self) -> u64 {
        match self.0 {}
    }
}
