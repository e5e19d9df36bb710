//! The options by which `headway report` shows critical section pressure.

use crate::quantity::{self, Span};
use clap::Args;
use headway_analysis::pressure::PressureOptions;
use headway_model::DurationNs;

/// What a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What is wrong, on one screen.
    Brief,
    /// Everything, who blocked whom first.
    Contention,
    /// Which locks impeded progress, and when.
    Pressure,
    /// Only the times in which one did.
    Phases,
    /// What the environment took.
    Steal,
}

/// What is shown of critical section pressure, and how it is measured.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pressure of locks")]
pub struct PressureView {
    /// Show each lock's pressure by interval: the time that threads were blocked on it, divided
    /// by the time in which threads did not wait (they were on CPU, ready, blocked, asleep or in I/O)
    #[arg(long)]
    pressure: bool,

    /// Show only phases: consecutive intervals in which a lock's pressure is at or above
    /// --threshold
    #[arg(long)]
    phases: bool,

    /// Length of an interval (at least 10ms)
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "1s")]
    interval: Span,

    /// An interval belongs to a phase if its pressure is at least this
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5%")]
    threshold: f64,
}

impl PressureView {
    /// What the report shows.
    pub fn view(&self) -> View {
        match (self.phases, self.pressure) {
            (true, _) => View::Phases,
            (false, true) => View::Pressure,
            (false, false) => View::Brief,
        }
    }

    /// How pressure is measured.
    pub fn options(&self) -> PressureOptions {
        PressureOptions { interval: DurationNs(self.interval.ns), threshold: self.threshold }
    }
}

/// An interval of pressure.
///
/// # Errors
/// A sentence that names the units, or the shortest interval.
pub fn interval(text: &str) -> Result<Span, String> {
    match quantity::seconds(text)? {
        Span { ns } if ns < PressureOptions::SHORTEST.0 => Err("must be 10ms at least".into()),
        span => Ok(span),
    }
}

/// `5%`, `5` or `0.5%` as a fraction.
///
/// # Errors
/// A sentence that says what would be one.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("\"{text}\" is not a percentage above 0, up to 100, such as 5%")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_fractions_of_a_hundred() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("0.5"), Ok(0.005));
        for bad in ["", "%", "0", "101%", "-3", "NaN", "five"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn intervals_are_not_too_short() {
        assert_eq!(interval("10ms"), Ok(Span { ns: 10_000_000 }));
        assert!(interval("9ms").is_err());
        assert!(interval("soon").is_err());
    }
}
