//! Writing recordings.

mod causal;
mod constants;
mod events;
mod file;
mod metadata;
mod place;
mod settings;
mod steal;

use crate::encode::Encoder;
use crate::header::{ChunkHeader, COMPRESSED_INTS, HEADER_SIZE};
use crate::packing::Packing;
use constants::Constants;
use events::{put_info, Clock, Context};
pub(crate) use file::sibling;
use file::RecordingFile;
use headway_model::event::RecordingInfo;
use headway_model::{Dictionary, DurationNs, Event, Loss, TimeNs};
#[cfg(test)]
pub(crate) use metadata::event as metadata_event;
pub use place::{create_file, IfTaken};
pub(crate) use place::{create_private, put_in_place};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a recording is written.
#[derive(Clone, Debug)]
pub struct WriterConfig {
    /// The file; its extension decides the packing, see [`Packing::of_name`].
    pub path: PathBuf,
    /// What becomes of a file that is there already.
    pub if_taken: IfTaken,
    /// Facts about the recording. `start` is the recording's first moment and
    /// `epoch_offset_ns` ties its clock to the calendar.
    pub info: Arc<RecordingInfo>,
    /// A new chunk begins when the current one has this many bytes (unpacked).
    pub chunk_size: u64,
    /// A new chunk begins when the current one covers this much time.
    pub chunk_age: DurationNs,
    /// The recording never has more bytes than this; the oldest chunks go.
    pub max_size: Option<u64>,
    /// What is older than this may go, chunk by chunk, oldest first.
    pub max_age: Option<DurationNs>,
}

impl WriterConfig {
    /// A recording at `path` with chunks of 12 MB or 60 s and no other limits.
    pub fn new(path: impl Into<PathBuf>, info: Arc<RecordingInfo>) -> WriterConfig {
        WriterConfig {
            path: path.into(),
            if_taken: IfTaken::Refuse,
            info,
            chunk_size: 12 << 20,
            chunk_age: DurationNs(60_000_000_000),
            max_size: None,
            max_age: None,
        }
    }

    /// A chunk is the unit in which old data goes, so it must be small against
    /// the limits.
    fn effective_chunk_size(&self) -> u64 {
        let share = self.max_size.map_or(u64::MAX, |max| max / 8);
        self.chunk_size.min(share).max(64 << 10)
    }

    /// Room that an open chunk reserves at a time. It takes no disk until it is
    /// written to.
    fn reserve(&self) -> u64 {
        (self.effective_chunk_size() / 4).min(1 << 20)
    }

    fn effective_chunk_age(&self) -> DurationNs {
        let share = self.max_age.map_or(u64::MAX, |max| max.0 / 4);
        DurationNs(self.chunk_age.0.min(share).max(1_000_000_000))
    }
}

/// Why a recording could not be written. The writer stays usable: what could
/// not be written is tried again, and counted as dropped beyond a bound.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The file could not be created.
    Create(PathBuf, io::Error),
    /// Appending failed (disk full, file size limit).
    Append(PathBuf, io::Error),
    /// Old chunks could not be dropped.
    Rotate(PathBuf, io::Error),
    /// The file was removed or replaced, and could not be saved under another name.
    Gone(PathBuf, io::Error),
    /// A dump could not be written.
    Dump(PathBuf, io::Error),
    /// A dump could not be unpacked or packed.
    Repack(PathBuf, crate::RepairError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Create(path, e) => write!(f, "cannot create recording {}: {e}", path.display()),
            WriteError::Append(path, e) => write!(f, "cannot write to recording {}: {e}", path.display()),
            WriteError::Rotate(path, e) => write!(f, "cannot drop old parts of recording {}: {e}", path.display()),
            WriteError::Gone(path, e) => {
                write!(f, "recording {} was removed or replaced and cannot be saved elsewhere: {e}", path.display())
            }
            WriteError::Dump(path, e) => write!(f, "cannot dump the recording into {}: {e}", path.display()),
            WriteError::Repack(path, e) => write!(f, "cannot dump the recording into {}: {e}", path.display()),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Create(_, e) | WriteError::Append(_, e) | WriteError::Rotate(_, e) => Some(e),
            WriteError::Gone(_, e) | WriteError::Dump(_, e) => Some(e),
            WriteError::Repack(_, e) => Some(e),
        }
    }
}

