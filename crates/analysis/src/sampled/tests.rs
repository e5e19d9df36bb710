//! Sums are shared out exactly, in proportion, and repeatably.

use super::*;
use headway_model::DurationNs;

fn sampling() -> Sampled {
    let mut sampled = Sampled::new(1_000);
    sampled.changes(Sampling { time: TimeNs(0), window: DurationNs(1_000), seed: 3, ..Sampling::default() });
    sampled
}

fn sum(lock: u64, thread: u64, count: u64, total_ns: u64) -> Sum {
    let (lock, thread, time) = (LockId(lock), ThreadId(thread), TimeNs(9_000));
    Sum {
        kind: Kind::Monitor,
        lock,
        thread,
        chain: ChainId::NONE,
        start: TimeNs(9_000 - total_ns.min(9_000)),
        time,
        count,
        total_ns,
        mean_ns: total_ns / count.max(1),
        owner: OwnerId::UNKNOWN,
        basis: Basis::NoMark,
        is_estimated: false,
        after_wait: false,
    }
}

fn seen(sampled: &mut Sampled, lock: u64, thread: u64, chain: u64, weight: f64) {
    let key = Key::new(How::Blocked, LockId(lock), ThreadId(thread), |_| false);
    let draw = Draw::by_chance(&Schedule::default(), TimeNs(9_000), 0.5);
    sampled.seen.entry(key).or_default().push(Seen {
        kind: Kind::Monitor,
        thread: ThreadId(thread),
        chain: ChainId(chain),
        owner: OwnerId::UNKNOWN,
        basis: Basis::Exit,
        after_wait: false,
        weight,
        wait: None,
        drawn: Drawn { itself: draw, owner: draw, any_thread: false },
    });
}

/// No thread has ended.
fn never(_: ThreadId) -> TimeNs {
    TimeNs(u64::MAX)
}

fn class(lock: LockId) -> Arc<str> {
    if lock.0 < 10 { "Low" } else { "High" }.into()
}

/// Time and number by chain.
fn by_chain(shares: &[Share]) -> Vec<(u64, u64, u64)> {
    let mut by_chain: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for Share { sum, .. } in shares {
        let all = by_chain.entry(sum.chain.0).or_default();
        *all = (all.0 + sum.total_ns, all.1 + sum.count);
    }
    by_chain.into_iter().map(|(chain, (ns, count))| (chain, ns, count)).collect()
}

#[test]
fn sums_are_shared_out_in_proportion_and_stay_exact() {
    let mut sampled = sampling();
    for (thread, count, ns) in [(1, 10, 4_000), (2, 7, 3_000), (3, 3, 1_003)] {
        assert_eq!(sampled.keep(sum(5, thread, count, ns), TimeNs(0)), None);
    }
    seen(&mut sampled, 5, 1, 71, 300.0);
    seen(&mut sampled, 5, 3, 72, 100.0);
    let shares = sampled.share_out(TimeNs(0), never, class);
    let chains = by_chain(&shares);
    assert_eq!(chains.iter().map(|(_, ns, _)| ns).sum::<u64>(), 8_003);
    assert_eq!(chains.iter().map(|(.., count)| count).sum::<u64>(), 20);
    assert_eq!((chains[0].0, chains[0].1), (71, 6_002), "three quarters");
    for thread in 1..=3 {
        let of_thread = shares.iter().filter(|share| share.sum.thread == ThreadId(thread));
        let (ns, count) = of_thread.fold((0, 0), |all, share| (all.0 + share.sum.total_ns, all.1 + share.sum.count));
        assert_eq!((ns, count), [(4_000, 10), (3_000, 7), (1_003, 3)][thread as usize - 1]);
    }
    assert!(sampled.share_out(TimeNs(0), never, class).is_empty() && sampled.rest().is_empty());
}

#[test]
fn a_lock_of_which_nothing_was_seen_is_like_others_of_its_class_or_waits() {
    let mut sampled = sampling();
    assert_eq!(sampled.keep(sum(5, 1, 1, 100), TimeNs(0)), None);
    assert_eq!(sampled.keep(sum(50, 1, 2, 200), TimeNs(0)), None);
    seen(&mut sampled, 6, 9, 71, 10.0);
    assert_eq!(by_chain(&sampled.share_out(TimeNs(0), never, class)), [(71, 100, 1)]);
    seen(&mut sampled, 60, 9, 72, 10.0);
    assert_eq!(by_chain(&sampled.share_out(TimeNs(0), never, class)), [(72, 200, 2)]);
    assert_eq!(sampled.keep(sum(5, 1, 4, 400), TimeNs(0)), None);
    let rest = sampled.rest();
    assert_eq!((rest.len(), rest[0].total_ns, sampled.report.unknown_ns), (1, 400, 400));
}

