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
/// Size of an entry of the table of exception handlers.
const HANDLER_SIZE: u64 = 12;
/// Most entries of it that are read.
const MAX_HANDLERS: u64 = 1 << 14;

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
    /// The table of exception handlers, where the VM says where it is.
    handlers: Option<(u64, u64)>,
}

/// Control goes from a call that throws to a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thrown {
    /// Where the handler begins.
    pub(crate) handler: u64,
    /// Where the call would return to.
    pub(crate) returns_to: u64,
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
            handler_table,
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
            handlers: handler_table.and_then(|(begin, end)| Some((at(begin)?, at(end)?))),
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
            handler_table,
        } = layout.nmethod.debug_info
        else {
            return None;
        };
        let int = |offset| memory.read_u32(blob + offset).map(u64::from);
        let immutable = memory.read_u64(blob + immutable_data)?;
        let mutable = memory.read_u64(blob + mutable_data)?;
        let scopes = immutable + int(scopes_data_offset)?;
        let pcs = immutable + int(scopes_pcs_offset)?;
        let begin_of_handlers = |offset| Some(immutable + u64::from(memory.read_u16(blob + offset)?));
        Some(DebugInfo {
            layout,
            memory,
            code_begin: CodeCache::new(layout).code_begin(memory, blob)?,
            pcs,
            pcs_end: scopes,
            scopes,
            scopes_end: immutable + int(immutable_data_size)?,
            metadata: mutable + int(relocation_size)?,
            metadata_end: mutable + int(mutable_data_size)?,
            oops: blob + int(layout.code.blob_data_offset)?,
            oops_end: blob + int(layout.code.blob_size)?,
            handlers: handler_table.and_then(|offset| Some((begin_of_handlers(offset)?, pcs))),
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

    /// What leads to exception handlers, by handler; nothing where the VM does not say where the
    /// table is. `None` if the table does not make sense.
    pub(crate) fn thrown(&self) -> Option<Vec<Thrown>> {
        let Some((begin, end)) = self.handlers else { return Some(Vec::new()) };
        let is_call = |pc| self.pc_desc(pc).is_some_and(|desc| desc.pc == pc);
        thrown_of(self.memory, (begin, end), self.code_begin, is_call)
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

/// Reads a table of exception handlers: for each call the number of its handlers and where it
/// returns to, and then the handlers; the words of an entry are a bytecode index (or that number),
/// a distance from where the code begins, and a depth. All of it has to make sense.
fn thrown_of<M: Memory>(
    memory: &M,
    (begin, end): (u64, u64),
    code_begin: u64,
    is_call: impl Fn(u64) -> bool,
) -> Option<Vec<Thrown>> {
    let entries = end.checked_sub(begin)? / HANDLER_SIZE;
    let entry = |index: u64| {
        let at = begin + index * HANDLER_SIZE;
        let distance = u64::try_from(memory.read_i32(at + 4)?).ok()?;
        Some((memory.read_i32(at)?, code_begin + distance))
    };
    let (mut thrown, mut index) = (Vec::new(), 0);
    while index < entries.min(MAX_HANDLERS) {
        let (count, returns_to) = entry(index)?;
        let handlers = index + 1..index + 1 + u64::try_from(count).ok().filter(|count| *count > 0)?;
        if handlers.end > entries || !is_call(returns_to) {
            return None;
        }
        index = handlers.end;
        for handler in handlers {
            thrown.push(Thrown { handler: entry(handler)?.1, returns_to });
        }
    }
    thrown.sort_unstable();
    (index == entries).then_some(thrown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: u64 = 0x7000;

    /// Memory from address 0 on.
    struct Words(Vec<i32>);

    impl Memory for Words {
        fn read_u64(&self, addr: u64) -> Option<u64> {
            let mut bytes = [0; 8];
            self.read_into(addr, &mut bytes).then(|| u64::from_le_bytes(bytes))
        }

        fn read_into(&self, addr: u64, into: &mut [u8]) -> bool {
            let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
            let from = addr as usize;
            bytes.get(from..from + into.len()).map(|bytes| into.copy_from_slice(bytes)).is_some()
        }
    }

    fn table(words: &[i32], is_call: impl Fn(u64) -> bool) -> Option<Vec<(u64, u64)>> {
        let end = words.len() as u64 * 4;
        let thrown = thrown_of(&Words(words.to_vec()), (0, end), CODE, is_call)?;
        Some(thrown.iter().map(|thrown| (thrown.handler - CODE, thrown.returns_to - CODE)).collect())
    }

    /// Two calls, the first with two handlers, and the word that fills up eight bytes.
    const TABLE: [i32; 16] = [2, 0x10, 0, 40, 0x80, 0, 50, 0x60, 1, 1, 0x20, 0, 40, 0x80, 0, -1];

    #[test]
    fn a_table_of_handlers_says_which_calls_lead_to_each() {
        assert_eq!(table(&TABLE, |_| true), Some(vec![(0x60, 0x10), (0x80, 0x10), (0x80, 0x20)]));
        assert_eq!(table(&[], |_| true), Some(Vec::new()));
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused() {
        assert_eq!(table(&TABLE, |pc| pc != CODE + 0x20), None, "that is no call");
        assert_eq!(table(&TABLE[..9], |_| true), Some(vec![(0x60, 0x10), (0x80, 0x10)]));
        assert_eq!(table(&TABLE[..6], |_| true), None, "its last handler is missing");
        assert_eq!(table(&[0, 0x10, 0], |_| true), None, "a call without handlers has no entry");
        assert_eq!(table(&[-1, 0x10, 0], |_| true), None);
        assert_eq!(table(&[1, 0x10, 0, 40, -4, 0], |_| true), None, "no code lies there");
    }
}
