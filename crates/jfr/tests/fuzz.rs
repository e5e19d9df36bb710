//! Fuzz targets of the reader: whatever the bytes, it ends, without a panic and
//! without taking memory that the bytes do not account for.
//!
//! `cargo test` runs them for a moment; `cargo bolero test -p headway-jfr --test
//! fuzz reads_anything` for as long as one likes. Inputs that once failed are
//! kept in `tests/corpus` and run first.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use bolero::{check, TypeGenerator};
use headway_jfr::{repair, Problem, Reader, Summary};
use headway_model::Event;
use std::path::{Path, PathBuf};
use support::Scratch;

/// Where inputs are put for the reader: memory, where the system has such.
struct Input {
    scratch: Scratch,
}

impl Input {
    fn new() -> Input {
        Input { scratch: Scratch::new() }
    }

    fn check(&self, bytes: &[u8]) {
        let path = self.scratch.file("input.jfr");
        std::fs::write(&path, bytes).unwrap();
        let read = read_all(&path, bytes.len());
        let _ = Summary::of(&path);
        let repaired = self.scratch.file("repaired.jfr");
        let _ = std::fs::remove_file(&repaired);
        if repair(&path, &repaired).is_ok() {
            check_repaired(&repaired, read, bytes.len());
        }
    }
}

/// Events that are no definitions and no losses, or `None` if the file is none.
fn read_all(path: &Path, len: usize) -> Option<usize> {
    let reader = Reader::open(path).ok()?;
    // Packed inputs may hold much more than their own bytes; small ones not
    // more than this.
    let limit = 4_000_000 + len * 8;
    let mut items = 0;
    let mut events = 0;
    for item in reader {
        items += 1;
        assert!(items < limit, "more items than {len} bytes can hold");
        events += usize::from(
            matches!(item, Ok(event) if !support::is_definition(&event) && !matches!(event, Event::Lost(..))),
        );
    }
    Some(events)
}

/// A repaired file has sound chunks, and all events of the damaged one.
fn check_repaired(path: &Path, before: Option<usize>, len: usize) {
    for item in Reader::open(path).unwrap() {
        let structural = matches!(
            item,
            Err(Problem::CutShort(_) | Problem::Unfinished(_) | Problem::TrailingBytes(..) | Problem::BrokenEvents(..))
        );
        assert!(!structural, "{item:?} after repair");
    }
    assert_eq!(read_all(path, len * 1000), before, "repair lost or invented events");
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn files(name: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory(name)).unwrap().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e != "txt" && e != "md"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Small recordings of every maker, those packed by others unpacked, so that
/// edits hit the recording and not the packing.
fn bases() -> Vec<Vec<u8>> {
    let unpack = |bytes: Vec<u8>| match bytes.get(..4) {
        Some([0x28, 0xb5, 0x2f, 0xfd]) => zstd::stream::decode_all(&bytes[..]).unwrap(),
        _ => bytes,
    };
    files("golden").into_iter().map(unpack).collect()
}

#[test]
fn inputs_that_once_failed_do_not_fail_again() {
    let input = Input::new();
    let kept = files("corpus");
    assert!(!kept.is_empty());
    kept.iter().for_each(|bytes| input.check(bytes));
}

#[test]
fn reads_anything() {
    let input = Input::new();
    check!().for_each(|bytes| {
        input.check(bytes);
        input.check(&[b"FLR\0\0\x02\0\x01", bytes].concat());
    });
}

/// A change to a recording.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    Set(u32, u8),
    Flip(u32, u8),
    Cut(u32),
    Remove(u32, u8),
    Insert(u32, u8, u8),
    Copy(u32, u32, u8),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let len = bytes.len();
        let at = |place: u32| place as usize % len;
        match *self {
            Edit::Set(place, value) => bytes[at(place)] = value,
            Edit::Flip(place, bit) => bytes[at(place)] ^= 1 << (bit % 8),
            Edit::Cut(place) => bytes.truncate(at(place).max(len / 2)),
            Edit::Remove(place, count) => {
                let from = at(place);
                bytes.drain(from..(from + usize::from(count)).min(len));
            }
            Edit::Insert(place, count, value) => {
                let from = at(place);
                bytes.splice(from..from, std::iter::repeat_n(value, usize::from(count)));
            }
            Edit::Copy(from, to, count) => {
                let (from, to) = (at(from), at(to));
                let piece = bytes[from..(from + usize::from(count)).min(len)].to_vec();
                bytes.splice(to..to, piece);
            }
        }
    }
}

#[test]
fn reads_damaged_recordings() {
    let input = Input::new();
    let bases = bases();
    check!().with_type::<(u8, Vec<Edit>)>().for_each(|(base, edits)| {
        let mut bytes = bases[usize::from(*base) % bases.len()].clone();
        edits.iter().take(24).for_each(|edit| edit.apply(&mut bytes));
        input.check(&bytes);
    });
}
