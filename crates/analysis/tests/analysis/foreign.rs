//! Recordings that do not say what owners did: of other tools, or without an exit.

use crate::picture::{at, lock_id, MS};
use crate::report::{by, rows, texts};
use crate::story::{chain, lock, method, thread};
use headway_analysis::report::FindingKind;
use headway_analysis::{Analysis, Report};
use headway_model::event::*;
use headway_model::{ChainId, Event, ThreadId};
use std::sync::Arc;

const SELL: u64 = 3;
const HANDLE: u64 = 4;

/// What a recording of JFR with these settings comes to, in which thread 2 is blocked and both park.
fn of_jfr(settings: &[(&str, &str)], more: &[Event]) -> Report {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let info = RecordingInfo { start: at(0), producer: "jfr".to_owned(), settings, ..RecordingInfo::default() };
    let mut events = vec![
        Event::Recording(Arc::new(info)),
        thread(1, "main"),
        thread(2, "worker-1"),
        method(SELL, "com.acme.Inventory", "sell"),
        method(HANDLE, "com.acme.Server", "handle"),
        chain(1, &[(SELL, 40), (HANDLE, 7)]),
        lock(u64::from(b'a'), "com.acme.Inventory", 0, ""),
        Event::MonitorEntered(MonitorEntered {
            time: at(50),
            start: at(20),
            thread: ThreadId(2),
            lock: lock_id(b'a'),
            chain: ChainId(1),
            previous_owner: ThreadId(1),
            ..MonitorEntered::default()
        }),
        Event::Park(Park {
            time: at(90),
            start: at(60),
            thread: ThreadId(2),
            blocker_class: "java.util.concurrent.locks.ReentrantLock$NonfairSync".into(),
            ..Park::default()
        }),
        Event::Park(Park {
            time: at(40),
            start: at(0),
            thread: ThreadId(1),
            blocker_class: "java.util.concurrent.CountDownLatch$Sync".into(),
            ..Park::default()
        }),
        Event::Other("jdk.GCHeapSummary".into()),
    ];
    for column in 0..10 {
        events.push(Event::Sample(Sample {
            time: at(column),
            thread: ThreadId(1),
            chain: ChainId(1),
            ..Sample::default()
        }));
    }
    events.extend(more.iter().cloned());
    events.push(Event::Watermark(at(100)));
    let mut analysis = Analysis::new(by("lock,owner-thread,owner-method"));
    for event in &events {
        analysis.feed(event);
    }
    analysis.finish()
}

/// A setting of JFR that says that starts of threads are recorded.
const STARTS: (&str, &str) = ("jdk.ThreadStart#enabled", "true");

#[test]
fn without_starts_of_threads_nothing_is_said_of_how_long_they_lived() {
    for settings in [&[][..], &[("jdk.ThreadStart#enabled", "false")]] {
        let report = of_jfr(settings, &[]);
        let ledger = &report.ledger;
        // Blocked, and parked at the latch: what is recorded, and no more.
        assert!(ledger.lives_unknown && ledger.unbalanced_ns == 0, "{ledger:?}");
        assert_eq!((ledger.total_ns, ledger.active_ns(), report.running_ns), (70 * MS, 0, 0), "{ledger:?}");
        // Blocked and parked are as long: either may come first.
        let verdict = &report.verdict;
        assert!(verdict.contains(" spent 30.0 ms ") && verdict.contains("no percentage"), "{verdict}");
        let texts = texts(&report);
        assert!(texts.iter().all(|text| !text.contains("thread time") && !text.contains("lifetime")), "{texts:?}");
        assert!(texts.iter().any(|text| text.starts_with("1 thread parked 30.0 ms, waiting for")), "{texts:?}");
        assert!(report.findings.iter().all(|finding| finding.kind != FindingKind::HotLock || finding.share.is_none()));
    }
    let start = ThreadPoint { time: at(10), thread: ThreadId(2) };
    let report = of_jfr(&[], &[Event::ThreadStart(start)]);
    assert!(!report.ledger.lives_unknown && report.ledger.total_ns == 190 * MS, "{:?}", report.ledger);
}

#[test]
fn recordings_of_other_tools_show_what_they_hold() {
    let report = of_jfr(&[STARTS], &[]);
    assert!(report.recording.foreign && !report.ledger.lives_unknown);
    assert_eq!(rows(&report), "com.acme.Inventory#97 30 x1 30\n  main 30 x1 30\n    unknown 30 x1 30");
    let samples = report.samples.as_ref().expect("samples");
    assert_eq!(samples.methods[0].method, "com.acme.Inventory.sell");
    assert_eq!((samples.methods[1].self_samples, samples.methods[1].total_samples), (0, 10));
    assert_eq!(report.parks.len(), 2);
    assert!(!report.parks[0].is_lock && report.parks[1].is_lock);
    // Two lives of 100 ms without the 40 ms at the latch.
    assert_eq!(report.running_ns, 160 * MS);
    assert_eq!(report.other_events["jdk.GCHeapSummary"], 1);
    assert_eq!(
        texts(&report),
        [
            "For 100 % of the blocked time, the owner's call stack is not known: the recording was not made by Headway and does not say what owners did.",
            "Threads spent 30.0 ms (15 % of the active thread time) blocked on `Inventory#97`. Thread `main` owned it for 100 % of that time. The recording does not show what it did.",
            "Of 10 samples of running threads, 100 % were in `com.acme.Inventory.sell`, without the methods that it called.",
            "1 thread parked, waiting for `java.util.concurrent.locks.ReentrantLock$NonfairSync`, 15 % of the active thread time: a lock of java.util.concurrent; who owned it is not recorded.",
        ]
    );
}

/// Blocked until `until` by thread 1, of whose release nothing is recorded.
fn unknown_owner_until(until: usize) -> Vec<String> {
    let mut events = vec![
        Event::Recording(Arc::new(RecordingInfo {
            start: at(0),
            producer: "headway test".to_owned(),
            ..RecordingInfo::default()
        })),
        thread(1, "main"),
        thread(2, "worker-1"),
        lock(u64::from(b'a'), "com.acme.Inventory", 0, ""),
    ];
    events.push(Event::MonitorEntered(MonitorEntered {
        time: at(until),
        start: at(20),
        thread: ThreadId(2),
        lock: lock_id(b'a'),
        previous_owner: ThreadId(1),
        ..MonitorEntered::default()
    }));
    events.push(Event::Watermark(at(50_000)));
    let mut analysis = Analysis::new(by("lock"));
    events.iter().for_each(|event| analysis.feed(event));
    texts(&analysis.finish()).into_iter().map(str::to_owned).collect()
}

#[test]
fn that_owners_are_unknown_is_said_behind_what_they_did_and_where_it_matters() {
    let long = unknown_owner_until(5_020);
    assert!(long[0].contains("blocked on `Inventory#97`"), "{long:?}");
    let last = long.last().expect("findings");
    assert!(last.starts_with("For 100 % of the blocked time, the owner's call stack is not known"), "{long:?}");
    let short = unknown_owner_until(60);
    assert!(short.iter().all(|text| !text.contains("is not known")), "{short:?}");
}
