//! Locks that nobody releases, and waits that nobody ends, since before the recording: who owns them and what it does.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::java_source::JavaSource;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Threads that ask a server that never answers while they own a monitor and a `ReentrantLock`; others are blocked on both.
/// Two threads are in `Object.wait`, of which one is notified when a line comes. Says `stuck`.
const PROGRAM: &str = r#"
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.locks.ReentrantLock;

public class Stuck {
    static final Object STOCK = new Object();
    static final ReentrantLock ORDERS = new ReentrantLock();
    static final Object NEVER = new Object();
    static final Object LATER = new Object();
    static ServerSocket server;

    interface Body { void run() throws Exception; }

    public static void main(String[] arguments) throws Exception {
        server = new ServerSocket(0);
        Thread[] threads = new Thread[8];
        for (int i = 0; i < 3; i++) {
            threads[i] = begin("stock-" + i, Stuck::reserve);
            threads[3 + i] = begin("order-" + i, Stuck::order);
        }
        threads[6] = begin("never", Stuck::never);
        threads[7] = begin("later", Stuck::later);
        for (int waiting = 0; waiting < 6; ) {
            waiting = 0;
            for (Thread thread : threads) {
                waiting += thread.getState() == Thread.State.RUNNABLE ? 0 : 1;
            }
            Thread.sleep(1);
        }
        System.out.println("stuck");
        System.in.read();
        synchronized (LATER) {
            LATER.notifyAll();
        }
        Thread.sleep(600_000);
    }

    static Thread begin(String name, Body body) throws Exception {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        Thread.sleep(20);
        return thread;
    }

    static void reserve() throws Exception {
        synchronized (STOCK) {
            ask();
        }
    }

    static void order() throws Exception {
        ORDERS.lock();
        try {
            ask();
        } finally {
            ORDERS.unlock();
        }
    }

    static void ask() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", server.getLocalPort())) {
            socket.getInputStream().read();
        }
    }

    static void never() throws Exception {
        synchronized (NEVER) {
            NEVER.wait();
        }
    }

    static void later() throws Exception {
        synchronized (LATER) {
            LATER.wait();
        }
        Thread.sleep(600_000);
    }
}
"#;

fn report(jdk: &Jdk, source: &JavaSource, mode: &[&str]) -> Value {
    let tools = Tools::find().unwrap();
    let mut running = source.run(jdk).unwrap();
    running.says("stuck").unwrap();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("stuck.jfr").display().to_string();
    let headway = |words: &[&str]| tools::run(&tools.headway, words.iter().map(|word| (*word).to_owned())).unwrap();
    let pid = running.program.pid();
    headway(&[&["start", "-o", &file], mode, &[&pid]].concat());
    thread::sleep(Duration::from_millis(1_500));
    running.goes_on().unwrap();
    thread::sleep(Duration::from_millis(1_500));
    headway(&["stop", &pid]);
    serde_json::from_slice(&headway(&["report", "--json", &file]).stdout).unwrap()
}

fn check_locks(report: &Value, place: &str) {
    let findings: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["text"].as_str().unwrap()).collect();
    for (method, thread) in [("Stuck.reserve", "stock-0"), ("Stuck.order", "order-0")] {
        let of_lock = findings.iter().find(|text| text.contains(&format!("`{method}` owned it for 100 % ")));
        let of_lock = of_lock.unwrap_or_else(|| panic!("{method}: {place}"));
        for part in [&format!("in thread `{thread}`"), "SocketInputStream.read`, called from `Stuck.ask`"] {
            assert!(of_lock.contains(part), "{part}: {place}");
        }
        assert!(of_lock.contains(" 2 threads are still blocked"), "{place}");
    }
    assert!(!findings.iter().any(|text| text.contains("not known") || text.contains("does not show")), "{place}");
}

fn check_waits(report: &Value, place: &str) {
    let waits = report["waits"].as_array().unwrap();
    for (method, in_flight) in [("Stuck.never", 1), ("Stuck.later", 0)] {
        let is_it = |wait: &&Value| wait["stack"].to_string().contains(method);
        let wait = waits.iter().find(is_it).unwrap_or_else(|| panic!("{method}: {place} {waits:#?}"));
        let numbers = (wait["count"].as_u64(), wait["in_flight"].as_u64());
        assert_eq!(numbers, (Some(1), Some(in_flight)), "{method}: {place}");
        let seconds = wait["total_ns"].as_u64().unwrap() as f64 / 1e9;
        let least = if in_flight == 1 { 2.8 } else { 1.3 };
        assert!(seconds >= least, "{method} waited {seconds} s: {place}");
    }
}

#[test]
fn who_owns_a_lock_that_nobody_releases_is_named_with_what_it_does() {
    let source = JavaSource::compiled("Stuck", PROGRAM).unwrap();
    for jdk in Jdk::all() {
        for mode in [&["--exact"][..], &["--sampling-window", "50ms"], &[]] {
            let report = report(&jdk, &source, mode);
            let place = format!("JDK {}, {mode:?}: {} {:#}", jdk.release, report["verdict"], report["findings"]);
            check_locks(&report, &place);
            check_waits(&report, &place);
        }
    }
}
