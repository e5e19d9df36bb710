//! Rows made up for tests.

use headway_rollup::minute::Minute;
use headway_rollup::rows::{Jvm, LoadMinute, LockMinute, Rolled, Site, Stack};
use headway_rollup::{identity, Histogram};
use headway_store::{Snapshot, Store, Table};

/// The first minute of 2026-11-25.
pub const NOON: u64 = 29_926_080 + 720;

/// What a recording of a service's JVM comes to: two minutes with a contention each.
pub fn rolled(service: &str, host: u32, first_minute: u64) -> Rolled {
    let host = format!("host-{host}");
    let member = format!("{service}.lock");
    let site =
        Site { id: identity::site("Foo", &member, "monitor"), class: "Foo".into(), member, kind: "monitor".into() };
    let frames = vec![format!("{service}.run"), "Main.main".to_owned()];
    let stack = Stack { id: identity::stack(frames.iter().map(String::as_str)), frames };
    let start_ns = Minute(first_minute).start().0;
    let jvm = Jvm {
        id: identity::jvm(&format!("{host} {service}"), 1, 5),
        host,
        service: service.into(),
        version: "1".into(),
        start_ns,
        end_ns: start_ns + 120_000_000_000,
        ..Jvm::default()
    };
    let minutes = [Minute(first_minute), Minute(first_minute + 1)];
    let lock = |minute| {
        let mut histogram = Histogram::default();
        histogram.add(1_000, 3);
        LockMinute {
            minute,
            site: site.id,
            kind: "monitor",
            waiter_stack: Some(stack.id),
            contentions: 3,
            blocked_ns: 3_000,
            max_ns: 1_000,
            histogram,
            ..LockMinute::default()
        }
    };
    let load = |minute| LoadMinute { minute, covered_ns: 60_000_000_000, running_ns: 7, ..LoadMinute::default() };
    Rolled {
        jvm,
        locks: minutes.map(lock).to_vec(),
        load: minutes.map(load).to_vec(),
        sites: vec![site.clone()],
        stacks: vec![stack.clone()],
        ..Rolled::default()
    }
}

/// How many rows each table has in a snapshot, by reading them.
pub async fn counts(store: &Store, snapshot: &Snapshot) -> [usize; 4] {
    let mut counts = [0; 4];
    for (count, table) in counts.iter_mut().zip([Table::LockMinute, Table::LoadMinute, Table::Site, Table::Jvm]) {
        *count = store.rows(snapshot, table).await.expect("rows").num_rows();
    }
    counts
}
