//! The report that fits a screen: the verdict, where thread time went, and the
//! findings that matter most. `--full` shows the rest.

use super::{foreign, missing, numbers, prose, title};
use crate::recording::analysed::Analysed;
use crate::terminal::Screen;
use headway_analysis::ledger::{EntryKind, Ledger, Part};
use headway_analysis::names;
use headway_analysis::report::{Advice, Finding, FindingKind, FindingStack, Report};
use headway_model::{printable, Loss};
use std::borrow::Cow;
use std::fmt::Write;

/// Findings shown.
const FINDINGS: usize = 5;
/// A finding that costs less than this part of what the first one costs is not shown.
const SMALL: f64 = 0.01;
/// Lines of a finding, or one more than its sentences have.
const LINES: usize = 7;
/// Lines of a detail: its two largest parts fit.
const DETAIL_LINES: usize = 2;
/// Lines of the sentences of the first finding, and of each other one.
const SENTENCE_LINES: (usize, usize) = (8, 6);
/// Lines of each half of what is known about it.
const ADVICE_LINES: usize = 2;
/// Frames of the application that a stack shows.
const FRAMES: usize = 4;
/// Lines of why something is not active.
const REASON_LINES: usize = 3;
/// Lines of what was dropped or not active.
const TROUBLE_LINES: usize = 6;

/// How the bar shows each part of the ledger, in the order of [`Part::ALL`].
const SYMBOLS: [char; 9] = ['█', '▓', '#', WAITS, WAITS, TIMED, '=', '░', '?'];
/// What is said of the parts that have one symbol: how they differ is in `--full`.
const WAITING: &str = "waiting for results, permits, pools";
/// Their symbol.
const WAITS: char = 'w';
/// The symbol of waits that time ends.
const TIMED: char = 't';
/// From this share on, a part is drawn and in the legend; the time on CPU always is.
const IN_LEGEND: f64 = 0.005;

