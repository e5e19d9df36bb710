//! Who had what others waited for, and what samples cannot show.

use super::*;

/// Threads are sampled only while somebody has waited for some milliseconds: what they do in short waits is not seen.
#[test]
fn how_little_of_short_waits_samples_cover_is_said() {
    let said = |short_ms: u64| {
        let mut waiting = Waiting::new(POOL, RETURN);
        for round in 0..60 {
            (1..=6).for_each(|waiter| waiting.wait(waiter, round * 10, round * 10 + short_ms, Some(waiter % 6 + 1)));
        }
        (1..=6).for_each(|waiter| waiting.wait(waiter, 700, 800, Some(waiter % 6 + 1)));
        let with = "java.lang.Thread.sleep com.acme.Remote.call com.acme.Db.handleRequest com.acme.Server.run";
        defined(&mut waiting, &[(7, with)]);
        (0..40).for_each(|sample| seen(&mut waiting, 1 + sample % 6, 705 + sample, 7));
        waiting.events.iter_mut().for_each(with_the_root_of_waits);
        let report = waiting.report();
        (report.verdict, report.findings[0].text.clone())
    };
    let (verdict, text) = said(3);
    assert!(text.contains("For 100 % of the sampled time (40 samples, which cover 34 % of the time)"), "{text}");
    assert!(verdict.ends_with("The threads that had one were often in `Thread.sleep`, called from `Remote.call`."));
    let (verdict, text) = said(10);
    assert!(text.contains("(40 samples, which cover 65 % of the time)"), "{text}");
    assert!(verdict.ends_with("The threads that had one were mostly in `Thread.sleep`, called from `Remote.call`."));
}

/// Requests share a pool with a report, which takes objects in another method and seldom returns one.
#[test]
fn the_threads_that_have_most_of_a_pool_are_named_though_they_seldom_return_it() {
    let of_semaphore = |frames: &str| format!("jdk.internal.misc.Unsafe.{frames} java.lang.Thread.run");
    let takes = "park j.locks.LockSupport.park AQS.acquire AQS.acquireShared j.Semaphore.acquire com.acme.Pool.take";
    let gives = "unpark j.locks.LockSupport.unpark AQS.releaseShared j.Semaphore.release com.acme.Pool.giveBack";
    let (request, report) = ("com.acme.Db.handleRequest com.acme.Server.run", "com.acme.Report.write");
    let mut waiting = Waiting::new("", "");
    waiting.events.retain(|event| !matches!(event, Event::Chain(_)));
    waiting.events.extend((21..=23).map(|id| thread(id, &format!("report-{id}"))));
    for waiter in 1..=6 {
        (0..3).for_each(|round| waiting.wait(waiter, 100 + 300 * round, 300 + 300 * round, Some(waiter % 6 + 1)));
    }
    waiting.wait(21, 100, 150, Some(1));
    waiting.wait(7, 150, 300, Some(21));
    let [takes_1, gives_1] = [takes, gives].map(|frames| of_semaphore(&format!("{frames} {request}")));
    let [takes_2, gives_2] = [takes, gives].map(|frames| of_semaphore(&format!("{frames} {report}")));
    let with = format!("java.lang.Thread.sleep com.acme.Report.scan {report} java.lang.Thread.run");
    let uses = format!("java.lang.Thread.sleep com.acme.Remote.call {request} java.lang.Thread.run");
    defined(&mut waiting, &[(1, &takes_1), (2, &gives_1), (4, &takes_2), (5, &gives_2), (7, &with), (8, &uses)]);
    for event in &mut waiting.events {
        match event {
            Event::ParkBegin(park) if park.thread == ThreadId(21) => park.chain = ChainId(4),
            Event::Park(park) if park.thread == ThreadId(21) => park.chain = ChainId(4),
            Event::Unpark(unpark) if unpark.thread == ThreadId(21) => unpark.chain = ChainId(5),
            _ => {}
        }
    }
    for sample in 0..30 {
        let (thread, stack) = if sample < 20 { (21 + sample % 3, 7) } else { (1 + sample % 6, 8) };
        seen(&mut waiting, thread, 100 + sample * 20, stack);
    }
    let report = waiting.report();
    let text = &report.findings[0].text;
    let did = "For 67 % of the sampled time (30 samples), the threads that had one were `report-*`, mostly in \
               `Thread.sleep`, called from `Report.scan`.";
    assert!(text.ends_with(did), "{text}");
    let said = "The threads that had one were mostly `report-*`, in `Thread.sleep`, called from `Report.scan`.";
    assert!(report.verdict.ends_with(said), "{}", report.verdict);
}

