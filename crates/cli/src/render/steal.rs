//! CPU shortage on a terminal: steal, throttling and run-queue wait of the process, of groups and
//! threads, of transactions, and the locks that only looked contended.

use super::details::more;
use super::{numbers, prose, title};
use crate::terminal::Screen;
use headway_analysis::steal::steal_report::{HeldOff, Named, StealReport, Totals, TransactionReport};
use std::fmt::Write;

/// Columns before a thread's name.
const FIGURES: usize = 57;
/// Fewest columns for a name.
const LEAST_ROOM: usize = 20;

/// Writes everything; `top` rows of each list. What transactions waited for is not all there if contentions
/// and waits were sampled.
pub fn write(steal: &StealReport, is_sampled: bool, top: usize, screen: &Screen, out: &mut String) {
    process(steal, screen, out);
    threads("THREAD GROUPS", &steal.groups, top, screen, out);
    threads("THREADS", &steal.threads, top, screen, out);
    transactions(&steal.transactions, is_sampled, top, screen, out);
    locks(&steal.locks, top, screen, out);
}

fn process(steal: &StealReport, screen: &Screen, out: &mut String) {
    title("CPU SHORTAGE", "time in which threads were ready to run but had no CPU", screen, out);
    if steal.intervals == 0 {
        let _ = writeln!(out, "  nothing was measured (record with -e steal)");
        return;
    }
    for sentence in sentences(steal) {
        for line in prose::wrapped(&sentence, screen.width, 2) {
            let _ = writeln!(out, "{line}");
        }
    }
    let _ = writeln!(out, "\n{}", screen.faint(&head()));
    let _ = writeln!(out, "{}(the process)", figures(&steal.process));
}

/// What the numbers rest on.
fn sentences(steal: &StealReport) -> Vec<String> {
    let machine = &steal.machine;
    let all_ns = machine.busy_ns + machine.steal_ns + machine.idle_ns;
    let mut sentences = Vec::new();
    if all_ns > 0 {
        let covered = numbers::time(steal.covered_ns);
        sentences.push(match machine.steal_ns {
            0 => format!("The machine had no steal in {covered}."),
            ns => format!(
                "Machine: {} of steal in {covered}, {} of the time in which its CPUs were not idle.",
                numbers::time(ns),
                numbers::percent(ns as f64 / (machine.busy_ns + ns).max(1) as f64),
            ),
        });
    }
    sentences.push(match steal.accounting {
        "left out" => "The column CPU does not contain steal.".to_owned(),
        "included" => "This kernel counts steal as CPU time. It is subtracted in the column CPU.".to_owned(),
        _ => "It is not known whether this kernel counts steal as CPU time. Nothing is subtracted.".to_owned(),
    });
    if let Some(quota) = &steal.quota {
        let limit = match quota.quota_ns {
            0 => "none".to_owned(),
            ns => format!("{:.2} CPUs", ns as f64 / quota.period_ns.max(1) as f64),
        };
        sentences.push(format!(
            "CPU quota: {limit}; used up in {} of {}, {} held back.",
            numbers::grouped(quota.throttled_periods),
            numbers::counted(quota.periods, "period", "periods"),
            numbers::time(quota.throttled_ns),
        ));
    }
    if !steal.run_queue_known {
        sentences.push("How long threads waited for a CPU is not known: this kernel does not report it.".to_owned());
    }
    sentences
}

fn head() -> String {
    row("CPU", "steal", "throttled", "run queue", "no CPU")
}

fn row(cpu: &str, stolen: &str, throttled: &str, run_queue: &str, lost: &str) -> String {
    format!("  {cpu:>9}  {stolen:>9}  {throttled:>9}  {run_queue:>9}  {lost:>7}  ")
}

fn figures(totals: &Totals) -> String {
    row(
        &numbers::time(totals.corrected_ns),
        &numbers::time(totals.steal_ns),
        &numbers::time(totals.throttled_ns),
        &numbers::time(totals.run_queue_ns),
        &numbers::percent(totals.runnable_share),
    )
}

