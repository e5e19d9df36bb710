//! Waiting: what ranks with locks, and what is idle.

mod alone;
mod had;
mod limits;

use crate::queued::Naming;
use crate::story::{lock, recording, thread};
use headway_analysis::ledger::{EntryKind, Quality};
use headway_analysis::report::{Finding, FindingKind, Report, WaitSite};
use headway_analysis::{Analysis, Bound, Options};
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};

const MS: u64 = 1_000_000;
const CONDITION: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
const PARK: &str = "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park AQS$ConditionNode.block \
                    AQS$ConditionObject.await";
const UNPARK: &str = "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark AQS.release \
                      j.locks.ReentrantLock.unlock";

fn at(ms: u64) -> TimeNs {
    TimeNs((1_000 + ms) * MS)
}

/// Threads that park and wake each other.
struct Waiting {
    events: Vec<Event>,
    seq: u64,
}

impl Waiting {
    /// `waits` and `wakes` are the frames above the queue's, leaf first.
    fn new(waits: &str, wakes: &str) -> Waiting {
        let mut naming = Naming::new();
        naming.chain(1, &format!("{PARK} {waits}"), 1);
        naming.chain(2, &format!("{UNPARK} {wakes}"), 1);
        naming.chain(3, "com.acme.Small.update com.acme.Server.handle java.lang.Thread.run", 1);
        let mut events = vec![recording(at(0)), lock(1, CONDITION, 1, ""), lock(2, "com.acme.Small", 2, "Small.lock")];
        events.extend((1..=8).map(|id| thread(id, &format!("exec-{id}"))));
        events.push(thread(9, "other"));
        events.extend(naming.events);
        Waiting { events, seq: 0 }
    }

    fn next(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    /// `waiter` waits from `from` to `to`, when `waker` ends that; by itself if there is none.
    fn wait(&mut self, waiter: u64, from: u64, to: u64, waker: Option<u64>) {
        let (thread, chain, blocker) = (ThreadId(waiter), ChainId(1), LockId(1));
        let start_seq = self.next();
        let begin = ParkBegin { time: at(from), thread, seq: start_seq, chain, blocker, ..ParkBegin::default() };
        self.events.push(Event::ParkBegin(begin));
        let unpark = waker.map(|waker| {
            let seq = self.next();
            let unpark = Unpark { time: at(to), thread: ThreadId(waker), seq, chain: ChainId(2), target: thread };
            self.events.push(Event::Unpark(unpark));
            seq
        });
        let outcome = if waker.is_some() { ParkOutcome::Unparked } else { ParkOutcome::TimedOut };
        let (start, time, seq) = (at(from), at(to), self.next());
        let waker = ThreadId(waker.unwrap_or(0));
        let unpark = unpark.unwrap_or_default();
        let park =
            Park { time, start, thread, start_seq, seq, chain, blocker, outcome, unpark, waker, ..Park::default() };
        self.events.push(Event::Park(park));
    }

    /// Two threads are blocked on a lock for `ms` each.
    fn lock(&mut self, ms: u64) {
        self.lock_in(ms, 3);
    }

    /// The same, with this call chain.
    fn lock_in(&mut self, ms: u64, chain: u64) {
        let (lock, chain) = (LockId(2), ChainId(chain));
        for (seq, thread) in [(1, 7), (2, 8)] {
            let (seq, thread, owner) = (Seq(seq), ThreadId(thread), ThreadId(9));
            let enter = MonitorEnter { time: at(0), thread, lock, seq, owner, chain };
            self.events.push(Event::MonitorEnter(enter));
        }
        let exit = MonitorExit { time: at(ms), thread: ThreadId(9), lock, seq: Seq(3), chain, ..Default::default() };
        self.events.push(Event::MonitorExit(exit));
        for (seq, thread) in [(4, 7), (5, 8)] {
            let (time, start, seq, thread) = (at(ms), at(0), Seq(seq), ThreadId(thread));
            let entered = MonitorEntered { time, start, thread, lock, seq, chain, ..Default::default() };
            self.events.push(Event::MonitorEntered(entered));
        }
    }

    fn report(&self) -> Report {
        self.report_with(Options::default())
    }

    fn report_with(&self, options: Options) -> Report {
        let mut analysis = Analysis::new(options);
        self.events.iter().for_each(|event| analysis.feed(event));
        analysis.feed(&Event::Watermark(at(1_000)));
        analysis.finish()
    }
}

fn only(report: &Report) -> &WaitSite {
    let [site] = &report.waits[..] else { panic!("{:?}", report.waits) };
    site
}

const POOL: &str = "j.LinkedBlockingQueue.take com.acme.Pool.getConnection com.acme.Db.handleRequest \
                    com.acme.Server.run java.lang.Thread.run";
const RETURN: &str = "j.LinkedBlockingQueue.offer java.util.AbstractQueue.add com.acme.Pool.giveBack \
                      com.acme.Db.handleRequest com.acme.Server.run";

/// Six threads share a pool: 3.6 s of waiting against 0.2 s of a lock.
fn exhausted() -> Waiting {
    let mut waiting = Waiting::new(POOL, RETURN);
    waiting.lock(100);
    for waiter in 1..=6 {
        for round in 0..3 {
            let from = 100 + 300 * round;
            waiting.wait(waiter, from, from + 200, Some(waiter % 6 + 1));
        }
    }
    waiting
}

#[test]
fn waiting_for_a_pool_ranks_with_locks_by_its_time() {
    let report = exhausted().report();
    let site = only(&report);
    assert_eq!((site.entry, site.idle), (EntryKind::WaitPermit, false));
    let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::Waiting, FindingKind::HotLock], "{:?}", report.findings);
    assert_eq!((report.findings[0].cost_ns / MS, report.findings[1].cost_ns / MS), (3_600, 200));
    assert_eq!(report.ledger.ns(EntryKind::WaitPermit), 3_600 * MS);
}

