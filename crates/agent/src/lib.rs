//! `libheadway.so`: the part of Headway that lives inside the JVM.
//!
//! The ground, which knows no feature:
//! * [`core`]: what every part needs: interfaces, buffers, definitions, losses, clocks.
//! * [`jvmti`], [`jni`], [`vm`], [`java`]: what the VM offers, and what is read in it.
//! * [`options`], [`reply`]: what commands ask, and what they are answered.
//! * [`raw`], [`definitions`]: what application threads hand to the draining thread.
//! * [`heap`]: Java objects read by their address, and when they move.
//! * [`locks`], [`naming`], [`process`], [`clock`], [`mapping`], [`masked_signals`],
//!   [`exclusive`], [`large_blocks`]: identity and names, the process, memory.
//!
//! The agent:
//! * [`agent`]: the core, and what is known of threads, locks and chains, built and checked
//!   once; what an observer of threads is shown.
//! * [`bindings`]: the platform's native methods, bound to the agent's functions and back.
//! * [`threads`], [`thread_entry`], [`virtuals`], [`chain`]: who acts, and where.
//! * [`exchanged`]: what a thread took and gave that others wait for.
//! * [`state`]: what features keep between events, without what they do with it.
//!
//! Features, as application threads run them:
//! * [`monitor`], [`park`], [`thread_events`]: contended monitors, waits, parks, threads.
//! * `pressure`: windows, phases and the picture of now; what a thread spends on locks.
//! * [`steal`]: CPU, steal and run-queue time, and transactions.
//! * [`sample`]: copies of running stacks, and their decoding.
//! * [`causal`]: experiments with virtual speedups, the observer; known to `observing` alone.
//! * [`hooks`], [`exit_signal`]: what is patched or bound for them.
//!
//! The draining thread:
//! * [`drain`]: collects what was appended, routes it to the analyses and the recording,
//!   and retains definitions as long as events may name them.
//! * [`counted`], `minimum_duration`, `recompile`, `pace`: what it asks.
//!
//! Commands:
//! * [`lifecycle`], [`callbacks`]: what the VM calls; no panic crosses this border.
//! * [`session`], [`ending`], `lease`: a recording, from its begin to its end.
//! * [`removal`]: what a recording put into the process, and what stays of it.
//! * [`sole`]: which of several copies of the library is the process's agent.
//!
//! Application threads do as little as possible: number, time, a light walk, a
//! few words into their own buffer. Everything else happens in [`drain`].
//!
//! No import between these modules is part of a circle: `./hw tidy` checks that.
#![allow(unsafe_code)] // speaks with the VM through C function tables

pub mod agent;
mod arch;
pub mod bindings;
pub mod callbacks;
pub mod causal;
pub mod chain;
pub mod clock;
pub mod core;
pub mod counted;
pub mod definitions;
pub mod drain;
pub mod ending;
pub mod exchanged;
pub mod exclusive;
pub mod exit_signal;
pub mod found_waiting;
pub mod heap;
mod held;
pub mod hooks;
pub mod java;
pub mod jni;
pub mod jvmti;
pub mod large_blocks;
mod lease;
pub mod lifecycle;
pub mod locks;
pub mod long_contentions;
pub mod mapping;
pub mod masked_signals;
mod minimum_duration;
pub mod monitor;
pub mod naming;
mod observing;
pub mod options;
pub mod own_cost;
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
mod stack;
pub mod state;
pub mod steal;
pub mod thread_entry;
pub mod thread_events;
pub mod threads;
pub mod virtuals;
pub mod vm;
