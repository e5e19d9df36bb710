//! Recorded against self-measured wait time, under any profiler that records lock
//! events: how much of it is there, and for Headway who is blamed for it.

use crate::accuracy::{self, Accuracy, BREAKDOWN};
use crate::jdk::Jdk;
use crate::profiler::Profiler;
use crate::recorded::Recorded;
use crate::report::Report;
use crate::tools::Tools;
use crate::truth::Truth;
use crate::Problem;
use serde::Serialize;

/// From which length on a contention is long, in nanoseconds.
const LONG_NS: u64 = 1_000_000;

/// The numbers of one run. Fractions are of 1.
#[derive(Clone, Debug, Serialize)]
pub struct Waits {
    /// Recorded / true blocked time, all contentions.
    pub coverage: f64,
    /// The same of contentions that last for a millisecond and more; `None` if the truth
    /// has none. A contention that is a little longer in the truth, and a little shorter
    /// in the recording, is wholly missing here: this is the least that is covered.
    pub coverage_ge_1ms: Option<f64>,
    /// The same if every long contention that the recording has not was recorded as a
    /// little shorter than a millisecond: the most that can be covered.
    pub coverage_ge_1ms_at_most: Option<f64>,
    /// True less recorded blocked time, per contention of the truth: what spinning and waking
    /// take before and after an event. A profiler that changes how often a program contends
    /// changes its coverage, too; this can be compared all the same.
    pub missing_ns_per_contention: f64,
    /// Who is blamed; only Headway says.
    #[serde(flatten)]
    pub blame: Option<Blame>,
    /// What the profiler says it dropped: Headway events and stacks, JFR how often its
    /// buffers were full; async-profiler says nothing.
    pub lost: u64,
    /// Contentions by the truth.
    pub contentions: u64,
    /// Those of a millisecond and more.
    pub contentions_ge_1ms: u64,
    /// Contentions in the recording.
    pub recorded: u64,
}

/// How right blame on owners is; see [`Accuracy`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Blame {
    /// Part of the recorded time that is blamed on an owner's method.
    pub attributed: f64,
    /// Part of the true time that can be; attributed / attributable is the recall.
    pub attributable: f64,
    /// Part of the recorded time whose blame is marked as approximate.
    pub approximate: f64,
    /// Part of the recorded time that is certainly blamed wrongly; 1 less this is the precision.
    pub wrong: f64,
    /// The largest difference of an owner method's share.
    pub share_difference: f64,
}

impl Waits {
    /// Runs a scenario of `predict` with its options under a profiler.
    ///
    /// # Errors
    /// Something did not run; the program did not contend; or Headway could not work as
    /// it should, so that the numbers would not be its own.
    pub fn measure(profiler: &Profiler, tools: &Tools, jdk: &Jdk, program: &[&str]) -> Result<Waits, Problem> {
        let recorded = Recorded::run_under(profiler, tools, jdk, program)?;
        let truth = recorded.truth()?;
        let all = recorded.report(BREAKDOWN, &[])?;
        let long = recorded.report(BREAKDOWN, &["--min-duration", "1ms"])?;
        let mut waits = Waits::of(profiler, &truth, &all, &long)?;
        if *profiler == Profiler::Jfr {
            waits.lost += recorded.data_losses()?;
        }
        Ok(waits)
    }

