//! `top` and `report --pressure` say the same of the same events: which locks threads acquired, and for how long.

#![allow(clippy::expect_used)] // A panic in a test is a failed test.

mod support;

use headway_analysis::pressure::online::OnlinePressure;
use headway_analysis::pressure::PressureOptions;
use headway_analysis::{Analysis, Bounds, Options};
use headway_jfr::Reader;
use headway_model::{Dictionary, Event, ThreadId, TimeNs};
use std::path::{Path, PathBuf};
use support::recording;

/// Class and time acquiring of each lock, largest first.
type Acquired = Vec<(u64, String)>;

fn events(path: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    Reader::open(path).expect("a recording").read_ahead(|item| {
        events.extend(item.ok().cloned());
    });
    events
}

/// What `headway top` shows of the events.
fn of_top(events: &[Event]) -> Acquired {
    let start = events.iter().find_map(|event| match event {
        Event::Recording(info) => Some(info.start),
        _ => None,
    });
    let end = events.iter().filter_map(Event::time).max().unwrap_or_default();
    let mut names = Dictionary::default();
    let mut online =
        OnlinePressure::new(PressureOptions::default(), Bounds::online(), start.unwrap_or(TimeNs(0)), true);
    for event in events {
        names.feed(event);
        online.feed(event, &names);
    }
    online.finish(end);
    sorted(online.picture(&names).locks.into_iter().map(|lock| (lock.acquiring_ns, lock.class)))
}

/// What `headway report --pressure` shows of them.
fn of_report(events: &[Event]) -> Acquired {
    let options = Options { pressure: Some(PressureOptions::default()), ..Options::default() };
    let mut analysis = Analysis::new(options);
    events.iter().for_each(|event| analysis.feed(event));
    let pressure = analysis.finish().pressure.expect("it was asked for");
    sorted(pressure.locks.into_iter().map(|lock| (lock.acquiring_ns, lock.class)))
}

fn sorted(locks: impl Iterator<Item = (u64, String)>) -> Acquired {
    let mut locks: Acquired = locks.filter(|(ns, _)| *ns > 0).collect();
    locks.sort_by(|a, b| b.cmp(a));
    locks
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jfr/tests/golden").join(name)
}

/// A recording with contention, waits and parks.
fn shop(directory: &Path) -> PathBuf {
    let shop = directory.join("shop.jfr");
    let mut scenario = recording::Scenario::begin(&shop);
    scenario.contention();
    scenario.waiting();
    scenario.parking();
    scenario.finish();
    shop
}

/// The same events with parks on a blocker of another class, and with its owner or without.
fn parked_on(events: &[Event], class: &str, owned: bool) -> Vec<Event> {
    let mut changed = events.to_vec();
    for event in &mut changed {
        match event {
            Event::Lock(def) if def.class.starts_with("java.util.concurrent.locks.ReentrantLock") => {
                def.class = class.into();
            }
            Event::ParkBegin(park) if !owned => park.owner = ThreadId::NONE,
            Event::Park(park) if !owned => park.owner = ThreadId::NONE,
            _ => {}
        }
    }
    changed
}

#[test]
fn top_and_report_agree_about_what_a_park_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let events = events(&shop(directory.path()));
    let parks = 10 * (38 + 36) * 1_000_000;
    for (class, owned, expected) in [
        ("java.util.concurrent.locks.ReentrantLock$FairSync", true, parks),
        // A developer's own lock, whose owner is not known: the frames say that it is one.
        ("com.acme.Mutex", false, parks),
        // A semaphore is no lock, whatever its blocker's owner field says.
        ("java.util.concurrent.Semaphore$NonfairSync", true, 0),
    ] {
        let events = parked_on(&events, class, owned);
        let (top, report) = (of_top(&events), of_report(&events));
        assert_eq!(top, report, "{class}");
        let of_class = report.iter().filter(|(_, of)| of == class).map(|(ns, _)| ns).sum::<u64>();
        assert_eq!(of_class, expected, "{class}: {report:?}");
    }
}

#[test]
fn top_and_report_agree_about_every_recording() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = shop(directory.path());
    let mut recordings = vec![shop];
    let golden_ones = ["headway-v1", "headway-v2", "headway-v1-parks-and-samples", "headway-v1-steal"];
    recordings.extend(golden_ones.iter().map(|name| golden(&format!("{name}.jfr.zst"))));
    recordings.extend(["jfr-17", "jfr-21", "jfr-25"].iter().map(|name| golden(&format!("{name}.jfr.zst"))));
    let mut with_locks = 0;
    for recording in recordings {
        let events = events(&recording);
        let (top, report) = (of_top(&events), of_report(&events));
        assert_eq!(top, report, "{}", recording.display());
        with_locks += usize::from(!report.is_empty());
    }
    assert!(with_locks >= 3, "only {with_locks} of them have contention");
}
