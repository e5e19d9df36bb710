//! What is wrong, in one sentence.

use super::locks::within;
use super::steal::{had_by_others, is_lack_of_cpus};
use super::waits::LEFT_ALONE;
use super::words::{code, count, percent};
use super::{other, unended, waits_before, ShortLived};
use crate::aggregate::share;
use crate::ledger::{EntryKind, Ledger};
use crate::report::{has_only_sums, records, Finding, FindingKind, Report};
use headway_model::quantity::digits;
use headway_model::DurationNs;

/// Part of the active time of threads from which on its loss is a bottleneck.
const MATTERS: f64 = 0.05;
/// The active time says nothing of the program if it is less than this part of the time of all threads.
const HARDLY: f64 = 0.01;
/// Part from which on it is said that the program's time is not known.
const BOUND: f64 = 0.5;
/// Findings whose time need not be a part of the active thread time.
const SUMS: [FindingKind; 2] = [FindingKind::Phase, FindingKind::Environment];
/// Threads are short-lived if each lives for at most so long on average.
const SHORT_NS: u64 = 10_000_000;
/// Part from which on it is said where threads were that neither were blocked nor waited for each other.
const MUCH: f64 = 0.2;
/// A finding costs as much as the first from this part of the first one's time on.
const AS_MUCH: f64 = 0.9;

/// The sentence, from the first finding and the ledger.
pub(super) fn verdict(report: &Report) -> String {
    let ledger = &report.ledger;
    let active = ledger.active_ns();
    if let Some(stuck) = report.findings.iter().find(|finding| finding.kind == FindingKind::Deadlock) {
        return match report.deadlocks.len() {
            0 | 1 => stuck.text.clone(),
            2 => format!("{} There is another deadlock.", stuck.text),
            all => format!("{} There are {} other deadlocks.", stuck.text, all - 1),
        };
    }
    let ranked = |finding: &&Finding| finding.cost_ns > 0 && finding.kind != FindingKind::Stuck;
    let first = report.findings.iter().filter(ranked).max_by_key(|finding| finding.cost_ns);
    if ledger.lives_unknown {
        return match first {
            Some(first) => {
                let amount = |ns: u64| DurationNs(ns).to_string();
                let spent = spent(first, &amount(first.cost_ns));
                let spent = with_equal(report, first, &spent, amount).unwrap_or(spent);
                let spent = with_lack_of_cpus(report, first, spent);
                format!("{spent} The recording does not show how long threads lived, so there is no percentage.")
            }
            None => "No wait for a lock or another thread stands out. The recording does not show how long threads \
                     lived."
                .to_owned(),
        };
    }
    let part = |ns: u64| share(ns, active).min(1.0);
    if let Some(first) = first.filter(|first| part(first.cost_ns) >= MATTERS) {
        // Where most of them are virtual threads, not all of their time is known. Idle threads lack a CPU, too, when
        // they wake up: that may be more than all active time.
        let may_be_more = is_lock_or_wait(first.kind) || SUMS.contains(&first.kind);
        let is_part = (first.share.is_some() || !may_be_more) && first.cost_ns <= active;
        let amount = match is_part {
            true => format!(
                "{} of the active thread time ({} of {})",
                percent(part(first.cost_ns)),
                DurationNs(first.cost_ns),
                DurationNs(active),
            ),
            false => DurationNs(first.cost_ns).to_string(),
        };
        let alone = spent(first, &amount);
        let of_several = with_equal(report, first, &alone, |ns| percent(part(ns)));
        let is_alone = of_several.is_none();
        let loss = of_several.unwrap_or_else(|| with_waits_before(report, first, alone));
        let loss = with_lack_of_cpus(report, first, loss);
        let own = report.findings.iter().filter(ranked).filter(|finding| finding.kind != FindingKind::Environment);
        let own = own.max_by_key(|finding| finding.cost_ns).filter(|own| part(own.cost_ns) >= MATTERS);
        let said = match had_by_others(first) {
            Some(others) => beside_others(others, &loss, own, part),
            None if first.kind == FindingKind::Environment
                && first.gist.meanwhile.is_empty()
                && !records(&report.recording.settings, "cpu") =>
            {
                format!("{loss} To see in which methods they ran, record with `-e lock,steal,cpu`.")
            }
            // Of two that cost as much, what was done meanwhile is in the findings.
            None if first.gist.meanwhile.is_empty() || !is_alone => loss,
            None => format!("{loss} {}", first.gist.meanwhile),
        };
        return with_call(report, said, first.cost_ns);
    }
    if active == 0 {
        return with_never_woken(report, report.selection.none_active());
    }
    if let Some(idle) = unended::never_woken(report).filter(|_| share(active, ledger.total_ns) < HARDLY) {
        let (active, idle) = (DurationNs(active), idle.text);
        return format!("Nearly no thread was active: {active} of {} together. {idle}", DurationNs(ledger.total_ns));
    }
    let left_out = part(report.blocked.below_minimum_ns);
    if left_out >= MATTERS {
        let said = format!(
            "No lock, wait or lack of CPU costs {} of the active thread time or more, but threads were blocked for {} of it \
             in contentions that are left out, because they were shorter than {}.",
            percent(MATTERS),
            percent(left_out),
            DurationNs(report.blocked.minimum_ns),
        );
        return with_never_woken(report, said);
    }
    let unknown = part(ledger.ns(EntryKind::Unknown));
    if unknown >= BOUND {
        return with_never_woken(report, mostly_unknown(report, unknown));
    }
    let spent = ELSEWHERE.iter().map(|elsewhere| (part(ledger_ns(ledger, elsewhere.kinds)), elsewhere));
    let most = spent.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(spent, _)| *spent >= MUCH);
    let none = match most {
        Some((spent, elsewhere)) => match not_recorded(&report.recording.settings) {
            Some(more) => return with_never_woken(report, format!("{} {more}", elsewhere.sentence(spent))),
            None => elsewhere.text(spent, &report.recording.settings),
        },
        None => format!(": no lock, wait or lack of CPU costs {} of the active thread time or more.", percent(MATTERS)),
    };
    with_never_woken(report, with_call(report, report.selection.no_bottleneck(&none), 0))
}

