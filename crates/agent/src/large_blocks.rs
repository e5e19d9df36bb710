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

//!
//! Where there is no memory any more, Rust ends the process. So there is a reserve, which is used then: it lasts
//! until the recording has noticed and takes in no more events ([`is_short`]).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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

/// Bytes of the reserve. Untouched, they are no memory.
const RESERVE_BYTES: usize = 16 << 20;

#[repr(C, align(4096))]
struct Reserve(UnsafeCell<[u8; RESERVE_BYTES]>);

// SAFETY: each byte has one user at a time.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve(UnsafeCell::new([0; RESERVE_BYTES]));
/// Where the rest of it begins, and above [`BLOCKS_SHIFT`] how many blocks are in use. What is freed comes back if it
/// was the last one, and all of it with the last block in use.
static USED: AtomicU64 = AtomicU64::new(0);
const BLOCKS_SHIFT: u32 = 32;
const BLOCK: u64 = 1 << BLOCKS_SHIFT;

fn used_bytes(used: u64) -> usize {
    (used & (BLOCK - 1)) as usize
}

static SHORT: AtomicBool = AtomicBool::new(false);

/// True once the process had no memory for the agent.
#[inline]
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

/// True if there is memory, again or still, and enough of the reserve.
pub fn has_recovered() -> bool {
    if !is_short() {
        return true;
    }
    if used_bytes(USED.load(Ordering::Relaxed)) > RESERVE_BYTES / 2 {
        return false;
    }
    let has_room = has_room_for(RESERVE_BYTES);
    if has_room {
        SHORT.store(false, Ordering::Relaxed);
    }
    has_room
}

/// Address space that the process must have left for the agent to be built: it and its first recording take 335 MB,
/// nearly all of it reserved and never used (what the C library reserves for each new thread).
pub const AGENT_BYTES: usize = 512 << 20;
/// The same for a later recording.
pub const RECORDING_BYTES: usize = 256 << 20;

/// Makes sure that the process can map so many bytes more.
///
/// # Errors
/// It cannot: a sentence.
pub fn room_for(bytes: usize) -> Result<(), String> {
    match has_recovered() && has_room_for(bytes) {
        true => Ok(()),
        false => Err(format!(
            "the process can map less than {} MB of memory more, which could end it during a recording: raise its limit \
             of address space (ulimit -v), or let the machine commit more memory (vm.overcommit_memory)",
            bytes >> 20
        )),
    }
}

/// True if the process can map so many bytes more at once. They are not touched, and mapped for a moment only.
fn has_room_for(bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing that exists; it is
    // changed and unmapped with its own size, and nobody else has it.
    unsafe {
        let probe = libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0);
        if probe == libc::MAP_FAILED {
            return false;
        }
        // A process that locks all its memory would get all of it as memory once it may be written.
        let is_unlocked = libc::munlock(probe, bytes) == 0;
        let has_room = is_unlocked && libc::mprotect(probe, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0;
        libc::munmap(probe, bytes);
        has_room
    }
}

/// A zeroed block of the reserve; null if that is used up, or the alignment is none of a page at most.
#[cold]
fn reserved(layout: Layout) -> *mut u8 {
    SHORT.store(true, Ordering::Relaxed);
    let begin = |used: u64| used_bytes(used).next_multiple_of(layout.align());
    let next = |used: u64| {
        let end = begin(used).checked_add(layout.size())?;
        let fits = layout.align() <= PAGE_BYTES && end <= RESERVE_BYTES;
        fits.then_some(((used >> BLOCKS_SHIFT) + 1) << BLOCKS_SHIFT | end as u64)
    };
    let Ok(used) = USED.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) else { return ptr::null_mut() };
    // SAFETY: the block lies within the reserve, and no one has it.
    unsafe {
        let block = RESERVE.0.get().cast::<u8>().add(begin(used));
        block.write_bytes(0, layout.size());
        block
    }
}

/// True if the block of the reserve has another size now, where it is: it was the last one.
#[cold]
fn resized_in_place(block: *const u8, before: usize, size: usize) -> bool {
    let begin = block as usize - RESERVE.0.get() as usize;
    let next = |used: u64| {
        let end = begin.checked_add(size).filter(|end| *end <= RESERVE_BYTES)?;
        (used_bytes(used) == begin + before).then_some((used >> BLOCKS_SHIFT) << BLOCKS_SHIFT | end as u64)
    };
    USED.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
}

