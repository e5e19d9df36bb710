//! What is written comes back the same, in every packing.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_jfr::{IfTaken, RecordingWriter, Summary, WriterConfig};
use headway_model::event::{
    LockDef, OwnerSample, Park, ParkBegin, PressurePhase, RecordingInfo, Sample, SampleState, ThreadDef, Unpark,
};
use headway_model::{Dictionary, DurationNs, Event, ThreadId, TimeNs};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use support::sample_events::{
    as_read, at, definitions, events, BLOCKER, BLOCKER_CLASS, CHAIN, LOCK, MAIN, VIRTUAL, WAIT_CHAIN, WORKER,
};
use support::{is_definition, read_sound, synthetic, Scratch};

const NAMES: [&str; 3] = ["a.jfr", "a.jfr.zst", "a.jfr.lz4"];

fn offset() -> i64 {
    synthetic::info().epoch_offset_ns
}

fn writer(path: &Path) -> RecordingWriter {
    RecordingWriter::create(WriterConfig::new(path, synthetic::info())).unwrap()
}

fn dictionary() -> Dictionary {
    let mut dictionary = Dictionary::default();
    definitions().iter().for_each(|event| dictionary.feed(event));
    dictionary
}

#[test]
fn every_event_comes_back() {
    let scratch = Scratch::new();
    for name in NAMES {
        let path = scratch.file(name);
        let dictionary = dictionary();
        let mut writer = writer(&path);
        definitions().iter().chain(&events()).for_each(|event| writer.event(event, &dictionary));
        let finished = writer.finish(&dictionary, at(100)).unwrap();
        assert_eq!(finished.lost, 0);
        assert_eq!(finished.bytes, std::fs::metadata(&path).unwrap().len());

        let mut expected: Vec<Event> = events().iter().map(|e| as_read(e, offset())).collect();
        expected.push(as_read(&Event::Watermark(at(100)), offset()));
        let read: Vec<Event> = read_sound(&path).into_iter().filter(|e| !is_definition(e)).collect();
        assert_eq!(read, expected, "{name}");
    }
}

/// Kinds that are no events of a recording: definitions, what stays inside the agent, and what only readers make.
const UNRECORDED: [&str; 7] = ["Recording", "Thread", "Method", "Chain", "Lock", "TransactionPoint", "Other"];

/// So that one that is written but not read, or neither, fails the test above.
#[test]
fn every_kind_that_is_recorded_is_among_those_that_come_back() {
    let written: HashSet<usize> = events().iter().chain([&Event::Watermark(at(100))]).map(Event::kind).collect();
    let names = Event::NAMES.iter().enumerate();
    let without: Vec<&str> = names.filter(|(kind, _)| !written.contains(kind)).map(|(_, name)| *name).collect();
    assert_eq!(without, UNRECORDED);
}

/// With its definitions, whoever else names them.
#[test]
fn samples_of_owners_come_back() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let dictionary = dictionary();
    let mut writer = writer(&path);
    let sample = |state| Sample { time: at(60), thread: WORKER, chain: CHAIN, state, weight: DurationNs(7), cpu: None };
    let seen = |state, waiters| {
        Event::OwnerSample(OwnerSample { sample: sample(state), lock: LOCK, waiter_chain: WAIT_CHAIN, waiters })
    };
    let written = [seen(SampleState::Waiting, 3), seen(SampleState::Runnable, 1)];
    written.iter().for_each(|event| writer.event(event, &dictionary));
    writer.finish(&dictionary, at(100)).unwrap();
    let read = read_sound(&path);
    let expected: Vec<Event> = written.iter().map(|event| as_read(event, offset())).collect();
    let seen: Vec<Event> = read.iter().filter(|event| matches!(event, Event::OwnerSample(_))).cloned().collect();
    assert_eq!(seen, expected);
    assert!(read.iter().any(|event| matches!(event, Event::Lock(def) if def.id == LOCK)));
}

#[test]
fn a_park_takes_its_class_from_its_blocker() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let dictionary = dictionary();
    let mut writer = writer(&path);
    let park = Park { time: at(60), start: at(51), thread: MAIN, blocker: BLOCKER, ..Park::default() };
    writer.event(&Event::Park(park), &dictionary);
    writer.finish(&dictionary, at(100)).unwrap();
    let park = read_sound(&path).into_iter().find_map(|e| if let Event::Park(e) = e { Some(e) } else { None }).unwrap();
    assert_eq!(&*park.blocker_class, BLOCKER_CLASS);
}

