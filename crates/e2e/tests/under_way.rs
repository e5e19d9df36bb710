//! What was under way already when a recording begins.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// Says `blocked` when its second thread is blocked on a monitor, or parked for a
/// lock, lets it go on when it is sent a line, and says `over`. A third thread
/// waits for work all the time.
const PROGRAM: &str = r#"
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

public class Held {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final LinkedBlockingQueue<String> WORK = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) throws Exception {
        Thread idle = new Thread(Held::work, "idle");
        idle.setDaemon(true);
        idle.start();
        switch (arguments[0]) {
            case "monitor" -> monitor();
            default -> lock();
        }
        System.out.println("over");
        System.in.read();
    }

    static void monitor() throws Exception {
        Thread contender = new Thread(() -> { synchronized (MONITOR) { MONITOR.notifyAll(); } }, "contender");
        synchronized (MONITOR) {
            holdAgainst(contender, Thread.State.BLOCKED);
        }
        contender.join();
    }

    static void lock() throws Exception {
        Thread contender = new Thread(() -> { LOCK.lock(); LOCK.unlock(); }, "contender");
        LOCK.lock();
        try {
            holdAgainst(contender, Thread.State.WAITING);
        } finally {
            LOCK.unlock();
        }
        contender.join();
    }

    static void holdAgainst(Thread contender, Thread.State state) throws Exception {
        contender.start();
        while (contender.getState() != state) {
            Thread.sleep(1);
        }
        System.out.println("blocked");
        System.in.read();
    }

    static void work() {
        try {
            WORK.take();
        } catch (InterruptedException over) {
            Thread.currentThread().interrupt();
        }
    }
}
"#;

struct Running {
    child: Guarded,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    tools: Tools,
    directory: TempDir,
}

impl Running {
    fn new(jdk: &Jdk, what: &str) -> Running {
        let directory = TempDir::new().unwrap();
        let source = directory.path().join("Held.java");
        fs::write(&source, PROGRAM).unwrap();
        let mut java = Command::new(jdk.tool("java"));
        let java = java.arg(source).arg(what).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Guarded(java.spawn().unwrap());
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut running = Running { child, to, from, tools: Tools::find().unwrap(), directory };
        running.says("blocked");
        running
    }

    fn says(&mut self, word: &str) {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), word);
    }

    fn headway(&self, words: &[&str], file: Option<&Path>) {
        let pid = self.child.pid();
        let file = file.map(|file| ["-o".to_owned(), file.display().to_string()]);
        let words = words.iter().map(|word| (*word).to_owned()).chain(file.into_iter().flatten()).chain([pid]);
        tools::run(&self.tools.headway, words).unwrap();
    }

    fn start(&self, events: &str, name: &str) -> PathBuf {
        let file = self.directory.path().join(name);
        self.headway(&["start", "--exact", "-e", events], Some(&file));
        file
    }

    fn stop(&self, file: &Path) -> Value {
        self.headway(&["stop"], None);
        self.report(file, &["--by", "contender-thread"])
    }

    fn report(&self, file: &Path, words: &[&str]) -> Value {
        let words = ["report", "--json"].iter().chain(words).map(|word| (*word).to_owned());
        let words = words.chain([file.display().to_string()]);
        serde_json::from_slice(&tools::run(&self.tools.headway, words).unwrap().stdout).unwrap()
    }
}

#[test]
fn a_thread_blocked_since_before_the_recording_is_not_forgotten() {
    // The program comes as source.
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.tool("javac").exists()) {
        let mut running = Running::new(&jdk, "monitor");
        let file = running.start("monitor", "throughout.jfr");
        let report = running.stop(&file);
        assert!(report["losses"]["blocked_throughout"].is_null(), "JDK {}: {report:#}", jdk.release);
        assert_eq!(report["contentions"], 1, "JDK {}: {report:#}", jdk.release);
        let blocked = &report["in_flight"][0];
        let (thread, lock, owner) = (&blocked["thread"], &blocked["lock"], &blocked["owner"]);
        assert_eq!((thread, owner), (&"contender".into(), &"main".into()), "JDK {}: {report:#}", jdk.release);
        assert!(lock.as_str().unwrap().starts_with("Held.MONITOR ("), "JDK {}: {report:#}", jdk.release);
        let stack = blocked["stack"][0].as_str().unwrap();
        assert!(stack.contains("Held.") && stack.contains("lambda"), "JDK {}: {report:#}", jdk.release);

        let file = running.start("monitor", "ends.jfr");
        running.to.write_all(b"\n").unwrap();
        running.says("over");
        let report = running.stop(&file);
        let row = &report["rows"][0];
        assert_eq!((&row["value"], &row["count"]), (&"contender".into(), &1.into()), "JDK {}: {report:#}", jdk.release);
        // From the recording's beginning, not from before it.
        let (blocked, duration) = (row["total_ns"].as_u64().unwrap(), report["duration_ns"].as_u64().unwrap());
        assert!(blocked > 0 && blocked <= duration, "JDK {}: {report:#}", jdk.release);
        assert!(report["losses"]["blocked_throughout"].is_null(), "JDK {}: {report:#}", jdk.release);
    }
}

/// The contender is all that waited for a lock, and no longer than was recorded.
fn throughout(report: &Value, release: u32) {
    let row = &report["rows"][0];
    assert_eq!((&row["value"], &row["count"]), (&"contender".into(), &1.into()), "JDK {release}: {report:#}");
    let (blocked, duration) = (row["total_ns"].as_u64().unwrap(), report["duration_ns"].as_u64().unwrap());
    assert!(blocked > 0 && blocked <= duration, "JDK {release}: {report:#}");
}

#[test]
fn a_thread_parked_since_before_the_recording_waits_for_its_lock_from_the_begin() {
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.tool("javac").exists()) {
        let mut running = Running::new(&jdk, "lock");
        let file = running.start("park", "throughout.jfr");
        let report = running.stop(&file);
        throughout(&report, jdk.release);
        assert_eq!(report["contentions"], 1, "waiting for work is none: {report:#}");
        let by_lock = running.report(&file, &["--by", "lock-class"]);
        assert_eq!(by_lock["rows"][0]["value"], "java.util.concurrent.locks.ReentrantLock$NonfairSync", "{by_lock:#}");
        let by_owner = running.report(&file, &["--by", "owner-thread"]);
        assert_eq!(by_owner["rows"][0]["value"], "main", "{by_owner:#}");
        let by_place = running.report(&file, &["--by", "contender-method"]);
        let method = by_place["rows"][0]["value"].as_str().unwrap();
        assert!(method.contains("Held") && method.contains("lambda"), "{by_place:#}");

        let file = running.start("pressure", "pressure.jfr");
        running.headway(&["stop"], None);
        let pressure = running.report(&file, &["--pressure"]);
        let lock = &pressure["locks"][0];
        assert_eq!(lock["class"], "java.util.concurrent.locks.ReentrantLock$NonfairSync", "{pressure:#}");
        assert!(lock["csp_peak"].as_f64().unwrap() > 0.1, "{pressure:#}");

        let file = running.start("park", "ends.jfr");
        running.to.write_all(b"\n").unwrap();
        running.says("over");
        let report = running.stop(&file);
        throughout(&report, jdk.release);
        let by_owner = running.report(&file, &["--by", "owner-thread"]);
        assert_eq!(by_owner["rows"][0]["value"], "main", "{by_owner:#}");
    }
}