/// What is `said`, with the one call of sleep, I/O or native code that took longer than what was named, if samples show one.
fn with_call(report: &Report, said: String, named_ns: u64) -> String {
    let active = report.ledger.active_ns();
    let matters = |(_, ns): &(String, u64)| *ns > named_ns && share(*ns, active) >= MATTERS;
    let Some((call, ns)) = other::longest_call(report).filter(matters) else { return said };
    let part = percent(share(ns, active).min(1.0));
    format!("{said} For {part} of the active thread time, threads were {call} (estimated from samples).")
}

fn with_never_woken(report: &Report, said: String) -> String {
    let said = with_short_lived(report, said);
    match unended::never_woken(report) {
        Some(stuck) if stuck.for_each_other => format!("{} Apart from that: {}", stuck.text, uncapitalised(&said)),
        Some(idle) => format!("{said} {}", idle.text),
        None => said,
    }
}

/// What is `said` where no lock and no wait matters, with the threads that came and went, if most of the active thread
/// time is theirs and each of them had little.
fn with_short_lived(report: &Report, said: String) -> String {
    let active = report.ledger.active_ns();
    // Threads that the report leaves out are among them.
    let is_filtered = report.selection.reported.is_some();
    let are_most =
        |short: &&ShortLived| !is_filtered && short.mean_life_ns() <= SHORT_NS && share(short.life_ns, active) >= BOUND;
    let Some(short) = report.short_lived.as_ref().filter(are_most) else { return said };
    format!(
        "{said} Most of the active thread time is that of short-lived threads: {} {} started and ended ({} per second; each \
         lived {} on average).",
        count(short.threads, "thread"),
        code(&short.group),
        digits(short.per_second),
        DurationNs(short.mean_life_ns()),
    )
}

