//! Random instants at which blocked threads are looked at, where a recording samples
//! instead of recording each contention and wait.
//!
//! Time is cut into windows of equal length, and each window has one instant, drawn
//! uniformly. The instants follow from the schedule alone, so that all threads of a
//! process, and whoever reads the recording, know the same ones without asking
//! anybody. What lasts two windows contains a whole one, and so always an instant.

use crate::random::Random;
use crate::time::{DurationNs, TimeNs};

/// See [`Event::Sampling`](crate::Event::Sampling) and [`Schedule`]: from `time` on,
/// contentions and waits are recorded one by one only where a random instant lies in
/// them; the others are added up for each thread and lock ([`Spent`](crate::event::Spent), [`ShortParks`](crate::event::ShortParks)),
/// without a call stack. One that began before `time` is recorded in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sampling {
    /// When the first window begins.
    pub time: TimeNs,
    /// Length of a window, which has one instant; zero if everything is recorded.
    pub window: DurationNs,
    /// What the instants are drawn from.
    pub seed: u64,
    /// Why windows are that long.
    pub bound: SamplingBound,
    /// True if not even the number of all parks is known: of a thread that parks often, those that
    /// no random instant lies in are left out, and each that was recorded by chance is added up as often
    /// as it stands for others. Sums of parks are estimates then.
    pub thins: bool,
}

/// What decided how long the windows of a recording that samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SamplingBound {
    /// Somebody asked for this length.
    #[default]
    Window,
    /// What the recording may cost in CPU time.
    Cpu,
    /// By how much its file may grow.
    FileRate,
}

impl SamplingBound {
    const ALL: [(&'static str, SamplingBound); 3] = [
        ("sampling-window", SamplingBound::Window),
        ("budget", SamplingBound::Cpu),
        ("max-rate", SamplingBound::FileRate),
    ];

    /// The option that sets it, which is its name in recordings.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// What a recording says; one that says nothing was made before there were others.
    pub fn named(name: &str) -> SamplingBound {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, bound)| *bound).unwrap_or_default()
    }
}

/// Windows of one length from a moment on, each with its instant.
///
/// ```
/// use headway_model::event::Sampling;
/// use headway_model::schedule::Schedule;
/// use headway_model::{DurationNs, TimeNs};
///
/// let sampling = Sampling { time: TimeNs(5_000), window: DurationNs(1_000), seed: 7, ..Sampling::default() };
/// let schedule = Schedule::new(sampling);
/// assert!(schedule.hits(TimeNs(5_100), TimeNs(7_100)), "two windows contain an instant");
/// assert_eq!(schedule.chance(TimeNs(5_000), TimeNs(5_250)), 0.25);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    from: TimeNs,
    window: DurationNs,
    seed: u64,
    bound: SamplingBound,
    thins: bool,
}

impl Schedule {
    /// What the event says.
    pub const fn new(sampling: Sampling) -> Schedule {
        let Sampling { time, window, seed, bound, thins } = sampling;
        Schedule { from: time, window, seed, bound, thins }
    }

    /// See [`Sampling::thins`].
    pub const fn thins(&self) -> bool {
        self.thins
    }

    /// Why windows are that long.
    pub const fn bound(&self) -> SamplingBound {
        self.bound
    }

    /// When it begins.
    pub const fn from(&self) -> TimeNs {
        self.from
    }

    /// The length of a window; zero if everything is recorded.
    pub const fn window(&self) -> DurationNs {
        self.window
    }

    /// True if it samples.
    pub const fn samples(&self) -> bool {
        self.window.0 > 0
    }

    /// The last instant up to a moment; `None` if there was none.
    #[inline]
    pub fn latest(&self, now: TimeNs) -> Option<TimeNs> {
        let number = self.number(now)?;
        let instant = self.instant(number);
        match instant <= now {
            true => Some(instant),
            false => number.checked_sub(1).map(|before| self.instant(before)),
        }
    }

    /// The first instant after a moment; `None` before the schedule begins.
    pub fn next(&self, now: TimeNs) -> Option<TimeNs> {
        let number = self.number(now)?;
        let instant = self.instant(number);
        Some(if instant > now { instant } else { self.instant(number.saturating_add(1)) })
    }

