//! From physical frames to the methods they stand for.

use crate::debug_info::{DebugInfo, Scope};
use crate::frame::{FrameRecord, Interrupted, RecordKind};
use crate::held::{held_by, sole_locker};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::method::Method;
use headway_model::FrameKind;

/// What the decoder is told about the VM's compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Methods with this compile id or a later one were compiled with debug
    /// information for all instructions (`DebugNonSafepoints`, or JVMTI's
    /// CompiledMethodLoad event enabled); 0 if all were, `None` if none. Without
    /// it a leaf call inside inlined code can be attributed only where one
    /// method alone takes locks there; else the frame is marked approximate.
    pub non_safepoint_info_since: Option<u32>,
}

/// One method of a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedFrame {
    /// The `Method*`.
    pub method: u64,
    /// Bytecode index; -1 for native methods and where unknown.
    pub bci: i32,
    /// What kind of code it ran in.
    pub kind: FrameKind,
    /// True where debug information could not prove the exact method: then
    /// this is the physical one, and inlined callees may be missing.
    pub approximate: bool,
    /// Which of the physical frames it belongs to, an index into what was decoded.
    pub record: u32,
}

/// The methods that `records` stand for, leaf first. Frames that cannot be
/// decoded (code that was flushed since, metadata that was unloaded) are left
/// out of the result; the second value counts them.
pub fn decode<M: Memory>(
    layout: &Layout,
    memory: &M,
    records: &[FrameRecord],
    options: DecodeOptions,
) -> (Vec<DecodedFrame>, usize) {
    let mut frames = Vec::with_capacity(records.len() * 2);
    let mut undecodable = 0;
    for (index, record) in records.iter().enumerate() {
        let known = match record.kind {
            RecordKind::Interpreted => interpreted(layout, memory, record, index as u32, &mut frames),
            RecordKind::Compiled => compiled(layout, memory, record, index as u32, options, &mut frames),
            RecordKind::Stub | RecordKind::Entry => Some(()),
        };
        undecodable += usize::from(known.is_none());
    }
    (frames, undecodable)
}

fn interpreted<M: Memory>(
    layout: &Layout,
    memory: &M,
    record: &FrameRecord,
    index: u32,
    frames: &mut Vec<DecodedFrame>,
) -> Option<()> {
    let method = Method::at(layout, memory, record.code)?;
    let native = method.is_native();
    let bci = match native {
        true => Some(-1),
        false => method.bci(record.bcp),
    };
    frames.push(DecodedFrame {
        method: record.code,
        bci: bci.unwrap_or(-1),
        kind: if native { FrameKind::Native } else { FrameKind::Interpreted },
        approximate: bci.is_none(),
        record: index,
    });
    Some(())
}

fn compiled<M: Memory>(
    layout: &Layout,
    memory: &M,
    record: &FrameRecord,
    index: u32,
    options: DecodeOptions,
    frames: &mut Vec<DecodedFrame>,
) -> Option<()> {
    let nmethod = &layout.nmethod;
    if memory.read_u32(record.code + nmethod.compile_id)? != record.compile_id {
        return None;
    }
    let physical = memory.read_u64(record.code + nmethod.method)?;
    let frame = |method, bci, kind, approximate| DecodedFrame { method, bci, kind, approximate, record: index };
    if Method::at(layout, memory, physical)?.is_native() {
        frames.push(frame(physical, -1, FrameKind::Native, false));
        return Some(());
    }
    if record.interrupted == Interrupted::Edge {
        frames.push(frame(physical, 0, FrameKind::Compiled, false));
        return Some(());
    }
    let info = DebugInfo::of(layout, memory, record.code)?;
    if record.interrupted == Interrupted::Body {
        return interrupted(&info, physical, record, index, options, frames);
    }
    let (scopes, exact) = scopes_at(layout, memory, &info, record, options);
    match scopes {
        Some(scopes) if exact => {
            let last = scopes.len() - 1;
            for (i, scope) in scopes.iter().enumerate() {
                let kind = if i == last { FrameKind::Compiled } else { FrameKind::Inlined };
                frames.push(frame(scope.method, scope.bci.max(0), kind, false));
            }
        }
        // Only the physical method is certain. If nothing was inlined into it
        // at all, so is the leaf, and only its line is not.
        Some(scopes) if !info.inlines() => {
            let bci = scopes[0].bci.max(0);
            frames.push(frame(physical, bci, FrameKind::Compiled, true));
        }
        _ => frames.push(frame(physical, -1, FrameKind::Compiled, true)),
    }
    Some(())
}

/// A frame that was interrupted: the scopes of the nearest entry not before
/// its pc. Only with debug information for all instructions are they certain;
/// else the innermost is marked.
fn interrupted<M: Memory>(
    info: &DebugInfo<'_, M>,
    physical: u64,
    record: &FrameRecord,
    index: u32,
    options: DecodeOptions,
    frames: &mut Vec<DecodedFrame>,
) -> Option<()> {
    let known = options.non_safepoint_info_since.is_some_and(|since| record.compile_id >= since);
    let desc = info.pc_desc(record.pc);
    let certain = known || desc.is_some_and(|desc| desc.pc == record.pc);
    let scopes = desc.and_then(|desc| info.scopes(desc));
    let frame = |method, bci, kind, approximate| DecodedFrame { method, bci, kind, approximate, record: index };
    // Handlers behind the method's code have no scopes.
    let Some(scopes) = scopes.filter(|scopes| scopes.last().is_some_and(|root| root.method == physical)) else {
        frames.push(frame(physical, -1, FrameKind::Compiled, true));
        return Some(());
    };
    let last = scopes.len() - 1;
    for (i, scope) in scopes.iter().enumerate() {
        let kind = if i == last { FrameKind::Compiled } else { FrameKind::Inlined };
        frames.push(frame(scope.method, scope.bci.max(0), kind, i == 0 && !certain));
    }
    Some(())
}

