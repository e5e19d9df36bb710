//! What is not blocked time but belongs beside it: waits, pauses, parks.

use super::{numbers, prose, title};
use crate::terminal::Screen;
use headway_analysis::park::Synchronizer;
use headway_analysis::report::{ParkSite, PinSite, Report, VirtualThreadsReport, WaitSite};
use std::fmt::Write;

/// Fewest columns for a name, even where that makes lines too long.
const LEAST_ROOM: usize = 20;

/// Writes waits, parks and pauses, where there are any.
pub fn write(report: &Report, top: usize, screen: &Screen, out: &mut String) {
    waits(&report.waits, top, screen, out);
    parks(&report.parks, report.recording.foreign, top, screen, out);
    virtual_threads(report.virtual_threads.as_ref(), top, screen, out);
    let pauses = &report.pauses;
    if pauses.count > 0 {
        title("VM PAUSES", "", screen, out);
        let _ = writeln!(
            out,
            "  {}, {} in all, the longest {}",
            numbers::counted(pauses.count, "pause", "pauses"),
            numbers::time(pauses.total_ns),
            numbers::time(pauses.max_ns)
        );
    }
}

/// How much of the blocked time has an owner that is known: all of it, below its table.
pub fn accounted(report: &Report, screen: &Screen, out: &mut String) {
    if report.blocked_ns == 0 || report.recording.foreign {
        return;
    }
    let blocked = &report.blocked;
    let share = |ns: u64| numbers::percent(ns as f64 / report.blocked_ns as f64);
    let parts = [
        (blocked.owner_stack_ns, "owner with call stack"),
        (blocked.owner_thread_ns, "owner without call stack"),
        (blocked.hand_off_ns, "hand-off (the lock was free, but the next thread had not run yet)"),
        (blocked.pause_ns, "VM pauses"),
        (blocked.unknown_ns, "owner not recorded"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(ns, _)| *ns > 0).map(|(ns, what)| format!("{what} {}", share(*ns))).collect();
    let _ = writeln!(out);
    for line in prose::wrapped(&format!("Of this blocked time: {}.", parts.join(", ")), screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

fn waits(sites: &[WaitSite], top: usize, screen: &Screen, out: &mut String) {
    if sites.is_empty() {
        return;
    }
    title("WAITING", "by place; this time is not blocked time", screen, out);
    let header = figures("total", "count", "longest");
    let _ = writeln!(out, "{}", screen.faint(header.trim_end()));
    for (site, caller) in sites.iter().zip(callers_apart(sites)).take(top) {
        let line = figures(&numbers::time(site.total_ns), &numbers::grouped(site.count), &numbers::time(site.max_ns));
        let idle = if site.idle { "  (idle)" } else { "" };
        let room = screen.width.saturating_sub(line.len() + idle.len()).max(LEAST_ROOM);
        let _ = writeln!(out, "{line}{}{}", prose::fitted(&site.method, room, screen), screen.faint(idle));
        if let Some(caller) = caller {
            let below = relation(site, caller);
            let room = screen.width.saturating_sub(line.len() + below.len()).max(LEAST_ROOM);
            let _ = writeln!(out, "{}{below}{}", " ".repeat(line.len()), prose::fitted(caller, room, screen));
        }
        let lock = prose::fitted(&site.lock, screen.width.saturating_sub(line.len() + 3).max(LEAST_ROOM), screen);
        let how = format!("on {lock}{}{}", endings(site), ended_by(site));
        for wrapped in prose::wrapped(&how, screen.width.max(line.len() + LEAST_ROOM), line.len()) {
            let _ = writeln!(out, "{}", screen.faint(&wrapped));
        }
    }
    more(sites.len(), top, screen, out);
}

/// How a frame of the place's stack and the place's method belong together.
fn relation(site: &WaitSite, frame: &str) -> &'static str {
    let method = |frame: &String| frame.rsplit_once(':').map_or(frame.as_str(), |(method, _)| method) == site.method;
    let at = |is_it: &dyn Fn(&String) -> bool| site.stack.iter().position(is_it);
    match at(&|one| one == frame).zip(at(&method)) {
        Some((frame, method)) if frame < method => "  by ",
        Some((frame, method)) if frame == method => "  at ",
        Some((frame, method)) if frame > method + 1 => "  called indirectly from ",
        _ => "  called from ",
    }
}

/// For each place the innermost frame with which its stack is no other's of the same method;
/// `None` if the method has no other place. In order of their stacks, the nearest one is the
/// one that shares most.
fn callers_apart(sites: &[WaitSite]) -> Vec<Option<&str>> {
    let mut order: Vec<(usize, &WaitSite)> = sites.iter().enumerate().collect();
    order.sort_by_key(|(_, site)| (&site.method, &site.stack));
    let shared = |one: &WaitSite, other: &WaitSite| {
        let same = one.stack.iter().zip(&other.stack).take_while(|(a, b)| a == b).count();
        (one.method == other.method).then_some(same)
    };
    let between: Vec<Option<usize>> = order.windows(2).map(|pair| shared(pair[0].1, pair[1].1)).collect();
    let mut callers = vec![None; sites.len()];
    for (place, (at, site)) in order.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| between[before]);
        let differs_at = before.max(between.get(place).copied().flatten());
        callers[*at] = differs_at.and_then(|differs| site.stack.get(differs)).map(String::as_str);
    }
    callers
}

