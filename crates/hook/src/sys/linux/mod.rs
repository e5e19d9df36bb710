//! Linux.

mod maps;
mod serialize;
mod tasks;

use super::{Mapping, Protection, Sys, ThreadSignals};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

pub(crate) use maps::find_loaded;
pub use maps::{LoadedObject, Segment};

/// The real system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl Sys for Linux {
    fn mappings(&self) -> io::Result<Vec<Mapping>> {
        maps::read()
    }

    fn threads(&self) -> io::Result<Vec<ThreadSignals>> {
        tasks::read()
    }

    fn map_at(&self, address: usize, length: usize) -> io::Result<()> {
        // SAFETY: MAP_FIXED_NOREPLACE never replaces an existing mapping; a
        // kernel that does not know the flag takes the address as a hint.
        let got = unsafe {
            libc::mmap(
                address as *mut libc::c_void,
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
        if got == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        if got as usize != address {
            // SAFETY: the mapping was made just now, for nobody else.
            unsafe { libc::munmap(got, length) };
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        Ok(())
    }

    unsafe fn protect(&self, pages: Range<usize>, to: Protection) -> io::Result<()> {
        let mut flags = libc::PROT_NONE;
        for (wanted, flag) in [(to.read, libc::PROT_READ), (to.write, libc::PROT_WRITE), (to.execute, libc::PROT_EXEC)]
        {
            if wanted {
                flags |= flag;
            }
        }
        // SAFETY: the caller guarantees that the pages are mapped and that
        // nobody misses a right.
        let result = unsafe { libc::mprotect(pages.start as *mut _, pages.len(), flags) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    unsafe fn write_protected(&self, address: usize, bytes: &[u8]) -> io::Result<()> {
        let file = std::fs::OpenOptions::new().write(true).open("/proc/self/mem")?;
        file.write_all_at(bytes, address as u64)
    }

    fn sync_cores(&self) {
        serialize::all_cores();
    }
}
