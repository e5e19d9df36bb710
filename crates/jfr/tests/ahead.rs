//! Reading ahead in another thread gives what reading in one gives, in the same
//! order: of sound recordings and of damaged ones.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jfr::{Reader, RecordingWriter, WriterConfig};
use std::path::Path;
use support::{synthetic, Scratch};

fn in_one_thread(path: &Path) -> Vec<String> {
    Reader::open(path).unwrap().map(|item| format!("{item:?}")).collect()
}

fn ahead(path: &Path) -> Vec<String> {
    let mut items = Vec::new();
    Reader::open(path).unwrap().read_ahead(|item| match item {
        Ok(event) => items.push(format!("Ok({event:?})")),
        Err(problem) => items.push(format!("Err({problem:?})")),
    });
    items
}

/// Some seconds of contention in several chunks.
fn write(path: &Path) -> u64 {
    let dictionary = synthetic::dictionary();
    let config = WriterConfig { chunk_size: 128 << 10, ..WriterConfig::new(path, synthetic::info()) };
    let mut writer = RecordingWriter::create(config).unwrap();
    let mut stream = synthetic::Stream::new(5_000);
    for _ in 0..4 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
    }
    writer.finish(&dictionary, stream.now()).unwrap();
    std::fs::metadata(path).unwrap().len()
}

#[test]
fn reading_ahead_gives_the_same_in_the_same_order() {
    let scratch = Scratch::new();
    for name in ["plain.jfr", "packed.jfr.zst"] {
        let path = scratch.file(name);
        write(&path);
        let expected = in_one_thread(&path);
        assert!(expected.len() > 10_000, "several batches: {}", expected.len());
        assert!(ahead(&path) == expected, "{name}");
    }
}

#[test]
fn what_is_wrong_comes_where_it_is() {
    let scratch = Scratch::new();
    let whole = scratch.file("whole.jfr");
    let length = write(&whole);
    let path = scratch.file("damaged.jfr");
    let mut bytes = std::fs::read(&whole).unwrap();
    bytes.truncate(length as usize - 5000);
    // In the middle of the first chunk's events.
    bytes[60_000..60_400].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let expected = in_one_thread(&path);
    let problems = expected.iter().filter(|item| item.starts_with("Err")).count();
    assert!(problems > 0 && !expected.last().unwrap().is_empty());
    assert_eq!(ahead(&path), expected);
}

#[test]
fn who_stops_taking_stops_the_reader() {
    let scratch = Scratch::new();
    let path = scratch.file("plain.jfr");
    write(&path);
    let mut taken = 0;
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Reader::open(&path).unwrap().read_ahead(|_| {
            taken += 1;
            assert!(taken < 100, "enough");
        });
    }));
    assert!(stopped.is_err() && taken == 100);
}

#[test]
fn it_is_known_how_far_the_file_was_read() {
    let scratch = Scratch::new();
    for name in ["plain.jfr", "packed.jfr.zst", "packed.jfr.lz4"] {
        let path = scratch.file(name);
        let length = write(&path);
        let reader = Reader::open(&path).unwrap();
        let progress = reader.progress();
        assert_eq!((progress.read(), progress.len()), (0, length), "{name}");
        let mut places = Vec::new();
        reader.read_ahead(|_| places.push(progress.read()));
        assert!(places.is_sorted() && progress.read() == length, "{name}: {} of {length}", progress.read());
        // The reader is some batches ahead, and of packed chunks one piece, but not behind.
        let (first, all) = (places.iter().filter(|place| **place < length / 2).count(), places.len());
        assert!(first < all * 3 / 4, "{name}: {first} of {all}");
        places.dedup();
        assert!(places.len() > 3, "{name}: {places:?}");
    }
}
