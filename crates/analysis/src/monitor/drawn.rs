//! Slices drawn at random instants, for contentions that are too long to be walked.
//!
//! Who waits in a queue of 50,000 is blocked by all of them one after the other: to list
//! each waiter's slices would cost each event as much as there are waiters. So a contention is
//! divided into equal parts; an instant is drawn in each, and who had the lock then counts
//! for the whole part. Each owner's expected share is its true one, and the parts add up to
//! the contention. How many slices a part stands for is its length over that of the slice that
//! was found, so that their number is right on average, too.

use super::OwnerId;
use super::{Basis, Slice};
use headway_model::random::Random;
use headway_model::{DurationNs, TimeNs};

/// Who had a lock, and how that is known.
pub(crate) type Known = (OwnerId, Basis);
/// The same, and for how long without a break; the whole time where nothing is known.
pub(crate) type Found = (Known, DurationNs);

/// Appends slices from `begin` to `end`, at most `count` of them.
pub(crate) fn draw(
    (begin, end): (TimeNs, TimeNs),
    count: usize,
    random: &mut Random,
    owner_at: impl Fn(TimeNs) -> Found,
    out: &mut Vec<Slice>,
) {
    let length = end.since(begin).0;
    let count = count.max(1) as u64;
    let part = |number: u64| TimeNs(begin.0 + (u128::from(length) * u128::from(number) / u128::from(count)) as u64);
    for number in 0..count {
        let (from, to) = (part(number), part(number + 1));
        let instant = TimeNs(from.0 + random.below(to.since(from).0));
        let (known, lasted) = owner_at(instant);
        let part = to.since(from);
        if part > DurationNs::ZERO {
            let stands_for = rounded(part.0 as f64 / lasted.0.max(1) as f64, random);
            out.push(drawn_slice(from, part, known, stands_for));
        }
    }
}

fn drawn_slice(start: TimeNs, duration: DurationNs, (owner, basis): Known, stands_for: u16) -> Slice {
    Slice { stands_for, owner_blocked: false, ..Slice::of(start, duration, owner, basis) }
}

/// The number, up or down so that it is right on average.
fn rounded(number: f64, random: &mut Random) -> u16 {
    let up = random.uniform() < number.fract();
    number.trunc().min(f64::from(u16::MAX)) as u16 + u16::from(up && number < f64::from(u16::MAX))
}

/// A slice from `begin` to `end`; the one before it goes on where it has the same owner.
pub(crate) fn append(begin: TimeNs, end: TimeNs, (owner, basis): Known, out: &mut Vec<Slice>) {
    let duration = end.since(begin);
    match out.last_mut() {
        _ if duration == DurationNs::ZERO => {}
        Some(last) if (last.owner_id(), last.basis) == (owner, basis) => last.duration += duration,
        _ => out.push(Slice::of(begin, duration, owner, basis)),
    }
}

/// Makes at most `most` of these slices: of two neighbours one gets the time of both, each
/// as probably as its part of that time.
pub(crate) fn thin(slices: &mut Vec<Slice>, most: usize, random: &mut Random) {
    while slices.len() > most.max(1) {
        let pairs = slices.len().div_ceil(2);
        for pair in 0..pairs {
            let Some(first) = slices.get(2 * pair).copied() else { continue };
            let second = slices.get(2 * pair + 1).copied();
            let duration = first.duration + second.map_or(DurationNs::ZERO, |second| second.duration);
            let keeps_first = random.below(duration.0) < first.duration.0;
            let kept = second.filter(|_| !keeps_first).unwrap_or(first);
            let times = duration.0 as f64 / kept.duration.0.max(1) as f64;
            let stands_for = rounded(f64::from(kept.stands_for) * times, random);
            let stop_the_world =
                second.map_or(first.stop_the_world, |second| first.stop_the_world + second.stop_the_world);
            if let Some(place) = slices.get_mut(pair) {
                *place =
                    Slice { start: first.start, duration, stop_the_world, stands_for, owner_blocked: false, ..kept };
            }
        }
        slices.truncate(pairs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: Known = (OwnerId::FOLDED, Basis::Exit);
    const EVEN: Known = (OwnerId::UNKNOWN, Basis::WakeUp);

    fn time_of(slices: &[Slice], owner: Known) -> u64 {
        slices.iter().filter(|slice| slice.owner_id() == owner.0).map(|slice| slice.duration.0).sum()
    }

    fn number_of(slices: &[Slice]) -> u64 {
        slices.iter().map(|slice| u64::from(slice.stands_for)).sum()
    }

    fn found_at(instant: TimeNs) -> Found {
        let known = owner_at(instant);
        (known, DurationNs(if known == ODD { 1 } else { 2 }))
    }

    /// Every third nanosecond is that of one owner.
    fn owner_at(instant: TimeNs) -> Known {
        if instant.0 % 3 == 0 {
            ODD
        } else {
            EVEN
        }
    }

    #[test]
    fn the_parts_add_up_and_owners_have_their_shares() {
        let mut random = Random::new(7);
        let (mut of_odd, mut number) = (0, 0);
        for begin in 0..1000 {
            let mut slices = Vec::new();
            draw((TimeNs(begin), TimeNs(begin + 999)), 16, &mut random, found_at, &mut slices);
            number += number_of(&slices);
            assert_eq!(slices.iter().map(|slice| slice.duration.0).sum::<u64>(), 999);
            assert!(
                slices.len() <= 16 && slices.windows(2).all(|pair| pair[0].start + pair[0].duration == pair[1].start)
            );
            of_odd += time_of(&slices, ODD);
        }
        assert!(666_000_u64.abs_diff(number) < 6_000, "{number} slices");
        // A third of 999,000, five standard deviations of 16,000 draws.
        assert!((333_000_u64.abs_diff(of_odd) as f64) < 5.0 * (16_000.0_f64 * 2.0 / 9.0).sqrt() * 62.5, "{of_odd}");
    }

    #[test]
    fn what_is_thinned_keeps_its_time_and_its_shares() {
        let mut random = Random::new(7);
        let (mut of_odd, mut number) = (0, 0);
        for _ in 0..1000 {
            let slice = |number: u64| {
                let (owner, basis) = owner_at(TimeNs(number));
                Slice::of(TimeNs(number), DurationNs(1), owner, basis)
            };
            let mut slices: Vec<Slice> = (0..999).map(slice).collect();
            thin(&mut slices, 16, &mut random);
            number += number_of(&slices);
            assert_eq!((slices.len(), slices.iter().map(|slice| slice.duration.0).sum::<u64>()), (16, 999));
            of_odd += time_of(&slices, ODD);
        }
        assert!(999_000_u64.abs_diff(number) < 6_000, "{number} slices");
        assert!((333_000_u64.abs_diff(of_odd) as f64) < 5.0 * (16_000.0_f64 * 2.0 / 9.0).sqrt() * 62.5, "{of_odd}");
    }

    #[test]
    fn an_empty_contention_has_no_slices() {
        let mut slices = Vec::new();
        draw((TimeNs(5), TimeNs(5)), 4, &mut Random::new(1), found_at, &mut slices);
        assert!(slices.is_empty());
        thin(&mut slices, 0, &mut Random::new(1));
        assert!(slices.is_empty());
    }
}
