//! x86-64.

pub mod generated;
pub(crate) mod native;
pub(crate) mod perf;
#[cfg(target_arch = "x86_64")]
pub(crate) mod signal;
