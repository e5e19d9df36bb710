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
        let sampling = Sampling { time: TimeNs(0), window, seed };
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
    let mut events: Vec<&Event> = played.events.iter().filter(|event| !matches!(event, Event::Watermark(_))).collect();
    events.sort_by_key(|event| event.time());
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

fn plays(seed: u64) -> Played {
    play(Play {
        threads: 12,
        locks: 3,
        acquisitions: 40_000,
        hold_ns: 40_000,
        think_ns: 400_000,
        wake_ns: 8_000,
        missed_percent: 0,
        wait_percent: 0,
        seed,
    })
}

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
    let played = plays(5);
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
    let played = plays(11);
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
