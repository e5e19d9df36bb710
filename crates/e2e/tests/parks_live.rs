//! The park statistics of a running JVM: asked for, printed on a thread dump,
//! and recorded at the end.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use headway_e2e::guarded::Guarded;
use headway_e2e::jdk::Jdk;
use headway_e2e::tools::{self, Tools};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What every blocker says, and nothing else but its name.
const KEYS: [&str; 17] = [
    "thread",
    "stack",
    "class",
    "hash",
    "times_parked",
    "parked_now",
    "peak_parked",
    "thread_time_ns",
    "real_time_ns",
    "avg_park_ns",
    "avg_hold_ns",
    "real_util",
    "thread_util",
    "real_life_util",
    "thread_life_util",
    "name",
    "idle",
];
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
/// How long a waiter of the program stands in line, in ms.
const WAIT_MS: u64 = 30;
const PATIENCE: Duration = Duration::from_secs(120);

/// A program whose threads stand in line at one lock, round after round, until
/// it is asked to end.
struct Running {
    child: Guarded,
    tools: Tools,
    directory: TempDir,
}

impl Running {
    /// `agent` are the agent's options, if it is to be there from the start.
    fn new(jdk: &Jdk, agent: Option<&str>) -> Running {
        let (tools, directory) = (Tools::find().unwrap(), TempDir::new().unwrap());
        let mut java = Command::new(jdk.tool("java"));
        if let Some(options) = agent {
            let here = directory.path().display();
            let file = directory.path().join("recording.jfr");
            let options = options.replace("HERE", &here.to_string());
            java.arg(format!("-agentpath:{}=start,file={},{options}", tools.agent.display(), file.display()));
        }
        java.arg("-jar").arg(&tools.workloads).args(["parks", "--only", "lock", "--rounds", "100000"]);
        java.args(["--wait-ms", &WAIT_MS.to_string()]);
        let child = java.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Running { child: Guarded(child), tools, directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn kill(&self, signal: &str) {
        tools::run(Path::new("kill"), [signal, &self.child.pid()]).unwrap();
    }

    fn parks(&self, options: &[&str]) -> Value {
        self.try_parks(options).unwrap_or_else(|| panic!("no park statistics with {options:?}"))
    }

    /// `None` if the command line could not have them.
    fn try_parks(&self, options: &[&str]) -> Option<Value> {
        let mut headway = Command::new(&self.tools.headway);
        headway.args(["parks", "--json"]).args(options).arg(self.child.pid());
        serde_json::from_slice(&headway.output().ok()?.stdout).ok()
    }

    fn wait_for_recording(&self) {
        let until = Instant::now() + PATIENCE;
        while !self.file("recording.jfr").exists() {
            assert!(Instant::now() < until, "no recording");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The statistics of the lock, as soon as `enough` says so.
    fn wait(&self, look: impl Fn() -> Option<Value>, enough: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = look();
            if let Some(lock) = found.as_ref().and_then(lock_of).filter(|lock| enough(lock)) {
                return lock.clone();
            }
            assert!(Instant::now() < until, "{found:#?}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The statistics of the program's lock.
fn lock_of(report: &Value) -> Option<&Value> {
    report["blockers"].as_array()?.iter().find(|blocker| blocker["class"] == LOCK)
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key}: {value:#}"))
}

/// Each waiter parks once a round; whoever is first parks as long as the lock
/// is held, the others longer.
fn check(lock: &Value, execution_ns: f64) {
    for (key, _) in lock.as_object().unwrap() {
        assert!(KEYS.contains(&key.as_str()), "{key} is new");
    }
    for key in KEYS.iter().filter(|key| **key != "name") {
        assert!(!lock[key].is_null(), "no {key}: {lock:#}");
    }
    assert!(lock["thread"].as_str().unwrap().starts_with("lock-"), "{lock:#}");
    assert!(lock["stack"].to_string().contains("ReentrantLock.lock"), "{lock:#}");
    assert_ne!(lock["hash"], "0");
    let (parks, peak) = (number(lock, "times_parked"), number(lock, "peak_parked"));
    let (thread_ns, real_ns) = (number(lock, "thread_time_ns"), number(lock, "real_time_ns"));
    assert!(peak >= 2.0 && peak <= parks && number(lock, "parked_now") <= peak, "{lock:#}");
    assert!(real_ns > 0.0 && real_ns <= execution_ns && real_ns < thread_ns, "{lock:#}");
    assert!(thread_ns <= peak * real_ns, "{lock:#}");
    let near = |key: &str, expected: f64| {
        let is = number(lock, key);
        assert!((is - expected).abs() <= 1.0 + expected * 1e-6, "{key} is {is}, not {expected}: {lock:#}");
    };
    near("avg_park_ns", thread_ns / parks);
    near("avg_hold_ns", real_ns / (parks - number(lock, "parked_now")));
    // Half of what it waits for, lest a thread that was late counts.
    assert!(number(lock, "avg_park_ns") > WAIT_MS as f64 * 0.5e6, "{lock:#}");
    assert!((number(lock, "thread_util") - thread_ns / execution_ns).abs() < 1e-6, "{lock:#}");
}

#[test]
fn a_running_jvm_is_asked_without_recording() {
    for jdk in Jdk::all() {
        let running = Running::new(&jdk, None);
        // Begins to count, waits, and ends it. A JVM that is still starting
        // cannot be attached to yet.
        // Two threads stand in line together, if the machine lets them.
        let lock = running.wait(|| running.try_parks(&["-d", "3"]), |lock| number(lock, "peak_parked") >= 2.0);
        check(&lock, (number(&lock, "thread_time_ns") / number(&lock, "thread_util")).round());
        let status = tools::run(&running.tools.headway, ["status", "--json", &running.child.pid()]);
        let status: Value = serde_json::from_slice(&status.unwrap().stdout).unwrap();
        assert!(status["recording"].is_null(), "JDK {}: {status:#}", jdk.release);
    }
}

#[test]
fn a_running_recording_tells_its_park_statistics_so_far() {
    for jdk in Jdk::all() {
        let running = Running::new(&jdk, Some("events=park,park_threshold=2"));
        running.wait_for_recording();
        let look = || running.try_parks(&[]);
        let first = running.wait(look, |lock| number(lock, "times_parked") >= 4.0);
        let parks = number(&first, "times_parked");
        running.wait(look, |lock| number(lock, "times_parked") > parks);
        let report = running.parks(&["--print-threshold", "3"]);
        assert_eq!((&report["collection_threshold"], &report["printing_threshold"]), (&2.into(), &3.into()));
        check(lock_of(&report).unwrap(), number(&report, "execution_ns"));
        assert!(running.parks(&["--print-threshold", "1000000000"])["blockers"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_thread_dump_and_the_end_print_where_they_were_told_to() {
    for jdk in Jdk::all() {
        let mut running = Running::new(&jdk, Some("events=park,parks=HERE/parks.json"));
        let printed = || fs::read_to_string(running.file("parks.json")).unwrap_or_default();
        let last = || serde_json::from_str::<Value>(printed().lines().last()?).ok();
        running.wait_for_recording();
        assert_eq!(printed(), "", "printed without being asked");
        let look = || {
            running.kill("-QUIT");
            thread::sleep(Duration::from_millis(400));
            last()
        };
        let lock = running.wait(look, |lock| number(lock, "times_parked") >= 4.0);
        check(&lock, number(&last().unwrap(), "execution_ns"));
        let dumps = printed().lines().count();
        running.kill("-TERM");
        tools::wait_at_most(&mut running.child, PATIENCE).unwrap();
        let all = fs::read_to_string(running.file("parks.json")).unwrap();
        assert!(all.lines().count() > dumps, "JDK {}: nothing was printed at the end", jdk.release);
        let last: Value = serde_json::from_str(all.lines().last().unwrap()).unwrap();
        let at_end = lock_of(&last).unwrap();
        assert!(number(at_end, "times_parked") >= number(&lock, "times_parked"));
        assert_eq!(recorded(&jdk, &running), number(at_end, "times_parked"), "JDK {}", jdk.release);
    }
}

/// Parks on the lock as its event at the recording's end says.
fn recorded(jdk: &Jdk, running: &Running) -> f64 {
    let recording = running.file("recording.jfr").display().to_string();
    let arguments = ["print", "--json", "--stack-depth", "1", "--events", "headway.ParkStatistics", &recording];
    let printed: Value = serde_json::from_slice(&tools::run(&jdk.tool("jfr"), arguments).unwrap().stdout).unwrap();
    let events = printed["recording"]["events"].as_array().unwrap();
    let values: Vec<&Value> = events.iter().map(|event| &event["values"]).collect();
    let lock = values.iter().max_by_key(|values| values["timesParked"].as_u64());
    number(lock.unwrap_or_else(|| panic!("no statistics: {printed:#}")), "timesParked")
}

/// The VM finds natives of the agent's class only in libraries that it has loaded,
/// and this one it loads just then: the first start may see no parks, a later one must.
#[test]
fn another_tool_may_load_the_agent() {
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.tool("jcmd").exists()) {
        let running = Running::new(&jdk, None);
        let pid = running.child.pid();
        let agent = running.tools.agent.display().to_string();
        let load = |options: &str| {
            let quoted = format!("\"{options}\"");
            let said = tools::run(&jdk.tool("jcmd"), [pid.as_str(), "JVMTI.agent_load", &agent, &quoted]);
            said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("return code: 0"))
        };
        let until = Instant::now() + PATIENCE;
        while !load(&format!("start,file={}", running.file("first.jfr").display())) {
            assert!(Instant::now() < until, "JDK {}: no agent", jdk.release);
            thread::sleep(Duration::from_millis(100));
        }
        assert!(load("stop"));
        let second = running.file("second.jfr").display().to_string();
        assert!(load(&format!("start,strict,events=park,file={second}")), "JDK {}: something is missing", jdk.release);
        running.wait(|| running.try_parks(&[]), |lock| number(lock, "times_parked") >= 4.0);
        assert!(load("stop"));
        let parks = tools::run(&running.tools.headway, ["parks", "--json", &second]).unwrap();
        let parks: Value = serde_json::from_slice(&parks.stdout).unwrap();
        assert!(lock_of(&parks).is_some(), "JDK {}: {parks:#}", jdk.release);
    }
}
