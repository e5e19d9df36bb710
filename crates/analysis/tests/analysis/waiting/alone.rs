//! Waits of short call stacks that are no lack of work.

use super::*;

const GIVER: &str = "com.acme.Producer.run java.lang.Thread.run";
const TAKER: &str = "com.acme.Consumer.run java.lang.Thread.run";

/// Givers and takers share one monitor, and wait for each other from 100 ms on, with this timeout; `producers` of them
/// give.
fn both_wait(producers: u64, timeout: DurationNs) -> Report {
    let mut waiting = Waiting::new(POOL, RETURN);
    let put = "java.lang.Object.wait com.acme.Buffer.put com.acme.Producer.run java.lang.Thread.run";
    let take = "java.lang.Object.wait com.acme.Buffer.take com.acme.Consumer.run java.lang.Thread.run";
    defined(&mut waiting, &[(4, put), (5, take)]);
    waiting.events.extend((0..producers).map(|id| thread(21 + id, &format!("producer-{id}"))));
    waiting.events.extend((0..2).map(|id| thread(31 + id, &format!("consumer-{id}"))));
    let mut seq = 0;
    let mut next = || {
        seq += 1;
        Seq(seq)
    };
    let begin = |thread: u64, ms: u64, seq| {
        let chain = ChainId(if thread < 30 { 4 } else { 5 });
        MonitorWait { time: at(ms), thread: ThreadId(thread), lock: LockId(2), seq, chain, timeout }
    };
    for (waiter, notifier, ms) in [(31, 21, 0), (32, 22, 40)] {
        let MonitorWait { time: start, thread, lock, chain, .. } = begin(waiter, ms, Seq(0));
        waiting.events.push(Event::MonitorWait(begin(waiter, ms, next())));
        let (time, seq, outcome, notifier) = (at(ms + 10), next(), WaitOutcome::Notified, ThreadId(notifier));
        let waited = MonitorWaited { time, start, thread, lock, seq, chain, timeout, outcome, notifier };
        waiting.events.push(Event::MonitorWaited(waited));
    }
    waiting.events.extend([21, 22, 31, 32].map(|thread| Event::MonitorWait(begin(thread, 100, next()))));
    waiting.report()
}

#[test]
fn threads_that_nobody_is_left_to_wake_are_not_idle() {
    let report = both_wait(2, DurationNs(0));
    assert!(report.waits.iter().all(|site| site.entry == EntryKind::WaitResult), "{:?}", report.waits);
    let alone =
        "All threads that ended such waits before wait for the same object, too: nobody may be left to wake them";
    let texts: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert!(texts.len() == 2 && texts.iter().all(|text| text.contains(alone)), "{texts:?}");
    assert!(!report.verdict.contains("No bottleneck"), "{}", report.verdict);
    assert!(report.verdict.contains("`Buffer.put`") && report.verdict.contains("`Buffer.take`"), "{}", report.verdict);
    assert!(report.verdict.contains(alone), "{}", report.verdict);
    let cost: u64 = report.findings.iter().map(|finding| finding.cost_ns).sum();
    assert_eq!(report.ledger.ns(EntryKind::WaitResult), cost);
    // One more producer may put something at any time.
    let report = both_wait(3, DurationNs(0));
    assert!(report.waits.iter().all(|site| site.idle), "{:?}", report.waits);
    assert!(!report.findings.iter().any(|finding| finding.text.contains(alone)), "{:?}", report.findings);
}

#[test]
fn threads_that_a_time_limit_wakes_are_not_left_alone() {
    let says = |timeout| {
        let report = both_wait(2, timeout);
        let text = report.findings.iter().map(|finding| finding.text.as_str()).collect::<String>() + &report.verdict;
        text.contains("nobody may be left to wake them")
    };
    assert!(says(DurationNs(0)));
    assert!(!says(DurationNs(60_000_000_000)));
}

