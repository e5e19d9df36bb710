//! Which instructions a jump at a function's entry overwrites, and whether
//! they may be moved.

use super::super::{Prologue, Refusal};
use super::JUMP_BYTES;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

/// Understands the beginning of the function at `address` whose code is
/// `function`.
///
/// # Errors
/// If an instruction to be overwritten cannot be decoded or may go anywhere
/// but to the next one, if the function is shorter than a jump, or if a branch
/// elsewhere in the function leads between the overwritten bytes.
pub fn plan(address: usize, function: &[u8]) -> Result<Prologue, Refusal> {
    let instructions = overwritten(address, function)?;
    let length: usize = instructions.iter().map(Instruction::len).sum();
    let inside = address as u64 + 1..(address + JUMP_BYTES) as u64;
    if let Some(branch) =
        decode(address, function).into_iter().find(|i| near_target(i).is_some_and(|target| inside.contains(&target)))
    {
        return Err(Refusal::Shape(format!(
            "the branch at +{:#x} leads into the bytes to be overwritten",
            branch.ip() - address as u64
        )));
    }
    Ok(Prologue { address, bytes: function[..length].to_vec(), instructions: instructions.len() })
}

/// All instructions of a piece of code, from its start.
pub(super) fn decode(address: usize, code: &[u8]) -> Vec<Instruction> {
    Decoder::with_ip(64, code, address as u64, DecoderOptions::NONE).into_iter().collect()
}

fn overwritten(address: usize, function: &[u8]) -> Result<Vec<Instruction>, Refusal> {
    let mut decoder = Decoder::with_ip(64, function, address as u64, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    let mut length = 0;
    while length < JUMP_BYTES {
        if !decoder.can_decode() {
            return Err(Refusal::Shape(format!("the function is only {} bytes long", function.len())));
        }
        let instruction = decoder.decode();
        check(&instruction).map_err(|reason| Refusal::Shape(format!("at +{length}: {reason}")))?;
        length += instruction.len();
        instructions.push(instruction);
    }
    Ok(instructions)
}

/// Only instructions that always go on to the next one are moved. A moved
/// call would leave its return address in the trampoline, where neither stack
/// walker nor unwinder knows its way; a branch would need a longer form.
fn check(instruction: &Instruction) -> Result<(), String> {
    if instruction.is_invalid() {
        return Err("not a known instruction".into());
    }
    match instruction.flow_control() {
        FlowControl::Next => Ok(()),
        FlowControl::Call | FlowControl::IndirectCall => Err("a call cannot be moved".into()),
        FlowControl::Return => Err("a return cannot be moved".into()),
        _ => Err("a jump or trap cannot be moved".into()),
    }
}

fn near_target(instruction: &Instruction) -> Option<u64> {
    let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
    is_near.then(|| instruction.near_branch_target())
}
