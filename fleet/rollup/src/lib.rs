//! What one recording comes to, minute by minute: rows that add up over machines.
//!
//! [`Rollup::read`] goes through a recording once and gives [`Rolled`]: blocked time by
//! lock and call stacks, waits, load, phases and CPU time, each in rows of one minute of
//! wall time. Ids of locks and stacks are hashes of names ([`identity`]), so that the same
//! code has the same ids on every machine and in every build. Sums over minutes are those
//! that `headway report` gives for the recording. What the columns mean is in
//! `docs/fleet.md`.
//!
//! Nothing here knows where rows are kept.

mod build;
mod cells;
pub mod histogram;
pub mod identity;
pub mod minute;
mod names;
pub mod rows;

pub use build::{Rollup, Source};
pub use histogram::Histogram;
pub use rows::Rolled;
