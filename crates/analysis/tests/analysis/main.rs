//! Tests of the analysis as its users see it.

// Tests may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acquired_again;
mod arrival;
mod foreign;
mod ledger;
mod ledger_properties;
mod lives;
mod many;
mod method;
mod monitor;
mod park;
mod park_report;
mod park_statistics;
mod passed_on;
mod picture;
mod pressure;
mod properties;
mod queued;
mod report;
mod sampled;
mod simulation;
mod steal;
mod story;
mod virtual_threads;
mod waiting;
mod writer;
