//! Fixed work whose cost is counted, not timed.
//!
//! `headway-guard PIECE` prepares a piece of work and does it, inside
//! [`measured`]. `headway-guard PIECE prepare` only prepares it: the difference
//! of the instructions of both is what the work takes, on all threads. Prints how
//! many operations that were, how often memory was allocated and how many bytes
//! came out. `./hw guard` and `./hw test` run it and compare the counts with
//! `crates/guard/baseline.txt`: they are the same on a busy machine and on a
//! quiet one. Without a piece, prints the names of all.

// It counts allocations, for which it must be the allocator.
#![allow(unsafe_code)]
// A piece of work that fails has no cost.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod allocations;
mod analysis;
mod chains;
mod codec;
mod drawn_vm;
mod samples;
mod walker;

// Streams of events that the tests of other crates make up.
#[allow(dead_code)]
#[path = "../../analysis/tests/analysis/simulation.rs"]
mod simulation;
#[allow(dead_code)]
#[path = "../../analysis/tests/analysis/story.rs"]
mod story;
#[allow(dead_code)]
#[path = "../../jfr/tests/support/synthetic.rs"]
mod synthetic;

use std::process::ExitCode;

/// What a piece of work came to.
struct Done {
    /// Operations: events, frames, look-ups.
    operations: u64,
    /// Bytes that were written, where that is the point.
    bytes: u64,
}

/// A piece of work: prepares, and does the rest inside [`measured`].
type Piece = fn() -> Done;

const PIECES: [(&str, Piece); 10] = [
    ("walk", walker::walk),
    ("walk-again", walker::walk_again),
    ("look-up-chain", chains::look_up),
    ("append", chains::append),
    ("write-jfr", codec::write_plain),
    ("write-zst", codec::write_compressed),
    ("read-jfr", codec::read_plain),
    ("monitors", analysis::monitors),
    ("pressure", analysis::pressure),
    ("call-tree", samples::call_tree),
];

/// The second argument with which work is prepared and not done.
const PREPARE: &str = "prepare";

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let Some((_, piece)) = PIECES.iter().find(|(name, _)| *name == wanted) else {
        for (name, _) in PIECES {
            println!("{name}");
        }
        return ExitCode::from(if wanted.is_empty() { 0 } else { 2 });
    };
    let done = piece();
    println!("operations {}", done.operations);
    println!("allocations {}", allocations::counted());
    println!("bytes {}", done.bytes);
    ExitCode::SUCCESS
}

/// True if the work is to be prepared only.
fn only_prepares() -> bool {
    std::env::args().nth(2).as_deref() == Some(PREPARE)
}

/// What is counted; called once.
fn measured(work: &mut dyn FnMut()) {
    if only_prepares() {
        return;
    }
    allocations::begin();
    work();
    allocations::end();
}

/// Fast and wrong is no result: what was done must be right.
fn check(right: impl FnOnce() -> bool, otherwise: &str) {
    assert!(only_prepares() || right(), "{otherwise}");
}