#[test]
fn what_virtual_threads_waited_is_no_part_of_the_active_thread_time() {
    let with_virtual = |threads: std::ops::RangeInclusive<u64>| {
        let mut waiting = exhausted();
        threads.for_each(|id| is_virtual(&mut waiting, id, &format!("exec-{id}")));
        let report = waiting.report();
        let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::Waiting).expect("a finding");
        let says_part = |text: &str| text.contains("of the active thread time");
        (finding.share.is_some(), says_part(&finding.text), says_part(&report.verdict))
    };
    assert_eq!(with_virtual(1..=6), (false, false, false));
    assert_eq!(with_virtual(1..=2), (true, true, true), "most are platform threads");
}

#[test]
fn who_gave_it_back_is_named_and_not_the_plumbing() {
    let report = exhausted().report();
    let text = &report.findings[0].text;
    assert_eq!(
        text,
        "6 threads `exec-*` waited 3.60 s (40 % of the active thread time) in `Pool.getConnection`, called from \
         `Db.handleRequest`, for a permit or pooled object that another thread of the same group returns (a blocking queue). There were 18 waits, \
         mean 200 ms. Waiting threads were woken by `Db.handleRequest` in `exec-*` (100 % of the waiting time)."
    );
    let evidence = &report.findings[0].evidence[0];
    assert_eq!((evidence.what.as_str(), evidence.ns / MS), ("wait-permit", 3_600));
}

#[test]
fn what_of_the_waiting_time_had_not_ended_is_said() {
    let mut waiting = exhausted();
    let begin = ParkBegin {
        time: at(200),
        thread: ThreadId(8),
        seq: waiting.next(),
        chain: ChainId(1),
        blocker: LockId(1),
        ..ParkBegin::default()
    };
    waiting.events.push(Event::ParkBegin(begin));
    let report = waiting.report();
    assert_eq!(only(&report).in_flight, 1);
    let text = &report.findings[0].text;
    assert!(
        text.contains(". Waiting threads were woken by `Db.handleRequest` in `exec-*` (82 % of the waiting time)."),
        "{text}"
    );
    assert!(text.contains("18 % of the time belongs to waits that had not ended when the recording ended."), "{text}");
}

/// A pool made with `wait` and `notify`: who notifies leaves the monitor with one of these stacks (6 or 7)
/// in each round.
fn notified_from(rounds: &[u64]) -> Report {
    let mut waiting = Waiting::new(POOL, RETURN);
    let mut naming = Naming::new();
    naming.chain(5, "java.lang.Object.wait com.acme.Pool.take com.acme.Pool.use com.acme.Server.run", 1);
    naming.chain(6, "com.acme.Pool.giveBack com.acme.Pool.use com.acme.Server.run", 1);
    naming.chain(7, "com.acme.Pool.reset com.acme.Admin.clear com.acme.Server.run", 1);
    waiting.events.extend(naming.events.into_iter().map(|event| renumbered(event, 2_000)));
    let (lock, wait_chain) = (LockId(2), ChainId(5));
    let mut seq = 0;
    let mut next = || {
        seq += 1;
        Seq(seq)
    };
    for (round, exit_chain) in (0..).zip(rounds) {
        let (start, time) = (at(100 * round), at(100 * round + 90));
        let exit_chain = ChainId(*exit_chain);
        let (waiter, notifier) = (ThreadId(1 + round % 4), ThreadId(1 + (round + 1) % 4));
        let wait =
            MonitorWait { time: start, thread: waiter, lock, seq: next(), chain: wait_chain, ..Default::default() };
        let notify = MonitorNotify { time, thread: notifier, waiter, lock, seq: next() };
        let exit = MonitorExit { time, thread: notifier, lock, seq: next(), chain: exit_chain, ..Default::default() };
        let outcome = WaitOutcome::Notified;
        let timeout = Default::default();
        let waited = MonitorWaited {
            time,
            start,
            thread: waiter,
            lock,
            seq: next(),
            chain: wait_chain,
            timeout,
            outcome,
            notifier,
        };
        // Threads' buffers are collected in any order.
        let events = [
            Event::MonitorWait(wait),
            Event::MonitorWaited(waited),
            Event::MonitorNotify(notify),
            Event::MonitorExit(exit),
        ];
        waiting.events.extend(events);
        waiting.events.push(Event::Watermark(at(100 * round + 95)));
    }
    waiting.report()
}

