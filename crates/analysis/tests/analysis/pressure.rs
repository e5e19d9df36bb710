//! Critical section pressure against an oracle that sweeps over time.

use crate::arrival::{shuffled, Dice};
use crate::simulation::{lock_id, play, Play};
use crate::story;
use headway_analysis::pressure::online::{Closed, OnlinePressure};
use headway_analysis::pressure::pressure_report::{LockPressure, PhaseReport, PressureReport};
use headway_analysis::pressure::PressureOptions;
use headway_analysis::{Analysis, Bound, Bounds, Options};
use headway_model::event::*;
use headway_model::{ChainId, Dictionary, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::collections::{BTreeMap, HashMap};

const MS: u64 = 1_000_000;

/// When the recordings of these tests begin.
const START: u64 = 77_000 * MS;

/// What a thread does, as the oracle sees it.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Absent,
    Runs,
    Acquires(LockId),
    Waits,
}

/// Acquiring time by lock, and running time, of one interval.
#[derive(Clone, Debug, Default, PartialEq)]
struct Truth {
    running: u64,
    acquiring: BTreeMap<u64, u64>,
}

/// Sweeps over the events in time order and adds up every elementary interval:
/// slow, and nothing like the analysis.
fn oracle(events: &[Event], threads: &[u64], from: u64, end: u64, interval: u64) -> Vec<Truth> {
    let started: Vec<ThreadId> = events
        .iter()
        .filter_map(|event| match event {
            Event::ThreadStart(e) => Some(e.thread),
            _ => None,
        })
        .collect();
    let initial = |id: &u64| match started.contains(&ThreadId(*id)) {
        true => State::Absent,
        false => State::Runs,
    };
    let mut states: HashMap<ThreadId, State> = threads.iter().map(|id| (ThreadId(*id), initial(id))).collect();
    let mut timed: Vec<(u64, &Event)> = events.iter().filter_map(|e| Some((e.time()?.0, e))).collect();
    timed.sort_by_key(|(time, _)| *time);
    let mut truth = vec![Truth::default(); ((end - from).div_ceil(interval)) as usize];
    let mut at = 0;
    for (time, event) in timed.into_iter().map(|(time, event)| (time, Some(event))).chain([(end, None)]) {
        account(&mut truth, &states, (at.max(from), time.min(end)), from, interval);
        at = time;
        match event {
            Some(Event::MonitorEnter(e)) => drop(states.insert(e.thread, State::Acquires(e.lock))),
            Some(Event::MonitorEntered(e)) => drop(states.insert(e.thread, State::Runs)),
            Some(Event::MonitorReentered(e)) => drop(states.insert(e.thread, State::Runs)),
            Some(Event::MonitorWait(e)) => drop(states.insert(e.thread, State::Waits)),
            Some(Event::MonitorNotify(e)) => drop(states.insert(e.waiter, State::Acquires(e.lock))),
            Some(Event::MonitorWaited(e)) if e.outcome == WaitOutcome::TimedOut => {
                states.insert(e.thread, State::Runs);
            }
            Some(Event::ThreadStart(e)) => drop(states.insert(e.thread, State::Runs)),
            Some(Event::ThreadEnd(e)) => drop(states.insert(e.thread, State::Absent)),
            _ => {}
        }
    }
    truth
}

fn account(truth: &mut [Truth], states: &HashMap<ThreadId, State>, span: (u64, u64), from: u64, interval: u64) {
    let (mut at, to) = span;
    while at < to {
        let number = (at - from) / interval;
        let next = (from + (number + 1) * interval).min(to);
        let cell = &mut truth[number as usize];
        for state in states.values() {
            match state {
                State::Runs => cell.running += next - at,
                State::Acquires(lock) => {
                    cell.running += next - at;
                    *cell.acquiring.entry(lock.0).or_default() += next - at;
                }
                State::Waits | State::Absent => {}
            }
        }
        at = next;
    }
}