/// What a finished recording came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The file, which has another name than it was given if it was moved, or removed
    /// and therefore saved elsewhere.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Events that were given to the writer and are not in the file because it
    /// could not be written.
    pub lost: u64,
    /// Why events were lost in the end.
    pub problem: Option<String>,
}

/// A copy of a recording that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dumped {
    /// The file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The chunk that is being written.
#[derive(Clone, Copy, Default)]
struct OpenChunk {
    /// Bytes in the file, unpacked.
    size: u64,
    /// Offset of its newest checkpoint, 0 before the first.
    checkpoint: u64,
    /// How many it has.
    checkpoints: u64,
}

/// Largest number of buffered bytes at which the writer writes by itself.
const WRITE_AT: usize = 4 << 20;
/// Buffered bytes beyond which events are dropped while writing fails.
const BUFFER_LIMIT: usize = 16 << 20;

/// Writes events into a recording. See the crate's description.
pub struct RecordingWriter {
    config: WriterConfig,
    clock: Clock,
    info: Arc<RecordingInfo>,
    file: RecordingFile,
    constants: Constants,
    /// The open chunk; `None` until the first write of the next one.
    chunk: Option<OpenChunk>,
    /// First moment of the open chunk, or of the next one.
    chunk_start: TimeNs,
    events: Encoder,
    /// Events in `events`.
    buffered: u64,
    /// Buffered bytes at which the writer writes without waiting for a flush.
    write_at: usize,
    /// The newest moment of an event or a watermark.
    now: TimeNs,
    watermark: TimeNs,
    failing: bool,
    /// Dropped since the last `headway.Loss` in the file.
    untold_losses: u64,
    lost_total: u64,
    /// The header that was written last.
    last_header: Option<ChunkHeader>,
    /// True once old chunks were dropped.
    was_cut: bool,
    /// Another program made the file shorter, which nobody has asked about yet.
    was_truncated: bool,
}

impl fmt::Debug for RecordingWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordingWriter({}, {} bytes)", self.file.path().display(), self.file.len())
    }
}

impl RecordingWriter {
    /// Creates the file (for its owner's eyes only). It holds a readable
    /// recording from the first [`Self::flush`] on.
    ///
    /// # Errors
    /// [`WriteError::Create`], also if a file is there that must not be replaced.
    pub fn create(mut config: WriterConfig) -> Result<RecordingWriter, WriteError> {
        let file = RecordingFile::create(&config.path, config.if_taken, config.reserve())
            .map_err(|e| WriteError::Create(config.path.clone(), e))?;
        config.path = file.path().to_path_buf();
        let info = config.info.clone();
        let clock = Clock { start: info.start, epoch_offset_ns: info.epoch_offset_ns };
        Ok(RecordingWriter {
            clock,
            file,
            constants: Constants::default(),
            chunk: None,
            chunk_start: info.start,
            events: Encoder::default(),
            buffered: 0,
            write_at: WRITE_AT.min(config.effective_chunk_size() as usize),
            now: info.start,
            watermark: info.start,
            failing: false,
            untold_losses: 0,
            lost_total: 0,
            last_header: None,
            was_cut: false,
            was_truncated: false,
            info,
            config,
        })
    }

    /// Takes an event. Definitions are noted and looked up in `dictionary`
    /// (which the caller feeds) when they are written; everything that an event
    /// refers to must be in it until the next flush.
    pub fn event(&mut self, event: &Event, dictionary: &Dictionary) {
        match event {
            Event::Thread(def) => return self.constants.thread_changed(def.id),
            Event::Lock(def) => return self.constants.lock_changed(def.id),
            Event::Recording(info) => return self.info_changed(info),
            Event::Watermark(time) => self.watermark = self.watermark.max(*time),
            _ => {}
        }
        if self.events.bytes.len() >= self.write_at && !self.make_room(dictionary) {
            self.untold_losses += 1;
            self.lost_total += 1;
            return;
        }
        if let Some(time) = event.time() {
            self.now = self.now.max(time);
        }
        let mut context = Context { clock: self.clock, now: self.now, constants: &mut self.constants, dictionary };
        if context.put(event, &mut self.events) {
            self.buffered += 1;
        }
    }

