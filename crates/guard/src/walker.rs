//! The light walk over a drawn stack: what a frame takes.

use crate::drawn_vm::{self, Drawn, FrameKind};
use crate::{check, measured, Done};
use headway_hotspot::{walk_light, FrameRecord, Layout, RecordKind, Registers, WalkCache, WalkEnd};
use std::hint::black_box;

const WALKS: u64 = 2_000;
/// As long as a chain of a program in earnest, with the interpreter in between.
const FRAMES: usize = 40;
const INTERPRETED_EVERY: usize = 8;
/// Frames of the stack, its entry frame among them.
const WALKED: usize = FRAMES + 1;

/// Walks a stack of forty frames again and again.
pub fn walk() -> Done {
    let (layout, memory, start) = drawn();
    let mut records = vec![FrameRecord::default(); WALKED + 7];
    measured(&mut || {
        for _ in 0..WALKS {
            black_box(walk_light(black_box(&layout), &memory, black_box(start), &mut records));
        }
    });
    check(|| is_as_drawn(&records[..WALKED]), "the frames are not those that were drawn");
    Done { operations: WALKS * WALKED as u64, bytes: 0 }
}

/// The same with what is known from the walk before: a thread that comes by again.
pub fn walk_again() -> Done {
    let (layout, memory, start) = drawn();
    let mut cache = WalkCache::new(WALKED + 7);
    cache.walk(&layout, &memory, start);
    let mut reused = 0;
    measured(&mut || {
        for _ in 0..WALKS {
            reused += cache.walk(black_box(&layout), &memory, black_box(start)).reused as u64;
        }
    });
    check(|| reused >= WALKS * (FRAMES as u64 / 2), "few frames were taken over: this measures walking anew");
    Done { operations: WALKS * WALKED as u64, bytes: 0 }
}

fn drawn() -> (Layout, Drawn, Registers) {
    let (layout, mut memory) = drawn_vm::vm();
    let kinds: Vec<FrameKind> = (0..FRAMES).map(kind).collect();
    let start = drawn_vm::stack(&mut memory, &kinds);
    let mut records = vec![FrameRecord::default(); WALKED + 7];
    let found = walk_light(&layout, &memory, start, &mut records);
    assert_eq!((found.frames, found.end), (WALKED, WalkEnd::Complete), "the drawn stack is not walked whole");
    (layout, memory, start)
}

fn kind(frame: usize) -> FrameKind {
    if frame % INTERPRETED_EVERY == INTERPRETED_EVERY - 1 {
        FrameKind::Interpreted
    } else {
        FrameKind::Compiled
    }
}

fn is_as_drawn(records: &[FrameRecord]) -> bool {
    records[..FRAMES].iter().enumerate().all(|(number, record)| match kind(number) {
        FrameKind::Compiled => record.kind == RecordKind::Compiled,
        FrameKind::Interpreted => record.kind == RecordKind::Interpreted,
    })
}
