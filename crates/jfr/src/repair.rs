//! Unpacking and repairing recordings: whatever of a recording can be read
//! becomes complete chunks that the JDK's tools accept.

use crate::encode::Encoder;
use crate::header::{ChunkHeader, HEADER_SIZE};
use crate::packing::{self, Packing};
use crate::read::{Next, Problem, RawChunk, Schema, Source, Window};
use crate::write::{create_private, put_in_place, sibling};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a recording could not be repaired.
#[derive(Debug)]
#[non_exhaustive]
pub enum RepairError {
    /// The recording cannot be read at all.
    Input(Problem),
    /// Nothing in the recording can be saved.
    NothingLeft(PathBuf),
    /// The new file cannot be written.
    Output(PathBuf, io::Error),
}

impl fmt::Display for RepairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RepairError::Input(problem) => problem.fmt(f),
            RepairError::NothingLeft(path) => write!(f, "{} has no chunk that can be saved", path.display()),
            RepairError::Output(path, e) => write!(f, "cannot write {}: {e}", path.display()),
        }
    }
}

impl std::error::Error for RepairError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RepairError::Input(problem) => Some(problem),
            RepairError::Output(_, e) => Some(e),
            RepairError::NothingLeft(_) => None,
        }
    }
}

/// What a repair came to.
#[derive(Debug, Default)]
pub struct Repaired {
    /// Chunks written.
    pub chunks: u64,
    /// Length of the new file in bytes.
    pub bytes: u64,
    /// What was wrong with the recording; what it concerns is missing now.
    pub problems: Vec<Problem>,
}

/// Writes what can be read of `input` to `output`, which must not exist unless
/// it is a recording of Headway's. The name of `output` decides its packing;
/// with `.jfr` the result is a plain file that every JFR tool reads.
///
/// # Errors
/// See [`RepairError`]. Damage that leaves something to save is no error.
pub fn repair(input: &Path, output: &Path) -> Result<Repaired, RepairError> {
    let mut source = Source::open(input).map_err(RepairError::Input)?;
    let beside = sibling(output, "partial");
    let failed = |e| RepairError::Output(output.to_path_buf(), e);
    let file = create_private(&beside).map_err(failed)?;
    let mut output_file = Output { file, packing: Packing::of_name(output), repaired: Repaired::default() };
    let result = output_file
        .copy(&mut source)
        .and_then(|()| match output_file.repaired.chunks {
            0 => Ok(()),
            _ => put_in_place(&beside, output),
        })
        .map_err(failed);
    if result.is_err() || output_file.repaired.chunks == 0 {
        // What could not be finished is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    result?;
    match output_file.repaired.chunks {
        0 => Err(RepairError::NothingLeft(input.to_path_buf())),
        _ => Ok(output_file.repaired),
    }
}

/// [`repair`] for a recording that is known to be sound; gives the length.
pub(crate) fn convert(input: &Path, output: &Path) -> Result<u64, RepairError> {
    repair(input, output).map(|repaired| repaired.bytes)
}

struct Output {
    file: File,
    packing: Packing,
    repaired: Repaired,
}

/// Where a chunk's sound part ends and what a header must point to.
#[derive(Default)]
struct Sound {
    end: u64,
    metadata: Option<u64>,
    checkpoint: Option<u64>,
    /// True if it ends in a reserve.
    reserve: bool,
}

impl Sound {
    fn part_of(window: &mut Window) -> Sound {
        let mut sound = Sound { end: HEADER_SIZE as u64, ..Sound::default() };
        window.rewind();
        let mut reserve = None;
        while let Next::Event { at, ty, body } = window.next() {
            match ty {
                0 => {
                    sound.metadata = Some(at);
                    reserve = Schema::parse(body).and_then(|schema| schema.id_of("headway.Reserve"));
                }
                1 => sound.checkpoint = Some(at),
                // Room that a killed writer left; behind it there is nothing.
                _ if Some(ty) == reserve => {
                    sound.reserve = true;
                    break;
                }
                _ => {}
            }
            sound.end = window.pos();
        }
        sound
    }
}

impl Output {
    fn copy(&mut self, source: &mut Source) -> io::Result<()> {
        let mut problems = Vec::new();
        let mut number = 0;
        while let Some(chunk) = source.next_chunk(&mut problems) {
            self.chunk(chunk, number, &mut problems)?;
            number += 1;
        }
        self.repaired.problems = problems;
        Ok(())
    }

    fn chunk(&mut self, raw: RawChunk, number: usize, problems: &mut Vec<Problem>) -> io::Result<()> {
        let mut header = raw.header;
        let body_len = header.size;
        let mut window = Window::new(raw.body, &header);
        let sound = Sound::part_of(&mut window);
        let Some(metadata) = sound.metadata else {
            problems.push(Problem::Metadata(number));
            return Ok(());
        };
        let mut tail = Vec::new();
        if sound.checkpoint.is_none() {
            tail = empty_checkpoint(&header);
        }
        if sound.end < body_len && body_len >= HEADER_SIZE as u64 && !sound.reserve {
            problems.push(Problem::BrokenEvents(number, sound.end));
        }
        header.size = sound.end + tail.len() as u64;
        // Offsets that are sound stay: a maker may have written the newest
        // metadata somewhere else than last.
        if header.metadata == 0 || header.metadata >= sound.end || sound.end < body_len {
            header.metadata = metadata;
        }
        header.checkpoint = sound.checkpoint.unwrap_or(sound.end);
        header.state = 0;
        self.put(header, &window, sound.end, &tail)?;
        self.repaired.chunks += 1;
        Ok(())
    }

    fn put(&mut self, header: ChunkHeader, window: &Window, end: u64, tail: &[u8]) -> io::Result<()> {
        let mut begins_chunk = true;
        let (file, packing, written) = (&mut self.file, self.packing, &mut self.repaired.bytes);
        let mut emit = |bytes: &[u8]| {
            let packed = match packing {
                Packing::Plain => None,
                packing => Some(packing::pack(packing, begins_chunk, header, bytes)?),
            };
            begins_chunk = false;
            let bytes = packed.as_deref().unwrap_or(bytes);
            *written += bytes.len() as u64;
            file.write_all(bytes)
        };
        let mut first = Some(header.to_bytes());
        window.copy(HEADER_SIZE as u64, end, &mut |bytes| match first.take() {
            // The header belongs into the first piece of a packed chunk.
            Some(header) => emit(&[&header[..], bytes].concat()),
            None => emit(bytes),
        })?;
        if !tail.is_empty() {
            emit(tail)?;
        }
        Ok(())
    }
}

/// A checkpoint without constants, for chunks that dropped theirs.
fn empty_checkpoint(header: &ChunkHeader) -> Vec<u8> {
    if !header.compressed_ints() {
        // size, type, start, duration, distance, kind, count
        let mut bytes = 41u32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&1u64.to_be_bytes());
        bytes.extend_from_slice(&[0; 24]);
        bytes.push(1);
        bytes.extend_from_slice(&0u32.to_be_bytes());
        return bytes;
    }
    let mut encoder = Encoder::default();
    encoder.event(|e| e.bytes.extend_from_slice(&[1, 0, 0, 0, 1, 0]));
    encoder.bytes
}
