//! Fleets: the same each time, in stores through their protocol, with what was planted in them and nothing else.

use arrow::array::{Array, Int64Array, RecordBatch};
use headway_generator::{fill, fill_hours, Filled, Plan, Spec};
use headway_rollup::rows::{LockMinute, Rolled};
use headway_store::{Store, Table};
use std::collections::{BTreeMap, BTreeSet};

fn spec() -> Spec {
    Spec { minutes: 40, services: 3, hosts: 4, jvms: 8, sites: 60, busy: 8.0, ..Spec::default() }
}

/// A fleet in a new store: what was written, and the rows of tables, with each row once and in order.
async fn filled(spec: &Spec, compacts: bool) -> (Filled, BTreeMap<&'static str, Vec<String>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
    let plan = Plan::of(spec).expect("a plan");
    let filled = fill(&store, &plan, compacts, |_, _| {}).await.expect("rows");
    // What is there already is not written again.
    let again = fill(&store, &plan, compacts, |_, _| {}).await.expect("no rows");
    assert_eq!(again, Filled::default());
    let mut tables: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for day in store.days().await.expect("days") {
        let snapshot = store.snapshot(day).await.expect("a snapshot");
        assert_eq!(snapshot.commits.is_empty(), compacts);
        for table in Table::ALL {
            let rows = store.rows(&snapshot, table).await.expect("rows");
            tables
                .entry(table.name())
                .or_default()
                .extend((0..rows.num_rows()).map(|at| format!("{:?}", rows.slice(at, 1).columns())));
        }
    }
    for rows in tables.values_mut() {
        rows.sort_unstable();
        rows.dedup();
    }
    (filled, tables)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

#[test]
fn a_seed_is_a_fleet() {
    runtime().block_on(async {
        let (first, first_rows) = filled(&spec(), false).await;
        let (second, second_rows) = filled(&spec(), true).await;
        let (_, other_rows) = filled(&Spec { seed: 2, ..spec() }, false).await;
        assert_eq!(first, second);
        assert_eq!(first.batches, 16);
        for (table, rows) in &first_rows {
            assert!(rows == &second_rows[table], "{table} differs after a compaction");
            let is_rare = *table == "clock_jump";
            assert!(is_rare || rows != &other_rows[table], "{table} is the same for another seed");
            assert!(is_rare || !rows.is_empty(), "{table} has no rows");
        }
        assert_eq!(first_rows["lock_minute"].len() as u64, first.lock_rows);
        assert_eq!(first_rows["load_minute"].len(), 2 * 8 * 40);
    });
}

/// A fleet's rows, without a store.
fn rows(plan: &Plan) -> Vec<Rolled> {
    plan.days().flat_map(|day| plan.services().flat_map(move |service| plan.rows(service, day))).collect()
}

/// The rows of locks of two fleets side by side, with their JVM.
fn pairs<'a>(a: &'a [Rolled], b: &'a [Rolled]) -> impl Iterator<Item = (&'a Rolled, &'a LockMinute, &'a LockMinute)> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).flat_map(|(a, b)| a.locks.iter().zip(&b.locks).map(move |(before, after)| (a, before, after)))
}

#[test]
fn only_what_was_planted_blocks_longer() {
    let plan = |spec: Spec| Plan::of(&spec).expect("a plan");
    let plain = rows(&plan(spec()));
    let worse = plan(Spec { regressions: 1, effect: 2.0, ..spec() });
    let [planted] = &worse.truth().regressions[..] else { panic!("one regression") };
    let worse = rows(&worse);
    let mut found = 0;
    for (rolled, before, after) in pairs(&plain, &worse) {
        let is_planted = rolled.jvm.service == planted.service
            && rolled.jvm.version == planted.version
            && before.site == planted.site_id;
        if !is_planted {
            assert_eq!(before, after);
            continue;
        }
        found += 1;
        assert_eq!(before.contentions, after.contentions);
        // Durations are whole nanoseconds.
        let times = after.blocked_ns as f64 / before.blocked_ns as f64;
        assert!((times - 2.0).abs() < 0.01, "{times}");
    }
    assert!(found >= 10, "the lock is contended {found} times");
}

