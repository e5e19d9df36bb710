//! `ship` beside a real JVM: killed, without its store, and at the end all rows are there once.

mod scrape;

use scrape::metric;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Only a test that hangs meets it.
const HANGS: Duration = Duration::from_secs(400);
const TICK: Duration = Duration::from_millis(50);

/// Ended with the test.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guarded {
    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < HANGS, "never: {what}");
        sleep(TICK);
    }
}

/// A JDK with a compiler, and the built command with the agent beside it.
fn tools() -> Option<(PathBuf, PathBuf)> {
    let from = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let set = ["HEADWAY_JDK17", "HEADWAY_JDK21", "HEADWAY_JDK25", "JAVA_HOME"].into_iter().filter_map(from);
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    let jdk = set.chain(installed).find(|home| home.join("bin/javac").is_file());
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/headway");
    let headway = Some(from("HEADWAY_BIN").unwrap_or(built)).filter(|path| path.is_file());
    if jdk.is_none() || headway.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no JDK, or headway is not built");
        println!("SKIPPED: no JDK, or headway is not built (cargo build --release -p headway-cli -p headway-agent)");
    }
    Some((jdk?, headway?.canonicalize().expect("a path")))
}

/// A program whose threads block each other until its standard input ends.
fn program(jdk: &Path, folder: &Path, name: &str) -> Guarded {
    let source = format!(
        "public class {name} {{
            static final Object LOCK = new Object();
            public static void main(String[] words) throws Exception {{
                for (int i = 0; i < 3; i++) {{
                    Thread worker = new Thread(() -> {{
                        try {{
                            while (true) synchronized (LOCK) {{ Thread.sleep(3); }}
                        }} catch (InterruptedException ended) {{ }}
                    }});
                    worker.setDaemon(true);
                    worker.start();
                }}
                System.out.println(\"runs\");
                System.in.read();
            }}
        }}"
    );
    let file = folder.join(format!("{name}.java"));
    std::fs::write(&file, source).expect("a source");
    let compiled = Command::new(jdk.join("bin/javac")).arg("-d").arg(folder).arg(&file).status();
    assert!(compiled.expect("javac").success());
    let mut java = Command::new(jdk.join("bin/java"));
    java.args(["-Xmx64m", "-cp"]).arg(folder).arg(name).env("OTEL_SERVICE_NAME", "shop");
    let mut child = Guarded(java.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("java"));
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "runs\n");
    child
}

