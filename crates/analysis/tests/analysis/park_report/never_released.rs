//! Locks that nobody releases while they are recorded.

use super::*;

/// Two workers are blocked on a monitor all the time, since before the recording. Worker 2 was read to own it.
fn never_released(owner_chain: u64) -> Report {
    let mut script = Script::new();
    for worker in [1, 3] {
        script.enter(0, worker, 3, 0);
    }
    for ms in (0..1_000).step_by(20) {
        let (time, weight, thread) = (at(ms), DurationNs(20 * MS), ThreadId(2));
        let (chain, state) = (ChainId(owner_chain), SampleState::Waiting);
        let sample = Sample { time, thread, chain, state, weight, cpu: None };
        let (lock, waiter_chain) = (LockId(3), ChainId::NONE);
        script.events.push(Event::OwnerSample(OwnerSample { sample, lock, waiter_chain, waiters: 2 }));
    }
    for worker in [1, 3] {
        let (time, start, chain) = (at(1_000), at(0), ChainId(ENTER));
        let (thread, lock, owner) = (ThreadId(worker), LockId(3), ThreadId(2));
        let look = LongContention { time, start, thread, lock, chain, owner, is_older: true };
        script.events.push(Event::LongContention(look));
    }
    script.report(1_000, "owner-method")
}

#[test]
fn a_lock_that_nobody_releases_has_the_owner_that_was_read_and_what_that_was_seen_to_do() {
    let report = never_released(POST);
    assert_eq!((report.blocked.owner_thread_ns, report.blocked.unknown_ns, report.findings.len()), (0, 0, 1));
    let owned = "`Ledger.book` owned it for 100 % of that time, called from `Server.handle` in thread `worker-2`. While `Ledger.book` \
                 blocked others, it was in `Socket.read`, called from `Ledger.post`, for 100 % of the time (estimated from \
                 50 samples). 2 threads are still blocked, since before the recording began.";
    assert!(report.findings[0].text.ends_with(owned), "{}", report.findings[0].text);
    assert!(
        report.verdict.ends_with(
            "`Ledger.book` in thread `worker-2` owned it for 100 % of that time, mostly in `Socket.read`, called from \
             `Ledger.post`. 2 threads are still blocked, since before the recording began."
        ),
        "{}",
        report.verdict
    );
    let owner = &report.rows[0];
    // Another of its methods may have the lock.
    assert_eq!((owner.approximate_ns, owner.total_ns), (report.blocked_ns, report.blocked_ns));
}

#[test]
fn where_the_owner_is_in_another_method_its_outermost_one_is_taken_for_a_guess() {
    let report = never_released(FLUSH);
    let text = &report.findings[0].text;
    assert!(
        text.contains("`Journal.run` owned it for 100 % of that time, called from `Thread.run` in thread `worker-2`."),
        "{text}"
    );
    let owner = &report.rows[0];
    assert_eq!(owner.approximate_ns, owner.total_ns);
}

/// The lock goes from owner to owner: whoever is passed over for long is in its queue, not stuck.
#[test]
fn who_is_passed_over_is_a_detail_of_the_locks_finding() {
    let mut script = Script::new();
    let _passed_over = script.park(1_000, 1, 1, SELL, 9);
    let mut owner = 9;
    for round in 0..200 {
        let next = 2 + round % 4;
        let begins: Vec<_> = (2..=5).filter(|worker| *worker != owner).map(|worker| (worker, round * 15)).collect();
        let parked = begins.iter().map(|(worker, ms)| script.park(*ms, *worker, 1, SELL, owner)).collect::<Vec<_>>();
        for begin in parked {
            let woken = script.unpark(round * 15 + 14, owner, SCAN, begin.thread.0);
            script.back(round * 15 + 14, begin, woken);
        }
        owner = next;
    }
    let report = script.report(3_010, "lock");
    let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(!kinds.contains(&FindingKind::Stuck), "{kinds:?} {:?}", report.findings[0].text);
    let about_lock = &report.findings[0];
    assert!(about_lock.text.contains("blocked on `Inventory.lock`"), "{}", about_lock.text);
    assert!(about_lock.details.iter().any(|detail| detail.contains("still blocked")), "{:?}", about_lock.details);
}

/// Two workers are blocked from the begin to the end, and the lock was read to have one owner first and another one at
/// the end: the finding about the threads and the one about the lock say the same of who owns it.
#[test]
fn who_owns_a_lock_only_at_the_end_is_no_owner_all_the_time() {
    let mut script = Script::new();
    for worker in [1, 3] {
        script.enter(0, worker, 3, 0);
    }
    for (ms, owner) in [(1_100, 2), (12_000, 4)] {
        for worker in [1, 3] {
            let (time, start, chain) = (at(ms), at(0), ChainId(ENTER));
            let (thread, lock, owner) = (ThreadId(worker), LockId(3), ThreadId(owner));
            let look = LongContention { time, start, thread, lock, chain, owner, is_older: true };
            script.events.push(Event::LongContention(look));
        }
    }
    let report = script.report(12_000, "owner-method");
    let texts: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
    let all = texts.join("\n");
    assert!(all.contains("The recording shows only its last owner, `worker-4`."), "{all}");
    assert!(!all.contains("does not show w"), "{all}");
}
