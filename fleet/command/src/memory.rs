//! A bound for memory that the engine does not count.
//!
//! `--memory` bounds what sorting, joining and grouping keep. A function can ask for more than that at once
//! (`repeat('x', 2000000000)`), which the engine neither counts nor refuses, until the machine has no memory left.
//! A block that is larger than the whole limit is refused here.
#![allow(unsafe_code)] // an allocator is

use crate::failure::Failure;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

const REFUSED: &[u8] = b"headway-fleet: the query needs more memory at once than --memory allows: a function makes a \
    very large value. Make it smaller, or raise --memory\n";

/// The system's allocator with a bound for each block.
struct Bounded;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

/// The largest block, in bytes.
static LARGEST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// `--memory` in bytes; less than 16 MiB are of no use.
pub fn limit(mib: usize) -> usize {
    mib.max(16).saturating_mul(1 << 20)
}

/// From now on a query that asks for a larger block ends the process with a sentence. For commands that only read.
pub fn bound(largest: usize) {
    LARGEST.store(largest, Ordering::Relaxed);
}

#[inline]
fn check(bytes: usize) {
    if bytes > LARGEST.load(Ordering::Relaxed) {
        refuse();
    }
}

/// An allocator cannot fail but by ending the process; nothing was written that is worth keeping.
#[cold]
fn refuse() -> ! {
    // Ending may ask for memory, too.
    bound(usize::MAX);
    // If nobody reads it, the exit code says that it failed.
    let _ = io::stderr().write_all(REFUSED);
    process::exit(Failure::Failed(String::new()).code().into())
}

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}