    /// How many more like something that began and ended then, and was recorded by chance, it stands
    /// for: a whole number that is right on average, since the rest is left to `draw`.
    pub fn others(&self, start: TimeNs, end: TimeNs, draw: u64) -> u64 {
        // Nothing that an instant lies in is shorter than a nanosecond.
        let least = (self.window.0.max(1) as f64).recip();
        let others = self.chance(start, end).max(least).recip() - 1.0;
        let uniform = (Random::new(draw).next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        (others + uniform) as u64
    }

    /// True if there is an instant after `start`, up to and with `end`.
    #[inline]
    pub fn hits(&self, start: TimeNs, end: TimeNs) -> bool {
        self.latest(end).is_some_and(|instant| instant > start)
    }

    /// How probable [`Self::hits`] is for something that begins and ends then, over all
    /// that the schedule could have drawn: 0 to 1.
    pub fn chance(&self, start: TimeNs, end: TimeNs) -> f64 {
        let (Some(first), Some(last)) = (self.number(start.max(self.from)), self.number(end)) else { return 0.0 };
        if end.since(start).0 >= 2 * self.window.0 {
            return 1.0;
        }
        let missed = (first..=last).map(|number| {
            let begin = self.begin(number);
            let overlap = end.min(begin + self.window).since(start.max(begin));
            1.0 - overlap.0 as f64 / self.window.0 as f64
        });
        1.0 - missed.product::<f64>()
    }

    /// The instants after `start`, up to and with `end`, in order.
    pub fn within(&self, start: TimeNs, end: TimeNs) -> impl Iterator<Item = TimeNs> + '_ {
        self.some_within(start, end, u64::MAX)
    }

