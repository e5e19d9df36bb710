//! Recordings that sample contentions: totals are exact, shares are those of the recording
//! of everything, within what their intervals allow.

use crate::simulation::{play, Play, Played, CHAINS, CONTENDER_CHAIN, HOLDER_CHAIN, WAIT_CHAIN};
use crate::story::{chain, method};
use headway_analysis::report::{Row, WaitSite};
use headway_analysis::{Analysis, Aspect, Options, Report};
use headway_model::event::{
    MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWaited, Sampling, Spent, SpentOn,
};
use headway_model::schedule::Schedule;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::collections::{BTreeMap, HashMap};

/// What an agent that samples would have recorded of the same events: it sees them in this
/// order and decides like `crates/agent/src/sampling.rs`.
struct Sampler {
    schedule: Schedule,
    settled: HashMap<LockId, TimeNs>,
    numbers: HashMap<LockId, u64>,
    sums: BTreeMap<(ThreadId, LockId, bool), Spent>,
    /// When each thread's wait began, and when it was notified.
    waits: HashMap<ThreadId, (TimeNs, Option<TimeNs>)>,
    /// Who notified a waiter whose wait is recorded, and has not left the lock.
    notified_in: HashMap<ThreadId, LockId>,
    /// So many sums are kept; of more, the oldest is sent at once.
    kept: usize,
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
            waits: HashMap::new(),
            notified_in: HashMap::new(),
            kept: usize::MAX,
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
            Event::MonitorExit(e) => self.exit(e),
            Event::MonitorWait(e) => drop(self.waits.insert(e.thread, (e.time, None))),
            Event::MonitorNotify(e) => self.notify(e),
            Event::MonitorWaited(e) => self.waited(e),
            Event::MonitorReentered(e) => self.reentered(e),
            other => self.events.push(other.clone()),
        }
    }

    fn entered(&mut self, e: &MonitorEntered) {
        self.is_news(e.lock, e.time);
        match self.schedule.hits(e.start, e.time) {
            true => {
                let seq = self.number(e.lock);
                self.events.push(Event::MonitorEntered(MonitorEntered { seq, ..*e }));
            }
            false => self.add(e.thread, e.lock, (e.start, e.time), SpentOn::Monitor),
        }
    }

    fn reentered(&mut self, e: &MonitorReentered) {
        self.is_news(e.lock, e.time);
        match self.schedule.hits(e.start, e.time) {
            true => {
                let seq = self.number(e.lock);
                self.events.push(Event::MonitorReentered(MonitorReentered { seq, start_seq: Seq::NONE, ..*e }));
            }
            false => self.add(e.thread, e.lock, (e.start, e.time), SpentOn::Monitor),
        }
    }

    fn exit(&mut self, e: &MonitorExit) {
        let is_news = self.is_news(e.lock, e.time);
        let has_notified = self.notified_in.get(&e.thread) == Some(&e.lock);
        if has_notified {
            self.notified_in.remove(&e.thread);
        }
        if is_news || has_notified {
            let seq = self.number(e.lock);
            self.events.push(Event::MonitorExit(MonitorExit { seq, ..*e }));
        }
    }

    fn notify(&mut self, e: &MonitorNotify) {
        let Some((start, notified)) = self.waits.get_mut(&e.waiter) else { return };
        *notified = Some(e.time);
        if self.schedule.hits(*start, e.time) {
            self.notified_in.insert(e.thread, e.lock);
            self.events.push(Event::MonitorNotify(MonitorNotify { seq: Seq::NONE, ..*e }));
        }
    }

    fn waited(&mut self, e: &MonitorWaited) {
        let notified = self.waits.remove(&e.thread).and_then(|(_, notified)| notified);
        let time = notified.unwrap_or(e.time);
        match self.schedule.hits(e.start, time) {
            true => self.events.push(Event::MonitorWaited(MonitorWaited { time, seq: Seq::NONE, ..*e })),
            false => self.add(e.thread, e.lock, (e.start, time), SpentOn::Wait),
        }
    }

    fn add(&mut self, thread: ThreadId, lock: LockId, (start, time): (TimeNs, TimeNs), on: SpentOn) {
        let sum = self.sums.entry((thread, lock, on == SpentOn::Wait)).or_default();
        let (count, total) = (sum.count + 1, sum.total + time.since(start));
        *sum = Spent { time, thread, lock, chain: ChainId::NONE, on, count, total };
        if self.sums.len() > self.kept {
            let oldest = self.sums.iter().min_by_key(|(_, sum)| sum.time).map(|(key, _)| *key);
            let sent = oldest.and_then(|key| self.sums.remove(&key));
            self.events.extend(sent.map(Event::Spent));
        }
    }

    fn flush(&mut self, watermark: TimeNs) {
        self.events.extend(std::mem::take(&mut self.sums).into_values().map(Event::Spent));
        self.events.push(Event::Watermark(watermark));
    }
}

