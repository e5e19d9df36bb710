//! Memory that is mapped once and never unmapped: what hooks and signal
//! handlers may look at at any time.

use headway_signal::region::{self, Region};
use std::io;
use std::ptr;

/// Maps `bytes` of zeroed memory. Pages cost nothing until they are touched.
pub fn zeroed(bytes: usize) -> io::Result<Region> {
    let words = bytes / 8;
    // SAFETY: an anonymous private mapping at an address of the kernel's
    // choice touches nothing that exists.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            words * 8,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: page-aligned, `words * 8` bytes, readable, writable, zero, never
    // unmapped, and nobody else has the address.
    Ok(unsafe { region::from_raw(start.cast(), words) })
}
