//! Parks: locks of `java.util.concurrent` against the truth of a simulation.

use crate::arrival::{shuffled, Dice};
use crate::queued::{definitions, play, Hold, Play, Played, CHAINS, RELEASE};
use headway_analysis::monitor::{Basis, Contention, ContentionSink, Kind};
use headway_analysis::park::{ParkCounts, ParkStream};
use headway_analysis::pressure::PressureOptions;
use headway_analysis::report::Value;
use headway_analysis::{Analysis, Aspect, Bounds, Options};
use headway_model::{Event, ThreadId, TimeNs};
use std::collections::HashMap;

fn plays(read_percent: u64, await_percent: u64) -> impl Iterator<Item = Play> {
    (0..20).map(move |seed| {
        let mut dice = Dice::new(seed);
        Play {
            threads: 2 + dice.below(14) as usize,
            locks: 1 + dice.below(3) as usize,
            parks: 400,
            hold_ns: 50_000 + dice.below(2_000_000),
            think_ns: 10_000 + dice.below(1_000_000),
            wake_ns: 5_000 + dice.below(60_000),
            read_percent,
            await_percent,
            no_begin: seed % 3 == 0,
            seed,
        }
    })
}

/// Compares every slice with the truth.
#[derive(Default)]
struct Judge<'a> {
    holds: &'a [Vec<Hold>],
    blocked_ns: u64,
    waited_ns: u64,
    /// Blocked while some thread really held the lock alone.
    owned_ns: u64,
    right_ns: u64,
    wrong_ns: u64,
    wrong_chains: u64,
    /// Charged to readers, and the part of it in which no reader held the lock.
    readers_ns: u64,
    not_readers_ns: u64,
    text: Vec<String>,
}

impl ContentionSink for Judge<'_> {
    fn contention(&mut self, contention: &Contention<'_>) {
        let slices: Vec<_> =
            contention.slices.iter().map(|s| (s.start, s.duration, s.basis, contention.owners.get(s.owner))).collect();
        self.text.push(format!(
            "{:?} {:?} {:?} {:?} {slices:?}",
            contention.kind, contention.thread, contention.start, contention.duration
        ));
        if contention.kind == Kind::Conditional {
            self.waited_ns += contention.duration.0;
            return;
        }
        self.blocked_ns += contention.duration.0;
        let holds = &self.holds[contention.lock.0 as usize - 1];
        for slice in contention.slices {
            let (start, end) = (slice.start.0, slice.start.0 + slice.duration.0);
            let claimed = contention.owners.get(slice.owner);
            let within = |hold: &&Hold| hold.from < end && hold.to > start;
            if slice.basis == Basis::LastReader {
                self.readers_ns += end - start;
                self.not_readers_ns += end - start - covered(holds.iter().filter(|hold| hold.shared), start, end);
                let leaves = holds.iter().any(|hold| hold.shared && hold.thread == claimed.thread && hold.to == end);
                assert!(leaves, "the reader that is named leaves at the end");
                continue;
            }
            let ended = holds.partition_point(|hold| hold.to <= start);
            for hold in holds[ended..].iter().filter(within).filter(|hold| !hold.shared) {
                let ns = hold.to.min(end) - hold.from.max(start);
                self.owned_ns += ns;
                if claimed.thread == hold.thread {
                    self.right_ns += ns;
                } else if claimed.thread.is_some() {
                    self.wrong_ns += ns;
                }
                if slice.basis == Basis::Exit && hold.to == end && claimed.chain != hold.chain {
                    self.wrong_chains += 1;
                }
            }
        }
    }
}

/// How much of the span is covered by the holds.
fn covered<'a>(holds: impl Iterator<Item = &'a Hold>, start: u64, end: u64) -> u64 {
    let mut spans: Vec<(u64, u64)> = holds.map(|hold| (hold.from.max(start), hold.to.min(end))).collect();
    spans.retain(|(from, to)| from < to);
    spans.sort_unstable();
    let (mut total, mut until) = (0, start);
    for (from, to) in spans {
        let from = from.max(until);
        total += to.saturating_sub(from);
        until = until.max(to);
    }
    total
}

