//! The note of a recording: whose it is, written before it begins, removed when its rows
//! are in the queue and its file is gone.

use crate::jvms::Process;
use crate::queue::write_whole;
use headway_rollup::Source;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// A recording of one JVM, from one `headway start` to one `headway stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Process id of the JVM.
    pub pid: u32,
    /// When the process began, in ticks.
    pub started: u64,
    /// When the recording was asked for, nanoseconds since the Unix epoch.
    pub begun_ns: u64,
    /// Where the recording before it ended; `None` if there was none.
    pub from_ns: Option<u64>,
    /// Its file.
    pub recording: PathBuf,
    host: String,
    service: String,
    version: String,
    environment: String,
    labels: Vec<String>,
    cpus: Option<u32>,
}

impl Segment {
    /// A recording that is about to begin, in a folder.
    pub fn new(process: Process, source: Source, folder: &Path, begun_ns: u64, from_ns: Option<u64>) -> Segment {
        let Source { host, service, version, environment, labels, cpus } = source;
        let Process { pid, started } = process;
        let recording = folder.join(format!("{pid}-{started}-{begun_ns}.jfr"));
        Segment { pid, started, begun_ns, from_ns, recording, host, service, version, environment, labels, cpus }
    }

    /// Whose it is.
    pub fn process(&self) -> Process {
        Process { pid: self.pid, started: self.started }
    }

    /// What its rows are of.
    pub fn source(&self) -> Source {
        Source {
            host: self.host.clone(),
            service: self.service.clone(),
            version: self.version.clone(),
            environment: self.environment.clone(),
            labels: self.labels.clone(),
            cpus: self.cpus,
        }
    }

    fn note(&self, notes: &Path) -> PathBuf {
        notes.join(format!("{}-{}-{}.json", self.pid, self.started, self.begun_ns))
    }

    /// Writes the note.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write(&self, notes: &Path) -> io::Result<()> {
        write_whole(&self.note(notes), self)
    }

    /// Removes the recording and then the note.
    ///
    /// # Errors
    /// The disk fails.
    pub fn remove(&self, notes: &Path) -> io::Result<()> {
        for path in [&self.recording, &self.note(notes)] {
            match std::fs::remove_file(path) {
                // Its user put a folder in its place: that user's business.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// All notes of a folder, the earliest first, and those that cannot be read.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read_all(notes: &Path) -> io::Result<(Vec<Segment>, Vec<PathBuf>)> {
        let (mut segments, mut damaged) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(notes)? {
            let path = entry?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => match serde_json::from_slice::<Segment>(&std::fs::read(&path)?) {
                    Ok(segment) => segments.push(segment),
                    Err(_) => damaged.push(path),
                },
                // Killed while it was written: the recording had not begun.
                _ => std::fs::remove_file(&path)?,
            }
        }
        segments.sort_by_key(|segment| (segment.begun_ns, segment.pid));
        Ok((segments, damaged))
    }
}