/// Requests that got no permit in time leave the queue, which wakes the next ones; the permits were never returned.
#[test]
fn who_leaves_the_queue_returned_nothing() {
    let waits = "j.Semaphore.tryAcquire com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let wakes = "AQS.releaseShared j.Semaphore.release com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    let mut waiting = Waiting::new(waits, wakes);
    let leaves =
        "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark AQS.signalNext AQS.cleanQueue AQS.cancelAcquire \
                  AQS.acquire AQS.tryAcquireSharedNanos j.Semaphore.tryAcquire com.acme.Gate.pass com.acme.Server.run \
                  java.lang.Thread.run";
    let with =
        "java.lang.Thread.sleep com.acme.Remote.call com.acme.Gate.pass com.acme.Server.run java.lang.Thread.run";
    for waiter in 1..=4 {
        (0..8).for_each(|round| waiting.wait(waiter, 25 * round, 25 * round + 25, Some(waiter % 4 + 1)));
    }
    let returned = waiting.events.len();
    (1..=4).for_each(|waiter| waiting.wait(waiter, 200, 950, Some(waiter % 4 + 1)));
    for event in waiting.events.iter_mut().skip(returned) {
        if let Event::Unpark(unpark) = event {
            unpark.chain = ChainId(7);
        }
    }
    defined(&mut waiting, &[(7, leaves), (8, with)]);
    for sample in 0..40 {
        seen(&mut waiting, 5 + sample % 4, 20 + 20 * (sample / 4), 8);
    }
    let report = waiting.report();
    let text = &report.findings[0].text;
    let woken = "Waiting threads were woken by `Gate.pass` in `exec-*` (21 % of the waiting time).";
    assert!(text.contains(woken), "{text}");
    let did = "For 100 % of the sampled time (40 samples, which cover 21 % of the time), the threads that had one \
               (`exec-*`) were in `Thread.sleep`, called from `Remote.call`. For most of the time, no thread was seen to have \
               one: some may not have been returned. In the last 800 ms, no thread ended such a wait: what these threads \
               wait for is in use for long, or those that took it have kept it.";
    assert!(text.ends_with(did), "{text}");
    let not_returned = "For most of the time, no thread was seen to have one: some may not have been returned. In the last \
                        800 ms, no thread ended such a wait: what these threads wait for is in use for long, or those that \
                        took it have kept it.";
    assert!(report.verdict.ends_with(not_returned), "{}", report.verdict);
}

/// Requests wait for results that a pool makes; where it is busy, whoever gives it work makes them itself.
#[test]
fn of_several_that_make_results_the_one_that_made_most_is_named_whoever_was_seen_more() {
    let waits = "j.CompletableFuture.get com.acme.Quotes.serve java.lang.Thread.run";
    let wakes = "j.CompletableFuture.complete com.acme.Quotes.handle java.lang.Thread.run";
    let mut waiting = Waiting::new(waits, wakes);
    waiting.events.push(thread(21, "acceptor"));
    for round in 0..10 {
        let maker = if round < 6 { 9 } else { 21 };
        (1..=3).for_each(|waiter| waiting.wait(waiter, round * 90, round * 90 + 80, Some(maker)));
    }
    let handles = "java.lang.Thread.sleep com.acme.Quotes.compute com.acme.Quotes.handle java.lang.Thread.run";
    defined(&mut waiting, &[(7, handles)]);
    (0..60).for_each(|sample| seen(&mut waiting, if sample % 5 < 2 { 9 } else { 21 }, 100 + 13 * sample, 7));
    let report = waiting.report();
    let text = &report.findings[0].text;
    let woken =
        "Waiting threads were woken by `Quotes.handle` in `other` (60 % of the waiting time) and in `acceptor` (40 %).";
    assert!(text.contains(woken), "{text}");
    let did = "Meanwhile, thread `other` was mostly in `Thread.sleep`, called from `Quotes.compute`.";
    assert!(report.verdict.ends_with(did), "{}", report.verdict);
}

