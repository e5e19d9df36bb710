//! Unwind tables of a library whose file is gone, from where it is mapped.
//!
//! Programs that carry libraries inside their archives unpack them, load them
//! and remove the files at once. The tables are mapped with the code; what is
//! only in the file (sections, `.symtab`) is lost.

use crate::task::read_own_memory;
use object::elf;
use std::ops::Range;
use std::sync::Arc;

/// Largest table that is copied.
const MAX_TABLE: u64 = 16 << 20;
const FILE_HEADER: usize = 64;
/// Where it says how wide addresses are.
const CLASS: usize = 4;
const SEGMENT_HEADER: usize = 56;
const MOST_SEGMENTS: usize = 64;
/// How `.eh_frame_hdr` begins where it says by a signed distance from itself,
/// of four bytes, where `.eh_frame` is: version and encoding.
const NEAR_TABLE: [u8; 2] = [1, 0x1b];

/// A table and its addresses, as the file would have them.
pub type Table = (Arc<[u8]>, Range<u64>);

/// Copies of what unwinding needs.
pub struct Image {
    /// What is added to the addresses that the tables speak of.
    pub bias: u64,
    /// `.eh_frame_hdr`.
    pub index: Table,
    /// `.eh_frame`, and what may follow it in its segment.
    pub frames: Table,
}

/// A part of the library that is mapped.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    length: u64,
}

impl Image {
    /// Reads the library whose first byte is mapped at an address of this process;
    /// `None` if it has no such tables, or is being unmapped.
    pub fn read(base: u64) -> Option<Image> {
        let segments = segments(base)?;
        let loaded = |segment: &&Segment| segment.kind == elf::PT_LOAD.0;
        let first = segments.iter().filter(loaded).find(|segment| segment.offset == 0)?;
        let bias = base.wrapping_sub(first.address & !0xfff);
        let index = segments.iter().find(|segment| segment.kind == elf::PT_GNU_EH_FRAME.0)?;
        let index = copy(bias, index.address..index.address.checked_add(index.length)?)?;
        let start = frames_of(&index)?;
        let around =
            |segment: &&Segment| (segment.address..segment.address.saturating_add(segment.length)).contains(&start);
        let segment = segments.iter().filter(loaded).find(around)?;
        let frames = copy(bias, start..segment.address.checked_add(segment.length)?)?;
        Some(Image { bias, index, frames })
    }
}

fn segments(base: u64) -> Option<Vec<Segment>> {
    let mut header = [0; FILE_HEADER];
    let is_ours = read_own_memory(base, &mut header)
        && header.starts_with(&elf::ELFMAG)
        && header[CLASS] == elf::ELFCLASS64.0
        && number(&header, 54, 2)? == SEGMENT_HEADER as u64;
    let count = usize::try_from(number(&header, 56, 2)?).ok().filter(|count| is_ours && *count <= MOST_SEGMENTS)?;
    let mut table = vec![0; count * SEGMENT_HEADER];
    let read = read_own_memory(base.checked_add(number(&header, 32, 8)?)?, &mut table);
    let segment = |bytes: &[u8]| {
        Some(Segment {
            kind: u32::try_from(number(bytes, 0, 4)?).ok()?,
            offset: number(bytes, 8, 8)?,
            address: number(bytes, 16, 8)?,
            length: number(bytes, 32, 8)?,
        })
    };
    table.chunks_exact(SEGMENT_HEADER).map(segment).collect::<Option<Vec<_>>>().filter(|_| read)
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn copy(bias: u64, addresses: Range<u64>) -> Option<Table> {
    let length = addresses.end.checked_sub(addresses.start).filter(|length| *length <= MAX_TABLE)?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    read_own_memory(addresses.start.wrapping_add(bias), &mut bytes).then(|| (bytes.into(), addresses))
}

/// Where the index says that the table is.
fn frames_of((index, addresses): &Table) -> Option<u64> {
    index.starts_with(&NEAR_TABLE).then_some(())?;
    let distance = i32::from_le_bytes(index.get(4..8)?.try_into().ok()?);
    addresses.start.checked_add(4)?.checked_add_signed(distance.into())
}
