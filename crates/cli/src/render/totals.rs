//! What several recordings come to: a line per file, and one per JVM of which there
//! are several.

use crate::recording::analysed::Analysed;
use crate::render::{file_name, numbers, prose_fitted, title};
use crate::terminal::Screen;
use comfy_table::{presets, CellAlignment, Table};
use headway_analysis::report::Report;
use headway_model::printable;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns of a name, however narrow the terminal is.
const LEAST_NAME: usize = 12;

/// The numbers of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// File names, or nothing in the line of a JVM.
    pub file: String,
    /// Process id.
    pub pid: u32,
    /// Main class and arguments.
    pub program: String,
    /// Length of the recordings.
    pub duration_ns: u64,
    /// Application threads; of several recordings the largest number.
    pub threads: u64,
    /// Time blocked.
    pub blocked_ns: u64,
    /// Contentions.
    pub contentions: u64,
    /// Time in waits, without idle threads.
    pub waited_ns: u64,
    /// Events dropped.
    pub dropped: u64,
}

impl Totals {
    /// The line of one recording.
    pub fn of(analysed: &Analysed) -> Totals {
        let report = &analysed.report;
        Totals {
            file: analysed.path.display().to_string(),
            pid: report.recording.pid,
            program: report.recording.java_arguments.clone(),
            duration_ns: report.duration_ns,
            threads: report.threads,
            blocked_ns: report.blocked_ns,
            contentions: report.contentions,
            waited_ns: report.waited_ns(),
            dropped: report.losses.values().sum(),
        }
    }

    fn add(&mut self, other: &Totals) {
        self.duration_ns += other.duration_ns;
        self.threads = self.threads.max(other.threads);
        self.blocked_ns += other.blocked_ns;
        self.contentions += other.contentions;
        self.waited_ns += other.waited_ns;
        self.dropped += other.dropped;
    }
}

/// The JVM of a recording: in containers all may have the same process id.
fn jvm(report: &Report) -> (u32, &str, &str) {
    let recording = &report.recording;
    (recording.pid, &recording.java_arguments, &recording.jvm)
}

/// Lines of the JVMs with several recordings, and how many recordings each has.
pub fn per_jvm(shown: &[Analysed]) -> Vec<(Totals, usize)> {
    let mut jvms: BTreeMap<_, (Totals, usize)> = BTreeMap::new();
    for analysed in shown.iter().filter(|analysed| analysed.report.recording.pid != 0) {
        let totals = Totals::of(analysed);
        match jvms.get_mut(&jvm(&analysed.report)) {
            Some((sum, count)) => {
                sum.add(&totals);
                *count += 1;
            }
            None => drop(jvms.insert(jvm(&analysed.report), (Totals { file: String::new(), ..totals }, 1))),
        }
    }
    jvms.into_values().filter(|(_, count)| *count > 1).collect()
}

/// True if two recordings of one JVM cover some of the same time, which is counted twice.
fn overlap(shown: &[Analysed]) -> bool {
    let range = |report: &Report| {
        let start = report.recording.start_ns.saturating_add(report.selection.from_ns.unwrap_or(0));
        (start, start.saturating_add(report.duration_ns))
    };
    shown.iter().enumerate().any(|(at, one)| {
        shown.iter().skip(at + 1).any(|other| {
            let ((begin, end), (from, to)) = (range(&one.report), range(&other.report));
            one.report.recording.pid != 0 && jvm(&one.report) == jvm(&other.report) && begin < to && from < end
        })
    })
}

/// The table below several reports.
pub fn write(shown: &[Analysed], screen: &Screen, out: &mut String) {
    title("TOTALS", "", screen, out);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["FILE", "PID", "DURATION", "THREADS", "BLOCKED", "CONTENTIONS", "WAITED", "DROPPED"]);
    // What the numbers leave.
    let width = if screen.cut { screen.width.saturating_sub(72).max(LEAST_NAME) } else { usize::MAX };
    for analysed in shown {
        table.add_row(cells(&prose_fitted(&file_name(&analysed.path), width), &Totals::of(analysed)));
    }
    for (totals, count) in per_jvm(shown) {
        let program = totals.program.split_whitespace().next().unwrap_or("JVM");
        table.add_row(cells(&format!("{count} x {}", prose_fitted(&printable(program), width - 4)), &totals));
    }
    for column in 1..8 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if shown.iter().any(|analysed| analysed.report.waited_ns() > 0) {
        let note = "  WAITED: Object.wait and parks on java.util.concurrent, idle threads left out.";
        let _ = writeln!(out, "{}", screen.faint(note));
    }
    if overlap(shown) {
        let note = "  Recordings of one JVM overlap: time in both is counted twice.";
        let _ = writeln!(out, "{}", screen.faint(note));
    }
}

fn cells(name: &str, totals: &Totals) -> [String; 8] {
    [
        name.to_owned(),
        totals.pid.to_string(),
        numbers::time(totals.duration_ns),
        numbers::grouped(totals.threads),
        numbers::time(totals.blocked_ns),
        numbers::grouped(totals.contentions),
        numbers::time(totals.waited_ns),
        numbers::grouped(totals.dropped),
    ]
}
