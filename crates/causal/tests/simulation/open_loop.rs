//! Work that arrives at its own pace.

use crate::machine::{check, Machine, Op, Op::*, OURS, PERIOD};
use headway_causal::experiment::{Experiment, Target, TargetKind};
use headway_causal::gains::report;

#[test]
fn arrivals_after_a_pause_leave_nothing_to_gain() {
    check(&[vec![Sleep("pause", 10_000), Put(0, 10)], vec![Take(0), Run("work", 3_000), Visit]], "work", |_| 0.0);
}

/// Which experiments are made.
#[derive(Clone, Copy, PartialEq)]
enum Slow {
    /// Everything but the target.
    Others,
    /// That and, in turn, all threads alike.
    All,
}

/// Windows of 2 s, every second without delays. A thread that only sleeps, and is ahead by
/// a part of that, slows all others.
fn experiments(programs: &[Vec<Op>], slow: Slow) -> Vec<Experiment> {
    let target = Target { kind: TargetKind::Line, name: "work".to_owned() };
    let window = |number: u64| {
        let slows_all = number % 4 == 3 && slow == Slow::All;
        let (target, line) = if slows_all { (Target::everything(), "brake") } else { (target.clone(), "work") };
        let speedup = if number % 2 == 0 { 0.0 } else { 0.2 };
        let programs: Vec<Vec<Op>> = programs.iter().cloned().chain([vec![Sleep("brake", 1_000)]]).collect();
        let mut machine = Machine::new(&programs, OURS, line, speedup);
        machine.run(100 + number);
        let seen = machine.run(2_000);
        Experiment {
            number,
            start_ns: number,
            duration_ns: seen.duration,
            delay_ns: seen.delay,
            target,
            speedup,
            selected_samples: seen.selected,
            samples: seen.samples,
            period_ns: PERIOD,
            cpus: 8,
            visits: [("order".to_owned(), seen.visits)].into(),
            ..Experiment::default()
        }
    };
    (0..21).map(window).collect()
}

fn says_open(programs: &[Vec<Op>], slow: Slow) -> bool {
    let report = report(&experiments(programs, slow), None);
    assert!(report.targets.iter().all(|target| target.target == "work"), "{:?}", report.targets);
    report.warnings.iter().any(|warning| warning.contains("open loop"))
}

#[test]
fn arrivals_by_the_clock_are_warned_of_and_others_are_not() {
    let open = [vec![Tick(10_000), Put(0, 10)], vec![Take(0), Run("work", 3_000), Visit]];
    assert!(says_open(&open, Slow::All));
    let closed = report(&experiments(&[vec![Run("work", 3_000), Visit]], Slow::All), None);
    assert!(closed.warnings.iter().all(|warning| warning.contains("only 5 experiments")), "{:?}", closed.warnings);
    assert!((closed.targets[0].gain_at_50 - 0.5).abs() < 0.01);
}

/// One that sleeps most of its time: experiments on it leave as many visits per second as
/// before, as in an open loop.
#[test]
fn a_closed_loop_that_is_mostly_idle_is_no_open_one() {
    let closed = [vec![Run("work", 3_000), Visit, Sleep("think", 7_000)]];
    assert!(!says_open(&closed, Slow::All));
    let asked = [vec![Sleep("think", 7_000), Put(0, 1), Take(1)], vec![Take(0), Run("work", 3_000), Visit, Put(1, 1)]];
    assert!(!says_open(&asked, Slow::All));
}

#[test]
fn without_windows_that_slow_all_nothing_is_said() {
    let open = [vec![Tick(10_000), Put(0, 10)], vec![Take(0), Run("work", 3_000), Visit]];
    assert!(!says_open(&open, Slow::Others));
}
