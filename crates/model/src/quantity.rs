//! Numbers for people: the one place that decides how they look.
//!
//! Three significant digits of times and sizes, two of percentages:
//! `12.7 s`, `1.30 ms`, `45 %`, `< 0.1 %`, `1,234,567`. The page has the same
//! rules in `web/src/text/units.ts`; `quantity_cases.txt` is the table with
//! which both are tested.

use crate::DurationNs;
use std::fmt;

/// What is shown where there is no number.
const NONE: &str = "–";
/// From here on a fraction is shown as `> 99 %`, or `100 %`.
const NEARLY_ALL: f64 = 0.995;
/// Below this it is shown as `< 0.1 %`, or `0 %`.
const NEARLY_NONE: f64 = 0.001;

/// A fraction as a percentage: `45 %`, `3.8 %`, `< 0.1 %`; never `0 %` or `100 %` unless it is.
pub fn percent(share: f64) -> String {
    let percent = share.abs() * 100.0;
    let negative = share < 0.0;
    let sign = if negative { "-" } else { "" };
    let beyond = |below: bool| if below != negative { "<" } else { ">" };
    match percent {
        p if !p.is_finite() => NONE.to_owned(),
        0.0 => "0 %".to_owned(),
        p if p < 0.1 => format!("{} {sign}0.1 %", beyond(true)),
        p if p < 9.95 => format!("{sign}{p:.1} %"),
        p if p < 99.5 => format!("{sign}{p:.0} %"),
        p if p < 99.999_9 => format!("{} {sign}99 %", beyond(false)),
        p => format!("{sign}{} %", grouped(p.round() as u64)),
    }
}

/// An estimated fraction with its interval of 95 % and what it rests on, a lock at a random instant each:
/// `62 % (58 to 66 %, 412 observations)`; `> 99 % (104 observations)` where the interval says nothing else.
pub fn estimated(share: f64, interval: (f64, f64), instants: u64) -> String {
    let is_said = share >= NEARLY_ALL && percent(interval.0) == percent(NEARLY_ALL - 0.005);
    let how_sure = if is_said { counted(instants, "observation", "observations") } else { between(interval, instants) };
    format!("{} ({how_sure})", percent(share))
}

/// The interval of an estimated fraction: `58 to 66 %, 412 observations`; `at least 98 %, ...` where only one of its
/// ends says something, and only `412 observations` where both are shown as the same number.
pub fn between((low, high): (f64, f64), instants: u64) -> String {
    let observations = counted(instants, "observation", "observations");
    let (is_open_above, is_open_below) = (high >= NEARLY_ALL, low < NEARLY_NONE);
    match (percent(low), percent(high)) {
        (low, _) if is_open_above && !is_open_below => format!("at least {low}, {observations}"),
        (_, high) if is_open_below && !is_open_above => format!("at most {high}, {observations}"),
        (low, high) if low == high => observations,
        (low, high) => format!("{} to {high}, {observations}", low.strip_suffix(" %").unwrap_or(&low)),
    }
}

/// A change as a percentage, always with its sign: `+45 %`, `-3.8 %`. Unlike a share it
/// does not end at 100 %, so that just below is `+100 %`, not `> 99 %`.
pub fn change(fraction: f64) -> String {
    let is_nearly_one = (0.995..1.0).contains(&fraction.abs());
    let fraction = if is_nearly_one { fraction.signum() } else { fraction };
    match percent(fraction) {
        text if fraction > 0.0 && text.starts_with(|c: char| c.is_ascii_digit()) => format!("+{text}"),
        text => text,
    }
}

/// A number of three significant digits, more if it is a larger whole one: `1.30`, `12.7`, `812`, `12,345`.
pub fn digits(value: f64) -> String {
    match value {
        v if v >= 999.5 => grouped(v.round() as u64),
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A length of time in nanoseconds: `812 ns`, `4.21 us`, `38.0 ms`, `12.4 s`.
pub fn duration(ns: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    // What would round to 1000 of a unit is 1 of the next.
    let unit = UNITS.iter().find(|(size, _)| ns as f64 >= size * 0.9995);
    unit.map_or_else(|| format!("{ns} ns"), |(size, unit)| format!("{} {unit}", digits(ns as f64 / size)))
}

/// A size: `812 bytes`, `1.50 KB` (of 1024 bytes), `300 GB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TB"), (30, "GB"), (20, "MB"), (10, "KB")];
    let unit = UNITS.iter().find(|(bits, _)| bytes as f64 >= (1u64 << bits) as f64 * 0.9995);
    match unit {
        Some((bits, unit)) => format!("{} {unit}", digits(bytes as f64 / (1u64 << bits) as f64)),
        None => counted(bytes, "byte", "bytes"),
    }
}

/// A whole number with its thousands set apart: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 thread`, `2 threads`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// See [`duration`].
impl fmt::Display for DurationNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&duration(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page is tested with, too.
    const CASES: &str = include_str!("quantity_cases.txt");

    #[test]
    fn numbers_look_as_in_the_table_that_the_page_shares() {
        let mut checked = 0;
        for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (case, expected) = line.split_once(" = ").expect(line);
            let (kind, value) = case.split_once(' ').expect(line);
            let number: f64 = value.parse().expect(line);
            let shown = match kind {
                "duration" => duration(value.parse().expect(line)),
                "percent" => percent(number),
                "count" => grouped(value.parse().expect(line)),
                _ => panic!("{line}: unknown kind"),
            };
            assert_eq!(shown, expected, "{case}");
            checked += 1;
        }
        assert!(checked > 40, "{checked} cases");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!([0.12, -0.034, 0.0, 0.0001].map(change), ["+12 %", "-3.4 %", "0 %", "< 0.1 %"]);
        assert_eq!([0.994, 0.998, -0.998, 1.004].map(change), ["+99 %", "+100 %", "-100 %", "+100 %"]);
    }

    #[test]
    fn estimates_have_an_interval_and_what_they_rest_on() {
        assert_eq!(estimated(0.62, (0.58, 0.66), 412), "62 % (58 to 66 %, 412 observations)");
        assert_eq!(estimated(0.998, (0.989, 0.999), 104), "> 99 % (104 observations)");
        assert_eq!(estimated(0.998, (0.9, 1.0), 104), "> 99 % (at least 90 %, 104 observations)");
        assert_eq!(between((0.0004, 0.012), 1), "at most 1.2 %, 1 observation");
        assert_eq!(between((0.986, 0.998), 104), "at least 99 %, 104 observations");
        assert_eq!(between((0.0011, 0.994), 9), "0.1 to 99 %, 9 observations");
        assert_eq!(between((0.3961, 0.4042), 197), "197 observations");
        assert_eq!(estimated(0.4, (0.3961, 0.4042), 197), "40 % (197 observations)");
        assert_eq!(between((0.0, 1.0), 2_000), "0 to 100 %, 2,000 observations");
    }

    #[test]
    fn sizes_are_binary() {
        let shown = [1, 812, 1_536, 5 << 20, 300 << 30].map(bytes);
        assert_eq!(shown, ["1 byte", "812 bytes", "1.50 KB", "5.00 MB", "300 GB"]);
        assert_eq!(bytes((1 << 20) - 1), "1.00 MB");
    }

    #[test]
    fn words_follow_the_number() {
        assert_eq!(counted(1, "thread", "threads"), "1 thread");
        assert_eq!(counted(1_234, "thread", "threads"), "1,234 threads");
    }

    #[test]
    fn durations_fill_the_width_of_a_column() {
        assert_eq!(format!("{:>9}", DurationNs(38_000_000)), "  38.0 ms");
    }
}
