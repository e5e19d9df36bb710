//! What reports say about parks: findings, chains of owners, deadlocks,
//! stragglers, kinds.

use crate::queued::Naming;
use crate::story::{lock, recording, thread};
use headway_analysis::ledger::EntryKind;
use headway_analysis::park::Synchronizer;
use headway_analysis::report::{FindingKind, Report, Row};
use headway_analysis::{Analysis, Aspect, Options};
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, MethodId, Seq, ThreadId, TimeNs};

mod circles;
mod in_between;
mod never_ended;
mod never_released;

const MS: u64 = 1_000_000;
const SYNC: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
const CONDITION: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";

/// Chains by what they do.
const SELL: u64 = 1;
const SCAN: u64 = 2;
const LOAD: u64 = 3;
const ENTER: u64 = 4;
const EXIT: u64 = 5;
const BARRIER: u64 = 6;
const TRIP: u64 = 7;
const TAKE: u64 = 8;
const OFFER: u64 = 9;
const MUTEX: u64 = 10;
const MUTEX_UNLOCK: u64 = 11;
const GATE: u64 = 12;
const LATCH: u64 = 13;
const COUNT_DOWN: u64 = 14;
const CHECK_OUT: u64 = 15;
const CHECK_IN: u64 = 16;
const REFURBISH: u64 = 17;
const HELP: u64 = 18;
const POLL: u64 = 19;
const AUDIT: u64 = 20;
const TOMCAT: u64 = 21;
const JETTY: u64 = 22;
const JETTY_RESERVED: u64 = 23;
const NETTY: u64 = 24;
const ACCEPT: u64 = 25;
const POST: u64 = 26;
const FLUSH: u64 = 27;
const RESULT: u64 = 28;
const OWN_LOOP: u64 = 29;
const LIMITED: u64 = 30;
const THROTTLED: u64 = 31;
const UNLOCK: u64 = 32;

/// Threads' events, times in milliseconds.
struct Script {
    events: Vec<Event>,
    parks: u64,
    monitors: std::collections::BTreeMap<u64, u64>,
}

fn at(ms: u64) -> TimeNs {
    TimeNs((1_000 + ms) * MS)
}

