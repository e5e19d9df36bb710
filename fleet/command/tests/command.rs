//! The command as it is typed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/jfr/tests/golden").join(name)
}

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn fleet<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_headway-fleet")).args(arguments).output();
    let Output { status, stdout, stderr } = output.expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Said { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// A folder with a store in it.
fn store() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    (folder, place)
}

fn ingest(place: &str, recording: &str) -> Said {
    let file = golden(recording);
    let file = file.to_str().expect("UTF-8");
    // The saved recordings were made by one process: two machines make two of it.
    let host = recording.split('.').next().expect("a name");
    fleet(["ingest", file, "--store", place, "--service", "shop", "--version", "1.2", "--host", host])
}

#[test]
fn a_recording_ingested_twice_is_there_once() {
    let (_folder, place) = store();
    let first = ingest(&place, "headway-v2.jfr");
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.contains(": 1 minute, "), "{}", first.stdout);
    let question = "SELECT sum(blocked_ns) AS ns, sum(contentions) AS n, max(version) AS v FROM lock_minute";
    let before = fleet(["sql", question, &place, "--format", "csv"]);
    assert!(before.stdout.starts_with("ns,n,v\n") && before.stdout.ends_with(",1.2\n"), "{}", before.stdout);
    assert!(!before.stdout.contains("\n0,"), "{}", before.stdout);
    // Also packed, also after a compaction.
    for recording in ["headway-v2.jfr", "headway-v2.jfr.zst"] {
        let again = ingest(&place, recording);
        assert!(again.stdout.contains("already in the store"), "{}{}", again.stdout, again.stderr);
        assert_eq!(fleet(["sql", question, &place, "--format", "csv"]).stdout, before.stdout);
        assert_eq!(fleet(["fleet", "compact", "--store", &place]).code, Some(0));
    }
    let direct = fleet(["sql", question, golden("headway-v2.jfr").to_str().expect("UTF-8"), "--format", "csv"]);
    assert_eq!(direct.stdout.replace(",\n", ",1.2\n"), before.stdout);
}

#[test]
fn writers_at_once_double_nothing() {
    let (_folder, place) = store();
    let recordings = ["headway-v2.jfr", "headway-v1.jfr", "headway-v2.jfr.zst", "headway-v1.jfr.zst"];
    std::thread::scope(|scope| {
        for recording in recordings {
            let place = &place;
            scope.spawn(move || {
                let said = ingest(place, recording);
                assert_eq!(said.code, Some(0), "{}", said.stderr);
            });
        }
    });
    let question = "SELECT sum(blocked_ns) AS ns, sum(contentions) AS n FROM lock_minute";
    let together = fleet(["sql", question, &place, "--format", "json"]);
    let files = ["headway-v1.jfr", "headway-v2.jfr"].map(golden);
    let files = files.iter().map(|file| file.to_str().expect("UTF-8"));
    let direct = fleet(["sql", question].into_iter().chain(files).chain(["--format", "json"]));
    assert_eq!(together.stdout, direct.stdout, "{}{}", together.stderr, direct.stderr);
}

