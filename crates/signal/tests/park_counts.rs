//! The counts of parks, one thread after the other.
#![cfg(not(loom))]

use headway_signal::{LockTable, ParkCounts, Region};
use memory::region;
use std::sync::atomic::Ordering;

mod memory;

/// One lock without parks.
fn counts() -> (LockTable, ParkCounts, u64) {
    counts_in(region(ParkCounts::WORDS_PER_LOCK * 8))
}

fn counts_in(lines: Region) -> (LockTable, ParkCounts, u64) {
    let (locks, counts) = (LockTable::new(region(4 * 8)), ParkCounts::new(lines, region(1)));
    let slot = locks.allocate().unwrap();
    let id = locks.id(slot).unwrap();
    counts.reset(slot);
    (locks, counts, id)
}

#[test]
fn two_threads_on_one_lock_are_twice_the_thread_time_and_once_the_real_time() {
    let (_, counts, lock) = counts();
    assert!(counts.parks(lock, 100));
    counts.measured(lock, 7, 70, 100);
    assert!(!counts.parks(lock, 110));
    counts.returns(lock, 150);
    let count = counts.of(lock, || 160).unwrap();
    assert_eq!((count.times_parked, count.parked_now, count.peak_parked), (2, 1, 2));
    assert_eq!((count.thread_time_ns, count.real_time_ns), (40 + 60, 60));
    counts.returns(lock, 200);
    assert!(!counts.parks(lock, 300));
    counts.returns(lock, 305);
    let count = counts.of(lock, || 400).unwrap();
    assert_eq!((count.thread, count.chain, count.first_ns, count.last_ns), (7, 70, 100, 305));
    assert_eq!((count.thread_time_ns, count.real_time_ns, count.now_ns), (50 + 90 + 5, 105, 400));
}

#[test]
fn times_count_from_the_park_that_reaches_the_threshold() {
    let (_, counts, lock) = counts();
    counts.begin(8, 3);
    assert!(!counts.parks(lock, 10) && !counts.parks(lock, 20));
    counts.returns(lock, 30);
    let before = counts.of(lock, || 35).unwrap();
    assert_eq!((before.times_parked, before.thread, before.thread_time_ns), (2, 0, 0));
    assert!(counts.parks(lock, 100), "the first one is parked still");
    counts.measured(lock, 7, 70, 100);
    counts.returns(lock, 150);
    counts.returns(lock, 180);
    let count = counts.of(lock, || 200).unwrap();
    assert_eq!((count.times_parked, count.peak_parked), (3, 2));
    assert_eq!((count.thread_time_ns, count.real_time_ns), (50 + 80, 80));
}

#[test]
fn a_sum_that_lacks_a_moment_is_not_given_out() {
    let lines = region(ParkCounts::WORDS_PER_LOCK * 8);
    let (_, counts, lock) = counts_in(lines);
    counts.parks(lock, 100);
    counts.measured(lock, 7, 70, 100);
    let state = &lines[ParkCounts::WORDS_PER_LOCK * lock as usize + 1];
    // As if another thread stood between its two additions.
    for threads in 1..100 {
        state.fetch_add(1 << 24 | 1, Ordering::Relaxed);
        assert_eq!(counts.of(lock, || 200), None, "{threads} threads");
    }
}

#[test]
fn clocks_that_are_apart_lose_no_count() {
    let (_, counts, lock) = counts();
    counts.parks(lock, 100);
    counts.measured(lock, 7, 70, 100);
    counts.returns(lock, 99);
    let count = counts.of(lock, || 90).unwrap();
    assert_eq!((count.times_parked, count.thread_time_ns, count.real_time_ns), (1, 0, 0));
}

#[test]
fn what_changed_is_told_once_and_what_was_taken_is_gone() {
    let (_, counts, lock) = counts();
    let changed = |now: u64| {
        let mut all = Vec::new();
        counts.changed(|| now, |count| all.push(count));
        all
    };
    counts.parks(lock, 100);
    assert_eq!(changed(110).len(), 0, "nobody said who it was");
    counts.measured(lock, 7, 70, 100);
    counts.returns(lock, 150);
    assert_eq!(counts.memory_bytes(), 128);
    let [count] = changed(200)[..] else { panic!("one lock") };
    assert_eq!((count.times_parked, count.thread_time_ns), (1, 50));
    assert_eq!(changed(210).len(), 0);
    counts.taken(&count);
    counts.parks(lock, 300);
    counts.returns(lock, 310);
    let [count] = changed(400)[..] else { panic!("one lock") };
    assert_eq!((count.times_parked, count.thread_time_ns, count.real_time_ns), (1, 10, 10));
}

#[test]
fn another_lock_in_the_same_slot_begins_at_nothing() {
    let (locks, counts, lock) = counts();
    counts.parks(lock, 100);
    counts.measured(lock, 7, 70, 100);
    assert!(locks.retire(lock));
    let slot = locks.allocate().unwrap();
    let next = locks.id(slot).unwrap();
    counts.reset(slot);
    counts.returns(lock, 150);
    assert_eq!((counts.of(lock, || 200), counts.of(next, || 200)), (None, None));
    assert_eq!(counts.memory_bytes(), 0, "nobody parked on it");
    assert!(counts.parks(next, 300));
    counts.begin(8, 0);
    assert_eq!(counts.of(next, || 400), None);
    counts.returns(next, 410);
    assert!(counts.parks(next, 500));
}
