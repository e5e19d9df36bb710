//! The format is a promise: recordings that earlier versions wrote read as they
//! did then. To add those of a new format version, run
//! `HEADWAY_WRITE_GOLDEN=1 cargo test -p headway-jfr --test golden`; files that
//! are there already are never touched. What a version gained without breaking
//! older readers has recordings of its own beside those of the version.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jfr::{RecordingWriter, WriterConfig, FORMAT_VERSION};
use headway_model::{Dictionary, Event};
use std::path::{Path, PathBuf};
use support::sample_events::{at, definitions, events};
use support::{read_sound, synthetic};

/// Every recording that must read as ever; the last one is what is written now.
const RECORDINGS: [&str; 4] = ["headway-v1", "headway-v1-parks-and-samples", "headway-v1-steal", "headway-v2"];

const PACKINGS: [&str; 3] = ["jfr", "jfr.zst", "jfr.lz4"];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn as_text(events: &[Event]) -> String {
    events.iter().map(|event| format!("{event:?}\n")).collect()
}

fn write(path: &Path) {
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    let mut writer = RecordingWriter::create(WriterConfig::new(path, synthetic::info())).unwrap();
    definitions().iter().chain(&events()).for_each(|event| writer.event(event, &dictionary));
    writer.finish(&dictionary, at(100)).unwrap();
}

#[test]
fn recordings_of_all_versions_read_as_they_did() {
    assert_eq!(FORMAT_VERSION, 2, "a new version needs a recording of its own");
    for name in RECORDINGS {
        let text = golden(&format!("{name}.txt"));
        for packing in PACKINGS {
            let path = golden(&format!("{name}.{packing}"));
            if Some(&name) == RECORDINGS.last() && std::env::var_os("HEADWAY_WRITE_GOLDEN").is_some() {
                if !path.exists() {
                    write(&path);
                }
                if !text.exists() {
                    std::fs::write(&text, as_text(&read_sound(&path))).unwrap();
                }
            }
            let expected = std::fs::read_to_string(&text).unwrap_or_else(|e| panic!("{}: {e}", text.display()));
            assert_eq!(as_text(&read_sound(&path)), expected, "{}", path.display());
        }
    }
}
