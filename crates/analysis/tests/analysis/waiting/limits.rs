//! Waits with a limit.

use super::*;

/// Far from the thread's root.
const DEEP: &str = "com.acme.Orders.send com.acme.Orders.handle com.acme.Server.serve com.acme.Server.loop \
                    com.acme.Server.run java.lang.Thread.run";

/// The bar of thread time and the finding say the same of waits with a limit that they reach.
#[test]
fn who_gives_up_waiting_for_a_result_waited_for_it() {
    for (awaits, words) in [
        ("j.FutureTask.awaitDone j.FutureTask.get", "for a result"),
        ("j.CompletableFuture.timedGet j.CompletableFuture.get", "for a result"),
        ("j.CountDownLatch.await", "for a latch"),
        ("j.LinkedBlockingQueue.poll", "for a blocking queue"),
    ] {
        let mut waiting = Waiting::new(&format!("{awaits} {DEEP}"), RETURN);
        for round in 0..3 {
            (1..=4).for_each(|waiter| waiting.wait(waiter, round * 300, round * 300 + 290, None));
        }
        let report = waiting.report();
        assert_eq!(only(&report).entry, EntryKind::WaitResult, "{awaits}");
        let text = &report.findings[0].text;
        assert!(text.contains(words), "{text}");
        assert!(!text.contains("time to pass"), "{text}");
        let all = "Each of these waits reached its time limit.";
        assert!(report.verdict.contains(all), "{}", report.verdict);
        assert_eq!((report.ledger.ns(EntryKind::WaitTime), report.ledger.ns(EntryKind::WaitResult)), (0, 3_480 * MS));
    }
    let mut polls = Waiting::new(&format!("AQS$ConditionObject.await {DEEP}"), RETURN);
    (1..=4).for_each(|waiter| polls.wait(waiter, 0, 900, None));
    let report = polls.report();
    assert!(
        report.findings[0].text.contains("for time to pass (`Condition.await` with a limit)"),
        "{:?}",
        report.findings
    );
    assert_eq!(report.ledger.ns(EntryKind::WaitTime), 3_600 * MS);
    let part =
        |name: &str| report.ledger.parts().find(|(part, _)| part.name == name).map(|(part, ns)| (part.words, ns));
    assert_eq!(part("wait-time"), Some(("waiting for time to pass", report.findings[0].cost_ns)));
    assert_eq!(part("off-cpu"), None);
}

/// Nearly each wait gives up, except the first ones.
#[test]
fn how_many_waits_reach_their_limit_is_said() {
    let mut waiting = Waiting::new(&format!("j.FutureTask.awaitDone j.FutureTask.get {DEEP}"), RETURN);
    for round in 0..25 {
        (1..=4).for_each(|waiter| waiting.wait(waiter, round * 39, round * 39 + 38, (round == 0).then_some(9)));
    }
    let verdict = waiting.report().verdict;
    assert!(verdict.contains("96 % of these waits reached their time limit."), "{verdict}");
}

/// All permits, or all connections, were taken before the recording began, and none comes back.
#[test]
fn that_nothing_is_returned_during_the_recording_is_said() {
    let begins = |from: u64, before: bool| {
        let takes =
            "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park AQS.acquire AQS.acquireShared j.Semaphore.acquire com.acme.Gate.pass \
                     com.acme.Server.run java.lang.Thread.run";
        let mut waiting = Waiting::new(POOL, RETURN);
        defined(&mut waiting, &[(4, takes)]);
        waiting.events.push(lock(5, "java.util.concurrent.Semaphore$NonfairSync", 5, ""));
        if before {
            waiting.wait(1, 0, 10, Some(2));
            let stack = |event: &mut Event| match event {
                Event::ParkBegin(park) => (park.chain, park.blocker) = (ChainId(4), LockId(5)),
                Event::Park(park) => (park.chain, park.blocker) = (ChainId(4), LockId(5)),
                _ => {}
            };
            waiting.events.iter_mut().for_each(stack);
        }
        for waiter in 1..=8 {
            let (time, thread, seq) = (at(from), ThreadId(waiter), waiting.next());
            let begin = ParkBegin { time, thread, seq, chain: ChainId(4), blocker: LockId(5), ..ParkBegin::default() };
            waiting.events.push(Event::ParkBegin(begin));
        }
        waiting.report()
    };
    let none =
        "Each of these waits lasted for nearly the whole recording (1.00 s). Nothing that these threads wait for was \
                returned meanwhile: those that took it may have kept it.";
    let report = begins(0, false);
    assert!(report.verdict.ends_with(none), "{}", report.verdict);
    assert!(
        report.findings[0].text.contains(&format!("None of them ended during the recording. {none}")),
        "{}",
        report.findings[0].text
    );
    let later = begins(100, false);
    assert!(later.verdict.ends_with("None of these waits ended during the recording."), "{}", later.verdict);
    let one_ended = begins(100, true);
    let most = "More than 99 % of that time belongs to waits that had not ended when the recording ended.";
    assert!(one_ended.verdict.ends_with(most), "{}", one_ended.verdict);
}

