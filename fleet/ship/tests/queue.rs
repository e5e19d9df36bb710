//! The queue: what is in it comes to the store once, and what is left out is counted.

#[path = "../../store/tests/made_up/mod.rs"]
mod made_up;

use headway_ship::{Counters, Outcome, Queue, QueueError, Uploader};
use headway_store::{Day, Store};
use made_up::{counts, rolled, NOON};
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const LARGE: u64 = 1 << 30;

struct Places {
    _folder: tempfile::TempDir,
    queue: PathBuf,
    store: String,
}

fn check<F: Future<Output = ()>>(test: impl FnOnce(Places) -> F) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store").to_str().expect("UTF-8").to_owned();
    let places = Places { queue: folder.path().join("queue"), store, _folder: folder };
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    runtime.block_on(test(places));
}

fn day() -> Day {
    Day::of_ns(NOON * 60_000_000_000)
}

async fn open(folder: &Path) -> Queue {
    Queue::open(folder, LARGE).await.expect("a queue")
}

/// Delivers everything.
async fn empty(queue: &Queue, store: &Store) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for batch in queue.waiting().await.expect("a list") {
        outcomes.push(queue.deliver(store, &batch).await.expect("a delivery"));
    }
    assert!(queue.waiting().await.expect("a list").is_empty());
    outcomes
}

async fn rows(store: &Store) -> [usize; 4] {
    counts(store, &store.snapshot(day()).await.expect("a snapshot")).await
}

/// The commit files of a queue.
fn commits(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.join("rows").join("day=2026-11-25").join("commits");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).expect("a day").flatten().map(|file| file.path()).collect();
    paths.sort();
    paths
}

#[test]
fn what_is_in_the_queue_outlives_its_process_and_arrives_once() {
    check(|places| async move {
        let queue = open(&places.queue).await;
        for host in 1..=3 {
            queue.put(&rolled("shop", host, NOON + 3 - u64::from(host))).await.expect("queued");
            queue.put(&rolled("shop", host, NOON + 3 - u64::from(host))).await.expect("queued again");
        }
        drop(queue);
        let queue = open(&places.queue).await;
        let minutes: Vec<u64> = queue.waiting().await.expect("a list").iter().map(|batch| batch.minute).collect();
        assert_eq!(minutes, [NOON, NOON + 1, NOON + 2]);
        let store = Store::open_or_make(&places.store).await.expect("a store");
        for outcome in empty(&queue, &store).await {
            assert!(matches!(outcome, Outcome::Delivered { rows, bytes } if rows > 4 && bytes > 1_000), "{outcome:?}");
        }
        // Killed after the delivery and before the recording was removed: it comes again.
        queue.put(&rolled("shop", 1, NOON + 2)).await.expect("queued");
        assert_eq!(empty(&queue, &store).await, [Outcome::Known]);
        assert_eq!(rows(&store).await[..2], [6, 6]);
        assert_eq!(queue.losses(), headway_ship::Losses::default());
    });
}

#[test]
fn a_queue_has_one_process_and_its_rows_one_reader() {
    check(|places| async move {
        let _queue = open(&places.queue).await;
        let mode = std::fs::metadata(places.queue.join("rows")).expect("rows").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let refused = Queue::open(&places.queue, LARGE).await.expect_err("taken");
        assert!(matches!(refused, QueueError::Taken(_)), "{refused}");
    });
}

