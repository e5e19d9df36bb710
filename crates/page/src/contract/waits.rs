//! Waits, as the report has them.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// Where threads waited: as the report has it, for the whole recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct WaitPlace {
    /// The first method that is not part of the waiting mechanism.
    pub method: String,
    /// The lock or other object, if it was one; otherwise its name, or its class.
    pub on: String,
    /// True for `Object.wait`.
    pub is_monitor: bool,
    /// Groups of the threads that waited, most waits first.
    pub groups: Vec<String>,
    /// The method that ended most of the time; empty if there is none, or none is recorded.
    pub ended_by: String,
    /// True if most of the waits timed out.
    pub by_timeout: bool,
    /// Time of all threads.
    pub total_ns: u64,
    /// How many waits.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
}

/// A method in which idle threads waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct IdleWaits {
    /// The method that waited.
    pub method: String,
    /// True for `Object.wait`, false for parks.
    pub is_monitor: bool,
    /// How long idle threads waited there.
    pub idle_ns: u64,
    /// The same of all threads.
    pub total_ns: u64,
}
