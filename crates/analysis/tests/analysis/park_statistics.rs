//! Park statistics: against a slow and simple count, and on the two patterns
//! of the thesis that defined them.

use crate::arrival::{shuffled, Dice};
use crate::queued::{definitions, play, Naming, Play};
use crate::story::{lock, recording, thread};
use headway_analysis::park::statistics::{
    BlockerStatistics, ParkStatisticsReport, ParkSummary, ParkTally, TallyOptions,
};
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::collections::{BTreeMap, VecDeque};

const MS: u64 = 1_000_000;

fn summary(events: &[Event], options: TallyOptions) -> ParkStatisticsReport {
    let mut summary = ParkSummary::new(options);
    for event in events {
        summary.feed(event);
    }
    summary.finish()
}

/// Counts by looking at every moment at which something happens.
fn oracle(events: &[Event], blocker: LockId, end: u64) -> (u64, u32, u32, u64, u64) {
    let mut steps: Vec<(u64, u64, i64)> = Vec::new();
    for event in events {
        match event {
            Event::ParkBegin(e) if e.blocker == blocker => steps.push((e.time.0, e.seq.0, 1)),
            Event::Park(e) if e.blocker == blocker => steps.push((e.time.0, e.seq.0, -1)),
            _ => {}
        }
    }
    steps.sort_unstable();
    let parks = steps.iter().filter(|step| step.2 > 0).count() as u64;
    let (mut now, mut peak, mut thread_time, mut real_time) = (0i64, 0i64, 0u64, 0u64);
    for (index, (time, _, step)) in steps.iter().enumerate() {
        now += step;
        peak = peak.max(now);
        let length = steps.get(index + 1).map_or(end, |next| next.0) - time;
        thread_time += now as u64 * length;
        real_time += if now > 0 { length } else { 0 };
    }
    (parks, now as u32, peak as u32, thread_time, real_time)
}

#[test]
fn the_tally_equals_a_simple_count_in_any_order_of_arrival() {
    let mut compared = 0;
    for seed in 0..20 {
        let setup = Play {
            threads: 2 + seed as usize % 13,
            locks: 1 + seed as usize % 3,
            parks: 300,
            hold_ns: 500_000,
            think_ns: 100_000,
            wake_ns: 20_000,
            read_percent: 20,
            await_percent: 10,
            no_begin: false,
            seed,
        };
        let played = play(setup);
        let arrival = match seed % 2 {
            0 => played.events.clone(),
            _ => shuffled(&played.events, &mut Dice::new(seed)),
        };
        let mut all = definitions(&setup);
        all.extend(arrival);
        let report = summary(&all, TallyOptions::offline());
        for id in blockers(&setup) {
            let expected = oracle(&played.events, id, played.end.0);
            let named = |blocker: &&BlockerStatistics| {
                (blocker.class.clone(), blocker.hash.clone()) == class_and_hash(&all, id)
            };
            let found = report.blockers.iter().find(named).map_or((0, 0, 0, 0, 0), |blocker| {
                let times = (blocker.thread_time_ns, blocker.real_time_ns.unwrap_or(0));
                (blocker.times_parked, blocker.parked_now, blocker.peak_parked, times.0, times.1)
            });
            assert_eq!(found, expected, "play {seed}, {id:?}");
            compared += expected.0;
        }
    }
    assert!(compared > 3_000, "{compared} parks");
}

#[test]
fn parks_that_are_counted_before_they_are_in_order_are_told() {
    let setup = Play {
        threads: 4,
        locks: 1,
        parks: 300,
        hold_ns: 500_000,
        think_ns: 100_000,
        wake_ns: 20_000,
        read_percent: 0,
        await_percent: 0,
        no_begin: false,
        seed: 1,
    };
    let mut all = definitions(&setup);
    all.extend(shuffled(&play(setup).events, &mut Dice::new(1)));
    let enough = summary(&all, TallyOptions::offline());
    let told = "Too many parks lay out of order";
    assert!(enough.out_of_order == 0 && !enough.table(None).contains(told));
    let too_few = summary(&all, TallyOptions { pending: 8, ..TallyOptions::offline() });
    assert!(too_few.out_of_order > 0 && too_few.table(None).contains(told), "{too_few:?}");
    let parks = |report: &ParkStatisticsReport| report.blockers.iter().map(|b| b.times_parked).sum::<u64>();
    assert_eq!(parks(&too_few), parks(&enough));
}