/// The report in at most 60 lines of 80 columns or more.
pub fn write(analysed: &Analysed, screen: &Screen, out: &mut String) {
    let report = &analysed.report;
    head(report, screen, out);
    findings(report, screen, out);
    if let Some(advice) = foreign::advice(report) {
        let _ = writeln!(out);
        for line in prose::wrapped(advice, screen.width, 2) {
            let _ = writeln!(out, "{line}");
        }
    }
    trouble(analysed, screen, out);
    let _ = writeln!(out);
    let file = super::file_name(&analysed.path);
    // A name that a shell would take apart is not for copying.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    let file = if file != "-" && file.chars().all(is_plain) { file.as_str() } else { "FILE" };
    let whole = if analysed.selected.is_empty() { "" } else { " of the whole recording" };
    // On a line each, for copying.
    for line in [
        format!("Full report: headway report {file}{} --full", printable(&analysed.selected)),
        format!("Web page{whole}: headway report {file} -o report.html"),
        format!("Terms explained: {}", manual()),
    ] {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// Where the archive has the manual of this report: it is unpacked into `bin` and `share` side by side.
const MANUAL: &str = "share/doc/headway/READING-A-REPORT.md";

/// The manual of this report: the installed one, if there is one.
fn manual() -> String {
    let own = std::env::current_exe().ok();
    let installed = own.and_then(|own| Some(own.parent()?.parent()?.join(MANUAL))).filter(|path| path.is_file());
    installed.map_or_else(|| "docs/reading-a-report.md in the source tree".to_owned(), |path| super::file_name(&path))
}

/// Why there are no shares of thread time.
const LIVES_UNKNOWN: &str = "The recording has no starts and ends of threads (jdk.ThreadStart, jdk.ThreadEnd), so it \
     is not known how long threads lived. Missing for that reason: the bar of thread time, percentages of the active \
     thread time, and pressure.";

/// What is wrong in a sentence, and where thread time went.
pub fn head(report: &Report, screen: &Screen, out: &mut String) {
    let _ = writeln!(out);
    for line in prose::wrapped_at_most(4, &report.verdict, 0, screen) {
        let text = prose::with_names(&line, screen);
        let _ = writeln!(out, "{}", if screen.colour { screen.strong(&text) } else { text });
    }
    bar(report, screen, out);
}

/// Says that and why shares of thread time are missing.
pub fn lives_unknown(screen: &Screen, out: &mut String) {
    title("THREAD TIME", "not known", screen, out);
    for line in prose::wrapped(LIVES_UNKNOWN, screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// Where the time of threads went that had something to do.
fn bar(report: &Report, screen: &Screen, out: &mut String) {
    let ledger = &report.ledger;
    if ledger.lives_unknown {
        return lives_unknown(screen, out);
    }
    let active = ledger.active_ns();
    if active == 0 {
        return;
    }
    title("THREAD TIME", &thread_time(ledger, screen), screen, out);
    let symbol = |part: &Part| Part::ALL.iter().zip(SYMBOLS).find(|(one, _)| *one == part).map_or('?', |(_, c)| c);
    let waited = report.awaited(&[EntryKind::WaitResult, EntryKind::WaitPermit]);
    let by_time = report.awaited(&[EntryKind::WaitTime]);
    let mut parts: Vec<(char, &str, u64)> = Vec::new();
    for (part, ns) in ledger.parts() {
        match parts.iter_mut().find(|(before, ..)| *before == symbol(part)) {
            Some(same) => *same = (same.0, waited.as_deref().unwrap_or(WAITING), same.2 + ns),
            None if symbol(part) == WAITS => {
                parts.push((WAITS, waited.as_deref().unwrap_or(part.words), ns));
            }
            None if symbol(part) == TIMED => parts.push((TIMED, by_time.as_deref().unwrap_or(part.words), ns)),
            None => parts.push((symbol(part), part.words, ns)),
        }
    }
    parts.retain(|(symbol, _, ns)| *symbol == SYMBOLS[0] || *ns as f64 >= IN_LEGEND * active as f64);
    let width = screen.width.saturating_sub(4).min(96);
    let _ = writeln!(out, "  {}", drawn(&parts, active, width));
    let legend: Vec<String> = parts
        .iter()
        .map(|(symbol, words, ns)| format!("{symbol} {words} {}", numbers::percent(*ns as f64 / active as f64)))
        .collect();
    for line in prose::wrapped_at_most(3, &legend.join(", "), 2, screen) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// `28.3 s active, 6.20 s idle (waiting for work or the end of threads), 11 threads`.
fn thread_time(ledger: &Ledger, screen: &Screen) -> String {
    const ROOM_TO_EXPLAIN: usize = 80;
    let threads = numbers::counted(ledger.threads, "thread", "threads");
    let active = format!("{} active", numbers::time(ledger.active_ns()));
    let why = if screen.width < ROOM_TO_EXPLAIN { "" } else { " (waiting for work or the end of threads)" };
    match ledger.ns(EntryKind::WaitWork) {
        0 => format!("{active}, {threads}"),
        idle => format!("{active}, {} idle{why}, {threads}", numbers::time(idle)),
    }
}

/// The bar: as many columns for each part as it has of the whole, at least one, so that all of
/// the legend is seen. The largest part gives or takes what rounding leaves.
fn drawn(parts: &[(char, &str, u64)], whole: u64, width: usize) -> String {
    let columns = |ns: u64| ((ns as f64 / whole as f64 * width as f64).round() as usize).max(usize::from(ns > 0));
    let largest = parts.iter().map(|(.., ns)| *ns).enumerate().max_by_key(|(_, ns)| *ns).map(|(at, _)| at);
    let others = |but: usize| {
        parts.iter().enumerate().filter(|(at, _)| *at != but).map(|(_, part)| columns(part.2)).sum::<usize>()
    };
    let columns_of = |at: usize, ns: u64| match largest {
        Some(largest) if largest == at => width.saturating_sub(others(at)),
        _ => columns(ns),
    };
    parts
        .iter()
        .enumerate()
        .flat_map(|(at, (symbol, _, ns))| std::iter::repeat_n(*symbol, columns_of(at, *ns)))
        .collect()
}

fn findings(report: &Report, screen: &Screen, out: &mut String) {
    title("FINDINGS", super::findings::overlap(&report.findings), screen, out);
    let most = report.findings.iter().map(|finding| finding.cost_ns).max().unwrap_or(0);
    let matters = |finding: &Finding| finding.cost_ns == 0 || finding.cost_ns as f64 >= most as f64 * SMALL;
    let shown = || report.findings.iter().enumerate().filter(|(_, finding)| matters(finding)).take(FINDINGS);
    for (index, finding) in shown() {
        let lines = lines_of(index, finding, screen);
        let advice = finding.advice.iter().flat_map(Advice::lines);
        let cut = Screen { cut: true, ..*screen };
        let advice = advice.flat_map(|line| prose::wrapped_at_most(ADVICE_LINES, &line, 7, &cut));
        for line in lines.into_iter().chain(advice) {
            let _ = writeln!(out, "{line}");
        }
    }
    let more = report.findings.len() - shown().count();
    if more > 0 {
        let line = format!(
            "  (and {} in the full report)",
            numbers::counted(more as u64, "smaller finding", "smaller findings")
        );
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// The parts between commas and semicolons that fit into so many lines: half a part says nothing.
fn whole_parts(detail: &str, most: usize, width: usize) -> Cow<'_, str> {
    let fits = |text: &str| prose::wrapped(text, width, 0).len() <= most;
    if fits(detail) {
        return detail.into();
    }
    let is_outside = |at: usize| detail[..at].matches('(').count() == detail[..at].matches(')').count();
    let ends = detail.match_indices([',', ';']).map(|(at, _)| at).filter(|at| detail[*at + 1..].starts_with(' '));
    let mut parts = ends.filter(|at| is_outside(*at)).map(|end| format!("{}, …", &detail[..end]));
    parts.rfind(|part| fits(part)).map_or_else(|| detail.into(), Cow::from)
}

/// The sentences that fit into so many lines, and a sign that there are more; all of it if not even the first fits.
fn whole_sentences<'a>(text: &'a str, most: usize, indent: usize, screen: &Screen) -> Cow<'a, str> {
    let lines = |text: &str| prose::wrapped(text, screen.width, indent).len();
    if lines(text) <= most {
        return text.into();
    }
    let ends = text.match_indices(". ").map(|(at, _)| format!("{}. …", &text[..at]));
    ends.filter(|begin| lines(begin) <= most).last().map_or_else(|| text.into(), Cow::from)
}

/// Lines that a finding's sentences may take. Of the first one nothing is to be cut that says what to do.
fn sentence_lines(index: usize) -> usize {
    match index {
        0 => SENTENCE_LINES.0,
        _ => SENTENCE_LINES.1,
    }
}

/// Sentences first, then stacks, then what else fits.
fn lines_of(index: usize, finding: &Finding, screen: &Screen) -> Vec<String> {
    let screen = &Screen { cut: true, ..*screen };
    let number = format!("{:>3}. ", index + 1);
    let mut lines = Vec::new();
    let text = whole_sentences(&finding.text, sentence_lines(index), number.len(), screen);
    let sentences = prose::wrapped_at_most(sentence_lines(index), &text, number.len(), screen);
    for (nth, line) in sentences.iter().enumerate() {
        let start = if nth == 0 { number.as_str() } else { "     " };
        let text = prose::with_names(line.trim_start(), screen);
        let is_alarming = finding.kind == FindingKind::Deadlock && screen.colour;
        lines.push(format!("{start}{}", if is_alarming { screen.alarm(&text) } else { text }));
    }
    for stack in &finding.stacks {
        lines.push(screen.faint(&format!("       {}", folded(stack, screen.width.saturating_sub(7)))));
    }
    let limit = LINES.max(sentences.len() + 1);
    for detail in &finding.details {
        let most = DETAIL_LINES.min(limit.saturating_sub(lines.len()));
        if most == 0 {
            break;
        }
        let detail = whole_parts(detail, most, screen.width.saturating_sub(7));
        lines.extend(prose::wrapped_at_most(most, &detail, 7, screen).iter().map(|line| screen.faint(line)));
    }
    lines.truncate(limit);
    lines
}

/// `owned by Shop.sell:12 < … < Server.handle:40 (+14 frames)`: the frames of the
/// application, with the first of a library before them; where others are between, and
/// how many they are. All frames are in `--full`.
pub(super) fn folded(stack: &FindingStack, width: usize) -> String {
    let plumbing = names::Plumbing::of(stack.frames.iter().map(String::as_str));
    let of_application = |frame: &String| !plumbing.has(frame) && !names::is_machinery(frame);
    let of_library = |frame: &String| !names::is_plumbing(frame) && !names::is_machinery(frame);
    let places = |is: &dyn Fn(&String) -> bool| -> Vec<usize> {
        stack.frames.iter().enumerate().filter(|(_, frame)| is(frame)).map(|(at, _)| at).collect()
    };
    let mut shown = places(&of_application);
    shown.truncate(FRAMES);
    if shown.is_empty() {
        shown.extend((!stack.frames.is_empty()).then_some(0));
    }
    let library = places(&of_library).first().copied().filter(|library| !shown.contains(library));
    shown.splice(0..0, library);
    loop {
        let line = with_gaps(stack, &shown);
        if shown.len() <= 1 || line.chars().count() <= width {
            return line;
        }
        // The first of the application says more than that of a library.
        match (shown.len(), library) {
            (2, Some(library)) if shown.first() == Some(&library) => _ = shown.remove(0),
            _ => _ = shown.pop(),
        }
    }
}

/// The frames at these places, and a sign where others are before or between them.
fn with_gaps(stack: &FindingStack, shown: &[usize]) -> String {
    let mut line = format!("{} ", stack.whose);
    let mut next = 0;
    for (nth, at) in shown.iter().enumerate() {
        let before = match (nth, *at > next) {
            (0, true) => "… < ",
            (0, false) => "",
            (_, true) => " < … < ",
            (_, false) => " < ",
        };
        let _ = write!(line, "{before}{}", stack.frames.get(*at).map_or("", |frame| short(frame)));
        next = at + 1;
    }
    let others = stack.frames.len().saturating_sub(shown.len());
    if others > 0 {
        let _ = write!(line, " (+{})", numbers::counted(others as u64, "frame", "frames"));
    }
    line
}

/// `Shop.sell:12` of `com.acme.Shop.sell:12`.
fn short(frame: &str) -> &str {
    let at = frame.find(|c: char| c.is_uppercase()).filter(|at| frame[..*at].ends_with('.'));
    at.map_or(frame, |at| &frame[at..])
}

/// What was dropped most, and how many causes more there are. What an analysis adds up is not dropped: totals have it,
/// and the full report says how much that is.
fn losses(report: &Report) -> Option<String> {
    let dropped = || report.losses.iter().filter(|(name, _)| name.as_str() != Loss::AnalysisFull.name());
    let (name, count) = dropped().max_by_key(|(_, count)| **count)?;
    let meaning = Loss::from_name(name).map_or_else(|| name.clone(), |loss| loss.explanation().to_owned());
    let others = match dropped().count() - 1 {
        0 => String::new(),
        n => format!(", and {}", numbers::counted(n as u64, "other cause", "other causes")),
    };
    Some(format!("losses ({}{others}): {meaning}", numbers::grouped(*count)))
}

/// What was dropped, was not active, or is damaged: a line each.
fn trouble(analysed: &Analysed, screen: &Screen, out: &mut String) {
    let report = &analysed.report;
    let cut = Screen { cut: true, ..*screen };
    let mut lines = Vec::new();
    if let Some(text) = losses(report) {
        lines.extend(prose::wrapped_at_most(1, &text, 0, &cut).iter().map(|line| screen.warning(line)));
    }
    let degraded = report.degraded.iter().map(|degraded| (&*degraded.mechanism, &*degraded.reason));
    for reason in missing::sentences(degraded) {
        let reason = prose::wrapped_at_most(REASON_LINES, &reason, 0, &cut);
        lines.extend(reason.iter().map(|line| screen.warning(line)));
    }
    for problem in &analysed.problems {
        lines.push(screen.alarm(&format!("damaged: {problem}")));
    }
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out);
    for line in lines.iter().take(TROUBLE_LINES) {
        let _ = writeln!(out, "  {line}");
    }
    if lines.len() > TROUBLE_LINES {
        let _ = writeln!(out, "  {} more in --full", lines.len() - TROUBLE_LINES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::ledger::{Entry, Quality};
    use headway_analysis::report::{Evidence, Gist};

    #[test]
    fn stacks_show_the_application_and_count_the_rest() {
        let frames = [
            "jdk.internal.misc.Unsafe.park",
            "java.util.concurrent.locks.LockSupport.park:211",
            "com.zaxxer.hikari.util.ConcurrentBag.borrow:151",
            "com.acme.Db.handleRequest:29",
            "com.acme.Server.(lambda).run",
            "com.acme.Server.serve:12",
            "java.lang.Thread.run:840",
        ];
        let frames: Vec<String> = frames.iter().map(|frame| (*frame).to_owned()).collect();
        let stack = FindingStack { whose: "waiting in".into(), frames };
        assert_eq!(folded(&stack, 90), "waiting in … < Db.handleRequest:29 < … < Server.serve:12 (+5 frames)");
        assert_eq!(folded(&stack, 50), "waiting in … < Db.handleRequest:29 (+6 frames)");
        let frames = ["org.apache.http.Future.get:9", "org.apache.http.Pool.get:3", "com.acme.Weather.ask:4"];
        let through = FindingStack { whose: "waiting in".to_owned(), frames: frames.map(str::to_owned).to_vec() };
        assert_eq!(folded(&through, 90), "waiting in Future.get:9 < … < Weather.ask:4 (+1 frame)");
        assert_eq!(folded(&through, 40), "waiting in … < Weather.ask:4 (+2 frames)");
        let jdk = FindingStack { whose: "owned by".into(), frames: vec!["java.util.Vector.add:12".into()] };
        assert_eq!(folded(&jdk, 90), "owned by Vector.add:12");
    }

    #[test]
    fn where_it_is_not_known_when_threads_lived_no_bar_is_drawn() {
        let screen = Screen { width: 80, colour: false, cut: true };
        let entry = |entry, total_ns| Entry { entry, total_ns, share: 0.0, quality: Quality::Exact };
        let entries = vec![entry(EntryKind::LockUnknown, 30), entry(EntryKind::Unknown, 70)];
        let mut report =
            Report { ledger: Ledger { threads: 2, total_ns: 100, entries, ..Ledger::default() }, ..Report::default() };
        let shown = |report: &Report| {
            let mut out = String::new();
            head(report, &screen, &mut out);
            out
        };
        assert!(shown(&report).contains("blocked on locks 30 %"), "{}", shown(&report));
        report.ledger.lives_unknown = true;
        let text = shown(&report);
        assert!(text.contains("THREAD TIME  not known") && text.contains("jdk.ThreadStart"), "{text}");
        assert!(!text.contains('%'), "{text}");
    }

    #[test]
    fn what_is_only_added_up_is_no_loss() {
        let said = |causes: &[(Loss, u64)]| {
            let losses = causes.iter().map(|(loss, count)| (loss.name().to_owned(), *count)).collect();
            super::losses(&Report { losses, ..Report::default() })
        };
        assert_eq!(said(&[(Loss::AnalysisFull, 156)]), None);
        let text = said(&[(Loss::AnalysisFull, 156), (Loss::SampleInHeap, 2), (Loss::Panic, 1)]).unwrap();
        assert!(text.starts_with("losses (2, and 1 other cause): sampled stacks of virtual threads"), "{text}");
    }

    #[test]
    fn a_detail_ends_with_a_whole_part() {
        let detail =
            "all of it in the run queue (no steal, no throttling); there were too few CPUs during 16.4 s of 16.5 s";
        assert_eq!(whole_parts(detail, 1, 120), detail);
        assert_eq!(whole_parts(detail, 2, 90), detail);
        assert_eq!(whole_parts(detail, 1, 90), "all of it in the run queue (no steal, no throttling), …");
        assert_eq!(whole_parts("2 threads, mean 3 ms, longest 1 s", 1, 28), "2 threads, mean 3 ms, …");
        assert_eq!(
            whole_parts("all of it in the run queue (no steal, none)", 1, 35),
            "all of it in the run queue (no steal, none)"
        );
    }

    #[test]
    fn what_nearly_all_waits_are_for_is_named_in_the_bar() {
        let finding = |awaited: &str, what: &str, ns| Finding {
            kind: FindingKind::Waiting,
            gist: Gist::of_wait(awaited),
            evidence: vec![Evidence::exact(what, ns, None)],
            ..Finding::default()
        };
        let entry = |entry, total_ns| Entry { entry, total_ns, share: 0.0, quality: Quality::Exact };
        let mut report = Report::default();
        report.ledger.total_ns = 1_000;
        report.ledger.entries = vec![entry(EntryKind::WaitPermit, 900), entry(EntryKind::WaitResult, 100)];
        let screen = Screen { width: 80, colour: false, cut: true };
        let mut out = String::new();
        report.findings = vec![finding("a row", "wait-permit", 900), finding("a row", "wait-result", 95)];
        bar(&report, &screen, &mut out);
        assert!(out.contains("w waiting for a row 100 %"), "{out}");
    }

    #[test]
    fn the_bar_has_as_many_columns_as_there_are() {
        let parts = [('a', "", 1), ('b', "", 1), ('c', "", 1), ('d', "", 997)];
        let bar = drawn(&parts, 1_000, 50);
        assert_eq!(bar.chars().count(), 50);
        assert!(bar.ends_with('d'));
        assert_eq!(drawn(&[('a', "", 3), ('b', "", 1)], 4, 8), "aaaaaabb");
    }
}
