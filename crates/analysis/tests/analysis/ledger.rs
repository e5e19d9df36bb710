//! The ledger: whatever is recorded, its entries add up to the threads' lifetime.

use crate::arrival::Dice;
use crate::simulation::{play, Play, Played};
use crate::story;
use headway_analysis::ledger::{EntryKind, Ledger, Quality};
use headway_analysis::pressure::PressureOptions;
use headway_analysis::{Analysis, Bound, Options, Report, ThreadFilter};
use headway_model::event::*;
use headway_model::{DurationNs, Event, LockId, ThreadId, TimeNs};

const MS: u64 = 1_000_000;

fn plays() -> impl Iterator<Item = Played> {
    (0..30).map(|seed| {
        let mut dice = Dice::new(seed);
        play(Play {
            threads: 2 + dice.below(12) as usize,
            locks: 1 + dice.below(3) as usize,
            acquisitions: 200,
            hold_ns: 20_000 + dice.below(2_000_000),
            think_ns: 10_000 + dice.below(1_000_000),
            wake_ns: 5_000 + dice.below(60_000),
            missed_percent: [0, 5][dice.below(2) as usize],
            wait_percent: [0, 10, 30][dice.below(3) as usize],
            seed,
        })
    })
}

/// Seconds of measured thread times, pauses, service threads and virtual ones over a play.
fn measured(played: &Played, dice: &mut Dice) -> Vec<Event> {
    let settings = vec![("events".to_owned(), "monitor,steal".to_owned())];
    let start = TimeNs(1_000_000);
    let info = RecordingInfo { start, settings, producer: "headway test".to_owned(), ..RecordingInfo::default() };
    let mut events = story::definitions();
    events.push(Event::Recording(std::sync::Arc::new(info)));
    let role = |id: u64, is_service: bool, is_virtual: bool| {
        let name = format!("thread-{id}").into();
        Event::Thread(ThreadDef { id: ThreadId(id), name, is_service, is_virtual, ..ThreadDef::default() })
    };
    if dice.below(2) == 0 {
        events.extend([role(1, true, false), role(2, false, true)]);
    }
    events.extend(played.events.iter().cloned());
    let interval = DurationNs(20 * MS);
    let mut at = start;
    while at < played.end {
        if dice.below(3) == 0 {
            let duration = DurationNs(dice.below(4 * MS));
            events.push(Event::StopTheWorld(StopTheWorld { start: at + DurationNs(dice.below(9 * MS)), duration }));
        }
        for thread in 1..=6 {
            let (thread, cpu) = (ThreadId(thread), DurationNs(dice.below(15 * MS)));
            let run_queue = Some(DurationNs(dice.below(9 * MS)));
            events.push(Event::ThreadTime(ThreadTime { start: at, duration: interval, thread, cpu, run_queue }));
        }
        let (busy, stolen) = (DurationNs(30 * MS), DurationNs(dice.below(MS)));
        events.push(Event::MachineTime(MachineTime {
            start: at,
            duration: interval,
            busy,
            stolen,
            ..Default::default()
        }));
        at = at + interval;
    }
    events
}

fn analyse(events: &[Event], end: TimeNs, options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    events.iter().for_each(|event| analysis.feed(event));
    analysis.feed(&Event::Watermark(end));
    analysis.finish()
}

fn check(ledger: &Ledger, what: &str) {
    assert_eq!(ledger.unbalanced_ns, 0, "{what}: {ledger:?}");
    let sum: u64 = ledger.entries.iter().map(|entry| entry.total_ns).sum();
    assert_eq!(sum, ledger.total_ns, "{what}");
    let shares: f64 = ledger.entries.iter().map(|entry| entry.share).sum();
    assert!(ledger.total_ns == 0 || (shares - 1.0).abs() < 1e-6, "{what}: {shares}");
}

#[test]
fn entries_add_up_to_the_threads_lifetime_on_every_recording() {
    for (number, played) in plays().enumerate() {
        let mut dice = Dice::new(number as u64);
        let end = played.end;
        let events = measured(&played, &mut dice);
        let plain: Vec<Event> = story::definitions().into_iter().chain(played.events.iter().cloned()).collect();
        let length = DurationNs(end.0 - 1_000_000);
        let part = |n: u64| Some(Bound::SinceStart(DurationNs(length.0 * n / 4)));
        let ranges = [(None, None), (part(1), part(3)), (None, part(2))];
        for (from, to) in ranges {
            for threads in [None, Some(ThreadFilter::new("some", |name| name.ends_with('3') || name.ends_with('1')))] {
                let options = || Options { from, to, threads: threads.clone(), ..Options::default() };
                let what = format!("play {number}, {from:?} to {to:?}, filtered: {}", threads.is_some());
                check(&analyse(&plain, end, options()).ledger, &what);
                let report = analyse(&events, end, options());
                check(&report.ledger, &what);
                assert_eq!(report.ledger.threads, report.threads, "{what}");
            }
        }
    }
}

