//! How a recording is packed, and the envelope around each packed piece.
//!
//! A packed recording is a sequence of pieces. A piece is a skippable frame
//! (the envelope, which both zstd and LZ4 tools step over) and one compressed
//! frame. The envelope holds the chunk's header as it is after this piece, so
//! that a reader needs nothing that comes later: a torn tail costs the last
//! piece only.

use crate::columns;
use crate::header::{ChunkHeader, HEADER_SIZE};
use std::io;
use std::path::Path;

/// How a recording's bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all: `.jfr`, readable by every JFR tool.
    Plain,
    /// Zstandard: `.jfr.zst`.
    Zstd,
    /// LZ4 frames: `.jfr.lz4`.
    Lz4,
}

impl Packing {
    /// The packing that a file's name asks for: by its extension, plain if it
    /// is neither `.zst` nor `.lz4`.
    pub fn of_name(path: &Path) -> Packing {
        match path.extension().and_then(|e| e.to_str()) {
            Some(e) if e.eq_ignore_ascii_case("zst") => Packing::Zstd,
            Some(e) if e.eq_ignore_ascii_case("lz4") => Packing::Lz4,
            _ => Packing::Plain,
        }
    }
}

/// Magic number of the envelope: one of the skippable frames of zstd and LZ4.
pub(crate) const SKIPPABLE: [u8; 4] = 0x184d_2a5au32.to_le_bytes();
/// First bytes inside the envelope.
pub(crate) const ENVELOPE_MAGIC: [u8; 4] = *b"HWJF";
/// Version of the envelope.
const ENVELOPE_VERSION: u8 = 1;
/// Bytes of an envelope, its skippable frame header included.
pub(crate) const ENVELOPE_SIZE: usize = 8 + 16 + HEADER_SIZE;
/// A level at which packing keeps up with a drain thread: see `benches`.
const ZSTD_LEVEL: i32 = 3;
/// A piece never unpacks to more than this.
pub(crate) const MAX_PIECE: usize = 256 << 20;

/// What stands in front of a packed piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// True if the piece begins a chunk.
    pub(crate) begins_chunk: bool,
    /// True if what is compressed is the piece in columns.
    pub(crate) in_columns: bool,
    /// Length of the piece, unpacked.
    pub(crate) raw_len: u32,
    /// Length of the compressed frame that follows.
    pub(crate) packed_len: u32,
    /// The chunk's header as it is after this piece.
    pub(crate) header: ChunkHeader,
}

impl Envelope {
    fn to_bytes(self) -> [u8; ENVELOPE_SIZE] {
        let mut bytes = [0u8; ENVELOPE_SIZE];
        bytes[0..4].copy_from_slice(&SKIPPABLE);
        bytes[4..8].copy_from_slice(&((ENVELOPE_SIZE - 8) as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&ENVELOPE_MAGIC);
        bytes[12] = ENVELOPE_VERSION;
        bytes[13] = u8::from(self.begins_chunk) | (u8::from(self.in_columns) << 1);
        bytes[16..20].copy_from_slice(&self.raw_len.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.packed_len.to_le_bytes());
        bytes[24..].copy_from_slice(&self.header.to_bytes());
        bytes
    }

    /// Reads an envelope; `None` if this is none, or one of a later version.
    pub(crate) fn parse(bytes: &[u8; ENVELOPE_SIZE]) -> Option<Envelope> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let ours = bytes[0..4] == SKIPPABLE
            && word(4) as usize == ENVELOPE_SIZE - 8
            && bytes[8..12] == ENVELOPE_MAGIC
            && bytes[12] == ENVELOPE_VERSION
            && bytes[13] < 4;
        ours.then_some(())?;
        Some(Envelope {
            begins_chunk: bytes[13] & 1 != 0,
            in_columns: bytes[13] & 2 != 0,
            raw_len: word(16),
            packed_len: word(20),
            header: ChunkHeader::parse(&bytes[24..])?,
        })
    }
}

/// Packs a piece and puts its envelope in front.
///
/// # Errors
/// What the compressor says; none is known to happen in memory.
pub(crate) fn pack(packing: Packing, begins_chunk: bool, header: ChunkHeader, raw: &[u8]) -> io::Result<Vec<u8>> {
    let columns = columns::to_columns(raw, begins_chunk);
    let mut out = vec![0u8; ENVELOPE_SIZE];
    match packing {
        Packing::Plain => out.extend_from_slice(&columns),
        Packing::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(&mut out, ZSTD_LEVEL)?;
            encoder.include_checksum(true)?;
            encoder.set_pledged_src_size(Some(columns.len() as u64))?;
            io::Write::write_all(&mut encoder, &columns)?;
            encoder.finish()?;
        }
        Packing::Lz4 => {
            let info =
                lz4_flex::frame::FrameInfo::new().content_checksum(true).content_size(Some(columns.len() as u64));
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, &mut out);
            io::Write::write_all(&mut encoder, &columns)?;
            encoder.finish().map_err(io::Error::other)?;
        }
    }
    let envelope = Envelope {
        begins_chunk,
        in_columns: true,
        raw_len: piece_len(raw.len())?,
        packed_len: piece_len(out.len() - ENVELOPE_SIZE)?,
        header,
    };
    out[..ENVELOPE_SIZE].copy_from_slice(&envelope.to_bytes());
    Ok(out)
}

fn piece_len(len: usize) -> io::Result<u32> {
    if len > MAX_PIECE {
        return Err(io::Error::other(format!("a piece of {len} bytes is larger than {MAX_PIECE}")));
    }
    Ok(len as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ask_for_packings() {
        let packing = |name: &str| Packing::of_name(Path::new(name));
        assert_eq!(packing("a.jfr"), Packing::Plain);
        assert_eq!(packing("a.jfr.zst"), Packing::Zstd);
        assert_eq!(packing("a.JFR.LZ4"), Packing::Lz4);
        assert_eq!(packing("zst"), Packing::Plain);
    }

    #[test]
    fn an_envelope_survives_its_bytes() {
        let envelope = Envelope {
            begins_chunk: true,
            in_columns: false,
            raw_len: 7,
            packed_len: 9,
            header: ChunkHeader::default(),
        };
        assert_eq!(Envelope::parse(&envelope.to_bytes()), Some(envelope));
    }
}
