//! How far shares may be off that rest on random instants.
//!
//! The unit that is drawn is the instant: all that is seen at one instant is one draw. Each
//! window has one, so that the design is a stratified one with one unit in each stratum. Its variance is
//! estimated by collapsed strata (Cochran, Sampling Techniques, 1977, 5A.12): windows are taken in
//! pairs, and the square of the difference between two neighbours stands for the
//! variances of both. What lasts for many windows differs little from one to the next and so adds
//! little, as it should. A bootstrap of single instants would take all of it for chance.
//!
//! What is shared out is exact for each lock, so a share is a ratio within its lock: the
//! differences are those of the residuals (Särndal, Swensson and Wretman 1992, 5.6),
//! `row - ratio x all`. These are linear in what was seen, and the ratio is known
//! only at the end; therefore sums are kept for a fixed number of groups of pairs,
//! not for each instant. Pairs are assigned to groups by a hash, and sums of independent
//! differences have the variance that the differences have together.
//!
//! The interval is Wilson's, for as many independent observations as have this variance: near
//! 0 and 1, where most rows are, the normal one would be too short.

use crate::report::Interval;
use headway_model::interval::{students_97_5, wilson};
use headway_model::random::Random;
use headway_model::schedule::Schedule;
use headway_model::TimeNs;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Groups of pairs of windows: the variance has a relative standard error of an eighth.
const GROUPS: usize = 128;
/// Windows that are kept of each sum.
const KEPT: usize = 1024;
/// Locks with fewer instants have no ratio worth the name: all of them of a class have one.
const FEW: u64 = 10;

/// A random instant, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// Its window, numbered over all schedules in order of time.
    window: u64,
    /// What a nanosecond counts in the variance: less where it was hardly a matter of chance.
    scale: f64,
}

impl Draw {
    /// An instant at which something was seen that would have been seen in any case.
    pub fn certain(schedule: &Schedule, instant: TimeNs) -> Draw {
        // No schedule has a window for each nanosecond.
        Draw { window: schedule.from().0 + schedule.number(instant).unwrap_or(0), scale: 1.0 }
    }

    /// The last instant up to `end` of something that had this chance (below 1) to be seen.
    pub fn by_chance(schedule: &Schedule, end: TimeNs, chance: f64) -> Draw {
        // What is shared out of it is `1 - chance` of what it stands for, its variance as well.
        let scale = (1.0 - chance).max(1e-6).sqrt().recip();
        Draw { scale, ..Draw::last(schedule, end) }
    }

    /// The last instant up to `end` of something that was seen.
    pub fn last(schedule: &Schedule, end: TimeNs) -> Draw {
        Draw::certain(schedule, schedule.latest(end).unwrap_or(end))
    }

    /// Its window, numbered over all schedules in order of time.
    pub fn window(&self) -> u64 {
        self.window
    }

    fn group(&self) -> u8 {
        (Random::new((self.window / 2).wrapping_mul(Random::STEP)).next_u64() % GROUPS as u64) as u8
    }

    fn sign(&self) -> f64 {
        if self.window % 2 == 0 {
            1.0
        } else {
            -1.0
        }
    }
}

/// By which instants something was chosen to stand for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// The instant that chose it.
    pub itself: Draw,
    /// The one that says who had the lock.
    pub owner: Draw,
    /// True if it is estimated as well by which thread the time was spent.
    pub any_thread: bool,
}

/// What of a lock's time a sum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartOf {
    /// All of it.
    All,
    /// What a node of the breakdown has of it.
    Node(u32),
    /// What an owner had it for.
    Owner(u32),
    /// Hand-off of the lock at this place.
    HandOff(u32),
    /// What is known of no owner of the lock at this place.
    Unknown(u32),
}

/// What a share is a ratio of, for one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Within {
    /// What was shared out, by call stack.
    Shared,
    /// All of which instants say who had the lock.
    Owned,
    /// The same, of what lies below a node of the breakdown, or in all of it.
    Below(Option<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    lock: u32,
    within: Within,
    part: PartOf,
}

/// Sums of what was drawn.
#[derive(Clone, Debug, Default)]
struct Spread {
    ns: f64,
    instants: Instants,
    windows: Windows,
    /// Differences between neighbours, by group, in no order.
    groups: Vec<(u8, f32)>,
}