#[test]
fn a_blocker_and_a_waker_that_nothing_else_names_are_defined() {
    let scratch = Scratch::new();
    for name in NAMES {
        let path = scratch.file(name);
        let dictionary = dictionary();
        let mut writer = writer(&path);
        let (blocker, waker, target) = (BLOCKER, WORKER, VIRTUAL);
        writer.event(&Event::ParkBegin(ParkBegin { time: at(1), blocker, ..ParkBegin::default() }), &dictionary);
        writer.event(&Event::Park(Park { time: at(2), start: at(1), waker, ..Park::default() }), &dictionary);
        writer.event(&Event::Unpark(Unpark { time: at(2), target, ..Unpark::default() }), &dictionary);
        let (acquiring_chain, owner_chain) = (CHAIN, WAIT_CHAIN);
        let phase =
            PressurePhase { start: at(1), end: at(2), acquiring_chain, owner_chain, ..PressurePhase::default() };
        writer.event(&Event::PressurePhase(phase), &dictionary);
        writer.finish(&dictionary, at(3)).unwrap();
        let mut known = Dictionary::default();
        read_sound(&path).iter().for_each(|event| known.feed(event));
        assert!(known.lock(BLOCKER).is_some() && known.thread(WORKER).is_some() && known.thread(VIRTUAL).is_some());
        assert!(known.chain(CHAIN).is_some() && known.chain(WAIT_CHAIN).is_some());
    }
}

#[test]
fn definitions_come_back_with_their_ids_and_before_their_use() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let dictionary = dictionary();
    let mut writer = writer(&path);
    events().iter().for_each(|event| writer.event(event, &dictionary));
    writer.finish(&dictionary, at(100)).unwrap();

    let mut known = Dictionary::default();
    for event in read_sound(&path) {
        if let Event::MonitorEntered(e) = &event {
            assert!(known.chain(e.chain).is_some() && known.lock(e.lock).is_some() && known.thread(e.thread).is_some());
        }
        known.feed(&event);
    }
    let strip = |event: &Event| match event {
        // Only what events refer to is written, apart from threads.
        Event::Thread(def) => assert_eq!(known.thread(def.id), Some(def)),
        Event::Method(id, method) => assert_eq!(known.method(*id), Some(method)),
        Event::Chain(def) => assert_eq!(known.chain(def.id), Some(def)),
        Event::Lock(def) => assert_eq!(known.lock(def.id), Some(def)),
        _ => unreachable!(),
    };
    definitions().iter().for_each(strip);
}

#[test]
fn facts_about_the_recording_come_first() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr.zst");
    writer(&path).finish(&Dictionary::default(), at(1)).unwrap();
    let info = synthetic::info();
    let epoch = |time: TimeNs| TimeNs(time.0.wrapping_add_signed(offset()));
    let expected = RecordingInfo {
        start: epoch(info.start),
        epoch_offset_ns: 0,
        // The JDK's event holds milliseconds.
        jvm_start: TimeNs(epoch(info.jvm_start).0 / 1_000_000 * 1_000_000),
        ..(*info).clone()
    };
    match &read_sound(&path)[0] {
        Event::Recording(info) => assert_eq!(**info, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn changed_facts_and_names_are_told_again() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let mut dictionary = dictionary();
    let mut config = WriterConfig::new(&path, synthetic::info());
    config.chunk_size = 0; // the smallest there is
    let mut writer = RecordingWriter::create(config).unwrap();
    let enter = events()[1].clone();
    writer.event(&enter, &dictionary);
    writer.flush(&dictionary, at(10)).unwrap();
    let renamed = Event::Thread(ThreadDef { id: MAIN, os_id: 101, name: "renamed".into(), ..ThreadDef::default() });
    let named =
        Event::Lock(LockDef { id: LOCK, class: "com.acme.Inventory".into(), name: "named".into(), identity_hash: 5 });
    for event in [&renamed, &named] {
        dictionary.feed(event);
        writer.event(event, &dictionary);
    }
    writer.event(&enter, &dictionary);
    writer.finish(&dictionary, at(20)).unwrap();
    let mut known = Dictionary::default();
    read_sound(&path).iter().for_each(|event| known.feed(event));
    assert_eq!(&*known.thread(MAIN).unwrap().name, "renamed");
    assert_eq!(&*known.lock(LOCK).unwrap().name, "named");
}

#[test]
fn ids_hold_over_chunks_and_definitions_are_told_once() {
    let scratch = Scratch::new();
    for name in NAMES {
        let path = scratch.file(name);
        let dictionary = synthetic::dictionary();
        let mut config = WriterConfig::new(&path, synthetic::info());
        config.chunk_size = 100 << 10;
        let mut writer = RecordingWriter::create(config).unwrap();
        let mut stream = synthetic::Stream::new(5_000);
        let mut expected = Vec::new();
        for _ in 0..10 {
            let batch = stream.second();
            batch.iter().for_each(|event| writer.event(event, &dictionary));
            writer.flush(&dictionary, stream.now()).unwrap();
            expected.extend(batch.iter().map(|e| as_read(e, offset())));
        }
        let all = read_sound(&path);
        let told: Vec<_> =
            all.iter().filter_map(|e| if let Event::Lock(def) = e { Some(def.id) } else { None }).collect();
        let distinct: HashSet<_> = told.iter().collect();
        assert!(distinct.len() > 20);
        assert_eq!(told.len(), distinct.len(), "each lock is told once");
        let marks = all.iter().filter(|e| matches!(e, Event::Watermark(_))).count();
        assert_eq!(marks, 10);
        let read: Vec<Event> =
            all.into_iter().filter(|e| !is_definition(e) && !matches!(e, Event::Watermark(_))).collect();
        assert_eq!(read, expected, "{name}");
        let summary = Summary::of(&path).unwrap();
        assert!(summary.chunks > 3, "{} chunks", summary.chunks);
        assert_eq!(summary.types["headway.MonitorContendedEnter"].count, expected.len() as u64 / 3);
        assert_eq!(summary.start, TimeNs(synthetic::START.0.wrapping_add_signed(offset())));
        assert!(summary.duration.0.abs_diff(10_000_000_000) < 1_000_000_000, "{}", summary.duration);
    }
}

#[test]
fn what_nobody_defined_is_told_as_unknown() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let empty = Dictionary::default();
    let mut writer = writer(&path);
    writer.event(&events()[1], &empty);
    writer.finish(&empty, at(20)).unwrap();
    let read = read_sound(&path);
    let enter = read.iter().find_map(|e| if let Event::MonitorEnter(e) = e { Some(e) } else { None }).unwrap();
    assert!(enter.chain.is_none() && enter.owner.is_none() && enter.thread.is_none());
    assert_eq!(enter.lock, LOCK, "the id of a lock tells locks apart even without a definition");
}

