//! Intervals, fits, formats: from made-up experiments with a known truth.

use headway_causal::coz;
use headway_causal::experiment::{Experiment, Target, TargetKind};
use headway_causal::gains::report;
use headway_causal::page::page;
use headway_causal::statistics::{benjamini_hochberg, curves, fit, throughput_raise};

/// Numbers in -1..1 that look random.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    }
}

/// A target and its gain by a speedup.
type Truth = (&'static str, fn(f64) -> f64);

/// A run in which each window's period is off by up to `noise`, and the machine
/// gets slower all the time.
fn run(targets: &[Truth], rounds: u64, noise: f64, seed: u64) -> Vec<Experiment> {
    let (mut random, mut windows) = (Noise(seed), Vec::new());
    let speedups = [0.25, 0.5, 0.75];
    for number in 0..rounds {
        let (name, gain) = targets[number as usize / 2 % targets.len()];
        let step = number as usize / 2 / targets.len();
        let speedup = if number % 2 == 0 { 0.0 } else { speedups[step % 3] };
        let slower = 1.0 + number as f64 / rounds as f64;
        let period = 1e6 * (1.0 - gain(speedup)) * slower * (1.0 + noise * random.next());
        let effective = 1e9;
        let delay = effective * speedup / 2.0;
        windows.push(Experiment {
            number,
            start_ns: number * 1_000_000_000,
            duration_ns: (effective + delay) as u64,
            delay_ns: delay as u64,
            target: Target { kind: TargetKind::Method, name: name.to_owned() },
            speedup,
            selected_samples: 300,
            samples: 1_000,
            period_ns: 1_000_000,
            cpus: 8,
            visits: [("order".to_owned(), ((effective + if speedup == 0.0 { delay } else { 0.0 }) / period) as u64)]
                .into(),
            ..Experiment::default()
        });
    }
    windows
}

fn capped(speedup: f64) -> f64 {
    (0.6 * speedup).min(0.3)
}

fn none(_: f64) -> f64 {
    0.0
}

#[test]
fn intervals_cover_the_truth_while_the_machine_drifts() {
    let covered = (1..=40).filter(|seed| {
        let found = curves(&run(&[("hot", |s| 0.4 * s)], 61, 0.05, *seed), "order");
        let (low, high) = found[0].at_50.ci95;
        assert!((found[0].at_50.value - 0.2).abs() < 0.03, "{:?}", found[0].at_50);
        low <= 0.2 && 0.2 <= high
    });
    let covered = covered.count();
    assert!((36..=40).contains(&covered), "{covered} of 40");
}

#[test]
fn what_has_no_effect_is_not_called_one() {
    let targets: Vec<Truth> = vec![("hot", capped), ("a", none), ("b", none), ("c", none), ("d", none)];
    let mut wrong = 0;
    for seed in 1..=20 {
        let found = curves(&run(&targets, 241, 0.05, seed), "order");
        assert!(found[0].target.name == "hot" && found[0].is_significant);
        wrong += found.iter().skip(1).filter(|curve| curve.is_significant).count();
    }
    assert!(wrong <= 8, "{wrong} of 80");
}

#[test]
fn a_cap_is_seen_and_straight_lines_have_none() {
    let points = |gain: fn(f64) -> f64| -> Vec<(f64, f64, f64)> {
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0].iter().map(|s| (*s, gain(*s), 1.0)).collect()
    };
    let bent = fit(&points(capped));
    assert!((bent.slope - 0.6).abs() < 0.01 && (bent.cap.unwrap() - 0.3).abs() < 0.01, "{bent:?}");
    let straight = fit(&points(|s| 0.6 * s));
    assert!((straight.slope - 0.6).abs() < 1e-9 && straight.cap.is_none());
    let worse = fit(&points(|s| -0.1 * s));
    assert!((worse.gain(0.5) + 0.05).abs() < 1e-9);
}

#[test]
fn false_discoveries_are_bounded() {
    assert_eq!(benjamini_hochberg(&[0.01, 0.5, 0.02, 0.9], 0.05), [true, false, true, false]);
    assert_eq!(benjamini_hochberg(&[0.04, 0.06], 0.05), [false, false]);
    assert!((throughput_raise(0.2) - 0.25).abs() < 1e-12);
}

#[test]
fn the_ranking_is_said_in_sentences() {
    let experiments = run(&[("Inventory.rebuildIndex", |s| 0.4 * s), ("Shop.price", none)], 161, 0.02, 3);
    let found = report(&experiments, None);
    let sentences = found.sentences();
    assert!(sentences[0].starts_with("Halving `Inventory.rebuildIndex` raises order/s by 2"), "{sentences:?}");
    assert!(sentences[1].starts_with("Nothing else above "), "{sentences:?}");
    let alone = report(&run(&[("Shop.price", none)], 81, 0.02, 3), None).sentences();
    assert!(alone[0].starts_with("Halving `Shop.price` has no effect above "), "{alone:?}");
}

