//! Making every core of the process forget code it has already fetched.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Mutex;
use std::time::Duration;

const REGISTER_SYNC_CORE: libc::c_int = 1 << 6;
const SYNC_CORE: libc::c_int = 1 << 5;

const UNKNOWN: u8 = 0;
const WORKS: u8 = 1;
const DENIED: u8 = 2;

/// Whether the kernel lets us use membarrier.
static MEMBARRIER: AtomicU8 = AtomicU8::new(UNKNOWN);

/// See [`crate::sys::Sys::sync_cores`].
pub(super) fn all_cores() {
    if MEMBARRIER.load(Ordering::Relaxed) == UNKNOWN {
        let state = if membarrier(REGISTER_SYNC_CORE).is_ok() { WORKS } else { DENIED };
        MEMBARRIER.store(state, Ordering::Relaxed);
    }
    let done = MEMBARRIER.load(Ordering::Relaxed) == WORKS && membarrier(SYNC_CORE).is_ok();
    if !done {
        interrupt_every_core();
    }
}

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: membarrier takes no pointers and changes no memory.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Without membarrier (old kernel, seccomp): taking a right away from a page
/// in use makes the kernel interrupt all cores that run this process, and the
/// return from an interrupt serializes. Processors that invalidate remote
/// TLBs without an interrupt exist, so the timer tick is waited for as well:
/// at HZ=100, the slowest in use, within 10 ms.
fn interrupt_every_core() {
    static PAGE: Mutex<usize> = Mutex::new(0);
    let mut page = PAGE.lock().unwrap_or_else(|held| held.into_inner());
    if *page == 0 {
        *page = new_page();
    }
    if *page != 0 {
        flip(*page);
    }
    drop(page);
    std::thread::sleep(Duration::from_millis(25));
}

/// A page of our own, kept for the next call, or 0.
fn new_page() -> usize {
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            super::super::PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        0
    } else {
        page as usize
    }
}

fn flip(page: usize) {
    let length = super::super::PAGE_BYTES;
    // SAFETY: the page is ours alone and the caller holds its lock, so that
    // nobody takes the right to write between mprotect and the store.
    unsafe {
        let ours = page as *mut libc::c_void;
        if libc::mprotect(ours, length, libc::PROT_READ | libc::PROT_WRITE) == 0 {
            (page as *mut u8).write_volatile(1);
            libc::mprotect(ours, length, libc::PROT_READ);
        }
    }
}
