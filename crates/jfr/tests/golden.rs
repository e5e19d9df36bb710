//! The format is a promise: recordings that earlier versions wrote read as they
//! did then. To add those of a new format version, run
//! `HEADWAY_WRITE_GOLDEN=1 cargo test -p headway-jfr --test golden`; files that
//! are there already are never touched.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jfr::{RecordingWriter, WriterConfig, FORMAT_VERSION};
use headway_model::{Dictionary, Event};
use std::path::{Path, PathBuf};
use support::sample_events::{at, definitions, events};
use support::{read_sound, synthetic};

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
    for version in 1..=FORMAT_VERSION {
        let text = golden(&format!("headway-v{version}.txt"));
        for packing in PACKINGS {
            let path = golden(&format!("headway-v{version}.{packing}"));
            if version == FORMAT_VERSION && std::env::var_os("HEADWAY_WRITE_GOLDEN").is_some() {
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
