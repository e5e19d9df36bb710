//! Methods on a terminal: flat totals, hot call chains, callers, and what lock
//! owners executed.

use super::chain::{self, Fold};
use super::{numbers, prose, quality, title};
use crate::command::method::{Caller, MethodDocument, Section};
use crate::recording::analysed::Analysed;
use crate::terminal::Screen;
use headway_analysis::method::{Measure, Unit};
use headway_analysis::report::{OwnerActivity, Report, SampledMethod, UNKNOWN};
use std::fmt::Write;

/// Frames of a hot chain that are shown.
const FRAMES: usize = 8;
/// Hot chains that are shown of each section.
const CHAINS: usize = 5;
/// Owners' lines that are shown.
const SPOTS: usize = 5;
/// Owners that a report of blocked time shows.
const OWNERS: usize = 3;
/// Owners below this part of the blocked time are left out there.
const OF_BLOCKED: f64 = 0.05;

/// The whole report.
pub fn methods(analysed: &Analysed, document: &MethodDocument, top: usize, screen: &Screen) -> String {
    let mut out = super::heading(analysed, screen);
    if let Some(engine) = engine(&analysed.report.recording.settings) {
        for line in prose::wrapped(&engine, screen.width, 2) {
            let _ = writeln!(out, "{}", screen.faint(&line));
        }
    }
    let mut note = vec![document.measure.title().to_owned()];
    if document.total_ns > 0 {
        note.push(numbers::time(document.total_ns));
    }
    let what = if document.measure.is_blocked_time() { ("contention", "contentions") } else { ("sample", "samples") };
    note.push(numbers::counted(document.samples, what.0, what.1));
    note.extend(incomplete(document));
    let note = note.join(", ");
    let are_threads = |section: &Section| !section.threads.is_empty();
    if !document.sections.is_empty() && document.sections.iter().all(are_threads) {
        title(heading_of(document), &note, screen, &mut out);
        legend(document, screen, &mut out);
        out.push('\n');
    }
    for section in &document.sections {
        write_section(section, document, &note, screen, &mut out);
    }
    if !document.callers.is_empty() {
        callers(&document.callers, &note, screen, &mut out);
    }
    let activities = &document.owner_activity;
    let shown: Vec<&OwnerActivity> = activities.iter().filter(|activity| activity.suffices()).take(top).collect();
    inside(&shown, analysed.report.sampling.is_some(), screen, &mut out);
    paragraph(others(activities, &shown), screen, &mut out);
    quality::write(analysed, screen, &mut out);
    out
}

/// How many have no whole stack.
fn incomplete(document: &MethodDocument) -> impl Iterator<Item = String> {
    let counts = [(document.without_stack, "without a stack"), (document.truncated, "with the root missing")];
    counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", numbers::grouped(count)))
}

/// How threads were sampled, and where the VM was asked for stacks, what that
/// took. `None` where the recording does not say.
fn engine(settings: &[(String, String)]) -> Option<String> {
    let setting = |name: &str| settings.iter().find(|(setting, _)| setting == name).map(|(_, value)| value.as_str());
    let number = |name: &str| setting(name).and_then(|value| value.parse::<u64>().ok());
    let mut said = format!("sampled by engine {}", setting("engine")?);
    if let Some(interval) = setting("interval").and_then(|value| value.strip_suffix(" ns")?.parse().ok()) {
        let _ = write!(said, " every {}", numbers::time(interval));
    }
    if let (Some(requests), Some(median), Some(most), Some(longest)) = (
        number("stack_requests"),
        number("stack_request_p50_ns"),
        number("stack_request_p97_5_ns"),
        number("stack_request_max_ns"),
    ) {
        let by = |name| numbers::grouped(number(name).unwrap_or(0));
        let _ = write!(
            said,
            "; {} requests for stacks, answered within {} (half of them), {} (97.5 %), {} (all); taken by the thread \
             itself {}, by the sampling thread {}, by the VM's thread {}",
            numbers::grouped(requests),
            numbers::time(median),
            numbers::time(most),
            numbers::time(longest),
            by("stacks_by_target"),
            by("stacks_by_requester"),
            by("stacks_by_vm_thread"),
        );
    }
    Some(said)
}

fn write_section(section: &Section, document: &MethodDocument, note: &str, screen: &Screen, out: &mut String) {
    let has_locks = document.measure.is_blocked_time();
    let part = numbers::percent(section.share);
    match section.threads.as_str() {
        "" if has_locks => {
            locks(section, document, screen, out);
            methods_of(section, document.measure, screen, out);
            return chains(section, document.measure, screen, out);
        }
        "" => title(heading_of(document), note, screen, out),
        UNKNOWN if has_locks => {
            title("hand-off, VM pauses, or owner not known", &format!("{part} of the blocked time"), screen, out);
        }
        threads if has_locks => {
            let did = did(document.measure);
            title(threads, &format!("{did} for {part} of the blocked time"), screen, out);
        }
        threads => title(threads, &format!("{part} of all"), screen, out),
    }
    self_and_total(section, document.unit, screen, out);
    if section.threads.is_empty() {
        chains(section, document.measure, screen, out);
    }
}

