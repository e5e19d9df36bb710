//! The processor: what an interrupted thread's registers are called, and the few instructions that
//! no compiler writes.

#[cfg(not(target_arch = "x86_64"))]
mod unsupported;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use unsupported::with_caller_frame;
#[cfg(not(target_arch = "x86_64"))]
pub use unsupported::{interrupted_pc, UNSUPPORTED};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::with_caller_frame;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{interrupted_pc, UNSUPPORTED};
