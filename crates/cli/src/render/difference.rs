//! Two profiles side by side on a terminal.

use super::{numbers, prose, title};
use crate::recording::profiled::Profiled;
use crate::terminal::Screen;
use headway_analysis::method::{Agreement, MethodChange, Profile};
use std::fmt::Write;

/// A total that changed by this factor makes shares hard to compare.
const MUCH: f64 = 1.5;

/// The whole comparison.
pub fn difference(
    before: &Profiled,
    after: &Profiled,
    agreement: &Agreement,
    methods: &[MethodChange],
    top: usize,
    screen: &Screen,
) -> String {
    let mut out = format!(
        "{}\n",
        screen.strong(&format!("{} against {}", super::file_name(&after.path), super::file_name(&before.path)))
    );
    for (word, side) in [("before", before), ("after", after)] {
        let _ = writeln!(out, "{}", screen.faint(&format!("  {word:>6}: {}", facts(side))));
    }
    out.push('\n');
    let rows = Rows::of(&before.profile, &after.profile);
    let sentences = [per_second(before, after), Some(rows.what_is_compared())];
    let sentences = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    for line in prose::wrapped(&sentences, screen.width, 2) {
        let _ = writeln!(out, "{line}");
    }
    let compared = methods.iter().filter(|change| rows.has(change));
    let (changed, same): (Vec<&MethodChange>, Vec<&MethodChange>) =
        compared.partition(|change| change.significant && change.self_growth() != 0.0);
    let worse: Vec<&MethodChange> = changed.iter().copied().filter(|change| change.self_growth() > 0.0).collect();
    let better: Vec<&MethodChange> =
        changed.iter().rev().copied().filter(|change| change.self_growth() < 0.0).collect();
    rows.table("GREW", &worse, top, screen, &mut out);
    rows.table("SHRANK", &better, top, screen, &mut out);
    let is_sampled = before.instants.is_some() || after.instants.is_some();
    out.push('\n');
    let others = rows.others(same.len() as u64, changed.is_empty(), is_sampled);
    let notes = [others, agreement_in_words(agreement)];
    for line in notes.iter().flat_map(|note| prose::wrapped(note, screen.width, 2)) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
    out
}

fn facts(side: &Profiled) -> String {
    let profile = &side.profile;
    let total = profile.tree.total();
    let what = if profile.measure.is_blocked_time() { ("contention", "contentions") } else { ("sample", "samples") };
    let time = if total.ns > 0 { format!(": {}", numbers::time(total.ns)) } else { String::new() };
    let count = numbers::counted(profile.observations(), what.0, what.1);
    let sampled = side
        .instants
        .map(|instants| format!(", sampled at {}", numbers::counted(instants, "random instant", "random instants")));
    let sampled = sampled.unwrap_or_default();
    format!("{}{time}, {count}, in {}{sampled}", profile.measure.title(), numbers::time(profile.duration.0))
}

/// `In each second of the recording, 2.23 s before, 231 us after (-100 %).` What the shares below are of.
fn per_second(before: &Profiled, after: &Profiled) -> Option<String> {
    let rate = |side: &Profiled| {
        let (total, seconds) = (side.profile.tree.total().ns, side.profile.duration.0 as f64 / 1e9);
        (total > 0 && seconds > 0.0).then(|| total as f64 / seconds)
    };
    let (was, is) = (rate(before)?, rate(after)?);
    let shares = match is / was {
        ratio if ratio > MUCH => " There is more time in total, so a smaller share can be as much time as before.",
        ratio if ratio < 1.0 / MUCH => " There is less time in total, so a larger share can be less time than before.",
        _ => "",
    };
    let time = |ns: f64| numbers::time(ns.round() as u64);
    let change = numbers::change(is / was - 1.0);
    Some(format!("Per second of recording: {} before, {} after ({change}).{shares}", time(was), time(is)))
}

/// `87 % of the time has the same call stacks in both recordings. Hot calls: 3 before, 2 after, 2 in both.`
fn agreement_in_words(agreement: &Agreement) -> String {
    let (before, after) = (agreement.hot_edges_before, agreement.hot_edges_after);
    let both = (agreement.hot_edge_coverage_back * before as f64).round() as u64;
    let hot = match both {
        0 => "No call is hot in both recordings.".to_owned(),
        both => format!(
            "Hot calls: {} before, {} after, {} in both.",
            numbers::grouped(before),
            numbers::grouped(after),
            numbers::grouped(both)
        ),
    };
    format!(
        "{} of the time has the same call stacks in both recordings. {hot} A call is hot if it takes at least {} of the \
         time of the most expensive call (--threshold).",
        numbers::percent(agreement.overlap),
        numbers::percent(agreement.threshold),
    )
}

/// What the rows are: methods of samples, or the locks of blocked time. A method has no blocked time itself: that
/// is the lock's.
struct Rows {
    are_locks: bool,
    /// Seconds of each recording.
    seconds: (f64, f64),
}

impl Rows {
    fn of(before: &Profile, after: &Profile) -> Rows {
        let seconds = |profile: &Profile| profile.duration.0 as f64 / 1e9;
        Rows { are_locks: after.measure.is_blocked_time(), seconds: (seconds(before), seconds(after)) }
    }

    fn what_is_compared(&self) -> String {
        let (_, many) = self.names();
        let of_what = if self.are_locks { "blocked time" } else { "time" };
        format!(
            "The tables have the {many} whose share of the {of_what} changed by more than chance explains (95 % \
             confidence)."
        )
    }

