//! x86-64.

mod prologue;
mod registers;
mod thunk;

pub use prologue::plan;
pub use registers::{registers_name, Registers};
pub use thunk::trampoline;

use super::Refusal;

/// `jmp rel32`.
pub const JUMP_BYTES: usize = 5;
/// `int3`.
pub const TRAP: u8 = 0xcc;
/// The one-byte `nop` of a USDT probe.
pub const NOP: u8 = 0x90;

/// The bytes of a jump at `from` to `to`.
///
/// # Errors
/// If they are more than 2 GB apart.
pub fn jump(from: usize, to: usize) -> Result<[u8; JUMP_BYTES], Refusal> {
    let distance = (to as i64).wrapping_sub((from + JUMP_BYTES) as i64);
    let distance = i32::try_from(distance)
        .map_err(|_| Refusal::Shape(format!("{to:#x} is more than 2 GB away from {from:#x}")))?;
    let d = distance.to_le_bytes();
    Ok([0xe9, d[0], d[1], d[2], d[3]])
}