    /// The same, of windows as far from each other as needed for no more than `most` instants.
    pub fn some_within(&self, start: TimeNs, end: TimeNs, most: u64) -> impl Iterator<Item = TimeNs> + '_ {
        let first = self.number(start.max(self.from));
        let numbers = first.zip(self.number(end)).into_iter().flat_map(move |(first, last)| {
            let step = last.saturating_sub(first) / most.max(1) + 1;
            (first..=last).step_by(usize::try_from(step).unwrap_or(usize::MAX))
        });
        numbers.map(|number| self.instant(number)).filter(move |instant| start < *instant && *instant <= end)
    }

    /// Where the window that contains a moment ends.
    pub fn window_end(&self, time: TimeNs) -> TimeNs {
        self.number(time).map_or(self.from, |number| self.begin(number.saturating_add(1)))
    }

    /// Number of the window that contains a moment, counted from 0; `None` if none does.
    #[inline]
    pub fn number(&self, time: TimeNs) -> Option<u64> {
        time.0.checked_sub(self.from.0)?.checked_div(self.window.0)
    }

    fn begin(&self, number: u64) -> TimeNs {
        self.from + DurationNs(number.saturating_mul(self.window.0))
    }

    /// The instant of a window: the number that SplitMix64 has at its place.
    #[inline]
    fn instant(&self, number: u64) -> TimeNs {
        let seed = self.seed.wrapping_add(number.wrapping_mul(Random::STEP));
        let offset = (u128::from(Random::new(seed).next_u64()) * u128::from(self.window.0)) >> 64;
        self.begin(number) + DurationNs(offset as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(time: u64, seed: u64) -> Schedule {
        Schedule::new(Sampling { time: TimeNs(time), window: DurationNs(MS), seed, ..Sampling::default() })
    }

    fn schedule() -> Schedule {
        of(123_456_789, 5)
    }

    #[test]
    fn each_window_has_one_instant_and_they_are_spread_evenly() {
        let schedule = schedule();
        let begin = schedule.from();
        let windows = 100_000;
        let instants: Vec<TimeNs> = schedule.within(begin, begin + DurationNs(windows * MS)).collect();
        assert!(instants.len().abs_diff(windows as usize) <= 1, "{}", instants.len());
        let mut tenths = [0_u32; 10];
        for (number, instant) in instants.iter().enumerate() {
            let offset = instant.since(begin).0 - number as u64 * MS;
            assert!(offset < MS, "window {number}");
            tenths[(offset * 10 / MS) as usize] += 1;
        }
        // 10,000 are expected, with a standard deviation of 95.
        assert!(tenths.iter().all(|count| (9_500..10_500).contains(count)), "{tenths:?}");
    }

    #[test]
    fn the_next_instant_is_the_first_behind() {
        let schedule = schedule();
        for offset in (0..50 * MS).step_by(77_777) {
            let now = schedule.from() + DurationNs(offset);
            let first = schedule.within(now, now + DurationNs(2 * MS)).next();
            assert_eq!(schedule.next(now), first);
        }
        assert_eq!(schedule.next(TimeNs(5)), None);
    }

    /// Parks of any length, each hit with its chance and counted with the others that it stands for:
    /// their number and time are right on average.
    #[test]
    fn with_those_that_it_stands_for_number_and_time_are_right_on_average() {
        for length in [3_000, 100_000, 700_000, 1_600_000, 2_500_000] {
            let (mut number, tries) = (0, 400_000_u64);
            for seed in 0..tries {
                let schedule = of(123_456_789, seed);
                let start = schedule.from() + DurationNs(5 * MS + seed.wrapping_mul(7_919) % MS);
                let end = start + DurationNs(length);
                number += if schedule.hits(start, end) { 1 + schedule.others(start, end, !seed) } else { 0 };
            }
            // Each that is hit stands for up to MS / length.
            let deviation = (tries as f64 * (MS as f64 / length as f64)).sqrt();
            assert!((number as f64 - tries as f64).abs() < 4.0 * deviation, "{number} of {tries}, {length} ns each");
        }
    }

    #[test]
    fn what_lasts_two_windows_is_always_hit() {
        let schedule = schedule();
        for offset in (0..20 * MS).step_by(9_973) {
            let start = schedule.from() + DurationNs(offset);
            assert!(schedule.hits(start, start + DurationNs(2 * MS)));
        }
    }

    #[test]
    fn latest_hits_and_within_agree() {
        let schedule = schedule();
        for offset in (0..50 * MS).step_by(77_777) {
            let start = schedule.from() + DurationNs(offset);
            let end = start + DurationNs(offset % (3 * MS));
            let within: Vec<TimeNs> = schedule.within(start, end).collect();
            assert_eq!(schedule.hits(start, end), !within.is_empty());
            if let Some(last) = within.last() {
                assert_eq!(schedule.latest(end), Some(*last));
            }
        }
    }

    /// Over many schedules, what is hit as often as its chance says weighs what it lasts.
    #[test]
    fn the_chance_is_how_often_something_is_hit() {
        for (offset, length) in [(100_000, 300_000), (700_000, 600_000), (900_000, 1_500_000), (0, 10_000)] {
            let (mut hits, mut chance) = (0_u32, 0.0);
            let tries = 20_000_u64;
            for seed in 0..tries {
                let schedule = of(123_456_789, seed);
                let start = schedule.from() + DurationNs(5 * MS + offset);
                let end = start + DurationNs(length);
                hits += u32::from(schedule.hits(start, end));
                chance = schedule.chance(start, end);
            }
            let expected = chance * tries as f64;
            let deviation = (expected * (1.0 - chance)).sqrt();
            assert!((f64::from(hits) - expected).abs() <= 4.0 * deviation + 1.0, "{hits} instead of {expected}");
        }
    }

    #[test]
    fn bounds_have_their_options_names() {
        for (at, (name, bound)) in SamplingBound::ALL.into_iter().enumerate() {
            assert_eq!((bound as usize, bound.name(), SamplingBound::named(name)), (at, name, bound));
        }
        assert_eq!(SamplingBound::named(""), SamplingBound::Window);
    }

    #[test]
    fn before_it_begins_and_without_a_window_there_is_nothing() {
        let schedule = schedule();
        assert_eq!(schedule.latest(TimeNs(5)), None);
        assert!(!schedule.hits(TimeNs(1), TimeNs(5)));
        let all = Schedule::default();
        assert!(!all.samples() && !all.hits(TimeNs(0), TimeNs(u64::MAX)));
        assert_eq!(all.within(TimeNs(0), TimeNs(9)).count(), 0);
        let early = schedule.within(TimeNs(0), schedule.from() + DurationNs(3 * MS)).count();
        assert!((2..=3).contains(&early), "{early}");
    }
}