/// The locks, which differ in their hash codes; conditions do not.
fn blockers(setup: &Play) -> Vec<LockId> {
    (0..setup.locks).map(crate::queued::lock_id).collect()
}

fn class_and_hash(events: &[Event], id: LockId) -> (String, String) {
    let def = events.iter().find_map(|event| match event {
        Event::Lock(def) if def.id == id => Some(def),
        _ => None,
    });
    let def = def.expect("a definition");
    (def.class.to_string(), format!("{:x}", def.identity_hash))
}

/// Threads that run through locks in fixed orders, first come first served.
/// `hold` says which lock and for how long in its `step`th round.
fn in_turn(threads: usize, rounds: usize, wake: u64, hold: impl Fn(usize, usize) -> (usize, u64)) -> Vec<Event> {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Step {
        Leave(usize),
        Want(usize),
        Run(usize),
    }
    let mut steps: BTreeMap<(u64, usize), Step> = BTreeMap::new();
    let mut serial = 0;
    let mut schedule = |steps: &mut BTreeMap<_, _>, at: u64, step: Step| {
        serial += 1;
        steps.insert((at, serial), step);
    };
    for thread in 0..threads {
        schedule(&mut steps, MS + thread as u64 * 1_000, Step::Want(thread));
    }
    let mut queues: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    let mut owners: BTreeMap<usize, usize> = BTreeMap::new();
    let mut turns = vec![0usize; threads];
    let mut parked = vec![(0u64, 0u64); threads];
    let (mut events, mut seq, mut done) = (Vec::new(), 0, 0);
    while let Some(((now, _), step)) = steps.pop_first() {
        match step {
            Step::Want(thread) => {
                let (lock, length) = hold(thread, turns[thread]);
                let queue = queues.entry(lock).or_default();
                if queue.is_empty() && !owners.contains_key(&lock) {
                    owners.insert(lock, thread);
                    schedule(&mut steps, now + length, Step::Leave(thread));
                } else {
                    queue.push_back(thread);
                    seq += 1;
                    parked[thread] = (now, seq);
                    events.push(Event::ParkBegin(ParkBegin {
                        time: TimeNs(now),
                        thread: ThreadId(thread as u64 + 1),
                        seq: Seq(seq),
                        chain: ChainId(1),
                        blocker: LockId(lock as u64 + 1),
                        ..ParkBegin::default()
                    }));
                }
            }
            Step::Leave(thread) => {
                let (lock, _) = hold(thread, turns[thread]);
                turns[thread] += 1;
                owners.remove(&lock);
                if let Some(next) = queues.entry(lock).or_default().pop_front() {
                    owners.insert(lock, next);
                    schedule(&mut steps, now + wake, Step::Run(next));
                }
                schedule(&mut steps, now, Step::Want(thread));
                done += 1;
                if done == rounds {
                    break;
                }
            }
            Step::Run(thread) => {
                let (lock, length) = hold(thread, turns[thread]);
                seq += 1;
                let (since, begin) = parked[thread];
                events.push(Event::Park(Park {
                    time: TimeNs(now),
                    start: TimeNs(since),
                    thread: ThreadId(thread as u64 + 1),
                    start_seq: Seq(begin),
                    seq: Seq(seq),
                    chain: ChainId(1),
                    blocker: LockId(lock as u64 + 1),
                    outcome: ParkOutcome::Unparked,
                    ..Park::default()
                }));
                schedule(&mut steps, now + length, Step::Leave(thread));
            }
        }
    }
    events
}

fn named(events: Vec<Event>, threads: usize, locks: usize) -> Vec<Event> {
    let mut all = vec![recording(TimeNs(MS))];
    for index in 0..threads {
        all.push(thread(index as u64 + 1, &format!("worker-{index}")));
    }
    for index in 0..locks {
        all.push(lock(
            index as u64 + 1,
            "java.util.concurrent.locks.ReentrantLock$NonfairSync",
            0xa0 + index as u32,
            "",
        ));
    }
    let mut naming = Naming::new();
    naming.chain(1, "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park com.acme.Worker.run", 7);
    all.extend(naming.events);
    all.extend(events);
    all
}

