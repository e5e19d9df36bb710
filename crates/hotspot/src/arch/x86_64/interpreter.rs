//! The interpreter's frame that was interrupted.

use crate::fragment::{is_return_address, Captured, Code, FragmentMemory, Location, Reg, Run};
use crate::frame::{slot, FrameRecord, RecordKind, Registers};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::method::Method;

/// Instructions from a method's entry to where its frame stands, and from where
/// it is taken down to the jump to the caller, both with a margin.
const LIMIT: usize = 240;
/// A whole frame reaches at least this far below rbp.
const FIXED: u64 = 9 * 8;

/// The frame, if there is one yet or still, and its caller.
pub(crate) fn leaf<M: Memory>(
    layout: &Layout,
    memory: &FragmentMemory<'_, M>,
    at: &Captured,
    code: &mut impl Code,
) -> Option<(Option<FrameRecord>, Registers)> {
    match code.run(layout.frame.interpreter, at.pc, LIMIT) {
        Run::Enter { caller } => entering(layout, memory, at, caller.pc),
        // The frame is gone, or never was (methods that need none): rbp is the
        // caller's.
        Run::Return { caller, straight: true, .. } if caller.fp == Location::Register(Reg::BP, 0) => {
            let pc = caller.pc.value(at, memory)?;
            let known = is_return_address(layout, memory, pc);
            let caller = Registers { pc, sp: caller.sp.value(at, memory)?, fp: at.fp()?, leaf_call: false };
            known.then_some((None, caller))
        }
        _ => standing(layout, memory, at),
    }
}

/// At a method's entry: rbx has the method, r13 the caller's stack pointer.
fn entering<M: Memory>(
    layout: &Layout,
    memory: &FragmentMemory<'_, M>,
    at: &Captured,
    return_address: Location,
) -> Option<(Option<FrameRecord>, Registers)> {
    let method = at.get(Reg::BX)?;
    let (sp, fp) = (at.sp()?, at.fp()?);
    let code = Method::at(layout, memory, method)?;
    let pc = return_address.value(at, memory)?;
    if !is_return_address(layout, memory, pc) {
        return None;
    }
    let bcp = if code.is_native() { 0 } else { code.bytecode_at(0)? };
    let record = record(at.pc, sp, fp, method, bcp);
    // Equal where the return address was popped and no local is pushed yet.
    let sender_sp = at.get(Reg::R13).filter(|sender| *sender >= sp)?;
    Some((Some(record), Registers { pc, sp: sender_sp, fp, leaf_call: false }))
}

/// rbp is the frame's, but its slots are still being pushed: the method is in
/// rbx, and the caller's stack pointer in r13 until it is pushed first.
fn being_built<M: Memory>(
    layout: &Layout,
    memory: &FragmentMemory<'_, M>,
    at: &Captured,
    fp: u64,
) -> Option<(Option<FrameRecord>, Registers)> {
    let slot_at = |slot: i64| memory.read_u64(fp.wrapping_add_signed(slot));
    let sp = at.sp().filter(|sp| *sp <= fp)?;
    let method = at.get(Reg::BX)?;
    let code = Method::at(layout, memory, method)?;
    let sender_sp = match sp < fp {
        true => slot_at(slot::SENDER_SP)?,
        false => at.get(Reg::R13)?,
    };
    let pc = slot_at(slot::RETURN)?;
    if sender_sp <= fp || !is_return_address(layout, memory, pc) {
        return None;
    }
    let bcp = if code.is_native() { 0 } else { code.bytecode_at(0)? };
    let caller = Registers { pc, sp: sender_sp, fp: slot_at(slot::LINK)?, leaf_call: false };
    Some((Some(record(at.pc, sp, fp, method, bcp)), caller))
}

fn record(pc: u64, sp: u64, fp: u64, method: u64, bcp: u64) -> FrameRecord {
    FrameRecord { pc, sp, fp, code: method, bcp, kind: RecordKind::Interpreted, ..FrameRecord::default() }
}

/// The frame stands on rbp. The bytecode pointer is in r13 while bytecodes run;
/// the frame has it as it was at the last call.
fn standing<M: Memory>(
    layout: &Layout,
    memory: &FragmentMemory<'_, M>,
    at: &Captured,
) -> Option<(Option<FrameRecord>, Registers)> {
    let fp = at.fp()?;
    if at.sp()? > fp.wrapping_sub(FIXED) {
        return being_built(layout, memory, at, fp);
    }
    let slot_at = |slot: i64| memory.read_u64(fp.wrapping_add_signed(slot));
    let method = slot_at(slot::METHOD)?;
    let code = Method::at(layout, memory, method)?;
    let saved = slot_at(slot::BCP)?;
    let bcp = match at.get(Reg::R13).filter(|bcp| code.bci(*bcp).is_some()) {
        _ if code.is_native() => saved,
        Some(bcp) => bcp,
        None if code.bci(saved).is_some() => saved,
        None => return None,
    };
    let pc = slot_at(slot::RETURN)?;
    if !is_return_address(layout, memory, pc) {
        return None;
    }
    let caller = Registers { pc, sp: slot_at(slot::SENDER_SP)?, fp: slot_at(slot::LINK)?, leaf_call: false };
    Some((Some(record(at.pc, at.sp()?, fp, method, bcp)), caller))
}
