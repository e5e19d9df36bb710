//! Each mechanism that can be missing, switched off by force: what Headway says
//! about it, in its reply and in the recording, and what is still known.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::recorded::{Recorded, Warm, Workload};
use headway_e2e::report::Report;
use headway_e2e::tools::{self, Tools};
use headway_e2e::truth;
use headway_e2e::Problem;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// The mechanisms of monitors; what else a JDK offers is not looked at here.
const MECHANISMS: [&str; 4] = ["walker", "monitor-exit", "monitor-reenter", "monitor-notify"];

const BY_PROBE: (&str, &str) = ("monitor-exit", "through the VM's probe monitor__contended__exit");
const BY_SIGNAL: (&str, &str) = ("monitor-exit", "when the successor's condition variable is signalled");
const NO_EXITS: (&str, &str) = ("monitor-exit", "owners are known by thread only, not by call stack");
const NO_OWNERS: (&str, &str) = ("monitor-exit", "owners are not known");
const NO_WALKER: (&str, &str) = ("walker", "JVMTI GetStackTrace, which is slower, and owners have no call stack");
const NO_REENTER: (&str, &str) = ("monitor-reenter", "time blocked after Object.wait is not recorded");
const NO_NOTIFY: (&str, &str) = ("monitor-notify", "time blocked after Object.wait is not recorded");

/// How much is still known about owners, of the time in which there was one: on a busy machine much
/// of the blocked time is hand-off.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owners {
    /// Thread and call chain, for most of the time.
    Chain,
    /// The thread, for much of it: 0.60 to 0.65 where only enters say so, 0.41 at a load of 60. A
    /// fallback that does not work knows none.
    Thread,
    /// Nothing.
    Unknown,
}

/// What `headway status --json` says of mechanisms.
#[derive(Debug, Deserialize)]
struct Status {
    mechanisms: Vec<Mechanism>,
    degraded: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Mechanism {
    name: String,
    state: String,
    detail: String,
}

#[derive(Debug, Deserialize)]
struct Reason {
    mechanism: String,
    reason: String,
}

const PROGRAM: Workload<'_> = Workload { arguments: &["chains", "--hold-us", "2000"], jvm_options: &[], attach: true };

fn start(tools: &Tools, program: &Warm, recording: &str, options: &[&str]) -> Result<(), Problem> {
    let pid = program.pid();
    let start = ["start", "--exact", "-e", "monitor", "--force", "-o", recording];
    tools::run(&tools.headway, start.iter().chain(options).copied().chain([pid.as_str()])).map(drop)
}

fn status(tools: &Tools, program: &Warm) -> Result<Status, Problem> {
    let output = tools::run(&tools.headway, ["status", "--json", &program.pid()])?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Records with these options on each JDK; exactly these mechanisms must be
/// degraded, for reasons with these words, and owners known this well.
fn check(options: &[&str], degraded: &[(&str, &str)], owners: Owners) {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let (recorded, status) = Recorded::attached_by(&tools, &jdk, &PROGRAM, |program, recording| {
            start(&tools, program, recording, options)?;
            status(&tools, program)
        })
        .unwrap();
        let what = format!("JDK {} {options:?}", jdk.release);
        check_status(&status, degraded, &what);
        let report = recorded.report("lock,contender-method,owner-thread,owner-method", &[]).unwrap();
        let told = report.degraded.iter().map(|d| (d.mechanism.as_str(), d.reason.as_str()));
        check_reasons(told.filter(|(name, _)| MECHANISMS.contains(name)), degraded, &what);
        assert!(report.losses.is_empty(), "{what}: {:?}", report.losses);
        check_known(&recorded, &report, owners, &what);
    }
}

fn check_status(status: &Status, degraded: &[(&str, &str)], what: &str) {
    let told = status.degraded.iter().map(|d| (d.mechanism.as_str(), d.reason.as_str()));
    check_reasons(told.filter(|(name, _)| MECHANISMS.contains(name)), degraded, what);
    for name in MECHANISMS {
        let found = status.mechanisms.iter().find(|mechanism| mechanism.name == name);
        let found = found.unwrap_or_else(|| panic!("{what}: nothing is said about {name}: {status:?}"));
        let expected = if degraded.iter().any(|(degraded, _)| *degraded == name) { "degraded" } else { "active" };
        assert_eq!(found.state, expected, "{what}: {name}: {}", found.detail);
    }
}

fn check_reasons<'a>(told: impl Iterator<Item = (&'a str, &'a str)>, expected: &[(&str, &str)], what: &str) {
    let told: Vec<_> = told.collect();
    let names: BTreeSet<&str> = told.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect(), "{what}: {told:?}");
    for (name, words) in expected {
        let reason = told.iter().find(|(told, _)| told == name).unwrap().1;
        assert!(
            reason.contains(words) && reason.contains("switched off (--safe or --disable)"),
            "{what}: {name}: {reason}"
        );
        assert!(!reason.contains('\n'), "{what}: more than one line: {reason:?}");
    }
}