#[test]
fn beyond_the_bound_the_earliest_go_and_are_counted() {
    check(|places| async move {
        let queue = open(&places.queue).await;
        for minute in 0..4 {
            queue.put(&rolled("shop", 1, NOON + 2 * minute)).await.expect("queued");
        }
        let waiting = queue.waiting().await.expect("a list");
        let (all, rows_of_one) = (waiting.iter().map(|batch| batch.bytes).sum::<u64>(), waiting[0].rows());
        drop(queue);
        let queue = Queue::open(&places.queue, all - 1 - waiting[0].bytes).await.expect("a queue");
        let mut kept = queue.waiting().await.expect("a list");
        let removed = queue.keep_within_bound(&mut kept).await.expect("removed");
        let minutes = |batches: &[headway_ship::Waiting]| batches.iter().map(|b| b.minute - NOON).collect::<Vec<_>>();
        assert_eq!((minutes(&removed), minutes(&kept)), (vec![0, 2], vec![4, 6]));
        assert_eq!(minutes(&queue.waiting().await.expect("a list")), [4, 6]);
        drop(queue);
        let losses = open(&places.queue).await.losses();
        assert_eq!((losses.overflow_batches, losses.overflow_rows), (2, 2 * rows_of_one));
        assert_eq!((losses.refused_batches, losses.unreadable_recordings), (0, 0));
    });
}

#[test]
fn what_the_store_refuses_for_good_does_not_hold_up_the_rest() {
    check(|places| async move {
        let queue = open(&places.queue).await;
        let store = Store::open_or_make(&places.store).await.expect("a store");
        // The first was delivered as another version; the files of the second are damaged, and one of the third is
        // missing; the commit of the fourth was not written to its end.
        let mut other = rolled("shop", 1, NOON);
        other.jvm.version = "2".into();
        store.deliver(&other).await.expect("a delivery");
        for minute in 0..5 {
            queue.put(&rolled("shop", 1, NOON + minute)).await.expect("queued");
        }
        let waiting = queue.waiting().await.expect("a list");
        let file = |at: usize| places.queue.join("rows").join(&waiting[at].commit.files[0].path);
        std::fs::write(file(1), "x").expect("written");
        std::fs::remove_file(file(2)).expect("removed");
        let commit = commits(&places.queue).remove(3);
        std::fs::write(&commit, "").expect("written");
        let outcomes = empty(&queue, &store).await;
        let kinds: Vec<&str> = outcomes
            .iter()
            .map(|outcome| match outcome {
                Outcome::Refused(why) if why.contains("with other rows") => "conflict",
                Outcome::Refused(why) if why.contains("it has 1 bytes") => "damaged",
                Outcome::Refused(why) if why.contains("is missing") => "missing",
                Outcome::Delivered { .. } => "delivered",
                _ => "unexpected",
            })
            .collect();
        assert_eq!(kinds, ["conflict", "damaged", "missing", "delivered"], "{outcomes:?}");
        let losses = queue.losses();
        assert_eq!(losses.refused_batches, 4);
        assert!(losses.refused_rows > 0 && losses.overflow_batches == 0, "{losses:?}");
        assert_eq!(rows(&store).await[..2], [4, 4]);
    });
}

#[test]
fn a_store_that_fails_takes_nothing_out_of_the_queue() {
    check(|places| async move {
        let queue = open(&places.queue).await;
        let store = Store::open_or_make(&places.store).await.expect("a store");
        queue.put(&rolled("shop", 1, NOON)).await.expect("queued");
        let batch = queue.waiting().await.expect("a list").remove(0);
        let away = format!("{}-away", places.store);
        std::fs::rename(&places.store, &away).expect("renamed");
        // A file stands where the directory was: nothing can be put there.
        std::fs::write(&places.store, "").expect("written");
        queue.deliver(&store, &batch).await.expect_err("no store");
        assert_eq!(queue.waiting().await.expect("a list").len(), 1);
        std::fs::remove_file(&places.store).expect("removed");
        std::fs::rename(&away, &places.store).expect("renamed");
        assert!(matches!(empty(&queue, &store).await[..], [Outcome::Delivered { .. }]));
        assert_eq!(rows(&store).await[..2], [2, 2]);
    });
}

