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
    // Those that put and those that take: each kind is named.
    for event in &mut script.events {
        if let Event::MonitorWait(wait) = event {
            wait.chain = if wait.thread.0 > 3 { ChainId(900) } else { wait.chain };
        }
    }
    let frames = ["java.lang.Object.wait", "com.acme.Queue.put", "com.acme.Client.run", "java.lang.Thread.run"];
    let methods = frames.iter().filter_map(|frame| frame.rsplit_once('.')).zip(900..);
    let mut named: Vec<Event> = methods.map(|((class, name), id)| crate::story::method(id, class, name)).collect();
    named.push(crate::story::chain(900, &[(900, 1), (901, 1), (902, 1), (903, 1)]));
    script.events.splice(0..0, named);
    let report = script.report(2_000, "lock");
    let said = "3 threads `worker-*` were in `Pool.take` all the time, and 3 threads `worker-*` in `Queue.put`: idle, or nobody \
                woke them.";
    assert!(report.verdict.ends_with(said), "{}", report.verdict);
}
