//! Memory handed in by the caller.
//!
//! A region is a slice of atomic words that lives as long as the process. All
//! structures of this crate keep to such slices, so that none of them holds a
//! raw pointer and the only unsafe step is here, where memory becomes words.

use crate::sync::AtomicU64;

/// Words that live as long as the process, zero when handed in.
pub type Region = &'static [AtomicU64];

/// Takes freshly mapped memory as a region.
///
/// # Safety
///
/// `start` is aligned to 8 bytes and points to `words * 8` bytes that are
/// readable, writable and zero, stay mapped for as long as the process lives,
/// and are reached through nothing but the returned slice from now on.
#[cfg(not(loom))]
#[allow(unsafe_code)] // the one place where memory becomes words
pub const unsafe fn from_raw(start: *mut u64, words: usize) -> Region {
    // SAFETY: the caller vouches for alignment, size, life time and exclusive
    // use; AtomicU64 has the size of u64 and its alignment on this target, and
    // any bytes are a valid value of it.
    unsafe { core::slice::from_raw_parts(start as *const AtomicU64, words) }
}

/// Splits `words` words off the front; `None` if there are not as many.
pub(crate) fn split(region: Region, words: usize) -> Option<(Region, Region)> {
    region.split_at_checked(words)
}