/// The sentence as it goes on behind a colon.
fn uncapitalised(said: &str) -> String {
    let mut letters = said.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// No lock and no wait matters, but what is known is the smaller part.
fn mostly_unknown(report: &Report, unknown: f64) -> String {
    let settings = &report.recording.settings;
    let said = format!("For {} of the active thread time, it is not known what threads did.", percent(unknown));
    if let Some(missing) = not_recorded(settings) {
        return format!("{said} {missing}");
    }
    let is_default = ["monitor", "park", "steal"].iter().all(|event| records(settings, event));
    let more = match is_default {
        true => String::new(),
        false => format!(" To see more, record with `{}` (the default{}).", default_and(settings), also(settings)),
    };
    format!("{said} No lock or wait is known to cost {} of it or more.{more}", percent(MATTERS))
}

/// The default recording's events, with CPU samples where there are some.
fn default_and(settings: &[(String, String)]) -> &'static str {
    if records(settings, "cpu") {
        "-e lock,steal,cpu"
    } else {
        "-e lock,steal"
    }
}

/// What of [`default_and`] is beyond the default.
fn also(settings: &[(String, String)]) -> &'static str {
    if records(settings, "cpu") {
        " and CPU samples"
    } else {
        ""
    }
}

/// That locks or waits were not recorded: nothing can be said of them. `None` where they were.
fn not_recorded(settings: &[(String, String)]) -> Option<String> {
    let recorded = |event| records(settings, event);
    let is_known = settings.iter().any(|(name, _)| name == "events");
    let missing = match (recorded("monitor"), recorded("park")) {
        // Sums are of all locks.
        _ if !is_known || has_only_sums(settings) => return None,
        (true, true) => return None,
        (true, false) => "Parks, and so locks and waits of `java.util.concurrent`, were not recorded",
        (false, true) => "Monitors (`synchronized` and `Object.wait`) were not recorded",
        (false, false) => "Locks and waits were not recorded",
    };
    Some(format!("{missing}. To see them, record with `{}`.", default_and(settings)))
}

/// What is `said` of the first finding, about a lock or a wait, with what else costs as much.
fn with_equal(report: &Report, first: &Finding, said: &str, amount: impl Fn(u64) -> String) -> Option<String> {
    let is_equal = |other: &&Finding| {
        !std::ptr::eq(*other, first) && is_lock_or_wait(other.kind) && share(other.cost_ns, first.cost_ns) >= AS_MUCH
    };
    let mut equal = report.findings.iter().filter(is_equal).filter(|_| is_lock_or_wait(first.kind));
    let (other, more) = (equal.next()?, equal.count());
    if more > 0 {
        return Some(format!("{said} {} other locks or waits cost about as much each: see the findings.", more + 1));
    }
    let also = spent_alone(other, &format!("about as much ({})", amount(other.cost_ns)));
    // The same threads are named once.
    let rest = also.strip_prefix(&format!("{} spent ", first.gist.subject()));
    let both = match (rest, said.strip_suffix('.')) {
        (Some(rest), Some(begin)) if first.kind != FindingKind::HandOff => format!("{begin}, and {rest}"),
        _ => format!("{said} {also}"),
    };
    Some(match first.gist.is_unended && other.gist.is_unended {
        true if first.gist.is_left_alone && other.gist.is_left_alone => format!("{both} {LEFT_ALONE}"),
        true => format!("{both} Nearly all of this time belongs to waits that had not ended when the recording ended."),
        false => both,
    })
}

/// What is `said` of the first finding, with what its threads had waited for before they had to acquire the lock again,
/// where that matters, too: to wait less often is what shortens both.
fn with_waits_before(report: &Report, first: &Finding, said: String) -> String {
    let matters = |(_, waits): &(usize, &Finding)| waits.share.is_some_and(|part| part >= MATTERS);
    let Some((_, waits)) = waits_before(first, &report.findings).filter(matters) else { return said };
    let part = percent(waits.share.unwrap_or_default());
    let what = if waits.gist.awaited().is_empty() { "`Object.wait`" } else { waits.gist.awaited() };
    format!("{said} Before they were woken, the threads had mostly waited for {what} ({part} of the active thread time, not counted above).")
}