/// Orders run in a pool, and wait for parts that they gave to the same pool.
#[test]
fn those_that_make_results_and_wait_themselves_are_named() {
    let said = |part_ms: u64, (rounds, looks): (u64, u64)| {
        let waits = "j.FutureTask.get com.acme.Quotes.serve java.lang.Thread.run";
        let wakes =
            "j.FutureTask.finishCompletion j.FutureTask.set j.ThreadPoolExecutor.runWorker java.lang.Thread.run";
        let mut waiting = Waiting::new(waits, wakes);
        let parts =
            "jdk.internal.misc.Unsafe.park j.locks.LockSupport.parkNanos j.FutureTask.awaitDone j.FutureTask.get \
                     com.acme.Quotes.order j.ThreadPoolExecutor.runWorker java.lang.Thread.run";
        waiting.events.extend([31, 32].map(|id| lock(id, "java.util.concurrent.FutureTask", id as u32, "")));
        waiting.events.extend((21..=22).map(|id| thread(id, &format!("pool-{id}"))));
        for round in 0..rounds {
            (21..=22).for_each(|worker| waiting.wait(worker, round * 90, round * 90 + part_ms, None));
            (1..=3).for_each(|waiter| waiting.wait(waiter, round * 90, round * 90 + 80, Some(21)));
        }
        let prices = "java.lang.Thread.sleep com.acme.Quotes.price j.ThreadPoolExecutor.runWorker java.lang.Thread.run";
        defined(&mut waiting, &[(4, parts), (7, prices)]);
        (0..looks).for_each(|look| seen(&mut waiting, 21, 5 + 90 * rounds / looks * look, 7));
        // Each part is another object.
        let part = |time: TimeNs| LockId(31 + (time.0 - at(0).0) / (90 * MS) % 2);
        for event in &mut waiting.events {
            match event {
                Event::ParkBegin(park) if park.thread.0 > 20 => {
                    (park.chain, park.blocker) = (ChainId(4), part(park.time));
                }
                Event::Park(park) if park.thread.0 > 20 => {
                    (park.chain, park.blocker) = (ChainId(4), part(park.start));
                }
                _ => {}
            }
        }
        waiting.report().verdict
    };
    let waited = "Threads `pool-*` mostly waited themselves, in `Quotes.order` for a result.";
    assert!(said(75, (10, 0)).contains(waited), "{}", said(75, (10, 0)));
    assert!(!said(10, (10, 0)).contains(waited), "{}", said(10, (10, 0)));
    // What was seen for the smaller part of the time does not say what they did all the time.
    let sleeps = "Meanwhile, thread `pool-21` was mostly in `Thread.sleep`, called from `Quotes.price`.";
    let (part, most) = (said(75, (20, 24)), said(75, (10, 24)));
    assert!(part.contains(waited), "{part}");
    assert!(most.contains(sleeps) && !most.contains(waited), "{most}");
}

/// A client that runs two calls at a time, whoever asks for more.
#[test]
fn how_few_work_for_how_many_is_said() {
    let said = |workers: u64| {
        let waits = "j.CompletableFuture.get com.acme.Prices.serve java.lang.Thread.run";
        let wakes = "j.CompletableFuture.complete com.acme.Client.call java.lang.Thread.run";
        let mut waiting = Waiting::new(waits, wakes);
        waiting.events.extend((21..=26).map(|id| thread(id, &format!("client-{id}"))));
        for round in 0..5 {
            (1..=8).for_each(|waiter| waiting.wait(waiter, round * 190, round * 190 + 180, Some(21 + waiter % 2)));
        }
        let reads = "java.net.Socket.read com.acme.Client.call java.lang.Thread.run";
        defined(&mut waiting, &[(7, reads)]);
        for look in 0..45 {
            (0..workers).for_each(|worker| seen(&mut waiting, 21 + worker, 20 + 20 * look, 7));
        }
        waiting.report().verdict
    };
    let few = "Meanwhile, threads `client-*` were mostly in `Socket.read`. On average, only 2.00 threads `client-*` were at work \
               at a time; 8 threads waited for them.";
    assert!(said(2).ends_with(few), "{}", said(2));
    assert!(said(6).ends_with("mostly in `Socket.read`."), "{}", said(6));
}

/// Eight workers have one name, as those of a factory that nobody asked for numbers.
#[test]
fn threads_with_one_name_are_several() {
    let said = |names: [&str; 2]| {
        let waits = "j.CompletableFuture.get com.acme.Prices.serve java.lang.Thread.run";
        let wakes = "j.CompletableFuture.complete com.acme.Client.call java.lang.Thread.run";
        let mut waiting = Waiting::new(waits, wakes);
        waiting.events.extend([21, 22].into_iter().zip(names).map(|(id, name)| thread(id, name)));
        for round in 0..5 {
            (1..=2).for_each(|waiter| waiting.wait(waiter, round * 190, round * 190 + 180, Some(20 + waiter)));
        }
        let reads = "java.net.Socket.read com.acme.Client.call java.lang.Thread.run";
        defined(&mut waiting, &[(7, reads)]);
        for look in 0..45 {
            (0..2).for_each(|worker| seen(&mut waiting, 21 + worker, 20 + 20 * look, 7));
        }
        let report = waiting.report();
        format!("{}\n{}", report.verdict, report.findings[0].text)
    };
    let same = said(["worker", "worker"]);
    assert!(same.contains("Meanwhile, threads `worker` were mostly in `Socket.read`."), "{same}");
    assert!(same.contains("threads `worker` were in `Socket.read`"), "{same}");
}

