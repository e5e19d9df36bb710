//! The debug information of a compiled method: for a pc the methods that were
//! inlined there, innermost first, and the monitors each of them holds.

use crate::code_cache::CodeCache;
use crate::layout::{DebugInfoLayout, Layout};
use crate::memory::Memory;
use crate::unsigned5::Reader;

/// Size of a `PcDesc`: pc offset, scope offset, object offset, flags.
const PC_DESC_SIZE: u64 = 16;
/// Most scopes that one pc may be nested in (the VM's limits stay far below).
const MAX_DEPTH: usize = 512;
/// Bytecode indices are packed with this added.
const BCI_BIAS: i32 = -1;
/// Reading an unreasonable table costs time in someone else's process.
const MAX_PC_DESCS: u64 = 1 << 20;

/// Where the debug information of one compiled method lies.
#[derive(Clone, Copy, Debug)]
pub struct DebugInfo<'a, M> {
    layout: &'a Layout,
    memory: &'a M,
    code_begin: u64,
    pcs: u64,
    pcs_end: u64,
    scopes: u64,
    scopes_end: u64,
    metadata: u64,
    metadata_end: u64,
    oops: u64,
    oops_end: u64,
}

/// One entry of the table from pc to scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcDesc {
    /// The pc it stands for.
    pub pc: u64,
    /// Where its innermost scope is; 0 if there is none.
    scope_offset: u32,
}

/// One method of those inlined at a pc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The `Method*`.
    pub method: u64,
    /// Bytecode index; -1 where the method was just being entered.
    pub bci: i32,
    /// Where its monitors are described; 0 if it holds none.
    pub(crate) monitors: u32,
}

