//! What the tests of this crate share: sample events and places for files.
#![allow(dead_code)]

pub mod sample_events;
pub mod synthetic;

use headway_jfr::{Problem, Reader};
use headway_model::Event;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of its own for a test, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("headway-jfr-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Everything that a file holds.
pub fn read(path: &Path) -> (Vec<Event>, Vec<Problem>) {
    let (mut events, mut problems) = (Vec::new(), Vec::new());
    for item in Reader::open(path).unwrap_or_else(|problem| panic!("{problem}")) {
        match item {
            Ok(event) => events.push(event),
            Err(problem) => problems.push(problem),
        }
    }
    (events, problems)
}

/// Like [`read`], for a file that must be sound.
pub fn read_sound(path: &Path) -> Vec<Event> {
    let (events, problems) = read(path);
    assert!(problems.is_empty(), "{}: {problems:?}", path.display());
    events
}

/// True for events that define something.
pub fn is_definition(event: &Event) -> bool {
    matches!(event, Event::Thread(_) | Event::Method(..) | Event::Chain(_) | Event::Lock(_) | Event::Recording(_))
}
