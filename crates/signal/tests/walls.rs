//! The walls of the crate: what it cannot call because it is not there.
#![cfg(not(loom))]

use std::fs;
use std::path::Path;

fn sources() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    for file in fs::read_dir(folder).expect("src is readable") {
        let path = file.expect("src is readable").path();
        let name = path.file_name().expect("a file").to_string_lossy();
        let text = fs::read_to_string(&path).expect("source is text");
        sources.push((name.into_owned(), text));
    }
    assert!(sources.len() > 10, "this looks at the wrong folder");
    sources
}

#[test]
fn the_crate_has_no_std_and_no_allocator() {
    let sources = sources();
    let (_, root) = sources.iter().find(|(name, _)| name == "lib.rs").expect("lib.rs");
    assert!(root.contains("\n#![no_std]\n"));
    for (name, text) in &sources {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            assert!(!line.contains("extern crate"), "{name}: {line}");
        }
    }
}

#[test]
fn the_crate_depends_on_nothing() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("manifest is readable");
    assert!(!manifest.contains("\n[dependencies]"), "{manifest}");
}

#[test]
fn memory_becomes_words_in_one_place_only() {
    for (name, text) in sources() {
        let uses = text.matches("unsafe {").count() + text.matches("unsafe fn").count();
        let allowed = if name == "region.rs" { 2 } else { 0 };
        assert_eq!(uses, allowed, "{name}");
    }
}

#[test]
fn every_file_without_locks_opens_with_its_protocol() {
    for (name, text) in sources() {
        let shares_words = text.contains("Ordering::") && name != "sync.rs";
        let head: String = text.lines().take_while(|l| l.starts_with("//!")).collect();
        assert!(!shares_words || head.contains("# Protocol"), "{name}");
    }
}
