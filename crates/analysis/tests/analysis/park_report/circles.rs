//! Threads that wait for each other for some time, until one gives up.

use super::*;

/// Worker 1 owns the ledger and tries for a while to get the cache, whose owner is blocked on the ledger.
#[test]
fn a_circle_that_ends_by_time_counts_once() {
    let mut script = Script::new();
    let second = script.enter(10, 2, 3, 1);
    let loader = script.enter(15, 9, 3, 1);
    let parked = script.park(20, 1, 2, SELL, 9);
    let other = script.park(30, 3, 2, SELL, 9);
    script.timed_out(80, parked);
    script.exit(100, 1, 3);
    script.entered(100, loader);
    script.exit(105, 9, 3);
    script.entered(105, second);
    let woken = script.unpark(110, 9, LOAD, 3);
    script.back(110, other, woken);
    let report = script.report(120, "lock");
    assert!(report.wait_chains.iter().any(|chain| chain.links.len() > 2), "{:?}", report.wait_chains);
    let cost: u64 = report.findings.iter().map(|finding| finding.cost_ns).sum();
    assert!(cost <= report.blocked_ns, "{} ms of {} ms: {:?}", cost / MS, report.blocked_ns / MS, report.findings);
}
