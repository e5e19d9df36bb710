//! `fleet view` as a browser asks it, beside `sql` and `fleet regressions` on the same store.

use headway_generator::{fill, Plan, Spec};
use headway_store::Store;
use serde_json::{json, Map, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_headway-fleet"))
}

/// A generated store: two days of two services in two versions.
fn store() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    let spec = Spec {
        seed: 5,
        minutes: 70,
        services: 2,
        hosts: 4,
        jvms: 6,
        sites: 20,
        busy: 4.0,
        regressions: 1,
        effect: 3.0,
        ..Spec::default()
    };
    let plan = Plan::of(&spec).expect("a plan");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open_or_make(&place).await.expect("a store");
        fill(&store, &plan, false, |_, _| {}).await.expect("rows");
    });
    (folder, place)
}

/// `fleet view` while it runs.
struct Viewed {
    child: Child,
    /// `127.0.0.1:4711`.
    host: String,
    token: String,
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Viewed {
    fn of(place: &str) -> Viewed {
        let mut view = program();
        view.args(["fleet", "view", "--store", place, "--memory", "256"]);
        let mut child = view.stdout(Stdio::piped()).spawn().expect("the command starts");
        let mut address = String::new();
        let output = child.stdout.take().expect("an output");
        BufReader::new(output).read_line(&mut address).expect("an address");
        // Without a built page (`./hw build`) it ends with a sentence.
        let rest = address.trim().strip_prefix("http://").expect("an address");
        let (host, token) = rest.split_once('/').expect("an address");
        Viewed { child, host: host.to_owned(), token: token.trim_end_matches('/').to_owned() }
    }

    /// Status and body of an answer.
    fn request(&self, method: &str, path: &str, host: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).expect("a connection");
        let length = body.len();
        let request = format!(
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    fn page(&self) -> (u16, String) {
        self.request("GET", &format!("{}/", self.token), &self.host, "")
    }

    fn post(&self, question: &str) -> (u16, String) {
        self.request("POST", &format!("{}/query", self.token), &self.host, question)
    }

    fn ask(&self, question: &Value) -> Value {
        let (status, body) = self.post(&question.to_string());
        assert_eq!(status, 200, "{question}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    fn rows(&self, question: &Value) -> Vec<Value> {
        let answer = self.ask(question);
        assert_eq!(answer["more"], false, "{question}");
        answer["rows"].as_array().expect("rows").iter().map(known).collect()
    }
}

/// What is known of a row: without nulls and empty lists, which JSON of `sql` leaves out.
fn known(row: &Value) -> Value {
    let is_known = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let fields = row.as_object().expect("a row").iter().filter(|(_, value)| is_known(value));
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}

fn sql(place: &str, question: &str) -> Vec<Value> {
    let Output { status, stdout, stderr } =
        program().args(["sql", question, place, "--format", "json"]).output().expect("the command starts");
    assert!(status.success(), "{question}: {}", String::from_utf8_lossy(&stderr));
    let text = String::from_utf8(stdout).expect("UTF-8");
    text.lines().map(|line| known(&serde_json::from_str(line).expect("JSON"))).collect()
}

/// The same rows; fractions went through text once more on one side, which may change their last digit.
fn assert_same(found: &[Value], expected: &[Value], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let (fields, others) = (found.as_object().expect("a row"), expected.as_object().expect("a row"));
        assert_eq!(fields.keys().collect::<Vec<_>>(), others.keys().collect::<Vec<_>>(), "{what}");
        for (name, value) in fields {
            assert!(is_same(value, &others[name]), "{what}, {name}: {found}, not {expected}");
        }
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(a), Some(b)) if !one.is_u64() && !one.is_i64() => (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        _ => one == other,
    }
}

fn sum(values: &Value) -> u64 {
    values.as_array().expect("a list").iter().map(|value| value.as_u64().expect("a number")).sum()
}

fn all() -> Value {
    json!({"service": null, "version": null, "host": null, "from_us": null, "to_us": null})
}

/// Views, and their columns as the page has them, in its order.
const VIEWS: [(&str, &str); 6] = [
    (
        "services",
        "SELECT service, version, jvms, hosts, CAST(first_ts AS BIGINT) AS first_us, CAST(last_ts AS BIGINT) AS last_us,
                running_ns, cpu_ns, steal_ns, operations, dropped, locks, contentions, blocked_ns, blocked_share
         FROM services ORDER BY running_ns DESC, service, version",
    ),
    (
        "locks",
        "SELECT service, version, CAST(site_id AS VARCHAR) AS site, lock, class, kind, contentions, blocked_ns,
                handoff_ns, unknown_ns, max_ns, blocked_share
         FROM top_sites ORDER BY blocked_ns DESC, service, version, site_id",
    ),
    (
        "lock-jvms",
        "SELECT service, version, CAST(site_id AS VARCHAR) AS site, jvms
         FROM top_sites ORDER BY blocked_ns DESC, service, version, site_id",
    ),
    (
        "hosts",
        "SELECT service, version, host, jvms, hosts, ns_per_s, median_ns_per_s, more_ns_per_s
         FROM outlier_hosts ORDER BY abs(more_ns_per_s) DESC NULLS LAST, service, version, host",
    ),
    (
        "differences",
        "SELECT service, old_version, new_version, lock, class, old_ns_per_s, new_ns_per_s, more_ns_per_s
         FROM regressions ORDER BY abs(more_ns_per_s) DESC NULLS LAST, service, new_version, lock",
    ),
    (
        "phases",
        "SELECT service, version, host, CAST(ts AS BIGINT) AS from_us, CAST(end_ts AS BIGINT) AS to_us, lock, mean,
                peak, waiter_stack, owner_stack, recording
         FROM phases ORDER BY peak DESC, ts, service, lock",
    ),
];

/// One store and one server for all that is asked: making them takes longest.
#[test]
fn the_page_and_the_command_have_the_same_numbers() {
    let (_folder, place) = store();
    let viewed = Viewed::of(&place);
    for (ask, query) in VIEWS {
        let expected = sql(&place, query);
        assert!(!expected.is_empty(), "{ask} has no rows");
        assert_same(&viewed.rows(&json!({"ask": ask, "only": all()})), &expected, ask);
    }
    filters_choose_the_rows_that_count(&viewed, &place);
    lines_over_time_add_up(&viewed, &place);
    stacks_are_of_one_lock(&viewed, &place);
    regressions_are_those_of_the_command(&viewed, &place);
    nothing_else_is_answered(&viewed, &place);
    hours_answer_what_minutes_did(&viewed, &place);
}

/// The locks of a store without hours, and of the same store with hours, are the same. That the second are read from
/// hours shows once the minutes are gone: what needs them then fails.
fn hours_answer_what_minutes_did(before: &Viewed, place: &str) {
    let locks = json!({"ask": "locks", "only": all()});
    let jvms = json!({"ask": "lock-jvms", "only": all()});
    let minutes = before.rows(&locks);
    let compacted = program().args(["fleet", "compact", "--store", place]).output().expect("the command starts");
    assert!(compacted.status.success(), "{}", String::from_utf8_lossy(&compacted.stderr));
    let viewed = Viewed::of(place);
    assert_same(&viewed.rows(&locks), &minutes, "locks from hours");
    for file in files_below(std::path::Path::new(place)) {
        if file.to_string_lossy().contains("/lock_minute/") {
            std::fs::remove_file(file).expect("removed");
        }
    }
    assert_same(&viewed.rows(&locks), &minutes, "locks from hours alone");
    assert_ne!(viewed.post(&jvms.to_string()).0, 200);
    // A part of an hour is read from minutes.
    let mut part = all();
    part["from_us"] = json!(60_000_000);
    assert_ne!(viewed.post(&json!({"ask": "locks", "only": part}).to_string()).0, 200);
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn filters_choose_the_rows_that_count(viewed: &Viewed, place: &str) {
    let first = &sql(place, "SELECT host, service, version FROM jvm ORDER BY jvm_id LIMIT 1")[0];
    let [host, service, version] = ["host", "service", "version"].map(|name| first[name].as_str().expect("a name"));
    let middle = &sql(place, "SELECT CAST(min(ts) AS BIGINT) + 1800000000 AS us FROM load_minute")[0];
    let middle = middle["us"].as_i64().expect("a time");
    let only = json!({"service": service, "version": version, "host": host, "from_us": middle, "to_us": null});
    let counts = format!(
        "l.service = '{service}' AND l.version = '{version}' AND l.ts >= to_timestamp_micros({middle})
         AND l.jvm_id IN (SELECT jvm_id FROM jvm WHERE host = '{host}')"
    );
    let expected = sql(
        place,
        &format!(
            "SELECT CAST(l.site_id AS VARCHAR) AS site, sum(l.blocked_ns) AS blocked_ns, sum(l.contentions) AS contentions
             FROM lock_minute l WHERE {counts} GROUP BY l.site_id ORDER BY blocked_ns DESC, l.site_id"
        ),
    );
    assert!(!expected.is_empty());
    let found = viewed.rows(&json!({"ask": "locks", "only": only}));
    let part =
        |row: &Value| json!({"site": row["site"], "blocked_ns": row["blocked_ns"], "contentions": row["contentions"]});
    assert_eq!(found.iter().map(part).collect::<Vec<_>>(), expected);
    let running = sql(place, &format!("SELECT sum(l.running_ns) AS running_ns FROM load_minute l WHERE {counts}"));
    let services = viewed.rows(&json!({"ask": "services", "only": only}));
    assert_eq!((services.len(), &services[0]["running_ns"]), (1, &running[0]["running_ns"]));
    // A name is a name, whatever stands in it.
    let mut hostile = all();
    hostile["service"] = json!("x' OR '1' = '1");
    assert_eq!(viewed.rows(&json!({"ask": "locks", "only": hostile})), Vec::<Value>::new());
}

fn lines_over_time_add_up(viewed: &Viewed, place: &str) {
    let locks = sql(
        place,
        "SELECT service, CAST(site_id AS VARCHAR) AS site, sum(blocked_ns) AS ns FROM lock_minute
         GROUP BY service, site_id ORDER BY ns DESC LIMIT 3",
    );
    let totals = "SELECT (SELECT sum(blocked_ns) FROM lock_minute) AS blocked,
                         (SELECT sum(running_ns) FROM load_minute) AS running";
    let totals = &sql(place, totals)[0];
    let named: Vec<Value> =
        locks.iter().map(|lock| json!({"service": lock["service"], "site": lock["site"]})).collect();
    let over = viewed.ask(&json!({"ask": "over-time", "only": all(), "locks": named}));
    // Two days are more minutes than a chart has points.
    assert_eq!(over["bucket_us"], 3_600_000_000_u64);
    assert_eq!(
        (json!(sum(&over["all_ns"])), json!(sum(&over["running_ns"]))),
        (totals["blocked"].clone(), totals["running"].clone())
    );
    for (at, lock) in locks.iter().enumerate() {
        assert_eq!(json!(sum(&over["locks_ns"][at])), lock["ns"]);
    }
    let mut first_hour = all();
    let first = over["first_us"].as_i64().expect("a time");
    first_hour["to_us"] = json!(first + 3_600_000_000);
    let minutes = viewed.ask(&json!({"ask": "over-time", "only": first_hour, "locks": []}));
    assert_eq!(
        (&minutes["bucket_us"], sum(&minutes["all_ns"])),
        (&json!(60_000_000), over["all_ns"][0].as_u64().unwrap_or(0))
    );
}

fn stacks_are_of_one_lock(viewed: &Viewed, place: &str) {
    let lock = &sql(
        place,
        "SELECT service, CAST(site_id AS VARCHAR) AS site, version FROM top_sites ORDER BY blocked_ns LIMIT 1",
    )[0];
    let mut only = all();
    only["version"] = lock["version"].clone();
    let found = viewed
        .rows(&json!({"ask": "stacks", "only": only, "lock": {"service": lock["service"], "site": lock["site"]}}));
    let expected = sql(
        place,
        &format!(
            "SELECT version, contentions, blocked_ns, waiter_stack, owner_stack FROM lock_stacks
             WHERE service = {} AND version = {} AND site_id = {} ORDER BY blocked_ns DESC, version",
            lock["service"].to_string().replace('"', "'"),
            lock["version"].to_string().replace('"', "'"),
            lock["site"].as_str().expect("an id"),
        ),
    );
    assert!(!expected.is_empty());
    assert_eq!(found, expected);
}

fn regressions_are_those_of_the_command(viewed: &Viewed, place: &str) {
    assert_eq!(viewed.ask(&json!({"ask": "progress"})), json!({"answer": "progress", "step": "idle"}));
    let found = viewed.ask(&json!({"ask": "regressions", "service": null}));
    let output = program().args(["fleet", "regressions", "--store", place]).output().expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let verdict = found["verdict"].as_str().expect("a sentence");
    assert!(text.ends_with(&format!("{verdict}.\n")), "{verdict}: {text}");
    let services = found["services"].as_array().expect("services");
    assert_eq!(services.len(), 2, "{found}");
    for sentence in services.iter().flat_map(|service| service["sentences"].as_array().expect("sentences")) {
        assert!(text.contains(sentence.as_str().expect("a sentence")), "{sentence}: {text}");
    }
}

fn nothing_else_is_answered(viewed: &Viewed, place: &str) {
    let (status, page) = viewed.page();
    assert_eq!(status, 200);
    let opening = format!("<script type=\"application/json\" id=\"headway-fleet\">{{\"store\":\"{place}\",");
    assert!(page.contains(&opening) && page.contains("connect-src 'self'"), "{}", &page[..2000.min(page.len())]);
    for question in [
        "SELECT 1",
        "{}",
        r#"{"ask":"locks"}"#,
        r#"{"ask":"locks","only":{"where":"1 = 1"}}"#,
        r#"{"ask":"sql","query":"SELECT 1"}"#,
        r#"{"ask":"stacks","only":{},"lock":{"service":"a","site":"1 OR 1 = 1"}}"#,
    ] {
        let (status, body) = viewed.post(question);
        assert_eq!((status, body.lines().count()), (400, 1), "{question}: {body}");
    }
    let many = vec![json!({"service": "a", "site": "1"}); 9];
    assert_eq!(viewed.post(&json!({"ask": "over-time", "only": all(), "locks": many}).to_string()).0, 400);
    assert_eq!(viewed.request("POST", "0123/query", &viewed.host, "{}").0, 404);
    assert_eq!(viewed.request("GET", &format!("{}/", viewed.token), "evil.example", "").0, 403);
}

#[test]
fn a_store_that_is_not_there_or_empty_is_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |place: &str| {
        let output = program().args(["fleet", "view", "--store", place]).output().expect("the command starts");
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), text.lines().count(), output.stdout.len()), (Some(1), 1, 0), "{text}");
        text
    };
    let place = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    said(&place);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(Store::open_or_make(&place)).expect("a store");
    assert!(said(&place).contains("has no rows yet"));
}
