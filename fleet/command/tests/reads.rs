//! What a query opens and reads of a store: only files of the days, services and columns that it asks for.

use headway_rollup::minute::Minute;
use headway_rollup::rows::{Jvm, LoadMinute, LockMinute, Rolled};
use headway_store::{bucket, Day, Store};
use std::collections::BTreeSet;
use std::process::Command;

/// 2026-01-01, and so many days of rows.
const FIRST: Day = Day(20_454);
const DAYS: u64 = 2;
const MINUTES: u64 = 1_440;
/// Rows of each minute on the first day of the first service: two row groups.
const ROWS: i64 = 46;
/// Of different buckets, which a test asserts; the last one has no rows.
const SERVICES: [&str; 3] = ["shop", "mail", "stock"];

/// A JVM of a service that is recorded all days; `rows` of each minute on the first day, then one an hour.
fn recorded(service: &str, rows: i64) -> Rolled {
    let first = u64::from(FIRST.0) * MINUTES;
    let minutes = first..first + DAYS * MINUTES;
    let lock = |minute, owner| LockMinute {
        minute: Minute(minute),
        site: owner % 5,
        kind: "monitor",
        owner_stack: Some(owner),
        contentions: 1,
        blocked_ns: minute * 1_009 % 100_003,
        ..LockMinute::default()
    };
    let rows_of = |minute: u64| match minute < first + MINUTES {
        true => rows,
        false => i64::from(minute.is_multiple_of(60)),
    };
    Rolled {
        jvm: Jvm { id: rows, host: "web-1".into(), service: service.into(), version: "1".into(), ..Jvm::default() },
        locks: minutes.clone().flat_map(|minute| (0..rows_of(minute)).map(move |owner| lock(minute, owner))).collect(),
        load: minutes.map(|minute| LoadMinute { minute: Minute(minute), ..LoadMinute::default() }).collect(),
        ..Rolled::default()
    }
}

/// What a query reads of `lock_minute`.
#[derive(Debug)]
struct Read {
    files: usize,
    /// Row groups that are left by their statistics, and all of the files that were opened.
    groups: (usize, usize),
    bytes: f64,
    plan: String,
}

fn read(place: &str, condition: &str) -> Read {
    let query = format!("EXPLAIN ANALYZE SELECT sum(blocked_ns) FROM lock_minute {condition}");
    let plan = said(&["sql", &query, place]);
    let ends: Vec<&str> = plan.split(".parquet").collect();
    let names = ends[..ends.len() - 1].iter().filter_map(|text| text.rsplit("day=").next());
    let files = names.collect::<BTreeSet<_>>().len();
    Read { files, groups: groups(&plan).unwrap_or_default(), bytes: bytes(&plan), plan }
}

/// Of all `bytes_scanned=284.2 K`: the sum.
fn bytes(plan: &str) -> f64 {
    let amounts = plan.split("bytes_scanned=").skip(1).map(|rest| {
        let (number, rest) = rest.split_at(rest.find([' ', ',', ']']).expect("the end of a number"));
        let unit = match rest.trim_start().chars().next() {
            Some('K') => 1e3,
            Some('M') => 1e6,
            _ => 1.0,
        };
        number.parse::<f64>().expect("a number") * unit
    });
    amounts.sum()
}

/// How large the files of a table are.
fn bytes_of(folder: &std::path::Path, table: &str) -> f64 {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let sizes = entries.map(|path| match path.is_dir() {
        true => bytes_of(&path, table),
        false if path.to_string_lossy().contains(&format!("/{table}/")) => {
            path.metadata().expect("a file").len() as f64
        }
        false => 0.0,
    });
    sizes.sum()
}

/// Of `row_groups_pruned_statistics=2 total → 1 matched`: 1 and 2.
fn groups(plan: &str) -> Option<(usize, usize)> {
    let (_, counted) = plan.split_once("row_groups_pruned_statistics=")?;
    let (total, rest) = counted.split_once(" total → ")?;
    let (matched, _) = rest.split_once(" matched")?;
    Some((matched.parse().ok()?, total.parse().ok()?))
}