/// A pool of three whose threads all sleep in their tasks: that there are too few of them is said whatever callers wait on.
#[test]
fn a_pool_all_of_whose_threads_are_busy_is_named() {
    for (awaits, gives) in [
        ("j.CompletableFuture.get", "j.CompletableFuture.complete"),
        ("j.CountDownLatch.await", "j.CountDownLatch.countDown"),
    ] {
        let waits = format!("{awaits} com.acme.Prices.serve java.lang.Thread.run");
        let wakes = format!("{gives} com.acme.Client.call java.lang.Thread.run");
        let mut waiting = Waiting::new(&waits, &wakes);
        waiting.events.extend((21..=23).map(|id| thread(id, &format!("client-{id}"))));
        for round in 0..5 {
            (1..=8).for_each(|waiter| waiting.wait(waiter, round * 190, round * 190 + 180, Some(21 + waiter % 3)));
        }
        let reads = "java.net.Socket.read com.acme.Client.call java.lang.Thread.run";
        defined(&mut waiting, &[(7, reads)]);
        for look in 0..45 {
            (0..3).for_each(|worker| seen(&mut waiting, 21 + worker, 20 + 20 * look, 7));
        }
        let report = waiting.report();
        let all = "All 3 threads `client-*` were busy nearly all the time; 8 threads waited for them.";
        assert!(report.verdict.ends_with(all), "{}", report.verdict);
        assert!(report.findings[0].text.contains(all), "{}", report.findings[0].text);
    }
}

/// An event loop gives all work to one slow worker, which always has some; results come back by the loop.
#[test]
fn the_only_thread_that_is_busy_behind_an_event_loop_is_named() {
    let said = |busy: &[u64]| {
        let waits = "j.CompletableFuture.get com.acme.Prices.serve java.lang.Thread.run";
        let wakes = "j.CompletableFuture.complete com.acme.Loop.run java.lang.Thread.run";
        let mut waiting = Waiting::new(waits, wakes);
        let names = [(21, "blocking-worker"), (22, "acceptor"), (23, "mailer"), (24, "warm-up")];
        waiting.events.extend(names.map(|(id, name)| thread(id, name)));
        for round in 0..5 {
            (1..=4).for_each(|waiter| waiting.wait(waiter, round * 190, round * 190 + 180, Some(9)));
        }
        let selects = "sun.nio.ch.EPoll.wait sun.nio.ch.SelectorImpl.select com.acme.Loop.run java.lang.Thread.run";
        defined(&mut waiting, &[(7, selects)]);
        (0..45).for_each(|look| seen(&mut waiting, 9, 20 + 20 * look, 7));
        waiting.events.push(Event::ThreadEnd(ThreadPoint { time: at(100), thread: ThreadId(24) }));
        let (start, duration, cpu) = (at(0), DurationNs(100 * MS), DurationNs(90 * MS));
        let ran = ThreadTime { start, duration, thread: ThreadId(24), cpu, run_queue: None };
        waiting.events.push(Event::ThreadTime(ran));
        // The acceptor waits for the network and never runs.
        for (thread, cpu) in [(9, 5), (21, 40), (22, 0), (23, 40)] {
            let (start, duration, cpu) = (at(0), DurationNs(1_000 * MS), DurationNs(cpu * MS));
            if busy.contains(&thread) || thread < 23 {
                let ran = ThreadTime { start, duration, thread: ThreadId(thread), cpu, run_queue: None };
                waiting.events.push(Event::ThreadTime(ran));
            }
        }
        let report = waiting.report();
        (report.verdict, report.findings[0].text.clone())
    };
    let only =
        "Of all other threads, only thread `blocking-worker` was busy nearly all the time: it may have done the work.";
    let (verdict, text) = said(&[21]);
    assert!(verdict.ends_with(only) && text.ends_with(only), "{verdict}\n{text}");
    // Of two, nobody knows which.
    assert!(!said(&[21, 23]).0.contains("may have done the work"));
}
