//! Findings: what matters, in plain words.

use super::{prose, title};
use crate::terminal::Screen;
use headway_analysis::report::{Advice, Finding, FindingKind, FindingStack, Report};
use std::fmt::Write;

/// Lines of one detail, a call chain for instance.
const DETAIL_LINES: usize = 3;

/// The note beside the title: times of findings are not parts of one whole.
pub fn overlap(findings: &[Finding]) -> &'static str {
    match findings.iter().filter(|finding| finding.share.is_some()).count() {
        0 | 1 => "",
        _ => "their times can overlap: do not add them up",
    }
}

/// Writes the findings, most expensive first, as the analysis sorted them.
pub fn write(report: &Report, screen: &Screen, out: &mut String) {
    title("FINDINGS", overlap(&report.findings), screen, out);
    for (index, finding) in report.findings.iter().enumerate() {
        let number = format!("{:>3}. ", index + 1);
        let lines = prose::wrapped(&finding.text, screen.width, number.len());
        for (nth, line) in lines.iter().enumerate() {
            let start = if nth == 0 { number.as_str() } else { "     " };
            let text = prose::with_names(line.trim_start(), screen);
            let text = if is_alarming(finding.kind) && screen.colour { screen.alarm(&text) } else { text };
            let _ = writeln!(out, "{start}{text}");
        }
        let stack = |stack: &FindingStack| format!("{}: {}", stack.whose, stack.frames.join(" < "));
        let advice = finding.advice.iter().flat_map(Advice::lines);
        for detail in advice.chain(finding.details.iter().cloned()).chain(finding.stacks.iter().map(stack)) {
            for (nth, line) in prose::wrapped_at_most(DETAIL_LINES, &detail, 9, screen).iter().enumerate() {
                // The lines after the first hang.
                let line = if nth == 0 { line.get(2..).unwrap_or(line) } else { line };
                let _ = writeln!(out, "{}", screen.faint(line));
            }
        }
    }
}

fn is_alarming(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::Deadlock)
}