/// The finding about waiting.
fn about_waiting(report: &Report) -> &Finding {
    report.findings.iter().find(|one| one.kind == FindingKind::Waiting).expect("a finding about waiting")
}

/// Nobody walks the notifier's stack at the notify, but it is walked as the notifier leaves the monitor.
#[test]
fn who_notified_is_named_by_the_stack_with_which_it_left_the_monitor() {
    let report = notified_from(&[6; 6]);
    let finding = about_waiting(&report);
    let text = &finding.text;
    assert!(
        text.contains(
            "Waiting threads were woken by `Pool.giveBack`, called from `Pool.use`, in `exec-*` (100 % of the waiting time)"
        ),
        "{text}"
    );
    let ended = finding.stacks.iter().find(|stack| stack.whose == "ended by").expect("who ended it");
    assert_eq!(ended.frames[0], "com.acme.Pool.giveBack:1");
}

/// What others ended is not counted for the method that ended most.
#[test]
fn the_method_that_ended_most_waits_has_only_its_own_share() {
    let report = notified_from(&[6, 7, 6, 7, 6, 7, 6, 6]);
    let text = &about_waiting(&report).text;
    assert!(
        text.contains(
            "Waiting threads were woken by `Pool.giveBack`, called from `Pool.use`, in `exec-*` (62 % of the waiting time)"
        ),
        "{text}"
    );
}

/// The same definitions for methods of other numbers.
fn renumbered(event: Event, by: u64) -> Event {
    match event {
        Event::Method(id, method) => Event::Method(headway_model::MethodId(id.0 + by), method),
        Event::Chain(def) => {
            let mut def = (*def).clone();
            def.chain.frames.iter_mut().for_each(|frame| frame.method.0 += by);
            Event::Chain(std::sync::Arc::new(def))
        }
        other => other,
    }
}

/// What `thread` does at a moment, while others wait where chain 1 says.
fn seen(waiting: &mut Waiting, thread: u64, ms: u64, stack: u64) {
    let sample = Sample {
        time: at(ms),
        thread: ThreadId(thread),
        chain: ChainId(stack),
        state: SampleState::Waiting,
        weight: DurationNs(20 * MS),
        cpu: None,
    };
    let (lock, waiter_chain) = (LockId(1), ChainId(1));
    waiting.events.push(Event::OwnerSample(OwnerSample { sample, lock, waiter_chain, waiters: 4 }));
}

fn defined(waiting: &mut Waiting, chains: &[(u64, &str)]) {
    let mut naming = Naming::new();
    chains.iter().for_each(|(id, frames)| naming.chain(*id, frames, 1));
    let from = waiting.events.iter().position(|event| matches!(event, Event::ParkBegin(_))).unwrap_or(0);
    let named: Vec<Event> = naming.events.into_iter().map(|event| renumbered(event, 3_000)).collect();
    waiting.events.splice(from..from, named);
}

/// Leaves out where threads that wait begin: then their stack has the root of what returns.
fn with_the_root_of_waits(event: &mut Event) {
    let Event::Chain(def) = event else { return };
    if def.id == ChainId(1) {
        let mut def_of_waits = (**def).clone();
        def_of_waits.chain.frames.pop();
        *def = std::sync::Arc::new(def_of_waits);
    }
}

#[test]
fn what_they_did_that_had_a_connection_is_told_from_what_they_did_without() {
    let mut waiting = exhausted();
    let (with, without) = (
        "java.lang.Thread.sleep com.acme.Remote.call com.acme.Db.handleRequest com.acme.Server.run",
        "java.lang.Thread.sleep com.acme.Elsewhere.idle com.acme.Server.run",
    );
    // The stack of returning has the same root here.
    defined(&mut waiting, &[(7, with), (8, without)]);
    for sample in 0..20 {
        seen(&mut waiting, 1 + sample % 6, 100 + sample, if sample < 12 { 7 } else { 8 });
    }
    waiting.events.iter_mut().for_each(with_the_root_of_waits);
    let report = waiting.report();
    let text = &report.findings[0].text;
    let did =
        "For 100 % of the sampled time (12 samples), the threads that had one (`exec-*`) were in `Thread.sleep`, called from \
               `Remote.call`.";
    assert!(text.ends_with(did), "{text}");
    let evidence = report.findings[0].evidence.iter().find(|evidence| evidence.what == "samples").expect("evidence");
    assert_eq!((evidence.ns, evidence.share), (240 * MS, Some(1.0)));
}