/// Takes back a block of the reserve.
#[cold]
fn give_back(block: *const u8, layout: Layout) {
    let begin = block as usize - RESERVE.0.get() as usize;
    let next = |used: u64| match (used >> BLOCKS_SHIFT).saturating_sub(1) {
        0 => Some(0),
        blocks if used_bytes(used) == begin + layout.size() => Some(blocks << BLOCKS_SHIFT | begin as u64),
        _ => Some(used - BLOCK),
    };
    let _ = USED.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
}

fn is_reserved(block: *const u8) -> bool {
    (block as usize).wrapping_sub(RESERVE.0.get() as usize) < RESERVE_BYTES
}

/// The block, or one of the reserve where there is none.
#[inline]
fn or_reserved(block: *mut u8, layout: Layout) -> *mut u8 {
    match block.is_null() {
        true => reserved(layout),
        false => block,
    }
}

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
        let block = match is_mapped(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: the caller's promises are those that `System` asks for.
            false => unsafe { System.alloc(layout) },
        };
        or_reserved(block, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match is_mapped(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: as in `alloc`.
            false => unsafe { System.alloc_zeroed(layout) },
        };
        or_reserved(block, layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match is_mapped(layout.size(), layout.align()) {
            _ if is_reserved(block) => give_back(block, layout),
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
        let resized = match (is_mapped(layout.size(), layout.align()), is_mapped(size, layout.align())) {
            _ if is_reserved(block) => match resized_in_place(block, layout.size(), size) {
                true => block,
                false => ptr::null_mut(),
            },
            // SAFETY: as in `alloc`.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            (true, true) => {
                // SAFETY: the block is a mapping of this size and the caller's
                // alone; it may move.
                let moved = unsafe { libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
                if moved == libc::MAP_FAILED {
                    ptr::null_mut()
                } else {
                    moved.cast()
                }
            }
            _ => ptr::null_mut(),
        };
        if !resized.is_null() {
            return resized;
        }
        // SAFETY: the caller promises that `size` is not 0 and does not
        // overflow with this alignment; what could not be resized is as it was;
        // the blocks do not overlap and both hold the bytes that are copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            new
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

    #[test]
    fn room_is_found_and_given_back() {
        let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap_or_default().lines().count();
        let before = mapped();
        assert!(has_room_for(512 << 20) && !has_room_for(1 << 50));
        assert!(mapped() <= before + 8, "other tests map little meanwhile");
    }

    /// The reserve itself: whether it is used is the kernel's decision.
    #[test]
    fn the_reserve_is_aligned_given_out_once_and_ends() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        let (small, page) = (reserved(layout(10, 8)), reserved(layout(100, PAGE_BYTES)));
        assert!(is_short() && is_reserved(small) && is_reserved(page) && page as usize % PAGE_BYTES == 0);
        // SAFETY: a block of the reserve with this layout.
        let grown = unsafe {
            small.write_bytes(7, 10);
            ALLOCATOR.realloc(small, layout(10, 8), 1_000)
        };
        // SAFETY: it has 1,000 bytes, of which the first 10 were written.
        assert!(!grown.is_null() && !is_reserved(grown) && unsafe { (0..10).all(|at| *grown.add(at) == 7) });
        // SAFETY: blocks with these layouts.
        unsafe {
            ALLOCATOR.dealloc(grown, layout(1_000, 8));
            ALLOCATOR.dealloc(page, layout(100, PAGE_BYTES));
        }
        assert_eq!(USED.load(Ordering::Relaxed), 0, "all of it came back");
        let kept = reserved(layout(10, 1));
        assert!(reserved(layout(RESERVE_BYTES, 1)).is_null());
        assert!(resized_in_place(kept, 10, 1_000) && !resized_in_place(kept, 1_000, 2 * RESERVE_BYTES));
        give_back(kept, layout(1_000, 1));
        SHORT.store(false, Ordering::Relaxed);
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
