//! What is missing: losses, mechanisms not active, damage; and the cost.

use super::own_cost::OwnCost;
use super::{missing, numbers, prose, title};
use crate::recording::analysed::Analysed;
use crate::terminal::Screen;
use headway_model::Loss;
use std::fmt::Write;

/// Writes losses, degraded mechanisms, problems of the file and own cost.
pub fn write(analysed: &Analysed, screen: &Screen, out: &mut String) {
    let report = &analysed.report;
    let losses: Vec<(&String, &u64)> = report.losses.iter().filter(|(_, count)| **count > 0).collect();
    title("LOSSES", "", screen, out);
    if losses.is_empty() {
        let _ = writeln!(out, "  none: no event was dropped");
    }
    for (name, count) in losses {
        let meaning = Loss::from_name(name).map_or("", Loss::explanation);
        paragraph(&screen.warning(&format!("{} {name}", numbers::grouped(*count))), meaning, screen, out);
    }
    if !report.degraded.is_empty() {
        title("DEGRADED", "this recording has less information than usual", screen, out);
    }
    let degraded = report.degraded.iter().map(|degraded| (&*degraded.mechanism, &*degraded.reason));
    for line in missing::sentences(degraded).iter().flat_map(|reason| prose::wrapped(reason, screen.width, 2)) {
        let _ = writeln!(out, "{}", screen.warning(&line));
    }
    if !analysed.problems.is_empty() {
        title("DAMAGE", "only the readable part is shown", screen, out);
    }
    for problem in &analysed.problems {
        paragraph(&screen.alarm("problem"), problem, screen, out);
    }
    own_cost(analysed, screen, out);
}

fn paragraph(name: &str, text: &str, screen: &Screen, out: &mut String) {
    let _ = writeln!(out, "  {name}");
    for line in prose::wrapped(text, screen.width, 4) {
        let _ = writeln!(out, "{line}");
    }
}

fn own_cost(analysed: &Analysed, screen: &Screen, out: &mut String) {
    let Some(sentences) = OwnCost::from(&analysed.report).sentences() else { return };
    let _ = writeln!(out);
    for line in prose::wrapped(&sentences, screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}
