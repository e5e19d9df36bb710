//! The numbers that findings rest on.

use super::words::percent;
use crate::aggregate::share;
use crate::ledger::{EntryKind, LockSplit};
use crate::report::Evidence;
use headway_model::DurationNs;

/// A part that is named in a sentence is at least this large.
const WORTH_SAYING: f64 = 0.1;
/// A part that explains the whole.
const EXPLAINS: f64 = 0.5;
/// Part of what owners did that is certain from which on it is shown what they did.
const PLACED: f64 = 0.25;
/// Part of the time from which on bounds that are so far apart say nothing.
const VAGUE: f64 = 0.5;

/// How a lock's blocked time is split, as evidence.
pub(super) fn of_split(split: &LockSplit) -> Vec<Evidence> {
    let total = split.total();
    let mut evidence = vec![Evidence::exact("blocked", total, None)];
    for (kind, ns, quality) in split.entries().into_iter().filter(|(_, ns, _)| *ns > 0) {
        let mut entry = Evidence::of(kind, ns, quality, Some(share(ns, total)));
        match kind {
            EntryKind::LockOwnerNoCpu => {
                entry.least_ns = Some(split.no_cpu_least);
                entry.most_ns = Some(split.no_cpu_most);
            }
            EntryKind::LockOwnerRan => entry.least_ns = Some(split.ran_least),
            EntryKind::LockOwnerOffCpu => entry.least_ns = Some(split.off_cpu_least),
            _ => {}
        }
        evidence.push(entry);
    }
    evidence
}

/// The part of blocked time of which findings about a lock speak: without pauses, of which no lock is guilty, unless
/// these explain most of it.
pub(super) fn spoken_of(split: &LockSplit) -> u64 {
    match is_mostly_paused(split) {
        true => split.total(),
        false => split.total() - split.paused,
    }
}

/// `blocked time: 96 % owner in sleep, I/O or native code (estimated), 2.1 % owner had no CPU (estimated, 0 % to 5.0 %)`.
/// What an owner did is measured over intervals, which have more in them than the time
/// with the lock: where that says nothing of the latter, it is not said whether it ran or slept.
///
/// Where samples show what owners did (`is_sampled`), they are the better estimate: the CPU time of an interval is also
/// spent outside of the lock.
pub(super) fn split_text(split: &LockSplit, is_sampled: bool) -> String {
    let total = spoken_of(split);
    let part = |ns: u64| percent(share(ns, total));
    // Bounds that are so far apart say nothing.
    let knows_no_cpu = share(split.no_cpu_most - split.no_cpu_least.min(split.no_cpu_most), total) <= VAGUE;
    let no_cpu = format!(
        "{} owner had no CPU (estimated, {} to {})",
        part(split.no_cpu),
        part(split.no_cpu_least),
        part(split.no_cpu_most)
    );
    let paused = if is_mostly_paused(split) { split.paused } else { 0 };
    let mut parts: Vec<(u64, String)> = vec![
        (split.waited, format!("{} owner blocked or waiting itself", part(split.waited))),
        (paused, format!("{} VM pause", part(paused))),
        (split.hand_off, format!("{} hand-off", part(split.hand_off))),
        (if knows_no_cpu { split.no_cpu } else { 0 }, no_cpu),
        (split.unknown, format!("{} not recorded (the owner, or what it did)", part(split.unknown))),
    ];
    let measured = split.off_cpu + split.ran + split.no_cpu;
    let is_placed = share(split.off_cpu_least + split.ran_least + split.no_cpu_least, measured) >= PLACED;
    if knows_no_cpu && is_placed && !is_sampled {
        parts.extend([
            (split.off_cpu, format!("{} owner in sleep, I/O or native code (estimated)", part(split.off_cpu))),
            (split.ran, format!("{} owner executing (estimated)", part(split.ran))),
        ]);
    } else {
        let rest = if knows_no_cpu { split.off_cpu + split.ran } else { measured };
        let did = match (knows_no_cpu, is_sampled) {
            (true, false) => "owner ran, slept or was in I/O (it is not known which)",
            (true, true) => "owner ran, slept or was in I/O (what it did: see above)",
            (false, false) => "owner ran, slept, was in I/O or had no CPU (it is not known which)",
            (false, true) => "owner ran, slept, was in I/O or had no CPU (what it did: see above)",
        };
        parts.push((rest, format!("{} {did}", part(rest))));
    }
    parts.retain(|(ns, _)| share(*ns, total) >= 0.01);
    parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let left_out = match split.paused - paused {
        0 => String::new(),
        ns => format!("; VM pauses ({}) are not counted", time(ns)),
    };
    let parts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    format!("blocked time: {}{left_out}", parts.join(", "))
}

