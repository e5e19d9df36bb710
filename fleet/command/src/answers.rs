//! Questions and their answers, as pictures: the same over recordings and over a store.

use crate::hours::roll_up;
use crate::output;
use crate::session::{only_queries, over_recordings, over_store, Database, Only};
use crate::views::{views, Dialect};
use datafusion::prelude::SessionContext;
use headway_rollup::minute::Minute;
use headway_rollup::rows::{CpuMinute, Jvm, LoadMinute, LockMinute, Phase, Rolled, Site, Stack, WaitMinute};
use headway_rollup::{identity, Histogram};
use headway_store::{Day, Store};

/// Midnight of a day.
const FIRST: u64 = 29_926_080;
const DAY: Day = Day((FIRST / 1_440) as u32);
const SECOND: u64 = 1_000_000_000;

/// A minute of a shop's JVM on a host, in which threads ran for 100 s and were blocked so
/// many seconds on each of two locks.
fn recording(version: &str, host: &str, minute: u64, blocked: [u64; 2]) -> Rolled {
    let minute = Minute(FIRST + minute);
    let start_ns = minute.start().0;
    let frames = |names: [&str; 2]| {
        let frames = names.map(str::to_owned).to_vec();
        Stack { id: identity::stack(names), frames }
    };
    let (waiter, owner) = (frames(["Cart.add", "Main.run"]), frames(["Cart.rebuild", "Main.refresh"]));
    let site = |member: &str| Site {
        id: identity::site("shop.Cart", member, "monitor"),
        class: "shop.Cart".into(),
        member: member.into(),
        kind: "monitor".into(),
    };
    let sites = vec![site("Cart.lock"), site("")];
    let locks = sites.iter().zip(blocked).filter(|(_, seconds)| *seconds > 0).map(|(site, seconds)| {
        let mut histogram = Histogram::default();
        histogram.add(5, 1);
        histogram.add(1_000, seconds);
        LockMinute {
            minute,
            site: site.id,
            kind: "monitor",
            waiter_stack: Some(waiter.id),
            owner_stack: Some(owner.id),
            contentions: seconds + 1,
            blocked_ns: seconds * SECOND,
            handoff_ns: SECOND / 2,
            max_ns: 1_000,
            histogram,
            ..LockMinute::default()
        }
    });
    let load = LoadMinute {
        minute,
        covered_ns: 60 * SECOND,
        running_ns: 100 * SECOND,
        cpu_ns: Some(30 * SECOND),
        operations: 5,
        ..LoadMinute::default()
    };
    let phase = Phase {
        start_ns,
        end_ns: start_ns + SECOND,
        site: sites[0].id,
        mean: 0.25,
        peak: 0.5,
        acquiring_ns: 3,
        waiter_stack: Some(waiter.id),
        owner_stack: None,
    };
    let jvm = Jvm {
        id: identity::jvm(host, 1, start_ns),
        host: host.into(),
        service: "shop".into(),
        version: version.into(),
        labels: vec!["zone=a".into()],
        start_ns,
        end_ns: start_ns + 60 * SECOND,
        ..Jvm::default()
    };
    let waits = vec![WaitMinute { minute, site: sites[1].id, synchronizer: "a latch", ..WaitMinute::default() }];
    let cpu = vec![CpuMinute { minute, stack: Some(waiter.id), state: "java", samples: 3, cpu_ns: 9 }];
    Rolled {
        jvm,
        locks: locks.collect(),
        load: vec![load],
        phases: vec![phase],
        waits,
        cpu,
        sites,
        stacks: vec![waiter, owner],
        recording: Some(format!("/{host}.jfr")),
        ..Rolled::default()
    }
}

/// Version 1 and then 2, of which one lock became worse and one better, and one host is
/// unlike the others.
fn fleet() -> Vec<Rolled> {
    let mut fleet = Vec::new();
    for (host, more) in [("web-1", 0), ("web-2", 0), ("web-3", 40)] {
        fleet.push(recording("1", host, 0, [10, 4]));
        fleet.push(recording("2", host, 5, [30 + more, 1]));
    }
    fleet
}

async fn ask(session: &SessionContext, query: &str) -> String {
    let frame = session.sql_with_options(query, only_queries()).await.expect(query);
    let schema = std::sync::Arc::new(frame.schema().as_arrow().clone());
    let rows = frame.collect().await.expect(query);
    output::as_table(&schema, &rows).expect("a table")
}

/// The words of each line: how columns are aligned is another test's business.
fn words(table: &str) -> Vec<String> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Asks recordings, a store, the same store compacted, and with hours.
fn check(query: &str, answer: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let expected = words(answer);
    runtime.block_on(async {
        let recordings = fleet();
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        for recording in &recordings {
            store.deliver(recording).await.expect("a delivery");
        }
        let direct = over_recordings(&recordings, 64).await.expect("a session");
        let stored = over_store(&store, 64).await.expect("a session");
        store.compact(DAY).await.expect("a compaction");
        let compacted = over_store(&store, 64).await.expect("a session");
        assert_eq!(roll_up(&store, DAY).await.expect("a rollup"), 1);
        let with_hours = over_store(&store, 64).await.expect("a session");
        for session in [&direct, &stored, &compacted, &with_hours] {
            let answered = ask(session, query).await;
            assert_eq!(words(&answered), expected, "{query}");
        }
    });
}