#[test]
fn of_platform_threads_the_whole_life_is_in_it_and_what_was_not_measured_is_unknown() {
    for played in plays() {
        let events: Vec<Event> = story::definitions().into_iter().chain(played.events.iter().cloned()).collect();
        let report = analyse(&events, played.end, Options::default());
        let ledger = &report.ledger;
        assert_eq!(ledger.excess_ns, 0);
        assert_eq!(ledger.total_ns, report.threads * report.duration_ns);
        let locks: u64 = EntryKind::ALL.into_iter().filter(|kind| kind.is_lock()).map(|kind| ledger.ns(kind)).sum();
        assert_eq!(locks, report.blocked_ns);
        assert_eq!(ledger.ns(EntryKind::LockHandOff), report.blocked.hand_off_ns);
        for kind in [EntryKind::Cpu, EntryKind::OffCpu, EntryKind::LockOwnerRan, EntryKind::LockOwnerOffCpu] {
            assert_eq!(ledger.ns(kind), 0, "{kind:?} was not measured");
        }
        let waited: u64 = report.waits.iter().map(|site| site.total_ns).sum();
        assert_eq!(ledger.ns(EntryKind::Unknown), ledger.total_ns - locks - waited);
    }
}

#[test]
fn a_virtual_thread_of_which_nothing_was_recorded_counts_as_in_the_report() {
    let silent = ThreadDef { id: ThreadId(2), name: "posting-1".into(), is_virtual: true, ..ThreadDef::default() };
    let events = [
        story::recording(crate::picture::at(0)),
        story::thread(1, "main"),
        Event::Thread(silent),
        Event::Watermark(crate::picture::at(1_000)),
    ];
    let report = analyse(&events, crate::picture::at(1_000), Options::default());
    assert_eq!((report.threads, report.ledger.threads), (2, 2));
}

#[test]
fn a_thread_is_paused_only_where_it_is_neither_blocked_nor_waiting() {
    let picture = crate::picture::draw(
        "
        T1: [a..................]
        T2:   a~~~~~~~~~~~~~~~~~~[a]
        VM:     #############
        ",
    );
    let mut events = vec![story::recording(crate::picture::at(0))];
    events.extend(["one", "two"].iter().zip(1..).map(|(name, id)| story::thread(id, name)));
    events.extend(picture.events.iter().cloned());
    let ledger = analyse(&events, picture.end, Options::default()).ledger;
    check(&ledger, "a pause");
    assert_eq!((ledger.ns(EntryKind::Pause), ledger.ns(EntryKind::LockPause)), (13 * MS, 13 * MS));
    assert_eq!(ledger.ns(EntryKind::LockHandOff), MS);
}

/// Time in contentions that a minimum leaves out is neither sleep nor unknown: threads were blocked.
#[test]
fn short_contentions_that_are_left_out_stay_blocked_time() {
    let locks =
        |ledger: &Ledger| EntryKind::ALL.into_iter().filter(|kind| kind.is_lock()).map(|kind| ledger.ns(kind)).sum();
    for (number, played) in plays().enumerate() {
        let mut dice = Dice::new(number as u64);
        let events = measured(&played, &mut dice);
        let quarter = DurationNs((played.end.0 - 1_000_000) / 4);
        let minimum = DurationNs(dice.below(3 * MS));
        for threads in [None, Some(ThreadFilter::new("some", |name| name.ends_with('3')))] {
            let all = Options { from: Some(Bound::SinceStart(quarter)), threads, ..Options::default() };
            let long = Options { min_duration: minimum, ..all.clone() };
            let (all, long) = (analyse(&events, played.end, all), analyse(&events, played.end, long));
            check(&long.ledger, &format!("play {number}, at least {minimum}"));
            assert_eq!(long.blocked_ns + long.blocked.below_minimum_ns, all.blocked_ns, "play {number}");
            assert_eq!(long.contentions + long.blocked.below_minimum, all.contentions, "play {number}");
            let blocked: [u64; 2] = [locks(&all.ledger), locks(&long.ledger)];
            assert_eq!(blocked[0], blocked[1], "play {number}, at least {minimum}");
            for kind in [EntryKind::OffCpu, EntryKind::Unknown, EntryKind::Cpu, EntryKind::Pause] {
                assert_eq!(all.ledger.ns(kind), long.ledger.ns(kind), "play {number}, at least {minimum}: {kind:?}");
            }
        }
    }
}