/// Permits that are not returned: those that had one at the beginning are not what threads wait for.
#[test]
fn what_they_did_that_seldom_had_one_is_not_what_others_waited_for() {
    let verdict = |seen_ms: u64| {
        let mut waiting = exhausted();
        let with = "java.lang.Thread.sleep com.acme.Remote.call com.acme.Db.handleRequest com.acme.Server.run";
        defined(&mut waiting, &[(7, with)]);
        (0..20).for_each(|sample| seen(&mut waiting, 1 + sample % 6, 100 + sample, 7));
        waiting.events.iter_mut().for_each(|event| {
            with_the_root_of_waits(event);
            if let Event::OwnerSample(seen) = event {
                seen.sample.weight = DurationNs(seen_ms * MS / 20);
            }
        });
        let report = waiting.report();
        (report.verdict, report.findings[0].text.clone())
    };
    let said = "The threads that had one were mostly in `Thread.sleep`, called from `Remote.call`.";
    assert!(verdict(300).0.ends_with(said), "{:?}", verdict(300));
    let (verdict, text) = verdict(60);
    assert!(!verdict.contains("Thread.sleep"), "{verdict}");
    assert!(text.contains("(20 samples, which cover 10 % of the time)"), "{text}");
}

/// What a few did that ended waits says nothing of the many others that did.
#[test]
fn what_a_minority_did_is_not_said() {
    let mut waiting = exhausted();
    let with = "java.lang.Thread.sleep com.acme.Remote.call com.acme.Db.handleRequest com.acme.Server.run";
    defined(&mut waiting, &[(7, with)]);
    (0..20).for_each(|sample| seen(&mut waiting, 1 + sample % 6, 100 + sample, 7));
    waiting.events.iter_mut().for_each(with_the_root_of_waits);
    let says = |waiting: &Waiting| waiting.report().findings[0].text.contains("the threads that had one");
    assert!(says(&waiting));
    // Two of three waits are ended by a thread of another kind.
    let mut ended = 0;
    for event in &mut waiting.events {
        match event {
            Event::Unpark(unpark) => {
                ended += 1;
                unpark.thread = if ended % 3 == 0 { unpark.thread } else { ThreadId(9) };
            }
            Event::Park(park) if ended % 3 != 0 => park.waker = ThreadId(9),
            _ => {}
        }
    }
    assert!(ended > 5 && !says(&waiting));
}

/// Who acquires a permit of a semaphore wakes the next waiter, too, from within `acquire`.
#[test]
fn who_passes_a_permit_on_as_it_acquires_one_returned_nothing_there() {
    let waits = "j.Semaphore.acquire com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let wakes = "AQS.acquireShared j.Semaphore.acquire com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let mut waiting = Waiting::new(waits, wakes);
    (1..=4).for_each(|waiter| waiting.wait(waiter, 100, 700, Some(waiter % 4 + 1)));
    let report = waiting.report();
    let text = &report.findings[0].text;
    assert!(text.contains("Waiting threads were woken by `Gate.pass` in `exec-*` ("), "{text}");
}

#[test]
fn what_the_maker_of_results_did_is_named_where_nobody_calls_it_as_it_hands_them_over() {
    let waits = "j.CompletableFuture.join com.acme.Quotes.serve java.lang.Thread.run";
    let wakes = "j.CompletableFuture.postComplete j.ThreadPoolExecutor.runWorker java.lang.Thread.run";
    let mut waiting = Waiting::new(waits, wakes);
    for round in 0..10 {
        (1..=3).for_each(|waiter| waiting.wait(waiter, round * 90, round * 90 + 80, Some(9)));
    }
    let computes = "java.lang.Thread.sleep com.acme.Quotes.compute j.ThreadPoolExecutor.runWorker java.lang.Thread.run";
    defined(&mut waiting, &[(7, computes)]);
    // Each thread waited for 800 ms: a quarter of that, in few samples, says nothing of the rest.
    (0..10).for_each(|sample| seen(&mut waiting, 9, 100 + sample, 7));
    assert!(!waiting.report().findings[0].text.contains("Thread.sleep"));
    (10..20).for_each(|sample| seen(&mut waiting, 9, 100 + sample, 7));
    let report = waiting.report();
    let text = &report.findings[0].text;
    let did =
        " of the waiting time). For 100 % of the sampled time (20 samples), thread `other` was in `Thread.sleep`, called from `Quotes.compute`.";
    assert!(text.ends_with(did), "{text}");
}

/// The JDK of 17 waits for references by `Object.wait`, that of 25 by a park: both are left out.
#[test]
fn waits_of_service_threads_are_left_out_however_they_wait() {
    let mut waiting = Waiting::new(POOL, RETURN);
    let group = "InnocuousThreadGroup".into();
    let (id, name) = (ThreadId(20), "Common-Cleaner".into());
    waiting.events.push(Event::Thread(ThreadDef { id, name, group, is_service: true, ..ThreadDef::default() }));
    waiting.wait(20, 100, 400, Some(9));
    for (thread, ms) in [(20, 300), (1, 200)] {
        let waited = MonitorWaited {
            time: at(400 + ms),
            start: at(400),
            thread: ThreadId(thread),
            lock: LockId(2),
            seq: waiting.next(),
            chain: ChainId(3),
            ..Default::default()
        };
        waiting.events.push(Event::MonitorWaited(waited));
    }
    let report = waiting.report();
    let site = only(&report);
    assert_eq!((site.count, site.total_ns / MS), (1, 200));
}

