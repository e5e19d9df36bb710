//! Numbers and lists as a sentence wants them.

/// `38 %`, `3.8 %`, `0.38 %`, `less than 0.01 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.995 => format!("{p:.1} %"),
        p if p >= 0.01 => format!("{p:.2} %"),
        0.0 => "0 %".to_owned(),
        _ => "less than 0.01 %".to_owned(),
    }
}

/// `1 thread`, `12 threads`.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// `1,234,567`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name of code in backticks.
pub(super) fn code(name: &str) -> String {
    format!("`{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(percent(0.376), "38 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.038), "3.8 %");
        assert_eq!(percent(0.0038), "0.38 %");
        assert_eq!(percent(0.00001), "less than 0.01 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(count(1, "thread"), "1 thread");
        assert_eq!(count(1_234_567, "wait"), "1,234,567 waits");
        assert_eq!(grouped(999), "999");
    }
}
