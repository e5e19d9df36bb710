//! Recordings: what writing and reading an event takes, and how long it is.

use crate::{check, measured, synthetic, Done};
use headway_jfr::{Reader, RecordingWriter, WriterConfig};
use headway_model::{Dictionary, Event, TimeNs};
use std::path::{Path, PathBuf};

const SECONDS: usize = 3;
const PER_SECOND: u64 = 10_000;

/// A plain recording.
pub fn write_plain() -> Done {
    writes("guard.jfr")
}

/// A compressed one.
pub fn write_compressed() -> Done {
    writes("guard.jfr.zst")
}

/// Reading a plain one.
pub fn read_plain() -> Done {
    let file = TemporaryFile::new("guard.jfr");
    write(&file.0, &batches(), &synthetic::dictionary());
    let mut events = 0;
    measured(&mut || {
        events = Reader::open(&file.0).expect("just written").filter(Result::is_ok).count();
    });
    let written: usize = batches().iter().map(|(events, _)| events.len()).sum();
    check(|| events >= written, "not all events were read: this measures giving up");
    Done { operations: written as u64, bytes: 0 }
}

fn writes(name: &str) -> Done {
    let file = TemporaryFile::new(name);
    let (batches, dictionary) = (batches(), synthetic::dictionary());
    measured(&mut || write(&file.0, &batches, &dictionary));
    let operations = batches.iter().map(|(events, _)| events.len() as u64).sum();
    Done { operations, bytes: std::fs::metadata(&file.0).map_or(0, |file| file.len()) }
}

type Batch = (Vec<Event>, TimeNs);

fn batches() -> Vec<Batch> {
    let mut stream = synthetic::Stream::new(PER_SECOND);
    (0..SECONDS).map(|_| (stream.second(), stream.now())).collect()
}

fn write(path: &Path, batches: &[Batch], dictionary: &Dictionary) {
    let mut writer = RecordingWriter::create(WriterConfig::new(path, synthetic::info())).expect("a temporary file");
    for (events, now) in batches {
        events.iter().for_each(|event| writer.event(event, dictionary));
        writer.flush(dictionary, *now).expect("room for a small file");
    }
}

/// A file in a directory of its own; both are gone afterwards.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> TemporaryFile {
        let directory = std::env::temp_dir().join(format!("headway-guard-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a temporary directory");
        TemporaryFile(directory.join(name))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}
