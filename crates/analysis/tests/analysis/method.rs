//! Calling context trees, their comparison, and what lock owners executed.
//!
//! Samples are written as text, one per line: thread, stack from the root to
//! the leaf, weight in ms. A stack that begins with `?` lacks its root, `-` is
//! none at all; `~` in front marks a waiting thread, `=` one that a wall-clock
//! sampler saw running. Trees are shown as text: total and own weight in ms.

use crate::picture::{at, draw, lock_id, thread_id, MS, ZERO};
use crate::story::{chain, lock, method, recording, thread};
use headway_analysis::method::{CallTree, Comparison, Grouping, Measure, Profile, ProfileOptions, Profiler, Unit};
use headway_analysis::method::{NO_OWNER, UNKNOWN_FRAMES};
use headway_analysis::report::OwnerActivity;
use headway_analysis::{Analysis, Bound, Bounds, Options, Report, ThreadFilter};
use headway_model::event::*;
use headway_model::stack::{ChainDef, Frame};
use headway_model::{CallChain, ChainId, DurationNs, Event, FrameKind, MethodId, ThreadId};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The events of a recording of samples, a millisecond apart.
fn samples(text: &str) -> Vec<Event> {
    let mut events = vec![recording(at(0))];
    let mut methods: BTreeMap<String, u64> = BTreeMap::new();
    for (index, line) in text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let [thread_name, stack, weight] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("three words: {line}")
        };
        let id = ThreadId(100 + u64::from(*thread_name.as_bytes().last().unwrap()));
        events.push(thread(id.0, thread_name));
        let (state, stack) = match stack.split_at(1) {
            ("~", rest) => (SampleState::Waiting, rest),
            ("=", rest) => (SampleState::Runnable, rest),
            _ => (SampleState::Java, stack),
        };
        let chain = ChainId(if stack == "-" { 0 } else { 1000 + index as u64 });
        let truncated = stack.starts_with("?;");
        let mut frames = Vec::new();
        for name in stack.trim_start_matches("?;").split(';').rev() {
            let (name, line) = name.split_once(':').unwrap_or((name, "0"));
            let next = methods.len() as u64 + 1;
            let id = *methods.entry(name.to_owned()).or_insert(next);
            events.push(method(id, "A", name));
            let (method, line) = (MethodId(id), line.parse().unwrap());
            frames.push(Frame { method, bci: 0, line, kind: FrameKind::Compiled, approximate: false });
        }
        if chain.is_some() {
            events.push(Event::Chain(Arc::new(ChainDef { id: chain, chain: CallChain { frames, truncated } })));
        }
        let weight = DurationNs(weight.parse::<u64>().unwrap() * MS);
        events.push(Event::Sample(Sample { time: at(index), thread: id, chain, state, weight, cpu: None }));
    }
    events.push(Event::Watermark(at(1000)));
    events
}

fn profile(text: &str, options: ProfileOptions) -> Profile {
    let mut profiler = Profiler::new(options);
    samples(text).iter().for_each(|event| profiler.feed(event));
    profiler.finish()
}

fn of(measure: Measure) -> ProfileOptions {
    ProfileOptions { measure, ..ProfileOptions::default() }
}

fn cpu(text: &str) -> CallTree {
    profile(text, of(Measure::Cpu)).tree
}

/// A tree as text, children by name.
fn show(tree: &CallTree) -> String {
    fn below(tree: &CallTree, context: u32, depth: usize, out: &mut String) {
        let mut children = tree.children(context).to_vec();
        children.sort_by_key(|child| tree.text(*child));
        for child in children {
            let context = tree.context(child).unwrap();
            let (total, own) = (context.total.ns / MS, context.own.ns / MS);
            writeln!(out, "{:depth$}{} {total} {own}", "", tree.text(child)).unwrap();
            below(tree, child, depth + 1, out);
        }
    }
    let mut out = String::new();
    below(tree, CallTree::ROOT, 0, &mut out);
    out
}