#[test]
fn waits_of_which_nothing_more_was_seen_are_like_those_before() {
    let mut sampled = sampling();
    let key = |lock: u64| Key::new(How::Waited, LockId(lock), ThreadId(9), |_| false);
    seen(&mut sampled, 6, 9, 71, 10.0);
    let before = sampled.seen.remove(&Key::new(How::Blocked, LockId(6), ThreadId(9), |_| false)).unwrap();
    sampled.seen.insert(key(6), before);
    assert!(sampled.share_out(TimeNs(0), never, class).is_empty());
    for (lock, count) in [(6, 3), (7, 2), (60, 1)] {
        sampled.keep_waits(sum(lock, 1, count, 100 * count), TimeNs(0));
    }
    assert_eq!(sampled.keep(sum(6, 1, 4, 400), TimeNs(0)), None);
    assert!(sampled.share_out(TimeNs(0), never, class).is_empty());
    assert_eq!(by_chain(&sampled.share_out_as_before(class)), [(71, 500, 5)]);
    // Neither contentions, which have a place without a call stack, nor waits of another class.
    let rest = sampled.rest();
    assert_eq!((rest.len(), rest[0].total_ns, sampled.report.unknown_ns), (1, 400, 500));
}

/// Nothing says that the parks of two threads are alike that name no object.
#[test]
fn parks_without_an_object_are_like_those_of_the_same_thread() {
    let mut sampled = sampling();
    let nothing = LockId::NONE.0;
    let park = |thread, count, ns| Sum { kind: Kind::Conditional, ..sum(nothing, thread, count, ns) };
    let chains = |sampled: &mut Sampled, thread: u64| {
        let shares = sampled.share_out(TimeNs(0), never, class);
        by_chain(&shares.into_iter().filter(|share| share.sum.thread == ThreadId(thread)).collect::<Vec<_>>())
    };
    let see = |sampled: &mut Sampled, thread: u64, chain, weight| {
        seen(sampled, nothing, thread, chain, weight);
        let blocked = Key::new(How::Blocked, LockId::NONE, ThreadId(thread), |_| false);
        let all = sampled.seen.remove(&blocked).unwrap();
        sampled.seen.insert(Key { how: How::Parked, ..blocked }, all);
    };
    for thread in [1, 2] {
        assert_eq!(sampled.keep(park(thread, 10, 4_000), TimeNs(0)), None);
    }
    see(&mut sampled, 1, 71, 300.0);
    see(&mut sampled, 2, 72, 100.0);
    assert_eq!(chains(&mut sampled, 1), [(71, 4_000, 10)]);
    // It was seen to do that before; of a third one nothing is known but what others do.
    for thread in [1, 3] {
        assert_eq!(sampled.keep(park(thread, 5, 500), TimeNs(0)), None);
    }
    see(&mut sampled, 2, 72, 100.0);
    let shares = sampled.share_out(TimeNs(0), never, class);
    assert_eq!(by_chain(&shares), [(71, 500, 5), (72, 500, 5)]);
}

/// The sums of virtual threads name no thread; those that were recorded do.
#[test]
fn parks_of_virtual_threads_without_an_object_are_not_like_those_of_platform_threads() {
    let mut sampled = sampling();
    let park = |thread, count, ns| Sum { kind: Kind::Conditional, ..sum(LockId::NONE.0, thread, count, ns) };
    let (platform, any_virtual) = (1, ThreadId::SOME_VIRTUAL.0);
    for thread in [platform, any_virtual] {
        assert_eq!(sampled.keep(park(thread, 10, 4_000), TimeNs(0)), None);
    }
    let see = |sampled: &mut Sampled, thread: u64, chain, is_virtual| {
        let key = Key::new(How::Parked, LockId::NONE, ThreadId(thread), |_| is_virtual);
        seen(sampled, LockId::NONE.0, thread, chain, 100.0);
        let all = sampled.seen.remove(&Key::new(How::Blocked, LockId::NONE, ThreadId(thread), |_| false)).unwrap();
        sampled.seen.insert(key, all);
    };
    // Nothing was seen of virtual threads yet: their time is not that of a platform thread.
    see(&mut sampled, platform, 71, false);
    let of = |shares: &[Share]| -> Vec<(u64, u64, u64)> {
        shares.iter().map(|share| (share.sum.thread.0, share.sum.chain.0, share.sum.total_ns)).collect()
    };
    assert_eq!(of(&sampled.share_out(TimeNs(0), never, class)), [(platform, 71, 4_000)]);
    see(&mut sampled, 40, 72, true);
    assert_eq!(of(&sampled.share_out(TimeNs(0), never, class)), [(40, 72, 4_000)]);
}

