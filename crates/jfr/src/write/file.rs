//! The file of a recording that is being written.
//!
//! After every [`RecordingFile::append`] the file is complete: its last chunk's
//! header is in finished state and covers everything. A failed append leaves
//! it as it was.
//!
//! A plain file is complete *while* it is appended to as well, because a process
//! may be killed right then and other tools refuse bytes that no header covers.
//! Therefore the open chunk ends in a reserve: one event, `headway.Reserve`, that
//! covers room for what comes next. New bytes are written into that room, where
//! they mean nothing, together with the head of the smaller reserve that
//! follows them; writing the first few of them last makes them events. A chunk
//! that begins is likewise written into a reserve of the one before it. Only
//! growing the reserve and taking it away take two or three system calls
//! between which the file is not complete.

use crate::header::{ChunkHeader, HEADER_SIZE, MAGIC};
use crate::packing::{self, Packing, ENVELOPE_MAGIC};
use crate::schema::id;
use crate::write::place::{self, create_private, put_in_place, IfTaken};
use headway_model::TimeNs;
use rustix::fs::{fallocate, FallocateFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where a chunk lies in the file and which time it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSpan {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) end: TimeNs,
    /// How many events it has.
    pub(crate) events: u64,
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
    /// How much room a plain chunk reserves at a time.
    reserve: u64,
    /// Header of the last plain chunk, without the reserve.
    last: Option<ChunkHeader>,
    /// Bytes of the reserve behind `len`.
    reserved: u64,
    /// True if the file system can cut blocks out of a file's front.
    can_collapse: bool,
}

/// Length of the head of a reserve: size in four bytes, type, time.
const RESERVE_HEAD: usize = 6;
/// A write of this many bytes is not torn by a signal.
const ATOMIC: usize = 8;

/// What files are cut at.
const BLOCK: u64 = 4096;

/// An empty file has no block to cut out, which is another error than not being able to.
fn can_collapse(empty: &File) -> bool {
    fallocate(empty, FallocateFlags::COLLAPSE_RANGE, 0, BLOCK) == Err(Errno::INVAL)
}

fn reserve_head(size: u64) -> [u8; RESERVE_HEAD] {
    let seven = |shift: u32| (size >> shift) as u8 & 0x7f;
    [seven(0) | 0x80, seven(7) | 0x80, seven(14) | 0x80, seven(21), id::RESERVE, 0]
}

