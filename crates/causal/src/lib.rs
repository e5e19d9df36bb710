//! Causal profiling without the JVM: what a speedup would buy, by slowing
//! everything else down (Curtsinger and Berger, *Coz*, SOSP 2015).
//!
//! * [`accounting`]: who owes how much delay. The agent runs it on application
//!   threads, the tests in a simulator.
//! * [`experiment`]: what one window of a run measured.
//! * [`statistics`]: from experiments to curves with intervals.
//! * [`effect`]: what a gain means to a user, and how it is shown.
//! * [`report`]: the result, its JSON and its sentences.
//! * [`page`]: the result as one HTML file.
//! * [`coz`]: the files that coz's own viewer reads.
//!
//! A *gain* is the part of the period (the time per visit of a progress point)
//! that a speedup takes away: `1 - p(s) / p(0)`. It is 0 where nothing changes
//! and at most 1; [`statistics::throughput_raise`] makes throughput of it.

pub mod accounting;
mod chart;
pub mod coz;
pub mod effect;
pub mod experiment;
pub mod gains;
pub mod page;
pub mod statistics;
mod warnings;
