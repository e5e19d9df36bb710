//! Recordings as files: what they are called, whether they can be written,
//! and what is in them.

pub mod analysed;
pub mod file_name;
pub mod input;
pub mod output;
pub mod profiled;
pub mod progress;
pub mod so_far;