fn self_and_total(section: &Section, unit: Unit, screen: &Screen, out: &mut String) {
    let header = format!(
        "  {:>7} {:>7} {:>9}",
        "self %",
        "total %",
        if unit == Unit::Samples { "samples" } else { "self time" }
    );
    let _ = writeln!(out, "{}", screen.faint(&header));
    let room = screen.width.saturating_sub(header.len() + 2).max(20);
    for method in &section.methods {
        let _ = writeln!(
            out,
            "  {:>7} {:>7} {:>9}  {}",
            numbers::percent(method.self_share),
            numbers::percent(method.total_share),
            amount(method, unit),
            prose::fitted(&method.method, room, screen)
        );
    }
}

/// The rows that are locks: threads were blocked on them.
fn locks(section: &Section, document: &MethodDocument, screen: &Screen, out: &mut String) {
    let count = numbers::counted(document.samples, "contention", "contentions");
    let mut note = vec![format!("{} of blocked time in {count}", numbers::time(document.total_ns))];
    note.extend(incomplete(document));
    title("LOCKS", &note.join(", "), screen, out);
    for lock in section.methods.iter().filter(|row| row.has_self_time()) {
        shared(lock.self_share, lock.self_ns, &lock.method, screen, out);
    }
}

/// The rows that are methods: parts of the same time.
fn methods_of(section: &Section, measure: Measure, screen: &Screen, out: &mut String) {
    let (heading, note) = match measure {
        Measure::Owner => {
            ("METHODS OF OWNERS", "blocked time while the owner of the lock was in the method; these times overlap")
        }
        _ => ("METHODS OF BLOCKED THREADS", "time blocked in the method and in what it called; these times overlap"),
    };
    let mut methods = section.methods.iter().filter(|row| !row.has_self_time()).peekable();
    if methods.peek().is_some() {
        title(heading, note, screen, out);
    }
    for method in methods {
        shared(method.total_share, method.total_ns, &method.method, screen, out);
    }
}

fn shared(share: f64, ns: u64, name: &str, screen: &Screen, out: &mut String) {
    let room = screen.width.saturating_sub(22).max(20);
    let _ = writeln!(
        out,
        "  {:>7} {:>9}  {}",
        numbers::percent(share),
        numbers::time(ns),
        prose::fitted(name, room, screen)
    );
}

fn heading_of(document: &MethodDocument) -> &'static str {
    if document.measure.is_blocked_time() {
        "LOCKS AND METHODS"
    } else {
        "METHODS"
    }
}

/// What a thread or method of a row did while others were blocked, or it was itself.
fn did(measure: Measure) -> &'static str {
    if measure == Measure::Owner {
        "owned locks"
    } else {
        "was blocked"
    }
}

