//! Every rule of who gets which part of a contention, as a picture.

use crate::arrival::{replay, shuffled, Dice};
use crate::picture::{at, draw, thread_id, Picture};
use headway_analysis::Bounds;
use headway_model::{Event, Seq, ThreadId, TimeNs};

/// Replays the picture in many orders of arrival: all must give `expected`.
fn check(picture: &str, expected: &str) {
    check_events(draw(picture), expected);
}

/// The same without the events that `lost` picks.
fn check_without(picture: &str, lost: impl Fn(&Event) -> bool, expected: &str) {
    let mut picture = draw(picture);
    let before = picture.events.len();
    picture.events.retain(|event| !lost(event));
    assert!(picture.events.len() < before, "nothing was lost");
    check_events(picture, expected);
}

fn check_events(picture: Picture, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let expected = expected.join("\n");
    for seed in 0..100 {
        let arrival = match seed {
            0 => picture.events.clone(),
            _ => shuffled(&picture.events, &mut Dice::new(seed)),
        };
        let (text, _, counts) = replay(&arrival, picture.end, &picture.names, Bounds::offline());
        assert_eq!(text, expected, "in order of arrival {seed}: {arrival:#?}");
        assert_eq!(counts.slices_wrong, 0);
    }
}

#[test]
fn the_owner_held_it_all_along() {
    check(
        "
        T1: [a........]
        T2:    a~~~~~~~~[a..]
        ",
        "T2 a: 3-10 T1 exit@10, 10-12 ? wake-up",
    );
}

#[test]
fn owners_take_turns() {
    check(
        "
        T1: [a........]
        T2:    a~~~~~~~~[a......]
        T3:      a~~~~~~~~~~~~~~~~[a..]
        ",
        "
        T2 a: 3-10 T1 exit@10, 10-12 ? wake-up
        T3 a: 5-10 T1 exit@10, 10-12 ? hand-over, 12-20 T2 exit@20, 20-22 ? wake-up
        ",
    );
}

#[test]
fn the_same_owner_barges_in_again() {
    check(
        "
        T1: [a...] [a....]
        T2:   a~~~~~~~~~~~~~[a.]
        ",
        "T2 a: 2-5 T1 exit@5, 5-13 T1 exit@13, 13-16 ? wake-up",
    );
}

#[test]
fn another_thread_barges_in() {
    check(
        "
        T1: [a...]
        T2:   a~~~~~~~~~~~~~[a.]
        T3:       [a....]
        ",
        "T2 a: 2-5 T1 exit@5, 5-12 T3 exit@12, 12-16 ? wake-up",
    );
}

#[test]
fn a_lock_entered_again_by_its_owner_is_one_hold() {
    // The inner enter and exit leave no trace; only the last exit releases.
    check(
        "
        T1: [a.........]
        T2:   a~~~~~~~~~~[a.]
        ",
        "T2 a: 2-11 T1 exit@11, 11-13 ? wake-up",
    );
}

#[test]
fn an_exit_was_missed_and_another_barged_in() {
    // T3 acquired it at 6, T4 left it at 15; T3's exit was not recorded.
    check(
        "
        T1: [a...]
        T2:  a~~~~~~~~~~~~~~~~[a.]
        T3:   a~~~[a...)
        T4:           [a...]
        ",
        "
        T2 a: 1-5 T1 exit@5, 5-6 ? hand-over, 6-15 ? exit missed, 15-18 ? wake-up
        T3 a: 2-5 T1 exit@5, 5-6 ? wake-up
        ",
    );
}

#[test]
fn a_look_at_the_owner_proves_a_part_of_it() {
    // T5 saw T3 hold it at 9, and T6 saw T4 hold it at 14.
    check(
        "
        T1: [a...]
        T2:  a~~~~~~~~~~~~~~~~~[a]
        T3:   a~~~[a....)
        T4:             [a...]
        T5:          a~~~~~~~~~~~~[a]
        T6:               a~~~~~~~~~~~[a]
        ",
        "
        T2 a: 1-5 T1 exit@5, 5-6 ? hand-over, 6-9 T3 held, 9-14 ? exit missed, 14-17 T4 exit@17, 17-19 ? wake-up
        T3 a: 2-5 T1 exit@5, 5-6 ? wake-up
        T5 a: 9-14 ? exit missed, 14-17 T4 exit@17, 17-19 ? hand-over, 19-21 T2 exit@21, 21-22 ? wake-up
        T6 a: 14-17 T4 exit@17, 17-19 ? hand-over, 19-21 T2 exit@21, 21-22 ? hand-over, 22-24 T5 exit@24, 24-26 ? wake-up
        ",
    );
}