/// `; mostly ended by shop.Cache.fill in worker-*`.
fn ended_by(site: &WaitSite) -> String {
    let Some(waker) = site.wakers.first() else { return String::new() };
    let method = if waker.stack.is_empty() { String::new() } else { format!("{} in ", waker.method) };
    format!("; {}ended by {method}{}", if site.wakers.len() > 1 { "mostly " } else { "" }, waker.group)
}

/// `; 3 notified, 1 timed out`.
fn endings(site: &WaitSite) -> String {
    let endings = [
        (site.notified, if site.synchronizer == Synchronizer::Monitor { "notified" } else { "unparked" }),
        (site.timed_out, "timed out"),
        (site.interrupted, "interrupted"),
        (site.in_flight, "still waiting"),
    ];
    let told: Vec<String> = endings
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{} {how}", numbers::grouped(*count)))
        .collect();
    if told.is_empty() {
        String::new()
    } else {
        format!("; {}", told.join(", "))
    }
}

fn parks(sites: &[ParkSite], is_foreign: bool, top: usize, screen: &Screen, out: &mut String) {
    if sites.is_empty() {
        return;
    }
    // Headway's own parks are contentions or waits as well.
    let above = if is_foreign { "" } else { "; also in the tables above" };
    title("PARKING", &format!("parks that ended, by class{above}"), screen, out);
    let header = figures("total", "count", "longest");
    let _ = writeln!(out, "{}", screen.faint(header.trim_end()));
    for site in sites.iter().take(top) {
        let line = figures(&numbers::time(site.total_ns), &numbers::grouped(site.count), &numbers::time(site.max_ns));
        let what = if site.is_lock { "a lock" } else { "not a lock" };
        let threads = format!("  ({}, {what})", numbers::counted(site.threads, "thread", "threads"));
        let room = screen.width.saturating_sub(line.len() + threads.len()).max(LEAST_ROOM);
        let _ = writeln!(out, "{line}{}{}", prose::fitted(&site.blocker_class, room, screen), screen.faint(&threads));
    }
    more(sites.len(), top, screen, out);
}

