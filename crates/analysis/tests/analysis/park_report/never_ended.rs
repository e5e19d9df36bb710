//! Waits that nobody ends while they are recorded.

use super::*;

/// So many workers of a pool of six wait for a result each.
fn wait_for_results(workers: u64) -> Report {
    let mut script = Script::new();
    for worker in 1..=workers {
        script.park(10, worker, 40 + worker, RESULT, 0);
    }
    script.report(2_000, "lock")
}

#[test]
fn a_pool_whose_threads_all_wait_for_results_cannot_begin_a_task() {
    let report = wait_for_results(6);
    let waiting = findings(&report, FindingKind::Waiting);
    let pool = "All 6 threads of this pool wait: if a task of the same pool should end the wait, it cannot start.";
    assert!(
        waiting[0].contains("None of them ended during the recording.") && waiting[0].ends_with(pool),
        "{waiting:?}"
    );
    assert!(report.verdict.ends_with(pool), "{}", report.verdict);
    let one_works = wait_for_results(5);
    let waiting = findings(&one_works, FindingKind::Waiting);
    assert!(waiting[0].ends_with("None of them ended during the recording."), "{waiting:?}");
}

#[test]
fn threads_that_nobody_woke_are_named_as_idle_or_forgotten() {
    let mut script = Script::new();
    for worker in 1..=6 {
        let (time, thread, chain) = (at(0), ThreadId(worker), ChainId(OWN_LOOP));
        script.events.push(Event::MonitorWait(MonitorWait { time, thread, chain, ..MonitorWait::default() }));
    }
    let report = script.report(2_000, "lock");
    let said = "6 threads `worker-*` were in `Pool.take` all the time: idle, or nobody woke them.";
    assert!(report.verdict.ends_with(said), "{}", report.verdict);
}