/// Givers and takers that wait for each other in `Condition.await`, for good.
#[test]
fn parked_threads_that_a_time_limit_wakes_are_not_left_alone() {
    let says = |limit| {
        let mut waiting = Waiting::new(&format!("com.acme.Buffer.put {GIVER}"), RETURN);
        let take = format!("{PARK} com.acme.Buffer.take {TAKER}");
        defined(&mut waiting, &[(4, &take)]);
        let side = |thread: u64| if thread <= 2 { ChainId(1) } else { ChainId(4) };
        waiting.wait(1, 0, 10, Some(3));
        waiting.wait(3, 40, 50, Some(1));
        for id in 1..=4 {
            let (thread, seq) = (ThreadId(id), waiting.next());
            let begin = ParkBegin { time: at(100), thread, seq, blocker: LockId(1), limit, ..ParkBegin::default() };
            waiting.events.push(Event::ParkBegin(begin));
        }
        for event in &mut waiting.events {
            match event {
                Event::ParkBegin(park) => park.chain = side(park.thread.0),
                Event::Park(park) => park.chain = side(park.thread.0),
                Event::Thread(def) if def.id.0 <= 4 => {
                    let name = if def.id.0 <= 2 { "giver" } else { "taker" };
                    (def.name, def.group) = (format!("{name}-{}", def.id.0).into(), "".into());
                }
                _ => {}
            }
        }
        let report = waiting.report();
        let text = report.findings.iter().map(|finding| finding.text.as_str()).collect::<String>() + &report.verdict;
        text.contains("nobody may be left to wake them")
    };
    assert!(says(ParkLimit::None));
    for limit in [ParkLimit::For(DurationNs(60_000_000_000)), ParkLimit::UntilEpochMs(1_790_000_000_000)] {
        assert!(!says(limit), "{limit:?}");
    }
    assert!(!says(ParkLimit::Unknown), "parked already when the recording began");
}

/// A nightly job takes connections in its own loop, near the root of its threads.
#[test]
fn who_waits_where_others_wait_for_a_pooled_object_is_not_idle() {
    let report = |pooled: bool| {
        let mut waiting = Waiting::new(POOL, RETURN);
        waiting.events.extend((21..=22).map(|id| thread(id, &format!("batch-{id}"))));
        for round in 0..3 {
            let from = 100 + 300 * round;
            (1..=6).filter(|_| pooled).for_each(|waiter| waiting.wait(waiter, from, from + 200, Some(waiter % 6 + 1)));
            (21..=22).for_each(|waiter| waiting.wait(waiter, from, from + 250, Some(waiter - 20)));
        }
        let own = "j.LinkedBlockingQueue.take com.acme.Pool.getConnection com.acme.Batch.run java.lang.Thread.run";
        defined(&mut waiting, &[(4, &format!("{PARK} {own}"))]);
        for event in &mut waiting.events {
            match event {
                Event::ParkBegin(park) if park.thread.0 > 20 => park.chain = ChainId(4),
                Event::Park(park) if park.thread.0 > 20 => park.chain = ChainId(4),
                _ => {}
            }
        }
        waiting.report()
    };
    let shared = report(true);
    assert!(shared.waits.iter().all(|site| site.entry == EntryKind::WaitPermit), "{:?}", shared.waits);
    assert!(shared.findings[0].text.starts_with("8 threads, most of them `exec-*`, waited"), "{:?}", shared.findings);
    let awaited = "for a permit or a pooled object (a blocking queue)";
    assert!(shared.findings[0].text.contains(awaited), "{:?}", shared.findings);
    assert!(report(false).waits.iter().all(|site| site.idle));
}

