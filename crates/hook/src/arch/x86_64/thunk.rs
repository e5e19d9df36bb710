//! The code a detour runs through: entry thunk and callable original.

use super::super::{ContextArguments, Prologue, Refusal, Trampoline};
use super::prologue::decode;
use super::{jump, JUMP_BYTES};
use iced_x86::{BlockEncoder, BlockEncoderOptions, Instruction, InstructionBlock};

/// Where the callable original begins: code after the thunk, aligned.
const ORIGINAL_OFFSET: usize = 32;

/// Makes the code to be put at `at`. The hook's address is read from the
/// eight bytes at `hook_slot` at each call, so that it can be replaced.
///
/// # Errors
/// If the moved instructions cannot reach what they refer to from `at`, or do
/// not mean the same there.
pub fn trampoline(
    prologue: &Prologue,
    at: usize,
    hook_slot: usize,
    context: ContextArguments,
) -> Result<Trampoline, Refusal> {
    let mut code = entry_thunk(at, hook_slot, context)?;
    code.resize(ORIGINAL_OFFSET, super::TRAP);
    code.extend(moved(prologue, at + ORIGINAL_OFFSET)?);
    let back = prologue.address + prologue.bytes.len();
    code.extend(jump(at + code.len(), back)?);
    Ok(Trampoline { code, thunk_offset: 0, original_offset: ORIGINAL_OFFSET })
}

/// Two moves and a jump through memory: every register but the two extra
/// arguments is passed through, and the stack is as the caller left it.
fn entry_thunk(at: usize, hook_slot: usize, context: ContextArguments) -> Result<Vec<u8>, Refusal> {
    let mut code: Vec<u8> = match context {
        // mov rcx, rbp; mov r8, rsp
        ContextArguments::FourthAndFifth => vec![0x48, 0x89, 0xe9, 0x49, 0x89, 0xe0],
        // mov r8, rbp; mov r9, rsp
        ContextArguments::FifthAndSixth => vec![0x49, 0x89, 0xe8, 0x49, 0x89, 0xe1],
    };
    // jmp [rip+distance]; its distance counts from its end, as a jmp rel32's
    // does, but it is one byte longer.
    code.extend([0xff, 0x25]);
    let end = at + code.len() + 4;
    let distance = jump(end - JUMP_BYTES, hook_slot)?;
    code.extend(&distance[1..]);
    Ok(code)
}

/// The overwritten instructions, encoded for another place.
fn moved(prologue: &Prologue, to: usize) -> Result<Vec<u8>, Refusal> {
    let from = decode(prologue.address, &prologue.bytes);
    let block = InstructionBlock::new(&from, to as u64);
    let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::DONT_FIX_BRANCHES)
        .map_err(|error| Refusal::Shape(format!("cannot be moved to {to:#x}: {error}")))?;
    let again = decode(to, &encoded.code_buffer);
    if same_meaning(&from, &again) {
        Ok(encoded.code_buffer)
    } else {
        Err(Refusal::Shape(format!("moved to {to:#x} it would not do the same")))
    }
}

/// Instruction equality compares operation and operands; the displacement of
/// a rip-relative operand is its absolute target there, so a wrongly moved one
/// differs.
fn same_meaning(from: &[Instruction], moved: &[Instruction]) -> bool {
    from == moved
}
