//! What `headway` reports of predictable programs, against what the programs
//! measured of themselves, on every JDK.
//!
//! A scenario runs on two of the three JDKs, on every one if `HEADWAY_EVERY_JDK` is set.
//! Seconds per program come from `HEADWAY_E2E_SECONDS` (2 unless set); one test
//! runs at a time, because they measure time.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::accuracy::{self, Accuracy};
use headway_e2e::jdk::{Jdk, RELEASES};
use headway_e2e::majority::{InEachRun, Majority};
use headway_e2e::recorded::{Recorded, Workload};
use headway_e2e::report::Report;
use headway_e2e::tools::Tools;
use std::sync::{Mutex, PoisonError};
use std::thread;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What is asked of a scenario.
#[derive(Clone, Copy)]
struct Limits {
    /// Reported / true blocked time, contentions of 1 ms and more.
    coverage_ge_1ms: f64,
    /// Attributed / attributable time.
    attributed: f64,
    /// Blame marked as approximate.
    approximate: f64,
    /// Time certainly blamed on the wrong owner.
    wrong: f64,
    /// Difference of an owner method's share.
    share_difference: f64,
}

impl Limits {
    /// What most runs must keep on a machine that is busy with other things, where
    /// single runs miss the limits by some points; a wrong rule of blame is off by
    /// tens of points.
    fn wide(self) -> Limits {
        let thrice_from_1 = |share: f64| 1.0 - 3.0 * (1.0 - share);
        Limits {
            coverage_ge_1ms: thrice_from_1(self.coverage_ge_1ms).max(0.0),
            attributed: thrice_from_1(self.attributed).max(0.5),
            approximate: 3.0 * self.approximate,
            wrong: 3.0 * self.wrong,
            share_difference: 3.0 * self.share_difference,
        }
    }
}

/// What one of some runs must reach, each metric by itself: far enough from the targets of the
/// project (99.9 % covered, 97.5 % attributed, 0.1 % wrong, shares within 2
/// points; see [`RUNS`] for what a busy machine does to a run) to be passed
/// wherever the rules of blame are right, and near enough to fail where one of
/// them is not, which shows in tens of points. Each run prints what it reached.
const LIMITS: Limits =
    Limits { coverage_ge_1ms: 0.98, attributed: 0.95, approximate: 0.02, wrong: 0.01, share_difference: 0.03 };

/// Where holds are shorter than it takes to wake a thread, much of the blocked
/// time lies in gaps between holds, and what is attributed is a small sample.
/// Single runs on a busy machine attributed 0.85 to 0.96, with shares off by up
/// to 3.7 points.
const LIMITS_OF_SHORT_HOLDS: Limits = Limits { attributed: 0.85, share_difference: 0.05, ..LIMITS };

/// Holds that are no multiple of a millisecond. Where they last for one, as they do
/// by default, most contentions do, too: what a thread spins before it
/// blocks decides then which of them are long in the truth, but not in the report.
const LONGER: &str = "2500";

/// Most runs of a scenario on a JDK, one of which must reach the limits.
const RUNS: usize = 6;

/// The first runs, of which more than half must keep the wide limits.
const FIRST: usize = 3;

struct Scenario<'a> {
    workload: Workload<'a>,
    limits: Limits,
}

