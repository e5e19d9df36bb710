//! A file of the kernel's that stays open. Reading it again from its beginning
//! gives what it says now, for a sixth of what opening it again costs.

use crate::root::{failure, HostError, Root};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are read at first; doubled where that is not enough.
const FIRST_BYTES: usize = 128;
/// Bytes that are read at most.
const MOST_BYTES: usize = 4 << 20;

/// See the module.
#[derive(Debug)]
pub struct KeptFile {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl KeptFile {
    /// The file of this path of the machine; opened when it is first read.
    pub fn new(root: &Root, path: &str) -> KeptFile {
        KeptFile { path: root.path(path), file: None, buffer: Vec::new() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says now, up to its end or to where it is `enough`. The kernel
    /// makes up such a file for every read, so that what is read in two
    /// pieces need not fit together: it is read again as a whole.
    ///
    /// # Errors
    /// It is missing, denied or unreadable. The next call opens it again.
    pub fn read(&mut self, enough: impl Fn(&[u8]) -> bool) -> Result<&[u8], HostError> {
        let length = self.read_whole(enough).map_err(|error| {
            self.file = None;
            failure(&self.path, error)
        })?;
        Ok(self.buffer.get(..length).unwrap_or_default())
    }

    fn read_whole(&mut self, enough: impl Fn(&[u8]) -> bool) -> std::io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        self.buffer.resize(self.buffer.len().max(FIRST_BYTES), 0);
        loop {
            let length = file.read_at(&mut self.buffer, 0)?;
            let read = self.buffer.get(..length).unwrap_or_default();
            if length < self.buffer.len() || length >= MOST_BYTES || enough(read) {
                return Ok(length);
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}
