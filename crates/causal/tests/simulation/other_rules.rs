//! What other rules make of the same programs: why the accounts do what they do.

use crate::machine::{gain, gain_by, Credit, Op::*, Rules, OURS};

/// The truth is 0.5.
#[test]
fn hits_entered_ten_at_a_time_come_after_the_barrier() {
    let programs = [vec![Run("long", 10_000), Barrier(0, 2), Visit], vec![Run("short", 5_000), Barrier(0, 2)]];
    let batched = gain_by(Rules { batch: 10, credit: Credit::Inserted, ..OURS }, &programs, "long", 0.75);
    assert!(batched > 0.65, "{batched}");
    assert!((gain(&programs, "long", 0.75) - 0.5).abs() < 0.01);
}

/// The truth is what it is sped up by.
#[test]
fn without_its_old_debt_a_thread_at_a_busy_lock_pays_twice() {
    let programs = vec![vec![Run("local", 600), Acquire(0), Run("critical", 10_000), Release(0), Visit]; 2];
    let coz = gain_by(Rules { credit: Credit::Inserted, ..OURS }, &programs, "critical", 0.75);
    let ours = gain(&programs, "critical", 0.75);
    assert!((ours - 0.75).abs() < 0.01, "{ours}");
    assert!(coz < ours - 0.02, "{coz} {ours}");
}

#[test]
fn without_credit_a_thread_pays_for_what_it_waited_out() {
    let thread = |line| vec![Acquire(0), Run(line, 7_000), Visit, Release(0)];
    let programs = [thread("a"), thread("b")];
    let without = gain_by(Rules { credit: Credit::Nothing, ..OURS }, &programs, "a", 0.5);
    assert!(without < 0.15, "{without}");
    assert!((gain(&programs, "a", 0.5) - 0.25).abs() < 0.01);
}

/// The sampler needs a CPU too, and may have to wait for one. The truth is 0.5 from
/// a speedup of a half on.
#[test]
fn samples_that_are_looked_at_late_count_for_when_they_were_taken() {
    let programs = [vec![Run("long", 10_000), Barrier(0, 2), Visit], vec![Run("short", 5_000), Barrier(0, 2)]];
    let late = Rules { lag: 2_000, ..OURS };
    for speedup in [0.25, 0.5, 0.75, 1.0] {
        let ours = gain_by(late, &programs, "long", speedup);
        let without = gain_by(Rules { by_time: false, ..late }, &programs, "long", speedup);
        println!("{speedup}: {ours:.3} {without:.3}");
        assert!((ours - f64::min(speedup, 0.5)).abs() < 0.02, "{speedup}: {ours}");
    }
}
