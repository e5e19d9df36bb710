//! The chunks of a file: plain, packed by us, or packed by anybody else.

use super::problem::Problem;
use super::window::Body;
use crate::columns;
use crate::header::{ChunkHeader, HEADER_SIZE, MAGIC};
use crate::packing::{Envelope, ENVELOPE_MAGIC, ENVELOPE_SIZE, MAX_PIECE, SKIPPABLE};
use crate::write::create_private;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Chunks up to this size are held in memory; larger ones are read through a
/// window, from the file itself or from an unlinked temporary file.
const IN_MEMORY: u64 = 64 << 20;
/// A packed chunk is not unpacked beyond this.
const MAX_UNPACKED: u64 = 8 << 30;

/// A chunk as the file has it. The header is as good as it is known; `body`
/// may end in the middle of an event.
pub(crate) struct RawChunk {
    pub(crate) header: ChunkHeader,
    pub(crate) body: Body,
}

/// See the module's description.
pub(crate) enum Source {
    Plain(PlainFile),
    Pieces(Pieces),
    Stream(Stream),
}

impl Source {
    /// Opens a file and finds out what it is, by its first bytes.
    pub(crate) fn open(path: &Path) -> Result<Source, Problem> {
        let failed = |e| Problem::Open(path.to_path_buf(), e);
        let mut file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut start = Vec::new();
        (&mut file).take(12).read_to_end(&mut start).map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        if start.is_empty() {
            return Err(Problem::Empty(path.to_path_buf()));
        }
        let reader = BufReader::with_capacity(1 << 20, file);
        let packed = reader.get_ref().try_clone().map_err(failed)?;
        let path_buf = path.to_path_buf();
        let stream = |inner| Ok(Source::Stream(Stream { inner, packed, offset: 0, ended: false, path: path_buf }));
        match start.as_slice() {
            [b'F', b'L', b'R', 0, ..] => Ok(Source::Plain(PlainFile { file: reader.into_inner(), offset: 0, len })),
            s if s.starts_with(&SKIPPABLE) && s.get(8..12) == Some(&ENVELOPE_MAGIC) => {
                Ok(Source::Pieces(Pieces { reader, offset: 0, pending: None }))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                stream(Box::new(zstd::stream::read::Decoder::with_buffer(reader).map_err(failed)?))
            }
            [0x04, 0x22, 0x4d, 0x18, ..] => stream(Box::new(lz4_flex::frame::FrameDecoder::new(reader))),
            #[cfg(feature = "gzip")]
            [0x1f, 0x8b, ..] => stream(Box::new(flate2::bufread::MultiGzDecoder::new(reader))),
            _ => Err(Problem::NotARecording(path.to_path_buf())),
        }
    }

    /// How many bytes of the file the chunks so far take.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Source::Plain(plain) => plain.offset,
            Source::Pieces(pieces) => pieces.offset,
            // Where the file itself is read: a little further than what was unpacked.
            Source::Stream(stream) => (&stream.packed).stream_position().unwrap_or(0),
        }
    }

    /// Passes over whole chunks, until what is left has `most` bytes (unpacked) or is one chunk; how many
    /// bytes of the file that were. A recording that was packed as a whole is read from its beginning.
    pub(crate) fn skip_to_last(&mut self, most: u64) -> u64 {
        match self {
            Source::Plain(plain) => plain.skip_to_last(most),
            Source::Pieces(pieces) => pieces.skip_to_last(most),
            Source::Stream(_) => 0,
        }
    }

    /// The next chunk; what was wrong on the way goes to `problems`.
    pub(crate) fn next_chunk(&mut self, problems: &mut Vec<Problem>) -> Option<RawChunk> {
        match self {
            Source::Plain(plain) => plain.next_chunk(problems),
            Source::Pieces(pieces) => pieces.next_chunk(problems),
            Source::Stream(stream) => stream.next_chunk(problems),
        }
    }
}

/// Says what is wrong with a chunk's header, if anything is.
fn version_problem(header: &ChunkHeader, offset: u64) -> Option<Problem> {
    (!matches!(header.major, 1 | 2)).then_some(Problem::Version(offset, header.major, header.minor))
}

/// A file of chunks one after the other.
pub(crate) struct PlainFile {
    file: File,
    offset: u64,
    len: u64,
}

