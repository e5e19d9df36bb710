//! Counts allocations between two calls, of all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator, with a counter.
struct Counting;

// SAFETY: every call goes to the system's allocator with the arguments that it
// was made with; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`; the block is the system's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `realloc`; the block is the system's.
        unsafe { System.realloc(block, layout, size) }
    }
}

fn count() {
    if COUNTS.load(Ordering::Relaxed) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

/// From now on allocations count.
pub fn begin() {
    COUNTS.store(true, Ordering::Relaxed);
}

/// From now on they do not.
pub fn end() {
    COUNTS.store(false, Ordering::Relaxed);
}

/// How many there were.
pub fn counted() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