/// Attached to when nothing moved any more.
#[test]
fn threads_that_may_wait_for_each_other_come_before_no_bottleneck() {
    let verdict = |other: &str, timeout: DurationNs| {
        let mut waiting = Waiting::new(POOL, RETURN);
        let put = "java.lang.Object.wait com.acme.Buffer.put com.acme.Producer.run java.lang.Thread.run";
        let take = format!("java.lang.Object.wait com.acme.{other}.take com.acme.Consumer.run java.lang.Thread.run");
        defined(&mut waiting, &[(4, put), (5, &take)]);
        for id in [21, 22, 31, 32] {
            let (name, chain) = if id < 30 { ("producer", ChainId(4)) } else { ("consumer", ChainId(5)) };
            waiting.events.push(thread(id, &format!("{name}-{id}")));
            let (thread, seq) = (ThreadId(id), Seq(id));
            let wait = MonitorWait { time: at(0), thread, lock: LockId(2), seq, chain, timeout };
            waiting.events.push(Event::MonitorWait(wait));
        }
        waiting.report().verdict
    };
    let (one, other) = (verdict("Buffer", DurationNs(0)), verdict("Queue", DurationNs(0)));
    let each_other = "2 threads `producer-*` were in `Buffer.put` all the time, and 2 threads `consumer-*` in \
                      `Buffer.take`: they may wait for each other. Apart from that: ";
    assert!(one.starts_with(each_other), "{one}");
    assert!(other.ends_with("in `Queue.take`: idle, or nobody woke them."), "{other}");
    let with_limit = verdict("Buffer", UNKNOWN_TIMEOUT);
    assert!(with_limit.ends_with("in `Buffer.take`: idle, or nobody woke them."), "{with_limit}");
}

/// Two threads start others and wait for their ends, 120 times from 100 ms on; `requests` of these come and go, five
/// milliseconds each, and every `other`th is of another group.
fn churn(requests: u64, other: u64, options: Options) -> Report {
    churned((120, requests, other), options)
}

/// The same with so many waits, of which those of the first `requests` are for threads that come and go.
fn churned((waits, requests, other): (u64, u64, u64), options: Options) -> Report {
    let mut waiting = Waiting::new(POOL, RETURN);
    let join = "java.lang.Object.wait java.lang.Thread.join com.acme.Web.accept com.acme.Acceptor.run";
    defined(&mut waiting, &[(4, join)]);
    waiting.events.extend((21..=22).map(|id| thread(id, &format!("acceptor-{id}"))));
    let mut seq = 0;
    for round in 0..waits {
        let (waiter, child, lock_id) = (ThreadId(21 + round % 2), ThreadId(100 + round), LockId(100 + round));
        let start = 100 + 840 * round / waits;
        let (start, end) = (at(start), at(start + 5));
        let name = if round % other == other - 1 { "upload" } else { "request" };
        waiting.events.extend([thread(child.0, name), lock(lock_id.0, "java.lang.Thread", 1, "")]);
        let point = |time| ThreadPoint { time, thread: child };
        if round < requests {
            waiting.events.push(Event::ThreadStart(point(start)));
        }
        let (lock, chain) = (lock_id, ChainId(4));
        for is_end in [false, true] {
            seq += 1;
            waiting.events.push(match is_end {
                false => {
                    let (seq, timeout) = (Seq(seq), DurationNs(0));
                    Event::MonitorWait(MonitorWait { time: start, thread: waiter, lock, seq, chain, timeout })
                }
                true => {
                    let (seq, outcome) = (Seq(seq), WaitOutcome::Notified);
                    let waited =
                        MonitorWaited { time: end, start, thread: waiter, lock, seq, chain, ..Default::default() };
                    Event::MonitorWaited(MonitorWaited { outcome, ..waited })
                }
            });
        }
        if round < requests {
            waiting.events.push(Event::ThreadEnd(point(end)));
        }
    }
    waiting.report_with(options)
}

