//! Where rows of many machines are kept: Parquet files in a directory or an object store.
//!
//! ```text
//! store.json                                   what this is, and its format
//! day=2026-11-25/
//!   commits/JVM-MINUTE-SEQUENCE.json           one per delivered batch: its files
//!   manifests/0000000001.json                  one per compaction or rollup: the files from then on
//!   bucket=07/lock_minute/BATCH-N.parquet      rows, by day and bucket of the service
//! ```
//!
//! **A batch** is what one recording of one JVM comes to on one day. Its name says which:
//! the JVM, the first minute, and a sequence number that distinguishes the recording from
//! others of that JVM. Its data files are written first; then its commit is put, if there is none of
//! that name: that moment, and nothing else, makes the rows part of the store. So a batch
//! that is delivered twice changes nothing, and a writer killed anywhere leaves either all
//! of its batch or files that nothing refers to.
//!
//! **Compaction** reads what a day has, writes fewer and larger files, and puts the next
//! manifest of the day, if there is none of that number: who comes second starts again. A
//! manifest lists its files and the names of all batches that are in them.
//!
//! **A reader** lists the commits of a day first and reads the newest manifest then. What
//! is listed counts unless the manifest has it. In the other order a compaction in between
//! could hide a batch; in this one each batch is seen exactly once, whenever what happens.
//! The manifest's list also recognizes a batch that is delivered again after its commit
//! was tidied away.
//!
//! **Hours** (`hours.rs`) repeat what minutes come to, for questions about months. A manifest
//! says which files of minutes they were made from: they count while a bucket has exactly these.
//!
//! **Files that nothing refers to** are deleted only when they are older than any writer
//! and any query may be ([`GRACE`]); a writer that took longer than [`LONGEST_WRITE`] does
//! not commit.

mod columns;
mod compact;
mod error;
mod files;
mod hours;
mod layout;
mod manifest;
mod named;
mod place;
mod remove;
mod s3;
mod table;
mod write;

pub use columns::{batches, empty};
pub use compact::Compacted;
pub use error::{without_answer, StoreError};
pub use files::Part;
pub use hours::Hours;
pub use layout::{bucket, Day};
pub use manifest::{Commit, DataFile, Snapshot};
pub use place::Store;
pub use remove::{Removed, Tidied};
pub use table::{Table, FORMAT};
pub use write::Delivered;

use std::time::Duration;

/// Unreferenced files younger than this may belong to a writer or a query.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);
/// A writer whose data files are older than this does not commit them.
pub const LONGEST_WRITE: Duration = Duration::from_secs(3600);