fn judge<'a>(play: &Play, played: &'a Played, events: &[Event]) -> (Judge<'a>, ParkCounts) {
    let mut judge = Judge { holds: &played.holds, ..Judge::default() };
    let mut stream = ParkStream::new(Bounds::offline());
    let mut active: HashMap<ThreadId, TimeNs> = HashMap::new();
    for event in definitions(play).iter().chain(events) {
        if let (Some(thread), Some(time)) = (crate::writer::of(event), event.time()) {
            let last = active.entry(thread).or_default();
            *last = time.max(*last);
        }
        stream.feed(event, &mut judge);
    }
    stream.finish(played.end, |thread| active.get(&thread).copied().unwrap_or_default(), &mut judge);
    let counts = stream.counts();
    judge.text.sort();
    (judge, counts)
}

#[test]
fn the_owner_of_a_reentrant_lock_is_whoever_unparks() {
    let (mut owned, mut right) = (0, 0);
    for setup in plays(0, 0) {
        let played = play(setup);
        let (judge, counts) = judge(&setup, &played, &played.events);
        assert_eq!(counts.slices_wrong, 0);
        assert!(counts.slices_checked > 100);
        // Whoever is parked at the end has not recorded its begin.
        assert!(counts.lost_numbers <= if setup.no_begin { setup.threads as u64 } else { 0 });
        assert_eq!(judge.wrong_ns, 0, "play {setup:?}");
        assert_eq!(judge.wrong_chains, 0);
        assert!(judge.blocked_ns >= played.parked_ns, "all parks are blocked time");
        owned += judge.owned_ns;
        right += judge.right_ns;
    }
    let share = right as f64 / owned as f64;
    assert!(share > 0.97, "owner known for {share:.4}");
}

#[test]
fn waiting_on_a_condition_is_no_contention_but_its_end_is_an_exit() {
    let (mut owned, mut right, mut wrong) = (0, 0, 0);
    for setup in plays(0, 25) {
        let played = play(setup);
        let (judge, counts) = judge(&setup, &played, &played.events);
        assert_eq!(counts.slices_wrong, 0);
        assert!(judge.waited_ns >= played.awaited_ns);
        assert_eq!(judge.wrong_chains, 0);
        owned += judge.owned_ns;
        right += judge.right_ns;
        wrong += judge.wrong_ns;
    }
    let share = |ns: u64| ns as f64 / owned as f64;
    assert!(share(wrong) < 0.001, "wrong {:.5}", share(wrong));
    assert!(share(right) > 0.95, "right {:.4}", share(right));
}

#[test]
fn writers_are_proven_and_readers_are_bounded() {
    let (mut owned, mut right, mut readers, mut nobody) = (0, 0, 0, 0);
    for setup in plays(60, 0) {
        let played = play(setup);
        let (judge, counts) = judge(&setup, &played, &played.events);
        assert_eq!(counts.slices_wrong, 0);
        assert_eq!(judge.wrong_ns, 0, "play {setup:?}");
        owned += judge.owned_ns;
        right += judge.right_ns;
        readers += judge.readers_ns;
        nobody += judge.not_readers_ns;
    }
    let share = right as f64 / owned as f64;
    assert!(share > 0.95, "writer known for {share:.4}");
    assert!(readers > 0);
    assert!((nobody as f64) < 0.05 * readers as f64, "no reader in {nobody} of {readers}");
}

#[test]
fn the_order_of_arrival_changes_nothing() {
    for setup in plays(40, 10).filter(|setup| !setup.no_begin).take(12) {
        let played = play(setup);
        let (expected, _) = judge(&setup, &played, &played.events);
        for seed in 0..5 {
            let arrival = shuffled(&played.events, &mut Dice::new(seed));
            let (arrived, counts) = judge(&setup, &played, &arrival);
            assert_eq!(counts.lost_numbers, 0, "play {}, arrival {seed}", setup.seed);
            let differing = arrived.text.iter().zip(&expected.text).find(|(one, other)| one != other);
            assert_eq!(differing, None, "play {}, arrival {seed}", setup.seed);
            assert_eq!(arrived.text.len(), expected.text.len());
        }
    }
}

#[test]
fn lost_events_cost_owners_but_no_sums() {
    let (mut owned, mut wrong, mut blocked, mut whole) = (0, 0, 0, 0);
    for setup in plays(0, 10).take(15) {
        let played = play(setup);
        let mut dice = Dice::new(setup.seed);
        let kept: Vec<Event> = played.events.iter().filter(|_| !dice.chance(3)).cloned().collect();
        let (all, _) = judge(&setup, &played, &played.events);
        let (judge, counts) = judge(&setup, &played, &kept);
        assert_eq!(counts.slices_wrong, 0);
        assert!(counts.lost_numbers > 0);
        owned += judge.owned_ns;
        wrong += judge.wrong_ns;
        blocked += judge.blocked_ns;
        whole += all.blocked_ns;
    }
    assert!(wrong as f64 <= 0.01 * owned as f64, "wrong {:.4}", wrong as f64 / owned as f64);
    assert!(blocked as f64 > 0.9 * whole as f64, "blocked {blocked} of {whole}");
}

