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
const RECORDINGS: [&str; 6] = [
    "headway-v1",
    "headway-v1-parks-and-samples",
    "headway-v1-steal",
    "headway-v2",
    "headway-v2-own-cost",
    "headway-v2-unknown-limits",
];

/// Which of them a released version writes. `CHANGELOG.md` says which versions are released: those
/// with a date.
const RELEASED: [(&str, &str); 2] = [("0.1.0", "headway-v2"), ("0.2.0", "headway-v2")];

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

/// Versions with a date in the headings of a changelog (`## [1.2.3] - 2026-01-31`).
fn released(changelog: &str) -> Vec<&str> {
    let headings = changelog.lines().filter_map(|line| line.strip_prefix("## [")?.split_once("] - "));
    headings.filter(|(_, date)| date.starts_with(|c: char| c.is_ascii_digit())).map(|(version, _)| version).collect()
}

#[test]
fn every_released_version_has_a_recording_that_is_read() {
    assert_eq!(released("## [0.3.0] - unreleased\n## [0.2.0] - 2026-01-31\n### Added\n"), ["0.2.0"]);
    let changelog = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CHANGELOG.md");
    let changelog = std::fs::read_to_string(changelog).unwrap();
    for version in released(&changelog).into_iter().chain([env!("CARGO_PKG_VERSION")]) {
        let is_known = RELEASED.iter().any(|(known, _)| *known == version);
        assert!(is_known, "version {version} has no recording in RELEASED");
    }
    for (version, recording) in RELEASED {
        assert!(RECORDINGS.contains(&recording), "{version}: {recording} is not among the recordings that are read");
    }
}