impl<'a> Scenario<'a> {
    fn new(arguments: &'a [&'a str]) -> Self {
        let workload = Workload { arguments, jvm_options: &[], attach: false };
        Scenario { workload, limits: LIMITS }
    }

    /// Attached to when it is warm.
    fn attached(arguments: &'a [&'a str]) -> Self {
        let workload = Workload { arguments, jvm_options: &[], attach: true };
        Scenario { workload, limits: LIMITS_ATTACHED }
    }

    fn on_each_jdk(&self) {
        self.on_each_jdk_from(17);
    }

    fn on_each_jdk_from(&self, first_release: u32) {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = Tools::find().unwrap();
        let mut failures = Vec::new();
        // Each scenario leaves out another release, and one that begins with a later release none.
        let turn = RELEASES[self.name().len() / 2 % RELEASES.len()];
        let jdks = if first_release > RELEASES[0] { Jdk::all() } else { Jdk::all_but(turn) };
        for jdk in jdks.iter().filter(|jdk| jdk.release >= first_release) {
            let found = self.repeatedly_on(&tools, jdk);
            failures.extend(found.into_iter().map(|failure| format!("JDK {}: {failure}", jdk.release)));
        }
        assert!(failures.is_empty(), "{}:\n  {}", self.name(), failures.join("\n  "));
    }

    /// What exceeds the wide limits in more than half of the first runs, or the limits in
    /// each. Where more threads are ready
    /// than there are processors, a thread that was woken may not run for long,
    /// and others own and release the lock meanwhile without an event of the VM
    /// (a release with a successor takes the fast path); on a machine that is busy
    /// with other things one metric or another of a run is off because of that. A
    /// wrong rule of blame shows in the same metric of most runs, also one that is
    /// wrong now and then. What does not depend on time (a recording's defects)
    /// counts in every run.
    fn repeatedly_on(&self, tools: &Tools, jdk: &Jdk) -> Vec<String> {
        let (mut most, mut each) = (Majority::of(FIRST), InEachRun::new());
        let mut is_decided = false;
        for _ in 0..RUNS {
            let (measured, defects) = self.on(tools, jdk);
            println!("JDK {} {}: {measured}", jdk.release, self.name());
            if !defects.is_empty() {
                return defects.into_iter().map(|defect| format!("defect: {defect}")).collect();
            }
            is_decided = is_decided || most.add(check(self.limits.wide(), &measured)).is_break();
            if each.add(check(self.limits, &measured)) && is_decided {
                break;
            }
        }
        most.failures().into_iter().chain(each.failures()).collect()
    }

    fn name(&self) -> String {
        let way = if self.workload.attach { " (attached)" } else { "" };
        self.workload.arguments.join(" ") + way
    }

    fn on(&self, tools: &Tools, jdk: &Jdk) -> (Accuracy, Vec<String>) {
        let recorded = Recorded::run(tools, jdk, &self.workload).unwrap();
        let (all, long) = thread::scope(|scope| {
            let checked = scope.spawn(|| recorded.check_with_jdk_tools());
            let all = recorded.report(accuracy::BREAKDOWN, &[]).unwrap();
            let long = recorded.report(accuracy::BREAKDOWN, &["--min-duration", "1ms"]).unwrap();
            checked.join().unwrap().unwrap();
            (all, long)
        });
        let truth = recorded.truth().unwrap();
        assert!(truth.contentions > 20, "the program hardly contended: {truth:?}");
        let strangers = accuracy::methods_of_one_side(&truth, &all);
        if !strangers.is_empty() {
            println!("  only on one side: {strangers:?}");
        }
        (Accuracy::of(&truth, &all, &long), defects(&all))
    }
}

/// Which limits a run exceeds.
fn check(limits: Limits, measured: &Accuracy) -> Vec<(Metric, String)> {
    let mut failures = Vec::new();
    let mut demand = |metric: Metric, holds: bool, what: String| {
        if !holds {
            failures.push((metric, what));
        }
    };
    demand(
        Metric::Coverage,
        measured.coverage_ge_1ms >= limits.coverage_ge_1ms,
        format!("only {:.4} of the blocked time is reported", measured.coverage_ge_1ms),
    );
    demand(
        Metric::Excess,
        measured.coverage < 1.02,
        format!("{:.4} of the blocked time is reported", measured.coverage),
    );
    demand(
        Metric::Attributed,
        measured.attributed >= measured.attributable * limits.attributed,
        format!("only {:.4} is attributed of {:.4} attributable", measured.attributed, measured.attributable),
    );
    demand(
        Metric::Approximate,
        measured.approximate <= limits.approximate,
        format!("{:.4} is only approximately attributed", measured.approximate),
    );
    demand(Metric::Wrong, measured.wrong <= limits.wrong, format!("{:.4} is blamed on wrong owners", measured.wrong));
    demand(
        Metric::Share,
        measured.worst_share_difference <= limits.share_difference,
        format!("share of {} is off by {:.4}", measured.worst_method, measured.worst_share_difference),
    );
    failures
}

/// What a limit is set to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Metric {
    Coverage,
    Excess,
    Attributed,
    Approximate,
    Wrong,
    Share,
}

/// What is wrong with a recording, whatever it says.
fn defects(report: &Report) -> Vec<String> {
    let mut defects = Vec::new();
    if report.blocked.slices_checked == 0 || report.blocked.slices_wrong > 0 {
        defects.push(format!("slices do not add up: {:?}", report.blocked));
    }
    defects
        .extend(report.losses.iter().filter(|(_, count)| **count > 0).map(|(loss, count)| format!("{count} x {loss}")));
    defects.extend(report.degraded.iter().map(|d| format!("degraded: {}: {}", d.mechanism, d.reason)));
    defects
}

#[test]
fn holds_of_50_ms() {
    Scenario::new(&["chains", "--hold-us", "50000", "--pause-us", "20000"]).on_each_jdk();
}

#[test]
fn holds_of_1_ms_at_depth_40() {
    Scenario::new(&["chains", "--hold-us", "1000", "--depth", "40"]).on_each_jdk();
}

#[test]
fn holds_of_200_us_with_8_threads() {
    let scenario = Scenario::new(&["chains", "--hold-us", "200", "--threads", "8"]);
    Scenario { limits: LIMITS_OF_SHORT_HOLDS, ..scenario }.on_each_jdk();
}

