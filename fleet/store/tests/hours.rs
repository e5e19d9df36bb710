//! Hours stand for the minutes that they were made from, and for no others.

mod made_up;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use headway_store::{bucket, DataFile, Day, Hours, Snapshot, Store, Table};
use made_up::{counts, rolled, NOON};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Of different buckets, which a test asserts.
const SERVICES: [&str; 2] = ["shop", "mail"];

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
    store: Store,
}

impl Place {
    async fn snapshot(&self) -> Snapshot {
        self.store.snapshot(day()).await.expect("a snapshot")
    }

    async fn deliver(&self, service: &str, host: u32) {
        self.store.deliver(&rolled(service, host, NOON)).await.expect("a delivery");
    }

    /// Hours of all buckets that have none, which no manifest has yet.
    async fn write(&self, snapshot: &Snapshot) -> Vec<Hours> {
        let mut written = Vec::new();
        for bucket in snapshot.without_hours() {
            let hours = self.store.write_hours(snapshot, bucket, &[(Table::LoadHour, vec![hour()])]).await;
            written.push(hours.expect("hours"));
        }
        written
    }

    async fn roll_up(&self) -> Vec<Hours> {
        let snapshot = self.snapshot().await;
        let written = self.write(&snapshot).await;
        assert!(self.store.put_hours(&snapshot, written.clone()).await.expect("a manifest"));
        written
    }

    fn has(&self, files: &[DataFile]) -> bool {
        assert!(!files.is_empty());
        files.iter().all(|file| self.path.join(&file.path).is_file())
    }

    async fn tidy(&self) {
        self.store.tidy_older_than(Duration::ZERO).await.expect("tidied");
    }
}

fn day() -> Day {
    Day((NOON / 1_440) as u32)
}

fn check<Done: Future<Output = ()>>(test: impl FnOnce(Place) -> Done) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        let store = Store::open_or_make(path.to_str().expect("UTF-8")).await.expect("a store");
        test(Place { _folder: folder, path, store }).await;
    });
}

/// A row of `load_hour`, with a narrower number than the table has.
fn hour() -> RecordBatch {
    let ts = TimestampMicrosecondArray::from(vec![(NOON * 60_000_000) as i64]).with_timezone("UTC");
    let number = |number: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![number])) };
    let columns: [(&str, ArrayRef); 10] = [
        ("ts", Arc::new(ts)),
        ("service", Arc::new(StringArray::from(vec!["shop"]))),
        ("version", Arc::new(StringArray::from(vec!["1"]))),
        ("jvms", Arc::new(Int32Array::from(vec![2]))),
        ("covered_ns", number(3)),
        ("running_ns", number(4)),
        ("cpu_ns", Arc::new(Int64Array::from(vec![None]))),
        ("steal_ns", number(5)),
        ("operations", number(6)),
        ("dropped", number(7)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).expect("a row")
}

#[test]
fn what_arrives_or_is_compacted_later_ends_them() {
    check(|place| async move {
        place.deliver("shop", 1).await;
        assert_eq!(place.snapshot().await.without_hours(), [bucket("shop")]);
        let first = place.roll_up().await;
        let snapshot = place.snapshot().await;
        assert_eq!(snapshot.hours().into_values().collect::<Vec<_>>(), first.iter().collect::<Vec<_>>());
        assert!(snapshot.without_hours().is_empty());
        // They are none of the rows that count.
        assert_eq!(counts(&place.store, &snapshot).await, [2, 2, 1, 1]);
        place.tidy().await;
        assert!(place.has(&first[0].files));

        place.deliver("shop", 2).await;
        assert_eq!(place.snapshot().await.hours(), [].into());
        place.store.compact(day()).await.expect("a compaction");
        assert_eq!(place.snapshot().await.without_hours(), [bucket("shop")]);
        place.tidy().await;
        assert!(!place.has(&first[0].files));
        let second = place.roll_up().await;
        assert_ne!(second, first);
        assert_eq!(place.snapshot().await.hours().len(), 1);
    });
}

#[test]
fn those_of_another_bucket_stay() {
    assert_ne!(bucket(SERVICES[0]), bucket(SERVICES[1]));
    check(|place| async move {
        for service in SERVICES {
            place.deliver(service, 1).await;
        }
        let all = place.roll_up().await;
        assert_eq!(all.len(), 2);
        place.deliver("mail", 2).await;
        place.store.compact(day()).await.expect("a compaction");
        let snapshot = place.snapshot().await;
        assert_eq!(snapshot.without_hours(), [bucket("mail")]);
        assert_eq!(snapshot.hours().into_keys().collect::<Vec<_>>(), [bucket("shop")]);
        place.roll_up().await;
        assert_eq!(place.snapshot().await.hours().len(), 2);
    });
}

#[test]
fn who_comes_second_makes_no_hours() {
    check(|place| async move {
        place.deliver("shop", 1).await;
        let snapshot = place.snapshot().await;
        let written = place.write(&snapshot).await;
        assert!(place.has(&written[0].files));
        place.store.compact(day()).await.expect("a compaction");
        assert!(!place.store.put_hours(&snapshot, written.clone()).await.expect("an answer"));
        assert!(!place.has(&written[0].files));
        assert_eq!(place.snapshot().await.hours(), [].into());
        place.roll_up().await;
        assert_eq!(place.snapshot().await.hours().len(), 1);
    });
}

#[test]
fn they_go_with_their_service_and_their_day() {
    check(|place| async move {
        for service in SERVICES {
            place.deliver(service, 1).await;
        }
        let all = place.roll_up().await;
        place.store.remove_service("shop").await.expect("a removal");
        let (shop, mail): (Vec<_>, Vec<_>) = all.iter().partition(|hours| hours.bucket == bucket("shop"));
        assert!(!place.has(&shop[0].files) && place.has(&mail[0].files));
        assert_eq!(place.snapshot().await.hours().into_values().collect::<Vec<_>>(), mail);
        place.store.retire(Day(day().0 + 1)).await.expect("a removal");
        assert!(!place.has(&mail[0].files));
        assert_eq!(place.snapshot().await.hours(), [].into());
    });
}