/// Counts instants once each, though what was seen at them comes only nearly in order.
#[derive(Clone, Copy, Debug, Default)]
struct Instants {
    count: u64,
    latest: u64,
    /// Bit n: the window n before the latest is counted.
    counted: u64,
}

impl Instants {
    /// False if the window is known to be counted already.
    fn add(&mut self, window: u64) -> bool {
        let shift = |bits: u64, by: u64| u32::try_from(by).ok().and_then(|by| bits.checked_shl(by)).unwrap_or(0);
        if self.count == 0 || window > self.latest {
            self.counted = shift(self.counted, window - self.latest) | 1;
            self.latest = window;
            self.count += 1;
            return true;
        }
        let bit = shift(1, self.latest - window);
        let is_new = self.counted & bit < bit;
        self.count += u64::from(is_new);
        self.counted |= bit;
        // One that is long past was counted in its time, but that is not remembered.
        is_new || bit == 0
    }
}

/// How many different windows several sums have together: at one instant many locks are seen. Of each sum, the
/// windows with the smallest hashes are kept. Up to [`KEPT`] windows, their number is exact; of more, the largest of
/// these hashes says how close they lie (Bar-Yossef et al., Counting distinct elements in a data stream, 2002). The same
/// windows have the same number, however they are divided among sums.
#[derive(Clone, Debug, Default)]
struct Windows {
    /// In ascending order.
    hashes: Vec<u32>,
}

impl Windows {
    fn add(&mut self, window: u64) {
        let hash = (Random::new(window.wrapping_mul(Random::STEP)).next_u64() >> 32) as u32;
        self.add_hash(hash);
    }

    fn add_hash(&mut self, hash: u32) {
        let at = self.hashes.partition_point(|known| *known < hash);
        if at < KEPT && self.hashes.get(at) != Some(&hash) {
            self.hashes.insert(at, hash);
            self.hashes.truncate(KEPT);
        }
    }

    /// Takes in the windows of a sum.
    fn merge(&mut self, other: &Windows) {
        other.hashes.iter().for_each(|hash| self.add_hash(*hash));
    }

    fn count(&self) -> u64 {
        let known = self.hashes.len() as u64;
        let largest = self.hashes.last().filter(|_| self.hashes.len() == KEPT);
        largest.map_or(known, |hash| ((KEPT - 1) as f64 * f64::from(u32::MAX) / f64::from(*hash)) as u64)
    }
}

impl Spread {
    /// Gives how many groups are new: 0 or 1.
    fn add(&mut self, draw: &Draw, ns: f64) -> usize {
        self.ns += ns;
        if self.instants.add(draw.window) {
            self.windows.add(draw.window);
        }
        self.add_to_group(draw.group(), (ns * draw.scale * draw.sign()) as f32)
    }

    fn add_to_group(&mut self, group: u8, ns: f32) -> usize {
        match self.groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, sum)) => {
                *sum += ns;
                0
            }
            None => {
                self.groups.push((group, ns));
                1
            }
        }
    }

    fn merge(&mut self, other: &Spread) {
        self.ns += other.ns;
        self.windows.merge(&other.windows);
        for (group, ns) in &other.groups {
            self.add_to_group(*group, *ns);
        }
    }

    fn add_times(&self, factor: f64, residuals: &mut [f64; GROUPS]) {
        for (group, ns) in &self.groups {
            residuals[usize::from(*group) % GROUPS] += factor * f64::from(*ns);
        }
    }
}

/// Everything that was drawn, by lock and by part of its time.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    spreads: FxHashMap<Key, Spread>,
    /// Sums kept.
    kept: usize,
    bound: usize,
}

impl Draws {
    /// Keeps so many sums at most. Beyond that there are no intervals.
    pub fn new(bound: usize) -> Draws {
        Draws { bound, ..Draws::default() }
    }

    /// Adds so much time that a draw stands for, of a lock at this place. False if there was no room.
    pub fn add(&mut self, (lock, within): (u32, Within), part: PartOf, draw: &Draw, ns: f64) -> bool {
        let has_room = self.kept < self.bound;
        if has_room {
            self.kept += self.spreads.entry(Key { lock, within, part }).or_default().add(draw, ns);
        }
        has_room
    }

