//! The processor.

#[cfg(target_arch = "x86_64")]
mod x86_64;