    /// True if another event may be buffered.
    fn make_room(&mut self, dictionary: &Dictionary) -> bool {
        if self.failing {
            return self.events.bytes.len() < BUFFER_LIMIT;
        }
        // A failure is reported by the next flush, which fails as well.
        let is_there = self.begin_anew_if_truncated().is_ok();
        (is_there && self.write_and_rotate(dictionary).is_ok()) || self.events.bytes.len() < BUFFER_LIMIT
    }

    fn info_changed(&mut self, info: &Arc<RecordingInfo>) {
        if *info == self.info {
            return;
        }
        self.info = info.clone();
        if self.chunk.is_some() {
            put_info(&self.info, self.clock, self.now, &mut self.events);
        }
    }

    /// Writes everything so far. From here on, whatever happens to the process,
    /// the file holds a readable recording up to `watermark`: the promise that
    /// no event that happened before it follows.
    ///
    /// # Errors
    /// [`WriteError::Append`]: what was buffered is kept and tried again, up to
    /// a bound, beyond which events are counted as dropped.
    /// [`WriteError::Rotate`]: everything is written but old chunks remain.
    pub fn flush(&mut self, dictionary: &Dictionary, watermark: TimeNs) -> Result<(), WriteError> {
        self.now = self.now.max(watermark);
        self.begin_anew_if_truncated()?;
        if watermark > self.watermark || self.chunk.is_none() {
            self.watermark = self.watermark.max(watermark);
            let mark = Event::Watermark(self.watermark);
            let mut context = Context { clock: self.clock, now: self.now, constants: &mut self.constants, dictionary };
            context.put(&mark, &mut self.events);
        }
        self.write_and_rotate(dictionary)
    }

    fn write_and_rotate(&mut self, dictionary: &Dictionary) -> Result<(), WriteError> {
        self.write(dictionary)?;
        if self.chunk_is_full() {
            self.gather_constants();
            self.next_chunk()?;
        }
        Ok(())
    }

    fn write(&mut self, dictionary: &Dictionary) -> Result<(), WriteError> {
        let begins_chunk = self.chunk.is_none();
        if begins_chunk {
            self.constants.all_threads(dictionary);
        }
        self.constants.resolve(self.clock.ticks(self.now), dictionary);
        let (header, mut head) = self.assemble(dictionary);
        match self.file.append(header, begins_chunk, [&mut head, &mut self.events.bytes], self.now) {
            Ok(()) => {
                self.written(header);
                Ok(())
            }
            Err(error) => {
                self.write_failed();
                Err(WriteError::Append(self.config.path.clone(), error))
            }
        }
    }

    /// Some other program may have emptied the file, as a script that rotates logs does. What was in it
    /// is gone, and what is buffered refers to it: both are counted, and a new chunk begins.
    fn begin_anew_if_truncated(&mut self) -> Result<(), WriteError> {
        let truncated = self.file.empty_if_truncated();
        let Some(events) = truncated.map_err(|e| WriteError::Append(self.config.path.clone(), e))? else {
            return Ok(());
        };
        self.untold_losses += events;
        self.lost_total += events;
        self.drop_buffered();
        self.last_header = None;
        self.was_truncated = true;
        self.end_chunk();
        Ok(())
    }

    /// The bytes to append before the events: the constants that they need. The
    /// header counts the events in.
    fn assemble(&mut self, dictionary: &Dictionary) -> (ChunkHeader, Vec<u8>) {
        let before = self.chunk.unwrap_or_default();
        let mut raw = Encoder::default();
        raw.bytes.reserve(self.constants.waiting_bytes() + (32 << 10));
        if self.chunk.is_none() {
            raw.bytes.resize(HEADER_SIZE, 0);
            raw.bytes.extend_from_slice(metadata::event());
        }
        let mut checkpoint = before.checkpoint;
        let here = before.size + raw.bytes.len() as u64;
        let delta = if checkpoint == 0 { 0 } else { checkpoint as i64 - here as i64 };
        if let Some(event) = self.constants.checkpoint(self.clock.ticks(self.now), delta) {
            raw.bytes.extend_from_slice(&event);
            checkpoint = here;
        }
        if self.chunk.is_none() {
            put_info(&self.info, self.clock, self.chunk_start, &mut raw);
        }
        raw.bytes.extend_from_slice(self.constants.definitions());
        self.put_own_loss(dictionary, &mut raw);
        let size = (raw.bytes.len() + self.events.bytes.len()) as u64;
        let header = self.header(before.size + size, checkpoint);
        (header, raw.bytes)
    }

