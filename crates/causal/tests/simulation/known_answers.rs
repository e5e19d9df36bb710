//! Programs whose gains can be computed by hand.

use crate::machine::{check, Op, Op::*};

fn meeting(line: &'static str, us: u64, threads: usize) -> Vec<Op> {
    vec![Run(line, us), Barrier(0, threads), Visit]
}

#[test]
fn of_two_threads_that_meet_the_longer_counts() {
    let programs = [meeting("long", 10_000, 2), meeting("short", 5_000, 2)];
    check(&programs, "long", |s| s.min(0.5));
    check(&programs, "short", |_| 0.0);
}

#[test]
fn of_equal_threads_neither_counts_alone_but_both_together() {
    check(&[meeting("a", 8_000, 2), meeting("b", 8_000, 2)], "a", |_| 0.0);
    check(&[meeting("a", 8_000, 2), meeting("a", 8_000, 2)], "a", |s| s);
}

#[test]
fn of_three_threads_the_longest_counts_until_the_others_are_as_long() {
    let programs = [meeting("long", 16_000, 3), meeting("b", 12_000, 3), meeting("c", 12_000, 3)];
    check(&programs, "long", |s| s.min(0.25));
    check(&programs, "b", |_| 0.0);
    check(&programs, "c", |_| 0.0);
}

#[test]
fn threads_that_do_everything_under_one_lock_count_half_each() {
    let thread = |line| vec![Acquire(0), Run(line, 7_000), Visit, Release(0)];
    let programs = [thread("a"), thread("b")];
    check(&programs, "a", |s| s / 2.0);
    check(&programs, "b", |s| s / 2.0);
}

#[test]
fn one_threads_lines_count_by_their_time() {
    let programs = [vec![Run("double", 6_000), Run("single", 3_000), Visit]];
    check(&programs, "double", |s| 2.0 * s / 3.0);
    check(&programs, "single", |s| s / 3.0);
    check(&[vec![Run("both", 6_000), Run("both", 3_000), Visit]], "both", |s| s);
}

#[test]
fn a_serial_and_a_parallel_half_count_half() {
    let first = vec![Run("serial", 6_000), Barrier(0, 2), Run("parallel", 6_000), Barrier(1, 2), Visit];
    let second = vec![Barrier(0, 2), Run("parallel", 6_000), Barrier(1, 2)];
    let programs = [first, second];
    check(&programs, "serial", |s| s / 2.0);
    check(&programs, "parallel", |s| s / 2.0);
}

fn workers(count: usize, local: u64, critical: u64) -> Vec<Vec<Op>> {
    vec![vec![Run("local", local), Acquire(0), Run("critical", critical), Release(0), Visit]; count]
}

#[test]
fn a_lock_that_is_always_held_is_all_that_counts() {
    let (n, l, c) = (3.0, 5_000.0, 4_000.0);
    let programs = workers(3, 5_000, 4_000);
    // A debt that a thread brings to the lock it pays by waiting; where the lock
    // takes no time at all, nobody waits long enough for that.
    for (speedup, within) in [(0.25, 0.01), (0.5, 0.01), (0.75, 0.01), (1.0, 0.025)] {
        let truth = 1.0 - f64::max(c * (1.0 - speedup), (l + c * (1.0 - speedup)) / n) / c;
        let found = crate::machine::gain(&programs, "critical", speedup);
        assert!((found - truth).abs() <= within, "{speedup}: {found:.4} instead of {truth:.4}");
    }
    check(&programs, "local", |_| 0.0);
}

#[test]
fn a_lock_that_nobody_waits_for_counts_by_its_time() {
    let programs = workers(1, 9_000, 3_000);
    check(&programs, "critical", |s| s / 4.0);
    check(&programs, "local", |s| 3.0 * s / 4.0);
}

#[test]
fn of_a_pipeline_the_slowest_stage_counts() {
    let programs = [
        vec![Run("first", 3_000), Put(0, 10)],
        vec![Take(0), Run("second", 6_000), Put(1, 10)],
        vec![Take(1), Run("third", 4_000), Visit],
    ];
    check(&programs, "first", |_| 0.0);
    check(&programs, "second", |s| s.min(1.0 / 3.0));
    check(&programs, "third", |_| 0.0);
}

#[test]
fn running_and_sleeping_count_by_their_time() {
    let programs =
        [vec![Run("run", 6_000), Sleep("sleep", 4_000), Visit], vec![Run("other", 5_000), Sleep("rest", 1_000)]];
    check(&programs, "run", |s| 0.6 * s);
    check(&programs, "sleep", |s| 0.4 * s);
    check(&programs, "other", |_| 0.0);
}

#[test]
fn a_thread_that_sleeps_beside_one_that_runs_is_no_shorter_for_it() {
    let programs = [
        vec![Run("long", 10_000), Barrier(0, 2), Visit],
        vec![Run("short", 4_000), Sleep("sleep", 4_000), Barrier(0, 2)],
    ];
    check(&programs, "long", |s| s.min(0.2));
    check(&programs, "short", |_| 0.0);
    check(&programs, "sleep", |_| 0.0);
}

#[test]
fn of_two_sleepers_that_meet_the_longer_counts() {
    let programs = [vec![Sleep("long", 10_000), Barrier(0, 2), Visit], vec![Sleep("short", 2_500), Barrier(0, 2)]];
    // A sleep is entered when it is over: at 1 it would end before the other's began.
    for speedup in [0.25, 0.5, 0.75] {
        let found = crate::machine::gain(&programs, "long", speedup);
        assert!((found - speedup).abs() <= 0.01, "{speedup}: {found:.4}");
    }
    check(&programs, "short", |_| 0.0);
}

#[test]
fn of_a_slow_and_a_fast_thread_the_slow_one_counts_until_it_is_as_fast() {
    let programs = [meeting("slow", 10_000, 2), meeting("fast", 8_000, 2)];
    check(&programs, "slow", |s| s.min(0.2));
}
