//! The ledger of random lives: it adds up whatever is fed, and is the truth where nothing is
//! missing.
//!
//! Seeds of failures are kept in `ledger_properties.seeds` and run first the next time.
//! `PROPTEST_CASES=20000` runs more than 256 of each.

use crate::arrival::{shuffled, Dice};
use crate::lives::{worlds, Role, Truth, World, HELPER, START};
use headway_analysis::ledger::{EntryKind, Ledger};
use headway_analysis::{Analysis, Bound, Bounds, Options, Report, ThreadFilter};
use headway_model::{DurationNs, Event, Loss, ThreadId, TimeNs};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::Value;

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/analysis/ledger_properties.seeds");

fn config() -> ProptestConfig {
    let failure_persistence = Some(Box::new(FileFailurePersistence::Direct(SEEDS)) as Box<_>);
    ProptestConfig { failure_persistence, ..ProptestConfig::default() }
}

/// What is left out of the report, and in which order events come.
#[derive(Clone, Debug)]
struct Way {
    /// Percent of the recording at which the range begins and ends.
    range: (u8, u8),
    /// Threads whose number has this remainder by three are left out.
    left_out: Option<u64>,
    arrival: Option<u64>,
}

fn ways() -> impl Strategy<Value = Way> {
    let range = prop_oneof![2 => Just((0, 100)), 1 => (0..60u8, 60..101u8)];
    let (left_out, arrival) = (proptest::option::of(0..3u64), proptest::option::of(any::<u64>()));
    (range, left_out, arrival).prop_map(|(range, left_out, arrival)| Way { range, left_out, arrival })
}

impl Way {
    fn options(&self, world: &World) -> Options {
        let length = world.end().0 - START;
        let at = |percent: u8| Some(Bound::SinceStart(DurationNs(length * u64::from(percent) / 100)));
        let left_out = self.left_out;
        let threads = left_out.map(|rest| ThreadFilter::new("some", move |name| number(name) % 3 != rest));
        Options { from: at(self.range.0), to: at(self.range.1), threads, ..Options::default() }
    }

    fn counts(&self, thread: ThreadId) -> bool {
        let number = if thread == HELPER { 0 } else { (thread.0 & 0xff) - 1 };
        self.left_out.is_none_or(|rest| number % 3 != rest)
    }

    fn truth(&self, world: &World) -> Truth {
        let length = world.end().0 - START;
        let at = |percent: u8| START + length * u64::from(percent) / 100;
        world.truth(at(self.range.0), at(self.range.1), |thread| self.counts(thread))
    }

    fn arranged(&self, events: Vec<Event>) -> Vec<Event> {
        match self.arrival {
            Some(seed) => shuffled(&events, &mut Dice::new(seed)),
            None => events,
        }
    }
}

fn number(name: &str) -> u64 {
    name.strip_prefix("worker-").and_then(|rest| rest.parse().ok()).unwrap_or(0)
}

fn analyse(world: &World, events: &[Event], options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    world.definitions().iter().chain(events).for_each(|event| analysis.feed(event));
    analysis.feed(&Event::Watermark(world.end()));
    analysis.finish()
}

fn sum(ledger: &Ledger, kinds: &[EntryKind]) -> u64 {
    kinds.iter().map(|kind| ledger.ns(*kind)).sum()
}

/// What holds whatever is fed: everything adds up, in the report and in its JSON.
fn adds_up(report: &Report) -> Result<(), TestCaseError> {
    let ledger = &report.ledger;
    prop_assert_eq!(ledger.unbalanced_ns, 0);
    let parts: u64 = ledger.parts().map(|(_, ns)| ns).sum();
    prop_assert_eq!(parts, ledger.active_ns());
    prop_assert_eq!(ledger.active_ns() + ledger.ns(EntryKind::WaitWork), ledger.total_ns);
    prop_assert_eq!(report.blocked.slices_wrong, 0);
    prop_assert_eq!(report.rows.iter().map(|row| row.total_ns).sum::<u64>(), report.blocked_ns);
    let json = serde_json::to_value(report).map_err(|problem| TestCaseError::fail(problem.to_string()))?;
    let entries = json["ledger"]["entries"].as_array().cloned().unwrap_or_default();
    let total: u64 = entries.iter().filter_map(|entry| entry["total_ns"].as_u64()).sum();
    prop_assert_eq!(Some(total), json["ledger"]["total_ns"].as_u64());
    let shares: f64 = entries.iter().filter_map(|entry| entry["share"].as_f64()).sum();
    prop_assert!(total == 0 || (shares - 1.0).abs() < 1e-6, "{}", shares);
    json["findings"].as_array().into_iter().flatten().try_for_each(evidence_adds_up)
}

