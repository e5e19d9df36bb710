//! `headway ship`: one process per machine that records JVMs and delivers their rows.
//!
//! ```text
//! JVMs --(headway start, stop)--> recordings/ --(rollup)--> rows/ --> store
//! ```
//!
//! **Everything on its way is on disk**, in one folder, the queue; what is in memory can be
//! found again. `segments/` has a note for each recording, written before it begins, with
//! whose rows it will be. `rows/` is a store by itself, in which a recording's rows wait.
//! Each arrow first delivers and then removes, and delivering twice changes nothing
//! (`headway-store` has the protocol). So the process may be killed anywhere: the next
//! one finds recordings that go on, recordings that ended, and rows, and goes on with them.
//!
//! **Everything has a bound**, and what is left out is counted where a restart does not
//! forget it ([`Losses`]): rows beyond the queue's size, the oldest first; rows that
//! the store refuses for good; recordings that cannot be read; time that no recording covers.

mod backoff;
mod counters;
mod http;
mod jvms;
mod policy;
mod queue;
mod recorder;
mod segment;
mod ship;
mod upload;

pub use backoff::Backoff;
pub use counters::Counters;
pub use jvms::{Headway, Jvm, Jvms, Options, Process, State};
pub use policy::{Given, Names, Policy};
pub use queue::{Losses, Outcome, Queue, QueueError, Waiting};
pub use recorder::{Plan, Recorder};
pub use ship::{ship, Settings};
pub use upload::Uploader;
