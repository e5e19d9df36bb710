//! Memory that is mapped once and never unmapped: what hooks and signal
//! handlers may look at at any time.

use headway_signal::region::{self, Region};
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;

/// What the kernel takes back at a time.
const PAGE_WORDS: usize = 512;

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

/// Makes a part of such memory zero again. Whole pages go back to the kernel, so that
/// they cost nothing until they are touched again. Nobody else looks at it meanwhile.
pub fn wipe(region: Region) {
    let to_page = region.as_ptr().cast::<u8>().align_offset(PAGE_WORDS * 8) / 8;
    let (head, rest) = region.split_at_checked(to_page).unwrap_or((region, &[]));
    let (pages, tail) = rest.split_at_checked(rest.len() / PAGE_WORDS * PAGE_WORDS).unwrap_or((&[], rest));
    // SAFETY: whole pages of an anonymous private mapping of ours; they read as zero
    // afterwards, which is a value like any other to whoever has the region.
    let given_back = pages.is_empty()
        || unsafe { libc::madvise(pages.as_ptr() as *mut _, pages.len() * 8, libc::MADV_DONTNEED) } == 0;
    let written: &[Region] = if given_back { &[head, tail] } else { &[region] };
    written.iter().copied().flatten().for_each(|word| word.store(0, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wiped_part_is_zero_and_the_rest_is_not() {
        const WORDS: usize = 5 * PAGE_WORDS;
        for (from, to) in [(0, WORDS), (3, WORDS - 7), (PAGE_WORDS, 3 * PAGE_WORDS), (1, 9), (4, 4)] {
            let region = zeroed(WORDS * 8).unwrap();
            region.iter().for_each(|word| word.store(7, Ordering::Relaxed));
            wipe(&region[from..to]);
            let wrong = (0..WORDS).filter(|at| {
                let is_inside = (from..to).contains(at);
                region[*at].load(Ordering::Relaxed) != if is_inside { 0 } else { 7 }
            });
            assert_eq!(wrong.count(), 0, "{from}..{to}");
        }
    }
}