impl RecordingFile {
    /// Creates the file, readable by its owner only, under this name or another one
    /// if it is taken.
    pub(crate) fn create(path: &Path, if_taken: IfTaken, reserve: u64) -> io::Result<RecordingFile> {
        let (path, file) = place::create_file(path, if_taken)?;
        let packing = Packing::of_name(&path);
        let can_collapse = packing == Packing::Plain && can_collapse(&file);
        Ok(RecordingFile {
            path,
            file,
            packing,
            len: 0,
            chunks: VecDeque::new(),
            reserve,
            last: None,
            reserved: 0,
            can_collapse,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// True if this is the file that its path leads to.
    pub(crate) fn is_in_place(&self) -> bool {
        place::is_same(&self.file, &self.path)
    }

    /// True if a path leads to this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        place::is_same(&self.file, path)
    }

    /// Makes sure that the sealed file has a name, and gives it.
    pub(crate) fn settle(&mut self) -> io::Result<&Path> {
        if !self.is_in_place() {
            let content = |new: &File| copy_range(&self.file, 0, self.len, new);
            self.path = place::found_or_saved(&self.file, &self.path, content)?;
        }
        Ok(&self.path)
    }

    /// Appends two parts to the current chunk, or begins a new one. The first
    /// part begins with room for the chunk's header exactly if `begins_chunk`;
    /// `header` is the chunk's header with both parts counted in.
    pub(crate) fn append(
        &mut self,
        header: ChunkHeader,
        begins_chunk: bool,
        parts: [&mut [u8]; 2],
        now: TimeNs,
    ) -> io::Result<()> {
        let [head, events] = parts;
        if begins_chunk {
            head[..HEADER_SIZE].copy_from_slice(&header.to_bytes());
        }
        let written = match self.packing {
            Packing::Plain => self.append_plain(header, begins_chunk, head, events),
            packing => self.append_packed(packing, header, begins_chunk, &[head, events].concat()),
        };
        match written {
            Ok(len) => {
                self.grew(len, begins_chunk, now);
                Ok(())
            }
            Err(error) => {
                // Nothing more can be done if this fails as well: readers skip
                // what lies behind the last complete chunk.
                let _ = match self.packing {
                    Packing::Plain => self.seal(),
                    _ => self.file.set_len(self.len),
                };
                Err(error)
            }
        }
    }

    /// Appends a piece, then brings the header in the chunk's first piece up to
    /// date. A process killed between these two leaves a piece that no header
    /// covers, which only Headway reads.
    fn append_packed(
        &mut self,
        packing: Packing,
        header: ChunkHeader,
        begins_chunk: bool,
        raw: &[u8],
    ) -> io::Result<u64> {
        let len = self.write_at_end(&packing::pack(packing, begins_chunk, header, raw)?)?;
        if let Some(chunk) = self.chunks.back().filter(|_| !begins_chunk) {
            let frame = packing::header_frame(packing, &header);
            self.file.write_all_at(&frame, chunk.offset + packing::ENVELOPE_SIZE as u64)?;
        }
        Ok(len)
    }

    /// Writes into the reserve.
    fn append_plain(&mut self, header: ChunkHeader, begins_chunk: bool, head: &[u8], events: &[u8]) -> io::Result<u64> {
        let need = (head.len() + events.len()) as u64;
        let before = self.chunks.back().copied().zip(self.last);
        if self.reserved < need + RESERVE_HEAD as u64 {
            let least = need + RESERVE_HEAD as u64;
            // Near a limit on the file's size there is room for less.
            self.grow_reserve(before, need + self.reserve.max(RESERVE_HEAD as u64))
                .or_else(|_| self.grow_reserve(before, least))?;
        }
        // The reserve's rest is the new chunk's, if there is one.
        let left = self.reserved - need;
        let covering = ChunkHeader { size: header.size + left, ..header }.to_bytes();
        let (begin, head) = head.split_at(if begins_chunk { HEADER_SIZE } else { 0 });
        let begin = if begins_chunk { &covering } else { begin };
        self.fill_reserve([begin, head, events, &reserve_head(left)], need)?;
        if let Some((chunk, before)) = before {
            let its_header = if begins_chunk { before.to_bytes() } else { covering };
            self.file.write_all_at(&its_header, chunk.offset)?;
        }
        self.last = Some(header);
        self.reserved = left;
        Ok(need)
    }

    /// Writes parts, of which `need` bytes are more than a new reserve, over the
    /// reserve's begin, their first bytes last. Megabytes of events are not copied
    /// once more for the sake of one call.
    fn fill_reserve(&self, parts: [&[u8]; 4], need: u64) -> io::Result<()> {
        let mut wanted = if need > ATOMIC as u64 { ATOMIC } else { 0 };
        let mut first = Vec::with_capacity(ATOMIC);
        let mut at = self.len;
        for part in parts {
            let (shown, hidden) = part.split_at(wanted.min(part.len()));
            wanted -= shown.len();
            first.extend_from_slice(shown);
            self.file.write_all_at(hidden, at + shown.len() as u64)?;
            at += part.len() as u64;
        }
        self.file.write_all_at(&first, self.len)
    }

    /// Makes the last chunk, whose header without reserve is given, end in a reserve
    /// of `size` bytes; a file without chunks begins with that much room.
    fn grow_reserve(&mut self, last: Option<(ChunkSpan, ChunkHeader)>, size: u64) -> io::Result<()> {
        self.file.set_len(self.len + size)?;
        if let Some((chunk, header)) = last {
            self.file.write_all_at(&reserve_head(size), self.len)?;
            let header = ChunkHeader { size: header.size + size, ..header };
            self.file.write_all_at(&header.to_bytes(), chunk.offset)?;
        }
        self.reserved = size;
        Ok(())
    }

    /// Makes the file end where its events end.
    pub(crate) fn seal(&mut self) -> io::Result<()> {
        if let (Some(header), Some(chunk)) = (self.last, self.chunks.back()) {
            self.file.write_all_at(&header.to_bytes(), chunk.offset)?;
        }
        self.reserved = 0;
        self.file.set_len(self.len)
    }

    fn write_at_end(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.file.write_all_at(bytes, self.len)?;
        Ok(bytes.len() as u64)
    }

    fn grew(&mut self, len: u64, begins_chunk: bool, now: TimeNs) {
        if begins_chunk {
            self.chunks.push_back(ChunkSpan { offset: self.len, len: 0, end: now, events: 0 });
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.len += len;
            chunk.end = now;
        }
        self.len += len;
    }

    /// Counts events that were appended to the last chunk.
    pub(crate) fn count(&mut self, events: u64) {
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.events += events;
        }
    }

    /// How many events are gone because something else made the file shorter; then it is
    /// empty, and the next append must begin a chunk. `None` if all of it is there.
    ///
    /// # Errors
    /// That of emptying it.
    pub(crate) fn empty_if_truncated(&mut self) -> io::Result<Option<u64>> {
        // What cannot be seen now shows when the file is written.
        let is_whole = self.file.metadata().map_or(true, |now| now.len() >= self.len + self.reserved);
        if is_whole {
            return Ok(None);
        }
        self.file.set_len(0)?;
        self.len = 0;
        self.reserved = 0;
        self.last = None;
        Ok(Some(self.chunks.drain(..).map(|chunk| chunk.events).sum()))
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

    /// Drops the oldest chunks where the limits ask for it; true if it did. Called
    /// between two chunks, `room` being what the next one may need.
    ///
    /// Where the file system can do that, they are cut out of the file, which is as if
    /// it had never been longer. Elsewhere what stays is copied into a new file that
    /// takes this one's place; both together stay below the limit, so a third of it is
    /// kept.
    pub(crate) fn trim(&mut self, max_size: Option<u64>, room: u64, since: TimeNs) -> io::Result<bool> {
        if max_size.is_none() && since == TimeNs(0) {
            return Ok(false);
        }
        if self.can_collapse {
            self.end_at_block()?;
        }
        let (full_at, kept) = match self.can_collapse {
            true => (max_size, max_size.map(|max| max.saturating_sub(room))),
            false => (max_size.map(|max| max / 3 * 2), max_size.map(|max| max / 3)),
        };
        let full = full_at.is_some_and(|max| self.len.saturating_add(room) > max);
        let keep_from = self.keep_from(kept.filter(|_| full), since);
        if keep_from == 0 || (!full && keep_from < self.len / 2) {
            return Ok(false);
        }
        self.cut(keep_from).map(|()| true)
    }

    fn cut(&mut self, keep_from: u64) -> io::Result<()> {
        if self.can_collapse {
            self.can_collapse = fallocate(&self.file, FallocateFlags::COLLAPSE_RANGE, 0, keep_from).is_ok();
            if self.can_collapse {
                self.dropped(keep_from);
                return Ok(());
            }
        }
        self.seal()?;
        // What has taken this file's name since is not ours to replace.
        let dropped =
            if self.is_in_place() { self.drop_before(keep_from) } else { Err(io::ErrorKind::NotFound.into()) };
        dropped.or_else(|_| self.drop_in_place(keep_from))
    }

    /// Lengthens the last chunk by an event without meaning, so that the next one
    /// begins where the file can be cut.
    fn end_at_block(&mut self) -> io::Result<()> {
        let (Some(header), Some(chunk)) = (self.last, self.chunks.back().copied()) else { return Ok(()) };
        let over = self.len % BLOCK;
        if over == 0 {
            return Ok(());
        }
        let short = BLOCK - over;
        let size = if short < RESERVE_HEAD as u64 { short + BLOCK } else { short };
        let mut event = vec![0; size as usize];
        event[..RESERVE_HEAD].copy_from_slice(&reserve_head(size));
        let header = ChunkHeader { size: header.size + size, ..header };
        self.append(header, false, [&mut event, &mut []], chunk.end)
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
        let copied = create_private(&beside).and_then(|file| {
            copy_range(&self.file, from, self.len, &file)?;
            match (self.last, self.chunks.back()) {
                (Some(header), Some(chunk)) => file.write_all_at(&header.to_bytes(), chunk.offset - from),
                _ => Ok(()),
            }
        });
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

impl Drop for RecordingFile {
    fn drop(&mut self) {
        // With its reserve the file is readable, too.
        let _ = self.seal();
    }
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

/// Looks at a file's first bytes: our type names stand near the front of
/// each chunk.
pub(super) fn is_recording_of_ours(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(64 << 10).read_to_end(&mut start)?;
    let mentions = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
    Ok((start.starts_with(&MAGIC) && mentions(b"headway.Recording"))
        || (start.starts_with(&packing::SKIPPABLE) && start.get(8..12) == Some(&ENVELOPE_MAGIC)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may end like that
mod tests {
    use super::*;

    /// The byte of a chunk at this place, where it is not of its header.
    fn byte(place: usize) -> u8 {
        (place % 251) as u8
    }

    /// Appends the next 100 bytes of the chunk, its parts now shorter and now longer.
    fn append(recording: &mut RecordingFile, so_far: &mut u64) -> io::Result<()> {
        let begins_chunk = *so_far == 0;
        let header = ChunkHeader { size: *so_far + 100, ..ChunkHeader::default() };
        let mut bytes: Vec<u8> = (*so_far as usize..).map(byte).take(100).collect();
        let parts = bytes.split_at_mut([100, 5, 0, 8][*so_far as usize / 100 % 4]);
        recording.append(header, begins_chunk, parts.into(), TimeNs(1))?;
        *so_far += 100;
        Ok(())
    }

    /// The header's size, and whether the file ends there.
    fn covered(path: &Path) -> (u64, bool) {
        let bytes = fs::read(path).unwrap();
        let size = ChunkHeader::parse(&bytes).unwrap().size;
        (size, size == bytes.len() as u64)
    }

    #[test]
    fn the_file_is_complete_after_every_append_also_a_failed_one() {
        let path = std::env::temp_dir().join(format!("headway-file-{}.jfr", std::process::id()));
        let mut recording = RecordingFile::create(&path, IfTaken::Refuse, 1000).unwrap();
        let mut so_far = 0;
        append(&mut recording, &mut so_far).unwrap();
        assert_eq!(covered(&path), (1100, true), "the header covers the reserve");
        append(&mut recording, &mut so_far).unwrap();
        append(&mut recording, &mut so_far).unwrap();
        assert_eq!(covered(&path), (1100, true), "the reserve is used up");

        let read_only = File::open(&path).unwrap();
        let writable = std::mem::replace(&mut recording.file, read_only);
        assert!(append(&mut recording, &mut so_far).is_err());
        recording.file = writable;
        assert_eq!(covered(&path), (1100, true));
        append(&mut recording, &mut so_far).unwrap();
        append(&mut recording, &mut so_far).unwrap();
        assert_eq!(covered(&path), (1100, true));

        let read_only = File::open(&path).unwrap();
        let writable = std::mem::replace(&mut recording.file, read_only);
        assert!(append(&mut recording, &mut 0).is_err());
        recording.file = writable;
        assert_eq!(covered(&path), (1100, true), "the second chunk did not begin");
        append(&mut recording, &mut 0).unwrap();
        assert_eq!(covered(&path).0, 500, "the first chunk has no reserve any more");
        let bytes = fs::read(&path).unwrap();
        let second = ChunkHeader::parse(&bytes[500..]).unwrap();
        assert_eq!(500 + second.size, bytes.len() as u64, "the second one has it");
        recording.seal().unwrap();
        assert_eq!(recording.len(), 600);
        assert_eq!(fs::metadata(&path).unwrap().len(), 600);
        let written = fs::read(&path).unwrap();
        assert!((HEADER_SIZE..500).all(|place| written.get(place) == Some(&byte(place))));
        assert_eq!(ChunkHeader::parse(&written[500..]).unwrap().size, 100);
        assert!((HEADER_SIZE..100).all(|place| written.get(500 + place) == Some(&byte(place))));
        fs::remove_file(&path).unwrap();
    }
}
