//! Methods that stand between the application and the lock or the wait: a helper's, a library's.

use super::*;

#[test]
fn who_releases_the_lock_by_a_helper_had_it() {
    let mut script = Script::new();
    let begin = script.park(10, 1, 1, SELL, 9);
    let woken = script.unpark(90, 9, UNLOCK, 1);
    script.back(91, begin, woken);
    let report = script.report(100, "owner-method");
    assert_eq!(rows(&report.rows)[0], "com.acme.Statement.execute 80");
    let hot = findings(&report, FindingKind::HotLock);
    assert!(hot[0].contains("`Statement.execute` owned it for 99 % of that time"), "{hot:?}");
}

#[test]
fn who_calls_a_library_that_sleeps_is_held_up_by_it() {
    let mut script = Script::new();
    for round in 0..20 {
        for worker in 1..=2 {
            let begin = script.park(round * 25, worker, 0, LIMITED, 0);
            script.timed_out(round * 25 + 24, begin);
        }
    }
    let report = script.report(500, "lock");
    assert_eq!((report.waits[0].entry, report.waits[0].idle), (EntryKind::WaitTime, false));
    assert_eq!(findings(&report, FindingKind::Waiting).len(), 1);
}

#[test]
fn who_may_start_no_more_tasks_is_not_idle() {
    assert_eq!(waits_of(THROTTLED, &[1, 2], 9), (EntryKind::WaitPermit, false));
}

#[test]
fn nobody_is_said_to_be_blocked_on_what_an_owner_waits_for() {
    let mut script = Script::new();
    let second = script.enter(10, 2, 3, 1);
    let parked = script.park(20, 1, 6, LATCH, 0);
    let woken = script.unpark(80, 9, COUNT_DOWN, 1);
    script.back(80, parked, woken);
    script.exit(100, 1, 3);
    script.entered(100, second);
    let findings = script.report(110, "lock").findings;
    let finding = findings.iter().find(|finding| finding.kind == FindingKind::WaitFor).expect("a finding");
    let they =
        " ended. They were blocked on `Ledger.lock`, which `Ledger.audit` owned while it was itself waiting for `";
    assert!(finding.text.contains(they), "{}", finding.text);
    assert_eq!(finding.details, [] as [&str; 0]);
}