fn by_hash<'a>(report: &'a ParkStatisticsReport, hash: &str) -> Option<&'a BlockerStatistics> {
    report.blockers.iter().find(|blocker| blocker.hash == hash)
}

/// Sixty-four threads take three locks in turn and hold them 4, 16 and 64 ms.
#[test]
fn three_locks_in_turn_point_at_the_one_that_is_held_longest() {
    let holds = [4 * MS, 16 * MS, 64 * MS];
    let events = in_turn(64, 3_000, 50_000, |_, turn| (turn % 3, holds[turn % 3]));
    let report = summary(&named(events, 64, 3), TallyOptions::offline());
    let worst = &report.blockers[0];
    assert_eq!(worst.hash, "a2");
    assert_eq!(worst.class, "java.util.concurrent.locks.ReentrantLock$NonfairSync");
    assert!(worst.thread.starts_with("worker-"));
    assert_eq!(worst.stack[2], "com.acme.Worker.run:7");
    assert!(worst.peak_parked >= 62, "peak {}", worst.peak_parked);
    assert!(worst.thread_util > 55.0, "thread-time utilisation {}", worst.thread_util);
    assert!(worst.real_util.is_some_and(|part| part > 0.9 && part <= 1.0), "{worst:?}");
    for (index, hold) in holds.iter().enumerate() {
        let blocker = by_hash(&report, &format!("a{index}")).expect("parked on");
        let off = blocker.avg_hold_ns.unwrap_or(0) as f64 / *hold as f64 - 1.0;
        assert!(off.abs() < 0.07, "lock {index}: average hold {:?} ns", blocker.avg_hold_ns);
    }
}

/// Two locks held 32 ms each, one taken three times as often as the other.
#[test]
fn of_two_locks_the_one_taken_more_often_is_the_bottleneck() {
    let events = in_turn(64, 2_000, 50_000, |thread, turn| (usize::from((thread + turn) % 4 == 3), 32 * MS));
    let report = summary(&named(events, 64, 2), TallyOptions::offline());
    let (often, seldom) = (by_hash(&report, "a0").expect("often"), by_hash(&report, "a1").expect("seldom"));
    for blocker in [often, seldom] {
        let off = blocker.avg_hold_ns.unwrap_or(0) as f64 / (32 * MS) as f64 - 1.0;
        assert!(off.abs() < 0.07, "average hold {:?} ns", blocker.avg_hold_ns);
    }
    assert!(often.times_parked > 2 * seldom.times_parked);
    assert!(often.thread_util > 3.0 * seldom.thread_util);
    assert!(often.avg_park_ns > 3 * seldom.avg_park_ns);
}

fn park(thread: u64, blocker: u64, from: u64, to: u64, seq: u64) -> [Event; 2] {
    let begin = ParkBegin {
        time: TimeNs(from),
        thread: ThreadId(thread),
        seq: Seq(seq),
        chain: ChainId(thread),
        blocker: LockId(blocker),
        ..ParkBegin::default()
    };
    let end = Park {
        time: TimeNs(to),
        start: TimeNs(from),
        thread: ThreadId(thread),
        start_seq: Seq(seq),
        seq: Seq(seq + 1),
        blocker: LockId(blocker),
        ..Park::default()
    };
    [Event::ParkBegin(begin), Event::Park(end)]
}

