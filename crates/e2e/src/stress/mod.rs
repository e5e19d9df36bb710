//! The stress driver: which VM configurations take turns, one round of the
//! stress workload under Headway, and soaks of hours.

pub mod configuration;
pub mod round;
pub mod soak;
pub mod watch;