impl Script {
    fn new() -> Script {
        let mut events = vec![recording(at(0))];
        events.extend((1..=6).map(|id| thread(id, &format!("worker-{id}"))));
        events.push(thread(9, "loader"));
        events.push(lock(1, SYNC, 0xa1, "Inventory.lock"));
        events.push(lock(2, SYNC, 0xa2, "Cache.lock"));
        events.push(lock(3, "com.acme.Ledger", 0xa3, "Ledger.lock"));
        events.push(lock(4, CONDITION, 0xa4, "Grid.barrier"));
        events.push(lock(5, "com.acme.Mutex$Sync", 0xa5, ""));
        events.extend((1..=6).map(|id| thread(20 + id, &format!("part-{id}"))));
        events.push(lock(40, CONDITION, 0xc0, ""));
        events.extend((41_u32..47).map(|id| lock(id.into(), "java.util.concurrent.FutureTask", 0xc0 + id, "")));
        events.extend((6..30).map(|id| lock(id.into(), "java.util.concurrent.CountDownLatch$Sync", 0xa0 + id, "")));
        let mut naming = Naming::new();
        let park = "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park";
        let unpark = "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark";
        let queue = "AQS.acquire AQS.acquire j.locks.ReentrantLock.lock";
        let leave = "AQS.signalNext AQS.release j.locks.ReentrantLock.unlock";
        let awaits = "AQS$ConditionNode.block j.ForkJoinPool.managedBlock AQS$ConditionObject.await";
        for (id, frames) in [
            (SELL, format!("{park} {queue} com.acme.Shop.sell com.acme.Server.handle java.lang.Thread.run")),
            (SCAN, format!("{unpark} {leave} com.acme.Inventory.scan com.acme.Server.handle")),
            (LOAD, format!("{unpark} {leave} com.acme.Cache.load com.acme.Loader.run")),
            (ENTER, "com.acme.Ledger.book com.acme.Server.handle".to_owned()),
            (EXIT, "com.acme.Ledger.audit com.acme.Server.handle".to_owned()),
            (BARRIER, format!("{park} {awaits} j.CyclicBarrier.dowait j.CyclicBarrier.await com.acme.Grid.step com.acme.Grid.solve com.acme.Worker.work com.acme.Worker.run")),
            (TRIP, format!("{unpark} {leave} j.CyclicBarrier.dowait j.CyclicBarrier.await com.acme.Grid.step com.acme.Grid.solve")),
            (TAKE, format!("{park} {awaits} j.LinkedBlockingQueue.take j.ThreadPoolExecutor.getTask j.ThreadPoolExecutor.runWorker j.ThreadPoolExecutor$Worker.run java.lang.Thread.run")),
            (OFFER, format!("{unpark} {leave} j.LinkedBlockingQueue.offer j.ThreadPoolExecutor.execute com.acme.Server.accept")),
            (MUTEX, format!("{park} AQS.acquire AQS.acquire com.acme.Mutex.lock com.acme.Shop.sell")),
            (GATE, format!("{park} com.acme.Gate.pass com.acme.Shop.sell com.acme.Server.handle com.acme.Server.run")),
            (LATCH, format!("{park} AQS.acquire j.CountDownLatch.await com.acme.Fan.serve com.acme.Server.handle com.acme.Server.run")),
            (COUNT_DOWN, format!("{unpark} AQS.signalNext AQS.releaseShared j.CountDownLatch.countDown com.acme.Fan.slowest com.acme.Part.run")),
            (CHECK_OUT, format!("{park} {awaits} com.mchange.v2.Pool.checkOut com.acme.Orders.order com.acme.Server.handle com.acme.Server.run")),
            (CHECK_IN, format!("{unpark} {leave} com.mchange.v2.Pool.checkIn com.acme.Orders.order com.acme.Server.handle com.acme.Server.run")),
            (REFURBISH, format!("{unpark} {leave} com.mchange.v2.Refurbish.run com.mchange.v2.Helper.run")),
            (HELP, format!("{park} {awaits} com.mchange.v2.Helper.run")),
            (POLL, "jdk.internal.misc.Unsafe.park j.locks.LockSupport.parkNanos com.acme.Limiter.await com.acme.Orders.order com.acme.Server.handle com.acme.Server.run".to_owned()),
            (AUDIT, "java.lang.Thread.sleep com.acme.Audit.send com.acme.Orders.order com.acme.Server.handle com.acme.Server.run".to_owned()),
            (TOMCAT, format!("{park} {awaits} j.LinkedBlockingQueue.take org.apache.tomcat.util.threads.TaskQueue.take org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker org.apache.tomcat.util.threads.ThreadPoolExecutor$Worker.run org.apache.tomcat.util.threads.TaskThread$WrappingRunnable.run java.lang.Thread.run")),
            (JETTY, format!("{park} {awaits} org.eclipse.jetty.util.BlockingArrayQueue.poll org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run java.lang.Thread.run")),
            (JETTY_RESERVED, format!("{park} {awaits} org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.run org.eclipse.jetty.util.thread.QueuedThreadPool.runJob org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run java.lang.Thread.run")),
            (NETTY, format!("{park} {awaits} j.LinkedBlockingQueue.take io.netty.util.concurrent.SingleThreadEventExecutor.takeTask io.netty.util.concurrent.DefaultEventExecutor.run io.netty.util.concurrent.SingleThreadEventExecutor$4.run java.lang.Thread.run")),
            (ACCEPT, format!("{park} AQS.acquireSharedInterruptibly org.apache.tomcat.util.threads.LimitLatch.countUpOrAwait org.apache.tomcat.util.net.AbstractEndpoint.countUpOrAwaitConnection org.apache.tomcat.util.net.Acceptor.run java.lang.Thread.run")),
            (POST, "java.net.Socket.read com.acme.Ledger.post com.acme.Ledger.book com.acme.Server.handle".to_owned()),
            (FLUSH, "java.net.Socket.read com.acme.Journal.flush com.acme.Journal.run java.lang.Thread.run".to_owned()),
            (RESULT, format!("{park} j.FutureTask.awaitDone j.FutureTask.get com.acme.Orders.price com.acme.Orders.order j.ThreadPoolExecutor.runWorker j.ThreadPoolExecutor$Worker.run java.lang.Thread.run")),
            (LIMITED, "jdk.internal.misc.Unsafe.park j.locks.LockSupport.parkNanos io.bucket.Blocking.park io.bucket.Bucket.consume com.acme.Sender.run".to_owned()),
            (THROTTLED, format!("{park} {awaits} org.springframework.util.ConcurrencyThrottleSupport.beforeAccess org.springframework.core.task.SimpleAsyncTaskExecutor.execute com.acme.Upload.run")),
            (UNLOCK, format!("{unpark} {leave} com.acme.Session.unlock com.acme.Session.unlockAll com.acme.Statement.execute com.acme.Server.handle")),
            (OWN_LOOP, "java.lang.Object.wait com.acme.Pool.take com.acme.Client.run java.lang.Thread.run".to_owned()),
            (MUTEX_UNLOCK, format!("{unpark} AQS.signalNext AQS.release com.acme.Mutex.unlock com.acme.Inventory.scan")),
        ] {
            naming.chain(id, &frames, 1);
        }
        events.extend(naming.events);
        Script { events, parks: 0, monitors: Default::default() }
    }

    fn park_seq(&mut self) -> Seq {
        self.parks += 1;
        Seq(self.parks)
    }

    /// The thread parks; the begin is handed to [`Script::back`].
    fn park(&mut self, ms: u64, thread: u64, blocker: u64, chain: u64, owner: u64) -> ParkBegin {
        let begin = ParkBegin {
            time: at(ms),
            thread: ThreadId(thread),
            seq: self.park_seq(),
            chain: ChainId(chain),
            blocker: LockId(blocker),
            owner: ThreadId(owner),
            limit: ParkLimit::None,
        };
        self.events.push(Event::ParkBegin(begin));
        begin
    }