#[test]
fn locks_with_most_blocked_time() {
    check(
        "SELECT version, lock, jvms, contentions, blocked_ns / 1000000000 AS s, blocked_share FROM top_sites
         ORDER BY blocked_ns DESC, version",
        "version  lock       jvms  contentions    s  blocked_share
         2        Cart.lock     3          133  130  0.43333333333333335
         1        Cart.lock     3           33   30            0.1
         1        shop.Cart     3           15   12           0.04
         2        shop.Cart     3            6    3           0.01",
    );
}

#[test]
fn regressions_are_differences_per_running_second() {
    check(
        "SELECT service, old_version, new_version, lock, old_ns_per_s / 1e6 AS old, new_ns_per_s / 1e6 AS new,
                round(more_ns_per_s / 1e6) AS more
         FROM regressions ORDER BY more_ns_per_s DESC",
        "service  old_version  new_version  lock        old                 new   more
         shop     1            2            Cart.lock  100.0  433.33333333333337  333.0
         shop     1            2            shop.Cart   40.0                10.0  -30.0",
    );
}

#[test]
fn a_host_unlike_the_others_stands_out() {
    check(
        "SELECT version, host, hosts, round(more_ns_per_s / 1e6) AS more FROM outlier_hosts
         WHERE more_ns_per_s <> 0 ORDER BY more_ns_per_s DESC",
        "version  host   hosts   more
         2        web-3      3  400.0",
    );
}

#[test]
fn owners_and_phases_have_their_stacks() {
    check(
        "SELECT version, lock, owner_method, blocked_ns / 1000000000 AS s FROM owners ORDER BY s DESC LIMIT 2",
        "version  lock       owner_method    s
         2        Cart.lock  Cart.rebuild  130
         1        Cart.lock  Cart.rebuild   30",
    );
    check(
        "SELECT host, lock, ts, end_ts - ts AS length, peak, recording, waiter_stack, owner_stack
         FROM phases ORDER BY ts, host LIMIT 1",
        "host   lock       ts                    length  peak  recording  waiter_stack          owner_stack
         web-1  Cart.lock  2026-11-25T00:00:00Z  PT1S     0.5  /web-1.jfr  [Cart.add, Main.run]",
    );
}

#[test]
fn histograms_add_up_with_their_bounds() {
    check(
        "SELECT version, lock, bucket, contentions, from_ns, below_ns FROM lock_durations
         WHERE version = '1' ORDER BY lock, bucket",
        "version  lock       bucket  contentions  from_ns  below_ns
         1        Cart.lock       5            3      5.0       6.0
         1        Cart.lock     111           30    992.0    1024.0
         1        shop.Cart       5            3      5.0       6.0
         1        shop.Cart     111           12    992.0    1024.0",
    );
}

/// Whole numbers of `top_sites`, and of hours and minutes in general, by either way. `jvms` is only known from minutes.
const BOTH_WAYS: [[&str; 2]; 4] = [
    [
        "SELECT service, version, lock, kind, contentions, blocked_ns, handoff_ns, unknown_ns, max_ns, blocked_share
         FROM top_sites WHERE jvms > 0 ORDER BY service, version, site_id",
        "SELECT service, version, lock, kind, contentions, blocked_ns, handoff_ns, unknown_ns, max_ns, blocked_share
         FROM top_sites ORDER BY service, version, site_id",
    ],
    [
        "SELECT service, version, lock, kind, contentions, blocked_ns, handoff_ns, unknown_ns, max_ns, blocked_share
         FROM top_sites WHERE jvms > 0 ORDER BY service, version, site_id",
        "SELECT service, version, lock, kind, contentions, blocked_ns, handoff_ns, unknown_ns, max_ns, blocked_share
         FROM top_sites_from_hours ORDER BY service, version, site_id",
    ],
    [
        "SELECT date_trunc('hour', ts) AS hour, service, version, site_id, count(DISTINCT jvm_id) AS jvms,
                sum(pause_ns) AS pause_ns, sum(blocked_ns) AS blocked_ns
         FROM lock_minute GROUP BY hour, service, version, site_id ORDER BY 1, 2, 3, 4",
        "SELECT ts AS hour, service, version, site_id, jvms, pause_ns, blocked_ns FROM lock_hour ORDER BY 1, 2, 3, 4",
    ],
    [
        "SELECT date_trunc('hour', ts) AS hour, service, version, count(DISTINCT jvm_id) AS jvms, sum(cpu_ns) AS cpu_ns,
                sum(steal_ns) AS steal_ns
         FROM load_minute GROUP BY hour, service, version ORDER BY 1, 2, 3",
        "SELECT ts AS hour, service, version, jvms, cpu_ns, steal_ns FROM load_hour ORDER BY 1, 2, 3",
    ],
];

