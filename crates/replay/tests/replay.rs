//! Recorded fragments, decoded again: the same stacks, and what the programs
//! said of themselves.
//!
//! They are renewed by the recorder:
//! `HEADWAY_FRAGMENTS_DIRECTORY=$PWD/crates/replay/tests/recorded cargo test -p headway-hotspot-probe --test fragments`

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_replay::{Recorded, Recording};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let all = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = all.filter(|file| file.extension().is_some_and(|e| e == "zst")).collect();
    files.sort();
    files
}

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(|| files().iter().map(|file| Recording::read(file).unwrap()).collect())
}

#[test]
fn every_recorded_stack_is_decoded_as_the_program_says() {
    for recording in recordings() {
        for (number, recorded) in recording.fragments.iter().enumerate() {
            let decoded = recording.replay(recorded);
            let judged = recording.truth().judge(&recorded.truth, &decoded);
            assert_eq!(judged, Ok(()), "{}, fragment {number}: {decoded:#?}", recording.what);
            assert_eq!(decoded.frames, recorded.frames, "{}, fragment {number}", recording.what);
        }
    }
}

/// What must be among the recorded stacks, or the test above says little.
#[test]
fn every_shape_is_recorded_on_every_jdk() {
    let releases = ["17", "21", "25"];
    for release in releases {
        let of_release: Vec<&Recording> =
            recordings().iter().filter(|recording| recording.what.starts_with(release)).collect();
        let what: BTreeSet<String> = of_release.iter().map(|recording| recording.what.clone()).collect();
        for options in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-Inline"] {
            assert!(what.iter().any(|what| what.contains(options)), "{release} {options}: {what:?}");
        }
        let all: Vec<&Recorded> = of_release.iter().flat_map(|recording| &recording.fragments).collect();
        let some = |is_it: &dyn Fn(&Recorded) -> bool| all.iter().any(|recorded| is_it(recorded));
        let in_method = |name: &'static str| move |recorded: &Recorded| recorded.truth.iter().any(|m| m == name);
        for method in ["descend", "inlined", "throwing", "replaced", "bottom", "allocation"] {
            assert!(some(&in_method(method)), "{release}: nothing of {method}");
        }
        for kind in ["interpreted", "compiled", "inlined"] {
            let has = |recorded: &Recorded| recorded.frames.iter().any(|frame| frame.kind == kind);
            assert!(some(&has), "{release}: no frame is {kind}");
        }
        let deep = |recorded: &Recorded| recorded.truth.iter().filter(|method| *method == "descend").count() >= 30;
        assert!(some(&deep), "{release}: no recursion is deep");
        let deoptimized = |recorded: &Recorded| recorded.frames.iter().any(|frame| frame.deoptimized);
        assert!(some(&deoptimized), "{release}: no frame was deoptimized");
    }
}

/// A decoder that makes something up must be found out.
#[test]
fn a_stack_that_is_not_the_thread_s_is_refused() {
    let recording = recordings().iter().find(|recording| recording.what.contains("-Xint")).unwrap();
    let mut refused = 0;
    for recorded in &recording.fragments {
        let mut other = recorded.clone();
        other.truth.pop();
        other.truth.push("nobody".to_owned());
        refused += usize::from(recording.truth().judge(&other.truth, &recording.replay(&other)).is_err());
    }
    assert_eq!(refused, recording.fragments.len());
}

#[test]
fn a_cut_stack_is_never_complete() {
    let recording = &recordings()[0];
    for recorded in &recording.fragments {
        let mut cut = recorded.clone();
        cut.stopped.stack.truncate(128);
        let decoded = recording.replay(&cut);
        assert!(!decoded.end.is_complete(), "{}: {decoded:#?}", recording.what);
        assert!(recorded.frames.starts_with(&decoded.frames), "{}: {decoded:#?}", recording.what);
    }
}