/// The program's lock and the places where its threads block are always known.
fn check_known(recorded: &Recorded, report: &Report, owners: Owners, what: &str) {
    let truth = recorded.truth().unwrap();
    let places: BTreeSet<&str> = truth.cells.iter().map(|cell| cell.contender_method.as_str()).collect();
    let methods: BTreeSet<&str> = truth.cells.iter().map(|cell| cell.owner_method.as_str()).collect();
    let threads: BTreeSet<&str> = truth.cells.iter().map(|cell| cell.owner_thread.as_str()).collect();
    let hash = |owner: &truth::Owner| owner.lock_hash.as_ref().map(|hash| format!("{}@{hash}", owner.lock_class));
    let locks: BTreeSet<String> = truth.owners.iter().filter_map(hash).collect();
    let (mut blocked, mut placed, mut by_thread, mut by_chain, mut strange) = (0, 0, 0, 0, 0);
    let mut elsewhere: BTreeMap<String, u64> = BTreeMap::new();
    for leaf in report.leaves() {
        let [lock, place, thread, method] = <[String; 4]>::try_from(leaf.path).unwrap();
        // A class loader's locks are of the same class.
        if !locks.iter().any(|identity| lock.contains(identity)) {
            continue;
        }
        blocked += leaf.total_ns;
        match places.contains(place.as_str()) {
            true => placed += leaf.total_ns,
            false => *elsewhere.entry(place).or_default() += leaf.total_ns,
        }
        by_thread += if threads.contains(thread.as_str()) { leaf.total_ns } else { 0 };
        by_chain += if methods.contains(method.as_str()) { leaf.total_ns } else { 0 };
        let is_strange = method != "unknown" && !methods.contains(method.as_str());
        strange += if is_strange { leaf.total_ns - leaf.approximate_ns } else { 0 };
    }
    let part = |ns: u64| ns as f64 / blocked as f64;
    println!(
        "{what}: placed {:.3}, owner's thread {:.3}, owner's method {:.3}, strange {:.3}; {:?}",
        part(placed),
        part(by_thread),
        part(by_chain),
        part(strange),
        report.blocked
    );
    assert!(blocked > 0 && report.contentions > 20, "{what}: nothing is blocked");
    assert!(part(placed) > 0.97, "{what}: blocked in {places:?} for {:.3}, else {elsewhere:?}", part(placed));
    assert!(part(strange) < 0.03, "{what}: {:.3} in no method that holds the lock", part(strange));
    let owned = |ns: u64| ns as f64 / blocked.saturating_sub(report.blocked.hand_off_ns).max(1) as f64;
    match owners {
        Owners::Chain => assert!(owned(by_chain) > 0.5, "{what}: owners' methods for {:.3}", owned(by_chain)),
        Owners::Thread => assert!(owned(by_thread) > 0.15, "{what}: owners' threads for {:.3}", owned(by_thread)),
        Owners::Unknown => assert_eq!(by_thread, 0, "{what}: who says so?"),
    }
    if owners != Owners::Chain {
        assert_eq!((by_chain, report.blocked.owner_stack_ns), (0, 0), "{what}: who says so?");
    }
    if owners == Owners::Unknown {
        assert_eq!(report.blocked.hand_off_ns, 0, "{what}: no release was seen");
    }
}