/// A play with threads that come and go within intervals.
fn played(dice: &mut Dice, threads: usize, locks: usize) -> (Vec<Event>, Vec<u64>, u64) {
    let play = play(Play {
        threads,
        locks,
        acquisitions: 400,
        hold_ns: 2_000 + dice.below(40_000),
        think_ns: 1_000 + dice.below(80_000),
        wake_ns: dice.below(3_000),
        missed_percent: 3,
        wait_percent: dice.below(20),
        seed: dice.next_u64(),
    });
    let end = play.end.0 + 1_000;
    let mut events = play.events;
    let ids: Vec<u64> = (1..=threads as u64).collect();
    for id in &ids {
        let own = |event: &&Event| crate::writer::of(event) == Some(ThreadId(*id));
        let times: Vec<u64> = events.iter().filter(own).filter_map(|e| Some(e.time()?.0)).collect();
        let is_notified = |event: &Event| matches!(event, Event::MonitorNotify(e) if e.waiter == ThreadId(*id));
        let open = events.iter().rev().find(|e| own(e) || is_notified(e));
        let busy = matches!(
            open,
            Some(Event::MonitorEnter(_) | Event::MonitorWait(_) | Event::MonitorNotify(_) | Event::MonitorExit(_))
        );
        if dice.chance(50) {
            let first = times.first().copied().unwrap_or(end);
            let time = TimeNs(first - dice.below(first - 1_000_000 + 1));
            events.insert(0, Event::ThreadStart(ThreadPoint { time, thread: ThreadId(*id) }));
        }
        if dice.chance(50) && !busy {
            let last = times.last().copied().unwrap_or(1_000_000).max(1_000_000);
            let time = TimeNs(last + dice.below(end - last));
            events.push(Event::ThreadEnd(ThreadPoint { time, thread: ThreadId(*id) }));
        }
    }
    events.sort_by_key(|event| event.time());
    (events, ids, end)
}

fn definitions(threads: &[u64], locks: usize) -> Vec<Event> {
    let mut events = vec![story::recording(TimeNs(1_000_000))];
    events.extend(threads.iter().map(|id| story::thread(*id, &format!("worker-{id}"))));
    events.extend((0..locks).map(|lock| story::lock(lock_id(lock).0, "L", 0, &format!("L.{}", lock_id(lock).0))));
    events
}

fn options(interval: u64) -> Options {
    let pressure = PressureOptions { interval: DurationNs(interval), ..PressureOptions::default() };
    Options { pressure: Some(pressure), ..Options::default() }
}

fn measured(events: &[Event], options: Options) -> PressureReport {
    let mut analysis = Analysis::new(options);
    for event in events {
        analysis.feed(event);
    }
    analysis.finish().pressure.expect("pressure was asked for")
}

fn lock<'a>(report: &'a PressureReport, name: &str) -> &'a LockPressure {
    report.locks.iter().find(|lock| lock.name == name).expect("the lock")
}

#[test]
fn offline_figures_equal_those_of_the_oracle() {
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let (threads, locks) = (2 + dice.below(9) as usize, 1 + dice.below(3) as usize);
        let (events, ids, end) = played(&mut dice, threads, locks);
        let interval = [100_000, 1_000_000, 7_777_777, 1 << 40][dice.below(4) as usize];
        let mut fed = definitions(&ids, locks);
        fed.extend(shuffled(&events, &mut dice));
        fed.push(Event::Watermark(TimeNs(end)));
        let report = measured(&fed, options(interval));
        let truth = oracle(&events, &ids, 1_000_000, end, interval);

        let running: u64 = truth.iter().map(|truth| truth.running).sum();
        assert_eq!(report.running_ns, running, "seed {seed}");
        assert_eq!(report.windows.len(), truth.len(), "seed {seed}");
        for lock_number in 0..locks {
            let id = lock_id(lock_number).0;
            let expected: Vec<(u64, f64)> = truth
                .iter()
                .enumerate()
                .filter_map(|(number, truth)| {
                    let acquiring = *truth.acquiring.get(&id)?;
                    Some((number as u64 * interval, acquiring as f64 / truth.running as f64))
                })
                .filter(|(_, pressure)| *pressure > 0.0)
                .collect();
            let found = report.locks.iter().find(|lock| lock.name == format!("L.{id}"));
            assert_eq!(found.map(|lock| lock.windows.clone()).unwrap_or_default(), expected, "seed {seed} lock {id}");
        }
    }
}