#[test]
fn memory_bounds_cost_detail_but_no_time() {
    for setup in plays(30, 10).take(10) {
        let played = play(setup);
        let stingy =
            Bounds { pending_events: 8, marks: 4, slices_per_contention: 3, leaves: 6, sites: 2, ..Bounds::offline() };
        let generous = analyse(&setup, &played, Options::default());
        let folded = analyse(&setup, &played, Options { bounds: stingy, ..Options::default() });
        assert_eq!(folded.blocked.slices_wrong, 0);
        assert_eq!(folded.blocked_ns, generous.blocked_ns);
        assert_eq!(folded.contentions, generous.contentions);
    }
}

fn analyse(setup: &Play, played: &Played, options: Options) -> headway_analysis::Report {
    let mut analysis = Analysis::new(options);
    for event in definitions(setup).iter().chain(&played.events) {
        analysis.feed(event);
    }
    analysis.finish()
}

/// Where hundreds of threads queue, each is blocked by all others: slices are drawn beyond the bounds, and where more
/// than 1,024 queue.
#[test]
fn a_long_queue_costs_detail_but_no_time_and_no_owners_share() {
    let setup = |threads, parks| Play {
        threads,
        locks: 1,
        parks,
        hold_ns: 50_000,
        think_ns: 100_000,
        wake_ns: 5_000,
        read_percent: 0,
        await_percent: 0,
        no_begin: false,
        seed: 11,
    };
    let settled = Bounds { marks: 1_000, slices_per_contention: 8, ..Bounds::offline() };
    let unsettled = Bounds { slices_per_contention: 8, ..Bounds::offline() };
    for (setup, bounds) in [
        (setup(400, 8_000), settled),
        (setup(400, 8_000), unsettled),
        (setup(1_600, 6_000), settled),
        (setup(1_600, 6_000), Bounds::offline()),
    ] {
        draws_well(&setup, bounds);
    }
}

fn draws_well(setup: &Play, bounds: Bounds) {
    let played = play(*setup);
    let report = |bounds| {
        let options = Options { by: vec![Aspect::OwnerChain], bounds, ..Options::default() };
        analyse(setup, &played, Options { pressure: Some(PressureOptions::default()), ..options })
    };
    let (whole, drawn) = (report(Bounds::offline()), report(bounds));
    assert_eq!((drawn.blocked.slices_wrong, drawn.blocked_ns), (0, whole.blocked_ns));
    assert_eq!(drawn.contentions, whole.contentions);
    assert!(drawn.losses.contains_key("analysis_full"), "it says that details are folded");

    // Nearly all threads wait all the time, so an owner's share is that of its time with the lock.
    let holds = &played.holds[0];
    let held_ns =
        |chain: u64| holds.iter().filter(|hold| hold.chain.0 == chain).map(|hold| hold.to - hold.from).sum::<u64>();
    let all_ns: u64 = holds.iter().map(|hold| hold.to - hold.from).sum();
    let of_owners: Vec<(String, f64)> = drawn
        .rows
        .iter()
        .filter_map(|row| match &row.value {
            Value::Chain(frames) => Some((frames.first()?.rsplit(':').next()?.to_owned(), row.share)),
            _ => None,
        })
        .collect();
    let known: f64 = of_owners.iter().map(|(_, share)| share).sum();
    assert_eq!(of_owners.len() as u64, CHAINS);
    for (line, share) in &of_owners {
        let chain = RELEASE + line.parse::<u64>().expect("the line of a release") - 1;
        let (share, expected) = (share / known, held_ns(chain) as f64 / all_ns as f64);
        assert!((share - expected).abs() < 0.01, "{line}: {share} for {expected}");
    }
    let mean_ns = drawn.pressure.and_then(|pressure| pressure.locks.first()?.other_tools.critical_section_ns);
    let (mean_ns, expected) = (mean_ns.unwrap_or(0.0), all_ns as f64 / holds.len() as f64);
    assert!((mean_ns / expected - 1.0).abs() < 0.03, "{mean_ns} ns at a time for {expected}");
}
