//! Reading recordings.

mod ahead;
mod causal;
mod chunk;
mod clock;
mod cursor;
mod decode;
mod detail;
mod info;
mod intern;
mod kinds;
mod plan;
mod pools;
mod problem;
mod progress;
mod resolve;
mod schema;
mod slot;
mod source;
mod steal;
mod summary;
mod survey;
mod window;

use chunk::{Chunk, Step};
pub use clock::ClockJump;
use clock::OneClock;
pub(crate) use cursor::Cursor;
use headway_model::event::RecordingInfo;
use headway_model::{Event, Loss, TimeNs};
use intern::Interner;
pub use problem::Problem;
pub use progress::Progress;
pub(crate) use schema::Schema;
#[cfg(test)]
pub(crate) use schema::{Field, Type};
pub(crate) use source::{RawChunk, Source};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
pub use summary::{Summary, TypeTotal};
pub(crate) use window::{Next, Window};

/// The events of a recording, in the file's order, definitions before their
/// use. Times are nanoseconds since the Unix epoch.
///
/// The first event is [`Event::Recording`] (if the file has a readable chunk at
/// all). Each chunk begins with the threads it knows; methods, chains and locks
/// come right before the first event that refers to them. What cannot be read
/// comes as a [`Problem`], once, and where events are skipped for it, as
/// [`Event::Lost`] too; reading goes on behind it. After the last item the
/// iterator stays at its end.
///
/// Memory: one chunk (large ones through a window), its constants, and a few
/// words per distinct method, chain, lock and thread of the whole recording.
pub struct Reader {
    source: Source,
    interner: Interner,
    chunk: Option<Chunk>,
    /// Where the chunk stands in the file.
    span: (u64, u64),
    progress: Progress,
    chunks: usize,
    info: Option<RecordingInfo>,
    one_clock: Option<OneClock>,
    queue: VecDeque<Result<Event, Problem>>,
    /// Reused between steps.
    events: Vec<Event>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader(after {} chunks)", self.chunks)
    }
}

impl Reader {
    /// Opens a recording: plain, packed (zstd, LZ4, gzip; by its first bytes,
    /// not its name), complete or damaged.
    ///
    /// # Errors
    /// [`Problem::Open`], [`Problem::Empty`], [`Problem::NotARecording`].
    pub fn open(path: impl AsRef<Path>) -> Result<Reader, Problem> {
        let path = path.as_ref();
        let len = std::fs::metadata(path).map_err(|error| Problem::Open(path.to_path_buf(), error))?.len();
        Ok(Reader {
            source: Source::open(path)?,
            interner: Interner::default(),
            chunk: None,
            span: (0, 0),
            progress: Progress::new(len),
            chunks: 0,
            info: None,
            one_clock: None,
            queue: VecDeque::new(),
            events: Vec::new(),
        })
    }

    /// Places the whole recording against wall time once, by its first chunk. Each chunk
    /// of JFR brings the wall clock's time with it, so that the times of a recording jump
    /// where that clock was set; here they do not, and [`Reader::clock_jumps`] has the
    /// jumps. A chunk that counts another clock's ticks keeps its own place.
    pub fn with_one_clock(mut self) -> Reader {
        self.one_clock = Some(OneClock::default());
        self
    }

    /// Passes over the oldest chunks, until what is left has `most` bytes (unpacked) or is one chunk: of a long
    /// recording, the last minutes. How many bytes of the file are passed over; none of a recording that was
    /// packed as a whole by another tool. To be called before anything is read.
    pub fn skip_to_last(&mut self, most: u64) -> u64 {
        self.source.skip_to_last(most)
    }

    /// Where the wall clock was set while the recording was made, in what was read of it
    /// so far; always none unless it is placed by [`Reader::with_one_clock`].
    pub fn clock_jumps(&self) -> &[ClockJump] {
        self.one_clock.as_ref().map_or(&[], OneClock::jumps)
    }