#[test]
fn it_is_said_how_many_threads_came_and_went_where_others_wait_for_their_ends() {
    let texts = |requests, other, options| {
        let findings = churn(requests, other, options).findings;
        findings
            .into_iter()
            .map(|finding| finding.text)
            .find(|text| text.contains("in `Thread.join`"))
            .expect("a finding")
    };
    let all = |requests, other| texts(requests, other, Options::default());
    let said = "Meanwhile, 120 threads `request` started and ended (on average, 120 per second).";
    assert!(all(120, u64::MAX).contains(said), "{}", all(120, u64::MAX));
    for few in [60, 99] {
        assert!(!all(few, u64::MAX).contains("Meanwhile"), "{few}: {}", all(few, u64::MAX));
    }
    // The group with most of them counts.
    let most = all(120, 8);
    assert!(most.contains("Meanwhile, 105 threads `request` started and ended"), "{most}");
    assert!(!all(120, 5).contains("Meanwhile"), "96 of one group: {}", all(120, 5));
    // Only those that lived in the range, all of their time.
    let range = |from, to| {
        let time = |ms| Some(Bound::At(at(ms)));
        texts(120, u64::MAX, Options { from: time(from), to: time(to), ..Options::default() })
    };
    let part = range(206, 931);
    assert!(
        part.contains("Meanwhile, 103 threads `request` started and ended (on average, 142 per second)."),
        "{part}"
    );
    assert!(!range(300, 900).contains("Meanwhile"), "{}", range(300, 900));
}

/// There are as many threads that come and go, but far more waits for the ends of others.
#[test]
fn threads_that_are_few_beside_the_waits_are_not_said_to_come_and_go() {
    let text = |waits: u64| {
        let report = churn_beside(waits);
        report.findings.into_iter().map(|finding| finding.text).find(|text| text.contains("in `Thread.join`"))
    };
    assert!(text(100).expect("a finding").contains("Meanwhile, 100 threads `request`"));
    assert!(text(200).expect("a finding").contains("Meanwhile, 100 threads `request`"));
    let more = text(202).expect("a finding");
    assert!(!more.contains("Meanwhile"), "{more}");
}

/// 100 threads come and go; of so many `waits` for the end of a thread these end some.
fn churn_beside(waits: u64) -> Report {
    churned((waits, 100, u64::MAX), Options::default())
}

/// Where no lock and no wait matters, most of the active time is that of threads that live for short.
#[test]
fn that_most_of_the_active_time_is_that_of_short_lived_threads_is_in_the_verdict() {
    let verdict = |threads: u64, life_ms: u64| {
        let mut waiting = Waiting::new(POOL, RETURN);
        waiting.events.truncate(1);
        for id in 100..100 + threads {
            waiting.events.push(thread(id, "request"));
            let start = (id - 100) * (990 - life_ms) / threads;
            let point = |ms| ThreadPoint { time: at(ms), thread: ThreadId(id) };
            waiting.events.extend([Event::ThreadStart(point(start)), Event::ThreadEnd(point(start + life_ms))]);
        }
        waiting.report().verdict
    };
    let said = "200 threads `request` started and ended (200 per second; each lived 5.00 ms on average).";
    assert!(verdict(200, 5).ends_with(said), "{}", verdict(200, 5));
    assert!(!verdict(99, 5).contains("started and ended"), "{}", verdict(99, 5));
    assert!(!verdict(200, 11).contains("started and ended"), "{}", verdict(200, 11));
}

/// A scheduler that waits for the time of the next job, and at times for a free worker, which it hands the job to.
#[test]
fn workers_are_idle_though_who_hands_them_work_waits_for_a_free_one_if_it_does_nothing_for_them() {
    let idle = |waits_ms: u64| {
        let frames = "j.LinkedBlockingQueue.take com.acme.Worker.run java.lang.Thread.run";
        let mut waiting = Waiting::new(frames, "j.LinkedBlockingQueue.offer com.acme.Scheduler.hand");
        for round in 0..9 {
            let (worker, begin) = (1 + round % 2, 100 * round);
            waiting.wait(9, begin, begin + 10, Some(worker));
            waiting.wait(9, begin + 10, begin + 10 + waits_ms, None);
            waiting.wait(worker, begin + 10, begin + 95, Some(9));
        }
        waits_with(&mut waiting, 9, "j.LinkedBlockingQueue.poll com.acme.Scheduler.run java.lang.Thread.run");
        let report = waiting.report();
        report.waits.iter().find(|site| site.method == "com.acme.Worker.run").expect("a site").idle
    };
    assert!(idle(88));
    assert!(!idle(20), "it may be that it did then what they wait for");
}