#[test]
fn a_report_of_long_contentions_says_how_many_short_ones_it_leaves_out() {
    let picture = crate::picture::draw(
        "
        T1: [a..................]
        T2:   a~~~~~~~~~~~~~~~~~~[a]
        ",
    );
    let mut events = vec![story::recording(crate::picture::at(0))];
    events.extend(["one", "two"].iter().zip(1..).map(|(name, id)| story::thread(id, name)));
    events.extend(picture.events.iter().cloned());
    let report = |minimum| {
        analyse(&events, picture.end, Options { min_duration: DurationNs(minimum * MS), ..Options::default() })
    };
    assert_eq!(report(10).blocked.left_out(), None);
    let report = report(1_000);
    let said =
        "Left out (--min-duration): 1 contention shorter than 1.00 s, in which threads were blocked for 19.0 ms.";
    assert_eq!(report.blocked.left_out().as_deref(), Some(said));
    let texts: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(texts, ["No contention lasted 1.00 s or longer."]);
    assert!(report.verdict.contains("in contentions that are left out"), "{}", report.verdict);
}

/// Two threads that live for a second, without a lock or a wait, and how much CPU time was measured.
fn idle_of_locks(cpu_percent: Option<u64>) -> Report {
    let (start, second) = (TimeNs(MS), 1_000 * MS);
    let mut events = vec![story::recording(start)];
    for (id, name) in [(1, "one"), (2, "two")] {
        events.push(story::thread(id, name));
        events.extend(cpu_percent.map(|percent| {
            Event::ThreadTime(ThreadTime {
                start,
                duration: DurationNs(second),
                thread: ThreadId(id),
                cpu: DurationNs(second / 100 * percent),
                run_queue: Some(DurationNs(0)),
            })
        }));
    }
    analyse(&events, start + DurationNs(second), Options::default())
}

#[test]
fn without_a_bottleneck_the_verdict_says_where_the_time_went_or_that_it_is_not_known() {
    let verdict = |cpu_percent| idle_of_locks(cpu_percent).verdict;
    assert_eq!(
        verdict(Some(90)),
        "No bottleneck in locks or waits. Threads executed code for 90 % of the active thread time. To see in which \
         methods, record with `-e lock,steal,cpu`."
    );
    assert_eq!(
        verdict(Some(10)),
        "No bottleneck in locks or waits. Threads spent 90 % of the active thread time in sleep, I/O, native code or the VM. To \
         see in which methods, record with `-e lock,steal,wall`."
    );
    assert_eq!(
        verdict(None),
        "For 100 % of the active thread time, it is not known what threads did. No lock or wait is known to cost 5.0 % of \
         it or more. To see more, record with `-e lock,steal` (the default)."
    );
}

#[test]
fn what_is_recorded_already_is_not_recommended_and_without_threads_nothing_is_unknown() {
    let mut recording = story::recording(TimeNs(MS));
    if let Event::Recording(recording) = &mut recording {
        std::sync::Arc::make_mut(recording).settings.push(("events".into(), "monitor,park,steal".into()));
    }
    let end = TimeNs(MS) + DurationNs(1_000 * MS);
    let verdict = |events: &[Event]| analyse(events, end, Options::default()).verdict;
    let alone = verdict(&[recording.clone(), story::thread(1, "one")]);
    assert!(alone.ends_with("No lock or wait is known to cost 5.0 % of it or more."), "{alone}");
    assert_eq!(verdict(&[recording]), "No bottleneck: no thread of the application was active.");
}

