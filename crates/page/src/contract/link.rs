//! Names of code in sentences.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use ts_rs::TS;

/// A name of code in a sentence, and where it can be followed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Link {
    /// As the sentence has it.
    pub name: String,
    /// What it is the name of.
    pub kind: Named,
    /// What the recording has of it.
    pub seen: Seen,
    /// The whole name of a method.
    pub whole: String,
}

/// What of a recording has a name: the first of these that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Seen {
    /// Blocked time: of a method, on a call stack of a blocked thread or an owner.
    Blocked,
    /// Samples of owners of locks, between their innermost method and the one that acquired the lock.
    Inside,
    /// Parks.
    Park,
    /// Times in `Object.wait`.
    Wait,
    /// CPU samples.
    Cpu,
    /// Samples on the wall clock.
    Wall,
}

/// What a name in a sentence is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Named {
    /// A lock.
    Lock,
    /// A thread, or a group of threads.
    Thread,
    /// A method.
    Method,
}
