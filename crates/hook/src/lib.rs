//! Finding and patching functions of a loaded library while threads run,
//! removably.
//!
//! The agent wants to know when a monitor is released; a stock HotSpot has no
//! event for that. This crate finds the VM's own function for it and has a
//! hook called at its entry, in a process that belongs to somebody else. So
//! everything here refuses rather than guesses, says why in an error that
//! names symbol, bytes or thread, and can be taken out again.
//!
//! * [`image`]: a library as a file and as loaded: symbols, USDT probes, GOT
//!   slots, build-id.
//! * [`known`]: the functions of HotSpot that Headway hooks, by purpose.
//! * [`detour`]: a jump at a function's entry. The main mechanism.
//! * [`usdt`], [`got`]: what is used where a detour is not possible.
//! * [`trap`]: the process's one SIGTRAP handler, which both rely on.
//! * [`protection`]: making memory writable for a moment.
//! * [`flag`]: boolean VM flags in memory.
//! * [`sys`], [`arch`]: the operating system and the CPU, a folder each.
//!
//! How it works, why it is safe and how it is undone: `docs/hooks.md`.

// This crate patches machine code and talks to the kernel: there is no safe
// way to say that. Each block says who guarantees it.
#![allow(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod arch;
pub mod detour;
pub mod error;
pub mod flag;
pub mod got;
pub mod image;
pub mod known;
pub mod protection;
pub mod sys;
pub mod trap;
pub mod usdt;

pub use detour::{Detour, Quiesce};
pub use error::{HookError, ImageError};
pub use image::{Function, Image};
pub use known::Known;
