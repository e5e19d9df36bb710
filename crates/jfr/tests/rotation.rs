//! Recordings that run for ever, dumps, and disks that are full.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jfr::{IfTaken, RecordingWriter, Summary, WriterConfig};
use headway_model::{DurationNs, Event, Loss, TimeNs};
use std::path::Path;
use support::{is_definition, read_sound, synthetic, Scratch};

const SECOND: u64 = 1_000_000_000;

fn epoch(time: TimeNs) -> TimeNs {
    TimeNs(time.0.wrapping_add_signed(synthetic::info().epoch_offset_ns))
}

/// First and last watermark.
fn covers(path: &Path) -> (TimeNs, TimeNs) {
    let marks: Vec<TimeNs> =
        read_sound(path).iter().filter_map(|e| if let Event::Watermark(t) = e { Some(*t) } else { None }).collect();
    (marks[0], marks[marks.len() - 1])
}

#[test]
fn max_size_bounds_the_file_and_keeps_the_newest() {
    let scratch = Scratch::new();
    let dictionary = synthetic::dictionary();
    for name in ["a.jfr", "a.jfr.zst", "a.jfr.lz4"] {
        let path = scratch.file(name);
        let mut config = WriterConfig::new(&path, synthetic::info());
        config.max_size = Some(2 << 20);
        let mut writer = RecordingWriter::create(config).unwrap();
        let mut stream = synthetic::Stream::new(8_000);
        let (mut largest, mut cut) = (0, false);
        for _ in 0..40 {
            stream.second().iter().for_each(|event| writer.event(event, &dictionary));
            writer.flush(&dictionary, stream.now()).unwrap();
            let len = std::fs::metadata(&path).unwrap().len();
            assert!(len >= writer.bytes() && len <= writer.bytes() + (64 << 10), "{len} bytes");
            largest = largest.max(len);
            cut |= writer.take_was_cut();
        }
        assert!(cut, "it says that it was cut");
        assert!(largest <= 2 << 20, "{name} had {largest} bytes");
        // Packed files are copied, and both copies count.
        let share = if name == "a.jfr" { 2 } else { 3 };
        assert!(largest > (2 << 20) / share, "{name} had only {largest} bytes");
        let (first, last) = covers(&path);
        assert_eq!(last, epoch(stream.now()), "the newest is there");
        assert!(first > epoch(TimeNs(synthetic::START.0 + 5 * SECOND)), "the oldest is gone");
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        drop(writer);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(left, 1, "nothing is left beside the recording");
    }
}

#[test]
fn a_file_that_another_program_truncates_goes_on_and_counts_what_is_missing() {
    let dictionary = synthetic::dictionary();
    for (name, left) in [("a.jfr", 0), ("b.jfr", 100), ("c.jfr", 40_000), ("d.jfr.zst", 0), ("e.jfr.lz4", 1_000)] {
        let scratch = Scratch::new();
        let path = scratch.file(name);
        let mut config = WriterConfig::new(&path, synthetic::info());
        config.chunk_age = DurationNs(2 * SECOND);
        let mut writer = RecordingWriter::create(config).unwrap();
        let mut stream = synthetic::Stream::new(2_000);
        let mut all = 0;
        let mut after = TimeNs(0);
        for second in 0..10 {
            if second == 5 {
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
                after = stream.now();
            }
            let events = stream.second();
            all += events.iter().filter(|event| !is_definition(event)).count() as u64;
            events.iter().for_each(|event| writer.event(event, &dictionary));
            writer.flush(&dictionary, stream.now()).unwrap();
        }
        let finished = writer.finish(&dictionary, stream.now()).unwrap();
        let events = read_sound(&path);
        let there = events
            .iter()
            .filter(|event| {
                !is_definition(event) && !matches!(event, Event::Lost(..) | Event::Watermark(_) | Event::Recording(_))
            })
            .count() as u64;
        let missing: u64 =
            events.iter().map(|event| if let Event::Lost(Loss::WriteFailed, n) = event { *n } else { 0 }).sum();
        assert!(there > 0 && missing > 0, "{name}: {there} there, {missing} not");
        assert_eq!(missing, finished.lost, "{name}");
        assert_eq!(there + missing, all, "{name}: each event is there or counted");
        assert!(covers(&path).0 > epoch(after), "{name}: nothing of before is there");
        assert_eq!(covers(&path).1, epoch(stream.now()), "{name}");
    }
}

#[test]
fn max_age_keeps_at_least_that_much() {
    let scratch = Scratch::new();
    let dictionary = synthetic::dictionary();
    let path = scratch.file("a.jfr");
    let mut config = WriterConfig::new(&path, synthetic::info());
    config.max_age = Some(DurationNs(20 * SECOND));
    let mut writer = RecordingWriter::create(config).unwrap();
    let mut stream = synthetic::Stream::new(300);
    for second in 1..=120u64 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
        if second > 30 && second % 7 == 0 {
            let (first, last) = covers(&path);
            let kept = last.since(first).0 / SECOND;
            assert!((18..=60).contains(&kept), "{kept} s kept after {second} s");
        }
    }
}