#[test]
fn the_verdict_does_not_name_one_of_several_equal_locks_alone() {
    let verdict = |picture: &str| {
        let picture = crate::picture::draw(picture);
        let mut events = vec![story::recording(crate::picture::at(0))];
        events.extend((1..=6).map(|id| story::thread(id, &format!("t-{id}"))));
        let locks = ['a', 'b', 'c'].map(|lock| (lock as u64, format!("Shop.{lock}")));
        events.extend(locks.iter().map(|(id, name)| story::lock(*id, "com.acme.Shop", *id as u32, name)));
        events.extend(picture.events.iter().cloned());
        analyse(&events, picture.end, Options::default()).verdict
    };
    let one = "
        T1: [a..................]
        T2:   a~~~~~~~~~~~~~~~~~~[a]
        ";
    let (two, three) = (
        "
        T3: [b..................]
        T4:    b~~~~~~~~~~~~~~~~~[b]
        ",
        "
        T5: [c..................]
        T6:    c~~~~~~~~~~~~~~~~~[c]
        ",
    );
    assert!(!verdict(one).contains("about as much"), "{}", verdict(one));
    let of_two = verdict(&format!("{one}{two}"));
    assert_eq!(
        of_two,
        "Thread `t-2` spent 13 % of the active thread time (19.0 ms of 144 ms) blocked on `Shop.a`. Thread `t-4` spent \
         about as much (12 %) blocked on `Shop.b`."
    );
    let of_one_thread = verdict(
        "
        T1: [a.........]
        T2:   a~~~~~~~~[a]   b~~~~~~~~[b]
        T3:                [b.........]
        ",
    );
    assert_eq!(
        of_one_thread,
        "Thread `t-2` spent 5.2 % of the active thread time (9.00 ms of 174 ms) blocked on `Shop.b`, and about as much \
         (5.2 %) blocked on `Shop.a`."
    );
    let of_three = verdict(&format!("{one}{two}{three}"));
    assert!(of_three.ends_with(" 2 other locks or waits cost about as much each: see the findings."), "{of_three}");
    let shorter = two.replace("   b~~~", "      b");
    let of_unequal = verdict(&format!("{one}{shorter}"));
    assert!(!of_unequal.contains("about as much"), "{of_unequal}");
}

/// A thread that lives for a second without measured CPU time, and what its samples stand for: so many percent on a
/// CPU, and so many of waiting.
fn sampled(events: &str, running: u64, waiting: u64) -> Report {
    let start = TimeNs(MS);
    let mut recording = story::recording(start);
    if let Event::Recording(recording) = &mut recording {
        std::sync::Arc::make_mut(recording).settings.push(("events".into(), events.into()));
    }
    let mut all = vec![recording, story::thread(1, "one")];
    let sample = |place: u64, state| {
        let time = start + DurationNs(place * 7 * MS);
        let weight = DurationNs(10 * MS);
        Event::Sample(Sample { time, thread: ThreadId(1), state, weight, ..Sample::default() })
    };
    all.extend((0..running).map(|place| sample(place, SampleState::Java)));
    all.extend((0..waiting).map(|place| sample(running + place, SampleState::Waiting)));
    analyse(&all, start + DurationNs(1_000 * MS), Options::default())
}

#[test]
fn samples_say_where_the_time_went_where_cpu_time_was_not_measured() {
    let report = sampled("monitor,park,cpu,wall", 60, 30);
    let ns = |kind| report.ledger.ns(kind) / MS;
    assert_eq!((ns(EntryKind::Cpu), ns(EntryKind::OffCpu), ns(EntryKind::Unknown)), (600, 300, 100));
    let estimated = report.ledger.entries.iter().filter(|entry| entry.quality == Quality::Estimated).count();
    assert_eq!((report.ledger.unbalanced_ns, estimated), (0, 2));
    assert!(report.verdict.contains("Threads executed code for 60 % of the active thread time."), "{}", report.verdict);
    // More than there is room for: the samples before a thread's end were taken late.
    let report = sampled("monitor,park,cpu,wall", 101, 30);
    assert_eq!((report.ledger.ns(EntryKind::Cpu), report.ledger.total_ns), (1_000 * MS, 1_000 * MS));
}

#[test]
fn of_locks_that_were_not_recorded_the_verdict_says_nothing() {
    let verdict = |events| {
        let verdict = sampled(events, 60, 0).verdict;
        let (_, said) = verdict.split_once("time. ").unwrap();
        said.to_owned()
    };
    assert_eq!(verdict("cpu"), "Locks and waits were not recorded. To see them, record with `-e lock,steal,cpu`.");
    assert_eq!(
        verdict("monitor,cpu"),
        "Parks, and so locks and waits of `java.util.concurrent`, were not recorded. To see them, record with \
         `-e lock,steal,cpu`."
    );
    assert_eq!(
        verdict("park,wall"),
        "Monitors (`synchronized` and `Object.wait`) were not recorded. To see them, record with `-e lock,steal`."
    );
    assert_eq!(
        sampled("cpu", 30, 0).verdict,
        "For 70 % of the active thread time, it is not known what threads did. Locks and waits were not recorded. To see \
         them, record with `-e lock,steal,cpu`."
    );
    assert!(sampled("pressure,cpu", 60, 0).verdict.starts_with("No bottleneck in locks or waits."));
    assert!(sampled("monitor,park,cpu", 30, 0)
        .verdict
        .ends_with("To see more, record with `-e lock,steal,cpu` (the default and CPU samples)."));
}

