//! How well a report agrees with a truth.

use crate::report::Report;
use crate::truth::Truth;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The breakdown whose rows [`Accuracy::of`] compares with a truth's cells.
pub const BREAKDOWN: &str = "lock-class,contender-thread,owner-thread,owner-method";

/// The value of rows that are blamed on nobody.
const UNKNOWN: &str = "unknown";

/// Agreement of a report with a truth. All are fractions, 1 = all.
///
/// Only locks of classes that the truth knows are looked at: the JDK's own
/// threads contend too.
///
/// The truth's contention begins before `synchronized`; a contended enter is only
/// seen after the VM has spun without effect. So reported times are a little shorter,
/// most for short contentions, and only times of long ones can be compared as
/// such; of all contentions, shares are.
#[derive(Clone, Debug, Default)]
pub struct Accuracy {
    /// Reported / true blocked time, contentions of a millisecond and more.
    pub coverage_ge_1ms: f64,
    /// Reported / true blocked time, all contentions.
    pub coverage: f64,
    /// Part of the reported time that is blamed on an owner's method.
    pub attributed: f64,
    /// Part of the true time in which somebody held the lock, by the program's
    /// stamps: what can be attributed at best.
    pub attributable: f64,
    /// Part of the reported time that is blamed on a physical method which is
    /// marked as only approximately the right one.
    pub approximate: f64,
    /// Part of the reported time that is blamed on an owner beyond what this
    /// owner can have caused, by (lock class, blocked thread, owner thread,
    /// method). Blame that is marked approximate is not counted.
    pub wrong: f64,
    /// The largest difference of an owner method's share of attributed time.
    pub worst_share_difference: f64,
    /// The method whose difference that is.
    pub worst_method: String,
}

impl Accuracy {
    /// Compares reports with a truth. `all` is broken down by [`BREAKDOWN`];
    /// `long` is of the same recording, contentions of a millisecond and more.
    pub fn of(truth: &Truth, all: &Report, long: &Report) -> Accuracy {
        let said = Said::of(truth, all);
        let (worst_method, worst_share_difference) = worst_difference(truth, &said);
        Accuracy {
            coverage_ge_1ms: ratio(Said::of(truth, long).blocked_ns, truth.blocked_ge_1ms_ns),
            coverage: ratio(said.blocked_ns, truth.blocked_ns),
            attributed: ratio(said.attributed_ns, said.blocked_ns),
            attributable: ratio(truth.blocked_ns - truth.gap_ns, truth.blocked_ns),
            approximate: ratio(said.approximate_ns, said.blocked_ns),
            wrong: ratio(excess(truth, &said), said.blocked_ns),
            worst_share_difference,
            worst_method,
        }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "coverage {:.4} (>= 1 ms {:.4}), attributed {:.4} of {:.4} attributable, approximate {:.4}, wrong {:.5}, \
             owner shares within {:.2} points ({})",
            self.coverage,
            self.coverage_ge_1ms,
            self.attributed,
            self.attributable,
            self.approximate,
            self.wrong,
            100.0 * self.worst_share_difference,
            self.worst_method
        )
    }
}

/// Lock class, blocked thread, owner thread, owner method.
type Key = [String; 4];

/// What a report says of the locks that a truth knows.
#[derive(Default)]
struct Said {
    blocked_ns: u64,
    attributed_ns: u64,
    approximate_ns: u64,
    /// Blame on owners, and the part of it that is not marked approximate.
    cells: BTreeMap<Key, (u64, u64)>,
}

impl Said {
    fn of(truth: &Truth, report: &Report) -> Said {
        let classes = lock_classes(truth);
        let mut said = Said::default();
        for leaf in report.leaves() {
            let Ok(key) = Key::try_from(leaf.path) else {
                continue;
            };
            if !classes.contains(key[0].as_str()) {
                continue;
            }
            said.blocked_ns += leaf.total_ns;
            if key[3] == UNKNOWN {
                continue;
            }
            said.attributed_ns += leaf.total_ns;
            said.approximate_ns += leaf.approximate_ns;
            let cell = said.cells.entry(key).or_default();
            cell.0 += leaf.total_ns;
            cell.1 += leaf.total_ns.saturating_sub(leaf.approximate_ns);
        }
        said
    }
}