    /// Ends the chunk with all its constants in one checkpoint, if it has several and
    /// they are small beside it. The chunk is complete without that, too, so a failure
    /// to write it is none.
    fn gather_constants(&mut self) {
        let Some(chunk) = self.chunk.filter(|chunk| chunk.checkpoints > 1) else { return };
        if !self.gathers_constants() || self.failing {
            return;
        }
        let mut event = self.constants.whole_checkpoint(self.clock.ticks(self.now));
        let header = self.header(chunk.size + event.len() as u64, chunk.size);
        let _ = self.file.append(header, false, [&mut event, &mut []], self.now);
    }

    fn gathers_constants(&self) -> bool {
        self.constants.written_bytes() as u64 <= self.config.effective_chunk_size() / 4
    }

    fn put_own_loss(&mut self, dictionary: &Dictionary, raw: &mut Encoder) {
        if self.untold_losses > 0 {
            let loss = Event::Lost(Loss::WriteFailed, self.untold_losses);
            Context { clock: self.clock, now: self.now, constants: &mut self.constants, dictionary }.put(&loss, raw);
        }
    }

    fn header(&self, size: u64, checkpoint: u64) -> ChunkHeader {
        ChunkHeader {
            major: 2,
            minor: 1,
            size,
            checkpoint,
            metadata: HEADER_SIZE as u64,
            start_nanos: self.clock.epoch_nanos(self.chunk_start),
            duration_nanos: self.now.since(self.chunk_start).0,
            start_ticks: self.clock.ticks(self.chunk_start),
            frequency: 1_000_000_000,
            state: 0,
            flags: COMPRESSED_INTS,
        }
    }

    fn written(&mut self, header: ChunkHeader) {
        self.last_header = Some(header);
        let before = self.chunk.unwrap_or_default();
        let checkpoints = before.checkpoints + u64::from(header.checkpoint != before.checkpoint);
        self.chunk = Some(OpenChunk { size: header.size, checkpoint: header.checkpoint, checkpoints });
        self.constants.written();
        self.file.count(self.buffered);
        self.events.bytes.clear();
        self.buffered = 0;
        self.untold_losses = 0;
        self.failing = false;
    }

    /// Keeps what was buffered for the next try; beyond the bound it is dropped
    /// and counted, and the next chunk begins with constants of its own.
    fn write_failed(&mut self) {
        self.failing = true;
        if self.events.bytes.len() + self.constants.waiting_bytes() >= BUFFER_LIMIT {
            self.drop_buffered();
            self.end_chunk();
        }
    }

    fn chunk_is_full(&self) -> bool {
        let constants = if self.gathers_constants() { self.constants.written_bytes() as u64 } else { 0 };
        self.chunk.is_some_and(|chunk| {
            chunk.size + constants >= self.config.effective_chunk_size()
                || self.now.since(self.chunk_start) >= self.config.effective_chunk_age()
        })
    }

    fn end_chunk(&mut self) {
        self.chunk = None;
        self.chunk_start = self.now;
        self.constants.begin_chunk();
    }

    fn next_chunk(&mut self) -> Result<(), WriteError> {
        self.end_chunk();
        // A chunk may exceed its size by what is written at once.
        let room = self.config.effective_chunk_size() + self.write_at as u64 + self.config.reserve();
        let since = self.config.max_age.map_or(TimeNs(0), |age| self.now - age);
        let trimmed = self.file.trim(self.config.max_size, room, since);
        self.was_cut |= trimmed.map_err(|e| WriteError::Rotate(self.config.path.clone(), e))?;
        Ok(())
    }

