//! Recordings: a stream of [`headway_model::Event`]s as JFR chunks and back.
//!
//! A Headway recording is a standard JFR file (version 2.1), plain or packed
//! as it is written (`.jfr.zst`, `.jfr.lz4`). `docs/recording-format.md`
//! describes it byte for byte.
//!
//! * [`RecordingWriter`] takes events and keeps the file readable by the JDK's
//!   own tools after every flush, so that a killed process loses only what came
//!   after its last one. It rotates and can be dumped while it records.
//! * [`Reader`] gives the events of any JFR file: of Headway, of JFR itself, of
//!   async-profiler. It is driven by the file's own metadata, streams chunk by
//!   chunk, and answers damage with [`Problem`]s, never with a panic.
//! * [`Summary`] says what is in a file without decoding its events.
//! * [`repair`] unpacks a recording into a plain file that other tools read.
//!
//! A new event: its type in `schema/headway.rs`, its bytes in `write/events.rs`, its kind in
//! `read/plan.rs`, and back to the model in `read/decode.rs`.

mod columns;
mod encode;
mod hash;
mod header;
mod packing;
mod read;
mod repair;
mod schema;
mod write;

pub use packing::Packing;
pub use read::{ClockJump, Problem, Progress, Reader, Summary, TypeTotal};
pub use repair::{repair, RepairError, Repaired};
pub use schema::FORMAT_VERSION;
pub use write::{create_file, Dumped, Finished, IfTaken, RecordingWriter, WriteError, WriterConfig};
