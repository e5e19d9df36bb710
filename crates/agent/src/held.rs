//! How a command line is known to live: it has a lock (`flock`) on its files, which the kernel gives back however
//! it dies.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// True if somebody has a lock on the file or directory, or that cannot be found out.
pub fn is_held(file: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file);
    match opened {
        Ok(file) => !can_be_locked(&file),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn can_be_locked(file: &File) -> bool {
    // SAFETY: an open file; the lock goes when it is closed.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) == 0 }
}
