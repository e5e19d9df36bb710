//! What is not blocked time but belongs beside it: waits, pauses, parks.

use super::{numbers, prose, title};
use crate::terminal::Screen;
use headway_analysis::report::{ParkSite, Report, WaitSite};
use std::fmt::Write;

/// Writes waits, parks and pauses, where there are any.
pub fn write(report: &Report, top: usize, screen: &Screen, out: &mut String) {
    accounted(report, screen, out);
    waits(&report.waits, top, screen, out);
    parks(&report.parks, top, screen, out);
    let pauses = &report.stop_the_world;
    if pauses.count > 0 {
        title("STOP-THE-WORLD", "", screen, out);
        let _ = writeln!(
            out,
            "  {}, {} in all, the longest {}",
            numbers::counted(pauses.count, "pause", "pauses"),
            numbers::time(pauses.total_ns),
            numbers::time(pauses.max_ns)
        );
    }
}

/// How much of the blocked time has a proven owner.
fn accounted(report: &Report, screen: &Screen, out: &mut String) {
    if report.blocked_ns == 0 || report.recording.foreign {
        return;
    }
    let blocked = &report.blocked;
    let share = |ns: u64| numbers::percent(ns as f64 / report.blocked_ns as f64);
    let parts = [
        (blocked.owner_chain_ns, "owner's call chain known"),
        (blocked.owner_thread_ns, "owner's thread known only"),
        (blocked.hand_over_ns, "nobody's (lock changing hands)"),
        (blocked.unknown_ns, "owner unknown"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(ns, _)| *ns > 0).map(|(ns, what)| format!("{} {what}", share(*ns))).collect();
    let _ = writeln!(out);
    for line in prose::wrapped(&format!("Accounted for: {}.", parts.join(", ")), screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

fn waits(sites: &[WaitSite], top: usize, screen: &Screen, out: &mut String) {
    if sites.is_empty() {
        return;
    }
    title("WAITING", "Object.wait, not blocked time", screen, out);
    let header = format!("  {:>8} {:>9} {:>8} {:>8} {:>9}", "total", "count", "longest", "notified", "timed out");
    let _ = writeln!(out, "{}", screen.faint(&header));
    let room = screen.width.saturating_sub(header.len() + 2).max(20);
    for site in sites.iter().take(top) {
        let name = prose::fitted(&site.method, room, screen);
        let idle = if site.idle { screen.faint("  (idle)") } else { String::new() };
        let _ = writeln!(
            out,
            "  {:>8} {:>9} {:>8} {:>8} {:>9}  {name}{idle}",
            numbers::time(site.total_ns),
            numbers::grouped(site.count),
            numbers::time(site.max_ns),
            numbers::grouped(site.notified),
            numbers::grouped(site.timed_out),
        );
        let on = format!("on {}", prose::fitted(&site.lock, room.saturating_sub(3), screen));
        let _ = writeln!(out, "{:width$}{}", "", screen.faint(&on), width = header.len() + 2);
    }
    more(sites.len(), top, screen, out);
}

fn parks(sites: &[ParkSite], top: usize, screen: &Screen, out: &mut String) {
    if sites.is_empty() {
        return;
    }
    title("PARKING", "LockSupport.park, by class of blocker", screen, out);
    let header = format!("  {:>8} {:>9} {:>8} {:>8}", "total", "count", "longest", "threads");
    let _ = writeln!(out, "{}", screen.faint(&header));
    let room = screen.width.saturating_sub(header.len() + 2).max(20);
    for site in sites.iter().take(top) {
        let name = prose::fitted(&site.blocker_class, room, screen);
        let lock = if site.is_lock { screen.faint("  (lock)") } else { String::new() };
        let _ = writeln!(
            out,
            "  {:>8} {:>9} {:>8} {:>8}  {name}{lock}",
            numbers::time(site.total_ns),
            numbers::grouped(site.count),
            numbers::time(site.max_ns),
            numbers::grouped(site.threads),
        );
    }
    more(sites.len(), top, screen, out);
}

/// Says how many rows `--top` left out.
pub(super) fn more(count: usize, top: usize, screen: &Screen, out: &mut String) {
    if count > top {
        let line = format!("  ({} more)", numbers::grouped((count - top) as u64));
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}