    /// Opens the next chunk; false at the end of the file.
    fn next_chunk(&mut self) -> bool {
        let mut problems = Vec::new();
        let begin = self.source.offset();
        let raw = self.source.next_chunk(&mut problems);
        self.span = (begin, self.source.offset());
        self.queue.extend(problems.drain(..).map(Err));
        let Some(mut raw) = raw else {
            return false;
        };
        if let Some(clock) = &mut self.one_clock {
            clock.place(&mut raw.header);
        }
        let first_moment = TimeNs(raw.header.start_nanos);
        let number = self.chunks;
        self.chunks += 1;
        let opened = Chunk::open(raw, number, &mut problems);
        self.queue.extend(problems.into_iter().map(Err));
        let Some(mut chunk) = opened else {
            self.lost(1);
            return true;
        };
        if let Some(problem) = self.tell_info(&mut chunk, first_moment, number) {
            self.queue.push_back(Err(problem));
            return true;
        }
        chunk.define_threads(&mut self.interner, &mut self.events);
        self.queue.extend(self.events.drain(..).map(Ok));
        self.chunk = Some(chunk);
        true
    }

    /// Says what is new about the recording; a problem if the chunk is of another one.
    fn tell_info(&mut self, chunk: &mut Chunk, first_moment: TimeNs, number: usize) -> Option<Problem> {
        let known = self.info.clone().unwrap_or_else(|| RecordingInfo {
            start: first_moment,
            producer: guess_producer(chunk).to_string(),
            ..RecordingInfo::default()
        });
        let info = chunk.info(known);
        if let Some(first) = self.info.as_ref().filter(|first| is_other_jvm(first, &info)) {
            return Some(Problem::OtherJvm(number, info.pid, first.pid));
        }
        if self.info.as_ref() != Some(&info) {
            self.queue.push_back(Ok(Event::Recording(Arc::new(info.clone()))));
            self.info = Some(info);
        }
        None
    }

    fn lost(&mut self, count: u64) {
        self.queue.push_back(Ok(Event::Lost(Loss::Undecodable, count)));
    }

    fn end_chunk(&mut self, problem: Option<Problem>) {
        let undecodable = self.chunk.take().map_or(0, |chunk| chunk.undecodable());
        let broken = u64::from(matches!(problem, Some(Problem::BrokenEvents(..) | Problem::Read(..))));
        self.queue.extend(problem.map(Err));
        if undecodable + broken > 0 {
            self.lost(undecodable + broken);
        }
    }
}

/// How far apart two chunks of one JVM may put its start.
const SAME_START_NS: u64 = 5_000_000_000;

/// True if two chunks say that they were recorded in different processes: in
/// containers all may have the same number, but they started at different times.
fn is_other_jvm(first: &RecordingInfo, other: &RecordingInfo) -> bool {
    first.pid != 0 && (first.pid != other.pid || first.jvm_start.0.abs_diff(other.jvm_start.0) > SAME_START_NS)
}

/// Who made a recording that does not say so itself.
fn guess_producer(chunk: &Chunk) -> &'static str {
    if chunk.declares("profiler.") {
        "async-profiler"
    } else {
        "jfr"
    }
}

impl Iterator for Reader {
    type Item = Result<Event, Problem>;

    fn next(&mut self) -> Option<Result<Event, Problem>> {
        loop {
            if let Some(item) = self.queue.pop_front() {
                return Some(item);
            }
            let Some(chunk) = &mut self.chunk else {
                if self.next_chunk() || !self.queue.is_empty() {
                    continue;
                }
                return None;
            };
            match chunk.step(&mut self.interner, &mut self.events) {
                // The common case, without a detour through the queue.
                Step::Events if self.events.len() == 1 => return self.events.pop().map(Ok),
                Step::Events => self.queue.extend(self.events.drain(..).map(Ok)),
                Step::End(problem) => self.end_chunk(problem),
            }
        }
    }
}
