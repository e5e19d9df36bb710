//! What was under way already when a recording begins.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// Says `blocked` when its second thread is blocked on a monitor, lets it go on
/// when it is sent a line, and says `over`.
const PROGRAM: &str = r#"
public class Held {
    static final Object LOCK = new Object();

    public static void main(String[] arguments) throws Exception {
        Thread contender = new Thread(() -> { synchronized (LOCK) { LOCK.notifyAll(); } }, "contender");
        synchronized (LOCK) {
            contender.start();
            while (contender.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            System.out.println("blocked");
            System.in.read();
        }
        contender.join();
        System.out.println("over");
        System.in.read();
    }
}
"#;

struct Running {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    tools: Tools,
    directory: TempDir,
}

impl Running {
    fn new(jdk: &Jdk) -> Running {
        let directory = TempDir::new().unwrap();
        let source = directory.path().join("Held.java");
        fs::write(&source, PROGRAM).unwrap();
        let mut java = Command::new(jdk.tool("java"));
        let mut child = java.arg(source).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
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
        let pid = self.child.id().to_string();
        let file = file.map(|file| ["-o".to_owned(), file.display().to_string()]);
        let words = words.iter().map(|word| (*word).to_owned()).chain(file.into_iter().flatten()).chain([pid]);
        tools::run(&self.tools.headway, words).unwrap();
    }

    fn start(&self, name: &str) -> PathBuf {
        let file = self.directory.path().join(name);
        self.headway(&["start", "-e", "monitor"], Some(&file));
        file
    }

    fn stop(&self, file: &Path) -> Value {
        self.headway(&["stop"], None);
        let words = ["report".to_owned(), "--json".to_owned(), "--by".to_owned(), "contender-thread".to_owned()];
        let words = words.into_iter().chain([file.display().to_string()]);
        serde_json::from_slice(&tools::run(&self.tools.headway, words).unwrap().stdout).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_thread_blocked_since_before_the_recording_is_not_forgotten() {
    // The program comes as source.
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.tool("javac").exists()) {
        let mut running = Running::new(&jdk);
        let file = running.start("throughout.jfr");
        let report = running.stop(&file);
        assert_eq!(report["losses"]["blocked_throughout"], 1, "JDK {}: {report:#}", jdk.release);
        assert_eq!(report["contentions"], 0, "JDK {}: {report:#}", jdk.release);

        let file = running.start("ends.jfr");
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