/// What few threads did in a moment is not what is wrong where all others never woke.
#[test]
fn where_nearly_no_thread_is_active_those_that_nobody_woke_are_what_is_said() {
    let mut waiting = Waiting::new("j.ArrayBlockingQueue.take com.acme.Server.run java.lang.Thread.run", RETURN);
    for waiter in 1..=8 {
        let (time, thread, seq) = (at(1), ThreadId(waiter), waiting.next());
        let begin = ParkBegin { time, thread, seq, chain: ChainId(1), blocker: LockId(1), ..ParkBegin::default() };
        waiting.events.push(Event::ParkBegin(begin));
    }
    waiting.events.push(Event::ThreadEnd(ThreadPoint { time: at(5), thread: ThreadId(9) }));
    let said = "Nearly no thread was active: 13.0 ms of 8.01 s together. 8 threads `exec-*` were in `Server.run` all the time: \
                idle, or nobody woke them.";
    assert_eq!(waiting.report().verdict, said);
}

/// Requests start a thread for each piece of work and wait for its end; a program's main thread waits for its threads.
#[test]
fn who_starts_a_thread_for_each_piece_of_work_waits_for_its_end() {
    let joins = |threads: u64| {
        let mut waiting = Waiting::new(POOL, RETURN);
        let stack = "java.lang.Object.wait0 java.lang.Object.wait java.lang.Thread.join com.acme.Orders.convert \
                     com.acme.Orders.handle com.acme.Server.serve com.acme.Server.run java.lang.Thread.run";
        let mut naming = Naming::new();
        naming.chain(4, stack, 1);
        waiting.events.extend(naming.events.into_iter().map(|event| renumbered(event, 3_000)));
        for (round, waiter) in (0..10).flat_map(|round| (1..=threads).map(move |waiter| (round, waiter))) {
            let (thread, chain, lock, seq) = (ThreadId(waiter), ChainId(4), LockId(2), Seq::NONE);
            let (start, time, timeout) = (at(100 * round), at(100 * round + 90), DurationNs(0));
            waiting.events.push(Event::MonitorWait(MonitorWait { time: start, thread, lock, seq, chain, timeout }));
            let (outcome, notifier) = (WaitOutcome::Notified, ThreadId::NONE);
            let over = MonitorWaited { time, start, thread, lock, seq, chain, timeout, outcome, notifier };
            waiting.events.push(Event::MonitorWaited(over));
        }
        waiting.report()
    };
    let of_requests = joins(4);
    assert_eq!((only(&of_requests).entry, only(&of_requests).idle), (EntryKind::WaitResult, false));
    let text = &about_waiting(&of_requests).text;
    assert!(text.contains("for a thread's end (`Thread.join`)"), "{text}");
    assert!(only(&joins(1)).idle);
}