#[test]
fn intervals_closed_while_the_program_runs_equal_those_of_the_oracle() {
    for seed in 0..60 {
        let mut dice = Dice::new(1000 + seed);
        let (threads, locks) = (2 + dice.below(9) as usize, 1 + dice.below(3) as usize);
        let (events, ids, end) = played(&mut dice, threads, locks);
        let interval = [50_000, 300_000, 3_000_000][dice.below(3) as usize];
        let measure = PressureOptions { interval: DurationNs(interval), ..PressureOptions::default() };
        let mut online = OnlinePressure::new(measure, Bounds::online(), TimeNs(1_000_000), true);
        let mut names = Dictionary::default();
        let mut windows = Vec::new();
        for event in definitions(&ids, locks).iter().chain(&shuffled(&events, &mut dice)) {
            names.feed(event);
            online.feed(event, &names);
            if let Event::Watermark(time) = event {
                windows.extend(online.advance(*time).into_iter().flat_map(|closed| closed.windows));
            }
        }
        windows.extend(online.finish(TimeNs(end)).into_iter().flat_map(|closed| closed.windows));
        let truth = oracle(&events, &ids, 1_000_000, end, interval);
        let whole: Vec<&PressureWindow> = windows.iter().filter(|window| window.lock.is_none()).collect();
        assert_eq!(whole.len(), truth.len(), "seed {seed}");
        for (number, (window, truth)) in whole.iter().zip(&truth).enumerate() {
            assert_eq!(window.running.0, truth.running, "seed {seed} interval {number}");
            assert_eq!(window.acquiring.0, truth.acquiring.values().sum::<u64>(), "seed {seed} interval {number}");
        }
        for window in windows.iter().filter(|window| window.lock.is_some()) {
            let number = (window.start.0 - 1_000_000) / interval;
            assert_eq!(truth[number as usize].acquiring[&window.lock.0], window.acquiring.0, "seed {seed}");
        }
    }
}

/// The same events where threads add up what they can: contentions that lie whole in
/// one interval, by lock.
fn added_up(events: &[Event], interval: u64) -> Vec<Event> {
    let number = |time: TimeNs| (time.0 - 1_000_000) / interval;
    let mut sums: BTreeMap<(ThreadId, LockId, u64), Spent> = BTreeMap::new();
    let mut begun: HashMap<ThreadId, usize> = HashMap::new();
    let mut left: Vec<Option<Event>> = Vec::new();
    for event in events {
        left.push(Some(event.clone()));
        match event {
            Event::MonitorEnter(e) => drop(begun.insert(e.thread, left.len() - 1)),
            Event::MonitorEntered(e) if number(e.start) == number(e.time - DurationNs(1)) => {
                let sum = sums.entry((e.thread, e.lock, number(e.start))).or_default();
                (sum.time, sum.thread, sum.lock) = (e.time, e.thread, e.lock);
                sum.count += 1;
                sum.total += e.time.since(e.start);
                left.pop();
                left[begun[&e.thread]] = None;
            }
            _ => {}
        }
    }
    let mut all: Vec<Event> = left.into_iter().flatten().chain(sums.into_values().map(Event::Spent)).collect();
    all.sort_by_key(|event| event.time());
    all
}

#[test]
fn what_threads_add_up_themselves_gives_the_same_windows() {
    for seed in 0..60 {
        let mut dice = Dice::new(2000 + seed);
        let (events, ids, end) = played(&mut dice, 5, 3);
        let interval = [300_000, 3_000_000, 1 << 40][dice.below(3) as usize];
        let windows = |events: &[Event]| {
            let measure = PressureOptions { interval: DurationNs(interval), ..PressureOptions::default() };
            let mut online = OnlinePressure::new(measure, Bounds::online(), TimeNs(1_000_000), false);
            let mut names = Dictionary::default();
            let mut windows = Vec::new();
            for event in definitions(&ids, 3).iter().chain(events) {
                let watermark = event.time().map_or(TimeNs(0), |time| time - DurationNs(1));
                windows.extend(online.advance(watermark).into_iter().flat_map(|closed| closed.windows));
                names.feed(event);
                online.feed(event, &names);
            }
            windows.extend(online.finish(TimeNs(end)).into_iter().flat_map(|closed| closed.windows));
            windows
        };
        let sums = added_up(&events, interval);
        assert!(sums.len() < events.len(), "seed {seed}");
        assert_eq!(windows(&sums), windows(&events), "seed {seed}");
    }
}

