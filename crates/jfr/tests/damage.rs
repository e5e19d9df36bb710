//! Torn, cut, flipped: everything up to the damage comes back, nothing panics.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jdk::Jdk;
use headway_jfr::{repair, Problem, Reader, RecordingWriter, Summary, WriterConfig};
use headway_model::{Dictionary, Event, TimeNs};
use std::path::Path;
use support::sample_events::{at, definitions, events};
use support::{is_definition, read, read_sound, synthetic, Scratch};

const NAMES: [&str; 3] = ["a.jfr", "a.jfr.zst", "a.jfr.lz4"];

/// A file of two flushes; gives its bytes, and how long it was after the first.
fn two_flushes(path: &Path) -> (Vec<u8>, usize) {
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    let mut writer = RecordingWriter::create(WriterConfig::new(path, synthetic::info())).unwrap();
    events().iter().for_each(|event| writer.event(event, &dictionary));
    writer.flush(&dictionary, at(80)).unwrap();
    let first = writer.bytes() as usize;
    events().iter().for_each(|event| writer.event(event, &dictionary));
    writer.finish(&dictionary, at(90)).unwrap();
    (std::fs::read(path).unwrap(), first)
}

fn events_in(path: &Path) -> Vec<Event> {
    read(path).0.into_iter().filter(|e| !is_definition(e) && !matches!(e, Event::Lost(..))).collect()
}

#[test]
fn cut_at_any_byte_everything_up_to_the_last_flush_is_there() {
    let scratch = Scratch::new();
    for name in NAMES {
        let path = scratch.file(name);
        let (bytes, first) = two_flushes(&path);
        let whole: Vec<Event> = events_in(&path);
        let half = whole.len() / 2;
        let cut = scratch.file(&format!("cut-{name}"));
        // Before the first flush is complete there is nothing to find; most of
        // it is the metadata, where one place is like the next.
        let early = (1..first - 600).step_by(9);
        for len in early.chain(first - 600..bytes.len()) {
            std::fs::write(&cut, &bytes[..len]).unwrap();
            let Ok(reader) = Reader::open(&cut) else {
                assert!(len < 12, "{name} cut to {len} bytes is still a recording");
                continue;
            };
            let (mut found, mut problems) = (Vec::new(), 0);
            for item in reader {
                match item {
                    Ok(event) if !is_definition(&event) && !matches!(event, Event::Lost(..)) => found.push(event),
                    Ok(_) => {}
                    Err(_) => problems += 1,
                }
            }
            assert!(len == first || problems > 0, "{name} cut to {len} of {} bytes without a problem", bytes.len());
            assert!(whole.starts_with(&found), "{name} cut to {len} bytes gives other events");
            if len >= first {
                assert!(found.len() >= half, "{name} cut to {len} bytes lost what was flushed at {first}");
            }
        }
    }
}

#[test]
fn what_was_cut_is_readable_by_the_jdk_after_repair() {
    let scratch = Scratch::new();
    for name in NAMES {
        let path = scratch.file(name);
        let (bytes, first) = two_flushes(&path);
        for len in [first, first + 1, first + 70, first + 200, bytes.len() - 1] {
            let cut = scratch.file(&format!("cut-{len}-{name}"));
            std::fs::write(&cut, &bytes[..len]).unwrap();
            let repaired = scratch.file(&format!("repaired-{len}-{name}.jfr"));
            repair(&cut, &repaired).unwrap();
            assert_eq!(events_in(&cut), events_in(&repaired), "{name} cut to {len}");
            assert!(read(&repaired).1.is_empty());
            for jdk in Jdk::all().iter().take(1) {
                let text = jdk.jfr(&["print", "--events", "jdk.JavaMonitorEnter"], &repaired);
                assert!(text.contains("rebuildIndex"), "{name} cut to {len} bytes: {text}");
            }
        }
        let nothing = scratch.file(&format!("nothing-{name}"));
        std::fs::write(&nothing, &bytes[..100]).unwrap();
        let error = repair(&nothing, &scratch.file("nothing.jfr")).unwrap_err();
        assert!(error.to_string().contains("no chunk that can be saved"), "{error}");
        assert!(!scratch.file("nothing.jfr").exists());
    }
}

#[test]
fn a_torn_tail_behind_a_finished_chunk_is_told_and_skipped() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let (mut bytes, _) = two_flushes(&path);
    let whole = read_sound(&path);
    bytes.extend_from_slice(b"half a flu");
    std::fs::write(&path, &bytes).unwrap();
    let (found, problems) = read(&path);
    assert_eq!(found, whole);
    assert!(matches!(problems[..], [Problem::TrailingBytes(_, 10)]), "{problems:?}");
    let repaired = scratch.file("b.jfr");
    assert_eq!(repair(&path, &repaired).unwrap().problems.len(), 1);
    for jdk in Jdk::all() {
        jdk.jfr(&["summary"], &repaired);
    }
}

