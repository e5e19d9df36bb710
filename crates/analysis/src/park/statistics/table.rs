//! Park statistics as an aligned table.

use super::park_statistics_report::{BlockerStatistics, ParkStatisticsReport};
use headway_model::quantity::{counted, grouped, percent};
use headway_model::DurationNs;
use std::fmt::Write;

/// Titles of the columns after the first two.
const TITLES: [&str; 11] = [
    "parks",
    "now",
    "peak",
    "thread time",
    "real time",
    "avg park",
    "avg hold",
    "real / run",
    "thread / run",
    "real / life",
    "thread / life",
];
/// Frames of a stack shown; the rest is in the JSON.
const FRAMES: usize = 8;

impl ParkStatisticsReport {
    /// One line for each blocker, and below it where it was first measured.
    /// `frames` is how many frames of that are shown, if not all.
    pub fn table(&self, frames: Option<usize>) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "Park statistics over {}", DurationNs(self.execution_ns));
        if self.blockers.is_empty() {
            let _ = writeln!(out, "No blocker with enough parks.");
        } else {
            self.rows(frames.unwrap_or(FRAMES), &mut out);
        }
        self.left_out(&mut out);
        out
    }

    /// What is said below the blockers: what is not among them.
    pub fn remainder(&self) -> String {
        let mut out = String::new();
        self.left_out(&mut out);
        out
    }

    fn rows(&self, frames: usize, out: &mut String) {
        let cells: Vec<[String; 11]> = self.blockers.iter().map(cells).collect();
        let mut widths = TITLES.map(str::len);
        for row in &cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.len().max(*width);
            }
        }
        line(&TITLES.map(str::to_owned), &widths, "blocker", out);
        for (blocker, row) in self.blockers.iter().zip(&cells) {
            line(row, &widths, &blocker.title(), out);
            let _ = writeln!(out, "    {}", blocker.who());
            for frame in blocker.stack.iter().take(frames) {
                let _ = writeln!(out, "        {frame}");
            }
            if blocker.stack.len() > frames {
                let _ = writeln!(out, "        ({} more)", blocker.stack.len() - frames);
            }
        }
    }

    fn left_out(&self, out: &mut String) {
        if self.not_shown > 0 {
            let thresholds = (self.collection_threshold, self.printing_threshold);
            let _ = writeln!(
                out,
                "{} more with fewer parks (collection threshold {}, printing threshold {}).",
                grouped(self.not_shown),
                grouped(thresholds.0),
                grouped(thresholds.1),
            );
        }
        if self.folded.blockers > 0 {
            let _ = writeln!(
                out,
                "{} blockers that were short-lived or little used have no row: {}, {} thread time.",
                grouped(self.folded.blockers),
                counted(self.folded.times_parked, "park", "parks"),
                DurationNs(self.folded.thread_time_ns),
            );
        }
        if self.out_of_order > 0 {
            let _ = writeln!(out, "Too many parks lay out of order: peaks and real times may be a little off.");
        }
    }
}

fn line(cells: &[String; 11], widths: &[usize; 11], title: &str, out: &mut String) {
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(out, "{cell:>width$}  ");
    }
    let _ = writeln!(out, "{title}");
}

impl BlockerStatistics {
    /// The blocker: its name, if it has one, its class and hash.
    pub fn title(&self) -> String {
        let object = format!("{}@{}", self.class, self.hash);
        match self.name.is_empty() {
            true => object,
            false => format!("{} ({object})", self.name),
        }
    }

    /// The thread whose stack is shown, and that it has nothing to do, if so.
    pub fn who(&self) -> String {
        let idle = if self.idle { ", idle (waiting for work or the end of threads)" } else { "" };
        format!("{}{idle}", self.thread)
    }

    /// The row of the table, each cell with its column's title in front.
    pub fn labelled(&self) -> Vec<String> {
        TITLES.iter().zip(cells(self)).map(|(title, cell)| format!("{title} {cell}")).collect()
    }
}

/// What a cell has where its number is not known.
const UNKNOWN: &str = "-";

fn cells(blocker: &BlockerStatistics) -> [String; 11] {
    let time = |ns: Option<u64>| ns.map_or(UNKNOWN.to_owned(), |ns| DurationNs(ns).to_string());
    let part = |part: Option<f64>| part.map_or(UNKNOWN.to_owned(), percent);
    [
        blocker.times_parked.to_string(),
        blocker.parked_now.to_string(),
        blocker.peak_parked.to_string(),
        DurationNs(blocker.thread_time_ns).to_string(),
        time(blocker.real_time_ns),
        DurationNs(blocker.avg_park_ns).to_string(),
        time(blocker.avg_hold_ns),
        part(blocker.real_util),
        percent(blocker.thread_util),
        part(blocker.real_life_util),
        percent(blocker.thread_life_util),
    ]
}