/// Here much of the blocked time is spent spinning, which posts no event, and
/// hardly a contention lasts for a millisecond: coverage cannot be asked for, and
/// what is seen need not have the same shares as what is not.
#[test]
fn holds_of_20_us() {
    let limits = Limits { coverage_ge_1ms: 0.0, ..LIMITS_OF_SHORT_HOLDS };
    Scenario { limits, ..Scenario::new(&["chains", "--hold-us", "20", "--pause-us", "20"]) }.on_each_jdk();
}

#[test]
fn a_barging_owner() {
    Scenario::new(&["barging", "--hold-us", LONGER]).on_each_jdk();
}

#[test]
fn threads_that_take_turns() {
    Scenario::new(&["fair", "--hold-us", LONGER]).on_each_jdk();
}

/// Unwinding takes about 10 us after the last stamp, in which the lock is still held; on a
/// busy machine 1 to 2 % of the time went to wrong owners in half of the runs.
const LIMITS_OF_UNWINDING: Limits = Limits { wrong: 0.02, share_difference: 0.04, ..LIMITS };

const UNWINDING: &[&str] = &["exceptions", "--hold-us", "5000"];

#[test]
fn exceptions_that_unwind_owners() {
    Scenario { limits: LIMITS_OF_UNWINDING, ..Scenario::new(UNWINDING) }.on_each_jdk();
}

/// Whether a call that throws is inlined is the compiler's choice in each run. Where it is
/// not, no instruction leads to the handler that releases the lock.
#[test]
fn exceptions_of_calls_that_are_not_inlined() {
    let dont_inline = "-XX:CompileCommand=dontinline,io.headway.workloads.predict.Unwinding::holdAndThrow";
    let jvm_options = &["-XX:CompileCommand=quiet", dont_inline];
    let workload = Workload { arguments: UNWINDING, jvm_options, attach: false };
    Scenario { workload, limits: LIMITS_OF_UNWINDING }.on_each_jdk();
}

#[test]
fn owners_inlined_into_one_frame() {
    Scenario::new(&["inlined", "--hold-us", LONGER]).on_each_jdk();
}

#[test]
fn recursive_owners() {
    Scenario { limits: LIMITS_OF_SHORT_HOLDS, ..Scenario::new(&["recursion", "--hold-us", LONGER]) }.on_each_jdk();
}

#[test]
fn waits_below_the_method_that_holds_the_lock() {
    Scenario::new(&["deepwait", "--threads", "6", "--hold-us", LONGER]).on_each_jdk();
}

/// The truth takes a timeout's nominal end, or the interrupt, for the begin of
/// the contention; the thread begins to queue when it gets a processor, on a busy
/// machine several milliseconds later.
#[test]
fn waits_that_time_out_or_are_interrupted() {
    let limits = Limits { coverage_ge_1ms: 0.85, ..LIMITS };
    Scenario { limits, ..Scenario::new(&["timedwait", "--hold-us", "20000", "--pause-us", "5000"]) }.on_each_jdk();
}

#[test]
fn monitors_of_native_code() {
    Scenario::new(&["jni", "--hold-us", LONGER]).on_each_jdk();
}

#[test]
fn two_hundred_locks() {
    Scenario::new(&["manylocks", "--threads", "6"]).on_each_jdk();
}

#[test]
fn locks_that_die() {
    Scenario::new(&["dyinglocks", "--hold-us", LONGER]).on_each_jdk();
}

/// Code that was compiled before an agent came has no debug information at its
/// unlocks: where several methods that lock were compiled into one, it is named by its
/// physical method, and marked (none of the time in the runs that were looked at).
const LIMITS_ATTACHED: Limits = Limits { approximate: 0.2, share_difference: 0.05, ..LIMITS };

#[test]
fn attached_to_compiled_code() {
    Scenario::attached(&["chains", "--hold-us", LONGER]).on_each_jdk();
}

#[test]
fn attached_to_waits_below_the_owner() {
    Scenario::attached(&["deepwait", "--threads", "6", "--hold-us", LONGER]).on_each_jdk();
}

#[test]
fn virtual_threads() {
    Scenario::new(&["chains", "--virtual", "true", "--hold-us", LONGER]).on_each_jdk_from(21);
}

/// A virtual thread that is woken waits for a carrier as well, so that most of
/// the blocked time lies between holds.
#[test]
fn virtual_threads_that_wait() {
    let scenario = Scenario::new(&["deepwait", "--virtual", "true", "--threads", "6", "--hold-us", LONGER]);
    Scenario { limits: LIMITS_OF_SHORT_HOLDS, ..scenario }.on_each_jdk_from(21);
}
