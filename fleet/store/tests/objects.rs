//! Object stores as they are: replies do not arrive, conflicts come to nothing, conditions are ignored.

mod made_up;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::StreamExt;
use headway_store::{Day, Store, StoreError};
use made_up::{counts, rolled, NOON};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};

/// What becomes of a put on the condition that there is no object of its name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It succeeds, but the reply does not arrive: the library's second try meets the first.
    NoReply,
    /// The first of each name meets another put that comes to nothing.
    ConflictOnce,
    /// Each meets one.
    Conflict,
    /// The condition is ignored.
    Ignored,
}

#[derive(Debug)]
struct Objects {
    inner: InMemory,
    fate: Fate,
    met: Mutex<HashSet<Path>>,
    is_quiet: Mutex<bool>,
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects of a test")
    }
}

fn there(path: &Path) -> Error {
    Error::AlreadyExists { path: path.to_string(), source: "412".into() }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        if *self.is_quiet.lock().unwrap() || options.mode != PutMode::Create {
            return self.inner.put_opts(path, payload, options).await;
        }
        let is_first = self.met.lock().unwrap().insert(path.clone());
        match self.fate {
            Fate::NoReply => {
                self.inner.put_opts(path, payload, options).await?;
                Err(there(path))
            }
            Fate::ConflictOnce if !is_first => self.inner.put_opts(path, payload, options).await,
            Fate::ConflictOnce | Fate::Conflict => Err(there(path)),
            Fate::Ignored => self.inner.put_opts(path, payload, PutOptions::default()).await,
        }
    }

    async fn put_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(below)
    }

    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(below).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

fn objects(fate: Fate, is_quiet: bool) -> Arc<Objects> {
    Arc::new(Objects { inner: InMemory::new(), fate, met: Mutex::default(), is_quiet: Mutex::new(is_quiet) })
}

fn run<F: Future<Output = ()>>(test: F) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

fn day() -> Day {
    Day::of_ns(NOON * 60_000_000_000)
}

/// A store whose objects have this fate once it is made.
async fn store(fate: Fate) -> (Store, Arc<Objects>) {
    let objects = objects(fate, true);
    let store = Store::open_or_make_on(objects.clone(), "test://objects").await.expect("a store");
    *objects.is_quiet.lock().unwrap() = false;
    (store, objects)
}

#[test]
fn what_was_put_is_there_once_though_replies_do_not_arrive_and_conflicts_come_to_nothing() {
    for fate in [Fate::NoReply, Fate::ConflictOnce] {
        run(async {
            let (store, _) = store(fate).await;
            for jvm in [1, 2] {
                let delivered = store.deliver(&rolled("shop", jvm, NOON)).await.expect("a delivery");
                assert_eq!((delivered.new.len(), delivered.known.len()), (1, 0), "{fate:?}");
            }
            let snapshot = store.snapshot(day()).await.expect("a snapshot");
            let before = counts(&store, &snapshot).await;
            assert_eq!(before[..2], [4, 4], "{fate:?}");
            let compacted = store.compact(day()).await.expect("a compaction");
            assert_eq!((compacted.batches, compacted.files_after), (2, 5), "{fate:?}");
            let snapshot = store.snapshot(day()).await.expect("a snapshot");
            assert_eq!(counts(&store, &snapshot).await[..2], [4, 4], "{fate:?}");
            let again = store.deliver(&rolled("shop", 1, NOON)).await.expect("a delivery");
            assert_eq!((again.new.len(), again.known.len()), (0, 1), "{fate:?}");
        });
    }
}

#[test]
fn a_batch_that_is_not_in_the_store_is_not_said_to_be() {
    run(async {
        let (store, objects) = store(Fate::Conflict).await;
        let refused = store.deliver(&rolled("shop", 1, NOON)).await;
        assert!(matches!(refused, Err(StoreError::Unsettled(_))), "{refused:?}");
        *objects.is_quiet.lock().unwrap() = true;
        let delivered = store.deliver(&rolled("shop", 1, NOON)).await.expect("a delivery");
        assert_eq!((delivered.new.len(), delivered.known.len()), (1, 0));
    });
}

#[test]
fn a_store_is_made_though_replies_do_not_arrive() {
    run(async {
        let objects = objects(Fate::NoReply, false);
        Store::open_or_make_on(objects.clone(), "test://objects").await.expect("a store");
        assert_eq!(objects.list(None).count().await, 1, "its header, and no probe");
        Store::open_or_make_on(objects, "test://objects").await.expect("the same store");
    });
}

#[test]
fn objects_whose_condition_is_ignored_are_no_store() {
    run(async {
        let objects = objects(Fate::Ignored, false);
        let opened = Store::open_or_make_on(objects.clone(), "s3://bucket/place").await;
        assert_eq!(objects.list(None).count().await, 0, "nothing is written before it is known");
        let error = opened.expect_err("no store");
        assert!(error.to_string().starts_with("s3://bucket/place cannot be a store: it does not refuse"), "{error}");
    });
}

#[test]
fn below_a_prefix_a_file_has_the_name_by_which_it_is_read() {
    run(async {
        let bucket = Arc::new(PrefixStore::new(InMemory::new(), "acme/rows"));
        let store = Store::open_or_make_on(bucket, "test://acme/rows").await.expect("a store");
        store.deliver(&rolled("shop", 1, NOON)).await.expect("a delivery");
        let snapshot = store.snapshot(day()).await.expect("a snapshot");
        let objects = store.objects(HashMap::new());
        for file in snapshot.files() {
            let path = Path::from(file.path.as_str());
            let found = objects.head(&path).await.expect("a file");
            assert_eq!((found.location, found.size), (path, file.bytes));
        }
        // One that has another size than when it was written is not read.
        let file = snapshot.files().next().expect("a file");
        let path = Path::from(file.path.as_str());
        let sized = |bytes| store.objects(HashMap::from([(path.clone(), bytes)]));
        assert!(sized(file.bytes).get(&path).await.is_ok());
        let error = sized(file.bytes + 1).get(&path).await.expect_err("another size").to_string();
        assert!(error.contains(&format!("{path} is damaged: it has {} bytes", file.bytes)), "{error}");
        // Whoever takes a missing file for a folder meets an error, and what is read only stays as it is.
        let nowhere = Path::from("nowhere.parquet");
        let listed: Vec<_> = objects.list(Some(&nowhere)).collect().await;
        assert!(matches!(listed[..], [Err(Error::NotFound { .. })]), "{listed:?}");
        let put = objects.put(&nowhere, "rows".into()).await;
        assert!(matches!(put, Err(Error::NotImplemented { .. })), "{put:?}");
    });
}