const SECOND: u64 = 1_000_000_000;

fn sampled(played: &Played, window: u64, seed: u64) -> Vec<Event> {
    sampled_by(Sampler::new(DurationNs(window), seed), played)
}

fn sampled_by(mut sampler: Sampler, played: &Played) -> Vec<Event> {
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
    analyse_as(Options { by: by.to_vec(), ..Options::default() }, events)
}

fn analyse_as(options: Options, events: &[Event]) -> Report {
    let mut analysis = Analysis::new(options);
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
    let ids = [HOLDER_CHAIN, CONTENDER_CHAIN, WAIT_CHAIN].into_iter().flat_map(|first| first..first + CHAINS);
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
fn who_asks_for_estimates_only_gets_the_rows_of_a_recording_that_samples() {
    let played = play(Play { acquisitions: 8_000, ..PLAY });
    let by = [Aspect::LockName, Aspect::OwnerMethod];
    let only = |events: &[Event]| {
        analyse_as(Options { by: by.to_vec(), only_estimates: true, ..Options::default() }, events).rows
    };
    let events = sampled(&played, 500_000, 9);
    assert_eq!(only(&events), analyse(&events, &by).rows);
    assert!(!analyse(&played.events, &by).rows.is_empty() && only(&played.events).is_empty());
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

/// A play in which every third hold ends in a wait.
const WAITING: Play = Play { wait_percent: 30, acquisitions: 10_000, seed: 7, ..PLAY };

/// Waits of a thread on a lock: their number and time, as they were.
fn true_waits(played: &Played) -> (u64, u64) {
    let mut notified: HashMap<ThreadId, TimeNs> = HashMap::new();
    let (mut count, mut ns) = (0, 0);
    for event in &played.events {
        match event {
            Event::MonitorNotify(e) => drop(notified.insert(e.waiter, e.time)),
            Event::MonitorWaited(e) => {
                count += 1;
                ns += notified.remove(&e.thread).unwrap_or(e.time).since(e.start).0;
            }
            _ => {}
        }
    }
    (count, ns)
}

/// Re-acquisitions that were only added up were like those recorded one by one.
#[test]
fn how_long_threads_acquired_a_lock_again_is_estimated() {
    let played = play(WAITING);
    let after_wait = |report: &Report| report.blocked.after_wait_ns as f64 / report.blocked_ns as f64;
    let exact = after_wait(&analyse(&played.events, &[Aspect::Lock]));
    let sampled = analyse(&sampled(&played, 1_000_000, 9), &[Aspect::Lock]);
    let how = sampled.sampling.as_ref().unwrap();
    assert!(how.added_up > how.recorded && exact > 0.1, "{how:?} {exact}");
    assert!((after_wait(&sampled) / exact - 1.0).abs() < 0.25, "{} of {exact}", after_wait(&sampled));
}

/// Number and time of all waits that are over, and shares of their time by call stack.
fn waits(report: &Report) -> (u64, u64, BTreeMap<String, f64>) {
    let ended = |site: &WaitSite| site.count - site.in_flight;
    let count = report.waits.iter().map(ended).sum();
    let ns: u64 = report.waits.iter().map(|site| site.total_ns).sum();
    let share = |site: &WaitSite| (site.stack.join(";"), site.total_ns as f64 / ns as f64);
    (count, ns, report.waits.iter().map(share).collect())
}

#[test]
fn waits_have_exact_totals_and_unbiased_shares_though_few_are_recorded() {
    let played = play(WAITING);
    // What goes on at the end is not over, and so in no sum.
    let waiting_at_end = |event: &Event| matches!(event, Event::MonitorWait(_));
    let (count, ns) = true_waits(&played);
    assert!(count > 1_500 && played.events.iter().any(waiting_at_end));
    let (_, _, exact) = waits(&analyse(&played.events, &[Aspect::Lock]));
    let (mut mean, draws): (BTreeMap<String, f64>, u64) = (BTreeMap::new(), 4);
    let mut recorded = 0;
    for seed in 1..=draws {
        let events = sampled(&played, 500_000, seed);
        recorded += events.iter().filter(|event| matches!(event, Event::MonitorWaited(_))).count();
        let report = analyse(&events, &[Aspect::Lock]);
        let how = report.sampling.clone().unwrap();
        assert_eq!((how.unknown_ns, report.losses.len()), (0, 0), "{how:?} {:?}", report.losses);
        let (all, all_ns, shares) = waits(&report);
        assert_eq!((all, all_ns), (count, ns), "seed {seed}");
        shares.into_iter().for_each(|(stack, share)| *mean.entry(stack).or_default() += share / draws as f64);
    }
    assert!((100..count as usize * draws as usize / 2).contains(&recorded), "{recorded} of {count} in {draws} draws");
    for (stack, share) in exact.iter().filter(|(_, share)| **share > 0.02) {
        let off = mean.get(stack).copied().unwrap_or_default() - share;
        // As many independent looks as there were waits recorded.
        let error = (share * (1.0 - share) / recorded as f64).sqrt();
        assert!(off.abs() < 4.5 * error, "{stack}: {off:.4} off {share:.4}, {:.1} errors", off / error);
    }
}

/// Re-acquisitions follow the rule of contentions: all that was blocked is counted once.
#[test]
fn re_acquisitions_are_sampled_as_contentions_are() {
    let played = play(WAITING);
    let mut blocked = (0, 0);
    for event in &played.events {
        let (start, time) = match event {
            Event::MonitorEntered(e) => (e.start, e.time),
            Event::MonitorReentered(e) => (e.start, e.time),
            _ => continue,
        };
        blocked = (blocked.0 + 1, blocked.1 + time.since(start).0);
    }
    let exact = shares(&analyse(&played.events, &[Aspect::OwnerMethod]));
    let (mut mean, mut looks, draws): (BTreeMap<String, f64>, f64, u64) = (BTreeMap::new(), 0.0, 4);
    for seed in 1..=draws {
        let report = analyse(&sampled(&played, 500_000, seed), &[Aspect::OwnerMethod]);
        let rows = report.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.count, sum.1 + row.total_ns));
        assert_eq!((report.blocked_ns, rows.1), (blocked.1, blocked.1), "seed {seed}");
        assert_eq!(report.blocked.slices_wrong, 0);
        looks += report.sampling.as_ref().unwrap().instants as f64;
        shares(&report).into_iter().for_each(|(owner, share)| *mean.entry(owner).or_default() += share / draws as f64);
    }
    for (owner, share) in exact.iter().filter(|(_, share)| (0.02..0.98).contains(*share)) {
        let off = mean.get(owner).copied().unwrap_or_default() - share;
        let error = (share * (1.0 - share) / looks).sqrt();
        assert!(off.abs() < 4.5 * error, "{owner}: {off:.4} off {share:.4}, {:.1} errors", off / error);
    }
}