    fn unpark(&mut self, ms: u64, thread: u64, chain: u64, target: u64) -> (Seq, u64) {
        let seq = self.park_seq();
        let target = ThreadId(target);
        self.events.push(Event::Unpark(Unpark {
            time: at(ms),
            thread: ThreadId(thread),
            seq,
            chain: ChainId(chain),
            target,
        }));
        (seq, thread)
    }

    fn timed_out(&mut self, ms: u64, begin: ParkBegin) {
        self.back(ms, begin, (Seq::NONE, 0));
        if let Some(Event::Park(park)) = self.events.last_mut() {
            park.outcome = ParkOutcome::TimedOut;
        }
    }

    fn back(&mut self, ms: u64, begin: ParkBegin, (unpark, waker): (Seq, u64)) {
        let seq = self.park_seq();
        self.events.push(Event::Park(Park {
            time: at(ms),
            start: begin.time,
            thread: begin.thread,
            start_seq: begin.seq,
            seq,
            chain: begin.chain,
            blocker: begin.blocker,
            owner: begin.owner,
            outcome: ParkOutcome::Unparked,
            unpark,
            waker: ThreadId(waker),
            ..Park::default()
        }));
    }

    fn monitor_seq(&mut self, lock: u64) -> Seq {
        let seq = self.monitors.entry(lock).or_default();
        *seq += 1;
        Seq(*seq)
    }

    fn enter(&mut self, ms: u64, thread: u64, lock: u64, owner: u64) -> MonitorEnter {
        let enter = MonitorEnter {
            time: at(ms),
            thread: ThreadId(thread),
            lock: LockId(lock),
            seq: self.monitor_seq(lock),
            chain: ChainId(ENTER),
            owner: ThreadId(owner),
        };
        self.events.push(Event::MonitorEnter(enter));
        enter
    }

    fn exit(&mut self, ms: u64, thread: u64, lock: u64) {
        let seq = self.monitor_seq(lock);
        self.events.push(Event::MonitorExit(MonitorExit {
            time: at(ms),
            thread: ThreadId(thread),
            lock: LockId(lock),
            seq,
            chain: ChainId(EXIT),
            ..MonitorExit::default()
        }));
    }

    fn entered(&mut self, ms: u64, enter: MonitorEnter) {
        let seq = self.monitor_seq(enter.lock.0);
        self.events.push(Event::MonitorEntered(MonitorEntered {
            time: at(ms),
            start: enter.time,
            thread: enter.thread,
            lock: enter.lock,
            seq,
            chain: enter.chain,
            previous_owner: ThreadId::NONE,
        }));
    }

    fn report(&self, ms: u64, by: &str) -> Report {
        let mut analysis =
            Analysis::new(Options { by: Aspect::parse_list(by).expect("aspects"), ..Options::default() });
        for event in &self.events {
            analysis.feed(event);
        }
        analysis.feed(&Event::Watermark(at(ms)));
        let report = analysis.finish();
        assert_eq!(report.blocked.slices_wrong, 0);
        report
    }
}

fn rows(rows: &[Row]) -> Vec<String> {
    let text = |row: &Row| format!("{} {}", row.value.headline(), row.total_ns / MS);
    rows.iter().flat_map(|row| std::iter::once(text(row)).chain(self::rows(&row.children))).collect()
}

fn findings(report: &Report, kind: FindingKind) -> Vec<&str> {
    report.findings.iter().filter(|finding| finding.kind == kind).map(|finding| finding.text.as_str()).collect()
}

/// Worker 9 scans under the lock, 1 and 2 want it.
fn scanned(script: &mut Script) {
    let first = script.park(10, 1, 1, SELL, 9);
    let second = script.park(20, 2, 1, SELL, 9);
    let woken = script.unpark(90, 9, SCAN, 1);
    script.back(91, first, woken);
    let woken = script.unpark(95, 1, SCAN, 2);
    script.back(96, second, woken);
}

#[test]
fn methods_are_those_outside_the_lock_and_everybody_parked_is_blamed_on_the_owner() {
    let mut script = Script::new();
    scanned(&mut script);
    let report = script.report(100, "kind,lock,owner-method,contender-method");
    // 10-90 and 20-90 by the scan; 91-95 by worker 1, to whom it was handed over.
    assert_eq!(
        rows(&report.rows),
        [
            "juc 157",
            "Inventory.lock (java.util.concurrent.locks.ReentrantLock$NonfairSync@a1) 157",
            "com.acme.Inventory.scan 154",
            "com.acme.Shop.sell 154",
            "unknown 3",
            "com.acme.Shop.sell 3",
        ]
    );
    assert_eq!((report.blocked.juc_ns, report.blocked_ns), (157 * MS, 157 * MS));
    let hot = findings(&report, FindingKind::HotLock);
    assert!(
        hot[0].contains("blocked on `Inventory.lock`. `Inventory.scan` owned it for 98 % of that time,"),
        "{hot:?}"
    );
}

