//! Delivering, compacting, removing: whatever comes in between, each row once.

mod made_up;

use headway_rollup::rows::{LockMinute, Rolled};
use headway_store::{bucket, Day, Snapshot, Store, StoreError, Table};
use made_up::{counts, rolled, NOON};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs a test in a new store.
fn check<F: Future<Output = ()>>(test: impl FnOnce(Store) -> F) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("store");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open_or_make(place.to_str().expect("UTF-8")).await.expect("a store");
        test(store).await;
    });
}

fn day() -> Day {
    Day::of_ns(NOON * 60_000_000_000)
}

async fn deliver(store: &Store, rolled: &Rolled) -> (usize, usize) {
    let delivered = store.deliver(rolled).await.expect("a delivery");
    (delivered.new.len(), delivered.known.len())
}

async fn snapshot(store: &Store) -> Snapshot {
    store.snapshot(day()).await.expect("a snapshot")
}

#[test]
fn what_is_delivered_twice_is_there_once() {
    check(|store| async move {
        let batch = rolled("shop", 1, NOON);
        assert_eq!(deliver(&store, &batch).await, (1, 0));
        assert_eq!(deliver(&store, &batch).await, (0, 1));
        assert_eq!(counts(&store, &snapshot(&store).await).await, [2, 2, 1, 1]);
        // Also after its commit and its files are gone.
        deliver(&store, &rolled("shop", 2, NOON)).await;
        let compacted = store.compact(day()).await.expect("a compaction");
        assert_eq!((compacted.batches, compacted.files_before, compacted.files_after), (2, 10, 5));
        let tidied = store.tidy_older_than(Duration::ZERO).await.expect("tidy");
        assert_eq!((tidied.files, tidied.records), (10, 2));
        assert_eq!(deliver(&store, &batch).await, (0, 1));
        assert_eq!(counts(&store, &snapshot(&store).await).await, [4, 4, 1, 2]);
    });
}

#[test]
fn a_batch_across_midnight_is_two() {
    check(|store| async move {
        let batch = rolled("shop", 1, NOON + 719);
        assert_eq!(deliver(&store, &batch).await, (2, 0));
        let days = store.days().await.expect("days");
        assert_eq!(days.iter().map(Day::to_string).collect::<Vec<_>>(), ["2026-11-25", "2026-11-26"]);
        for day in days {
            let snapshot = store.snapshot(day).await.expect("a snapshot");
            assert_eq!(counts(&store, &snapshot).await, [1, 1, 1, 1]);
        }
    });
}

#[test]
fn other_rows_under_the_same_name_are_refused() {
    check(|store| async move {
        let mut batch = rolled("shop", 1, NOON);
        deliver(&store, &batch).await;
        let mut renamed = batch.clone();
        renamed.jvm.version = "2".into();
        batch.locks[0].blocked_ns += 1;
        for _ in 0..2 {
            for other in [&batch, &renamed] {
                let refused = store.deliver(other).await.expect_err("a conflict");
                assert!(matches!(refused, StoreError::Conflict(_)), "{refused}");
            }
            store.compact(day()).await.expect("a compaction");
        }
        assert_eq!(counts(&store, &snapshot(&store).await).await, [2, 2, 1, 1]);
    });
}

