//! How often `compare` is wrong, on made-up fleets (`./hw fleet-eval`): false alarms where nothing changed,
//! and planted regressions that were not found. Prints the tables of `docs/fleet-internals.md`.
//!
//! Seeds below a million were used while developing; the default is not among them.

#[path = "../tests/simulated/mod.rs"]
mod simulated;

use headway_regress::{compare, Options, Tested};
use simulated::{pair, Fleet, Rollout};
use statrs::distribution::{Beta, ContinuousCDF};
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let (share, planted, seed) = (option("--null", 334), option("--planted", 100), option("--seed", 2_026_112_600));
    let only = option("--fleet", 0);
    let fleets = fleets();
    println!(
        "seed {seed}; {share} comparisons of each fleet without a change, {planted} with +20 % on one of 10 locks\n"
    );
    println!("| fleet | false alarms | +20 % found | lower 95 % bound | other locks reported |");
    println!("|---|---|---|---|---|");
    let (mut alarms, mut all) = (0, 0);
    for (index, (name, fleet)) in fleets.iter().enumerate() {
        if only > 0 && only != index as u64 + 1 {
            continue;
        }
        let first = seed + index as u64 * (share + planted);
        let [of_fleet, _] = count(first..first + share, |seed| [u64::from(reported(fleet, 1.0, seed)[1] > 0), 0]);
        let [found, others] = count(first + share..first + share + planted, |seed| reported(fleet, 1.2, seed));
        alarms += of_fleet;
        all += share;
        println!(
            "| {name} | {of_fleet} of {share} | {found} of {planted} ({:.1} %) | {:.1} % | {others} |",
            100.0 * found as f64 / planted.max(1) as f64,
            100.0 * (1.0 - upper(planted - found, planted)),
        );
    }
    let bound = 100.0 * upper(alarms, all);
    println!("\nfalse alarms: {alarms} of {all} comparisons of 10 locks; at most {bound:.2} % (95 % bound)");
}

/// The number behind a name on the command line.
fn option(name: &str, default: u64) -> u64 {
    let words: Vec<String> = std::env::args().collect();
    let value = words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// The kinds of fleets that are measured.
fn fleets() -> Vec<(&'static str, Fleet)> {
    let base = Fleet { rollout: Rollout::InTurn, hosts: 60, days: 14, host: 0.4, start: 0.05, day: 0.03, planted: 1.2 };
    let alike = Fleet { host: 0.15, ..base };
    vec![
        ("60 hosts, 14 days, then 14 days", base),
        ("20 hosts, 14 days, then 14 days", Fleet { hosts: 20, ..base }),
        ("40 hosts, 7 days, then 7 days, days differ more", Fleet { hosts: 40, days: 7, day: 0.06, ..base }),
        ("40 hosts, 2 days, then 2 days", Fleet { hosts: 40, days: 2, ..base }),
        ("60 pods, then 60 others, 7 days each", Fleet { rollout: Rollout::Replaced, days: 7, ..alike }),
        (
            "canary: 40 of 120 hosts for 4 days",
            Fleet { rollout: Rollout::Canary(1.0 / 3.0), hosts: 120, days: 4, ..alike },
        ),
        ("120 hosts, 14 days, then 14 days", Fleet { hosts: 120, ..base }),
    ]
}

/// Sums over seeds, on all CPUs.
fn count(seeds: std::ops::Range<u64>, of: impl Fn(u64) -> [u64; 2] + Sync) -> [u64; 2] {
    let (next, sums) = (AtomicU64::new(seeds.start), [AtomicU64::new(0), AtomicU64::new(0)]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return;
                }
                for (sum, more) in sums.iter().zip(of(seed)) {
                    sum.fetch_add(more, Ordering::Relaxed);
                }
            });
        }
    });
    sums.map(AtomicU64::into_inner)
}

/// Regressions reported on the lock with a planted one, and on others; where none is planted, all are others.
fn reported(fleet: &Fleet, planted: f64, seed: u64) -> [u64; 2] {
    let (pair, site) = pair(&Fleet { planted, ..*fleet }, seed);
    let outcome = compare(&[pair], &Options::default());
    let locks = outcome.services.iter().flat_map(|service| &service.locks).filter(|lock| lock.is_regression());
    let (right, others) = locks.partition::<Vec<&Tested>, _>(|lock| planted > 1.0 && lock.site_id == site);
    [right.len() as u64, others.len() as u64]
}

/// The one-sided 95 % bound of a rate (Clopper and Pearson).
fn upper(events: u64, of: u64) -> f64 {
    match events < of {
        true => Beta::new(events as f64 + 1.0, (of - events) as f64).map_or(1.0, |beta| beta.inverse_cdf(0.95)),
        false => 1.0,
    }
}
