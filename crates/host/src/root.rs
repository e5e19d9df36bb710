//! Where the proc and cgroup file systems are.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The longest file that is read; those of the kernel are far shorter.
const MAX_BYTES: u64 = 4 << 20;

/// Why something was not known.
#[derive(Debug)]
pub enum HostError {
    /// There is no such file: the kernel lacks it, or the thread ended.
    Missing(PathBuf),
    /// We may not read it.
    Denied(PathBuf),
    /// Reading it failed.
    Unreadable(PathBuf, io::Error),
    /// It does not say what it should.
    Garbled {
        /// The file.
        path: PathBuf,
        /// What is missing in it.
        lacks: &'static str,
    },
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Missing(path) => write!(f, "there is no {}", path.display()),
            HostError::Denied(path) => write!(f, "{} may not be read", path.display()),
            HostError::Unreadable(path, error) => write!(f, "{} cannot be read: {error}", path.display()),
            HostError::Garbled { path, lacks } => write!(f, "{} has no {lacks}", path.display()),
        }
    }
}

impl std::error::Error for HostError {}

/// The directory under which `proc` and `sys` lie: `/`, or one made for a test.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// Length of a clock tick of the kernel's statistics.
    pub tick_ns: u64,
}

impl Default for Root {
    /// This machine. Ticks are those of the kernel's interface to programs, 100
    /// a second on every Linux of today.
    fn default() -> Root {
        Root::at("/")
    }
}

impl Root {
    /// File systems under `path`, with ticks of 10 ms.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), tick_ns: 10_000_000 }
    }

    /// Where a path of the machine lies.
    pub fn path(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// The text of a file, given by its path on the machine.
    ///
    /// # Errors
    /// It is missing, denied, unreadable or no text.
    pub fn read(&self, path: &str) -> Result<String, HostError> {
        let path = self.path(path);
        text_of(&path).map_err(|error| failure(&path, error))
    }

    /// The bytes of a file, given by its path on the machine.
    ///
    /// # Errors
    /// It is missing, denied or unreadable.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, HostError> {
        let path = self.path(path);
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(|error| failure(&path, error))?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| failure(&path, error))?;
        Ok(bytes)
    }

    /// The error for a file that lacks something.
    pub fn garbled(&self, path: &str, lacks: &'static str) -> HostError {
        garbled(&self.path(path), lacks)
    }
}

/// The text of a file that has a path of its own; no more than `MAX_BYTES`.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// The error for a file that lacks something.
pub(crate) fn garbled(path: &Path, lacks: &'static str) -> HostError {
    HostError::Garbled { path: path.to_owned(), lacks }
}

/// The error for a path that could not be read.
pub(crate) fn failure(path: &Path, error: io::Error) -> HostError {
    let path = path.to_owned();
    // A thread that ends between opening and reading gives ESRCH.
    const ESRCH: i32 = 3;
    match error.kind() {
        ErrorKind::NotFound => HostError::Missing(path),
        ErrorKind::PermissionDenied => HostError::Denied(path),
        _ if error.raw_os_error() == Some(ESRCH) => HostError::Missing(path),
        _ => HostError::Unreadable(path, error),
    }
}
