//! Reading ahead in another thread gives what reading in one gives, in the same
//! order: of sound recordings and of damaged ones.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jfr::{Reader, RecordingWriter, WriterConfig};
use headway_model::{Event, TimeNs};
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

/// When threads got their locks, in the last `most` bytes, and how much of the file was passed over.
fn entered(path: &Path, most: u64) -> (Vec<TimeNs>, u64) {
    let mut reader = Reader::open(path).unwrap();
    let skipped = reader.skip_to_last(most);
    let mut times = Vec::new();
    reader.read_ahead(|item| match item {
        Ok(Event::MonitorEntered(entered)) => times.push(entered.time),
        Ok(_) => {}
        Err(problem) => panic!("{problem}"),
    });
    (times, skipped)
}

#[test]
fn of_a_long_recording_the_last_chunks_can_be_read_alone() {
    let scratch = Scratch::new();
    for name in ["plain.jfr", "packed.jfr.zst", "packed.jfr.lz4"] {
        let path = scratch.file(name);
        let length = write(&path);
        let (all, skipped) = entered(&path, u64::MAX);
        assert_eq!(skipped, 0, "{name}");
        let (some, skipped_for_some) = entered(&path, 500 << 10);
        let (few, skipped_for_few) = entered(&path, 300 << 10);
        assert!(0 < skipped_for_some && skipped_for_some < skipped_for_few && skipped_for_few < length, "{name}");
        assert!(all.len() > some.len() && some.len() > few.len() && !few.is_empty(), "{name}");
        assert!(all.ends_with(&some) && some.ends_with(&few), "{name}");
        let (_, skipped_for_one) = entered(&path, 0);
        assert!(skipped_for_few < skipped_for_one && skipped_for_one < length, "{name}: one chunk is left");
        if name == "plain.jfr" {
            assert!(length - skipped_for_few <= 300 << 10, "{name}");
        }
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
