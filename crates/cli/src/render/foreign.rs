//! What a recording holds besides lock events: samples, and events that
//! Headway counts but does not analyse. This is what makes recordings of JFR
//! itself and of async-profiler worth opening.

use super::{details::more, numbers, prose, title};
use crate::recording::analysed::Analysed;
use crate::terminal::Screen;
use headway_analysis::report::{Report, SampleReport};
use std::fmt::Write;

/// Writes the flat profile and the events by type.
pub fn write(analysed: &Analysed, screen: &Screen, out: &mut String) {
    let report = &analysed.report;
    if let Some(samples) = &report.samples {
        flat_profile(samples, analysed.top, screen, out);
    }
    events_by_type(analysed, screen, out);
    if let Some(advice) = advice(report) {
        let _ = writeln!(out);
        for line in prose::wrapped(advice, screen.width, 2) {
            let _ = writeln!(out, "{line}");
        }
    }
}

fn flat_profile(samples: &SampleReport, top: usize, screen: &Screen, out: &mut String) {
    let note = format!(
        "{}, {} of running threads",
        numbers::counted(samples.count, "sample", "samples"),
        numbers::grouped(samples.running)
    );
    title("SAMPLES", &note, screen, out);
    let header = format!("  {:>7} {:>7} {:>9}", "self", "total", "samples");
    let _ = writeln!(out, "{}", screen.faint(&header));
    let room = screen.width.saturating_sub(header.len() + 2).max(20);
    for method in samples.methods.iter().take(top) {
        let _ = writeln!(
            out,
            "  {:>7} {:>7} {:>9}  {}",
            numbers::percent(method.self_share),
            numbers::percent(method.total_share),
            numbers::grouped(method.self_samples),
            prose::fitted(&method.method, room, screen)
        );
    }
    more(samples.methods.len(), top, screen, out);
}

/// For recordings of other tools: everything that is in them.
fn events_by_type(analysed: &Analysed, screen: &Screen, out: &mut String) {
    let others = &analysed.report.other_events;
    if others.is_empty() || !analysed.report.recording.foreign {
        return;
    }
    let total: u64 = others.values().sum();
    title("OTHER EVENTS", &format!("{}, counted only", numbers::grouped(total)), screen, out);
    let mut types: Vec<(&String, &u64)> = others.iter().collect();
    types.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (name, count) in types.iter().take(analysed.top) {
        let _ = writeln!(out, "  {:>12}  {name}", numbers::grouped(**count));
    }
    more(types.len(), analysed.top, screen, out);
}

/// What to record to learn more about who blocks whom.
pub fn advice(report: &Report) -> Option<&'static str> {
    if !report.recording.foreign {
        return None;
    }
    Some(match report.contentions {
        0 => "This recording has no contended locks in it: either nothing blocked, or contentions below the recorder's threshold (JFR's default: 20 ms) are not in this file. `headway record PID` records every contended lock with its owner's call stack.",
        _ => "This recording shows who was blocked, but not what the owner was doing meanwhile. `headway record PID` records that, too.",
    })
}