#[test]
fn a_dump_holds_the_last_minutes_while_recording_goes_on() {
    let scratch = Scratch::new();
    let dictionary = synthetic::dictionary();
    for name in ["a.jfr", "b.jfr.zst"] {
        let path = scratch.file(name);
        let mut config = WriterConfig::new(&path, synthetic::info());
        config.chunk_age = DurationNs(5 * SECOND);
        let mut writer = RecordingWriter::create(config).unwrap();
        let mut stream = synthetic::Stream::new(2_000);
        for _ in 0..32 {
            stream.second().iter().for_each(|event| writer.event(event, &dictionary));
            writer.flush(&dictionary, stream.now()).unwrap();
        }
        for to in ["dump.jfr", "dump.jfr.zst", "dump.jfr.lz4"] {
            let to = scratch.file(to);
            let everything = writer.dump(&to, IfTaken::Replace, (None, None)).unwrap().bytes;
            assert_eq!(everything, std::fs::metadata(&to).unwrap().len());
            assert_eq!(read_sound(&to), read_sound(&path), "{} from {name}", to.display());
            let last = writer.dump(&to, IfTaken::Replace, (None, Some(DurationNs(8 * SECOND)))).unwrap().bytes;
            assert!(last < everything / 2);
            let (first, end) = covers(&to);
            assert_eq!(end, epoch(stream.now()));
            assert!((8..=14).contains(&(end.since(first).0 / SECOND + 1)));
            let by_size = writer.dump(&to, IfTaken::Replace, (Some(100_000), None)).unwrap().bytes;
            assert!(by_size < everything);
            assert!(writer.dump(&to, IfTaken::Refuse, (None, None)).is_err(), "it is there");
        }
        let taken = scratch.file("taken.jfr");
        std::fs::write(&taken, "something else").unwrap();
        for (at, if_taken, reason) in [
            (&taken, IfTaken::Replace, "not a recording of Headway"),
            (&taken, IfTaken::Refuse, "there already"),
            (&path, IfTaken::Replace, "the recording itself"),
        ] {
            let error = writer.dump(at, if_taken, (None, None)).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let other = writer.dump(&taken, IfTaken::Number, (None, None)).unwrap().path;
        assert_eq!(
            (other.clone(), std::fs::read(&taken).unwrap()),
            (scratch.file("taken-2.jfr"), b"something else".to_vec())
        );
        std::fs::remove_file(other).unwrap();
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.finish(&dictionary, stream.now()).unwrap();
        assert_eq!(covers(&path).1, epoch(stream.now()), "recording went on");
    }
}

/// A file size limit stands in for a full disk; it holds for a process, so
/// that this runs in one of its own.
#[test]
fn child_whose_disk_is_full() {
    let Some(path) = std::env::var_os("HEADWAY_TEST_FULL").map(std::path::PathBuf::from) else {
        return;
    };
    let dictionary = synthetic::dictionary();
    let mut writer = RecordingWriter::create(WriterConfig::new(&path, synthetic::info())).unwrap();
    let mut stream = synthetic::Stream::new(150_000);
    let mut errors = 0;
    for _ in 0..14 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        match writer.flush(&dictionary, stream.now()) {
            Ok(()) => assert_eq!(errors, 0, "there is no room again"),
            Err(error) => {
                errors += 1;
                assert!(error.to_string().starts_with("cannot write to recording"), "{error}");
                assert!(std::error::Error::source(&error).is_some());
            }
        }
    }
    // So that there is something to write at the end, whatever the last flush has dropped.
    stream.second().iter().for_each(|event| writer.event(event, &dictionary));
    let finished = writer.finish(&dictionary, stream.now()).unwrap();
    assert!(finished.problem.unwrap().contains("File too large"));
    println!("errors {errors} dropped {}", finished.lost);
}

#[test]
fn a_full_disk_costs_counted_events_and_leaves_a_readable_file() {
    let scratch = Scratch::new();
    for name in ["a.jfr", "a.jfr.zst"] {
        let path = scratch.file(name);
        let test = std::env::current_exe().unwrap();
        // SIGXFSZ must be ignored for the write to fail instead of killing.
        let script = "trap '' XFSZ; ulimit -f 4000; exec \"$0\" --exact child_whose_disk_is_full --nocapture";
        let output = std::process::Command::new("bash")
            .args(["-c", script])
            .arg(test)
            .env("HEADWAY_TEST_FULL", &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let line = text.lines().find(|line| line.contains("errors")).unwrap_or_else(|| panic!("{text}"));
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        let (errors, dropped) = (numbers.next().unwrap(), numbers.next().unwrap());
        assert!(errors > 3 && dropped > 100_000, "{line}");
        let events = read_sound(&path);
        assert!(events.iter().filter(|e| !is_definition(e)).count() > 50_000);
        let said = events.iter().find_map(|e| if let Event::Lost(Loss::WriteFailed, n) = e { Some(*n) } else { None });
        assert_eq!(said, Some(dropped), "{name} says what is missing");
        assert!(Summary::of(&path).unwrap().problems.is_empty());
    }
}

#[test]
fn losses_of_writing_reach_the_recording_once_there_is_room_again() {
    let scratch = Scratch::new();
    let dictionary = synthetic::dictionary();
    let directory = scratch.file("gone");
    std::fs::create_dir(&directory).unwrap();
    let path = directory.join("a.jfr");
    let mut writer = RecordingWriter::create(WriterConfig::new(&path, synthetic::info())).unwrap();
    let mut stream = synthetic::Stream::new(1_000);
    stream.second().iter().for_each(|event| writer.event(event, &dictionary));
    writer.flush(&dictionary, stream.now()).unwrap();
    // Dumping into a directory that is not there fails and changes nothing.
    assert!(writer.dump(&scratch.file("no/such/dump.jfr"), IfTaken::Refuse, (None, None)).is_err());
    stream.second().iter().for_each(|event| writer.event(event, &dictionary));
    writer.event(&Event::Lost(Loss::WriteFailed, 5), &dictionary);
    writer.finish(&dictionary, stream.now()).unwrap();
    assert!(read_sound(&path).contains(&Event::Lost(Loss::WriteFailed, 5)));
}