/// Sums of a second of two threads, which were blocked on a lock for so many milliseconds.
fn summed(blocked_ms: u64, threads: Option<ThreadFilter>) -> Report {
    summed_with(blocked_ms, threads, Vec::new())
}

fn summed_with(blocked_ms: u64, threads: Option<ThreadFilter>, others: Vec<Event>) -> Report {
    let start = TimeNs(MS);
    let mut recording = story::recording(start);
    if let Event::Recording(recording) = &mut recording {
        std::sync::Arc::make_mut(recording).settings.push(("events".into(), "pressure".into()));
    }
    let mut all = vec![recording, story::thread(1, "one"), story::thread(2, "two")];
    all.extend(others);
    all.push(story::lock(1, "java.lang.Object", 7, "Shop.lock"));
    for lock in [LockId::NONE, LockId(1)] {
        let (duration, acquiring) = (DurationNs(1_000 * MS), DurationNs(blocked_ms * MS));
        let running = DurationNs(2_000 * MS);
        all.push(Event::PressureWindow(PressureWindow { start, duration, lock, acquiring, running }));
    }
    let pressure = Some(PressureOptions::default());
    analyse(&all, start + DurationNs(1_000 * MS), Options { pressure, threads, ..Options::default() })
}

#[test]
fn sums_of_blocked_time_alone_are_not_taken_for_no_blocked_time() {
    let report = summed(600, None);
    let ns = |kind| report.ledger.ns(kind) / MS;
    assert_eq!((ns(EntryKind::LockUnknown), ns(EntryKind::Unknown), report.ledger.unbalanced_ns), (600, 1_400, 0));
    let said =
        "Threads spent 30 % of the active thread time (600 ms of 2.00 s) blocked on `Shop.lock`. The recording has \
                only sums (-e pressure). To see owners and waits, record with `-e lock,steal` (the default).";
    assert_eq!(report.verdict, said);
    assert!(report.findings[0].text.starts_with("Threads spent 600 ms (30 % of the active thread time) blocked on"));
    let first = |report: Report| report.findings.into_iter().next().unwrap().text;
    let little = first(summed(2, None));
    assert_eq!(little, "Nothing stands out: threads were blocked on locks for 0.1 % of the active thread time.");
    assert!(first(summed(0, None)).starts_with("No thread was blocked on a lock in 1.00 s"));
    let virtuals =
        Event::Thread(ThreadDef { id: ThreadId(3), name: "".into(), is_virtual: true, ..ThreadDef::default() });
    let with_virtual = summed_with(9_000, None, vec![virtuals]);
    assert_eq!(with_virtual.ledger.ns(EntryKind::LockUnknown), 0, "of nobody knows which threads");
    let said = "Threads spent 9.00 s blocked on `Shop.lock`. The recording has only sums (-e pressure).";
    assert!(with_virtual.verdict.starts_with(said), "{}", with_virtual.verdict);
    assert!(with_virtual.findings[0].text.starts_with(said), "{}", with_virtual.findings[0].text);
    let of_one = summed(600, Some(ThreadFilter::new("one", |name| name == "one")));
    assert_eq!(of_one.ledger.ns(EntryKind::LockUnknown), 0);
    assert!(first(of_one).starts_with("The recording has only sums of blocked time, and these are of all threads"));
}

#[test]
fn how_threads_of_the_vm_wait_says_nothing_of_the_program() {
    let off_cpu = |is_service| {
        let def = ThreadDef { id: ThreadId(1), name: "one".into(), is_service, ..ThreadDef::default() };
        let events = [
            story::recording(TimeNs(MS)),
            Event::Thread(def),
            story::method(1, "java.lang.ref.Reference$ReferenceHandler", "run"),
            story::chain(1, &[(1, 5)]),
            Event::Sample(Sample {
                time: TimeNs(2 * MS),
                thread: ThreadId(1),
                chain: headway_model::ChainId(1),
                state: SampleState::Waiting,
                weight: DurationNs(10 * MS),
                ..Sample::default()
            }),
        ];
        let samples = analyse(&events, TimeNs(20 * MS), Options::default()).samples.unwrap();
        assert_eq!((samples.waiting, samples.waiting_ns), (1, 10 * MS));
        samples.off_cpu.len()
    };
    assert_eq!((off_cpu(false), off_cpu(true)), (1, 0));
}