impl<'a, M: Memory> DebugInfo<'a, M> {
    /// The debug information of the compiled method at `blob`; `None` if its
    /// header does not make sense.
    pub fn of(layout: &'a Layout, memory: &'a M, blob: u64) -> Option<DebugInfo<'a, M>> {
        let info = match layout.nmethod.debug_info {
            DebugInfoLayout::InBlob { .. } => Self::in_blob(layout, memory, blob)?,
            DebugInfoLayout::Outside { .. } => Self::outside(layout, memory, blob)?,
        };
        let ordered = info.pcs <= info.pcs_end
            && info.scopes <= info.scopes_end
            && info.metadata <= info.metadata_end
            && info.oops <= info.oops_end;
        let small = (info.pcs_end.wrapping_sub(info.pcs)) / PC_DESC_SIZE <= MAX_PC_DESCS;
        (ordered && small).then_some(info)
    }

    fn in_blob(layout: &'a Layout, memory: &'a M, blob: u64) -> Option<DebugInfo<'a, M>> {
        let DebugInfoLayout::InBlob {
            scopes_data_begin,
            scopes_pcs_offset,
            scopes_pcs_end_offset,
            oops_offset,
            metadata_offset,
        } = layout.nmethod.debug_info
        else {
            return None;
        };
        let at = |offset| Some(blob + u64::from(memory.read_u32(blob + offset)?));
        let scopes = memory.read_u64(blob + scopes_data_begin)?;
        let pcs = at(scopes_pcs_offset)?;
        let metadata = at(metadata_offset)?;
        Some(DebugInfo {
            layout,
            memory,
            code_begin: CodeCache::new(layout).code_begin(memory, blob)?,
            pcs,
            pcs_end: at(scopes_pcs_end_offset)?,
            scopes,
            scopes_end: pcs,
            metadata,
            metadata_end: scopes,
            oops: at(oops_offset)?,
            oops_end: metadata,
        })
    }

    fn outside(layout: &'a Layout, memory: &'a M, blob: u64) -> Option<DebugInfo<'a, M>> {
        let DebugInfoLayout::Outside {
            immutable_data,
            immutable_data_size,
            scopes_pcs_offset,
            scopes_data_offset,
            mutable_data,
            mutable_data_size,
            relocation_size,
        } = layout.nmethod.debug_info
        else {
            return None;
        };
        let int = |offset| memory.read_u32(blob + offset).map(u64::from);
        let immutable = memory.read_u64(blob + immutable_data)?;
        let mutable = memory.read_u64(blob + mutable_data)?;
        let scopes = immutable + int(scopes_data_offset)?;
        Some(DebugInfo {
            layout,
            memory,
            code_begin: CodeCache::new(layout).code_begin(memory, blob)?,
            pcs: immutable + int(scopes_pcs_offset)?,
            pcs_end: scopes,
            scopes,
            scopes_end: immutable + int(immutable_data_size)?,
            metadata: mutable + int(relocation_size)?,
            metadata_end: mutable + int(mutable_data_size)?,
            oops: blob + int(layout.code.blob_data_offset)?,
            oops_end: blob + int(layout.code.blob_size)?,
        })
    }

    /// The first entry whose pc is not below `pc`: an entry stands for what
    /// lies between it and the one before.
    pub fn pc_desc(&self, pc: u64) -> Option<PcDesc> {
        self.pc_desc_at(self.first_not_below(pc)?)
    }

    fn first_not_below(&self, pc: u64) -> Option<u64> {
        let count = (self.pcs_end - self.pcs) / PC_DESC_SIZE;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.pc_desc_at(middle)?.pc < pc {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < count).then_some(low)
    }

    /// The entries whose pcs are below `pc`, nearest first. None if no entry
    /// with scopes follows: then `pc` is behind the method's own code.
    pub fn pc_descs_before(&self, pc: u64) -> Option<impl Iterator<Item = PcDesc> + '_> {
        let next = self.first_not_below(pc)?;
        let inside = self.pc_desc_at(next)?.scope_offset != 0;
        inside.then(|| {
            (0..next).rev().map_while(|index| self.pc_desc_at(index)).take_while(|desc| desc.scope_offset != 0)
        })
    }

    /// All entries that have scopes, by ascending pc.
    pub(crate) fn pc_descs(&self) -> impl Iterator<Item = PcDesc> + '_ {
        let count = (self.pcs_end - self.pcs) / PC_DESC_SIZE;
        (0..count).filter_map(|index| self.pc_desc_at(index)).filter(|desc| desc.scope_offset != 0)
    }

    fn pc_desc_at(&self, index: u64) -> Option<PcDesc> {
        let at = self.pcs + index * PC_DESC_SIZE;
        // The first and last entries are sentinels with pcs of no code.
        let offset = i64::from(self.memory.read_i32(at)?);
        Some(PcDesc {
            pc: (self.code_begin as i64).wrapping_add(offset).max(0) as u64,
            scope_offset: self.memory.read_u32(at + 4)?,
        })
    }

    /// The methods inlined at an entry, innermost first. `None` if a stream
    /// does not make sense.
    pub fn scopes(&self, desc: PcDesc) -> Option<Vec<Scope>> {
        let mut scopes = Vec::new();
        self.scopes_into(desc, &mut scopes)?;
        Some(scopes)
    }

    /// The same, into a vector that is there already.
    pub(crate) fn scopes_into(&self, desc: PcDesc, scopes: &mut Vec<Scope>) -> Option<()> {
        scopes.clear();
        let mut offset = desc.scope_offset;
        while offset != 0 && scopes.len() < MAX_DEPTH {
            let (scope, sender) = self.scope(offset)?;
            scopes.push(scope);
            // The outer scopes of a pc are written before the inner ones.
            if sender >= offset {
                return None;
            }
            offset = sender;
        }
        (!scopes.is_empty()).then_some(())
    }

    fn scope(&self, offset: u32) -> Option<(Scope, u32)> {
        let mut stream = self.stream(offset)?;
        let sender = stream.unsigned()?;
        let method = self.metadata(stream.unsigned()?)?;
        let bci = stream.int()? + BCI_BIAS;
        let _locals = stream.unsigned()?;
        let _expressions = stream.unsigned()?;
        let monitors = stream.unsigned()?;
        let scope = Scope { method, bci, monitors };
        Some((scope, sender))
    }

    /// The stream of the scopes from `offset` on.
    pub(crate) fn stream(&self, offset: u32) -> Option<Reader<'a, M>> {
        let at = self.scopes.checked_add(u64::from(offset))?;
        let base = self.layout.nmethod.unsigned5_base;
        (at < self.scopes_end).then(|| Reader::new(self.memory, at, self.scopes_end, base))
    }

    /// The metadata with this number; numbers begin at 1.
    fn metadata(&self, number: u32) -> Option<u64> {
        self.table(self.metadata, self.metadata_end, number)
    }

    /// The address of the constant reference with this number.
    pub(crate) fn oop_slot(&self, number: u32) -> Option<u64> {
        let at = self.oops + 8 * u64::from(number.checked_sub(1)?);
        (at + 8 <= self.oops_end).then_some(at)
    }

    fn table(&self, begin: u64, end: u64, number: u32) -> Option<u64> {
        let at = begin + 8 * u64::from(number.checked_sub(1)?);
        (at + 8 <= end).then(|| self.memory.read_u64(at))?
    }

    /// True if some pc of this method is inside an inlined one.
    pub fn inlines(&self) -> bool {
        let count = (self.pcs_end - self.pcs) / PC_DESC_SIZE;
        (0..count).any(|index| {
            let offset = self.pc_desc_at(index).map_or(0, |desc| desc.scope_offset);
            offset != 0 && self.scope(offset).is_some_and(|(_, sender)| sender != 0)
        })
    }
}
