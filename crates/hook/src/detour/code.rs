//! Writing code memory that is not writable.
//!
//! Through `/proc/self/mem` the kernel writes for us, whatever the page's rights:
//! it stays read-only to every thread. Where that is denied (a seccomp filter, a
//! kernel that forbids it), the page is made writable for the moment of the write,
//! so writable and executable at once; [`crate::protection`] says that it was.
//! Neither way is atomic for more than one byte.

use crate::error::HookError;
use crate::protection;
use crate::sys::Sys;
use std::ptr;

/// Writes code, in whatever order.
///
/// # Safety
/// It must be mapped code of a library that is never unloaded. Any thread may
/// execute any part of the change at any time: the caller's protocol must make
/// that harmless, by changing one byte or bytes that nobody reaches.
pub(crate) unsafe fn write(sys: &dyn Sys, address: usize, bytes: &[u8]) -> Result<(), HookError> {
    // SAFETY: promised by the caller.
    let Err(mem_file) = (unsafe { sys.write_protected(address, bytes) }) else { return Ok(()) };
    let written = protection::while_writable(sys, address..address + bytes.len(), || {
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: the pages are writable now and stay executable; the caller
            // answers for the content.
            unsafe { ptr::write_volatile((address + i) as *mut u8, *byte) };
        }
    });
    match written {
        Ok(()) => {
            protection::note_fallback(&mem_file);
            Ok(())
        }
        Err(HookError::ProtectDenied { error: mprotect, .. }) => {
            Err(HookError::WriteDenied { address, mprotect, mem_file })
        }
        Err(other) => Err(other),
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
