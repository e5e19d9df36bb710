//! The events of one chunk as byte slices, from memory or, for large chunks,
//! through a window over a file.

use super::cursor::Cursor;
use crate::header::{ChunkHeader, HEADER_SIZE};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Where a chunk's bytes are.
pub(crate) enum Body {
    /// All of them, header included.
    Memory(Vec<u8>),
    /// In a file, `len` bytes from `start` on.
    File {
        /// The file.
        file: File,
        /// Offset of the chunk's header.
        start: u64,
        /// Length of the chunk.
        len: u64,
    },
}

/// Size of the window over a file.
const WINDOW: usize = 4 << 20;

/// What comes next in a chunk.
pub(crate) enum Next<'a> {
    /// An event: where it begins, its type, and its bytes behind the type.
    Event {
        /// Offset in the chunk.
        at: u64,
        /// Number of the type.
        ty: u64,
        /// What follows the type.
        body: Cursor<'a>,
    },
    /// No more.
    End,
    /// The bytes at this offset are no event.
    Broken(u64),
    /// The file could not be read.
    Failed(io::Error),
}

/// See the module's description.
pub(crate) struct Window {
    file: Option<(File, u64)>,
    /// Length of the chunk.
    len: u64,
    compact: bool,
    buffer: Vec<u8>,
    /// Offset of `buffer` in the chunk.
    buffer_at: u64,
    pos: u64,
}

/// The longest that an event's size and type can be.
const MAX_HEAD: u64 = 18;

impl Window {
    pub(crate) fn new(body: Body, header: &ChunkHeader) -> Window {
        let compact = header.compressed_ints();
        let pos = HEADER_SIZE as u64;
        match body {
            Body::Memory(buffer) => Window { file: None, len: buffer.len() as u64, compact, buffer, buffer_at: 0, pos },
            Body::File { file, start, len } => {
                Window { file: Some((file, start)), len, compact, buffer: Vec::new(), buffer_at: 0, pos }
            }
        }
    }

    /// Goes to an offset in the chunk, by default the first event.
    pub(crate) fn rewind(&mut self) {
        self.pos = HEADER_SIZE as u64;
    }

    pub(crate) fn seek(&mut self, pos: u64) {
        self.pos = pos;
    }

    pub(crate) fn pos(&self) -> u64 {
        self.pos
    }

    /// Length of the chunk.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The next event. In line: whoever asks takes the parts of the answer at once,
    /// which else are stored and loaded in different sizes.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Next<'_> {
        let at = self.pos;
        if at >= self.len {
            return Next::End;
        }
        if let Err(error) = self.hold(MAX_HEAD.min(self.len - at)) {
            return Next::Failed(error);
        }
        let Some((size, ty, head)) = self.head() else {
            return Next::Broken(at);
        };
        if size < head || size > self.len - at {
            return Next::Broken(at);
        }
        if let Err(error) = self.hold(size) {
            return Next::Failed(error);
        }
        let from = (at - self.buffer_at) as usize;
        self.pos = at + size;
        let body = &self.buffer[from + head as usize..from + size as usize];
        Next::Event { at, ty, body: Cursor::new(body, self.compact) }
    }

    /// Size, type and length of both of the event at `pos`.
    #[inline(always)]
    fn head(&self) -> Option<(u64, u64, u64)> {
        let from = (self.pos - self.buffer_at) as usize;
        let mut cursor = Cursor::new(self.buffer.get(from..)?, self.compact);
        let size = u64::from(cursor.int()?);
        let ty = cursor.long()?;
        Some((size, ty, cursor.pos() as u64))
    }

    /// Makes sure that `buffer` holds `need` bytes from `pos` on.
    #[inline(always)]
    fn hold(&mut self, need: u64) -> io::Result<()> {
        let held = self.buffer_at..self.buffer_at + self.buffer.len() as u64;
        if held.contains(&self.pos) && self.pos + need <= held.end {
            return Ok(());
        }
        self.refill(need)
    }

    #[cold]
    fn refill(&mut self, need: u64) -> io::Result<()> {
        let Some((file, start)) = &self.file else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let want = (WINDOW as u64).max(need).min(self.len - self.pos);
        self.buffer.resize(want as usize, 0);
        self.buffer_at = self.pos;
        file.read_exact_at(&mut self.buffer, start + self.pos)
    }

    /// The chunk's bytes from `from` up to `to`, a piece at a time.
    pub(crate) fn copy(&self, from: u64, to: u64, out: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let Some((file, start)) = &self.file else {
            let range = from as usize..to as usize;
            return out(self.buffer.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        };
        let mut piece = vec![0u8; WINDOW.min((to - from) as usize)];
        let mut at = from;
        while at < to {
            let want = piece.len().min((to - at) as usize);
            file.read_exact_at(&mut piece[..want], start + at)?;
            out(&piece[..want])?;
            at += want as u64;
        }
        Ok(())
    }
}
