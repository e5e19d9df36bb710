//! Every parser, for a moment.
#![allow(clippy::unwrap_used)] // a test may end like that

use headway_hostile::change::feed;
use headway_hostile::targets::{corpus, TARGETS};

fn try_target(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let mut seeds = (target.seeds)();
    seeds.extend(corpus(name));
    assert!(!seeds.is_empty(), "{name} has nothing to begin with");
    feed(&seeds, target.rounds, target.parse);
}

#[test]
fn recordings() {
    try_target("jfr");
}

#[test]
fn class_files() {
    try_target("class-file");
}

#[test]
fn agent_options() {
    try_target("agent-options");
}

#[test]
fn debug_information() {
    try_target("debug-info");
}

#[test]
fn files_of_the_kernel() {
    try_target("proc");
}

#[test]
fn profiles_of_coz() {
    try_target("coz");
}

/// Changed inputs get no further than sound ones.
#[test]
fn seeds_are_sound() {
    for seed in (TARGETS[2].seeds)() {
        let text = String::from_utf8(seed).unwrap();
        assert!(
            headway::options::Options::parse(&text).is_ok(),
            "{text}: {:?}",
            headway::options::Options::parse(&text)
        );
    }
    for seed in (TARGETS[5].seeds)() {
        let text = String::from_utf8(seed).unwrap();
        let read = headway_causal::coz::read(&text).unwrap();
        assert!(!read.is_empty(), "{text}");
    }
    let counted = headway::causal::inject::Counting::Method("run".to_owned());
    for class in corpus("class-file") {
        assert!(headway::causal::inject::count(&class, &[(counted.clone(), 7)]).is_ok());
    }
}

#[test]
fn every_target_has_a_test_and_a_program_for_libfuzzer() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = include_str!("targets.rs");
    for target in &TARGETS {
        assert!(tests.contains(&format!("try_target(\"{}\")", target.name)), "{} is not tried", target.name);
        let program = here.join("../../fuzz/fuzz_targets").join(format!("{}.rs", target.name));
        assert!(program.is_file(), "{} is missing", program.display());
    }
}
