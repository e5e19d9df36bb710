//! `fleet regressions` as it is typed, on rows that are made up.

use headway_rollup::minute::Minute;
use headway_rollup::rows::{Jvm, LoadMinute, LockMinute, Rolled, Site, Stack};
use headway_rollup::{identity, Histogram};
use headway_store::Store;
use serde_json::Value;
use std::process::Command;

/// The first minute of 2026-11-25.
const FIRST: u64 = 29_926_080;
const SECOND: u64 = 1_000_000_000;
const MINUTES: u64 = 60;

/// An hour of a JVM in which threads ran for 100 s a minute, and were blocked on two locks: on one about a second,
/// times a part, on the other always alike.
struct Hour<'a> {
    service: &'a str,
    version: &'a str,
    environment: &'a str,
    host: u64,
    /// Hours since the first.
    hour: u64,
    percent: u64,
}

fn stack(frames: [&str; 2]) -> Stack {
    Stack { id: identity::stack(frames), frames: frames.map(str::to_owned).to_vec() }
}

fn site(member: &str) -> Site {
    let id = identity::site("shop.Cart", member, "monitor");
    Site { id, class: "shop.Cart".into(), member: member.into(), kind: "monitor".into() }
}

impl Hour<'_> {
    fn rolled(&self) -> Rolled {
        let host = format!("web-{}", self.host);
        let first = FIRST + 60 * self.hour;
        let minutes = (first..first + MINUTES).map(Minute);
        let stacks = vec![
            stack(["Cart.add", "Main.run"]),
            stack(["Cart.rebuild", "Main.refresh"]),
            stack(["Rarely.called", "Main.run"]),
        ];
        let sites = vec![site("Cart.lock"), site("Cart.prices")];
        let lock = |minute: Minute, site: &Site, waiter: &Stack, blocked_ms: u64| LockMinute {
            minute,
            site: site.id,
            kind: "monitor",
            waiter_stack: Some(waiter.id),
            owner_stack: Some(stacks[1].id),
            contentions: 1,
            blocked_ns: blocked_ms * SECOND / 1_000,
            histogram: Histogram::default(),
            ..LockMinute::default()
        };
        let mut locks = Vec::new();
        for (number, minute) in minutes.clone().enumerate() {
            let noise = (self.host * 7 + number as u64 * 13) % 11 * 10;
            locks.push(lock(minute, &sites[0], &stacks[0], (1_000 + noise) * self.percent / 100));
            locks.push(lock(minute, &sites[0], &stacks[2], 5));
            locks.push(lock(minute, &sites[1], &stacks[0], 500 + noise));
        }
        locks.sort_by_key(|row| (row.minute, row.site, row.waiter_stack));
        let load = |minute| LoadMinute {
            minute,
            covered_ns: 60 * SECOND,
            running_ns: 100 * SECOND,
            operations: 1_000,
            ..LoadMinute::default()
        };
        let start_ns = Minute(first).start().0;
        let jvm = Jvm {
            id: identity::jvm(&format!("{host} {}", self.service), 1, start_ns),
            host,
            service: self.service.into(),
            version: self.version.into(),
            environment: self.environment.into(),
            start_ns,
            end_ns: start_ns + 3_600 * SECOND,
            ..Jvm::default()
        };
        Rolled { jvm, locks, load: minutes.map(load).collect(), sites, stacks, ..Rolled::default() }
    }
}

/// A shop whose version 2 is blocked longer, and a mall where nothing changed, both on four hosts.
fn hours(shop_percent: u64) -> Vec<Hour<'static>> {
    let mut hours = Vec::new();
    for host in 0..4 {
        for (hour, version, percent) in [(0, "1", 100), (24, "2", shop_percent)] {
            hours.push(Hour { service: "shop", version, environment: "production", host, hour, percent });
            hours.push(Hour { service: "mall", version, environment: "production", host, hour, percent: 100 });
        }
        hours.push(Hour { service: "bank", version: "o'1", environment: "production", host, hour: 0, percent: 100 });
    }
    hours
}