#[test]
fn queries_cannot_read_or_write_anything_else() {
    let (folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    let secret = folder.path().join("secret.csv");
    std::fs::write(&secret, "a\nsecret\n").expect("a file");
    let stolen = folder.path().join("stolen.csv");
    let (secret, stolen) = (secret.display(), stolen.display());
    let attempts = [
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{secret}'"),
        "CREATE EXTERNAL TABLE t (a TEXT) STORED AS CSV LOCATION 'headway://store/../secret.csv'".to_owned(),
        format!("COPY (SELECT 1) TO '{stolen}'"),
        format!("SELECT * FROM '{secret}'"),
        format!("SELECT * FROM \"{secret}\""),
        "SELECT * FROM 'headway://store/store.json'".to_owned(),
        format!("SELECT * FROM read_csv('{secret}')"),
        format!("SELECT * FROM parquet_metadata('{secret}')"),
        format!("SELECT * FROM glob('{}/*')", folder.path().display()),
        "CREATE TABLE t AS SELECT 1".to_owned(),
        "CREATE VIEW t AS SELECT 1".to_owned(),
        "INSERT INTO lock_minute SELECT * FROM lock_minute".to_owned(),
        "DELETE FROM lock_minute".to_owned(),
        "UPDATE lock_minute SET blocked_ns = 0".to_owned(),
        "DROP TABLE lock_minute".to_owned(),
        "SET datafusion.execution.target_partitions = 1".to_owned(),
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x".to_owned(),
        "LOAD DATA INPATH '/etc/passwd' INTO TABLE t".to_owned(),
        "SELECT 1; DROP TABLE lock_minute".to_owned(),
        "PREPARE p AS SELECT 1".to_owned(),
        format!("EXPLAIN ANALYZE COPY (SELECT 1) TO '{stolen}'"),
    ];
    for attempt in &attempts {
        let said = fleet(["sql", attempt, &place]);
        assert!(matches!(said.code, Some(1 | 2)), "{attempt}: {:?} {}{}", said.code, said.stdout, said.stderr);
        assert!(!said.stdout.contains("secret"), "{attempt}: {}", said.stdout);
        assert_eq!(said.stderr.lines().count(), 1, "{attempt}: {}", said.stderr);
        assert!(said.stderr.starts_with("headway-fleet: "), "{attempt}: {}", said.stderr);
    }
    assert!(!Path::new(&stolen.to_string()).exists());
    let left = fleet(["sql", "SELECT count(*) > 0 AS some FROM lock_minute", &place]);
    assert!(left.stdout.contains("true"), "{}", left.stdout);
}

#[test]
fn answers_come_in_four_formats() {
    let recording = golden("headway-v2.jfr");
    let recording = recording.to_str().expect("UTF-8");
    let question = "SELECT lock, contentions, blocked_ns FROM top_sites ORDER BY blocked_ns DESC, lock LIMIT 2";
    let table = fleet(["sql", question, recording]);
    assert_eq!(table.stdout.lines().count(), 3, "{}{}", table.stdout, table.stderr);
    let csv = fleet(["sql", question, recording, "--format", "csv"]).stdout;
    let json = fleet(["sql", question, recording, "--format", "json"]).stdout;
    let rows = json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let from_json = rows.map(|row| {
        let text = |key: &str| row[key].to_string().trim_matches('"').to_owned();
        [text("lock"), text("contentions"), text("blocked_ns")].join(",")
    });
    assert_eq!(csv.lines().skip(1).map(str::to_owned).collect::<Vec<_>>(), from_json.collect::<Vec<_>>());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("answer.parquet");
    let file = file.to_str().expect("UTF-8");
    assert_eq!(fleet(["sql", question, recording, "--format", "parquet", "-o", file]).code, Some(0));
    let bytes = std::fs::read(file).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

#[test]
fn mistakes_get_one_sentence() {
    let (folder, place) = store();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a recording").expect("a file");
    let text = text.to_str().expect("UTF-8");
    let here = folder.path().to_str().expect("UTF-8");
    let recording = golden("headway-v2.jfr");
    let recording = recording.to_str().expect("UTF-8");
    for (arguments, code, sentence) in [
        (vec!["sql", "SELECT 1", "/nowhere"], 1, "cannot open /nowhere"),
        (vec!["sql", "SELECT 1", text], 1, "neither a recording (JFR) nor a store"),
        (vec!["sql", "SELECT 1", here], 1, "is not a store of Headway"),
        (vec!["sql", "SELECT 1", here, recording], 2, "name one store, or any number of recordings"),
        (vec!["sql", "SELEC 1", recording], 2, "SELEC"),
        (vec!["sql", "SELECT nothing FROM top_sites", recording], 2, "nothing"),
        (vec!["sql", "SELECT 1 FROM nowhere", recording], 2, "nowhere"),
        (vec!["sql", "SELECT 1", recording, "--format", "parquet"], 2, "add --output FILE"),
        (vec!["ingest", "/no.jfr", "--store", &place, "--service", "a", "--version", "1"], 1, "no recording /no.jfr"),
        (vec!["ingest", recording, "--store", &place, "--service", "", "--version", "1"], 2, "--service is empty"),
        (vec!["fleet", "status", "--store", "gs://bucket"], 1, "gs:// is not known"),
    ] {
        let said = fleet(&arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(sentence), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{arguments:?}: {}", said.stderr);
    }
    assert!(!Path::new(&place).exists(), "a mistake made a store");
}

#[test]
fn a_damaged_recording_is_used_and_said() {
    let (folder, place) = store();
    let whole = std::fs::read(golden("headway-v2.jfr")).expect("a recording");
    let cut = folder.path().join("cut.jfr");
    std::fs::write(&cut, &whole[..whole.len() * 4 / 5]).expect("a file");
    let cut = cut.to_str().expect("UTF-8");
    let said = fleet(["ingest", cut, "--store", &place, "--service", "shop", "--version", "1"]);
    assert_eq!(said.code, Some(4), "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("is damaged"), "{}", said.stderr);
    let rows = fleet(["sql", "SELECT count(*) > 0 AS some FROM load_minute", &place]);
    assert!(rows.stdout.contains("true"), "{}", rows.stdout);
}

/// The only file of a table in a store.
fn file_of(store: &std::path::Path, table: &str) -> std::path::PathBuf {
    let mut folders = vec![store.to_owned()];
    let mut found = Vec::new();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if next.ends_with(table) {
                found.push(entry);
            }
        }
    }
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn a_file_that_was_cut_off_is_no_answer_without_its_rows() {
    let (folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    let file = file_of(folder.path(), "lock_minute");
    for length in [0, 100] {
        let whole = std::fs::OpenOptions::new().write(true).open(&file).expect("a file");
        whole.set_len(length).expect("cut");
        let said = fleet(["sql", "SELECT count(*) AS n FROM lock_minute", &place]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{}", said.stderr);
        assert!(said.stderr.contains(&format!(".parquet is damaged: it has {length} bytes, not ")), "{}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    }
}

#[test]
fn a_missing_file_is_no_answer_without_its_rows() {
    let (folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    std::fs::remove_file(file_of(folder.path(), "lock_minute")).expect("removed");
    let said = fleet(["sql", "SELECT count(*) AS n FROM lock_minute", &place]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{}", said.stderr);
    assert!(said.stderr.contains("it is missing") && said.stderr.lines().count() == 1, "{}", said.stderr);
    let others = fleet(["sql", "SELECT count(*) > 0 AS some FROM load_minute", &place, "--format", "csv"]);
    assert_eq!(others.stdout, "some\ntrue\n", "{}", others.stderr);
}

#[test]
fn a_service_can_be_removed() {
    let (_folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    let status = fleet(["fleet", "status", "--store", &place]);
    assert_eq!(status.stdout.lines().count(), 2, "{}", status.stdout);
    let removed = fleet(["fleet", "remove-service", "shop", "--store", &place]);
    assert!(removed.stdout.contains("rows removed"), "{}{}", removed.stdout, removed.stderr);
    let rows = fleet(["sql", "SELECT count(*) AS n FROM load_minute", &place, "--format", "csv"]);
    assert_eq!(rows.stdout, "n\n0\n");
    let retained = fleet(["fleet", "retain", "--days", "30", "--store", &place]);
    assert_eq!(retained.code, Some(0), "{}", retained.stderr);
}

/// A shell script in the place of Spark: it prints its words, and ends with this code.
fn as_spark(folder: &Path, code: u8) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let home = folder.join(format!("spark-{code}"));
    std::fs::create_dir_all(home.join("bin")).expect("a folder");
    let script = home.join("bin/spark-submit");
    std::fs::write(&script, format!("#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit {code}\n")).expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    home
}

#[test]
fn spark_is_handed_the_job_and_the_store_s_tables() {
    let (folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    let job = folder.path().join("job");
    let words = ["fleet", "submit", "--store", &place, "--view", "top_sites", "--view", "owners", "-o", "s3://b/out"];
    let prepared =
        fleet(words.into_iter().chain(["--prepare", job.to_str().expect("UTF-8"), "--", "--master", "local"]));
    let (script, tables) = (job.join("headway_fleet_spark.py"), job.join("tables.json"));
    let command = format!(
        "spark-submit --master local {} --tables {} --view top_sites --view owners --output s3://b/out --format parquet\n",
        script.display(),
        tables.display()
    );
    assert_eq!((prepared.code, prepared.stdout), (Some(0), command), "{}", prepared.stderr);
    assert!(std::fs::read_to_string(&script).expect("the job").contains("def main()"));
    let tables: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&tables).expect("tables")).expect("JSON");
    let root = Path::new(tables["root"].as_str().expect("a root"));
    let files = |table: &serde_json::Value| table["files"].as_array().expect("files").clone();
    let locks = tables["tables"].as_array().expect("tables").iter().find(|table| table["name"] == "lock_minute");
    let files = files(locks.expect("lock_minute"));
    assert!(!files.is_empty() && files.iter().all(|file| root.join(file.as_str().expect("a path")).is_file()));
    // No days, no files.
    let none = fleet(["fleet", "tables", "--store", &place, "--to", "2001-01-01"]).stdout;
    assert!(none.contains("\"files\": []") && !none.contains(".parquet"), "{none}");
}

#[test]
fn a_job_of_spark_that_fails_is_said() {
    let (folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    let submit = |home: &Path, job: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
        command.args(["fleet", "submit", "--store", &place]).args(job).env("SPARK_HOME", home);
        let output = command.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    };
    let (works, fails) = (as_spark(folder.path(), 0), as_spark(folder.path(), 3));
    let said = submit(&works, &["--query", "SELECT 1"]);
    assert!(said.code == Some(0) && said.stdout.contains("--query\nSELECT 1\n"), "{}{}", said.stdout, said.stderr);
    for (home, job, code, sentence) in [
        (&fails, ["--view", "site"], 1, "Spark failed (exit status: 3)"),
        (&folder.path().join("nowhere"), ["--view", "site"], 1, "Apache Spark is not here: set SPARK_HOME"),
        (&works, ["--view", "nothing"], 2, "there is no view \"nothing\""),
    ] {
        let said = submit(home, &job);
        assert_eq!(said.code, Some(code), "{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(sentence) && said.stderr.lines().count() == 1, "{}", said.stderr);
    }
    // What a search says is said once, in its own words and with its own code.
    for code in [1, 2, 5] {
        let home = as_spark(folder.path(), code);
        let script = home.join("bin/spark-submit");
        let leaves = "while [ \"$1\" != --said ]; do shift; done; printf 'it is worse' > \"$2\"; exit ";
        let text = std::fs::read_to_string(&script).expect("a script").replace("exit ", leaves);
        std::fs::write(&script, text).expect("a script");
        let found = submit(&home, &["--regressions", "--fail", "--fdr", "0.7%"]);
        assert_eq!((found.code, found.stderr.as_str()), (Some(code.into()), "headway-fleet: it is worse\n"));
        assert!(found.stdout.contains("--fdr=0.7%\n") && found.stdout.ends_with("--fail\n"), "{}", found.stdout);
        assert!(found.stdout.contains("--regressions\n--days=14\n"), "{}", found.stdout);
    }
    let failed = submit(&fails, &["--regressions"]);
    assert_eq!(failed.stderr, "headway-fleet: Spark failed (exit status: 3); its messages are above\n");
    for wrong in
        [&["--rollup", "hour"][..], &[], &["--view", "site", "--query", "SELECT 1"], &["--view", "site", "--fail"]]
    {
        assert_eq!(submit(&works, wrong).code, Some(2), "{wrong:?}");
    }
}

/// The engine does not count what a function makes at once.
#[test]
fn a_function_that_makes_a_very_large_value_does_not_take_the_machines_memory() {
    let (_folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    for value in
        ["repeat('x', 500000000)", "repeat(CAST(service AS VARCHAR), 500000000)", "lpad(service, 2000000000, 'x')"]
    {
        let question = format!("SELECT length({value}) AS n FROM lock_minute");
        let said = fleet(["sql", &question, &place, "--memory", "64"]);
        assert_eq!(said.code, Some(1), "{value}: {}{}", said.stdout, said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{value}: {}", said.stderr);
        assert!(said.stderr.starts_with("headway-fleet: the query needs more memory"), "{value}: {}", said.stderr);
    }
    let said = fleet(["sql", "SELECT length(repeat('x', 5000000)) AS n", &place, "--memory", "64", "--format", "csv"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "n\n5000000\n"), "{}", said.stderr);
}

/// Grouping, sorting and joining keep rows. What the engine says of its bound names parts of the engine.
#[test]
fn a_query_that_needs_more_memory_than_it_may_have_says_what_to_do() {
    let (_folder, place) = store();
    assert_eq!(ingest(&place, "headway-v2.jfr").code, Some(0));
    let many = "FROM generate_series(1, 3000000) AS t(n)";
    for question in [
        format!("SELECT count(*) FROM (SELECT DISTINCT n * 7919 % 3000017 {many})"),
        format!("SELECT n {many} ORDER BY n % 1000"),
        format!("SELECT count(*) FROM (SELECT n {many}) a JOIN (SELECT n * 2 AS n {many}) b ON a.n = b.n"),
    ] {
        let said = fleet(["sql", &question, &place, "--memory", "16"]);
        assert_eq!(said.code, Some(1), "{question}: {}{}", said.stdout, said.stderr);
        assert_eq!(
            said.stderr,
            "headway-fleet: the query needs more memory than --memory allows. Raise --memory (in MiB), or select one \
             service or fewer days\n",
            "{question}"
        );
        let said = fleet(["sql", &question, &place, "--memory", "1024", "-o", "/dev/null"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{question}");
    }
}