#[test]
fn the_owner_of_a_lock_is_seen_at_work() {
    let mut waiting = Waiting::new(POOL, RETURN);
    waiting.lock(500);
    defined(&mut waiting, &[(7, "java.lang.Thread.sleep com.acme.Remote.call com.acme.Small.update com.acme.Server.handle java.lang.Thread.run")]);
    (0..20).for_each(|sample| seen(&mut waiting, 9, 20 * sample, 7));
    let report = waiting.report();
    let finding = &report.findings[0];
    let did =
        "While `Small.update` blocked others, it was in `Thread.sleep`, called from `Remote.call`, for 100 % of the sampled \
         time (20 samples, which cover 80 % of the time for which it blocked others).";
    assert!(finding.text.ends_with(did), "{}", finding.text);
    assert_eq!(report.owner_activity[0].coverage, 0.8);
    assert!(report.samples.is_none(), "no profile: others were not sampled");
}

#[test]
fn a_loop_that_is_given_work_is_idle_however_many_frames_it_has() {
    let frames = "j.LinkedBlockingQueue.poll com.acme.Loop.pollQueue com.acme.Loop.next com.acme.Loop.dispatch \
                  com.acme.Loop.run java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.LinkedBlockingQueue.offer com.acme.Ticker.tick");
    for round in 0..10 {
        waiting.wait(1, 100 * round, 100 * round + 90, (round > 0).then_some(9));
    }
    let report = waiting.report();
    assert!(only(&report).idle);
    assert_eq!(report.findings.iter().filter(|finding| finding.kind == FindingKind::Waiting).count(), 0);
    assert_eq!(report.ledger.ns(EntryKind::WaitWork), 900 * MS);
}

/// Gives the waits of one thread another stack.
fn waits_with(waiting: &mut Waiting, waiter: u64, frames: &str) {
    let mut naming = Naming::new();
    naming.chain(4, &format!("{PARK} {frames}"), 1);
    let first = waiting.events.iter().position(|event| matches!(event, Event::ParkBegin(_))).unwrap();
    for event in &mut waiting.events {
        match event {
            Event::ParkBegin(e) if e.thread == ThreadId(waiter) => e.chain = ChainId(4),
            Event::Park(e) if e.thread == ThreadId(waiter) => e.chain = ChainId(4),
            _ => {}
        }
    }
    waiting.events.splice(first..first, naming.events.into_iter().map(|event| renumbered(event, 1_000)));
}

#[test]
fn a_client_waits_for_what_it_asked_for_and_its_server_for_work() {
    let frames = "j.LinkedBlockingQueue.take com.acme.Channel.receive java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.LinkedBlockingQueue.offer com.acme.Channel.send");
    // Three clients ask one server, and wait for its answers near their roots.
    for round in 0..9 {
        let (client, begin) = (1 + round % 3, 100 * round);
        waiting.wait(9, begin, begin + 10, Some(client));
        waiting.wait(client, begin + 10, begin + 95, Some(9));
    }
    // The stack is the same, and two sites need two stacks.
    waits_with(&mut waiting, 9, "j.LinkedBlockingQueue.take com.acme.Channel.serve java.lang.Thread.run");
    let report = waiting.report();
    let idle: Vec<(&str, bool)> = report.waits.iter().map(|site| (site.method.as_str(), site.idle)).collect();
    assert_eq!(idle, [("com.acme.Channel.receive", false), ("com.acme.Channel.serve", true)]);
}

/// A thread that gave work and once waited for a worker is no client of the workers.
#[test]
fn workers_stay_idle_though_one_thread_once_waited_for_them() {
    let frames = "j.LinkedBlockingQueue.take com.acme.Pool$Worker.next java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.LinkedBlockingQueue.offer com.acme.Pool.submit");
    waiting.events.insert(3, thread(10, "main"));
    waiting.wait(10, 0, 50, Some(1));
    for round in 0..30 {
        let (worker, begin) = (1 + round % 3, 60 + 30 * round);
        waiting.wait(worker, begin, begin + 25, Some(if round == 0 { 10 } else { 9 }));
    }
    waits_with(
        &mut waiting,
        10,
        "j.FutureTask.get com.acme.Start.pool com.acme.Start.all com.acme.Start.run com.acme.Start.main",
    );
    let report = waiting.report();
    let workers = report.waits.iter().find(|site| site.method == "com.acme.Pool$Worker.next").expect("a site");
    assert!(workers.idle, "{:?}", report.waits);
}