const GATE: LockId = LockId(1);
const ARCHIVE: LockId = LockId(2);

/// Who waits for the gate waits for the archive: the owner of the gate is blocked on it.
fn played_chain(rounds: u64) -> Played {
    let mut events = Vec::new();
    let mut at = 1_000_000;
    let mut end = 0;
    for round in 1..=rounds {
        let blocked = 200_000 + round * 7_919 % 1_500_000;
        let (began, released) = (at, at + blocked);
        let entered = |time: u64, thread: u64, lock, start: u64, chain: u64| {
            let (time, start, chain) = (TimeNs(time), TimeNs(start), ChainId(chain));
            let (thread, previous_owner) = (ThreadId(thread), ThreadId::NONE);
            Event::MonitorEntered(MonitorEntered { time, start, thread, lock, seq: Seq(0), chain, previous_owner })
        };
        let exit = |time: u64, thread: u64, lock, chain: u64| {
            let (time, thread, chain) = (TimeNs(time), ThreadId(thread), ChainId(chain));
            Event::MonitorExit(MonitorExit { time, thread, lock, seq: Seq(0), chain, ..MonitorExit::default() })
        };
        events.extend([
            exit(released, 3, ARCHIVE, HOLDER_CHAIN),
            entered(released + 2_000, 2, ARCHIVE, began, CONTENDER_CHAIN),
            exit(released + 4_000, 2, ARCHIVE, HOLDER_CHAIN + 1),
            exit(released + 10_000, 2, GATE, HOLDER_CHAIN + 2),
            entered(released + 12_000, 1, GATE, began + 5_000, CONTENDER_CHAIN + 1),
            exit(released + 20_000, 1, GATE, HOLDER_CHAIN + 3),
        ]);
        end = released + 30_000;
        at = end + 50_000;
        events.push(Event::Watermark(TimeNs(end)));
    }
    Played { events: numbered(events), holds: Vec::new(), end: TimeNs(end) }
}