/// What the columns of blocked time are.
fn legend(document: &MethodDocument, screen: &Screen, out: &mut String) {
    if !document.measure.is_blocked_time() {
        return;
    }
    let legend = format!(
        "self: time blocked on this lock; a method has no self time. total of a method: blocked time for which it was \
         in the call stack of {}",
        if document.measure == Measure::Owner { "the lock's owner" } else { "the blocked thread" }
    );
    for line in prose::wrapped(&legend, screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

fn amount(method: &SampledMethod, unit: Unit) -> String {
    match unit {
        Unit::Samples => numbers::grouped(method.self_samples),
        Unit::Nanoseconds => numbers::time(method.self_ns),
    }
}

fn chains(section: &Section, measure: Measure, screen: &Screen, out: &mut String) {
    if section.stacks.is_empty() {
        return;
    }
    let has_locks = measure.is_blocked_time();
    let note = match (has_locks, measure) {
        (true, Measure::Owner) => "time blocked on the lock in the first line, while its owner had this call stack",
        (true, _) => "time for which threads with this call stack were blocked on the lock in the first line",
        (false, _) => "time of the method in the first line itself, called this way",
    };
    title("HOTTEST CALL STACKS", note, screen, out);
    for path in section.stacks.iter().take(CHAINS) {
        let _ = writeln!(out, "  {:>7}  {}", numbers::percent(path.share), leaf(&path.stack, 11, screen));
        // Of a lock, what called the synchronizer is of interest; a method there may be what takes the time.
        let fold = if has_locks { Fold::Synchronizers } else { Fold::Nothing };
        chain::behind_leaf(&path.stack, FRAMES, 11, fold, screen, out);
    }
}

fn leaf(chain: &[String], column: usize, screen: &Screen) -> String {
    let room = screen.width.saturating_sub(column).max(20);
    prose::fitted(chain.first().map_or("", String::as_str), room, screen)
}

fn callers(callers: &[Caller], note: &str, screen: &Screen, out: &mut String) {
    title("CALLERS", note, screen, out);
    for caller in callers {
        let indent = 2 * caller.depth;
        let room = screen.width.saturating_sub(13 + indent).max(20);
        let mark = if caller.depth == 0 { "" } else { "< " };
        let name = prose::fitted(&caller.method, room, screen);
        let name = if caller.depth == 0 { screen.strong(&name) } else { name };
        let _ = writeln!(out, "  {:>7}  {:indent$}{mark}{name}", numbers::percent(caller.share), "");
    }
}

/// What owners of the locks with the most blocked time executed, in a report of blocked time.
pub fn owners(report: &Report, screen: &Screen, out: &mut String) {
    let matters = |activity: &&OwnerActivity| {
        activity.suffices() && activity.blocked_ns as f64 >= OF_BLOCKED * report.blocked_ns as f64
    };
    let shown: Vec<&OwnerActivity> = report.owner_activity.iter().filter(matters).take(OWNERS).collect();
    inside(&shown, report.sampling.is_some(), screen, out);
    paragraph(elsewhere(&report.owner_activity, &shown), screen, out);
}

/// What the shown ones executed.
fn inside(shown: &[&OwnerActivity], is_sampled: bool, screen: &Screen, out: &mut String) {
    for activity in shown {
        owner(activity, is_sampled, screen, out);
    }
}

fn paragraph(text: Option<String>, screen: &Screen, out: &mut String) {
    let Some(text) = text else { return };
    let _ = writeln!(out);
    for line in prose::wrapped(&text, screen.width, 2) {
        let _ = writeln!(out, "{}", screen.faint(&line));
    }
}

/// The owners with samples that are not shown.
fn rest<'a>(all: &'a [OwnerActivity], shown: &[&OwnerActivity]) -> Vec<&'a OwnerActivity> {
    let is_shown = |one: &OwnerActivity| shown.iter().any(|shown| std::ptr::eq(*shown, one));
    all.iter().filter(|one| one.samples > 0 && !is_shown(one)).collect()
}

/// `1 owner`, or `3 other owners` where some are shown; and how long they blocked threads.
fn counted(rest: &[&OwnerActivity], shown: &[&OwnerActivity]) -> (String, String) {
    let of = if shown.is_empty() { ("owner", "owners") } else { ("other owner", "other owners") };
    let ns = rest.iter().map(|one| one.blocked_ns).sum();
    (numbers::counted(rest.len() as u64, of.0, of.1), numbers::time(ns))
}

/// Where a report of blocked time does not show what an owner executed though that is known: where it is.
fn elsewhere(all: &[OwnerActivity], shown: &[&OwnerActivity]) -> Option<String> {
    let mut rest = rest(all, shown);
    rest.retain(|one| one.suffices());
    let (owners, ns) = counted(&rest, shown);
    let (them, in_all) = if rest.len() == 1 { ("it", "") } else { ("them", " in all") };
    (!rest.is_empty()).then(|| {
        format!(
            "`headway report --method` shows what {owners} executed while threads were blocked by {them} (for {ns}{in_all})."
        )
    })
}

/// How many owners with samples a report of methods does not show, for example because of too few samples, and how long
/// they blocked others.
fn others(all: &[OwnerActivity], shown: &[&OwnerActivity]) -> Option<String> {
    let rest = rest(all, shown);
    let (owners, ns) = counted(&rest, shown);
    let few = match rest.iter().filter(|one| !one.suffices()).count() {
        0 => String::new(),
        few if few == rest.len() => ", with too few samples".to_owned(),
        few => format!(" ({} with too few samples)", numbers::grouped(few as u64)),
    };
    let they = if rest.len() == 1 { "It" } else { "They" };
    (!rest.is_empty()).then(|| format!("Not shown: {owners}{few}. {they} blocked threads for {ns}."))
}

/// Parks of virtual threads are no samples.
fn known(activity: &OwnerActivity) -> &'static str {
    if activity.parked_ns > 0 {
        "known"
    } else {
        "sampled"
    }
}

