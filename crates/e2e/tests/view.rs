//! `headway view PID`: a recording is shown while it runs.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Four threads that are blocked on one monitor most of the time, until the input ends.
const PROGRAM: &str = r#"
public class Shop {
    static final Object LOCK = new Object();

    public static void main(String[] arguments) throws Exception {
        for (int n = 0; n < 4; n++) {
            Thread thread = new Thread(Shop::order, "order-" + n);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        System.in.read();
    }

    static void order() {
        try {
            while (true) {
                synchronized (LOCK) { Thread.sleep(5); }
                Thread.sleep(5);
            }
        } catch (InterruptedException over) {
            Thread.currentThread().interrupt();
        }
    }
}
"#;

/// A running command, and what it served.
struct Viewed {
    command: Guarded,
    host: String,
    path: String,
    said: PathBuf,
}

impl Viewed {
    fn new(tools: &Tools, pid: &str, said: PathBuf) -> Viewed {
        let mut command = Command::new(&tools.headway);
        command.args(["view", pid]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut command = Guarded(command.stderr(fs::File::create(&said).unwrap()).spawn().unwrap());
        let mut address = String::new();
        BufReader::new(command.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let text = fs::read_to_string(&said).unwrap();
        let rest = address.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no address: {text}"));
        let (host, path) = rest.split_once('/').unwrap();
        Viewed { command, host: host.to_owned(), path: format!("/{path}"), said }
    }

    /// How far the recording was read.
    fn now(&self) -> Value {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let (host, path) = (&self.host, &self.path);
        let head =
            format!("POST {path}now HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 1\r\n\r\n0");
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap_or_else(|_| panic!("{reply}"))
    }

    fn contentions(&self) -> u64 {
        self.now()["recordings"][0]["contentions"].as_u64().unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    /// Asks it to end, and gives its exit code.
    fn end(mut self) -> Option<i32> {
        let killed = Command::new("kill").args(["-TERM", &self.command.pid()]).status().unwrap();
        assert!(killed.success());
        self.command.wait().unwrap().code()
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !is_so() {
        assert!(Instant::now() < deadline, "this never happened: {what}");
        thread::sleep(Duration::from_millis(200));
    }
}

/// Where the JVM records to; nothing if it does not.
fn recording(tools: &Tools, pid: &str) -> Option<String> {
    let status = tools::run(&tools.headway, ["status", "--json", pid]).unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    status["recording"].as_str().map(str::to_owned)
}

fn jvm(jdk: &Jdk, directory: &Path) -> Guarded {
    let source = directory.join("Shop.java");
    fs::write(&source, PROGRAM).unwrap();
    let mut java = Command::new(jdk.tool("java"));
    let mut java = Guarded(java.arg(source).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut ready = String::new();
    BufReader::new(java.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready.trim(), "ready");
    java
}

#[test]
fn a_running_recording_is_shown_as_it_grows_and_ends_with_the_command_that_began_it() {
    let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
    let jdk = Jdk::all().pop().expect("a JDK");
    let mut java = jvm(&jdk, directory.path());
    let pid = java.pid();
    let said = |name: &str| directory.path().join(name);

    // It begins a recording, which grows.
    let first = Viewed::new(&tools, &pid, said("first"));
    assert!(first.said().contains("as long as this command runs"), "{}", first.said());
    let own = recording(&tools, &pid).expect("a recording");
    wait_until("contentions are shown", || first.contentions() > 0);
    let before = first.contentions();
    wait_until("more contentions are shown", || first.contentions() > before);

    // Another one shows the same recording, and ends without ending it.
    let second = Viewed::new(&tools, &pid, said("second"));
    assert!(second.said().contains(&format!("Showing the recording that runs in {pid}")), "{}", second.said());
    wait_until("the other one shows it", || second.contentions() >= before);
    assert_eq!(second.end(), Some(0));
    assert_eq!(recording(&tools, &pid).as_ref(), Some(&own));

    // The first one ends it, and leaves nothing.
    assert_eq!(first.end(), Some(0));
    assert_eq!(recording(&tools, &pid), None);
    assert!(!Path::new(&own).exists(), "{own} is left");

    // Killed, it cannot; the agent notices.
    let mut killed = Viewed::new(&tools, &pid, said("killed"));
    killed.command.kill().unwrap();
    killed.command.wait().unwrap();
    wait_until("the recording of a killed command ends", || recording(&tools, &pid).is_none());

    // A recording that somebody stops, and then a JVM that ends: what was recorded stays.
    let kept = said("kept.jfr");
    tools::run(&tools.headway, ["start", "-o", kept.to_str().unwrap(), &pid]).unwrap();
    let third = Viewed::new(&tools, &pid, said("third"));
    wait_until("contentions are shown", || third.contentions() > 0);
    tools::run(&tools.headway, ["stop", &pid]).unwrap();
    wait_until("the end of the recording is shown", || third.now()["ended"] != "");
    assert_eq!(third.now()["ended"], format!("The recording in the JVM {pid} was stopped."));
    assert_eq!(third.end(), Some(0));

    let fourth = Viewed::new(&tools, &pid, said("fourth"));
    wait_until("contentions are shown", || fourth.contentions() > 0);
    drop(java.stdin.take());
    java.wait().unwrap();
    wait_until("the end of the JVM is shown", || fourth.now()["ended"] != "");
    assert_eq!(fourth.now()["ended"], format!("The JVM {pid} has ended."));
    assert!(fourth.contentions() > 0);
    assert_eq!(fourth.end(), Some(0));
}

#[test]
fn what_is_neither_a_jvm_nor_a_file_is_refused_in_a_sentence() {
    let tools = Tools::find().unwrap();
    let refused = |target: &str| {
        let output = Command::new(&tools.headway).args(["view", target]).output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        said
    };
    let own = std::process::id().to_string();
    assert!(refused(&own).contains("is not a JVM"), "{}", refused(&own));
    assert!(refused("4194305").contains("4194305"));
    assert!(refused("no-such.jfr").contains("no-such.jfr"));
    assert!(refused("no.such.Main").contains("no.such.Main"));
}
