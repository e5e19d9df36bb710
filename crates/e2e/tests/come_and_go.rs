//! Threads that start and end all the time, before, during and after a recording: what a report says of them is no more
//! than what they lived, and none counts that came before or after it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::java_source::{JavaSource, Spoken};
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// Threads that start others one after the other, each of which waits for the monitor of all, works, and ends.
const STARTERS: u64 = 6;

/// Prints, each time it gets a line, how many threads have started; ends when it gets no more.
const PROGRAM: &str = r#"
import java.util.concurrent.atomic.AtomicLong;

public class ComeAndGo {
    static final AtomicLong STARTED = new AtomicLong();
    static final Object MONITOR = new Object();
    static volatile boolean over;

    public static void main(String[] arguments) throws Exception {
        Thread[] starters = new Thread[6];
        for (int i = 0; i < starters.length; i++) {
            starters[i] = new Thread(ComeAndGo::starts, "starter-" + i);
            starters[i].start();
        }
        while (System.in.read() >= 0) {
            System.out.println(STARTED.get());
        }
        over = true;
    }

    static void starts() {
        while (!over) {
            Thread guest = new Thread(ComeAndGo::visits, "guest");
            STARTED.incrementAndGet();
            guest.start();
            try {
                guest.join();
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        }
    }

    static void visits() {
        synchronized (MONITOR) {
            for (long until = System.nanoTime() + 100_000; System.nanoTime() < until;) {
                Thread.onSpinWait();
            }
        }
    }
}
"#;

fn started(program: &mut Spoken) -> u64 {
    program.goes_on().unwrap();
    program.line().unwrap().parse().unwrap()
}

/// A recording of some seconds: the report, and how many threads had started when it began and ended, at the earliest and
/// at the latest.
struct Recorded {
    report: Value,
    began: (u64, u64),
    ended: (u64, u64),
}

fn record(program: &mut Spoken, tools: &Tools) -> Recorded {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recording.jfr").display().to_string();
    let pid = program.program.pid();
    let before = started(program);
    tools::run(&tools.headway, ["start", "--exact", "-o", &file, &pid]).unwrap();
    let began = (before, started(program));
    thread::sleep(Duration::from_secs(2));
    let before = started(program);
    tools::run(&tools.headway, ["stop", &pid]).unwrap();
    let ended = (before, started(program));
    let report = tools::run(&tools.headway, ["report", "--json", "--threads", "guest", &file]).unwrap();
    Recorded { report: serde_json::from_slice(&report.stdout).unwrap(), began, ended }
}

impl Recorded {
    fn check(&self, context: &str) {
        let (report, ledger) = (&self.report, &self.report["ledger"]);
        let ns = |value: &Value| value.as_u64().unwrap();
        let context = format!("{context}: started {:?} to {:?}; ledger {ledger:#}", self.began, self.ended);
        let entries: Vec<&Value> = ledger["entries"].as_array().unwrap().iter().collect();
        let sum: u64 = entries.iter().map(|entry| ns(&entry["total_ns"])).sum();
        let lived = ns(&ledger["total_ns"]);
        assert_eq!(sum, lived, "{context}");
        assert_eq!(ledger["unbalanced_ns"], 0, "{context}");
        // Each starter has one guest at a time.
        let (duration, blocked) = (ns(&report["duration_ns"]), ns(&report["blocked_ns"]));
        assert!(lived <= STARTERS * duration, "{lived} ns in {duration} ns; {context}");
        assert!(blocked <= lived, "blocked for {blocked} ns of {lived} ns; {context}");
        // Those that lived already, and of those that started meanwhile all but a few that are still to run.
        let guests = ns(&ledger["threads"]);
        let most = self.ended.1 - self.began.0 + STARTERS;
        let least = (self.ended.0 - self.began.1).saturating_sub(STARTERS);
        assert!((least..=most).contains(&guests), "{guests} of {least} to {most}; {context}");
        assert!(guests > 100, "{guests}; {context}");
    }
}

#[test]
fn threads_that_come_and_go_count_as_long_as_they_live() {
    let source = JavaSource::compiled("ComeAndGo", PROGRAM).unwrap();
    let tools = Tools::find().unwrap();
    for jdk in Jdk::all() {
        let mut program = source.run(&jdk).unwrap();
        // The agent is there when the second one begins.
        for round in ["first", "second"] {
            record(&mut program, &tools).check(&format!("JDK {}, {round} recording", jdk.release));
        }
    }
}