    fn has(&self, change: &MethodChange) -> bool {
        !self.are_locks || change.self_share_before + change.self_share_after > 0.0
    }

    fn names(&self) -> (&'static str, &'static str) {
        match self.are_locks {
            true => ("lock", "locks"),
            false => ("method", "methods"),
        }
    }

    /// What is said of those that are not shown.
    fn others(&self, count: u64, are_all: bool, is_sampled: bool) -> String {
        let (one, many) = self.names();
        // Where many contentions are one observation, smaller changes may be chance.
        let why = if is_sampled { ": few contentions were recorded one by one" } else { "" };
        match are_all {
            true => format!(
                "No {one} changed by more than chance explains ({} compared).",
                numbers::counted(count, one, many)
            ),
            false if count == 1 => format!("The change of 1 other {one} can be chance{why}."),
            false => format!("The changes of {} other {many} can be chance{why}.", numbers::grouped(count)),
        }
    }

    fn table(&self, name: &str, changes: &[&MethodChange], top: usize, screen: &Screen, out: &mut String) {
        if changes.is_empty() {
            return;
        }
        let note = match self.are_locks {
            true => "share of the blocked time, change in percentage points; blocked per second",
            false => "share of the whole, without what the method called; changes in percentage points",
        };
        title(name, note, screen, out);
        let with_callees = |text: &str| if self.are_locks { String::new() } else { format!("{text:>12}  ") };
        let rates = |before: &str, after: &str| {
            if self.are_locks {
                format!("{before:>8} {after:>8}  ")
            } else {
                String::new()
            }
        };
        let header = format!(
            "  {:>8}  {:>8} {:>8}  {}{}",
            "change",
            "before",
            "after",
            rates("before", "after"),
            with_callees("with callees")
        );
        let _ = writeln!(out, "{}", screen.faint(header.trim_end()));
        let room = screen.width.saturating_sub(header.len()).max(20);
        for change in changes.iter().take(top) {
            let _ = writeln!(
                out,
                "  {:>8}  {:>8} {:>8}  {}{}{}",
                points(change.self_growth()),
                numbers::percent(change.self_share_before),
                numbers::percent(change.self_share_after),
                rates(&rate(change.self_before.ns, self.seconds.0), &rate(change.self_after.ns, self.seconds.1)),
                with_callees(&points(change.total_growth())),
                prose::fitted(&change.method, room, screen)
            );
        }
        super::details::more(changes.len(), top, screen, out);
    }
}

/// So much time in each second of a recording.
fn rate(ns: u64, seconds: f64) -> String {
    numbers::time((ns as f64 / seconds.max(f64::MIN_POSITIVE)).round() as u64)
}

/// A change of a share in points: `+3.2`.
fn points(change: f64) -> String {
    let points = change * 100.0;
    match points {
        p if p.abs() < 0.05 => "0.0".to_owned(),
        p => format!("{p:+.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::method::Weight;

    #[test]
    fn of_few_hot_calls_numbers_say_more_than_percentages() {
        let agreement = Agreement {
            overlap: 0.79,
            hot_edges_after: 2,
            hot_edge_coverage: 1.0,
            hot_edges_before: 3,
            hot_edge_coverage_back: 2.0 / 3.0,
            threshold: 0.1,
        };
        let text =
            "79 % of the time has the same call stacks in both recordings. Hot calls: 3 before, 2 after, 2 in both. ";
        assert!(agreement_in_words(&agreement).starts_with(text), "{}", agreement_in_words(&agreement));
        let none = Agreement { hot_edge_coverage: 0.0, hot_edge_coverage_back: 0.0, overlap: 0.0, ..agreement };
        let text = "0 % of the time has the same call stacks in both recordings. No call is hot in both recordings. ";
        assert!(agreement_in_words(&none).starts_with(text), "{}", agreement_in_words(&none));
    }

    #[test]
    fn blocked_time_is_that_of_locks() {
        let change = |method: &str, of_itself: f64| MethodChange {
            method: method.to_owned(),
            self_share_before: of_itself,
            self_before: Weight { ns: 500_000_000, count: 1 },
            ..MethodChange::default()
        };
        let rows = Rows { are_locks: true, seconds: (10.0, 5.0) };
        assert!(rows.has(&change("a.Lock", 0.1)) && !rows.has(&change("a.Shop.sell", 0.0)));
        assert_eq!(
            rows.others(57, false, true),
            "The changes of 57 other locks can be chance: few contentions were recorded one by one."
        );
        let (mut out, screen) = (String::new(), Screen { width: 80, colour: false, cut: true });
        rows.table("SHRANK", &[&change("a.Lock", 0.1)], 1, &screen, &mut out);
        let lines: Vec<&str> = out.trim().lines().collect();
        assert_eq!(lines[0], "SHRANK  share of the blocked time, change in percentage points; blocked per second");
        let words = lines[2].split_whitespace().collect::<Vec<_>>();
        assert_eq!(words, ["-10.0", "10", "%", "0", "%", "50.0", "ms", "0", "ns", "a.Lock"]);
    }

    #[test]
    fn changes_are_points_with_a_sign() {
        assert_eq!([points(0.0321), points(-0.5), points(-0.0001)], ["+3.2", "-50.0", "0.0"]);
    }
}