/// Events with their place in their lock's order, as everything recorded has it.
fn numbered(events: Vec<Event>) -> Vec<Event> {
    let mut numbers: HashMap<LockId, u64> = HashMap::new();
    let mut next = |lock: LockId| {
        let number = numbers.entry(lock).or_default();
        *number += 1;
        Seq(*number)
    };
    let number = |event| match event {
        Event::MonitorEntered(e) => Event::MonitorEntered(MonitorEntered { seq: next(e.lock), ..e }),
        Event::MonitorExit(e) => Event::MonitorExit(MonitorExit { seq: next(e.lock), ..e }),
        other => other,
    };
    events.into_iter().map(number).collect()
}

/// Contentions that were not recorded one by one had the chains of those that were: otherwise the
/// lock in front comes first, and not the one that its owner waited for.
#[test]
fn chains_explain_as_much_as_if_everything_had_been_recorded() {
    let played = played_chain(8_000);
    let exact = analyse(&played.events, &[Aspect::Lock]);
    let report = analyse(&sampled(&played, 20_000_000, 3), &[Aspect::Lock]);
    let how = report.sampling.as_ref().unwrap();
    assert!(how.added_up > 5 * how.recorded, "{how:?}");
    let explained = |report: &Report| report.wait_chains[0].blocked_ns as f64;
    let ratio = explained(&report) / explained(&exact);
    assert!((0.9..1.1).contains(&ratio), "{ratio:.3} of {:?}", exact.wait_chains[0]);
    assert_eq!(report.findings[0].kind, exact.findings[0].kind, "{:#?}", report.findings);
}

/// What was seen of one lock stands for others of its class, as their owner, too: no owner has a
/// lock for longer than threads were blocked on it.
#[test]
fn owners_of_locks_of_which_nothing_was_seen_are_theirs() {
    let played = played_chain(8_000);
    // Each round has another gate.
    let mut exits = 0;
    let gates = played.events.iter().filter_map(|event| {
        let own = |exits: u64| LockId(1_000 + exits / 2);
        match event {
            Event::MonitorEntered(e) if e.lock == GATE => {
                Some(Event::MonitorEntered(MonitorEntered { lock: own(exits - 1), ..*e }))
            }
            Event::MonitorExit(e) if e.lock == GATE => {
                exits += 1;
                Some(Event::MonitorExit(MonitorExit { lock: own(exits - 1), ..*e }))
            }
            _ => None,
        }
    });
    let played = Played { events: numbered(gates.collect()), holds: Vec::new(), end: played.end };
    let mut analysis = Analysis::new(Options { by: vec![Aspect::Lock, Aspect::OwnerThread], ..Options::default() });
    definitions().iter().for_each(|event| analysis.feed(event));
    for gate in 0..8_000 {
        analysis.feed(&crate::story::lock(
            1_000 + gate,
            "java.util.concurrent.ConcurrentHashMap$Node",
            gate as u32,
            "",
        ));
    }
    sampled(&played, 20_000_000, 3).iter().for_each(|event| analysis.feed(event));
    let report = analysis.finish();
    let first = &report.findings[0].text;
    assert!(first.contains("(8000 locks)") || first.contains("(8,000 locks)"), "{first}");
    assert!(first.contains("owned them for") && !first.contains("not recorded"), "{first}");
}

/// When in a second the contentions were that were added up, nobody knows: they are not at its end.
#[test]
fn what_was_added_up_is_spread_over_its_time() {
    is_spread(usize::MAX);
}

/// The same where threads send sums early, because they have many locks.
#[test]
fn what_was_added_up_and_sent_early_is_spread_over_its_time() {
    is_spread(0);
}

fn is_spread(kept: usize) {
    let played = play(Play { threads: 6, locks: 1, acquisitions: 60_000, hold_ns: 60_000, think_ns: 500_000, ..PLAY });
    let options = Options { by: vec![Aspect::Time], time_bucket: DurationNs(SECOND / 10), ..Options::default() };
    let mut analysis = Analysis::new(options);
    definitions().iter().for_each(|event| analysis.feed(event));
    let sampler = Sampler { kept, ..Sampler::new(DurationNs(20_000_000), 3) };
    sampled_by(sampler, &played).iter().for_each(|event| analysis.feed(event));
    let report = analysis.finish();
    assert!(report.sampling.as_ref().unwrap().added_up > 40_000, "{:?}", report.sampling);
    let whole = played.end.0 / (SECOND / 10);
    let mean = report.blocked_ns as f64 / (played.end.0 as f64 / (SECOND / 10) as f64);
    let ratios: Vec<f64> = report.rows.iter().map(|row| row.total_ns as f64 / mean).collect();
    assert!(whole > 30 && report.rows.len() as u64 >= whole, "{whole} intervals, {} rows", report.rows.len());
    let far = ratios.iter().filter(|ratio| !(0.75..1.25).contains(*ratio)).count();
    assert!(far <= 3, "{far} of {} intervals are far from their mean: {ratios:.2?}", ratios.len());
}
