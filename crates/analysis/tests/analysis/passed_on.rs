//! Wake-ups that a thread passes on, from within its own wait or as a helper without other work: who ended the waits
//! is whoever began them.

use crate::queued::Naming;
use crate::story::{lock, recording, thread};
use headway_analysis::report::{FindingKind, Report};
use headway_analysis::{Analysis, Options};
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};

const US: u64 = 1_000;
const PARK: &str = "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park";
const UNPARK: &str = "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark";
const SERVE: &str = "com.acme.Shop.serve com.acme.Server.handle com.acme.Server.work com.acme.Server.run";
const WAITS: u64 = 1;
const PASSES_ON: u64 = 2;
const ENDS: u64 = 3;
/// A worker without work, the one that gives it work, and what that one does before.
const IDLE: u64 = 4;
const GIVES: u64 = 5;
const RENDERS: u64 = 6;
const SELECTS: u64 = 7;
/// Threads `exec-1` to `exec-4`, `batch`, `io-11` and `render-21`.
const BATCH: u64 = 9;
const IO: u64 = 11;
const RENDER: u64 = 21;

/// From within the acquisition: there are more permits.
const TELLS_THE_NEXT: &str =
    "AQS.signalNextIfShared AQS.acquire AQS.acquireSharedInterruptibly j.Semaphore.acquire com.acme.Gate.enter";
/// After it has used its permit.
const RETURNS: &str = "AQS.signalNext AQS.releaseShared j.Semaphore.release com.acme.Gate.leave";

fn at(us: u64) -> TimeNs {
    TimeNs(1_000_000_000 + us * US)
}

struct Story {
    events: Vec<Event>,
    seq: u64,
}

impl Story {
    /// The frames with which a thread waits, passes a wake-up on, and ends a wait.
    fn new(class: &str, waits: &str, passes_on: &str, ends: &str) -> Story {
        let mut naming = Naming::new();
        naming.chain(WAITS, &format!("{PARK} {waits} {SERVE}"), 1);
        naming.chain(PASSES_ON, &format!("{UNPARK} {passes_on} {SERVE}"), 1);
        naming.chain(ENDS, &format!("{UNPARK} {ends}"), 1);
        let pool = "j.ThreadPoolExecutor.runWorker j.ThreadPoolExecutor$Worker.run java.lang.Thread.run";
        naming.chain(IDLE, &format!("{PARK} j.LinkedBlockingQueue.take j.ThreadPoolExecutor.getTask {pool}"), 1);
        naming.chain(GIVES, &format!("{UNPARK} j.ThreadPoolExecutor.execute com.acme.Stages.then {pool}"), 1);
        naming.chain(RENDERS, &format!("java.lang.Thread.sleep com.acme.Stages.render {pool}"), 1);
        naming.chain(SELECTS, &format!("sun.nio.ch.SelectorImpl.select com.acme.Stages.next {pool}"), 1);
        let mut events = vec![recording(at(0))];
        events.extend((1..=4).map(|id| thread(id, &format!("exec-{id}"))));
        events.extend([thread(BATCH, "batch"), thread(IO, "io-11"), thread(RENDER, "render-21")]);
        events.extend((1..200).map(|id| lock(id, class, 0xa0 + id as u32, "")));
        events.extend(naming.events);
        Story { events, seq: 0 }
    }

    /// Threads wait for permits of a semaphore, and a batch returns some. `passes_on` are the frames with which a
    /// thread that got one wakes another.
    fn at_semaphore(passes_on: &str) -> Story {
        let waits = "AQS.acquire AQS.acquireSharedInterruptibly j.Semaphore.acquire com.acme.Gate.enter";
        let ends = "AQS.signalNext AQS.releaseShared j.Semaphore.release com.acme.Batch.run java.lang.Thread.run";
        Story::new("java.util.concurrent.Semaphore$FairSync", waits, passes_on, ends)
    }