fn threads(what: &str, rows: &[Named], top: usize, screen: &Screen, out: &mut String) {
    if rows.is_empty() {
        return;
    }
    let is_any_service = rows.iter().take(top).any(|named| named.is_service);
    let service = if is_any_service { "; (service): of the JVM or Headway" } else { "" };
    title(what, &format!("no CPU: part of the time in which they ran or were ready{service}"), screen, out);
    let _ = writeln!(out, "{}", screen.faint(head().trim_end()));
    for named in rows.iter().take(top) {
        let service = if named.is_service { "  (service)" } else { "" };
        let room = screen.width.saturating_sub(FIGURES + service.len()).max(LEAST_ROOM);
        let name = prose::fitted(&named.name, room, screen);
        let _ = writeln!(out, "{}{name}{}", figures(&named.totals), screen.faint(service));
    }
    more(rows.len(), top, screen, out);
}

fn transactions(kinds: &[TransactionReport], is_sampled: bool, top: usize, screen: &Screen, out: &mut String) {
    if kinds.is_empty() {
        return;
    }
    let note = "blocked, parked and Object.wait: only what was recorded one by one";
    title("TRANSACTIONS", if is_sampled { note } else { "" }, screen, out);
    for kind in kinds.iter().take(top) {
        let count = numbers::counted(kind.count, "transaction", "transactions");
        let not_ended = match kind.not_ended {
            0 => String::new(),
            n => format!(", {} not ended", numbers::grouped(n)),
        };
        let _ = writeln!(out, "  {}  {}", screen.strong(&kind.kind), screen.faint(&format!("{count}{not_ended}")));
        let wall = &kind.wall;
        let _ = writeln!(
            out,
            "    took {}: median {}, 90 % {}, 99 % {}, longest {}",
            numbers::time(wall.total_ns),
            numbers::time(wall.p50_ns),
            numbers::time(wall.p90_ns),
            numbers::time(wall.p99_ns),
            numbers::time(wall.max_ns)
        );
        for line in prose::wrapped(&spent(kind), screen.width, 4) {
            let _ = writeln!(out, "{}", screen.faint(&line));
        }
    }
    more(kinds.len(), top, screen, out);
}

/// Where the time of a kind went: what there was of each.
fn spent(kind: &TransactionReport) -> String {
    let parts = [
        ("CPU", kind.corrected_ns),
        ("blocked", kind.blocked_ns),
        ("parked", kind.parked_ns),
        ("Object.wait", kind.waited_ns),
        ("steal", kind.steal_ns),
        ("throttled", kind.throttled_ns),
        ("run queue", kind.run_queue_ns),
    ];
    let told = parts.iter().filter(|(_, ns)| *ns > 0);
    let mut told: Vec<String> = told.map(|(what, ns)| format!("{what} {}", numbers::time(*ns))).collect();
    if kind.without_cpu > 0 {
        told.push(format!("CPU time of {} not known", numbers::grouped(kind.without_cpu)));
    }
    told.join(", ")
}

