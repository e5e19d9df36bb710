//! Park statistics as a table, or, on screens that are too narrow for it, as a paragraph
//! per blocker with the same cells.

use super::prose;
use crate::terminal::Screen;
use headway_analysis::park::statistics::{BlockerStatistics, ParkStatisticsReport};
use headway_model::DurationNs;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Columns of the legend where lines are not cut.
const LEGEND_WIDTH: usize = 100;

/// The table, with at most `frames` frames of each stack, `more` below it, and what its columns are.
pub fn park_statistics(report: &ParkStatisticsReport, frames: usize, more: &str, screen: &Screen) -> String {
    let table = report.table(Some(frames));
    if report.blockers.is_empty() {
        return table + more;
    }
    if !screen.cut || table.lines().all(|line| line.width() <= screen.width) {
        return table + more + &legend(screen);
    }
    let mut out = format!("Park statistics over {}\n", DurationNs(report.execution_ns));
    report.blockers.iter().for_each(|blocker| paragraph(blocker, frames, screen, &mut out));
    out + &report.remainder() + more + &legend(screen)
}

/// What the columns are, for those who have not read the help.
fn legend(screen: &Screen) -> String {
    const COLUMNS: [&str; 6] = [
        "now, peak: threads that are parked now, and the most at one time",
        "thread time: parked time, added up over threads; avg park: thread time / parks",
        "real time: time in which at least one thread was parked; avg hold: real time / parks that ended. For a lock that \
         always has a queue, this is how long each owner had it; for other blockers, it has no such meaning",
        "/ run: part of the measured time; / life: part of the time from the first to the last event on this blocker",
        "idle: threads that wait for work or for the end of threads. Of the other blockers, the one with the most thread time \
         is likely the bottleneck",
        "If each wait has its own object (a future, a latch), all rows are small: see WAITING in report --full, which adds \
         up the waits at one place",
    ];
    let width = if screen.cut { screen.width } else { LEGEND_WIDTH };
    let lines = COLUMNS.iter().flat_map(|column| prose::wrapped(column, width, 2));
    lines.fold("\n".to_owned(), |text, line| text + &screen.faint(&line) + "\n")
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