#[test]
fn the_owner_at_enter_left_unseen() {
    // T1 held the lock when T2 came and its exit was not recorded; T3 held it
    // at the end. Neither can be blamed for the whole.
    check(
        "
        T1: [a...)
        T2:   a~~~~~~~~~~~[a.]
        T3:        [a...]
        ",
        "T2 a: 2-12 ? exit missed, 12-14 ? wake-up",
    );
}

#[test]
fn nobody_was_seen_to_leave() {
    check(
        "
        T1: [a...)
        T2:   a~~~[a.]
        ",
        "T2 a: 2-6 T1 seen",
    );
    check(
        "
        T1: [a...)
        T2:   a?~~[a.]
        ",
        "T2 a: 2-6 ? no mark",
    );
}

#[test]
fn only_acquisitions_are_recorded() {
    // As without the exit hook: what T3 did between 6 and 12 is not known.
    check(
        "
        T1: [a...)
        T2:   a~~~~~~~~~[a.)
        T3:    a~~[a...)
        ",
        "
        T2 a: 2-6 T1 seen, 6-12 ? exit missed
        T3 a: 3-6 T1 seen
        ",
    );
}

#[test]
fn an_owner_read_while_it_leaves_proves_nothing() {
    // T3 begins to block when T1's exit has taken its number but not yet left:
    // it still reads T1 as the owner. The time until 12 is T4's, who barged in.
    let mut picture = draw(
        "
        T1: [a...]
        T2:   a~~~~~~~~~~~[a.]
        T3:      a?~~~~~~~~~~~~[a]
        T4:       [a....]
        ",
    );
    for event in &mut picture.events {
        if let Event::MonitorEnter(e) = event {
            if e.owner.is_none() {
                e.owner = thread_id(0);
            }
        }
    }
    check_events(
        picture,
        "
        T2 a: 2-5 T1 exit@5, 5-12 T4 exit@12, 12-14 ? wake-up
        T3 a: 5-12 T4 exit@12, 12-14 ? hand-over, 14-17 T2 exit@17, 17-19 ? wake-up
        ",
    );
}

