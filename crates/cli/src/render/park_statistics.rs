//! Park statistics as a table, or, on screens that are too narrow for it, as a paragraph
//! per blocker with the same cells.

use super::prose;
use crate::terminal::Screen;
use headway_analysis::park::statistics::{BlockerStatistics, ParkStatisticsReport};
use headway_model::DurationNs;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// The table, with at most `frames` frames of each stack.
pub fn park_statistics(report: &ParkStatisticsReport, frames: usize, screen: &Screen) -> String {
    let table = report.table(Some(frames));
    if !screen.cut || report.blockers.is_empty() || table.lines().all(|line| line.width() <= screen.width) {
        return table;
    }
    let mut out = format!("Park statistics over {}\n", DurationNs(report.execution_ns));
    report.blockers.iter().for_each(|blocker| paragraph(blocker, frames, screen, &mut out));
    out + &report.remainder()
}

fn paragraph(blocker: &BlockerStatistics, frames: usize, screen: &Screen, out: &mut String) {
    let mut name = |indent: usize, name: &str| {
        let _ = writeln!(out, "{:indent$}{}", "", prose::fitted(name, screen.width.saturating_sub(indent), screen));
    };
    name(0, &blocker.title());
    for line in prose::listed(&blocker.labelled(), screen.width, 2) {
        name(0, &line);
    }
    name(4, &blocker.who());
    blocker.stack.iter().take(frames).for_each(|frame| name(8, frame));
    if blocker.stack.len() > frames {
        name(8, &format!("({} more)", blocker.stack.len() - frames));
    }
}
