//! The processor: what the kernel says about an interrupted thread's registers, which of them
//! unwinding needs, and the reading of generated code.
//!
//! [`x86_64`] is the only one so far. What it decodes are copies, so most of it is compiled on
//! every processor; an interrupted thread's registers are only known where it runs.

pub mod x86_64;

pub use x86_64::generated;
pub(crate) use x86_64::native::{Cache, Tables, Unwinding};
pub(crate) use x86_64::perf;

#[cfg(not(target_arch = "x86_64"))]
mod unsupported;
#[cfg(not(target_arch = "x86_64"))]
pub use unsupported::interrupted;
#[cfg(target_arch = "x86_64")]
pub use x86_64::signal::interrupted;