    /// What intervals are computed from; `None` if nothing was drawn, or not all of it was kept.
    pub fn strata(&self, mut class: impl FnMut(u32) -> u32) -> Option<Strata<'_>> {
        if self.spreads.is_empty() || self.kept >= self.bound {
            return None;
        }
        let mut places: FxHashMap<(Within, bool, u32), usize> = FxHashMap::default();
        let mut place_of: FxHashMap<(u32, Within), usize> = FxHashMap::default();
        let mut all: Vec<Spread> = Vec::new();
        for (key, spread) in self.spreads.iter().filter(|(key, _)| key.part == PartOf::All) {
            let stratum = match spread.instants.count < FEW {
                true => (key.within, true, class(key.lock)),
                false => (key.within, false, key.lock),
            };
            let place = *places.entry(stratum).or_insert_with(|| {
                all.push(Spread::default());
                all.len() - 1
            });
            all[place].merge(spread);
            place_of.insert((key.lock, key.within), place);
        }
        let mut parts: FxHashMap<PartOf, Vec<(usize, &Spread)>> = FxHashMap::default();
        for (key, spread) in self.spreads.iter().filter(|(key, _)| key.part != PartOf::All) {
            if let Some(place) = place_of.get(&(key.lock, key.within)) {
                parts.entry(key.part).or_default().push((*place, spread));
            }
        }
        Some(Strata { all, parts })
    }
}

/// What intervals are computed from.
#[derive(Debug)]
pub(crate) struct Strata<'a> {
    /// All that was drawn of a lock, or of the locks of a class.
    all: Vec<Spread>,
    parts: FxHashMap<PartOf, Vec<(usize, &'a Spread)>>,
}