#[test]
fn what_is_damaged_in_the_store_holds_up_nothing_else() {
    check(|places| async move {
        let queue = Arc::new(open(&places.queue).await);
        let store = Store::open_or_make(&places.store).await.expect("a store");
        for minute in [0, 1, 2] {
            queue.put(&rolled("shop", 1, NOON + minute)).await.expect("queued");
        }
        let first = queue.waiting().await.expect("a list").remove(0).commit.batch;
        let commit = Path::new(&places.store).join("day=2026-11-25/commits").join(format!("{first}.json"));
        std::fs::create_dir_all(commit.parent().expect("a folder")).expect("made");
        std::fs::write(&commit, "x").expect("written");
        let counters = Arc::new(Counters::default());
        let mut uploader = Uploader::new(queue.clone(), places.store.clone(), counters.clone());
        assert!(uploader.round(Instant::now(), || true).await.is_some(), "the first is tried again");
        let left: Vec<String> =
            queue.waiting().await.expect("a list").into_iter().map(|batch| batch.commit.batch).collect();
        assert_eq!((left, counters.delivered_batches.get()), (vec![first], 2));
        std::fs::remove_file(&commit).expect("removed");
        uploader.try_now();
        assert!(uploader.round(Instant::now(), || true).await.is_none());
        assert_eq!(rows(&store).await[0], 6);
    });
}

#[test]
fn what_cannot_be_counted_is_not_left_out_and_is_delivered_all_the_same() {
    check(|places| async move {
        let queue = open(&places.queue).await;
        for minute in 0..4 {
            queue.put(&rolled("shop", 1, NOON + minute)).await.expect("queued");
        }
        drop(queue);
        // Counts cannot be written, as on a full disk.
        std::fs::create_dir(places.queue.join("losses.part")).expect("made");
        let queue = Arc::new(Queue::open(&places.queue, 1 << 12).await.expect("a queue"));
        let counters = Arc::new(Counters::default());
        let mut uploader = Uploader::new(queue.clone(), places.store.clone(), counters.clone());
        assert_eq!(uploader.round(Instant::now(), || false).await, None);
        assert_eq!(counters.waiting_batches.get(), 4, "nothing is left out");
        assert_eq!(uploader.round(Instant::now(), || true).await, None);
        assert_eq!((counters.waiting_batches.get(), counters.delivered_batches.get()), (0, 4));
        assert_eq!(queue.losses(), headway_ship::Losses::default());
        let store = Store::open(&places.store).await.expect("a store");
        assert_eq!(rows(&store).await[..2], [8, 8]);
        // Of a day whose batches are delivered there is no folder any more.
        let left = std::fs::read_dir(places.queue.join("rows")).expect("a folder").flatten();
        assert_eq!(left.map(|entry| entry.file_name()).collect::<Vec<_>>(), ["store.json"]);
    });
}

#[test]
fn a_store_in_the_queue_is_refused() {
    check(|places| async move {
        let queue = open(&places.queue).await;
        let link = places.queue.with_file_name("link");
        std::os::unix::fs::symlink(&places.queue, &link).expect("linked");
        for (inside, name) in [("", "rows"), ("", ""), ("", "new/rows"), ("link", "rows"), ("link", "new")] {
            let folder = if inside == "link" { &link } else { &places.queue };
            let store = folder.join(name).to_str().expect("UTF-8").to_owned();
            let refused = queue.refuse_inside(&store).expect_err("refused");
            assert!(matches!(refused, QueueError::Inside(_)), "{store}: {refused}");
        }
        for outside in [&places.store, "s3://bucket/rows"] {
            queue.refuse_inside(outside).expect("taken");
        }
        queue.put(&rolled("shop", 1, NOON)).await.expect("queued");
        let rows = places.queue.join("rows").to_str().expect("UTF-8").to_owned();
        let queue = Arc::new(queue);
        let mut uploader = Uploader::new(queue.clone(), rows, Arc::default());
        assert!(uploader.round(Instant::now(), || true).await.is_some());
        assert_eq!(queue.waiting().await.expect("a list").len(), 1, "nothing is removed");
    });
}
