//! The target's view of the file system, entered through `/proc/PID/root`.
//!
//! Symbolic links inside are resolved inside (`RESOLVE_IN_ROOT`), so that a
//! link in a container cannot lead us to a file of ours.

use crate::error::Failure;
use crate::jvm::process::Process;
use rustix::fs::{openat2, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Handles on the target's root and working directory, opened with our own
/// rights before we act as the target's user.
#[derive(Debug)]
pub struct View {
    root: OwnedFd,
    cwd: Option<Directory>,
    /// Where the target's root stands in its mount namespace: `/`, or the
    /// directory it changed its root to.
    root_path: PathBuf,
}

/// A directory of the target.
#[derive(Debug)]
pub struct Directory {
    /// Handle for operations relative to it.
    pub fd: OwnedFd,
    /// Its path as the target sees it, free of symbolic links.
    pub path: PathBuf,
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl View {
    /// Enters the target's view.
    ///
    /// # Errors
    /// The target ended, or may not be looked into.
    pub fn of(process: &Process) -> Result<View, Failure> {
        let pid = process.pid;
        let open = |name: &str| rustix::fs::open(process.directory().join(name), DIRECTORY, Mode::empty());
        let root = open("root").map_err(|error| match error {
            Errno::NOENT | Errno::SRCH => Failure::NoSuchProcess { pid },
            Errno::ACCESS | Errno::PERM => process.not_inspectable(),
            other => Failure::System { doing: format!("cannot enter the root of process {pid}"), source: other.into() },
        })?;
        let root_path = link_of(&root).unwrap_or_else(|_| PathBuf::from("/"));
        let mut view = View { root, cwd: None, root_path };
        view.cwd = open("cwd").ok().and_then(|fd| view.directory_of(fd).ok());
        Ok(view)
    }

    /// The target's working directory, if it can be entered.
    pub fn cwd(&self) -> Option<&Directory> {
        self.cwd.as_ref()
    }

    /// Opens a directory by its path in the target's view.
    ///
    /// # Errors
    /// Those of opening.
    pub fn directory(&self, path: &str) -> io::Result<Directory> {
        let fd = openat2(&self.root, path, DIRECTORY, Mode::empty(), ResolveFlags::IN_ROOT)?;
        self.directory_of(fd)
    }

    fn directory_of(&self, fd: OwnedFd) -> io::Result<Directory> {
        let outside = link_of(&fd)?;
        let path = match outside.strip_prefix(&self.root_path) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => outside,
        };
        Ok(Directory { fd, path })
    }
}

impl Directory {
    /// A path through which this process reaches a file in the directory,
    /// short enough for a socket address.
    pub fn reach(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }
}

/// The path of an open file, as the kernel remembers it.
fn link_of(fd: &impl AsRawFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}
