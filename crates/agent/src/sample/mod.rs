//! CPU and wall-clock samples: where threads spend their time.
//!
//! Nothing is walked on application threads. The kernel, or a signal handler
//! where it refuses, copies the running part of a thread's stack; a thread of
//! the agent's own decodes the copies and hands samples to the draining thread.
//!
//! * [`plan`] decides how this recording samples.
//! * `sampler` is the thread, `sources` what it takes copies from.
//! * `decoding` makes chains of copies, `naming` names their frames.
//! * `asking` asks the VM for stacks instead, [`agct`] has it answer a signal's
//!   handler: other engines, to compare with; `latency` is how long it took.
//! * `waiting` samples threads that do not run, without waking them.
//! * `owners` samples those that others wait for, by what `exchanged` knows of them.

pub mod agct;
mod armed;
mod asking;
mod by_cpu;
mod decoding;
mod latency;
mod naming;
mod owners;
mod places;
pub mod plan;
mod sampler;
mod sources;
mod subjects;
mod waiting;

pub use sampler::{spawn, SamplerHandle};