#[test]
fn an_outlier_blocks_longer_on_every_lock() {
    let plan = |spec: Spec| Plan::of(&spec).expect("a plan");
    let plain = rows(&plan(spec()));
    let worse = plan(Spec { outliers: 1, outlier_effect: 3.0, ..spec() });
    let [planted] = &worse.truth().outliers[..] else { panic!("one outlier") };
    let blocked = |rows: &[Rolled], is_outlier: bool| -> f64 {
        let of = rows.iter().filter(|rolled| (rolled.jvm.host == planted.host) == is_outlier);
        of.flat_map(|rolled| &rolled.locks).map(|row| row.blocked_ns as f64).sum()
    };
    let worse = rows(&worse);
    assert_eq!(blocked(&plain, false), blocked(&worse, false));
    let times = blocked(&worse, true) / blocked(&plain, true);
    assert!((2.5..3.5).contains(&times), "{times}");
}

#[test]
fn rows_are_what_recordings_give() {
    let plan = Plan::of(&Spec { minutes: 1_440, jvms: 4, services: 2, ..spec() }).expect("a plan");
    for rolled in rows(&plan) {
        let key = |row: &LockMinute| (row.minute, row.site, row.waiter_stack, row.owner_stack);
        assert!(rolled.locks.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])), "in order, each key once");
        for row in &rolled.locks {
            assert_eq!(row.histogram.count(), row.contentions);
            assert!(row.handoff_ns + row.unknown_ns + row.pause_ns <= row.blocked_ns);
            assert!(row.max_ns <= row.blocked_ns);
            assert!(rolled.sites.iter().any(|site| site.id == row.site && site.kind == row.kind));
            for stack in row.waiter_stack.iter().chain(&row.owner_stack) {
                assert!(rolled.stacks.iter().any(|known| known.id == *stack));
            }
        }
        assert_eq!(rolled.load.len(), 1_440);
        let (night, noon) = (&rolled.load[..60], &rolled.load[690..750]);
        let operations = |rows: &[headway_rollup::rows::LoadMinute]| rows.iter().map(|row| row.operations).sum::<u64>();
        assert!(operations(noon) > 2 * operations(night));
    }
}

/// The JVMs that a lock was contended in during an hour.
type Cells = BTreeMap<(u64, String, String, i64), BTreeSet<i64>>;

#[test]
fn hours_without_minutes_have_the_rows_that_minutes_would_come_to() {
    let plan = Plan::of(&Spec { minutes: 1_440, busy: 1.0, ..spec() }).expect("a plan");
    let mut cells = Cells::new();
    for rolled in rows(&plan) {
        for row in &rolled.locks {
            let key = (row.minute.0 / 60, rolled.jvm.service.clone(), rolled.jvm.version.clone(), row.site);
            cells.entry(key).or_default().insert(rolled.jvm.id);
        }
    }
    let jvms: usize = cells.values().map(BTreeSet::len).sum();
    runtime().block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        let filled = fill_hours(&store, &plan, |_, _| {}).await.expect("hours");
        let is_near = |found: f64, wanted: usize| (found / wanted as f64 - 1.0).abs() < 0.05;
        assert!(is_near(filled as f64, cells.len()), "{filled} rows, not {}", cells.len());
        let (mut rows, mut seen) = (0, 0);
        for day in store.days().await.expect("days") {
            let snapshot = store.snapshot(day).await.expect("a snapshot");
            assert!(snapshot.without_hours().is_empty() && snapshot.commits.is_empty());
            let files = snapshot.hours().into_values().flat_map(|hours| &hours.files);
            rows += files.filter(|file| file.table() == Some(Table::LockHour)).map(|file| file.rows).sum::<u64>();
            let known = store.rows(&snapshot, Table::Site).await.expect("rows");
            let known: BTreeSet<i64> = numbers(&known, "site_id").collect();
            let of_locks = store.rows(&snapshot, Table::LockHour).await.expect("rows");
            let columns = ["site_id", "jvms", "contentions", "blocked_ns", "handoff_ns", "unknown_ns", "pause_ns"];
            let columns = columns.map(|name| numbers(&of_locks, name).collect::<Vec<_>>());
            let [sites, of_jvms, contentions, blocked, parts @ ..] = &columns;
            for at in 0..of_locks.num_rows() {
                assert!(known.contains(&sites[at]), "a lock without a name");
                assert!(contentions[at] > 0 && (1..=8).contains(&of_jvms[at]));
                assert!(parts.iter().map(|part| part[at]).sum::<i64>() <= blocked[at]);
            }
            seen += of_jvms.iter().sum::<i64>();
        }
        assert_eq!(rows, filled);
        assert!(is_near(seen as f64, jvms), "{seen} JVMs in all rows, not {jvms}");
    });
}

fn numbers<'a>(rows: &'a RecordBatch, name: &str) -> impl Iterator<Item = i64> + 'a {
    let column = rows.column_by_name(name).expect("a column").as_any().downcast_ref::<Int64Array>();
    column.expect("numbers").values().iter().copied()
}