#[test]
fn without_sampling_with_a_call_stack_or_without_room_a_sum_is_not_kept() {
    let one = sum(5, 1, 1, 100);
    assert_eq!(Sampled::new(9).keep(one, TimeNs(0)), Some(one));
    let with_stack = Sum { chain: ChainId(4), ..one };
    assert_eq!(sampling().keep(with_stack, TimeNs(0)), Some(with_stack));
    let mut full = Sampled { bound: 0, ..sampling() };
    assert_eq!(full.keep(one, TimeNs(0)), Some(one));
    assert_eq!(full.report.unknown_ns, 100);
}

#[test]
fn what_would_have_been_recorded_in_any_case_stands_for_nothing_else() {
    let mut sampled = sampling();
    assert!(sampled.stands_for(TimeNs(100), TimeNs(600)).is_some_and(|(more, ..)| (more - 1.0).abs() < 1e-9));
    assert!(sampled.stands_for(TimeNs(100), TimeNs(2_100)).is_none(), "two windows");
    sampled.changes(Sampling { time: TimeNs(5_000), window: DurationNs(100), seed: 3, ..Sampling::default() });
    assert!(sampled.stands_for(TimeNs(4_990), TimeNs(5_010)).is_none(), "began under another schedule");
    sampled.changes(Sampling { time: TimeNs(8_000), window: DurationNs(0), seed: 3, ..Sampling::default() });
    assert!(sampled.stands_for(TimeNs(8_100), TimeNs(8_101)).is_none(), "everything is recorded");
}

#[test]
fn instants_are_counted_once_in_whatever_order_they_come() {
    let mut instants = Instants::default();
    (0..1_000).rev().chain(0..1_000).for_each(|window| instants.add(window));
    assert_eq!(instants.count, 1_000);
    (1_000..1_000_000).for_each(|window| instants.add(window));
    (0..1_000).for_each(|window| instants.add(window));
    assert_eq!((instants.count, instants.recent.len()), (1_000_000, RECENT));
}

/// The threads of a group are blocked for longer together than time has passed.
#[test]
fn a_sum_of_many_threads_covers_the_time_since_those_before() {
    let mut sampled = sampling();
    sampled.keep(Sum { time: TimeNs(8_000), ..sum(5, 1, 1, 500) }, TimeNs(0));
    seen(&mut sampled, 5, 1, 71, 300.0);
    sampled.share_out(TimeNs(9_000), |_| TimeNs(u64::MAX), class);
    sampled.keep(Sum { time: TimeNs(9_200), ..sum(5, 1, 400, 50_000) }, TimeNs(0));
    seen(&mut sampled, 5, 1, 71, 300.0);
    let shares = sampled.share_out(TimeNs(10_000), |_| TimeNs(u64::MAX), class);
    assert_eq!((shares[0].sum.start, shares[0].sum.time), (TimeNs(9_000), TimeNs(10_000)));
    assert_eq!(shares.iter().map(|share| share.sum.total_ns).sum::<u64>(), 50_000);
}

/// A thread that has many locks sends sums early: when their contentions were is known no better for that.
#[test]
fn sums_cover_the_time_since_those_before_but_not_after_the_end_of_their_thread() {
    let mut sampled = sampling();
    sampled.keep(Sum { time: TimeNs(1_000), ..sum(5, 1, 1, 500) }, TimeNs(0));
    sampled.keep(Sum { time: TimeNs(2_000), ..sum(5, 2, 1, 500) }, TimeNs(0));
    seen(&mut sampled, 5, 1, 71, 300.0);
    let died = |thread: ThreadId| if thread == ThreadId(2) { TimeNs(5_000) } else { TimeNs(u64::MAX) };
    let spans = |shares: Vec<Share>| shares.iter().map(|it| (it.sum.start.0, it.sum.time.0)).collect::<Vec<_>>();
    assert_eq!(spans(sampled.share_out(TimeNs(9_000), died, class)), [(0, 9_000), (0, 5_000)]);
    sampled.keep(Sum { time: TimeNs(9_500), ..sum(5, 1, 1, 500) }, TimeNs(0));
    seen(&mut sampled, 5, 1, 71, 300.0);
    assert_eq!(spans(sampled.share_out(TimeNs(12_000), died, class)), [(9_000, 12_000)]);
}