impl Strata<'_> {
    /// The interval of the time that these parts have together, some of which may be exact;
    /// `None` if all of it is.
    pub fn interval(&self, parts: impl IntoIterator<Item = PartOf>, total_ns: u64) -> Option<Interval> {
        let mut residuals = [0.0; GROUPS];
        let mut by_stratum: BTreeMap<usize, f64> = BTreeMap::new();
        let mut instants = Windows::default();
        let spreads = parts.into_iter().filter_map(|part| self.parts.get(&part)).flatten();
        for (stratum, spread) in spreads {
            spread.add_times(1.0, &mut residuals);
            instants.merge(&spread.windows);
            *by_stratum.entry(*stratum).or_default() += spread.ns;
        }
        let (mut whole, mut all_instants, mut groups) = (0.0, Windows::default(), 0);
        for (stratum, ns) in &by_stratum {
            let all = &self.all[*stratum];
            groups = groups.max(all.groups.len());
            all.add_times(-ns / all.ns.max(f64::MIN_POSITIVE), &mut residuals);
            whole += all.ns;
            all_instants.merge(&all.windows);
        }
        let all_instants = all_instants.count() as f64;
        if whole <= 0.0 {
            return None;
        }
        let estimated: f64 = by_stratum.values().sum();
        let share = (estimated / whole).clamp(0.0, 1.0);
        // Relative to the whole. What never changed between neighbours may have done so once.
        let variance = residuals.iter().map(|ns| (ns / whole).powi(2)).sum::<f64>();
        let variance = variance.max(0.5 / (all_instants * all_instants));
        let both = share * (1.0 - share);
        // Where all that was seen is alike, chance could still have hidden something.
        let observations = if both * all_instants < 0.5 { all_instants } else { both / variance };
        let (low, high) = wilson(share, observations, students_97_5(groups.max(2) as f64 - 1.0));
        let at = |end: f64| (total_ns as f64 - estimated + whole * end).max(0.0).round() as u64;
        Some(Interval { low_ns: at(low).min(total_ns), high_ns: at(high).max(total_ns), instants: instants.count() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::Sampling;
    use headway_model::DurationNs;

    const WINDOW: u64 = 1_000_000;

    fn schedule() -> Schedule {
        Schedule::new(Sampling { time: TimeNs(7_000), window: DurationNs(WINDOW), seed: 3, ..Sampling::default() })
    }

    /// The instant of a window.
    fn at(window: u64) -> Draw {
        Draw::certain(&schedule(), TimeNs(7_000 + window * WINDOW))
    }

    #[test]
    fn instants_are_counted_once_though_they_come_out_of_order() {
        let mut instants = Instants::default();
        for window in [5, 6, 5, 8, 7, 7, 8, 200, 8, 199, 199] {
            instants.add(window);
        }
        assert_eq!(instants.count, 6);
    }

    #[test]
    fn an_instant_at_which_many_locks_were_seen_is_one_observation() {
        let mut draws = Draws::new(10_000_000);
        for (windows, locks) in [(100, 50), (5_000, 20)] {
            let parts = |lock| PartOf::HandOff(1_000 * locks + lock);
            for (lock, window) in (0..locks).flat_map(|lock| (0..windows).map(move |window| (lock, window))) {
                // Each lock is seen at another half of the instants.
                if Random::new(window * 100 + u64::from(lock)).next_u64() % 2 == 0 {
                    let within = (1_000 * locks + lock, Within::Owned);
                    assert!(draws.add(within, PartOf::All, &at(window), 100.0));
                    assert!(draws.add(within, parts(lock), &at(window), 100.0));
                }
            }
            let strata = draws.strata(|_| 0).unwrap();
            let seen = strata.interval((0..locks).map(parts), 1_000_000).unwrap().instants;
            let exact = if windows as usize <= KEPT { windows..=windows } else { windows * 3 / 4..=windows * 5 / 4 };
            assert!(exact.contains(&seen), "{seen} of {windows}");
        }
    }

    /// A lock's owners together have as many observations as its only method: that of an owner is one of each thread.
    #[test]
    fn the_same_instants_are_as_many_observations_however_they_are_divided() {
        for (windows, threads) in [(283, 400), (20_000, 7)] {
            let mut draws = Draws::new(10_000_000);
            for window in 0..windows {
                for part in [PartOf::All, PartOf::Node(0), PartOf::Owner(window as u32 * 31 % threads)] {
                    assert!(draws.add((0, Within::Owned), part, &at(window), 100.0));
                }
            }
            let strata = draws.strata(|_| 0).unwrap();
            let of_node = strata.interval([PartOf::Node(0)], 1_000).unwrap().instants;
            let of_owners = strata.interval((0..threads).map(PartOf::Owner), 1_000).unwrap().instants;
            assert_eq!(of_node, of_owners);
            assert!(of_node.abs_diff(windows) * 10 <= if windows as usize <= KEPT { 0 } else { windows }, "{of_node}");
        }
    }

    /// The interval of one of two parts of a lock, of which each window has one.
    fn interval_of(part: impl Fn(u64) -> u32) -> Interval {
        let mut draws = Draws::new(10_000);
        for window in 0..400 {
            let within = (0, Within::Owned);
            assert!(draws.add(within, PartOf::All, &at(window), 100.0));
            assert!(draws.add(within, PartOf::Owner(part(window)), &at(window), 100.0));
        }
        let strata = draws.strata(|_| 0).unwrap();
        strata.interval([PartOf::Owner(0)], 20_000).unwrap()
    }

    #[test]
    fn what_lasts_for_many_windows_is_known_better_than_what_changes_with_each() {
        let lasting = interval_of(|window| (window / 100 % 2) as u32);
        let changing = interval_of(|window| (Random::new(window).next_u64() % 2) as u32);
        let width = |it: Interval| it.high_ns - it.low_ns;
        assert!(4 * width(lasting) < width(changing), "{lasting:?} {changing:?}");
        assert_eq!(lasting.instants, 200);
        assert!(lasting.low_ns <= 20_000 && lasting.high_ns >= 20_000, "{lasting:?}");
        // 200 of 400 independent ones have a standard error of 2.5 points, 1,000 ns.
        assert!((3_000..6_000).contains(&width(changing)), "{changing:?}");
    }

    #[test]
    fn what_does_not_fit_has_no_intervals() {
        let mut draws = Draws::new(1);
        assert!(draws.add((0, Within::Owned), PartOf::All, &at(1), 5.0));
        assert!(!draws.add((0, Within::Owned), PartOf::Owner(3), &at(1), 5.0));
        assert!(draws.strata(|_| 0).is_none() && Draws::new(9).strata(|_| 0).is_none());
    }
}
