//! Fixed work whose cost is counted, not timed.
//!
//! `headway-guard PIECE` does one piece of work, and only that is inside
//! [`guard_measured`], so that callgrind can be told to count there and nowhere
//! else. Prints how many operations that were, how often memory was allocated
//! and how many bytes came out. `./hw guard` and `./hw test` run it and compare
//! the counts with `crates/guard/baseline.txt`: they are the same on a busy
//! machine and on a quiet one. Without a piece, prints the names of all.

// It counts allocations, for which it must be the allocator.
#![allow(unsafe_code)]
// A piece of work that fails has no cost to tell.
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

/// A piece of work: prepares, and does the rest inside [`guard_measured`].
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

/// What is counted. Called once; never inlined, because callgrind knows it by its name.
#[inline(never)]
fn guard_measured(work: &mut dyn FnMut()) {
    allocations::begin();
    work();
    allocations::end();
}
