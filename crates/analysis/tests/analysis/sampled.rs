//! Recordings that sample contentions: totals are exact, shares are those of the recording
//! of everything, within what their intervals allow.

use crate::simulation::{play, Play, Played, CHAINS, CONTENDER_CHAIN, HOLDER_CHAIN};
use crate::story::{chain, method};
use headway_analysis::report::Row;
use headway_analysis::{Analysis, Aspect, Options, Report};
use headway_model::event::{MonitorEntered, Sampling, Spent, SpentOn};
use headway_model::schedule::Schedule;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::collections::{BTreeMap, HashMap};

/// What an agent that samples would have recorded of the same events: it sees them in this
/// order and decides like `crates/agent/src/sampling.rs`.
struct Sampler {
    schedule: Schedule,
    settled: HashMap<LockId, TimeNs>,
    numbers: HashMap<LockId, u64>,
    sums: BTreeMap<(ThreadId, LockId), Spent>,
    events: Vec<Event>,
}

impl Sampler {
    fn new(window: DurationNs, seed: u64) -> Sampler {
        let sampling = Sampling { time: TimeNs(0), window, seed, ..Sampling::default() };
        Sampler {
            schedule: Schedule::new(sampling),
            settled: HashMap::new(),
            numbers: HashMap::new(),
            sums: BTreeMap::new(),
            events: vec![Event::Sampling(sampling)],
        }
    }

    fn number(&mut self, lock: LockId) -> Seq {
        let number = self.numbers.entry(lock).or_default();
        *number += 1;
        Seq(*number)
    }

    /// True if no event of the lock came between its last instant and now.
    fn is_news(&mut self, lock: LockId, time: TimeNs) -> bool {
        let before = self.settled.insert(lock, time).unwrap_or(TimeNs(0));
        self.schedule.hits(before, time)
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::MonitorEnter(_) => {}
            Event::MonitorEntered(e) => self.entered(e),
            Event::MonitorExit(e) if self.is_news(e.lock, e.time) => {
                let seq = self.number(e.lock);
                self.events.push(Event::MonitorExit(headway_model::event::MonitorExit { seq, ..*e }));
            }
            Event::MonitorExit(_) => {}
            other => self.events.push(other.clone()),
        }
    }

    fn entered(&mut self, e: &MonitorEntered) {
        self.is_news(e.lock, e.time);
        if self.schedule.hits(e.start, e.time) {
            let seq = self.number(e.lock);
            return self.events.push(Event::MonitorEntered(MonitorEntered { seq, ..*e }));
        }
        let sum = self.sums.entry((e.thread, e.lock)).or_default();
        *sum = Spent {
            time: e.time,
            thread: e.thread,
            lock: e.lock,
            chain: ChainId::NONE,
            on: SpentOn::Monitor,
            count: sum.count + 1,
            total: sum.total + e.time.since(e.start),
        };
    }

    fn flush(&mut self, watermark: TimeNs) {
        self.events.extend(std::mem::take(&mut self.sums).into_values().map(Event::Spent));
        self.events.push(Event::Watermark(watermark));
    }
}

const SECOND: u64 = 1_000_000_000;

fn sampled(played: &Played, window: u64, seed: u64) -> Vec<Event> {
    let mut sampler = Sampler::new(DurationNs(window), seed);
    let events = played.events.iter().filter(|event| !matches!(event, Event::Watermark(_)));
    let mut flush = SECOND;
    for event in events {
        while event.time().is_some_and(|time| time.0 > flush) {
            sampler.flush(TimeNs(flush));
            flush += SECOND;
        }
        sampler.take(event);
    }
    sampler.flush(played.end);
    sampler.events
}

fn analyse(events: &[Event], by: &[Aspect]) -> Report {
    let mut analysis = Analysis::new(Options { by: by.to_vec(), ..Options::default() });
    definitions().iter().for_each(|event| analysis.feed(event));
    events.iter().for_each(|event| analysis.feed(event));
    analysis.finish()
}

const PLAY: Play = Play {
    threads: 12,
    locks: 3,
    acquisitions: 40_000,
    hold_ns: 40_000,
    think_ns: 400_000,
    wake_ns: 8_000,
    missed_percent: 0,
    wait_percent: 0,
    seed: 5,
};

/// Time by value of a breakdown's first aspect.
fn shares(report: &Report) -> BTreeMap<String, f64> {
    let share = |row: &Row| (format!("{:?}", row.value), row.total_ns as f64 / report.blocked_ns as f64);
    report.rows.iter().map(share).collect()
}

/// Definitions of all call stacks, each of one method.
fn definitions() -> Vec<Event> {
    let ids = [HOLDER_CHAIN, CONTENDER_CHAIN].into_iter().flat_map(|first| first..first + CHAINS);
    let definitions = |id| [method(id, "app.Shop", &format!("m{id}")), chain(id, &[(id, 1)])];
    ids.flat_map(definitions).collect()
}

