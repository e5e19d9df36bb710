//! Sums over minutes are what `headway report --json` says of the same recording.

use headway_analysis::{Analysis, Options, Report};
use headway_jfr::Reader;
use headway_model::event::{
    LockDef, MonitorEnter, MonitorEntered, MonitorExit, MonitorWait, MonitorWaited, RecordingInfo, Spent, SpentOn,
    StopTheWorld, ThreadDef, ThreadPoint, Transaction,
};
use headway_model::{DurationNs, Event, LockId, Loss, Seq, ThreadId, TimeNs};
use headway_rollup::minute::{Minute, MINUTE_NS};
use headway_rollup::{Rolled, Rollup, Source};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocked, hand-off, unknown, paused, count, longest.
type Sums = [u64; 6];

/// By class and name, as `locks` of the report's JSON has them.
fn of_report(json: &Value) -> BTreeMap<(String, String), Sums> {
    let mut sums = BTreeMap::new();
    for lock in json["locks"].as_array().expect("locks") {
        let text = lock["lock"].as_str().expect("a name");
        let class = lock["class"].as_str().expect("a class");
        // `Inventory.lock (com.acme.Inventory@1a2b3c)`; without a name only the object.
        let name = text.split_once(&format!(" ({class}")).map_or("", |(name, _)| name);
        let number = |key: &str| lock[key].as_u64().unwrap_or(0);
        let sum: &mut Sums = sums.entry((class.to_owned(), name.to_owned())).or_default();
        for (at, key) in ["total_ns", "hand_off_ns", "unknown_ns", "pause_ns", "count"].into_iter().enumerate() {
            sum[at] += number(key);
        }
        sum[5] = sum[5].max(number("max_ns"));
    }
    sums.retain(|_, sum| sum[4] > 0);
    sums
}

fn of_rows(rolled: &Rolled) -> BTreeMap<(String, String), Sums> {
    let sites: BTreeMap<i64, _> = rolled.sites.iter().map(|site| (site.id, site)).collect();
    let mut sums = BTreeMap::new();
    for row in &rolled.locks {
        let site = sites[&row.site];
        assert_eq!(site.kind, row.kind);
        assert!(row.handoff_ns + row.unknown_ns + row.pause_ns <= row.blocked_ns, "{row:?}");
        assert_eq!(row.histogram.count(), row.contentions, "{row:?}");
        // Of a class that says nothing the place of acquisition is part of the name.
        let name = match &*site.member {
            place if place.starts_with("at ") => "",
            named => named.split_once(" at ").map_or(named, |(name, _)| name),
        };
        let sum: &mut Sums = sums.entry((site.class.clone(), name.to_owned())).or_default();
        let parts = [row.blocked_ns, row.handoff_ns, row.unknown_ns, row.pause_ns, row.contentions];
        parts.iter().zip(sum.iter_mut()).for_each(|(part, sum)| *sum += part);
        sum[5] = sum[5].max(row.max_ns);
    }
    sums
}

fn check(report: &Report, rolled: &Rolled) {
    let json = serde_json::to_value(report).expect("JSON");
    assert_eq!(of_rows(rolled), of_report(&json));
    let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.sum::<u64>();
    let number = |key: &str| json[key].as_u64().expect(key);
    assert_eq!(sum(&mut rolled.locks.iter().map(|row| row.blocked_ns)), number("blocked_ns"));
    assert_eq!(sum(&mut rolled.locks.iter().map(|row| row.contentions)), number("contentions"));
    assert_eq!(sum(&mut rolled.load.iter().map(|row| row.running_ns)), number("running_ns"));
    assert_eq!(sum(&mut rolled.load.iter().map(|row| row.covered_ns)), number("duration_ns"));
    let waits = json["waits"].as_array().expect("waits");
    let of_waits = |key: &str| sum(&mut waits.iter().map(|wait| wait[key].as_u64().unwrap_or(0)));
    assert_eq!(sum(&mut rolled.waits.iter().map(|row| row.waited_ns)), of_waits("total_ns"));
    assert_eq!(sum(&mut rolled.waits.iter().map(|row| row.waits)), of_waits("count"));
    let losses: u64 = report.losses.values().sum();
    assert_eq!(sum(&mut rolled.load.iter().map(|row| row.dropped)), losses);
    if let Some(steal) = &report.steal {
        let cpu: u64 = steal.windows.iter().map(|window| window.cpu_ns).sum();
        assert_eq!(sum(&mut rolled.load.iter().map(|row| row.cpu_ns.unwrap_or(0))), cpu);
    }
    check_minutes(rolled);
}

