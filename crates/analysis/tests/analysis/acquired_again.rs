//! Threads that are woken in `Object.wait` and have to acquire the lock again.

use crate::picture::{at, MS};
use crate::report::by;
use crate::story::{self, lock, method, recording, thread};
use headway_analysis::report::{FindingKind, Report};
use headway_analysis::Analysis;
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId};

const WAIT: u64 = 1;
const CALL: u64 = 2;

/// Sixteen requests with a lock each, woken by whoever completes them; `chain` is where they wait.
fn requests(chain: ChainId) -> Report {
    let mut events = vec![
        recording(at(0)),
        thread(1, "server-1"),
        method(WAIT, "java.lang.Object", "wait"),
        method(CALL, "com.acme.Client", "call"),
        story::chain(1, &[(WAIT, 0), (CALL, 7)]),
    ];
    for request in 0..16 {
        let (begin, id) = (at(1 + 10 * request as usize), 200 + request);
        events.push(thread(10 + request, &format!("client-{request}")));
        events.push(Event::ThreadStart(ThreadPoint { time: begin, thread: ThreadId(10 + request) }));
        events.push(lock(id, "com.acme.Request", 0, ""));
        let (waiter, lock) = (ThreadId(10 + request), LockId(id));
        let notified = begin + DurationNs(4 * MS);
        let exit = begin + DurationNs(5 * MS);
        let time = begin + DurationNs(9 * MS);
        let wait = MonitorWait { time: begin, thread: waiter, lock, seq: Seq(1), chain, ..MonitorWait::default() };
        let notify = MonitorNotify { time: notified, thread: ThreadId(1), waiter, lock, seq: Seq(2) };
        let exit = MonitorExit { time: exit, thread: ThreadId(1), lock, seq: Seq(3), ..MonitorExit::default() };
        let (start, seq, start_seq) = (notified, Seq(5), Seq(2));
        let waited =
            MonitorWaited { time, start: begin, thread: waiter, lock, seq: Seq(4), ..MonitorWaited::default() };
        let again = MonitorReentered {
            time,
            start,
            thread: waiter,
            lock,
            start_seq,
            seq,
            chain,
            ..MonitorReentered::default()
        };
        events.push(Event::MonitorWait(wait));
        events.push(Event::MonitorNotify(notify));
        events.push(Event::MonitorExit(exit));
        events.push(Event::MonitorWaited(waited));
        events.push(Event::MonitorReentered(again));
        events.push(Event::ThreadEnd(ThreadPoint { time, thread: waiter }));
    }
    events.push(Event::Watermark(at(200)));
    let mut analysis = Analysis::new(by("lock"));
    events.iter().for_each(|event| analysis.feed(event));
    analysis.finish()
}

fn hand_off(report: &Report) -> &str {
    &report.findings.iter().find(|finding| finding.kind == FindingKind::HandOff).expect("a finding").text
}

#[test]
fn locks_of_one_request_each_are_no_convoy() {
    let report = requests(ChainId::NONE);
    let text = hand_off(&report);
    assert!(text.contains("blocked on `Request` (16 locks)"), "{text}");
    assert!(text.ends_with("The threads had been woken in `Object.wait` and had to acquire the lock again."), "{text}");
    assert!(!report.verdict.contains("Before they were woken"), "nothing is known of the waits: {}", report.verdict);
}

#[test]
fn what_threads_waited_for_before_they_acquired_the_lock_again_is_named() {
    let report = requests(ChainId(1));
    let wait = report.findings.iter().position(|finding| finding.kind == FindingKind::Waiting).expect("a finding");
    assert!(report.findings[wait].text.contains("in `Client.call`"), "{}", report.findings[wait].text);
    let number = format!("had been woken in `Object.wait` (finding {}) and had to acquire", wait + 1);
    assert!(hand_off(&report).contains(&number), "{}", hand_off(&report));
    assert!(
        report.verdict.contains(" Before they were woken, the threads had mostly waited for "),
        "{}",
        report.verdict
    );
}