#[test]
fn every_column_of_a_small_example() {
    // Thread 1 parks 10-40, thread 2 20-50, thread 3 from 60 on, until 100.
    let mut tally = ParkTally::new(TallyOptions::offline());
    for event in park(1, 7, 10, 40, 1).iter().chain(&park(2, 7, 20, 50, 3)).chain(&park(3, 7, 60, 900, 5)[..1]) {
        tally.feed(event);
    }
    tally.settle(TimeNs(100));
    let mut names = headway_model::Dictionary::default();
    names.feed(&lock(7, "com.acme.Gate$Sync", 0xbe, "Gate.sync"));
    let report = ParkStatisticsReport::new(&tally, TimeNs(0), TimeNs(100), &names);
    let blocker = &report.blockers[0];
    assert_eq!(
        (blocker.class.as_str(), blocker.hash.as_str(), blocker.name.as_str()),
        ("com.acme.Gate$Sync", "be", "Gate.sync")
    );
    assert_eq!((blocker.times_parked, blocker.parked_now, blocker.peak_parked), (3, 1, 2));
    // 30 + 30 + 40, and 10-50 with 60-100.
    assert_eq!((blocker.thread_time_ns, blocker.real_time_ns), (100, Some(80)));
    assert_eq!((blocker.avg_park_ns, blocker.avg_hold_ns), (33, Some(40)));
    assert_eq!((blocker.real_util, blocker.thread_util), (Some(0.8), 1.0));
    assert_eq!((blocker.real_life_util, blocker.thread_life_util), (Some(80.0 / 90.0), 100.0 / 90.0));
    let json = serde_json::to_value(blocker).expect("JSON");
    for key in [
        "thread",
        "stack",
        "idle",
        "class",
        "hash",
        "times_parked",
        "parked_now",
        "peak_parked",
        "thread_time_ns",
        "real_time_ns",
        "avg_park_ns",
        "avg_hold_ns",
        "real_util",
        "thread_util",
        "real_life_util",
        "thread_life_util",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    let table = report.table(None);
    assert!(table.contains("Gate.sync (com.acme.Gate$Sync@be)"), "{table}");
    assert!(table.contains("100 %"), "{table}");
}

#[test]
fn workers_that_wait_for_work_in_their_pool_are_idle() {
    let report = |frames: &str| {
        let mut naming = Naming::new();
        naming.chain(1, frames, 7);
        let mut all = vec![recording(TimeNs(0)), thread(1, "pool-1-thread-1"), lock(7, "Queue", 0xbe, "")];
        all.extend(naming.events);
        all.extend(park(1, 7, 10, 40, 1));
        summary(&all, TallyOptions::offline())
    };
    let idle =
        report("jdk.internal.misc.Unsafe.park java.util.concurrent.ThreadPoolExecutor.getTask java.lang.Thread.run");
    assert!(idle.blockers[0].idle);
    assert!(
        idle.table(None).contains("    pool-1-thread-1, idle (waiting for work or the end of threads)\n"),
        "{}",
        idle.table(None)
    );
    let busy =
        report("jdk.internal.misc.Unsafe.park com.acme.Worker.take java.util.concurrent.ThreadPoolExecutor.runWorker");
    assert!(!busy.blockers[0].idle);
    assert!(!busy.table(None).contains("idle"), "{}", busy.table(None));
}

#[test]
fn thresholds_leave_out_what_parks_seldom() {
    let mut events = Vec::new();
    for round in 0..5 {
        events.extend(park(1, 7, 100 * round + 10, 100 * round + 60, 10 * round + 1));
    }
    events.extend(park(2, 8, 20, 30, 7));
    let with = |collection_threshold, printing_threshold| {
        let options = TallyOptions { collection_threshold, printing_threshold, ..TallyOptions::offline() };
        summary(&events, options)
    };
    let collected = with(3, 0);
    assert_eq!((collected.blockers.len(), collected.not_shown), (1, 1));
    let blocker = &collected.blockers[0];
    // Counted from the first park, timed from the third.
    assert_eq!((blocker.times_parked, blocker.thread_time_ns), (5, 150));
    let printed = with(0, 2);
    assert_eq!((printed.blockers.len(), printed.not_shown), (1, 1));
    assert_eq!(printed.blockers[0].thread_time_ns, 250);
    assert_eq!(with(0, 6).blockers.len(), 0);
}

#[test]
fn collected_blockers_are_freed_once_they_were_printed() {
    let mut tally = ParkTally::new(TallyOptions { free_on_print: true, ..TallyOptions::offline() });
    for event in park(1, 7, 10, 20, 1).iter().chain(&park(2, 8, 10, 20, 3)) {
        tally.feed(event);
    }
    tally.settle(TimeNs(30));
    tally.collected(LockId(7), TimeNs(25));
    assert_eq!(tally.shown(TimeNs(30)).len(), 2);
    assert_eq!(tally.printed(), 1);
    let left: Vec<LockId> = tally.shown(TimeNs(30)).iter().map(|parks| parks.blocker).collect();
    assert_eq!(left, [LockId(8)]);
}

#[test]
fn a_million_short_lived_blockers_stay_within_the_bound() {
    let mut tally = ParkTally::new(TallyOptions::online());
    // A blocker that is used all the time is kept among them.
    let busy = 5_000_000;
    let mut seq = 1;
    for blocker in 1..=1_000_000u64 {
        let at = blocker * 100;
        for event in park(1, blocker, at, at + 10, seq) {
            tally.feed(&event);
        }
        seq += 2;
        if blocker % 100 == 0 {
            for event in park(2, busy, at, at + 40, seq) {
                tally.feed(&event);
            }
            seq += 2;
            tally.feed(&Event::Watermark(TimeNs(at + 50)));
        }
    }
    assert!(tally.len() <= TallyOptions::online().blockers, "{} kept", tally.len());
    let shown = tally.shown(TimeNs(200_000_000));
    assert_eq!((shown[0].blocker, shown[0].times_parked), (LockId(busy), 10_000));
    let kept: u64 = shown.iter().map(|parks| parks.times_parked).sum();
    assert_eq!(kept + tally.folded().times_parked, 1_010_000, "no park is lost");
    let time: u64 = shown.iter().map(|parks| parks.thread_time.0).sum();
    assert_eq!(time + tally.folded().thread_time_ns, 1_000_000 * 10 + 10_000 * 40);
}

/// A park of a thread, and a sum of parks of the same or another one.
fn with_sum(of: u64) -> BlockerStatistics {
    let mut events = vec![recording(TimeNs(5))];
    events.extend(park(1, 7, 10, 60, 1));
    let (blocker, chain) = (LockId(7), ChainId::NONE);
    let total = DurationNs(100);
    events.push(Event::ShortParks(ShortParks {
        time: TimeNs(190),
        thread: ThreadId(of),
        blocker,
        chain,
        count: 3,
        total,
    }));
    events.push(Event::Watermark(TimeNs(200)));
    summary(&events, TallyOptions::offline()).blockers.swap_remove(0)
}

#[test]
fn parks_of_one_thread_have_a_real_time_though_some_are_only_a_sum() {
    let alone = with_sum(1);
    assert_eq!((alone.times_parked, alone.thread_time_ns, alone.real_time_ns), (4, 150, Some(150)));
    assert_eq!((alone.avg_park_ns, alone.avg_hold_ns), (37, Some(37)));
    assert_eq!((alone.real_life_util, alone.thread_life_util), (Some(150.0 / 180.0), 150.0 / 180.0));
}

#[test]
fn whether_sums_of_several_threads_overlap_is_not_known() {
    let several = with_sum(2);
    assert_eq!((several.times_parked, several.thread_time_ns), (4, 150));
    assert_eq!((several.real_time_ns, several.avg_hold_ns), (None, None));
    assert_eq!((several.real_util, several.real_life_util), (None, None));
    assert!(several.labelled().contains(&"real time -".to_owned()), "{:?}", several.labelled());
}

#[test]
fn foreign_parks_are_counted_by_their_ends() {
    let mut events = vec![recording(TimeNs(5))];
    for (thread, from, to) in [(1, 10, 60), (2, 20, 50), (3, 70, 80)] {
        let [_, end] = park(thread, 7, from, to, 1);
        if let Event::Park(end) = end {
            events.push(Event::Park(Park { seq: Seq::NONE, start_seq: Seq::NONE, ..end }));
            events.push(Event::Watermark(TimeNs(to)));
        }
    }
    let report = summary(&events, TallyOptions::offline());
    let blocker = &report.blockers[0];
    assert_eq!((blocker.times_parked, blocker.peak_parked, blocker.parked_now), (3, 2, 0));
    assert_eq!((blocker.thread_time_ns, blocker.real_time_ns), (90, Some(60)));
}

#[test]
fn recorded_statistics_serve_where_no_park_was_recorded() {
    let mut tally = ParkTally::new(TallyOptions::offline());
    for event in park(1, 7, 10, 20, 1).iter().chain(&park(2, 7, 15, 30, 3)) {
        tally.feed(event);
    }
    tally.settle(TimeNs(40));
    let shown = tally.shown(TimeNs(40));
    let events: Vec<Event> = shown.iter().map(|parks| Event::ParkStatistics(parks.event(TimeNs(40)))).collect();
    let report = summary(&events, TallyOptions::offline());
    let blocker = &report.blockers[0];
    assert_eq!((blocker.times_parked, blocker.thread_time_ns, blocker.real_time_ns), (2, 25, Some(20)));
}
