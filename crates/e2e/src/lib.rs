//! What the end-to-end tests, the stress driver and the measurement of accuracy share:
//! finding JDKs and the built tools, running workloads, and comparing reports with truths.
//!
//! Nothing here is part of what Headway ships. Everything runs in child
//! processes, because a JVM under test may die.

pub mod accuracy;
pub mod at_once;
pub mod concurrent;
pub mod faults;
pub mod guarded;
pub mod java_source;
pub mod majority;
pub mod profiler;
pub mod recorded;
pub mod report;
pub mod sampled;
pub mod shares;
pub mod stress;
pub mod tools;
pub mod truth;
pub mod waits;

pub use headway_jdk as jdk;

/// Any problem, as a sentence that says what went wrong with which value.
pub type Problem = Box<dyn std::error::Error + Send + Sync>;
