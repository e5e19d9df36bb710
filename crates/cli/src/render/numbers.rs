//! Numbers for people, as everywhere, and shares as bars.

pub use headway_model::quantity::{between, bytes, change, counted, duration as time, grouped, percent};

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
    fn bars_are_drawn_in_eighths() {
        assert_eq!(
            [0.0, 0.001, 0.5, 0.56, 1.0, 7.0, f64::NAN].map(|s| bar(s, 4)),
            ["", "▏", "██", "██▎", "████", "████", ""]
        );
    }
}
