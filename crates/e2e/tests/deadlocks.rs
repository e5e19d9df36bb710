//! Threads that block each other for ever are named, on which locks and where, however they were recorded.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::java_source::JavaSource;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Two deadlocks, of monitors and of `ReentrantLock`s, once it is sent a line; says `deadlocked`. Other threads contend for
/// a monitor all the time.
const PROGRAM: &str = r#"
import java.util.concurrent.locks.ReentrantLock;

public class Dead {
    static final Object ACCOUNTS = new Object();
    static final Object AUDIT = new Object();
    static final Object BUSY = new Object();
    static final ReentrantLock STOCK = new ReentrantLock();
    static final ReentrantLock ORDERS = new ReentrantLock();
    static volatile long sink;

    interface Body { void run() throws Exception; }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 3; i++) {
            begin("busy-" + i, Dead::busy);
        }
        System.out.println("ready");
        System.in.read();
        Thread[] threads = {
            begin("transfer", Dead::transfer), begin("auditor", Dead::audit),
            begin("buyer", Dead::buy), begin("packer", Dead::pack),
        };
        for (int i = 0; i < threads.length; i++) {
            while (threads[i].getState() != (i < 2 ? Thread.State.BLOCKED : Thread.State.WAITING)) {
                Thread.sleep(1);
            }
        }
        System.out.println("deadlocked");
        Thread.sleep(600_000);
    }

    static Thread begin(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void busy() {
        while (true) {
            synchronized (BUSY) {
                for (int i = 0; i < 2_000; i++) {
                    sink += i;
                }
            }
            Thread.yield();
        }
    }

    static void transfer() throws Exception {
        synchronized (ACCOUNTS) {
            Thread.sleep(150);
            synchronized (AUDIT) {
                sink++;
            }
        }
    }

    static void audit() throws Exception {
        synchronized (AUDIT) {
            Thread.sleep(200);
            synchronized (ACCOUNTS) {
                sink++;
            }
        }
    }

    static void buy() throws Exception {
        STOCK.lock();
        Thread.sleep(150);
        ORDERS.lock();
    }

    static void pack() throws Exception {
        ORDERS.lock();
        Thread.sleep(200);
        STOCK.lock();
    }
}
"#;

/// How it is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// The deadlock is older than the recording.
    Later,
    /// Every contention is recorded.
    Exactly,
    /// Contentions are sampled.
    Sampled,
    /// As [`How::Sampled`], and the JVM is killed.
    Killed,
}

fn deadlocks(jdk: &Jdk, source: &JavaSource, how: How) -> Value {
    let tools = Tools::find().unwrap();
    let mut running = source.run(jdk).unwrap();
    running.says("ready").unwrap();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("dead.jfr").display().to_string();
    let headway = |words: &[&str]| tools::run(&tools.headway, words.iter().map(|word| (*word).to_owned())).unwrap();
    let pid = running.program.pid();
    let mode: &[&str] = match how {
        How::Later | How::Exactly => &["--exact"],
        How::Sampled | How::Killed => &["--sampling-window", "50ms"],
    };
    let start = || headway(&[&["start", "-o", &file], mode, &[&pid]].concat());
    if how != How::Later {
        start();
    }
    running.goes_on().unwrap();
    running.says("deadlocked").unwrap();
    if how == How::Later {
        start();
    }
    // Long enough to be looked at once.
    thread::sleep(Duration::from_millis(if how == How::Later { 300 } else { 3_000 }));
    match how {
        How::Killed => drop(running),
        _ => drop(headway(&["stop", &pid])),
    }
    serde_json::from_slice(&headway(&["report", "--json", &file]).stdout).unwrap()
}

#[test]
fn deadlocks_are_named_before_and_during_recordings_and_where_contentions_are_sampled() {
    let source = JavaSource::compiled("Dead", PROGRAM).unwrap();
    for jdk in Jdk::all() {
        for how in [How::Later, How::Exactly, How::Sampled, How::Killed] {
            let report = deadlocks(&jdk, &source, how);
            let place = format!("JDK {}, {how:?}: {:#} {:#}", jdk.release, report["deadlocks"], report["findings"]);
            let deadlocks = report["deadlocks"].as_array().unwrap();
            let mut threads: Vec<&str> = deadlocks
                .iter()
                .flat_map(|deadlock| deadlock["members"].as_array().unwrap())
                .map(|member| member["thread"].as_str().unwrap())
                .collect();
            threads.sort_unstable();
            assert_eq!((deadlocks.len(), threads), (2, vec!["auditor", "buyer", "packer", "transfer"]), "{place}");
            for member in deadlocks.iter().flat_map(|deadlock| deadlock["members"].as_array().unwrap()) {
                let (thread, owner) = (member["thread"].as_str().unwrap(), member["owner"].as_str().unwrap());
                let (owned_by, method) = match thread {
                    "transfer" => ("auditor", "Dead.transfer"),
                    "auditor" => ("transfer", "Dead.audit"),
                    "buyer" => ("packer", "Dead.buy"),
                    _ => ("buyer", "Dead.pack"),
                };
                assert_eq!(owner, owned_by, "{place}");
                let stack = member["stack"].as_array().unwrap();
                let is_there = stack.iter().any(|frame| frame.as_str().unwrap().starts_with(method));
                assert!(is_there, "{thread} in {method}: {place}");
            }
            let first = report["findings"][0]["text"].as_str().unwrap();
            assert!(first.starts_with("Deadlock: "), "{place}");
        }
    }
}
