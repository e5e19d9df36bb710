//! What the compressors' own tools make of a packed recording is a plain one.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jdk::Jdk;
use headway_jfr::{repair, RecordingWriter, WriterConfig};
use std::path::Path;
use std::process::{Command, Stdio};
use support::{read, read_sound, synthetic, Scratch};

/// Extension and tool.
const TOOLS: [(&str, &str); 2] = [("zst", "zstd"), ("lz4", "lz4")];

/// What a tool unpacks; `None` if it is not installed, which is said, and with
/// `CI=true` is a failure. The tool's exit code is the second part.
fn unpacked(tool: &str, path: &Path) -> Option<(Vec<u8>, bool)> {
    let run = Command::new(tool).arg("-dc").arg(path).stderr(Stdio::null()).output();
    match run {
        Ok(output) => Some((output.stdout, output.status.success())),
        Err(error) => {
            eprintln!("SKIP {tool}: {error}; its part of this test did not run");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{tool} is missing");
            None
        }
    }
}

/// Some seconds of events over several chunks, not ended: as a killed process
/// leaves it.
fn write_some(path: &Path) -> u64 {
    let dictionary = synthetic::dictionary();
    let mut config = WriterConfig::new(path, synthetic::info());
    config.chunk_size = 100 << 10;
    let mut writer = RecordingWriter::create(config).unwrap();
    let mut stream = synthetic::Stream::new(3_000);
    let mut count = 0;
    for _ in 0..7 {
        let batch = stream.second();
        batch.iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
        count += batch.len() as u64;
    }
    std::mem::forget(writer);
    count / 3
}

#[test]
fn a_packed_recording_unpacks_to_a_plain_one_with_the_compressors_tool() {
    let scratch = Scratch::new();
    let plain = scratch.file("a.jfr");
    write_some(&plain);
    let expected = read_sound(&plain);
    for (extension, tool) in TOOLS {
        let packed = scratch.file(&format!("a.jfr.{extension}"));
        let contentions = write_some(&packed);
        let Some((bytes, true)) = unpacked(tool, &packed) else { continue };
        let result = scratch.file(&format!("{extension}.jfr"));
        std::fs::write(&result, &bytes).unwrap();
        assert_eq!(read_sound(&result), expected, "{tool}");
        assert_eq!(read_sound(&packed), expected, "{tool}");
        let exported = scratch.file(&format!("{extension}-exported.jfr"));
        assert!(repair(&packed, &exported).unwrap().problems.is_empty());
        assert_eq!(std::fs::read(&exported).unwrap(), bytes, "export gives what {tool} gives");
        for jdk in Jdk::all() {
            let summary = jdk.jfr(&["summary"], &result);
            let row = summary.lines().find(|line| line.contains("jdk.JavaMonitorEnter")).unwrap();
            assert_eq!(row.split_whitespace().nth(1), Some(contentions.to_string().as_str()), "JDK {}", jdk.release);
        }
    }
}

#[test]
fn a_torn_tail_costs_the_last_piece_only() {
    let scratch = Scratch::new();
    for (extension, tool) in TOOLS {
        let packed = scratch.file(&format!("a.jfr.{extension}"));
        write_some(&packed);
        let whole = std::fs::read(&packed).unwrap();
        let torn = scratch.file(&format!("torn.jfr.{extension}"));
        std::fs::write(&torn, &whole[..whole.len() - 100]).unwrap();
        let (events, problems) = read(&torn);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(events.len() * 7 >= read_sound(&packed).len() * 5, "{} events", events.len());
        let Some((bytes, sound)) = unpacked(tool, &torn) else { continue };
        assert!(!sound, "{tool} says that the end is torn");
        assert!(bytes.len() > whole.len(), "and still gives what is there");
    }
}

/// A number of JFR's at `at`, which is moved behind it.
fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

#[test]
fn an_ended_chunk_has_all_its_constants_in_one_checkpoint() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let dictionary = synthetic::dictionary();
    let mut writer = RecordingWriter::create(WriterConfig::new(&path, synthetic::info())).unwrap();
    let mut stream = synthetic::Stream::new(300);
    for _ in 0..3 {
        stream.second().iter().for_each(|event| writer.event(event, &dictionary));
        writer.flush(&dictionary, stream.now()).unwrap();
    }
    let now = stream.now();
    let open = read_sound(&path);
    writer.finish(&dictionary, now).unwrap();
    assert_eq!(read_sound(&path), open, "nothing is read twice");
    let bytes = std::fs::read(&path).unwrap();
    let mut at = u64::from_be_bytes(bytes[16..24].try_into().unwrap()) as usize;
    let (begin, size, ty) = (at, varint(&bytes, &mut at), varint(&bytes, &mut at));
    let (_start, _duration, distance) = (varint(&bytes, &mut at), varint(&bytes, &mut at), varint(&bytes, &mut at));
    assert_eq!((begin + size as usize, ty, distance), (bytes.len(), 1, 0), "the last event, which depends on no other");
}