/// Contended turns: in each, the second thread waits for the first.
struct Turns {
    events: Vec<Event>,
    seq: u64,
}

impl Turns {
    fn new(threads: u64) -> Turns {
        let mut events = vec![story::recording(TimeNs(START))];
        events.extend((1..=threads).map(|id| story::thread(id, &format!("worker-{id}"))));
        events.push(story::lock(1, "com.acme.Shop", 0, "Shop.lock"));
        events.push(story::method(1, "com.acme.Shop", "sell"));
        events.push(story::method(2, "com.acme.Shop", "restock"));
        events.push(story::chain(1, &[(1, 7)]));
        events.push(story::chain(2, &[(2, 9)]));
        Turns { events, seq: 0 }
    }

    fn next(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    /// `owner` holds the lock until `to`, `waiter` waits for it from `from` on.
    fn turn(&mut self, owner: u64, waiter: u64, from: u64, to: u64) {
        let (owner, waiter, lock) = (ThreadId(owner), ThreadId(waiter), LockId(1));
        let (enter, exit, entered) = (self.next(), self.next(), self.next());
        let (time, end) = (TimeNs(START + from), TimeNs(START + to));
        self.events.push(Event::MonitorEnter(MonitorEnter {
            time,
            thread: waiter,
            lock,
            seq: enter,
            chain: ChainId(1),
            owner,
        }));
        self.events.push(Event::MonitorExit(MonitorExit {
            time: end,
            thread: owner,
            lock,
            seq: exit,
            chain: ChainId(2),
            ..MonitorExit::default()
        }));
        self.events.push(Event::MonitorEntered(MonitorEntered {
            time: end,
            start: time,
            thread: waiter,
            lock,
            seq: entered,
            chain: ChainId(1),
            previous_owner: owner,
        }));
    }

    fn until(mut self, end: u64) -> Vec<Event> {
        self.events.push(Event::Watermark(TimeNs(START + end)));
        self.events
    }
}

/// Two threads take turns of a millisecond under one lock.
fn ping_pong(threads: u64) -> PressureReport {
    let mut turns = Turns::new(threads);
    for turn in 0..4000 {
        turns.turn(1 + turn % 2, 2 - turn % 2, turn * MS, (turn + 1) * MS);
    }
    measured(&turns.until(4000 * MS), options(1000 * MS))
}

#[test]
fn ping_pong_is_half_of_two_threads_and_a_fiftieth_of_forty_eight() {
    let (two, many) = (ping_pong(2), ping_pong(48));
    assert_eq!(lock(&two, "Shop.lock").csp_mean, 0.5);
    assert_eq!(lock(&many, "Shop.lock").csp_mean, 1.0 / 48.0);
    assert_eq!(lock(&many, "Shop.lock").windows.len(), 4);
    // The older metrics see no difference.
    assert_eq!(lock(&two, "Shop.lock").other_tools, lock(&many, "Shop.lock").other_tools);
    let older = &lock(&two, "Shop.lock").other_tools;
    assert_eq!((older.failed_acquisitions, older.acquiring_per_elapsed), (Some(4000), 1.0));
    assert_eq!(older.critical_section_ns, Some(MS as f64));
}

#[test]
fn a_phase_that_the_average_hides_is_found_with_both_chains() {
    let mut turns = Turns::new(8);
    for turn in 0..3000 {
        turns.turn(1 + turn % 2, 2 - turn % 2, 20_400 * MS + turn * MS, 20_400 * MS + (turn + 1) * MS);
    }
    let report = measured(&turns.until(60_000 * MS), options(1000 * MS));
    let lock = lock(&report, "Shop.lock");
    assert_eq!(lock.csp_mean, 3.0 / (8.0 * 60.0));
    assert_eq!(lock.csp_peak, 0.125);
    let [phase] = &lock.phases[..] else { panic!("one phase: {:?}", lock.phases) };
    assert_eq!((phase.start_ns, phase.end_ns), (20_000 * MS, 24_000 * MS), "the last 0.4 s are 5 % of 8 threads");
    assert_eq!(phase.waiter_stack, ["com.acme.Shop.sell:7"]);
    assert_eq!(phase.owner_stack, ["com.acme.Shop.restock:9"]);
    let parts = phase.owned_ns + phase.hand_off_ns + phase.pause_ns + phase.unknown_ns;
    assert_eq!(parts, phase.acquiring_ns, "every contention was recorded: {phase:?}");
    assert!(phase.owned_ns > 0, "{phase:?}");
    assert_eq!(phase.csp_peak, 0.125);
}

#[test]
fn a_wait_longer_than_many_intervals_counts_in_each_and_while_it_goes_on() {
    let mut turns = Turns::new(2);
    let seq = turns.next();
    turns.events.push(Event::MonitorEnter(MonitorEnter {
        time: TimeNs(START + 500 * MS),
        thread: ThreadId(1),
        lock: LockId(1),
        seq,
        chain: ChainId(1),
        owner: ThreadId(2),
    }));
    let report = measured(&turns.until(4500 * MS), options(1000 * MS));
    let shown: Vec<(u64, f64)> =
        [0.25, 0.5, 0.5, 0.5, 0.5].into_iter().zip(0..).map(|(p, n)| (n * 1000 * MS, p)).collect();
    assert_eq!(lock(&report, "Shop.lock").windows, shown);
}

#[test]
fn a_range_cuts_and_its_intervals_begin_where_it_begins() {
    let mut turns = Turns::new(2);
    turns.turn(1, 2, 0, 4000 * MS);
    let range = Options {
        from: Some(Bound::SinceStart(DurationNs(1500 * MS))),
        to: Some(Bound::SinceStart(DurationNs(3000 * MS))),
        ..options(1000 * MS)
    };
    let report = measured(&turns.until(5000 * MS), range);
    assert_eq!(lock(&report, "Shop.lock").windows, [(1500 * MS, 0.5), (2500 * MS, 0.5)]);
    assert_eq!((report.start_ns, report.duration_ns, report.running_ns), (1500 * MS, 1500 * MS, 3000 * MS));
}

#[test]
fn parks_on_locks_are_acquisitions_and_others_are_waits() {
    let sync = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    let mut events = vec![story::recording(TimeNs(START))];
    events.extend((1..=3).map(|id| story::thread(id, &format!("pool-{id}"))));
    events.push(story::lock(5, sync, 0, "Shop.juc"));
    events.push(story::lock(6, "java.util.concurrent.CountDownLatch$Sync", 0, "Shop.latch"));
    let park = |thread: u64, blocker: u64, start: u64, end: u64, seq: u64| {
        [
            Event::ParkBegin(ParkBegin {
                time: TimeNs(START + start),
                thread: ThreadId(thread),
                seq: Seq(seq),
                blocker: LockId(blocker),
                ..ParkBegin::default()
            }),
            Event::Park(Park {
                time: TimeNs(START + end),
                start: TimeNs(START + start),
                thread: ThreadId(thread),
                start_seq: Seq(seq),
                seq: Seq(seq + 1),
                blocker: LockId(blocker),
                ..Park::default()
            }),
        ]
    };
    events.extend(park(1, 5, 100 * MS, 600 * MS, 1));
    events.extend(park(2, 6, 0, 500 * MS, 3));
    // Still parked at the end.
    events.push(park(3, 6, 500 * MS, 600 * MS, 5)[0].clone());
    // Ten short ones of a millisecond.
    events.push(Event::ShortParks(ShortParks {
        time: TimeNs(START + 900 * MS),
        thread: ThreadId(1),
        blocker: LockId(5),
        chain: ChainId::NONE,
        count: 10,
        total: DurationNs(10 * MS),
    }));
    events.push(Event::Watermark(TimeNs(START + 1000 * MS)));
    let report = measured(&events, options(1000 * MS));
    assert_eq!(report.running_ns, (1000 + 500 + 500) * MS);
    assert_eq!(report.locks.len(), 1);
    assert_eq!(lock(&report, "Shop.juc").acquiring_ns, (500 + 10) * MS);
}

#[test]
fn service_threads_are_left_out_and_virtual_threads_run_while_they_acquire() {
    let mut turns = Turns::new(1);
    let service = ThreadDef { id: ThreadId(2), name: "Finalizer".into(), is_service: true, ..ThreadDef::default() };
    let virtual_thread = ThreadDef { id: ThreadId(3), is_virtual: true, ..ThreadDef::default() };
    let carrier =
        ThreadDef { id: ThreadId(4), group: "CarrierThreads".into(), is_service: true, ..ThreadDef::default() };
    turns.events.extend([service, virtual_thread, carrier].map(Event::Thread));
    turns.turn(1, 2, 0, 400 * MS);
    turns.turn(1, 3, 400 * MS, 900 * MS);
    let report = measured(&turns.until(1000 * MS), options(1000 * MS));
    // One thread, one carrier, and half a second of acquiring unmounted.
    assert_eq!(report.running_ns, 2500 * MS);
    assert_eq!(lock(&report, "Shop.lock").csp_mean, 0.2);
}

/// A virtual thread goes on with another carrier, and events of that one can be written first.
#[test]
fn a_virtual_thread_whose_end_comes_before_its_begin_is_not_blocked_on() {
    for says_start in [true, false] {
        let mut turns = Turns::new(1);
        turns.events.push(Event::Thread(ThreadDef { id: ThreadId(3), is_virtual: true, ..ThreadDef::default() }));
        for turn in 0..2 {
            turns.turn(1, 3, turn * 400 * MS, (turn * 400 + 100) * MS);
            let begin =
                turns.events.iter().rposition(|event| matches!(event, Event::MonitorEnter(_))).expect("a begin");
            let begin = turns.events.remove(begin);
            turns.events.push(begin);
        }
        for event in &mut turns.events {
            if let Event::MonitorEntered(entered) = event {
                entered.start = if says_start { entered.start } else { TimeNs(0) };
            }
        }
        let report = measured(&turns.until(1000 * MS), options(1000 * MS));
        assert_eq!(lock(&report, "Shop.lock").acquiring_ns, 200 * MS, "{says_start}");
    }
}

/// The events of one carrier can all come before those of the other.
#[test]
fn what_began_before_a_later_event_of_a_virtual_thread_is_over() {
    let thread = ThreadId(3);
    let mut turns = Turns::new(1);
    turns.events.push(Event::Thread(ThreadDef { id: thread, is_virtual: true, ..ThreadDef::default() }));
    for turn in 0..2 {
        turns.turn(1, 3, turn * 400 * MS, (turn * 400 + 100) * MS);
    }
    // The first begin comes last, behind the whole second contention.
    let first = turns.events.iter().position(|event| matches!(event, Event::MonitorEnter(_))).expect("a begin");
    let begin = turns.events.remove(first);
    turns.events.push(begin);
    // So does the begin of a park for a lock, whose end is there.
    let (blocker, start, time) = (LockId(77), TimeNs(START + 590 * MS), TimeNs(START + 600 * MS));
    turns.events.push(story::lock(77, "java.util.concurrent.locks.ReentrantLock$NonfairSync", 77, "Till.lock"));
    turns.events.push(Event::Park(Park { time, start, thread, blocker, ..Park::default() }));
    turns.events.push(Event::ParkBegin(ParkBegin { time: start, thread, blocker, ..ParkBegin::default() }));
    let report = measured(&turns.until(1000 * MS), options(1000 * MS));
    assert_eq!(lock(&report, "Shop.lock").acquiring_ns, 200 * MS);
    assert_eq!(lock(&report, "Till.lock").acquiring_ns, 10 * MS);
}

#[test]
fn recorded_windows_give_the_figures_where_events_are_missing() {
    let mut turns = Turns::new(2);
    for turn in 0..3000 {
        turns.turn(1 + turn % 2, 2 - turn % 2, 2000 * MS + turn * MS, 2000 * MS + (turn + 1) * MS);
    }
    let events = turns.until(8000 * MS);
    let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), false);
    let mut kept = Vec::new();
    for event in &events {
        online.feed(event, &Dictionary::default());
        if matches!(
            event,
            Event::Recording(_) | Event::Thread(_) | Event::Lock(_) | Event::Method(..) | Event::Chain(_)
        ) {
            kept.push(event.clone());
        }
    }
    for closed in online.finish(TimeNs(START + 8000 * MS)) {
        kept.extend(closed.windows.into_iter().map(Event::PressureWindow));
        kept.extend(closed.ended.iter().map(|phase| phase.event()));
    }
    kept.push(Event::Watermark(TimeNs(START + 8000 * MS)));
    let (from_events, from_windows) = (measured(&events, options(1000 * MS)), measured(&kept, options(1000 * MS)));
    let (a, b) = (lock(&from_events, "Shop.lock"), lock(&from_windows, "Shop.lock"));
    // Windows do not say how the time of a phase divides.
    let undivided =
        |phase: &PhaseReport| PhaseReport { owned_ns: 0, hand_off_ns: 0, pause_ns: 0, unknown_ns: 0, ..phase.clone() };
    let phases: Vec<PhaseReport> = a.phases.iter().map(undivided).collect();
    assert_eq!((a.csp_mean, &a.windows, &phases), (b.csp_mean, &b.windows, &b.phases));
    assert_eq!(from_events.running_ns, from_windows.running_ns);
    // Longer intervals can be made of shorter ones.
    let longer = measured(&kept, options(2000 * MS));
    assert_eq!(lock(&longer, "Shop.lock").windows, [(2000 * MS, 0.5), (4000 * MS, 0.25)]);
}

