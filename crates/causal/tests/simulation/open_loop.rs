//! Work that arrives at its own pace.

use crate::machine::{check, Machine, Op, Op::*, OURS, PERIOD};
use headway_causal::experiment::{Experiment, Target, TargetKind};
use headway_causal::report::report;

#[test]
fn arrivals_after_a_pause_leave_nothing_to_gain() {
    check(&[vec![Sleep("pause", 10_000), Put(0, 10)], vec![Take(0), Run("work", 3_000), Visit]], "work", |_| 0.0);
}

/// Windows of 2 s, every second without delays.
fn experiments(programs: &[Vec<Op>]) -> Vec<Experiment> {
    let target = Target { kind: TargetKind::Line, name: "work".to_owned() };
    let window = |number: u64| {
        let speedup = if number % 2 == 0 { 0.0 } else { 0.5 };
        let mut machine = Machine::new(programs, OURS, "work", speedup);
        machine.run(100 + number);
        let seen = machine.run(2_000);
        Experiment {
            number,
            start_ns: number,
            duration_ns: seen.duration,
            delay_ns: seen.delay,
            target: target.clone(),
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

#[test]
fn arrivals_by_the_clock_are_warned_of_and_others_are_not() {
    let open = report(&experiments(&[vec![Tick(10_000), Put(0, 10)], vec![Take(0), Run("work", 3_000), Visit]]), None);
    assert!(open.warnings.iter().any(|warning| warning.contains("open loop")), "{:?}", open.warnings);
    let closed = report(&experiments(&[vec![Run("work", 3_000), Visit]]), None);
    assert_eq!(closed.warnings, Vec::<String>::new());
    assert!((closed.targets[0].gain_at_50 - 0.5).abs() < 0.01);
}