    fn next(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    fn park(&mut self, us: u64, thread: u64, blocker: u64) -> ParkBegin {
        self.park_with(us, thread, blocker, WAITS)
    }

    fn park_with(&mut self, us: u64, thread: u64, blocker: u64, chain: u64) -> ParkBegin {
        let (time, seq) = (at(us), self.next());
        let (thread, blocker, chain) = (ThreadId(thread), LockId(blocker), ChainId(chain));
        let begin = ParkBegin { time, thread, seq, chain, blocker, ..ParkBegin::default() };
        self.events.push(Event::ParkBegin(begin));
        begin
    }

    /// `waker` unparks the thread, which runs 5 us later.
    fn wake(&mut self, us: u64, waker: u64, with: u64, begin: ParkBegin) {
        let ParkBegin { thread, chain, blocker, time: start, seq: start_seq, .. } = begin;
        let (unpark, waker) = (self.next(), ThreadId(waker));
        let event = Unpark { time: at(us), thread: waker, seq: unpark, chain: ChainId(with), target: thread };
        self.events.push(Event::Unpark(event));
        let (time, seq, outcome) = (at(us + 5), self.next(), ParkOutcome::Unparked);
        let park =
            Park { time, start, thread, start_seq, seq, chain, blocker, outcome, unpark, waker, ..Park::default() };
        self.events.push(Event::Park(park));
    }

    /// The thread was sampled in this stack, for 20 ms, while another one parked there.
    fn seen(&mut self, us: u64, thread: u64, stack: u64, (blocker, parked): (u64, u64)) {
        let (time, thread, chain) = (at(us), ThreadId(thread), ChainId(stack));
        let weight = DurationNs(20_000 * US);
        let sample = Sample { time, thread, chain, state: SampleState::Waiting, weight, cpu: None };
        let (lock, waiter_chain) = (LockId(blocker), ChainId(parked));
        self.events.push(Event::OwnerSample(OwnerSample { sample, lock, waiter_chain, waiters: 1 }));
    }

    fn report(&self) -> Report {
        let mut analysis = Analysis::new(Options::default());
        self.events.iter().for_each(|event| analysis.feed(event));
        analysis.feed(&Event::Watermark(at(1_000_000)));
        analysis.finish()
    }
}

/// A batch returns all permits of a semaphore and wakes the first thread; each that got one wakes the next.
#[test]
fn who_passes_on_that_there_are_permits_did_not_return_them() {
    let mut story = Story::at_semaphore(TELLS_THE_NEXT);
    for round in 0..9 {
        let from = 100_000 * round;
        let parked: Vec<_> = (1..=4).map(|thread| story.park(from + thread, thread, 1)).collect();
        for (place, begin) in parked.into_iter().enumerate() {
            let (waker, with) = if place == 0 { (BATCH, ENDS) } else { (place as u64, PASSES_ON) };
            story.wake(from + 90_000 + 10 * place as u64, waker, with, begin);
        }
    }
    let report = story.report();
    let [site] = &report.waits[..] else { panic!("{:?}", report.waits) };
    let by: Vec<(&str, u64)> = site.wakers.iter().map(|waker| (waker.group.as_str(), waker.count)).collect();
    assert_eq!(by, [("batch", 36)]);
    let text = &report.findings[0].text;
    assert!(
        text.contains("Waiting threads were woken by `Batch.run` in `batch` (100 % of the waiting time)"),
        "{text}"
    );
}

/// Who got a permit while another one waited, used it and returned it, ended that one's wait.
#[test]
fn who_returns_a_permit_that_it_got_meanwhile_ends_the_wait() {
    let mut story = Story::at_semaphore(RETURNS);
    let first = story.park(0, 1, 1);
    let second = story.park(0, 2, 1);
    story.wake(100_000, BATCH, ENDS, first);
    story.wake(400_000, 1, PASSES_ON, second);
    let report = story.report();
    let by: Vec<(&str, u64)> =
        report.waits[0].wakers.iter().map(|waker| (waker.group.as_str(), waker.total_ns / US)).collect();
    assert_eq!(by, [("exec-*", 400_005), ("batch", 100_005)]);
}

/// A thread that returned permits waits for more itself, before the one that it woke passes on that there are some.
#[test]
fn nobody_is_said_to_have_ended_its_own_wait() {
    let mut story = Story::at_semaphore(TELLS_THE_NEXT);
    let request = story.park(0, 1, 1);
    story.wake(90_000, BATCH, ENDS, request);
    let batch = story.park(90_002, BATCH, 1);
    story.wake(390_000, 1, PASSES_ON, batch);
    let by: Vec<(String, u64)> =
        story.report().waits[0].wakers.iter().map(|waker| (waker.group.clone(), waker.total_ns / US)).collect();
    assert_eq!(by, [("exec-*".to_owned(), 300_003), ("batch".to_owned(), 90_005)]);
}

/// Each thread parks on another object, and those that were woken first wake others.
#[test]
fn a_round_at_a_phaser_is_one_round_however_many_wait() {
    let waits =
        "j.Phaser$QNode.block j.ForkJoinPool.managedBlock j.Phaser.internalAwaitAdvance j.Phaser.arriveAndAwaitAdvance";
    let passes_on = "j.Phaser.releaseWaiters j.Phaser.internalAwaitAdvance j.Phaser.arriveAndAwaitAdvance";
    let ends = "j.Phaser.releaseWaiters j.Phaser.arriveAndAwaitAdvance com.acme.Batch.run java.lang.Thread.run";
    let mut story = Story::new("java.util.concurrent.Phaser$QNode", waits, passes_on, ends);
    for round in 0..9 {
        let from = 100_000 * round;
        let parked: Vec<_> = (1..=4).map(|thread| story.park(from + thread, thread, 4 * round + thread)).collect();
        for (place, begin) in parked.into_iter().enumerate() {
            // It wakes two, of which one wakes the others.
            let (waker, with) = if place < 2 { (BATCH, ENDS) } else { (1, PASSES_ON) };
            story.wake(from + 90_000 + 10 * place as u64, waker, with, begin);
        }
    }
    let report = story.report();
    let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::Straggler).expect("a finding");
    assert!(finding.text.contains("In 100 % of 9 rounds, thread `batch` came last"), "{}", finding.text);
    assert_eq!(finding.details[0], "36 waits in 9 rounds");
}