#[test]
fn the_probe_stands_in_for_the_detour_of_the_exit() {
    check(&["--disable", "exit-detour"], &[BY_PROBE], Owners::Chain);
}

#[test]
fn the_condition_variable_stands_in_for_the_probe() {
    check(&["--disable", "exit-detour,usdt"], &[BY_SIGNAL], Owners::Chain);
}

#[test]
fn owners_read_at_the_enter_stand_in_for_exits() {
    check(&["--disable", "exit-detour,usdt,condvar"], &[NO_EXITS], Owners::Thread);
}

#[test]
fn jvmti_stands_in_for_the_walker() {
    check(&["--disable", "walker"], &[NO_WALKER], Owners::Thread);
}

#[test]
fn jvmti_is_left_without_the_structures_of_the_vm() {
    check(&["--disable", "vmstructs"], &[NO_WALKER, NO_OWNERS, NO_REENTER, NO_NOTIFY], Owners::Unknown);
}

#[test]
fn safe_uses_jvmti_alone() {
    check(&["--safe"], &[NO_WALKER, NO_OWNERS, NO_REENTER, NO_NOTIFY], Owners::Unknown);
}

#[test]
fn waits_are_seen_without_their_re_acquisitions() {
    check(&["--disable", "reenter-detour"], &[NO_REENTER, NO_NOTIFY], Owners::Chain);
}

/// Locks, threads and times are what is left where chains are switched off: nothing is
/// degraded, since that was asked for.
#[test]
fn without_call_chains_threads_are_known() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let what = format!("JDK {}", jdk.release);
        let (recorded, status) = Recorded::attached_by(&tools, &jdk, &PROGRAM, |program, recording| {
            start(&tools, program, recording, &["--disable", "chains", "--strict"])?;
            status(&tools, program)
        })
        .unwrap();
        let chains = status.mechanisms.iter().find(|mechanism| mechanism.name == "chains");
        assert_eq!(chains.map(|m| m.state.as_str()), Some("disabled"), "{what}: {status:?}");
        let report = recorded.report("contender-method,owner-method,owner-thread", &[]).unwrap();
        assert!(report.losses.is_empty() && report.contentions > 20, "{what}: {report:?}");
        let owners: BTreeSet<String> =
            recorded.truth().unwrap().cells.into_iter().map(|cell| cell.owner_thread).collect();
        let (mut blocked, mut by_thread) = (0, 0);
        for leaf in report.leaves() {
            let [place, method, thread] = <[String; 3]>::try_from(leaf.path).unwrap();
            assert_eq!((place.as_str(), method.as_str()), ("unknown", "unknown"), "{what}: who says so?");
            blocked += leaf.total_ns;
            by_thread += if owners.contains(&thread) { leaf.total_ns } else { 0 };
        }
        let owned = blocked.saturating_sub(report.blocked.hand_off_ns);
        assert!(by_thread * 10 > owned * 3, "{what}: owners' threads for {by_thread} of {owned} ns");
    }
}

/// What one recording switched off is there again for the next, and the other
/// way round.
#[test]
fn each_recording_chooses_anew() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let what = format!("JDK {}", jdk.release);
        Recorded::attached_by(&tools, &jdk, &PROGRAM, |program, recording| {
            let safe = [NO_WALKER, NO_OWNERS, NO_REENTER, NO_NOTIFY];
            let choices: [(&[&str], &[_]); 4] = [(&["--safe"], &safe), (&[], &[]), (&["--safe"], &safe), (&[], &[])];
            for (options, degraded) in choices {
                start(&tools, program, recording, options)?;
                check_status(&status(&tools, program)?, degraded, &format!("{what} {options:?}"));
                tools::run(&tools.headway, ["stop", &program.pid()])?;
            }
            Ok(())
        })
        .unwrap();
    }
}

