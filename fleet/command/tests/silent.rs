//! An S3 server that takes connections and never answers: each command ends soon, in a sentence that names the store, and
//! `ship` keeps what it has and tries again.

mod scrape;

use scrape::metric;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Only a test that hangs meets it.
const HANGS: Duration = Duration::from_secs(400);
const PLACE: &str = "s3://locks/rows";
const SECRET: &str = "s3cr3ts3cr3t";
const SAID: &str = "headway-fleet: s3://locks/rows cannot be reached: no answer within the time limit";

/// Ended with the test.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn golden() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/jfr/tests/golden/headway-v2.jfr");
    path.to_str().expect("UTF-8").to_owned()
}

/// The address of a server that never answers.
fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let mut open = Vec::new();
        open.extend(listener.incoming());
    });
    address
}

/// The command with a store at this server, and little patience.
fn fleet(endpoint: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.env("AWS_ENDPOINT", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_TIMEOUT", "100ms");
    command.env("AWS_ACCESS_KEY_ID", "AKID").env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn each_command_names_a_store_that_never_answers() {
    let (endpoint, recording) = (silent(), golden());
    for words in [
        &["sql", "SELECT 1", PLACE][..],
        &["ingest", &recording, "--store", PLACE, "--service", "shop", "--version", "1"],
        &["fleet", "status", "--store", PLACE],
        &["fleet", "compact", "--store", PLACE],
        &["fleet", "regressions", "--store", PLACE],
    ] {
        let Output { status, stdout, stderr } = fleet(&endpoint).args(words).output().expect("the command starts");
        let (stdout, stderr) = (text(&stdout), text(&stderr));
        assert_eq!((status.code(), stdout.as_str()), (Some(1), ""), "{words:?}: {stderr}");
        assert!(stderr.starts_with(SAID) && stderr.lines().count() == 1, "{words:?}: {stderr}");
        assert!(!stderr.contains(SECRET) && !stderr.contains("AKID"), "{words:?}: {stderr}");
    }
}

#[test]
fn ship_keeps_its_queue_and_tries_again() {
    let folder = tempfile::tempdir().expect("a folder");
    // A queue's rows are a store.
    let rows = folder.path().join("rows");
    let rows = rows.to_str().expect("UTF-8");
    let ingested = fleet("http://127.0.0.1:1")
        .args(["ingest", &golden(), "--store", rows, "--service", "shop", "--version", "1"])
        .output()
        .expect("the command starts");
    assert!(ingested.status.success(), "{}", text(&ingested.stderr));
    let sums = || {
        let question = "SELECT sum(blocked_ns) AS ns, count(*) AS n FROM lock_minute";
        let answer = fleet("http://127.0.0.1:1").args(["sql", question, rows, "--format", "csv"]).output();
        text(&answer.expect("the command starts").stdout)
    };
    let before = sums();
    assert!(before.starts_with("ns,n\n") && !before.contains(",0\n"), "{before}");

    let mut command = fleet(&silent());
    command.args(["ship", "--listen", "127.0.0.1:0", "--headway", "/bin/false", "--store", PLACE]);
    command.arg("--queue").arg(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut ship = Guarded(command.spawn().expect("the command starts"));
    let mut line = String::new();
    BufReader::new(ship.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")).expect(&line);
    let began = Instant::now();
    while metric(address, "failed_uploads_total") < 2.0 {
        assert!(began.elapsed() < HANGS, "it does not try again");
        sleep(Duration::from_millis(50));
    }
    assert_eq!(metric(address, "store_up"), 0.0);
    assert_eq!(metric(address, "queue_batches"), 1.0);
    assert_eq!(metric(address, "lost_batches_total{reason=\"refused\"}"), 0.0);
    assert!(Command::new("kill").arg(ship.0.id().to_string()).status().expect("kill").success());
    assert!(ship.0.wait().expect("an end").success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut ship.0.stderr.take().expect("a pipe"), &mut said).expect("text");
    // Once, although it failed several times.
    assert_eq!(said.matches(SAID).count(), 1, "{said}");
    assert!(said.contains("; trying again"), "{said}");
    assert_eq!(sums(), before);
}