/// Virtual threads that could run and did not, and what kept their carriers busy.
fn virtual_threads(found: Option<&VirtualThreadsReport>, top: usize, screen: &Screen, out: &mut String) {
    let Some(found) = found else { return };
    title("VIRTUAL THREADS", "from unpark to running, pinning, carriers", screen, out);
    let mut lines = Vec::new();
    if found.mounts > 0 {
        lines.push(format!(
            "Mount delay: {} in {}, the longest {}: {} waiting for a carrier, {} for a CPU.",
            numbers::time(found.mount_delay_ns),
            numbers::counted(found.mounts, "mount", "mounts"),
            numbers::time(found.max_mount_delay_ns),
            numbers::time(found.waiting_for_carrier_ns),
            numbers::time(found.waiting_for_cpu_ns),
        ));
    }
    if let Some(occupied) = found.occupancy() {
        let carriers = numbers::counted(found.carriers, "carrier", "carriers");
        lines.push(format!("{carriers}, occupied {} of the time.", numbers::percent(occupied)));
    }
    lines.push(match found.pinned {
        0 => "No thread was pinned.".to_owned(),
        times => format!("Pinned {} for {}:", numbers::counted(times, "time", "times"), numbers::time(found.pinned_ns)),
    });
    for line in lines.iter().flat_map(|line| prose::wrapped(line, screen.width, 2)) {
        let _ = writeln!(out, "{line}");
    }
    for pin in found.pins.iter().take(top) {
        let line = figures(&numbers::time(pin.total_ns), &numbers::grouped(pin.count), &numbers::time(pin.max_ns));
        let room = screen.width.saturating_sub(line.len()).max(LEAST_ROOM);
        let _ = writeln!(out, "{line}{}", prose::fitted(&pin.method, room, screen));
        let width = screen.width.max(line.len() + LEAST_ROOM);
        for wrapped in prose::wrapped(&pinned_by(pin), width, line.len()) {
            let _ = writeln!(out, "{}", screen.faint(&wrapped));
        }
    }
    more(found.pins.len(), top, screen, out);
}

/// `pinned by shop.Cache.load:12 (synchronized method)`.
fn pinned_by(pin: &PinSite) -> String {
    match (&pin.frame, pin.reason) {
        (Some(frame), Some(reason)) => format!("pinned by {frame} ({})", reason.words()),
        _ => "pinned by a synchronized block or the VM: which frame is not known".to_owned(),
    }
}

fn figures(total: &str, count: &str, longest: &str) -> String {
    format!("  {total:>7}  {count:>9}  {longest:>7}  ")
}

/// Says how many rows `--top` left out.
pub(super) fn more(count: usize, top: usize, screen: &Screen, out: &mut String) {
    if count > top {
        let line = format!("  ({} more)", numbers::grouped((count - top) as u64));
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(stack: &str) -> WaitSite {
        let stack: Vec<String> = stack.split(' ').map(str::to_owned).collect();
        WaitSite { method: stack[0].clone(), stack, ..WaitSite::default() }
    }

    #[test]
    fn places_of_one_method_are_told_apart_by_the_frame_that_only_one_has() {
        let sites = ["wait a set order", "wait a set pay", "wait b set", "take c", "wait a"].map(site);
        let apart = callers_apart(&sites);
        assert_eq!(apart[..4], [Some("order"), Some("pay"), Some("b"), None]);
        assert_eq!(apart[4], None, "its whole stack is the beginning of others");
    }

    #[test]
    fn what_a_method_called_is_no_caller() {
        let stack = ["LockSupport.park:3", "Jobs.wait:7", "Jobs.run:5", "Thread.run:9"].map(str::to_owned).to_vec();
        let site = WaitSite { method: "Jobs.wait".to_owned(), stack, ..WaitSite::default() };
        assert_eq!(relation(&site, "LockSupport.park:3"), "  by ");
        assert_eq!(relation(&site, "Jobs.wait:7"), "  at ");
        assert_eq!(relation(&site, "Jobs.run:5"), "  called from ");
        assert_eq!(relation(&site, "Thread.run:9"), "  called indirectly from ");
    }
}