/// The classes of the locks that a truth knows.
fn lock_classes(truth: &Truth) -> BTreeSet<&str> {
    truth.owners.iter().map(|owner| owner.lock_class.as_str()).collect()
}

/// How many contentions a report by [`BREAKDOWN`] has of the locks that a truth knows.
pub fn contentions(truth: &Truth, report: &Report) -> u64 {
    let classes = lock_classes(truth);
    let rows = report.rows.iter().filter(|row| row.value.as_str().is_some_and(|class| classes.contains(class)));
    rows.map(|row| row.count).sum()
}

/// Time blamed on owners beyond what they can have caused.
fn excess(truth: &Truth, said: &Said) -> u64 {
    let mut at_most: BTreeMap<Key, u64> = BTreeMap::new();
    for cell in &truth.cells {
        let key = [&cell.lock_class, &cell.contender_thread, &cell.owner_thread, &cell.owner_method].map(String::clone);
        *at_most.entry(key).or_default() += cell.caused_at_most_ns;
    }
    let beyond =
        |(key, (_, proven)): (&Key, &(u64, u64))| proven.saturating_sub(at_most.get(key).copied().unwrap_or(0));
    said.cells.iter().map(beyond).sum()
}

fn worst_difference(truth: &Truth, said: &Said) -> (String, f64) {
    let mut by_method: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for owner in &truth.owners {
        by_method.entry(&owner.owner_method).or_default().0 += owner.caused_ns;
    }
    for (key, (ns, _)) in &said.cells {
        by_method.entry(&key[3]).or_default().1 += ns;
    }
    let caused: u64 = truth.owners.iter().map(|owner| owner.caused_ns).sum();
    by_method
        .into_iter()
        .map(|(method, (is, ns))| (method.to_owned(), (ratio(is, caused) - ratio(ns, said.attributed_ns)).abs()))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or_default()
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// Owner methods that only the report or only the truth knows.
pub fn methods_of_one_side(truth: &Truth, report: &Report) -> Vec<String> {
    let said: BTreeSet<String> = Said::of(truth, report).cells.into_keys().map(|[_, _, _, method]| method).collect();
    let is: BTreeSet<String> =
        truth.owners.iter().filter(|owner| owner.caused_ns > 0).map(|owner| owner.owner_method.clone()).collect();
    said.symmetric_difference(&is).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{BlockedTime, Row};
    use crate::truth::{Cell, Owner};

    fn row(value: &str, total_ns: u64, children: Vec<Row>) -> Row {
        Row { value: value.into(), total_ns, count: 1, approximate_ns: 0, children }
    }

    /// One class, one blocked thread, one owner thread; what is said of methods.
    fn report(methods: &[(&str, u64)]) -> Report {
        let total = methods.iter().map(|(_, ns)| ns).sum();
        let leaves = methods.iter().map(|(method, ns)| row(method, *ns, Vec::new())).collect();
        let rows = vec![row("C", total, vec![row("T1", total, vec![row("T2", total, leaves)])])];
        let blocked = BlockedTime {
            owner_stack_ns: total,
            owner_thread_ns: 0,
            hand_off_ns: 0,
            unknown_ns: 0,
            slices_checked: 1,
            slices_wrong: 0,
        };
        Report {
            blocked_ns: total,
            contentions: 1,
            rows,
            losses: BTreeMap::new(),
            degraded: Vec::new(),
            in_flight: Vec::new(),
            blocked,
        }
    }

    fn truth(methods: &[(&str, u64)], gap: u64) -> Truth {
        let total = methods.iter().map(|(_, ns)| ns).sum::<u64>() + gap;
        let owners = methods.iter().map(|(method, ns)| Owner {
            lock: "l".into(),
            lock_class: "C".into(),
            lock_hash: None,
            owner_method: (*method).into(),
            owner_via: None,
            caused_ns: *ns,
            caused_ge_1ms_ns: *ns,
            holds: 1,
        });
        let cells = methods.iter().map(|(method, ns)| Cell {
            lock_class: "C".into(),
            contender_thread: "T1".into(),
            contender_method: "m".into(),
            owner_thread: "T2".into(),
            owner_method: (*method).into(),
            caused_ns: *ns,
            caused_at_most_ns: *ns,
        });
        Truth {
            workload: "drawn".into(),
            threads: 2,
            locks: 1,
            contentions: 1,
            blocked_ns: total,
            gap_ns: gap,
            contentions_ge_1ms: 1,
            blocked_ge_1ms_ns: total,
            gap_ge_1ms_ns: gap,
            waits: 0,
            waited_ns: 0,
            owners: owners.collect(),
            cells: cells.collect(),
        }
    }

    #[test]
    fn a_perfect_report() {
        let said = report(&[("a", 600), ("b", 300), (UNKNOWN, 100)]);
        let accuracy = Accuracy::of(&truth(&[("a", 600), ("b", 300)], 100), &said, &said);
        assert_eq!(
            accuracy.to_string(),
            "coverage 1.0000 (>= 1 ms 1.0000), attributed 0.9000 of 0.9000 attributable, approximate 0.0000, \
             wrong 0.00000, owner shares within 0.00 points (b)"
        );
    }

    #[test]
    fn blame_on_the_wrong_method_shows_as_wrong_and_in_shares() {
        let said = report(&[("a", 500), ("b", 400), (UNKNOWN, 100)]);
        let accuracy = Accuracy::of(&truth(&[("a", 600), ("b", 300)], 100), &said, &said);
        assert!((accuracy.wrong - 0.1).abs() < 1e-9, "{accuracy}");
        assert!((accuracy.worst_share_difference - 100.0 / 900.0).abs() < 1e-9, "{accuracy}");
    }

    #[test]
    fn blame_that_is_marked_approximate_is_not_wrong_but_shows_in_shares() {
        let mut said = report(&[("physical", 900), (UNKNOWN, 100)]);
        said.rows[0].children[0].children[0].children[0].approximate_ns = 900;
        let accuracy = Accuracy::of(&truth(&[("inlined", 900)], 100), &said, &said);
        assert!(accuracy.wrong == 0.0, "{accuracy}");
        assert!((accuracy.approximate - 0.9).abs() < 1e-9, "{accuracy}");
        assert!((accuracy.worst_share_difference - 1.0).abs() < 1e-9, "{accuracy}");
    }

    #[test]
    fn gaps_beside_a_hold_may_be_its_owners() {
        let mut is = truth(&[("a", 900)], 100);
        is.cells[0].caused_at_most_ns = 1000;
        let said = report(&[("a", 1000)]);
        assert!(Accuracy::of(&is, &said, &said).wrong == 0.0);
    }

    #[test]
    fn locks_of_the_jdk_itself_are_left_out() {
        let mut said = report(&[("a", 900), (UNKNOWN, 100)]);
        said.rows.push(row("java.lang.ref.ReferenceQueue$Lock", 50, vec![]));
        said.blocked_ns += 50;
        let accuracy = Accuracy::of(&truth(&[("a", 900)], 100), &said, &said);
        assert!((accuracy.coverage - 1.0).abs() < 1e-9, "{accuracy}");
    }

    #[test]
    fn a_method_that_the_truth_does_not_know_is_named() {
        let said = report(&[("a", 500), ("physical", 400)]);
        let is = truth(&[("a", 500), ("inlined", 400)], 0);
        assert_eq!(methods_of_one_side(&is, &said), ["inlined", "physical"]);
    }

    #[test]
    fn unknown_is_neither_wrong_nor_attributed() {
        let said = report(&[(UNKNOWN, 1000)]);
        let accuracy = Accuracy::of(&truth(&[("a", 900)], 100), &said, &said);
        assert!(accuracy.wrong == 0.0 && accuracy.attributed == 0.0, "{accuracy}");
    }
}
