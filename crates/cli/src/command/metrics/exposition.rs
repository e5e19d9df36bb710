//! The text format of Prometheus, version 0.0.4.

use headway_analysis::pressure::counters::Blocked;
use headway_analysis::pressure::live::{LiveLock, Picture};
use std::fmt::{Display, Write};

/// Locks whose pressure now is shown.
const MOST_LOCKS: usize = 20;
/// The series of all locks without one. No lock is called that: it has no name.
const OTHER: &str = "other";
/// Longer names are cut.
const LONGEST_NAME: usize = 200;

/// Whose metrics they are.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Process id.
    pub pid: u32,
    /// Main class.
    pub main: String,
}

/// The metrics.
pub fn text(target: &Target, picture: &Picture) -> String {
    let mut out = Out(String::new());
    let counters = &picture.counters;
    out.family("headway_info", "gauge", "Process id and main class of the JVM, version of Headway; always 1.");
    let labels = [("pid", &*target.pid.to_string()), ("main", &*target.main), ("version", env!("CARGO_PKG_VERSION"))];
    out.sample("headway_info", &labels, 1);

    let all = |value: fn(&Blocked) -> f64| {
        let named = counters.series.iter().map(move |s| (&*s.lock, &*s.owner_method, value(&s.blocked)));
        named.chain([(OTHER, OTHER, value(&counters.other))])
    };
    out.family("headway_blocked_seconds_total", "counter", "Time in which threads were blocked on locks.");
    for (lock, owner, value) in all(|blocked| seconds(blocked.blocked_ns)) {
        out.sample("headway_blocked_seconds_total", &[("lock", lock), ("owner_method", owner)], value);
    }
    out.family("headway_contentions_total", "counter", "How often a thread was blocked on a lock.");
    for (lock, owner, value) in all(|blocked| blocked.contentions as f64) {
        out.sample("headway_contentions_total", &[("lock", lock), ("owner_method", owner)], value);
    }
    for (name, help, value) in [
        (
            "headway_waited_seconds_total",
            "Time in Object.wait, and in parks for anything except a lock.",
            seconds(counters.waited_ns),
        ),
        (
            "headway_phases_total",
            "Phases that have begun: consecutive intervals with high pressure of one lock.",
            counters.phases as f64,
        ),
        ("headway_phase_seconds_total", "Time in which at least one lock was in a phase.", seconds(counters.phase_ns)),
        ("headway_intervals_total", "Intervals measured.", picture.intervals as f64),
        ("headway_dropped_events_total", "Events that were not recorded.", picture.dropped as f64),
        ("headway_own_cpu_seconds_total", "CPU time of Headway's threads in the JVM.", seconds(counters.own_cpu_ns)),
    ] {
        out.family(name, "counter", help);
        out.sample(name, &[], value);
    }
    out.family(
        "headway_pressure_ratio",
        "gauge",
        "Pressure of all locks in the last interval, 0 to 1: blocked time divided by the running time of threads.",
    );
    out.sample("headway_pressure_ratio", &[], picture.csp);
    out.family(
        "headway_lock_pressure_ratio",
        "gauge",
        "Highest pressure of a lock with this name in the last interval.",
    );
    let mut shown: Vec<(&str, f64)> = Vec::new();
    for lock in picture.locks.iter().filter(|lock| lock.csp > 0.0) {
        // Highest first; of one name the first counts.
        let name = series_of(lock);
        if shown.len() < MOST_LOCKS && !shown.iter().any(|(known, _)| *known == name) {
            shown.push((name, lock.csp));
        }
    }
    for (name, pressure) in shown {
        out.sample("headway_lock_pressure_ratio", &[("lock", name)], pressure);
    }
    out.family("headway_threads", "gauge", "Application threads by state.");
    let threads = picture.threads;
    for (state, count) in [
        ("running", threads.running),
        ("blocked", threads.blocked),
        ("parked", threads.parked),
        ("waiting", threads.waiting),
        ("sleeping", threads.sleeping),
    ] {
        out.sample("headway_threads", &[("state", state)], count);
    }
    out.0
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// What a lock's series is called: objects without a name share that of their class,
/// as in the counters. There may be a thousand of them a second.
fn series_of(lock: &LiveLock) -> &str {
    match lock.name.contains(['@', '#']) && !lock.class.is_empty() {
        true => &lock.class,
        false => &lock.name,
    }
}

struct Out(String);

impl Out {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// A label's value: what the format asks for, and nothing that a terminal would obey.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in headway_model::printable(text).chars().take(LONGEST_NAME) {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_analysis::pressure::counters::{Counters, Series};

    #[test]
    fn a_picture_as_text() {
        let blocked = |seconds: u64, contentions| Blocked { blocked_ns: seconds * 1_000_000_000, contentions };
        let lock = |name: &str, csp| LiveLock { name: name.into(), csp, ..LiveLock::default() };
        let picture = Picture {
            csp: 0.25,
            intervals: 7,
            locks: vec![
                lock("A.lock", 0.2),
                lock("A.lock", 0.05),
                LiveLock { class: "com.acme.Row".into(), ..lock("Row@1a2b", 0.04) },
                LiveLock { class: "com.acme.Row".into(), ..lock("Row#7", 0.03) },
                lock("quiet", 0.0),
            ],
            counters: Counters {
                waited_ns: 1_500_000_000,
                series: vec![Series {
                    lock: "say \"a\\b\"\n".into(),
                    owner_method: "com.acme.Cache.get".into(),
                    blocked: blocked(3, 4),
                }],
                other: blocked(1, 2),
                ..Counters::default()
            },
            ..Picture::default()
        };
        let text = text(&Target { pid: 4711, main: "Main".into() }, &picture);
        for line in [
            concat!("headway_info{pid=\"4711\",main=\"Main\",version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "headway_blocked_seconds_total{lock=\"say \\\"a\\\\b\\\"\u{fffd}\",owner_method=\"com.acme.Cache.get\"} 3",
            "headway_blocked_seconds_total{lock=\"other\",owner_method=\"other\"} 1",
            "headway_contentions_total{lock=\"other\",owner_method=\"other\"} 2",
            "headway_waited_seconds_total 1.5",
            "headway_pressure_ratio 0.25",
            "headway_lock_pressure_ratio{lock=\"A.lock\"} 0.2",
            "headway_lock_pressure_ratio{lock=\"com.acme.Row\"} 0.04",
        ] {
            assert!(text.lines().any(|has| has == line), "{line}\n{text}");
        }
        assert!(!text.contains("quiet") && !text.contains("0.05") && !text.contains("0.03"), "{text}");
    }
}
