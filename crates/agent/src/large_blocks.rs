//! The agent's allocator: large blocks are mapped from the kernel and given
//! back to it, the rest comes from the C library.
//!
//! We are guests in somebody else's process, and the C library's allocator is
//! the application's. Freed large blocks would stay with it: glibc takes a free
//! of a block that it had mapped as a reason to map no blocks of that size any
//! more, and to give nothing back before twice as much is free, in each of the
//! arenas it gives to threads by turns. A recording that reads the VM's library
//! and fills a few megabytes of buffers left 1.4 MB in another arena each time,
//! and changed for good how the application's own memory is managed. Smaller blocks
//! stay with it too: each recording's threads get the next of glibc's arenas (8 per
//! core), and each arena keeps what its recordings needed most. The lower the border,
//! the less: 500 recordings left 3.9 MB with 64 KB, 2.7 with 16 KB, 2.1 with 8 KB.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// Blocks from this size on are mapped; the kernel's part in it, two calls and
/// the faults of fresh pages, is then small beside their use: the agent's threads
/// make some 40 such calls a second.
const LARGE_BYTES: usize = 8 << 10;
/// What a mapping is aligned to at least.
const PAGE_BYTES: usize = 4096;

/// See the module.
#[derive(Debug)]
pub struct LargeBlocks;

#[global_allocator]
static ALLOCATOR: LargeBlocks = LargeBlocks;

fn is_mapped(size: usize, align: usize) -> bool {
    size >= LARGE_BYTES && align <= PAGE_BYTES
}

/// Zeroed memory; null if there is none.
fn map(size: usize) -> *mut u8 {
    // SAFETY: an anonymous private mapping at an address of the kernel's
    // choice touches nothing that exists.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    start.cast()
}

// SAFETY: every block is mapped with its own size, or comes from `System`;
// which of both is decided by the layout, which is the same when the block is
// freed or resized. Mappings are page-aligned and zeroed.
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_mapped(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: the caller's promises are those that `System` asks for.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_mapped(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: as in `alloc`.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match is_mapped(layout.size(), layout.align()) {
            // SAFETY: the caller gives back a block of this layout, so it was
            // mapped with this size, and nobody uses it any more.
            true => unsafe {
                libc::munmap(block.cast(), layout.size());
            },
            // SAFETY: as in `alloc`.
            false => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_mapped(layout.size(), layout.align()), is_mapped(size, layout.align())) {
            // SAFETY: as in `alloc`.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            (true, true) => {
                // SAFETY: the block is a mapping of this size and the caller's
                // alone; it may move.
                let moved = unsafe { libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
                if moved == libc::MAP_FAILED {
                    return ptr::null_mut();
                }
                moved.cast()
            }
            // SAFETY: the caller promises that `size` is not 0 and does not
            // overflow with this alignment; the blocks do not overlap and both
            // hold the bytes that are copied.
            _ => unsafe {
                let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !new.is_null() {
                    ptr::copy_nonoverlapping(block, new, size.min(layout.size()));
                    self.dealloc(block, layout);
                }
                new
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_survive_growing_and_shrinking_across_the_border() {
        let mut bytes: Vec<u8> = Vec::new();
        for at in 0..LARGE_BYTES * 5 {
            bytes.push(at as u8);
            if bytes.len() % 10_007 == 0 {
                bytes.shrink_to_fit();
            }
        }
        for length in [LARGE_BYTES * 3, LARGE_BYTES + 1, LARGE_BYTES, LARGE_BYTES - 1, 10] {
            bytes.truncate(length);
            bytes.shrink_to_fit();
            assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == at as u8), "{length}");
        }
    }

    #[test]
    fn zeroed_blocks_are_zero_and_alignment_is_kept() {
        let zeroed = vec![0_u64; LARGE_BYTES];
        assert!(zeroed.iter().all(|word| *word == 0));
        for align in [8, 64, PAGE_BYTES, 2 * PAGE_BYTES] {
            let layout = Layout::from_size_align(LARGE_BYTES + 5, align).unwrap();
            // SAFETY: the layout has a size; the block is freed with it.
            unsafe {
                let block = ALLOCATOR.alloc(layout);
                assert_eq!(block as usize % align, 0);
                block.add(LARGE_BYTES + 4).write(1);
                ALLOCATOR.dealloc(block, layout);
            }
        }
    }

    /// The kernel knows the block as long as it lives and no longer.
    #[test]
    fn a_freed_block_is_the_kernels_again() {
        // So large that no other thread's mapping reaches its lowest page when
        // the place is free again; untouched, so that it costs no memory.
        let block: Vec<u8> = Vec::with_capacity(1 << 30);
        let start = block.as_ptr() as usize;
        let is_mapped = || {
            let mut present = [0_u8; 1];
            // SAFETY: asks about one page, whether it is mapped or not; the
            // answer has room for it.
            unsafe { libc::mincore(start as *mut libc::c_void, 1, present.as_mut_ptr()) == 0 }
        };
        assert!(start % PAGE_BYTES < 64 && is_mapped());
        drop(block);
        assert!(!is_mapped());
    }
}