#[test]
fn the_owners_chain_keeps_the_locks_own_frames() {
    let mut script = Script::new();
    scanned(&mut script);
    let report = script.report(100, "owner-chain");
    let json = serde_json::to_string(&report.rows[0].value).expect("JSON");
    assert!(json.contains("ReentrantLock.unlock:1\",\"com.acme.Inventory.scan:1"), "{json}");
}

#[test]
fn a_developers_own_lock_is_no_method_either() {
    let mut script = Script::new();
    let begin = script.park(10, 1, 5, MUTEX, 9);
    let woken = script.unpark(50, 9, MUTEX_UNLOCK, 1);
    script.back(51, begin, woken);
    let report = script.report(60, "lock-class,owner-method,contender-method");
    let expected = ["com.acme.Mutex$Sync 41", "com.acme.Inventory.scan 40", "com.acme.Shop.sell 40"];
    assert_eq!(rows(&report.rows)[..3], expected);
}

#[test]
fn a_blocked_owner_leads_to_the_root_across_kinds() {
    // Worker 1 holds the ledger's monitor 0-100 and parks for the cache 20-80,
    // which the loader holds; workers 2 and 3 block on the ledger 10-100.
    let mut script = Script::new();
    let second = script.enter(10, 2, 3, 1);
    let third = script.enter(10, 3, 3, 1);
    let parked = script.park(20, 1, 2, SELL, 9);
    let woken = script.unpark(80, 9, LOAD, 1);
    script.back(80, parked, woken);
    script.exit(100, 1, 3);
    script.entered(100, second);
    script.exit(101, 2, 3);
    script.entered(101, third);
    let report = script.report(110, "lock");
    let chain = &report.wait_chains[0];
    let links: Vec<(&str, &str)> = chain.links.iter().map(|link| (link.lock.as_str(), link.method.as_str())).collect();
    assert_eq!(links[0], ("Ledger.lock (com.acme.Ledger@a3)", "com.acme.Ledger.audit"));
    assert_eq!(links[1].1, "com.acme.Cache.load");
    assert_eq!((chain.blocked_ns, chain.count), (120 * MS, 2));
    let waits = findings(&report, FindingKind::WaitFor);
    // Of 241 ms blocked in all, 60 directly and 120 through the ledger.
    assert!(
        waits[0].starts_with(
            "Threads spent 180 ms (13 % of the active thread time) blocked because of the lock `Cache.lock` while `Cache.load` owned it. "
        ),
        "{waits:?}"
    );
    assert!(waits[0].contains(
        "on this lock. For 67 %, they were blocked on `Ledger.lock`, which `Ledger.audit` owned while it was itself blocked on `Cache.lock`."
    ));
    let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::WaitFor).unwrap();
    assert_eq!(
        finding.details,
        ["60.0 ms blocked on that lock itself, 120 ms on locks whose owners waited for it"],
        "the rest is in the text"
    );
    // What is counted at the root is not counted at the lock before it as well.
    assert_eq!(report.findings[0].kind, FindingKind::WaitFor);
    let costs: Vec<u64> = report.findings.iter().map(|finding| finding.cost_ns / MS).collect();
    assert_eq!(costs, [180, 61], "{:?}", report.findings);
    assert_eq!(costs.iter().sum::<u64>(), report.blocked_ns / MS);
}

#[test]
fn a_thread_that_was_blocked_before_it_took_the_lock_is_no_chain() {
    let mut script = Script::new();
    let parked = script.park(10, 1, 2, SELL, 9);
    let woken = script.unpark(30, 9, LOAD, 1);
    script.back(30, parked, woken);
    let second = script.enter(40, 2, 3, 1);
    script.exit(90, 1, 3);
    script.entered(90, second);
    let report = script.report(100, "lock");
    assert_eq!(report.wait_chains, []);
}

#[test]
fn threads_that_hold_what_the_other_wants_are_a_deadlock_whatever_the_locks() {
    let mut script = Script::new();
    script.enter(10, 1, 3, 2);
    script.park(20, 2, 1, SELL, 1);
    let report = script.report(5_000, "lock");
    assert_eq!(report.deadlocks.len(), 1);
    assert_eq!(report.findings.len(), 1, "the deadlock says all: {:?}", report.findings);
    let told = findings(&report, FindingKind::Deadlock);
    assert!(told[0].contains("`worker-1` waits for `Ledger.lock`, owned by `worker-2`"), "{told:?}");
    assert!(told[0].contains("`worker-2` waits for `Inventory.lock`, owned by `worker-1`"), "{told:?}");
}