/// Every minute once, in order, within the recording; no row without one.
fn check_minutes(rolled: &Rolled) {
    let minutes: Vec<u64> = rolled.load.iter().map(|row| row.minute.0).collect();
    assert!(minutes.windows(2).all(|pair| pair[1] == pair[0] + 1), "{minutes:?}");
    assert!(rolled.load.iter().all(|row| row.covered_ns <= MINUTE_NS));
    let rows = rolled.locks.iter().map(|row| row.minute).chain(rolled.waits.iter().map(|row| row.minute));
    for minute in rows.chain(rolled.cpu.iter().map(|row| row.minute)) {
        assert!(minutes.contains(&minute.0), "{minute:?} of {minutes:?}");
    }
    let stacks: Vec<i64> = rolled.stacks.iter().map(|stack| stack.id).collect();
    let mentioned = rolled.locks.iter().flat_map(|row| [row.waiter_stack, row.owner_stack]);
    assert!(mentioned.flatten().all(|id| stacks.binary_search(&id).is_ok()));
}

fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/jfr/tests/golden");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("golden recordings").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.to_string_lossy().contains(".jfr"));
    files.sort();
    files
}

#[test]
fn saved_recordings_add_up() {
    let files = golden();
    assert!(files.len() >= 10, "{files:?}");
    let mut contended = 0;
    for file in files {
        println!("{}", file.display());
        let mut analysis = Analysis::new(Options::default());
        Reader::open(&file).expect("a recording").for_each(|item| {
            if let Ok(event) = item {
                analysis.feed(&event);
            }
        });
        let rolled = Rollup::read(&file, &Source::default()).expect("a recording");
        check(&analysis.finish(), &rolled);
        contended += u64::from(!rolled.locks.is_empty());
    }
    assert!(contended >= 5, "only {contended} recordings with contentions");
}

#[test]
fn cpu_samples_add_up() {
    let recordings = golden().into_iter().map(|file| Rollup::read(file, &Source::default()).expect("a recording"));
    let samples: u64 = recordings.map(|rolled| rolled.cpu.iter().map(|row| row.samples).sum::<u64>()).sum();
    let events = golden().into_iter().flat_map(|file| Reader::open(file).expect("a recording").flatten());
    use headway_model::event::SampleState::{Java, Native};
    let on_cpu = events.filter(|event| matches!(event, Event::Sample(s) if matches!(s.state, Java | Native))).count();
    assert!(samples > 0);
    assert_eq!(samples, on_cpu as u64);
}

const START: u64 = 28_000_000 * MINUTE_NS + 50_000_000_000;

fn at(ns: u64) -> TimeNs {
    TimeNs(START + ns)
}

/// One owner of a lock after the other; each but the first had to wait.
#[derive(Clone, Debug)]
struct Turn {
    /// How long before the former owner's exit it came.
    came_before: u64,
    /// How long the lock was free before it ran.
    handoff: u64,
    held: u64,
    /// Waits for a notify after its turn, for so long.
    waits: Option<u64>,
}

#[derive(Clone, Debug)]
struct Story {
    locks: Vec<Vec<Turn>>,
    pauses: Vec<(u64, u64)>,
    sums: Vec<(u64, u64, u64)>,
    dropped: u64,
    operations: u64,
}

fn story() -> impl Strategy<Value = Story> {
    let turn =
        (0..90_000_000_000u64, 0..70_000_000_000u64, 0..100_000_000_000u64, prop::option::of(0..99_000_000_000u64));
    let turn = turn.prop_map(|(came_before, handoff, held, waits)| Turn { came_before, handoff, held, waits });
    (
        prop::collection::vec(prop::collection::vec(turn, 1..6), 1..5),
        prop::collection::vec((0..300_000_000_000u64, 0..9_000_000_000u64), 0..3),
        prop::collection::vec((0..300_000_000_000u64, 1..50u64, 0..9_000_000u64), 0..4),
        0..5u64,
        0..5u64,
    )
        .prop_map(|(locks, pauses, sums, dropped, operations)| Story { locks, pauses, sums, dropped, operations })
}

/// The events of a story. Locks 1 and 3 have one name, lock 2 has none.
fn events(story: &Story) -> Vec<Event> {
    let info = RecordingInfo { start: at(0), pid: 7, producer: "headway 0.1.0".into(), ..RecordingInfo::default() };
    let mut definitions = vec![Event::Recording(Arc::new(info))];
    let mut events = Vec::new();
    for (number, turns) in (1..).zip(&story.locks) {
        let name = if number % 2 == 1 { "Inventory.lock" } else { "" };
        definitions.push(Event::Lock(LockDef {
            id: LockId(number),
            class: "com.acme.Inventory".into(),
            identity_hash: number as u32,
            name: name.into(),
        }));
        turns_of(number, turns, &mut definitions, &mut events);
    }
    for (start, ns) in &story.pauses {
        events.push(Event::StopTheWorld(StopTheWorld { start: at(*start), duration: DurationNs(*ns) }));
    }
    for (time, count, total) in &story.sums {
        events.push(Event::Spent(Spent {
            time: at(*time),
            thread: ThreadId(101),
            lock: LockId(1),
            on: SpentOn::Monitor,
            count: *count,
            total: DurationNs(*total),
            ..Spent::default()
        }));
    }
    for number in 0..story.operations {
        let time = at(number * 45_000_000_000);
        events.push(Event::Transaction(Transaction { time, start: time, count: 2, ..Transaction::default() }));
    }
    events.sort_by_key(|event| event.time());
    events.push(Event::Lost(Loss::BufferFull, story.dropped));
    let last = events.iter().filter_map(Event::time).max().unwrap_or(at(0));
    events.push(Event::Watermark(last));
    definitions.into_iter().chain(events).collect()
}