/// More workers than threads that give them work and wait until it is done: the workers are idle, not clients.
#[test]
fn workers_are_idle_though_there_are_more_of_them_than_of_those_that_wait_for_them() {
    let frames = "j.LinkedBlockingQueue.take com.acme.Server.work java.lang.Thread.run";
    let asks = "j.CountDownLatch.await com.acme.Shop.order com.acme.Shop.serve com.acme.Shop.run java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.LinkedBlockingQueue.offer com.acme.Shop.order");
    for round in 0..12 {
        let (worker, begin) = (1 + round % 4, 80 * round);
        waiting.wait(worker, begin, begin + 70, Some(9));
        waiting.wait(9, begin + 70, begin + 75, Some(worker));
    }
    waits_with(&mut waiting, 9, asks);
    let report = waiting.report();
    let workers = report.waits.iter().find(|site| site.method == "com.acme.Server.work").expect("a site");
    assert!(workers.idle, "{:?}", report.waits);
    assert_eq!(report.findings.iter().filter(|finding| finding.kind == FindingKind::Waiting).count(), 0);
}

#[test]
fn of_waits_in_a_library_the_application_that_called_it_is_named() {
    let waits = "org.apache.http.Future.get org.apache.http.Pool.lease org.apache.http.Client.execute \
                 com.acme.Weather.ask com.acme.Server.run java.lang.Thread.run";
    let wakes = "org.apache.http.Future.completed org.apache.http.Pool.release org.apache.http.Client.execute \
                 com.acme.Weather.ask com.acme.Server.run java.lang.Thread.run";
    let text = |library: &str| {
        let (waits, wakes) = (waits.replace("org.apache.http", library), wakes.replace("org.apache.http", library));
        let mut waiting = Waiting::new(&waits, &wakes);
        (1..=4).for_each(|waiter| waiting.wait(waiter, 100, 700, Some(waiter % 4 + 1)));
        waiting.report().findings[0].text.clone()
    };
    let of_library = text("org.apache.http");
    assert!(of_library.contains("in `Future.get`, called through a library from `Weather.ask`"), "{of_library}");
    assert!(of_library.contains("Waiting threads were woken by `Weather.ask` in `exec-*` ("), "{of_library}");
    let of_application = text("com.acme.http");
    assert!(of_application.contains("in `Future.get`, called from `Pool.lease`"), "{of_application}");
}

/// A chain that is renumbered, so that it can stand beside those of [`Waiting::new`].
fn one_more_chain(waiting: &mut Waiting, frames: &str) {
    let mut naming = Naming::new();
    naming.chain(4, frames, 1);
    waiting.events.extend(naming.events.into_iter().map(|event| renumbered(event, 1_000)));
}

#[test]
fn of_a_lock_in_a_library_the_application_that_called_it_is_named() {
    let mut waiting = Waiting::new(POOL, RETURN);
    let print = "java.io.PrintStream.writeln java.io.PrintStream.println com.acme.Access.log com.acme.Server.handle";
    one_more_chain(&mut waiting, &format!("{print} java.lang.Thread.run"));
    waiting.lock_in(600, 4);
    let report = waiting.report();
    let text = &report.findings[0].text;
    assert!(text.contains("blocked on `Small.lock` in `Access.log`. `PrintStream.writeln` owned it"), "{text}");
    assert!(text.contains("called through a library from `Access.log` in thread `other`"), "{text}");
    assert!(report.verdict.contains("blocked on `Small.lock` in `Access.log`. "), "{}", report.verdict);
    let mut of_application = Waiting::new(POOL, RETURN);
    of_application.lock(600);
    let verdict = of_application.report().verdict;
    assert!(verdict.contains("blocked on `Small.lock`. "), "{verdict}");
}

#[test]
fn what_the_owner_of_a_lock_waited_for_is_in_its_finding() {
    // One result after the other, while two threads are blocked on the owner's lock.
    let verdict_of = |wait_ms: u64| {
        let asks = "j.FutureTask.get com.acme.Small.update com.acme.Server.handle com.acme.Server.serve \
                    com.acme.Server.work com.acme.Server.run java.lang.Thread.run";
        let mut waiting = Waiting::new(asks, "j.FutureTask.run com.acme.Journal.run java.lang.Thread.run");
        let defined = waiting.events.len();
        waiting.lock(600);
        let (enters, releases): (Vec<Event>, Vec<Event>) =
            waiting.events.split_off(defined).into_iter().partition(|event| matches!(event, Event::MonitorEnter(_)));
        waiting.events.extend(enters);
        for task in 100..125 {
            let begin = 23 * (task - 99);
            waiting.events.push(lock(task, "java.util.concurrent.FutureTask", task as u32, ""));
            let first = waiting.events.len();
            waiting.wait(9, begin, begin + wait_ms, Some(1));
            for event in waiting.events.iter_mut().skip(first) {
                match event {
                    Event::ParkBegin(park) => park.blocker = LockId(task),
                    Event::Park(park) => park.blocker = LockId(task),
                    _ => {}
                }
            }
        }
        waiting.events.extend(releases);
        let report = waiting.report();
        (report.findings[0].text.clone(), report.verdict)
    };
    let (text, verdict) = verdict_of(20);
    let by = "Thread `exec-1` ended these waits.";
    let waited = format!("its owner was itself blocked or waiting, mostly in `Small.update` for a result. {by}");
    assert!(text.ends_with(&waited), "{text}");
    let waited = format!("owned it for 100 % of that time, mostly waiting for a result itself. {by}");
    assert!(verdict.ends_with(&waited), "{verdict}");
    let (text, verdict) = verdict_of(1);
    assert!(!text.contains("waiting") && !verdict.contains("waiting"), "{text} {verdict}");
}