/// What is sampled says who had a lock at instants at which something happened to it, and nothing does.
#[test]
fn a_deadlock_is_one_where_contentions_are_sampled_too() {
    let mut script = Script::new();
    let window = DurationNs(200 * MS);
    script.events.push(Event::Sampling(Sampling { time: at(0), window, seed: 7, ..Sampling::default() }));
    script.park(10, 1, 1, SELL, 2);
    script.park(20, 2, 2, SELL, 1);
    // Worker 2 had the first lock at 10 ms. Whether it still had it when it was blocked itself, the look at 15 ms
    // does not say.
    let look = |ms, thread, owner| {
        let (time, start, lock) = (at(ms), at(10 * thread), LockId(thread));
        let (thread, owner) = (ThreadId(thread), ThreadId(owner));
        Event::LongContention(LongContention { time, start, thread, lock, owner, ..LongContention::default() })
    };
    let report_with = |looks: &[Event]| {
        let events = script.events.iter().chain(looks).cloned().collect();
        Script { events, parks: script.parks, monitors: Default::default() }.report(5_000, "lock")
    };
    let late = look(1_015, 2, 1);
    let early = report_with(&[look(15, 1, 2), late.clone()]);
    let still = early.findings.iter().filter(|finding| finding.text.ends_with(" 1 thread is still blocked."));
    assert_eq!((early.deadlocks.len(), still.count()), (0, 2));
    // A later look that could not say it takes nothing back; one at only one of them says nothing.
    let again = look(3_000, 1, 0);
    assert_eq!(report_with(&[look(1_015, 1, 2)]).deadlocks.len(), 0, "worker 2 may give up");
    let report = report_with(&[look(1_015, 1, 2), late, again]);
    assert_eq!(report.deadlocks.len(), 1);
    let deadlocks = findings(&report, FindingKind::Deadlock);
    assert!(deadlocks[0].contains("`worker-1` waits for `Inventory.lock`, owned by `worker-2`"), "{deadlocks:?}");
}

#[test]
fn the_last_to_come_to_a_barrier_is_a_straggler() {
    // Four workers meet every 100 ms; worker 4 comes 60 ms after the others.
    let mut script = Script::new();
    for round in 0..6 {
        let base = round * 100;
        let waiting: Vec<ParkBegin> =
            (1..=3).map(|worker| script.park(base + 20 + 5 * worker, worker, 4, BARRIER, 0)).collect();
        // The last one unparks the first, who passes it on.
        let mut waker = 4;
        for begin in waiting {
            let woken = script.unpark(base + 95, waker, TRIP, begin.thread.0);
            script.back(base + 95, begin, woken);
            waker = begin.thread.0;
        }
    }
    let report = script.report(600, "lock");
    let said = findings(&report, FindingKind::Straggler);
    assert!(said[0].contains("In 100 % of 6 rounds, thread `worker-4` came last"), "{said:?}");
    assert!(said[0].contains(", on average 60.0 ms after all others."), "{said:?}");
    assert!(
        said[0].contains("waited 1.17 s (15 % of the active thread time) for each other at a barrier in `Grid.step`"),
        "{said:?}"
    );
    assert!(
        said[0].contains("`Grid.step`, called indirectly from `Worker.work`. For 1.08 s of that time, they waited only for the last thread. In 100 %"),
        "{said:?}"
    );
    assert!(report.verdict.ends_with("Thread `worker-4` came last in 100 % of the rounds."), "{}", report.verdict);
    assert_eq!(report.contentions, 0);
    let site = &report.waits[0];
    assert_eq!((site.synchronizer, site.count, site.idle), (Synchronizer::CyclicBarrier, 18, false));
}

/// Two workers wait for 80 of 100 ms at a latch each time, which who it is in a round opens.
fn at_latches(who: impl Fn(u64) -> u64, latch: impl Fn(u64) -> u64) -> Report {
    script_of_latches(who, latch).report(600, "lock")
}

/// The same, to go on with.
fn script_of_latches(who: impl Fn(u64) -> u64, latch: impl Fn(u64) -> u64) -> Script {
    let mut script = Script::new();
    for round in 0..12 {
        let (base, worker) = (round / 2 * 100 + round % 2, 1 + round % 2);
        let begin = script.park(base + 5, worker, latch(round), LATCH, 0);
        let woken = script.unpark(base + 85, who(round), COUNT_DOWN, worker);
        script.back(base + 85, begin, woken);
    }
    script
}

/// They are not in the finding's counts, but in those of the place: the difference has a name.
#[test]
fn waits_at_a_latch_that_have_not_ended_are_said_to_be_more() {
    let mut script = script_of_latches(|_| 21, |round| 6 + round % 2);
    script.park(590, 1, 6, LATCH, 0);
    let report = script.report(600, "lock");
    assert_eq!(report.waits[0].count, 13);
    let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::Straggler).unwrap();
    let details = finding.details.concat();
    assert!(details.contains("1 more had not ended when the recording ended"), "{details}");
}