/// The only file of `lock_minute` after a compaction.
async fn compacted_locks(store: &Store) -> ParquetMetaData {
    store.compact(day()).await.expect("a compaction");
    let snapshot = snapshot(store).await;
    let file = snapshot.files().find(|file| file.table() == Some(Table::LockMinute)).expect("a file");
    let bytes = std::fs::read(format!("{}/{}", store.place(), file.path)).expect("the file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
    reader.expect("Parquet").metadata().as_ref().clone()
}

#[test]
fn files_are_sorted_and_say_what_they_are() {
    check(|store| async move {
        for host in [3, 1, 2] {
            deliver(&store, &rolled("shop", host, NOON + u64::from(host))).await;
        }
        let metadata = compacted_locks(&store).await;
        let about = metadata.file_metadata().key_value_metadata().expect("metadata");
        let value = |key: &str| about.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        assert_eq!(
            (value("headway.format").as_deref(), value("headway.table").as_deref()),
            (Some("1"), Some("lock_minute"))
        );
        assert_eq!(metadata.row_group(0).sorting_columns().map(Vec::len), Some(4));
        let rows = store.rows(&snapshot(&store).await, Table::LockMinute).await.expect("rows");
        let times = rows.column_by_name("ts").expect("ts");
        let times = times.as_any().downcast_ref::<arrow::array::TimestampMicrosecondArray>().expect("times");
        assert!(times.values().windows(2).all(|pair| pair[0] <= pair[1]), "{times:?}");
        assert_eq!(times.len(), 6);
    });
}

#[test]
fn files_of_many_rows_have_what_helps_to_skip_them_and_files_of_few_rows_do_not() {
    check(|store| async move {
        deliver(&store, &rolled("shop", 1, NOON)).await;
        deliver(&store, &rolled("shop", 2, NOON)).await;
        let few = compacted_locks(&store).await;
        assert!(few.row_group(0).columns().iter().all(|column| column.statistics().is_none()));
        assert!(few.row_group(0).columns().iter().all(|column| column.offset_index_offset().is_none()));
        let mut long = rolled("shop", 3, NOON);
        let row = long.locks[0].clone();
        long.locks = (0..3_000).map(|stack| LockMinute { owner_stack: Some(stack), ..row.clone() }).collect();
        deliver(&store, &long).await;
        let many = compacted_locks(&store).await;
        let column = |name: &str| {
            let columns = many.row_group(0).columns().iter();
            columns.clone().find(|column| column.column_path().string() == name).expect("a column")
        };
        let statistics = column("ts").statistics().expect("statistics of ts");
        let Statistics::Int64(times) = statistics else { panic!("{statistics:?}") };
        assert!(times.min_opt().is_some() && times.min_opt() < times.max_opt(), "{times:?}");
        assert!(column("ts").column_index_offset().is_some());
        // A few locks in many rows, but hardly two contentions of one length.
        assert!(column("site_id").dictionary_page_offset().is_some());
        assert!(column("blocked_ns").dictionary_page_offset().is_none());
    });
}

/// Most of what a host sends: a JVM with little contention. Its rows are a few hundred bytes; the rest is what
/// Parquet says about columns.
#[test]
fn a_batch_of_few_rows_is_small() {
    check(|store| async move {
        deliver(&store, &rolled("shop", 1, NOON)).await;
        let snapshot = snapshot(&store).await;
        let sizes: Vec<(&str, u64)> = snapshot.files().map(|file| (file.table.as_str(), file.bytes)).collect();
        let all: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        assert!(all < 6_000, "{all} bytes: {sizes:?}");
    });
}

#[test]
fn a_removed_service_leaves_nothing_behind() {
    check(|store| async move {
        // Some of it compacted, some not; a service in the same bucket stays.
        for service in ["shop", "search", "mail", "stock", "users", "bills"] {
            deliver(&store, &rolled(service, 1, NOON)).await;
        }
        store.compact(day()).await.expect("a compaction");
        deliver(&store, &rolled("shop", 2, NOON)).await;
        let removed = store.remove_service("shop").await.expect("a removal");
        assert_eq!((removed.days.len(), removed.rows), (1, 14));
        assert_eq!(counts(&store, &snapshot(&store).await).await, [10, 10, 5, 5]);
        // Delivered again it stays removed; a new recording counts.
        assert_eq!(deliver(&store, &rolled("shop", 1, NOON)).await, (0, 1));
        assert_eq!(deliver(&store, &rolled("shop", 1, NOON + 5)).await, (1, 0));
        assert_eq!(counts(&store, &snapshot(&store).await).await, [12, 12, 6, 6]);
        assert_eq!(store.remove_service("nobody").await.expect("a removal").rows, 0);
        store.remove_service("shop").await.expect("a removal");
        store.tidy_older_than(Duration::ZERO).await.expect("tidy");
        assert!(!mentions(store.place(), b"shop.run"), "a stack of the removed service is still on the disk");
    });
}

/// True if a Parquet file below the place has the text.
fn mentions(place: &str, text: &[u8]) -> bool {
    let mut folders = vec![std::path::PathBuf::from(place)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                let bytes = std::fs::read(path).expect("a file");
                if bytes.windows(text.len()).any(|window| window == text) {
                    return true;
                }
            }
        }
    }
    false
}