/// What is `said` of the first finding, with that there were too few CPUs, where that makes it longer or cost as
/// much: who reads only this would otherwise look at the lock.
fn with_lack_of_cpus(report: &Report, first: &Finding, said: String) -> String {
    let matters = |lack: &&Finding| {
        let is_due_to_it = first.kind == FindingKind::HandOff;
        let costs_as_much = is_lock_or_wait(first.kind) && share(lack.cost_ns, first.cost_ns) >= AS_MUCH;
        is_lack_of_cpus(lack) && (is_due_to_it || costs_as_much)
    };
    let Some(lack) = report.findings.iter().find(matters) else { return said };
    let how_long = match lack.share {
        Some(part) => format!("{} of the active thread time", percent(part)),
        None => format!("{} together", DurationNs(lack.cost_ns)),
    };
    match had_by_others(lack) {
        Some(others) => {
            let others = percent(others);
            format!("{said} Other processes had {others} of the CPU time: threads waited for a CPU for {how_long}.")
        }
        None => format!("{said} There were too few CPUs: threads waited for a CPU for {how_long}."),
    }
}

fn is_lock_or_wait(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::HotLock
            | FindingKind::SharedLock
            | FindingKind::HandOff
            | FindingKind::WaitFor
            | FindingKind::Waiting
            | FindingKind::Straggler
            | FindingKind::Parks
    )
}

/// The verdict where other processes had the CPUs, which comes first: what was the `loss`, and what is the program's.
fn beside_others(others: f64, loss: &str, own: Option<&Finding>, part: impl Fn(u64) -> f64) -> String {
    let had = format!("Other processes had {} of the CPU time. {loss}", percent(others));
    own.map_or_else(
        || had.clone(),
        |own| format!("{had} The largest loss in the program: {}", spent(own, &percent(part(own.cost_ns)))),
    )
}

/// Where threads can spend most of their active time although no lock and no wait matters.
struct Elsewhere {
    kinds: &'static [EntryKind],
    /// How that is said of the share `{}`.
    saying: &'static str,
    /// The event that shows in which methods.
    event: &'static str,
}

const ELSEWHERE: [Elsewhere; 3] = [
    Elsewhere {
        kinds: &[EntryKind::Cpu],
        saying: "Threads executed code for {} of the active thread time.",
        event: "cpu",
    },
    Elsewhere {
        kinds: &[EntryKind::WaitTime],
        saying: "Threads waited for time to pass for {} of the active thread time.",
        event: "park",
    },
    Elsewhere {
        kinds: &[EntryKind::Io, EntryKind::OffCpu],
        saying: "Threads spent {} of the active thread time in sleep, I/O, native code or the VM.",
        event: "wall",
    },
];

impl Elsewhere {
    fn sentence(&self, spent: f64) -> String {
        self.saying.replacen("{}", &percent(spent), 1)
    }

    /// What follows "No bottleneck".
    fn text(&self, spent: f64, settings: &[(String, String)]) -> String {
        let text = format!(" in locks or waits. {}", self.sentence(spent));
        match records(settings, self.event) {
            true => text,
            false => format!("{text} To see in which methods, record with `-e lock,steal,{}`.", self.event),
        }
    }
}

fn ledger_ns(ledger: &Ledger, kinds: &[EntryKind]) -> u64 {
    kinds.iter().map(|kind| ledger.ns(*kind)).sum()
}

/// Who spent this `amount` of time on what: ``Threads `request-*` spent 48 % blocked on `Inventory.lock`.``
fn spent(finding: &Finding, amount: &str) -> String {
    let spent = spent_alone(finding, amount);
    match finding.kind {
        FindingKind::HandOff => {
            format!("{spent} For most of that time, the lock had been released but the next thread had not run yet.")
        }
        _ => spent,
    }
}