/// The last stage of a chain of futures runs on a pool that is idle until a stage before it, which was in the stack
/// `does` before, gives it work. The text of the finding and the verdict.
fn of_a_chain_of_stages(does: u64) -> (String, String) {
    let waits = "j.CompletableFuture$Signaller.block j.CompletableFuture.waitingGet j.CompletableFuture.join";
    let ends = "j.CompletableFuture.postComplete j.CompletableFuture$UniApply.run j.ThreadPoolExecutor.runWorker \
                j.ThreadPoolExecutor$Worker.run java.lang.Thread.run";
    let mut story = Story::new("java.util.concurrent.CompletableFuture$Signaller", waits, ends, ends);
    for round in 0..9 {
        let from = 100_000 * round;
        let idle = story.park_with(from + 1, IO, 199, IDLE);
        let waiter = 1 + round % 4;
        let waits = story.park(from + 2, waiter, 10 + round);
        (0..4).for_each(|sample| story.seen(from + 10_000 + 20_000 * sample, RENDER, does, (199, IDLE)));
        story.wake(from + 90_000, RENDER, GIVES, idle);
        story.wake(from + 90_100, IO, ENDS, waits);
    }
    let mut report = story.report();
    (report.findings.swap_remove(0).text, report.verdict)
}

#[test]
fn who_gave_work_to_an_idle_helper_is_waited_for_and_not_the_helper() {
    let (text, verdict) = of_a_chain_of_stages(RENDERS);
    let said =
        "Waiting threads were woken by `io-11` (100 % of the waiting time). `render-21` wakes `io-11`. For 100 % of \
                the sampled time (36 samples), thread `render-21` was in `Thread.sleep`, called from `Stages.render`.";
    assert!(text.ends_with(said), "{text}");
    let said = "Meanwhile, thread `render-21` was mostly in `Thread.sleep`, called from `Stages.render`.";
    assert!(verdict.ends_with(said), "{verdict}");
}

/// Who woke the helper did not end the waits.
#[test]
fn of_a_helper_that_only_the_network_gave_work_it_is_said_that_it_was_idle() {
    let (text, verdict) = of_a_chain_of_stages(SELECTS);
    assert!(text.contains("`render-21` wakes `io-11`. For 100 % of the sampled time (36 samples), thread `render-21` was in `SelectorImpl.select`"), "{text}");
    let said =
        "Thread `io-11` ended the waits, but was mostly idle itself: it waited for other threads or the network.";
    assert!(verdict.ends_with(said), "{verdict}");
}