impl PlainFile {
    fn skip_to_last(&mut self, most: u64) -> u64 {
        let begin = self.offset;
        let mut bytes = [0u8; HEADER_SIZE];
        while self.len - self.offset > most && self.file.read_exact_at(&mut bytes, self.offset).is_ok() {
            let Some(header) = ChunkHeader::parse(&bytes) else { break };
            let next = self.offset.saturating_add(header.size);
            if header.size < HEADER_SIZE as u64 || next >= self.len {
                break;
            }
            self.offset = next;
        }
        self.offset - begin
    }

    fn next_chunk(&mut self, problems: &mut Vec<Problem>) -> Option<RawChunk> {
        let offset = self.offset;
        let left = self.len.saturating_sub(offset);
        if left == 0 {
            return None;
        }
        // Whatever happens below, the next call must not come here again.
        self.offset = self.len;
        let mut bytes = [0u8; HEADER_SIZE];
        let have = left.min(HEADER_SIZE as u64) as usize;
        if let Err(error) = self.file.read_exact_at(&mut bytes[..have], offset) {
            problems.push(Problem::Read(offset, error));
            return None;
        }
        let Some(header) = ChunkHeader::parse(&bytes[..have]) else {
            let begun = bytes[..have.min(4)] == MAGIC[..have.min(4)];
            problems.push(if begun { Problem::CutShort(offset) } else { Problem::TrailingBytes(offset, left) });
            return None;
        };
        if let Some(problem) = version_problem(&header, offset) {
            problems.push(problem);
            return None;
        }
        let len = match header.size {
            size if size < HEADER_SIZE as u64 => {
                problems.push(Problem::Unfinished(offset));
                left
            }
            size if size > left => {
                problems.push(Problem::CutShort(offset));
                left
            }
            size => size,
        };
        self.offset = offset + len;
        match self.body(offset, len) {
            Ok(body) => Some(RawChunk { header, body }),
            Err(error) => {
                problems.push(Problem::Read(offset, error));
                None
            }
        }
    }

    fn body(&self, start: u64, len: u64) -> io::Result<Body> {
        if len > IN_MEMORY {
            return Ok(Body::File { file: self.file.try_clone()?, start, len });
        }
        let mut bytes = vec![0u8; len as usize];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(Body::Memory(bytes))
    }
}

/// A chunk that is being unpacked: in memory, then in a file without a name.
#[derive(Default)]
struct Unpacked {
    memory: Vec<u8>,
    spilled: Option<File>,
    len: u64,
}

impl Unpacked {
    fn into_body(self) -> Body {
        match self.spilled {
            None => Body::Memory(self.memory),
            Some(file) => Body::File { file, start: 0, len: self.len },
        }
    }

    fn spill(&mut self) -> io::Result<&mut File> {
        let name = format!("headway-unpack-{}-{:p}", std::process::id(), self.memory.as_ptr());
        let path = std::env::temp_dir().join(name);
        let mut file = create_private(&path)?;
        std::fs::remove_file(&path)?;
        file.write_all(&self.memory)?;
        self.memory = Vec::new();
        Ok(self.spilled.insert(file))
    }
}

