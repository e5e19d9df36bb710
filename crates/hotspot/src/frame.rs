//! Physical frames, and the words by which a chain of them is known.

/// Where a walk begins: the registers of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Next instruction.
    pub pc: u64,
    /// Stack pointer (of a compiled frame: as if it had called nobody).
    pub sp: u64,
    /// The frame pointer of interpreted frames.
    pub fp: u64,
    /// True if `pc` is the return address of a call that the VM does not
    /// record as a safepoint (a leaf call): its debug information, if there is
    /// any, is that of the instruction before.
    pub leaf_call: bool,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum RecordKind {
    /// Bytecodes, or a native method called from them.
    #[default]
    Interpreted,
    /// A compiled method or the compiled wrapper of a native one.
    Compiled,
    /// Code of the VM's own (runtime stub, deoptimization, ...). No Java frame.
    Stub,
    /// The VM called Java here. No Java frame.
    Entry,
}

/// One physical frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct FrameRecord {
    /// Current instruction: a return address, except perhaps at the leaf. For
    /// a deoptimized frame the one it stood at before it was patched.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// The register of the frame pointer. Only interpreted and entry frames need it to be a frame pointer.
    pub fp: u64,
    /// Compiled, stub: the code blob. Interpreted: the `Method*`. Entry: the
    /// `JavaCallWrapper*`.
    pub code: u64,
    /// Interpreted: pointer to the bytecode. Entry: the anchor's sp.
    pub bcp: u64,
    /// Compiled: the compile id.
    pub compile_id: u32,
    /// What it is.
    pub kind: RecordKind,
    /// True where the frame lies in a stack chunk on the heap.
    pub on_heap: bool,
    /// True where the frame was deoptimized and not yet left.
    pub deoptimized: bool,
    /// See [`Registers::leaf_call`].
    pub leaf_call: bool,
    /// Set where the frame was not left by a call.
    pub interrupted: Interrupted,
}

/// Where a frame stood that did not call anybody, or nobody on record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Interrupted {
    /// It called: its pc is a return address.
    #[default]
    No,
    /// In the method's own code.
    Body,
    /// Where the frame is built or taken down: nothing inlined runs there.
    Edge,
}

impl FrameRecord {
    /// True for frames that stand for Java methods.
    #[inline]
    pub fn is_java(&self) -> bool {
        matches!(self.kind, RecordKind::Interpreted | RecordKind::Compiled)
    }

    /// The two words that distinguish this frame from every other: pc and compile id
    /// (return addresses alone come back with other code), or `Method*` and
    /// bytecode pointer. A `Method*` may be used again after its class is
    /// unloaded: whoever keeps keys drops those of unloaded classes.
    #[inline]
    pub fn key(&self) -> [u64; 2] {
        match self.kind {
            RecordKind::Interpreted => [self.code, self.bcp],
            _ => {
                let leaf = u64::from(self.leaf_call) << 33 | (self.interrupted as u64) << 34;
                [self.pc, u64::from(self.compile_id) | leaf | COMPILED]
            }
        }
    }
}

/// Set in the second word of compiled frames' keys; no address has it.
const COMPILED: u64 = 1 << 63;

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum WalkEnd {
    /// At the thread's first Java frame: the chain is complete.
    #[default]
    Complete,
    /// At the first frame of a virtual thread: complete, the carrier follows.
    VirtualThread,
    /// The output was full.
    Full,
    /// At the return barrier: the rest is in a stack chunk that cannot be read.
    ReturnBarrier,
    /// At something that could not be read or made no sense.
    Lost,
}

impl WalkEnd {
    /// True if nothing is missing at the root.
    pub fn is_complete(self) -> bool {
        matches!(self, WalkEnd::Complete | WalkEnd::VirtualThread)
    }
}

/// What a walk gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WalkResult {
    /// How many records were written, leaf first.
    pub frames: usize,
    /// Why it ended.
    pub end: WalkEnd,
    /// How many of them were taken over from the previous walk.
    pub reused: usize,
    /// True if all are, and the previous walk had no others: same frames, same key.
    pub same: bool,
}

/// Writes the key of a chain into `out`: two words per Java frame, leaf first,
/// and one for how it ended. `None` if `out` is too small (two words per record
/// and one more always suffice). Equal keys mean equal chains.
#[inline]
pub fn key_words<'o>(records: &[FrameRecord], end: WalkEnd, out: &'o mut [u64]) -> Option<&'o [u64]> {
    key_of(records.iter(), end, out)
}

#[inline]
pub(crate) fn key_of<'r, 'o>(
    records: impl Iterator<Item = &'r FrameRecord>,
    end: WalkEnd,
    out: &'o mut [u64],
) -> Option<&'o [u64]> {
    let mut at = 0;
    for record in records.filter(|record| record.is_java()) {
        out.get_mut(at..at + 2)?.copy_from_slice(&record.key());
        at += 2;
    }
    *out.get_mut(at)? = end as u64;
    out.get(..=at)
}

/// Slots of an interpreted frame, in bytes from fp. The same in 17, 21 and 25.
pub mod slot {
    /// Caller's fp.
    pub const LINK: i64 = 0;
    /// Return address.
    pub const RETURN: i64 = 8;
    /// The caller's sp before arguments were adapted.
    pub const SENDER_SP: i64 = -8;
    /// `Method*`.
    pub const METHOD: i64 = -3 * 8;
    /// Bytecode pointer.
    pub const BCP: i64 = -8 * 8;
    /// Lowest monitor, an address (17) or a distance from fp in words; itself the end
    /// of the monitors.
    pub const MONITORS: i64 = -9 * 8;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(pc: u64, compile_id: u32) -> FrameRecord {
        FrameRecord { pc, compile_id, kind: RecordKind::Compiled, ..FrameRecord::default() }
    }

    #[test]
    fn keys_differ_where_chains_differ() {
        let interpreted = FrameRecord { code: 0x7000, bcp: 0x7100, ..FrameRecord::default() };
        let mut leaf = compiled(0x1000, 7);
        leaf.leaf_call = true;
        let chains = [
            vec![compiled(0x1000, 7)],
            vec![compiled(0x1000, 8)],
            vec![compiled(0x1001, 7)],
            vec![leaf],
            vec![interpreted],
            vec![compiled(0x1000, 7), interpreted],
            vec![interpreted, compiled(0x1000, 7)],
        ];
        let mut keys = Vec::new();
        for chain in &chains {
            for end in [WalkEnd::Complete, WalkEnd::Lost] {
                let mut words = [0; 8];
                keys.push(key_words(chain, end, &mut words).unwrap().to_vec());
            }
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn stubs_and_entries_are_no_part_of_the_key() {
        let mut stub = compiled(0x2000, 0);
        stub.kind = RecordKind::Stub;
        let (mut with, mut without) = ([0; 8], [0; 8]);
        assert_eq!(
            key_words(&[stub, compiled(1, 2)], WalkEnd::Complete, &mut with),
            key_words(&[compiled(1, 2)], WalkEnd::Complete, &mut without)
        );
    }

    #[test]
    fn a_key_that_does_not_fit_is_no_key() {
        let mut words = [0; 2];
        assert_eq!(key_words(&[compiled(1, 2)], WalkEnd::Complete, &mut words), None);
    }
}