#[test]
fn phases_begin_and_end_while_the_program_runs() {
    let mut turns = Turns::new(2);
    for turn in 0..3000 {
        turns.turn(1 + turn % 2, 2 - turn % 2, 2000 * MS + turn * MS, 2000 * MS + (turn + 1) * MS);
    }
    let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), false);
    for event in &turns.until(0) {
        online.feed(event, &Dictionary::default());
    }
    let mut told = Vec::new();
    for second in 1..=8 {
        for closed in online.advance(TimeNs(START + second * 1000 * MS)) {
            told.extend(
                closed.begun.iter().map(|phase| (second, "begins", (phase.start.0 - START) / MS, phase.mean())),
            );
            told.extend(closed.ended.iter().map(|phase| (second, "ended", (phase.end.0 - START) / MS, phase.mean())));
        }
    }
    assert_eq!(told, [(3, "begins", 2000, 0.5), (6, "ended", 5000, 0.5)]);
}

/// Three threads, of which two wait since before the recording: one until it is
/// notified, as its event says, one until it is merely seen to run.
#[test]
fn threads_found_waiting_do_not_run_until_something_says_so() {
    let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), false);
    [1, 2, 3].iter().for_each(|id| online.feed(&story::thread(*id, "worker"), &Dictionary::default()));
    let start = TimeNs(START);
    assert!(online.found_waiting(ThreadId(2), start, true) && online.found_waiting(ThreadId(3), start, false));
    let time = TimeNs(START + 1500 * MS);
    let waited = MonitorWaited { time, thread: ThreadId(2), lock: LockId(1), ..MonitorWaited::default() };
    online.feed(&Event::MonitorWaited(waited), &Dictionary::default());
    assert!(!online.is_found_waiting(ThreadId(2)) && online.is_found_waiting(ThreadId(3)));
    assert!(!online.found_waiting(ThreadId(2), start, true), "it has done something since");
    let running = |closed: Vec<Closed>| closed.iter().map(|one| one.windows[0].running.0 / MS).collect::<Vec<_>>();
    assert_eq!(running(online.advance(TimeNs(START + 2000 * MS))), [1000, 1500]);
    online.resumes(ThreadId(3), TimeNs(START + 2000 * MS));
    assert_eq!(running(online.advance(TimeNs(START + 3000 * MS))), [3000]);
}

