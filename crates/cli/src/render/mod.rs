//! The report on a terminal. The one that fits a screen says what is wrong, where
//! thread time went and what matters most; the full one goes on with the tree of
//! blocked time, what was waited for, and what is missing.

mod brief;
mod chain;
mod details;
mod difference;
mod findings;
mod foreign;
mod method;
pub mod missing;
pub mod numbers;
pub mod own_cost;
pub mod park_statistics;
mod pressure;
mod prose;
mod quality;
pub mod records;
mod steal;
pub mod totals;
mod tree;
pub mod waited;

pub use difference::difference;
pub use method::methods;
pub use prose::print_folded;

use crate::recording::analysed::Analysed;
use crate::recording::file_name::local_zone;
use crate::terminal::Screen;
use headway_analysis::report::{RecordingSummary, Report};
use headway_analysis::sampled::SamplingWindow;
use headway_model::printable;
use std::fmt::Write;
use std::path::Path;

/// Spans of time in which one bound decided that are listed.
const SPANS: usize = 3;

/// The report that fits a screen.
pub fn brief(analysed: &Analysed, screen: &Screen) -> String {
    let mut out = heading(analysed, screen);
    brief::write(analysed, screen, &mut out);
    out
}

/// The whole report.
pub fn report(analysed: &Analysed, screen: &Screen) -> String {
    let report = &analysed.report;
    let mut out = heading(analysed, screen);
    brief::head(report, screen, &mut out);
    findings::write(report, screen, &mut out);
    tree::write(report, analysed.top, screen, &mut out);
    details::accounted(report, screen, &mut out);
    method::owners(report, screen, &mut out);
    details::write(report, analysed.top, screen, &mut out);
    foreign::write(analysed, screen, &mut out);
    quality::write(analysed, screen, &mut out);
    out
}

/// Critical section pressure, of all locks or of those with phases.
pub fn pressure(analysed: &Analysed, phases_only: bool, screen: &Screen) -> String {
    let mut out = heading(analysed, screen);
    match analysed.pressure_of_top(phases_only) {
        None => brief::lives_unknown(screen, &mut out),
        Some(pressure) => pressure::write(&pressure, phases_only, screen, &mut out),
    }
    quality::write(analysed, screen, &mut out);
    out
}

/// What the environment took.
pub fn steal(analysed: &Analysed, screen: &Screen) -> String {
    let mut out = heading(analysed, screen);
    let steal = analysed.report.steal.clone().unwrap_or_default();
    steal::write(&steal, analysed.report.sampling.is_some(), analysed.top, screen, &mut out);
    quality::write(analysed, screen, &mut out);
    out
}

/// A recording in which nothing was blocked, in one line.
pub fn one_line(analysed: &Analysed, screen: &Screen) -> String {
    let report = &analysed.report;
    let what = match report.recording.java_arguments.split_whitespace().next() {
        Some(main) => format!(" ({main})"),
        None => String::new(),
    };
    let line = format!(
        "{}{what}: nothing blocked in {}, {}",
        file_name(&analysed.path),
        numbers::time(report.duration_ns),
        numbers::counted(report.threads, "thread", "threads")
    );
    let dropped: u64 = report.losses.values().sum();
    match (dropped, analysed.problems.first()) {
        (_, Some(problem)) => format!("{}; damaged: {problem}", screen.faint(&line)),
        (0, None) => screen.faint(&line),
        (dropped, None) => format!("{}; {} dropped", screen.faint(&line), numbers::grouped(dropped)),
    }
}

