//! Waits with a limit.

use super::*;

/// The bar of thread time and the finding say the same of waits with a limit that they reach.
#[test]
fn who_gives_up_waiting_for_a_result_waited_for_it() {
    let deep = "com.acme.Orders.send com.acme.Orders.handle com.acme.Server.serve com.acme.Server.loop \
                com.acme.Server.run java.lang.Thread.run";
    for (awaits, words) in [
        ("j.FutureTask.awaitDone j.FutureTask.get", "for a result"),
        ("j.CompletableFuture.timedGet j.CompletableFuture.get", "for a result"),
        ("j.CountDownLatch.await", "for a latch"),
        ("j.LinkedBlockingQueue.poll", "for a blocking queue"),
    ] {
        let mut waiting = Waiting::new(&format!("{awaits} {deep}"), RETURN);
        for round in 0..3 {
            (1..=4).for_each(|waiter| waiting.wait(waiter, round * 300, round * 300 + 290, None));
        }
        let report = waiting.report();
        assert_eq!(only(&report).entry, EntryKind::WaitResult, "{awaits}");
        let text = &report.findings[0].text;
        assert!(text.contains(words), "{text}");
        assert!(!text.contains("time to pass"), "{text}");
        assert_eq!((report.ledger.ns(EntryKind::WaitTime), report.ledger.ns(EntryKind::WaitResult)), (0, 3_480 * MS));
    }
    let mut polls = Waiting::new(&format!("AQS$ConditionObject.await {deep}"), RETURN);
    (1..=4).for_each(|waiter| polls.wait(waiter, 0, 900, None));
    let report = polls.report();
    assert!(
        report.findings[0].text.contains("for time to pass (`Condition.await` with a limit)"),
        "{:?}",
        report.findings
    );
    assert_eq!(report.ledger.ns(EntryKind::WaitTime), 3_600 * MS);
}
