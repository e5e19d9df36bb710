//! What this crate needs of the operating system: [`Sys`], the real
//! [`linux`] one, and a [`fake`] that lets single calls fail.

pub mod fake;
pub mod linux;

use std::io;
use std::ops::Range;

/// Access rights of a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Protection {
    /// May be read.
    pub read: bool,
    /// May be written.
    pub write: bool,
    /// May be executed.
    pub execute: bool,
}

impl Protection {
    /// `r-x`
    pub const READ_EXECUTE: Protection = Protection { read: true, write: false, execute: true };

    /// The same rights and writing as well.
    pub const fn writable(self) -> Protection {
        Protection { write: true, ..self }
    }
}

/// One line of the process's memory map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses covered.
    pub range: Range<usize>,
    /// Access rights.
    pub protection: Protection,
    /// Path of the mapped file as the kernel has it, perhaps with
    /// ` (deleted)`; empty for anonymous memory.
    pub path: String,
}

/// What matters here about a thread of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSignals {
    /// Kernel thread id.
    pub tid: u32,
    /// Name as the kernel has it.
    pub name: String,
    /// Blocked signals; bit `n-1` stands for signal `n`.
    pub blocked: u64,
    /// Signals directed at the thread and not yet delivered, likewise.
    pub pending: u64,
    /// Process that traces the thread, 0 if none.
    pub tracer: u32,
}

/// The operating system. A parameter of everything that patches, so that
/// tests can deny single calls.
pub trait Sys: Sync {
    /// The process's memory map, in address order.
    ///
    /// # Errors
    /// If it cannot be read.
    fn mappings(&self) -> io::Result<Vec<Mapping>>;

    /// Signal state of all threads of this process. A thread that ends
    /// meanwhile is left out.
    ///
    /// # Errors
    /// If the list or a living thread's state cannot be read.
    fn threads(&self) -> io::Result<Vec<ThreadSignals>>;

    /// New private memory, readable and writable, at exactly this
    /// page-aligned address.
    ///
    /// # Errors
    /// If the place is taken or the kernel refuses.
    fn map_at(&self, address: usize, length: usize) -> io::Result<()>;

    /// Changes the access rights of whole pages.
    ///
    /// # Safety
    /// The pages must be mapped, and nobody may rely on a right that is
    /// taken away.
    ///
    /// # Errors
    /// If the kernel refuses.
    unsafe fn protect(&self, pages: Range<usize>, to: Protection) -> io::Result<()>;

    /// Writes memory of this process in spite of its protection.
    ///
    /// # Safety
    /// As for any write of code or data that others use.
    ///
    /// # Errors
    /// If the kernel refuses.
    unsafe fn write_protected(&self, address: usize, bytes: &[u8]) -> io::Result<()>;

    /// Returns when every thread of this process has executed a
    /// core-serializing instruction since the call began, so that none goes
    /// on with code bytes it fetched before.
    fn sync_cores(&self);
}

/// Size of a page; a multiple of the real one would do as well.
pub const PAGE_BYTES: usize = 4096;

/// The whole pages that hold a range.
pub(crate) fn pages(range: Range<usize>) -> Range<usize> {
    let start = range.start & !(PAGE_BYTES - 1);
    let end = (range.end + PAGE_BYTES - 1) & !(PAGE_BYTES - 1);
    start..end
}
