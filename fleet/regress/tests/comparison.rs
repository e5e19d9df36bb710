//! What is found, what is not, and what is compared with what.

mod simulated;

use headway_regress::{
    compare, Change, Compared, Matched, Options, Outcome, Pair, PairBuilder, Timing, Unit, Unusable, Version,
};
use simulated::{pair, Fleet, Rollout};

/// The first minute of 2026-11-02, a Monday.
const MONDAY: u64 = 20_759 * 24 * 60;
const SECOND: u64 = 1_000_000_000;
const LOCK: i64 = 7;

/// Hours of a version on hosts, in each of which threads run for 100 s, make 1,000 operations, and are
/// blocked for so many milliseconds.
struct Hours<'a> {
    version: Version,
    hosts: &'a [&'a str],
    hours: std::ops::Range<u64>,
    operations: u64,
    blocked_ms: &'a dyn Fn(usize, u64) -> u64,
}

impl Hours<'_> {
    fn add(&self, rows: &mut PairBuilder) {
        for (number, host) in self.hosts.iter().enumerate() {
            for hour in self.hours.clone() {
                let minute = MONDAY + 60 * hour;
                rows.load(self.version, host, minute, 100 * SECOND, self.operations);
                let blocked = (self.blocked_ms)(number, hour) * SECOND / 1_000;
                rows.blocked(self.version, host, minute, LOCK, blocked);
            }
        }
    }
}

