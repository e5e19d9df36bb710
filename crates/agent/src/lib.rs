//! `libheadway.so`: the part of Headway that lives inside the JVM.
//!
//! * [`lifecycle`]: what the VM calls to load the agent, and the commands.
//! * [`sole`]: which of several copies of the library is the process's agent.
//! * [`agent`]: the one value that everything hangs on, built and checked once.
//! * [`callbacks`], [`hooks`]: the borders to the VM; no panic crosses them.
//! * [`sample`]: copies of running stacks, and their decoding.
//! * [`monitor`], [`park`], [`thread_events`]: features, as application threads run them.
//! * [`causal`]: experiments with virtual speedups.
//! * [`steal`]: CPU, stolen and run-queue time, and transactions.
//! * [`chain`], [`locks`], [`threads`], [`naming`]: identity of what is seen.
//! * [`drain`], [`session`]: the background thread and the recording it makes.
//! * [`large_blocks`]: where the agent's memory comes from.
//!
//! Application threads do as little as possible: number, time, a light walk, a
//! few words into their own buffer. Everything else happens in [`drain`].
#![allow(unsafe_code)] // speaks with the VM through C function tables

pub mod agent;
pub mod callbacks;
pub mod causal;
pub mod chain;
pub mod clock;
pub mod core;
pub mod counted;
pub mod definitions;
pub mod drain;
pub mod ending;
pub mod exclusive;
pub mod exit_signal;
pub mod hooks;
pub mod java;
pub mod jni;
pub mod jvmti;
pub mod large_blocks;
mod lease;
pub mod lifecycle;
pub mod locks;
pub mod mapping;
pub mod masked_signals;
mod minimum_duration;
pub mod monitor;
pub mod naming;
pub mod online;
pub mod options;
mod pace;
pub mod park;
mod pressure;
pub mod process;
pub mod raw;
mod recompile;
pub mod removal;
pub mod reply;
pub mod sample;
pub mod session;
pub mod sole;
pub mod steal;
pub mod thread_events;
pub mod threads;
pub mod virtuals;
pub mod vm;