#[test]
fn a_damaged_piece_costs_its_chunk_only() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr.zst");
    let dictionary = synthetic::dictionary();
    let mut config = WriterConfig::new(&path, synthetic::info());
    config.chunk_size = 64 << 10;
    let mut writer = RecordingWriter::create(config).unwrap();
    let mut stream = synthetic::Stream::new(3_000);
    let mut ends = Vec::new();
    for _ in 0..9 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
        ends.push(writer.bytes() as usize);
    }
    drop(writer);
    let whole = events_in(&path).len();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[ends[3] - 20] ^= 0xff;
    std::fs::write(&path, &bytes).unwrap();
    let (found, problems) = read(&path);
    assert!(matches!(problems[..], [Problem::TornPiece(_)]), "{problems:?}");
    let left = found.iter().filter(|e| !is_definition(e)).count();
    assert!(left > whole / 2 && left < whole, "{left} of {whole}");
    let last = found.iter().rev().find_map(|e| if let Event::Watermark(t) = e { Some(*t) } else { None }).unwrap();
    let expected = TimeNs(stream.now().0.wrapping_add_signed(synthetic::info().epoch_offset_ns));
    assert_eq!(last, expected, "what follows the damage is read");
}

#[test]
fn files_that_are_no_recordings_are_told_apart() {
    let scratch = Scratch::new();
    let problem = |name: &str, bytes: &[u8]| {
        std::fs::write(scratch.file(name), bytes).unwrap();
        Reader::open(scratch.file(name)).unwrap_err().to_string()
    };
    assert!(problem("empty", b"").ends_with("is empty"));
    assert!(problem("text", b"hello, this is text").ends_with("is not a JFR recording"));
    assert!(Reader::open(scratch.file("missing")).unwrap_err().to_string().starts_with("cannot open"));
    // Packed, but no recording inside.
    let zst = scratch.file("text.zst");
    std::fs::write(&zst, zstd::bulk::compress(b"hello, this is text", 1).unwrap()).unwrap();
    let (events, problems) = read(&zst);
    assert!(events.is_empty() && matches!(problems[..], [Problem::NotARecording(_)]), "{problems:?}");
}

/// Flips bytes all over, in the same way each time; the fuzz targets go on
/// from here. What comes out does not matter, but it must come, and soon.
#[test]
fn flipped_bytes_never_panic() {
    let scratch = Scratch::new();
    let mut random = synthetic::Random::new(99);
    for name in NAMES {
        let (bytes, _) = two_flushes(&scratch.file(name));
        let path = scratch.file(&format!("flipped-{name}"));
        for round in 0..1500 {
            let mut damaged = bytes.clone();
            for _ in 0..=random.below(8) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] = match random.below(4) {
                    0 => 0xff,
                    1 => 0,
                    2 => damaged[at] ^ (1 << random.below(8)),
                    _ => random.next() as u8,
                };
            }
            if round % 3 == 0 {
                damaged.truncate(random.below(damaged.len() as u64) as usize + 1);
            }
            std::fs::write(&path, &damaged).unwrap();
            let limit = damaged.len() * 4;
            let items = Reader::open(&path).map_or(0, |reader| reader.take(limit).count());
            assert!(items < limit, "{name}, round {round}: more items than bytes");
            let _ = Summary::of(&path);
        }
    }
}

/// What a killed process leaves: the file as it is between two flushes.
#[test]
fn the_reserve_of_a_killed_writer_is_no_damage_and_goes_with_repair() {
    let scratch = Scratch::new();
    let dictionary = synthetic::dictionary();
    let path = scratch.file("a.jfr");
    let mut writer = RecordingWriter::create(WriterConfig::new(&path, synthetic::info())).unwrap();
    let mut stream = synthetic::Stream::new(1_000);
    for _ in 0..3 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
    }
    let killed = scratch.file("killed.jfr");
    std::fs::copy(&path, &killed).unwrap();
    let len = writer.bytes();
    assert!(std::fs::metadata(&killed).unwrap().len() > len, "there is a reserve");
    drop(writer);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), len, "a writer that ends takes it away");
    assert_eq!(read_sound(&killed), read_sound(&path));
    for jdk in Jdk::all() {
        let text = jdk.jfr(&["print", "--events", "headway.Flush,headway.Reserve"], &killed);
        assert_eq!((text.matches("headway.Flush {").count(), text.matches("headway.Reserve {").count()), (3, 1));
    }
    let repaired = scratch.file("repaired.jfr");
    assert!(repair(&killed, &repaired).unwrap().problems.is_empty());
    assert_eq!(std::fs::read(&repaired).unwrap(), std::fs::read(&path).unwrap());
}
