//! The code a detour runs through: entry thunk and callable original.

use super::super::{ContextArguments, Prologue, Refusal, Trampoline};
use super::prologue::decode;
use super::{jump, JUMP_BYTES};
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// Where the callable original begins: code after the thunk, aligned.
const ORIGINAL_OFFSET: usize = 32;
/// What the distance of a rip-relative operand takes.
const DISTANCE_BYTES: usize = 4;

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

/// The overwritten instructions, for another place: the same bytes, except that the distance of a
/// rip-relative operand leads from there to the same address.
fn moved(prologue: &Prologue, to: usize) -> Result<Vec<u8>, Refusal> {
    let from = decode(prologue.address, &prologue.bytes);
    let mut bytes = prologue.bytes.clone();
    let mut decoder = Decoder::with_ip(64, &prologue.bytes, prologue.address as u64, DecoderOptions::NONE);
    while decoder.can_decode() {
        let start = decoder.position();
        let instruction = decoder.decode();
        if !instruction.is_ip_rel_memory_operand() {
            continue;
        }
        let target = instruction.ip_rel_memory_address();
        let distance = target.wrapping_sub((to + decoder.position()) as u64) as i64;
        let place = start + decoder.get_constant_offsets(&instruction).displacement_offset();
        match (bytes.get_mut(place..place + DISTANCE_BYTES), i32::try_from(distance)) {
            (Some(word), Ok(distance)) => word.copy_from_slice(&distance.to_le_bytes()),
            _ => return Err(Refusal::Shape(format!("cannot be moved to {to:#x}: {target:#x} is out of its reach"))),
        }
    }
    let again = decode(to, &bytes);
    if same_meaning(&from, &again) {
        Ok(bytes)
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