/// How long it blocked others, how much of that is known, and for what part of that it did not run. In a recording that
/// `is_sampled`, owners are sampled only in the contentions that were recorded one by one.
fn coverage(activity: &OwnerActivity, covered: f64, is_sampled: bool) -> String {
    let known = known(activity);
    let one_by_one = if is_sampled { ", without contentions that were recorded only as sums" } else { "" };
    let mut note = format!("blocked others for {}{one_by_one}.", numbers::time(activity.blocked_ns));
    let part = numbers::percent(covered);
    let samples = numbers::counted(activity.samples_taken, "sample", "samples");
    let cover = if activity.samples_taken == 1 { "covers" } else { "cover" };
    if activity.sampled_ns > 0 {
        let _ = match (activity.samples_taken, activity.parked_ns) {
            (0, _) => write!(note, " For {part} of that time, it is known what it did."),
            (_, 0) => write!(note, " {samples} of its call stack {cover} {part} of that time."),
            _ => write!(note, " {samples} of its call stack and its parks cover {part} of that time."),
        };
    }
    if activity.waiting_ns > 0 {
        let waited = numbers::percent(activity.not_running());
        let _ = write!(note, " For {waited} of the {known} time, it did not run.");
    }
    note
}

/// What a lock's owner executed while others waited. Parts of the blocked time where
/// samples say how much of it they cover; what they do not cover is unknown.
fn owner(activity: &OwnerActivity, is_sampled: bool, screen: &Screen, out: &mut String) {
    let covered = if activity.sampled_ns > 0 { activity.coverage } else { 1.0 };
    title(&format!("INSIDE THE OWNER OF {}", activity.lock), "", screen, out);
    let who = match activity.owner_method.as_str() {
        UNKNOWN => "An owner whose method is not known".to_owned(),
        method => format!("`{method}`"),
    };
    let mut note = format!("{who} {}", coverage(activity, covered, is_sampled));
    if activity.sampled_ns > 0 {
        let _ = write!(note, " Percentages in the rows are parts of all {}.", numbers::time(activity.blocked_ns));
    }
    for line in prose::wrapped(&note, screen.width, 2) {
        let _ = writeln!(out, "{}", prose::with_names(&line, screen));
    }
    let room = screen.width.saturating_sub(11).max(20);
    for spot in activity.lines.iter().take(SPOTS) {
        let share = numbers::percent(spot.share * covered);
        let _ = writeln!(out, "  {share:>7}  {}", prose::fitted(&spot.frame, room, screen));
    }
    if let Some(rest) = activity.lines.get(SPOTS..).filter(|rest| !rest.is_empty()) {
        let share = numbers::percent(rest.iter().map(|spot| spot.share).sum::<f64>() * covered);
        let _ = writeln!(out, "  {share:>7}  ({} more)", numbers::grouped(rest.len() as u64));
    }
    if covered < 0.995 {
        let _ = writeln!(out, "  {:>7}  (not {})", numbers::percent(1.0 - covered), known(activity));
    }
    if let Some(path) = activity.stacks.first().filter(|path| path.stack.len() > 1) {
        let line = format!("  most frequent call stack ({}):", numbers::percent(path.share * covered));
        let _ = writeln!(out, "{}", screen.faint(&line));
        let _ = writeln!(out, "           {}", leaf(&path.stack, 11, screen));
        chain::behind_leaf(&path.stack, FRAMES, 11, Fold::Nothing, screen, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_are_not_shown_are_counted_with_their_time() {
        let owner = |samples, blocked_ns| OwnerActivity { samples, blocked_ns, ..OwnerActivity::default() };
        let mut all = vec![owner(9, 800_000_000), owner(4, 100_000_000)];
        all.extend((0..1_200).map(|_| owner(1, 1_000_000)));
        // Without samples there is nothing to show.
        all.push(owner(0, 5_000_000_000));
        let line = others(&all, &[&all[0], &all[1]]).unwrap();
        assert_eq!(line, "Not shown: 1,200 other owners, with too few samples. They blocked threads for 1.20 s.");
        assert_eq!(others(&all[..2], &[&all[0], &all[1]]), None);
        let seen = OwnerActivity { samples_taken: 100, ..owner(100, 2_000_000_000) };
        assert_eq!(
            others(std::slice::from_ref(&seen), &[]).as_deref(),
            Some("Not shown: 1 owner. It blocked threads for 2.00 s.")
        );
        let two = [seen, owner(1, 3_000_000_000)];
        let few = "Not shown: 2 owners (1 with too few samples). They blocked threads for 5.00 s.";
        assert_eq!(others(&two, &[]).as_deref(), Some(few));
        // What the first one did is in a finding: a report of blocked time says only where there is more of it.
        assert_eq!(
            elsewhere(&two, &[]).as_deref(),
            Some(
                "`headway report --method` shows what 1 owner executed while threads were blocked by it (for 2.00 s)."
            )
        );
        assert_eq!(elsewhere(&two, &[&two[0]]), None);
    }
}
