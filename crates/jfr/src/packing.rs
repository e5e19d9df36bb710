//! How a recording is packed, and the envelope around each packed piece.
//!
//! A packed recording is a sequence of pieces. A piece is a skippable frame
//! (the envelope, which both zstd and LZ4 tools step over) and compressed
//! frames. The envelope holds the chunk's header as it is after this piece, so
//! that a reader needs nothing that comes later: a torn tail costs the last
//! piece only. What other tools unpack is a plain recording.

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
/// Version of the envelope. In version 1 pieces were stored in columns.
const ENVELOPE_VERSION: u8 = 2;
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
    /// True if what is compressed is the piece in columns, as earlier versions
    /// wrote it.
    pub(crate) in_columns: bool,
    /// Length of the piece, unpacked.
    pub(crate) raw_len: u32,
    /// Length of the compressed frames that follow.
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
            && (1..=ENVELOPE_VERSION).contains(&bytes[12])
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

/// Packs a piece and puts its envelope in front. The piece that begins a chunk
/// begins with the chunk's header, whose frame can be written again in place.
///
/// # Errors
/// What the compressor says; none is known to happen in memory.
pub(crate) fn pack(packing: Packing, begins_chunk: bool, header: ChunkHeader, raw: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = vec![0u8; ENVELOPE_SIZE];
    let mut rest = raw;
    if begins_chunk {
        rest = raw.get(HEADER_SIZE..).unwrap_or_default();
        out.extend_from_slice(&header_frame(packing, &header));
    }
    match packing {
        Packing::Plain => out.extend_from_slice(rest),
        Packing::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(&mut out, ZSTD_LEVEL)?;
            encoder.include_checksum(true)?;
            encoder.set_pledged_src_size(Some(rest.len() as u64))?;
            io::Write::write_all(&mut encoder, rest)?;
            encoder.finish()?;
        }
        Packing::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true).content_size(Some(rest.len() as u64));
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, &mut out);
            io::Write::write_all(&mut encoder, rest)?;
            encoder.finish().map_err(io::Error::other)?;
        }
    }
    let envelope = Envelope {
        begins_chunk,
        in_columns: false,
        raw_len: piece_len(raw.len())?,
        packed_len: piece_len(out.len() - ENVELOPE_SIZE)?,
        header,
    };
    out[..ENVELOPE_SIZE].copy_from_slice(&envelope.to_bytes());
    Ok(out)
}

/// A chunk's header as a frame whose length does not depend on it: one block,
/// stored as it is. So a header that is written again takes the old one's place,
/// and unpacking the file as a whole always gives finished chunks.
pub(crate) fn header_frame(packing: Packing, header: &ChunkHeader) -> Vec<u8> {
    let bytes = header.to_bytes();
    let (before, after): (&[u8], &[u8]) = match packing {
        Packing::Plain => (&[], &[]),
        // Magic, single segment, length; last block, raw, its length in bits 3 to 23.
        Packing::Zstd => (&[0x28, 0xb5, 0x2f, 0xfd, 0x20, HEADER_SIZE as u8, 0x21, 0x02, 0x00], &[]),
        // Magic, version and independent blocks, 64 KB at most, checksum of these
        // two; a block that is stored, its length; no further block.
        Packing::Lz4 => (
            &[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, HEADER_SIZE as u8, 0x00, 0x00, 0x80],
            &[0x00, 0x00, 0x00, 0x00],
        ),
    };
    [before, &bytes[..], after].concat()
}

fn piece_len(len: usize) -> io::Result<u32> {
    if len > MAX_PIECE {
        return Err(io::Error::other(format!("a piece of {len} bytes is larger than {MAX_PIECE}")));
    }
    Ok(len as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may end like that
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
    fn a_header_is_a_frame_that_both_formats_know() {
        let header = ChunkHeader { size: 77, flags: 1, ..ChunkHeader::default() };
        let zstd = zstd::stream::decode_all(&header_frame(Packing::Zstd, &header)[..]).unwrap();
        let mut lz4 = Vec::new();
        let frame = header_frame(Packing::Lz4, &header);
        io::Read::read_to_end(&mut lz4_flex::frame::FrameDecoder::new(&frame[..]), &mut lz4).unwrap();
        assert_eq!((&zstd[..], &lz4[..]), (&header.to_bytes()[..], &header.to_bytes()[..]));
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