    /// Compares reports with a truth, as [`Accuracy::of`] does.
    ///
    /// # Errors
    /// The truth has no contention, or the report says that Headway did not work as it should.
    pub fn of(profiler: &Profiler, truth: &Truth, all: &Report, long: &Report) -> Result<Waits, Problem> {
        if truth.contentions == 0 {
            return Err(format!("the program {} did not contend", truth.workload).into());
        }
        if let Some(degraded) = all.degraded.first() {
            return Err(format!("{} was not in force: {}", degraded.mechanism, degraded.reason).into());
        }
        if all.blocked.slices_wrong > 0 {
            return Err(format!("the slices of {} contentions do not add up", all.blocked.slices_wrong).into());
        }
        let accuracy = Accuracy::of(truth, all, long);
        let has_long = truth.contentions_ge_1ms > 0;
        let missing = truth.contentions_ge_1ms.saturating_sub(accuracy::contentions(truth, long));
        let missing = (missing * LONG_NS) as f64 / truth.blocked_ge_1ms_ns.max(1) as f64;
        Ok(Waits {
            coverage: accuracy.coverage,
            coverage_ge_1ms: has_long.then_some(accuracy.coverage_ge_1ms),
            coverage_ge_1ms_at_most: has_long.then_some(accuracy.coverage_ge_1ms + missing),
            missing_ns_per_contention: (1.0 - accuracy.coverage) * truth.blocked_ns as f64 / truth.contentions as f64,
            blame: (*profiler == Profiler::Headway).then_some(Blame {
                attributed: accuracy.attributed,
                attributable: accuracy.attributable,
                approximate: accuracy.approximate,
                wrong: accuracy.wrong,
                share_difference: accuracy.worst_share_difference,
            }),
            lost: all.losses.values().sum(),
            contentions: truth.contentions,
            contentions_ge_1ms: truth.contentions_ge_1ms,
            recorded: accuracy::contentions(truth, all),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    /// Two threads, one lock: `long` contentions of 2 ms, 100 us of which are gaps, and
    /// `short` ones of 10 us, all of them caused by `a`.
    fn truth(long: u64, short: u64) -> Truth {
        let (long_ns, short_ns, gap) = (long * 2_000_000, short * 10_000, long * 100_000);
        let caused = long_ns + short_ns - gap;
        serde_json::from_value(json!({
            "workload": "drawn", "threads": 2, "locks": 1, "contentions": long + short,
            "blocked_ns": long_ns + short_ns, "gap_ns": gap, "contentions_ge_1ms": long,
            "blocked_ge_1ms_ns": long_ns, "gap_ge_1ms_ns": gap, "waits": 0, "waited_ns": 0,
            "owners": [{
                "lock": "l", "lock_class": "C", "owner_method": "a",
                "caused_ns": caused, "caused_ge_1ms_ns": long_ns - gap, "holds": long + short,
            }],
            "cells": [{
                "lock_class": "C", "contender_thread": "T1", "contender_method": "m", "owner_thread": "T2",
                "owner_method": "a", "caused_ns": caused, "caused_at_most_ns": caused,
            }],
        }))
        .unwrap()
    }

    /// What is reported of the lock, and as much of one that the truth does not know.
    fn report(count: u64, total_ns: u64, owner_method: &str) -> Report {
        let row = |class: &str| {
            let row = |value: &str, children: Value| json!({"value": value, "total_ns": total_ns, "count": count, "children": children});
            row(class, json!([row("T1", json!([row("T2", json!([row(owner_method, json!([]))]))]))]))
        };
        serde_json::from_value(json!({
            "blocked_ns": 2 * total_ns, "contentions": 2 * count, "rows": [row("C"), row("java.lang.Stranger")],
            "losses": {"events": 2, "stacks": 1}, "degraded": [],
            "blocked": {
                "owner_stack_ns": total_ns, "owner_thread_ns": 0, "hand_off_ns": 0, "unknown_ns": 0,
                "slices_checked": count, "slices_wrong": 0,
            },
        }))
        .unwrap()
    }

    fn near(is: f64, expected: f64) {
        assert!((is - expected).abs() < 1e-9, "{is}, not {expected}");
    }

    #[test]
    fn a_peer_is_asked_for_time_only() {
        let (all, long) = (report(10, 19_990_000, "unknown"), report(9, 18_000_000, "unknown"));
        let waits = Waits::of(&Profiler::Jfr, &truth(10, 0), &all, &long).unwrap();
        near(waits.coverage, 0.9995);
        assert!((waits.missing_ns_per_contention - 1000.0).abs() < 1e-3, "{waits:?}");
        near(waits.coverage_ge_1ms.unwrap(), 0.9);
        assert_eq!((waits.lost, waits.contentions, waits.recorded), (3, 10, 10));
        let printed = serde_json::to_value(&waits).unwrap();
        let mut keys: Vec<&str> = printed.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        let expected = [
            "contentions",
            "contentions_ge_1ms",
            "coverage",
            "coverage_ge_1ms",
            "coverage_ge_1ms_at_most",
            "lost",
            "missing_ns_per_contention",
            "recorded",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn a_long_contention_that_is_not_there_can_have_been_a_millisecond() {
        let (all, long) = (report(10, 19_000_000, "unknown"), report(9, 18_000_000, "unknown"));
        let waits = Waits::of(&Profiler::Jfr, &truth(10, 0), &all, &long).unwrap();
        near(waits.coverage_ge_1ms_at_most.unwrap(), 0.95);
    }

    #[test]
    fn without_long_contentions_nothing_is_said_of_them() {
        let waits = Waits::of(&Profiler::Jfr, &truth(0, 10), &report(9, 80_000, "unknown"), &report(0, 0, "unknown"));
        let printed = serde_json::to_value(waits.unwrap()).unwrap();
        assert_eq!((&printed["coverage"], &printed["coverage_ge_1ms"]), (&json!(0.8), &Value::Null));
    }

    #[test]
    fn headway_says_who_is_to_blame() {
        let right = report(10, 19_000_000, "a");
        let waits = Waits::of(&Profiler::Headway, &truth(10, 0), &right, &right).unwrap();
        let blame = waits.blame.unwrap();
        near(blame.attributed, 1.0);
        near(blame.attributable, 0.95);
        near(blame.wrong, 0.0);
        let wrong = report(10, 19_000_000, "b");
        let waits = Waits::of(&Profiler::Headway, &truth(10, 0), &wrong, &wrong).unwrap();
        assert_eq!(serde_json::to_value(waits).unwrap()["wrong"], json!(1.0));
    }

    #[test]
    fn figures_that_are_nobody_s_are_refused() {
        let good = report(10, 19_000_000, "a");
        let refused = |truth: &Truth, report: &Report| {
            Waits::of(&Profiler::Headway, truth, report, report).unwrap_err().to_string()
        };
        assert_eq!(refused(&truth(0, 0), &good), "the program drawn did not contend");
        let mut bad = good.clone();
        bad.blocked.slices_wrong = 2;
        assert_eq!(refused(&truth(10, 0), &bad), "the slices of 2 contentions do not add up");
    }
}