/// Both ways have the same answers, and `kept` hours of locks stand for minutes, beside which so many are `open`.
async fn check_hours(store: &Store, kept: &str, open: &str) {
    let session = over_store(store, 64).await.expect("a session");
    for [minutes, hours] in BOTH_WAYS {
        assert_eq!(ask(&session, hours).await, ask(&session, minutes).await, "{hours}");
    }
    let counts =
        "SELECT (SELECT count(*) FROM lock_hour_part) AS kept, (SELECT count(*) FROM lock_minute_open) AS open";
    assert_eq!(words(&ask(&session, counts).await)[1], format!("{kept} {open}"));
}

#[test]
fn hours_are_never_behind_minutes() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    runtime.block_on(async {
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        let deliver = async |recording: Rolled| store.deliver(&recording).await.expect("a delivery");
        for recording in fleet() {
            deliver(recording).await;
        }
        check_hours(&store, "0", "12").await;
        assert_eq!(roll_up(&store, DAY).await.expect("a rollup"), 1);
        check_hours(&store, "4", "0").await;
        assert_eq!(roll_up(&store, DAY).await.expect("nothing to do"), 0);
        // Late: of another JVM in an hour that is kept, and of another hour.
        deliver(recording("2", "web-4", 7, [5, 5])).await;
        deliver(recording("2", "web-4", 70, [6, 0])).await;
        check_hours(&store, "0", "15").await;
        store.compact(DAY).await.expect("a compaction");
        check_hours(&store, "0", "15").await;
        assert_eq!(roll_up(&store, DAY).await.expect("a rollup"), 1);
        check_hours(&store, "5", "0").await;
        // Another service, perhaps of the same bucket, goes without a trace.
        let other = Rolled {
            jvm: Jvm { id: 1, service: "mail".into(), ..recording("1", "web-9", 3, [1, 1]).jvm },
            ..recording("1", "web-9", 3, [1, 1])
        };
        deliver(other).await;
        roll_up(&store, DAY).await.expect("a rollup");
        check_hours(&store, "7", "0").await;
        store.remove_service("mail").await.expect("a removal");
        roll_up(&store, DAY).await.expect("a rollup");
        check_hours(&store, "5", "0").await;
        store.remove_service("shop").await.expect("a removal");
        check_hours(&store, "0", "0").await;
    });
}

#[test]
fn a_part_of_an_hour_is_made_of_its_minutes() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    runtime.block_on(async {
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        for recording in fleet() {
            store.deliver(&recording).await.expect("a delivery");
        }
        roll_up(&store, DAY).await.expect("a rollup");
        let database = Database::of_store(&store, 64).await.expect("tables");
        let minute = |minute: u64| i64::try_from((FIRST + minute) * 60_000_000).ok();
        let version = Some("2".to_owned());
        for (only, kept) in [
            (Only::default(), "4"),
            (Only { version, ..Only::default() }, "2"),
            (Only { from_us: minute(0), to_us: minute(60), ..Only::default() }, "4"),
            (Only { from_us: minute(60), ..Only::default() }, "0"),
            (Only { from_us: minute(5), ..Only::default() }, "0"),
            (Only { to_us: minute(5), ..Only::default() }, "0"),
            (Only { host: Some("web-3".into()), ..Only::default() }, "0"),
        ] {
            let session = database.session(&only).await.expect("a session");
            let sums = |table: &str| format!("SELECT sum(blocked_ns) AS ns FROM {table}");
            assert_eq!(ask(&session, &sums("lock_hour")).await, ask(&session, &sums("lock_minute")).await, "{only:?}");
            let kept_hours = ask(&session, "SELECT count(*) AS kept FROM lock_hour_part").await;
            assert_eq!(words(&kept_hours)[1], kept, "{only:?}");
        }
    });
}

#[test]
fn every_table_and_view_answers() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let (full, none) = (over_recordings(&fleet(), 64).await, over_recordings(&[], 64).await);
        let (full, none) = (full.expect("a session"), none.expect("a session"));
        let tables = ["lock_minute", "wait_minute", "load_minute", "phase", "cpu_minute", "clock_jump"];
        let views = views(Dialect::DataFusion).into_iter().map(|view| view.name);
        for name in views.chain(tables.map(str::to_owned)) {
            let rows = ask(&full, &format!("SELECT count(*) > 0 AS some FROM {name}")).await;
            assert!(name == "clock_jump" || rows.contains("true"), "{name}: {rows}");
            assert!(ask(&none, &format!("SELECT count(*) AS rows FROM {name}")).await.contains('0'), "{name}");
        }
    });
}