/// A wait that nobody ends: its own release of the monitor, on which others were blocked, is recorded after its begin.
#[test]
fn a_wait_goes_on_after_it_released_a_contended_monitor() {
    let waits_after = |exits: u64| {
        let mut waiting = Waiting::new(POOL, RETURN);
        for waiter in 1..=4 {
            let (thread, lock, chain, timeout) = (ThreadId(waiter), LockId(2), ChainId(3), DurationNs(0));
            let (time, seq) = (at(100), waiting.next());
            waiting.events.push(Event::MonitorWait(MonitorWait { time, thread, lock, seq, chain, timeout }));
            for exit in 1..=exits {
                let (time, seq) = (at(100 + exit), waiting.next());
                waiting.events.push(Event::MonitorExit(MonitorExit {
                    time,
                    thread,
                    lock,
                    seq,
                    chain,
                    ..Default::default()
                }));
            }
        }
        let waits = waiting.report().waits;
        waits.iter().map(|site| (site.in_flight, site.total_ns / MS)).next()
    };
    assert_eq!(waits_after(0), Some((4, 3_600)));
    assert_eq!(waits_after(1), Some((4, 3_600)));
    // The end of the wait was dropped.
    assert_eq!(waits_after(2), None);
}

/// Those that put and those that take wait for each other: a notify woke the wrong one.
#[test]
fn that_two_kinds_of_waits_never_end_is_said() {
    let verdict = |from: u64| {
        let mut waiting = Waiting::new(POOL, RETURN);
        let mut naming = Naming::new();
        for (chain, method) in [(4, "put"), (5, "take")] {
            let stack = format!("java.lang.Object.wait com.acme.Box.{method} com.acme.Orders.handle com.acme.Server.serve com.acme.Server.run java.lang.Thread.run");
            naming.chain(chain, &stack, 1);
        }
        waiting.events.extend(naming.events.into_iter().map(|event| renumbered(event, 3_000)));
        for waiter in 1..=8 {
            let (thread, lock, chain, timeout) = (ThreadId(waiter), LockId(2), ChainId(4 + waiter % 2), DurationNs(0));
            let (time, seq) = (at(from), waiting.next());
            let wait = MonitorWait { time: at(0), thread, lock, seq, chain, timeout };
            waiting.events.push(Event::MonitorWait(wait));
            let (outcome, notifier) = (WaitOutcome::Notified, ThreadId(9));
            let over = MonitorWaited {
                time,
                start: at(0),
                thread,
                lock,
                seq: waiting.next(),
                chain,
                timeout,
                outcome,
                notifier,
            };
            waiting.events.push(Event::MonitorWaited(over));
            if from < 500 {
                let seq = waiting.next();
                waiting.events.push(Event::MonitorWait(MonitorWait { time, thread, lock, seq, chain, timeout }));
            }
        }
        waiting.report().verdict
    };
    let unended = "Nearly all of this time belongs to waits that had not ended when the recording ended.";
    assert!(verdict(10).ends_with(unended), "{}", verdict(10));
    assert!(!verdict(900).contains("had not ended"), "{}", verdict(900));
}

/// Threads that lose what they took, one after the other: at first waits end, and then none does.
#[test]
fn that_nothing_is_returned_any_more_is_said() {
    let said = |until: u64, threads: u64| {
        let mut waiting = Waiting::new(POOL, RETURN);
        for round in 0..until / 100 {
            (1..=4).for_each(|waiter| waiting.wait(waiter, round * 100, round * 100 + 90, Some(waiter % 4 + 1)));
        }
        for from in (until..1_000).step_by(100) {
            (1..=threads).for_each(|waiter| waiting.wait(waiter, from, from + 99, None));
        }
        let verdict = waiting.report().verdict;
        let sentence = verdict.split_once("In the last ").map(|(_, said)| said.to_owned());
        sentence.unwrap_or_default()
    };
    let none =
        "510 ms, no thread ended such a wait: what these threads wait for is in use for long, or those that took \
                it have kept it.";
    assert!(said(500, 4).starts_with(none), "{}", said(500, 4));
    assert_eq!(said(900, 4), "", "not for long");
    assert_eq!(said(500, 0), "", "nobody waited");
    assert_eq!(said(1_000, 4), "");
}

