//! The truth that a predictable workload prints: who blocked whom, measured
//! by the program itself (`io.headway.workloads.predict.Truth`).

use serde::Deserialize;

/// A workload's truth. Times are nanoseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Truth {
    /// The scenario's name.
    pub workload: String,
    /// Threads that took part.
    pub threads: u64,
    /// Locks that were taken.
    pub locks: u64,
    /// Contentions that overlap at least one hold of another thread.
    pub contentions: u64,
    /// Their time, spinning included.
    pub blocked_ns: u64,
    /// The part of it in which nobody held the lock.
    pub gap_ns: u64,
    /// Contentions of a millisecond and more.
    pub contentions_ge_1ms: u64,
    /// Their time.
    pub blocked_ge_1ms_ns: u64,
    /// The part of it in which nobody held the lock.
    pub gap_ge_1ms_ns: u64,
    /// Waits by `Object.wait`, of programs that count them; 0 of others.
    pub waits: u64,
    /// Their time, each until it was notified.
    pub waited_ns: u64,
    /// What each method caused by holding each lock.
    pub owners: Vec<Owner>,
    /// Who caused whom how much.
    pub cells: Vec<Cell>,
}

/// A method that held a lock.
#[derive(Clone, Debug, Deserialize)]
pub struct Owner {
    /// What a developer calls the lock.
    pub lock: String,
    /// Class of the lock object.
    pub lock_class: String,
    /// Its identity hash in hexadecimal; none for families of short-lived locks.
    pub lock_hash: Option<String>,
    /// `pkg.Class.method`.
    pub owner_method: String,
    /// A method further down its stack, where chains are distinguished.
    pub owner_via: Option<String>,
    /// Blocked time that it caused.
    pub caused_ns: u64,
    /// The part of it in contentions of a millisecond and more.
    pub caused_ge_1ms_ns: u64,
    /// How often it held the lock.
    pub holds: u64,
}

/// What one thread's method caused to another thread.
#[derive(Clone, Debug, Deserialize)]
pub struct Cell {
    /// Class of the lock object.
    pub lock_class: String,
    /// The blocked thread.
    pub contender_thread: String,
    /// The method in which it was blocked.
    pub contender_method: String,
    /// The thread that held the lock.
    pub owner_thread: String,
    /// The method that held it.
    pub owner_method: String,
    /// Blocked time, by the program's stamps.
    pub caused_ns: u64,
    /// The same with the gaps on both sides of each hold, which may be the
    /// owner's or nobody's. More than this is certainly wrong.
    pub caused_at_most_ns: u64,
}