/// A thread that waits on a new object each time waits for that one thing.
#[test]
fn an_object_for_each_request_is_not_where_work_comes_from() {
    let frames = "j.LinkedBlockingQueue.take com.acme.Request.await java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.LinkedBlockingQueue.offer com.acme.Server.complete");
    for round in 0..10 {
        waiting.wait(1, 100 * round, 100 * round + 90, Some(9));
    }
    let idle = waiting.report();
    assert!(only(&idle).idle, "one object always");
    let mut blocker = 10;
    for event in &mut waiting.events {
        match event {
            Event::ParkBegin(e) => e.blocker = LockId(blocker),
            Event::Park(e) => {
                e.blocker = LockId(blocker);
                blocker += 1;
            }
            _ => {}
        }
    }
    waiting.events.splice(1..1, (10..20).map(|id| lock(id, CONDITION, 0, "")));
    let report = waiting.report();
    assert!(!only(&report).idle, "{:?}", report.waits);
    assert_eq!(report.findings[0].cost_ns, 900 * MS);
}

#[test]
fn bins_of_a_map_and_what_a_collection_returns_have_no_misleading_name() {
    let mut waiting = Waiting::new(POOL, RETURN);
    waiting.lock(100);
    let name = |class: &str, name: &str, waiting: &Waiting| {
        let mut analysis = Analysis::new(Options::default());
        waiting.events.iter().for_each(|event| analysis.feed(event));
        analysis.feed(&lock(2, class, 0xa, name));
        analysis.feed(&Event::Watermark(at(1_000)));
        analysis.finish().locks[0].lock.clone()
    };
    let bin = name("java.util.concurrent.ConcurrentHashMap$ReservationNode", "ConcurrentHashMap.tabAt()", &waiting);
    assert!(bin.starts_with("bin of a ConcurrentHashMap"), "{bin}");
    let deque = name("java.util.ArrayDeque", "ConcurrentMap.computeIfAbsent()", &waiting);
    assert_eq!(deque, "java.util.ArrayDeque@a");
    assert_eq!(name("com.acme.Lock", "Registry.lock()", &waiting), "Registry.lock() (com.acme.Lock@a)");
}

#[test]
fn who_finds_a_buffer_full_waits_for_room() {
    let frames = "j.ArrayBlockingQueue.put com.acme.Log.append com.acme.Server.handle java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.ArrayBlockingQueue.take com.acme.Log.write");
    for producer in 1..=4 {
        waiting.wait(producer, 100, 700, Some(9));
    }
    let report = waiting.report();
    assert_eq!(only(&report).entry, EntryKind::WaitPermit);
    let text = &report.findings[0].text;
    assert!(text.contains("in `Log.append`, called from `Server.handle`, for room in a blocking queue."), "{text}");
    assert!(text.contains("Waiting threads were woken by `Log.write` in `other` ("), "{text}");
}

/// A method of the class that waits only passes on what happened.
#[test]
fn the_table_of_waits_names_who_ended_them_as_the_finding_does() {
    let frames = "j.ArrayBlockingQueue.put com.acme.Log.append com.acme.Server.handle java.lang.Thread.run";
    let mut waiting = Waiting::new(frames, "j.ArrayBlockingQueue.take com.acme.Log.next com.acme.Writer.flush");
    (1..=4).for_each(|producer| waiting.wait(producer, 100, 700, Some(9)));
    let report = waiting.report();
    let text = &report.findings[0].text;
    assert!(text.contains("Waiting threads were woken by `Writer.flush` in `other` ("), "{text}");
    assert_eq!(report.waits[0].wakers[0].method, "com.acme.Writer.flush");
}

/// A rate limiter of the middle of work, far from the thread's root.
const LIMITER: &str = "com.acme.Limiter.acquire com.acme.Api.call com.acme.Orders.send com.acme.Orders.handle \
                       com.acme.Server.serve com.acme.Server.loop com.acme.Server.run java.lang.Thread.run";

#[test]
fn time_that_several_wait_for_is_a_finding_and_a_schedule_of_one_is_none() {
    let report = |threads: u64| {
        let mut waiting = Waiting::new(LIMITER, RETURN);
        for round in 0..3 {
            (1..=threads).for_each(|waiter| waiting.wait(waiter, round * 300, round * 300 + 290, None));
        }
        waiting.report()
    };
    assert_eq!(only(&report(1)).entry, EntryKind::WaitTime);
    let about_waits = |report: &Report| report.findings.iter().any(|finding| finding.kind == FindingKind::Waiting);
    assert_eq!((about_waits(&report(1)), about_waits(&report(4))), (false, true));
}

