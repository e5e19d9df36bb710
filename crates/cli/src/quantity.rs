//! Lengths of time and sizes as people type them: `30`, `250ms`, `12m`, `64k`.

use std::fmt;

/// A length of time given on the command line, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Nanoseconds.
    pub ns: u64,
}

/// A moment of a recording, counted from its start or back from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// This long after the recording's start.
    AfterStart(Span),
    /// This long before the recording's end (typed with a minus sign).
    BeforeEnd(Span),
}

/// Shows the span in the largest unit that divides it, in the form the parser
/// takes.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = TIME_UNITS
            .iter()
            .rev()
            .find(|(_, ns)| self.ns.is_multiple_of(*ns) && self.ns >= *ns)
            .map_or((self.ns, "ns"), |(unit, ns)| (self.ns / ns, *unit));
        write!(f, "{value}{unit}")
    }
}

/// In the form the parser takes.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::AfterStart(span) => span.fmt(f),
            Moment::BeforeEnd(span) => write!(f, "-{span}"),
        }
    }
}

const TIME_UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

const SIZE_UNITS: [(&str, u64); 4] = [("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];

/// A time where a bare number means seconds (`-d`, `--max-age`).
///
/// # Errors
/// A sentence that names the accepted units.
pub fn seconds(text: &str) -> Result<Span, String> {
    span(text, "s")
}

/// A time where a bare number means nanoseconds (`--min-duration`).
///
/// # Errors
/// A sentence that names the accepted units.
pub fn nanoseconds(text: &str) -> Result<Span, String> {
    span(text, "ns")
}

/// A time that must be longer than nothing.
///
/// # Errors
/// A sentence that says so, or that names the accepted units.
pub fn positive_seconds(text: &str) -> Result<Span, String> {
    match seconds(text)? {
        Span { ns: 0 } => Err("must be longer than 0".into()),
        span => Ok(span),
    }
}

/// A moment: `10s` after the start, `-10s` before the end.
///
/// # Errors
/// A sentence that names the accepted units.
pub fn moment(text: &str) -> Result<Moment, String> {
    match text.strip_prefix('-') {
        Some(rest) => seconds(rest).map(Moment::BeforeEnd),
        None => seconds(text).map(Moment::AfterStart),
    }
}

/// A size in bytes: `4096`, `64k`, `100m`, `2g`.
///
/// # Errors
/// A sentence that names the accepted units.
pub fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let lower = lower.strip_suffix('b').unwrap_or(&lower);
    let help = || format!("\"{text}\" is not a size: write a number of bytes, or with k, m or g, such as 100m");
    let (number, unit) = split_number(lower);
    let factor = SIZE_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(help)?;
    match scale(number, factor) {
        Ok(0) => Err("must be larger than 0".into()),
        Ok(bytes) => Ok(bytes),
        Err(Unscaled::NoNumber) => Err(help()),
        Err(Unscaled::TooLarge) => Err(format!("\"{text}\" is too large a size")),
    }
}

fn span(text: &str, bare_unit: &str) -> Result<Span, String> {
    let help = || format!("\"{text}\" is not a time: write a number with ns, us, ms, s, m or h, such as 250ms");
    let (number, unit) = split_number(text);
    let unit = if unit.is_empty() { bare_unit } else { unit };
    let factor = TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(help)?;
    scale(number, factor).map(|ns| Span { ns }).map_err(|problem| match problem {
        Unscaled::NoNumber => help(),
        Unscaled::TooLarge => format!("\"{text}\" is too long a time"),
    })
}

fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// Why a number cannot be multiplied.
enum Unscaled {
    NoNumber,
    TooLarge,
}

/// `number` times `factor`, exact for whole numbers.
fn scale(number: &str, factor: u64) -> Result<u64, Unscaled> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or(Unscaled::TooLarge);
    }
    let value = number.parse::<f64>().map_err(|_| Unscaled::NoNumber)? * factor as f64;
    if value < u64::MAX as f64 {
        Ok(value as u64)
    } else {
        Err(Unscaled::TooLarge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_every_unit_and_bare_numbers_take_the_options_own() {
        assert_eq!(seconds("30"), Ok(Span { ns: 30_000_000_000 }));
        assert_eq!(seconds("1.5s"), Ok(Span { ns: 1_500_000_000 }));
        assert_eq!(seconds("2h"), Ok(Span { ns: 7_200_000_000_000 }));
        assert_eq!(nanoseconds("10us"), Ok(Span { ns: 10_000 }));
        assert_eq!(nanoseconds("10"), Ok(Span { ns: 10 }));
        assert_eq!(moment("-10s"), Ok(Moment::BeforeEnd(Span { ns: 10_000_000_000 })));
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_units() {
        for bad in ["", "s", "10 s", "10parsec", "1.2.3s", "-", "ns10"] {
            let sentence = seconds(bad).expect_err(bad);
            assert!(sentence.contains("ns, us, ms, s, m or h"), "{sentence}");
        }
        assert!(positive_seconds("0").is_err());
        let too_long = ["99999999999999999h", "99999999999999999999h", "9223372036854775807s"];
        for long in too_long {
            assert_eq!(seconds(long), Err(format!("\"{long}\" is too long a time")));
        }
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64k"), Ok(65_536));
        assert_eq!(bytes("100MB"), Ok(104_857_600));
        assert_eq!(bytes("1g"), Ok(1_073_741_824));
        assert!(bytes("0").is_err());
        assert!(bytes("10x").is_err());
        assert_eq!(bytes("99999999999999g"), Err("\"99999999999999g\" is too large a size".to_owned()));
    }

    #[test]
    fn spans_print_as_they_can_be_typed() {
        for text in ["30s", "250ms", "10us", "7ns", "2h", "90s"] {
            let printed = seconds(text).expect(text).to_string();
            assert_eq!(seconds(&printed), seconds(text));
        }
        assert_eq!(Span { ns: 0 }.to_string(), "0ns");
    }
}
