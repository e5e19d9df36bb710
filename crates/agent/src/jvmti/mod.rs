//! JVMTI: the function table as the specification numbers it, and a thin
//! typed face over the few functions the agent calls.

pub mod env;
pub mod table;

pub use env::{Jvmti, JvmtiError};