/// A path as it is shown.
fn file_name(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// What was recorded: file, program, JVM, length.
fn heading(analysed: &Analysed, screen: &Screen) -> String {
    let report = &analysed.report;
    let recording = &report.recording;
    let mut facts = Vec::new();
    if !recording.java_arguments.is_empty() {
        facts.push(recording.java_arguments.clone());
    }
    if recording.pid != 0 {
        facts.push(format!("pid {}", recording.pid));
    }
    // JFR's own text goes on with the platform, the compiler and the day.
    let jvm = recording.jvm.split(" for ").next().unwrap_or_default().trim();
    if !jvm.is_empty() {
        facts.push(jvm.to_owned());
    }
    facts.push(numbers::counted(report.threads, "thread", "threads"));
    facts.extend(recording.cpus().map(|cpus| numbers::counted(cpus, "CPU", "CPUs")));
    let length = numbers::time(recording.duration_ns);
    facts.push(match recording.producer.as_str() {
        "" => format!("{length} recorded"),
        producer => format!("{length} recorded by {producer}"),
    });
    facts.extend(began(recording));
    let mut out = format!("{}\n", screen.strong(&file_name(&analysed.path)));
    for line in prose::wrapped(&facts.join(", "), screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
    for line in [report.selection.sentence(), report.blocked.left_out(), summed_up(report), sampled(report)]
        .into_iter()
        .flatten()
    {
        for line in prose::wrapped(&line, screen.width, 2) {
            let _ = writeln!(out, "{}", screen.faint(&line));
        }
    }
    out
}

/// `began 2026-11-30 04:59:05 UTC`, with the zone of this machine; `None` if the recording does not say when.
fn began(recording: &RecordingSummary) -> Option<String> {
    let epoch_ns = i128::from(recording.start_ns) + i128::from(recording.epoch_offset_ns);
    let began = jiff::Timestamp::from_nanosecond(epoch_ns).ok().filter(|_| recording.start_ns > 0)?;
    Some(format!("began {}", began.to_zoned(local_zone()).strftime("%F %T %Z")))
}

/// What the recording has as sums only, because it was asked for a minimum.
fn summed_up(report: &Report) -> Option<String> {
    let setting = |name: &str| {
        let (_, value) = report.recording.settings.iter().find(|(setting, _)| setting == name)?;
        value.parse::<u64>().ok().filter(|ns| *ns > 0)
    };
    let (what, minimum) = match (setting("min_duration"), setting("park_floor")) {
        (Some(minimum), Some(floor)) if floor > minimum => {
            (format!("parks shorter than {} and contentions of monitors", numbers::time(floor)), minimum)
        }
        (Some(minimum), _) => ("contentions and parks".to_owned(), minimum),
        (None, floor) => ("parks".to_owned(), floor?),
    };
    let blocked = &report.blocked;
    Some(format!(
        "recorded as sums: {what} shorter than {}. Here: {}, blocked for {} in all. They count in the totals, but have \
         no owner",
        numbers::time(minimum),
        numbers::counted(blocked.summed, "contention", "contentions"),
        numbers::time(blocked.summed_ns)
    ))
}

/// What of the recording is exact and what is estimated, because it samples.
fn sampled(report: &Report) -> Option<String> {
    let sampling = report.sampling.as_ref().filter(|sampling| sampling.recorded + sampling.added_up > 0)?;
    let all = sampling.recorded + sampling.added_up;
    Some(format!(
        "sampled {}: of {} short contentions and waits, {} were recorded one by one: those in progress at {}. Call \
         stacks and owners of the others ({} in total) are estimated. {} Short: less than {}. Recordings with --exact are not sampled",
        bounds(&sampling.windows),
        numbers::grouped(all),
        numbers::grouped(sampling.recorded),
        numbers::counted(sampling.instants, "random instant", "random instants"),
        numbers::time(sampling.added_up_ns),
        totals(&sampling.windows),
        short(&sampling.windows),
    ))
}

/// What is sampled: what lasts for less than two windows. `10.0 ms`, or `two sampling windows (10.0 ms to 40.0 ms)`.
fn short(windows: &[SamplingWindow]) -> String {
    let lengths = || windows.iter().map(|window| 2 * window.window_ns).filter(|ns| *ns > 0);
    match (lengths().min(), lengths().max()) {
        (Some(least), Some(most)) if least == most => numbers::time(least),
        (Some(least), Some(most)) => {
            format!("two sampling windows ({} to {})", numbers::time(least), numbers::time(most))
        }
        _ => "two sampling windows".to_owned(),
    }
}

/// Whether totals are exact.
fn totals(windows: &[SamplingWindow]) -> String {
    let thinned = spans(windows.iter().map(|window| (window.from_ns, window.thins.then_some(""))));
    if thinned.is_empty() {
        return "Totals are exact.".to_owned();
    }
    let when = listed(&thinned, |(_, from, to)| when(*from, *to));
    format!(
        "Totals are exact, with one exception: because of --thin-parks, number and time of the parks of threads that park \
         very often are estimates ({when})."
    )
}

/// Which bound decided the windows, and when: `from 2.00 s to 14.0 s (--budget), from 14.0 s on (--max-rate)`.
fn bounds(windows: &[SamplingWindow]) -> String {
    let spans = spans(windows.iter().map(|window| (window.from_ns, (window.window_ns > 0).then_some(window.bound))));
    listed(&spans, |(bound, from, to)| format!("{} (--{bound})", when(*from, *to)))
}

/// What was so from when to when; up to the end if there is no end.
type Span = (&'static str, u64, Option<u64>);

/// The times in which the same goes on, of what begins at each of these.
fn spans(states: impl Iterator<Item = (u64, Option<&'static str>)>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (from_ns, state) in states {
        let open = spans.last_mut().filter(|(.., to)| to.is_none());
        if open.as_ref().is_some_and(|(before, ..)| Some(*before) == state) {
            continue;
        }
        if let Some((.., to)) = open {
            *to = Some(from_ns);
        }
        spans.extend(state.map(|state| (state, from_ns, None)));
    }
    spans
}

fn when(from: u64, to: Option<u64>) -> String {
    let to = to.map_or("on".to_owned(), |to| format!("to {}", numbers::time(to)));
    match from {
        0 if to == "on" => "from the start".to_owned(),
        from if to == "on" => format!("from {} on", numbers::time(from)),
        from => format!("from {} {to}", numbers::time(from)),
    }
}

/// The first of them, and how many more there are.
fn listed(spans: &[Span], text: impl Fn(&Span) -> String) -> String {
    let mut texts: Vec<String> = spans.iter().take(SPANS).map(text).collect();
    let more = spans.len().saturating_sub(SPANS);
    texts.extend((more > 0).then(|| format!("and {more} times more")));
    texts.join(", ")
}

/// A name that fits `width` columns, without its middle if need be.
pub fn prose_fitted(name: &str, width: usize) -> String {
    prose::fitted(name, width, &Screen { width, colour: false, cut: true })
}

/// A section's title, with a blank line before it.
fn title(text: &str, note: &str, screen: &Screen, out: &mut String) {
    let note = if note.is_empty() { String::new() } else { format!("  {}", screen.faint(note)) };
    let _ = writeln!(out, "\n{}{note}", screen.strong(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_listed_with_the_time_for_which_they_decided() {
        let window = |from_ns, window_ns, bound| SamplingWindow { from_ns, window_ns, bound, thins: false };
        let second = 1_000_000_000;
        let mut windows = vec![
            window(2 * second, 5_000_000, "budget"),
            window(4 * second, 10_000_000, "budget"),
            window(14 * second, 20_000_000, "max-rate"),
        ];
        assert_eq!(bounds(&windows), "from 2.00 s to 14.0 s (--budget), from 14.0 s on (--max-rate)");
        windows.extend(
            (0..3).flat_map(|n| [window((20 + n) * second, 0, "budget"), window((20 + n) * second, 9, "budget")]),
        );
        let text = bounds(&windows);
        assert!(
            text.ends_with("from 14.0 s to 20.0 s (--max-rate), from 20.0 s to 21.0 s (--budget), and 2 times more"),
            "{text}"
        );
    }

    #[test]
    fn what_is_sampled_is_shorter_than_two_windows() {
        let window = |window_ns| SamplingWindow { from_ns: 0, window_ns, bound: "budget", thins: false };
        assert_eq!(short(&[window(5_000_000), window(0)]), "10.0 ms");
        assert_eq!(short(&[window(5_000_000), window(20_000_000)]), "two sampling windows (10.0 ms to 40.0 ms)");
    }

    #[test]
    fn totals_are_exact_except_while_parks_are_thinned_out() {
        let window = |from_s: u64, thins| SamplingWindow {
            from_ns: from_s * 1_000_000_000,
            window_ns: 80_000_000,
            bound: "budget",
            thins,
        };
        assert_eq!(totals(&[window(0, false), window(2, false)]), "Totals are exact.");
        let text = totals(&[window(0, false), window(2, true), window(3, true), window(9, false)]);
        assert!(text.ends_with("park very often are estimates (from 2.00 s to 9.00 s)."), "{text}");
        assert!(totals(&[window(0, true)]).ends_with("park very often are estimates (from the start)."));
    }
}
