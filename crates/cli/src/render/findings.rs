//! Findings: what matters, in plain words.

use super::{prose, title};
use crate::terminal::Screen;
use headway_analysis::report::{FindingKind, Report};
use std::fmt::Write;

/// Writes the findings, dearest first, as the analysis sorted them.
pub fn write(report: &Report, screen: &Screen, out: &mut String) {
    title("FINDINGS", "", screen, out);
    for (index, finding) in report.findings.iter().enumerate() {
        let number = format!("{:>3}. ", index + 1);
        let lines = prose::wrapped(&finding.text, screen.width, number.len());
        for (nth, line) in lines.iter().enumerate() {
            let start = if nth == 0 { number.as_str() } else { "     " };
            let text = prose::with_names(line.trim_start(), screen);
            let text = if is_alarming(finding.kind) && screen.colour { screen.alarm(&text) } else { text };
            let _ = writeln!(out, "{start}{text}");
        }
        for detail in &finding.details {
            let detail = prose::fitted(detail, screen.width.saturating_sub(7), screen);
            let _ = writeln!(out, "       {}", screen.faint(&detail));
        }
    }
}

fn is_alarming(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::Deadlock)
}