#[test]
fn tens_of_thousands_of_locks_stay_in_bounds_and_in_the_total() {
    let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), false);
    online.feed(&story::thread(1, "worker"), &Dictionary::default());
    for lock in 1..=60_000u64 {
        online.feed(
            &Event::MonitorEntered(MonitorEntered {
                time: TimeNs(START + lock * 10_000 + 5_000),
                start: TimeNs(START + lock * 10_000),
                thread: ThreadId(1),
                lock: LockId(lock),
                seq: Seq(1),
                ..MonitorEntered::default()
            }),
            &Dictionary::default(),
        );
    }
    let closed = online.advance(TimeNs(START + 1000 * MS));
    let total = closed[0].windows.iter().find(|window| window.lock.is_none()).unwrap();
    assert_eq!(total.acquiring, DurationNs(60_000 * 5_000));
    assert!(online.folded() > 0);
    assert!(closed[0].windows.len() <= 65);
}

/// One thread blocks on each of `locks` for `ns` within a second, one after the other.
fn blocks_on_each(online: &mut OnlinePressure, locks: std::ops::Range<u64>, begin: u64, ns: u64) {
    for (nth, lock) in (0..).zip(locks) {
        online.feed(
            &Event::MonitorEntered(MonitorEntered {
                time: TimeNs(begin + nth * ns + ns),
                start: TimeNs(begin + nth * ns),
                thread: ThreadId(1),
                lock: LockId(lock),
                seq: Seq(1),
                ..MonitorEntered::default()
            }),
            &Dictionary::default(),
        );
    }
}