#[test]
fn a_retired_day_takes_nothing() {
    check(|store| async move {
        deliver(&store, &rolled("shop", 1, NOON)).await;
        deliver(&store, &rolled("shop", 1, NOON + 1_440)).await;
        let removed = store.retire(Day(day().0 + 1)).await.expect("a removal");
        assert_eq!((removed.days, removed.rows), (vec![day()], 7));
        assert_eq!(counts(&store, &snapshot(&store).await).await, [0; 4]);
        let refused = store.deliver(&rolled("shop", 2, NOON)).await.expect_err("a refusal");
        assert_eq!(refused.to_string(), "rows of 2026-11-25 were removed because of their age; none are taken");
        let next = store.snapshot(Day(day().0 + 1)).await.expect("a snapshot");
        assert_eq!(counts(&store, &next).await, [2, 2, 1, 1]);
        assert_eq!(store.retire(Day(day().0 + 1)).await.expect("a removal").rows, 0);
    });
}

/// A batch with so many different rows of one lock.
fn varied(service: &str, host: u32) -> Rolled {
    let mut batch = rolled(service, host, NOON);
    let first = batch.locks[0].clone();
    batch.locks = (0..VARIED)
        .map(|row| {
            let hash = (u64::from(host) * 1_000 + row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let blocked_ns = hash >> 24;
            LockMinute { owner_stack: Some(hash as i64), blocked_ns, max_ns: blocked_ns, ..first.clone() }
        })
        .collect();
    batch
}

const VARIED: u64 = 50;

#[test]
fn a_compaction_makes_no_file_larger_than_it_may() {
    const LARGEST: u64 = 10_000;
    const HOSTS: u32 = 20;
    check(|store| async move {
        for host in 0..HOSTS {
            deliver(&store, &varied("shop", host)).await;
        }
        let compact = async || store.compact_into(day(), LARGEST).await.expect("a compaction");
        let of = |snapshot: &Snapshot, table: Table| -> Vec<(String, u64, u64)> {
            let files = snapshot.files().filter(|file| file.table() == Some(table));
            files.map(|file| (file.path.clone(), file.rows, file.bytes)).collect()
        };
        let sizes = |services: usize, batches: usize| [batches * VARIED as usize, batches * 2, services, batches];
        compact().await;
        let first = snapshot(&store).await;
        let locks = of(&first, Table::LockMinute);
        assert!(locks.len() > 1, "{locks:?}");
        assert!(locks.iter().all(|(_, _, bytes)| (LARGEST / 3..=LARGEST).contains(bytes)), "{locks:?}");
        assert_eq!(counts(&store, &first).await, sizes(1, 20));
        assert_eq!(of(&first, Table::Site).len(), 1);
        // What is large and has nothing new stays as it is.
        let other = ["mail", "stock", "cart"].into_iter().find(|name| bucket(name) != bucket("shop"));
        deliver(&store, &varied(other.expect("another bucket"), 1)).await;
        compact().await;
        let second = snapshot(&store).await;
        let kept = of(&second, Table::LockMinute).into_iter().filter(|file| locks.contains(file)).count();
        assert_eq!(kept, locks.len(), "{:?}", of(&second, Table::LockMinute));
        // A batch that comes later is taken in, once.
        for _ in 0..2 {
            deliver(&store, &varied("shop", HOSTS)).await;
        }
        compact().await;
        let third = snapshot(&store).await;
        assert!(third.commits.is_empty());
        assert_eq!(counts(&store, &third).await, sizes(2, 22));
        assert!(of(&third, Table::LockMinute).iter().all(|(_, _, bytes)| *bytes <= LARGEST));
        // Where files may be larger, they become one again.
        deliver(&store, &varied("shop", HOSTS + 1)).await;
        store.compact(day()).await.expect("a compaction");
        let last = snapshot(&store).await;
        assert_eq!(of(&last, Table::LockMinute).len(), 2);
        assert_eq!(counts(&store, &last).await, sizes(2, 23));
    });
}

#[test]
fn writers_compactions_and_readers_do_not_disturb_each_other() {
    const WRITERS: u32 = 4;
    const BATCHES: u64 = 12;
    check(|store| async move {
        let writers = (0..WRITERS).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for batch in 0..BATCHES {
                    // Each batch by two of them.
                    let rolled = rolled("shop", writer / 2, NOON + 2 * batch);
                    store.deliver(&rolled).await.expect("a delivery");
                    if batch % 3 == u64::from(writer) % 3 {
                        // Who comes second again and again gives up, which is no harm.
                        let compacted = store.compact(day()).await;
                        assert!(matches!(compacted, Ok(_) | Err(StoreError::Contended(_))), "{compacted:?}");
                    }
                }
            })
        });
        let reader = store.clone();
        let reading = tokio::spawn(async move {
            let mut before = 0;
            for _ in 0..40 {
                let snapshot = reader.snapshot(day()).await.expect("a snapshot");
                let batches = snapshot.batches().len();
                let [locks, load, ..] = counts(&reader, &snapshot).await;
                assert_eq!((locks, load), (2 * batches, 2 * batches));
                assert!(batches >= before, "{batches} batches after {before}");
                before = batches;
            }
        });
        let writers: Vec<_> = writers.collect();
        for task in writers.into_iter().chain([reading]) {
            task.await.expect("no panic");
        }
        let all = WRITERS as usize / 2 * BATCHES as usize;
        let snapshot = snapshot(&store).await;
        assert_eq!(snapshot.batches().len(), all);
        let [locks, load, ..] = counts(&store, &snapshot).await;
        assert_eq!((locks, load), (2 * all, 2 * all));
    });
}

