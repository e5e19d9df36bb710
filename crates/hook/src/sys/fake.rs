//! The real system with single calls denied or their answers replaced: for
//! tests of what happens then.

use super::linux::Linux;
use super::{Mapping, Protection, Sys, ThreadSignals};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// [`Linux`], except for what is denied.
#[derive(Debug, Default)]
pub struct Fake {
    /// mprotect to a writable and executable page fails with EACCES.
    pub deny_protect: bool,
    /// Writing through `/proc/self/mem` fails with EIO.
    pub deny_mem_file: bool,
    /// All address space is taken.
    pub deny_mapping: bool,
    /// The n-th write through `/proc/self/mem` (from 1) fails with EIO; 0 for none.
    pub fail_write: u32,
    /// Threads shown instead of the real ones.
    pub threads: Option<Vec<ThreadSignals>>,
    /// mprotect to executable and not writable fails with ENOMEM.
    pub deny_restore: AtomicBool,
    /// Called right before a write through `/proc/self/mem` is carried out, with its
    /// number (from 1): what somebody else does in that moment.
    pub meanwhile: Option<fn(u32)>,
    /// How many writes through `/proc/self/mem` were asked for.
    pub writes: AtomicU32,
}

impl Sys for Fake {
    fn mappings(&self) -> io::Result<Vec<Mapping>> {
        Linux.mappings()
    }

    fn threads(&self) -> io::Result<Vec<ThreadSignals>> {
        match &self.threads {
            Some(threads) => Ok(threads.clone()),
            None => Linux.threads(),
        }
    }

    fn map_at(&self, address: usize, length: usize) -> io::Result<()> {
        if self.deny_mapping {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        Linux.map_at(address, length)
    }

    unsafe fn protect(&self, pages: Range<usize>, to: Protection) -> io::Result<()> {
        if self.deny_protect && to.write {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        if self.deny_restore.load(Ordering::Relaxed) && !to.write && to.execute {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        // SAFETY: passed on to the caller.
        unsafe { Linux.protect(pages, to) }
    }

    unsafe fn write_protected(&self, address: usize, bytes: &[u8]) -> io::Result<()> {
        let write = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        if self.deny_mem_file || write == self.fail_write {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        if let Some(meanwhile) = self.meanwhile {
            meanwhile(write);
        }
        // SAFETY: passed on to the caller.
        unsafe { Linux.write_protected(address, bytes) }
    }

    fn sync_cores(&self) {
        Linux.sync_cores();
    }
}
