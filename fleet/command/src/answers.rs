//! Questions and their answers, as pictures: the same over recordings and over a store.

use crate::output;
use crate::session::{only_queries, over_recordings, over_store};
use crate::views::{views, Dialect};
use datafusion::prelude::SessionContext;
use headway_rollup::minute::Minute;
use headway_rollup::rows::{CpuMinute, Jvm, LoadMinute, LockMinute, Phase, Rolled, Site, Stack, WaitMinute};
use headway_rollup::{identity, Histogram};
use headway_store::{Day, Store};

const FIRST: u64 = 29_926_080;
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

/// Asks recordings, a store, and the same store compacted.
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
        store.compact(Day::of_ns(FIRST * 60 * SECOND)).await.expect("a compaction");
        let compacted = over_store(&store, 64).await.expect("a session");
        for session in [&direct, &stored, &compacted] {
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