fn numbers(closed: &[Closed]) -> Vec<u64> {
    closed.iter().flat_map(|closed| &closed.wanted).map(|lock| lock.0).collect()
}

/// A database makes a lock for each transaction, and now and then somebody waits
/// for one: thousands a second, none of which matters.
#[test]
fn thousands_of_short_lived_locks_neither_count_as_a_loss_nor_push_out_a_heavy_one() {
    let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), true);
    online.feed(&story::thread(1, "worker"), &Dictionary::default());
    for second in 0..5u64 {
        let begin = START + second * 1000 * MS;
        let first = 1000 + second * 2000;
        blocks_on_each(&mut online, first..first + 2000, begin, 100_000);
        blocks_on_each(&mut online, 7..8, begin + 300 * MS, 40 * MS);
        let closed = online.advance(TimeNs(begin + 1000 * MS));
        assert_eq!(closed[0].windows[0].acquiring, DurationNs(240 * MS));
        assert_eq!(closed[0].windows.len(), 2, "all locks together, and the heavy one");
        (first..first + 2000).for_each(|lock| online.forget_lock(LockId(lock)));
    }
    assert_eq!(online.folded(), 0);
    let picture = online.picture(&headway_model::Dictionary::default());
    assert_eq!(picture.locks.iter().map(|lock| lock.id).collect::<Vec<_>>(), [7], "the others died");
    assert_eq!((picture.locks[0].acquiring_ns, picture.locks[0].history.len()), (5 * 40 * MS, 5));
}