/// The scopes at a frame's pc, and whether they are certain.
fn scopes_at<M: Memory>(
    layout: &Layout,
    memory: &M,
    info: &DebugInfo<'_, M>,
    record: &FrameRecord,
    options: DecodeOptions,
) -> (Option<Vec<Scope>>, bool) {
    if !record.leaf_call {
        let desc = info.pc_desc(record.pc);
        let exact = desc.is_some_and(|desc| desc.pc == record.pc);
        return (desc.and_then(|desc| info.scopes(desc)), exact);
    }
    match release_scopes(layout, memory, info, record, options) {
        Some(scopes) => (Some(scopes), true),
        None => (leaf_call_scopes(layout, memory, info, record), false),
    }
}

/// The scopes of a call off the record that releases a monitor, where they are
/// certain: read where the debug information is of all instructions, else those
/// of the only method that takes locks in this code.
pub(crate) fn release_scopes<M: Memory>(
    layout: &Layout,
    memory: &M,
    info: &DebugInfo<'_, M>,
    record: &FrameRecord,
    options: DecodeOptions,
) -> Option<Vec<Scope>> {
    let known = options.non_safepoint_info_since.is_some_and(|since| record.compile_id >= since);
    let scopes = known.then(|| leaf_call_scopes(layout, memory, info, record)).flatten();
    scopes.or_else(|| sole_locker(info, record.pc))
}

/// The scopes of a call off the record that releases a monitor.
///
/// C2 calls in line and writes an entry where the code of a scope ends: the
/// entry wanted is the first not below the last byte of the call (the return
/// address already belongs to what follows).
///
/// C1 is harder, see [`c1_release_scopes`].
fn leaf_call_scopes<M: Memory>(
    layout: &Layout,
    memory: &M,
    info: &DebugInfo<'_, M>,
    record: &FrameRecord,
) -> Option<Vec<Scope>> {
    let level = memory.read_u8(record.code + layout.nmethod.comp_level)?;
    if level >= C2_LEVEL {
        return info.scopes(info.pc_desc(record.pc.checked_sub(1)?)?);
    }
    c1_release_scopes(memory, info, record)
}

/// C1 calls in a stub behind the method's code, which jumps back behind the
/// instruction that it is part of, and writes no entry for a monitorexit. The
/// last entry below the jump's target may be of a callee inlined before it. But
/// the stub was given the lock record, at sp, and entries of safepoints tell
/// which scope holds which lock record. So: back from the target to the nearest
/// entry that says who holds it; if every entry on the way is inside that
/// scope, control did not leave it, and it is the one that releases. Needs the
/// live stack.
fn c1_release_scopes<M: Memory>(memory: &M, info: &DebugInfo<'_, M>, record: &FrameRecord) -> Option<Vec<Scope>> {
    let lock_record = memory.read_u64(record.sp)?.checked_sub(record.sp)?;
    let holds = |scope: &Scope| {
        let held = held_by(info, scope).unwrap_or_default();
        held.iter().any(|monitor| monitor.lock_record.map(u64::from) == Some(lock_record))
    };
    let mut passed: Vec<Vec<Scope>> = Vec::new();
    let entries = info.pc_descs_before(jump_target(memory, record.pc)?)?;
    for desc in entries.take(MAX_ENTRIES_BACK) {
        let scopes = info.scopes(desc)?;
        let holder = scopes.iter().position(holds);
        passed.push(scopes);
        if let Some(holder) = holder {
            let depth = passed.last()?.len() - holder;
            let last = passed.last()?.clone();
            let inside = |scopes: &Vec<Scope>| same_scope(scopes, &last, depth);
            let nearest = passed.first()?;
            return passed.iter().all(inside).then(|| nearest[nearest.len() - depth..].to_vec());
        }
    }
    None
}

/// How far to look back for an entry that names the holder of a lock record.
const MAX_ENTRIES_BACK: usize = 256;

/// True if both chains of scopes are in the same activation of the scope that
/// is the `depth`th from the root: same method, same calls that led to it.
pub(crate) fn same_scope(a: &[Scope], b: &[Scope], depth: usize) -> bool {
    if a.len() < depth || b.len() < depth || depth == 0 {
        return false;
    }
    let (a, b) = (&a[a.len() - depth..], &b[b.len() - depth..]);
    let call = |scope: &Scope| (scope.method, scope.bci);
    a[0].method == b[0].method && a[1..].iter().map(call).eq(b[1..].iter().map(call))
}

/// Tier of C2's code; C1's are below.
const C2_LEVEL: u8 = 4;

/// Where an unconditional jump at `pc` leads.
fn jump_target<M: Memory>(memory: &M, pc: u64) -> Option<u64> {
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
