//! From physical frames to the methods they stand for.

use crate::debug_info::{DebugInfo, Scope};
use crate::frame::{FrameRecord, Interrupted, RecordKind};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::method::Method;
use crate::release::release_scopes;
use headway_model::FrameKind;

/// What the decoder knows about the VM's compiled code.
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
        None => (info.pc_desc(record.pc).and_then(|desc| info.scopes(desc)), false),
    }
}

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