/// No permit comes back during the recording, and each wait for one reaches its limit.
#[test]
fn that_nothing_is_returned_at_all_is_said_of_waits_with_a_limit() {
    let takes = "jdk.internal.misc.Unsafe.park j.locks.LockSupport.parkNanos AQS.acquire j.Semaphore.tryAcquire \
                 com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let mut waiting = Waiting::new(POOL, RETURN);
    defined(&mut waiting, &[(4, takes)]);
    waiting.events.push(lock(5, "java.util.concurrent.Semaphore$NonfairSync", 5, ""));
    for from in (0..1_000).step_by(100) {
        (1..=4).for_each(|waiter| waiting.wait(waiter, from, from + 99, None));
    }
    for event in &mut waiting.events {
        match event {
            Event::ParkBegin(park) => (park.chain, park.blocker) = (ChainId(4), LockId(5)),
            Event::Park(park) => (park.chain, park.blocker) = (ChainId(4), LockId(5)),
            _ => {}
        }
    }
    let verdict = waiting.report().verdict;
    assert!(verdict.contains("In the last 1.00 s, no thread ended such a wait"), "{verdict}");
}

/// What is between the queue of a pool and the thread's root.
const POOLED: &str = "j.LinkedBlockingQueue.VERB com.acme.Pool.take com.acme.Pool.next com.acme.Pool.connection com.acme.Db.open \
                    com.acme.Db.query com.acme.Orders.load com.acme.Orders.handle com.acme.Server.run java.lang.Thread.run";

/// Of threads that wait for a permit with a limit, one that gives up wakes the next one, which goes on waiting.
#[test]
fn a_thread_that_gives_up_and_wakes_the_next_one_returns_nothing() {
    let passes = "AQS.acquire AQS.tryAcquireSharedNanos j.Semaphore.tryAcquire com.acme.Gate.pass com.acme.Server.run \
                  java.lang.Thread.run";
    let takes = format!("jdk.internal.misc.Unsafe.park j.locks.LockSupport.parkNanos {passes}");
    let unparks = "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark AQS.signalNext";
    let gives_up = format!("{unparks} AQS.cleanQueue AQS.cancelAcquire {passes}");
    let returns = format!("{unparks} AQS.releaseShared j.Semaphore.release com.acme.Gate.leave com.acme.Server.run");
    let report = |wakes: &str| {
        let mut waiting = Waiting::new(POOL, RETURN);
        defined(&mut waiting, &[(4, &takes), (5, wakes)]);
        waiting.events.push(lock(5, "java.util.concurrent.Semaphore$NonfairSync", 5, ""));
        for from in (0..1_000).step_by(100) {
            waiting.wait(1, from, from + 50, None);
            waiting.wait(2, from, from + 50, Some(1));
            waiting.wait(2, from + 50, from + 99, None);
        }
        for event in &mut waiting.events {
            match event {
                Event::ParkBegin(park) => (park.chain, park.blocker) = (ChainId(4), LockId(5)),
                Event::Park(park) => (park.chain, park.blocker) = (ChainId(4), LockId(5)),
                Event::Unpark(unpark) => unpark.chain = ChainId(5),
                _ => {}
            }
        }
        waiting.report()
    };
    let said = report(&gives_up);
    assert!(said.verdict.contains("In the last 1.00 s, no thread ended such a wait"), "{}", said.verdict);
    assert!(!said.findings[0].text.contains("woken by"), "{}", said.findings[0].text);
    // The same where the one that wakes had a permit.
    let said = report(&returns);
    assert!(!said.verdict.contains("no thread ended such a wait"), "{}", said.verdict);
    assert!(said.findings[0].text.contains("woken by"), "{}", said.findings[0].text);
}

/// Threads that lose connections, one after the other, give up: what others returned at first were connections of the
/// same pool.
#[test]
fn that_nothing_is_returned_any_more_is_said_however_often_threads_gave_up() {
    let mut waiting = Waiting::new(&POOLED.replace("VERB", "take"), &POOLED.replace("VERB", "offer"));
    (1..=4).for_each(|waiter| waiting.wait(waiter, 0, 90, Some(waiter % 4 + 1)));
    for from in (100..1_000).step_by(100) {
        (1..=4).for_each(|waiter| waiting.wait(waiter, from, from + 99, None));
    }
    let report = waiting.report();
    assert_eq!(report.waits[0].entry, EntryKind::WaitPermit);
    assert!(report.verdict.contains("In the last 910 ms, no thread ended such a wait"), "{}", report.verdict);
}