/// Locks that weigh give way to heavier ones only, and the report says so.
#[test]
fn a_lock_that_weighs_and_finds_no_room_is_counted() {
    let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), true);
    online.feed(&story::thread(1, "worker"), &Dictionary::default());
    blocks_on_each(&mut online, 1..601, START, 1_100_000);
    blocks_on_each(&mut online, 601..602, START + 700 * MS, 20 * MS);
    let closed = online.advance(TimeNs(START + 1000 * MS));
    assert_eq!(online.folded(), 601 - 512);
    assert_eq!(numbers(&closed), [601], "the heaviest is among those that found room");
    // Others are as heavy in the next second: those of the first are quiet then.
    blocks_on_each(&mut online, 1001..1513, START + 1000 * MS, 1_100_000);
    online.advance(TimeNs(START + 2000 * MS));
    assert_eq!(online.folded(), 601 - 512);
}

/// Where chains are taken on request only, a short phase is over before its own is
/// there; the one from before, or from just after, stands in for it.
#[test]
fn a_short_phase_has_the_chain_that_was_known_last() {
    let entered = |from_ms: u64, to_ms: u64, chain| {
        Event::MonitorEntered(MonitorEntered {
            time: TimeNs(START + to_ms * MS),
            start: TimeNs(START + from_ms * MS),
            thread: ThreadId(1),
            lock: LockId(1),
            seq: Seq(to_ms),
            chain: ChainId(chain),
            ..MonitorEntered::default()
        })
    };
    for (asked_before, asked_after) in [(7, 0), (0, 7), (6, 7)] {
        let mut online = OnlinePressure::new(PressureOptions::default(), Bounds::online(), TimeNs(START), true);
        online.feed(&story::thread(1, "worker"), &Dictionary::default());
        [entered(100, 101, asked_before), entered(2100, 2900, 0), entered(3100, 3101, asked_after)]
            .iter()
            .for_each(|event| online.feed(event, &Dictionary::default()));
        let closed = online.finish(TimeNs(START + 6000 * MS));
        let ended: Vec<_> = closed.iter().flat_map(|closed| &closed.ended).collect();
        assert_eq!(ended.len(), 1);
        assert_eq!((ended[0].start.0 - START) / MS, 2000);
        assert_eq!(ended[0].acquiring_chain(), ChainId(7), "before {asked_before}, after {asked_after}");
    }
}