struct Scene {
    folder: tempfile::TempDir,
    name: String,
}

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command, with a second name for each recording so that it outlives its delivery. While it works there is a
    /// file in `busy`: it goes on when `ship` is killed.
    fn wrap(&self, headway: &Path) {
        let [kept, busy] = ["kept", "busy"].map(|name| self.path(name));
        [&kept, &busy].iter().for_each(|folder| std::fs::create_dir(folder).expect("a folder"));
        let script = format!(
            "#!/bin/sh
            : > {busy}/$$
            {headway} \"$@\"
            code=$?
            if [ \"$1\" = start ] && [ $code = 0 ]; then
                for word; do case \"$word\" in *.jfr) ln \"$word\" {kept}/ ;; esac; done
            fi
            rm {busy}/$$
            exit $code
            ",
            busy = busy.display(),
            kept = kept.display(),
            headway = headway.display(),
        );
        std::fs::write(self.path("headway"), script).expect("a script");
        std::fs::set_permissions(self.path("headway"), std::fs::Permissions::from_mode(0o755))
            .expect("may be executed");
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
        command.args(["ship", "--name", &self.name, "--segment", "1s", "--look", "1s", "--listen", "127.0.0.1:0"]);
        command.arg("--store").arg(self.path("away/rows")).arg("--queue").arg(self.path("queue"));
        command.arg("--headway").arg(self.path("headway")).args(["--host", "web", "--label", "zone=a"]);
        command
    }

    /// Starts `ship`; returns it and the address of its metrics.
    fn ship(&self) -> (Guarded, String) {
        let mut ship = Guarded(self.command().stdout(Stdio::piped()).spawn().expect("the command starts"));
        let mut line = String::new();
        BufReader::new(ship.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics"));
        (ship, address.expect(&line).to_owned())
    }

    /// Kills `ship` and waits for commands that it began.
    fn kill(&self, ship: Guarded) {
        drop(ship);
        until("its commands end", || self.files("busy") == 0);
    }

    /// Files in a folder, however deep.
    fn files(&self, name: &str) -> usize {
        fn count(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
        }
        count(&self.path(name))
    }
}

fn ask(query: &str, paths: &[PathBuf]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_headway-fleet"))
        .args(["sql", query, "--format", "csv"])
        .args(paths)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{query}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn killed_and_without_its_store_it_delivers_all_rows_once() {
    let Some((jdk, headway)) = tools() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    let name = format!("Shipped{}x{now}", std::process::id());
    let scene = Scene { folder: tempfile::tempdir().expect("a folder"), name };
    scene.wrap(&headway);
    // A file stands where the store's folder would be: it can be neither made nor written.
    std::fs::write(scene.path("away"), "").expect("written");
    let mut jvm = program(&jdk, scene.folder.path(), &scene.name);
    let pid = jvm.0.id().to_string();
    let headway = |words: &[&str]| {
        let output = Command::new(&headway).args(words).arg(&pid).output().expect("the command starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };

    // What a person records goes on, and is named.
    let own = scene.path("own.jfr");
    headway(&["start", "--output", own.to_str().expect("UTF-8")]);
    let mut ship = Guarded(scene.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts"));
    let mut line = String::new();
    BufReader::new(ship.0.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(line.contains(&format!("already recording to {}", own.display())) && line.contains(&pid), "{line}");
    ship.signal("-TERM");
    assert!(ship.0.wait().expect("an end").success());
    assert!(headway(&["status", "--json"]).contains("own.jfr"), "it is disturbed");
    headway(&["stop"]);

    // Rows wait in the queue; it is killed, and killed again.
    for waiting in [1.0, 3.0] {
        let (ship, address) = scene.ship();
        until("rows wait", || metric(&address, "queue_batches") >= waiting);
        until("the store was tried", || metric(&address, "failed_uploads_total") >= 1.0);
        assert_eq!(metric(&address, "store_up"), 0.0);
        let second = scene.command().output().expect("the command starts");
        let said = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(1), "{said}");
        assert!(said.contains("another headway ship uses the queue") && said.lines().count() == 1, "{said}");
        scene.kill(ship);
    }

    // The store is there again: what waited and what comes arrives.
    std::fs::remove_file(scene.path("away")).expect("removed");
    let (mut ship, address) = scene.ship();
    until("all is delivered", || metric(&address, "delivered_batches_total{new=\"yes\"}") >= 5.0);
    assert_eq!(metric(&address, "store_up"), 1.0);
    ship.signal("-TERM");
    assert!(ship.0.wait().expect("an end").success());
    for folder in ["queue/recordings", "queue/segments"] {
        assert_eq!(scene.files(folder), 0, "{folder}");
    }
    let left = std::fs::read_dir(scene.path("queue/rows")).expect("a folder").flatten();
    assert_eq!(left.map(|entry| entry.file_name()).collect::<Vec<_>>(), ["store.json"], "no rows, and no folders");
    let losses = std::fs::read_to_string(scene.path("queue/losses.json")).expect("losses");
    for none in ["overflow_batches", "refused_batches", "unreadable_recordings"] {
        assert!(losses.contains(&format!("\"{none}\":0")), "{losses}");
    }

    // The JVM ends while it is recorded.
    let (ship, address) = scene.ship();
    until("it is recorded", || metric(&address, "jvms{state=\"recorded\"}") == 1.0);
    drop(jvm.0.stdin.take());
    assert!(jvm.0.wait().expect("an end").success());
    until("nothing is recorded", || metric(&address, "jvms{state=\"recorded\"}") == 0.0);
    until("all is delivered", || scene.files("queue/recordings") == 0 && scene.files("queue/rows") == 1);
    scene.kill(ship);

    let store = [scene.path("away/rows")];
    let kept = std::fs::read_dir(scene.path("kept")).expect("recordings").flatten();
    let recordings: Vec<PathBuf> = kept.map(|file| file.path()).collect();
    for question in [
        "SELECT count(*), sum(contentions), sum(blocked_ns), sum(handoff_ns), sum(unknown_ns), max(max_ns) FROM lock_minute",
        "SELECT count(*), sum(waits), sum(waited_ns) FROM wait_minute",
        "SELECT count(*), sum(covered_ns), sum(running_ns), sum(cpu_ns), sum(dropped) FROM load_minute",
        "SELECT lock, contentions, blocked_ns FROM (SELECT lock, sum(contentions) AS contentions, sum(blocked_ns) AS
         blocked_ns FROM top_sites GROUP BY lock) ORDER BY lock",
    ] {
        assert_eq!(ask(question, &store), ask(question, &recordings), "{question}");
    }
    let blocked = ask("SELECT sum(contentions) > 10 AND sum(blocked_ns) > 1000000 AS some FROM lock_minute", &store);
    assert_eq!(blocked, "some\ntrue\n");
    let jvms = ask("SELECT service, version, host, labels[1] AS label, pid FROM jvm", &store);
    assert_eq!(jvms, format!("service,version,host,label,pid\nshop,,web,zone=a,{pid}\n"));
}

/// Answers each request with 403 and all that it was sent.
fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap_or_default();
            let body = String::from_utf8_lossy(&request[..count]).into_owned();
            let head = format!("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn credentials_are_neither_said_nor_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = folder.path().join("queue");
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/jfr/tests/golden/headway-v2.jfr");
    std::fs::create_dir(&queue).expect("a folder");
    // A queue's rows are a store.
    let mut ingest = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
    ingest
        .arg("ingest")
        .arg(recording)
        .args(["--service", "shop", "--version", "1", "--store"])
        .arg(queue.join("rows"));
    assert!(ingest.status().expect("the command starts").success());
    let secrets = ["AKIDnobody", "verysecret", "verylongtoken"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
    command.args(["ship", "--store", "s3://bucket/rows", "--listen", "127.0.0.1:0", "--headway", "/bin/false"]);
    command.arg("--queue").arg(&queue).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("AWS_ENDPOINT", refusing()).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "nowhere");
    for (name, value) in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"].iter().zip(secrets) {
        command.env(name, value);
    }
    let mut ship = Guarded(command.spawn().expect("the command starts"));
    let mut lines = BufReader::new(ship.0.stderr.take().expect("a pipe")).lines().map(|line| line.expect("UTF-8"));
    let mut said: Vec<String> = Vec::new();
    while !said.iter().any(|line| line.contains("403") && line.ends_with("; trying again")) {
        said.push(lines.next().unwrap_or_else(|| panic!("it ended: {said:?}")));
    }
    ship.signal("-TERM");
    assert!(ship.0.wait().expect("an end").success());
    said.extend(lines);
    let files = ["store", "losses.json", "rows/store.json"].map(|name| std::fs::read_to_string(queue.join(name)));
    said.extend(files.into_iter().flatten());
    for secret in secrets {
        assert!(!said.iter().any(|text| text.contains(secret)), "{secret}: {said:#?}");
    }
}

#[test]
fn what_can_never_be_shipped_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = folder.path().join("queue").to_str().expect("UTF-8").to_owned();
    let inside = format!("{queue}/rows");
    for (words, code, sentence) in [
        (&["--store", "gs://b/x", "--queue", &queue, "--headway", "/bin/false"][..], 1, "gs:// is not known"),
        (&["--store", &inside, "--queue", &queue, "--headway", "/bin/false"], 1, "the store lies in the queue"),
        (&["--store", "x", "--queue", &queue, "--headway", "/nowhere/headway"], 1, "there is no command"),
        (&["--store", "x", "--queue", &queue, "--service", ""], 2, "--service is empty"),
        (&["--store", "x", "--queue", &queue, "--attribute", "team"], 2, "an attribute has the form NAME=VALUE"),
        (&["--store", "x", "--queue", &queue, "--segment", "1d"], 2, "\"1d\" is not a time of at least 1s"),
        (&["--store", "x", "--queue", "/proc/nowhere", "--headway", "/bin/false"], 1, "cannot make the queue"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
        command.args(["ship", "--listen", "127.0.0.1:0"]).args(words).current_dir(folder.path());
        let output = command.output().expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(sentence), "{words:?}: {said}");
    }
}