#[test]
fn who_waits_at_a_latch_is_not_waited_for_by_those_who_count_it_down() {
    let waits_for = |parts: u64| {
        let report = at_latches(|round| 21 + round % parts, |round| 6 + round % 2);
        let finding = report.findings.into_iter().find(|finding| finding.kind == FindingKind::Straggler).unwrap();
        assert_eq!(finding.cost_ns, 960 * MS);
        assert!(!report.verdict.contains("came last"), "{}", report.verdict);
        assert!(!finding.details.concat().contains("others had come"), "{:?}", finding.details);
        finding.text
    };
    assert_eq!(
        waits_for(1),
        "2 threads `worker-*` waited 960 ms (12 % of the active thread time) at a latch in `Fan.serve`, called from `Server.handle`. There were 12 waits, \
         mean 80.0 ms. Waiting threads were woken by `Fan.slowest` in thread `part-1` (100 % of the waiting time)."
    );
    // One that ended half of the waits did not end all of them.
    let two = waits_for(2);
    assert!(two.ends_with("by `Fan.slowest` in 2 threads `part-*` (100 % of the waiting time)."), "{two}");
    let many = waits_for(4);
    let said = "Waiting threads were woken by `Fan.slowest` in 4 threads `part-*` (100 % of the waiting time).";
    assert!(many.ends_with(said), "{many}");
}

#[test]
fn a_latch_for_each_wait_that_threads_of_the_same_kind_open_is_a_pool() {
    let report = at_latches(|round| 2 - round % 2, |round| 6 + round);
    assert_eq!(findings(&report, FindingKind::Straggler), [] as [&str; 0]);
    let waiting = findings(&report, FindingKind::Waiting);
    assert!(
        waiting[0].contains("for another thread of the same group to return or finish something (a latch)"),
        "{waiting:?}"
    );
    assert_eq!(report.ledger.ns(EntryKind::WaitPermit), 960 * MS);
}

#[test]
fn a_chain_of_three_locks_is_written_out() {
    let mut script = Script::new();
    script.events.extend([lock(50, "com.acme.Journal", 0xd0, "Journal.lock")]);
    let last = script.enter(10, 3, 3, 1);
    let middle = script.enter(15, 1, 50, 2);
    let parked = script.park(20, 2, 2, SELL, 9);
    let woken = script.unpark(80, 9, LOAD, 2);
    script.back(80, parked, woken);
    script.exit(100, 2, 50);
    script.entered(100, middle);
    script.exit(101, 1, 3);
    script.entered(101, last);
    let report = script.report(110, "lock");
    let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::WaitFor).unwrap();
    let chain = finding.details.last().unwrap();
    let (first, then) =
        ("longest chain: `Ledger.lock` owned by `", ", which was itself blocked on `Journal.lock` owned by");
    assert!(chain.starts_with(first) && chain.contains(then) && chain.contains("on `Cache.lock` owned by"), "{chain}");
}

#[test]
fn a_chain_is_followed_however_often_its_link_was_blocked_since() {
    let mut script = Script::new();
    script.events.extend([lock(50, "com.acme.Journal", 0xd0, "Journal.lock")]);
    let second = script.enter(10, 2, 3, 1);
    let parked = script.park(20, 1, 2, SELL, 9);
    let woken = script.unpark(80, 9, LOAD, 1);
    script.back(80, parked, woken);
    script.exit(100, 1, 3);
    script.entered(100, second);
    for round in 0..100 {
        let begin = script.enter(110 + 4 * round, 1, 50, 9);
        script.exit(112 + 4 * round, 9, 50);
        script.entered(112 + 4 * round, begin);
    }
    let report = script.report(600, "lock");
    assert_eq!(report.wait_chains.len(), 1);
    assert_eq!((report.wait_chains[0].blocked_ns, report.wait_chains[0].count), (60 * MS, 1));
    assert_eq!(report.ledger.ns(EntryKind::LockOwnerWaited), 60 * MS);
}

/// A pool whose helper puts connections back that others are done with; threads wait on
/// these objects in turn.
fn pool_with_a_helper(waited_on: [u64; 2]) -> Script {
    let mut script = Script::new();
    script.events.push(lock(51, CONDITION, 0xd1, ""));
    for round in 0..6 {
        let base = round * 100;
        let (waits, returns) = (1 + round % 2, 2 - round % 2);
        let helps = script.park(base + 2, 9, 40, HELP, 0);
        let begin = script.park(base + 5, waits, waited_on[round as usize % 2], CHECK_OUT, 0);
        let woken = script.unpark(base + 84, returns, CHECK_IN, 9);
        script.back(base + 84, helps, woken);
        let woken = script.unpark(base + 85, 9, REFURBISH, waits);
        script.back(base + 85, begin, woken);
    }
    script
}

#[test]
fn who_wakes_the_helper_that_returns_connections_is_named() {
    let waiting = pool_with_a_helper([4, 4]).report(600, "lock");
    let waiting = findings(&waiting, FindingKind::Waiting);
    assert!(waiting[0].contains(". `Orders.order` in `worker-*` wakes `loader`."), "{waiting:?}");
}

#[test]
fn what_those_did_that_hand_their_connections_to_a_helper_is_said_with_a_may() {
    let seen = |waited_on| {
        let report = with_samples_of_those_that_hand_over(pool_with_a_helper(waited_on)).report(600, "lock");
        findings(&report, FindingKind::Waiting).remove(0).to_owned()
    };
    let did =
        "For 100 % of the sampled time (9 samples), the threads that may have had one (`worker-*`) were in `Thread.sleep`, called from \
               `Audit.send`.";
    let of_pool = seen([4, 4]);
    assert!(of_pool.ends_with(did) && !of_pool.contains(" wakes "), "{of_pool}");
    // Each waits for another object: for a result, which nobody has meanwhile.
    let of_results = seen([4, 51]);
    assert!(!of_results.contains("may have had") && of_results.contains(" wakes `loader`"), "{of_results}");
}

