//! Recordings of more locks than a report shows one by one.

use crate::story::{lock, recording, thread};
use headway_analysis::report::{Report, MOST_TOLD};
use headway_analysis::Analysis;
use headway_model::event::{MonitorEnter, MonitorEntered};
use headway_model::{ChainId, Event, LockId, Seq, ThreadId, TimeNs};
use std::sync::LazyLock;

const SECOND: u64 = 1_000_000_000;
const THREADS: u64 = 7;
const CHEAP: u64 = 500;
/// Costs less than any of the dear ones, but all of it within one interval.
const IN_A_PHASE: u64 = 9_999_999;

fn blocked(lock_id: u64, thread: u64, from: u64, to: u64) -> [Event; 3] {
    let (thread, lock_id) = (ThreadId(thread), LockId(lock_id));
    let (start, time) = (TimeNs(SECOND + from), TimeNs(SECOND + to));
    let (chain, owner) = (ChainId::NONE, ThreadId(THREADS));
    [
        lock(lock_id.0, "com.acme.Row", lock_id.0 as u32, ""),
        Event::MonitorEnter(MonitorEnter { time: start, thread, lock: lock_id, seq: Seq(1), chain, owner }),
        Event::MonitorEntered(MonitorEntered { time, start, thread, lock: lock_id, seq: Seq(2), ..Default::default() }),
    ]
}

static REPORT: LazyLock<Report> = LazyLock::new(report);

/// One lock after the other: the dear ones over the edge of an interval, so that
/// none has a phase.
fn report() -> Report {
    let mut analysis = Analysis::new(headway_analysis::Options::default());
    let mut feed = |event: Event| analysis.feed(&event);
    feed(recording(TimeNs(SECOND)));
    (1..=THREADS).for_each(|id| feed(thread(id, &format!("worker-{id}"))));
    for n in 0..MOST_TOLD as u64 + CHEAP {
        let (at, thread) = (n * SECOND, 1 + n % (THREADS - 1));
        let length = if n % 21 == 20 { SECOND / 10 } else { SECOND / 2 };
        let from = at + SECOND - length / 2;
        blocked(1 + n, thread, from, from + length).into_iter().for_each(&mut feed);
    }
    let after = (MOST_TOLD as u64 + CHEAP + 5) * SECOND;
    blocked(IN_A_PHASE, 1, after + SECOND / 10, after + SECOND / 2).into_iter().for_each(&mut feed);
    feed(Event::Watermark(TimeNs(after + 3 * SECOND)));
    analysis.finish()
}

#[test]
fn the_dearest_are_told_and_the_others_are_in_the_totals() {
    let report = &*REPORT;
    let (told, others) = (&report.locks, report.other_locks);
    let total: u64 = told.iter().map(|lock| lock.total_ns).sum();
    assert_eq!(told.len(), MOST_TOLD);
    assert_eq!(others.count, CHEAP + 1);
    assert_eq!(total + others.total_ns, report.blocked_ns);
    assert!(told.windows(2).all(|pair| pair[0].total_ns >= pair[1].total_ns));

    let last = report.rows.last().expect("rows");
    assert_eq!((report.rows.len(), last.others), (MOST_TOLD + 1, CHEAP + 1));
    assert_eq!(last.value.headline(), format!("({} others)", CHEAP + 1));
    assert_eq!(report.rows.iter().map(|row| row.total_ns).sum::<u64>(), report.blocked_ns);
    assert_eq!(report.rows.iter().map(|row| row.count).sum::<u64>(), report.contentions);
}

#[test]
fn a_lock_with_a_phase_is_told_however_little_it_cost() {
    let pressure = REPORT.pressure.as_ref().expect("pressure");
    let found = pressure.locks.iter().find(|lock| lock.id == LockId(IN_A_PHASE)).expect("the lock with a phase");
    assert_eq!(found.phases.len(), 1);
    assert_eq!(pressure.locks.len(), MOST_TOLD + 1);
    assert_eq!(pressure.other_locks.count, CHEAP);
    let told: u64 = pressure.locks.iter().map(|lock| lock.acquiring_ns).sum();
    assert_eq!(told + pressure.other_locks.total_ns, pressure.acquiring_ns);
}

#[test]
fn locks_that_are_left_out_are_among_the_others() {
    let mut report = REPORT.clone();
    report.keep_top(10);
    let listed: u64 = report.locks.iter().map(|lock| lock.total_ns).sum();
    assert_eq!(report.locks.len(), 10);
    assert_eq!(report.other_locks.count, MOST_TOLD as u64 - 10 + CHEAP + 1);
    assert_eq!(listed + report.other_locks.total_ns, report.blocked_ns);
}
