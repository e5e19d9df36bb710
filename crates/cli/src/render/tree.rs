//! The tree of blocked time, level by level as `--by` asked.

use super::{numbers, prose, title};
use crate::terminal::Screen;
use headway_analysis::report::{Report, Row, Value};
use headway_analysis::Aspect;
use std::fmt::Write;

/// Columns of the bar.
const BAR: usize = 10;
/// Frames of a chain that are shown under its leaf.
const FRAMES: usize = 16;

/// Writes the tree, at most `top` rows of each level.
pub fn write(report: &Report, top: usize, screen: &Screen, out: &mut String) {
    if report.rows.is_empty() {
        return;
    }
    let note = format!(
        "{} in {}, by {}",
        numbers::time(report.blocked_ns),
        numbers::counted(report.contentions, "stretch", "stretches"),
        report.by.iter().map(|aspect| aspect.name()).collect::<Vec<_>>().join(", ")
    );
    title("BLOCKED TIME", &note, screen, out);
    let header = format!("  {:>7} {:BAR$} {:>8} {:>9} {:>8}", "share", "", "total", "count", "longest");
    let _ = writeln!(out, "{}", screen.faint(&header));
    rows(&report.rows, 0, top, screen, out);
}

fn rows(rows: &[Row], depth: usize, top: usize, screen: &Screen, out: &mut String) {
    for row in rows.iter().take(top) {
        write_row(row, depth, screen, out);
        rows_below(row, depth, top, screen, out);
    }
    if let Some(rest) = rows.get(top..).filter(|rest| !rest.is_empty()) {
        let total: u64 = rest.iter().map(|row| row.total_ns).sum();
        let share: f64 = rest.iter().map(|row| row.share).sum();
        let line = format!(
            "  {:>7} {:BAR$} {:>8} {:>9} {:>8}  {:indent$}({} more)",
            numbers::percent(share),
            "",
            numbers::time(total),
            "",
            "",
            "",
            numbers::grouped(rest.len() as u64),
            indent = 2 * depth
        );
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

fn rows_below(row: &Row, depth: usize, top: usize, screen: &Screen, out: &mut String) {
    rows(&row.children, depth + 1, top, screen, out);
}

fn write_row(row: &Row, depth: usize, screen: &Screen, out: &mut String) {
    let bar = format!("{:BAR$}", numbers::bar(row.share, BAR));
    let figures = format!(
        "{:>8} {:>9} {:>8}",
        numbers::time(row.total_ns),
        numbers::grouped(row.count),
        numbers::time(row.max_ns)
    );
    let share = format!("{:>7}", numbers::percent(row.share));
    let column = 2 + share.len() + 1 + BAR + 1 + 8 + 1 + 9 + 1 + 8 + 2 + 2 * depth;
    let room = screen.width.saturating_sub(column).max(16);
    let (role, name) = (role(row.aspect), row.value.headline());
    let name = prose::fitted(name, room.saturating_sub(role.len()), screen);
    let name = if depth == 0 { screen.strong(&name) } else { name };
    let marks = marks(row);
    let _ = writeln!(
        out,
        "  {share} {} {figures}  {:indent$}{}{name}{}",
        screen.paint(anstyle::AnsiColor::Blue.on_default(), &bar),
        "",
        screen.faint(role),
        screen.faint(&marks),
        indent = 2 * depth
    );
    if let Value::Chain(frames) = &row.value {
        write_frames(frames, column + role.len(), screen, out);
    }
}

/// The frames under a chain's leaf.
fn write_frames(frames: &[String], column: usize, screen: &Screen, out: &mut String) {
    let room = screen.width.saturating_sub(column + 3).max(16);
    for frame in frames.iter().skip(1).take(FRAMES) {
        let frame = format!("{:column$}← {}", "", prose::fitted(frame, room, screen));
        let _ = writeln!(out, "{}", screen.faint(&frame));
    }
    if let Some(rest) = frames.len().checked_sub(FRAMES + 1).filter(|rest| *rest > 0) {
        let line = format!("{:column$}← {rest} more frames", "");
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// What stands before a value so that the tree reads as a sentence.
fn role(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::OwnerThread | Aspect::OwnerGroup | Aspect::OwnerMethod | Aspect::OwnerChain => "held by ",
        Aspect::ContenderMethod | Aspect::ContenderChain => "blocked in ",
        Aspect::ContenderThread | Aspect::ContenderGroup => "blocked ",
        _ => "",
    }
}

/// What has to be said besides: approximate owners, stopped world.
fn marks(row: &Row) -> String {
    let part = |ns: u64| numbers::percent(ns as f64 / row.total_ns.max(1) as f64);
    let mut marks = String::new();
    if row.approximate_ns > 0 {
        let _ = write!(marks, "  ~{} approximate", part(row.approximate_ns));
    }
    if row.stop_the_world_ns * 100 >= row.total_ns.max(1) {
        let _ = write!(marks, "  {} of it stop-the-world", part(row.stop_the_world_ns));
    }
    marks
}
