//! Reading files of another process, which can have put anything in their
//! place: a pipe that nobody writes to, a device that never ends, a link to a
//! file of ours, or gigabytes.
//!
//! Every such file is found below the process's own root, is known to be a
//! regular file before it is opened (opening alone starts some devices), and is
//! read up to a limit only.

use crate::jvm::process::Process;
use rustix::fs::{fstat, openat2, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Opens a regular file by its path in the process's view.
///
/// # Errors
/// Those of finding and opening; [`ErrorKind::InvalidInput`] for what is no
/// regular file.
pub fn open(process: &Process, path: &Path) -> io::Result<File> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(process.directory().join("root"), directory, Mode::empty())?;
    open_below(&root, path, ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
}

/// Opens a regular file below a directory; `resolve` says how links are
/// followed on the way.
///
/// # Errors
/// As [`open`].
pub fn open_below(directory: &impl AsFd, path: &Path, resolve: ResolveFlags) -> io::Result<File> {
    // A handle that opens nothing yet.
    let found = openat2(directory, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?;
    if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::RegularFile {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(File::from(opened(&found)?))
}

/// What the handle stands for, opened for reading; nothing can come between.
fn opened(handle: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/self/fd/{}", handle.as_raw_fd()), flags, Mode::empty())
}

/// Where an open file can be opened once more, by its path.
pub fn place(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The first `most` bytes of a file in the process's view; `None` if it cannot
/// be read or is no regular file.
pub fn read(process: &Process, path: &Path, most: u64) -> Option<Vec<u8>> {
    bounded(open(process, path).ok()?, most).ok()
}

/// The first `most` bytes of what is read.
///
/// # Errors
/// Those of reading.
pub fn bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_are_opened_and_links_stay_below_the_root() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("file"), "text").expect("written");
        symlink("/file", path("absolute")).expect("linked");
        symlink("/etc/passwd", path("outside")).expect("linked");
        symlink("/dev/zero", path("endless")).expect("linked");
        let fifo = path("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a fifo");
        let root = File::open(directory.path()).expect("opened");
        let read = |name: &str| {
            let file = open_below(&root, Path::new(name), ResolveFlags::IN_ROOT)?;
            bounded(file, 3).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        assert_eq!(read("file").expect("read"), "tex");
        assert_eq!(read("absolute").expect("read"), "tex");
        assert_eq!(read("outside").expect_err("below").kind(), ErrorKind::NotFound);
        assert_eq!(read("fifo").expect_err("a pipe").kind(), ErrorKind::InvalidInput);
        assert!(read("endless").is_err());
        let ours = File::open("/").expect("opened");
        let zero = open_below(&ours, Path::new("dev/zero"), ResolveFlags::IN_ROOT);
        assert_eq!(zero.expect_err("a device").kind(), ErrorKind::InvalidInput);
    }
}
