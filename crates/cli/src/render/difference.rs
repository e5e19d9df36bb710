//! Two profiles side by side on a terminal.

use super::{numbers, prose, title};
use crate::recording::profiled::Profiled;
use crate::terminal::Screen;
use headway_analysis::method::{Agreement, MethodChange};
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
    let sentences = [per_second(before, after), Some(agreement_in_words(agreement))];
    for line in sentences.iter().flatten().flat_map(|sentence| prose::wrapped(sentence, screen.width, 2)) {
        let _ = writeln!(out, "{line}");
    }
    let (changed, same): (Vec<&MethodChange>, Vec<&MethodChange>) =
        methods.iter().partition(|change| change.significant && change.self_growth() != 0.0);
    let worse: Vec<&MethodChange> = changed.iter().copied().filter(|change| change.self_growth() > 0.0).collect();
    let better: Vec<&MethodChange> =
        changed.iter().rev().copied().filter(|change| change.self_growth() < 0.0).collect();
    table("GREW", &worse, top, screen, &mut out);
    table("SHRANK", &better, top, screen, &mut out);
    let rest = numbers::counted(same.len() as u64, "method", "methods");
    let is_sampled = before.instants.is_some() || after.instants.is_some();
    let note = match changed.is_empty() {
        true if is_sampled => {
            format!("No method changed more than chance can explain ({rest} compared; blocked time was sampled).")
        }
        true => format!("No method changed more than chance can explain ({rest} compared)."),
        false if is_sampled => {
            format!("Chance can explain the changes of {rest} more: blocked time was sampled.")
        }
        false => {
            format!("Chance can explain the changes of {rest} more (in 19 of 20 cases, sampling alone changes less).")
        }
    };
    out.push('\n');
    for line in prose::wrapped(&note, screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
    out
}

fn facts(side: &Profiled) -> String {
    let profile = &side.profile;
    let total = profile.tree.total();
    let what = if profile.measure.is_blocked_time() { ("contention", "contentions") } else { ("sample", "samples") };
    let time = if total.ns > 0 { format!(" {}", numbers::time(total.ns)) } else { String::new() };
    let count = numbers::counted(profile.observations(), what.0, what.1);
    let sampled = side
        .instants
        .map(|instants| format!(", sampled at {}", numbers::counted(instants, "random instant", "random instants")));
    let sampled = sampled.unwrap_or_default();
    format!("{}{time}, {count}, in {}{sampled}", profile.measure.title(), numbers::time(profile.duration.0))
}

/// `Per second of recording: 2.23 s before, 231 us after.` What the shares below are of.
fn per_second(before: &Profiled, after: &Profiled) -> Option<String> {
    let rate = |side: &Profiled| {
        let (total, seconds) = (side.profile.tree.total().ns, side.profile.duration.0 as f64 / 1e9);
        (total > 0 && seconds > 0.0).then(|| total as f64 / seconds)
    };
    let (was, is) = (rate(before)?, rate(after)?);
    let shares = match is / was {
        ratio if ratio > MUCH => " Shares below are of these totals: what shrank may take as long as before.",
        ratio if ratio < 1.0 / MUCH => " Shares below are of these totals: what grew may take less time than before.",
        _ => "",
    };
    let time = |ns: f64| numbers::time(ns.round() as u64);
    Some(format!("Per second of recording: {} before, {} after.{shares}", time(was), time(is)))
}

/// `The call trees are 87.2 % alike. ...`
fn agreement_in_words(agreement: &Agreement) -> String {
    format!(
        "The call trees are {} alike. Of {} after, {} were hot before, too; of {} before, {} are hot after, too. A call is \
         hot if it takes at least {} of the time of the most expensive call.",
        numbers::percent(agreement.overlap),
        numbers::counted(agreement.hot_edges_after, "hot call", "hot calls"),
        numbers::percent(agreement.hot_edge_coverage),
        numbers::counted(agreement.hot_edges_before, "hot call", "hot calls"),
        numbers::percent(agreement.hot_edge_coverage_back),
        numbers::percent(agreement.threshold),
    )
}

fn table(name: &str, changes: &[&MethodChange], top: usize, screen: &Screen, out: &mut String) {
    if changes.is_empty() {
        return;
    }
    title(name, "share of the whole: in the method itself, and with all that it called", screen, out);
    let header = format!("  {:>8}  {:>8} {:>8}  {:>8}  ", "change", "before", "after", "total");
    let _ = writeln!(out, "{}", screen.faint(header.trim_end()));
    let room = screen.width.saturating_sub(header.len()).max(20);
    for change in changes.iter().take(top) {
        let _ = writeln!(
            out,
            "  {:>8}  {:>8} {:>8}  {:>8}  {}",
            points(change.self_growth()),
            numbers::percent(change.self_share_before),
            numbers::percent(change.self_share_after),
            points(change.total_growth()),
            prose::fitted(&change.method, room, screen)
        );
    }
    super::details::more(changes.len(), top, screen, out);
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
    use super::points;

    #[test]
    fn changes_are_points_with_a_sign() {
        assert_eq!([points(0.0321), points(-0.5), points(-0.0001)], ["+3.2", "-50.0", "0.0"]);
    }
}