/// True if the VM was paused for most of the time.
pub(super) fn is_mostly_paused(split: &LockSplit) -> bool {
    share(split.paused, split.total()) >= EXPLAINS
}

/// What kept the lock from being free, where one thing did: a sentence.
pub(super) fn cause(split: &LockSplit) -> Option<String> {
    if is_mostly_paused(split) {
        return Some(format!(
            "For {} of the blocked time, the VM was paused: the lock is not the cause.",
            percent(share(split.paused, split.total()))
        ));
    }
    let total = spoken_of(split);
    let part = |ns: u64| share(ns, total);
    let about = |ns: u64| percent(part(ns));
    if part(split.waited) >= EXPLAINS {
        return Some(format!(
            "For {} of the blocked time, its owner was itself blocked or waiting.",
            about(split.waited)
        ));
    }
    if part(split.off_cpu_least) >= EXPLAINS {
        return Some(format!(
            "For about {} of the blocked time, its owner was in sleep, I/O or native code.",
            about(split.off_cpu)
        ));
    }
    if part(split.no_cpu) >= EXPLAINS {
        return Some(format!(
            "For about {} of the blocked time ({} to {}), its owner had no CPU.",
            about(split.no_cpu),
            about(split.no_cpu_least),
            about(split.no_cpu_most)
        ));
    }
    if part(split.ran_least) >= EXPLAINS {
        return Some(format!("For about {} of the blocked time, its owner executed code.", about(split.ran)));
    }
    None
}

/// True for a part that a sentence should not leave out.
pub(super) fn is_worth_saying(ns: u64, total: u64) -> bool {
    share(ns, total) >= WORTH_SAYING
}

/// Time as everybody writes it.
pub(super) fn time(ns: u64) -> String {
    DurationNs(ns).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_parts_are_of_the_time_of_which_the_finding_speaks() {
        let split = LockSplit { hand_off: 450 * MS, no_cpu: 300 * MS, no_cpu_most: 500 * MS, ..LockSplit::default() };
        let split = LockSplit { ran: 200 * MS, unknown: 50 * MS, paused: 250 * MS, ..split };
        assert_eq!(
            split_text(&split, false),
            "blocked time: 45 % hand-off, 30 % owner had no CPU (estimated, 0 % to 50 %), 20 % owner ran, slept or was \
             in I/O (it is not known which), 5.0 % not recorded (the owner, or what it did); VM pauses (250 ms) are not counted"
        );
        let placed = LockSplit { no_cpu_least: 200 * MS, ran_least: 100 * MS, paused: 0, ..split };
        let text = split_text(&placed, false);
        assert!(
            text.starts_with("blocked time: 45 % hand-off, 30 % owner had no CPU (estimated, 20 % to 50 %), "),
            "{text}"
        );
        assert!(text.contains("20 % owner executing (estimated)"), "{text}");
        // One estimate of what owners did, not two that differ; no bounds that say nothing.
        let text = split_text(&placed, true);
        assert!(text.contains("20 % owner ran, slept or was in I/O (what it did: see above)"), "{text}");
        assert!(!text.contains("executing"), "{text}");
        let vague = LockSplit { no_cpu_most: 960 * MS, no_cpu_least: 0, ..placed };
        let text = split_text(&vague, false);
        assert!(text.contains("50 % owner ran, slept, was in I/O or had no CPU (it is not known which)"), "{text}");
        // Where pauses explain most of it, they are a part of it.
        let paused = LockSplit { paused: 3_000 * MS, ..split };
        assert!(
            split_text(&paused, false).starts_with("blocked time: 75 % VM pause, 11 % hand-off"),
            "{}",
            split_text(&paused, false)
        );
    }
}