/// A virtual thread sleeps: it parks, and has no stack to sample meanwhile.
fn sleeps(waiting: &mut Waiting, thread: u64, (from, to): (u64, u64), stack: u64) {
    let (thread, chain, start_seq) = (ThreadId(thread), ChainId(stack), waiting.next());
    let begin = ParkBegin { time: at(from), thread, seq: start_seq, chain, ..ParkBegin::default() };
    waiting.events.push(Event::ParkBegin(begin));
    let (start, time, seq, outcome) = (at(from), at(to), waiting.next(), ParkOutcome::TimedOut);
    let park = Park { time, start, thread, start_seq, seq, chain, outcome, ..Park::default() };
    waiting.events.push(Event::Park(park));
}

fn is_virtual(waiting: &mut Waiting, id: u64, name: &str) {
    let def = ThreadDef { id: ThreadId(id), name: name.into(), is_virtual: true, ..ThreadDef::default() };
    waiting.events.push(Event::Thread(def));
}

#[test]
fn what_an_unmounted_virtual_thread_does_with_a_lock_is_the_stack_with_which_it_parked() {
    let slept = |with_lock: &str| {
        let mut waiting = Waiting::new(POOL, RETURN);
        is_virtual(&mut waiting, 9, "other");
        let frames = "java.lang.VirtualThread.sleepNanos java.lang.Thread.sleep com.acme.Remote.call";
        defined(&mut waiting, &[(7, &format!("{frames} {with_lock} com.acme.Server.handle java.lang.Thread.run"))]);
        sleeps(&mut waiting, 9, (20, 480), 7);
        waiting.lock(500);
        waiting.report()
    };
    let report = slept("com.acme.Small.update");
    let finding = &report.findings[0];
    let did = "While `Small.update` blocked others, it was in `Thread.sleep`, called from `Remote.call`, for 92 % of the time.";
    assert!(finding.text.ends_with(did), "{}", finding.text);
    let evidence = finding.evidence.iter().find(|evidence| evidence.what == "parks").expect("evidence");
    assert_eq!((evidence.ns / MS, evidence.quality, evidence.coverage), (920, Quality::Exact, Some(0.92)));
    let activity = &report.owner_activity[0];
    assert_eq!((activity.coverage, activity.parked_ns / MS, activity.waiting_ns / MS), (0.92, 920, 920));
    assert_eq!(report.ledger.ns(EntryKind::LockOwnerOffCpu), 920 * MS);
    assert_eq!(report.ledger.ns(EntryKind::LockUnknown), 80 * MS);
    // Elsewhere than in the frame that owns the lock it says nothing of the critical section.
    let elsewhere = slept("com.acme.Other.method");
    assert!(!elsewhere.findings[0].text.contains("Thread.sleep"), "{}", elsewhere.findings[0].text);
    assert!(elsewhere.owner_activity.is_empty(), "{:?}", elsewhere.owner_activity);
}

#[test]
fn what_unmounted_virtual_threads_do_with_permits_is_seen_while_others_wait_for_them() {
    let wakes = "j.Semaphore.release com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let waits = "j.Semaphore.acquire com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let mut waiting = Waiting::new(waits, wakes);
    let (with, without) = (
        "java.lang.VirtualThread.sleepNanos java.lang.Thread.sleep com.acme.Remote.call com.acme.Gate.pass \
         com.acme.Server.run java.lang.Thread.run",
        "java.lang.VirtualThread.sleepNanos java.lang.Thread.sleep com.acme.Server.run java.lang.Thread.run",
    );
    defined(&mut waiting, &[(7, with), (8, without)]);
    (1..=6).for_each(|id| is_virtual(&mut waiting, id, &format!("exec-{id}")));
    // One after the other has the permit for 90 ms, for which the next one waits; the first of them pauses then.
    for turn in 0..8 {
        let (had_by, next) = (turn % 6 + 1, (turn + 1) % 6 + 1);
        sleeps(&mut waiting, had_by, (100 * turn, 100 * turn + 90), 7);
        waiting.wait(next, 100 * turn, 100 * turn + 95, Some(had_by));
    }
    sleeps(&mut waiting, 5, (850, 990), 8);
    let report = waiting.report();
    let text = &report.findings[0].text;
    let did = "samples), the threads that had one (`exec-*`) were in `Thread.sleep`, called from `Remote.call`.";
    assert!(text.ends_with(did), "{text}");
}

/// Each lived for a moment, which is not recorded.
#[test]
fn the_waits_of_many_virtual_threads_are_a_finding_though_each_of_them_waited_shortly() {
    let mut waiting = Waiting::new(POOL, RETURN);
    let ids = 100..300;
    ids.clone().for_each(|id| is_virtual(&mut waiting, id, &format!("task-{id}")));
    ids.for_each(|id| waiting.wait(id, 4 * (id - 100), 4 * (id - 100) + 10, Some(100)));
    let report = waiting.report();
    let finding = &report.findings[0];
    assert_eq!((finding.kind, finding.cost_ns / MS), (FindingKind::Waiting, 2_000), "{}", finding.text);
}