    /// Copies the newest chunks, up to the last flush, into a new file, while
    /// the recording goes on; gives the file's length. `max_size` and `max_age`
    /// bound what is copied, chunk by chunk; the newest chunk always comes.
    ///
    /// # Errors
    /// [`WriteError::Dump`], also if a file is at `to` that must not be replaced, such
    /// as the recording itself; [`WriteError::Repack`] if `to` asks for
    /// another packing and the recording cannot be read back.
    pub fn dump(
        &mut self,
        to: &Path,
        if_taken: IfTaken,
        limits: (Option<u64>, Option<DurationNs>),
    ) -> Result<Dumped, WriteError> {
        let (max_size, max_age) = limits;
        let since = max_age.map_or(TimeNs(0), |age| self.now - age);
        let failed = |e| WriteError::Dump(to.to_path_buf(), e);
        if self.file.is_at(to) && if_taken != IfTaken::Number {
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, "it is the recording itself")));
        }
        // An earlier recording goes once the new one is there.
        let path = match if_taken {
            IfTaken::Replace => to.to_path_buf(),
            _ => create_file(to, if_taken).map_err(failed)?.0,
        };
        let dumped = self.dump_over(&path, max_size, since);
        if dumped.is_err() && if_taken != IfTaken::Replace {
            let _ = std::fs::remove_file(&path);
        }
        dumped.map(|bytes| Dumped { path, bytes })
    }

    fn dump_over(&self, to: &Path, max_size: Option<u64>, since: TimeNs) -> Result<u64, WriteError> {
        let failed = |e| WriteError::Dump(to.to_path_buf(), e);
        if Packing::of_name(to) == self.file.packing() {
            return self.file.copy_to(to, max_size, since).map_err(failed);
        }
        let beside = sibling(to, "packed");
        let copied = self.file.copy_to(&beside, max_size, since).map_err(failed);
        let result = copied
            .and_then(|_| crate::repair::convert(&beside, to).map_err(|e| WriteError::Repack(to.to_path_buf(), e)));
        let _ = std::fs::remove_file(&beside);
        result
    }

    /// Flushes and ends the recording. The writer may be dropped without this:
    /// the file is complete up to the last flush anyway. What cannot be written is
    /// counted, in the file too if there is room for that.
    ///
    /// # Errors
    /// [`WriteError::Gone`]: the file has no name any more; [`WriteError::Append`].
    pub fn finish(mut self, dictionary: &Dictionary, watermark: TimeNs) -> Result<Finished, WriteError> {
        let problem = self.flush(dictionary, watermark).err();
        match problem {
            Some(WriteError::Append(..)) => self.give_up(dictionary),
            _ => self.gather_constants(),
        }
        self.file.seal().map_err(|e| WriteError::Append(self.config.path.clone(), e))?;
        let path = self.file.settle().map_err(|e| WriteError::Gone(self.config.path.clone(), e))?.to_path_buf();
        let problem = problem.map(|problem| problem.to_string());
        Ok(Finished { path, bytes: self.file.len(), lost: self.lost_total, problem })
    }

    /// Drops what could not be written and writes how much that was, into the room
    /// that the failed attempt gave back.
    fn give_up(&mut self, dictionary: &Dictionary) {
        self.drop_buffered();
        // After a failure the next chunk is yet to begin; this goes into the last one.
        let Some(last) = self.last_header else { return };
        let mut raw = Encoder::default();
        self.put_own_loss(dictionary, &mut raw);
        let header = ChunkHeader { size: last.size + raw.bytes.len() as u64, ..last };
        // Without even that much room, only the caller knows.
        if self.file.append(header, false, [&mut raw.bytes, &mut []], self.now).is_ok() {
            self.untold_losses = 0;
        }
    }

    fn drop_buffered(&mut self) {
        self.untold_losses += self.buffered;
        self.lost_total += self.buffered;
        self.events.bytes.clear();
        self.buffered = 0;
    }

    /// True if old chunks were dropped since this was last asked.
    pub fn take_was_cut(&mut self) -> bool {
        std::mem::take(&mut self.was_cut)
    }

    /// True if another program made the file shorter since this was last asked: what was in it is
    /// gone, and counted.
    pub fn take_was_truncated(&mut self) -> bool {
        std::mem::take(&mut self.was_truncated)
    }

    /// False once the file was removed, replaced or moved.
    pub fn is_in_place(&self) -> bool {
        self.file.is_in_place()
    }

    /// Length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.file.len()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Events dropped so far because the file could not be written.
    pub fn lost(&self) -> u64 {
        self.lost_total
    }
}