/// Runs a command that succeeds; gives its standard output.
fn said(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_headway-fleet")).args(words).output().expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn long_ranges_open_hours_instead_of_minutes() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().to_str().expect("UTF-8");
    let opened_by = |query: &str| {
        let plan = said(&["sql", &format!("EXPLAIN ANALYZE {query}"), place]);
        ["lock_minute/", "load_minute/", "lock_hour/", "load_hour/"].map(|table| plan.contains(table))
    };
    let opened = || {
        let opened = opened_by("SELECT * FROM top_sites_from_hours");
        for query in [
            "SELECT lock, blocked_ns FROM top_sites ORDER BY blocked_ns DESC LIMIT 10",
            "SELECT service, sum(blocked_share) FROM top_sites WHERE lock <> 'x' GROUP BY service",
        ] {
            assert_eq!(opened_by(query), opened, "{query}");
        }
        // What only minutes say.
        for query in ["SELECT * FROM top_sites", "SELECT lock FROM top_sites WHERE jvms > 1"] {
            assert_eq!(opened_by(query), [true, true, false, false], "{query}");
        }
        opened
    };
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open_or_make(place).await.expect("a store");
        store.deliver(&recorded("shop", 1)).await.expect("a delivery");
    });
    assert_eq!(opened(), [true, true, false, false]);
    // The second day has no hours yet.
    let first = FIRST.to_string();
    let compacted = said(&["fleet", "compact", "--store", place, "--to", &first]);
    assert!(compacted.contains("2026-01-01: hours of 1 bucket made"), "{compacted}");
    assert_eq!(opened(), [true, true, true, true]);
    said(&["fleet", "compact", "--store", place]);
    assert_eq!(opened(), [false, false, true, true]);
}

#[test]
fn queries_open_files_and_row_groups_that_they_ask_for() {
    assert_eq!(SERVICES.map(bucket).into_iter().collect::<BTreeSet<_>>().len(), SERVICES.len());
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().to_str().expect("UTF-8");
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open_or_make(place).await.expect("a store");
        for (service, rows) in SERVICES.into_iter().zip([ROWS, 1]) {
            store.deliver(&recorded(service, rows)).await.expect("a delivery");
        }
    });
    let last_minutes = "ts >= '2026-01-01T23:50:00Z' AND ts < '2026-01-02T00:00:00Z'";
    for (condition, files, groups) in [
        (String::new(), 4, None),
        ("WHERE service = 'shop'".into(), 2, None),
        ("WHERE ts >= '2026-01-02T00:00:00Z'".into(), 2, None),
        ("WHERE service IN ('shop', 'stock') AND ts >= '2026-01-02T00:00:00Z'".into(), 1, None),
        (format!("WHERE service = 'shop' AND {last_minutes}"), 1, Some((1, 2))),
        ("WHERE ts < '2025-12-31T00:00:00Z'".into(), 0, None),
    ] {
        let read = read(place, &condition);
        assert_eq!(read.files, files, "{condition}: {}", read.plan);
        if let Some(groups) = groups {
            assert_eq!(read.groups, groups, "{condition}: {}", read.plan);
        }
    }
    // One column, not whole rows.
    let all = read(place, "");
    let size = bytes_of(folder.path(), "lock_minute");
    assert!(all.bytes > 0.0 && all.bytes < 0.75 * size, "{} of {size} bytes: {}", all.bytes, all.plan);
    // Ten minutes of a day, in one row group of two.
    let last = read(place, &format!("WHERE service = 'shop' AND {last_minutes}"));
    assert!(last.bytes > 0.0 && last.bytes < 0.25 * all.bytes, "{} bytes: {}", last.bytes, last.plan);
    // 66,000 rows, of which the engine may hold 4 MiB.
    let top = "SELECT service, lock, jvms FROM top_sites ORDER BY blocked_ns DESC LIMIT 1";
    said(&["sql", top, place, "--memory", "4"]);
}
