//! Minutes of wall time, and spans of time divided among them.

use headway_model::TimeNs;

/// A minute in nanoseconds.
pub const MINUTE_NS: u64 = 60_000_000_000;
/// So many minutes one recording has at most: 69 days. What lies beyond is in the last one.
pub const MOST_MINUTES: u64 = 100_000;

/// A minute: so many since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(pub u64);

impl Minute {
    /// The minute that a time lies in.
    pub const fn of(time: TimeNs) -> Minute {
        Minute(time.0 / MINUTE_NS)
    }

    /// When it begins.
    pub const fn start(self) -> TimeNs {
        TimeNs(self.0.saturating_mul(MINUTE_NS))
    }
}

/// The minutes of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minutes {
    first: Minute,
}

/// The part of a span that lies in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The minute.
    pub minute: Minute,
    /// When the part begins.
    pub from: TimeNs,
    /// When it ends.
    pub to: TimeNs,
}

impl Part {
    /// How long it is.
    pub fn ns(&self) -> u64 {
        self.to.since(self.from).0
    }
}

impl Minutes {
    /// Minutes from the one on in which `start` lies.
    pub fn from(start: TimeNs) -> Minutes {
        Minutes { first: Minute::of(start) }
    }

    /// The minute of a time; the first for what is earlier.
    pub fn of(self, time: TimeNs) -> Minute {
        let last = self.first.0.saturating_add(MOST_MINUTES - 1);
        Minute(Minute::of(time).0.clamp(self.first.0, last))
    }

    /// The minute in which a span ends; the end itself is not part of a span.
    pub fn of_end(self, end: TimeNs) -> Minute {
        self.of(TimeNs(end.0.saturating_sub(1)))
    }

    /// Divides a span: its parts lie end to end and are nowhere empty.
    pub fn split(self, from: TimeNs, to: TimeNs) -> impl Iterator<Item = Part> {
        let last = self.first.0.saturating_add(MOST_MINUTES - 1);
        let mut at = from;
        std::iter::from_fn(move || {
            if at >= to {
                return None;
            }
            let minute = self.of(at);
            let end = if minute.0 == last { to } else { Minute(minute.0 + 1).start().min(to) };
            let part = Part { minute, from: at, to: end };
            at = end;
            Some(part)
        })
    }

    /// Divides an amount that belongs to a whole span among its parts, by their lengths:
    /// whole numbers that add up to the amount.
    pub fn divide(self, from: TimeNs, to: TimeNs, amount: u64) -> impl Iterator<Item = (Part, u64)> {
        let whole = u128::from(to.since(from).0.max(1));
        let upto = move |time: TimeNs| (u128::from(amount) * u128::from(time.since(from).0) / whole) as u64;
        self.split(from, to).map(move |part| (part, upto(part.to) - upto(part.from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_span_across_minutes_has_a_part_in_each() {
        let minutes = Minutes::from(TimeNs(3 * MINUTE_NS + 7));
        let span = minutes.split(TimeNs(4 * MINUTE_NS - 10), TimeNs(6 * MINUTE_NS));
        let parts: Vec<(u64, u64)> = span.map(|part| (part.minute.0, part.ns())).collect();
        assert_eq!(parts, [(3, 10), (4, MINUTE_NS), (5, MINUTE_NS)]);
        assert_eq!(minutes.of_end(TimeNs(6 * MINUTE_NS)), Minute(5));
    }

    #[test]
    fn the_end_of_time_is_in_the_last_minute_that_there_is() {
        let minutes = Minutes::from(TimeNs(u64::MAX - 5));
        let parts: Vec<Part> = minutes.split(TimeNs(u64::MAX - 5), TimeNs(u64::MAX)).take(3).collect();
        assert_eq!(parts.iter().map(Part::ns).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn what_never_ends_ends_in_the_last_minute() {
        let minutes = Minutes::from(TimeNs(0));
        let parts: Vec<Part> = minutes.split(TimeNs(0), TimeNs(u64::MAX)).collect();
        assert_eq!(parts.len() as u64, MOST_MINUTES);
        assert_eq!(parts.iter().map(Part::ns).sum::<u64>(), u64::MAX);
    }

    proptest! {
        #[test]
        fn parts_and_amounts_add_up(
            start in 0..20 * MINUTE_NS,
            from in 0..20 * MINUTE_NS,
            length in 0..5 * MINUTE_NS,
            amount in any::<u64>(),
        ) {
            let (from, to) = (TimeNs(from), TimeNs(from + length));
            let minutes = Minutes::from(TimeNs(start));
            let parts: Vec<(Part, u64)> = minutes.divide(from, to, amount).collect();
            prop_assert_eq!(parts.iter().map(|(part, _)| part.ns()).sum::<u64>(), length);
            let divided: u128 = parts.iter().map(|(_, part)| u128::from(*part)).sum();
            prop_assert_eq!(divided, if length == 0 { 0 } else { u128::from(amount) });
            prop_assert!(parts.windows(2).all(|pair| pair[0].0.to == pair[1].0.from));
        }
    }
}