fn with_samples_of_those_that_hand_over(mut script: Script) -> Script {
    for (time, chain) in (0..12).map(|i| (20 + i * 5, if i % 4 == 3 { HELP } else { AUDIT })) {
        let (time, weight) = (at(time), DurationNs(20 * MS));
        let state = SampleState::Waiting;
        let sample = Sample { time, thread: ThreadId(2), chain: ChainId(chain), state, weight, cpu: None };
        let (lock, waiter_chain) = (LockId(4), ChainId(CHECK_OUT));
        script.events.push(Event::OwnerSample(OwnerSample { sample, lock, waiter_chain, waiters: 1 }));
    }
    script
}

#[test]
fn who_polls_waits_for_time_to_pass() {
    let mut script = Script::new();
    for round in 0..20 {
        let worker = 1 + round % 2;
        let begin = script.park(round * 25, worker, 0, POLL, 0);
        script.timed_out(round * 25 + 20, begin);
    }
    let waiting = script.report(500, "lock");
    let waiting = findings(&waiting, FindingKind::Waiting);
    let polls =
        "in `Limiter.await`, called from `Orders.order`, for time to pass (`LockSupport.parkNanos`). There were 20 waits, \
                 mean 20.0 ms. Each ended at its planned time, none by a wake-up.";
    assert!(waiting[0].ends_with(polls), "{waiting:?}");
}

/// Two workers poll, `length` ns each time, for nearly all of 500 ms.
fn polling(length: u64) -> Script {
    let mut script = Script::new();
    for round in 0..500 * MS / length {
        let start = TimeNs(at(0).0 + round * length);
        for worker in 1..=2 {
            let begin = ParkBegin { time: start, ..script.park(0, worker, 0, POLL, 0) };
            if let Some(Event::ParkBegin(event)) = script.events.last_mut() {
                *event = begin;
            }
            script.timed_out(0, begin);
            if let Some(Event::Park(event)) = script.events.last_mut() {
                event.time = TimeNs(start.0 + length / 100 * 95);
            }
        }
    }
    script
}

#[test]
fn who_polls_thousands_of_times_a_second_is_not_idle() {
    let waits = |length| {
        let report = polling(length).report(500, "lock");
        let polls = report.verdict.contains("Such short waits are polling");
        (findings(&report, FindingKind::Waiting).len(), report.ledger.ns(EntryKind::WaitTime) / MS, polls)
    };
    assert_eq!(waits(200_000), (1, 950, true));
    assert_eq!(waits(20 * MS), (0, 0, false), "a worker that looks for work now and then");
}

#[test]
fn what_idle_threads_wait_for_a_cpu_is_no_part_of_the_active_time() {
    let mut script = polling(20 * MS);
    let (start, duration, ms) = (at(0), DurationNs(500 * MS), |n: u64| DurationNs(n * MS));
    // More than all threads that are defined live.
    for (thread, run_queue) in [(1, Some(ms(3_000))), (2, Some(ms(3_000))), (0, None)] {
        let thread = ThreadId(thread);
        script.events.push(Event::ThreadTime(ThreadTime { start, duration, thread, cpu: ms(20), run_queue }));
    }
    let machine = MachineTime { start, duration, busy: ms(500), ..MachineTime::default() };
    script.events.push(Event::MachineTime(machine));
    let report = script.report(500, "lock");
    let short = findings(&report, FindingKind::Environment);
    assert!(short[0].starts_with("Threads `worker-*` waited 6.00 s for a CPU and ran for 40.0 ms: "), "{short:?}");
}

#[test]
fn bins_of_a_map_are_one_finding_whatever_the_waiters_want() {
    let mut script = Script::new();
    let mut naming = Naming::new();
    let bin = "java.util.concurrent.ConcurrentHashMap$ReservationNode";
    script.events.extend([lock(31, bin, 0xb1, ""), lock(32, bin, 0xb2, "")]);
    for (id, what) in [(41, "computeIfAbsent"), (42, "replaceNode"), (43, "computeIfAbsent")] {
        naming.chain(id, &format!("j.ConcurrentHashMap.{what} com.acme.Users.find com.acme.Server.handle"), 1);
    }
    script.events.extend(naming.events.into_iter().map(|event| match event {
        // Methods of other chains have these numbers.
        Event::Method(id, method) => Event::Method(MethodId(id.0 + 1_000), method),
        Event::Chain(chain) => {
            let mut chain = (*chain).clone();
            chain.chain.frames.iter_mut().for_each(|frame| frame.method.0 += 1_000);
            Event::Chain(std::sync::Arc::new(chain))
        }
        other => other,
    }));
    for (bin, waits) in [(31, 41), (32, 42)] {
        let begin = script.enter(10 + bin, 2, bin, 1);
        script.exit(60 + bin, 1, bin);
        script.entered(60 + bin, begin);
        for event in &mut script.events {
            match event {
                Event::MonitorEnter(event) if event.lock == LockId(bin) => event.chain = ChainId(waits),
                Event::MonitorExit(event) if event.lock == LockId(bin) => event.chain = ChainId(43),
                _ => {}
            }
        }
    }
    let report = script.report(200, "lock");
    let hot = findings(&report, FindingKind::HotLock);
    assert_eq!(hot.len(), 1, "{hot:?}");
    assert!(hot[0].contains("spent 100 ms (") && hot[0].contains("bins of ConcurrentHashMaps (2 locks)"), "{hot:?}");
}