fn of(parts: &[Hours<'_>]) -> Pair {
    let mut rows = PairBuilder::default();
    parts.iter().for_each(|part| part.add(&mut rows));
    rows.finish("shop", "1", "2")
}

fn one(pair: &Pair) -> Compared {
    let Outcome { mut services, .. } = compare(std::slice::from_ref(pair), &Options::default());
    services.pop().expect("a service")
}

/// Some variation that no version causes.
fn noise(host: usize, hour: u64) -> u64 {
    (host as u64 * 7 + hour * 13 + hour / 24 * 5) % 11 * 10
}

const HOSTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Five hosts for a week each; the newer version blocks so much longer.
fn in_turn(new_ms: u64) -> Pair {
    let old = |host, hour| 1_000 + noise(host, hour);
    let new = move |host, hour| new_ms + noise(host, hour);
    of(&[
        Hours { version: Version::Old, hosts: &HOSTS, hours: 0..168, operations: 1_000, blocked_ms: &old },
        Hours { version: Version::New, hosts: &HOSTS, hours: 168..336, operations: 1_000, blocked_ms: &new },
    ])
}

#[test]
fn a_lock_that_became_worse_is_found_with_its_size() {
    let compared = one(&in_turn(1_500));
    let lock = &compared.locks[0];
    assert_eq!((lock.site_id, lock.verdict), (LOCK, Change::Regression), "{compared:?}");
    // 1,050 ms and 1,550 ms of 1,000 operations, in 100 s of running time.
    assert!((lock.change.unwrap() - 0.476).abs() < 0.01, "{lock:?}");
    assert!((lock.old_ns - 1.05e6).abs() < 2e4 && (lock.new_share - 0.0155).abs() < 2e-4, "{lock:?}");
    let [low, high] = lock.change_ci95.unwrap();
    assert!(low < 0.476 && high > 0.476 && low > 0.4 && high < 0.55, "{lock:?}");
    assert!(lock.detectable_change.unwrap() < 0.2, "{lock:?}");
}

#[test]
fn what_became_better_is_an_improvement_and_what_is_small_is_nothing() {
    let verdict = |new_ms| one(&in_turn(new_ms)).locks[0].verdict;
    assert_eq!(verdict(600), Change::Improvement);
    assert_eq!(verdict(1_000), Change::None);
    // 5 % is significant here, but below the smallest effect.
    let lock = one(&in_turn(1_060)).locks[0];
    assert!(lock.verdict == Change::None && lock.q < 0.01, "{lock:?}");
}

#[test]
fn a_trifle_is_not_tested_and_a_small_difference_not_reported() {
    let with = |old: u64, new: u64| {
        let old = move |host, hour| old + noise(host, hour) / 10;
        let new = move |host, hour| new + noise(host, hour) / 10;
        one(&of(&[
            Hours { version: Version::Old, hosts: &HOSTS, hours: 0..168, operations: 1_000, blocked_ms: &old },
            Hours { version: Version::New, hosts: &HOSTS, hours: 168..336, operations: 1_000, blocked_ms: &new },
        ]))
    };
    // 0.01 % and 0.05 % of running time.
    let trifle = with(10, 50);
    assert_eq!((trifle.locks.len(), trifle.locks_below_min_share), (0, 1));
    // 0.2 % and 0.28 %: 40 % more, but less than 0.1 % of running time.
    let small = with(200, 280);
    assert_eq!(small.locks[0].verdict, Change::None, "{small:?}");
    assert_eq!(with(200, 380).locks[0].verdict, Change::Regression);
}

#[test]
fn a_new_lock_on_all_hosts_is_found_and_an_incident_on_one_is_not() {
    let none = |_, _| 0;
    let everywhere = |host, hour| 1_000 + noise(host, hour);
    // The same blocked time in total, all of it in an hour of one host.
    let incident = |host, hour| if (host, hour) == (2, 200) { 168 * 6 * 1_000 } else { 0 };
    let with = |new: &dyn Fn(usize, u64) -> u64| {
        one(&of(&[
            Hours { version: Version::Old, hosts: &HOSTS, hours: 0..168, operations: 1_000, blocked_ms: &none },
            Hours { version: Version::New, hosts: &HOSTS, hours: 168..336, operations: 1_000, blocked_ms: new },
        ]))
    };
    let found = with(&everywhere).locks[0];
    assert_eq!((found.verdict, found.change), (Change::Regression, None), "{found:?}");
    let incident = with(&incident).locks[0];
    assert_eq!(incident.verdict, Change::None, "{incident:?}");
}

#[test]
fn an_answer_depends_neither_on_the_order_of_rows_nor_on_the_run() {
    let (first, _) = pair(&Fleet { hosts: 5, days: 4, ..FLEET }, 3);
    assert_eq!(one(&first), one(&first));
    let blocked = |host, hour| 1_000 + noise(host, hour);
    let part = |version, hours| Hours { version, hosts: &HOSTS, hours, operations: 9, blocked_ms: &blocked };
    let forward = of(&[part(Version::Old, 0..168), part(Version::New, 168..336)]);
    let backward = of(&[part(Version::New, 168..336), part(Version::Old, 84..168), part(Version::Old, 0..84)]);
    assert_eq!(one(&forward), one(&backward));
}

#[test]
fn services_and_locks_of_one_call_share_the_false_discovery_rate() {
    let options = Options::default();
    let alone = compare(&[in_turn(1_500)], &options);
    let many: Vec<Pair> = std::iter::once(in_turn(1_500)).chain((0..9).map(|_| in_turn(1_000))).collect();
    let together = compare(&many, &options);
    assert_eq!((together.tested, together.regressions), (10, 1));
    let q = |outcome: &Outcome| outcome.services[0].locks[0].q;
    assert!((q(&together) / q(&alone) - 10.0).abs() < 1e-6, "{} {}", q(&together), q(&alone));
}

#[test]
fn versions_at_the_same_time_are_compared_hour_by_hour() {
    // A load that doubles blocked time comes on the third day, for both.
    let busy = |host, hour: u64| (1_000 + noise(host, hour)) * if hour >= 48 { 3 } else { 1 };
    let (old, new) = HOSTS.split_at(3);
    let at_once = of(&[
        Hours { version: Version::Old, hosts: old, hours: 0..120, operations: 1_000, blocked_ms: &busy },
        Hours { version: Version::New, hosts: new, hours: 40..120, operations: 1_000, blocked_ms: &busy },
    ]);
    let compared = one(&at_once);
    let design = compared.design.unwrap();
    assert_eq!((design.timing, design.matched), (Timing::SameTime, Matched::Slot));
    assert_eq!((design.paired_hosts, design.old_hosts, design.new_hosts, design.hosts_left_out), (false, 3, 3, 0));
    assert!(compared.locks[0].change.unwrap().abs() < 0.05, "{compared:?}");
}

#[test]
fn equal_hours_of_the_day_are_compared() {
    // Nights are quiet. The newer version has run for three days and an evening.
    let daily = |host, hour: u64| if hour % 24 < 8 { 100 } else { 1_000 + noise(host, hour) };
    let pair = of(&[
        Hours { version: Version::Old, hosts: &HOSTS, hours: 0..180, operations: 1_000, blocked_ms: &daily },
        Hours { version: Version::New, hosts: &HOSTS, hours: 180..264, operations: 1_000, blocked_ms: &daily },
    ]);
    let compared = one(&pair);
    let design = compared.design.unwrap();
    assert_eq!((design.timing, design.matched), (Timing::InTurn, Matched::HourOfWeek));
    assert!(compared.locks[0].change.unwrap().abs() < 0.02, "{compared:?}");
}

#[test]
fn hosts_with_both_versions_are_pairs() {
    let blocked = |host, hour| 1_000 * (host as u64 + 1) + noise(host, hour);
    let design = |new: &[&str]| {
        let pair = of(&[
            Hours { version: Version::Old, hosts: &HOSTS, hours: 0..168, operations: 1_000, blocked_ms: &blocked },
            Hours { version: Version::New, hosts: new, hours: 168..336, operations: 1_000, blocked_ms: &blocked },
        ]);
        let design = one(&pair).design.unwrap();
        (design.paired_hosts, design.old_hosts, design.new_hosts, design.hosts_left_out)
    };
    assert_eq!(design(&HOSTS), (true, 6, 6, 0));
    assert_eq!(design(&["a", "b", "c", "d", "x"]), (true, 4, 4, 3));
    assert_eq!(design(&["x", "y", "z"]), (false, 6, 3, 0));
}

#[test]
fn running_time_is_what_counts_where_operations_are_not_recorded() {
    let blocked = |host, hour| 1_000 + noise(host, hour);
    let unit = |old_operations, new_operations| {
        let part =
            |version, hours, operations| Hours { version, hosts: &HOSTS, hours, operations, blocked_ms: &blocked };
        let pair = of(&[part(Version::Old, 0..96, old_operations), part(Version::New, 96..192, new_operations)]);
        let compared = one(&pair);
        (compared.design.unwrap().unit, compared.locks[0].old_ns.round())
    };
    assert_eq!(unit(1_000, 1_000).0, Unit::Operation);
    let (unit, blocked_ns) = unit(0, 1_000);
    // 1,050 ms in 100 s.
    assert!(unit == Unit::RunningSecond && (blocked_ns - 1.05e7).abs() < 1e6, "{blocked_ns}");
}

#[test]
fn what_cannot_be_compared_says_why() {
    let blocked = |_, _| 1_000;
    let reason = |hosts: &[&str], hours: u64| {
        let part = |version, hours| Hours { version, hosts, hours, operations: 1, blocked_ms: &blocked };
        one(&of(&[part(Version::Old, 0..hours), part(Version::New, hours..2 * hours)])).not_compared
    };
    assert_eq!(reason(&HOSTS, 12), None);
    assert_eq!(reason(&HOSTS[..2], 12), Some(Unusable::TooFewHosts { old: 2, new: 2 }));
    assert_eq!(reason(&HOSTS, 2), Some(Unusable::TooShort));
    assert_eq!(reason(&HOSTS, 0), Some(Unusable::NoRunningTime));
}

const FLEET: Fleet =
    Fleet { rollout: Rollout::InTurn, hosts: 40, days: 14, host: 0.4, start: 0.05, day: 0.03, planted: 1.2 };

/// How many of so many fleets have a regression reported; those with a planted one, on its lock.
fn reported(fleet: &Fleet, seeds: std::ops::Range<u64>) -> usize {
    let is_reported = |seed: &u64| {
        let (pair, site) = pair(fleet, *seed);
        let compared = one(&pair);
        compared.locks.iter().any(|lock| lock.is_regression() && (fleet.planted == 1.0 || lock.site_id == site))
    };
    seeds.filter(is_reported).count()
}

/// A part of what `./hw fleet-eval` measures.
#[test]
fn regressions_are_found_and_their_absence_too() {
    let small = Fleet { hosts: 20, ..FLEET };
    assert_eq!(reported(&Fleet { planted: 1.0, ..small }, 100..120), 0);
    let found = reported(&Fleet { hosts: 60, ..FLEET }, 200..208);
    assert!(found >= 7, "{found} of 8");
}

/// Days that are unlike each other move all hosts at once: a hundred hosts that agree are one witness.
#[test]
fn a_day_that_moves_all_hosts_is_no_regression() {
    let days = Fleet { hosts: 30, days: 5, host: 0.1, start: 0.0, day: 0.3, planted: 1.0, ..FLEET };
    assert_eq!(reported(&days, 300..330), 0);
}
