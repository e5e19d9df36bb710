//! Everything that parses bytes from outside, fed with bytes that were changed
//! at random: no panic, no endless loop, no memory that the bytes do not account
//! for.
//!
//! * [`change`]: what changes bytes, the same way in every run.
//! * `targets`: the parsers, by name, with sound inputs to begin with.
//!
//! `cargo test` runs each for a moment; `./hw fuzz` lets libFuzzer look for
//! inputs that reach new code, with the same functions. Inputs that once failed
//! are kept in `corpus/TARGET` and run first. Parsers of the command line, which
//! is no library, have tests of their own that use [`change`].

pub mod change;
#[cfg(feature = "targets")]
pub mod targets;