/// One sentence, exit code 1, no recording, and the program runs on.
#[test]
fn strict_refuses_to_begin_with_less() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        for (options, words) in [
            (vec!["--disable", "exit-detour"], BY_PROBE.1),
            (vec!["--disable", "exit-detour,usdt,condvar"], NO_EXITS.1),
            (vec!["--disable", "walker"], NO_WALKER.1),
            (vec!["--safe"], NO_OWNERS.1),
        ] {
            let what = format!("JDK {} {options:?}", jdk.release);
            let check = |program: &Warm, recording: &str| {
                let mut command = Command::new(&tools.headway);
                command.args(["start", "-e", "monitor", "--strict", "-o", recording]).args(&options);
                let output = command.arg(program.pid()).stdin(Stdio::null()).output()?;
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(1), "{what}: {said}");
                let sentence = "headway: not everything is available and --strict was asked for: ";
                assert!(said.starts_with(sentence) && said.contains(words), "{what}: {said}");
                assert_eq!(said.lines().count(), 1, "{what}: {said}");
                assert!(!Path::new(recording).exists(), "{what}: a recording was left");
                Ok(())
            };
            Recorded::attached_by(&tools, &jdk, &SHORT, check).unwrap();
        }
    }
}

/// For tests that do not look at what is recorded.
const SHORT: Workload<'_> = Workload { arguments: &["chains", "--hold-us", "1000"], jvm_options: &[], attach: true };

/// Seconds that a program runs, and after which its code must have been compiled again. Where
/// other programs have the CPUs the compiler takes several times as long: then the next ones.
const RECOMPILED: [(&str, &str); 3] = [("9", "6s"), ("30", "24s"), ("90", "80s")];

/// Code that says too little about who held a lock is compiled again on demand;
/// methods that thereby became versions of themselves do not confuse the walker.
#[test]
fn code_from_before_is_compiled_again_where_that_is_asked_for() {
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let mut failures = Vec::new();
        for (seconds, from) in RECOMPILED {
            match approximate_after(&tools, &jdk, seconds, from) {
                (approximate, blocked) if approximate * 20 < blocked => break,
                (approximate, blocked) => failures.push(format!("from {from} on {approximate} of {blocked} ns")),
            }
        }
        assert!(failures.len() < RECOMPILED.len(), "JDK {}: approximate {}", jdk.release, failures.join("; "));
    }
}

/// How much of the blocked time has an approximate owner after so long, and how much there is.
fn approximate_after(tools: &Tools, jdk: &Jdk, seconds: &str, from: &str) -> (u64, u64) {
    let arguments = &["inlined", "--hold-us", "2500", "--seconds", seconds];
    let program = Workload { arguments, jvm_options: &[], attach: true };
    let what = format!("JDK {}", jdk.release);
    let recorded = Recorded::attached_by(tools, jdk, &program, |program, recording| {
        start(tools, program, recording, &["--recompile"])?;
        let status = status(tools, program)?;
        let recompile = status.mechanisms.iter().find(|mechanism| mechanism.name == "recompile");
        assert_eq!(recompile.map(|m| m.state.as_str()), Some("active"), "{what}: {status:?}");
        Ok(())
    });
    let (recorded, ()) = recorded.unwrap();
    let late = recorded.report("owner-method", &["--from", from]).unwrap();
    let walker: Vec<_> = late.degraded.iter().filter(|degraded| degraded.mechanism == "walker").collect();
    assert!(walker.is_empty(), "{what}: {walker:?}");
    assert!(late.blocked_ns > 0, "{what}: nothing was blocked late in the recording");
    (late.leaves().iter().map(|leaf| leaf.approximate_ns).sum(), late.blocked_ns)
}