#[test]
fn places_that_are_no_store_are_named() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let said = |place: &str| runtime.block_on(Store::open(place)).expect_err("a refusal").to_string();
    assert_eq!(said("/nowhere/at/all"), "there is no directory /nowhere/at/all");
    let folder = tempfile::tempdir().expect("a folder");
    assert!(said(folder.path().to_str().expect("UTF-8")).contains("is not a store of Headway"));
    assert!(said("ftp://somewhere").contains("ftp:// is not known"));
    std::fs::write(folder.path().join("store.json"), r#"{"format":2}"#).expect("a file");
    assert!(said(folder.path().to_str().expect("UTF-8")).contains("format 2"));
}

#[test]
fn a_batch_goes_from_store_to_store_once() {
    check(|queue| async move {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        let batch = rolled("shop", 1, NOON);
        for again in [false, true] {
            deliver(&queue, &batch).await;
            for commit in snapshot(&queue).await.commits {
                let parts = queue.parts(&commit).await.expect("files");
                for _ in 0..2 {
                    store.take(day(), &commit, parts.clone()).await.expect("taken in");
                }
                let known = store.take(day(), &commit, parts).await.expect("taken in");
                assert_eq!((known.new.len(), known.known.len(), known.rows), (0, 1, 0));
                queue.discard(day(), &commit).await.expect("discarded");
            }
            assert_eq!(counts(&queue, &snapshot(&queue).await).await, [0; 4], "{again}");
            assert_eq!(counts(&store, &snapshot(&store).await).await, [2, 2, 1, 1], "{again}");
            // The next time it comes after a compaction.
            store.compact(day()).await.expect("a compaction");
        }
    });
}

