//! Locks that live for one request are called what the source calls them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::java_source::JavaSource;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Requests, each with two new locks.
const REQUESTS: u64 = 100;

/// A helper owns the two locks of each request, one after the other, and the request's thread waits for both in one
/// method: once it is sent a line, a hundred times. Says `done`.
const PROGRAM: &str = r#"
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.ReentrantLock;

public class Requests {
    static final int REQUESTS = 100;

    static class Request {
        final ReentrantLock order = new ReentrantLock();
        final ReentrantLock basket = new ReentrantLock();
    }

    static final SynchronousQueue<Request> TO_OWN = new SynchronousQueue<>();
    static final SynchronousQueue<Request> OWNED = new SynchronousQueue<>();

    public static void main(String[] arguments) throws Exception {
        Thread helper = new Thread(Requests::own, "helper");
        helper.setDaemon(true);
        helper.start();
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < REQUESTS; i++) {
            TO_OWN.put(new Request());
            serve(OWNED.take());
        }
        System.out.println("done");
        Thread.sleep(600_000);
    }

    static void serve(Request request) {
        request.order.lock();
        request.order.unlock();
        request.basket.lock();
        request.basket.unlock();
    }

    static void own() {
        try {
            while (true) {
                Request request = TO_OWN.take();
                request.basket.lock();
                request.order.lock();
                OWNED.put(request);
                Thread.sleep(4);
                request.order.unlock();
                Thread.sleep(4);
                request.basket.unlock();
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
"#;

/// Contentions by name of the lock.
fn contentions(jdk: &Jdk, source: &JavaSource, mode: &[&str]) -> BTreeMap<String, u64> {
    let tools = Tools::find().unwrap();
    let mut running = source.run(jdk).unwrap();
    running.says("ready").unwrap();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("requests.jfr").display().to_string();
    let headway = |words: &[&str]| tools::run(&tools.headway, words.iter().map(|word| (*word).to_owned())).unwrap();
    let pid = running.program.pid();
    headway(&[&["start", "-o", &file], mode, &[&pid]].concat());
    running.goes_on().unwrap();
    running.says("done").unwrap();
    headway(&["stop", &pid]);
    let report = headway(&["report", "--json", "--by", "lock-name", &file]).stdout;
    let report: Value = serde_json::from_slice(&report).unwrap();
    let rows = report["rows"].as_array().unwrap();
    // Behind the name, it is said how many locks of which class have it.
    let name = |row: &Value| row["value"].as_str().unwrap().split(" (").next().unwrap().to_owned();
    rows.iter().map(|row| (name(row), row["count"].as_u64().unwrap())).collect()
}

#[test]
fn locks_that_live_for_one_request_have_the_names_of_their_fields() {
    let source = JavaSource::compiled("Requests", PROGRAM).unwrap();
    for jdk in Jdk::all() {
        for mode in [&["--exact"][..], &["--sampling-window", "2ms"]] {
            let contentions = contentions(&jdk, &source, mode);
            for name in ["Requests$Request.order", "Requests$Request.basket"] {
                // The first lock may have been released before the request's thread came.
                let count = contentions.get(name).copied().unwrap_or(0);
                assert!(count >= REQUESTS * 9 / 10, "JDK {}, {mode:?}: {name} in {contentions:?}", jdk.release);
            }
        }
    }
}
