//! The answer for people.

use super::{Lock, Regressed, Service};
use headway_model::printable;
use headway_model::quantity::{change, counted, duration, percent};
use headway_regress::{Change, Design, Matched, Timing, Unit};
use std::fmt::Write;

/// Frames of a stack that are shown.
const FRAMES: usize = 4;

/// All services, each with what was compared, what was found and what could have been found.
pub fn of(regressed: &Regressed) -> String {
    let mut text = String::new();
    for service in &regressed.services {
        of_service(&mut text, service);
        text.push('\n');
    }
    if !regressed.single_version.is_empty() {
        line(&mut text, 0, &format!("Only one version: {}", regressed.single_version.join(", ")));
    }
    line(&mut text, 0, &format!("{}.", verdict(regressed)));
    text
}

/// The answer as a sentence.
pub fn verdict(regressed: &Regressed) -> String {
    let locks = counted(regressed.tested as u64, "lock", "locks");
    match regressed.regressions {
        0 => format!("no regression in {locks} tested"),
        1 => format!("1 regression in {locks} tested"),
        count => format!("{count} regressions in {locks} tested"),
    }
}

fn line(text: &mut String, indent: usize, content: &str) {
    // Names come from recorded programs: what would move the cursor is written as an escape.
    let _ = writeln!(text, "{:indent$}{}", "", printable(content)); // a text takes everything
}

fn of_service(text: &mut String, service: &Service) {
    let Service { service: name, old_version, new_version, design, locks, .. } = service;
    line(text, 0, &format!("{name}: version {new_version} compared with {old_version}"));
    for sentence in circumstances(service) {
        line(text, 2, &sentence);
    }
    if design.is_none() {
        return;
    }
    let unit = design.as_ref().map_or(Unit::RunningSecond, |design| design.unit);
    let of = |verdict: Change| locks.iter().filter(move |lock| lock.tested.verdict == verdict);
    for (verdict, title) in [(Change::Regression, "REGRESSIONS"), (Change::Improvement, "IMPROVEMENTS")] {
        for (index, lock) in of(verdict).enumerate() {
            if index == 0 {
                text.push('\n');
                line(text, 2, title);
            }
            of_lock(text, lock, unit);
        }
    }
    text.push('\n');
    for sentence in results(service) {
        line(text, 2, &sentence);
    }
}

/// All that is said about two versions, except for single locks.
pub fn sentences(service: &Service) -> Vec<String> {
    let mut sentences = circumstances(service);
    if service.design.is_some() {
        sentences.extend(results(service));
    }
    sentences
}

/// What was compared with what, or why it was not.
fn circumstances(service: &Service) -> Vec<String> {
    let refused = service.not_compared.map(|reason| format!("not compared: {reason}"));
    let mut sentences: Vec<String> = refused.into_iter().chain(service.design.as_ref().map(compared)).collect();
    if service.design.as_ref().is_some_and(|design| design.timing == Timing::InTurn) {
        sentences
            .push("One version after the other: load that changed with the version looks like the version.".into());
    }
    sentences
}

/// What did not change, and what could have been found.
fn results(service: &Service) -> Vec<String> {
    [unchanged(service)].into_iter().chain(detectable(&service.locks)).collect()
}

fn compared(design: &Design) -> String {
    let Design { old_hosts, new_hosts, hosts_left_out, block_minutes, old_blocks, new_blocks, .. } = *design;
    let hosts = match design.paired_hosts {
        true => format!("{} with both versions", counted(new_hosts as u64, "host", "hosts")),
        false => {
            format!("{} with the old version, {new_hosts} with the new one", counted(old_hosts as u64, "host", "hosts"))
        }
    };
    let left_out = match hosts_left_out {
        0 => String::new(),
        count => format!(" ({count} others left out)"),
    };
    let times = match design.timing {
        Timing::SameTime => format!("at the same time, in {new_blocks} blocks of {}", length(block_minutes)),
        Timing::InTurn => format!("{old_blocks} blocks of {}, then {new_blocks}", length(block_minutes)),
    };
    let hours = match design.matched {
        Matched::Slot => "",
        Matched::HourOfWeek => "; equal hours of the week",
        Matched::HourOfDay => "; equal hours of the day",
        Matched::Nothing => "; no equal hours in both",
    };
    format!("{hosts}{left_out}; {times}{hours}; blocked time {}", per(design.unit))
}