/// The same without a cause.
fn spent_alone(finding: &Finding, amount: &str) -> String {
    let (gist, subject) = (&finding.gist, &finding.subject);
    let time = |on: &str| format!("{} spent {amount} {on}.", gist.subject());
    match finding.kind {
        FindingKind::HotLock | FindingKind::SharedLock | FindingKind::HandOff | FindingKind::Phase => {
            time(&format!("blocked on {subject}{}", within(&gist.place)))
        }
        FindingKind::WaitFor => time(&format!("blocked because of {}, directly or through other locks", gist.awaited)),
        FindingKind::Waiting | FindingKind::Straggler => time(&gist.waiting(subject)),
        FindingKind::Pinned => {
            let by = if subject.is_empty() { String::new() } else { format!(", mostly by {subject}") };
            // The time of carriers is no part of the thread time.
            let of_carriers = finding
                .share
                .map_or_else(String::new, |part| format!(" ({} of the time of the carrier threads)", percent(part)));
            let amount = DurationNs(finding.cost_ns);
            format!("Virtual threads kept their carriers while they parked, for {amount}{of_carriers}: they were pinned{by}.")
        }
        FindingKind::Pauses => format!("Pauses of {} took {amount}.", gist.awaited),
        FindingKind::Environment => time("waiting for a CPU"),
        FindingKind::Parks => time("parked on a lock of java.util.concurrent"),
        _ => time("as the findings below say"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, Quality};
    use crate::method::sample_report::{SampleReport, SampledPath};

    #[test]
    fn what_shows_more_is_said_unless_it_was_recorded() {
        let settings = |events: &str| vec![("events".to_owned(), events.to_owned())];
        let [.., asleep] = &ELSEWHERE;
        let hint = "To see in which methods, record with `-e lock,steal,wall`.";
        assert!(asleep.text(0.9, &settings("monitor,park,steal,cpu")).ends_with(hint));
        assert!(asleep.text(0.9, &settings("monitor,park,steal,wall")).ends_with("I/O, native code or the VM."));
    }

    #[test]
    fn whose_threads_lacked_cpus_is_asked_what_they_executed() {
        let said = |events: &str| {
            let lack = Finding { kind: FindingKind::Environment, cost_ns: 50, ..Finding::default() };
            let mut report = Report { findings: vec![lack], ..Report::default() };
            report.ledger = Ledger { total_ns: 100, ..Ledger::default() };
            report.recording.settings = vec![("events".to_owned(), events.to_owned())];
            verdict(&report)
        };
        let hint = " To see in which methods they ran, record with `-e lock,steal,cpu`.";
        assert!(said("monitor,park,steal").ends_with(hint), "{}", said("monitor,park,steal"));
        assert!(said("monitor,park,steal,cpu").ends_with("waiting for a CPU."), "{}", said("monitor,park,steal,cpu"));
    }

    #[test]
    fn more_than_the_active_thread_time_is_no_part_of_it() {
        let said = |cost_ns: u64| {
            let share = Some(1.0);
            let lack = Finding { kind: FindingKind::Environment, cost_ns, share, ..Finding::default() };
            let ledger = Ledger { total_ns: 100, ..Ledger::default() };
            verdict(&Report { findings: vec![lack], ledger, ..Report::default() })
        };
        assert!(said(100).contains("100 % of the active thread time (100 ns of 100 ns)"), "{}", said(100));
        assert!(said(240).contains("spent 240 ns waiting"), "{}", said(240));
        assert!(!said(240).contains('%'), "{}", said(240));
    }

    /// Ten seconds of the threads of a recording of four: so many percent of it blocked on a lock, `asleep` off the CPU; and samples of 10 ms each.
    fn said_of(blocked: u64, asleep: u64, samples: &[(&str, u64)]) -> String {
        let entry =
            |entry, percent| Entry { entry, total_ns: percent * 100_000_000, share: 0.0, quality: Quality::Exact };
        let path = |(stack, samples): &(&str, u64)| SampledPath {
            share: 0.0,
            ns: samples * 10_000_000,
            samples: *samples,
            stack: stack.split(' ').map(str::to_owned).collect(),
        };
        let lock = Finding { kind: FindingKind::HotLock, cost_ns: blocked * 100_000_000, ..Finding::default() };
        let mut report = Report::default();
        report.findings.extend((blocked > 0).then_some(lock));
        let cpu = entry(EntryKind::Cpu, 100 - blocked - asleep);
        let entries = vec![entry(EntryKind::LockUnknown, blocked), entry(EntryKind::OffCpu, asleep), cpu];
        report.ledger = Ledger { total_ns: 10_000_000_000, entries, ..Ledger::default() };
        report.duration_ns = 4_000_000_000;
        let off_cpu: Vec<SampledPath> = samples.iter().map(path).collect();
        let off_cpu_ns = off_cpu.iter().map(|path| path.ns).sum();
        report.samples = Some(SampleReport { off_cpu, off_cpu_ns, ..SampleReport::default() });
        report.recording.settings = vec![("events".to_owned(), "monitor,park,steal,wall,cpu".to_owned())];
        verdict(&report)
    }

    #[test]
    fn one_call_that_takes_long_is_named_though_threads_did_something_else_for_most_of_the_time() {
        let force = "sun.nio.ch.FileDispatcherImpl.force0:-2 sun.nio.ch.FileChannelImpl.force:5 com.acme.Wal.append:9";
        let idle = "java.lang.Thread.sleep:1 com.acme.Timer.run:3";
        let said = said_of(0, 30, &[(force, 250), (idle, 40)]);
        assert_eq!(
            said,
            "No bottleneck in locks or waits. Threads executed code for 70 % of the active thread time. For 25 % of the \
             active thread time, threads were in `FileChannelImpl.force`, called from `Wal.append` (estimated from samples)."
        );
        // So it is beside a lock that took less.
        let beside_lock = said_of(6, 30, &[(force, 250), (idle, 40)]);
        assert!(beside_lock.ends_with("called from `Wal.append` (estimated from samples)."), "{beside_lock}");
        assert!(!said_of(40, 30, &[(force, 250), (idle, 40)]).contains("Wal.append"));
    }

    #[test]
    fn one_thread_that_sleeps_in_its_own_loop_is_not_named() {
        let beside_lock = |stack: &str, samples| said_of(10, 40, &[(stack, samples)]).contains("Thread.sleep");
        let timer = "java.lang.Thread.sleepNanos0:-2 java.lang.Thread.sleep:1 com.acme.Timer.tick:3 \
                     com.acme.Timer.(lambda).run:1 java.lang.Thread.run:9";
        assert!(!beside_lock(timer, 390), "one thread can have slept for 4 s of 4 s");
        assert!(beside_lock(timer, 401), "more than one thread");
        let calls = "com.acme.Prices.download:8 com.acme.Prices.of:7 com.acme.Orders.handle:6 com.acme.Server.serve:5";
        let at_work = format!("java.lang.Thread.sleep:1 {calls} com.acme.Server.run:3 java.lang.Thread.run:9");
        assert!(beside_lock(&at_work, 390), "in the middle of its work");
        let task = "java.lang.Thread.sleep:1 com.acme.Client.retry:8 com.acme.Job.run:7 \
                    java.util.concurrent.ThreadPoolExecutor.runWorker:6 \
                    java.util.concurrent.ThreadPoolExecutor$Worker.run:5 java.lang.Thread.run:9";
        assert!(beside_lock(task, 390), "a task of a pool");
        let batch = "java.lang.Thread.sleep:1 com.acme.Client.throttle:8 com.acme.Batch.main:7";
        assert!(beside_lock(batch, 390), "the program itself");
        // Without the timer, the next one is named.
        let both = said_of(10, 40, &[(timer, 200), ("sun.nio.ch.FileChannelImpl.force:5 com.acme.Wal.append:9", 190)]);
        assert!(both.contains("called from `Wal.append`"), "{both}");
    }

    #[test]
    fn event_loops_without_events_are_not_named() {
        let select = "sun.nio.ch.SelectorImpl.select:9 com.acme.Loop.run:3";
        assert!(!said_of(0, 60, &[(select, 500)]).contains("Loop.run"));
        let accept = "sun.nio.ch.Net.accept:-2 sun.nio.ch.NioSocketImpl.accept:9 java.net.ServerSocket.accept:5 com.acme.Server.run:3";
        assert!(!said_of(0, 60, &[(accept, 500)]).contains("Server.run"));
    }

    #[test]
    fn a_call_in_which_threads_may_have_been_blocked_is_not_named() {
        // 200 of these samples are of blocked threads: of which, nobody says.
        let print = "java.io.PrintStream.println:1 com.acme.Log.add:9";
        assert!(!said_of(0, 10, &[(print, 300)]).contains("Log.add"));
        assert!(!said_of(0, 30, &[(print, 19)]).contains("Log.add"), "too few");
    }
}