#[test]
fn a_lock_that_few_threads_meet_at_names_them() {
    let who = |also: u64| {
        let mut script = Script::new();
        for round in 0..5 {
            let begin = script.enter(100 * round, 9, 3, 1);
            script.exit(100 * round + 80, 1, 3);
            script.entered(100 * round + 80, begin);
        }
        // Others lived as long, and were blocked or not.
        for thread in 2..=also {
            let begin = script.enter(480, thread, 3, 1);
            script.exit(490, 1, 3);
            script.entered(490, begin);
        }
        findings(&script.report(500, "lock"), FindingKind::HotLock)[0].split(" spent").next().unwrap().to_owned()
    };
    assert_eq!(who(0), "Thread `loader`");
    assert_eq!(who(6), "Threads");
}

#[test]
fn an_idle_pool_is_waiting_for_work_and_drowns_nothing() {
    let mut script = Script::new();
    scanned(&mut script);
    let idle: Vec<ParkBegin> = (3..=6).map(|worker| script.park(5, worker, 4, TAKE, 0)).collect();
    for begin in idle {
        let woken = script.unpark(900, 9, OFFER, begin.thread.0);
        script.back(900, begin, woken);
    }
    let report = script.report(1_000, "kind,owner-method");
    assert_eq!(report.findings[0].kind, FindingKind::HotLock);
    assert_eq!(findings(&report, FindingKind::Waiting), [] as [&str; 0]);
    assert_eq!(report.blocked_ns, 157 * MS);
    let site = &report.waits[0];
    assert_eq!((site.idle, site.synchronizer), (true, Synchronizer::BlockingQueue));
    assert_eq!((site.wakers[0].group.as_str(), site.wakers[0].count), ("loader", 4));
    // Kinds are distinguished, waiting last and out of the total.
    let kinds: Vec<&str> = report.rows.iter().map(|row| row.value.headline()).collect();
    assert_eq!(kinds, ["juc", "conditional"]);
    assert_eq!(report.rows[1].total_ns, 4 * 895 * MS);
    assert_eq!(report.rows[1].children[0].value.headline(), "java.util.concurrent.ThreadPoolExecutor.execute");
}

/// What it is called that these threads wait in a stack for most of their lives, until `waker` wakes them.
fn waits_of(chain: u64, waiters: &[u64], waker: u64) -> (EntryKind, bool) {
    let mut script = Script::new();
    for round in 0..10 {
        let begins: Vec<_> = waiters.iter().map(|waiter| script.park(5 + 90 * round, *waiter, 4, chain, 0)).collect();
        for begin in begins {
            let woken = script.unpark(90 + 90 * round, waker, OFFER, begin.thread.0);
            script.back(90 + 90 * round, begin, woken);
        }
    }
    let site = script.report(1_000, "lock").waits.swap_remove(0);
    (site.entry, site.idle)
}

#[test]
fn workers_of_servers_without_work_are_idle_however_work_comes_to_them() {
    for chain in [TAKE, TOMCAT, JETTY, JETTY_RESERVED, NETTY] {
        assert_eq!(waits_of(chain, &[1, 2], 3), (EntryKind::WaitWork, true), "{chain}");
    }
}

#[test]
fn who_may_accept_no_more_connections_is_not_idle() {
    assert_eq!(waits_of(ACCEPT, &[9], 1), (EntryKind::WaitPermit, false));
}

#[test]
fn who_parks_need_not_say_for_what() {
    let mut script = Script::new();
    let begin = script.park(5, 1, 0, GATE, 0);
    let woken = script.unpark(900, 9, OFFER, 1);
    script.back(900, begin, woken);
    let report = script.report(1_000, "lock");
    let site = &report.waits[0];
    assert_eq!((site.lock.as_str(), site.class.as_str()), ("(none)", "(none)"));
}

#[test]
fn foreign_parks_are_told_by_lock_without_owner() {
    let mut script = Script::new();
    for thread in 1..=2 {
        script.events.push(Event::Park(Park {
            time: at(60),
            start: at(10),
            thread: ThreadId(thread),
            chain: ChainId(SELL),
            blocker: LockId(1),
            ..Park::default()
        }));
    }
    let report = script.report(100, "kind,lock,owner-thread");
    assert_eq!(report.blocked_ns, 100 * MS);
    assert_eq!(report.blocked.unknown_ns, 100 * MS);
    assert_eq!(report.rows[0].children[0].children[0].value.headline(), "unknown");
}