#[track_caller]
fn check(tree: &CallTree, expected: &[&str]) {
    assert_eq!(show(tree).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn samples_make_a_tree_of_calling_contexts() {
    let tree = cpu("T1 a;b;c 2
                    T2 a;b;u 1
                    T1 a;u 2
                    T1 a;u;v 1");
    check(&tree, &["A.a 6 0", " A.b 3 0", "  A.c 2 2", "  A.u 1 1", " A.u 3 2", "  A.v 1 1"]);
    assert_eq!((tree.total().ns, tree.total().count), (6 * MS, 4));
}

#[test]
fn missing_roots_hang_below_a_node_of_their_own_and_missing_stacks_belong_to_it() {
    let profile = profile(
        "T1 a;b 4
         T1 ?;b 2
         T1 - 1",
        of(Measure::Cpu),
    );
    check(&profile.tree, &["(unknown frames) 3 1", " A.b 2 2", "A.a 4 0", " A.b 4 4"]);
    assert_eq!((profile.counts.truncated, profile.counts.without_stack), (1, 1));
}

#[test]
fn flat_totals_count_recursion_once() {
    let tree = cpu("T1 a;f;f;f 5
                    T1 a;f;g;f 3
                    T1 a 2");
    let flat: Vec<(String, u64, u64)> = tree
        .flat()
        .into_iter()
        .map(|sum| (tree.method(sum.method).name.to_owned(), sum.own.ns / MS, sum.total.ns / MS))
        .collect();
    assert_eq!(flat, [("A.f".to_owned(), 8, 8), ("A.a".to_owned(), 2, 10), ("A.g".to_owned(), 0, 3)]);
}

#[test]
fn wall_clock_time_is_running_and_waiting_and_counts_running_once() {
    let recorded = "T1 a;run 5
                    T1 ~a;wait 20";
    let wall = |text| profile(text, of(Measure::Wall)).tree;
    check(&cpu(recorded), &["A.a 5 0", " A.run 5 5"]);
    check(&wall(recorded), &["A.a 25 0", " A.run 5 5", " A.wait 20 20"]);
    // A wall-clock sampler that saw the running thread, too.
    let both = format!("{recorded}\nT1 =a;run 7");
    check(&cpu(&both), &["A.a 5 0", " A.run 5 5"]);
    check(&wall(&both), &["A.a 27 0", " A.run 7 7", " A.wait 20 20"]);
}

#[test]
fn threads_groups_lines_and_ranges_are_told_apart_on_request() {
    let recorded = "worker-1 a;b:7 1
                    worker-2 a;b:9 2
                    main a;b:9 4";
    let tree = |options| profile(recorded, options).tree;
    let grouping = |grouping| tree(ProfileOptions { grouping, ..ProfileOptions::default() });
    check(
        &grouping(Grouping::Thread),
        &[
            "main 4 0",
            " A.a 4 0",
            "  A.b 4 4",
            "worker-1 1 0",
            " A.a 1 0",
            "  A.b 1 1",
            "worker-2 2 0",
            " A.a 2 0",
            "  A.b 2 2",
        ],
    );
    check(&grouping(Grouping::Group), &["main 4 0", " A.a 4 0", "  A.b 4 4", "worker-* 3 0", " A.a 3 0", "  A.b 3 3"]);
    check(&tree(ProfileOptions { lines: true, ..ProfileOptions::default() }), &["A.a 7 0", " A.b:7 1 1", " A.b:9 6 6"]);
    let from = Some(Bound::SinceStart(DurationNs(MS)));
    let to = Some(Bound::SinceStart(DurationNs(2 * MS)));
    check(&tree(ProfileOptions { from, to, ..ProfileOptions::default() }), &["A.a 2 0", " A.b 2 2"]);
    let threads = Some(ThreadFilter::new("some", |name| name == "main"));
    check(&tree(ProfileOptions { threads, ..ProfileOptions::default() }), &["A.a 4 0", " A.b 4 4"]);
}

#[test]
fn callers_stand_below_the_method_that_they_call() {
    let tree = cpu("T1 a;b;f;g 3
                    T1 a;c;f 2
                    T1 a;c;f;f 1
                    T1 a;c 9");
    check(&tree.callers_of(|name| name == "A.f"), &["A.f 6 0", " A.b 3 0", "  A.a 3 3", " A.c 3 0", "  A.a 3 3"]);
    assert!(tree.callers_of(|_| false).is_empty());
}

#[test]
fn the_hottest_contexts_come_first() {
    let tree = cpu("T1 a;b 3
                    T1 a;c 7
                    T1 d 1");
    let hot: Vec<String> = tree.hottest(2).into_iter().map(|at| tree.text(at)).collect();
    assert_eq!(hot, ["A.c", "A.b"]);
    check(&tree.below(tree.children(CallTree::ROOT)[0]), &["A.b 3 3", "A.c 7 7"]);
}

#[test]
fn what_the_bound_leaves_no_room_for_is_weighed_above_and_counted() {
    let mut text = String::new();
    (0..200).for_each(|i| writeln!(text, "T1 a;b{i};c;d 1").unwrap());
    let bounds = Bounds { leaves: 20, ..Bounds::offline() };
    let profile = profile(&text, ProfileOptions { bounds, ..ProfileOptions::default() });
    assert_eq!(profile.tree.total().ns, 200 * MS, "nothing is lost");
    assert!(profile.folded >= 180 && profile.tree.len() <= 40, "{} {}", profile.folded, profile.tree.len());
    assert!(show(&profile.tree).contains("(folded: memory bound)"));
}

#[test]
fn recordings_without_weights_are_told_in_samples() {
    let tree = cpu("T1 a;b 0
                    T1 a;b 0
                    T1 a;c 0");
    assert_eq!(tree.unit(), Unit::Samples);
    assert_eq!(tree.text(tree.hottest(1)[0]), "A.b");
}

#[test]
fn moments_keep_time_thread_and_context() {
    let options = ProfileOptions { moments: 2, measure: Measure::Wall, ..ProfileOptions::default() };
    let profile = profile(
        "T1 a;b 1
         T2 ~a 2
         T1 a 3",
        options,
    );
    let told: Vec<(&str, String, u64, bool)> = profile
        .moments
        .iter()
        .map(|moment| {
            let thread = profile.threads[moment.thread as usize].name.as_str();
            (thread, profile.tree.text(moment.context), moment.time.0 - ZERO, moment.waiting)
        })
        .collect();
    assert_eq!(told, [("T1", "A.b".to_owned(), 0, false), ("T2", "A.a".to_owned(), MS, true)]);
    assert_eq!(profile.folded, 1, "the third is counted");
}

fn agreement(before: &str, after: &str, threshold: f64) -> (f64, f64, f64) {
    let (before, after) = (cpu(before), cpu(after));
    let agreement = Comparison::new(&before, &after).agreement(threshold);
    let rounded = |figure: f64| (figure * 1000.0).round() / 1000.0;
    (rounded(agreement.overlap), rounded(agreement.hot_edge_coverage), rounded(agreement.hot_edge_coverage_back))
}

#[test]
fn agreement_by_hand() {
    let one = "T1 a;b 60
               T1 a;c 40";
    assert_eq!(agreement(one, one, 0.1), (1.0, 1.0, 1.0));
    // Twice as long, same shape.
    let longer = "T1 a;b 120
                  T2 a;c 80";
    assert_eq!(agreement(one, longer, 0.1), (1.0, 1.0, 1.0));
    // min(.6, .3) + min(.4, .5); `a;d` is in one only.
    let other = "T1 a;b 30
                 T1 a;c 50
                 T1 a;d 20";
    assert_eq!(agreement(one, other, 0.1), (0.7, 0.667, 1.0));
    // At half of the hottest: b and c before, b and c after; d is not hot.
    assert_eq!(agreement(one, other, 0.5), (0.7, 1.0, 1.0));
    // At nine tenths: only b before, only c after.
    assert_eq!(agreement(one, other, 0.9), (0.7, 0.0, 0.0));
    // The same method by another way is another context.
    assert_eq!(agreement("T1 a;b 1", "T1 c;b 1", 0.1), (0.0, 0.0, 0.0));
    assert_eq!(agreement("T1 a;b 1", "", 0.1), (0.0, 0.0, 0.0));
}

/// As many contentions as seem enough were seen at too few instants.
#[test]
fn what_was_seen_at_few_instants_may_be_chance() {
    let many = |b: usize, c: usize| "T1 a;b 1\n".repeat(b) + &"T1 a;c 1\n".repeat(c);
    let (before, after) = (cpu(&many(500, 500)), cpu(&many(600, 400)));
    let significant = |instants: Option<u64>| {
        let changes = Comparison::new(&before, &after).sampled_at(None, instants).methods();
        changes.iter().filter(|change| change.significant).count()
    };
    // A share of a half from 50 looks has a standard error of 7 points; 10 are chance.
    assert_eq!([significant(None), significant(Some(5_000)), significant(Some(50))], [2, 2, 0]);
}

#[test]
fn changes_that_chance_explains_are_told_from_real_ones() {
    let many = |b: usize, c: usize| "T1 a;b 1\n".repeat(b) + &"T1 a;c 1\n".repeat(c) + "T1 a;d 1\n";
    let (before, after) = (cpu(&many(500, 500)), cpu(&many(510, 490)));
    let changes = Comparison::new(&before, &after).methods();
    assert!(changes.iter().all(|change| !change.significant), "{changes:?}");
    let after = cpu(&(many(700, 300) + &"T1 a;new 1\n".repeat(100)));
    let changes = Comparison::new(&before, &after).methods();
    let told: Vec<(&str, bool)> = changes.iter().map(|change| (change.method.as_str(), change.significant)).collect();
    assert_eq!(told, [("A.b", true), ("A.new", true), ("A.a", false), ("A.d", false), ("A.c", true)]);
    let new = &changes[1];
    assert_eq!((new.self_before.count, new.self_after.count), (0, 100));
    assert!((new.self_growth() - 100.0 / 1101.0).abs() < 1e-9);
}

#[test]
fn a_difference_has_every_context_of_both() {
    let (before, after) = (cpu("T1 a;b 3\nT1 a;c 2"), cpu("T1 a;b 5\nT1 a;d 1"));
    let mut contexts: Vec<(String, u64, u64)> = Comparison::new(&before, &after)
        .contexts()
        .into_iter()
        .map(|(path, before, after)| (path.join(";"), before.ns / MS, after.ns / MS))
        .collect();
    contexts.sort();
    assert_eq!(contexts, [("A.a;A.b".into(), 3, 5), ("A.a;A.c".into(), 2, 0), ("A.a;A.d".into(), 0, 1)]);
}

/// Blocked time on a lock of this identity, as it is compared.
fn blocked_on(identity: u32) -> CallTree {
    let picture = draw("T1: [a........]\nT2:    a~~~~~~[a..]");
    let options = ProfileOptions { measure: Measure::Contender, locks_by_name: true, ..ProfileOptions::default() };
    let (mut profiler, mut analysis) = (Profiler::new(options), Analysis::new(Options::default()));
    let begin = [recording(at(0)), lock(lock_id(b'a').0, "shop.Stock", identity, "Stock.lock")];
    for event in begin.iter().chain(&picture.events) {
        profiler.feed(event);
        analysis.feed_to(event, &mut profiler);
    }
    analysis.finish_to(&mut profiler);
    profiler.finish().tree
}

#[test]
fn the_lock_of_another_run_is_the_same_lock() {
    let (before, after) = (blocked_on(7), blocked_on(8));
    let changes = Comparison::new(&before, &after).methods();
    let locks: Vec<_> = changes.iter().filter(|change| change.method.contains("Stock.lock")).collect();
    assert_eq!(locks.len(), 1, "{changes:?}");
    assert_eq!(locks[0].method, "Stock.lock (shop.Stock)");
    assert_eq!(locks[0].total_growth(), 0.0);
    assert_eq!(locks[0].total_share_before, 1.0);
}

/// Of a contention with two owners in turn, each has its part; sums stand for several contentions.
#[test]
fn contentions_are_counted_once_however_many_owners_they_had() {
    let picture = draw(
        "
        T1: [a.....]
        T2:    a~~~[a.....]
        T3:     a~~~~~~~~~[a..]
        ",
    );
    let (thread, lock) = (thread_id(4), lock_id(b'a'));
    let (chain, on) = (ChainId::NONE, SpentOn::Monitor);
    let sum = Event::Spent(Spent { time: at(9), thread, lock, chain, on, count: 5, total: DurationNs(MS) });
    for measure in [Measure::Contender, Measure::Owner] {
        let (mut profiler, mut analysis) = (Profiler::new(of(measure)), Analysis::new(Options::default()));
        for event in [recording(at(0))].iter().chain(&picture.events).chain([&sum]) {
            profiler.feed(event);
            analysis.feed_to(event, &mut profiler);
        }
        let report = analysis.finish_to(&mut profiler);
        let profile = profiler.finish();
        assert_eq!((report.contentions, profile.observations()), (7, 7), "{measure:?}");
    }
}

/// Of the same time the table of blocked time has a row for pauses and one for what has no known owner.
#[test]
fn pauses_and_hand_off_are_no_time_of_an_owner() {
    let picture = draw(
        "
        T1: [a.......]
        T2:   a~~~~~~~~~[a]
        VM:     ###
        ",
    );
    let (mut profiler, mut analysis) = (Profiler::new(of(Measure::Owner)), Analysis::new(Options::default()));
    for event in [recording(at(0)), thread(1, "T1")].iter().chain(&picture.events) {
        profiler.feed(event);
        analysis.feed_to(event, &mut profiler);
    }
    analysis.finish_to(&mut profiler);
    let tree = profiler.finish().tree;
    let of_callers = tree.children(CallTree::ROOT).iter().map(|at| (tree.text(*at), tree.context(*at)));
    let mut parts: Vec<(String, u64)> =
        of_callers.map(|(text, context)| (text, context.map_or(0, |context| context.total.ns / MS))).collect();
    parts.sort();
    assert_eq!(parts, [("(VM pause)".into(), 3), (NO_OWNER.into(), 3), (UNKNOWN_FRAMES.into(), 4)]);
}

// --- what lock owners executed -------------------------------------------

const RUN: u64 = 1;
const REBUILD: u64 = 2;
const SORT: u64 = 3;
const READ: u64 = 4;
const SELL: u64 = 5;
/// Chains of samples.
const SORTING: u64 = 5001;
const READING: u64 = 5002;
const OUTSIDE: u64 = 5003;
const TRUNCATED: u64 = 5004;

/// A picture of threads and locks in which T1's exits are in `rebuild`, with
/// samples of T1 (in ms, with their chain).
fn owners(picture: &str, of_t1: &[(usize, u64)], options: Options) -> Report {
    owners_from(0, picture, of_t1, options)
}

/// The same, where nothing was sampled before `first`, when all before it is complete.
fn owners_from(first: usize, picture: &str, of_t1: &[(usize, u64)], options: Options) -> Report {
    let picture = draw(picture);
    let mut analysis = Analysis::new(options);
    let mut feed = |event: &Event| analysis.feed(event);
    feed(&recording(at(0)));
    for (id, name) in [(RUN, "run"), (REBUILD, "rebuild"), (SORT, "sort"), (READ, "read"), (SELL, "sell")] {
        feed(&method(id, "shop.Stock", name));
    }
    for (index, name) in picture.names.iter().enumerate() {
        feed(&thread(thread_id(index).0, name));
    }
    feed(&lock(lock_id(b'a').0, "shop.Stock", 7, "Stock.lock"));
    feed(&chain(SORTING, &[(SORT, 31), (REBUILD, 12), (RUN, 3)]));
    feed(&chain(READING, &[(READ, 40), (REBUILD, 11), (RUN, 3)]));
    feed(&chain(OUTSIDE, &[(READ, 40), (RUN, 4)]));
    let frame =
        |method, line| Frame { method: MethodId(method), bci: 0, line, kind: FrameKind::Compiled, approximate: false };
    let truncated = CallChain { frames: vec![frame(SORT, 31), frame(REBUILD, 12)], truncated: true };
    feed(&Event::Chain(Arc::new(ChainDef { id: ChainId(TRUNCATED), chain: truncated })));
    let mut samples = Some(of_t1);
    for event in &picture.events {
        let begins = event.time().is_none_or(|time| time >= at(first));
        for (column, chain) in samples.take_if(|_| begins).into_iter().flatten() {
            feed(&Event::Watermark(at(first)));
            let (time, thread) = (at(*column) + DurationNs(MS / 2), thread_id(0));
            let (state, weight) = (SampleState::Java, DurationNs(MS));
            feed(&Event::Sample(Sample { time, thread, chain: ChainId(*chain), state, weight, cpu: None }));
        }
        match event {
            Event::MonitorExit(e) => feed(&chain(e.chain.0, &[(REBUILD, 15), (RUN, 3)])),
            Event::MonitorEnter(e) => feed(&chain(e.chain.0, &[(SELL, 9), (RUN, 3)])),
            _ => {}
        }
        feed(event);
    }
    feed(&Event::Watermark(at(1000)));
    analysis.finish()
}

fn only(report: &Report) -> &OwnerActivity {
    let [activity] = &report.owner_activity[..] else { panic!("{:?}", report.owner_activity) };
    activity
}

const ONE_WAITS: &str = "
    T1: [a.......]
    T2:   a~~~~~~~[a]
";

const TWO_WAIT: &str = "
    T1: [a........]
    T2:   a~~~~~~~[a]
    T3:      a~~~~~~~[a]
";

#[test]
fn time_for_which_an_owner_blocked_others_before_it_was_sampled_is_in_what_samples_cover() {
    let twice = "
        T1: [a...]           [a.......]
        T2:   a~~~[a]          a~~~~~~~[a]
    ";
    let report = owners_from(15, twice, &[(25, SORTING)], Options::default());
    let activity = only(&report);
    assert_eq!((activity.blocked_ns, activity.sampled_ns), (10 * MS, MS), "3 ms of it before the first sample");
    assert_eq!(activity.coverage, 0.1);
}

#[test]
fn samples_of_the_owner_are_weighed_once_per_blocked_thread() {
    // At 0 nobody waits yet; at 3 one thread; at 6 and 8 two. At 10 it is over.
    let samples = [(0, READING), (3, SORTING), (6, SORTING), (8, READING), (10, OUTSIDE)];
    let report = owners(TWO_WAIT, &samples, Options::default());
    let activity = report.owner_activity.iter().find(|activity| activity.samples > 0).unwrap();
    assert_eq!(
        (activity.lock.as_str(), activity.owner_method.as_str()),
        ("Stock.lock (shop.Stock@7)", "shop.Stock.rebuild")
    );
    assert_eq!((activity.samples, activity.sampled_ns), (5, 5 * MS));
    assert_eq!(activity.samples_taken, 3, "however many threads were blocked");
    let spots: Vec<(&str, f64)> = activity.lines.iter().map(|spot| (spot.frame.as_str(), spot.share)).collect();
    assert_eq!(spots, [("shop.Stock.sort:31", 0.6), ("shop.Stock.read:40", 0.4)]);
    let path = &activity.stacks[0];
    assert_eq!(path.stack, ["shop.Stock.sort:31", "shop.Stock.rebuild:12"], "cut at the frame that held the lock");
    // T2 waited 8 ms for T1, T3 5 ms for T1 and 2 ms for T2.
    assert_eq!(activity.blocked_ns, 15 * MS);
}

#[test]
fn a_pause_of_the_vm_is_not_time_of_the_owner() {
    let picture = "
        T1: [a.......]
        T2:   a~~~~~~~[a]
        VM:     ###
    ";
    let report = owners(picture, &[(3, SORTING)], Options::default());
    assert_eq!(only(&report).blocked_ns, 4 * MS);
    let by_lock = report.rows.iter().flat_map(|lock| &lock.children);
    let of_owner = by_lock.filter(|row| row.value.headline() == "shop.Stock.rebuild").map(|row| row.total_ns);
    assert_eq!(of_owner.sum::<u64>(), 4 * MS, "as in the table of blocked time");
}

#[test]
fn every_sample_in_every_millisecond_accounts_for_all_of_the_blocked_time() {
    let samples: Vec<(usize, u64)> = (0..12).map(|column| (column, SORTING)).collect();
    let report = owners(ONE_WAITS, &samples, Options::default());
    let activity = only(&report);
    assert_eq!((activity.sampled_ns, activity.blocked_ns), (7 * MS, 7 * MS));
    assert_eq!(activity.waiting_ns, 0);
}

#[test]
fn stacks_without_their_root_are_cut_by_name_and_others_say_nothing_of_the_owner() {
    let samples = [(3, TRUNCATED), (4, OUTSIDE)];
    let report = owners(ONE_WAITS, &samples, Options::default());
    let activity = only(&report);
    let chains: Vec<Vec<String>> = activity.stacks.iter().map(|path| path.stack.clone()).collect();
    assert_eq!(chains, [["shop.Stock.sort:31", "shop.Stock.rebuild:12"]]);
    assert_eq!((activity.samples, activity.outside_samples), (1, 1));
    // One millisecond of seven is known, not all of them.
    assert!((activity.coverage - 1.0 / 7.0).abs() < 1e-9);
}

#[test]
fn samples_of_an_owner_come_and_go_within_the_bound() {
    let samples: Vec<(usize, u64)> = (0..9).map(|column| (column, SORTING)).collect();
    let bounds = Bounds { marks: 4, ..Bounds::offline() };
    let report = owners(ONE_WAITS, &samples, Options { bounds, ..Options::default() });
    assert!(only(&report).samples < 7, "older ones were given up");
}

#[test]
fn without_samples_nothing_is_said() {
    assert!(owners(TWO_WAIT, &[], Options::default()).owner_activity.is_empty());
}
