//! What can be wrong with a recording.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Something that kept a part of a recording from being read. Reading goes on
/// behind it where that is possible.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be opened.
    Open(PathBuf, io::Error),
    /// The file has no bytes.
    Empty(PathBuf),
    /// The file is no JFR recording, packed or not.
    NotARecording(PathBuf),
    /// Reading failed at this offset.
    Read(u64, io::Error),
    /// A chunk of a JFR version that nobody knows, at this offset.
    Version(u64, u16, u16),
    /// The file ends in the middle of the chunk at this offset; what is there
    /// of it is read.
    CutShort(u64),
    /// The chunk at this offset was never finished by its maker; what is there
    /// of it is read.
    Unfinished(u64),
    /// Bytes from this offset on belong to no chunk: a write that was cut off.
    TrailingBytes(u64, u64),
    /// The packed piece at this offset is torn or damaged; the rest of its
    /// chunk is missing.
    TornPiece(u64),
    /// What this chunk (counted from 0) declares about its types is damaged or
    /// missing; the chunk is skipped.
    Metadata(usize),
    /// A part of this chunk's constants is damaged; names and stacks may be
    /// missing.
    Constants(usize),
    /// In this chunk, at this offset in it, the sequence of events is broken;
    /// the rest of the chunk is skipped.
    BrokenEvents(usize, u64),
    /// So many events of this chunk could not be understood and were skipped.
    Undecodable(usize, u64),
    /// This chunk is of another JVM (its process id) than the first (its own); it
    /// is skipped.
    OtherJvm(usize, u32, u32),
    /// A chunk is larger than what can be unpacked.
    TooLarge(u64),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Open(path, e) => write!(f, "cannot open {}: {e}", path.display()),
            Problem::Empty(path) => write!(f, "{} is empty", path.display()),
            Problem::NotARecording(path) => write!(f, "{} is not a JFR recording", path.display()),
            Problem::Read(offset, e) => write!(f, "cannot read on at byte {offset}: {e}"),
            Problem::Version(offset, major, minor) => {
                write!(f, "the chunk that begins at byte {offset} has the unknown JFR version {major}.{minor}")
            }
            Problem::CutShort(offset) => write!(f, "the file ends in the middle of the chunk at byte {offset}"),
            Problem::Unfinished(offset) => write!(f, "the chunk at byte {offset} was never finished"),
            Problem::TrailingBytes(offset, len) => {
                write!(f, "{len} bytes from byte {offset} on are the rest of a write that was cut off")
            }
            Problem::TornPiece(offset) => {
                write!(f, "the packed piece at byte {offset} is damaged; the rest of its chunk is missing")
            }
            Problem::Metadata(chunk) => write!(f, "chunk {chunk} does not say what its types are and was skipped"),
            Problem::Constants(chunk) => {
                write!(f, "some constants of chunk {chunk} are damaged; names or stacks may be missing")
            }
            Problem::BrokenEvents(chunk, at) => {
                write!(f, "chunk {chunk} is damaged at its byte {at}; the rest of it was skipped")
            }
            Problem::Undecodable(chunk, count) => {
                write!(f, "{count} events of chunk {chunk} could not be understood")
            }
            Problem::OtherJvm(chunk, other, first) => write!(
                f,
                "chunk {chunk} was recorded in another JVM (pid {other}, the first is pid {first}) and was left out; `jfr disassemble` makes one file of each chunk"
            ),
            Problem::TooLarge(offset) => write!(f, "the chunk at byte {offset} is too large to be unpacked"),
        }
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Problem::Open(_, e) | Problem::Read(_, e) => Some(e),
            _ => None,
        }
    }
}