impl Write for Unpacked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.len += bytes.len() as u64;
        if self.len > MAX_UNPACKED {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        match &mut self.spilled {
            Some(file) => file.write_all(bytes)?,
            None if self.len <= IN_MEMORY => self.memory.extend_from_slice(bytes),
            None => self.spill()?.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file of packed pieces with envelopes, as our writer makes it.
pub(crate) struct Pieces {
    reader: BufReader<File>,
    offset: u64,
    /// The first piece of the next chunk, read while looking for the end of
    /// the previous one.
    pending: Option<(Envelope, Vec<u8>)>,
}

impl Pieces {
    fn skip_to_last(&mut self, most: u64) -> u64 {
        let begin = self.offset;
        let mut chunks: Vec<(u64, u64)> = Vec::new();
        let mut at = begin;
        let mut bytes = [0u8; ENVELOPE_SIZE];
        while self.reader.get_ref().read_exact_at(&mut bytes, at).is_ok() {
            let Some(envelope) = Envelope::parse(&bytes) else { break };
            if envelope.begins_chunk {
                chunks.push((at, 0));
            }
            if let Some((_, len)) = chunks.last_mut() {
                *len += u64::from(envelope.raw_len);
            }
            at += ENVELOPE_SIZE as u64 + u64::from(envelope.packed_len);
        }
        let mut left = most;
        let fits = |&&(_, len): &&(u64, u64)| {
            let fits = len <= left;
            left = left.saturating_sub(len);
            fits
        };
        let last = chunks.iter().rev().take_while(fits).last().or(chunks.last());
        let Some(&(first, _)) = last.filter(|(first, _)| *first > begin) else { return 0 };
        if self.reader.seek(SeekFrom::Start(first)).is_err() {
            return 0;
        }
        self.offset = first;
        first - begin
    }

    fn next_chunk(&mut self, problems: &mut Vec<Problem>) -> Option<RawChunk> {
        let (envelope, raw) = match self.pending.take() {
            Some(first) => first,
            None => self.first_piece(problems)?,
        };
        let mut header = envelope.header;
        let begin = self.offset;
        let mut unpacked = Unpacked::default();
        let mut raw = Some(raw);
        loop {
            if let Some(raw) = raw.take() {
                if let Err(error) = unpacked.write_all(&raw) {
                    problems.push(match error.kind() {
                        io::ErrorKind::FileTooLarge => Problem::TooLarge(begin),
                        _ => Problem::Read(begin, error),
                    });
                    return None;
                }
            }
            match self.piece(problems) {
                Some((next, bytes)) if !next.begins_chunk => {
                    header = next.header;
                    raw = Some(bytes);
                }
                other => {
                    self.pending = other;
                    break;
                }
            }
        }
        header.size = unpacked.len;
        if let Some(problem) = version_problem(&header, begin) {
            problems.push(problem);
            return None;
        }
        Some(RawChunk { header, body: unpacked.into_body() })
    }

    /// The next piece that begins a chunk, so past the rest of a damaged one.
    fn first_piece(&mut self, problems: &mut Vec<Problem>) -> Option<(Envelope, Vec<u8>)> {
        loop {
            let envelope = self.envelope(problems)?;
            if envelope.begins_chunk {
                if let Some(raw) = self.contents(&envelope, problems) {
                    return Some((envelope, raw));
                }
            } else if !self.skip(&envelope, problems) {
                return None;
            }
        }
    }

    fn piece(&mut self, problems: &mut Vec<Problem>) -> Option<(Envelope, Vec<u8>)> {
        let envelope = self.envelope(problems)?;
        let raw = self.contents(&envelope, problems)?;
        Some((envelope, raw))
    }

    fn envelope(&mut self, problems: &mut Vec<Problem>) -> Option<Envelope> {
        let mut bytes = Vec::with_capacity(ENVELOPE_SIZE);
        if let Err(error) = (&mut self.reader).take(ENVELOPE_SIZE as u64).read_to_end(&mut bytes) {
            problems.push(Problem::Read(self.offset, error));
            return None;
        }
        if bytes.is_empty() {
            return None;
        }
        let envelope = <&[u8; ENVELOPE_SIZE]>::try_from(bytes.as_slice()).ok().and_then(Envelope::parse);
        if envelope.is_none() {
            problems.push(Problem::TornPiece(self.offset));
            self.end();
        }
        envelope
    }

    /// Behind bytes that are no envelope nothing can be found again.
    fn end(&mut self) {
        // A failure to seek ends the reading at the next read as well.
        let _ = self.reader.seek(SeekFrom::End(0));
    }

    fn skip(&mut self, envelope: &Envelope, problems: &mut Vec<Problem>) -> bool {
        let len = u64::from(envelope.packed_len);
        match io::copy(&mut (&mut self.reader).take(len), &mut io::sink()) {
            Ok(skipped) if skipped == len => {
                self.offset += ENVELOPE_SIZE as u64 + len;
                true
            }
            Ok(_) => {
                problems.push(Problem::TornPiece(self.offset));
                false
            }
            Err(error) => {
                problems.push(Problem::Read(self.offset, error));
                false
            }
        }
    }

    fn contents(&mut self, envelope: &Envelope, problems: &mut Vec<Problem>) -> Option<Vec<u8>> {
        let mut packed = Vec::new();
        let len = u64::from(envelope.packed_len);
        let read = (&mut self.reader).take(len).read_to_end(&mut packed);
        let raw = match read {
            Ok(have) if have as u64 == len => unpack(&packed, envelope).ok(),
            Ok(_) => None,
            Err(error) => {
                problems.push(Problem::Read(self.offset, error));
                return None;
            }
        };
        if raw.is_none() {
            problems.push(Problem::TornPiece(self.offset));
        }
        self.offset += ENVELOPE_SIZE as u64 + len;
        raw
    }
}

/// Unpacks a piece. Memory grows with what is really there.
fn unpack(packed: &[u8], envelope: &Envelope) -> io::Result<Vec<u8>> {
    let raw_len = envelope.raw_len as usize;
    if raw_len > MAX_PIECE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // Columns take more than the events only where these are few.
    let limit = raw_len as u64 * if envelope.in_columns { 2 } else { 1 } + (64 << 10);
    let mut raw = Vec::with_capacity(raw_len.min(packed.len().saturating_mul(16)));
    if packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        zstd::stream::read::Decoder::with_buffer(packed)?.take(limit).read_to_end(&mut raw)?;
    } else {
        unpack_lz4(packed, limit, &mut raw)?;
    }
    if envelope.in_columns {
        raw = columns::from_columns(&raw, raw_len).ok_or(io::ErrorKind::InvalidData)?;
    }
    if raw.len() != raw_len {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(raw)
}

/// Unpacks LZ4 frames one after the other.
fn unpack_lz4(packed: &[u8], limit: u64, raw: &mut Vec<u8>) -> io::Result<()> {
    let mut rest = packed;
    while !rest.is_empty() {
        let left = limit.saturating_sub(raw.len() as u64);
        lz4_flex::frame::FrameDecoder::new(&mut rest).take(left).read_to_end(raw)?;
        if raw.len() as u64 >= limit {
            break;
        }
    }
    Ok(())
}

/// A plain recording that somebody packed as a whole.
pub(crate) struct Stream {
    inner: Box<dyn Read + Send>,
    /// The file that `inner` reads, with the same place in it.
    packed: File,
    /// How much was unpacked.
    offset: u64,
    ended: bool,
    path: std::path::PathBuf,
}

impl Stream {
    fn next_chunk(&mut self, problems: &mut Vec<Problem>) -> Option<RawChunk> {
        if self.ended {
            return None;
        }
        let mut bytes = Vec::new();
        let damaged = (&mut self.inner).take(HEADER_SIZE as u64).read_to_end(&mut bytes).is_err();
        let offset = self.offset;
        if bytes.is_empty() && !damaged && offset > 0 {
            return None;
        }
        let Some(header) = ChunkHeader::parse(&bytes) else {
            self.ended = true;
            problems.push(match (offset, damaged) {
                (0, _) => Problem::NotARecording(self.path.clone()),
                (_, true) => Problem::TornPiece(offset),
                _ => Problem::TrailingBytes(offset, bytes.len() as u64),
            });
            return None;
        };
        if let Some(problem) = version_problem(&header, offset) {
            self.ended = true;
            problems.push(problem);
            return None;
        }
        self.rest_of_chunk(header, &bytes, problems)
    }

    fn rest_of_chunk(&mut self, header: ChunkHeader, start: &[u8], problems: &mut Vec<Problem>) -> Option<RawChunk> {
        let known = header.size >= HEADER_SIZE as u64;
        let rest = if known { header.size - HEADER_SIZE as u64 } else { MAX_UNPACKED };
        let mut unpacked = Unpacked::default();
        let copied = unpacked
            .write_all(start)
            .and_then(|()| io::copy(&mut (&mut self.inner).take(rest), &mut unpacked).map(|_| ()));
        if copied.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::FileTooLarge) {
            self.ended = true;
            problems.push(Problem::TooLarge(self.offset));
            return None;
        }
        if !known {
            problems.push(Problem::Unfinished(self.offset));
            self.ended = true;
        } else if unpacked.len < header.size {
            problems.push(Problem::CutShort(self.offset));
            self.ended = true;
        }
        self.offset += unpacked.len;
        Some(RawChunk { header, body: unpacked.into_body() })
    }
}