fn length(minutes: u64) -> String {
    match (minutes / (24 * 60), minutes / 60) {
        (1.., _) => "a day".to_owned(),
        (0, 1) => "an hour".to_owned(),
        (0, 1..) => format!("{} hours", minutes / 60),
        (0, 0) => counted(minutes, "minute", "minutes"),
    }
}

fn per(unit: Unit) -> &'static str {
    match unit {
        Unit::Operation => "per operation",
        Unit::RunningSecond => "per second of running time",
    }
}

fn of_lock(text: &mut String, lock: &Lock, unit: Unit) {
    let tested = &lock.tested;
    let size = match (tested.change, tested.change_ci95) {
        (Some(value), Some([low, high])) => {
            format!("{} (95 % interval {} to {})", change(value), change(low), change(high))
        }
        _ => "not contended before".to_owned(),
    };
    line(text, 4, &format!("{} ({}): {size}, q {}", lock.lock, lock.kind, q(tested.q)));
    let time = |ns: f64| duration(ns.round() as u64);
    let (old, new) = (time(tested.old_ns), time(tested.new_ns));
    let (old_share, new_share) = (percent(tested.old_share), percent(tested.new_share));
    line(text, 6, &format!("{new} {}, was {old}; {new_share} of running time, was {old_share}", per(unit)));
    for (title, frames) in [("blocked in", &lock.waiter_stack), ("owned by", &lock.owner_stack)] {
        if !frames.is_empty() {
            line(text, 6, &format!("{title} {}", stack(frames)));
        }
    }
}

fn q(q: f64) -> String {
    match q < 0.0001 {
        true => "< 0.0001".to_owned(),
        false => format!("{q:.4}"),
    }
}

fn stack(frames: &[String]) -> String {
    let shown = frames.iter().take(FRAMES).cloned().collect::<Vec<_>>().join(" < ");
    match frames.len().saturating_sub(FRAMES) {
        0 => shown,
        more => format!("{shown} (+{})", counted(more as u64, "frame", "frames")),
    }
}

fn unchanged(service: &Service) -> String {
    let unchanged = service.locks.iter().filter(|lock| lock.tested.verdict == Change::None).count();
    let below = match service.locks_below_min_share {
        0 => String::new(),
        count => format!("; {} blocked too little to be tested", counted(count as u64, "lock", "locks")),
    };
    match unchanged {
        0 => format!("Each tested lock is listed above{below}."),
        1 => format!("1 lock has no change that is significant and large enough{below}."),
        many => format!("{many} locks have no change that is significant and large enough{below}."),
    }
}

/// What could have been seen: for the lock that costs most, and for half of the locks.
fn detectable(locks: &[Lock]) -> Option<String> {
    let cost = |lock: &&Lock| lock.tested.old_share.max(lock.tested.new_share);
    let known: Vec<&Lock> = locks.iter().filter(|lock| lock.tested.detectable_change.is_some()).collect();
    let first = known.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let mut changes: Vec<f64> = known.iter().filter_map(|lock| lock.tested.detectable_change).collect();
    changes.sort_by(f64::total_cmp);
    let of_half = changes.get(changes.len() / 2)?;
    Some(format!(
        "Detectable with 80 % power: {} on {}, {} on half of the locks.",
        change(first.tested.detectable_change?),
        first.lock,
        change(*of_half)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_words() {
        assert_eq!([1440, 360, 60, 10, 1].map(length), ["a day", "6 hours", "an hour", "10 minutes", "1 minute"]);
    }

    #[test]
    fn long_stacks_are_cut() {
        let frames: Vec<String> = (0..6).map(|frame| format!("f{frame}")).collect();
        assert_eq!(stack(&frames), "f0 < f1 < f2 < f3 (+2 frames)");
        assert_eq!(stack(&frames[..1]), "f0");
        assert_eq!([0.5, 0.00001].map(q), ["0.5000", "< 0.0001"]);
    }
}