/// The sentence, the row of the table and the numbers in JSON are one estimate, also where
/// what was measured at 50 % by itself is another.
#[test]
fn the_estimate_is_the_same_wherever_it_is_shown() {
    let bent: fn(f64) -> f64 = |s| if s == 0.5 { 0.42 } else { 0.7 * s };
    let experiments = run(&[("hot", bent)], 161, 0.05, 3);
    let found = report(&experiments, None);
    let (target, [low, high]) = (&found.targets[0], found.targets[0].effect_ci95.unwrap());
    let measured = target.points.iter().find(|point| point.speedup == 0.5).unwrap();
    assert!((measured.gain - target.gain_at_50).abs() > 0.01, "{target:?}");
    let percent = |effect: f64| format!("{:.0} %", effect * 100.0);
    let (value, interval) = (percent(target.effect_at_50), format!("{} to {}", percent(low), percent(high)));
    let sentence = found.sentences().remove(0);
    assert!(sentence.starts_with(&format!("Halving `hot` raises order/s by {value} ({interval})")), "{sentence}");
    let page = page(&found, &experiments, &Default::default(), "a.jfr");
    let cells = format!("<td class=\"number\">{value}</td><td class=\"number\">{interval}</td>");
    assert!(page.contains(&cells) && page.contains(&sentence), "{page}");
}

#[test]
fn nearly_nothing_left_is_more_than_a_bound_everywhere() {
    let experiments = run(&[("hot", |s| (2.0 * s).min(0.999))], 161, 0.0, 3);
    let found = report(&experiments, None);
    assert_eq!(found.targets[0].effect_at_50, 9.0);
    assert!(found.targets[0].ci95.unwrap().iter().all(|gain| *gain <= 1.0));
    let sentence = found.sentences().remove(0);
    assert!(sentence.contains("raises order/s by more than 900 % ("), "{sentence}");
    let page = page(&found, &experiments, &Default::default(), "a.jfr");
    assert!(page.contains("more than 900 %") && !page.contains("99,900") && !page.contains("99900"), "{page}");
}

#[test]
fn what_may_be_anything_is_said_to_be_unknown() {
    let found = report(&run(&[("Shop.price", none)], 9, 0.9, 4), None);
    let target = &found.targets[0];
    assert!(target.effect_ci95.is_some_and(|[_, high]| high == 9.0) && !target.significant, "{target:?}");
    let sentences = found.sentences();
    assert!(sentences[0].starts_with("What halving `Shop.price` changes is not known yet: "), "{sentences:?}");
}

#[test]
fn a_target_that_never_ran_says_nothing_and_too_short_a_run_may_say_more_later() {
    let mut experiments = run(&[("hot", none)], 21, 0.02, 3);
    assert!(!report(&experiments, None).says_nothing());
    let short = report(&experiments[..1], None);
    assert!(!short.says_nothing(), "only a window without delays");
    assert!(short.warnings[0].starts_with("The run ended before the first experiment"), "{:?}", short.warnings);
    experiments.iter_mut().for_each(|experiment| experiment.selected_samples = 0);
    assert!(report(&experiments, None).says_nothing());
}

#[test]
fn a_point_without_visits_is_said_to_have_none() {
    let mut experiments = run(&[("hot", none)], 21, 0.02, 3);
    for experiment in &mut experiments {
        experiment.visits = [("order".to_owned(), 0)].into();
    }
    let found = report(&experiments, None);
    assert_eq!(found.warnings, ["The progress point order was never visited, so nothing can be said."]);
    assert!(found.targets.is_empty() && found.says_nothing());
}

#[test]
fn both_formats_of_coz_come_back_with_the_same_gains() {
    let experiments = run(&[("Shop.java:42", |s| 0.4 * s), ("Shop.price", none)], 121, 0.01, 9);
    let ours = report(&experiments, None);
    for text in [coz::legacy(&experiments), coz::json_lines(&experiments)] {
        let read = report(&coz::read(&text).unwrap(), None);
        assert_eq!(read.targets.len(), 2);
        assert_eq!((read.targets[0].target.as_str(), read.targets[0].kind), ("Shop.java:42", "line"));
        assert!((read.targets[0].gain_at_50 - ours.targets[0].gain_at_50).abs() < 0.02, "{read:?}");
    }
}

/// What coz's viewer insists on.
#[test]
fn every_target_has_a_record_of_speedup_0_and_few_visits_are_left_out() {
    let mut experiments = run(&[("a", none), ("b", none)], 41, 0.01, 9);
    experiments[3].visits = [("order".to_owned(), 4)].into();
    let legacy = coz::legacy(&experiments);
    for target in ["a", "b"] {
        assert!(legacy.contains(&format!("experiment\tselected={target}\tspeedup=0.00\tduration=")), "{legacy}");
    }
    assert_eq!(legacy.matches("throughput-point\tname=order\tdelta=").count(), legacy.matches("experiment\t").count());
    assert!(!legacy.contains("delta=4\n"));
    assert!(legacy.starts_with("startup\ttime=0\n"));
}

#[test]
fn what_is_no_profile_of_coz_is_named() {
    let error = coz::read("startup\ttime=1\nexperiment\tselected=a\tspeedup=x\n").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(coz::read("hello\n").unwrap_err().to_string().starts_with("line 1: 'hello' is no record of coz"));
}
