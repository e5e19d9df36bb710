//! The commands on `s3://`, and `ship` while the server goes away and comes back.

use crate::made_up::{counts, rolled, NOON};
use crate::scrape::metric;
use crate::server::{runtime, until, Guarded, Server};
use headway_store::{Day, Store};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const QUESTION: &str = "SELECT sum(blocked_ns) AS ns, sum(contentions) AS n FROM lock_minute";
/// Batches that wait for `ship`.
const BATCHES: usize = 40;

fn golden() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/jfr/tests/golden/headway-v2.jfr");
    path.to_str().expect("UTF-8").to_owned()
}

/// What a command said: its exit code, standard output, standard error.
fn said(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn fleet(server: &Server, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = server.fleet();
    command.args(words);
    said(command)
}

/// What a command that succeeds says on its standard output.
fn answer(server: &Server, words: &[&str]) -> String {
    let (code, stdout, stderr) = fleet(server, words);
    assert_eq!(code, Some(0), "{words:?}: {stderr}");
    stdout
}

#[test]
fn a_recording_ingested_twice_is_there_once() {
    let server = Server::start();
    let (place, recording) = (server.place("acme/rows"), golden());
    let ingest = ["ingest", &recording, "--store", &place, "--service", "shop", "--version", "1.2", "--host", "web"];
    let sums = |of: &str| answer(&server, &["sql", QUESTION, of, "--format", "csv"]);
    let expected = sums(&recording);
    assert!(expected.starts_with("ns,n\n") && !expected.contains("\n,"), "{expected}");
    assert!(answer(&server, &ingest).contains(": 1 minute, "));
    assert_eq!(sums(&place), expected);
    assert!(answer(&server, &ingest).contains("already in the store"));
    assert_eq!(sums(&place), expected);
    let top = "SELECT service, version, contentions > 0 AS some FROM top_sites LIMIT 1";
    assert_eq!(answer(&server, &["sql", top, &place, "--format", "csv"]), "service,version,some\nshop,1.2,true\n");
    let before = answer(&server, &["fleet", "status", "--store", &place]);
    assert_eq!(before.lines().count(), 2, "{before}");
    answer(&server, &["fleet", "compact", "--store", &place]);
    assert!(answer(&server, &ingest).contains("already in the store"));
    assert_eq!(sums(&place), expected);
    // A store beside it in the bucket is another one.
    let (code, _, stderr) = fleet(&server, &["sql", QUESTION, &server.place("acme")]);
    assert!(code == Some(1) && stderr.contains("is not a store of Headway"), "{stderr}");
    assert!(answer(&server, &["fleet", "remove-service", "shop", "--store", &place]).contains("rows removed"));
    let rows = answer(&server, &["sql", "SELECT count(*) AS n FROM load_minute", &place, "--format", "csv"]);
    assert_eq!(rows, "n\n0\n");
}

#[test]
fn what_the_server_refuses_is_said_in_a_sentence_without_credentials() {
    let server = Server::start();
    let (place, recording) = (server.place("rows"), golden());
    let ingest = ["ingest", &recording, "--store", &place, "--service", "shop", "--version", "1.2"];
    answer(&server, &ingest);
    let wrong = "wr0ngwr0ngwr0ngwr0ng";
    // The second code is the server's own; S3 says InvalidAccessKeyId.
    for (variable, code) in
        [("AWS_SECRET_ACCESS_KEY", "SignatureDoesNotMatch"), ("AWS_ACCESS_KEY_ID", "XAdminUserNotFound")]
    {
        for words in [&ingest[..], &["sql", QUESTION, &place], &["fleet", "status", "--store", &place]] {
            let mut command = server.fleet();
            command.args(words).env(variable, wrong);
            let (exit, stdout, stderr) = said(command);
            assert_eq!((exit, stdout.as_str()), (Some(1), ""), "{words:?}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{words:?}: {stderr}");
            assert!(stderr.starts_with("headway-fleet: the store failed: ") && stderr.contains(code), "{stderr}");
            for secret in [wrong, &server.access, &server.secret] {
                assert!(!stderr.contains(secret), "{words:?}: {stderr}");
            }
        }
    }
    let nowhere = "s3://nowhere/rows";
    let ingest = ["ingest", &recording, "--store", nowhere, "--service", "shop", "--version", "1"];
    for words in [&ingest[..], &["fleet", "status", "--store", nowhere]] {
        let (exit, _, stderr) = fleet(&server, words);
        assert!(exit == Some(1) && stderr.contains("NoSuchBucket") && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
fn ship_delivers_each_row_once_though_the_server_goes_away() {
    let mut server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let rows = folder.path().join("rows");
    runtime().block_on(async {
        // A queue's rows are a store.
        let queue = Store::open_or_make(rows.to_str().expect("UTF-8")).await.expect("a store");
        for batch in 0..BATCHES as u64 {
            queue.deliver(&rolled("shop", 1, NOON + 2 * batch)).await.expect("a delivery");
        }
    });
    // Away: who connects is hung up on.
    server.end();
    let away = TcpListener::bind(server.address).expect("the server's address");
    let mut command = server.fleet();
    command.args(["ship", "--listen", "127.0.0.1:0", "--headway", "/bin/false", "--store", &server.place("rows")]);
    command.arg("--queue").arg(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut ship = Guarded(command.spawn().expect("the command starts"));
    let mut line = String::new();
    BufReader::new(ship.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")).expect(&line);
    drop(away.accept().expect("a connection"));
    drop(away);
    server.begin();
    // Killed in the middle of deliveries, and back.
    let delivered = || metric(address, "delivered_batches_total{new=\"yes\"}");
    until("some is delivered", || delivered() >= 4.0);
    server.end();
    server.begin();
    // A batch whose commit arrived, but not the answer, is known.
    until("all is delivered", || {
        metric(address, "queue_batches") == 0.0
            && delivered() + metric(address, "delivered_batches_total{new=\"no\"}") == BATCHES as f64
    });
    assert!(Command::new("kill").arg(ship.0.id().to_string()).status().expect("kill").success());
    assert!(ship.0.wait().expect("an end").success());
    runtime().block_on(async {
        let store = Store::open_or_make_on(server.objects("rows"), &server.place("rows")).await.expect("a store");
        let snapshot = store.snapshot(Day::of_ns(NOON * 60_000_000_000)).await.expect("a snapshot");
        assert_eq!(snapshot.batches().len(), BATCHES);
        assert_eq!(counts(&store, &snapshot).await[..2], [2 * BATCHES, 2 * BATCHES]);
    });
}