#[test]
fn a_store_that_went_away_does_not_take_a_batch() {
    check(|queue| async move {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_make(folder.path().to_str().expect("UTF-8")).await.expect("a store");
        deliver(&queue, &rolled("shop", 1, NOON)).await;
        let commit = snapshot(&queue).await.commits.remove(0);
        let parts = queue.parts(&commit).await.expect("files");
        std::fs::remove_file(folder.path().join("store.json")).expect("removed");
        let refused = store.take(day(), &commit, parts).await.expect_err("no store");
        assert!(matches!(refused, StoreError::NotAStore(_)), "{refused}");
    });
}

#[test]
fn a_path_out_of_the_store_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("outside.parquet");
    let place = folder.path().join("store");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open_or_make(place.to_str().expect("UTF-8")).await.expect("a store");
        deliver(&store, &rolled("shop", 1, NOON)).await;
        let file = snapshot(&store).await.files().next().expect("a file").path.clone();
        let folder = file.rsplit_once('/').expect("a folder").0;
        std::fs::copy(place.join(&file), &outside).expect("a copy");
        let of_another_day = file.replace("2026-11-25", "2026-11-24");
        let wrong = ["../outside.parquet", "/outside.parquet", &of_another_day, "store.json"].map(str::to_owned);
        let wrong = wrong.into_iter().chain([
            format!("{folder}/../lock_minute/x.parquet"),
            format!("{folder}/../../../../outside.parquet"),
            format!("{folder}/..%2Foutside.parquet/../x.parquet"),
        ]);
        let names = |folder: &str| std::fs::read_dir(place.join("day=2026-11-25").join(folder)).expect("a folder");
        let commit = names("commits").next().expect("a commit").expect("a file").path();
        let right = std::fs::read_to_string(&commit).expect("a commit");
        let wrong: Vec<String> = wrong.collect();
        for wrong in &wrong {
            std::fs::write(&commit, right.replace(&file, wrong)).expect("written");
            let refused = store.snapshot(day()).await.expect_err(wrong);
            assert!(matches!(refused, StoreError::Damaged(..)), "{wrong}: {refused}");
        }
        std::fs::write(&commit, right).expect("written");
        store.compact(day()).await.expect("a compaction");
        let manifest = names("manifests").next().expect("a manifest").expect("a file").path();
        let right = std::fs::read_to_string(&manifest).expect("a manifest");
        let file = snapshot(&store).await.files().next().expect("a file").path.clone();
        for wrong in &wrong {
            std::fs::write(&manifest, right.replace(&file, wrong)).expect("written");
            let refused = store.snapshot(day()).await.expect_err(wrong);
            assert!(matches!(refused, StoreError::Damaged(..)), "{wrong}: {refused}");
            // What it names is not deleted either.
            store.tidy_older_than(Duration::ZERO).await.expect_err("damaged");
            assert!(outside.exists());
        }
    });
}

/// On a full disk, for example, it is tried again and again.
#[test]
fn a_delivery_that_fails_leaves_no_files_behind() {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }
    let is_parquet = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "parquet");
    check(|store| async move {
        let batch = rolled("shop", 1, NOON);
        deliver(&store, &batch).await;
        let place = Path::new(store.place());
        let written: Vec<PathBuf> = files(place).into_iter().filter(is_parquet).collect();
        assert!(written.len() > 3, "{written:?}");
        for file in &written {
            // A file where a folder has to be.
            let blocked = file.parent().expect("a folder").strip_prefix(place).expect("below").to_owned();
            let other = tempfile::tempdir().expect("a folder");
            let again = Store::open_or_make(other.path().to_str().expect("UTF-8")).await.expect("a store");
            let blocked = other.path().join(blocked);
            std::fs::create_dir_all(blocked.parent().expect("a folder")).expect("made");
            std::fs::write(&blocked, "").expect("written");
            again.deliver(&batch).await.expect_err("one part cannot be written");
            let left: Vec<PathBuf> = files(other.path()).into_iter().filter(is_parquet).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    });
}
