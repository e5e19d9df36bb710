//! What may be used inside signal handlers and VM hooks.
//!
//! This crate has no allocator to call, no lock to take and no standard
//! library; it does not wait and it does not panic. Everything it keeps lies in
//! memory that the caller hands in as a [`Region`] (words mapped once, never
//! unmapped) or in plain structs made of atomics. It does not even depend on
//! the model: ids are `u64` here, so that the crate stays free of `std`.
//!
//! * [`pool`], [`thread_buffer`], [`collector`]: events go from the threads
//!   that see them to the one thread that drains them.
//! * [`chain_set`]: the set of call chains seen so far.
//! * [`monitor_table`], [`lock_table`]: from the address of a monitor to the
//!   lock it stands for, and each lock's own order of events.
//! * [`park_counts`]: how often and how long threads park on each lock.
//! * [`blocked`]: what a thread is blocked on right now, readable by others.
//! * [`way_index`]: from a thread's id or stack to its place among the threads.
//! * [`grace`]: when memory that readers may still look at can be used again.
//!
//! Whoever has to give way is always the collector: an application thread that
//! finds no room drops what it has and counts it.
//!
//! Every file opens with its protocol: who touches which word, who may have to
//! try again and why that ends, and why each memory ordering is enough.
#![no_std]
// No slice access here may panic: this code runs in other people's processes,
// below frames that cannot unwind.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)
)]

mod free_list;
mod sync;

pub mod blocked;
pub mod chain_set;
pub mod collector;
pub mod grace;
pub mod lock_table;
pub mod monitor_table;
pub mod park_counts;
pub mod pool;
pub mod region;
pub mod thread_buffer;
pub mod way_index;

pub use blocked::{Blocked, BlockedCell};
pub use chain_set::{ChainSet, Entry, Lookup};
pub use collector::Collector;
pub use grace::Gate;
pub use lock_table::{LockSlot, LockTable, Stamp};
pub use monitor_table::{MonitorTable, Pin};
pub use park_counts::{ParkCount, ParkCounts};
pub use pool::{ChunkSizes, Pool};
pub use region::Region;
pub use sync::AtomicU64;
pub use thread_buffer::{Refused, ThreadBuffer};
pub use way_index::WayIndex;
