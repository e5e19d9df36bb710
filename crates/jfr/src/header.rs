//! The 68 bytes in front of every chunk.

/// Size of a chunk header in bytes.
pub(crate) const HEADER_SIZE: usize = 68;
/// First bytes of every chunk.
pub(crate) const MAGIC: [u8; 4] = *b"FLR\0";
/// Flag: integers are variable-length.
pub(crate) const COMPRESSED_INTS: u16 = 1;

/// A chunk header. All numbers are big endian in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct ChunkHeader {
    /// Format version; readers know 1 and 2.
    pub(crate) major: u16,
    /// Minor format version.
    pub(crate) minor: u16,
    /// Size of the chunk in bytes, this header included; 0 while unknown.
    pub(crate) size: u64,
    /// Offset of the newest checkpoint event from the chunk's start.
    pub(crate) checkpoint: u64,
    /// Offset of the metadata event from the chunk's start.
    pub(crate) metadata: u64,
    /// The chunk's first moment, nanoseconds since the Unix epoch.
    pub(crate) start_nanos: u64,
    /// Length of time covered in nanoseconds.
    pub(crate) duration_nanos: u64,
    /// The chunk's first moment in ticks.
    pub(crate) start_ticks: u64,
    /// Ticks per second.
    pub(crate) frequency: u64,
    /// 0 when the chunk is finished, a generation number while it is written.
    pub(crate) state: u8,
    /// [`COMPRESSED_INTS`] and others.
    pub(crate) flags: u16,
}

impl ChunkHeader {
    /// The header's bytes.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0u8; HEADER_SIZE];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.major.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.minor.to_be_bytes());
        let words = [
            self.size,
            self.checkpoint,
            self.metadata,
            self.start_nanos,
            self.duration_nanos,
            self.start_ticks,
            self.frequency,
        ];
        for (i, word) in words.iter().enumerate() {
            bytes[8 + i * 8..16 + i * 8].copy_from_slice(&word.to_be_bytes());
        }
        bytes[64] = self.state;
        bytes[66..68].copy_from_slice(&self.flags.to_be_bytes());
        bytes
    }

    /// Reads a header; `None` if `bytes` are too few or no chunk begins here.
    pub(crate) fn parse(bytes: &[u8]) -> Option<ChunkHeader> {
        let bytes: &[u8; HEADER_SIZE] = bytes.get(..HEADER_SIZE)?.try_into().ok()?;
        if bytes[0..4] != MAGIC {
            return None;
        }
        let word = |at: usize| {
            let mut word = [0u8; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(word)
        };
        Some(ChunkHeader {
            major: u16::from_be_bytes([bytes[4], bytes[5]]),
            minor: u16::from_be_bytes([bytes[6], bytes[7]]),
            size: word(8),
            checkpoint: word(16),
            metadata: word(24),
            start_nanos: word(32),
            duration_nanos: word(40),
            start_ticks: word(48),
            frequency: word(56),
            state: bytes[64],
            flags: u16::from_be_bytes([bytes[66], bytes[67]]),
        })
    }

    /// True if integers are variable-length.
    pub(crate) fn compressed_ints(&self) -> bool {
        self.flags & COMPRESSED_INTS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_its_bytes() {
        let header = ChunkHeader {
            major: 2,
            minor: 1,
            size: 3,
            checkpoint: 4,
            metadata: 5,
            start_nanos: 6,
            duration_nanos: 7,
            start_ticks: 8,
            frequency: 9,
            state: 10,
            flags: 11,
        };
        assert_eq!(ChunkHeader::parse(&header.to_bytes()), Some(header));
        assert_eq!(ChunkHeader::parse(&header.to_bytes()[..67]), None);
    }
}
