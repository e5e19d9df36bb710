//! Numbers for people: three significant digits, grouped thousands.

use headway_model::DurationNs;

/// A length of time: `38.0 ms`.
pub fn time(ns: u64) -> String {
    DurationNs(ns).to_string()
}

/// A fraction as a percentage: `97.3 %`; never `100 %` or `0 %` unless it is.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.05 => "<0.1 %".to_owned(),
        p if p < 99.95 => format!("{p:.1} %"),
        p if p < 99.9999 => ">99.9 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// A whole number with its thousands set apart: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A size: `812 bytes`, `1.2 MB` (of 1024 KB).
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS.get(unit).copied().unwrap_or_default())
}

/// `1 thread`, `2 threads`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A bar of at most `width` columns for a share, drawn in eighths.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * width as f64 * 8.0).round() as usize;
    // What is there shows, however little.
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// One column of a line over time: eight heights, the lowest for nothing.
pub fn level(share: f64) -> char {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    // What is there shows, however little.
    let level = if share > 0.0 { (share * 7.0).round().max(1.0) as usize } else { 0 };
    LEVELS.get(level).copied().unwrap_or('█')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_do_not_pretend() {
        let shown = [0.0, 0.0001, 0.123_4, 0.9996, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "<0.1 %", "12.3 %", ">99.9 %", "100 %"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn sizes() {
        assert_eq!([812, 1_536, 5 << 20, 300 << 30].map(bytes), ["812 bytes", "1.5 KB", "5.0 MB", "300 GB"]);
        assert_eq!(bytes((1 << 20) - 1), "1.0 MB");
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!(
            [0.0, 0.001, 0.5, 0.56, 1.0, 7.0, f64::NAN].map(|s| bar(s, 4)),
            ["", "▏", "██", "██▎", "████", "████", ""]
        );
    }
}