fn turns_of(number: u64, turns: &[Turn], definitions: &mut Vec<Event>, events: &mut Vec<Event>) {
    let lock = LockId(number);
    let mut seq = 0;
    let mut next = || {
        seq += 1;
        Seq(seq)
    };
    let mut exit = 0u64;
    for (place, turn) in turns.iter().enumerate() {
        let thread = ThreadId(number * 100 + place as u64);
        let name: Arc<str> = format!("worker-{number}-{place}").into();
        definitions.push(Event::Thread(ThreadDef { id: thread, name, ..ThreadDef::default() }));
        let mut now = exit;
        if place > 0 {
            let came = exit.saturating_sub(turn.came_before);
            now = exit + turn.handoff;
            // Numbers are handed out in the order of what happens to the lock.
            let (came_seq, exit_seq, entered_seq) = (next(), next(), next());
            let owner = ThreadId(number * 100 + place as u64 - 1);
            events.push(Event::MonitorEnter(MonitorEnter {
                time: at(came),
                thread,
                lock,
                seq: came_seq,
                owner,
                ..MonitorEnter::default()
            }));
            events.push(Event::MonitorExit(MonitorExit {
                time: at(exit),
                thread: owner,
                lock,
                seq: exit_seq,
                ..MonitorExit::default()
            }));
            events.push(Event::MonitorEntered(MonitorEntered {
                time: at(now),
                start: at(came),
                thread,
                lock,
                seq: entered_seq,
                ..MonitorEntered::default()
            }));
        } else {
            events.push(Event::ThreadStart(ThreadPoint { time: at(exit), thread }));
        }
        exit = now + turn.held;
        if let Some(waited) = turn.waits {
            wait(thread, exit, waited, definitions, events);
        }
    }
}

/// The thread waits on its own object.
fn wait(thread: ThreadId, from: u64, ns: u64, definitions: &mut Vec<Event>, events: &mut Vec<Event>) {
    let lock = LockId(10_000 + thread.0);
    let class = "com.acme.Signal".into();
    definitions.push(Event::Lock(LockDef { id: lock, class, ..LockDef::default() }));
    let (start, time) = (at(from), at(from + ns));
    events.push(Event::MonitorWait(MonitorWait { time: start, thread, lock, seq: Seq(1), ..MonitorWait::default() }));
    let waited = MonitorWaited { time, start, thread, lock, seq: Seq(2), ..MonitorWaited::default() };
    events.push(Event::MonitorWaited(waited));
}

fn roll(events: &[Event]) -> (Report, Rolled) {
    let mut analysis = Analysis::new(Options::default());
    let mut rollup = Rollup::new();
    for event in events {
        analysis.feed(event);
        rollup.feed(event);
    }
    (analysis.finish(), rollup.finish(&Source::default()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn any_recording_adds_up(story in story()) {
        let (report, rolled) = roll(&events(&story));
        check(&report, &rolled);
        let operations: u64 = rolled.load.iter().map(|row| row.operations).sum();
        prop_assert_eq!(operations, 2 * story.operations);
    }
}

/// ```text
/// minute   |0        |1        |2
/// T0       hold......................x
/// T1            .blocked (owner T0)...free..hold
/// ```
#[test]
fn a_contention_across_minutes_is_split() {
    let first = Turn { came_before: 0, handoff: 0, held: 100_000_000_000, waits: None };
    let second = Turn { came_before: 95_000_000_000, handoff: 1_000_000_000, held: 1_000_000_000, waits: None };
    let story = Story { locks: vec![vec![first, second]], pauses: vec![], sums: vec![], dropped: 0, operations: 0 };
    let (report, rolled) = roll(&events(&story));
    check(&report, &rolled);
    let first = Minute::of(at(0)).0;
    let rows: Vec<_> = rolled
        .locks
        .iter()
        .map(|row| (row.minute.0 - first, row.blocked_ns, row.handoff_ns, row.contentions, row.max_ns))
        .collect();
    // The recording begins 10 s before a minute's end, the contention 5 s later.
    let second = 1_000_000_000;
    assert_eq!(rows, [(0, 5 * second, 0, 1, 96 * second), (1, 60 * second, 0, 0, 0), (2, 31 * second, second, 0, 0)]);
}