#[test]
fn a_wait_releases_the_lock_with_the_chain_of_its_owner() {
    check(
        "
        T1: [a...w________~~~~[a..]
        T2:   a~~~~[a.....n..]
        ",
        "
        T2 a: 2-5 T1 exit@5, 5-7 ? wake-up
        T1 a again: 14-17 T2 exit@17, 17-18 ? wake-up
        ",
    );
}

#[test]
fn a_wait_ends_holding_even_if_its_exit_was_not_recorded() {
    check(
        "
        T1: [a...v______~~~~~[a]
        T2:   a~~~~[a...n..]
        T3:    a~~~~~~~~~~~~~~~~~~[a]
        ",
        "
        T2 a: 2-5 T1 held, 5-7 ? wake-up
        T3 a: 3-5 T1 held, 5-7 ? hand-over, 7-15 T2 exit@15, 15-17 ? hand-over, 17-19 T1 exit@19, 19-22 ? wake-up
        T1 a again: 12-15 T2 exit@15, 15-17 ? wake-up
        ",
    );
}

#[test]
fn waiters_notified_together_acquire_in_turn() {
    check(
        "
        T1: [a.w_____________~~~~~~~[a..]
        T2:      [a.w_________~~~~~~~~~~~~~[a]
        T3:               [a.nn....]
        ",
        "
        T1 a again: 17-23 T3 exit@23, 23-24 ? wake-up
        T2 a again: 18-23 T3 exit@23, 23-24 ? hand-over, 24-28 T1 exit@28, 28-31 ? wake-up
        ",
    );
}

#[test]
fn a_wait_that_times_out_enters_like_everybody() {
    check(
        "
        T1: [a.w____t a~~~~~[a]
        T2:      [a.......]
        ",
        "T1 a: 10-14 T2 exit@14, 14-16 ? wake-up",
    );
}

#[test]
fn a_wait_that_ends_by_itself_begins_a_reacquisition() {
    check(
        "
        T1: [a.w____u~~~~~[a]
        T2:      [a....]
        ",
        "T1 a again: 8-11 T2 exit@11, 11-14 ? wake-up",
    );
}

#[test]
fn a_wait_that_ends_without_contention_blocks_nobody() {
    check(
        "
        T1: [a.w____t[a.....]
        T2:           a~~~~~~~[a]
        ",
        "T2 a: 10-16 T1 exit@16, 16-18 ? wake-up",
    );
}

#[test]
fn the_world_stops_inside_a_contention() {
    check(
        "
        T1: [a........]
        T2:    a~~~~~~~~[a..]
        VM:   ####   ##
        ",
        "T2 a: 3-10 T1 exit@10 (stopped 4), 10-12 ? wake-up (stopped 1)",
    );
}

#[test]
fn numbers_order_events_where_clocks_disagree() {
    // T3's clock is four columns ahead: its exit at 12 says 16, after T2's
    // end by T2's clock. It cannot take more than there is.
    check(
        "
        T1: [a...]
        T2:   a~~~~~~~~~~~[a.]
        T3+4:       [a...]
        ",
        "T2 a: 2-5 T1 exit@5, 5-14 T3 exit@11",
    );
    // T1's clock is behind: its exit seems to lie before the contention.
    check(
        "
        T1-5: [a...]
        T2:     a~~~~~~~[a.]
        ",
        "T2 a: 4-12 ? wake-up",
    );
}

#[test]
fn locks_do_not_mix() {
    check(
        "
        T1: [a..[b....]..]
        T2:   a~~~~~~~~~~~~[a]
        T3:      b~~~~~~[b.]
        ",
        "
        T2 a: 2-13 T1 exit@13, 13-15 ? wake-up
        T3 b: 5-10 T1 exit@10, 10-12 ? wake-up
        ",
    );
}

#[test]
fn a_contention_that_has_not_ended_counts_up_to_the_end() {
    check(
        "
        T1: [a....] [a......
        T2:    a~~~~~~~~~~~~
        T3:           a~~~~~
        ",
        "
        T2 a going on: 3-6 T1 exit@6, 6-16 T1 seen
        T3 a going on: 10-16 T1 seen
        ",
    );
}

#[test]
fn a_released_lock_that_nobody_took_blames_nobody() {
    check(
        "
        T1: [a....]
        T2:    a~~~~~~~~~
        ",
        "T2 a going on: 3-6 T1 exit@6, 6-13 ? no mark",
    );
}

#[test]
fn a_deadlock_goes_on_for_ever() {
    check(
        "
        T1: [a...b~~~~~~~~~~
        T2: [b.....a~~~~~~~~
        ",
        "
        T1 b going on: 5-16 T2 seen
        T2 a going on: 7-16 T1 seen
        ",
    );
}

#[test]
fn a_notified_waiter_can_be_blocked_for_ever() {
    check(
        "
        T1: [a.w_______~~~~~~~~
        T2:      [a....n.......
        ",
        "T1 a again going on: 11-19 T2 seen",
    );
}

#[test]
fn lost_events_leave_a_gap_that_nobody_is_blamed_for() {
    // T3's acquisition and exit were dropped. When T3 got on is not known, so
    // nothing is said about it.
    check_without(
        "
        T1: [a...]
        T2:  a~~~~~~~~~~~~~~~~~[a]
        T3:   a~~~~[a...]
        T4:              [a..]
        ",
        |event| match event {
            Event::MonitorEntered(e) => e.thread == thread_id(2),
            Event::MonitorExit(e) => e.thread == thread_id(2),
            _ => false,
        },
        "T2 a: 1-5 T1 exit@5, 5-17 ? gap, 17-19 ? wake-up",
    );
}

#[test]
fn an_end_that_was_lost_ends_nothing_wrongly() {
    // T2's first acquisition was dropped; its later one must not be taken for
    // the end of a contention that began at 2.
    check_without(
        "
        T1: [a...]      [a......]
        T2:   a~~~[a.]     a~~~~~~[a]
        ",
        |event| matches!(event, Event::MonitorEntered(e) if e.time == at(6)),
        "T2 a: 15-20 T1 exit@20, 20-22 ? wake-up",
    );
}

#[test]
fn a_begin_that_was_lost_is_told_by_the_end() {
    check_without(
        "
        T1: [a...]
        T2:   a~~~~~~[a.]
        ",
        |event| matches!(event, Event::MonitorEnter(_)),
        "T2 a: 2-5 T1 exit@5, 5-9 ? wake-up",
    );
}

#[test]
fn an_end_whose_begin_nobody_knows_is_counted_not_guessed() {
    let mut picture = draw(
        "
        T1: [a...]
        T2:   a~~~~~~[a.]
        ",
    );
    picture.events.retain(|event| !matches!(event, Event::MonitorEnter(_)));
    for event in &mut picture.events {
        if let Event::MonitorEntered(e) = event {
            e.start = TimeNs(0);
        }
    }
    let (text, _, counts) = replay(&picture.events, picture.end, &picture.names, Bounds::offline());
    assert_eq!(text, "");
    assert_eq!(counts.unpaired, 1);
}

#[test]
fn an_end_that_is_only_a_bound_is_marked() {
    let mut picture = draw(
        "
        T1: [a.w____u~~~~~[a..
        T2:      [a....]
        T3:         a~~~~~~~~~~
        ",
    );
    for event in &mut picture.events {
        if let Event::MonitorReentered(e) = event {
            e.bound = true;
        }
    }
    // T1 acquired it some time before 14: that says nothing about T3's blocker.
    check_events(
        picture,
        "
        T1 a again bound: 8-11 T2 exit@11, 11-14 ? wake-up
        T3 a going on: 8-11 T2 exit@11, 11-19 ? no mark
        ",
    );
}

#[test]
fn missing_numbers_are_counted() {
    let lost = |event: &Event| matches!(event, Event::MonitorExit(e) if e.thread == thread_id(1));
    let mut picture = draw(
        "
        T1: [a...]
        T2:   a~~~~[a..]
        T3:     a~~~~~~~~[a]
        ",
    );
    picture.events.retain(|event| !lost(event));
    for seed in 0..20 {
        let arrival = shuffled(&picture.events, &mut Dice::new(seed));
        let (_, _, counts) = replay(&arrival, picture.end, &picture.names, Bounds::offline());
        assert_eq!(counts.lost_numbers, 1);
    }
}

#[test]
fn a_recording_may_begin_in_the_middle_of_a_locks_order() {
    let mut picture = draw(
        "
        T1: [a...]
        T2:   a~~~~[a..]      a~~~~[a]
        T3:      a~~~~~~~~[a......]
        ",
    );
    picture.events.retain(|event| event.time() >= Some(at(5)));
    for seed in 0..20 {
        let arrival = shuffled(&picture.events, &mut Dice::new(seed));
        let (text, _, counts) = replay(&arrival, picture.end, &picture.names, Bounds::offline());
        assert_eq!(counts.lost_numbers, 0, "what was before the recording is not lost");
        assert_eq!(
            text,
            "T2 a: 2-5 T1 exit@5, 5-7 ? wake-up\n\
             T3 a: 5-7 ? hand-over, 7-11 T2 exit@11, 11-14 ? wake-up\n\
             T2 a: 18-22 T3 exit@22, 22-23 ? wake-up"
        );
    }
}

#[test]
fn the_begin_of_a_reentry_may_have_a_number_of_its_own() {
    // As where the notify itself is not recorded as an event.
    let mut picture = draw(
        "
        T1: [a...w________~~~~[a..]
        T2:   a~~~~[a.....n..]
        ",
    );
    picture.events.retain(|event| !matches!(event, Event::MonitorNotify(_)));
    for seed in 0..20 {
        let arrival = shuffled(&picture.events, &mut Dice::new(seed));
        let (text, _, counts) = replay(&arrival, picture.end, &picture.names, Bounds::offline());
        assert_eq!(counts.lost_numbers, 0);
        assert_eq!(
            text,
            "T2 a: 2-5 T1 exit@5, 5-7 ? wake-up\n\
             T1 a again: 14-17 T2 exit@17, 17-18 ? wake-up"
        );
    }
}

#[test]
fn recordings_of_other_makers_name_the_previous_owner_only() {
    let mut picture = draw(
        "
        T1: [a...]
        T2:   a~~~~~~[a.]
        T3:    a?~~~~~~~~~~[a]
        ",
    );
    picture.events.retain(|event| matches!(event, Event::MonitorEntered(_)));
    for event in &mut picture.events {
        if let Event::MonitorEntered(e) = event {
            e.seq = Seq::NONE;
            e.previous_owner = if e.thread == thread_id(1) { thread_id(0) } else { ThreadId::NONE };
        }
    }
    check_events(
        picture,
        "
        T2 a: 2-9 T1 previous
        T3 a: 3-15 ? no mark
        ",
    );
}

#[test]
fn events_without_numbers_still_pair() {
    let mut picture = draw(
        "
        T1: [a...]
        T2:   a~~~~~~[a.]
        ",
    );
    picture.events.retain(|event| !matches!(event, Event::MonitorExit(_)));
    for event in &mut picture.events {
        match event {
            Event::MonitorEnter(e) => e.seq = Seq::NONE,
            Event::MonitorEntered(e) => (e.seq, e.start) = (Seq::NONE, TimeNs(0)),
            _ => {}
        }
    }
    check_events(picture, "T2 a: 2-9 T1 seen");
}