fn locks(locks: &[HeldOff], top: usize, screen: &Screen, out: &mut String) {
    if locks.is_empty() {
        return;
    }
    title(
        "LOCKS WHOSE OWNERS MAY HAVE HAD NO CPU",
        "no CPU: of the owner, estimated; part: no CPU / blocked, with its bounds",
        screen,
        out,
    );
    let head = format!("  {:>9}  {:>9}  {:>7}  {:>8}  {:>7}  ", "blocked", "no CPU", "part", "at least", "at most");
    let _ = writeln!(out, "{}", screen.faint(head.trim_end()));
    for lock in locks.iter().take(top) {
        let part = |ns: u64| numbers::percent(ns as f64 / lock.blocked_ns.max(1) as f64);
        let line = format!(
            "  {:>9}  {:>9}  {:>7}  {:>8}  {:>7}  ",
            numbers::time(lock.blocked_ns),
            numbers::time(lock.owner_no_cpu_ns),
            numbers::percent(lock.share),
            part(lock.least_ns),
            part(lock.most_ns),
        );
        let name = prose::fitted(&lock.lock, screen.width.saturating_sub(line.len()).max(LEAST_ROOM), screen);
        let _ = writeln!(out, "{line}{name}");
    }
    more(locks.len(), top, screen, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::steal::steal_report::{MachineTotals, QuotaReport, Spread};

    const MS: u64 = 1_000_000;
    const SCREEN: Screen = Screen { width: 100, colour: false, cut: true };

    fn shown(steal: &StealReport) -> String {
        let mut out = String::new();
        write(steal, false, 1, &SCREEN, &mut out);
        out
    }

    #[test]
    fn everything_that_is_there_is_shown() {
        let totals = Totals {
            cpu_ns: 900 * MS,
            corrected_ns: 800 * MS,
            steal_ns: 100 * MS,
            throttled_ns: 50 * MS,
            run_queue_ns: 60 * MS,
            runnable_share: 0.1667,
        };
        let named = |name: &str, is_service| Named {
            name: name.into(),
            one: name.into(),
            is_service,
            threads: 1,
            totals,
            ..Named::default()
        };
        let spread =
            Spread { total_ns: 9 * MS, p50_ns: MS, p90_ns: 2 * MS, p99_ns: 3 * MS, p999_ns: 3 * MS, max_ns: 4 * MS };
        let steal = StealReport {
            accounting: "included",
            intervals: 2,
            covered_ns: 2_000 * MS,
            machine: MachineTotals { busy_ns: 900 * MS, steal_ns: 100 * MS, idle_ns: 3_000 * MS },
            quota: Some(QuotaReport {
                quota_ns: 50 * MS,
                period_ns: 100 * MS,
                periods: 20,
                throttled_periods: 5,
                throttled_ns: 50 * MS,
            }),
            process: totals,
            threads: vec![named("worker-1", false), named("worker-2", false)],
            groups: vec![named("C2 CompilerThread*", true)],
            transactions: vec![TransactionReport {
                kind: "checkout".into(),
                count: 5,
                not_ended: 1,
                wall: spread,
                corrected_ns: 7 * MS,
                blocked_ns: MS,
                without_cpu: 2,
                ..TransactionReport::default()
            }],
            locks: vec![HeldOff {
                lock: "Shop.lock (Shop@1)".into(),
                blocked_ns: 10 * MS,
                owner_no_cpu_ns: 4 * MS,
                least_ns: MS,
                most_ns: 6 * MS,
                share: 0.4,
                ..HeldOff::default()
            }],
            ..StealReport::default()
        };
        let text = shown(&steal);
        for part in [
            "Machine: 100 ms of steal in 2.00 s, 10 % of the time in which its CPUs were not idle.",
            "This kernel counts steal as CPU time. It is subtracted in the column CPU.",
            "CPU quota: 0.50 CPUs; used up in 5 of 20 periods, 50.0 ms held back.",
            "How long threads waited for a CPU is not known",
            "     800 ms     100 ms    50.0 ms    60.0 ms     17 %  (the process)",
            "C2 CompilerThread*  (service)",
            "worker-1\n  (1 more)",
            "  checkout  5 transactions, 1 not ended",
            "took 9.00 ms: median 1.00 ms, 90 % 2.00 ms, 99 % 3.00 ms, longest 4.00 ms",
            "CPU 7.00 ms, blocked 1.00 ms, CPU time of 2 not known",
            "    10.0 ms    4.00 ms     40 %      10 %     60 %  Shop.lock (Shop@1)",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }

    #[test]
    fn a_recording_without_it_says_so() {
        assert!(shown(&StealReport::default()).contains("nothing was measured"));
    }
}
