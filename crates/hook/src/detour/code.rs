//! Writing code memory that is not writable.

use crate::error::HookError;
use crate::sys::{pages, Mapping, Sys};
use std::ops::Range;
use std::ptr;

/// A stretch of code about to be changed, with the rights its pages had.
pub(crate) struct CodeMemory<'a> {
    sys: &'a dyn Sys,
    mappings: Vec<Mapping>,
}

impl<'a> CodeMemory<'a> {
    /// Remembers the present rights of the pages of `range`.
    pub(crate) fn open(sys: &'a dyn Sys, range: Range<usize>) -> Result<Self, HookError> {
        let wanted = pages(range);
        let mut mappings = sys.mappings().map_err(HookError::MapUnreadable)?;
        for mapping in &mut mappings {
            let overlap = &mut mapping.range;
            *overlap = overlap.start.max(wanted.start)..overlap.end.min(wanted.end);
        }
        mappings.retain(|m| !m.range.is_empty());
        Ok(CodeMemory { sys, mappings })
    }

    /// Writes bytes within the opened range, one after the other.
    ///
    /// # Safety
    /// Any thread may execute any prefix of the change at any time: the
    /// caller's protocol must make that harmless.
    pub(crate) unsafe fn write(&self, address: usize, bytes: &[u8]) -> Result<(), HookError> {
        let denied = match self.make_writable() {
            Ok(()) => {
                for (i, byte) in bytes.iter().enumerate() {
                    // SAFETY: the pages are writable now and stay executable;
                    // the caller answers for the content.
                    unsafe { ptr::write_volatile((address + i) as *mut u8, *byte) };
                }
                return self.restore();
            }
            Err(error) => error,
        };
        // Some of the pages may have become writable before one was refused.
        let restored = self.restore();
        // SAFETY: as above.
        unsafe { self.sys.write_protected(address, bytes) }.map_err(|mem_file| HookError::WriteDenied {
            address,
            mprotect: denied,
            mem_file,
        })?;
        restored
    }

    fn make_writable(&self) -> std::io::Result<()> {
        for mapping in &self.mappings {
            let rights = mapping.protection.writable();
            // SAFETY: the pages are mapped code; no right is taken away.
            unsafe { self.sys.protect(mapping.range.clone(), rights)? };
        }
        Ok(())
    }

    fn restore(&self) -> Result<(), HookError> {
        for mapping in &self.mappings {
            // SAFETY: the rights are those the pages had; only our own
            // writing, which is over, needed more.
            unsafe { self.sys.protect(mapping.range.clone(), mapping.protection) }
                .map_err(|error| HookError::ProtectDenied { address: mapping.range.start, error })?;
        }
        Ok(())
    }
}

/// The bytes in memory at `address`.
///
/// # Safety
/// They must be mapped and readable.
pub(crate) unsafe fn read(address: usize, length: usize) -> Vec<u8> {
    (0..length)
        // SAFETY: promised by the caller; volatile, because other threads may
        // be patching.
        .map(|i| unsafe { ptr::read_volatile((address + i) as *const u8) })
        .collect()
}