fn fleet(shop_percent: u64) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    let hours = hours(shop_percent);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open_or_make(&place).await.expect("a store");
        for hour in hours {
            store.deliver(&hour.rolled()).await.expect("a delivery");
        }
    });
    (folder, place)
}

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn regressions(place: &str, more: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
    let output = command.args(["fleet", "regressions", "--store", place]).args(more).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_regression_is_named_with_both_stacks() {
    let (_folder, place) = fleet(150);
    let said = regressions(&place, &[]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{}", said.stdout);
    for sentence in [
        "shop: version 2 compared with 1\n",
        "4 hosts with both versions; 6 blocks of 10 minutes, then 6; equal hours of the week; blocked time per operation\n",
        "Cart.lock (monitor): +50 % (95 % interval +4",
        "blocked in Cart.add < Main.run\n",
        "owned by Cart.rebuild < Main.refresh\n",
        "Detectable with 80 % power: +",
        "Only one version: bank\n",
        "1 regression in 4 locks tested.\n",
    ] {
        assert!(said.stdout.contains(sentence), "\"{sentence}\" is missing in:\n{}", said.stdout);
    }
    assert_eq!(said.stdout.matches("REGRESSIONS").count(), 1, "{}", said.stdout);
}

#[test]
fn pipelines_get_json_and_an_exit_code() {
    let (_folder, place) = fleet(150);
    let said = regressions(&place, &["--json", "--fail", "--service", "shop"]);
    assert_eq!(said.code, Some(5), "{}{}", said.stdout, said.stderr);
    assert_eq!(said.stderr, "headway-fleet: 1 regression in 2 locks tested\n");
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!((&document["schema_version"], &document["regressions"]), (&1.into(), &1.into()));
    let service = &document["services"][0];
    assert_eq!((&service["old_version"], &service["new_version"]), (&"1".into(), &"2".into()));
    assert_eq!((&service["design"]["unit"], &service["design"]["old_hosts"]), (&"operation".into(), &4.into()));
    let lock = &service["locks"][0];
    assert_eq!((&lock["lock"], &lock["verdict"]), (&"Cart.lock".into(), &"regression".into()));
    assert_eq!(lock["waiter_stack"], serde_json::json!(["Cart.add", "Main.run"]));
    assert!(lock["detectable_change"].as_f64().is_some_and(|change| (0.1..0.5).contains(&change)), "{lock}");
    // The same again, to the last digit; and the other way round it is no regression.
    assert_eq!(regressions(&place, &["--json", "--fail", "--service", "shop"]).stdout, said.stdout);
    let reversed = regressions(&place, &["--service", "shop", "--old", "2", "--new", "1", "--fail"]);
    assert_eq!(reversed.code, Some(0), "{}{}", reversed.stdout, reversed.stderr);
    assert!(reversed.stdout.contains("IMPROVEMENTS"), "{}", reversed.stdout);
}

#[test]
fn rows_that_arrive_after_a_compaction_count() {
    let (_folder, place) = fleet(150);
    let words = ["--json", "--min-share", "0"];
    let expected = regressions(&place, &words);
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let folder = tempfile::tempdir().expect("a folder");
    let late = folder.path().join("rows").to_str().expect("UTF-8").to_owned();
    let compact = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-fleet"));
        let output = command.args(["fleet", "compact", "--store", &late]).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // A third of the hours arrives late: of both versions, and of each service.
    for is_late in [false, true] {
        runtime.block_on(async {
            let store = Store::open_or_make(&late).await.expect("a store");
            for (_, hour) in hours(150).iter().enumerate().filter(|(number, _)| (number % 3 == 1) == is_late) {
                store.deliver(&hour.rolled()).await.expect("a delivery");
            }
        });
        if !is_late {
            compact();
            assert_ne!(regressions(&late, &words).stdout, expected.stdout);
        }
    }
    assert_eq!(regressions(&late, &words).stdout, expected.stdout);
    compact();
    assert_eq!(regressions(&late, &words).stdout, expected.stdout);
}

#[test]
fn nothing_is_found_where_nothing_changed() {
    let (_folder, place) = fleet(100);
    let said = regressions(&place, &["--fail"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{}", said.stdout);
    assert!(said.stdout.contains("no regression in 4 locks tested.\n"), "{}", said.stdout);
    assert!(said.stdout.contains("Detectable with 80 % power: +"), "{}", said.stdout);
    let elsewhere = regressions(&place, &["--environment", "test"]);
    assert!(elsewhere.stdout.contains("no regression in 0 locks tested.\n"), "{}", elsewhere.stdout);
}

#[test]
fn mistakes_get_one_sentence() {
    let (_folder, place) = fleet(100);
    for (arguments, sentence) in [
        (&["--service", "o'er"][..], "no rows of service o'er"),
        (&["--new", "9"], "no rows with version 9"),
        (&["--service", "bank", "--old", "o'0"], "no rows of service bank with version o'0"),
    ] {
        let said = regressions(&place, arguments);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        assert!(said.stderr.contains(sentence) && said.stderr.lines().count() == 1, "{}", said.stderr);
    }
    for arguments in [["--fdr", "101"], ["--min-effect", "much"], ["--days", "0"]] {
        assert_eq!(regressions(&place, &arguments).code, Some(2), "{arguments:?}");
    }
}
