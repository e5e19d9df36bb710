//! The stress driver: which VM configurations take turns, and one round of
//! the stress workload under Headway.

pub mod configuration;
pub mod round;
pub mod watch;
