//! The file of a recording that is being written.
//!
//! After every [`RecordingFile::append`] the file is complete: its last chunk's
//! header is in finished state and covers everything. A failed append leaves
//! it as it was.

use crate::header::{ChunkHeader, HEADER_SIZE, MAGIC};
use crate::packing::{self, Packing, ENVELOPE_MAGIC};
use headway_model::TimeNs;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a chunk lies in the file and which time it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSpan {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) end: TimeNs,
}

/// See the module's description.
pub(crate) struct RecordingFile {
    path: PathBuf,
    file: File,
    packing: Packing,
    /// Length up to which the file is complete.
    len: u64,
    /// Chunks, oldest first; the last one may still grow.
    chunks: VecDeque<ChunkSpan>,
}

impl RecordingFile {
    /// Creates the file, readable by its owner only. An existing file is
    /// replaced only if it is an earlier recording of Headway's or empty.
    pub(crate) fn create(path: &Path) -> io::Result<RecordingFile> {
        make_way(path)?;
        let file = create_private(path)?;
        let packing = Packing::of_name(path);
        Ok(RecordingFile { path: path.to_path_buf(), file, packing, len: 0, chunks: VecDeque::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Appends to the current chunk, or begins a new one. `raw` begins with
    /// room for the chunk's header exactly if `begins_chunk`; `header` is the
    /// chunk's header with `raw` counted in.
    pub(crate) fn append(
        &mut self,
        header: ChunkHeader,
        begins_chunk: bool,
        raw: &mut [u8],
        now: TimeNs,
    ) -> io::Result<()> {
        if begins_chunk {
            raw[..HEADER_SIZE].copy_from_slice(&header.to_bytes());
        }
        let written = match self.packing {
            Packing::Plain => self.append_plain(header, begins_chunk, raw),
            packing => packing::pack(packing, begins_chunk, header, raw).and_then(|piece| self.write_at_end(&piece)),
        };
        match written {
            Ok(len) => {
                self.grew(len, begins_chunk, now);
                Ok(())
            }
            Err(error) => {
                // Nothing more can be done if this fails as well: readers skip
                // what lies behind the last complete chunk.
                let _ = self.file.set_len(self.len);
                Err(error)
            }
        }
    }

    fn append_plain(&mut self, header: ChunkHeader, begins_chunk: bool, raw: &[u8]) -> io::Result<u64> {
        let len = self.write_at_end(raw)?;
        if let (false, Some(chunk)) = (begins_chunk, self.chunks.back()) {
            self.file.write_all_at(&header.to_bytes(), chunk.offset)?;
        }
        Ok(len)
    }

    fn write_at_end(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.file.write_all_at(bytes, self.len)?;
        Ok(bytes.len() as u64)
    }

    fn grew(&mut self, len: u64, begins_chunk: bool, now: TimeNs) {
        if begins_chunk {
            self.chunks.push_back(ChunkSpan { offset: self.len, len: 0, end: now });
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.len += len;
            chunk.end = now;
        }
        self.len += len;
    }

    /// Offset of the oldest chunk to keep so that at most `max_size` bytes
    /// remain and nothing ended before `since`; the newest chunk always stays.
    fn keep_from(&self, max_size: Option<u64>, since: TimeNs) -> u64 {
        let too_old = |chunk: &&ChunkSpan| {
            let too_much = max_size.is_some_and(|max| self.len - chunk.offset > max);
            too_much || chunk.end < since
        };
        let newest = self.chunks.back().map_or(0, |chunk| chunk.offset);
        self.chunks.iter().find(|chunk| !too_old(chunk)).map_or(newest, |chunk| chunk.offset)
    }

    /// Drops the oldest chunks where the limits ask for it. Called between two
    /// chunks, `room` being what the next one may need.
    ///
    /// Dropping means to copy what stays into a new file that takes this one's
    /// place. So that each byte is copied once or so, half the file goes at a
    /// time.
    pub(crate) fn trim(&mut self, max_size: Option<u64>, room: u64, since: TimeNs) -> io::Result<()> {
        let full = max_size.is_some_and(|max| self.len.saturating_add(room) > max);
        let keep_from = self.keep_from(max_size.filter(|_| full).map(|max| max / 2), since);
        if keep_from == 0 || (!full && keep_from < self.len / 2) {
            return Ok(());
        }
        self.drop_before(keep_from).or_else(|_| self.drop_in_place(keep_from))
    }

    fn drop_before(&mut self, offset: u64) -> io::Result<()> {
        let beside = sibling(&self.path, "rotating");
        let copied = create_private(&beside).and_then(|file| {
            copy_range(&self.file, offset, self.len, &file)?;
            fs::rename(&beside, &self.path)?;
            Ok(file)
        });
        match copied {
            Ok(file) => {
                self.file = file;
                self.dropped(offset);
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&beside);
                Err(error)
            }
        }
    }

    /// Where there is no room for a copy, moves what stays to the front. A
    /// process killed right here leaves a damaged file, one that may not grow
    /// any more would lose every further event.
    fn drop_in_place(&mut self, offset: u64) -> io::Result<()> {
        let mut buffer = vec![0u8; 1 << 20];
        let mut from = offset;
        while from < self.len {
            let want = buffer.len().min((self.len - from) as usize);
            self.file.read_exact_at(&mut buffer[..want], from)?;
            self.file.write_all_at(&buffer[..want], from - offset)?;
            from += want as u64;
        }
        self.file.set_len(self.len - offset)?;
        self.dropped(offset);
        Ok(())
    }

    fn dropped(&mut self, offset: u64) {
        self.len -= offset;
        self.chunks.retain(|chunk| chunk.offset >= offset);
        for chunk in &mut self.chunks {
            chunk.offset -= offset;
        }
    }

    /// Copies the newest chunks into a new file in the same packing and gives
    /// the file's length.
    pub(crate) fn copy_to(&self, to: &Path, max_size: Option<u64>, since: TimeNs) -> io::Result<u64> {
        let from = self.keep_from(max_size, since);
        let beside = sibling(to, "partial");
        let copied = create_private(&beside).and_then(|file| copy_range(&self.file, from, self.len, &file));
        let renamed = copied.and_then(|()| put_in_place(&beside, to));
        if renamed.is_err() {
            let _ = fs::remove_file(&beside);
        }
        renamed.map(|()| self.len - from)
    }

    /// How this file is packed.
    pub(crate) fn packing(&self) -> Packing {
        self.packing
    }
}

/// Gives a finished file its name, replacing only what may be replaced.
pub(crate) fn put_in_place(beside: &Path, to: &Path) -> io::Result<()> {
    make_way(to)?;
    fs::rename(beside, to)
}

/// A new file for the owner's eyes. Never follows a link: it must not exist.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// A hidden name beside `path`, different for each process.
pub(crate) fn sibling(path: &Path, purpose: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{purpose}", std::process::id()))
}

fn copy_range(from: &File, start: u64, end: u64, mut to: &File) -> io::Result<()> {
    let mut from = from;
    from.seek(SeekFrom::Start(start))?;
    let copied = io::copy(&mut from.take(end - start), &mut to)?;
    if copied != end - start {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the recording became shorter while it was copied"));
    }
    Ok(())
}

/// Removes an earlier recording at `path`; anything else there is an error.
fn make_way(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !there.is_file() || !(there.len() == 0 || is_recording_of_ours(path)?) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "something that is not a recording of Headway's is there already",
        ));
    }
    fs::remove_file(path)
}

/// Looks at a file's first bytes: our type names stand near the front of
/// each chunk.
fn is_recording_of_ours(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(64 << 10).read_to_end(&mut start)?;
    let mentions = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
    Ok((start.starts_with(&MAGIC) && mentions(b"headway.Recording"))
        || (start.starts_with(&packing::SKIPPABLE) && start.get(8..12) == Some(&ENVELOPE_MAGIC)))
}