#[test]
fn recordings_are_for_their_owner_only_and_never_overwrite_other_files() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let create = |path: &Path, if_taken| {
        RecordingWriter::create(WriterConfig { if_taken, ..WriterConfig::new(path, synthetic::info()) })
    };
    for if_taken in [IfTaken::Refuse, IfTaken::Replace] {
        // The second time over an earlier recording.
        create(&path, if_taken).unwrap().finish(&Dictionary::default(), at(1)).unwrap();
    }
    let error = create(&path, IfTaken::Refuse).unwrap_err();
    assert!(error.to_string().contains("there already"), "{error}");
    assert_eq!(create(&path, IfTaken::Number).unwrap().path(), scratch.file("a-2.jfr"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let precious = scratch.file("thesis.jfr");
    std::fs::write(&precious, "precious").unwrap();
    let link = scratch.file("link.jfr");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for taken in [&precious, &link] {
        let error = create(taken, IfTaken::Replace).unwrap_err();
        assert!(error.to_string().contains("not a recording of Headway"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    let missing = RecordingWriter::create(WriterConfig::new(scratch.file("no/such/a.jfr"), synthetic::info()));
    assert!(missing.unwrap_err().to_string().starts_with("cannot create recording"));
}

/// Earlier versions of the agent took the timer of the scheduler of virtual threads (JDK 25) for one of the application.
#[test]
fn all_threads_in_the_group_of_carriers_are_none_of_the_application() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let mut dictionary = dictionary();
    let thread = |id, name: &str, group: &str| ThreadDef {
        id: ThreadId(id),
        os_id: id as u32,
        name: name.into(),
        group: group.into(),
        ..ThreadDef::default()
    };
    let timer = thread(71, "ForkJoinPool-1-delayScheduler", "CarrierThreads");
    let threads = [timer, thread(72, "worker", "main")].map(Event::Thread);
    threads.iter().for_each(|event| dictionary.feed(event));
    writer(&path).finish(&dictionary, at(100)).unwrap();
    let read: HashMap<ThreadId, bool> = read_sound(&path)
        .into_iter()
        .filter_map(|event| if let Event::Thread(def) = event { Some((def.id, def.is_service)) } else { None })
        .collect();
    assert_eq!((read.get(&ThreadId(71)), read.get(&ThreadId(72))), (Some(&true), Some(&false)));
}

#[test]
fn a_thread_without_java_identity_keeps_its_kernel_id() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jfr");
    let dictionary = dictionary();
    writer(&path).finish(&dictionary, at(1)).unwrap();
    let threads: Vec<ThreadDef> = read_sound(&path)
        .into_iter()
        .filter_map(|e| if let Event::Thread(def) = e { Some(def) } else { None })
        .collect();
    assert_eq!(threads.len(), 4, "threads are told even if they did nothing");
    let compiler = threads.iter().find(|def| def.id == ThreadId::native(99)).unwrap();
    assert_eq!((&*compiler.name, compiler.os_id, compiler.is_service), ("C2 CompilerThre", 99, true));
}