/// The parts of a lock's blocked time are all of it.
fn evidence_adds_up(finding: &Value) -> Result<(), TestCaseError> {
    let evidence = finding["evidence"].as_array().cloned().unwrap_or_default();
    let ns = |of: &dyn Fn(&str) -> bool| -> u64 {
        let ours = evidence.iter().filter(|one| one["what"].as_str().is_some_and(of));
        ours.filter_map(|one| one["ns"].as_u64()).sum()
    };
    let (whole, parts) = (ns(&|what| what == "blocked"), ns(&|what| what.starts_with("lock-")));
    let is_lock = finding["kind"] == "hot-lock" || finding["kind"] == "shared-lock" || finding["kind"] == "hand-off";
    prop_assert!(!is_lock || whole == parts, "{}", finding);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn where_nothing_is_missing_the_ledger_is_the_truth(world in worlds(), way in ways()) {
        let events = way.arranged(world.events());
        let report = analyse(&world, &events, way.options(&world));
        adds_up(&report)?;
        let (ledger, truth) = (&report.ledger, way.truth(&world));
        prop_assert_eq!(report.losses.get("seq_gap"), None);
        // How much of a sum lies in the range is not known.
        if !world.has_sums() || way.range == (0, 100) {
            let locks: Vec<EntryKind> = EntryKind::ALL.into_iter().filter(|kind| kind.is_lock()).collect();
            prop_assert_eq!(sum(ledger, &locks), truth.blocked);
            prop_assert_eq!(report.blocked_ns, truth.blocked + truth.others_blocked);
            prop_assert_eq!(ledger.excess_ns, 0);
            let carriers = world.roles().any(|(thread, role)| role == Role::Carrier && way.counts(thread));
            let known = truth.platform_life + truth.virtual_own;
            prop_assert!(ledger.total_ns == known || (carriers && ledger.total_ns > known), "{} of {}", ledger.total_ns, known);
        }
        let waits = [EntryKind::WaitPermit, EntryKind::WaitResult, EntryKind::WaitWork, EntryKind::WaitTime];
        prop_assert_eq!(sum(ledger, &waits), truth.waited + truth.slept);
        prop_assert_eq!(ledger.ns(EntryKind::Io), truth.io);
        let of_sites: u64 = report.waits.iter().map(|site| site.total_ns).sum();
        prop_assert_eq!(of_sites, truth.waited);
    }

    #[test]
    fn whatever_is_dropped_or_folded_the_ledger_adds_up(
        world in worlds(),
        way in ways(),
        dropped in 1..40u64,
        seed in any::<u64>(),
        is_stingy in any::<bool>(),
    ) {
        let mut dice = Dice::new(seed);
        let mut events = world.events();
        events.retain(|_| !dice.chance(dropped));
        let mut events = way.arranged(events);
        let at = dice.below(events.len() as u64 + 1) as usize;
        events.insert(at, Event::Lost(Loss::BufferFull, dropped));
        let bounds = match is_stingy {
            true => Bounds { locks: 2, threads: 3, pending_events: 8, marks: 4, slices_per_contention: 3, leaves: 6, sites: 2, pauses: 2, pressure_cells: 2, pressure_windows: 2 },
            false => Bounds::online(),
        };
        let report = analyse(&world, &events, Options { bounds, ..way.options(&world) });
        adds_up(&report)?;
    }
}

#[test]
fn nothing_is_a_ledger_too() {
    let mut analysis = Analysis::new(Options::default());
    analysis.feed(&Event::Watermark(TimeNs(START)));
    let report = analysis.finish();
    assert_eq!((report.ledger.total_ns, report.ledger.unbalanced_ns, report.ledger.entries.len()), (0, 0, 0));
}
