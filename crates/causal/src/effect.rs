//! What a gain means to a user, and how it is shown: one formatter for sentences, tables
//! and the page, so that the same estimate is the same text everywhere.

use crate::experiment::{Experiment, END_OF_PROGRAM};
use crate::statistics::throughput_raise;
use headway_model::quantity::change;
use serde::Serialize;

/// The largest effect that is shown as a number: ten times the throughput. Beyond, nearly
/// all of the time per visit is gone, and a small error of it is a large one of its
/// reciprocal. A gain of 0.999 would be +99,900 %, and one of 0.99 +9,900 %.
pub const MOST_EFFECT: f64 = 9.0;

/// What a progress point measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Visits per time.
    Throughput,
    /// The mean time from one point to another.
    Latency,
    /// How long the program runs.
    EndToEnd,
}

impl Measure {
    /// What these experiments measure at a point.
    pub(crate) fn of(experiments: &[Experiment], point: &str) -> Measure {
        match experiments.iter().any(|e| e.in_flight.contains_key(point)) {
            true => Measure::Latency,
            false if point == END_OF_PROGRAM => Measure::EndToEnd,
            false => Measure::Throughput,
        }
    }

    /// What a user counts in: the throughput's rise, or the part of the time that is
    /// saved. At most [`MOST_EFFECT`] either way, which stands for itself and more.
    pub fn effect(self, gain: f64) -> f64 {
        let effect = match self {
            Measure::Throughput => throughput_raise(gain),
            Measure::Latency | Measure::EndToEnd => gain.min(1.0),
        };
        effect.clamp(-MOST_EFFECT, MOST_EFFECT)
    }

    /// The effect of a gain: `87 %`, `-3.4 %`, `more than 900 %`.
    pub fn shown(self, gain: f64) -> String {
        let effect = self.effect(gain);
        let text = change(effect);
        let text = text.strip_prefix('+').unwrap_or(&text);
        match effect {
            e if e >= MOST_EFFECT => format!("more than {text}"),
            e if e <= -MOST_EFFECT => format!("less than {text}"),
            _ => text.to_owned(),
        }
    }

    /// The ends of an interval of gains: `69 % to 105 %`.
    pub fn shown_interval(self, ci95: Option<[f64; 2]>) -> String {
        ci95.map_or("too few experiments".to_owned(), |[low, high]| {
            format!("{} to {}", self.shown(low), self.shown(high))
        })
    }

    /// `raises order/s`.
    pub fn verb(self, point: &str) -> String {
        match self {
            Measure::Throughput => format!("raises {point}/s"),
            Measure::Latency => format!("shortens {point}"),
            Measure::EndToEnd => "shortens the run".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_shown_up_to_a_bound() {
        let shown = |gain| Measure::Throughput.shown(gain);
        assert_eq!([0.2, 0.5, 0.499, -0.25, 0.0].map(shown), ["25 %", "100 %", "100 %", "-20 %", "0 %"]);
        // What was +99,900 %.
        assert_eq!([0.9, 0.99, 0.999, 1.7].map(shown), ["more than 900 %"; 4]);
        assert_eq!(shown(0.89), "809 %");
    }

    #[test]
    fn time_can_be_saved_but_once() {
        let shown = |gain| Measure::Latency.shown(gain);
        assert_eq!([0.25, 1.3, -0.5, -12.0].map(shown), ["25 %", "100 %", "-50 %", "less than -900 %"]);
    }

    #[test]
    fn an_interval_has_both_ends_or_says_why_not() {
        assert_eq!(Measure::Throughput.shown_interval(Some([0.2, 0.95])), "25 % to more than 900 %");
        assert_eq!(Measure::Throughput.shown_interval(None), "too few experiments");
    }
}
