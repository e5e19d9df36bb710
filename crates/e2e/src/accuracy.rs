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
/// The truth's stretch begins before `synchronized`; a contended enter is only
/// seen after the VM has spun in vain. So reported times are a little shorter,
/// most for short stretches, and only times of long ones can be compared as
/// such; of all stretches, shares are.
#[derive(Clone, Debug, Default)]
pub struct Accuracy {
    /// Reported / true blocked time, stretches of a millisecond and more.
    pub coverage_ge_1ms: f64,
    /// Reported / true blocked time, all stretches.
    pub coverage: f64,
    /// Part of the reported time that is blamed on an owner's method.
    pub attributed: f64,
    /// Part of the true time in which somebody held the lock: what can be
    /// attributed at best.
    pub attributable: f64,
    /// Part of the reported time that is blamed on an owner beyond what this
    /// owner caused, by (lock class, blocked thread, owner thread, method).
    pub wrong: f64,
    /// The largest difference of an owner method's share of attributed time.
    pub worst_share_difference: f64,
    /// The method whose difference that is.
    pub worst_method: String,
}

impl Accuracy {
    /// Compares reports with a truth. `all` is broken down by [`BREAKDOWN`];
    /// `long` is of the same recording, stretches of a millisecond and more.
    pub fn of(truth: &Truth, all: &Report, long: &Report) -> Accuracy {
        let cells = reported_cells(all);
        let attributed: u64 = cells.iter().filter(|(cell, _)| !is_unknown(cell)).map(|(_, ns)| ns).sum();
        let (worst_method, worst_share_difference) = worst_difference(truth, &cells, attributed);
        Accuracy {
            coverage_ge_1ms: ratio(long.blocked_ns, truth.blocked_ge_1ms_ns),
            coverage: ratio(all.blocked_ns, truth.blocked_ns),
            attributed: ratio(attributed, all.blocked_ns),
            attributable: ratio(truth.blocked_ns - truth.gap_ns, truth.blocked_ns),
            wrong: ratio(excess(truth, &cells), all.blocked_ns),
            worst_share_difference,
            worst_method,
        }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "coverage {:.4} (>= 1 ms {:.4}), attributed {:.4} of {:.4} attributable, wrong {:.5}, \
             owner shares within {:.2} points ({})",
            self.coverage,
            self.coverage_ge_1ms,
            self.attributed,
            self.attributable,
            self.wrong,
            100.0 * self.worst_share_difference,
            self.worst_method
        )
    }
}

/// Lock class, blocked thread, owner thread, owner method.
type Key = [String; 4];

fn is_unknown(cell: &Key) -> bool {
    cell[3] == UNKNOWN
}

fn reported_cells(report: &Report) -> BTreeMap<Key, u64> {
    let mut cells = BTreeMap::new();
    for (path, ns) in report.leaves() {
        if let Ok(key) = Key::try_from(path) {
            *cells.entry(key).or_default() += ns;
        }
    }
    cells
}

fn true_cells(truth: &Truth) -> BTreeMap<Key, u64> {
    let mut cells = BTreeMap::new();
    for cell in &truth.cells {
        let key = [&cell.lock_class, &cell.contender_thread, &cell.owner_thread, &cell.owner_method].map(String::clone);
        *cells.entry(key).or_default() += cell.caused_ns;
    }
    cells
}

/// Time blamed on owners beyond what they caused.
fn excess(truth: &Truth, reported: &BTreeMap<Key, u64>) -> u64 {
    let caused = true_cells(truth);
    reported
        .iter()
        .filter(|(key, _)| !is_unknown(key))
        .map(|(key, ns)| ns.saturating_sub(caused.get(key).copied().unwrap_or(0)))
        .sum()
}

fn worst_difference(truth: &Truth, reported: &BTreeMap<Key, u64>, attributed: u64) -> (String, f64) {
    let mut by_method: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for owner in &truth.owners {
        by_method.entry(&owner.owner_method).or_default().0 += owner.caused_ns;
    }
    for (key, ns) in reported.iter().filter(|(key, _)| !is_unknown(key)) {
        by_method.entry(&key[3]).or_default().1 += ns;
    }
    let caused: u64 = truth.owners.iter().map(|owner| owner.caused_ns).sum();
    by_method
        .into_iter()
        .map(|(method, (is, said))| (method.to_owned(), (ratio(is, caused) - ratio(said, attributed)).abs()))
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
    let said: BTreeSet<String> = reported_cells(report).into_keys().filter(|key| !is_unknown(key)).map(|k| k[3].clone()).collect();
    let is: BTreeSet<String> = truth.owners.iter().filter(|o| o.caused_ns > 0).map(|o| o.owner_method.clone()).collect();
    said.symmetric_difference(&is).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{BlockedTime, Row};
    use crate::truth::{Cell, Owner};

    fn row(value: &str, total_ns: u64, children: Vec<Row>) -> Row {
        Row { value: value.into(), total_ns, children }
    }

    /// One class, one blocked thread, one owner thread; what is said of methods.
    fn report(methods: &[(&str, u64)]) -> Report {
        let total = methods.iter().map(|(_, ns)| ns).sum();
        let leaves = methods.iter().map(|(method, ns)| row(method, *ns, Vec::new())).collect();
        let rows = vec![row("C", total, vec![row("T1", total, vec![row("T2", total, leaves)])])];
        let blocked = BlockedTime {
            owner_chain_ns: total,
            owner_thread_ns: 0,
            hand_over_ns: 0,
            unknown_ns: 0,
            slices_checked: 1,
            slices_wrong: 0,
        };
        Report { blocked_ns: total, contentions: 1, rows, losses: BTreeMap::new(), degraded: Vec::new(), blocked }
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
        });
        Truth {
            workload: "drawn".into(),
            threads: 2,
            locks: 1,
            stretches: 1,
            blocked_ns: total,
            gap_ns: gap,
            stretches_ge_1ms: 1,
            blocked_ge_1ms_ns: total,
            gap_ge_1ms_ns: gap,
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
            "coverage 1.0000 (>= 1 ms 1.0000), attributed 0.9000 of 0.9000 attributable, wrong 0.00000, \
             owner shares within 0.00 points (b)"
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