#[test]
fn totals_by_thread_and_lock_are_exact() {
    let played = play(PLAY);
    let by = [Aspect::Lock, Aspect::ContenderThread];
    let report = analyse(&sampled(&played, 500_000, 9), &by);
    let mut truth: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for event in &played.events {
        if let Event::MonitorEntered(e) = event {
            let key = (format!("#{}", e.lock.0), format!("#{}", e.thread.0));
            let all = truth.entry(key).or_default();
            *all = (all.0 + e.time.since(e.start).0, all.1 + 1);
        }
    }
    let number = |value: &str| value.trim_end_matches([')', '"']).rsplit('#').next().unwrap_or_default().to_owned();
    for row in &report.rows {
        for child in &row.children {
            let (lock, thread) = (format!("{:?}", row.value), format!("{:?}", child.value));
            let key = (format!("#{}", number(&lock)), format!("#{}", number(&thread)));
            assert_eq!(truth.remove(&key), Some((child.total_ns, child.count)), "{key:?}");
        }
    }
    assert!(truth.is_empty(), "{truth:?}");
    let how = report.sampling.unwrap();
    assert!(how.recorded > 1_000 && how.added_up > 3 * how.recorded && how.unknown_ns == 0, "{how:?}");
    assert_eq!(report.losses.len(), 0, "{:?}", report.losses);
}

/// Over many draws of the instants, shares by call stack and by owner have the exact ones as
/// their mean, and differ from them by what as many independent looks would.
#[test]
fn shares_by_stack_and_owner_are_unbiased() {
    let played = play(Play { seed: 11, ..PLAY });
    for aspect in [Aspect::ContenderMethod, Aspect::OwnerThread, Aspect::OwnerMethod] {
        let exact = shares(&analyse(&played.events, &[aspect]));
        let draws = 8;
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        let mut looks = 0.0;
        for seed in 1..=draws {
            let report = analyse(&sampled(&played, 500_000, seed), &[aspect]);
            looks += report.sampling.as_ref().unwrap().instants as f64;
            for (value, share) in shares(&report) {
                *sums.entry(value).or_default() += share / draws as f64;
            }
        }
        let compared: Vec<_> = exact.iter().filter(|(_, share)| (0.02..0.98).contains(*share)).collect();
        assert!(compared.len() > 10, "{exact:?}");
        for (value, share) in compared {
            let mean = sums.get(value).copied().unwrap_or_default();
            let error = (share * (1.0 - share) / looks).sqrt();
            let errors = (mean - share) / error;
            assert!(errors.abs() < 4.5, "{aspect:?} {value}: {mean:.4} instead of {share:.4}, {errors:.1} errors");
        }
    }
}

/// Rows of a breakdown's first level by value.
fn by_value(report: &Report) -> BTreeMap<String, &Row> {
    report.rows.iter().map(|row| (format!("{:?}", row.value), row)).collect()
}

/// Intervals of 95 % of the rows of a breakdown that matter, over draws of the instants of the
/// same contentions: how many there are, and how many contain the exact time.
fn coverage(played: &Played, aspect: Aspect, window: u64, draws: u64) -> (u64, u64) {
    let exact = analyse(&played.events, &[aspect]);
    let (mut intervals, mut right) = (0, 0);
    for seed in 1..=draws {
        let report = analyse(&sampled(played, window, seed), &[aspect]);
        let rows = by_value(&report);
        for row in exact.rows.iter().filter(|row| (0.02..0.98).contains(&row.share)) {
            let estimated = rows.get(&format!("{:?}", row.value)).and_then(|row| row.interval);
            intervals += 1;
            right += u64::from(estimated.is_some_and(|it| (it.low_ns..=it.high_ns).contains(&row.total_ns)));
        }
    }
    (intervals, right)
}

/// Of 400 draws 95 % are expected to be right, with a standard deviation of 1.1 points for one row
/// (binomial); for some twenty rows together, 93 to 97 % are far apart.
#[test]
fn intervals_contain_the_exact_time_in_95_percent_of_draws() {
    let played = play(Play { acquisitions: 2_000, ..PLAY });
    for aspect in [Aspect::ContenderMethod, Aspect::OwnerMethod] {
        let (intervals, right) = coverage(&played, aspect, 700_000, 400);
        assert!(intervals >= 10 * 400, "{aspect:?}: {intervals}");
        let part = right as f64 / intervals as f64;
        assert!((0.93..=0.97).contains(&part), "{aspect:?}: {right} of {intervals} intervals are right");
    }
}

#[test]
fn what_is_exact_has_no_interval() {
    let played = play(Play { acquisitions: 4_000, ..PLAY });
    let report = analyse(&sampled(&played, 700_000, 3), &[Aspect::Lock, Aspect::ContenderThread, Aspect::OwnerThread]);
    for lock in &report.rows {
        assert_eq!(lock.interval, None, "{lock:?}");
        for thread in &lock.children {
            assert_eq!(thread.interval, None, "{thread:?}");
            let owner = thread.children.iter().max_by_key(|row| row.total_ns).unwrap();
            let interval = owner.interval.unwrap();
            assert!(interval.low_ns <= owner.total_ns && owner.total_ns <= interval.high_ns, "{owner:?}");
            assert!(interval.high_ns <= thread.total_ns && interval.instants > 0, "{owner:?} of {}", thread.total_ns);
        }
    }
    let exact = analyse(&played.events, &[Aspect::OwnerThread]);
    assert!(exact.rows.iter().all(|row| row.interval.is_none()));
}
